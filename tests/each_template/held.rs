//! What a request is told of its grammar: one that asks for something, or why there is none.

use chatparse::chat::Constraint;
use chatparse::grammar::{Dialect, Recogniser, TriggerKind};
use chatparse::{ChatTemplate, Params, Request, builtin};
use serde_json::{Value, json};

use crate::written::all;

/// Words of our own that no template writes.
const OURS: [&str; 2] = ["FF_name", "AA_argument"];

fn bodies() -> Vec<(&'static str, Value)> {
    let parameters =
        json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let body = |more: Value| {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "now": 0});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let tools = json!([tool("get"), tool("get_all")]);
    let format = json!({"type": "json_schema", "json_schema": {"schema": parameters}});
    let named = json!({"type": "function", "function": {"name": "get"}});
    vec![
        ("auto", body(json!({"tools": tools}))),
        (
            "required",
            body(json!({"tools": tools, "tool_choice": "required"})),
        ),
        ("named", body(json!({"tools": tools, "tool_choice": named}))),
        (
            "parallel",
            body(json!({"tools": tools, "parallel_tool_calls": true})),
        ),
        (
            "compact",
            body(json!({"tools": tools, "json_spacing": "compact"})),
        ),
        ("schema", body(json!({"response_format": format}))),
        (
            "tools and schema",
            body(json!({"response_format": format, "tools": tools})),
        ),
    ]
}

/// What is wrong with what this request is told.
fn told(template: &ChatTemplate, asked: &str, body: &Value) -> Option<String> {
    let request = Request::from_json(body).expect("the body is a request");
    // A template may refuse tools.
    let params = template.params(&request).ok()?;
    let (grammar, triggers) = (params.grammar(), params.constraint.triggers());
    let mut texts = triggers
        .iter()
        .map(|trigger| &trigger.value)
        .chain(&params.preserved_tokens);
    if let Some(text) =
        texts.find(|text| text.trim().is_empty() || OURS.iter().any(|ours| text.contains(ours)))
    {
        return Some(format!("the trigger or token {text:?}"));
    }
    if params.constraint == Constraint::Free {
        let reason = grammar.text.is_empty() && !grammar.report.is_empty();
        let reason = reason && (!asked.ends_with("schema") || body["grammar_style"] == "llama.cpp");
        return (!reason).then(|| format!("no grammar, and {:?}", grammar.report));
    }
    if params.constraint.is_lazy() && (triggers.is_empty() || asked.ends_with("schema")) {
        return Some("a grammar that is lazy".to_owned());
    }
    // What a lazy grammar constrains begins with its trigger, and any other behind the prompt's
    // end.
    let begin = if params.constraint.is_lazy() {
        ""
    } else {
        &*params.generation_prompt
    };
    match Recogniser::new(&grammar.text) {
        Err(error) => Some(format!("{error}\n{}", grammar.text)),
        Ok(recogniser) if recogniser.accepts(begin) => {
            Some(format!("a grammar that asks for nothing\n{}", grammar.text))
        }
        Ok(recogniser) => recogniser
            .vain()
            .map(|rule| format!("{rule} is or repeats nothing\n{}", grammar.text)),
    }
}

#[test]
fn a_grammar_asks_for_something_or_the_report_says_why_there_is_none() {
    let own = builtin::BUILTINS.iter().map(|one| {
        (
            one.name,
            ChatTemplate::new(one.source, "<BOS>", "<EOS>").unwrap(),
        )
    });
    let own: Vec<_> = own.collect();
    let all = all()
        .iter()
        .map(|loaded| (&*loaded.name, &loaded.template))
        .chain(own.iter().map(|(name, one)| (*name, one)));
    let mut wrong = Vec::new();
    for (name, template) in all {
        for style in ["faithful", "llama.cpp"] {
            for (asked, mut body) in bodies() {
                body["grammar_style"] = style.into();
                wrong.extend(
                    told(template, asked, &body)
                        .map(|wrong| format!("{name}, {asked}, {style}: {wrong}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// What the grammar refuses behind its trigger is refused from the output's first byte on, too: by
/// the matcher, and in other dialects.
#[test]
fn a_call_of_another_tool_is_held_from_the_first_byte_on() {
    let mut tried = 0;
    for loaded in all() {
        let Some(written) = loaded
            .written
            .as_ref()
            .filter(|written| written.params.constraint.is_lazy())
        else {
            continue;
        };
        let (params, output) = (&written.params, &written.output);
        let Some(at) = output.find("get_weather") else {
            continue;
        };
        let other = output.replacen("get_weather", "get_nothing", 1);
        let triggers = params.constraint.triggers();
        let from = match triggers
            .iter()
            .any(|trigger| trigger.kind == TriggerKind::Pattern)
        {
            // That the grammar begins with the call makes sure of it.
            true => (0..at)
                .filter(|from| output.is_char_boundary(*from))
                .find(|from| reaches(params, &output[*from..], at - from)),
            false => triggers
                .iter()
                .filter_map(|trigger| other.find(&trigger.value))
                .min(),
        };
        let Some(from) =
            from.filter(|from| *from < at && reaches(params, &output[*from..], at - from))
        else {
            continue;
        };
        if reaches(params, &other[from..], at - from) {
            continue;
        }
        tried += 1;
        let taken = params.matcher().unwrap().feed(other.as_bytes()).unwrap();
        assert!(
            taken < at + "get_nothing".len(),
            "{}: {taken} of {other:?}",
            loaded.name
        );
        let portable = params.grammar_as(Dialect::PortableGbnf).unwrap().text;
        assert!(
            !Recogniser::new(&portable).unwrap().accepts(&other),
            "{}: {other:?}",
            loaded.name
        );
    }
    assert!(all().is_empty() || tried > 40, "{tried}");
}

/// Whether the grammar allows a text up to the end of the name that stands there.
fn reaches(params: &Params, text: &str, name: usize) -> bool {
    let recogniser = Recogniser::new(&params.grammar().text).expect("it is a grammar");
    recogniser
        .reach(text)
        .is_ok_and(|reach| reach >= name + "get_weather".len())
}
