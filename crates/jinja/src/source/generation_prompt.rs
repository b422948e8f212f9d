//! Finds the generation prompt without a second render, for sources in which it comes last.
//!
//! The generation prompt is the difference of two renders, with and without `add_generation_prompt`. In most templates only
//! the end of the source reads that variable, so that both renders share all before that end. Such a source is split into
//! its *body* and its *end*, and the end is written twice:
//! ```text
//! body {% with add_generation_prompt = add_generation_prompt|op.here %} end {% endwith %}
//!      {% if 0|op.other %}{% with add_generation_prompt = 1|op.other %} defaults, end {% endwith %}{% endif %}
//! ```
//! In a render of both prompts, the filters record where each end begins in the output. A render of one prompt stops after
//! the first end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memmem;
use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Error, State};

use crate::source::rewrite::token::{self, Token, find_tag};

/// The name of the variable.
pub(crate) const NAME: &str = "add_generation_prompt";

/// The variable that holds the [`Marks`] of a render. The space keeps templates from naming it.
pub(crate) const MARKS: &str = " marks";

/// Where a source reads the variable.
#[derive(Debug, PartialEq)]
pub(crate) enum Found<'s> {
    /// Nowhere: both renders are equal.
    Unused,
    /// In its end only.
    Last(Cut<'s>),
    /// In other places: two renders are necessary.
    Anywhere,
}

/// How to render both prompts with a compiled template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BothPrompts {
    /// With one render: they are equal.
    Unused,
    /// With one render, using the marks.
    Last,
    /// With two renders.
    Anywhere,
}

/// A source, split where its end begins.
#[derive(Debug, PartialEq)]
pub(crate) struct Cut<'s> {
    pub body: &'s str,
    /// Tags of the body that define the variable if it is undefined. They write nothing.
    pub defaults: String,
    pub end: &'s str,
    /// The white-space control of the end's first tag.
    pub mark: &'s str,
}

/// Names that the tags of [`Cut::defaults`] may contain, so that they depend on the variable only.
const DEFAULTS: &[&str] = &[
    NAME,
    "if",
    "else",
    "endif",
    "set",
    "not",
    "is",
    "or",
    "and",
    "defined",
    "undefined",
    "default",
    "true",
    "false",
    "True",
    "False",
    "none",
    "None",
];

/// Tags that the end may contain. The end must not have side effects on its second run.
const TAGS: &[&str] = &["if", "elif", "else", "endif", "for", "endfor", "set"];

/// Functions, filters and tests, then methods that the end may call, for the same reason.
const CALLS: &[&str] = &[
    "raise_exception",
    "strftime_now",
    "range",
    "default",
    "join",
    "map",
    "selectattr",
    "rejectattr",
    "tojson",
    "trim",
];
const METHODS: &[&str] =
    &["get", "items", "keys", "values", "strip", "lstrip", "rstrip", "split", "startswith", "endswith"];

/// Analyses a source in the form that the engine compiles, before the source pass.
pub(crate) fn find(source: &str) -> Found<'_> {
    if !source.contains(NAME) {
        return Found::Unused;
    }
    cut(source).map_or(Found::Anywhere, Found::Last)
}

fn cut(source: &str) -> Option<Cut<'_>> {
    let statements = statements(source)?;
    let mut defaults = String::new();
    let mut end = None;
    for (index, statement) in statements.iter().enumerate().filter(|(_, statement)| statement.names(NAME)) {
        if statement.is_default(source) {
            statement.tags.iter().for_each(|tag| defaults.push_str(&tag.alone(source)));
        } else {
            end = Some(index);
            break;
        }
    }
    let rest = &statements[end?..];
    let first = rest.first()?.tags.first()?;
    let last = statements.last()?.tags.last()?;
    let harmless = rest.iter().flat_map(|statement| &statement.tags).all(|tag| tag.is_harmless(source));
    // Text after the last tag would be followed by another tag, which might trim its white space.
    if !harmless || first.kind != Some('%') || last.end != source.len() {
        return None;
    }
    let mark = &source[first.start + 2..first.start + 2 + first.mark];
    Some(Cut { body: &source[..first.start], defaults, end: &source[first.start..], mark })
}

