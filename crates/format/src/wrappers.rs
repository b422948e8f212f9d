//! What models put around calls: fences, brackets, tags, special tokens. A wrapper belongs to its
//! calls and is not content.

use super::FormatBuilder;
use super::coverage;
use chatparse_message::ROLES;
use chatparse_peg::ExprId;

/// The first characters of wrappers.
const STARTS: [&str; 4] = ["```", "<", "[", WORD];

/// A word that some models write before a list of calls.
const WORD: &str = "functools";

/// Names of tags around calls; also between brackets, in capitals.
const NAMES: [&str; 9] = [
    "tool_calls",
    "tool_call",
    "toolcall",
    "tools",
    "tool",
    "function_calls",
    "function_call",
    "functions",
    "action",
];

/// Maximum number of wrappers or marks of thoughts before a call. Without it, a row of them
/// would be read once for each.
pub const MARKS: u32 = 4;

/// What may be around an empty thought before calls.
pub const THOUGHT: [&str; 2] = ["<think>", "</think>"];

/// One or more calls in nested wrappers. `held`: a call inside a tag or special tokens. There, a
/// call without a marker is not a quotation, so `held` may match one. `own`: what opens and closes
/// calls of the format.
pub fn wrapped(p: &FormatBuilder, call: ExprId, held: ExprId, own: [&[String]; 2]) -> ExprId {
    let calls = p.rule("calls-in-a-row", row(p, call));
    let held = p.rule("held-calls-in-a-row", row(p, held));
    let end = p.optional(p.after_space(p.literal("]")));
    let list = p.sequence([p.spaced([p.literal("["), held]), end]);
    let marked = p.rule("marked-calls", p.choice([held, list]));
    let tags = NAMES.map(|name| format!("<{name}>"));
    let own = [
        p.any_of(own[0].iter().filter(|text| !tags.contains(text))),
        p.any_of(own[1]),
    ];
    let with = |inner, marked| p.choice([calls].into_iter().chain(around(p, inner, marked, own)));
    let once = p.rule("wrapped-once", with(calls, marked));
    // Each wrapper is tried once: what holds wrapped calls holds calls, and what opens the format's
    // calls and is a tag counts as one.
    with(once, p.choice([marked, once]))
}

/// Calls one after the other.
fn row(p: &FormatBuilder, call: ExprId) -> ExprId {
    let next = p.spaced([p.optional(separator(p)), call]);
    p.sequence([call, p.many(p.after_space(next))])
}

/// The texts that wrappers begin with, except the bracket of a list. They are as long as can be: a
/// text is tried where it ends.
pub fn starts() -> impl Iterator<Item = String> {
    let named = NAMES
        .into_iter()
        .flat_map(|name| [format!("<{name}>"), format!("[{}]", name.to_uppercase())]);
    let starts = ["```", "<|", "<｜", "<tool▁"]
        .iter()
        .chain(&THOUGHT)
        .map(|start| (*start).to_owned());
    starts.chain([format!("{WORD}[")]).chain(named)
}

/// The text that models write between calls.
pub fn separator(p: &FormatBuilder) -> ExprId {
    p.signs(",;")
}

/// A wrapper with `inner`, or with `marked` if it is a tag or a special token.
fn around(
    p: &FormatBuilder,
    inner: ExprId,
    marked: ExprId,
    [opens, closes]: [ExprId; 2],
) -> [ExprId; 7] {
    [
        holding(p, inner, [fence(p), p.literal("```")]),
        holding(p, marked, [special(p, false), special(p, true)]),
        p.sequence([thoughts(p), inner]),
        holding(p, marked, [tag(p, "<"), tag(p, "</")]),
        holding(p, marked, [opens, closes]),
        p.spaced([p.literal(WORD), marked]),
        holding(p, inner, [p.literal("["), p.literal("]")]),
    ]
}

fn holding(p: &FormatBuilder, inner: ExprId, [open, close]: [ExprId; 2]) -> ExprId {
    p.sequence([open, p.space(), inner, p.optional(p.after_space(close))])
}

/// Text up to calls without a marker, which begin with one of these texts, and up to the wrappers
/// around such calls. `ends`: other texts that end it. `has_thoughts`: an empty thought is a
/// wrapper.
pub fn text_before(
    p: &FormatBuilder,
    calls: &[String],
    ends: &[String],
    has_thoughts: bool,
) -> ExprId {
    let thought = if has_thoughts {
        p.any_of(THOUGHT)
    } else {
        p.never()
    };
    let wrapper = p.choice([
        fence(p),
        special(p, false),
        tag(p, "<"),
        p.literal(WORD),
        thought,
    ]);
    let wrappers = p.repeat(p.sequence([wrapper, p.space()]), 1, Some(MARKS));
    let call = p.and(p.any_of(calls));
    let held = p.sequence([wrappers, p.choice([call, p.spaced([p.literal("["), call])])]);
    let stops: Vec<&str> = calls.iter().chain(ends).map(String::as_str).collect();
    let plain = p.content(p.until_marker(stops.iter().copied()));
    let marks = stops.iter().copied().chain(STARTS);
    let text = text_up_to(
        p,
        marks,
        p.any_of(stops.iter().copied()),
        held,
        has_thoughts.then_some(plain),
    );
    p.choice([p.only_read(true, text), plain])
}

