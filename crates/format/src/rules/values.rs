//! Values as models write them beside the template's way.

use super::table::{Rule, Way};
use super::texts::attribute;
use crate::builder::{FormatBuilder, is_container};
use crate::calls::members::{Member, broken, name_quotes, no_json, sign};
use crate::glue::is_strong;
use crate::sites::{QUOTE, Value, Values, tag};
use chatparse_grammar::schema::Types;
use chatparse_learn::analysis::turn::{Container, Encoding, Glue, Slot, ValueKind, slots_of};
use chatparse_peg::ExprId;

sites! {
    "value" {
        /// What opens a value of a type, after what opens any.
        SLOT_OPEN: (&Value, &Glue) = {
            type_left_out,
        }
        /// The value of an argument, before all forms of the template.
        VALUE_FIRST: (&Value) = {
            enumerated_text,
            text_in_quotes,
            printed_text,
            printed_value,
        }
        /// An array or object, after the template's notation.
        CONTAINER: (&Value, ValueKind, &Glue, &Slot) = {
            container_as_json,
        }
        /// The value of an argument, after containers.
        VALUE: (&Value) = {
            container_as_text,
            null,
        }
        /// The value of an argument, before the template's texts.
        VALUE_TEXT: (&Value) = {
            escaped_quote,
        }
        /// The value of an argument, after all forms of the template.
        VALUE_LAST: (&Value) = {
            list_of_texts,
            text_to_line_end,
            text_for_type,
            broken_container,
            text_for_other_type,
            type_attribute,
            json_quotes,
            text_without_quotes,
            value_without_quotes,
            literal_of_other_type,
        }
    }
    "value-end" {
        /// The end of a value.
        VALUE_CLOSE: (&Value, &Slot) = {
            call_ends_value,
            container_ends_value,
        }
        /// The end of a container whose items have their own openings.
        CONTAINER_CLOSE: (&Values) = {
            container_ends_container,
        }
    }
    "value" {
        /// A text in quotes, after its first line or escape.
        QUOTED: (&Values, char, ExprId) = {
            unescaped_text,
        }
    }
    "argument" {
        /// The name of an argument.
        NAME_OF_ARGUMENT: (&FormatBuilder, ExprId, &[(ValueKind, Slot)]) = {
            name_in_quotes,
        }
    }
    "value" {
        /// The name of an object's member.
        KEY: (&Values, &Container, &[String], ExprId) = {
            key_in_quotes,
        }
    }
}

/// A text of an enum that looks like another value, which the enum does not have.
fn enumerated_text(value: &Value) -> Way {
    let p = value.p;
    let all = value.member.schema.get()["enum"].as_array()?;
    let mut texts = Vec::new();
    for text in all.iter().filter_map(|one| one.as_str()) {
        if serde_json::from_str(text).is_ok_and(|other| !all.contains(&other)) {
            texts.push(p.literal(text));
        }
    }
    if texts.is_empty() {
        return None;
    }
    let raw = value.texts.iter().filter(|slot| slot.is_raw());
    p.any_way(raw.map(|slot| {
        let text = p.arg_text(p.choice(texts.clone()));
        p.atomic(p.sequence([value.rest(slot), text, value.close(slot)]))
    }))
}

/// No type between tags before the value.
fn type_left_out(value: &Value, rest: &Glue) -> Way {
    let [first, last] = &rest.marker_spans()[..] else {
        return None;
    };
    (first.start > 0 && rest.is_literal()).then(|| value.glue(&rest.without_start(last.start)))
}

/// A text in quotes ends where an argument does, whatever else the value may be.
fn text_in_quotes(value: &Value) -> Way {
    let (p, values) = (value.p, value.values);
    let slot = value
        .texts
        .iter()
        .find(|slot| slot.encoding == Encoding::Quoted)?;
    let applies = values.python && values.after.is_some() && !value.plain.is_empty();
    applies.then(|| {
        p.sequence([
            value.rest(slot),
            p.and(p.quote()),
            values.quoted(value.glue(&slot.close)),
        ])
    })
}

/// A text as a literal of Python, where the schema allows no text.
fn printed_text(value: &Value) -> Way {
    (value.is_printed_bare() && !value.types.has(Types::STRING)).then(|| value.printed_text())
}

/// Any literal of Python, where the template prints texts bare, and the schema allows none or the
/// template ends them otherwise.
fn printed_value(value: &Value) -> Way {
    let ended = value
        .texts
        .iter()
        .all(|text| text.open == value.opens && !text.close.is_blank());
    (value.is_printed_bare() && ended).then(|| value.p.atomic(value.literal()))
}

/// The text of an array or object in quotes, where the template writes JSON and the schema allows
/// no text.
fn container_as_text(value: &Value) -> Way {
    let (p, slot) = (value.p, value.plain.first()?);
    let text = [
        value.rest(slot),
        p.space(),
        p.arg_json(p.json_text()),
        p.space(),
        value.close(slot),
    ];
    (p.mends && is_container(value.types)).then(|| p.atomic(p.sequence(text)))
}

