//! Reasoning in a request: where it opens and closes, with the prompt's opening, and in a message
//! that is continued.

use super::Begun;
use chatparse_learn::analysis::Layout;
use chatparse_learn::analysis::turn::{
    Reasoning,
    SlotKind::{self, Content, Prompt},
    TurnFormat,
};

/// What the end of a prompt has of a message: `tail` is the assistant's turn, which begins with
/// `opening`.
pub fn begun(turn: &TurnFormat, layout: &Layout, tail: &str, opening: &str) -> Option<Begun> {
    let thought = Reasoning::in_request(turn, layout, opening);
    let (start, close) = thought.as_ref().map_or(("", ""), |thought| {
        (thought.start.trim(), thought.close.core())
    });
    let text = |from: usize| from + tail[from..].len() - tail[from..].trim_start().len();
    let marked = tail
        .rfind(start)
        .filter(|_| !start.is_empty())
        .map(|at| at + start.len());
    let at_once = thought
        .as_ref()
        .filter(|thought| thought.open.is_empty())
        .map(|_| opening.len());
    let (mut reasoning, mut behind) = (None, opening.len());
    if let Some(from) = marked.or(at_once) {
        let end = tail[from..]
            .find(close)
            .filter(|_| !close.is_empty())
            .map(|at| from + at);
        let to = end.map_or(tail.len(), |end| from + tail[from..end].trim_end().len());
        reasoning = Some((text(from), to)).filter(|(from, to)| from < to);
        let Some(end) = end else {
            return reasoning.map(|_| Begun {
                reasoning,
                content: None,
            });
        };
        behind = end + close.len();
    }
    // What opens the content is none of it.
    let rest = &tail[text(behind)..];
    let opens = turn
        .glues([Prompt, SlotKind::Reasoning, Content], Content)
        .filter_map(|glue| Some(rest.strip_prefix(glue.core())?.len()))
        .min();
    let content = text(tail.len() - opens.unwrap_or(rest.len()));
    (content < tail.len() || reasoning.is_some()).then_some(Begun {
        reasoning,
        content: Some(content),
    })
}

/// The reasoning that a content begins with, between the markers of reasoning, and the content
/// after it; `None` if the reasoning is not closed.
pub fn split<'t>(
    turn: &TurnFormat,
    layout: &Layout,
    text: &'t str,
) -> Option<(&'t str, Option<&'t str>)> {
    let Reasoning { start, close, .. } = Reasoning::in_request(turn, layout, "")?;
    let close = close.core();
    let inside = text
        .strip_prefix(start.trim())
        .filter(|_| !start.trim().is_empty() && !close.is_empty())?;
    Some(match inside.split_once(close) {
        Some((thought, content)) => (thought.trim(), Some(content.trim_start())),
        None => (inside.trim_start(), None),
    })
}