/// A tag of the source, or a comment, which has no tokens.
struct Tag<'s> {
    start: usize,
    end: usize,
    /// `%` or `{`; `None` for a comment.
    kind: Option<char>,
    /// The length of the white-space control in front.
    mark: usize,
    /// The name of a statement; empty for other tags.
    name: &'s str,
    /// Read only for tags that need it.
    tokens: Vec<Token<'s>>,
}

impl<'s> Tag<'s> {
    fn name(&self) -> &'s str {
        self.name
    }

    /// The end of the tag.
    fn closing(&self) -> &'static str {
        if self.kind == Some('%') { "%}" } else { "}}" }
    }

    /// Its tokens.
    fn read(&self, source: &'s str) -> impl Iterator<Item = Token<'s>> {
        let (mut open, mut pos) = (0_usize, self.start + 2 + self.mark);
        std::iter::from_fn(move || {
            if pos == self.end {
                return None;
            }
            let (token, _, end) = token::next(source, pos, self.closing(), open > 0);
            match token {
                Token::Sign("(" | "[" | "{") => open += 1,
                Token::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                _ => {}
            }
            // Reading stops at text that is not a token.
            pos = if token == Token::None { self.end } else { end };
            Some(token)
        })
    }

    /// Whether it begins a statement with an end tag.
    fn opens(&self, source: &'s str) -> bool {
        match self.name() {
            "set" => {
                let sign = self.read(source).find(|token| matches!(token, Token::Sign("=" | "|") | Token::End(_)));
                sign != Some(Token::Sign("="))
            }
            "if" | "for" | "macro" | "call" | "filter" | "with" | "generation" => true,
            _ => false,
        }
    }

    /// The tag on one line, so that line numbers do not change, and without white-space control, as it has no text around
    /// it.
    fn alone(&self, source: &str) -> String {
        let inside = &source[self.start + 2 + self.mark..self.end - 2];
        format!("{{%{}%}}", inside.trim_end_matches(['-', '+']).replace('\n', " "))
    }

    /// Whether it has no side effects. A variable that `set` defines ends with its scope, but a change of an object does
    /// not.
    fn is_harmless(&self, source: &'s str) -> bool {
        if self.kind == Some('%') && !TAGS.contains(&self.name()) || self.name() == "set" && self.opens(source) {
            return false;
        }
        let sets_attribute = self.name() == "set"
            && self
                .tokens
                .iter()
                .take_while(|token| **token != Token::Sign("="))
                .any(|token| *token == Token::Sign("."));
        let calls_known = self.tokens.windows(2).enumerate().all(|(at, pair)| match pair {
            [Token::Name(name), Token::Sign("(")] => {
                let method = at > 0 && self.tokens[at - 1] == Token::Sign(".");
                let keyword = matches!(*name, "in" | "and" | "or" | "not" | "if" | "elif" | "else" | "is");
                if method { METHODS.contains(name) } else { keyword || CALLS.contains(name) }
            }
            [Token::Sign(")" | "]"), Token::Sign("(")] => false,
            _ => true,
        });
        !sets_attribute && calls_known
    }
}

/// A tag outside of all blocks, with the tags of its block.
struct Statement<'s> {
    tags: Vec<Tag<'s>>,
}

impl Statement<'_> {
    fn names(&self, name: &str) -> bool {
        self.tags.iter().flat_map(|tag| &tag.tokens).any(|token| *token == Token::Name(name))
    }

    /// Whether it only sets the variable to a value that depends on nothing else.
    fn is_default(&self, source: &str) -> bool {
        let known = |token: &Token| match token {
            Token::Name(name) => DEFAULTS.contains(name),
            Token::Literal => false,
            Token::Sign(sign) => ["=", "==", "!=", "(", ")", "|"].contains(sign),
            _ => true,
        };
        let plain = |tag: &Tag| match tag.name() {
            "if" | "else" | "endif" => tag.tokens.iter().all(known),
            "set" => {
                tag.tokens.iter().all(known)
                    && tag.tokens.starts_with(&[Token::Name("set"), Token::Name(NAME), Token::Sign("=")])
            }
            _ => false,
        };
        let silent = |pair: &[Tag]| {
            let text = &source[pair[0].end..pair[1].start];
            let trimmed = source[..pair[0].end].ends_with("-%}") || source[pair[1].start..].starts_with("{%-");
            // The engine trims a line break after a tag, and blanks before one.
            let line = text.strip_prefix('\n').is_some_and(|line| line.bytes().all(|c| matches!(c, b' ' | b'\t')));
            text.is_empty() || trimmed && text.trim().is_empty() || line && pair[1].mark == 0
        };
        self.tags.iter().all(plain) && self.tags.windows(2).all(silent)
    }
}

