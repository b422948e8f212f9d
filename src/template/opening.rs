//! The generation prompt without a second render, where the source shows that it comes last.
//!
//! What `add_generation_prompt` adds to a prompt is the difference of two renders. In most templates only the end of the source
//! looks at that variable, so the renders share all before that end. Such a source is written as its *body*, and its *end* twice:
//! ```text
//! body {% with add_generation_prompt = add_generation_prompt|op.here %} end {% endwith %}
//!      {% if 0|op.other %}{% with add_generation_prompt = 1|op.other %} defaults, end {% endwith %}{% endif %}
//! ```
//! In a render that wants both prompts, the filters note where in the output each end begins. A render that wants one stops
//! after the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memmem;
use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Error, State};

use super::token::{self, Token, find_tag};

/// The variable.
pub(super) const NAME: &str = "add_generation_prompt";

/// The context's variable with the [`Marks`] of a render. No template can spell it.
pub(super) const MARKS: &str = " marks";

/// How a source uses the variable.
#[derive(Debug, PartialEq)]
pub(super) enum Found<'s> {
    /// Not at all: both renders are the same.
    Unused,
    /// In its end only.
    Last(Cut<'s>),
    /// In a way that two renders must tell.
    Anywhere,
}

/// What that means for a compiled template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Opening {
    /// One render shows both prompts: they are the same.
    Unused,
    /// One render shows both prompts, if it is asked to.
    Last,
    /// Each prompt takes a render.
    Anywhere,
}

/// A source, cut where its end begins.
#[derive(Debug, PartialEq)]
pub(super) struct Cut<'s> {
    pub body: &'s str,
    /// Tags of the body that give the variable a value where it has none. They write nothing.
    pub defaults: String,
    pub end: &'s str,
    /// The white-space mark of the end's first tag.
    pub mark: &'s str,
}

/// Names that the tags of [`Cut::defaults`] may have: these depend on nothing but the variable.
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

/// Tags that the end may have. It must leave nothing behind that its second run would see.
const TAGS: &[&str] = &["if", "elif", "else", "endif", "for", "endfor", "set"];

/// What it may call, for the same reason: functions, filters and tests, then methods.
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

/// Looks at a source as the engine compiles it, before the source pass.
pub(super) fn find(source: &str) -> Found<'_> {
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
    // Text behind the last tag would stand before another tag now, which might take its white space.
    if !harmless || first.kind != Some('%') || last.end != source.len() {
        return None;
    }
    let mark = &source[first.start + 2..first.start + 2 + first.mark];
    Some(Cut { body: &source[..first.start], defaults, end: &source[first.start..], mark })
}

/// A tag of the source. A comment is one, too, without tokens.
struct Tag<'s> {
    start: usize,
    end: usize,
    /// `%` or `{`; none for a comment.
    kind: Option<char>,
    /// Whether there is a white-space mark in front: its length.
    mark: usize,
    /// The name of a statement; empty for other tags.
    name: &'s str,
    /// Read for those tags alone that somebody looks into.
    tokens: Vec<Token<'s>>,
}

impl<'s> Tag<'s> {
    fn name(&self) -> &'s str {
        self.name
    }

    /// What ends the tag.
    fn closing(&self) -> &'static str {
        if self.kind == Some('%') { "%}" } else { "}}" }
    }

    /// Its tokens, one by one.
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
            // What is no token is the last that is read.
            pos = if token == Token::None { self.end } else { end };
            Some(token)
        })
    }

    /// Whether a statement begins here that a later tag ends.
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

    /// On one line, so that lines stay where they are, and without white-space marks, as no text is around it.
    fn alone(&self, source: &str) -> String {
        let inside = &source[self.start + 2 + self.mark..self.end - 2];
        format!("{{%{}%}}", inside.trim_end_matches(['-', '+']).replace('\n', " "))
    }

    /// Whether it leaves nothing behind. What `set` makes is gone where the scope ends, but not what it changes.
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

/// A tag outside of all blocks, with all tags of its block.
struct Statement<'s> {
    tags: Vec<Tag<'s>>,
}

impl Statement<'_> {
    fn names(&self, name: &str) -> bool {
        self.tags.iter().flat_map(|tag| &tag.tokens).any(|token| *token == Token::Name(name))
    }

    /// Whether all it does is to give the variable a value that depends on nothing else.
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
            // The engine takes a line break behind a tag, and blanks in front of one.
            let line = text.strip_prefix('\n').is_some_and(|line| line.bytes().all(|c| matches!(c, b' ' | b'\t')));
            text.is_empty() || trimmed && text.trim().is_empty() || line && pair[1].mark == 0
        };
        self.tags.iter().all(plain) && self.tags.windows(2).all(silent)
    }
}

/// The statements of a source, in order, from the first one that may name the variable; `None` where it is not Jinja as we
/// know it.
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

/// The next tag; `Some(None)` behind the last one.
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

/// The source that the engine compiles, from its rewritten parts, and where in it the first end begins.
pub(super) fn written(mark: &str, body: &str, defaults: &str, end: &str) -> (String, usize) {
    let before = format!("{body}{{%{mark} with {NAME} = {NAME}|op.here %}}");
    let second =
        format!("{{% if 0|op.other %}}{{% with {NAME} = 1|op.other %}}{defaults}{end}{{% endwith %}}{{% endif %}}");
    (format!("{before}{end}{{% endwith %}}{second}"), before.len())
}

/// Where in the output of one render the two ends begin.
#[derive(Debug)]
pub(super) struct Marks {
    /// How much there is of the output.
    written: Arc<AtomicUsize>,
    first: AtomicUsize,
    second: AtomicUsize,
    /// The variable's value in the second end.
    other: Value,
}

impl Marks {
    /// For an output that counts its bytes in `written`. `other` is the variable's value in the second end.
    pub(super) fn new(written: Arc<AtomicUsize>, other: Value) -> Arc<Marks> {
        let none = || AtomicUsize::new(usize::MAX);
        Arc::new(Marks { written, first: none(), second: none(), other })
    }

    /// Cuts a whole output: the prompt, and the one for the other value.
    pub(super) fn split(&self, mut output: String) -> Option<(String, String)> {
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

/// `x|op.here`: the first end begins. Gives `x`.
pub(super) fn here(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    if let Some(marks) = marks(state) {
        marks.first.store(marks.written.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    Ok(args.first().cloned().unwrap_or_default())
}

/// `0|op.other`: whether there is a second end. `1|op.other`: it begins. Gives the variable's value in it.
pub(super) fn other(state: &mut State, args: &[Value]) -> Result<Value, Error> {
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
