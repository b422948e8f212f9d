//! Whether a tokenizer fits a template: conversations of three messages show it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::conversation::{Conversation, Moved};
use crate::turns::Turns;
use chatparse_base::{ErrorKind, Result};

/// A place where a tokenizer does not fit a template.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Of which kind.
    pub kind: FindingKind,
    /// The same as a sentence.
    pub words: String,
    /// The smallest of the tried conversations that shows it; an empty array for
    /// markers.
    pub messages: Value,
    /// The first token that differs, in the ids of that conversation.
    pub token: Option<usize>,
}

chatparse_base::names! {
    /// The kind of a misfit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum FindingKind {
        /// The end of the turn is no special token: a user can write what a model samples for it.
        End = "end",
        /// Another marker is none.
        Marker = "marker",
        /// Ids turn by turn differ from the ids of the whole conversation.
        Seam = "seam",
        /// The template changes text that was sent.
        Rewrite = "rewrite",
    }
}

impl Finding {
    /// As JSON: `kind`, `words`, `messages`, `token`.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

/// A question, an answer and a message that follows, the smallest answer first.
fn tried() -> [[Value; 3]; 6] {
    let user = json!({"role": "user", "content": "Hi"});
    let function = json!({"name": "look", "arguments": "{\"place\": \"Oslo\"}"});
    let calls = json!([{"id": "call00001", "type": "function", "function": function}]);
    let result =
        json!({"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "Rain"});
    [
        (json!({"role": "assistant", "content": "Yes."}), &user),
        (json!({"role": "assistant", "content": "Yes.\n"}), &user),
        (json!({"role": "assistant", "content": "\nYes"}), &user),
        (json!({"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}), &user),
        (json!({"role": "assistant", "content": "", "tool_calls": calls}), &result),
        (
            json!({"role": "assistant", "content": "One moment.", "tool_calls": calls, "reasoning_content": "Hm."}),
            &result,
        ),
    ]
    .map(|(answer, next)| [user.clone(), answer, next.clone()])
}

impl Conversation {
    /// The misfits of the tokenizer and the template, with the tools and options of the
    /// conversation: markers that are no special tokens, turns at whose border ids differ from
    /// those of the whole conversation, histories that the template changes. Empty: ids turn by
    /// turn are those of each new render, of the turns that are tried and that the template does
    /// not refuse.
    ///
    /// # Errors
    /// Errors of the template for a question alone, and of the tokenizer.
    pub fn check(&self) -> Result<Vec<Finding>> {
        let turns = self
            .opens
            .open(&json!([{"role": "user", "content": "Hi"}]))?;
        let mut found = self.unmarked(&*turns)?;
        for messages in tried() {
            match self.tried(&messages, turns.end()) {
                Ok(Some(new)) if found.iter().all(|known| known.kind != new.kind) => {
                    found.push(new)
                }
                Ok(_) => {}
                // A template without tools, say.
                Err(error) if error.kind() == ErrorKind::Template => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Markers that are no special tokens.
    fn unmarked(&self, turns: &dyn Turns) -> Result<Vec<Finding>> {
        let (end, markers) = (turns.end().trim(), turns.markers());
        let mut found: Vec<Finding> = Vec::new();
        for text in std::iter::once(end).chain(markers.iter().map(|marker| marker.trim())) {
            if text.is_empty() || self.vocabulary.has(text) {
                continue;
            }
            let count = self.vocabulary.encode(text, &[])?.len();
            let tokens = if count == 1 { "token" } else { "tokens" };
            let words =
                format!("{text:?} is no special token: plain text gives it as {count} {tokens}");
            if found.iter().all(|known| known.words != words) {
                let kind = if text == end {
                    FindingKind::End
                } else {
                    FindingKind::Marker
                };
                found.push(Finding {
                    kind,
                    words,
                    messages: json!([]),
                    token: None,
                });
            }
        }
        Ok(found)
    }

    /// The finding of one conversation. `end`: the text that ends a turn of the model.
    fn tried(&self, messages: &[Value; 3], end: &str) -> Result<Option<Finding>> {
        let (mut mine, mut whole) = (self.fresh(), self.fresh());
        mine.prompt_ids(&json!(messages[..1]))?;
        let closed = self.opens.closed(&json!(messages[..2]))?;
        // If the history of the turn begins otherwise, the output of a model is unknown.
        let Some(output) = closed.strip_prefix(mine.prompt()) else {
            return Ok(None);
        };
        let ended = output.find(end).filter(|_| !end.is_empty());
        let own = 0..ended.map_or(output.len(), |at| at + end.len());
        let sampled = self
            .vocabulary
            .encode(&output[own.clone()], std::slice::from_ref(&own))?;
        let sampled: Vec<u32> = sampled.into_iter().map(|(id, _)| id).collect();
        mine.observe(&sampled)?;
        let rewrite = mine.extend(&json!(messages[2..]))?.rewrite;
        let (kind, words, token) = if let Some(Moved { token, why }) = rewrite {
            (FindingKind::Rewrite, why.words.to_owned(), token)
        } else {
            let (ids, once) = (mine.ids(), whole.prompt_ids(&json!(messages))?);
            if ids == once {
                return Ok(None);
            }
            let alike = ids.iter().zip(once).take_while(|(a, b)| a == b).count();
            let words = format!(
                "turn by turn {:?} stands where the whole conversation has {:?}",
                self.first_two(&ids[alike..])?,
                self.first_two(&once[alike..])?
            );
            (FindingKind::Seam, words, alike)
        };
        Ok(Some(Finding {
            kind,
            words,
            messages: json!(messages),
            token: Some(token),
        }))
    }

    /// The texts of the first two ids.
    fn first_two(&self, ids: &[u32]) -> Result<Vec<String>> {
        let texts = self.vocabulary.texts(&ids[..ids.len().min(2)])?;
        Ok(texts
            .iter()
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect())
    }
}
