//! Captures to message: what each tagged region adds, as the regions grow.
//!
//! A call shows once its name is known, with `{` where its arguments do not begin by themselves. Arguments written as one
//! JSON object are passed on as they come, less trailing white space; arguments written one by one are put together into an
//! object: raw text becomes a JSON string that stays open until the value ends, and the object is closed with the call.

use std::sync::Arc;

use serde_json::Value;

use super::draft::{Draft, Stray};
use super::field::Text;
use super::literal::Literal;
use super::recovery::{End, Recovery, Sieve};
use super::tag::Tag;
use super::verdict::Seen;
use crate::message::{Delta, Message};
use crate::peg::{Machine, find, incomplete_tail, lossy};

/// Reads a machine's captures and writes the message.
#[derive(Clone, Default)]
pub(crate) struct Assembler {
    draft: Draft,
    /// Bytes of the parsed text that come before the output itself.
    prefill: usize,
    /// Captures read so far.
    read: usize,
    /// The regions being read, outermost first, each from where on it is still to be read.
    regions: Vec<(Tag, usize)>,
    /// Everything before this position is in the message, or is markup of something that is.
    covered: usize,
    call: CallState,
    /// Reads calls where the format has none.
    recovery: Option<Arc<Recovery>>,
    /// What reads the region at hand, or what is behind the format.
    sieve: Option<Box<Sieve>>,
    /// The output has left the format.
    spilt: bool,
    /// The output is whole.
    ended: bool,
    /// What a piece of arguments is written into.
    scratch: String,
}

