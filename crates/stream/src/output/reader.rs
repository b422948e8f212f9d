//! Turns captures into events: each tagged region adds to the message while it grows.
//!
//! A call is visible once its name is known. Arguments written as one JSON object are passed on as
//! they arrive, without trailing white space. Arguments written one by one are assembled into an
//! object: raw text becomes a JSON string that stays open until the value ends, and the object is
//! closed with the call. A call without arguments has `{}`.
//!
//! Setting a reader back to a mark takes constant time: a mark shares its stacks, and the texts
//! stay as long as a mark needs them.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::arguments::{Arguments, Container, Names, OpenCall};
use super::event::{CallFlags, Channel, Early, Event, Sink, Text};
use super::literal::{JSON_TEXT, Literal};
use super::persistent_stack::PersistentStack;
use chatparse_base::json_string::{push_unquoted, unquoted};
use chatparse_format::Tag;
use chatparse_peg::{Capture, Machine, incomplete_tail, lossy};

/// Reads a machine's captures.
#[derive(Clone, Default)]
pub(crate) struct CaptureReader {
    state: ReaderState,
    call: OpenCall,
    /// Arguments that preceded the name of their call.
    early: String,
    early_kept: usize,
    /// A buffer for pieces of arguments.
    scratch: String,
    /// Arguments may be nearly JSON.
    mends: bool,
}

#[derive(Clone, Debug, Default)]
struct ReaderState {
    /// The number of captures read.
    read: usize,
    /// Everything before this position is in the message, or is its markup.
    covered: usize,
    /// The current region, and the position from which on it is not read yet.
    region: Option<(Tag, usize)>,
    /// The regions around it, outermost first.
    regions: PersistentStack<(Tag, usize)>,
    /// The open objects and arrays of the arguments, outermost first, and whether each has a
    /// member; the first is the object of all arguments.
    containers: PersistentStack<(Container, bool)>,
    flags: CallFlags,
    /// Where the id is, if it preceded the name of its call.
    id: Range<usize>,
    /// Where another name is that announced the call, which has no name yet.
    announced: Range<usize>,
    /// Where the text of an argument is that has no name yet.
    unnamed: Option<Range<usize>>,
    /// The bounds of the last reasoning; its end is `usize::MAX` while it is open.
    reasoning: Option<(usize, usize)>,
}

/// A state to which the reader can be reset.
#[derive(Clone, Debug)]
pub(crate) struct ReaderMark {
    state: ReaderState,
    call: OpenCall,
    early: usize,
}

impl ReaderMark {
    /// The number of captures read.
    pub fn captures_read(&self) -> usize {
        self.state.read
    }
}

impl CaptureReader {
    /// A reader of text that begins at this position. `mends`: arguments that are nearly JSON
    /// become JSON.
    pub fn new(start: usize, mends: bool) -> Self {
        CaptureReader {
            state: ReaderState {
                covered: start,
                ..ReaderState::default()
            },
            mends,
            ..CaptureReader::default()
        }
    }

    /// Reads the next capture of the parsed text.
    pub fn read(&mut self, capture: &Capture, output: &[u8], sink: &mut impl Sink) {
        self.state.read += 1;
        let Some(tag) = Tag::from_id(capture.tag) else {
            self.state.flags.dialect = Tag::dialect_of(capture.tag);
            return;
        };
        self.text(capture.pos, output, true, sink);
        // More of the output matches than a value's last word.
        if capture.pos > self.call.literal_end {
            self.end_word(sink);
        }
        if capture.opens {
            self.open(tag, capture.pos, sink)
        } else {
            self.close(tag, capture.pos, output, sink)
        }
    }

    /// Reads all visible captures of a machine that has not gone back past a capture already read.
    pub fn read_all(&mut self, machine: &mut Machine, output: &[u8], sink: &mut impl Sink) {
        machine.take_kept();
        let visible = machine.visible();
        for capture in visible.from(self.state.read) {
            self.read(capture, output, sink);
        }
        self.text(visible.end, output, false, sink);
        machine.forget(self.state.read);
    }

    /// Whether a call has begun and not ended.
    pub fn in_call(&self) -> bool {
        self.call.open && self.call.named
    }

    /// Whether the value of an argument has begun that is written as JSON.
    pub fn in_json(&self) -> bool {
        matches!(self.state.region, Some((Tag::ArgJson, _)))
    }

    /// Everything before this position is in the message or is its markup.
    pub fn covered(&self) -> usize {
        self.state.covered
    }

