//! What the analysis learns from small templates, one for each way to write a turn.

use chatparse::ChatTemplate;
use chatparse::internals::analysis::{Layout, ToolFormat, analyze};
use chatparse::internals::template::Template;

fn learn(source: &str) -> Layout {
    analyze(&Template::new(source, "<s>", "</s>").expect("the template compiles"))
}

/// A template of turns `<|role|>…<|end|>`: `text` writes an assistant's message, `prompt` opens its
/// turn.
fn turns(text: &str, prompt: &str) -> String {
    [
        "{%- for m in messages -%}",
        "{%- if m.role == 'assistant' -%}{{- '<|assistant|>' -}}",
        text,
        "{{- '<|end|>\\n' -}}",
        "{%- else -%}{{- '<|' ~ m.role ~ '|>' ~ m.content ~ '<|end|>\\n' -}}{%- endif -%}",
        "{%- endfor -%}",
        "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}",
        prompt,
        "{%- endif -%}",
    ]
    .concat()
}

const CONTENT: &str = "{{- m.content or '' -}}";

/// As [`turns`], with tools in front, content first and then what `calls` writes where there are
/// calls.
fn tool_turns(calls: &str) -> String {
    let text = [
        "{{- m.content or '' -}}{%- if m.tool_calls -%}",
        calls,
        "{%- endif -%}",
    ]
    .concat();
    "{%- if tools -%}{%- for t in tools -%}{{- t.function.name ~ '\\n' -}}{%- endfor -%}{%- endif -%}".to_owned()
        + &turns(&text, "")
}

/// A loop over the calls with `f` for the function.
fn each_call(body: &str) -> String {
    [
        "{%- for c in m.tool_calls -%}{%- set f = c.function -%}",
        body,
        "{%- endfor -%}",
    ]
    .concat()
}

/// A loop over the arguments of `f` with `k` and `v`.
fn each_argument(body: &str) -> String {
    [
        "{%- for k, v in f.arguments.items() -%}",
        body,
        "{%- endfor -%}",
    ]
    .concat()
}

// Reasoning
// ----------------------------------------------------------------------------------------------------------

#[test]
fn no_reasoning() {
    let layout = learn(&turns(CONTENT, ""));
    let plain = Layout {
        user_start: "<|user|>".into(),
        assistant_start: "<|assistant|>".into(),
        ..Layout::default()
    };
    assert_eq!(layout, plain);
}

fn reasoning(source: &str) -> Option<[String; 2]> {
    learn(source)
        .reasoning
        .map(|reasoning| [reasoning.start, reasoning.end])
}

fn tags(start: &str, end: &str) -> Option<[String; 2]> {
    Some([start.to_owned(), end.to_owned()])
}

#[test]
fn reasoning_in_the_history() {
    let text = "{%- if m.reasoning_content -%}{{- '<think>\\n' ~ m.reasoning_content ~ '\\n</think>\\n\\n' -}}{%- endif -%}";
    let source = turns(&[text, CONTENT].concat(), "");
    let layout = learn(&source);
    assert_eq!(reasoning(&source), tags("<think>\n", "\n</think>\n\n"));
    assert_eq!(layout.assistant_start, "<|assistant|>");
    assert_eq!(layout.preserved_tokens, ["<think>", "</think>"]);
}

#[test]
fn reasoning_behind_words() {
    let text = "{%- if m.reasoning_content -%}{{- '\\nHm. ' ~ m.reasoning_content ~ '\\n[ANSWER]' -}}{%- endif -%}";
    assert_eq!(
        reasoning(&turns(&[text, CONTENT].concat(), "")),
        tags("Hm. ", "\n[ANSWER]")
    );
}

#[test]
fn reasoning_opened_by_the_prompt() {
    let prompt = "{%- if enable_thinking -%}{{- '<think>' -}}{%- endif -%}";
    assert_eq!(
        reasoning(&turns(CONTENT, prompt)),
        tags("<think>", "</think>")
    );
}

#[test]
fn reasoning_closed_by_the_prompt() {
    let prompt = "{%- if not enable_thinking -%}{{- '<think></think>' -}}{%- endif -%}";
    assert_eq!(
        reasoning(&turns(CONTENT, prompt)),
        tags("<think>", "</think>")
    );
    let prompt =
        "{{- '<think>' -}}{%- if not enable_thinking -%}{{- '</think>\\n' -}}{%- endif -%}";
    assert_eq!(
        reasoning(&turns(CONTENT, prompt)),
        tags("<think>", "</think>\n")
    );
}

