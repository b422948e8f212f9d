//! The message as it grows: fields that only ever get longer, and a note of what was added since somebody looked.
//!
//! Positions are those of the parsed text, of which the first `prefill` bytes are not output; spans are of the output.

use std::ops::Range;

use super::field::{Field, Text};
use super::verdict::Seen;
use crate::message::{Delta, DeltaKind, Message, ToolCall};

#[derive(Clone, Debug, Default)]
struct Call {
    name: Field,
    id: Field,
    arguments: Field,
    ended: bool,
    stray: Stray,
    span: Range<usize>,
}

/// In what way a call is not what the format asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Its tool is none of the format's.
    pub unknown: bool,
    /// Which row of the table of dialects it is written in.
    pub dialect: Option<usize>,
    /// It was found where the format has none.
    pub recovered: bool,
    /// It was found in reasoning.
    pub in_reasoning: bool,
}

/// A piece that was added: to which field, where its text is in the news, and from which bytes of the output it came.
#[derive(Clone, Debug)]
struct Piece {
    kind: DeltaKind,
    call: usize,
    text: Range<usize>,
    span: Range<usize>,
}

/// The growing message.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    prefill: usize,
    reasoning: Field,
    content: Field,
    calls: Vec<Call>,
    /// Calls written since the last rewind.
    begun: usize,
    /// Reasoning shows from its first character on that is no white space.
    reasoning_shows: bool,
    /// What was added since somebody looked, and its text.
    pieces: Vec<Piece>,
    news: String,
    /// Nobody looks.
    silent: bool,
    /// How far the output is told of. What confirms old text in part is new behind it only.
    told: usize,
    contradicted: bool,
}

impl Draft {
    /// An empty message; the first `prefill` bytes of the parsed text are not output.
    pub fn new(prefill: usize) -> Self {
        Draft { prefill, ..Draft::default() }
    }

    /// Keeps no note of what is added.
    pub fn silence(&mut self) {
        self.silent = true;
        self.clear_pieces();
    }

    /// Appends to the content.
    pub fn content(&mut self, text: Text<'_>, span: Range<usize>) {
        let from = self.news.len();
        let new = self.content.append(text, (!self.silent).then_some(&mut self.news));
        self.note(DeltaKind::Content, 0, new, from, span);
    }

    /// Appends to the reasoning.
    pub fn reasoning(&mut self, text: Text<'_>, span: Range<usize>) {
        let from = self.news.len();
        let shows = self.reasoning_shows || !text.is_blank();
        let new = if shows {
            if !self.reasoning_shows && !self.silent {
                self.news.push_str(self.reasoning.own());
            }
            self.reasoning.append(text, (!self.silent).then_some(&mut self.news))
        } else {
            // White space waits as a text of its own.
            self.reasoning.append(Text::Own(&text.words()), None).map(|_| false)
        };
        self.reasoning_shows = shows && (self.reasoning_shows || new.is_some());
        self.note(DeltaKind::Reasoning, 0, new, from, span);
    }

    /// Begins a call: its name, its id if it came before the name, and its arguments so far.
    pub fn call(&mut self, name: &str, id: &str, arguments: &str, span: Range<usize>) {
        self.begun += 1;
        if self.calls.len() < self.begun {
            self.calls.push(Call::default());
        }
        let index = self.begun - 1;
        // What is not written in the name stands behind it.
        let at = span.end;
        let begin = self.output(&span).start;
        let call = &mut self.calls[index];
        call.span.start = begin;
        let (from, first) = (self.news.len(), call.name.is_empty());
        let new = call.name.append(Text::Own(name), (!self.silent).then_some(&mut self.news));
        // A name that shows does not grow.
        self.note(DeltaKind::ToolName, index, new.filter(|new| first || !new), from, span);
        if !id.is_empty() {
            self.id(id, at..at);
        }
        self.arguments(Text::Own(arguments), at..at);
    }

    /// Notes how the call at hand is not what the format asks for.
    pub fn mark(&mut self, stray: Stray) {
        if let Some(call) = self.begun.checked_sub(1).and_then(|index| self.calls.get_mut(index)) {
            call.stray = stray;
        }
    }

    /// How a call is not what the format asks for.
    pub fn stray(&self, index: usize) -> Stray {
        self.calls.get(index).map(|call| call.stray).unwrap_or_default()
    }

    /// What was seen of each call.
    pub fn calls(&self) -> impl Iterator<Item = Seen> {
        self.calls.iter().map(|call| (call.ended, call.stray, call.span.clone()))
    }

    /// Sets the id of the call at hand.
    pub fn id(&mut self, id: &str, span: Range<usize>) {
        if let Some(call) = self.begun.checked_sub(1).and_then(|index| self.calls.get_mut(index)) {
            let from = self.news.len();
            let news = (!self.silent).then_some(&mut self.news);
            let new = if call.id.is_untouched() { call.id.append(Text::Own(id), news) } else { None };
            self.note(DeltaKind::ToolId, self.begun - 1, new, from, span);
        }
    }