/// An array or object as JSON, in place of the template's notation. What may still be text is not
/// shown before it ends.
fn container_as_json(value: &Value, kind: ValueKind, begin: &Glue, slot: &Slot) -> Way {
    let p = value.p;
    let sign = if kind == ValueKind::Array { "[" } else { "{" };
    if begin.head().starts_with(sign) {
        return None;
    }
    let (open, begins) = (value.rest(slot), p.and(p.literal(sign)));
    let json = value.member.python(p, value.literals, "");
    Some(p.atomic(p.sequence([open, begins, json, p.space(), value.close(slot)])))
}

/// Null as a word of JSON or Python, or as nothing.
fn null(value: &Value) -> Way {
    let (p, slot) = (value.p, value.null?);
    let bare = value
        .texts
        .iter()
        .all(|text| text.encoding == Encoding::Quoted || text.open != slot.open);
    let after = value.followed(slot);
    let empty = !value.types.has(Types::STRING) && (after.is_some() || !slot.close.is_blank());
    let close = p.sequence([Some(value.close(slot)), after]);
    Some(p.sequence([value.rest(slot), p.null(empty, bare, close)]))
}

/// A text printed between quotes, which is a literal of Python if its first backslash is before a
/// quote.
fn escaped_quote(value: &Value) -> Way {
    let p = value.p;
    let (after, close) = (
        value.values.after.filter(|_| value.values.python)?,
        value.bare_close.as_ref()?,
    );
    let slot = value.texts.first()?;
    let start = p.arg_json(p.sequence([p.literal(QUOTE), p.until_marker([QUOTE, "\\"])]));
    let rest = p.arg_json(p.sequence([p.python_body(p.string_body(b'"')), p.literal(QUOTE)]));
    let followed = p.ahead(after);
    let escaped = p.sequence([
        p.and(p.literal("\\\"")),
        rest,
        p.arg_close(value.glue(close)),
        followed,
    ]);
    Some(p.sequence([start, p.choice([p.atomic(escaped), (value.raw)(slot)])]))
}

/// A list that begins with one of the template's quotes, where the schema allows a text and no
/// list.
fn list_of_texts(value: &Value) -> Way {
    let (p, array) = (value.p, value.values.nested.array.as_ref()?);
    let quoted = value
        .between_quotes()
        .filter(|_| value.depth == 0 && value.nested.is_empty())?;
    let slot = slots_of(&array.slots, ValueKind::Array).next()?;
    let (open, list) = value
        .values
        .container(ValueKind::Array, slot, &Member::any(), 0)?;
    let begins = p.and(p.sequence([value.glue(&open), p.literal(quoted.close.head())]));
    Some(p.sequence([begins, list, value.close(slot)]))
}

/// A text without its quotes, which is the rest of the line where nothing but a text may be, and
/// the line ends with it.
fn text_to_line_end(value: &Value) -> Way {
    let p = value.p;
    let mut ways = Vec::new();
    for slot in value
        .texts
        .iter()
        .filter(|_| value.plain.is_empty() && value.depth == 0)
    {
        if slot.encoding == Encoding::Quoted && slot.close.head().starts_with('\n') {
            let text = p.arg_text(p.until_marker(["\n"]));
            ways.push(p.sequence([value.rest(slot), p.not(p.quote()), text, value.close(slot)]));
        }
    }
    p.any_way(ways)
}

/// A raw text, where the schema allows another type.
fn text_for_type(value: &Value) -> Way {
    let p = value.p;
    let mut slots = value.fallbacks();
    slots.dedup_by(|next, first| (&next.open, &next.close) == (&first.open, &first.close));
    p.any_way(
        slots
            .into_iter()
            .map(|slot| p.sequence([value.rest(slot), no_json(p, (value.raw)(slot))])),
    )
}

/// A text that is announced as another type.
fn text_for_other_type(value: &Value) -> Way {
    let p = value.p;
    let slots = value
        .mistyped
        .iter()
        .filter(|slot| !value.rest_of(slot).is_blank());
    p.any_way(slots.map(|slot| p.sequence([value.rest(slot), (value.raw)(slot)])))
}

/// A value without the attribute that tells its type, or with another word in it.
fn type_attribute(value: &Value) -> Way {
    let p = value.p;
    let mut attributes = value
        .used
        .iter()
        .map(|slot| behind_attribute(&value.rest_of(slot)));
    let behind = attributes.next()??;
    if attributes.any(|other| other.as_ref() != Some(&behind)) {
        return None;
    }
    let slot = value.used[0];
    let text = (value.raw)(&Slot {
        encoding: Encoding::Raw,
        ..slot.clone()
    });
    let json = [
        sign(p, value.types),
        value.member.python(p, value.literals, ""),
        p.space(),
        value.close(slot),
    ];
    let all = p.choice([p.atomic(p.sequence(json)), text]);
    Some(p.sequence([p.optional(attribute(p)), value.glue(&behind), all]))
}

