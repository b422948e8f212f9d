//! A conversation as a row of ids, with a [`Token`] for each.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::field::{Field, FieldKind, read_member};
use crate::tokenizer::{Placed, Tokenizer, Vocabulary};
use crate::turns::{Changed, Opens, Turns};
use chatparse_base::find::char_border_behind;
use chatparse_base::{Error, Result};
use chatparse_message::Message;
use chatparse_stream::{DeltaKind, Ended, EndedBy, Json, Stream};

/// A conversation in token ids, sent and sampled, in order. No text in it is encoded again. It
/// changes only if the template changes text that was sent; then [`Conversation::extend`] says so.
///
/// One thread at a time; a clone is another conversation that continues from here.
#[derive(Clone)]
pub struct Conversation {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) opens: Arc<dyn Opens>,
    ids: Vec<u32>,
    tokens: Vec<Token>,
    running: Option<Running>,
}

/// The output that is being sampled.
#[derive(Clone)]
struct Running {
    turns: Arc<dyn Turns>,
    /// The number of ids before it.
    first: usize,
    stream: Stream,
    output: Vec<u8>,
    /// Its bytes that came from special tokens.
    spans: Vec<Range<usize>>,
    /// By calls.
    members: Vec<Json>,
    /// The texts of tokens that end the output, and whether the last one is of these.
    ends: Vec<String>,
    at_end: bool,
    ended: Option<Ended>,
}

/// A token of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Token {
    /// The end of its text in the conversation's text, in bytes.
    pub end: usize,
    /// Whether it was sampled: the mask for training.
    pub sampled: bool,
    /// The field of the message that has it.
    pub field: Field,
    /// Its log probability, if the host has passed it.
    pub logprob: Option<f32>,
}

/// A delta that owns its text: see [`chatparse_stream::Delta`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnDelta {
    /// The part of the message that changes.
    pub kind: DeltaKind,
    /// Index of the call.
    pub call: usize,
    /// The text to append.
    pub text: String,
    /// The bytes of the output that it came from.
    pub span: Range<usize>,
}

/// The result of sampled ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observed {
    /// The additions to the message.
    pub deltas: Vec<OwnDelta>,
    /// The last of the output is a special token that ends it. While nothing follows, it is no part
    /// of the message.
    pub ended: bool,
}

/// The ids to send after an output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Extended {
    /// How many of the ids so far stay: all, unless [`Extended::rewrite`] says why not.
    pub kept: usize,
    /// The ids to send after them.
    pub ids: Vec<u32>,
    /// The change that the template makes in text that was sent. With the option `append: always`
    /// all ids stay nevertheless.
    pub rewrite: Option<Moved>,
    /// The output as a message.
    pub message: Message,
}

/// A change by a template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The first token whose text it changes.
    pub token: usize,
    /// Where and why.
    pub why: Changed,
}

impl Conversation {
    /// A conversation without messages so far.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] for special tokens without text.
    pub fn new(opens: Arc<dyn Opens>, tokenizer: Arc<dyn Tokenizer>) -> Result<Self> {
        Ok(Conversation::empty(
            Arc::new(Vocabulary::new(tokenizer)?),
            opens,
        ))
    }

    fn empty(vocabulary: Arc<Vocabulary>, opens: Arc<dyn Opens>) -> Self {
        Conversation {
            vocabulary,
            opens,
            ids: Vec::new(),
            tokens: Vec::new(),
            running: None,
        }
    }

    /// Another one of the same template, tokenizer and options, without messages so far.
    pub fn fresh(&self) -> Self {
        Conversation::empty(Arc::clone(&self.vocabulary), Arc::clone(&self.opens))
    }

