//! Prompts of the families with dedicated formats, on small templates that only carry a family's
//! marks.

use chatparse::internals::format::prompt::{Prompt, PromptInput, plain};
use chatparse::internals::format::prompt_of;
use chatparse::internals::format::{FAMILIES, family_of};
use chatparse::internals::template::{Template, prepare};
use chatparse::message::Request;
use chatparse::{ChatTemplate, builtin};
use serde_json::{Value, json};

/// Shows all that a message holds.
const DUMP: &str = "{% for m in messages %}{{ m|tojson }}\n{% endfor %}\
    {% for m in messages %}{% for c in m.tool_calls %}={{ c.function.arguments }}{% endfor %}{% endfor %}";

/// Whole turns, and an opening for the next.
const TURNS: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<go>{% endif %}";

fn prompt(source: &str, body: Value) -> Prompt {
    let template = Template::new(source, "", "").unwrap();
    let request = Request::from_json(&body).unwrap();
    let prepared = prepare(&template, &request, true).unwrap();
    let input = PromptInput {
        template: &template,
        prepared: &prepared,
        request: &request,
        opening: true,
    };
    match family_of(template.source()) {
        Some(family) => prompt_of(family, &input).unwrap(),
        None => plain(&input).unwrap(),
    }
}

fn marked(source: &str, marks: &str) -> String {
    format!("{source}{{# {marks} #}}")
}

