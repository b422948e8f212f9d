//! Any template: an error, or a template of which everything can be asked.

use std::sync::LazyLock;

use chatparse::grammar::Recogniser;
use chatparse::{ChatTemplate, ErrorKind, Request, Stream, builtin, lint};

use super::choices::Choices;
use super::feed;
use super::known;

/// Our own templates, cut into tags and the texts between them.
static CUT: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    builtin::BUILTINS
        .iter()
        .map(|builtin| cut(builtin.source))
        .collect()
});

fn cut(source: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = source;
    while !rest.is_empty() {
        let tag = rest.starts_with('{') && rest[1..].starts_with(['{', '%', '#']);
        let end = if tag {
            ["}}", "%}", "#}"]
                .iter()
                .filter_map(|end| Some(rest.find(end)? + 2))
                .min()
        } else {
            ["{{", "{%", "{#"]
                .iter()
                .filter_map(|start| rest.find(start))
                .min()
        };
        let (piece, more) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece.to_owned());
        rest = more;
    }
    pieces
}

/// What is put into tags and between them.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "{%- endif %}",
    "{% endfor %}",
    "{% else %}",
    "{% if tools %}",
    "{{ x }}",
    "|tojson",
    "|trim",
    "|length",
    "|items",
    "|join(',')",
    "|default('')",
    "|reverse",
    "|list",
    "|string",
    "|safe",
    "[0]",
    "[-1]",
    "[::-1]",
    "[1:]",
    ".content",
    ".strip()",
    ".split('<')",
    ".items()",
    ".get('a')",
    ".replace('a', 'b')",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "+",
    " ~ ",
    "*",
    "//",
    "%",
    "**",
    " in ",
    " not ",
    " is ",
    "defined",
    "none",
    "string",
    "mapping",
    " == ",
    " and ",
    " or ",
    "1",
    "0",
    "9999999999",
    "-1",
    "1.5",
    "loop.index",
    "loop.previtem",
    "namespace(a=1)",
    "raise_exception('x')",
    "strftime_now('%Y')",
    "range(3)",
    "messages",
    "message",
    "tools",
    "bos_token",
    "add_generation_prompt",
    "{% set messages = [] %}",
    "{% macro m(a) %}",
    "{% endmacro %}",
    "{% generation %}",
    "{% raw %}",
    "{% endraw %}",
    "{% call m(1) %}",
    "{% filter upper %}",
    "{% break %}",
    "{% for a in messages %}",
    "{% set ns.a = 1 %}",
    "{% include 'a' %}",
    "{% import 'a' as b %}",
    "{% block a %}",
    "{% extends 'a' %}",
    "\\n",
    "\\",
    "<think>",
    "é😀",
    "\n",
    " ",
];

pub fn case(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let source = match Choices::text(bytes) {
        Some(text) => text.to_owned(),
        None => source(&mut choices),
    };
    let Ok(template) =
        ChatTemplate::new(&source, "<s>", "</s>").map_err(|error| expected(&source, &error))
    else {
        return;
    };
    let request = known::request(choices.below(known::REQUESTS));
    let request = Request::from_json(&request).unwrap_or_else(|error| panic!("{error}"));
    template.caps();
    template.layout();
    let params = match template.params(&request) {
        Ok(params) => params,
        Err(error) => return expected(&source, &error),
    };
    let grammar = &params.grammar().text;
    if !grammar.is_empty() {
        Recogniser::new(grammar).unwrap_or_else(|error| panic!("{source:?}: {error}\n{grammar}"));
    }
    if choices.once_in(8) {
        drop(lint::lint(&template).to_json());
    }
    // What the template writes of a message, and some more.
    let mut body = known::request(0);
    body["messages"]
        .as_array_mut()
        .expect("an array")
        .push(choices.pick(&known::messages()).clone());
    let request = Request::from_json(&body).unwrap_or_else(|error| panic!("{error}"));
    let whole = template.prompt(&request).unwrap_or_default();
    let written = whole.strip_prefix(&params.prompt).unwrap_or(&whole);
    let mut output: Vec<u8> = written.bytes().rev().take(400).collect();
    output.reverse();
    let cut_off = choices.once_in(2);
    feed::check(
        &Stream::new(&params.parser),
        &source,
        &output,
        cut_off,
        &mut choices,
    );
}

fn expected(source: &str, error: &chatparse::Error) {
    let kind = error.kind();
    assert!(
        matches!(
            kind,
            ErrorKind::Template | ErrorKind::Limit | ErrorKind::InvalidArgument
        ),
        "{source:?}: {kind:?}: {error}"
    );
}

/// One of our templates, changed: tags and texts dropped, doubled, taken from another, or changed
/// inside.
fn source(choices: &mut Choices) -> String {
    let pieces: Vec<String> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    let mut source = choices.pick(&CUT).clone();
    for _ in 0..choices.below(5) {
        let at = choices.below(source.len().max(1));
        match choices.below(6) {
            0 => drop(source.drain(at..(at + 1).min(source.len()))),
            1 => source.insert(at, choices.pick(choices_of(&CUT, at)).clone()),
            2 => source.insert(at, choices.pick(&pieces).clone()),
            _ => {
                if let Some(piece) = source.get_mut(at) {
                    *piece = choices.mutate_text(piece, &pieces);
                }
            }
        }
    }
    source.concat()
}

/// The pieces of some template.
fn choices_of(cut: &[Vec<String>], at: usize) -> &[String] {
    &cut[at % cut.len()]
}
