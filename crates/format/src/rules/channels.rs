//! Messages on channels as models write them beside the template's way.

use super::table::{Rule, Way};
use crate::builder::FormatBuilder;
use crate::channels::{CALL, CHANNEL, CONSTRAIN, END, Harmony, RETURN, START};
use crate::coverage;
use crate::tag::Tag;
use chatparse_base::limits::MARKER_WORD_CHARS;
use chatparse_learn::Dialect;
use chatparse_peg::ExprId;

sites! {
    "channel" {
        /// After a token.
        TOKEN: (&Harmony) = {
            more_spaces,
        }
        /// What begins a message: nearly that.
        START_OF_MESSAGE: (&FormatBuilder, ExprId) = {
            start_left_out,
        }
        /// After the beginning of a message.
        STARTED: (&FormatBuilder, ExprId) = {
            started_again,
        }
        /// A message: what begins it.
        BARE_TEXT: (&Harmony, ExprId) = {
            text_without_header,
        }
        /// A message that is not the last.
        OTHER_MESSAGE: (&Harmony) = {
            unknown_header,
        }
        /// Before a call.
        CALL_HEADER: (&Harmony) = {
            header_before_another,
        }
        /// The end of reasoning, or of an answer that goes on.
        THOUGHT_END: (&FormatBuilder) = {
            message_ends_message,
        }
        /// The header of an answer.
        FINAL_HEADER: (&Harmony) = {
            channel_left_out,
        }
        /// The token before the channel of a call.
        CHANNEL_TOKEN: (&FormatBuilder) = {
            channel_token_left_out,
        }
    }
}

/// More spaces after a token.
fn more_spaces(turn: &Harmony) -> Way {
    let p = turn.p;
    (turn.dialect == Dialect::LlmJp).then(|| p.many(p.signs(" ")))
}

/// The beginning of a message once more, after that of the prompt.
fn started_again(p: &FormatBuilder, nearly: ExprId) -> Way {
    Some(p.many(p.choice([p.sequence([p.marker(START), p.marker("assistant")]), nearly])))
}

/// A part of what begins a message.
fn start_left_out(p: &FormatBuilder, nearly: ExprId) -> Way {
    let word = p.sequence([
        p.any_of(["commentary", "analysis"]),
        p.marker(" to=functions."),
    ]);
    Some(p.choice([nearly, p.and(p.choice([p.marker(CHANNEL), word]))]))
}

/// Text without a header, before a message that has one.
fn text_without_header(turn: &Harmony, start: ExprId) -> Way {
    let p = turn.p;
    // Calls of other formats may begin with the signs.
    let letter = p.none_of(&[
        ('\t', '\r'),
        (' ', ' '),
        ('<', '<'),
        ('[', '['),
        ('`', '`'),
        ('{', '{'),
    ]);
    let (word, gap) = (p.some(letter), p.atomic(p.after_space(p.and(letter))));
    let text = p.sequence([
        p.not(p.marker(" to=")),
        word,
        p.many(p.sequence([gap, word])),
    ]);
    let end = p.sequence([p.optional(p.any_of([RETURN, END])), p.end()]);
    let end = p.choice([p.and(p.any_of([CHANNEL, START])), end]);
    Some(p.spaced([start, p.content(text), end]))
}

/// A message with a header that is not known. A message to an unknown recipient, or with a type, is
/// work, and so is the recipient's name; the rest is for the user.
fn unknown_header(turn: &Harmony) -> Way {
    let p = turn.p;
    let hidden = turn.spec.thought_tag();
    let channel = p.optional(p.any_of(["commentary", "analysis"]));
    let channel = p.sequence([turn.token(CHANNEL), channel]);
    let name = p.repeat(
        p.none_of(&[('\0', ' '), ('<', '<')]),
        1,
        Some(MARKER_WORD_CHARS),
    );
    let to = p.sequence([
        p.and(turn.recipient()),
        p.marker(" to="),
        p.tag(hidden, name),
    ]);
    let word = coverage::name(p);
    let typed = p.sequence([p.space(), turn.token(CONSTRAIN), word]);
    let work = [
        p.sequence([to, p.optional(channel), turn.content_type()]),
        p.sequence([channel, to, turn.content_type()]),
        p.sequence([channel, typed]),
    ];
    let other = p.sequence([channel, turn.content_type()]);
    let all = p.choice([
        p.sequence([p.atomic(p.choice(work)), body(turn, hidden)]),
        p.sequence([p.atomic(other), body(turn, Tag::Content)]),
    ]);
    Some(p.rule("other", all))
}

/// The end of a header, and a text of any message with its end.
fn body(turn: &Harmony, tag: Tag) -> ExprId {
    let p = turn.p;
    let text = p.tag(tag, p.until_marker([END, CALL, RETURN, START]));
    let close = p.sequence([p.any_of([END, CALL, RETURN]), p.markup_ends()]);
    let end = p.choice([close, p.and(p.marker(START)), p.end()]);
    p.sequence([turn.message(), text, end])
}

/// The first of two headers, before a call whose own header may be on that channel as well.
fn header_before_another(turn: &Harmony) -> Way {
    let p = turn.p;
    Some(p.optional(p.sequence([turn.first_header(), p.and(p.marker(CHANNEL))])))
}

/// The next message ends reasoning.
fn message_ends_message(p: &FormatBuilder) -> Way {
    Some(p.and(p.marker(START)))
}

/// No channel before an answer.
fn channel_left_out(turn: &Harmony) -> Way {
    Some(turn.message())
}

/// No token before the channel of a call.
fn channel_token_left_out(p: &FormatBuilder) -> Way {
    Some(p.empty())
}
