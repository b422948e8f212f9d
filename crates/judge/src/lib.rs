//! Answers scenarios, JSON objects in one line each: what a template and a request give, and what
//! is read in outputs. Two versions or programs are compared by their answers to the same
//! scenarios.
//!
//! - **In:** scenarios as JSON.
//! - **Out:** their answers as JSON, with fields in a fixed order.
//! - **Never:** it decides nothing: judges compare.
//!
//! The help of `chatparse replay` lists the fields of a scenario.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

use std::collections::HashMap;
use std::ops::Range;

use chatparse::api::Api;
use chatparse::chat::Constraint;
use chatparse::grammar::{Dialect, Grammar, Printed, Recogniser, TriggerKind};
use chatparse::message::{chunk_delta, number};
use chatparse::stream::SpecialTokens;
use chatparse::{
    ChatTemplate, EndedBy, ErrorKind, GrammarStyle, MaskParts, Params, Request, Segment, Stream,
    TemplateOptions, grammar,
};
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Answers scenarios. Each template is compiled and analysed once for all scenarios that share it.
#[derive(Default)]
pub struct Judge {
    templates: HashMap<(String, TemplateOptions), std::result::Result<ChatTemplate, String>>,
}

impl Judge {
    /// The answer to the scenario in a line, as one line of JSON: its `id`, and what it asks for or
    /// `error`.
    pub fn answer(&mut self, line: &str) -> String {
        let (id, answer) = match number::read::<Value>(line) {
            Ok(scenario) => (scenario["id"].clone(), self.answer_of(&scenario)),
            Err(error) => (
                Value::Null,
                Err(number::wrong("not a scenario", &error).into()),
            ),
        };
        let mut answer = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
        if let Value::Object(fields) = &mut answer {
            fields.shift_insert(0, "id".to_owned(), id);
        }
        let mut line = answer.to_string();
        // Some programs that read lines end a line at these characters.
        for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
            line = line.replace(c, &format!("\\u{:04x}", u32::from(c)));
        }
        line
    }

    fn answer_of(&mut self, scenario: &Value) -> Result<Value> {
        match scenario.get("schema") {
            Some(schema) => schema_answer(scenario, schema),
            None => template_answer(scenario, self.template(scenario)?),
        }
    }

    fn template(&mut self, scenario: &Value) -> Result<&ChatTemplate> {
        let mut options = TemplateOptions::default();
        options.bos = scenario["bos"].as_str().unwrap_or_default().to_owned();
        options.eos = scenario["eos"].as_str().unwrap_or_default().to_owned();
        options.learn_only = wants(scenario, "learn_only");
        options.response_template = scenario["response_template"].clone();
        // The scenario's own response template reads the outputs, even if another reads more.
        options.prove = options.response_template.is_null();
        let source = match (&scenario["template_source"], &scenario["template"]) {
            (Value::String(source), _) => source.clone(),
            (_, Value::String(path)) => {
                std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?
            }
            _ => return Err("the scenario names no template".into()),
        };
        let key = (source, options);
        let template = self.templates.entry(key).or_insert_with_key(|key| {
            ChatTemplate::with_options(&key.0, &key.1).map_err(|error| error.to_string())
        });
        Ok(template.as_ref().map_err(String::as_str)?)
    }
}

fn wants(scenario: &Value, field: &str) -> bool {
    scenario[field] == true
}

