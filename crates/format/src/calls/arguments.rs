//! Arguments that are written one by one.

use super::members::{Member, is_between_quotes, members, unlisted_name};
use super::values::{perhaps_quoted, unquoted};
use crate::builder::FormatBuilder;
use crate::glue::{self as text, glue, is_strong};
use crate::rules::arguments::{
    ARGUMENT, ARGUMENT_OPEN, BRANCH, LAST_ARGUMENT, NAME_OF_ARGUMENT_CLOSE,
    NAME_OF_ARGUMENT_CLOSED, NEXT_ARGUMENT, TEXT, TEXT_BEGIN, VALUE_OPEN,
};
use crate::rules::texts::{TEXT as TEXT_END, TextEnd};
use crate::sites::{Arguments, Tags, Values, tag};
use crate::wrappers;
use chatparse_base::sort;
use chatparse_grammar::{schema, spelled};
use chatparse_learn::analysis::turn::{Encoding, Glue, Slot, ValueKind, slots_of};
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

/// The white space that a marker ends with.
fn space_after(marker: &Glue) -> &str {
    &marker.head()[marker.head().trim_end().len()..]
}

impl Arguments<'_> {
    fn is_any(&self) -> bool {
        self.tool.name == FormatBuilder::ANY
    }

    /// Whether the tool and the name of this argument are known.
    fn knows(&self, member: &Member) -> bool {
        !FormatBuilder::is_any(member.name) && !self.is_any()
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
        let mut known = Vec::new();
        if self.is_any() {
            return known;
        }
        let prefix = format!("tool-{}-arg-", self.tool.name);
        for member in members(p, &self.root, &prefix, true) {
            let (left_out, argument) = (member.left_out, self.argument(&member));
            let argument = member.perhaps(p, left_out, Notation::PerhapsLeftOut, argument);
            known.push((p.rule(member.rule.clone(), argument), member.required));
        }
        // A tag that opens an argument and is there twice is glue. Not a part of each argument:
        // they begin with fixed texts.
        let others = p.ways(ARGUMENT, |way| way(self));
        known.extend(others.into_iter().map(|way| (way, false)));
        if let Some((first, _)) = known.first_mut() {
            *first = p.rather(*first, BRANCH, |way| way(self));
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

    /// A name, and the value in each form that its types allow.
    pub fn argument(&self, member: &Member) -> ExprId {
        let p = self.p;
        let slots = &self.members.slots;
        let known = !FormatBuilder::is_any(member.name);
        let python = self.members.is_python();
        let quoted = slots_of(slots, ValueKind::Text)
            .any(|slot| slot.encoding == Encoding::Quoted || is_between_quotes(slot));
        let enclosing = self
            .close
            .filter(|close| is_strong(close) && close.is_literal());
        let values = Values {
            p,
            tool: self.tool,
            nested: &self.members.nested,
            python,
            after: (known && (python || quoted)).then(|| self.after()),
            enclosing: enclosing.map(Glue::core),
            within: None,
            next: None,
        };
        let between = |text: &Glue| glue(p, text, Some(self.tool), member.name);
        let mut ways = Vec::new();
        for before in self.members.befores() {
            let Some((opens, value)) =
                values.of(slots, before, member, 0, &|slot| self.raw(slot, member))
            else {
                continue;
            };
            // The name is certain after the marker that closes it.
            let close = opens.up_to_first_marker();
            let rest = opens.strip_prefix(&close).unwrap_or_default();
            let value_close = Glue::common_start(slots.iter().map(|(_, slot)| &slot.close));
            let [next, name_close, value_open, value_close] =
                [&self.members.next, &close, &rest, &value_close].map(tag);
            let tags = Tags {
                p,
                next,
                name_close,
                value_open,
                value_close,
            };
            // The name, with the text that opens an argument.
            let named = perhaps_quoted(p, p.arg_name(member.name), &close, slots);
            let ends = p.or(between(&close), NAME_OF_ARGUMENT_CLOSE, |way| way(&tags));
            let name = p.sequence([between(before), p.stray_space(), named, ends]);
            let written = p.sequence([self.opens, name]);
            let name = p.or(written, ARGUMENT_OPEN, |way| {
                Some(p.sequence([way(self).filter(|_| known)?, name]))
            });
            // The value.
            let ends_again = p.between(NAME_OF_ARGUMENT_CLOSED, |way| way(&tags));
            let rest = between(&rest);
            let rest = p.or(rest, VALUE_OPEN, |way| way(&tags, rest));
            ways.push(p.sequence([p.atomic(name), ends_again, rest, p.markup_ends(), value]));
        }
        p.choice(ways)
    }

    /// Raw text and its end. Without a marker, the text ends before an argument or before what may
    /// follow a call.
    fn raw(&self, slot: &Slot, member: &Member) -> ExprId {
        let p = self.p;
        let close = glue(p, &slot.close, Some(self.tool), member.name);
        let known = self.knows(member);
        let spelled = if known {
            slot.close.with_names(&self.tool.name, member.name)
        } else {
            slot.close.clone()
        };
        let written = |text| member.written(p, text, "text", Notation::Text);
        // A tag with a token before it ends the text, or the same tag without the token.
        let prefixed = known && !p.prefix.is_empty();
        if let Some(end) = p.first_tag(&spelled).filter(|_| prefixed) {
            let text = p.arg_text(p.until_marker([end]));
            let text = p.rather(text, TEXT_END, |way| way(p, end, self.after()));
            return written(p.excluding(p.sequence([text, p.arg_close(close)]), [end]));
        }
        if is_strong(&spelled) {
            if spelled.is_literal() {
                // A text between two quotes may hold anything else.
                let quoted = slot.open.head().ends_with(spelled.head());
                let shared = spelled == slot.close && known && !quoted;
                return written(self.marked_text(&spelled, shared));
            }
            let text = written(p.arg_text(p.until_marker(text::heads(&spelled))));
            return p.sequence([text, p.arg_close(close)]);
        }
        self.unmarked_text(slot, member, &spelled, close)
    }

    /// Raw text without an end of its own, which goes on over texts that begin no argument of the
    /// tool. `spelled`: its end with the names in it; `close`: that end.
    fn unmarked_text(&self, slot: &Slot, member: &Member, spelled: &Glue, close: ExprId) -> ExprId {
        let p = self.p;
        let known = self.knows(member);
        let any_string = schema::allows_any_string(member.schema.get());
        let mut ends = text::heads(spelled);
        let lines = ends.is_empty() && text::heads(&spelled.and(&self.members.next)).is_empty();
        if ends.is_empty() {
            for after in [Some(&self.members.next), self.close].into_iter().flatten() {
                let named = known.then(|| after.with_names(&self.tool.name, ""));
                ends.extend(text::heads(&spelled.and(named.as_ref().unwrap_or(after))));
            }
            ends.extend(self.next_names(spelled));
        }
        let more = p.between(TEXT, |way| way(self, &ends, close));
        let mut text = p.until_marker(ends.clone());
        // An unquoted value begins with no quote: it would be a literal of Python. In a grammar it
        // does not begin like its end, either.
        if self.members.is_python() && slot.open.head().ends_with('=') && any_string {
            let signs = ends.iter().filter_map(|end| end.chars().next());
            let signs = sort::set(signs.chain(['"', '\'']));
            let begun = p.sequence([p.no_sign(signs), text]);
            text = p.optional(p.or(begun, TEXT_BEGIN, |way| way(p, &ends, text)));
        }
        let text = p.arg_text(p.sequence([text, more]));
        let text = member.written(p, text, "text", Notation::Text);
        let said = lines && known && any_string;
        let text = member.perhaps(p, said, Notation::PerhapsMore, text);
        p.sequence([text, p.arg_close(close)])
    }

    /// What another argument of the tool begins with, after the end of a text.
    fn next_names(&self, close: &Glue) -> Vec<String> {
        let opens = self.opens_values();
        let between = close.and(&self.members.next);
        if self.is_any() || between.is_empty() || opens.is_blank() || !between.is_literal() {
            return Vec::new();
        }
        self.named(between.head(), opens.head().trim_end())
    }

    /// The names of all arguments between these texts.
    fn named(&self, before: &str, after: &str) -> Vec<String> {
        let known = members(self.p, &self.root, "", true).into_iter();
        known
            .map(|member| [before, member.name, after].concat())
            .collect()
    }

    /// Raw text and the marker that closes it. If a model leaves that out, the next argument or the
    /// end of the call closes it. `shared`: all arguments of the tool have this marker.
    fn marked_text(&self, marker: &Glue, shared: bool) -> ExprId {
        let p = self.p;
        // The texts that may follow the marker. The marker itself may come twice.
        let next = [
            Some(&self.members.next),
            self.close,
            Some(self.wrapper_close),
            Some(marker),
        ];
        let next: Vec<&str> = next.into_iter().flatten().map(Glue::head).collect();
        if !shared {
            let key = ["text up to", marker.head(), &next.join("\0")].join("\0");
            return p.shared(&key, || self.text_up_to(marker, &next, &[]));
        }
        let rule = format!("tool-{}-text{}", self.tool.name, spelled(marker.head()));
        if p.is_defined(&rule) {
            return p.reference(rule);
        }
        let (between, opens) = (&self.members.next, self.opens_values());
        let mut names = Vec::new();
        if is_strong(between) && opens.is_literal() && !opens.is_blank() {
            let before = [space_after(marker), between.head()].concat();
            names = self.named(&before, opens.head());
        }
        p.rule(rule, self.text_up_to(marker, &next, &names))
    }

    /// Raw text up to this marker. `next`: the texts that may follow it; `names`: the names of
    /// other arguments with the texts around them, which end it as well.
    fn text_up_to(&self, marker: &Glue, next: &[&str], names: &[String]) -> ExprId {
        let p = self.p;
        let end = self
            .close
            .map(|close| close.and(self.wrapper_close))
            .filter(|close| !close.marker_spans().is_empty() && close.is_literal())
            .map(|close| [space_after(marker), close.head()].concat());
        let end = end.as_deref();
        let wrapper = tag(self.wrapper_close).map(|wrapper| (wrapper, self.behind));
        let wrapper = wrapper.or(self.section).filter(|_| end.is_some());
        // The ends of the text without its marker in a grammar: the opening of any argument, the
        // marker and the end of the call with other white space, and the section's end.
        let mut others: Vec<SmolStr> = Vec::new();
        others.extend((!names.is_empty()).then(|| self.members.next.core().into()));
        let core = marker.core();
        others.extend((core.len() < marker.head().len()).then(|| core.into()));
        others.extend(wrapper.map(|(wrapper, _)| wrapper.trim().into()));
        others.extend(end.into_iter().flat_map(spaced));
        let opens = [self.close, Some(&self.members.next)].into_iter().flatten();
        let opens = opens.filter(|glue| is_strong(glue)).map(Glue::core);
        let ends = TextEnd {
            marker: marker.head(),
            next,
            // A call without an end of its own ends with the last value.
            behind: self
                .close
                .is_some_and(Glue::is_blank)
                .then_some(self.behind),
            opens: &opens.collect::<Vec<_>>(),
            names,
            end,
            wrapper,
        };
        let text = p.parsed(|| p.arg_text_up_to(&ends));
        p.excluding_all(text, [marker.head()], others)
    }

    /// What is between two arguments.
    pub fn next(&self) -> ExprId {
        let p = self.p;
        let written = self.glue(&self.members.next);
        p.rather(written, NEXT_ARGUMENT, |way| way(p, self.members))
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