#[test]
fn reasoning_switched_in_two_places() {
    let prompt = "{%- if not enable_thinking -%}{{- '<think>\\n\\n</think>\\n' -}}{%- endif -%}";
    let system =
        "{{- '<|system|>Thinking: ' ~ ('on' if enable_thinking else 'off') ~ '<|end|>\\n' -}}";
    assert_eq!(
        reasoning(&(system.to_owned() + &turns(CONTENT, prompt))),
        tags("<think>", "</think>")
    );
}

#[test]
fn reasoning_before_calls_only() {
    let text = "{%- if m.tool_calls -%}{{- '<think>' ~ m.reasoning_content ~ '</think>' -}}\
                {%- for c in m.tool_calls -%}{{- '<call>' ~ c.function.name ~ c.function.arguments | tojson ~ '</call>' -}}{%- endfor -%}{%- endif -%}";
    assert_eq!(
        reasoning(&turns(&[CONTENT, text].concat(), "")),
        tags("<think>", "</think>")
    );
}

// Content
// ------------------------------------------------------------------------------------------------------------

#[test]
fn content_between_markers() {
    let text = "{%- if m.content -%}{{- '<say>' ~ m.content ~ '</say>' -}}{%- endif -%}\
                {%- if m.tool_calls -%}{{- '<calls>' ~ m.tool_calls | tojson ~ '</calls>' -}}{%- endif -%}";
    let layout = learn(&turns(text, ""));
    assert_eq!(layout.preserved_tokens[..2], ["<say>", "</say>"]);
    assert_eq!(layout.assistant_start, "<|assistant|><say>");
}

// Tool calls in JSON
// -------------------------------------------------------------------------------------------------