    /// Restores these two values after captures that contradict the message, because they are not
    /// in it. Nothing more is read then.
    pub fn set_back(&mut self, in_call: bool, covered: usize) {
        (self.call.open, self.call.named, self.state.covered) = (in_call, in_call, covered);
    }

    /// The number of captures read.
    pub fn captures_read(&self) -> usize {
        self.state.read
    }

    /// Where the reasoning begins that a text of this length ends with.
    pub fn last_reasoning(&self, length: usize) -> Option<usize> {
        self.state
            .reasoning
            .filter(|(_, end)| *end >= length)
            .map(|(from, _)| from)
    }

    /// The innermost open region, or the one around it where that is `outer` 1.
    pub fn region(&self, outer: usize) -> Option<Tag> {
        let region = if outer == 0 {
            self.state.region.as_ref()
        } else {
            self.state.regions.last()
        };
        region.filter(|_| outer < 2).map(|(tag, _)| *tag)
    }

    /// Saves the state, for [`CaptureReader::restore`].
    pub fn mark(&self) -> ReaderMark {
        ReaderMark {
            state: self.state.clone(),
            call: self.call,
            early: self.early.len(),
        }
    }

    /// Resets the reader. Marks that were made since are invalid.
    pub fn restore(&mut self, mark: &ReaderMark) {
        (self.state, self.call) = (mark.state.clone(), mark.call);
        self.early.truncate(mark.early);
        self.early_kept = mark.early;
    }

    /// Only this mark and earlier ones are still needed.
    pub fn keep(&mut self, last: Option<&ReaderMark>) {
        self.early_kept = last.map_or(0, |mark| mark.early);
    }

    fn open(&mut self, tag: Tag, pos: usize, sink: &mut impl Sink) {
        match tag {
            Tag::ToolOpen => {
                self.early.truncate(self.early_kept);
                // The id may precede the rest of the markup that opens the call.
                if !self.call.open || self.call.named {
                    self.state.id = pos..pos;
                }
                self.call = OpenCall {
                    open: true,
                    early: self.early.len(),
                    ..OpenCall::default()
                };
                self.state.containers = PersistentStack::default();
                self.state.containers.push((Container::Object, false));
            }
            Tag::ArgClose => self.close_text(pos, sink),
            // A text in several regions is one value.
            Tag::ArgText if self.call.quoted || self.call.literal.in_string() => {}
            Tag::ArgText if self.call.breaks => self.begin_json(),
            Tag::ArgText => {
                self.begin_value(pos, sink);
                self.begin_text(pos, sink);
            }
            Tag::ArgJson => self.begin_json(),
            Tag::Broken => self.call.broken = true,
            Tag::BrokenJson => (self.call.breaks, self.call.broken) = (true, true),
            Tag::Key => {
                self.begin_member(pos, sink);
                self.begin_text(pos, sink);
            }
            Tag::Object => self.begin_container(Container::Object, "{", pos, sink),
            Tag::Array => self.begin_container(Container::Array, "[", pos, sink),
            Tag::Unknown => self.state.flags.unknown = true,
            Tag::Python => self.call.python = true,
            Tag::Entities => self.call.names = Names::Entities,
            Tag::Escaped => self.call.names = Names::Escaped,
            Tag::Content => sink.event(Event::Begin(Channel::Content, pos)),
            Tag::Reasoning => {
                self.state.reasoning = Some((pos, usize::MAX));
                sink.event(Event::Begin(Channel::Reasoning, pos));
            }
            _ => {}
        }
        // The markup before arguments and of their items is done with.
        if tag.streams() || matches!(tag, Tag::Array | Tag::Object) {
            self.cover(pos);
        }
        if let Some(outer) = self.state.region.replace((tag, pos)) {
            self.state.regions.push(outer);
        }
    }

