//! Messages that are continued: the prompt is a beginning of what the template renders of the whole
//! message, and the message that is read has all of it.

use chatparse::grammar::Recogniser;
use chatparse::message::Continuation;
use chatparse::{ChatTemplate, DeltaKind, EndedBy, Request, Status, Stream};
use serde_json::{Value, json};

const BEGUN: &str = "The answer is";
const REST: &str = " four.";
const THOUGHT: &str = "Hm, I see.";

/// What is wrong, and how many requests were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    let tool = json!({"type": "function", "function": {"name": "f", "description": "D",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let parts = |text: &str| json!([{"type": "text", "text": text}]);
    for thinking in [true, false] {
        let plain = json!({"enable_thinking": thinking});
        let rows = [
            (json!({}), BEGUN.into(), [BEGUN, REST], ""),
            (
                json!({"add_generation_prompt": false, "tools": [tool]}),
                BEGUN.into(),
                [BEGUN, REST],
                "",
            ),
            (
                json!({"tools": [tool]}),
                parts(BEGUN),
                [BEGUN, REST],
                THOUGHT,
            ),
            (
                json!({"reasoning_format": "none"}),
                BEGUN.into(),
                [BEGUN, REST],
                "",
            ),
            (
                json!({"plain": true, "chat_template_kwargs": plain}),
                BEGUN.into(),
                [BEGUN, REST],
                "",
            ),
            (
                json!({"force_pure_content": true}),
                BEGUN.into(),
                [BEGUN, REST],
                "",
            ),
            (
                json!({"json_schema": schema}),
                "{\"n\": 4".into(),
                ["{\"n\": 4", "2}"],
                THOUGHT,
            ),
        ];
        for (mut more, content, [begun, rest], thought) in rows {
            more["enable_thinking"] = thinking.into();
            looked += 1;
            wrong.extend(one(template, &more, &content, [begun, rest], thought).err());
        }
        looked += 1;
        wrong.extend(own_block(template, thinking).err());
    }
    (wrong, looked)
}

fn request(template_fields: &Value, content: &Value, thought: &str, more: Value) -> Request {
    let mut last = json!({"role": "assistant", "content": content});
    if !thought.is_empty() {
        last["reasoning_content"] = thought.into();
    }
    let mut body =
        json!({"messages": [{"role": "user", "content": "How many?"}, last], "now": 1_787_400_000});
    for fields in [template_fields, &more] {
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
    }
    Request::from_json(&body).unwrap()
}

fn one(
    template: &ChatTemplate,
    more: &Value,
    content: &Value,
    [begun, rest]: [&str; 2],
    thought: &str,
) -> Result<(), String> {
    let all = format!("{begun}{rest}");
    let told = |what: &str, found: &dyn std::fmt::Debug| Err(format!("{more}: {what}: {found:?}"));
    let whole = if content.is_array() {
        json!([{"type": "text", "text": all}])
    } else {
        json!(all)
    };
    let Ok(whole) = template.prompt(&request(
        more,
        &whole,
        thought,
        json!({"add_generation_prompt": false}),
    )) else {
        return Ok(());
    };
    let request = request(
        more,
        content,
        thought,
        json!({"continue_final_message": true}),
    );
    let params = match template.params(&request) {
        Ok(params) => params,
        // Transformers refuses what the template does not show.
        Err(_) if !whole.contains(&all) => return Ok(()),
        Err(error) => return told("refused", &error),
    };
    if whole.contains(&all) && !whole.starts_with(&params.prompt) {
        return told(
            "the prompt is no beginning of the whole",
            &(&params.prompt, &whole),
        );
    }
    let mut stream = Stream::new(&params.parser);
    let (mut shown, mut reasoned) = (String::new(), String::new());
    for byte in rest.as_bytes() {
        for delta in stream.feed(std::slice::from_ref(byte)) {
            match delta.kind {
                DeltaKind::Content => shown.push_str(delta.text),
                DeltaKind::Reasoning => reasoned.push_str(delta.text),
                kind => return told("a delta", &kind),
            }
        }
    }
    let ended = stream.finish(EndedBy::Model);
    let is_shown = !thought.is_empty() && params.generation_prompt.contains(thought);
    let expected = if is_shown { thought } else { "" };
    let message = &ended.message;
    // Some templates write text so that no format of theirs reads it.
    let mut anew = request.clone();
    anew.continuation = Continuation::None;
    drop(anew.messages.pop());
    let reads = template
        .params(&anew)
        .map(|params| params.parser.read(all.as_bytes(), EndedBy::Model));
    let status = if reads.is_ok_and(|read| read.status != Status::Complete) {
        ended.status
    } else {
        Status::Complete
    };
    if (&*message.content, &*message.reasoning_content, ended.status) != (&*all, expected, status) {
        return told(
            "the message",
            &(message, ended.status, &params.generation_prompt),
        );
    }
    if !all.starts_with(&shown) || !expected.starts_with(&reasoned) {
        return told("the deltas", &(shown, reasoned));
    }
    // Some families' models are not held to a schema.
    if !request.output.json_schema.is_null() && !params.grammar().text.is_empty() {
        let grammar = Recogniser::new(&params.grammar().text).unwrap();
        let begun = params.parser.prefill();
        if !grammar.prefix(&format!("{begun}{rest}")) || grammar.prefix(&format!("{begun}x{rest}"))
        {
            return told("the grammar", &params.grammar().text);
        }
    }
    let segments = template
        .segments(&request)
        .map_err(|error| error.to_string())?;
    let ends = segments.segments.iter().try_fold(0, |at, segment| {
        (segment.bytes.start == at).then_some(segment.bytes.end)
    });
    if segments.prompt != params.prompt || ends != Some(params.prompt.len()) {
        return told("the segments", &segments);
    }
    let session = template
        .session(request)
        .map_err(|error| error.to_string())?;
    match session.next(
        rest.as_bytes(),
        &json!([{"role": "user", "content": "Sure?"}]),
    ) {
        Ok(next) if next.message.content != all => told("the next turn", &next.message),
        _ => Ok(()),
    }
}

/// A content that begins with the template's own block of reasoning has the block once in the
/// prompt.
fn own_block(template: &ChatTemplate, thinking: bool) -> Result<(), String> {
    let more = json!({"enable_thinking": thinking});
    let params = template.params(&request(
        &more,
        &json!(BEGUN),
        THOUGHT,
        json!({"continue_final_message": true}),
    ));
    let Ok(apart) = params else { return Ok(()) };
    // GPT-OSS's reasoning is a message of its own.
    let is_block = template.reader() != "gpt-oss";
    let Some(marks) = apart
        .thinking
        .as_ref()
        .filter(|marks| is_block && !marks.start.is_empty() && !marks.ends.is_empty())
    else {
        return Ok(());
    };
    if !apart.generation_prompt.contains(THOUGHT) {
        return Ok(());
    }
    let block = json!(format!(
        "{}{THOUGHT}{}\n\n{BEGUN}",
        marks.start, marks.ends[0]
    ));
    let own = template.params(&request(
        &more,
        &block,
        "",
        json!({"continue_final_message": true}),
    ));
    let own = own.map_err(|error| error.to_string())?;
    let ended = own.parser.read(REST.as_bytes(), EndedBy::Model);
    let all = format!("{BEGUN}{REST}");
    match (
        own.prompt == apart.prompt,
        ended.message.content == all,
        &*ended.message.reasoning_content,
    ) {
        (true, true, THOUGHT) => Ok(()),
        _ => Err(format!(
            "own block: {:?} for {:?}: {:?}",
            own.prompt, apart.prompt, ended.message
        )),
    }
}