/// What is after an attribute that a value's opening begins with, as in ` type="number">`.
fn behind_attribute(open: &Glue) -> Option<Glue> {
    let (name, rest) = open.head().strip_prefix(' ')?.split_once("=\"")?;
    let behind = rest
        .find('"')
        .filter(|_| name.chars().all(char::is_alphanumeric))?;
    Some(open.without_start(open.head().len() - rest.len() + behind + 1))
}

/// A text between quotes of JSON in place of the template's.
fn json_quotes(value: &Value) -> Way {
    let p = value.p;
    value.between_quotes()?;
    Some(p.sequence([p.space(), p.and(p.quote()), p.arg_json(p.python_string())]))
}

/// A text without the template's quotes, or without the first of them.
fn text_without_quotes(value: &Value) -> Way {
    let p = value.p;
    let mark = value.between_quotes()?.close.head();
    let slot = value
        .mistyped
        .iter()
        .find(|slot| value.rest_of(slot).is_blank())?;
    if value.depth > 0 {
        return Some(no_json(
            p,
            p.sequence([p.not(p.and(p.quote())), (value.raw)(slot)]),
        ));
    }
    let ends = p.ahead(value.after()?);
    let null = p.null(false, true, p.sequence([p.arg_close(p.empty()), ends]));
    let close = p.sequence([p.optional(p.literal(mark)), ends]);
    let run = p.until_marker([mark, ",", "}"]);
    let text = p.arg_text(p.sequence([run, p.more_text(close, run)]));
    let text = p.sequence([
        p.not(p.and(p.quote())),
        p.not(p.literal(mark)),
        text,
        p.arg_close(close),
    ]);
    Some(p.choice([null, no_json(p, text)]))
}

/// A literal without the quotes that the template puts around all values.
fn value_without_quotes(value: &Value) -> Way {
    let (p, close) = (value.p, value.bare_close.as_ref()?);
    let literal = if value.values.python {
        p.arg_printed()
    } else {
        p.arg_json(p.python(""))
    };
    Some(p.sequence([
        p.not(p.literal(QUOTE)),
        literal,
        p.arg_close(value.glue(close)),
    ]))
}

/// An array or object that breaks: what is up to its end, as it is.
fn broken_container(value: &Value) -> Way {
    let p = value.p;
    let slots = value
        .plain
        .iter()
        .filter(|slot| p.mends && value.depth == 0 && tag(&slot.close).is_some());
    p.any_way(slots.map(|slot| p.sequence([value.rest(slot), broken(p, (value.raw)(slot))])))
}

/// A literal of Python of another type than the schema allows.
fn literal_of_other_type(value: &Value) -> Way {
    (value.is_python() && value.bare_close.is_none()).then(|| value.literal())
}

/// What ends the call ends its last value.
fn call_ends_value(value: &Value, slot: &Slot) -> Way {
    let p = value.p;
    let end = value
        .values
        .enclosing
        .filter(|_| value.depth == 0 && !slot.close.is_blank())?;
    Some(p.ahead(p.marker(end)))
}

/// What ends a container ends its last value.
fn container_ends_value(value: &Value, slot: &Slot) -> Way {
    let p = value.p;
    let end = value.values.within.filter(|_| is_strong(&slot.close))?;
    Some(p.ahead(end))
}

/// What ends an outer container ends the inner one.
fn container_ends_container(values: &Values) -> Way {
    values.within
}

/// A text in quotes that is printed as it is: a quote ends it only before what may follow an
/// argument.
fn unescaped_text(values: &Values, quote: char, close: ExprId) -> Way {
    let (p, quote) = (values.p, quote.to_string());
    let sign = p.literal(&*quote);
    let inner = p.sequence([p.not(p.spaced([sign, values.after?])), sign]);
    Some(p.sequence([
        p.arg_text(p.many(p.choice([inner, p.until_marker([&*quote])]))),
        close,
    ]))
}

/// A name between quotes, or between what the template puts around texts.
fn name_in_quotes(p: &FormatBuilder, name: ExprId, slots: &[(ValueKind, Slot)]) -> Way {
    let quoted =
        name_quotes(slots).map(|quote| p.sequence([p.literal(quote), name, p.literal(quote)]));
    Some(p.choice(quoted))
}

/// The name of a member between quotes.
fn key_in_quotes(values: &Values, all: &Container, ends: &[String], opens: ExprId) -> Way {
    let p = values.p;
    let mut ways = Vec::new();
    for quote in name_quotes(&all.slots).filter(|_| ends.iter().any(|end| end.starts_with(':'))) {
        let (sign, text) = (p.literal(quote), p.key(p.until_marker([quote, "\n"])));
        ways.push(p.atomic(p.sequence([sign, text, sign, p.and(opens)])));
    }
    p.any_way(ways)
}
