//! Every form of OpenAI's chat-completions body, and the host's options beside it.

use chatparse::message::{Request, ToolChoice};
use chatparse::{ChatTemplate, Error, Params};
use serde_json::{Value, json};

const HI: &str = "Hi";

/// Shows images, by their type, and nothing else but texts.
const SEES: &str = "{% for m in messages %}[{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}\
    {% if p.type == 'image' %}<img>{% elif p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endif %}]{% endfor %}";

fn request(more: Value) -> Result<Request, Error> {
    let mut body = json!({"messages": [{"role": "user", "content": HI}], "tools": [tool("f"), tool("g"), tool("h")]});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    Request::from_json(&body)
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}})
}

fn error(more: Value) -> String {
    request(more).unwrap_err().message().to_owned()
}

fn params(source: &str, messages: Value) -> Params {
    let request = Request::from_json(&json!({"messages": messages})).unwrap();
    ChatTemplate::new(source, "", "")
        .unwrap()
        .params(&request)
        .unwrap()
}

#[test]
fn a_tool_is_chosen_by_its_name() {
    let named =
        request(json!({"tool_choice": {"type": "function", "function": {"name": "g"}}})).unwrap();
    assert_eq!(named.output.tool_choice, ToolChoice::Required);
    let template = ChatTemplate::builtin("json-call").unwrap();
    let params = template.params(&named).unwrap();
    // The template shows all of them.
    assert!(
        ["f", "g", "h"]
            .iter()
            .all(|name| params.prompt.contains(&format!("\"name\": \"{name}\"")))
    );
    let grammar = params.grammar();
    assert!(
        grammar.text.contains("\"g\\\"") || grammar.text.contains("tool-g"),
        "{}",
        grammar.text
    );
    assert!(
        !grammar.text.contains("tool-f") && !grammar.text.contains("tool-h"),
        "{}",
        grammar.text
    );

    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
        {"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "h"}}]}});
    let allowed = request(json!({"tool_choice": allowed})).unwrap();
    let names: Vec<&str> = allowed
        .allowed_tools
        .iter()
        .flatten()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        (allowed.output.tool_choice, names),
        (ToolChoice::Auto, vec!["f", "h"])
    );

    let unknown = error(json!({"tool_choice": {"type": "function", "function": {"name": "z"}}}));
    assert_eq!(unknown, "tool_choice.function.name: there is no tool \"z\"");
    let mode = error(
        json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": []}}}),
    );
    assert_eq!(
        mode,
        "tool_choice.allowed_tools.mode: must be auto or required, not \"none\""
    );
}

#[test]
fn an_answer_has_the_format_that_is_asked_for() {
    let schema = |format: Value| {
        request(json!({"response_format": format}))
            .unwrap()
            .output
            .json_schema
            .0
    };
    assert_eq!(schema(json!({"type": "text"})), Value::Null);
    assert_eq!(
        schema(json!({"type": "json_object"})),
        json!({"type": "object"})
    );
    let named = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": {"type": "integer"}}});
    assert_eq!(schema(named), json!({"type": "integer"}));
    assert!(
        error(json!({"response_format": {"type": "xml"}}))
            .starts_with("response_format.type: must be one of text,")
    );
    assert_eq!(
        error(json!({"response_format": {"type": "json_schema"}})),
        "response_format.json_schema: missing"
    );
}

#[test]
fn custom_tools_are_functions_of_one_text() {
    let custom = |format: Value| json!({"tools": [{"type": "custom", "custom": {"name": "sql", "description": "d", "format": format}}]});
    let tool = &request(custom(json!({"type": "text"}))).unwrap().tools[0];
    let input = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
    assert_eq!((tool.name.as_str(), &*tool.parameters), ("sql", &input));
    let regex = json!({"type": "grammar", "grammar": {"syntax": "regex", "definition": "a|b"}});
    let tool = &request(custom(regex)).unwrap().tools[0];
    assert_eq!(
        tool.parameters["properties"]["input"]["pattern"],
        "^(?:a|b)$"
    );
    let other = error(custom(
        json!({"type": "grammar", "grammar": {"syntax": "ebnf", "definition": "a"}}),
    ));
    assert_eq!(
        other,
        "tools[0].custom.format.grammar.syntax: must be regex or lark, not \"ebnf\""
    );
    let call = json!({"messages": [{"role": "assistant", "tool_calls": [
        {"id": "1", "type": "custom", "custom": {"name": "sql", "input": "a \"b\""}}]}]});
    assert_eq!(
        request(call).unwrap().messages[0].tool_calls[0].arguments,
        r#"{"input":"a \"b\""}"#
    );
}