fn template_answer(scenario: &Value, template: &ChatTemplate) -> Result<Value> {
    let mut options = json!({"plain": wants(scenario, "plain")});
    if scenario["defaults"] != "library" {
        options["compat"] = "llama.cpp".into();
        // Other engines' recorded tests drop a marker that the prompt already has; one recording
        // keeps it, and says so in its request.
        if scenario["request"]["opening_again"].is_null() {
            options["opening_again"] = "marker".into();
        }
    }
    if wants(scenario, "faithful") {
        options["grammar_style"] = "faithful".into();
    }
    let api = match scenario["api"].as_str() {
        Some("responses") => Api::Responses,
        Some("messages") => Api::Messages,
        _ => Api::ChatCompletions,
    };
    let request = Request::from_json_with(&api.request(&scenario["request"])?, &options)?;
    let params = template.params(&request)?;
    let mut fields = json!({"params": params.to_json()});
    if wants(scenario, "faithful") {
        fields["params"]["report"] = fields["params"]["grammar_report"].clone();
    }
    if wants(scenario, "dialects") {
        fields["dialects"] = dialects(|dialect| params.grammar_as(dialect));
        let recogniser = recogniser(params.grammar())?;
        fields["accepts"] = texts(&scenario["outputs"])
            .map(|text| allows(&params, recogniser.as_ref(), text))
            .collect();
    }
    if wants(scenario, "want_caps") {
        fields["caps"] = template.caps().to_json();
        fields["supports_enable_thinking"] = supports_enable_thinking(template)?.into();
    }
    if wants(scenario, "want_segments") || wants(scenario, "want_mask") {
        let found = template.segments(&request)?;
        fields["mask"] = spans(&found.mask(MaskParts::default()));
        if wants(scenario, "want_segments") {
            fields["generation"] = spans(&found.generation);
            fields["segments"] = found.segments.iter().map(Segment::to_json).collect();
        }
    }
    if let Some(outputs) = scenario["outputs"].as_array() {
        let special = special_tokens(&scenario["special_tokens"])?;
        let mut parses = Vec::new();
        for output in outputs {
            parses.push(parse(&params, output, special.as_ref(), scenario)?);
        }
        fields["parses"] = parses.into();
    }
    Ok(fields)
}

/// The grammar of a schema (llama.cpp's text, or with `faithful` the library's, with its report),
/// which of `texts` it accepts, and the grammar in other dialects.
fn schema_answer(scenario: &Value, schema: &Value) -> Result<Value> {
    let faithful = wants(scenario, "faithful");
    let style = match faithful {
        true => GrammarStyle::Faithful,
        false => GrammarStyle::LlamaCpp,
    };
    let grammar = grammar::from_json_schema_as(schema, style)?;
    let mut fields = json!({});
    if !scenario["texts"].is_null() {
        let recogniser = recogniser(&grammar)?;
        fields["accepts"] = texts(&scenario["texts"])
            .map(|text| accepts(recogniser.as_ref(), text))
            .collect();
    }
    if faithful {
        let report = grammar.report.iter();
        let report = report.map(
            |entry| json!({"kind": entry.kind, "pointer": entry.pointer, "message": entry.message}),
        );
        fields["report"] = report.collect();
    }
    if wants(scenario, "dialects") {
        fields["dialects"] = dialects(|dialect| grammar.print(dialect));
    }
    fields["grammar"] = grammar.text.into();
    Ok(fields)
}

fn spans(spans: &[Range<usize>]) -> Value {
    spans
        .iter()
        .map(|span| json!([span.start, span.end]))
        .collect()
}

/// The texts in a list of texts or outputs.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(text_of)
}

/// An output is a text, or an object with `text`.
fn text_of(output: &Value) -> &str {
    output
        .as_str()
        .or(output["text"].as_str())
        .unwrap_or_default()
}

/// A grammar in each dialect.
fn dialects(print: impl Fn(Dialect) -> chatparse::Result<Printed>) -> Value {
    let mut all = json!({});
    for dialect in Dialect::ALL {
        all[dialect.name()] = match print(dialect) {
            Ok(Printed { text, report, .. }) => {
                let report: Vec<&str> = report.iter().map(|entry| &*entry.message).collect();
                json!({"text": text, "report": report})
            }
            Err(error) => json!({"error": error.to_string()}),
        };
    }
    all
}

/// Reads a grammar, if there is one.
fn recogniser(grammar: &Grammar) -> Result<Option<Recogniser>> {
    if grammar.text.is_empty() {
        return Ok(None);
    }
    Ok(Some(Recogniser::new(&grammar.text)?))
}

fn accepts(recogniser: Option<&Recogniser>, text: &str) -> bool {
    recogniser.is_none_or(|recogniser| recogniser.accepts(text))
}

/// Whether the grammar of a request allows the part of an output that llama.cpp would check;
/// `None` if a pattern decides where the grammar starts.
fn allows(params: &Params, recogniser: Option<&Recogniser>, text: &str) -> Option<bool> {
    match &params.constraint {
        Constraint::Strict(_) => Some(accepts(
            recogniser,
            &(params.parser.prefill().to_owned() + text),
        )),
        Constraint::Lazy(triggers) if recogniser.is_some() => {
            if triggers
                .iter()
                .any(|trigger| trigger.kind == TriggerKind::Pattern)
            {
                return None;
            }
            let starts = triggers
                .iter()
                .filter_map(|trigger| text.find(&trigger.value));
            Some(
                starts
                    .min()
                    .is_none_or(|start| accepts(recogniser, &text[start..])),
            )
        }
        _ => Some(true),
    }
}

