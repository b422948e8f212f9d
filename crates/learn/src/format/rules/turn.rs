//! The parts of a turn as models write them beside the template's way.

use super::super::builder::FormatBuilder;
use super::super::coverage;
use super::super::glue::{end_of_json, glue, is_strong, split_space};
use super::super::sites::{INNER, Writer};
use super::super::wrappers;
use super::table::{Rule, Way};
use crate::analysis::turn::Glue;
use chatparse_peg::ExprId;

sites! {
    /// The content: the texts that calls begin with.
    CONTENT("content"): (&FormatBuilder, &[String]) = {
        blank_content,
    }
    /// After the content, in place of calls.
    NO_CALLS("calls"): (&Writer) = {
        empty_section,
    }
    /// Before calls without the marker around all.
    SECTION_OPEN("calls"): (&Writer) = {
        section_misspelled,
    }
    /// All calls: what opens them, and the calls.
    CALLS("calls"): (&FormatBuilder, &Glue, ExprId) = {
        call_without_list,
    }
    /// A further call.
    NEXT_CALL("calls"): (&Writer) = {
        call_in_wrapper,
        inner_call,
    }
    /// The end of all calls.
    LIST_CLOSE("calls-end"): (&FormatBuilder, &Glue) = {
        bracket_left_out,
    }
    /// After the end of all calls: calls with what opens all.
    CALLS_CLOSED("calls-end"): (&Writer, &[ExprId]) = {
        calls_again,
    }
    /// After the end of a turn.
    TURN_END("turn-end"): (&Writer) = {
        next_header,
    }
}

/// White space alone, before calls.
fn blank_content(p: &FormatBuilder, calls: &[String]) -> Way {
    let calls = calls.iter().map(|call| call.trim_start());
    (calls.len() > 0).then(|| p.sequence([p.space(), p.and(p.any_of(calls))]))
}

/// The markers around all calls, without any between them.
fn empty_section(writer: &Writer) -> Way {
    let p = writer.p;
    writer.empty_section().map(|section| p.optional(p.marker(section)))
}

/// The marker around all calls, misspelled.
fn section_misspelled(writer: &Writer) -> Way {
    let (p, family) = (writer.p, writer.family_of_markers()?);
    let word = coverage::word(p, 1, &[('a', 'z'), ('A', 'Z'), ('_', '_'), ('▁', '▁')]);
    let ends = p.sequence([wrappers::token_end(p), p.space()]);
    let own = writer.turn.calls.iter().map(|form| &form.close).chain([&writer.call_open]);
    let own = p.not(p.any_of(own.filter_map(Glue::first_marker)));
    Some(p.optional(p.sequence([own, p.literal(family), word, ends])))
}

/// A further call without the end of its wrapper and its opening.
fn call_in_wrapper(writer: &Writer) -> Way {
    let p = writer.p;
    let wrapped = !writer.wrapper_close.is_blank();
    wrapped.then(|| p.sequence([p.space(), p.optional(p.marker(",")), p.space(), p.reference("call")]))
}

/// A further call without the outer part of its opening.
fn inner_call(writer: &Writer) -> Way {
    let p = writer.p;
    p.is_defined(INNER).then(|| p.sequence([p.space(), p.reference(INNER)]))
}

/// Calls after the end of calls, and reasoning between them.
fn calls_again(writer: &Writer, calls: &[ExprId]) -> Way {
    let p = writer.p;
    Some(p.many(p.choice(calls.iter().copied().chain(writer.late_reasoning()))))
}

/// A call in place of a list of calls.
fn call_without_list(p: &FormatBuilder, open: &Glue, calls: ExprId) -> Way {
    let open = Glue::from(open.literal()?.trim_end().strip_suffix('[')?);
    let object = p.and(p.sequence([p.space(), p.literal("{"), p.space(), p.literal("\"")]));
    is_strong(&open).then(|| p.sequence([p.space(), glue(p, &open, None, ""), object, calls]))
}

/// The end of a list without its bracket.
fn bracket_left_out(p: &FormatBuilder, end: &Glue) -> Way {
    let list = split_space(end).1.without_start(1);
    (end.head().trim_start().starts_with(']') && is_strong(&list)).then(|| end_of_json(p, &list))
}

/// The header of the next turn, where the output ends with it.
fn next_header(writer: &Writer) -> Way {
    let (p, opening) = (writer.p, writer.turn.opening.trim());
    let header = match is_strong(&Glue::from(opening)) {
        true => p.optional(p.sequence([p.marker(opening), p.markup_ends()])),
        false => p.empty(),
    };
    Some(p.sequence([p.space(), header, p.space()]))
}
