//! Texts of the template, and values of any tool, as models write them.

use super::super::builder::{FormatBuilder, escaped, other_key};
use super::super::coverage;
use super::super::tag::Tag;
use super::table::{Rule, Way};
use chatparse_base::brackets;
use chatparse_peg::ExprId;

sites! {
    /// A text up to the next part, which begins with one of these.
    PART_CLOSE("turn-end"): (&FormatBuilder, &[&str]) = {
        part_ends_text,
    }
    /// A tag with the number of a call: what is before and after the attribute.
    NUMBER("marker"): (&FormatBuilder, ExprId, ExprId) = {
        number_left_out,
    }
    /// A text of the template, before it.
    LINE_BREAKS("marker"): (&FormatBuilder, &str) = {
        line_break_spelled,
    }
    /// A text of the template.
    MARKER("marker"): (&FormatBuilder, &str) = {
        other_argument_key,
        other_spelling,
    }
    /// The name of a tool.
    TOOL_NAME("name"): (&FormatBuilder, &str) = {
        name_escaped,
    }
    /// Arguments that are one JSON object.
    OBJECT("arguments"): (&FormatBuilder) = {
        arguments_as_text,
    }
    /// A value of Python: any value.
    PYTHON("value"): (&FormatBuilder, ExprId) = {
        python_tuple,
        python_set,
        python_number,
    }
    /// After the marker that ends a raw text: what more text looks like.
    TEXT_CLOSED("value-end"): (&FormatBuilder, ExprId) = {
        marker_in_text,
    }
    /// The marker that ends a raw text: without its white space; what may be after it; what else ends the text.
    TEXT_CLOSE("value-end"): (&FormatBuilder, ExprId, ExprId, ExprId) = {
        marker_with_other_space,
        name_ends_text,
    }
}

/// A tag with the number of a call, which means nothing: without it, or with other attributes.
fn number_left_out(p: &FormatBuilder, before: ExprId, behind: ExprId) -> Way {
    Some(p.sequence([before, p.many(attribute(p)), behind]))
}

/// The other common key for arguments.
fn other_argument_key(p: &FormatBuilder, text: &str) -> Way {
    let key = ["arguments", "parameters"].into_iter().find(|key| text.contains(&format!("\"{key}\"")))?;
    Some(p.marker(text.replace(&format!("\"{key}\""), &format!("\"{}\"", other_key(key)?))))
}

/// The spelling of the model, which differs from the template's.
fn other_spelling(p: &FormatBuilder, text: &str) -> Way {
    let variants: Vec<ExprId> = p.variants(text).map(|variant| p.marker(variant)).collect();
    (!variants.is_empty()).then(|| p.choice(variants))
}

/// A line break between tags as a backslash and an `n`.
fn line_break_spelled(p: &FormatBuilder, text: &str) -> Way {
    let between_tags = text.contains('\n') && (text.contains(brackets::opens) || text.trim().is_empty());
    (p.spelled_breaks && between_tags).then(|| p.marker(text.replace('\n', "\\n")))
}

/// A name as JSON has it inside of a string, where the template prints it into JSON as it is.
fn name_escaped(p: &FormatBuilder, name: &str) -> Way {
    let name = p.whole(Tag::ToolName, p.literal(escaped(name)?));
    Some(p.sequence([p.tag(Tag::Escaped, p.empty()), name]))
}

/// What opens the next part ends a text.
fn part_ends_text(p: &FormatBuilder, next: &[&str]) -> Way {
    Some(p.and(p.any_of(next.iter().copied())))
}

/// Arguments as the text of a JSON object in a JSON string.
fn arguments_as_text(p: &FormatBuilder) -> Way {
    Some(p.quoted_args())
}

/// A marker before more text is text itself.
fn marker_in_text(p: &FormatBuilder, more: ExprId) -> Way {
    Some(p.not(more))
}

/// The marker after a text with other white space, before what may follow.
fn marker_with_other_space(p: &FormatBuilder, core: ExprId, next: ExprId, _: ExprId) -> Way {
    Some(p.sequence([core, p.and(next)]))
}

/// The next argument or the end of the call ends a text.
fn name_ends_text(p: &FormatBuilder, _: ExprId, _: ExprId, names: ExprId) -> Way {
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
fn python_tuple(p: &FormatBuilder, value: ExprId) -> Way {
    Some(items(p, ["(", ")"], value))
}

/// A set of Python is an array. A dict has a colon after its first item.
fn python_set(p: &FormatBuilder, _: ExprId) -> Way {
    let plain = p.choice([p.printed_string(Tag::ArgText), p.json_number()]);
    let first = p.spaced([p.literal("{"), plain, p.one_of(&[(',', ','), ('}', '}')])]);
    Some(p.sequence([p.and(first), items(p, ["{", "}"], plain)]))
}

/// A number with leading zeros or underscores.
fn python_number(p: &FormatBuilder, _: ExprId) -> Way {
    let (digit, minus) = (p.one_of(&[('0', '9')]), p.optional(p.literal("-")));
    let zero = p.sequence([p.literal("0"), p.optional(p.literal("_")), p.and(digit)]);
    let dropped = p.tag(Tag::Markup, p.some(zero));
    let zeros = p.sequence([p.and(p.sequence([minus, zero])), minus, dropped]);
    let group = p.sequence([p.tag(Tag::Markup, p.literal("_")), p.some(digit)]);
    Some(p.sequence([p.optional(zeros), p.json_number(), p.many(group)]))
}

/// Any attribute of a tag.
pub fn attribute(p: &FormatBuilder) -> ExprId {
    let value = coverage::word(p, 0, coverage::WORD);
    p.sequence([p.space(), coverage::word(p, 1, coverage::WORD), p.literal("=\""), value, p.literal("\"")])
}
