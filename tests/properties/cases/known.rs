//! The built-in templates with requests of every kind: their parsers, and outputs that fit them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use chatparse::chat::Constraint;
use chatparse::grammar::Recogniser;
use chatparse::internals::grammar::Walk;
use chatparse::{ChatTemplate, Error, Params, Request, builtin};
use serde_json::{Value, json};

/// One template with one request.
pub struct Known {
    /// For messages about failures.
    pub name: String,
    pub params: Params,
    /// Outputs that fit: messages as the template renders them, less the prompt, and random texts
    /// of the grammar.
    pub outputs: Vec<Vec<u8>>,
    /// Markers, and other texts that mean something somewhere.
    pub pieces: Vec<String>,
}

/// How many requests there are.
pub const REQUESTS: usize = 14;

const WALKS: u64 = 12;

pub fn tools() -> Value {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    json!([
        tool(
            "get",
            json!({"type": "object", "required": ["key"], "properties": {
            "key": {"type": "string"}, "n": {"type": "integer"}, "on": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": ["string", "null"]}}, "deep": {"type": "object"},
            "mode": {"enum": ["fast", "slow", 3]}}})
        ),
        tool("get_all", json!({})),
        tool(
            "run",
            json!({"type": "object", "properties": {"code": {"type": "string"}, "opts": {"type": "object", "properties": {
            "a": {"type": "array"}, "o": {"type": "object"}, "s": {"type": "string"}}}}})
        ),
        tool(
            "put",
            json!({"properties": {"a": {}, "b": {"type": "number"}}, "required": ["b", "a"]})
        ),
    ])
}

/// Request `number` of [`REQUESTS`].
pub fn request(number: usize) -> Value {
    let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "now": 0, "reasoning_format": "auto"});
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let more = match number {
        0 => json!({"tools": tools(), "parallel_tool_calls": true}),
        1 => json!({"tools": tools(), "tool_choice": "required"}),
        2 => json!({"tools": tools(), "reasoning_format": "none"}),
        3 => json!({}),
        4 => json!({"json_schema": schema}),
        5 => json!({"tools": tools(), "enable_thinking": false, "reasoning_format": "deepseek"}),
        6 => json!({"tools": tools(), "tool_choice": "required", "parallel_tool_calls": true}),
        7 => json!({"tools": tools(), "force_pure_content": true}),
        8 => json!({"tools": tools(), "tool_choice": "none"}),
        9 => json!({"tools": tools(), "continue_final_message": true}),
        10 => json!({"tools": tools(), "continue_final_message": "reasoning_content"}),
        11 => json!({"tools": tools(), "dialects": "always", "calls_in_reasoning": "always"}),
        12 => json!({"tools": tools(), "dialects": "always", "calls_in_reasoning": "at_end"}),
        _ => json!({"tools": tools(), "dialects": "off", "calls_in_reasoning": "off"}),
    };
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    if body.get("continue_final_message").is_some() {
        let said =
            json!({"role": "assistant", "content": "Well, <b", "reasoning_content": "Let me"});
        body["messages"]
            .as_array_mut()
            .expect("an array")
            .push(said);
    }
    body
}