#[test]
fn tools_keep_what_templates_show() {
    let tools = json!({"tools": [{"type": "function", "function": {"name": "f", "description": "d", "strict": true,
        "parameters": {}, "return": {"type": "string"}, "odd": null}}]});
    let shown = request(tools).unwrap().tools[0].to_json()["function"].to_string();
    assert_eq!(
        shown,
        r#"{"name":"f","description":"d","parameters":{},"strict":true,"return":{"type":"string"}}"#
    );
}

#[test]
fn media_is_what_the_template_shows_or_a_marker() {
    let image = json!({"type": "image_url", "image_url": {"url": "x.png"}});
    let sound = json!({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}});
    let messages = json!([{"role": "user", "content": HI}, {"role": "user", "content": [{"type": "text", "text": "a"}, image, sound]}]);
    let shown = params(SEES, messages.clone());
    assert_eq!(shown.prompt, "[Hi][a<img><__media__>]");
    let found: Vec<_> = shown
        .media
        .iter()
        .map(|media| (&*media.kind, media.message, media.part, media.native))
        .collect();
    assert_eq!(found, [("image", 1, 1, true), ("audio", 1, 2, false)]);
    assert_eq!(
        (&*shown.media[0].text, &*shown.media[0].source),
        ("<img>", &image)
    );
    // A template that knows texts only.
    let blind = params(
        "{% for m in messages %}[{{ m.content }}]{% endfor %}",
        messages,
    );
    assert_eq!(blind.prompt, "[Hi][a<__media__><__media__>]");
    assert!(blind.media.iter().all(|media| !media.native));
    let strange = request(json!({"messages": [{"role": "user", "content": [{"type": "smell"}]}]}))
        .unwrap_err();
    assert!(
        strange
            .message()
            .starts_with("messages[0].content[0].type: must be text, refusal,"),
        "{strange}"
    );
}

/// Each role in another way: texts and images have tags of their own, lists are printed, and texts
/// alone are shown. `PIC` is an image.
const ROLES: &str = "{% for m in messages %}{% if m.role == 'tool' %}<r>{{ m.content }}</r>{% else %}<{{ m.role[0] }}>\
    {% if m.content is string %}<t>{{ m.content }}</t>{% else %}{% for p in m.content %}{% if p.type == 'text' %}\
    <t>{{ p.text }}</t>{% elif p.type == 'image' and m.role == 'user' %}PIC{% endif %}{% endfor %}{% endif %}{% endif %}\
    {% endfor %}";

/// The body of a conversation that ends with this message.
fn ends_with(role: &str, content: &str, compat: &str) -> Value {
    let part = |c: char| match c {
        'i' => json!({"type": "image_url", "image_url": {"url": "U"}}),
        's' => json!({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}),
        'f' => json!({"type": "file", "file": {"file_id": "F"}}),
        text => json!({"type": "text", "text": text}),
    };
    let message = json!({"role": role, "content": content.chars().map(part).collect::<Value>()});
    json!({"messages": [{"role": "user", "content": HI}, message], "compat": compat})
}

