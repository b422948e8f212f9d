//! The questions of a conversation to its template.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use chatparse_base::Result;
use chatparse_message::Message;
use chatparse_stream::{Parser, SpecialTokens};

/// A template with the options of a request: it opens conversations.
pub trait Opens: Send + Sync {
    /// The prompt of these messages, an array as in a request.
    ///
    /// # Errors
    /// Errors of the messages, or of the template.
    fn open(&self, messages: &Value) -> Result<Arc<dyn Turns>>;

    /// The text of these messages, without the opening of another turn.
    ///
    /// # Errors
    /// Errors of the messages, or of the template.
    fn closed(&self, messages: &Value) -> Result<String>;
}

/// A prompt, with the outputs and messages after it. Immutable.
pub trait Turns: Send + Sync {
    /// All text before the next output.
    fn prompt(&self) -> &str;

    /// The parser of that output.
    fn parser(&self) -> &Parser;

    /// The texts of tokens that end outputs.
    fn ends(&self) -> Vec<String>;

    /// The text with which the template ends a turn of the model; empty if there is none, or if it
    /// is unknown.
    fn end(&self) -> &str;

    /// The texts that must be tokens.
    fn markers(&self) -> Vec<String>;

    /// Which bytes of the prompt from `from` on are the template's own, counted from there; in
    /// order and disjoint. All others are somebody's text.
    ///
    /// # Errors
    /// Errors of renders.
    fn own(&self, from: usize) -> Result<Vec<Range<usize>>>;

    /// The step after the output; `spans` are its bytes that came from special tokens.
    ///
    /// # Errors
    /// Errors of the messages, or of the template.
    fn next(
        &self,
        output: &[u8],
        tokens: &SpecialTokens,
        spans: &[Range<usize>],
        messages: &Value,
    ) -> Result<Step>;
}

/// The step after an output.
pub struct Step {
    /// The prompt with the output and the new messages.
    pub turns: Arc<dyn Turns>,
    /// The number of bytes of the earlier prompt and the output that stay. It may be less by half a
    /// character although `stays`.
    pub kept: usize,
    /// The host asks that all text stays, whatever the template would change.
    pub stays: bool,
    /// Why the template changes text that was sent.
    pub changed: Option<Changed>,
    /// The output as a message.
    pub message: Message,
}

/// A change that a template makes in text that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The first byte that it changes.
    pub at: usize,
    /// The index of the message at that byte; `None` if it is the template's text.
    pub message: Option<usize>,
    /// The reason, a stable lower-case name.
    pub reason: &'static str,
    /// The reason as a sentence.
    pub words: &'static str,
}