/// Whether the template handles reasoning, judging by a plain request.
fn supports_enable_thinking(template: &ChatTemplate) -> Result<bool> {
    let messages = json!([{"role": "user", "content": "test"}]);
    let request =
        Request::from_json(&json!({"messages": messages, "reasoning_format": "deepseek"}))?;
    Ok(template.params(&request)?.thinking.is_some())
}

/// The texts of special tokens, if the scenario has them.
fn special_tokens(tokens: &Value) -> Result<Option<SpecialTokens>> {
    let texts: Option<Vec<String>> =
        serde_json::from_value(tokens.clone()).map_err(|_| "special_tokens: must be texts")?;
    Ok(texts.map(|texts| SpecialTokens::new(&texts)).transpose()?)
}

fn parse(
    params: &Params,
    output: &Value,
    special: Option<&SpecialTokens>,
    scenario: &Value,
) -> Result<Value> {
    let partial = wants(output, "partial");
    let step = output["step"].as_u64().unwrap_or(1).max(1) as usize;
    let spans: Option<Vec<(usize, usize)>> = serde_json::from_value(output["special"].clone())
        .map_err(|_| "special: must be pairs of positions")?;
    let spans = special.map(|_| spans.unwrap_or_default());
    let mut stream = Stream::new(&params.parser);
    if let Some(special) = special {
        stream.set_special_tokens(special)?;
    }
    let rows = feed(
        &mut stream,
        text_of(output),
        spans.as_deref(),
        partial,
        step,
    )?;
    let ended = stream.finish(EndedBy::limit_if(partial));
    if wants(scenario, "strict")
        && let Err(error) = ended.strict(EndedBy::limit_if(partial))
    {
        debug_assert_eq!(error.kind(), ErrorKind::Parse);
        return Ok(json!({"error": error.to_string()}));
    }
    let calls: Value = ended
        .message
        .tool_calls
        .iter()
        .map(|call| json!({"name": call.name, "arguments": call.arguments, "id": call.id}))
        .collect();
    let message = json!({
        "content": ended.message.content,
        "reasoning_content": ended.message.reasoning_content,
        "tool_calls": calls,
    });
    let mut parsed = json!({"message": message, "status": ended.status});
    if scenario["timeline"] != false {
        parsed["timeline"] = rows.into();
    }
    Ok(parsed)
}

/// Feeds `text` in steps and records the deltas of each, except of the step that completes an
/// output that was not cut off. `spans`: the special tokens in the text, if known.
fn feed(
    stream: &mut Stream,
    text: &str,
    spans: Option<&[(usize, usize)]>,
    partial: bool,
    step: usize,
) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    let (mut fed, mut goal) = (0, 0);
    while fed < text.len() {
        goal += step;
        let mut end = goal.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end == fed {
            continue;
        }
        let bytes = &text.as_bytes()[fed..end];
        let row = match spans {
            None => row(stream.feed(bytes)),
            Some(spans) => {
                let mut marked = Vec::new();
                for span in spans {
                    marked.push(span.0.clamp(fed, end) - fed..span.1.clamp(fed, end) - fed);
                }
                row(stream.feed_marked(bytes, &marked)?)
            }
        };
        fed = end;
        if !row.is_empty() && (partial || goal < text.len()) {
            rows.push(json!([fed, row]));
        }
    }
    Ok(rows)
}

/// What a step adds: a chunk, whose keys have a plus.
fn row<'a>(deltas: impl Iterator<Item = chatparse::Delta<'a>>) -> Map<String, Value> {
    let chunk = chunk_delta(deltas);
    let mut row = Map::new();
    for (key, value) in chunk.as_object().into_iter().flatten() {
        match value {
            Value::Array(calls) => row.insert(key.clone(), calls.iter().map(call_row).collect()),
            text => row.insert(format!("+{key}"), text.clone()),
        };
    }
    row
}

fn call_row(call: &Value) -> Value {
    let mut row = json!({"index": call["index"]});
    let function = &call["function"];
    for (key, text) in [
        ("+name", &function["name"]),
        ("+id", &call["id"]),
        ("+arguments", &function["arguments"]),
    ] {
        if text.is_string() {
            row[key] = text.clone();
        }
    }
    row
}
