//! The log probabilities of the tokens that an answer's content consists of.

use std::collections::VecDeque;
use std::ops::Range;

use serde_json::Value;

use chatparse_stream::{Delta, DeltaKind};

/// The host's entries, from when a token is fed until its text is content, or until it is known to
/// be none.
#[derive(Clone, Debug, Default)]
pub struct Logprobs {
    pub fed: VecDeque<(Range<usize>, Value)>,
    /// Those of the content that were not sent.
    said: Vec<Value>,
    /// Those that were sent, with the indices of their items.
    sent: Vec<(usize, Value)>,
}

impl Logprobs {
    /// Moves the entries of the tokens that have a byte of this delta, and drops earlier ones.
    pub fn read(&mut self, delta: &Delta) {
        if delta.span.is_empty() {
            return;
        }
        while let Some((span, _)) = self.fed.front()
            && span.start < delta.span.end
            && let Some((span, entry)) = self.fed.pop_front()
        {
            if delta.kind == DeltaKind::Content && span.end > delta.span.start {
                self.said.push(entry);
            }
        }
    }

    /// The entries that were not sent; now they are, with the item that has this index.
    pub fn send(&mut self, item: usize) -> Vec<Value> {
        let said = std::mem::take(&mut self.said);
        self.sent
            .extend(said.iter().cloned().map(|entry| (item, entry)));
        said
    }

    /// The entries that were sent with the item that has this index.
    pub fn of(&self, item: usize) -> Vec<Value> {
        let sent = self.sent[self.sent.partition_point(|(sent, _)| *sent < item)..].iter();
        sent.take_while(|(sent, _)| *sent == item)
            .map(|(_, entry)| entry.clone())
            .collect()
    }
}
