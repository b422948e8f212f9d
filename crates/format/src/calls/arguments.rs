//! Arguments that are written one by one.

use super::super::builder::FormatBuilder;
use super::super::glue::{self as text, glue, is_strong};
use super::members::{Member, members, unlisted_name};
use super::values::{is_between_quotes, perhaps_quoted, unquoted};
use crate::rules::arguments::{
    ARGUMENT, ARGUMENT_OPEN, BRANCH, LAST_ARGUMENT, NAME_OF_ARGUMENT_CLOSE,
    NAME_OF_ARGUMENT_CLOSED, NEXT_ARGUMENT, TEXT, TEXT_BEGIN, VALUE_OPEN,
};
use crate::rules::texts::{TEXT as TEXT_END, TextEnd};
use crate::sites::{Arguments, Tags, Values, tag};
use crate::wrappers;
use chatparse_base::sort;
use chatparse_grammar::{schema, spelled};
use chatparse_learn::analysis::turn::{Encoding, Glue, Slot, ValueKind};
use chatparse_peg::{ExprId, Notation};
use smol_str::SmolStr;

/// A marker, and the same with what other white space models write between its tags.
fn spaced(marker: &str) -> Vec<SmolStr> {
    let tags = wrappers::apart(marker);
    let tags: Vec<&str> = tags.split_whitespace().collect();
    let spaces: &[&str] = if tags.len() > 1 {
        &["", " ", "\n", "\n\n"]
    } else {
        &[]
    };
    let others = spaces.iter().map(|space| tags.join(space).into());
    [marker.trim().into()].into_iter().chain(others).collect()
}

