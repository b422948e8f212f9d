//! A prompt of which the host tells only what its end leaves open.
use chatparse::{ChatTemplate, DeltaKind, Message, Params, Request, Result, Stream};

/// What the end of a prompt leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // Each host has its own.
pub enum Opening {
    /// What the template leaves open if nobody asks for anything else.
    Template,
    /// Reasoning.
    Reasoning,
    /// No reasoning: it is over, or off.
    Response,
    /// No reasoning, but the model may begin with it.
    Nothing,
}

/// Such a prompt: one of the template's own, with thinking on or off, or one that ends with a
/// marker of reasoning. `None`: the template shows none.
pub fn prompt(
    template: &ChatTemplate,
    request: &Request,
    opening: Opening,
) -> Result<Option<String>> {
    let mut request = request.clone();
    request.messages = vec![Message::new("user", "Hi")];
    if opening == Opening::Template {
        return template.prompt(&request).map(Some);
    }
    let reasoning = opening == Opening::Reasoning;
    let (mut markers, mut first) = (None, String::new());
    for thinking in if opening == Opening::Response {
        [false, true]
    } else {
        [true, false]
    } {
        request.output.enable_thinking = thinking;
        let prompt = template.prompt(&request)?;
        let params = template.parser_for(&prompt, &request)?;
        if thinks(&params) == reasoning {
            return Ok(Some(prompt));
        }
        (markers, first) = (params.thinking, prompt);
    }
    let Some(markers) = markers else {
        return Ok(None);
    };
    let marker = if reasoning {
        Some(&markers.start)
    } else {
        markers.ends.first()
    };
    let prompt = marker.map_or(String::new(), |marker| first + marker);
    let params = template.parser_for(&prompt, &request)?;
    Ok((thinks(&params) == reasoning).then_some(prompt))
}

/// A stream behind what the prompt has of the message, which is no part of the answer.
pub fn stream(params: &Params) -> Stream {
    let mut stream = Stream::new(&params.parser);
    let _ = stream.feed(b"");
    stream
}

/// Whether the next text is reasoning.
fn thinks(params: &Params) -> bool {
    stream(params)
        .feed(b"x")
        .any(|delta| delta.kind == DeltaKind::Reasoning)
}