    fn close(&mut self, tag: Tag, pos: usize, output: &[u8], sink: &mut impl Sink) {
        let Some((_, from)) = self.state.region.filter(|(open, _)| *open == tag) else {
            return;
        };
        match tag {
            Tag::Object => self.end_container("}", pos, sink),
            Tag::Array => self.end_container("]", pos, sink),
            Tag::Key => {
                self.close_text(pos, sink);
                self.markup(":", pos, sink);
            }
            // The markup that closes a call may hold its id.
            Tag::ToolClose => self.close_call(from, sink),
            Tag::Content | Tag::Reasoning => {
                self.state.reasoning = self.state.reasoning.map(|(from, end)| (from, end.min(pos)));
                sink.event(Event::End(pos));
            }
            // Broken JSON stays as it is.
            Tag::ArgText if self.call.breaks => {
                let held = pos - std::mem::take(&mut self.call.literal).held()..pos;
                self.add_arguments(Text::raw(output, &held), held, sink);
            }
            _ if tag.streams() => {}
            _ => self.word(tag, from..pos, output, sink),
        }
        // Text that was read inside is no text of the region around it.
        let behind = |(outer, from): (Tag, usize)| {
            (outer, if outer.streams() { from.max(pos) } else { from })
        };
        self.state.region = self.state.regions.pop().map(behind);
        self.cover(pos);
    }

    /// Text of a call without a name is not in the message yet, nor is a word that waits.
    fn cover(&mut self, to: usize) {
        let to = match self.call.literal.word_held() {
            0 => to,
            waits => to.min(self.call.literal_end - waits),
        };
        if self.state.announced.is_empty() && (!self.call.open || self.call.named) {
            self.state.covered = self.state.covered.max(to);
        }
    }

    /// Writes the brace before the first argument, and a comma before the second and each further
    /// member of an object.
    fn begin_member(&mut self, pos: usize, sink: &mut impl Sink) {
        let first = self.begins_container();
        if std::mem::take(&mut self.call.separated) {
            return;
        }
        let begins = if self.call.arguments.begun { "" } else { "{" };
        self.markup(if first { begins } else { "," }, pos, sink);
    }

    /// Writes a comma before the second and each further value of an array.
    fn begin_value(&mut self, pos: usize, sink: &mut impl Sink) {
        if let Some((Container::Array, _)) = self.state.containers.last() {
            let begins = self.begins_container();
            let separated = std::mem::take(&mut self.call.separated);
            self.markup(if begins || separated { "" } else { "," }, pos, sink);
        }
    }

    /// Counts a member of the innermost container. Returns whether it is the first one.
    fn begins_container(&mut self) -> bool {
        let Some(&(kind, filled)) = self.state.containers.last() else {
            return true;
        };
        if !filled {
            self.state.containers.set_last((kind, true));
        }
        !filled
    }

    fn begin_json(&mut self) {
        let literal = Literal::new(self.mends, false, self.call.python);
        (self.call.literal, self.call.fresh) = (literal, true);
    }

    fn begin_text(&mut self, pos: usize, sink: &mut impl Sink) {
        if self.call.open && !self.call.quoted {
            self.markup("\"", pos, sink);
            self.call.quoted = true;
        }
    }

    fn begin_container(
        &mut self,
        kind: Container,
        bracket: &str,
        pos: usize,
        sink: &mut impl Sink,
    ) {
        // In a list or dict of Python the text has the comma.
        let is_value = !self.in_json();
        if std::mem::take(&mut self.call.fresh) || is_value {
            self.begin_value(pos, sink);
        } else if self.call.literal.end_gap_at_item() {
            self.markup(",", pos, sink);
        }
        self.markup(bracket, pos, sink);
        self.state.containers.push((kind, false));
    }

    fn end_container(&mut self, bracket: &str, pos: usize, sink: &mut impl Sink) {
        self.state.containers.pop();
        self.markup(bracket, pos, sink);
    }

