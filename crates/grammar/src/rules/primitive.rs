//! The rules that schemas share: `string`, `value`, `date` and so on.

use crate::rules::{Blank, Pad, Rule};
use smol_str::SmolStr;

/// A shared rule, and the shared rules that it needs.
#[derive(Debug)]
pub struct Primitive {
    pub name: &'static str,
    body: Body,
    pub needs: &'static [&'static str],
}

#[derive(Debug)]
enum Body {
    /// As GBNF.
    Written(&'static str),
    /// With the white space that the grammar has.
    Made(fn() -> Rule),
}

impl Primitive {
    pub fn body(&self) -> Rule {
        match self.body {
            Body::Written(text) => Rule::Gbnf(SmolStr::new_static(text)),
            Body::Made(make) => make(),
        }
    }
}

/// The shared rule of this name among `own`, or among the rules that all styles have.
pub fn find(name: &str, own: &'static [Primitive]) -> Option<&'static Primitive> {
    own.iter()
        .chain(COMMON)
        .find(|primitive| primitive.name == name)
}

const COMMON: &[Primitive] = &[
    written("boolean", r#"("true" | "false")"#, &[]),
    // Parts of llama.cpp's numbers: all styles reserve their names.
    written("decimal-part", "[0-9]{1,16}", &[]),
    written("integral-part", "[0] | [1-9] [0-9]{0,15}", &[]),
    written(
        "value",
        "object | array | string | number | boolean | null",
        &["object", "array", "string", "number", "boolean", "null"],
    ),
    made(
        "object",
        || object_of("string", "value"),
        &["string", "value"],
    ),
    made("array", || array_of("value"), &["value"]),
    written(
        "uuid",
        r#""\"" [0-9a-fA-F]{8} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{12} "\"""#,
        &[],
    ),
    written("string", r#""\"" char* "\"""#, &["char"]),
    written("null", r#""null""#, &[]),
    written(
        "date",
        r#"[0-9]{4} "-" ( "0" [1-9] | "1" [0-2] ) "-" ( "0" [1-9] | [1-2] [0-9] | "3" [0-1] )"#,
        &[],
    ),
    written(
        "time",
        concat!(
            r#"([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ( "." [0-9]{3} )? "#,
            r#"( "Z" | ( "+" | "-" ) ( [01] [0-9] | "2" [0-3] ) ":" [0-5] [0-9] )"#
        ),
        &[],
    ),
    written("date-time", r#"date "T" time"#, &["date", "time"]),
    written("date-string", r#""\"" date "\"""#, &["date"]),
    written("time-string", r#""\"" time "\"""#, &["time"]),
    written("date-time-string", r#""\"" date-time "\"""#, &["date-time"]),
];

/// Rules that allow all of JSON: any number of digits, an escaped solidus.
pub const FAITHFUL: &[Primitive] = &[
    written("integer", r#""-"? ("0" | [1-9] [0-9]*)"#, &[]),
    // Most readers reject larger exponents.
    written(
        "number",
        r#""-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-2]? [0-9] [0-9]?)?"#,
        &[],
    ),
    written(
        "char",
        r#"[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" code-unit)"#,
        &["code-unit"],
    ),
    // Four digits after `\u`; surrogates come in pairs.
    written(
        "code-unit",
        concat!(
            "[0-9abcefABCEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2} | ",
            r#"[dD] [89abAB] [0-9a-fA-F]{2} "\\u" [dD] [c-fC-F] [0-9a-fA-F]{2}"#
        ),
        &[],
    ),
    written(
        "python-value",
        "python-object | python-array | python-string | number | python-boolean | python-null",
        &[
            "python-object",
            "python-array",
            "python-string",
            "number",
            "python-boolean",
            "python-null",
        ],
    ),
    made(
        "python-object",
        || object_of("python-string", "python-value"),
        &["python-string", "python-value"],
    ),
    made(
        "python-array",
        || array_of("python-value"),
        &["python-value"],
    ),
    written(
        "python-string",
        r#""\"" char* "\"" | "'" single-char* "'""#,
        &["char", "single-char"],
    ),
    written(
        "single-char",
        r#"[^'\\\x00-\x1F] | "\\" (['\\/bfnrt] | "u" code-unit)"#,
        &["code-unit"],
    ),
    written(
        "python-boolean",
        r#"("true" | "false" | "True" | "False")"#,
        &[],
    ),
    written("lowercase-null", r#"("null" | "none")"#, &[]),
    written("python-null", r#"("null" | "None")"#, &[]),
];

/// A rule with this text.
pub const fn written(
    name: &'static str,
    text: &'static str,
    needs: &'static [&'static str],
) -> Primitive {
    Primitive {
        name,
        body: Body::Written(text),
        needs,
    }
}

const fn made(name: &'static str, body: fn() -> Rule, needs: &'static [&'static str]) -> Primitive {
    Primitive {
        name,
        body: Body::Made(body),
        needs,
    }
}

/// A body in the quotes of a JSON string.
pub fn quoted(body: Rule) -> Rule {
    Rule::sequence([text("\""), body, text("\"")])
}

/// A body in single quotes.
pub fn single_quoted(body: Rule) -> Rule {
    Rule::sequence([text("'"), body, text("'")])
}

/// A rule that matches no text, not even the empty one.
pub fn no_character() -> Rule {
    Rule::class("[^\\x00-\\U0010FFFF]")
}

/// White space inside of brackets.
pub fn blank() -> Rule {
    Rule::Blank(Blank::Inside)
}

/// The separator of list items.
pub fn comma() -> Rule {
    Rule::sequence([text(","), Rule::Blank(Blank::Comma)])
}

/// What is between a name and its value.
pub fn colon() -> [Rule; 3] {
    [blank(), text(":"), Rule::Blank(Blank::Colon)]
}

/// One blank at most, or one or two line breaks and an indentation: enough for any style, too
/// little to fill a context.
pub fn space() -> Rule {
    Rule::Gbnf(SmolStr::new_static(r#"| " " | "\n"{1,2} [ \t]{0,20}"#))
}

fn text(text: &str) -> Rule {
    Rule::literal(text)
}

fn rule(name: &str) -> Rule {
    Rule::reference(name)
}

/// Items of these parts, with blanks where JSON allows them.
fn list_of([open, close]: [&str; 2], item: &[Rule]) -> Rule {
    let more = [&[text(","), Rule::Blank(Blank::Comma)], item].concat();
    let items = [item, &[Rule::sequence(more).group().repeat(0, None)]].concat();
    let inside = Rule::sequence(items).padded(Pad::Both).optional();
    Rule::sequence([text(open), blank(), inside, blank(), text(close)])
}

fn object_of(name: &str, value: &str) -> Rule {
    list_of(
        ["{", "}"],
        &[
            rule(name),
            text(":"),
            Rule::Blank(Blank::Colon),
            rule(value),
        ],
    )
}

fn array_of(value: &str) -> Rule {
    list_of(["[", "]"], &[rule(value)])
}