    /// Appends to the arguments of the call at hand.
    pub fn arguments(&mut self, text: Text<'_>, span: Range<usize>) {
        if let Some(call) = self.begun.checked_sub(1).and_then(|index| self.calls.get_mut(index)) {
            let from = self.news.len();
            let new = call.arguments.append(text, (!self.silent).then_some(&mut self.news));
            let new = new.filter(|new| !new || !call.ended);
            self.note(DeltaKind::ToolArguments, self.begun - 1, new, from, span);
        }
    }

    /// The call at hand is whole, at this position.
    pub fn end_call(&mut self, at: usize) {
        let span = self.output(&(at..at));
        let Some(index) = self.begun.checked_sub(1).filter(|&index| index < self.calls.len()) else { return };
        let call = &mut self.calls[index];
        if !call.arguments.is_confirmed() {
            self.contradicted = true;
        } else if !std::mem::replace(&mut call.ended, true) {
            call.span.end = call.span.end.max(span.end);
            if !self.silent {
                let end = self.news.len();
                self.pieces.push(Piece { kind: DeltaKind::ToolEnd, call: index, text: end..end, span });
            }
        }
    }

    /// Starts over; what stands is confirmed by what is written next. `parsed` is the parsed text.
    pub fn rewind(&mut self, parsed: &[u8]) {
        self.begun = 0;
        self.fields().for_each(|field| field.rewind(parsed));
    }

    /// Ends a confirmation that did not get as far as what stands: what stands stays, the next text comes behind it.
    pub fn settle(&mut self) {
        self.contradicted = false;
        self.begun = self.calls.len();
        self.fields().for_each(Field::settle);
    }

    fn fields(&mut self) -> impl Iterator<Item = &mut Field> {
        let calls = self.calls.iter_mut().flat_map(|call| [&mut call.name, &mut call.id, &mut call.arguments]);
        calls.chain([&mut self.reasoning, &mut self.content])
    }

    /// Whether something was written that contradicts what stands.
    pub fn contradicted(&self) -> bool {
        self.contradicted
    }

    /// Forgets the pieces.
    pub fn clear_pieces(&mut self) {
        self.pieces.clear();
        self.news.clear();
    }

    /// What was added since the pieces were forgotten.
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = Delta<'_>> {
        self.pieces.iter().map(|piece| self.show(piece))
    }

    /// One of them.
    pub fn delta(&self, index: usize) -> Option<Delta<'_>> {
        self.pieces.get(index).map(|piece| self.show(piece))
    }

    fn show(&self, piece: &Piece) -> Delta<'_> {
        let text = &self.news[piece.text.clone()];
        Delta { kind: piece.kind, call: piece.call, text, span: piece.span.clone() }
    }

    /// The message as it stands. `parsed` is the parsed text.
    pub fn message(&self, parsed: &[u8]) -> Message {
        let calls = self.calls.iter().map(|call| ToolCall {
            name: call.name.text(parsed),
            arguments: call.arguments.text(parsed),
            id: call.id.text(parsed),
        });
        Message {
            role: "assistant".into(),
            content: self.content.text(parsed),
            reasoning_content: if self.reasoning_shows { self.reasoning.text(parsed) } else { String::new() },
            tool_calls: calls.collect(),
            ..Message::default()
        }
    }

    /// A range of the parsed text as one of the output.
    fn output(&self, range: &Range<usize>) -> Range<usize> {
        range.start.saturating_sub(self.prefill)..range.end.saturating_sub(self.prefill)
    }

    /// Notes whether there was anything new in a field, which stands in the news from `from` on; `None`: it contradicts what
    /// stands.
    fn note(&mut self, kind: DeltaKind, call: usize, new: Option<bool>, from: usize, span: Range<usize>) {
        let Some(new) = new else {
            self.contradicted = true;
            self.news.truncate(from);
            return;
        };
        let mut span = self.output(&span);
        // Markup shows at times before what settles its place.
        if let Some(call) = self.calls.get_mut(call).filter(|_| kind.is_of_call() && !span.is_empty()) {
            call.span.end = call.span.end.max(span.end);
        }
        if !new || self.silent {
            return;
        }
        // An id may have the name in it.
        if kind != DeltaKind::ToolId {
            span.start = span.start.max(self.told.min(span.end));
            self.told = self.told.max(span.end);
        }
        let to = self.news.len();
        match self.pieces.last_mut() {
            Some(last) if last.kind == kind && last.call == call => {
                last.text.end = to;
                // Markup has no bytes of its own: it takes nothing of what lies before it.
                if last.span.is_empty() {
                    last.span = span;
                } else if !span.is_empty() {
                    last.span.end = last.span.end.max(span.end);
                }
            }
            _ => self.pieces.push(Piece { kind, call, text: from..to, span }),
        }
    }
}