/// What begins the calls of a message, each call, and all markers.
fn frame(layout: &Layout) -> (&str, &str, &[String]) {
    (
        &layout.tools.section_start,
        &layout.tools.per_call_start,
        &layout.preserved_tokens,
    )
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn json_call_by_call() {
    let calls = each_call(
        "{{- '\\n<tool_call>\\n{\"name\": \"' ~ f.name ~ '\", \"arguments\": ' ~ f.arguments | tojson ~ '}\\n</tool_call>' -}}",
    );
    let layout = learn(&tool_turns(&calls));
    assert_eq!(layout.tools.format, ToolFormat::JsonNative);
    assert_eq!(
        frame(&layout),
        (
            "",
            "<tool_call>\n",
            &*owned(&["<tool_call>", "</tool_call>"])
        )
    );
}

#[test]
fn json_array_with_ids() {
    let calls = "{{- '[TOOL_CALLS] [' -}}".to_owned()
        + &each_call(
            "{{- '{\"id\": \"' ~ c.id ~ '\", \"tool\": \"' ~ f.name ~ '\", \"input\": ' ~ f.arguments | tojson ~ '}' -}}\
             {%- if not loop.last -%}{{- ', ' -}}{%- endif -%}",
        )
        + "{{- ']</calls>' -}}";
    let layout = learn(&tool_turns(&calls));
    assert_eq!(layout.tools.format, ToolFormat::JsonNative);
    assert_eq!(
        frame(&layout),
        ("[TOOL_CALLS] ", "", &*owned(&["[TOOL_CALLS]", "</calls>"]))
    );
}

#[test]
fn json_with_the_name_as_key() {
    let calls = each_call("{{- '<a>{\"' ~ f.name ~ '\": ' ~ f.arguments | tojson ~ '}</a>' -}}");
    let layout = learn(&tool_turns(&calls));
    assert_eq!(layout.tools.format, ToolFormat::JsonNative);
    assert_eq!(frame(&layout), ("", "<a>", &*owned(&["<a>", "</a>"])));
}

#[test]
fn json_with_a_mistake_is_json() {
    let calls = each_call(
        "{{- '<a>{\"name\": \"' ~ f.name ~ '\", \"arguments\" ' ~ f.arguments | tojson ~ '}</a>' -}}",
    );
    let layout = learn(&tool_turns(&calls));
    assert_eq!(
        (layout.tools.format, layout.calls_marker()),
        (ToolFormat::JsonNative, "<a>")
    );
}

// Tagged tool calls
// --------------------------------------------------------------------------------------------------

#[test]
fn tags_with_json_arguments() {
    let calls = "{{- '<calls>' -}}".to_owned()
        + &each_call(
            "{{- '<call><fn>' ~ f.name ~ '</fn><args>' ~ f.arguments | tojson ~ '</args></call>' -}}",
        )
        + "{{- '</calls>' -}}";
    let layout = learn(&tool_turns(&calls).replace("'<|end|>\\n'", "''"));
    assert_eq!(layout.tools.format, ToolFormat::TagWithJson);
    let markers = owned(&[
        "<calls>",
        "</calls>",
        "<call>",
        "</call>",
        "<fn>",
        "</args>",
        "</fn><args>",
    ]);
    assert_eq!(frame(&layout), ("<calls>", "<call>", &*markers));
}

#[test]
fn tags_all_the_way() {
    let argument = each_argument("{{- '<parameter=' ~ k ~ '>\\n' ~ v ~ '\\n</parameter>\\n' -}}");
    let body = [
        "{{- '<tool_call>\\n<function=' ~ f.name ~ '>\\n' -}}",
        &argument,
        "{{- '</function>\\n</tool_call>' -}}",
    ];
    let layout = learn(&tool_turns(&each_call(&body.concat())).replace("'<|end|>\\n'", "''"));
    assert_eq!(layout.tools.format, ToolFormat::TagWithTagged);
    let markers = owned(&[
        "<tool_call>",
        "</tool_call>",
        "<function=",
        "</function>",
        ">",
        "<parameter=",
        "</parameter>",
    ]);
    assert_eq!(frame(&layout), ("", "<tool_call>\n", &*markers));
}

#[test]
fn tags_for_keys_and_values() {
    let argument = each_argument("{{- '<key>' ~ k ~ '</key>\\n<value>' ~ v ~ '</value>' -}}");
    let body = [
        "{{- '<call>' ~ f.name ~ '<sep>\\n' -}}",
        &argument,
        "{{- '</call>' -}}",
    ];
    let layout = learn(&tool_turns(&each_call(&body.concat())).replace("'<|end|>\\n'", "''"));
    let markers = owned(&[
        "<call>", "</call>", "<sep>", "<key>", "</key>", "<value>", "</value>",
    ]);
    assert_eq!(frame(&layout), ("", "<call>", &*markers));
}

#[test]
fn arguments_with_a_separator() {
    let argument = each_argument(
        "{{- '<p=' ~ k ~ '>' ~ v ~ '</p>' -}}{%- if not loop.last -%}{{- ', ' -}}{%- endif -%}",
    );
    let body = [
        "{{- '<calls><fn=' ~ f.name ~ '>' -}}",
        &argument,
        "{{- '</fn></calls>' -}}",
    ];
    let layout = learn(&tool_turns(&each_call(&body.concat())).replace("'<|end|>\\n'", "''"));
    assert!(
        [",", "</p>", "<p="]
            .iter()
            .all(|mark| layout.preserved_tokens.iter().any(|token| token == mark))
    );
}

#[test]
fn the_texts_around_ids_are_markers_and_no_id_is() {
    // Without the tools in front, the name stands in the call alone.
    let markers = |body: &str| {
        let text = [
            "{{- m.content or '' -}}{%- if m.tool_calls -%}",
            &each_call(body),
            "{%- endif -%}",
        ]
        .concat();
        learn(&turns(&text, "")).preserved_tokens
    };
    assert_eq!(
        markers("{{- '[CALL]' ~ f.name ~ '[ID]' ~ c.id ~ '[ARGS]' ~ f.arguments | tojson -}}"),
        ["[CALL]", "[ID]", "[ARGS]"]
    );
    assert_eq!(
        markers(
            "{{- '[CALL]' ~ f.name ~ '[ARGS]' ~ f.arguments | tojson ~ '[ID]' ~ c.id ~ '[DONE]' -}}"
        ),
        ["[CALL]", "[DONE]", "[ARGS]", "[ID]"]
    );
    let call =
        "{{- '<call>' ~ c.id ~ '<name>' ~ f.name ~ '<args>' ~ f.arguments | tojson ~ '</call>' -}}";
    assert_eq!(markers(call), ["<call>", "</call>", "<name>", "<args>"]);
}

// Turns, work-arounds, evidence, hostile templates
// ---------------------------------------------------------------------

#[test]
fn a_later_question_shows_the_users_start() {
    let source = "{%- if not messages -%}{{- raise_exception('no messages') -}}{%- endif -%}"
        .to_owned()
        + &turns(CONTENT, "").replace("'<|' ~ m.role ~ '|>'", "'[' ~ m.role | upper ~ '] '");
    assert_eq!(learn(&source).user_start, "[USER]");
}

#[test]
fn an_instruction_names_the_markers() {
    let named = "{# Write your thoughts between <think></think> and write your response between <response></response> #}";
    let layout = learn(&(named.to_owned() + &turns(CONTENT, "")));
    assert_eq!(
        layout.preserved_tokens,
        ["<think>", "</think>", "<response>", "</response>"]
    );
    // Other blocks are not for thoughts.
    let named = "{# Write calls between <tool_call></tool_call> #}";
    assert_eq!(
        learn(&(named.to_owned() + &turns(CONTENT, ""))).preserved_tokens,
        [""; 0]
    );
}

#[test]
fn reasoning_cut_from_the_history() {
    let text = "{{- m.content.split('</why>')[-1] -}}";
    assert_eq!(
        reasoning(&turns(text, "{{- '<why>\\n' -}}")),
        tags("<why>", "</why>")
    );
    // The source names where it cuts, whether or not the prompt opens reasoning; a cut that keeps
    // the text shows nothing.
    assert_eq!(reasoning(&turns(text, "")), tags("<why>", "</why>"));
    let text = "{{- m.content.split('</why>')[0] -}}";
    assert_eq!(reasoning(&turns(text, "")), None);
}

#[test]
fn a_tag_around_a_turn_is_a_stop() {
    let tags = turns(CONTENT, "")
        .replace("<|assistant|>", "<bot>")
        .replace("'<|end|>\\n' -}}{%- else", "'</bot>\\n' -}}{%- else");
    assert_eq!(learn(&tags).additional_stops, ["</bot>"]);
    assert_eq!(learn(&turns(CONTENT, "")).additional_stops, [""; 0]);
}

#[test]
fn an_instruction_behind_the_conversation() {
    let source = tool_turns(&each_call(
        "{{- '<call>' ~ f.name ~ '(' ~ f.arguments | tojson ~ ')</call>' -}}",
    ));
    let source = source.replace(
        "{%- if add_generation_prompt",
        "{{- '<|system|>Be good.<|end|>\\n' -}}{%- if add_generation_prompt",
    );
    let layout = learn(&source);
    assert_eq!(
        (layout.tools.format, &*layout.tools.per_call_start),
        (ToolFormat::TagWithJson, "<call>")
    );
}

#[test]
fn each_part_of_a_turn_has_evidence() {
    let calls = each_call(
        "{{- '<a>{\"name\": \"' ~ f.name ~ '\", \"arguments\": ' ~ f.arguments | tojson ~ '}</a>' -}}",
    );
    let template =
        ChatTemplate::new(&tool_turns(&calls), "<s>", "</s>").expect("the template compiles");
    let evidence = template.evidence();
    for (part, _) in template.turn(true).rows() {
        assert!(
            evidence.iter().any(|item| item.field == part),
            "{part} came from nowhere"
        );
    }
    let shown = evidence
        .iter()
        .find(|item| item.field == "call")
        .expect("calls");
    let source = &shown.source;
    assert!(
        !source.left.contains("<a>") && source.right.contains("<a>{\"name\""),
        "{shown:?}"
    );
    assert_eq!(shown.to_json()["question"], "a reply / a call");
}

#[test]
fn a_layout_as_json_groups_its_fields() {
    let json = Layout::default().to_json();
    assert_eq!(json["tools"]["format"], "none");
    assert_eq!(json["user_start"], "");
}

#[test]
fn hostile_templates_teach_little_and_do_no_harm() {
    let long = "{%- for i in range(2000) -%}{{- '<[<[' * 200 -}}{%- endfor -%}";
    let sources = [
        "{{ raise_exception('no') }}".to_owned(),
        "".to_owned(),
        "{{ messages | tojson }}".to_owned(),
        "{{ messages | tojson }}{{ tools | tojson }}".to_owned(),
        "{%- for m in messages -%}{{- m.content -}}{{- m.reasoning_content -}}{%- endfor -%}".to_owned(),
        "{%- for m in messages -%}{{- '<' ~ m.content ~ m.tool_calls -}}{%- endfor -%}".to_owned(),
        "{%- for m in messages -%}{{- '[' ~ m.tool_calls ~ 'é<' ~ m.content ~ 'ü' -}}{%- endfor -%}".to_owned(),
        tool_turns(&each_call("{{- '}' ~ f.name ~ '{' -}}")),
        tool_turns(&each_call("{{- '{\"' ~ f.name ~ '\"' -}}")),
        tool_turns(&each_call("{{- ': \"' ~ f.name ~ '\"' -}}")),
        tool_turns(&each_call("{{- '<é' ~ f.name ~ 'é' ~ c.id ~ 'é>' -}}")),
        tool_turns(&each_call(&("{{- f.name ~ '<' ~ c.id -}}".to_owned() + long))),
        tool_turns(&each_call(&(long.to_owned() + "{{- '[]<>' ~ f.name ~ f.arguments -}}"))),
    ];
    for source in sources {
        assert!(learn(&source).to_json().is_object(), "{source}");
    }
}
