//! The parts of a turn as models write them beside the template's way.

use super::table::{Rule, Way};
use crate::builder::FormatBuilder;
use crate::calls::learnt as calls;
use crate::coverage;
use crate::glue::{end_of_json, heads, is_strong, split_space};
use crate::sites::{INNER, Writer};
use crate::wrappers;
use chatparse_learn::analysis::turn::{
    Glue,
    SlotKind::{Call, End},
};
use chatparse_peg::ExprId;

sites! {
    "content" {
        /// The content: the texts that calls begin with.
        CONTENT: (&FormatBuilder, &[String]) = {
            blank_content,
        }
        /// What opens content: the template's text for it.
        CONTENT_OPEN: (&Writer, &Glue) = {
            other_recipient,
        }
        /// After content with an opening: more of such a text.
        TEXT_AGAIN: (&Writer, ExprId) = {
            text_again,
        }
        /// Text after reasoning that follows content: what else ends it.
        LATE_TEXT: (&Writer, &[String]) = {
            end_after_late_thought,
        }
    }
    "calls" {
        /// After the content, in place of calls.
        NO_CALLS: (&Writer) = {
            empty_section,
        }
        /// Before calls without the marker around all.
        SECTION_OPEN: (&Writer) = {
            section_misspelled,
        }
        /// All calls: what opens them, and the calls.
        CALLS: (&Writer, &Glue, ExprId) = {
            call_without_list,
            calls_in_brackets,
        }
        /// A further call.
        NEXT_CALL: (&Writer) = {
            call_in_wrapper,
            inner_call,
            call_after_comma,
        }
    }
    "calls-end" {
        /// After the last call.
        LAST_CALL: (&Writer) = {
            comma_after_last_call,
        }
        /// The end of all calls.
        LIST_CLOSE: (&FormatBuilder, &Glue) = {
            bracket_left_out,
        }
        /// Before text after calls.
        AFTER_CALLS: (&Writer) = {
            opening_cut_off,
        }
        /// After the end of all calls: calls with what opens all.
        CALLS_CLOSED: (&Writer, &[ExprId]) = {
            thought_after_calls,
            calls_again,
        }
    }
    "turn-end" {
        /// After the end of a turn.
        TURN_END: (&Writer) = {
            next_header,
        }
    }
}

/// White space alone, before calls.
fn blank_content(p: &FormatBuilder, calls: &[String]) -> Way {
    let calls = calls.iter().map(|call| call.trim_start());
    (calls.len() > 0).then(|| p.after_space(p.and(p.any_of(calls))))
}

/// A message to somebody who gets no call, where the template has the user. The name is hidden.
fn other_recipient(writer: &Writer, open: &Glue) -> Way {
    let (p, between) = (writer.p, calls::announced(writer.turn)?);
    let (call, rest) = writer
        .before_first_call()
        .iter()
        .find_map(|call| Some((call, open.strip_prefix(call)?)))?;
    let marker = rest
        .first_marker()
        .filter(|marker| !rest.head().starts_with(marker))?;
    let calls = p.glue(&between.strip_prefix(&marker.into())?);
    let thought = writer.reasoning_again();
    let known = p.choice(
        writer
            .before_content()
            .map(|open| p.glue(open))
            .chain(thought),
    );
    let name = writer.thought_text(coverage::any_word(p));
    let name = p.choice([
        p.literal("commentary"),
        p.sequence([p.separator(p.empty()), name]),
    ]);
    let header = [p.glue(call), name, p.marker(marker), p.not(calls)];
    Some(p.sequence([p.not(known), p.atomic(p.sequence(header))]))
}

/// More content in messages of their own, and reasoning between.
fn text_again(writer: &Writer, text: ExprId) -> Way {
    let p = writer.p;
    Some(p.many(p.choice([Some(writer.message(text)?), writer.late_reasoning()])))
}

/// A token that ends outputs, at the end of this one, is no text.
fn end_after_late_thought(writer: &Writer, ends: &[String]) -> Way {
    let (p, own) = (writer.p, writer.turn.end.core());
    let tokens = writer
        .tolerances
        .ends
        .iter()
        .map(String::as_str)
        .chain([own])
        .filter(|token| !token.is_empty());
    let text = writer.text(
        ends.iter()
            .cloned()
            .chain(tokens.clone().map(str::to_owned))
            .collect(),
    );
    let token = p.any_of(tokens);
    let end = p.spaced([token, p.end()]);
    let more = p.many(p.sequence([p.not(end), p.content(token), text]));
    Some(p.sequence([text, more, p.optional(end)]))
}

/// The markers around all calls, without any between them.
fn empty_section(writer: &Writer) -> Way {
    let (p, [open, close]) = (writer.p, writer.section()?);
    Some(p.optional(p.spaced([p.marker(open), p.glue(&close.into())])))
}

/// The marker around all calls, misspelled, cut short, or followed by what is none; perhaps before
/// the right one.
fn section_misspelled(writer: &Writer) -> Way {
    let (p, family) = (writer.p, writer.family_of_markers()?);
    let word = coverage::word(
        p,
        1,
        &[
            ('a', 'z'),
            ('A', 'Z'),
            ('_', '_'),
            ('▁', '▁'),
            ('.', '.'),
            ('…', '…'),
        ],
    );
    let ends = p.sequence([p.optional(p.signs("|｜")), p.optional(p.literal(">"))]);
    let own = writer
        .turn
        .calls
        .iter()
        .map(|form| &form.close)
        .chain([&writer.call_open]);
    let own = p.not(p.any_of(own.filter_map(Glue::first_marker)));
    let marker = [
        own,
        p.literal(family),
        word,
        ends,
        p.optional(wrappers::tag(p, "<")),
        p.space(),
    ];
    Some(p.repeat(p.sequence(marker), 0, Some(wrappers::MARKS)))
}

