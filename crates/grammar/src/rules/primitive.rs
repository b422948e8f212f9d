//! The rules that schemas share: `string`, `value`, `date` and so on.

use crate::rules::rule::{Blank, Pad, Rule};
use chatparse_message::GrammarStyle;
use smol_str::format_smolstr;

/// A shared rule, and the shared rules that it needs.
pub(crate) struct Primitive {
    pub name: &'static str,
    pub body: fn() -> Rule,
    pub needs: &'static [&'static str],
}

/// The shared rule of this name.
pub(crate) fn find(name: &str, style: GrammarStyle) -> Option<&'static Primitive> {
    let own: &[Primitive] = if style == GrammarStyle::Faithful { FAITHFUL } else { &[] };
    own.iter().chain(PRIMITIVES).find(|primitive| primitive.name == name)
}

/// Whether the name is reserved for a shared rule or the top.
pub(crate) fn is_reserved(name: &str, style: GrammarStyle) -> bool {
    name == "root" || find(name, style).is_some()
}

const PRIMITIVES: &[Primitive] = &[
    Primitive { name: "boolean", body: boolean, needs: &[] },
    Primitive { name: "decimal-part", body: || digits(1, 16), needs: &[] },
    Primitive { name: "integral-part", body: integral_part, needs: &[] },
    Primitive { name: "number", body: number, needs: &["integral-part", "decimal-part"] },
    Primitive { name: "integer", body: || signed_integral(), needs: &["integral-part"] },
    Primitive { name: "value", body: value, needs: &["object", "array", "string", "number", "boolean", "null"] },
    Primitive { name: "object", body: object, needs: &["string", "value"] },
    Primitive { name: "array", body: array, needs: &["value"] },
    Primitive { name: "uuid", body: uuid, needs: &[] },
    Primitive { name: "char", body: char_, needs: &[] },
    Primitive { name: "string", body: || quoted(rule("char").repeat(0, None)), needs: &["char"] },
    Primitive { name: "null", body: || text("null"), needs: &[] },
    Primitive { name: "date", body: date, needs: &[] },
    Primitive { name: "time", body: time, needs: &[] },
    Primitive { name: "date-time", body: date_time, needs: &["date", "time"] },
    Primitive { name: "date-string", body: || quoted(rule("date")), needs: &["date"] },
    Primitive { name: "time-string", body: || quoted(rule("time")), needs: &["time"] },
    Primitive { name: "date-time-string", body: || quoted(rule("date-time")), needs: &["date-time"] },
];

/// Rules that differ because they allow all of JSON: any number of digits, an escaped solidus.
const FAITHFUL: &[Primitive] = &[
    Primitive { name: "integer", body: || Rule::sequence(any_integer()), needs: &[] },
    Primitive { name: "number", body: any_number, needs: &[] },
    Primitive { name: "char", body: || any_char('"'), needs: &["code-unit"] },
    Primitive { name: "code-unit", body: code_unit, needs: &[] },
    Primitive { name: "python-value", body: python_value, needs: PYTHON },
    Primitive { name: "python-object", body: python_object, needs: &["python-string", "python-value"] },
    Primitive { name: "python-array", body: || array_of("python-value"), needs: &["python-value"] },
    Primitive { name: "python-string", body: python_string, needs: &["char", "single-char"] },
    Primitive { name: "single-char", body: || any_char('\''), needs: &["code-unit"] },
    Primitive { name: "python-boolean", body: || words(["true", "false", "True", "False"]), needs: &[] },
    Primitive { name: "lowercase-null", body: || words(["null", "none"]), needs: &[] },
    Primitive { name: "python-null", body: || words(["null", "None"]), needs: &[] },
];

/// What a literal of Python may be.
const PYTHON: &[&str] = &["python-object", "python-array", "python-string", "number", "python-boolean", "python-null"];

fn words<const N: usize>(all: [&str; N]) -> Rule {
    Rule::choice(all.map(text)).group()
}

fn python_value() -> Rule {
    Rule::Choice(PYTHON.iter().map(|name| rule(name)).collect())
}