/// The statements of a source, in order, from the first one that may name the variable; `None` if the syntax is not
/// understood.
fn statements(source: &str) -> Option<Vec<Statement<'_>>> {
    let named = memmem::find(source.as_bytes(), NAME.as_bytes()).unwrap_or(source.len());
    let mut statements: Vec<Statement> = Vec::new();
    let (mut depth, mut pos) = (0_usize, 0);
    while let Some(tag) = next_tag(source, pos)? {
        pos = tag.end;
        let closes = tag.name().starts_with("end");
        let opens = tag.opens(source);
        if tag.name() == "raw" || closes && depth == 0 {
            return None;
        }
        match statements.last_mut() {
            Some(open) if depth > 0 => open.tags.push(tag),
            _ => statements.push(Statement { tags: vec![tag] }),
        }
        depth = depth + usize::from(opens) - usize::from(closes);
        if depth == 0 && pos <= named {
            statements.clear();
        }
    }
    for tag in statements.iter_mut().flat_map(|statement| &mut statement.tags).filter(|tag| tag.kind.is_some()) {
        tag.tokens = tag.read(source).collect();
        tag.tokens.iter().all(|token| *token != Token::None).then_some(())?;
    }
    (depth == 0).then_some(statements)
}

/// The name of the innermost block that is open at the end of a source, and its position.
pub(crate) fn open_block(source: &str) -> Option<(&str, usize)> {
    let (mut open, mut pos) = (Vec::new(), 0);
    while let Some(tag) = next_tag(source, pos)? {
        pos = tag.end;
        match tag.name().strip_prefix("end") {
            // Nothing in it is a tag.
            _ if tag.name == "raw" => return None,
            Some(_) => drop(open.pop()),
            None if tag.opens(source) => open.push((tag.name, tag.start)),
            None => {}
        }
    }
    open.pop()
}

/// The next tag; `Some(None)` after the last one.
fn next_tag(source: &str, from: usize) -> Option<Option<Tag<'_>>> {
    let Some(start) = find_tag(source, from) else { return Some(None) };
    let kind = char::from(source.as_bytes()[start + 1]);
    if kind == '#' {
        let end = start + source[start..].find("#}")? + 2;
        return Some(Some(Tag { start, end, kind: None, mark: 0, name: "", tokens: Vec::new() }));
    }
    let mark = usize::from(source[start + 2..].starts_with(['-', '+']));
    let closing = if kind == '%' { "%}" } else { "}}" };
    let end = token::tag_end(source, start + 2 + mark, closing)?;
    let name = match token::next(source, start + 2 + mark, closing, false) {
        (Token::Name(name), ..) if kind == '%' => name,
        _ => "",
    };
    Some(Some(Tag { start, end, kind: Some(kind), mark, name, tokens: Vec::new() }))
}

/// The source that the engine compiles, from its rewritten parts, and the position of the first end in it.
pub(crate) fn written(mark: &str, body: &str, defaults: &str, end: &str) -> (String, usize) {
    let before = format!("{body}{{%{mark} with {NAME} = {NAME}|op.here %}}");
    let second =
        format!("{{% if 0|op.other %}}{{% with {NAME} = 1|op.other %}}{defaults}{end}{{% endwith %}}{{% endif %}}");
    (format!("{before}{end}{{% endwith %}}{second}"), before.len())
}

