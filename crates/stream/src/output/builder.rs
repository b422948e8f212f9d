//! Builds the message from events: texts that only grow, and the deltas that report the growth.
//!
//! Events can be undone, at a cost linear in the undone text. Text that was reported stays in the
//! message, and the events that follow must produce the same text. Positions are in the parsed
//! text, of which the first `prefill` bytes are not output; spans of deltas are in the output.

mod rollback;

use std::ops::Range;

use super::event::{CallFlags, Channel, Early, Event, Sink, Text};
use super::piece_table::PieceTable;
use super::places::Places;
use super::report::CallRecord;
use crate::delta::{Delta, DeltaKind};
use chatparse_message::{Message, ToolCall};
use rollback::Checkpoint;

#[derive(Clone, Debug, Default)]
struct Call {
    name: String,
    id: String,
    arguments: PieceTable,
    state: CallRecord,
}

/// A delta without its text. The text is a slice of a shared string.
#[derive(Clone, Debug)]
struct Entry {
    kind: DeltaKind,
    call: usize,
    text: Range<usize>,
    span: Range<usize>,
}

/// A state to which the builder can be reset.
#[derive(Clone, Copy, Debug)]
pub struct BuilderMark {
    reasoning: usize,
    content: usize,
    begun: usize,
    has_id: bool,
    arguments: usize,
    uncovered: usize,
}

/// The state of a message besides its texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The number of calls that were not undone; calls after them may be confirmed again.
    begun: usize,
    /// Reasoning is visible from its first character on that is not white space.
    reasoning_shows: bool,
    /// The end of the parsed text that the deltas cover. Of a text that is confirmed in part, only
    /// the rest after this position is new.
    pub reported_to: usize,
    /// An event contradicted text that is visible.
    pub contradicted: bool,
    /// Bytes of texts that no field of the message has: none, unless a format has a defect.
    pub uncovered: usize,
}

/// The message under construction.
#[derive(Clone, Debug, Default)]
pub struct MessageBuilder {
    pub prefill: usize,
    reasoning: PieceTable,
    content: PieceTable,
    calls: Vec<Call>,
    pub at: Progress,
    deltas: Vec<Entry>,
    delta_text: String,
    /// Whether to skip the deltas.
    without_deltas: bool,
    places: Places,
    checkpoint: Option<Checkpoint>,
    /// The number of events and bytes of text that were undone.
    pub undone: u64,
}

impl Sink for MessageBuilder {
    /// Inlined, so that only the branch of the event remains.
    #[inline(always)]
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Begin(..) | Event::End(..) => {}
            Event::Text(channel, text, _) if self.replaces_call(channel, text) => {
                self.at.contradicted = true
            }
            Event::Text(Channel::Content, text, span) => self.content(text, span),
            Event::Text(Channel::Reasoning, text, span) => self.reasoning(text, span),
            Event::Call {
                name,
                early,
                flags,
                span,
            } => self.call(name, &early, flags, span),
            Event::Id(id, span) => self.id(id, span),
            Event::Arguments(text, span) => self.arguments(text, span),
            Event::Mended(what) => {
                if let Some((_, call)) = self.call_at_hand() {
                    call.state.mended |= what;
                }
            }
            Event::Broken(bytes, at) => self.broken(bytes, at),
            Event::CallEnd { at, broken } => self.end_call(at, broken),
            Event::Uncovered(bytes) => self.at.uncovered += bytes,
        }
    }
}

impl MessageBuilder {
    /// An empty message; the first `prefill` bytes of the parsed text are not output.
    pub fn new(prefill: usize) -> Self {
        MessageBuilder {
            prefill,
            ..MessageBuilder::default()
        }
    }

    /// Turns deltas off.
    pub fn turn_off_deltas(&mut self) {
        self.without_deltas = true;
        self.clear_deltas();
    }

    /// Whether new text replaces a call that was shown and undone.
    fn replaces_call(&self, channel: Channel, text: Text<'_>) -> bool {
        let shown = if channel == Channel::Content {
            &self.content
        } else {
            &self.reasoning
        };
        self.at.begun < self.calls.len() && shown.is_exceeded_by(text)
    }

    fn content(&mut self, text: Text<'_>, span: Range<usize>) {
        let new = self
            .content
            .append(text, (!self.without_deltas).then_some(&mut self.delta_text));
        self.report(DeltaKind::Content, 0, new, span);
    }

    fn reasoning(&mut self, text: Text<'_>, span: Range<usize>) {
        let shows = self.at.reasoning_shows || !text.is_blank();
        let new = if shows {
            if !self.at.reasoning_shows && !self.without_deltas {
                self.delta_text.push_str(self.reasoning.owned());
            }
            self.reasoning
                .append(text, (!self.without_deltas).then_some(&mut self.delta_text))
        } else {
            // The text includes the white space that waited.
            let new = self.reasoning.append(Text::Owned(&text.shown()), None);
            if new == Some(true) {
                self.places.add(DeltaKind::Reasoning, 0, span.clone());
            }
            new.map(|_| false)
        };
        self.at.reasoning_shows = shows && (self.at.reasoning_shows || new.is_some());
        self.report(DeltaKind::Reasoning, 0, new, span);
    }

