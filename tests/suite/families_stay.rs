//! What each family knows that no render of its templates shows. Where learning reads all rows of a
//! family, the family can go.

use crate::support::{check_streaming, parse};
use chatparse::internals::format::FAMILIES;
use chatparse::{ChatTemplate, Error, Params, Request, Status, TemplateOptions, builtin};
use serde_json::{Value, json};

/// A template that lists its tools as LFM2's does, and leaves calls out.
const LFM2: &str = "{% if tools %}List of tools: [{{ tools | tojson }}]{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n\
    {{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// A template that takes a question as one part with two languages, as TranslateGemma's does.
const TRANSLATE: &str = "{% set names = {'en-GB': 'English'} %}{% for m in messages %}\
    {% if m.content|length != 1 %}{{ raise_exception('not one part') }}{% endif %}{% set part = m.content[0] %}\
    {% set source_lang_code = part['source_lang_code'] %}{% set target_lang_code = part['target_lang_code'] %}\
    {{ 'From ' + names[source_lang_code] + ' to ' + names[target_lang_code] + ': ' + part.text + '\n' }}{% endfor %}\
    {% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";

/// Thinks like Laguna, whose tags stand on lines of their own in histories.
const LAGUNA: &str = "{# laguna_glm_thinking #}{% for m in messages %}<{{ m.role }}>\n{% if m.reasoning_content %}<think>\n\
    {{ m.reasoning_content }}\n</think>\n{% endif %}{{ m.content }}\n</{{ m.role }}>\n{% endfor %}\
    {% if add_generation_prompt %}<assistant>\n<think>{% endif %}";

/// Writes replies behind an open marker of reasoning, like Nemotron Nano 2.
const NEMOTRON: &str = "{# <SPECIAL_10> <SPECIAL_12> <TOOL_RESPONSE> #}{% for m in messages %}<SPECIAL_11>{{ m.role }}\n\
    {% if m.role == 'assistant' %}<think>\n{% endif %}{{ m.content }}\n{% endfor %}\
    {% if add_generation_prompt %}<SPECIAL_11>assistant\n<think>\n{% endif %}";

/// An output that the family reads, and learning does not read like that, if it makes a prompt at
/// all.
struct Hidden {
    family: &'static str,
    /// A template; the built-in one where it is empty.
    source: &'static str,
    /// Comments of a plain template.
    marks: &'static str,
    /// What the request has besides a question and tools.
    more: Value,
    output: &'static str,
    reasoning: &'static str,
    content: &'static str,
    /// Names, ids and arguments.
    calls: Value,
}