#[test]
fn media_have_a_place_in_each_role() {
    let rows = [
        ("user", "ai", "<u><t>a</t><p>"),
        ("user", "ia", "<u><p><t>a</t>"),
        ("user", "aib", "<u><t>a</t><p><t>b</t>"),
        ("user", "i", "<u><p>"),
        ("user", "ii", "<u><p><p>"),
        ("user", "as", "<u><t>a[M]</t>"),
        ("user", "f", "<u><t>[M]</t>"),
        ("user", "aif", "<u><t>a<p>[M]</t>"),
        ("assistant", "ai", "<a><t>a[M]</t>"),
        ("assistant", "i", "<a><t>[M]</t>"),
        ("system", "ia", "<s><t>[M]a</t>"),
        ("developer", "ia", "<s><t>[M]a</t>"),
        ("tool", "ai", "<r>a[M]</r>"),
        ("tool", "ii", "<r>[M][M]</r>"),
    ];
    for (image, medium) in [
        ("<p>", "<p>"),
        ("\n<p>\n", "<p>"),
        ("{{ loop.index }}<p>", "<p>"),
    ] {
        let template = ChatTemplate::new(&ROLES.replace("PIC", image), "", "").unwrap();
        for (role, content, shown) in rows {
            let body = ends_with(role, content, "off");
            let options = json!({"media_marker": "[M]"});
            let params = template
                .params(&Request::from_json_with(&body, &options).unwrap())
                .unwrap();
            let prompt = params
                .prompt
                .replace('\n', "")
                .replace(|c: char| c.is_ascii_digit(), "");
            assert_eq!(
                prompt,
                format!("<u><t>Hi</t>{shown}"),
                "{role} {content} {image:?}"
            );
            let texts: Vec<(&str, bool)> = params
                .media
                .iter()
                .map(|media| (&*media.text, media.native))
                .collect();
            let wanted = content.chars().filter_map(|c| match c {
                'i' => Some(if shown.contains("<p>") {
                    (medium, true)
                } else {
                    ("[M]", false)
                }),
                's' | 'f' => Some(("[M]", false)),
                _ => None,
            });
            assert_eq!(texts, wanted.collect::<Vec<_>>(), "{role} {content}");
        }
    }
    // llama.cpp's way is that of the user's messages for all.
    let theirs = ChatTemplate::new(&ROLES.replace("PIC", "<p>"), "", "").unwrap();
    let params = theirs
        .params(&Request::from_json(&ends_with("tool", "ai", "llama.cpp")).unwrap())
        .unwrap();
    assert!(
        params.media[0].native && params.prompt.contains("'type': 'image'"),
        "{}",
        params.prompt
    );
}

#[test]
fn media_that_this_prompt_does_not_have_are_the_markers() {
    // Shows images of the last message only.
    let last = SEES.replace(
        "p.type == 'image' %}",
        "p.type == 'image' %}{% if m == messages[-1] %}",
    );
    let last = last.replace("<img>", "<img>{% endif %}");
    let image = json!({"type": "image_url", "image_url": {"url": "x.png"}});
    let (old, new) = (
        json!({"role": "user", "content": [image]}),
        json!({"role": "user", "content": HI}),
    );
    let shown = params(&last, json!([new, old]));
    assert_eq!(
        (&*shown.prompt, shown.media[0].native),
        ("[Hi][<img>]", true)
    );
    let gone = params(
        &last,
        json!([old, new, {"role": "user", "content": [image, {"type": "text", "text": "b"}]}]),
    );
    assert_eq!(gone.prompt, "[<__media__>][Hi][<__media__>b]");
    assert!(gone.media.len() == 2 && gone.media.iter().all(|media| !media.native));
    // Of a message that is not shown, nothing is.
    let deaf = params(
        &SEES.replace("[{% if", "[{% if m.role == 'user' %}{% elif"),
        json!([old, new]),
    );
    assert_eq!((&*deaf.prompt, deaf.media.len()), ("[][]", 0));
    assert_eq!(
        deaf.notes,
        [
            "messages[1].content: not in the prompt",
            "messages[0].content[0]: not in the prompt"
        ]
    );
}