fn python_object() -> Rule {
    object_of("python-string", "python-value")
}

fn python_string() -> Rule {
    Rule::choice([quoted(rule("char").repeat(0, None)), single_quoted(rule("single-char").repeat(0, None))])
}

fn any_integer() -> [Rule; 2] {
    let from_1 = Rule::sequence([class("[1-9]"), class("[0-9]").repeat(0, None)]);
    [text("-").optional(), Rule::choice([text("0"), from_1]).group()]
}

fn any_number() -> Rule {
    let digits = || class("[0-9]").repeat(1, None);
    let decimals = Rule::sequence([text("."), digits()]).group().optional();
    // Most readers reject larger exponents.
    let power = [class("[0-2]").optional(), class("[0-9]"), class("[0-9]").optional()];
    let exponent = [class("[eE]"), class("[-+]").optional()].into_iter().chain(power);
    let exponent = Rule::Sequence(exponent.collect()).group().optional();
    Rule::Sequence(any_integer().into_iter().chain([decimals, exponent]).collect())
}

/// Four digits after `\u`; surrogates come in pairs.
fn code_unit() -> Rule {
    let hex = |count| class("[0-9a-fA-F]").times(count, Some(count));
    let plain = Rule::sequence([class("[0-9abcefABCEF]"), hex(3)]);
    let low = Rule::sequence([class("[dD]"), class("[0-7]"), hex(2)]);
    let first_half = [class("[dD]"), class("[89abAB]"), hex(2)];
    let second_half = [text("\\u"), class("[dD]"), class("[c-fC-F]"), hex(2)];
    Rule::choice([plain, low, Rule::Sequence(first_half.into_iter().chain(second_half).collect())])
}

fn any_char(quote: char) -> Rule {
    let hex = Rule::sequence([text("u"), rule("code-unit")]);
    let escape = Rule::choice([Rule::Class(format_smolstr!(r"[{quote}\\/bfnrt]")), hex]).group();
    Rule::choice([Rule::Class(format_smolstr!(r"[^{quote}\\\x00-\x1F]")), Rule::sequence([text("\\"), escape])])
}

/// A body in the quotes of a JSON string.
pub(crate) fn quoted(body: Rule) -> Rule {
    Rule::sequence([text("\""), body, text("\"")])
}

/// A body in single quotes.
pub(crate) fn single_quoted(body: Rule) -> Rule {
    Rule::sequence([text("'"), body, text("'")])
}

/// A rule that matches no text, not even the empty one.
pub(crate) fn no_character() -> Rule {
    class("[^\\x00-\\U0010FFFF]")
}

/// White space inside of brackets.
pub(crate) fn blank() -> Rule {
    Rule::Blank(Blank::Inside)
}

/// The separator of list items.
pub(crate) fn comma() -> Rule {
    Rule::sequence([text(","), Rule::Blank(Blank::Comma)])
}

/// What is between a name and its value.
pub(crate) fn colon() -> [Rule; 3] {
    [blank(), text(":"), Rule::Blank(Blank::Colon)]
}

/// One blank at most, or one or two line breaks and an indentation: enough for any style, too little to fill a context.
pub(crate) fn space() -> Rule {
    let break_and_indent = [text("\n").times(1, Some(2)), Rule::class("[ \\t]").times(0, Some(20))];
    Rule::choice([Rule::Empty, text(" "), Rule::sequence(break_and_indent)])
}

fn text(text: &str) -> Rule {
    Rule::literal(text)
}

fn rule(name: &str) -> Rule {
    Rule::reference(name)
}

fn class(spelled: &str) -> Rule {
    Rule::class(spelled)
}

fn digits(min: u64, max: u64) -> Rule {
    class("[0-9]").times(min, Some(max))
}

fn boolean() -> Rule {
    Rule::choice([text("true"), text("false")]).group()
}

fn integral_part() -> Rule {
    Rule::choice([class("[0]"), Rule::sequence([class("[1-9]"), digits(0, 15)])])
}