fn row(
    family: &'static str,
    output: &'static str,
    said: [&'static str; 2],
    calls: Value,
) -> Hidden {
    Hidden {
        family,
        source: "",
        marks: "",
        more: json!({"calls_in_reasoning": "llama.cpp"}),
        output,
        reasoning: said[0],
        content: said[1],
        calls,
    }
}

/// A family of which only hosts are told otherwise. `marks`: in a comment of a template without
/// calls; the built-in one where there are none.
fn told(family: &'static str, marks: &'static str) -> Hidden {
    Hidden {
        marks,
        ..row(family, "", ["", ""], json!([]))
    }
}

fn call(arguments: Value) -> Value {
    json!([{"name": "find", "arguments": arguments, "id": ""}])
}

fn hidden() -> Vec<Hidden> {
    vec![
        told("ministral-3", ""),
        row(
            "gpt-oss",
            "<|channel|>commentary to=assistant<|channel|>analysis<|message|>Why<|end|><|start|>assistant\
             <|channel|>commentary to=functions.find json<|message|>{\"any\": 1}<|call|>",
            ["Why", ""],
            call(json!({"any": 1})),
        ),
        row(
            "muse-glimmer",
            "<|message|>To whom?<|eot|>",
            ["", "To whom?"],
            json!([]),
        ),
        told("functionary-v3.2", ""),
        row(
            "kimi-k2",
            "<think>Now.<|tool_call_begin|>functions.find:7<|tool_call_argument_begin|>{}",
            ["Now.", ""],
            json!([{"name": "find", "arguments": {}, "id": "functions.find:7"}]),
        ),
        row(
            "kimi-k3",
            "Hm.<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool=\"find\"<|sep|><|open|>json<|sep|>{\"any\": 1}\
             <|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
            ["Hm.", ""],
            call(json!({"any": 1})),
        ),
        row(
            "ling-3",
            "Now.<tool_call>find</tool_call>\nDone.<|role_end|>",
            ["Now.", "\nDone."],
            call(json!({})),
        ),
        row(
            "cohere2-moe",
            "Hm.<|START_ACTION|>[{\"tool_call_id\": 3, \"tool_name\": \"find\", \"parameters\": {}}]<|END_ACTION|>",
            ["Hm.", ""],
            json!([{"name": "find", "arguments": {}, "id": "3"}]),
        ),
        Hidden {
            source: LFM2,
            ..row(
                "lfm2",
                "<|tool_call_start|>[find(any={'a': [True, None]}, text=\"it's\")]<|tool_call_end|>",
                ["", ""],
                call(json!({"any": {"a": [true, null]}, "text": "it's"})),
            )
        },
        told("gigachat-3", ""),
        told("minimax-m3", ""),
        row(
            "deepseek-v3.2",
            "I see.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"find\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            ["I see.", ""],
            call(json!({})),
        ),
        row(
            "gemma-4",
            "I see.<|tool_call>call:find(any=1)<tool_call|>",
            ["", "I see."],
            call(json!({"any": 1})),
        ),
        told("minicpm5", ""),
        row(
            "qwen3-coder",
            "I see.\n<tool_call>\n<function=find>\n</function>\n</tool_call>",
            ["I see.", ""],
            call(json!({})),
        ),
        Hidden {
            source: TRANSLATE,
            ..row("translate-gemma", "Na und?", ["", "Na und?"], json!([]))
        },
        Hidden {
            source: LAGUNA,
            more: json!({
                "messages": [{"role": "user", "content": "Well?"}, {"role": "assistant", "reasoning_content": "Hm.", "content": "So"}],
                "continue_final_message": true,
                "compat": "llama.cpp",
            }),
            ..told("laguna", "")
        },
        Hidden {
            source: NEMOTRON,
            ..row(
                "nemotron-nano-2",
                "Hm.</think>So.",
                ["Hm.", "So."],
                json!([]),
            )
        },
        told(
            "solar-open",
            "<|begin|>assistant <|think|> <|tool_call:begin|>",
        ),
        told("k2-horizon", "<ifm|tool_calls> <|ifm|im_start|>"),
        told(
            "deepseek-r1-distill",
            "'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>' tool['type'] + '<｜tool▁sep｜>' ['arguments'] | tojson",
        ),
    ]
}

fn params(hidden: &Hidden, learn_only: bool) -> Result<Params, Error> {
    let properties = json!({"text": {"type": "string"}, "any": {}});
    let parameters = json!({"type": "object", "properties": properties});
    let mut body = json!({
        "messages": [{"role": "user", "content": "Well?"}],
        "reasoning_format": "auto",
        "parallel_tool_calls": true,
        "tools": [{"type": "function", "function": {"name": "find", "parameters": parameters}}],
    });
    body.as_object_mut()
        .unwrap()
        .extend(hidden.more.as_object().unwrap().clone());
    let commented = format!(
        "{}{{# {} #}}",
        builtin::find("chatml").unwrap().source,
        hidden.marks
    );
    let source = match (hidden.source, hidden.marks) {
        ("", "") => builtin::find(hidden.family).unwrap().source,
        ("", _) => &commented,
        (source, _) => source,
    };
    let mut options = TemplateOptions::default();
    options.learn_only = learn_only;
    let template = ChatTemplate::with_options(source, &options).unwrap();
    template.params(&Request::from_json(&body).unwrap())
}

#[test]
fn each_family_reads_what_no_render_shows() {
    let rows = hidden();
    let mut families: Vec<&str> = FAMILIES.iter().map(|family| &*family.name).collect();
    families.dedup();
    assert!(
        rows.iter().map(|row| row.family).eq(families),
        "a row for each family"
    );
    let mut wrong = Vec::new();
    for row in &rows {
        if row.output.is_empty() {
            let told = [false, true].map(|learn_only| {
                let params = params(row, learn_only).unwrap();
                (
                    (params.prompt, params.preserved_tokens),
                    params.constraint.triggers().to_vec(),
                    params.delimiters,
                )
            });
            assert_ne!(
                told[0], told[1],
                "{}: hosts are told what is learnt",
                row.family
            );
            continue;
        }
        let read = |params: Params| parse(&params.parser, row.output.as_bytes(), false);
        let message =
            json!({"reasoning": row.reasoning, "content": row.content, "calls": row.calls});
        let expected = (message, Status::Complete);
        let known = read(params(row, false).unwrap());
        if known != expected {
            wrong.push(format!(
                "{}: expected {expected:?}\n     got {known:?}",
                row.family
            ));
        }
        wrong.extend(check_streaming(
            &params(row, false).unwrap().parser,
            row.output.as_bytes(),
            true,
        ));
        if params(row, true).is_ok_and(|params| read(params) == expected) {
            wrong.push(format!("{}: learning reads this, too", row.family));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
