//! Texts of the template, and values of any tool, as models write them.

use super::table::{Rule, Way};
use crate::builder::{FormatBuilder, escaped};
use crate::coverage;
use crate::tag::Tag;
use chatparse_base::brackets;
use chatparse_peg::ExprId;

sites! {
    "turn-end" {
        /// A text up to the next part, which begins with one of these.
        PART_CLOSE: (&FormatBuilder, &[&str]) = {
            part_ends_text,
        }
    }
    "marker" {
        /// A tag with the number of a call: what is before and after the attribute.
        NUMBER: (&FormatBuilder, ExprId, ExprId) = {
            number_left_out,
        }
        /// A text of the template, before it.
        LINE_BREAKS: (&FormatBuilder, &str) = {
            line_break_spelled,
        }
        /// A text of the template.
        MARKER: (&FormatBuilder, &str) = {
            other_argument_key,
            other_spelling,
            prefix_left_out,
        }
        /// A text of JSON.
        JSON_TEXT: (&FormatBuilder, &str) = {
            single_quotes,
        }
    }
    "name" {
        /// The name of a tool.
        TOOL_NAME: (&FormatBuilder, &str) = {
            name_escaped,
        }
    }
    "arguments" {
        /// Arguments that are one JSON object.
        OBJECT: (&FormatBuilder) = {
            arguments_as_text,
        }
    }
    "value" {
        /// A value of Python: any value.
        PYTHON: (&FormatBuilder, ExprId) = {
            python_tuple,
            python_set,
            python_number,
        }
    }
    "value-end" {
        /// A raw text up to a marker: the marker, and what may follow it.
        TEXT: (&FormatBuilder, &str, ExprId) = {
            prefix_of_end_left_out,
        }
        /// After the marker that ends a raw text: what more text looks like.
        TEXT_CLOSED: (&FormatBuilder, ExprId) = {
            marker_in_text,
        }
        /// The marker that ends a raw text: without its white space; what may be after it; what
        /// else ends the text; other arguments.
        TEXT_CLOSE: (&FormatBuilder, &TextEnd, [ExprId; 4]) = {
            marker_with_other_space,
            name_ends_text,
            name_in_line,
            marker_misspelled,
            wrapper_ends_text,
        }
    }
    "value" {
        /// A raw text after a part of it: text up to what may end it.
        TEXT_PART: (&FormatBuilder, &TextEnd, ExprId) = {
            marker_opened,
        }
    }
}

/// What ends the text of an argument.
pub struct TextEnd<'a> {
    /// Its own marker.
    pub marker: &'a str,
    /// What may be after the marker, and the end of the call, whatever the marker is.
    pub next: &'a [&'a str],
    pub behind: Option<ExprId>,
    /// What opens any argument, and what ends the call after the last one.
    pub opens: &'a [&'a str],
    /// What opens other arguments, with their names.
    pub names: &'a [String],
    /// The end of the call and of its wrapper.
    pub end: Option<&'a str>,
    /// The end of the wrapper or of the section, and what may be after that.
    pub wrapper: Option<(&'a str, ExprId)>,
}

impl TextEnd<'_> {
    /// How the marker begins, if it is a closing tag: up to its last sign, `</arg`, or, after a
    /// token, up to its name.
    pub fn stem(&self) -> Option<&str> {
        let marker = self.marker.trim_end();
        let name = marker.find("</").filter(|_| marker.ends_with('>'))? + 2;
        Some(if marker.trim_start().starts_with("</") {
            &marker[..marker.len() - 1]
        } else {
            &marker[..name]
        })
    }

    /// What opens it in a text: `<arg>`.
    pub fn opening(&self) -> Option<String> {
        let name = self
            .marker
            .trim()
            .strip_prefix("</")
            .filter(|_| self.stem().is_some())?;
        Some(format!("<{name}"))
    }
}

/// A tag with the number of a call, which means nothing: without it, or with other attributes.
fn number_left_out(p: &FormatBuilder, before: ExprId, behind: ExprId) -> Way {
    Some(p.sequence([before, p.many(attribute(p)), behind]))
}

/// The other common key for arguments.
fn other_argument_key(p: &FormatBuilder, text: &str) -> Way {
    let keys = ["\"arguments\"", "\"parameters\""];
    let at = keys.iter().position(|key| text.contains(key))?;
    Some(p.marker(text.replace(keys[at], keys[1 - at])))
}

/// The spelling of the model, which differs from the template's.
fn other_spelling(p: &FormatBuilder, text: &str) -> Way {
    p.any_way(p.variants(text).map(|variant| p.marker(variant)))
}

/// Tags without the token that is before each, or with the token in place of their bracket.
fn prefix_left_out(p: &FormatBuilder, text: &str) -> Way {
    let (front, tags) = text
        .split_once(&*p.prefix)
        .filter(|_| !p.prefix.is_empty())?;
    let prefixed = |tag: &str| [&*p.prefix, tag].concat();
    let tags = tags.split(&*p.prefix).map(|tag| {
        p.any_of([
            prefixed(tag),
            tag.to_owned(),
            prefixed(tag.trim_start_matches('<')),
        ])
    });
    Some(p.sequence([p.marker(front)].into_iter().chain(tags)))
}