/// A further call without the end of its wrapper and its opening.
fn call_in_wrapper(writer: &Writer) -> Way {
    let p = writer.p;
    let wrapped = !writer.wrapper_close.is_blank();
    wrapped.then(|| {
        p.sequence([
            p.space(),
            p.optional(p.marker(",")),
            p.space(),
            p.reference("call"),
        ])
    })
}

/// A further call without the outer part of its opening.
fn inner_call(writer: &Writer) -> Way {
    let p = writer.p;
    p.is_defined(INNER)
        .then(|| p.after_space(p.reference(INNER)))
}

/// A comma after the last call of a list.
fn comma_after_last_call(writer: &Writer) -> Way {
    let (p, python) = (writer.p, writer.turn.calls_are_python());
    let mut between = writer.turn.glues([Call], Call);
    let listed = between.any(|glue| glue.begins_with(","));
    let ends = writer.turn.glues([Call], End).flat_map(heads);
    let ends = p.any_of(ends.chain(python.then(|| "]".to_owned())));
    let comma = p.sequence([p.space(), p.literal(","), p.ahead(ends)]);
    (listed || python).then(|| p.optional(comma))
}

/// A further call after a comma, where the template writes Python's calls without one.
fn call_after_comma(writer: &Writer) -> Way {
    let p = writer.p;
    let listed = writer
        .turn
        .glues([Call], Call)
        .any(|glue| glue.core() == ",");
    let next = p.spaced([p.literal(","), p.reference("call")]);
    (writer.turn.calls_are_python() && !listed).then(|| p.after_space(next))
}

/// Calls in a thought that is still open: the rest of the thought, and text after it.
fn thought_after_calls(writer: &Writer, _: &[ExprId]) -> Way {
    let (p, close) = (writer.p, writer.thought?.close.core());
    writer
        .turn
        .reasoning
        .as_ref()
        .filter(|thought| thought.holds_calls && writer.spec.extract_reasoning())?;
    let after = writer.turn.behind(Call).chain([&writer.turn.end]);
    let mut ends: Vec<_> = after.flat_map(heads).collect();
    ends.push(close.to_owned());
    ends.extend(writer.marks_of_calls().iter().cloned());
    let rest = p.atomic(p.sequence([p.reasoning(p.until_marker(ends)), p.marker(close)]));
    Some(p.optional(p.sequence([
        rest,
        end_after_late_thought(writer, &writer.marks_of_end())?,
    ])))
}

/// Calls after the end of calls, and reasoning and messages between them.
fn calls_again(writer: &Writer, calls: &[ExprId]) -> Way {
    let p = writer.p;
    let text = writer.message(writer.text(writer.marks_of_end()));
    Some(
        p.many(
            p.choice(
                calls
                    .iter()
                    .copied()
                    .chain(writer.late_reasoning())
                    .chain(text),
            ),
        ),
    )
}

/// Half of what opens calls is no text after calls, where the output ends.
fn opening_cut_off(writer: &Writer) -> Way {
    let p = writer.p;
    let marks = writer
        .before_first_call()
        .iter()
        .filter_map(|glue| writer.p.first_tag(glue));
    let halves = marks
        .flat_map(|mark| mark.char_indices().skip(2).map(|(half, _)| &mark[..half]))
        .map(|half| p.spaced([p.literal(half), p.end()]));
    Some(p.not(p.after_space(p.choice(halves))))
}

/// A call in place of a list of calls.
fn call_without_list(writer: &Writer, open: &Glue, calls: ExprId) -> Way {
    let p = writer.p;
    let open = Glue::from(open.literal()?.trim_end().strip_suffix('[')?);
    let object = p.spaced([p.literal("{"), p.literal("\"")]);
    let named = p.sequence([writer.named_call(), p.literal("(")]);
    let begins = p.ahead(p.choice([object, named]));
    is_strong(&open).then(|| p.sequence([p.space(), p.glue(&open), begins, calls]))
}

/// Calls of Python as a list of Python, where the template writes no list.
fn calls_in_brackets(writer: &Writer, open: &Glue, calls: ExprId) -> Way {
    let p = writer.p;
    let list = [p.glue(open), p.literal("["), calls, p.literal("]")];
    let list = [
        p.space(),
        p.spaced(list),
        p.markup_ends(),
        writer.close(Call),
    ];
    let applies = writer.turn.calls_are_python() && !open.head().trim_end().ends_with('[');
    applies.then(|| p.some(p.sequence(list)))
}

/// The end of a list without its bracket.
fn bracket_left_out(p: &FormatBuilder, end: &Glue) -> Way {
    let list = split_space(end).1.without_start(1);
    let closes = is_strong(&list) || list.head().starts_with("```");
    (end.begins_with("]") && closes).then(|| end_of_json(p, &list))
}

/// The header of the next turn, where the output ends with it.
fn next_header(writer: &Writer) -> Way {
    let (p, opening) = (writer.p, writer.turn.opening.trim());
    let header = if is_strong(&Glue::from(opening)) {
        p.optional(p.sequence([p.marker(opening), p.markup_ends()]))
    } else {
        p.empty()
    };
    Some(p.sequence([p.space(), header, p.space()]))
}