/// The positions of the two ends in the output of one render.
#[derive(Debug)]
pub(crate) struct Marks {
    /// The length of the output so far.
    written: Arc<AtomicUsize>,
    first: AtomicUsize,
    second: AtomicUsize,
    /// The value of the variable in the second end.
    other: Value,
}

impl Marks {
    /// For an output that counts its bytes in `written`. `other` is the value of the variable in the second end.
    pub(crate) fn new(written: Arc<AtomicUsize>, other: Value) -> Arc<Marks> {
        let none = || AtomicUsize::new(usize::MAX);
        Arc::new(Marks { written, first: none(), second: none(), other })
    }

    /// Splits a complete output into the prompt and the one for the other value.
    pub(crate) fn split(&self, mut output: String) -> Option<(String, String)> {
        let (first, second) = (self.first.load(Ordering::Relaxed), self.second.load(Ordering::Relaxed));
        let other = [output.get(..first)?, output.get(second..)?].concat();
        output.truncate(second);
        Some((output, other))
    }
}

impl Object for Marks {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

fn marks(state: &State) -> Option<Arc<Marks>> {
    state.lookup(MARKS)?.downcast_object()
}

/// `x|op.here`: records the beginning of the first end. Returns `x`.
pub(crate) fn here(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    if let Some(marks) = marks(state) {
        marks.first.store(marks.written.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    Ok(args.first().cloned().unwrap_or_default())
}

/// `0|op.other`: whether there is a second end. `1|op.other`: records its beginning, and returns the variable's value in it.
pub(crate) fn other(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let Some(marks) = marks(state) else { return Ok(Value::from(false)) };
    if args.first().is_none_or(|arg| !arg.is_true()) {
        return Ok(Value::from(true));
    }
    marks.second.store(marks.written.load(Ordering::Relaxed), Ordering::Relaxed);
    Ok(marks.other.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        let head = "{% for m in messages %}{{ m.content }}\n{% endfor %}\n";
        for (rest, defaults) in [
            ("{% if add_generation_prompt %}A{% endif %}", ""),
            ("{%- if add_generation_prompt and messages[-1].get('x') is not defined -%}A{%- else %}B{%- endif -%}", ""),
            ("{% if add_generation_prompt %}A{% set x = 1 %}{{ x }}{% endif %}{# Done. #}", ""),
        ] {
            let source = format!("{head}{rest}");
            let Found::Last(cut) = find(&source) else { panic!("{rest}") };
            assert_eq!((cut.body, cut.end, cut.defaults.as_str()), (head, rest, defaults));
        }
        let source = "{% if not add_generation_prompt is defined %}\n  {% set add_generation_prompt = false %}\n{% endif %}\n{{ x }}\
                      {%- if add_generation_prompt -%}A{%- endif %}";
        let Found::Last(cut) = find(source) else { panic!() };
        let defaults =
            "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}";
        assert_eq!((cut.defaults.as_str(), cut.mark), (defaults, "-"));
        assert_eq!(cut.end, "{%- if add_generation_prompt -%}A{%- endif %}");
    }

    #[test]
    fn ends_that_do_more_than_write_are_rendered_twice() {
        assert_eq!(find("{{ bos_token }}"), Found::Unused);
        for source in [
            "{% if add_generation_prompt %}{% set ns.x = 1 %}{% endif %}",
            "{% if add_generation_prompt %}{{ x.append(1) }}{% endif %}",
            "{% if add_generation_prompt %}{{ shout('A') }}{% endif %}",
            "{% if add_generation_prompt %}{% do x.pop() %}{% endif %}",
            "{% if add_generation_prompt %}{% macro a() %}{% endmacro %}{% endif %}",
            "{% if add_generation_prompt %}A{% endif %} ",
            "{{ add_generation_prompt }}",
            "{% if not add_generation_prompt is defined %} {% set add_generation_prompt = 1 %}{% endif %}{% if add_generation_prompt %}A",
            "{% raw %}{% endraw %}{% if add_generation_prompt %}A{% endif %}",
        ] {
            assert_eq!(find(source), Found::Anywhere, "{source}");
        }
    }
}