/// The messages that [`DUMP`] showed.
fn dumped(marks: &str, messages: Value) -> Vec<Value> {
    let shown = prompt(
        &marked(DUMP, marks),
        json!({"messages": messages, "add_generation_prompt": false}),
    )
    .prompt;
    shown
        .lines()
        .map_while(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The generation prompt of a continuation with reasoning `r` and content `c`.
fn continued(marks: &str, mode: &str) -> String {
    let last = json!({"role": "assistant", "content": "c", "reasoning_content": "r"});
    let body = json!({"messages": [{"role": "user", "content": "u"}, last], "continue_final_message": mode});
    let prompt = prompt(&marked(TURNS, marks), body);
    assert_eq!(
        prompt.prompt,
        format!("<user>u\n{}", prompt.generation_prompt)
    );
    prompt.generation_prompt
}

#[test]
fn each_family_knows_its_templates() {
    let marks = [
        ("ministral-3", "[SYSTEM_PROMPT][TOOL_CALLS][ARGS]"),
        ("gpt-oss", "<|channel|>"),
        ("muse-glimmer", "<atem:function_calls><|eom|>"),
        ("functionary-v3.2", ">>>all >>>${recipient}"),
        ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>"),
        ("kimi-k3", "<|open|><|close|><|end_of_msg|>"),
        ("ling-3", "<role>ASSISTANT</role><arg_key>"),
        ("cohere2-moe", "<|START_TEXT|><|START_ACTION|>"),
        (
            "lfm2",
            "<|tool_list_start|><|tool_list_end|> List of tools: [",
        ),
        ("lfm2", "List of tools: ["),
        ("gigachat-3", "<|role_sep|><|message_sep|>"),
        ("minimax-m3", "]<]minimax[>[<tool_call><invoke name="),
        ("deepseek-v3.2", "dsml_token DSML function_calls"),
        ("deepseek-v3.2", "dsml_token DSML tool_calls"),
        ("gemma-4", "'<|tool_call>call:'"),
        (
            "minicpm5",
            "Tool usage guidelines: <function name=\"<param name=\"",
        ),
        ("qwen3-coder", "<tool_call><function=<parameter="),
        ("translate-gemma", "[source_lang_code][target_lang_code]"),
        ("laguna", "laguna_glm_thinking"),
        (
            "nemotron-nano-2",
            "<SPECIAL_10><SPECIAL_11><SPECIAL_12><TOOL_RESPONSE>",
        ),
        (
            "solar-open",
            "<|begin|>assistant<|think|><|tool_call:begin|>",
        ),
        ("k2-horizon", "<ifm|tool_calls><|ifm|im_start|>"),
        (
            "deepseek-r1-distill",
            "'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'tool['type'] + '<｜tool▁sep｜>'['arguments'] | tojson",
        ),
    ];
    for (name, marks) in marks {
        assert_eq!(family_of(marks).map(|family| &*family.name), Some(name));
    }
    let mut names: Vec<&str> = marks.iter().map(|(name, _)| *name).collect();
    names.dedup();
    let mut known: Vec<&str> = FAMILIES.iter().map(|family| &*family.name).collect();
    known.dedup();
    assert_eq!(known, names);
    let none = [
        "",
        "[SYSTEM_PROMPT][TOOL_CALLS][ARGS][CALL_ID]",
        "<|role_sep|><|message_sep|><|function_call|>",
    ];
    assert!(none.into_iter().all(|source| family_of(source).is_none()));
}

#[test]
fn continuations_open_as_the_model_would() {
    for (marks, opening, between) in [
        (
            "<|channel|>",
            "<|start|>assistant<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>final<|message|>",
        ),
        ("'<|tool_call>call:'", "<|channel>thought\n", "<channel|>"),
    ] {
        assert_eq!(
            continued(marks, "reasoning_content"),
            format!("{opening}r"),
            "{marks}"
        );
        assert_eq!(
            continued(marks, "content"),
            format!("{opening}r{between}c"),
            "{marks}"
        );
    }
}

#[test]
fn llama_cpp_continues_between_the_marks_of_reasoning_alone() {
    let user = "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}{% else %}";
    let template = |turn: &str, opening: &str| {
        format!(
            "{user}{turn}{{% endif %}}{{% endfor %}}{{% if add_generation_prompt %}}{opening}{{% endif %}}"
        )
    };
    let turn = "<a>{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}";
    let thinking = template(
        &format!("{turn}<say>{{{{ m.content }}}}<e>"),
        "<a><think>\n{% if enable_thinking is false %}\n</think>\n\n{% endif %}",
    );
    // A history without reasoning: the prompts show its markers.
    let silent = template(
        "<a>{{ m.content }}<e>",
        "<a>{% if enable_thinking is false %}<no></no>{% endif %}",
    );
    let plain = template(" {{ m.content }}</s>", "");
    let lfm = format!("{plain}{{# List of tools: [ #}}");
    for (source, thinks, in_content, in_thought) in [
        (
            &thinking,
            true,
            "<a><think>\nr\n</think>\n\nc",
            "<a><think>\nr",
        ),
        (
            &thinking,
            false,
            "<a><think>\nr\n</think>\n\nc",
            "<a><think>\nr",
        ),
        (&silent, true, "<a>c", "<a>"),
        (&plain, true, "c", ""),
        (
            &lfm,
            true,
            "<|im_start|>assistant\n<think>r</think>c",
            "<|im_start|>assistant\n<think>r",
        ),
    ] {
        let template = ChatTemplate::new(source, "", "").unwrap();
        let continued = |part: &str| {
            let last = json!({"role": "assistant", "content": "c", "reasoning_content": "r"});
            let body = json!({"messages": [{"role": "user", "content": "u"}, last], "continue_final_message": part,
                "enable_thinking": thinks, "compat": "llama.cpp"});
            template
                .params(&Request::from_json(&body).unwrap())
                .unwrap()
                .prompt
        };
        assert_eq!(
            continued("content"),
            format!("<u>u{in_content}"),
            "{source}"
        );
        assert_eq!(
            continued("reasoning_content"),
            format!("<u>u{in_thought}"),
            "{source}"
        );
    }
}

#[test]
fn harmony_takes_reasoning_or_content_next_to_calls() {
    let call = json!({"type": "function", "function": {"name": "f", "arguments": "{}"}});
    let called = json!([{"role": "assistant", "content": "c", "reasoning_content": "r", "tool_calls": [call]}]);
    let message = &dumped("<|channel|> m.thinking", called)[0];
    assert_eq!(
        (&message["thinking"], message.get("content")),
        (&json!("r"), None)
    );
}

#[test]
fn harmony_ends_a_last_turn_like_any_other() {
    let source = "{% for m in messages %}{{ m.content }}<|return|>{% endfor %}{# <|channel|> #}";
    let body = |generation: bool| json!({"messages": [{"role": "user", "content": "u"}], "add_generation_prompt": generation});
    assert_eq!(prompt(source, body(false)).prompt, "u<|end|>");
    assert_eq!(prompt(source, body(true)).prompt, "u<|return|>");
}

#[test]
fn deepseek_v4_orders_results_by_call() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "content": id, "tool_call_id": id});
    let messages = json!([{"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]}, result("b"), result("a"),
                          {"role": "user", "content": "u"}]);
    let contents = |marks: &str| {
        dumped(marks, messages.clone())
            .iter()
            .skip(1)
            .map(|m| m["content"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(contents("dsml_token DSML tool_calls"), ["a", "b", "u"]);
    assert_eq!(contents("dsml_token DSML function_calls"), ["b", "a", "u"]);
}

#[test]
fn deepseek_v4_knows_the_schema_and_closes_empty_reasoning() {
    let source = "{{ response_format|tojson if response_format }}{# dsml_token DSML tool_calls #}";
    let prompt = prompt(
        source,
        json!({
        "messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "c"}],
        "json_schema": {"type": "object"}, "continue_final_message": true}),
    );
    assert_eq!(
        prompt.prompt,
        "{\"type\": \"object\"}<｜Assistant｜></think>c"
    );
}

#[test]
fn gemma4_folds_results_into_the_turn() {
    let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([{"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "r"},
                          {"role": "tool", "content": "{\"t\": 1}", "tool_call_id": "1"},
                          {"role": "tool", "content": "not JSON", "tool_call_id": "2"},
                          {"role": "assistant", "content": "done"}, {"role": "user", "content": "u"}]);
    let folded = dumped("'<|tool_call>call:'", messages.clone());
    assert_eq!(folded.len(), 2);
    let responses =
        json!([{"name": "f", "response": {"t": 1}}, {"name": "2", "response": "not JSON"}]);
    assert_eq!(
        (&folded[0]["tool_responses"], &folded[0]["content"]),
        (&responses, &json!("done"))
    );
    assert_eq!(folded[0]["reasoning_content"], "r");
    assert_eq!(
        dumped(
            "'<|tool_call>call:'#}{#- OpenAI Chat Completions:",
            messages
        )
        .len(),
        5
    );
}

#[test]
fn gemma4_always_begins_a_turn() {
    let source =
        "{% for m in messages %}{{ m.content }}<turn|>\n{% endfor %}{# '<|tool_call>call:' #}";
    let prompt = prompt(
        source,
        json!({"messages": [{"role": "user", "content": "u"}]}),
    );
    assert_eq!(
        prompt,
        Prompt {
            prompt: "u<turn|>\n<|turn>model\n".into(),
            generation_prompt: "<|turn>model\n".into()
        }
    );
}

#[test]
fn muse_glimmer_opens_without_a_recipient() {
    let prompt = prompt(
        &marked(TURNS, "<atem:function_calls><|eom|>"),
        json!({"messages": [{"role": "user", "content": "u"}]}),
    );
    assert_eq!(
        prompt,
        Prompt {
            prompt: "<user>u\n<go>".into(),
            generation_prompt: "<|start|>assistant".into()
        }
    );
}

#[test]
fn translate_gemma_gets_one_part_with_its_languages() {
    let source = marked(DUMP, "[source_lang_code][target_lang_code]");
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect::<Value>()
    };
    let messages = json!([
        {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": texts(&["c", "d"])}
    ]);
    let shown = |kwargs: Value| {
        let body = json!({"messages": messages, "chat_template_kwargs": kwargs, "add_generation_prompt": false});
        prompt(&source, body)
            .prompt
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .collect::<Vec<_>>()
    };
    let part = |text: &str, to: &str| json!([{"type": "text", "text": text, "source_lang_code": "en-GB", "target_lang_code": to}]);
    let plain = shown(json!({}));
    assert_eq!(
        [&plain[0], &plain[1]].map(|message| &message["content"]),
        [&part("a", "en-GB"), &json!("b")]
    );
    assert_eq!(
        shown(json!({"target_lang_code": "de"}))[2]["content"],
        part("c\nd", "de")
    );
    let last = json!({"role": "assistant", "content": "c"});
    let body = json!({"messages": [{"role": "user", "content": "u"}, last], "continue_final_message": true});
    assert_eq!(
        prompt(&source, body).generation_prompt,
        "<start_of_turn>model\nc"
    );
}

#[test]
fn built_in_templates_are_of_their_families() {
    for name in [
        "ministral-3",
        "llm-jp-harmony",
        "gpt-oss",
        "muse-glimmer",
        "functionary-v3.2",
    ] {
        let family = if name == "llm-jp-harmony" {
            "gpt-oss"
        } else {
            name
        };
        let found = family_of(builtin::find(name).unwrap().source);
        assert_eq!(found.map(|family| &*family.name), Some(family));
    }
}