/// Text up to `stop`, which begins with one of `marks`, and an empty thought before `calls`.
pub fn text_before_calls(
    p: &FormatBuilder,
    marks: &[String],
    stop: ExprId,
    calls: Option<ExprId>,
) -> ExprId {
    let run = p.until_marker(marks);
    let plain = p.content(p.sequence([run, p.more_text(stop, run)]));
    let Some(calls) = calls else { return plain };
    let thoughts = p.sequence([thoughts(p), p.and(calls)]);
    let marks = marks.iter().map(String::as_str).chain(THOUGHT);
    text_up_to(p, marks, stop, thoughts, Some(plain))
}

/// Text up to `stop` or `held`, which begin with one of `marks`, and what is `held`. A thought that
/// is not empty is text, and so is its end: `plain` is the text from its opening on.
fn text_up_to<'m>(
    p: &FormatBuilder,
    marks: impl Iterator<Item = &'m str>,
    stop: ExprId,
    held: ExprId,
    plain: Option<ExprId>,
) -> ExprId {
    let opened = plain.map(|_| p.marker(THOUGHT[0]));
    let run = p.until_marker(marks);
    let more = p.more_text(p.choice([Some(held), Some(stop), opened]), run);
    let thought = opened
        .zip(plain)
        .map(|(opened, plain)| p.sequence([p.and(opened), plain]));
    let rest = p.choice([Some(held), thought]);
    p.sequence([p.content(p.sequence([run, more])), p.optional(rest)])
}

/// Closers after calls, and ends of the turn. `ends`: the texts that end calls and turns;
/// `openings`: the texts that begin calls. `foreign`: the calls are of another format, so what
/// looks like a closer may be theirs, and tokens at the end of the output the end of their turn.
pub fn behind(p: &FormatBuilder, ends: &[String], openings: &[String], foreign: bool) -> ExprId {
    let known = p.any_of(ends.iter().map(|end| end.trim()));
    // A bracket only together with the marker after it.
    let bracket = p.optional(p.sequence([p.signs("]})"), p.space()]));
    let next = p.any_of(openings.iter().map(|opening| opening.trim()));
    let fence = p.sequence([
        p.literal("```"),
        p.choice([p.end(), p.and(p.literal("\n"))]),
    ]);
    let closer = if foreign {
        p.choice([fence, known, tag(p, "</"), in_brackets(p, "[/")])
    } else {
        known
    };
    let closer = p.sequence([bracket, p.not(next), closer]);
    if !foreign {
        return p.many(p.after_space(closer));
    }
    // What opens, where nothing follows but the header of the next turn, was to close.
    let mark = p.sequence([p.choice([next, tag(p, "<"), special(p, true)]), p.space()]);
    let role = p.optional(p.sequence([p.any_of(ROLES), p.space()]));
    let last = p.choice([
        p.sequence([p.some(mark), role]),
        p.sequence([p.literal("]"), p.space()]),
    ]);
    let last = p.sequence([last, p.and(p.end())]);
    p.many(p.after_space(p.choice([closer, last])))
}

/// What opens and closes empty thoughts.
fn thoughts(p: &FormatBuilder) -> ExprId {
    p.repeat(p.sequence([p.any_of(THOUGHT), p.space()]), 1, Some(MARKS))
}

/// The opening of a code fence.
fn fence(p: &FormatBuilder) -> ExprId {
    p.sequence([
        p.literal("```"),
        coverage::word(p, 0, &[('a', 'z'), ('_', '_')]),
    ])
}

/// A text with a blank between its tags.
pub fn apart(tags: &str) -> String {
    tags.replace("><", "> <")
}

/// `<|word|>`.
pub fn token(p: &FormatBuilder, word: ExprId) -> ExprId {
    p.sequence([p.literal("<|"), word, p.literal("|>")])
}

/// `<|name|>`, `[NAME]`, or a token of DeepSeek that is spelled out without its bars. `closes`:
/// after calls, where the token opens nothing.
pub fn special(p: &FormatBuilder, closes: bool) -> ExprId {
    let any = coverage::word(
        p,
        2,
        &[('a', 'z'), ('A', 'Z'), ('_', '_'), ('▁', '▁'), ('0', '9')],
    );
    let brackets = [("<|", "|>"), ("<|", ">"), ("<｜", "｜>"), ("<tool▁", ">")];
    let brackets = brackets.into_iter();
    let brackets = brackets.filter(|ends| closes || *ends != ("<|", ">"));
    let token = p.choice(brackets.map(|(left, right)| {
        let slash = p.optional(p.literal("/"));
        p.sequence([p.literal(left), slash, any, p.literal(right)])
    }));
    let opens = p.after_space(p.signs("{["));
    if closes {
        p.choice([p.sequence([token, p.not(opens)]), in_brackets(p, "[/")])
    } else {
        p.choice([token, in_brackets(p, "[")])
    }
}

/// `[NAME]` or `[/NAME]`.
fn in_brackets(p: &FormatBuilder, open: &str) -> ExprId {
    p.sequence([
        p.literal(open),
        p.choice(NAMES.map(|name| p.literal(name.to_uppercase()))),
        p.literal("]"),
    ])
}

/// A tag.
pub fn tag(p: &FormatBuilder, open: &str) -> ExprId {
    p.sequence([
        p.literal(open),
        p.choice(NAMES.map(|name| p.literal(name))),
        p.literal(">"),
    ])
}
