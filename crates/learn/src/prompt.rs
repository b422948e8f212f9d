//! Renders the prompt of a request, with helpers for the changes that families of templates make to
//! it.

use serde_json::Value;

use chatparse_base::Result;
use chatparse_jinja::{Conversation, Prepared, Template};
use chatparse_message::{Continuation, Message, Request};

/// The input of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptInput<'a> {
    /// The template that renders it.
    pub template: &'a Template,
    /// The request, converted for the template.
    pub prepared: &'a Prepared,
    /// The request itself.
    pub request: &'a Request,
    /// Whether to compute the generation prompt, which may take a second render.
    pub opening: bool,
}

/// A rendered prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The whole prompt.
    pub prompt: String,
    /// The end of the prompt: the opening of the model's message and, in a continuation, the text
    /// that the message already has. The parser reads it before the model's output. Empty if it was
    /// not requested.
    pub generation_prompt: String,
}

/// Renders the prompt without changes. To continue a message, use [`Prompt::continued`].
pub fn plain(input: &PromptInput) -> Result<Prompt> {
    render(input, &input.prepared.conversation)
}

/// [`plain`] for another conversation than the request's.
pub fn render(input: &PromptInput, conversation: &Conversation) -> Result<Prompt> {
    let template = input.template;
    let (prompt, generation_prompt) = match input.opening {
        true => template.render_with_generation_prompt(conversation)?,
        false => (template.render(conversation)?, String::new()),
    };
    Ok(Prompt {
        prompt,
        generation_prompt,
    })
}

/// [`plain`] after `change` was applied to each message.
pub fn render_changed(input: &PromptInput, change: impl Fn(&mut Value)) -> Result<Prompt> {
    let mut messages = Value::clone(&input.prepared.conversation.messages);
    messages
        .as_array_mut()
        .into_iter()
        .flatten()
        .for_each(change);
    render_with(input, messages)
}

/// [`plain`] with these messages.
pub fn render_with(input: &PromptInput, messages: Value) -> Result<Prompt> {
    render(
        input,
        &Conversation {
            messages: messages.into(),
            ..input.prepared.conversation.clone()
        },
    )
}

/// The calls of an assistant message, if it has any.
pub fn calls_of(message: &Value) -> Option<&Vec<Value>> {
    let calls = message
        .get("tool_calls")
        .filter(|_| message["role"] == "assistant")?
        .as_array()?;
    (!calls.is_empty()).then_some(calls)
}

impl Prompt {
    /// Appends the message that the request continues, if any: `opening`, which ends where
    /// reasoning begins, the message's reasoning and, if the model continues the content, `between`
    /// and the content.
    pub fn continued(self, input: &PromptInput, opening: &str, between: &str) -> Prompt {
        self.continued_with(input.prepared, |message, in_content| {
            let mut text = format!("{opening}{}", message.reasoning_content);
            if in_content {
                text.push_str(between);
                text.push_str(&message.text());
            }
            text
        })
    }

    /// Like [`Prompt::continued`], with the text that `write` returns for the message. Its second
    /// argument is true if the model continues the content.
    pub fn continued_with(
        mut self,
        prepared: &Prepared,
        write: impl FnOnce(&Message, bool) -> String,
    ) -> Prompt {
        if let Some(message) = &prepared.continued {
            self.generation_prompt = write(message, prepared.continuation == Continuation::Content);
            self.prompt.push_str(&self.generation_prompt);
        }
        self
    }
}
