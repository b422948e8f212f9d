//! Conversations in token ids, for any tokenizer: a [`Tokenizer`] in, and a [`Conversation`] out of
//! [`ChatTemplate::conversation`]. What is sent is [`Session`]'s, and whose text it is,
//! [`crate::segments`] tells.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

#[doc(inline)]
pub use chatparse_ids::*;

use crate::chat::ChatTemplate;
use crate::messages::Messages;
use crate::next::Session;
use crate::segments::{Origin, Segment, Segments};
use chatparse_base::Result;
use chatparse_base::find::shared_end;
use chatparse_jinja::system_clock;
use chatparse_message::{Append, Request};
use chatparse_stream::{Parser, SpecialTokens};

impl ChatTemplate {
    /// A conversation in the ids of this tokenizer. `request`: the tools and the options; messages
    /// come later.
    ///
    /// # Errors
    /// As [`Conversation::new`].
    pub fn conversation(
        &self,
        tokenizer: Arc<dyn Tokenizer>,
        mut request: Request,
    ) -> Result<Conversation> {
        request.now = request.now.or_else(system_clock);
        Conversation::new(
            Arc::new(Opening {
                template: self.clone(),
                request,
            }),
            tokenizer,
        )
    }
}

struct Opening {
    template: ChatTemplate,
    request: Request,
}

impl Opening {
    fn with(&self, messages: &Value) -> Result<Request> {
        let mut request = self.request.clone();
        Messages::read(&request, messages)?.put(&mut request);
        Ok(request)
    }
}

impl Opens for Opening {
    fn open(&self, messages: &Value) -> Result<Arc<dyn Turns>> {
        let request = self.with(messages)?;
        let session = self.template.session(request.clone())?;
        Ok(Arc::new(Sent::new(session, Arc::new(request), None)))
    }

    fn closed(&self, messages: &Value) -> Result<String> {
        let mut request = self.with(messages)?;
        request.add_generation_prompt = false;
        Ok(self.template.params(&request)?.prompt)
    }
}

/// What was sent.
struct Sent {
    session: Session,
    request: Arc<Request>,
    /// The session's request without its messages.
    options: Request,
    /// The index of the last output's message.
    answered: Option<usize>,
}

impl Sent {
    fn new(session: Session, request: Arc<Request>, answered: Option<usize>) -> Sent {
        let mut options = Request::clone(&session.request);
        Messages::take(&mut options);
        Sent {
            session,
            request,
            options,
            answered,
        }
    }

    /// A request with few messages that may end as the prompt does: those of the system, and from
    /// the last question before the output on. So a turn costs as much late in a conversation as
    /// early.
    fn window(&self) -> Option<Request> {
        let (all, answered) = (Messages::of(&self.request), self.answered?);
        let mut system = 0;
        while system < all.len() && matches!(all.role(system), "system" | "developer") {
            system += 1;
        }
        let question = (system..answered).rfind(|index| all.role(*index) == "user")?;
        let mut request = self.options.clone();
        all.only(|index| index < system || index == question || index >= answered)
            .put(&mut request);
        Some(request)
    }

    fn found(&self, request: &Request) -> Result<Segments> {
        self.session.template.segments_with(request, false)
    }
}

impl Turns for Sent {
    fn prompt(&self) -> &str {
        &self.session.params.prompt
    }

    fn parser(&self) -> &Parser {
        &self.session.params.parser
    }

    fn ends(&self) -> Vec<String> {
        let params = &self.session.params;
        let mut ends = self.session.template.ends().to_vec();
        ends.extend_from_slice(&params.additional_stops);
        ends.push(params.end_of_turn().to_owned());
        ends.retain(|end| !end.trim().is_empty());
        ends
    }

    fn end(&self) -> &str {
        self.session.params.end_of_turn()
    }

    fn markers(&self) -> Vec<String> {
        let params = &self.session.params;
        let mut markers = Vec::new();
        if let Some(thinking) = &params.thinking {
            markers.push(thinking.start.clone());
            markers.extend_from_slice(&thinking.ends);
        }
        markers.extend_from_slice(&params.preserved_tokens);
        markers
    }

    fn own(&self, from: usize) -> Result<Vec<Range<usize>>> {
        let text = &self.prompt()[from..];
        let found = self.window().and_then(|request| self.found(&request).ok());
        let found = match found.filter(|found| found.prompt.ends_with(text)) {
            Some(found) => found,
            None => self.found(&self.request)?,
        };
        // The text of an output that the prompt has as it was written is not the template's.
        let same = shared_end(&found.prompt, text);
        let (skipped, moved) = (found.prompt.len() - same, text.len() - same);
        let mut own = Vec::new();
        for Segment { bytes, origin } in found.segments {
            if origin == Origin::Template && bytes.end > skipped {
                let start = bytes.start.max(skipped);
                own.push(start - skipped + moved..bytes.end - skipped + moved);
            }
        }
        Ok(own)
    }

    fn next(
        &self,
        output: &[u8],
        tokens: &SpecialTokens,
        spans: &[Range<usize>],
        messages: &Value,
    ) -> Result<Step> {
        let answered = Messages::of(&self.session.request).len();
        let next = self.session.next_marked(output, tokens, spans, messages)?;
        let changed = next.rewrite.map(|rewrite| Changed {
            at: rewrite.at,
            message: rewrite.message,
            reason: rewrite.reason.name(),
            words: rewrite.reason.words(),
        });
        let request = Arc::clone(&next.session.request);
        let stays = request.append == Append::Always;
        let turns = Arc::new(Sent::new(next.session, request, Some(answered)));
        Ok(Step {
            turns,
            kept: next.kept,
            stays,
            changed,
            message: next.message,
        })
    }
}
