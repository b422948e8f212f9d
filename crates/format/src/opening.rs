//! Where a prompt leaves the message that the model goes on with.

use chatparse_message::{Continuation, Message};

/// The end of a prompt that belongs to the assistant's turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Opening {
    /// What opens the turn, as rendered; without a continued message where that is known.
    pub text: String,
    /// `text` and the text so far of a continued message: the parser reads it before the output.
    pub prefill: String,
    /// What the prefill has of a message that the model continues; `None` if it begins one.
    pub begun: Option<Begun>,
}

impl Opening {
    /// The opening of a message without any text.
    pub fn of(text: &str) -> Opening {
        Opening {
            text: text.to_owned(),
            prefill: text.to_owned(),
            begun: None,
        }
    }

    /// The template's text before the message.
    pub fn front(&self) -> &str {
        self.begun
            .map_or(&self.text, |begun| &self.prefill[..begun.front()])
    }

    /// What the prefill has of the content that the model continues.
    pub fn begun_content(&self) -> Option<&str> {
        self.begun?.content.map(|at| &self.prefill[at..])
    }

    /// Whether the model goes on with content, which may have any white space.
    pub fn goes_on(&self) -> bool {
        self.begun_content()
            .is_some_and(|text| !text.trim().is_empty())
    }
}

/// Where the prefill has the texts of a message that the model continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Begun {
    /// Its reasoning, if it is there: from, to.
    pub reasoning: Option<(usize, usize)>,
    /// Its content, up to the end; `None` if the model continues the reasoning.
    pub content: Option<usize>,
}

impl Begun {
    /// Finds the texts of `message`, whose `part` the model continues, before the prefill's end. A
    /// text that the template changes is part of the template's: the message has only what follows.
    pub fn find(prefill: &str, message: &Message, part: Continuation) -> Begun {
        let thought = message.reasoning_content.trim();
        if part == Continuation::Reasoning {
            let from = before(prefill, &message.reasoning_content).unwrap_or(prefill.len());
            return Begun {
                reasoning: Some((from, prefill.len())),
                content: None,
            };
        }
        let texts = message
            .parts
            .iter()
            .rev()
            .take_while(|part| part.kind == "text")
            .map(|part| &*part.text);
        let texts: Vec<&str> = if message.parts.is_empty() {
            vec![&message.content]
        } else {
            texts.collect()
        };
        let mut from = prefill.len();
        for text in texts {
            let rest = &prefill[..from];
            let Some(at) = before(rest, text).or_else(|| before(rest.trim_end(), text)) else {
                break;
            };
            from = at;
        }
        let reasoning = prefill[..from]
            .rfind(thought)
            .filter(|_| !thought.is_empty());
        Begun {
            reasoning: reasoning.map(|at| (at, at + thought.len())),
            content: Some(from),
        }
    }

    fn front(&self) -> usize {
        self.reasoning
            .map(|(from, _)| from)
            .or(self.content)
            .unwrap_or_default()
    }
}

/// Where a text begins that ends here, with or without the white space around it.
fn before(rest: &str, text: &str) -> Option<usize> {
    let ways = [text, text.trim_end(), text.trim_start(), text.trim()];
    if text.trim().is_empty() {
        Some(rest.len())
    } else {
        ways.into_iter()
            .find_map(|text| rest.strip_suffix(text).map(str::len))
    }
}
