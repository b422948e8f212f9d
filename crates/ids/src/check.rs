//! Whether a tokenizer goes with a template: what is found by conversations of three messages.

use serde::Serialize;
use serde_json::{Value, json};

use crate::conversation::{Conversation, Moved};
use crate::turns::Turns;
use chatparse_base::{ErrorKind, Result};

/// Where a tokenizer and a template do not go together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Of which kind.
    pub kind: FindingKind,
    /// The same as a sentence.
    pub words: String,
    /// The smallest conversation that shows it, of those that are tried; an empty array for
    /// markers.
    pub messages: Value,
    /// The first token that differs, in the ids of that conversation.
    pub token: Option<usize>,
}

chatparse_base::names! {
    /// What does not go together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum FindingKind {
        /// The end of the turn is no special token: what a model samples for it a user can write,
        /// too.
        End = "end",
        /// Another marker is none.
        Marker = "marker",
        /// Ids turn by turn are not those of the whole conversation.
        Seam = "seam",
        /// The template changes what was sent.
        Rewrite = "rewrite",
    }
}

impl Finding {
    /// As JSON: `kind`, `words`, `messages`, `token`.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

/// A question, an answer and what follows, the smallest answer first.
fn tried() -> Vec<Value> {
    let user = json!({"role": "user", "content": "Hi"});
    let said = |content: &str| json!({"role": "assistant", "content": content});
    let thought = |mut message: Value, content: &str| {
        (message["reasoning_content"], message["content"]) = (json!("Hm."), json!(content));
        message
    };
    let function = json!({"name": "look", "arguments": "{\"place\": \"Oslo\"}"});
    let mut call = said("");
    call["tool_calls"] = json!([{"id": "call00001", "type": "function", "function": function}]);
    let result =
        json!({"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "Rain"});
    let answers = [
        said("Yes."),
        said("Yes.\n"),
        said("\nYes"),
        thought(said(""), "Yes."),
    ];
    let calls = [call.clone(), thought(call, "One moment.")];
    let answers = answers
        .into_iter()
        .map(|answer| json!([user, answer, user]));
    answers
        .chain(calls.into_iter().map(|call| json!([user, call, result])))
        .collect()
}

impl Conversation {
    /// What stands between the tokenizer and the template, with the tools and options of the
    /// conversation: markers that are no special tokens, turns at whose border ids differ from
    /// those of the whole conversation, histories that the template changes. Empty: ids turn by
    /// turn are those of each new render, of the turns that are tried and that the template does
    /// not refuse.
    ///
    /// # Errors
    /// Those of the template for a question alone, and those of the tokenizer.
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

    /// What a conversation shows. `end`: what ends a turn of the model.
    fn tried(&self, messages: &Value, end: &str) -> Result<Option<Finding>> {
        let part = |from: usize, to: usize| {
            json!(messages.as_array().map_or(&[][..], |all| &all[from..to]))
        };
        let found = |kind, words, token| {
            Ok(Some(Finding {
                kind,
                words,
                messages: messages.clone(),
                token: Some(token),
            }))
        };
        let (mut mine, mut whole) = (self.fresh(), self.fresh());
        mine.prompt_ids(&part(0, 1))?;
        let (prompt, closed) = (mine.prompt().to_owned(), self.opens.closed(&part(0, 2))?);
        // Where the history of the turn begins otherwise, nothing says what a model would have
        // written.
        let Some(output) = closed.strip_prefix(&prompt) else {
            return Ok(None);
        };
        let ended = output.find(end).filter(|_| !end.is_empty());
        let own = 0..ended.map_or(output.len(), |at| at + end.len());
        let sampled = self
            .vocabulary
            .encode(&output[own.clone()], std::slice::from_ref(&own))?;
        let sampled: Vec<u32> = sampled.into_iter().map(|(id, _)| id).collect();
        mine.observe(&sampled)?;
        if let Some(Moved { token, why }) = mine.extend(&part(2, 3))?.rewrite {
            return found(FindingKind::Rewrite, why.words.to_owned(), token);
        }
        let (ids, once) = (mine.ids(), whole.prompt_ids(messages)?);
        let alike = ids.iter().zip(once).take_while(|(a, b)| a == b).count();
        if ids == once {
            return Ok(None);
        }
        let text =
            |id: &u32| Ok(String::from_utf8_lossy(&self.vocabulary.bytes(*id)?).into_owned());
        let shown = |ids: &[u32]| {
            ids[alike..]
                .iter()
                .take(2)
                .map(text)
                .collect::<Result<Vec<_>>>()
        };
        let words = format!(
            "turn by turn {:?} stands where the whole conversation has {:?}",
            shown(ids)?,
            shown(once)?
        );
        found(FindingKind::Seam, words, alike)
    }
}