/// Messages of an assistant.
pub fn messages() -> Vec<Value> {
    let call = |name: &str, arguments: &str| json!({"type": "function", "id": "abc123def", "function": {"name": name, "arguments": arguments}});
    let message = |content: &str, reasoning: &str, calls: Vec<Value>| {
        let mut message = json!({"role": "assistant", "content": content});
        if !reasoning.is_empty() {
            message["reasoning_content"] = json!(reasoning);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        message
    };
    let get = r#"{"key": "a \"b\" </x>\n", "n": -12, "list": ["é", null], "deep": {"x": {}}, "mode": "fast", "on": true}"#;
    vec![
        message("Grüße, <b>you</b>! 😀", "", vec![]),
        message("Done.", "Let me see: 1 < 2.", vec![]),
        message("", "Why", vec![call("get", get), call("get_all", "{}")]),
        message(
            "",
            "",
            vec![
                call(
                    "run",
                    r#"{"code": "re.match('\\d+', \"C:\\\\Users\")", "opts": {"a": ["[x] y", 2], "o": {}, "s": "[z]"}}"#,
                ),
                call("get", r#"{"key": "b"}"#),
            ],
        ),
        message(
            "First.",
            "",
            vec![call("put", r#"{"a": ["x", {"y": "z"}], "b": 1.5e3}"#)],
        ),
    ]
}

/// Texts that mean something in one format or another, or in none.
const PIECES: &[&str] = &[
    "<",
    ">",
    "</",
    "<think>",
    "</think>",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "\\u00",
    "\\d",
    "\\U",
    "C:\\Program Files",
    "\\'",
    "{:\"\"",
    "[x] y",
    "<|tool_response>",
    ":",
    ",",
    " ",
    "\n",
    "\t",
    "é",
    "\u{FEFF}",
    "😀",
    "get",
    "get_all",
    "key",
    "null",
    "tru",
    "None",
    "-1",
    "{}",
    "{\"key\": \"",
    "</parameter>",
    "<|",
    "|>",
    "\0",
    "call:get",
    "functions.get:0",
    // Beginnings of calls in one dialect or another.
    "<tool_call>",
    "</tool_call>",
    "{\"name\": \"get\", \"arguments\": ",
    "<function=get>",
    "<parameter=key>",
    "<invoke name=\"get_all\">",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "function<get>\n```json\n",
    "```",
];

fn pieces(params: &Params) -> Vec<String> {
    let mut pieces: Vec<String> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    pieces.extend(
        params
            .preserved_tokens
            .iter()
            .chain(&params.additional_stops)
            .cloned(),
    );
    pieces.extend(
        params
            .delimiters
            .iter()
            .map(|delimiter| delimiter.delimiter.clone()),
    );
    if let Some(thinking) = &params.thinking {
        pieces.push(thinking.start.clone());
        pieces.extend(thinking.ends.iter().cloned());
    }
    pieces.extend(
        params
            .constraint
            .triggers()
            .iter()
            .map(|trigger| trigger.value.clone()),
    );
    pieces
}

/// Fails where the template refuses the request.
fn learn(template: &ChatTemplate, name: &str, number: usize) -> Result<Known, Error> {
    let body = request(number);
    let name = format!("{name}, request {number}");
    let read =
        |body: &Value| Request::from_json(body).unwrap_or_else(|error| panic!("{name}: {error}"));
    let params = template.params(&read(&body))?;
    let mut outputs = Vec::new();
    for message in messages() {
        let mut body = body.clone();
        body["messages"]
            .as_array_mut()
            .expect("an array")
            .push(message);
        body["add_generation_prompt"] = json!(false);
        body["continue_final_message"] = json!(false);
        if let Ok(whole) = template.prompt(&read(&body)) {
            outputs.push(
                whole
                    .strip_prefix(&params.prompt)
                    .unwrap_or(&whole)
                    .as_bytes()
                    .to_vec(),
            );
        }
    }
    if params.constraint != Constraint::Free {
        let grammar = Recogniser::new(&params.grammar().text)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut walk = Walk::new(&grammar, number as u64);
        let ends = params
            .thinking
            .iter()
            .flat_map(|thinking| thinking.ends.first());
        let ends: Vec<&str> = ends.map(String::as_str).chain([""]).collect();
        for index in 0..WALKS {
            let text = walk
                .text(20 * (index as usize + 1))
                .unwrap_or_else(|| panic!("{name}: a grammar without texts"));
            // A strict grammar has the generation prompt, too.
            let text = text
                .strip_prefix(&params.generation_prompt)
                .unwrap_or(&text);
            outputs.push(
                [ends[index as usize % ends.len()], text]
                    .concat()
                    .into_bytes(),
            );
        }
    }
    outputs.retain(|output| !output.is_empty());
    outputs.push(b"Hello there.".to_vec());
    let pieces = pieces(&params);
    Ok(Known {
        name,
        params,
        outputs,
        pieces,
    })
}

static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| builtin::names().collect());

/// A built-in template, compiled and analysed once.
pub fn template(number: usize) -> &'static ChatTemplate {
    static TEMPLATES: LazyLock<Vec<ChatTemplate>> = LazyLock::new(|| {
        NAMES
            .iter()
            .filter_map(|name| ChatTemplate::builtin(name))
            .collect()
    });
    &TEMPLATES[number % TEMPLATES.len()]
}

/// How many built-in templates there are.
pub fn templates() -> usize {
    NAMES.len()
}

/// A built-in template with a request.
pub fn known(template_number: usize, request: usize) -> Arc<Known> {
    type Kept = Mutex<HashMap<(usize, usize), Arc<Known>>>;
    static KNOWN: LazyLock<Kept> = LazyLock::new(Mutex::default);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.entry((template_number, request)).or_insert_with(|| {
        let name = NAMES[template_number];
        let known = learn(template(template_number), name, request);
        Arc::new(known.unwrap_or_else(|error| panic!("{name}, request {request}: {error}")))
    });
    Arc::clone(known)
}

/// The templates of real models, where they lie beside the repository.
static BESIDE: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folders = ["templates", "templates-wild"].map(|folder| fs::read_dir(shared.join(folder)));
    let files = folders
        .into_iter()
        .flatten()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut all: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "jinja"))
        .collect();
    all.sort();
    all
});

/// How many of those there are.
pub fn beside() -> usize {
    BESIDE.len()
}

/// One of them with a request; `None` if it refuses that.
pub fn known_beside(number: usize, request: usize) -> Option<Arc<Known>> {
    type Kept = Mutex<HashMap<(usize, usize), Option<Arc<Known>>>>;
    static KNOWN: LazyLock<Kept> = LazyLock::new(Mutex::default);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.entry((number, request)).or_insert_with(|| {
        let path = &BESIDE[number];
        let source = fs::read_to_string(path).expect("the template is text");
        let template = ChatTemplate::new(&source, "<BOS>", "<EOS>").expect("the template compiles");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        learn(&template, &name, request).ok().map(Arc::new)
    });
    known.clone()
}