    fn call(&mut self, name: &str, early: &Early<'_>, flags: CallFlags, span: Range<usize>) {
        let index = self.at.begun;
        self.at.begun += 1;
        // Text of the call outside of its name follows the name.
        let at = span.end;
        let begin = self.in_output(&span).start;
        let first = self.calls.len() < self.at.begun;
        if first {
            self.calls.push(Call {
                name: name.to_owned(),
                ..Call::default()
            });
        } else {
            self.save(index);
        }
        let opens = self.in_output(&(early.begin..early.begin)).start;
        let call = &mut self.calls[index];
        call.state.span.start = begin;
        call.state.begin = opens;
        (call.state.flags, call.state.mended) = (flags, 0);
        if first && !self.without_deltas {
            self.delta_text.push_str(name);
        }
        let new = (call.name == name).then_some(first);
        self.report(DeltaKind::ToolName, index, new, span);
        let Early {
            id,
            id_span,
            arguments,
            arguments_span,
            ..
        } = early;
        if !id.is_empty() {
            self.id(id, id_span.clone());
        }
        if first {
            self.places
                .add(DeltaKind::ToolArguments, index, arguments_span.clone());
        }
        self.arguments(Text::Owned(arguments), at..at);
    }

    fn call_at_hand(&mut self) -> Option<(usize, &mut Call)> {
        let index = self.at.begun.checked_sub(1)?;
        self.calls.get_mut(index).map(|call| (index, call))
    }

    fn id(&mut self, id: &str, span: Range<usize>) {
        let Some((index, call)) = self.call_at_hand() else {
            return;
        };
        let again = std::mem::replace(&mut call.state.has_id, !id.is_empty());
        let first = call.id.is_empty();
        if first {
            id.clone_into(&mut call.id);
        }
        let new = (!again && call.id == id).then_some(first && !id.is_empty());
        if new == Some(true) && !self.without_deltas {
            self.delta_text.push_str(id);
        }
        self.report(DeltaKind::ToolId, index, new, span);
    }

    /// Once an event has contradicted the shown text, nothing is added: it would be read again.
    fn arguments(&mut self, text: Text<'_>, span: Range<usize>) {
        let Some(index) = self
            .at
            .begun
            .checked_sub(1)
            .filter(|_| !self.at.contradicted)
        else {
            return;
        };
        let Some(call) = self.calls.get_mut(index) else {
            return;
        };
        let new = call
            .arguments
            .append(text, (!self.without_deltas).then_some(&mut self.delta_text));
        let new = new.filter(|new| !new || !call.state.complete);
        self.report(DeltaKind::ToolArguments, index, new, span);
    }

    /// White space before all arguments is markup.
    fn broken(&mut self, bytes: &[u8], at: usize) {
        let begins = self
            .call_at_hand()
            .is_some_and(|(_, call)| call.arguments.position() == 0);
        let text = if begins {
            bytes.trim_ascii_start()
        } else {
            bytes
        };
        let (from, to) = (at + bytes.len() - text.len(), at + bytes.len());
        self.arguments(Text::Raw(text, from), from..to);
    }

    fn end_call(&mut self, at: usize, broken: bool) {
        let span = self.in_output(&(at..at));
        let Some((index, call)) = self.call_at_hand() else {
            return;
        };
        if !call.arguments.is_confirmed() {
            self.at.contradicted = true;
        } else if broken {
            call.state.span.end = call.state.span.end.max(span.end);
        } else if !std::mem::replace(&mut call.state.complete, true) {
            call.state.span.end = call.state.span.end.max(span.end);
            if !self.without_deltas {
                let end = self.delta_text.len();
                self.deltas.push(Entry {
                    kind: DeltaKind::ToolEnd,
                    call: index,
                    text: end..end,
                    span,
                });
            }
        }
    }

    /// Returns the current state, for [`MessageBuilder::undo`].
    pub fn mark(&self) -> BuilderMark {
        let call = self
            .at
            .begun
            .checked_sub(1)
            .and_then(|index| self.calls.get(index));
        BuilderMark {
            reasoning: self.reasoning.position(),
            content: self.content.position(),
            begun: self.at.begun,
            has_id: call.is_some_and(|call| call.state.has_id),
            arguments: call.map_or(0, |call| call.arguments.position()),
            uncovered: self.at.uncovered,
        }
    }

    /// Undoes the events since a mark. `parsed` is the parsed text.
    pub fn undo(&mut self, mark: BuilderMark, parsed: &[u8]) {
        self.undone += 1
            + self.reasoning.undo(mark.reasoning, parsed)
            + self.content.undo(mark.content, parsed);
        for index in mark.begun.saturating_sub(1)..self.at.begun.min(self.calls.len()) {
            self.save(index);
            let stands = index < mark.begun;
            let position = if stands { mark.arguments } else { 0 };
            let call = &mut self.calls[index];
            self.undone += 1 + call.arguments.undo(position, parsed);
            call.state.has_id &= stands && mark.has_id;
        }
        self.at.begun = mark.begun;
        self.at.uncovered = mark.uncovered;
    }