/// What the call at hand needs to be known of it.
#[derive(Clone, Debug, Default)]
struct CallState {
    open: bool,
    named: bool,
    stray: Stray,
    /// Id and arguments that came before the name.
    id: String,
    early: String,
    arguments: Arguments,
    /// The objects and arrays that are open, outermost first, each with its number of members; the first is the object of
    /// all arguments.
    containers: Vec<(Container, usize)>,
    /// The comma before the next member or item is written.
    separated: bool,
    /// A string is open.
    quoted: bool,
    /// A JSON value has begun that has no text yet.
    fresh: bool,
    literal: Literal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// How far the arguments have been written.
#[derive(Clone, Debug, Default)]
struct Arguments {
    begun: bool,
    /// The region holds something that is not an object; it adds nothing.
    ignored: bool,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Arguments {
    /// Follows braces outside strings, so that the object can be closed.
    fn follow(&mut self, text: Text<'_>) {
        let mut rest = text.bytes();
        self.begun |= !rest.is_empty();
        // What is quoted opens nothing and ends nothing.
        if matches!(text, Text::Quoted(..)) {
            return;
        }
        while let Some((&byte, behind)) = rest.split_first() {
            if self.in_string {
                let quote = find(b'"', rest);
                let inside = &rest[..quote.unwrap_or(rest.len())];
                self.escaped = escapes(inside, self.escaped);
                let Some(quote) = quote else { return };
                self.in_string = std::mem::take(&mut self.escaped);
                rest = &rest[quote + 1..];
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' => self.depth += 1,
                b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            rest = behind;
        }
    }
}

/// Whether what follows a piece of a string is escaped, as the piece itself is or is not.
fn escapes(piece: &[u8], escaped: bool) -> bool {
    let slashes = piece.iter().rev().take_while(|byte| **byte == b'\\').count();
    (slashes + usize::from(escaped && slashes == piece.len())) % 2 == 1
}

impl Assembler {
    /// An empty message; the first `prefill` bytes of the parsed text are not output.
    pub fn new(prefill: usize, recovery: Arc<Recovery>) -> Self {
        let draft = Draft::new(prefill);
        Assembler { draft, prefill, covered: prefill, recovery: Some(recovery), ..Assembler::default() }
    }

    /// Reads what the machine shows. `false`: it contradicts what the message says already.
    pub fn read(&mut self, machine: &mut Machine) -> bool {
        if machine.take_kept() < self.read {
            self.rewind(machine.output());
        }
        let visible = machine.visible();
        let output = machine.output();
        for capture in visible.captures.get(self.read..).unwrap_or_default() {
            self.read += 1;
            let Some(tag) = Tag::from_id(capture.tag) else {
                self.call.stray.dialect = Tag::dialect_of(capture.tag);
                continue;
            };
            if capture.opens {
                self.open(tag, capture.pos);
            } else {
                self.close(tag, capture.pos, output);
            }
        }
        if let Some(&(tag, _)) = self.regions.last().filter(|(tag, _)| tag.streams()) {
            self.text(tag, visible.reach, output, false);
        }
        !self.draft.contradicted()
    }

    /// Reads another machine's run over the same output from its start. Gives [`Assembler::covered`].
    pub fn reread(&mut self, machine: &mut Machine) -> usize {
        self.rewind(machine.output());
        self.read(machine);
        self.covered
    }

    /// The other way to write: bytes that the format does not account for, in order.
    pub fn spill(&mut self, from: usize, to: usize, output: &[u8]) {
        self.draft.settle();
        let from = from.max(self.prefill);
        if !std::mem::replace(&mut self.spilt, true) && self.sieve.as_ref().is_none_or(|sieve| !sieve.is_content()) {
            self.close_sieve(End::Region);
            self.open_sieve(None, from);
        }
        if from < to {
            match &mut self.sieve {
                Some(sieve) => sieve.feed(&output[from..to], &mut self.draft),
                None => self.draft.content(Text::Read(&output[from..to], from), from..to),
            }
        }
        self.covered = self.covered.max(to);
    }

    /// The output is whole: what is read from now on is its end.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Nothing more is read: what waited is text, or, at the end of a whole output, a call.
    pub fn finish(&mut self) {
        self.close_sieve(if self.ended { End::Output } else { End::Cut });
    }

    fn open_sieve(&mut self, region: Option<Tag>, at: usize) {
        self.sieve = self.recovery.as_ref().and_then(|recovery| recovery.sieve(region, at));
    }

    fn close_sieve(&mut self, end: End) {
        if let Some(mut sieve) = self.sieve.take() {
            sieve.close(end, &mut self.draft);
        }
    }

    /// Whether a call is begun and not ended.
    pub fn in_call(&self) -> bool {
        self.call.open && self.call.named
    }

    /// What was seen of each call.
    pub fn calls(&self) -> impl Iterator<Item = Seen> {
        self.draft.calls()
    }

    /// How a call is not what the format asks for.
    pub fn stray(&self, index: usize) -> Stray {
        self.draft.stray(index)
    }

    /// Everything before this position is in the message or is its markup.
    pub fn covered(&self) -> usize {
        self.covered
    }

    /// How many captures have been read.
    pub fn captures_read(&self) -> usize {
        self.read
    }

    /// Forgets what was added.
    pub fn clear_deltas(&mut self) {
        self.draft.clear_pieces();
    }

    /// What was added since it was forgotten.
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = Delta<'_>> {
        self.draft.deltas()
    }

    /// One of them.
    pub fn delta(&self, index: usize) -> Option<Delta<'_>> {
        self.draft.delta(index)
    }

    /// Nobody asks for what was added, now or later.
    pub fn silence(&mut self) {
        self.draft.silence();
    }

    /// The message so far, of the output that was read.
    pub fn message(&self, output: &[u8]) -> Message {
        self.draft.message(output)
    }

    fn rewind(&mut self, output: &[u8]) {
        self.draft.rewind(output);
        self.read = 0;
        self.regions.clear();
        self.covered = self.prefill;
        self.call = CallState::default();
        self.sieve = None;
    }

