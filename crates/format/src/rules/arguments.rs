//! Arguments that are written one by one, as models write them beside the template's way.

use super::table::{Rule, Way};
use crate::builder::FormatBuilder;
use crate::calls::members::{members, unlisted_name};
use crate::coverage;
use crate::glue::glue;
use crate::sites::{Arguments, Tags, tag};
use crate::tag::Tag;
use chatparse_base::sort;
use chatparse_grammar::schema;
use chatparse_learn::analysis::turn::{Glue, GluePiece, Members, ValueKind, slots_of};
use chatparse_peg::{ExprId, SchemaRef};
use serde_json::Value;

sites! {
    "argument" {
        /// Before the arguments that the schema lists: those of one of its branches.
        BRANCH: (&Arguments) = {
            constant_tells_branch,
        }
        /// An argument that the schema lists, or what is in its place.
        ARGUMENT: (&Arguments) = {
            argument_opened_again,
            name_in_end,
        }
        /// Between two arguments, before what the template writes there.
        NEXT_ARGUMENT: (&FormatBuilder, &Members) = {
            python_comma,
        }
        /// After the last argument.
        LAST_ARGUMENT: (&FormatBuilder, &Members) = {
            comma_after_last_argument,
        }
        /// What opens an argument.
        ARGUMENT_OPEN: (&Arguments) = {
            argument_open_left_out,
            call_opens_argument,
        }
        /// What ends the name of an argument.
        NAME_OF_ARGUMENT_CLOSE: (&Tags) = {
            name_end_left_out,
        }
        /// After the name of an argument.
        NAME_OF_ARGUMENT_CLOSED: (&Tags) = {
            name_closed_again,
        }
        /// What opens a value: the template's text for it.
        VALUE_OPEN: (&Tags, ExprId) = {
            name_closed_as_value,
            type_in_tags,
            value_open_left_out,
        }
    }
    "value" {
        /// A raw text after what may end it.
        TEXT: (&Arguments, &[String], ExprId) = {
            text_goes_on,
        }
        /// A raw text where a literal of Python may be.
        TEXT_BEGIN: (&FormatBuilder, &[String], ExprId) = {
            text_begins_as_end,
        }
    }
}

/// Branches of a schema that a text tells apart: the arguments after it have the types of its
/// branch.
fn constant_tells_branch(all: &Arguments) -> Way {
    let p = all.p;
    let (_, slot) = all.members.slots.iter().find(|(_, slot)| slot.is_raw())?;
    let branches: Vec<SchemaRef> = schema::places(&all.root, true)
        .into_iter()
        .filter(|(_, must)| !must)
        .map(|(branch, _)| branch)
        .filter(|branch| !branch.get()["properties"].is_null())
        .collect();
    let first = branches.get(1).filter(|_| all.members.in_front_of_each())?;
    let (key, texts) = schema::members(first.get()).find_map(|(key, ..)| {
        let schemas = branches
            .iter()
            .map(|branch| &branch.get()["properties"][key]);
        let texts: Option<Vec<&str>> = schemas
            .map(|schema| schema["const"].as_str().or(only(&schema["enum"])))
            .collect();
        Some(key).zip(texts.filter(|texts| sort::set(texts).len() == texts.len()))
    })?;
    let written = |text: &Glue| glue(p, text, Some(all.tool), key);
    let front = p.sequence([
        all.opens,
        written(&slot.before),
        p.arg_name(key),
        written(&slot.open),
    ]);
    let ways = branches
        .iter()
        .zip(texts)
        .enumerate()
        .map(|(at, (branch, text))| {
            let first = [
                front,
                p.arg_text(p.literal(text)),
                p.arg_close(written(&slot.close)),
            ];
            let rest = members(
                p,
                branch,
                &format!("tool-{}-branch-{at}-", all.tool.name),
                false,
            );
            let rest = p.choice(rest.iter().map(|member| all.argument(member)));
            p.sequence([
                p.atomic(p.sequence(first)),
                p.many(p.sequence([p.blank(), rest])),
            ])
        });
    Some(p.choice(ways))
}

/// The text of a list of one.
fn only(all: &Value) -> Option<&str> {
    all[0].as_str().filter(|_| all.get(1).is_none())
}

/// The opening twice. Not a part of each argument: they begin with fixed texts.
fn argument_opened_again(all: &Arguments) -> Way {
    let p = all.p;
    let tag = tag(&all.members.next).filter(|_| all.members.in_front_of_each())?;
    let again = p.ahead(p.marker(tag));
    Some(p.sequence([p.space(), p.marker(tag), again]))
}

