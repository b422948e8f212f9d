//! Parts of formats that rules read in other ways, too.

use smol_str::SmolStr;

use super::builder::{FormatBuilder, UNKNOWN_NAME};
use super::rules::texts::{self as rules, TextEnd};
use super::tag::Tag;
use chatparse_peg::ExprId;

impl FormatBuilder {
    /// A text of tags with its line breaks spelled out.
    pub fn with_spelled_breaks(&self, text: &str) -> Vec<ExprId> {
        self.ways(rules::LINE_BREAKS, |way| way(self, text))
    }

    /// A call's name; for [`FormatBuilder::ANY`] the name of any tool that is not in the request.
    pub fn tool_name(&self, name: &str) -> ExprId {
        match name {
            FormatBuilder::ANY if self.is_defined(UNKNOWN_NAME) => {
                let name = self.whole(Tag::ToolName, self.reference(UNKNOWN_NAME));
                let entities = self.entities.then(|| self.tag(Tag::Entities, self.empty()));
                self.sequence([
                    Some(self.tag(Tag::Unknown, self.empty())),
                    entities,
                    Some(name),
                ])
            }
            FormatBuilder::ANY => self.any_tool_name(),
            // Nothing would show of its call.
            _ if name.trim().is_empty() => self.never(),
            _ if self.entities => {
                let name = self.whole(Tag::ToolName, self.literal(self.written(name)));
                self.sequence([self.tag(Tag::Entities, self.empty()), name])
            }
            _ => {
                let plain = self.whole(Tag::ToolName, self.literal(name));
                self.or(plain, rules::TOOL_NAME, |way| way(self, name))
            }
        }
    }

    /// The same in a call of Python: a quote may be part of a string.
    pub fn arg_printed(&self) -> ExprId {
        self.arg_json(self.printed_python(Tag::ArgText, &|value| {
            self.ways(rules::PYTHON, |way| way(self, value))
        }))
    }

    /// Text up to a marker, and the marker. The output may also end without it, or go on with what
    /// opens one of the `next` parts.
    pub fn closed(&self, tag: Tag, marker: &str, next: &[&str]) -> ExprId {
        let text = self.tag(tag, self.until_marker([marker].iter().chain(next).copied()));
        let closed = self.sequence([self.marker(marker), self.markup_ends()]);
        let close = self.choice([
            self.or(closed, rules::PART_CLOSE, |way| way(self, next)),
            self.end(),
        ]);
        let others = next.iter().map(SmolStr::new).collect();
        self.excluding_all(self.sequence([text, close]), [marker], others)
    }

    /// The text of an argument up to a marker, and the marker. If white space is part of the
    /// marker, the marker with other white space ends the text only before one of `next` or the end
    /// of the output, because a text may contain it. Without the marker, the text ends before one
    /// of `names` or before `end`; `end` followed by more text does not end it.
    pub fn arg_text_up_to(&self, ends: &TextEnd) -> ExprId {
        let TextEnd {
            marker,
            next,
            names,
            end,
            ..
        } = *ends;
        let core = marker.trim();
        let wrapper = ends
            .wrapper
            .map(|(wrapper, _)| format!("{}{wrapper}", &marker[..marker.find(core).unwrap_or(0)]));
        // The texts that end the text where its marker is left out.
        let mut left_out: Vec<&str> = names.iter().map(String::as_str).collect();
        left_out.extend(end.into_iter().chain(wrapper.as_deref()));
        if core.is_empty() || core.len() == marker.len() && left_out.is_empty() {
            let close = self.arg_close(self.marker(marker));
            return self.sequence([self.arg_text(self.until_marker([marker])), close]);
        }
        let next = self.spelled(
            next.iter()
                .map(|next| next.trim())
                .filter(|next| !next.is_empty()),
        );
        let mut signs = Vec::new();
        for text in next
            .iter()
            .map(String::as_str)
            .chain(left_out.iter().copied())
        {
            signs.extend(text.trim_start().chars().next());
        }
        signs.extend(('\t'..='\r').chain([' ']));
        let behind = ends.behind.map(|behind| self.not(behind));
        let more = self.sequence([behind, Some(self.space()), Some(self.no_sign(signs))]);
        let next = self.choice([self.any_of(next), self.after_space(self.end())]);
        let cores = self.spelled([core]);
        let end = end.map(|end| self.sequence([self.marker(end), self.not(more)]));
        let known = self.any_of(names.iter().map(|name| name.trim()));
        let names = self.choice(names.iter().map(|name| self.literal(&**name)).chain(end));
        let written = self.or(self.literal(marker), rules::LINE_BREAKS, |way| {
            way(self, marker)
        });
        let closed = self.sequence([
            written,
            self.between(rules::TEXT_CLOSED, |way| way(self, more)),
        ]);
        let core = self.any_of(&cores);
        let close = self.or(closed, rules::TEXT_CLOSE, |way| {
            way(self, ends, [core, next, names, known])
        });
        let opening = ends.opening();
        let others = ends
            .stem()
            .into_iter()
            .chain(opening.as_deref())
            .chain(left_out);
        let run = [marker.trim_end()]
            .into_iter()
            .chain(cores.iter().map(String::as_str));
        let run = self.until_marker(run.chain(others));
        let parts = self.ways(rules::TEXT_PART, |way| way(self, ends, run));
        let more = self.choice(parts.into_iter().chain([self.sequence([self.any(), run])]));
        let more = self.many(self.sequence([self.not(close), more]));
        self.sequence([
            self.arg_text(self.sequence([run, more])),
            self.arg_close(close),
        ])
    }

    /// The arguments, or the same as a JSON string.
    pub fn quoted_or(&self, arguments: ExprId) -> ExprId {
        let all = self.or(arguments, rules::OBJECT, |way| way(self));
        self.sequence([self.markup_ends(), all])
    }
}