/// A text ends at its tag without the token before it, where an argument may end.
fn prefix_of_end_left_out(p: &FormatBuilder, end: &str, after: ExprId) -> Way {
    let bare = end
        .strip_prefix(&*p.prefix)
        .filter(|_| !p.prefix.is_empty() && !p.exact.get())?;
    let next = p.sequence([p.space(), p.optional(p.marker(&*p.prefix)), after]);
    let stop = p.choice([p.marker(end), p.sequence([p.marker(bare), next])]);
    let run = p.until_marker([end, bare]);
    Some(p.arg_text(p.sequence([run, p.more_text(stop, run)])))
}

/// Python's quotes in place of JSON's.
fn single_quotes(p: &FormatBuilder, text: &str) -> Way {
    (p.mends && text.contains('"')).then(|| p.marker(text.replace('"', "'")))
}

/// A line break between tags as a backslash and an `n`.
fn line_break_spelled(p: &FormatBuilder, text: &str) -> Way {
    let between_tags =
        text.contains('\n') && (text.contains(brackets::opens) || text.trim().is_empty());
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
fn marker_with_other_space(p: &FormatBuilder, _: &TextEnd, [core, next, ..]: [ExprId; 4]) -> Way {
    Some(p.sequence([core, p.and(next)]))
}

/// The next argument or the end of the call ends a text.
fn name_ends_text(p: &FormatBuilder, _: &TextEnd, [_, _, names, _]: [ExprId; 4]) -> Way {
    Some(p.and(names))
}

/// The opening of another argument in a line of the text, before a value and not as a word of a
/// sentence.
fn name_in_line(p: &FormatBuilder, _: &TextEnd, [.., known]: [ExprId; 4]) -> Way {
    let quoted = p.one_of(&[(' ', '"'), ('\'', ')'), (',', '.'), (':', '<'), ('`', '`')]);
    Some(p.and(p.sequence([known, p.not(quoted)])))
}

/// The marker with other letters at its end, or without the last sign, before another argument or
/// the end of the call.
fn marker_misspelled(p: &FormatBuilder, end: &TextEnd, [.., known]: [ExprId; 4]) -> Way {
    let (stem, close) = (end.stem()?, end.opens.iter().take(1));
    // After a token, it may be the end of an element in the text.
    let opens = end.opens.iter().skip(if stem.ends_with('/') {
        end.opens.len()
    } else {
        1
    });
    let next = p.and(p.any_of(close.clone().chain(opens).copied()));
    let wrapper = end
        .wrapper
        .map(|(wrapper, _)| p.after_space(p.marker(wrapper)));
    let closed = p.sequence([Some(p.any_of(close.copied())), wrapper]);
    let known = p.and(p.choice([known, closed]));
    let sign = p.choice([
        p.sequence([p.literal(">"), next]),
        p.sequence([p.and(p.one_of(&[('\t', ' ')])), known]),
    ]);
    Some(p.sequence([p.marker(stem), coverage::word(p, 0, coverage::WORD), sign]))
}

/// The end of the call's wrapper ends a text.
fn wrapper_ends_text(p: &FormatBuilder, end: &TextEnd, _: [ExprId; 4]) -> Way {
    let (wrapper, behind) = end.wrapper?;
    Some(p.and(p.sequence([p.marker(wrapper), behind])))
}

/// A text that opens what the marker closes owns one of two markers.
fn marker_opened(p: &FormatBuilder, end: &TextEnd, run: ExprId) -> Way {
    let (open, close) = (end.opening()?, end.marker.trim());
    let again = p.any_of([close, &*open]);
    let closes = p.and(p.sequence([p.marker(close), again]));
    Some(p.sequence([
        p.literal(open),
        run,
        closes,
        p.space(),
        p.literal(close),
        run,
    ]))
}

/// Items between brackets of Python, which are an array.
fn items(p: &FormatBuilder, [open, close]: [&str; 2], item: ExprId) -> ExprId {
    let (item, comma) = (
        p.arg_json(item),
        p.spaced([p.empty(), p.literal(","), p.empty()]),
    );
    let more = p.many(p.sequence([comma, p.not(p.literal(close)), item]));
    let all = p.sequence([item, more, p.optional(comma), p.space()]);
    let all = p.choice([p.literal(close), p.sequence([all, p.literal(close)])]);
    // After its bracket, which shows that it is one.
    let bracket = p.tag(Tag::Markup, p.sequence([p.literal(open), p.space()]));
    p.sequence([bracket, p.tag(Tag::Array, all)])
}

/// A tuple of Python is an array.
fn python_tuple(p: &FormatBuilder, value: ExprId) -> Way {
    Some(items(p, ["(", ")"], value))
}

/// A set of Python is an array. A dict has a colon after its first item.
fn python_set(p: &FormatBuilder, _: ExprId) -> Way {
    let plain = p.choice([p.printed_string(Tag::ArgText), p.json_number()]);
    let first = p.spaced([p.literal("{"), plain, p.signs(",}")]);
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
    p.sequence([
        p.space(),
        coverage::any_word(p),
        p.literal("=\""),
        value,
        p.literal("\""),
    ])
}