#[test]
fn other_fields_of_messages() {
    let messages =
        |messages: Value| request(json!({"messages": messages})).map(|request| request.messages);
    let refused =
        messages(json!([{"role": "assistant", "content": null, "refusal": "No."}])).unwrap();
    assert_eq!(refused[0].content, "No.");
    let parts = messages(
        json!([{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]),
    )
    .unwrap();
    assert_eq!(parts[0].text(), "No.");
    let old =
        messages(json!([{"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}]))
            .unwrap();
    assert_eq!(
        (
            &*old[0].tool_calls[0].name,
            &*old[0].tool_calls[0].arguments
        ),
        ("f", "{}")
    );
    for field in ["reasoning_content", "reasoning", "thinking"] {
        let thought =
            messages(json!([{"role": "assistant", "content": "", field: "Hm."}])).unwrap();
        assert_eq!(thought[0].reasoning_content, "Hm.", "{field}");
    }
    let audio = messages(json!([{"role": "assistant", "audio": {"id": "1"}}])).unwrap_err();
    assert!(audio.message().contains("audio"), "{audio}");
    assert_eq!(
        request(json!({"reasoning_effort": "low"}))
            .unwrap()
            .template_kwargs["reasoning_effort"],
        "low"
    );
}

#[test]
fn options_count_before_the_body() {
    let body = json!({"messages": [], "enable_thinking": true, "now": 1});
    let request =
        Request::from_json_with(&body, &json!({"enable_thinking": false, "dialects": "off"}))
            .unwrap();
    assert_eq!(
        (request.output.enable_thinking, request.now),
        (false, Some(1))
    );
    let unknown = Request::from_json_with(&body, &json!({"dialect": "off"})).unwrap_err();
    assert!(
        unknown
            .message()
            .starts_with("options.dialect: there is no such option; there are add_generation"),
        "{unknown}"
    );
    let text = Request::from_text_with(r#"{"messages": []}"#, "[").unwrap_err();
    assert!(
        text.message().starts_with("options: not JSON") || text.message().contains("options"),
        "{text}"
    );
}

/// The fields of OpenAI, vLLM, SGLang, llama.cpp's server, Ollama, and of those who sell models.
const FIELDS_OF_OTHERS: &str = "audio best_of cache_prompt chat_format dry_allowed_length dry_base \
    dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range early_stopping ebnf echo \
    extra_body format frequency_penalty grammar_lazy grammar_triggers guided_choice \
    guided_decoding_backend guided_grammar guided_json guided_regex id_slot ignore_eos include_reasoning \
    include_stop_str_in_output keep_alive kv_transfer_params language length_penalty logit_bias logits_processors logprobs lora \
    lora_path max_completion_tokens max_tokens max_tool_calls metadata min_keep min_p min_tokens mirostat mirostat_eta \
    mirostat_tau mm_processor_kwargs modalities model models n n_discard n_indent n_keep n_predict n_probs new num_ctx options \
    parse_tool_calls plan plugins post_sampling_probs prediction presence_penalty priority prompt prompt_cache_key \
    prompt_logprobs prompt_mode provider random_seed raw reasoning_budget regex repeat_last_n repeat_penalty \
    repetition_penalty request_id response_fields return_progress return_tokens return_tokens_as_token_ids route row \
    safety_identifier samplers seed separate_reasoning service_tier skip_special_tokens \
    spaces_between_special_tokens stop stop_token_ids store stream stream_options stream_reasoning structural_tag \
    structured_outputs suffix t_max_predict_ms temperature template thinking_budget thinking_forced_open \
    timings_per_token top_k top_logprobs top_n_sigma top_p transforms truncate_prompt_tokens typical_p use_beam_search user \
    verbosity vl_high_resolution_images xtc_probability xtc_threshold";

#[test]
fn fields_of_others_are_no_slips() {
    for field in FIELDS_OF_OTHERS.split_whitespace() {
        assert!(
            request(json!({"messages": [], field: 1})).is_ok(),
            "{field}"
        );
    }
    // These change what the model sees.
    for field in [
        "chat_template",
        "enable_search",
        "function_call",
        "functions",
        "reasoning",
        "safe_prompt",
        "system",
        "web_search_options",
    ] {
        let error = error(json!({"messages": [], field: 1}));
        assert!(
            error.starts_with(&format!("{field}: ")) && !error.contains("did you mean"),
            "{error}"
        );
    }
}
