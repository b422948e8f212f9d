//! Prompts that a host has rendered: what their ends leave open is read as the parser of the
//! request that renders them does.

use chatparse::{ChatTemplate, EndedBy, Request};
use serde_json::json;

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let tool = json!({"type": "function", "function": {"name": "f", "description": "D",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let user = json!({"role": "user", "content": "How many?"});
    let begun =
        json!({"role": "assistant", "content": "The answer is", "reasoning_content": "Hm, I see."});
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for thinking in [true, false] {
        for more in [
            json!({}),
            json!({"tools": [tool]}),
            json!({"tools": [tool], "tool_choice": "required"}),
            json!({"reasoning_format": "none"}),
            json!({"messages": [user, begun], "continue_final_message": true}),
        ] {
            let mut body =
                json!({"messages": [user], "now": 1_787_400_000, "enable_thinking": thinking});
            body.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let request = Request::from_json(&body).unwrap();
            looked += 1;
            wrong.extend(
                one(template, request)
                    .err()
                    .map(|what| format!("{thinking} {more}: {what}")),
            );
        }
    }
    (wrong, looked)
}

fn one(template: &ChatTemplate, mut request: Request) -> Result<(), String> {
    let Ok(params) = template.params(&request) else {
        return Ok(());
    };
    let (start, end) = params.thinking.as_ref().map_or(("", ""), |it| {
        (&*it.start, it.ends.first().map_or("", |end| end))
    });
    // A text behind a prompt that shows no opening is a text behind a user's, and one behind
    // reasoning that nothing closes is more of it.
    let own = &*params.generation_prompt;
    let unclosed = !start.is_empty() && own.rfind(start.trim()) > own.rfind(end.trim());
    let opening = template.turn(true).opening.trim();
    if own.is_empty() || request.messages.len() > 1 && (unclosed || opening.is_empty()) {
        return Ok(());
    }
    let continues = request.messages.len() > 1;
    request.messages.clear();
    request.continuation = chatparse::message::Continuation::None;
    let given = template
        .parser_for(&params.prompt, &request)
        .map_err(|error| error.to_string())?;
    for output in [
        " four.".to_owned(),
        format!("Why.{end}So."),
        format!("{start}Why.{end}So."),
    ] {
        let [own, read] = [&params.parser, &given.parser]
            .map(|parser| parser.parse(output.as_bytes(), EndedBy::Model));
        // Where the prompt does not show where the message begins, its text is none of the
        // message's.
        let unseen = continues && given.generation_prompt.is_empty();
        if own != read && !unseen {
            let ends = [&params.generation_prompt, &given.generation_prompt];
            return Err(format!(
                "{output:?} behind {ends:?} is {:?}, not {:?}",
                read, own
            ));
        }
    }
    Ok(())
}