    /// Reads a region that is passed on as a whole.
    fn word(&mut self, tag: Tag, span: Range<usize>, output: &[u8], sink: &mut impl Sink) {
        match tag {
            Tag::Announced => return self.state.announced = span,
            Tag::Unnamed => return self.state.unnamed = Some(span),
            Tag::JsonText => return self.json_text(span, output, sink),
            _ => {}
        }
        if tag == Tag::Separator && !self.call.open {
            return self.join_thoughts(span.end, sink);
        }
        // The object around a call may hold its id, after the end of the call.
        let is_late_id = tag == Tag::ToolId && self.call.named;
        if !self.call.open && !is_late_id {
            if tag.is_text() {
                sink.event(Event::Uncovered(span.len()));
            }
            return;
        }
        let mut text = lossy(&output[span.clone()]);
        match self.call.names {
            Names::Entities
                if matches!(tag, Tag::ToolName | Tag::ArgName) && text.contains('&') =>
            {
                text = without_entities(&text).into();
            }
            Names::Escaped if tag == Tag::ToolName => text = unquoted(&text).into(),
            _ => {}
        }
        match tag {
            Tag::ToolName if !self.call.named && !text.trim_ascii_end().is_empty() => {
                self.call.named = true;
                let announced = std::mem::take(&mut self.state.announced);
                let (other, behind) = (
                    lossy(&output[announced.clone()]),
                    lossy(&output[announced.end..span.end]),
                );
                let mut words = other.split(|c: char| !c.is_alphanumeric() && c != '_');
                if words.any(|word| !behind.contains(word)) {
                    self.join_thoughts(announced.start, sink);
                    self.state.reasoning = Some((announced.start, announced.end));
                    sink.event(Event::Text(
                        Channel::Reasoning,
                        Text::raw(output, &announced),
                        announced,
                    ));
                }
                let id_span = bare_id(output, self.state.id.clone());
                let flags = std::mem::take(&mut self.state.flags);
                let arguments = &self.early[self.call.early..];
                let arguments_span = self
                    .call
                    .early_span
                    .map_or(span.end..span.end, |(from, to)| from..to);
                let id = &lossy(&output[id_span.clone()]);
                let early = Early {
                    begin: self.state.covered,
                    id,
                    id_span,
                    arguments,
                    arguments_span,
                };
                sink.event(Event::Call {
                    name: text.trim_ascii_end(),
                    early,
                    flags,
                    span,
                });
            }
            Tag::ToolId if self.call.named => {
                let span = bare_id(output, span);
                sink.event(Event::Id(&lossy(&output[span.clone()]), span));
            }
            Tag::ToolId => self.state.id = span,
            Tag::ArgName => {
                // Text around arguments that are tagged one by one is dropped.
                self.call.arguments.ignored = true;
                let name = text.trim_ascii_end();
                let name = name
                    .strip_prefix(|c: char| c.is_ascii_whitespace())
                    .unwrap_or(name);
                self.begin_member(span.start, sink);
                self.arguments(
                    Text::Owned(&format!("{}:", Value::from(name))),
                    span.clone(),
                    sink,
                );
                if let Some(text) = self.state.unnamed.take() {
                    self.begin_text(span.start, sink);
                    self.arguments(Text::Escaped(&output[text.clone()], text.start), text, sink);
                }
            }
            Tag::ArgNull => {
                self.begin_value(span.start, sink);
                self.arguments(Text::Owned("null"), span, sink);
            }
            Tag::Separator => {
                self.arguments(Text::Owned(","), span, sink);
                self.call.separated = true;
            }
            _ if tag.is_text() => sink.event(Event::Uncovered(span.len())),
            _ => {}
        }
    }

    /// Writes a line break between two thoughts, which the output does not have.
    fn join_thoughts(&mut self, at: usize, sink: &mut impl Sink) {
        if self.state.reasoning.is_some_and(|(from, end)| from < end) {
            sink.event(Event::Text(Channel::Reasoning, Text::Owned("\n"), at..at));
        }
    }

    /// Reads a name or an id that the output ends in; `name`: where the name of an argument begins
    /// that is in no region.
    pub fn read_half_word(&mut self, name: Option<usize>, output: &[u8], sink: &mut impl Sink) {
        let to = output.len();
        let from = match self.state.region {
            Some((Tag::ToolId, from)) => return self.word(Tag::ToolId, from..to, output, sink),
            Some((Tag::ArgName, from)) => Some(from),
            _ => name,
        };
        if let Some(from) = from {
            self.close_text(from, sink);
            self.begin_member(from, sink);
            self.begin_text(from, sink);
            self.arguments(Text::Escaped(&output[from..], from), from..to, sink);
        }
    }

