//! The message as it grows: fields that only ever get longer, and a note of what was added since somebody looked.

use std::ops::Range;

use super::verdict::Seen;
use crate::message::{Delta, DeltaKind, Message, ToolCall};

/// A text that is written again from its start after the parser went back: what stands already must come out the same.
#[derive(Clone, Debug, Default)]
struct Field {
    text: String,
    /// Where the next piece goes; less than the length while old text is being confirmed.
    at: usize,
}

impl Field {
    /// Appends, or confirms. `None`: the new text contradicts the old. Otherwise where the really new text begins.
    fn append(&mut self, piece: &str) -> Option<usize> {
        let old = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let same = old.len().min(piece.len());
        if old[..same] != piece.as_bytes()[..same] || !piece.is_char_boundary(same) {
            return None;
        }
        let start = self.text.len();
        self.text.push_str(&piece[same..]);
        self.at += piece.len();
        Some(start)
    }
}

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

/// A piece that was added: which field, which bytes of it, from which bytes of the output.
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
    reasoning: Field,
    content: Field,
    calls: Vec<Call>,
    /// Calls written since the last rewind.
    begun: usize,
    /// Reasoning shows from its first character on that is no white space.
    reasoning_shows: bool,
    pieces: Vec<Piece>,
    /// How far the output is told of. What confirms old text in part is new behind it only.
    told: usize,
    contradicted: bool,
}

impl Draft {
    /// Appends to the content.
    pub fn content(&mut self, text: &str, span: Range<usize>) {
        let start = self.content.append(text);
        self.note(DeltaKind::Content, 0, start, self.content.text.len(), span);
    }

    /// Appends to the reasoning.
    pub fn reasoning(&mut self, text: &str, span: Range<usize>) {
        let start = self.reasoning.append(text);
        let end = self.reasoning.text.len();
        if self.reasoning_shows || start.is_none() {
            self.note(DeltaKind::Reasoning, 0, start, end, span);
        } else if text.contains(|c| !matches!(c, ' ' | '\n' | '\r' | '\t')) {
            self.reasoning_shows = true;
            self.note(DeltaKind::Reasoning, 0, Some(0), end, span);
        }
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
        let call = &mut self.calls[index];
        let start = call.name.append(name);
        let whole = start.is_none_or(|start| start == 0 || start == call.name.text.len());
        let end = call.name.text.len();
        call.span.start = span.start;
        self.note(DeltaKind::ToolName, index, start.filter(|_| whole), end, span);
        if !id.is_empty() {
            self.id(id, at..at);
        }
        self.arguments(arguments, at..at);
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
            let start = if call.id.at == 0 { call.id.append(id) } else { None };
            let end = call.id.text.len();
            self.note(DeltaKind::ToolId, self.begun - 1, start, end, span);
        }
    }

    /// Appends to the arguments of the call at hand.
    pub fn arguments(&mut self, text: &str, span: Range<usize>) {
        if let Some(call) = self.begun.checked_sub(1).and_then(|index| self.calls.get_mut(index)) {
            let old = call.arguments.text.len();
            let start = call.arguments.append(text);
            let end = call.arguments.text.len();
            let start = start.filter(|_| end == old || !call.ended);
            self.note(DeltaKind::ToolArguments, self.begun - 1, start, end, span);
        }
    }

    /// The call at hand is whole.
    pub fn end_call(&mut self, span: Range<usize>) {
        let Some(index) = self.begun.checked_sub(1).filter(|&index| index < self.calls.len()) else { return };
        let call = &mut self.calls[index];
        let end = call.arguments.text.len();
        if call.arguments.at < end {
            self.contradicted = true;
        } else if !std::mem::replace(&mut call.ended, true) {
            call.span.end = call.span.end.max(span.end);
            self.pieces.push(Piece { kind: DeltaKind::ToolEnd, call: index, text: end..end, span });
        }
    }

    /// Starts over; what stands is confirmed by what is written next.
    pub fn rewind(&mut self) {
        self.reasoning.at = 0;
        self.content.at = 0;
        self.begun = 0;
        for call in &mut self.calls {
            (call.name.at, call.id.at, call.arguments.at) = (0, 0, 0);
        }
    }

    /// Ends a confirmation that did not get as far as what stands: what stands stays, the next text comes behind it.
    pub fn settle(&mut self) {
        self.contradicted = false;
        self.begun = self.calls.len();
        let calls = self.calls.iter_mut().flat_map(|call| [&mut call.name, &mut call.id, &mut call.arguments]);
        for field in calls.chain([&mut self.reasoning, &mut self.content]) {
            field.at = field.text.len();
        }
    }

    /// Whether something was written that contradicts what stands.
    pub fn contradicted(&self) -> bool {
        self.contradicted
    }

    /// Forgets the pieces.
    pub fn clear_pieces(&mut self) {
        self.pieces.clear();
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
        let field = match piece.kind {
            DeltaKind::Reasoning => &self.reasoning,
            DeltaKind::Content => &self.content,
            DeltaKind::ToolName => &self.calls[piece.call].name,
            DeltaKind::ToolId => &self.calls[piece.call].id,
            DeltaKind::ToolArguments | DeltaKind::ToolEnd => &self.calls[piece.call].arguments,
        };
        let text = &field.text[piece.text.clone()];
        Delta { kind: piece.kind, call: piece.call, text, span: piece.span.clone() }
    }

    /// The message as it stands.
    pub fn message(&self) -> Message {
        let calls = self.calls.iter().map(|call| ToolCall {
            name: call.name.text.clone(),
            arguments: call.arguments.text.clone(),
            id: call.id.text.clone(),
        });
        Message {
            role: "assistant".into(),
            content: self.content.text.clone(),
            reasoning_content: if self.reasoning_shows { self.reasoning.text.clone() } else { String::new() },
            tool_calls: calls.collect(),
            ..Message::default()
        }
    }

    fn note(&mut self, kind: DeltaKind, call: usize, start: Option<usize>, end: usize, span: Range<usize>) {
        let Some(start) = start else {
            self.contradicted = true;
            return;
        };
        // Markup shows at times before what settles its place.
        if let Some(call) = self.calls.get_mut(call).filter(|_| kind.is_of_call() && !span.is_empty()) {
            call.span.end = call.span.end.max(span.end);
        }
        if start == end {
            return;
        }
        let mut span = span;
        // An id may have the name in it.
        if kind != DeltaKind::ToolId {
            span.start = span.start.max(self.told.min(span.end));
            self.told = self.told.max(span.end);
        }
        match self.pieces.last_mut() {
            Some(last) if last.kind == kind && last.call == call && last.text.end == start => {
                last.text.end = end;
                // Markup has no bytes of its own: it takes nothing of what lies before it.
                if last.span.is_empty() {
                    last.span = span;
                } else if !span.is_empty() {
                    last.span.end = last.span.end.max(span.end);
                }
            }
            _ => self.pieces.push(Piece { kind, call, text: start..end, span }),
        }
    }
}
