//! A template that was stored answers requests as the one that learnt.

use chatparse::{ChatTemplate, Request};
use serde_json::json;

use super::written::tool;

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let bytes = template.to_bytes();
    let back = match ChatTemplate::from_bytes(&bytes) {
        Ok(back) => back,
        Err(error) => return (vec![error.to_string()], 1),
    };
    let mut wrong = Vec::new();
    let mut same = |what: &str, same: bool| {
        if !same {
            wrong.push(what.to_owned());
        }
    };
    same("caps", back.caps() == template.caps());
    same("layout", back.layout() == template.layout());
    same(
        "turns",
        [true, false]
            .iter()
            .all(|thinking| back.turn(*thinking) == template.turn(*thinking)),
    );
    same(
        "choice",
        format!("{:?}", back.choice()) == format!("{:?}", template.choice()),
    );
    same(
        "response template",
        format!("{:?}", back.response_proof()) == format!("{:?}", template.response_proof()),
    );
    same("bytes", back.to_bytes() == bytes);
    let tools = json!([tool("do_it", &json!({"qk1": {"type": "string"}}))]);
    let call = json!({"id": "abc000000", "type": "function", "function": {"name": "do_it", "arguments": "{\"qk1\": \"v\"}"}});
    let parts = json!([{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:,"}}]);
    let user = json!({"role": "user", "content": "Hi"});
    let requests = [
        json!({"messages": [user]}),
        json!({"messages": [{"role": "system", "content": "S"}, user], "tools": tools, "enable_thinking": false}),
        json!({"messages": [user, {"role": "assistant", "content": "", "reasoning_content": "Hm", "tool_calls": [call]},
            {"role": "tool", "content": "5", "tool_call_id": "abc000000"}], "tools": tools, "tool_choice": "required"}),
        json!({"messages": [{"role": "user", "content": parts}], "response_format": {"type": "json_object"}}),
        json!({"messages": [user, {"role": "assistant", "content": "So"}], "continue_final_message": true}),
    ];
    for body in &requests {
        let mut request = Request::from_json(body).expect("it is one");
        request.now = Some(0);
        let [ours, theirs] = [&back, template].map(|template| {
            let params = template
                .params(&request)
                .map_err(|error| error.to_string())?;
            let said = format!(
                "{:?} {:?} {:?}",
                params.constraint, params.preserved_tokens, params.thinking
            );
            Ok::<_, String>((
                params.prompt,
                params.generation_prompt,
                said,
                params.parser.to_text(),
            ))
        });
        same(&body.to_string(), ours == theirs);
    }
    (wrong, requests.len())
}