    /// Begins with these messages, and forgets any earlier ones. Returns the ids of the prompt.
    /// Special tokens are the template's own; the content of messages is text.
    ///
    /// # Errors
    /// Errors of the messages, of the template and of the tokenizer.
    pub fn prompt_ids(&mut self, messages: &Value) -> Result<&[u32]> {
        let turns = self.opens.open(messages)?;
        let own = turns.own(0)?;
        let placed = self.vocabulary.encode(turns.prompt(), &own)?;
        let running = Running::new(turns, placed.len(), &self.vocabulary)?;
        self.ids.clear();
        self.tokens.clear();
        self.send(&placed, 0, &own);
        self.running = Some(running);
        Ok(&self.ids)
    }

    /// Takes ids as they were sampled.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] before a prompt, after
    /// [`Conversation::finish`], and for an id that the tokenizer does not know. Then nothing is
    /// taken.
    pub fn observe(&mut self, ids: &[u32]) -> Result<Observed> {
        self.observe_with(ids, &[])
    }

    /// The same with a log probability for each; or none at all.
    ///
    /// # Errors
    /// The same, and for a wrong number of them.
    pub fn observe_with(&mut self, ids: &[u32], logprobs: &[f32]) -> Result<Observed> {
        if !logprobs.is_empty() && logprobs.len() != ids.len() {
            return Err(Error::invalid(format!(
                "logprobs: there are {} for {} ids",
                logprobs.len(),
                ids.len()
            )));
        }
        let running = self.running.as_mut().ok_or_else(unopened)?;
        if running.ended.is_some() {
            return Err(Error::invalid("ids: the output is finished"));
        }
        let texts = self.vocabulary.texts(ids)?;
        let sent = running.turns.prompt().len();
        let mut deltas = Vec::new();
        for (number, (id, text)) in ids.iter().zip(&texts).enumerate() {
            let from = running.output.len();
            running.output.extend_from_slice(text);
            let special = self.vocabulary.special(*id);
            running
                .spans
                .extend(special.map(|_| from..running.output.len()));
            let logprob = logprobs.get(number).copied();
            self.ids.push(*id);
            self.tokens.push(Token {
                end: sent + running.output.len(),
                sampled: true,
                logprob,
                ..Token::default()
            });
            let first = deltas.len();
            running.at_end = special
                .is_some_and(|text| running.ends.iter().any(|end| end.trim() == text.trim()));
            let whole = 0..text.len();
            let marks = if special.is_some() {
                std::slice::from_ref(&whole)
            } else {
                &[]
            };
            deltas.extend(running.stream.feed_marked(text, marks)?.map(OwnDelta::of));
            running.note(&deltas[first..], &mut self.tokens);
        }
        Ok(Observed {
            deltas,
            ended: running.at_end,
        })
    }

    /// Ends the output. Returns the text that was held back because it could have become a marker.
    /// [`Conversation::extend`] does so by itself.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] before a prompt.
    pub fn finish(&mut self, by: EndedBy) -> Result<Observed> {
        let running = self.running.as_mut().ok_or_else(unopened)?;
        if running.ended.is_some() {
            return Ok(Observed::default());
        }
        running.ended = Some(running.stream.finish(by));
        let deltas: Vec<OwnDelta> = running.stream.deltas().map(OwnDelta::of).collect();
        running.note(&deltas, &mut self.tokens);
        Ok(Observed {
            deltas,
            ended: by == EndedBy::Model,
        })
    }