impl Arguments<'_> {
    fn is_any(&self) -> bool {
        self.tool.name == FormatBuilder::ANY
    }

    /// Glue with the call's name.
    fn glue(&self, text: &Glue) -> ExprId {
        glue(self.p, text, Some(self.tool), "")
    }

    /// What opens values of all kinds.
    fn opens_values(&self) -> Glue {
        Glue::common_start(self.members.slots.iter().map(|(_, slot)| &slot.open))
    }

    /// The arguments of the schema, and whether each is required.
    pub fn known(&self) -> Vec<(ExprId, bool)> {
        let p = self.p;
        if self.is_any() {
            return Vec::new();
        }
        let prefix = format!("tool-{}-arg-", self.tool.name);
        let all = members(p, &self.root, &prefix, true);
        let known = all.iter().map(|member| {
            let argument = member.perhaps(
                p,
                member.left_out,
                Notation::PerhapsLeftOut,
                self.argument(member),
            );
            (p.rule(member.rule.clone(), argument), member.required)
        });
        // A tag that opens an argument and stands there twice is glue. Not a part of each argument:
        // they begin with fixed texts.
        let others = p
            .ways(ARGUMENT, |way| way(self))
            .into_iter()
            .map(|way| (way, false));
        let mut known: Vec<_> = known.chain(others).collect();
        if let Some((first, _)) = known.first_mut() {
            *first = p.choice(p.ways(BRANCH, |way| way(self)).into_iter().chain([*first]));
        }
        known
    }

    /// An argument that the schema does not list: `any`, unless its name is one that is listed.
    pub fn unlisted(&self, any: ExprId) -> ExprId {
        let p = self.p;
        let names = unlisted_name(p, &self.tool.name, &self.root);
        if names == FormatBuilder::ANY {
            return any;
        }
        let befores = self
            .members
            .befores()
            .into_iter()
            .map(|before| self.glue(before));
        let listed = [
            self.opens,
            p.choice(befores),
            p.space(),
            p.listed_name(&names),
        ];
        p.sequence([p.not(p.sequence(listed)), any])
    }

    /// An argument of any name.
    pub fn any(&self) -> ExprId {
        self.argument(&Member::any())
    }

    /// A name, and the value in each form that its types allow.
    pub fn argument(&self, member: &Member) -> ExprId {
        let p = self.p;
        let known = !FormatBuilder::is_any(member.name);
        let python = self.members.is_python();
        let quoted = self.members.slots.iter().any(|(kind, slot)| {
            *kind == ValueKind::Text
                && (slot.encoding == Encoding::Quoted || is_between_quotes(slot))
        });
        let after = (known && (python || quoted)).then(|| self.after());
        let enclosing = self
            .close
            .filter(|close| is_strong(close) && close.is_literal())
            .map(|close| close.core());
        let (tool, nested) = (self.tool, &self.members.nested);
        let values = Values {
            p,
            tool,
            nested,
            python,
            after,
            enclosing,
            within: None,
            next: None,
        };
        let raw = |slot: &Slot| self.raw(slot, member);
        let between = |text: &Glue| glue(p, text, Some(self.tool), member.name);
        let ways = self.members.befores().into_iter().filter_map(|before| {
            let (opens, value) = values.of(&self.members.slots, before, member, 0, &raw)?;
            // The name is certain behind the marker that closes it.
            let close = opens.up_to_first_marker();
            let rest = opens.strip_prefix(&close).unwrap_or_default();
            let named = perhaps_quoted(p, p.arg_name(member.name), &close, &self.members.slots);
            let value_close =
                Glue::common_start(self.members.slots.iter().map(|(_, slot)| &slot.close));
            let [next, name_close, value_open, value_close] =
                [&self.members.next, &close, &rest, &value_close].map(tag);
            let tags = Tags {
                p,
                next,
                name_close,
                value_open,
                value_close,
            };
            let ends = p.or(between(&close), NAME_OF_ARGUMENT_CLOSE, |way| way(&tags));
            let name = p.sequence([between(before), p.stray_space(), named, ends]);
            let other = |open: ExprId| p.sequence([open, name]);
            let opens = p.ways(ARGUMENT_OPEN, |way| way(self).filter(|_| known).map(other));
            let name = p.choice([other(self.opens)].into_iter().chain(opens));
            let rest = between(&rest);
            let rest = p.or(rest, VALUE_OPEN, |way| way(&tags, rest));
            let ends_again = p.between(NAME_OF_ARGUMENT_CLOSED, |way| way(&tags));
            Some(p.sequence([p.atomic(name), ends_again, rest, p.markup_ends(), value]))
        });
        p.choice(ways)
    }

    /// Raw text and its end. Without a marker, the text ends in front of an argument or of what may
    /// follow a call.
    fn raw(&self, slot: &Slot, member: &Member) -> ExprId {
        let p = self.p;
        let close = glue(p, &slot.close, Some(self.tool), member.name);
        let known = !FormatBuilder::is_any(member.name) && !self.is_any();
        let spelled = if known {
            slot.close.with_names(&self.tool.name, member.name)
        } else {
            slot.close.clone()
        };
        let mut ends = text::heads(&spelled);
        let written = |text| member.written(p, text, "text", Notation::Text);
        if let Some(end) = p
            .first_tag(&spelled)
            .filter(|_| known && !p.prefix.is_empty())
        {
            let texts = p.ways(TEXT_END, |way| way(p, end, self.after()));
            let text = p.choice(texts.into_iter().chain([p.arg_text(p.until_marker([end]))]));
            return written(p.excluding(p.sequence([text, p.arg_close(close)]), [end]));
        }
        if is_strong(&spelled) && spelled.is_literal() {
            // A text between two quotes may hold anything else.
            let quoted = slot.open.head().ends_with(spelled.head());
            let text = self.marked_text(&spelled, spelled == slot.close && known && !quoted);
            return written(text);
        }
        if is_strong(&spelled) {
            return p.sequence([
                written(p.arg_text(p.until_marker(ends))),
                p.arg_close(close),
            ]);
        }
        // Without an end of its own, the text goes on over what no argument of the tool begins
        // with.
        let lines = ends.is_empty() && text::heads(&spelled.and(&self.members.next)).is_empty();
        if ends.is_empty() {
            for behind in [Some(&self.members.next), self.close].into_iter().flatten() {
                let named = known.then(|| behind.with_names(&self.tool.name, ""));
                ends.extend(text::heads(&spelled.and(named.as_ref().unwrap_or(behind))));
            }
            ends.extend(self.next_names(&spelled));
        }
        let more = p.between(TEXT, |way| way(self, &ends, close));
        let mut text = p.until_marker(ends.clone());
        // Where a literal of Python may stand, no bare text begins as one; in a grammar none begins
        // as what ends it, either.
        let python = self.members.is_python() && slot.open.head().ends_with('=');
        if python && schema::allows_any_string(member.schema.get()) {
            let others = ends
                .iter()
                .filter_map(|end| end.chars().next())
                .chain(['"', '\'']);
            let others: Vec<_> = sort::set(others).into_iter().map(|c| (c, c)).collect();
            let begun = p.sequence([p.none_of(&others), text]);
            text = p.optional(p.or(begun, TEXT_BEGIN, |way| way(p, &ends, text)));
        }
        let text = written(p.arg_text(p.sequence([text, more])));
        let more = lines && known && schema::allows_any_string(member.schema.get());
        p.sequence([
            member.perhaps(p, more, Notation::PerhapsMore, text),
            p.arg_close(close),
        ])
    }

    /// What another argument of the tool begins with, after the end of a text.
    fn next_names(&self, close: &Glue) -> Vec<String> {
        let opens = self.opens_values();
        let between = close.and(&self.members.next);
        if self.is_any() || between.is_empty() || opens.is_blank() || !between.is_literal() {
            return Vec::new();
        }
        let known = members(self.p, &self.root, "", true).into_iter();
        known
            .map(|member| {
                format!(
                    "{}{}{}",
                    between.head(),
                    member.name,
                    opens.head().trim_end()
                )
            })
            .collect()
    }

    /// Raw text and the marker that closes it. If a model leaves that out, the next argument or the
    /// end of the call closes it. `shared`: all arguments of the tool have this marker.
    fn marked_text(&self, marker: &Glue, shared: bool) -> ExprId {
        let p = self.p;
        let space = &marker.head()[marker.head().trim_end().len()..];
        let end = self
            .close
            .map(|close| close.and(self.wrapper_close))
            .filter(|close| !close.marker_spans().is_empty() && close.is_literal())
            .map(|close| format!("{space}{}", close.head()));
        let wrapper = tag(self.wrapper_close)
            .map(|wrapper| (wrapper, self.behind))
            .or(self.section)
            .filter(|_| end.is_some());
        // What may stand behind a text with this marker. The marker itself may come twice.
        let next = [
            Some(&self.members.next),
            self.close,
            Some(self.wrapper_close),
            Some(marker),
        ];
        let next: Vec<&str> = next.into_iter().flatten().map(Glue::head).collect();
        let text = |names: &[String]| {
            let end = end.as_deref();
            // What ends it without its marker: in a grammar what opens any argument, the section's
            // end, and markers with other white space.
            let core = Some(marker.core()).filter(|core| core.len() < marker.head().len());
            let opens = Some(self.members.next.core()).filter(|_| !names.is_empty());
            let ends = end.into_iter().flat_map(spaced);
            let section = wrapper.map(|(wrapper, _)| wrapper.trim());
            let others = opens
                .into_iter()
                .chain(core)
                .chain(section)
                .map(SmolStr::new)
                .chain(ends)
                .collect();
            // A call without an end of its own ends with the last value.
            let behind = self
                .close
                .is_some_and(Glue::is_blank)
                .then_some(self.behind);
            let opens = [self.close, Some(&self.members.next)]
                .into_iter()
                .flatten()
                .filter(|glue| is_strong(glue));
            let opens: Vec<&str> = opens.map(Glue::core).collect();
            let ends = TextEnd {
                marker: marker.head(),
                next: &next,
                behind,
                opens: &opens,
                names,
                end,
                wrapper,
            };
            p.excluding_all(
                p.parsed(|| p.arg_text_up_to(&ends)),
                [marker.head()],
                others,
            )
        };
        if !shared {
            return p.shared(
                &["text up to", marker.head(), &next.join("\0")].join("\0"),
                || text(&[]),
            );
        }
        let rule = format!("tool-{}-text{}", self.tool.name, spelled(marker.head()));
        if p.is_defined(&rule) {
            return p.reference(rule);
        }
        let opens = self.opens_values();
        let is_marked = is_strong(&self.members.next) && opens.is_literal() && !opens.is_blank();
        let names = members(p, &self.root, "", true)
            .into_iter()
            .filter(|_| is_marked)
            .map(|one| {
                format!(
                    "{space}{}{}{}",
                    self.members.next.head(),
                    one.name,
                    opens.head()
                )
            });
        p.rule(rule, text(&names.collect::<Vec<_>>()))
    }

    /// What is between two arguments.
    pub fn next(&self) -> ExprId {
        let p = self.p;
        let written = self.glue(&self.members.next);
        p.choice(
            p.ways(NEXT_ARGUMENT, |way| way(p, self.members))
                .into_iter()
                .chain([written]),
        )
    }

    /// What may follow an argument: the name of another, or the end of the call.
    pub fn after(&self) -> ExprId {
        let p = self.p;
        let name = format!("after-{}-argument", self.tool.name);
        if p.is_defined(&name) {
            return p.reference(name);
        }
        let ways = self.members.befores().into_iter().map(|before| {
            let slots = self
                .members
                .slots
                .iter()
                .map(|(_, slot)| slot)
                .filter(|slot| slot.before == *before);
            let opens = Glue::common_start(slots.map(|slot| &slot.open));
            let opens = unquoted(&opens).unwrap_or(opens);
            let names = members(p, &self.root, "", true).into_iter().map(|member| {
                p.sequence([
                    p.marker(member.name),
                    glue(p, &opens, Some(self.tool), member.name),
                ])
            });
            p.sequence([self.glue(before), p.choice(names)])
        });
        let another = p.sequence([self.next(), p.choice(ways)]);
        let wrapper = p.optional(self.glue(self.wrapper_close));
        let last = p.between(LAST_ARGUMENT, |way| way(p, self.members));
        let end = self
            .close
            .map(|close| p.sequence([last, self.glue(close), wrapper, self.behind]));
        p.rule(name, p.choice([Some(another), end]))
    }
}
