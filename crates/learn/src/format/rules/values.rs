//! Values as models write them beside the template's way.

use super::super::builder::FormatBuilder;
use super::super::calls::members::{name_quotes, no_json, sign};
use super::super::calls::values::{QUOTE, Value, Values};
use super::super::glue as text;
use super::super::glue::is_strong;
use super::super::tag::Tag;
use crate::analysis::turn::{Container, Encoding, Glue, Slot, ValueKind};
use chatparse_grammar::schema::Types;
use chatparse_peg::ExprId;

/// A text in quotes ends where an argument does, whatever else the value may be.
pub(super) fn text_in_quotes(value: &Value) -> Option<ExprId> {
    let (p, values) = (value.values.p, value.values);
    let slot = value.texts.iter().find(|slot| slot.encoding == Encoding::Quoted)?;
    let applies = values.python && values.after.is_some() && !value.plain.is_empty();
    applies.then(|| p.sequence([value.rest(slot), p.opens_quoted(), values.quoted(value.glue(&slot.close))]))
}

/// A text as a literal of Python, where the schema allows no text.
pub(super) fn printed_text(value: &Value) -> Option<ExprId> {
    (value.is_printed_bare() && !value.types.has(Types::STRING)).then(|| value.printed_text())
}

/// Any literal of Python, where the template prints texts bare and the schema allows none.
pub(super) fn printed_value(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let after = value.values.after.filter(|_| value.is_printed_bare() && !value.types.has(Types::STRING))?;
    let followed = p.and(p.sequence([p.space(), after]));
    Some(p.atomic(p.sequence([p.arg_printed(), p.arg_close(p.empty()), followed])))
}

/// An array or object as JSON, in place of the template's notation. What may still be text is not shown before it ends.
pub(super) fn container_as_json(value: &Value, kind: ValueKind, begin: &Glue, slot: &Slot) -> Option<ExprId> {
    let p = value.values.p;
    let sign = if kind == ValueKind::Array { "[" } else { "{" };
    let python = || value.member.python(p, value.literals);
    let json = || p.sequence([value.rest(slot), p.and(p.literal(sign)), python(), p.space(), value.close(slot)]);
    (!begin.head().starts_with(sign)).then(|| p.atomic(json()))
}

/// Null as a word of JSON or Python, or as nothing.
pub(super) fn null(value: &Value) -> Option<ExprId> {
    let (p, slot) = (value.values.p, value.null?);
    let bare = value.texts.iter().all(|text| text.encoding == Encoding::Quoted || text.open != slot.open);
    let after = value.followed(slot);
    let empty = !value.types.has(Types::STRING) && (after.is_some() || !slot.close.is_blank());
    let close = p.sequence([value.close(slot)].into_iter().chain(after));
    Some(p.sequence([value.rest(slot), p.null(empty, bare, close)]))
}

/// A text printed between quotes, which is a literal of Python if its first backslash is before a quote.
pub(super) fn escaped_quote(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let (after, close) = (value.values.after.filter(|_| value.values.python)?, value.bare_close.as_ref()?);
    let slot = value.texts.first()?;
    let start = p.arg_json(p.sequence([p.literal(QUOTE), p.until_marker([QUOTE, "\\"])]));
    let rest = p.arg_json(p.sequence([p.python_body(p.string_body(b'"')), p.literal(QUOTE)]));
    let followed = p.and(p.sequence([p.space(), after]));
    let escaped = p.sequence([p.and(p.literal("\\\"")), rest, p.arg_close(value.glue(close)), followed]);
    Some(p.sequence([start, p.choice([p.atomic(escaped), value.raw(slot)])]))
}

/// A text without its quotes, which is the rest of the line where nothing but a text may be, and the line ends with it.
pub(super) fn text_to_line_end(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let mut ways = Vec::new();
    for slot in value.texts.iter().filter(|_| value.plain.is_empty() && value.depth == 0) {
        if slot.encoding == Encoding::Quoted && slot.close.head().starts_with('\n') {
            let text = p.arg_text(p.until_marker(["\n"]));
            ways.push(p.sequence([value.rest(slot), p.not(p.quote()), text, value.close(slot)]));
        }
    }
    (!ways.is_empty()).then(|| p.choice(ways))
}