/// No tag before a value, whose end has the name.
fn name_in_end(all: &Arguments) -> Way {
    let (p, prefix) = (all.p, &*all.p.prefix);
    let slot = slots_of(&all.members.slots, ValueKind::Text).next()?;
    let pieces: Vec<GluePiece> = slot.close.pieces().collect();
    let [GluePiece::Text(end), GluePiece::Key, GluePiece::Text(rest)] = *pieces else {
        return None;
    };
    if prefix.is_empty() {
        return None;
    }
    let listed = unlisted_name(p, &all.tool.name, &all.root);
    let name = p.whole(Tag::ArgName, p.listed_name(&listed));
    let written = |text: &str| p.glue(&text.into());
    let front = [
        p.space(),
        p.optional(p.marker(prefix)),
        p.not(written(all.members.next.core())),
    ];
    let text = p.whole(
        Tag::Unnamed,
        p.until_marker([end, end.strip_prefix(prefix).unwrap_or(end)]),
    );
    let end = [
        text,
        written(end),
        name,
        p.marker(rest),
        p.arg_close(p.empty()),
    ];
    Some(p.atomic(p.sequence(front.into_iter().chain(end))))
}

/// A comma, where calls are Python's and the template writes none.
fn python_comma(p: &FormatBuilder, members: &Members) -> Way {
    (members.is_python() && members.next.is_blank()).then(|| p.literal(","))
}

/// A comma after the last argument.
fn comma_after_last_argument(p: &FormatBuilder, members: &Members) -> Way {
    let listed = members.is_python() || members.next.core() == ",";
    listed.then(|| p.optional(p.sequence([p.literal(","), p.space()])))
}

/// No opening, where a marker after the name makes it certain.
fn argument_open_left_out(all: &Arguments) -> Way {
    all.call_open.map(|_| all.p.empty())
}

/// The opening of a call in place of an argument's.
fn call_opens_argument(all: &Arguments) -> Way {
    let open = all.call_open.filter(|open| !open.is_blank())?;
    Some(glue(all.p, open, Some(all.tool), ""))
}

/// No tag after the name: the value's opening ends it.
fn name_end_left_out(tags: &Tags) -> Way {
    let (p, _) = (tags.p, tags.name_close?);
    Some(p.ahead(p.marker(tags.value_open?)))
}

/// The tag after the name, again.
fn name_closed_again(tags: &Tags) -> Way {
    let (p, tag) = (tags.p, tags.name_close?);
    Some(p.shared(&format!("again {tag}"), || {
        p.many(p.after_space(p.marker(tag)))
    }))
}

/// The end of a value after the name, before the value's opening.
fn name_closed_as_value(tags: &Tags, open: ExprId) -> Way {
    let (p, _) = (tags.p, tags.value_open?);
    Some(p.sequence([p.space(), p.marker(tags.value_close?), open]))
}

/// The name of a type of JSON between tags, before the value's opening.
fn type_in_tags(tags: &Tags, open: ExprId) -> Way {
    let (p, opening) = (tags.p, tags.value_open?);
    Some(p.shared(&format!("type before {opening}"), || {
        let name = coverage::word(p, 1, &[('a', 'z'), ('_', '_'), ('|', '|')]);
        let tag = |bracket: &str| p.sequence([p.literal(bracket), name, p.literal(">")]);
        let types = p.any_of([
            "string", "integer", "number", "boolean", "array", "object", "null",
        ]);
        p.sequence([p.space(), tag("<"), types, tag("</"), open])
    }))
}

/// No opening of the value.
fn value_open_left_out(tags: &Tags, _: ExprId) -> Way {
    let (p, _) = (tags.p, tags.value_open?);
    let no_name = tags
        .next
        .map_or_else(|| p.empty(), |next| p.not(p.marker(next)));
    Some(p.after_space(no_name))
}

/// A raw text goes on after what ends it, where nothing follows that may be after an argument.
fn text_goes_on(all: &Arguments, ends: &[String], close: ExprId) -> Way {
    let p = all.p;
    let end = p.and(p.any_of(ends));
    let inner = p.sequence([end, p.not(p.sequence([close, all.after()])), p.any()]);
    Some(p.many(p.sequence([inner, p.until_marker(ends)])))
}

/// A raw text begins with the first sign of what ends it.
fn text_begins_as_end(p: &FormatBuilder, ends: &[String], text: ExprId) -> Way {
    Some(p.sequence([p.not(p.any_of(ends)), p.not(p.quote()), p.any(), text]))
}