    fn open(&mut self, tag: Tag, pos: usize) {
        match tag {
            Tag::ToolOpen => {
                let stray = self.call.stray;
                let containers = vec![(Container::Object, 0)];
                self.call = CallState { open: true, containers, stray, ..CallState::default() };
            }
            Tag::ToolClose => self.close_call(pos),
            Tag::ArgClose => self.close_text(pos),
            // A text in several regions is one value.
            Tag::ArgText if self.call.quoted || self.call.literal.in_string() => {}
            Tag::ArgText => {
                self.begin_value(pos);
                self.begin_text(pos);
            }
            Tag::ArgJson => (self.call.literal, self.call.fresh) = (Literal::default(), true),
            Tag::Key => {
                self.begin_member(pos);
                self.begin_text(pos);
            }
            Tag::Object => self.begin_container(Container::Object, "{", pos),
            Tag::Array => self.begin_container(Container::Array, "[", pos),
            Tag::Unknown => self.call.stray.unknown = true,
            Tag::Content | Tag::Reasoning => self.open_sieve(Some(tag), pos),
            _ => {}
        }
        self.regions.push((tag, pos));
    }

    fn close(&mut self, tag: Tag, pos: usize, output: &[u8]) {
        let Some(&(_, from)) = self.regions.last().filter(|(open, _)| *open == tag) else { return };
        match tag {
            Tag::Object => self.end_container("}", pos),
            Tag::Array => self.end_container("]", pos),
            Tag::Key => {
                self.text(tag, pos, output, true);
                self.close_text(pos);
                self.markup(":", pos);
            }
            Tag::Content | Tag::Reasoning => {
                self.text(tag, pos, output, true);
                let last = self.ended && pos == output.len();
                self.close_sieve(if last { End::Output } else { End::Region });
            }
            _ if tag.streams() => self.text(tag, pos, output, true),
            _ => self.word(tag, &lossy(&output[from..pos]), from, pos),
        }
        self.regions.pop();
        if !self.call.open || self.call.named {
            self.covered = self.covered.max(pos);
        }
    }

    /// A comma before the second and each further member of an object.
    fn begin_member(&mut self, pos: usize) {
        let first = self.call.containers.last_mut().is_none_or(|(_, count)| {
            *count += 1;
            *count == 1
        });
        if std::mem::take(&mut self.call.separated) {
            return;
        }
        let brace = if !self.call.named && self.call.early.is_empty() { "{" } else { "" };
        self.markup(if first { brace } else { "," }, pos);
    }

    /// A comma before the second and each further value of an array.
    fn begin_value(&mut self, pos: usize) {
        if let Some((Container::Array, count)) = self.call.containers.last_mut() {
            *count += 1;
            let comma = if *count > 1 && !self.call.separated { "," } else { "" };
            self.call.separated = false;
            self.markup(comma, pos);
        }
    }

    fn begin_text(&mut self, pos: usize) {
        if self.call.open && !self.call.quoted {
            self.markup("\"", pos);
            self.call.quoted = true;
        }
    }

    fn begin_container(&mut self, kind: Container, bracket: &str, pos: usize) {
        self.begin_value(pos);
        self.markup(bracket, pos);
        self.call.containers.push((kind, 0));
    }

    fn end_container(&mut self, bracket: &str, pos: usize) {
        self.call.containers.pop();
        self.markup(bracket, pos);
    }