    /// The ids to send after the output in order to continue with `messages`, an array as in a
    /// request: results of tools, or the user's next message. If it fails, nothing has changed.
    ///
    /// # Errors
    /// Errors of the messages, of the template and of the tokenizer.
    pub fn extend(&mut self, messages: &Value) -> Result<Extended> {
        let running = self.running.as_ref().ok_or_else(unopened)?;
        let sent = running.turns.prompt().len();
        let step = running.turns.next(
            &running.output,
            &self.vocabulary.stream,
            &running.spans,
            messages,
        )?;
        let prompt = step.turns.prompt();
        let shown = Shown::new(sent, &running.output);
        let rewrite = step.changed.map(|why| Moved {
            token: self
                .tokens
                .partition_point(|token| shown.end_of(token) <= why.at),
            why,
        });
        let (mut kept, mut from) = (self.ids.len(), shown.at(running.output.len()));
        if rewrite.is_some() && !step.stays {
            kept = self
                .tokens
                .partition_point(|token| shown.end_of(token) <= step.kept);
            loop {
                from = kept
                    .checked_sub(1)
                    .map_or(0, |last| shown.end_of(&self.tokens[last]));
                if prompt.is_char_boundary(from) {
                    break;
                }
                kept -= 1;
            }
        }
        let own = step.turns.own(from)?;
        let placed = self.vocabulary.encode(&prompt[from..], &own)?;
        let next = Running::new(
            Arc::clone(&step.turns),
            kept + placed.len(),
            &self.vocabulary,
        )?;
        let first = running.first;
        self.finish(EndedBy::Model)?;
        for token in &mut self.tokens[first..] {
            token.end = shown.end_of(token);
        }
        self.ids.truncate(kept);
        self.tokens.truncate(kept);
        self.send(&placed, from, &own);
        self.running = Some(next);
        Ok(Extended {
            kept,
            ids: self.ids[kept..].to_vec(),
            rewrite,
            message: step.message,
        })
    }

    /// Takes back the ids that were sampled after the first `length` ids, also after
    /// [`Conversation::finish`]. To go back further, keep a clone. Costs what the rest of the
    /// output has cost.
    ///
    /// # Errors
    /// [`chatparse_base::ErrorKind::InvalidArgument`] if these ids do not end in the last output.
    pub fn rewind(&mut self, length: usize) -> Result<()> {
        let running = self.running.as_ref().ok_or_else(unopened)?;
        let (first, last) = (running.first, self.ids.len());
        if !(first..=last).contains(&length) {
            return Err(Error::invalid(format!(
                "length: {length} is not in the last output, {first} to {last}"
            )));
        }
        let again = self.ids.split_off(first);
        let logprobs: Vec<Option<f32>> = self
            .tokens
            .drain(first..)
            .map(|token| token.logprob)
            .collect();
        let turns = Arc::clone(&running.turns);
        self.running = Some(Running::new(turns, first, &self.vocabulary)?);
        self.observe(&again[..length - first])?;
        for (token, logprob) in self.tokens[first..].iter_mut().zip(logprobs) {
            token.logprob = logprob;
        }
        Ok(())
    }

    /// All ids, sent and sampled.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The [`Token`] of each id.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Whether each id was sampled.
    pub fn mask(&self) -> impl ExactSizeIterator<Item = bool> {
        self.tokens.iter().map(|token| token.sampled)
    }

    /// The number of ids before the last output; 0 before a prompt.
    pub fn prompt_len(&self) -> usize {
        self.running.as_ref().map_or(0, |running| running.first)
    }

    /// The text before the last output; empty before a prompt.
    pub fn prompt(&self) -> &str {
        self.running
            .as_ref()
            .map_or("", |running| running.turns.prompt())
    }

    /// The bytes of the last output.
    pub fn output(&self) -> &[u8] {
        self.running.as_ref().map_or(&[], |running| &running.output)
    }

    /// The last output as a message, as far as it goes.
    pub fn message(&self) -> Message {
        let Some(running) = &self.running else {
            return Message::new("assistant", "");
        };
        match &running.ended {
            Some(ended) => ended.message.clone(),
            None => running.stream.message(),
        }
    }

    /// The text of ids, also of special tokens.
    ///
    /// # Errors
    /// For an id that the tokenizer does not know.
    pub fn decode(&self, ids: &[u32]) -> Result<Vec<u8>> {
        Ok(self.vocabulary.texts(ids)?.concat())
    }

    /// Appends sent tokens, whose text begins at byte `from`.
    fn send(&mut self, placed: &[Placed], from: usize, own: &[Range<usize>]) {
        let mut begin = 0;
        for (id, end) in placed {
            let at = own.partition_point(|range| range.end <= begin);
            let mut token = Token {
                end: from + end,
                ..Token::default()
            };
            token.field.kind = match own.get(at) {
                Some(range) if range.start <= begin && *end <= range.end => FieldKind::Template,
                _ => FieldKind::Value,
            };
            self.ids.push(*id);
            self.tokens.push(token);
            begin = *end;
        }
    }
}

