//! The laws that a sound template keeps, and what a finding shows of a broken one.

use serde::Serialize;
use serde_json::Value;

use chatparse_base::Place;

chatparse_base::names! {
    /// A law about renders and reads. Its name does not change. In the order of what a host asks:
    /// whether prompts have what clients send, answers are read, the cache stays, turns end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Law {
        /// Each text of a conversation is in its prompt.
        Shown = "shown",
        /// Null, an empty list and a field without a value render like an absent field.
        Absent = "absent",
        /// Arguments are JSON in the prompt, whether a client sends an object or its text.
        Arguments = "arguments",
        /// Content as a list of text parts renders like the text.
        Parts = "parts",
        /// Transformers and chatparse render the same prompt.
        Agrees = "agrees",
        /// Each message is read back from its turn.
        Read = "read",
        /// An answer begins in the history as the generation prompt opens it.
        Opens = "opens",
        /// The grammar of calls takes the calls that the template writes, and no beginning of one.
        Grammar = "grammar",
        /// The template's own response template reads as many messages as the reader in use.
        Response = "response",
        /// Each prompt begins with everything that was sent before.
        Grows = "grows",
        /// The end of the assistant's turn follows it, before the next role begins.
        Ends = "ends",
        /// The vocabulary has the special tokens that the template writes.
        Vocabulary = "vocabulary",
        /// Markers in a user's text change nothing else of the prompt.
        Text = "text",
        /// The origin of each byte of a prompt is known.
        Traced = "traced",
        /// Levels of reasoning effort differ in the prompt.
        Effort = "effort",
    }
}

/// For each law a line with its name, a sentence, and the cost of breaking it, separated by tabs.
const LAWS: &str = include_str!("laws.txt");

impl Law {
    /// The law as a sentence.
    pub fn sentence(self) -> &'static str {
        self.column(1)
    }

    /// The cost of breaking it to users, as a sentence.
    pub fn effect(self) -> &'static str {
        self.column(2)
    }

    fn column(self, index: usize) -> &'static str {
        let line = LAWS.lines().nth(self as usize).unwrap_or_default();
        line.split('\t').nth(index).unwrap_or_default()
    }
}

/// A render, a part of one, or a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// What it is, e.g. `expected`.
    pub from: &'static str,
    /// The text.
    pub text: String,
}

/// A broken law, with the smallest request that shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The law.
    #[serde(rename = "rule")]
    pub law: Law,
    /// Whether it is a fault; otherwise a note: it costs something, and may be meant.
    #[serde(rename = "fault")]
    pub is_fault: bool,
    /// What is wrong, as a sentence.
    pub message: String,
    /// The request, in the form of chat completions; null if the finding is about a message of the
    /// proof or about the template's text.
    pub request: Value,
    /// What is expected and what is there instead, shortened around the first difference.
    pub shown: Vec<Shown>,
    /// The places in the template's source, if it is one of these that is wrong.
    pub places: Vec<Place>,
}

impl Finding {
    pub(crate) fn new(law: Law, is_fault: bool, message: impl Into<String>) -> Finding {
        let message = message.into();
        let (request, shown, places) = (Value::Null, Vec::new(), Vec::new());
        Finding {
            law,
            is_fault,
            message,
            request,
            shown,
            places,
        }
    }

    pub(crate) fn with(mut self, from: &'static str, text: impl Into<String>) -> Finding {
        let text = text.into();
        self.shown.push(Shown { from, text });
        self
    }

    /// The finding as a JSON object: `rule` (the law's name), `fault`, `message`, `effect`,
    /// `request`; `shown`, each with `from` and `text`; and `places`, each with `line`, `column`
    /// and `excerpt`.
    pub fn to_json(&self) -> Value {
        let mut json = json!(self);
        json["effect"] = self.law.effect().into();
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_law_has_its_words() {
        assert_eq!(LAWS.lines().count(), Law::ALL.len());
        for law in Law::ALL {
            assert_eq!(law.column(0), law.name());
            assert!(
                law.sentence().ends_with('.') && law.effect().ends_with('.'),
                "{law}"
            );
        }
    }
}