    /// Reads more of the current region up to `to`, if its text is passed on as it arrives.
    /// `whole`: its character is.
    pub fn text(&mut self, to: usize, output: &[u8], whole: bool, sink: &mut impl Sink) {
        let Some((tag, from)) = self.state.region else {
            return;
        };
        if to <= from {
            return;
        }
        let mut to = to;
        let mut bytes = &output[from..to];
        if !whole {
            to -= incomplete_tail(bytes);
            bytes = &output[from..to];
        }
        match tag {
            Tag::Reasoning => sink.event(Event::Text(
                Channel::Reasoning,
                Text::Raw(bytes, from),
                from..to,
            )),
            Tag::Content | Tag::Answer => sink.event(Event::Text(
                Channel::Content,
                Text::Raw(bytes, from),
                from..to,
            )),
            // `null` for no arguments counts when it is whole.
            Tag::ToolArgs if !whole && !self.call.arguments.begun && !bytes.starts_with(b"{") => {
                return;
            }
            Tag::ToolArgs
                if self.mends && (self.call.arguments.begun || bytes.starts_with(b"{")) =>
            {
                to = self.nearly_object(from, to, output, sink);
            }
            Tag::ToolArgs => {
                bytes = bytes.trim_ascii_end();
                to = from + bytes.len();
                self.object(Text::Raw(bytes, from), from..to, sink);
            }
            Tag::QuotedToolArgs => {
                let mut json = std::mem::take(&mut self.scratch);
                json.clear();
                let text = lossy(bytes);
                let read = push_unquoted(&text, &mut json);
                // Half an escape at the end is text.
                json.push_str(if whole { &text[read..] } else { "" });
                to = from
                    + if whole {
                        bytes.len()
                    } else {
                        read.min(bytes.len())
                    };
                self.object(Text::Owned(&json), from..to, sink);
                self.scratch = json;
            }
            Tag::ArgText | Tag::ArgJson if tag == Tag::ArgJson || self.call.breaks => {
                if std::mem::take(&mut self.call.fresh) {
                    self.begin_value(from, sink);
                }
                to = self.literal(from, to, output, sink);
            }
            Tag::Broken => {
                bytes = bytes.trim_ascii_end();
                to = from + bytes.len();
                sink.event(Event::Broken(bytes, from));
            }
            Tag::ArgText | Tag::Key => self.arguments(Text::Escaped(bytes, from), from..to, sink),
            _ => return,
        }
        self.seen_to(to);
        self.cover(to);
    }

    /// Reads a piece of arguments that are one JSON object, or nearly. Returns up to where they are
    /// shown.
    fn nearly_object(
        &mut self,
        from: usize,
        to: usize,
        output: &[u8],
        sink: &mut impl Sink,
    ) -> usize {
        let call = &mut self.call;
        let mut begin = from;
        if !call.literal.mends {
            let waited = from - call.arguments.waits;
            let (shown, broken) = call.arguments.follow_json(&output[from..to]);
            let json = if shown > 0 {
                waited..from + shown
            } else {
                waited..waited
            };
            begin = json.end;
            if broken {
                call.literal = Literal::new(true, call.arguments.end_json(), false);
            }
            if shown > 0 {
                self.show_arguments(Text::raw(output, &json), json, sink);
            }
            if !broken {
                self.seen_to(to);
                return begin;
            }
        }
        let end = self.literal(begin, to, output, sink);
        sink.event(Event::Mended(self.call.literal.mended));
        end
    }

    /// Reads the text of an array or object as that, unless it is none: then it is the text.
    fn json_text(&mut self, span: Range<usize>, output: &[u8], sink: &mut impl Sink) {
        if std::mem::take(&mut self.call.fresh) {
            self.begin_value(span.start, sink);
        }
        let text: Option<String> = serde_json::from_slice(&output[span.clone()]).ok();
        let is_json = |text: &String| serde_json::from_str::<IgnoredAny>(text).is_ok();
        let Some(text) = text.filter(is_json) else {
            self.nearly_object(span.start, span.end, output, sink);
            return;
        };
        let call = &mut self.call;
        if !call.literal.mends {
            let waited = span.start - call.arguments.waits..span.start;
            call.literal = Literal::new(true, call.arguments.end_json(), false);
            self.show_arguments(Text::raw(output, &waited), waited, sink);
        }
        let (literal, mut json) = (&mut self.call.literal, String::new());
        literal.mended |= JSON_TEXT;
        literal.feed(&output[..span.start], &text, &mut json);
        self.call.literal_end = span.end;
        sink.event(Event::Mended(literal.mended));
        self.add_arguments(Text::Owned(&json), span, sink);
    }

    /// Reads a piece of a value that is JSON, nearly JSON or Python's. Returns up to where it is
    /// shown: an escape, a word and a comma wait.
    fn literal(&mut self, from: usize, to: usize, output: &[u8], sink: &mut impl Sink) -> usize {
        let mut json = std::mem::take(&mut self.scratch);
        json.clear();
        self.call.literal_end = to;
        let (literal, bytes) = (&mut self.call.literal, &output[from..to]);
        let start = from.saturating_sub(literal.held());
        literal.feed(&output[..from], &lossy(bytes), &mut json);
        let end = to.saturating_sub(literal.held()).max(start);
        if !json.is_empty() {
            let text = if json.as_bytes() == bytes {
                Text::Raw(bytes, from)
            } else {
                Text::Owned(&json)
            };
            self.add_arguments(text, start..end, sink);
        }
        self.scratch = json;
        self.seen_to(to);
        end
    }

