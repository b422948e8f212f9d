//! Reasoning as models write it beside the template's way.

use super::table::{Rule, Way};
use crate::builder::FormatBuilder;
use crate::glue::{is_strong, split_space, without_word};
use crate::sites::Writer;
use chatparse_base::brackets::is_marker;
use chatparse_learn::analysis::turn::{Glue, Reasoning};
use chatparse_message::OpeningAgain;
use chatparse_peg::ExprId;

sites! {
    "opening" {
        /// After the end of the prompt: the opening of reasoning in it.
        OPENING: (&Writer, &str) = {
            prompt_opening_again,
        }
    }
    "thought" {
        /// After the opening of reasoning, or in its place where the prompt has it: the opening.
        THOUGHT_OPENED: (&Writer, &str) = {
            opening_again,
        }
        /// Before the text of reasoning that is a message of its own: its end.
        THOUGHT_BEGIN: (&FormatBuilder, ExprId) = {
            line_between_thoughts,
        }
        /// What opens reasoning.
        THOUGHT_OPEN: (&Writer, &Reasoning) = {
            opening_without_word,
        }
        /// Reasoning with its opening and its end.
        THOUGHT: (&Writer, &Reasoning) = {
            thought_end_alone,
        }
    }
    "thought-end" {
        /// The end of reasoning, before the template's: what opens more.
        THOUGHT_JOIN: (&FormatBuilder, &Reasoning, ExprId) = {
            thoughts_joined,
        }
        /// The end of reasoning: what opens content, and how calls go on that begin so.
        THOUGHT_CLOSE: (&FormatBuilder, &[String], &[String]) = {
            content_ends_thought,
        }
        /// A call in reasoning: what it begins with.
        THOUGHT_CALL: (ExprId) = {
            call_ends_thought,
        }
        /// The end of reasoning that is shown as content: the texts that open calls.
        SHOWN_THOUGHT_CLOSE: (&FormatBuilder, &[String]) = {
            call_ends_shown_thought,
        }
        /// After reasoning: what opens more, and its text with the end.
        THOUGHT_AGAIN: (&FormatBuilder, ExprId, ExprId) = {
            thought_again,
        }
        /// After all reasoning.
        THOUGHT_CLOSED: (&FormatBuilder, &Reasoning) = {
            thought_closed_again,
        }
    }
    "thought" {
        /// Reasoning after content.
        LATE_THOUGHT: (&Writer, &Reasoning) = {
            late_end_alone,
        }
    }
}

/// Two thoughts of a turn are two lines.
fn line_between_thoughts(p: &FormatBuilder, end: ExprId) -> Way {
    Some(p.choice([p.sequence([p.not(end), p.separator(p.empty())]), p.empty()]))
}

/// More reasoning directly after the end of reasoning.
fn thought_again(p: &FormatBuilder, again: ExprId, block: ExprId) -> Way {
    Some(p.many(p.sequence([p.space(), again, block])))
}

/// The end of reasoning, if it identifies one.
fn closer(thought: &Reasoning) -> Option<&str> {
    Some(thought.close.core()).filter(|_| is_strong(&thought.close))
}

/// The end of reasoning, once more.
fn thought_closed_again(p: &FormatBuilder, thought: &Reasoning) -> Way {
    closer(thought).map(|closer| p.many(p.marker(closer)))
}

/// The opening of reasoning again: some models repeat it although the prompt has it.
fn opening_again(writer: &Writer, start: &str) -> Way {
    let p = writer.p;
    let again = writer.spec.options.leniency.opening_again == OpeningAgain::Marker;
    again.then(|| p.optional(p.marker(start.trim_ascii())))
}

/// The last marker of the prompt once more.
fn prompt_opening_again(writer: &Writer, opened: &str) -> Way {
    let (p, opening) = (writer.p, Glue::from(writer.opening));
    let last = opening
        .marker_spans()
        .pop()
        .map_or("", |last| opening.head()[last.start..].trim());
    let again = writer.spec.options.leniency.opening_again == OpeningAgain::Marker;
    (again && opened.is_empty() && is_marker(last)).then(|| p.optional(p.marker(last)))
}

/// A special token without the word that the template writes after it.
fn opening_without_word(writer: &Writer, thought: &Reasoning) -> Way {
    let p = writer.p;
    let bare = without_word(&thought.open).filter(|bare| !writer.begins_with(bare.head()))?;
    Some(p.sequence([p.glue(&bare), p.not(p.marker(bare.head()))]))
}

/// The end of reasoning without its beginning.
fn thought_end_alone(writer: &Writer, thought: &Reasoning) -> Way {
    let closer = closer(thought).filter(|closer| !writer.begins_with(closer))?;
    Some(writer.p.marker(closer))
}

/// The end of reasoning after content, without its beginning.
fn late_end_alone(writer: &Writer, thought: &Reasoning) -> Way {
    Some(writer.p.marker(thought.close.core()))
}

/// What opens calls ends reasoning that is content.
fn call_ends_shown_thought(p: &FormatBuilder, calls: &[String]) -> Way {
    (!calls.is_empty()).then(|| p.and(p.any_of(calls)))
}

/// The template's white space before the end belongs to the text, where more reasoning follows.
fn thoughts_joined(p: &FormatBuilder, thought: &Reasoning, again: ExprId) -> Way {
    let (space, core) = split_space(&thought.close);
    let joins = !space.is_empty() && core.is_literal();
    joins.then(|| {
        p.atomic(p.sequence([
            p.reasoning(p.literal(space)),
            p.marker(core.head()),
            p.and(again),
        ]))
    })
}

/// What opens content ends reasoning, unless a call goes on so.
fn content_ends_thought(p: &FormatBuilder, opens: &[String], rests: &[String]) -> Way {
    (!opens.is_empty()).then(|| p.and(p.sequence([p.any_of(opens), p.not(p.any_of(rests))])))
}

/// A call ends reasoning.
fn call_ends_thought(call: ExprId) -> Way {
    Some(call)
}