/// A raw text, where the schema allows another type.
pub(super) fn text_for_type(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let mut slots = value.fallbacks();
    slots.dedup_by(|next, first| (&next.open, &next.close) == (&first.open, &first.close));
    let ways = slots.into_iter().map(|slot| p.sequence([value.rest(slot), no_json(p, value.raw(slot))]));
    let ways: Vec<ExprId> = ways.collect();
    (!ways.is_empty()).then(|| p.choice(ways))
}

/// A text that is announced as another type.
pub(super) fn text_for_other_type(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let slots = value.mistyped.iter().filter(|slot| !value.rest_of(slot).is_blank());
    let ways: Vec<ExprId> = slots.map(|slot| p.sequence([value.rest(slot), value.raw(slot)])).collect();
    (!ways.is_empty()).then(|| p.choice(ways))
}

/// A value without the attribute that tells its type, or with another word in it.
pub(super) fn type_attribute(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let mut attributes = value.used.iter().map(|slot| behind_attribute(&value.rest_of(slot)));
    let behind = attributes.next()??;
    if attributes.any(|other| other.as_ref() != Some(&behind)) {
        return None;
    }
    let slot = value.used[0];
    let text = value.raw(&Slot { encoding: Encoding::Raw, ..slot.clone() });
    let json = [sign(p, value.types), value.member.python(p, value.literals), p.space(), value.close(slot)];
    let all = p.choice([p.atomic(p.sequence(json)), text]);
    Some(p.sequence([p.optional(text::attribute(p)), value.glue(&behind), all]))
}

/// What is after an attribute that a value's opening begins with, as in ` type="number">`.
fn behind_attribute(open: &Glue) -> Option<Glue> {
    let (name, rest) = open.head().strip_prefix(' ')?.split_once("=\"")?;
    let behind = rest.find('"').filter(|_| name.chars().all(char::is_alphanumeric))?;
    Some(open.without_start(open.head().len() - rest.len() + behind + 1))
}

/// A text between quotes of JSON in place of the template's.
pub(super) fn json_quotes(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    value.between_quotes()?;
    Some(p.sequence([p.space(), p.opens_quoted(), p.arg_json(p.python_string())]))
}

/// A text without the template's quotes, or without the first of them.
pub(super) fn text_without_quotes(value: &Value) -> Option<ExprId> {
    let p = value.values.p;
    let mark = value.between_quotes()?.close.head();
    let slot = value.mistyped.iter().find(|slot| value.rest_of(slot).is_blank())?;
    if value.depth > 0 {
        return Some(no_json(p, p.sequence([p.not(p.opens_quoted()), value.raw(slot)])));
    }
    let ends = p.and(p.sequence([p.space(), value.after()?]));
    let null = p.null(false, true, p.sequence([p.arg_close(p.empty()), ends]));
    let close = p.sequence([p.optional(p.literal(mark)), ends]);
    let run = p.until_marker([mark, ",", "}"]);
    let text = p.arg_text(p.sequence([run, p.more_text(close, run)]));
    let text = p.sequence([p.not(p.opens_quoted()), p.not(p.literal(mark)), text, p.arg_close(close)]);
    Some(p.choice([null, no_json(p, text)]))
}

/// A literal without the quotes that the template puts around all values.
pub(super) fn value_without_quotes(value: &Value) -> Option<ExprId> {
    let (p, close) = (value.values.p, value.bare_close.as_ref()?);
    let literal = if value.values.python { p.arg_printed() } else { p.arg_json(p.python()) };
    Some(p.sequence([p.not(p.literal(QUOTE)), literal, p.arg_close(value.glue(close))]))
}

/// What ends the call ends its last value.
pub(super) fn call_ends_value(value: &Value, slot: &Slot) -> Option<ExprId> {
    let p = value.values.p;
    let end = value.values.enclosing.filter(|_| value.depth == 0 && !slot.close.is_blank())?;
    Some(p.and(p.sequence([p.space(), p.marker(end)])))
}

/// What ends a container ends its last value.
pub(super) fn container_ends_value(value: &Value, slot: &Slot) -> Option<ExprId> {
    let p = value.values.p;
    let end = value.values.within.filter(|_| is_strong(&slot.close))?;
    Some(p.and(p.sequence([p.space(), end])))
}

/// What ends an outer container ends the inner one.
pub(super) fn container_ends_container(values: &Values) -> Option<ExprId> {
    values.within
}