    /// Shows the word that waits: no more output comes, or none that could be of the word.
    pub fn end_word(&mut self, sink: &mut impl Sink) {
        let OpenCall {
            literal,
            literal_end: to,
            ..
        } = &mut self.call;
        let span = *to - literal.word_held()..*to;
        if !span.is_empty() {
            let mut word = String::new();
            literal.end_word(false, &mut word);
            self.cover(span.end);
            self.add_arguments(Text::Owned(&word), span, sink);
        }
    }

    /// The text of the region was looked at up to here. The part that is not shown waits.
    fn seen_to(&mut self, to: usize) {
        if let Some((_, from)) = &mut self.state.region {
            *from = to.max(*from);
        }
    }

    /// Reads a piece of arguments that are one JSON object.
    fn object(&mut self, piece: Text<'_>, span: Range<usize>, sink: &mut impl Sink) {
        if piece.bytes().is_empty() {
            return;
        }
        let arguments = &mut self.call.arguments;
        arguments.ignored |= !arguments.begun && !piece.bytes().starts_with(b"{");
        if !arguments.ignored {
            self.arguments(piece, span, sink);
        } else if piece.bytes() != b"null" {
            sink.event(Event::Uncovered(span.len()));
        }
    }

    /// Adds markup of the arguments that is not in the output.
    fn markup(&mut self, text: &str, pos: usize, sink: &mut impl Sink) {
        self.arguments(Text::Owned(text), pos..pos, sink);
    }

    fn arguments(&mut self, text: Text<'_>, span: Range<usize>, sink: &mut impl Sink) {
        self.end_word(sink);
        let OpenCall {
            literal,
            literal_end: to,
            ..
        } = &mut self.call;
        let mut escape = String::new();
        let waited = *to - literal.end_escape(&mut escape)..*to;
        if !waited.is_empty() {
            self.add_arguments(Text::Owned(&escape), waited, sink);
        }
        self.add_arguments(text, span, sink);
    }

    fn add_arguments(&mut self, text: Text<'_>, span: Range<usize>, sink: &mut impl Sink) {
        if self.call.open {
            self.call.arguments.follow(text);
        }
        self.show_arguments(text, span, sink);
    }

    fn show_arguments(&mut self, text: Text<'_>, span: Range<usize>, sink: &mut impl Sink) {
        if !self.call.open {
            return sink.event(Event::Uncovered(span.len()));
        }
        if self.call.named {
            sink.event(Event::Arguments(text, span));
        } else {
            text.write(&mut self.early);
            if !span.is_empty() {
                let (from, _) = self.call.early_span.unwrap_or((span.start, span.end));
                self.call.early_span = Some((from, span.end));
            }
        }
    }

    fn close_text(&mut self, pos: usize, sink: &mut impl Sink) {
        if std::mem::take(&mut self.call.breaks) {
            self.call.literal = Literal::default();
        }
        if self.call.literal.end_string() || self.call.quoted {
            self.markup("\"", pos, sink);
            self.call.quoted = false;
        }
    }

    fn close_call(&mut self, pos: usize, sink: &mut impl Sink) {
        self.close_text(pos, sink);
        if self.call.open && self.call.named {
            let Arguments { begun, depth, .. } = self.call.arguments;
            let broken = self.call.broken;
            let end = if begun {
                "}".repeat(if broken { 1 } else { depth })
            } else {
                "{}".to_owned()
            };
            self.markup(&end, pos, sink);
            sink.event(Event::CallEnd { at: pos, broken });
        } else if self.call.open {
            let early = self.call.early_span.map_or(0, |(from, to)| to - from);
            sink.event(Event::Uncovered(early + self.state.id.len()));
        }
        self.call.open = false;
    }
}

/// Decodes the XML entities in a text.
fn without_entities(text: &str) -> String {
    let entities = [
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    entities
        .into_iter()
        .fold(text.to_owned(), |text, (entity, plain)| {
            text.replace(entity, plain)
        })
}

/// The range of an id without the quotes around it.
fn bare_id(output: &[u8], span: Range<usize>) -> Range<usize> {
    let id = output[span.clone()].trim_ascii_end();
    let quoted = id.len() > 1 && id.starts_with(b"\"") && id.ends_with(b"\"");
    let quote = usize::from(quoted);
    span.start + quote..span.start + id.len() - quote
}