    /// Accepts undone text as final: the next text is appended to it.
    pub fn settle(&mut self) {
        self.at.contradicted = false;
        self.at.begun = self.calls.len();
        let arguments = self.calls.iter_mut().map(|call| &mut call.arguments);
        [&mut self.reasoning, &mut self.content]
            .into_iter()
            .chain(arguments)
            .for_each(PieceTable::settle);
    }

    /// Whether the message has neither content nor calls.
    pub fn is_blank(&self) -> bool {
        self.at.begun == 0 && self.content.position() == 0
    }

    /// Whether it has calls.
    pub fn has_calls(&self) -> bool {
        self.at.begun > 0
    }

    /// Whether text that was shown is undone and not confirmed again.
    pub fn is_taken_back(&self) -> bool {
        let arguments = self
            .at
            .begun
            .checked_sub(1)
            .and_then(|index| self.calls.get(index))
            .map(|call| &call.arguments);
        let texts = [&self.reasoning, &self.content]
            .into_iter()
            .chain(arguments);
        self.at.begun < self.calls.len() || !texts.into_iter().all(PieceTable::is_confirmed)
    }

    /// Drops the deltas.
    pub fn clear_deltas(&mut self) {
        self.deltas.clear();
        self.delta_text.clear();
    }

    /// The deltas since the last [`MessageBuilder::clear_deltas`].
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = Delta<'_>> {
        self.deltas.iter().map(|entry| self.show(entry))
    }

    /// One of the deltas.
    pub fn delta(&self, index: usize) -> Option<Delta<'_>> {
        self.deltas.get(index).map(|entry| self.show(entry))
    }

    fn show(&self, entry: &Entry) -> Delta<'_> {
        let text = &self.delta_text[entry.text.clone()];
        Delta {
            kind: entry.kind,
            call: entry.call,
            text,
            span: entry.span.clone(),
        }
    }

    /// The current message. `parsed` is the parsed text.
    pub fn message(&self, parsed: &[u8]) -> Message {
        let mut message = Message::new("assistant", self.content.text(parsed));
        if self.at.reasoning_shows {
            message.reasoning_content = self.reasoning.text(parsed);
        }
        message.tool_calls = (self.calls.iter())
            .map(|call| ToolCall::new(&call.name, call.arguments.text(parsed), &call.id))
            .collect();
        message
    }

    /// The last call that has no end: its number and its name.
    pub fn open_call(&self) -> Option<(usize, &str)> {
        let last = self.calls.last().filter(|call| !call.state.complete)?;
        Some((self.calls.len() - 1, &last.name))
    }

    /// The arguments of a call so far. `parsed` is the parsed text.
    pub fn arguments_of(&self, call: usize, parsed: &[u8]) -> String {
        self.calls
            .get(call)
            .map(|call| call.arguments.text(parsed))
            .unwrap_or_default()
    }

    /// The record of each call.
    pub fn calls(&self) -> impl Iterator<Item = CallRecord> {
        self.calls.iter().map(|call| call.state.clone())
    }

    /// The places of the message's texts.
    pub fn places(&self) -> Places {
        self.places.clone()
    }

    /// Converts a range of the parsed text to one of the output.
    fn in_output(&self, range: &Range<usize>) -> Range<usize> {
        range.start.saturating_sub(self.prefill)..range.end.saturating_sub(self.prefill)
    }

    /// Adds a delta for the new part of a text, which is at the end of the deltas' text. `new`:
    /// whether there is a new part; `None` if the text contradicts the visible one.
    fn report(&mut self, kind: DeltaKind, call: usize, new: Option<bool>, span: Range<usize>) {
        let from = self.deltas.last().map_or(0, |last| last.text.end);
        let Some(new) = new else {
            self.at.contradicted = true;
            self.delta_text.truncate(from);
            return;
        };
        let mut span = span;
        // Markup may be visible before its place is known.
        if let Some(call) = self
            .calls
            .get_mut(call)
            .filter(|_| kind.is_of_call() && !span.is_empty())
        {
            call.state.span.end = call
                .state
                .span
                .end
                .max(span.end.saturating_sub(self.prefill));
        }
        if !new {
            return;
        }
        // An id may contain the name.
        if kind != DeltaKind::ToolId {
            span.start = span.start.max(self.at.reported_to.min(span.end));
            self.at.reported_to = self.at.reported_to.max(span.end);
        }
        self.places.add(kind, call, span.clone());
        if self.without_deltas {
            return;
        }
        let span = self.in_output(&span);
        let to = self.delta_text.len();
        match self.deltas.last_mut() {
            Some(last) if last.kind == kind && last.call == call => {
                last.text.end = to;
                // Markup has no bytes in the output, so it does not shorten the span before it.
                if last.span.is_empty() {
                    last.span = span;
                } else if !span.is_empty() {
                    last.span.end = last.span.end.max(span.end);
                }
            }
            _ => self.deltas.push(Entry {
                kind,
                call,
                text: from..to,
                span,
            }),
        }
    }
}