    /// A region that counts as a whole.
    fn word(&mut self, tag: Tag, text: &str, from: usize, to: usize) {
        if !self.call.open {
            return;
        }
        let span = from..to;
        match tag {
            Tag::ToolName if !self.call.named && !text.trim_ascii_end().is_empty() => {
                self.call.named = true;
                let early = std::mem::take(&mut self.call.early);
                let arguments = if early.is_empty() { "{" } else { &early };
                if early.is_empty() {
                    self.call.arguments.depth += 1;
                }
                self.draft.call(text.trim_ascii_end(), &self.call.id, arguments, span);
                self.draft.mark(std::mem::take(&mut self.call.stray));
            }
            Tag::ToolId => {
                let id = text.trim_ascii_end();
                let id = id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id);
                if self.call.named {
                    self.draft.id(id, span);
                } else {
                    self.call.id = id.to_owned();
                }
            }
            Tag::ArgName => {
                // Text around arguments that are tagged one by one adds nothing.
                self.call.arguments.ignored = true;
                let name = text.trim_ascii_end();
                let name = name.strip_prefix(|c: char| c.is_ascii_whitespace()).unwrap_or(name);
                self.begin_member(from);
                self.arguments(Text::Own(&format!("{}:", Value::from(name))), from, to);
            }
            Tag::Separator => {
                self.arguments(Text::Own(","), from, to);
                self.call.separated = true;
            }
            _ => {}
        }
    }

    /// More of a streaming region, up to `to`.
    fn text(&mut self, tag: Tag, to: usize, output: &[u8], whole: bool) {
        let Some(&(_, from)) = self.regions.last() else { return };
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
            Tag::Reasoning | Tag::Content if self.sieve.is_some() => {
                if let Some(sieve) = &mut self.sieve {
                    sieve.feed(bytes, &mut self.draft);
                }
            }
            Tag::Reasoning => self.draft.reasoning(Text::Read(bytes, from), from..to),
            Tag::Content => self.draft.content(Text::Read(bytes, from), from..to),
            Tag::ToolArgs => {
                bytes = bytes.trim_ascii_end();
                to = from + bytes.len();
                self.object(bytes, from, to);
            }
            Tag::ArgJson => {
                if std::mem::take(&mut self.call.fresh) {
                    self.begin_value(from);
                }
                let mut json = std::mem::take(&mut self.scratch);
                json.clear();
                self.call.literal.feed(&lossy(bytes), &mut json);
                let as_read = json.as_bytes() == bytes;
                self.arguments(if as_read { Text::Read(bytes, from) } else { Text::Own(&json) }, from, to);
                self.scratch = json;
            }
            Tag::ArgText | Tag::Key => self.arguments(Text::Quoted(bytes, from), from, to),
            _ => {}
        }
        if let Some(region) = self.regions.last_mut() {
            region.1 = to;
        }
        if !self.call.open || self.call.named {
            self.covered = self.covered.max(to);
        }
    }

    /// A piece of arguments that are one JSON object.
    fn object(&mut self, piece: &[u8], from: usize, to: usize) {
        if piece.is_empty() || !self.call.open || self.call.arguments.ignored {
            return;
        }
        let mut text = Text::Read(piece, from);
        if !self.call.arguments.begun {
            let Some(rest) = piece.strip_prefix(b"{") else {
                self.call.arguments.ignored = true;
                return;
            };
            if self.call.named {
                self.call.arguments.begun = true;
                text = Text::Read(rest, from + 1);
            }
        }
        self.arguments(text, from, to);
    }

    /// What of the arguments the output has no bytes for.
    fn markup(&mut self, text: &str, pos: usize) {
        self.arguments(Text::Own(text), pos, pos);
    }

    fn arguments(&mut self, text: Text<'_>, from: usize, to: usize) {
        if !self.call.open {
            return;
        }
        self.call.arguments.follow(text);
        if self.call.named {
            self.draft.arguments(text, from..to);
        } else {
            text.write(&mut self.call.early);
        }
    }

    fn close_text(&mut self, pos: usize) {
        if self.call.literal.end_string() || self.call.quoted {
            self.markup("\"", pos);
            self.call.quoted = false;
        }
    }

    fn close_call(&mut self, pos: usize) {
        self.close_text(pos);
        if self.call.open && self.call.named {
            let braces = "}".repeat(self.call.arguments.depth);
            self.markup(&braces, pos);
            self.draft.end_call(pos);
        }
        self.call.open = false;
    }
}