fn signed_integral() -> Rule {
    Rule::sequence([text("-").optional(), rule("integral-part")]).group()
}

fn number() -> Rule {
    let decimals = Rule::sequence([text("."), rule("decimal-part")]).group().optional();
    let exponent = Rule::sequence([class("[eE]"), class("[-+]").optional(), rule("integral-part")]).group().optional();
    Rule::sequence([signed_integral(), decimals, exponent])
}

fn value() -> Rule {
    Rule::choice(["object", "array", "string", "number", "boolean", "null"].map(rule))
}

/// `open`, the inside, `close`, with blanks where JSON allows them.
fn bracketed(open: &str, inside: Rule, close: &str) -> Rule {
    Rule::sequence([text(open), blank(), inside, blank(), text(close)])
}

fn object() -> Rule {
    object_of("string", "value")
}

fn object_of(name: &str, value: &str) -> Rule {
    let pair = || [rule(name), text(":"), Rule::Blank(Blank::Colon), rule(value)];
    let more = Rule::Sequence([text(","), Rule::Blank(Blank::Comma)].into_iter().chain(pair()).collect())
        .group()
        .repeat(0, None);
    let pairs = Rule::Sequence(pair().into_iter().chain([more]).collect());
    bracketed("{", pairs.padded(Pad::Both).optional(), "}")
}

fn array() -> Rule {
    array_of("value")
}

fn array_of(value: &str) -> Rule {
    let more = Rule::sequence([text(","), Rule::Blank(Blank::Comma), rule(value)]).group().repeat(0, None);
    bracketed("[", Rule::sequence([rule(value), more]).padded(Pad::Both).optional(), "]")
}

fn uuid() -> Rule {
    let hex = |count| class("[0-9a-fA-F]").times(count, Some(count));
    let mut parts = vec![text("\""), hex(8)];
    for count in [4, 4, 4, 12] {
        parts.extend([text("-"), hex(count)]);
    }
    parts.push(text("\""));
    Rule::Sequence(parts)
}

fn char_() -> Rule {
    let hex = Rule::sequence([text("u"), class("[0-9a-fA-F]").times(4, Some(4))]);
    let escape = Rule::choice([class(r#"["\\bfnrt]"#), hex]).group();
    Rule::choice([class(r#"[^"\\\x7F\x00-\x1F]"#), Rule::sequence([class(r"[\\]"), escape])])
}

/// A choice of digit sequences, in parentheses with blanks.
fn either<const N: usize>(branches: [Rule; N]) -> Rule {
    Rule::choice(branches).padded(Pad::Both)
}

fn date() -> Rule {
    let month = [Rule::sequence([text("0"), class("[1-9]")]), Rule::sequence([text("1"), class("[0-2]")])];
    let day = [
        Rule::sequence([text("0"), class("[1-9]")]),
        Rule::sequence([class("[1-2]"), class("[0-9]")]),
        Rule::sequence([text("3"), class("[0-1]")]),
    ];
    let year = class("[0-9]").times(4, Some(4));
    Rule::sequence([year, text("-"), either(month), text("-"), either(day)])
}

fn hours() -> Rule {
    let from_20 = Rule::sequence([text("2"), class("[0-3]")]);
    Rule::choice([Rule::sequence([class("[01]"), class("[0-9]")]), from_20])
}

fn time() -> Rule {
    let sixty = || [text(":"), class("[0-5]"), class("[0-9]")];
    let millis = Rule::sequence([text("."), class("[0-9]").times(3, Some(3))]).padded(Pad::Both).optional();
    let sign = either([text("+"), text("-")]);
    let offset = Rule::Sequence([sign, hours().padded(Pad::Both)].into_iter().chain(sixty()).collect());
    let zone = either([text("Z"), offset]);
    let parts = [hours().group()].into_iter().chain(sixty()).chain(sixty());
    Rule::Sequence(parts.chain([millis, zone]).collect())
}

fn date_time() -> Rule {
    Rule::sequence([rule("date"), text("T"), rule("time")])
}
