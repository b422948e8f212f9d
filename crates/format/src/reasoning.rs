//! The reasoning of a turn: its text, what opens and what ends it, and how often.

use super::glue::{heads, is_strong};
use super::sites::Writer;
use crate::rules::thought::{
    SHOWN_THOUGHT_CLOSE, THOUGHT, THOUGHT_AGAIN, THOUGHT_BEGIN, THOUGHT_CALL, THOUGHT_CLOSE,
    THOUGHT_CLOSED, THOUGHT_JOIN, THOUGHT_OPEN, THOUGHT_OPENED,
};
use chatparse_learn::analysis::turn::{
    Glue, Reasoning,
    SlotKind::{self, Content, Prompt},
};
use chatparse_message::CallsInReasoning;
use chatparse_peg::ExprId;

impl Writer<'_> {
    pub fn reasoning(&self, opened: &str) -> ExprId {
        let p = self.p;
        if let Some(shown) = self.thought_in_content(opened) {
            return shown;
        }
        let Some(thought) = self.thought.filter(|_| self.reads_thoughts()) else {
            return p.empty();
        };
        let again = self.reasoning_again();
        let block = self.thought_and_close(thought, again);
        let more = p.between(THOUGHT_AGAIN, |way| way(p, again?, block));
        let closers = p.between(THOUGHT_CLOSED, |way| way(p, thought));
        let opened_again = p.between(THOUGHT_OPENED, |way| way(self, &thought.start));
        let rest = p.sequence([opened_again, block, more, closers]);
        match thought.open.is_empty() {
            // As in llama.cpp, a grammar does not insist on the end of reasoning before calls.
            true if self.spec.call_required() => {
                let at_once = p.glue(&thought.close.trim_start());
                let unclosed = p.empty();
                p.choice([rest, at_once, p.only_read(self.spec.calls_only(), unclosed)])
            }
            true => rest,
            false => {
                let opens = p.glue(&thought.open);
                let opens = p.or(opens, THOUGHT_OPEN, |way| way(self, thought));
                let opened = p.sequence([opens, rest]);
                p.optional(p.or(opened, THOUGHT, |way| way(self, thought)))
            }
        }
    }

    /// Reasoning after calls.
    pub fn late_reasoning(&self) -> Option<ExprId> {
        let thought = self.thought.filter(|_| self.spec.extract_reasoning())?;
        let again = self.reasoning_again()?;
        let again = self.next_message([again]).unwrap_or(again);
        Some(
            self.p
                .sequence([self.p.space(), again, self.thought_and_close(thought, None)]),
        )
    }

    /// Reasoning that is not separated, where only what is asked for may follow it: content, with
    /// its markers. `opened`: what the prompt has of it.
    fn thought_in_content(&self, opened: &str) -> Option<ExprId> {
        let (p, spec) = (self.p, self.spec);
        let alone = spec.response_schema().is_some() || self.callable && spec.calls_only();
        let thought = self
            .thought
            .filter(|_| alone && !self.reads_thoughts() && spec.is_own())?;
        let marks = self.marks_of_calls();
        let text = p.until_marker(
            p.spelled(heads(&thought.close))
                .into_iter()
                .chain(marks.iter().cloned()),
        );
        let close = p.glue(&thought.close);
        let close = p.or(close, SHOWN_THOUGHT_CLOSE, |way| way(p, marks));
        let block = |open: ExprId| p.content(p.sequence([open, text, close]));
        Some(if thought.open.is_empty() {
            block(p.literal(opened))
        } else {
            p.sequence([p.literal(opened), p.optional(block(p.glue(&thought.open)))])
        })
    }

    /// The text of reasoning, and its end.
    pub fn thought_and_close(&self, thought: &Reasoning, again: Option<ExprId>) -> ExprId {
        let p = self.p;
        // The opening of content ends it as well, unless a call goes on so.
        let opens = self.turn.glues([SlotKind::Reasoning], Content);
        let holds_calls = self
            .turn
            .reasoning
            .as_ref()
            .is_some_and(|reasoning| reasoning.holds_calls);
        // Reasoning that is not separated is content, where calls count at once. Otherwise a call
        // waits for the end, unless it ends the reasoning.
        let at_once = holds_calls
            || self.spec.options.leniency.calls_in_reasoning == CallsInReasoning::LlamaCpp
            || !self.spec.extract_reasoning();
        let calls = if at_once {
            &[]
        } else {
            self.before_first_call()
        };
        let mut texts = Vec::new();
        for glue in opens.filter(|glue| is_strong(glue)) {
            let first = glue.up_to_first_marker();
            texts.extend(match rests_of_calls(calls, first.head()).next() {
                None => heads(&first),
                Some(_) => heads(glue),
            });
        }
        let opens = p.spelled(texts);
        let rests = opens.iter().flat_map(|open| rests_of_calls(calls, open));
        let rests: Vec<String> = rests
            .filter_map(|rest| Glue::from(rest).first_marker().map(str::to_owned))
            .collect();
        let ends: Vec<String> = p
            .spelled(heads(&thought.close))
            .into_iter()
            .chain(opens.iter().cloned())
            .collect();
        // Its end is no content, whatever follows.
        let closed = p.sequence([p.glue(&thought.close), p.markup_ends()]);
        let mut closes = p.ways(THOUGHT_JOIN, |way| way(p, thought, again?));
        closes.push(closed);
        // As the template writes it.
        let holds = holds_calls && self.callable && self.spec.response_schema().is_none();
        closes.extend(holds.then(|| p.and(self.announced_call())));
        closes.extend(p.ways(THOUGHT_CLOSE, |way| way(p, &opens, &rests)));
        let closed = p.choice(closes);
        let up_to = |stop, run| {
            let more = p.more_text(stop, run);
            p.sequence([run, p.only_read(self.spec.is_faithful(), more)])
        };
        // Where a call must come, reasoning does not end the output.
        let end = (!self.spec.call_required()).then(|| p.end());
        // A mark without the rest of what it opens is reasoning to the parser; llama.cpp's grammars
        // have it.
        let (text, call) = match (
            (holds_calls || self.tolerances.calls_in_reasoning) && at_once,
            self.callable,
        ) {
            // A token that opens calls ends reasoning even where no tools are offered, unless a
            // name must follow.
            (true, false) if !self.turn.calls_begin_with_names() => {
                let opens = p.spelled(
                    self.before_first_call()
                        .iter()
                        .filter_map(Glue::first_marker),
                );
                let call = p.and(p.any_of(&opens));
                (p.until_marker(ends.into_iter().chain(opens)), Some(call))
            }
            (true, true) => {
                let opens = self
                    .marks_of_calls()
                    .iter()
                    .cloned()
                    .chain(self.marks_of_bare_calls());
                // White space before calls is theirs.
                let opens =
                    opens.flat_map(|open| ["", "\n", "\n\n"].map(|space| [space, &*open].concat()));
                let call = p.and(self.announced_call());
                let stop = p.choice([closed, call]);
                let run = p.until_marker(ends.into_iter().chain(opens));
                (up_to(stop, run), Some(call))
            }
            _ if !rests.is_empty() => (up_to(closed, p.until_marker(ends)), None),
            _ => (p.until_marker(ends), None),
        };
        let ended = p.or(closed, THOUGHT_CALL, |way| way(call?));
        let apart = self.thinks_in_messages()
            && self.spec.extract_reasoning()
            && !self.tolerances.joins_thoughts;
        let line = p.between(THOUGHT_BEGIN, |way| way(p, Some(closed).filter(|_| apart)?));
        p.sequence([line, self.thought_text(text), p.choice([Some(ended), end])])
    }

    /// Text of the reasoning, or of the content if it is not separated.
    pub fn thought_text(&self, text: ExprId) -> ExprId {
        self.p.tag(self.spec.thought_tag(), text)
    }

    /// Whether reasoning is read as a part of its own.
    pub fn reads_thoughts(&self) -> bool {
        self.spec.extract_reasoning() || self.tolerances.bare_thoughts
    }

    /// Whether a part may begin with this text where the turn begins.
    pub fn begins_with(&self, text: &str) -> bool {
        let mut behind = self.turn.behind(Prompt);
        behind.any(|glue| glue.begins_with(text))
    }

    /// What opens more reasoning directly after the end of reasoning.
    pub fn reasoning_again(&self) -> Option<ExprId> {
        let thought = self.thought?;
        let open = if thought.open.is_empty() {
            Glue::from(&*thought.start)
        } else {
            thought.open.trim_start()
        };
        let again = self.p.glue(&open);
        // What begins a turn may be before each of its parts.
        let opening = self.turn.opening.trim();
        let front = if self.thinks_in_messages() {
            self.p.optional(self.p.marker(opening))
        } else {
            self.p.empty()
        };
        is_strong(&open).then(|| self.p.sequence([front, again]))
    }

    /// Whether reasoning is a message of its own: what begins the turn is after it, too.
    fn thinks_in_messages(&self) -> bool {
        let opening = self.turn.opening.trim();
        let mut behind = self.turn.behind(SlotKind::Reasoning);
        !opening.is_empty() && behind.any(|glue| glue.begins_with(opening))
    }

    /// Whether a glue opens and closes reasoning, or closes it. After text it does not.
    pub fn has_thought(&self, glue: &Glue) -> bool {
        let close = self
            .thought
            .map(|thought| &thought.close)
            .filter(|close| is_strong(close));
        close.is_some_and(|close| glue.head().contains(close.core()))
    }
}

/// The rests of the openings of calls that begin with this text.
fn rests_of_calls<'g>(calls: &'g [Glue], text: &str) -> impl Iterator<Item = &'g str> {
    let heads = calls.iter().map(|call| call.head().trim_start());
    heads.filter_map(move |head| head.strip_prefix(text.trim()))
}