/// A text in quotes that is printed as it is: a quote ends it only before what may follow an argument.
pub(super) fn unescaped_text(values: &Values, quote: char, close: ExprId) -> Option<ExprId> {
    let (p, quote) = (values.p, quote.to_string());
    let sign = p.literal(&*quote);
    let inner = p.sequence([p.not(p.sequence([sign, p.space(), values.after?])), sign]);
    Some(p.sequence([p.arg_text(p.many(p.choice([inner, p.until_marker([&*quote])]))), close]))
}

/// A name between quotes, or between what the template puts around texts.
pub(super) fn name_in_quotes(p: &FormatBuilder, name: ExprId, slots: &[(ValueKind, Slot)]) -> Option<ExprId> {
    let quoted = name_quotes(slots).map(|quote| p.sequence([p.literal(quote), name, p.literal(quote)]));
    Some(p.choice(quoted.collect::<Vec<_>>()))
}

/// The name of a member between quotes.
pub(super) fn key_in_quotes(values: &Values, all: &Container, ends: &[String], opens: ExprId) -> Option<ExprId> {
    let p = values.p;
    let mut ways = Vec::new();
    for quote in name_quotes(&all.slots).filter(|_| ends.iter().any(|end| end.starts_with(':'))) {
        let (sign, text) = (p.literal(quote), p.key(p.until_marker([quote, "\n"])));
        ways.push(p.atomic(p.sequence([sign, text, sign, p.and(opens)])));
    }
    (!ways.is_empty()).then(|| p.choice(ways))
}

/// Arguments as the text of a JSON object in a JSON string.
pub(super) fn arguments_as_text(p: &FormatBuilder) -> Option<ExprId> {
    Some(p.quoted_args())
}

/// A marker before more text is text itself.
pub(super) fn marker_in_text(p: &FormatBuilder, more: ExprId) -> Option<ExprId> {
    Some(p.not(more))
}

/// The marker after a text with other white space, before what may follow.
pub(super) fn marker_with_other_space(p: &FormatBuilder, core: ExprId, next: ExprId, _: ExprId) -> Option<ExprId> {
    Some(p.sequence([core, p.and(next)]))
}

/// The next argument or the end of the call ends a text.
pub(super) fn name_ends_text(p: &FormatBuilder, _: ExprId, _: ExprId, names: ExprId) -> Option<ExprId> {
    Some(p.and(names))
}

/// Items between brackets of Python, which are an array.
fn items(p: &FormatBuilder, [open, close]: [&str; 2], item: ExprId) -> ExprId {
    let (item, comma) = (p.arg_json(item), p.spaced([p.empty(), p.literal(","), p.empty()]));
    let more = p.many(p.sequence([comma, p.not(p.literal(close)), item]));
    let all = p.sequence([item, more, p.optional(comma), p.space()]);
    let all = p.choice([p.literal(close), p.sequence([all, p.literal(close)])]);
    // After its bracket, which shows that it is one.
    let bracket = p.tag(Tag::Markup, p.sequence([p.literal(open), p.space()]));
    p.sequence([bracket, p.array(all)])
}

/// A tuple of Python is an array.
pub(super) fn python_tuple(p: &FormatBuilder, value: ExprId) -> Option<ExprId> {
    Some(items(p, ["(", ")"], value))
}

/// A set of Python is an array. A dict has a colon after its first item.
pub(super) fn python_set(p: &FormatBuilder, _: ExprId) -> Option<ExprId> {
    let plain = p.choice([p.printed_string(Tag::ArgText), p.json_number()]);
    let first = p.spaced([p.literal("{"), plain, p.one_of(&[(',', ','), ('}', '}')])]);
    Some(p.sequence([p.and(first), items(p, ["{", "}"], plain)]))
}

/// A number with leading zeros or underscores.
pub(super) fn python_number(p: &FormatBuilder, _: ExprId) -> Option<ExprId> {
    let (digit, minus) = (p.one_of(&[('0', '9')]), p.optional(p.literal("-")));
    let zero = p.sequence([p.literal("0"), p.optional(p.literal("_")), p.and(digit)]);
    let dropped = p.tag(Tag::Markup, p.some(zero));
    let zeros = p.sequence([p.and(p.sequence([minus, zero])), minus, dropped]);
    let group = p.sequence([p.tag(Tag::Markup, p.literal("_")), p.some(digit)]);
    Some(p.sequence([p.optional(zeros), p.json_number(), p.many(group)]))
}