fn unopened() -> Error {
    Error::invalid("conversation: it has no prompt yet")
}

impl OwnDelta {
    fn of(delta: chatparse_stream::Delta<'_>) -> Self {
        OwnDelta {
            kind: delta.kind,
            call: delta.call,
            text: delta.text.to_owned(),
            span: delta.span,
        }
    }
}

impl Running {
    fn new(turns: Arc<dyn Turns>, first: usize, vocabulary: &Vocabulary) -> Result<Self> {
        let ends = turns.ends();
        let mut stream = Stream::new(&turns.parser().clone().ending(ends.clone()));
        stream.set_special_tokens(&vocabulary.stream)?;
        Ok(Running {
            turns,
            first,
            stream,
            output: Vec::new(),
            spans: Vec::new(),
            members: Vec::new(),
            ends,
            at_end: false,
            ended: None,
        })
    }

    /// Notes the fields of the deltas in the tokens of the output.
    fn note(&mut self, deltas: &[OwnDelta], tokens: &mut [Token]) {
        let sent = self.turns.prompt().len();
        let tokens = &mut tokens[self.first..];
        for delta in deltas {
            let Some(kind) = FieldKind::of(delta.kind) else {
                continue;
            };
            let call = delta.kind.is_of_call().then_some(delta.call);
            let text = &*delta.text;
            // As written: then each token has its own piece of the text.
            let is_same = text.len() == delta.span.len();
            let mut whole = None;
            if kind == FieldKind::ToolArguments && !is_same {
                whole = read_member(self.members(delta.call), text);
            }
            let mut from = delta.span.start;
            let mut at = tokens.partition_point(|token| token.end - sent <= from);
            while from < delta.span.end && at < tokens.len() {
                let to = (tokens[at].end - sent).min(delta.span.end);
                let argument = match kind {
                    FieldKind::ToolArguments if is_same => {
                        // The first of its tokens counts for a character.
                        let [from, to] =
                            [from, to].map(|end| char_border_behind(text, end - delta.span.start));
                        read_member(self.members(delta.call), &text[from..to])
                    }
                    _ => whole.clone(),
                };
                let field = &mut tokens[at].field;
                if field.kind == FieldKind::Markup {
                    *field = Field {
                        kind,
                        call,
                        argument,
                    };
                } else if field.kind == kind && field.call == call && field.argument.is_none() {
                    field.argument = argument;
                }
                (from, at) = (to, at + 1);
            }
        }
    }

    fn members(&mut self, call: usize) -> &mut Json {
        if self.members.len() <= call {
            self.members.resize_with(call + 1, Json::default);
        }
        &mut self.members[call]
    }
}

/// The places of an output's bytes in the prompt, where U+FFFD replaces bytes that are no UTF-8.
struct Shown {
    /// Where the output begins.
    sent: usize,
    /// The end of each run of these bytes, and how much longer the text is there.
    moved: Vec<(usize, isize)>,
}

impl Shown {
    fn new(sent: usize, output: &[u8]) -> Self {
        let (mut moved, mut at, mut by) = (Vec::new(), 0, 0);
        for chunk in output.utf8_chunks() {
            at += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                by += char::REPLACEMENT_CHARACTER.len_utf8() as isize
                    - chunk.invalid().len() as isize;
                moved.push((at, by));
            }
        }
        Shown { sent, moved }
    }

    fn at(&self, byte: usize) -> usize {
        let before = self.moved.partition_point(|(end, _)| *end <= byte);
        let by = before.checked_sub(1).map_or(0, |last| self.moved[last].1);
        self.sent + byte.saturating_add_signed(by)
    }

    /// The end of a token.
    fn end_of(&self, token: &Token) -> usize {
        match token.end.checked_sub(self.sent) {
            Some(byte) if byte > 0 => self.at(byte),
            _ => token.end,
        }
    }
}
