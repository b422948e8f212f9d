//! `replay`: reads scenarios as JSON lines, and prints results as JSON lines.
//!
//! A scenario names a template, a request and outputs. Its result has the params, the parsed
//! messages and a timeline for each output: what a client sees after each step of the stream.

use std::collections::HashMap;
use std::ops::Range;

use chatparse::api::Api;
use chatparse::chat::Constraint;
use chatparse::grammar::{Dialect, Grammar, Printed, Recogniser, TriggerKind};
use chatparse::message::chunk_delta;
use chatparse::stream::SpecialTokens;
use chatparse::{
    ChatTemplate, EndedBy, Error, ErrorKind, GrammarStyle, MaskParts, Message, Params, Request,
    Segment, Stream, TemplateOptions, grammar,
};
use serde_json::{Map, Value, json};

use crate::failure::Outcome;
use crate::input;
use crate::screen::Screen;

/// Answer recorded scenarios, one JSON object a line
///
/// Reads scenarios from standard input, one JSON object per line, and prints a
/// JSON line for each. A scenario describes the work of a server: render this
/// request with this template, and parse these outputs. Two versions or programs
/// can be compared by replaying the same scenarios.
///
/// A scenario has `id`, `template` (a file) or `template_source`, `bos`, `eos`
/// and `request`, and may have
///
///   outputs            texts, or objects with `text`, `partial`, `step` and
///                      `special`, the spans that came from special tokens
///   special_tokens     their texts: if given, bytes outside of these spans are
///                      text
///   timeline           false: without the deltas of each step of an output
///   strict             true: an output that does not match the template's format
///                      is an error
///   want_caps          true: the template's capabilities
///   learn_only         true: use no knowledge of families of templates
///   response_template  a response template that the outputs are read by
///   plain              true: the template gets the request unchanged
///   api                "responses" or "messages", if the request is of that API
///   defaults           "library": what the request does not say has the
///                      library's default, not llama.cpp's
///   faithful           true: the grammar holds what the schemas say, and
///                      `params.report` says where not
///   want_segments      true: the origin of each byte of the prompt, and what
///                      want_mask gives
///   want_mask          true: in `mask` the bytes of the prompt that models wrote
///
/// The answer has the `id` and `params`, and `parses` with a message, its status
/// and what each step of the output added to it; or `error`. A scenario with a
/// JSON `schema` instead of a template is answered with its `grammar`. With
/// `dialects: true` the answer has the grammar in all `dialects`, each with
/// `text` and `report`, or `error`. `accepts` lists whether the grammar allows
/// each of the `texts`, or of the outputs (null if a pattern decides where it
/// starts).
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit status: 0 all lines were answered, 1 standard input cannot be read, 2 wrong usage

Examples:
  chatparse replay < scenarios.jsonl > results.jsonl"
)]
pub struct Replay {}

pub fn run(screen: &mut Screen) -> Outcome {
    let mut templates = Templates::default();
    input::lines("-".as_ref(), |line| {
        if !line.trim().is_empty() {
            // Some readers take these for the end of a line.
            let mut result = result(line, &mut templates).to_string();
            for (c, escaped) in [
                ('\u{85}', "\\u0085"),
                ('\u{2028}', "\\u2028"),
                ('\u{2029}', "\\u2029"),
            ] {
                if result.contains(c) {
                    result = result.replace(c, escaped);
                }
            }
            writeln!(screen, "{result}");
            screen.flush()?;
        }
        Ok(())
    })
}

/// What a scenario asks for, or why it cannot be had.
type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// Templates are compiled and analysed once for all scenarios that share them.
#[derive(Default)]
struct Templates {
    known: HashMap<(String, TemplateOptions), Result<ChatTemplate, String>>,
}

impl Templates {
    fn of(&mut self, scenario: &Value) -> Answer<&ChatTemplate> {
        let text = |key: &str| scenario[key].as_str().map(str::to_owned);
        let mut options = TemplateOptions::default();
        options.bos = text("bos").unwrap_or_default();
        options.eos = text("eos").unwrap_or_default();
        options.learn_only = scenario["learn_only"] == true;
        options.response_template = scenario["response_template"].clone();
        // What a scenario hands over is what it asks for.
        options.prove = options.response_template.is_null();
        let source = match (text("template_source"), text("template")) {
            (Some(source), _) => source,
            (None, Some(path)) => {
                std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?
            }
            (None, None) => return Err("the scenario names no template".into()),
        };
        let template =
            self.known
                .entry((source, options))
                .or_insert_with_key(|(source, options)| {
                    ChatTemplate::with_options(source, options).map_err(|error| error.to_string())
                });
        Ok(template.as_ref().map_err(String::as_str)?)
    }
}

/// The result for one line.
fn result(line: &str, templates: &mut Templates) -> Value {
    let (id, answer) = match chatparse::message::number::read::<Value>(line) {
        Ok(scenario) => (scenario["id"].clone(), answer(&scenario, templates)),
        Err(error) => (Value::Null, Err(format!("not a scenario: {error}").into())),
    };
    let mut result = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
    if let Value::Object(fields) = &mut result {
        fields.shift_insert(0, "id".to_owned(), id);
    }
    result
}

fn answer(scenario: &Value, templates: &mut Templates) -> Answer<Value> {
    if let Some(schema) = scenario.get("schema") {
        return of_schema(scenario, schema);
    }
    let template = templates.of(scenario)?;
    let wants = |what: &str| scenario[what] == true;
    let mut options = json!({"plain": wants("plain")});
    if scenario["defaults"] != "library" {
        options["compat"] = "llama.cpp".into();
        // The tests of other engines are judged so, too: they drop it. One recording keeps it.
        if scenario["request"]["opening_again"].is_null() {
            options["opening_again"] = "marker".into();
        }
    }
    if wants("faithful") {
        options["grammar_style"] = "faithful".into();
    }
    let api = match scenario["api"].as_str() {
        Some("responses") => Api::Responses,
        Some("messages") => Api::Messages,
        _ => Api::ChatCompletions,
    };
    let request = Request::from_json_with(&api.request(&scenario["request"])?, &options)?;
    let params = template.params(&request)?;
    let mut fields = json!({});
    fields["params"] = params.to_json();
    if wants("faithful") {
        fields["params"]["report"] = fields["params"]["grammar_report"].clone();
    }
    if wants("dialects") {
        fields["dialects"] = dialects(|dialect| params.grammar_as(dialect));
        let constrained = texts(&scenario["outputs"]).map(|text| constrained(&params, text));
        fields["accepts"] = accepts(params.grammar(), constrained)?;
    }
    if wants("want_caps") {
        fields["caps"] = template.caps().to_json();
        fields["supports_enable_thinking"] = supports_enable_thinking(template)?.into();
    }
    if wants("want_segments") || wants("want_mask") {
        let found = template.segments(&request)?;
        let spans = |spans: &[Range<usize>]| {
            spans
                .iter()
                .map(|bytes| json!([bytes.start, bytes.end]))
                .collect::<Value>()
        };
        fields["mask"] = spans(&found.mask(MaskParts::default()));
        if wants("want_segments") {
            fields["generation"] = spans(&found.generation);
            fields["segments"] = found.segments.iter().map(Segment::to_json).collect();
        }
    }
    if let Some(outputs) = scenario["outputs"].as_array() {
        let timeline = scenario["timeline"] != false;
        let special = special_tokens(&scenario["special_tokens"])?;
        let parses = outputs
            .iter()
            .map(|output| parse(&params, output, special.as_ref(), timeline, wants("strict")));
        fields["parses"] = parses.collect::<Result<_, _>>()?;
    }
    Ok(fields)
}

/// The result for a schema: its grammar (llama.cpp's text, or with `faithful` the library's, with
/// its report), which of `texts` it accepts, and the grammar in other dialects.
fn of_schema(scenario: &Value, schema: &Value) -> Answer<Value> {
    let faithful = scenario["faithful"] == true;
    let style = if faithful {
        GrammarStyle::Faithful
    } else {
        GrammarStyle::LlamaCpp
    };
    let grammar = grammar::from_json_schema_as(schema, style)?;
    let mut fields = json!({});
    if !scenario["texts"].is_null() {
        fields["accepts"] = accepts(&grammar, texts(&scenario["texts"]).map(Ok))?;
    }
    if faithful {
        let report = grammar.report.iter();
        let report = report.map(
            |entry| json!({"kind": entry.kind, "pointer": entry.pointer, "message": entry.message}),
        );
        fields["report"] = report.collect();
    }
    if scenario["dialects"] == true {
        fields["dialects"] = dialects(|dialect| grammar.print(dialect));
    }
    fields["grammar"] = grammar.text.into();
    Ok(fields)
}

/// The texts in a list of texts or outputs.
fn texts(list: &Value) -> impl Iterator<Item = String> {
    let texts = list.as_array().into_iter().flatten();
    texts.map(|text| {
        text.as_str()
            .or_else(|| text["text"].as_str())
            .unwrap_or_default()
            .to_owned()
    })
}

/// A grammar in each dialect.
fn dialects(print: impl Fn(Dialect) -> Result<Printed, Error>) -> Value {
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

/// The part of an output that llama.cpp would check against the grammar.
///
/// # Errors
/// What is known without one: all of the output is free; or nothing, because a pattern determines
/// where the grammar starts.
fn constrained(params: &Params, text: String) -> Result<String, Option<bool>> {
    let triggers = params.constraint.triggers();
    match &params.constraint {
        Constraint::Free => Err(Some(true)),
        Constraint::Strict(_) => Ok(params.parser.prefill().to_owned() + &text),
        Constraint::Lazy(_)
            if triggers
                .iter()
                .any(|trigger| trigger.kind == TriggerKind::Pattern) =>
        {
            Err(None)
        }
        Constraint::Lazy(_) => {
            let found = triggers
                .iter()
                .filter_map(|trigger| text.find(&trigger.value))
                .min();
            found.map(|at| text[at..].to_owned()).ok_or(Some(true))
        }
    }
}

/// Whether the grammar allows each text.
fn accepts(
    grammar: &Grammar,
    texts: impl Iterator<Item = Result<String, Option<bool>>>,
) -> Answer<Value> {
    if grammar.text.is_empty() {
        return Ok(texts.map(|_| true).collect());
    }
    let recogniser = Recogniser::new(&grammar.text)?;
    Ok(texts
        .map(|text| text.map_or_else(|known| known, |text| Some(recogniser.accepts(&text))))
        .collect())
}

/// Whether the template handles reasoning, judging by a plain request.
fn supports_enable_thinking(template: &ChatTemplate) -> Answer<bool> {
    let request =
        json!({"messages": [{"role": "user", "content": "test"}], "reasoning_format": "deepseek"});
    Ok(template
        .params(&Request::from_json(&request)?)?
        .thinking
        .is_some())
}

/// The texts of special tokens, if the scenario has them.
fn special_tokens(tokens: &Value) -> Answer<Option<SpecialTokens>> {
    let texts: Option<Vec<String>> =
        serde_json::from_value(tokens.clone()).map_err(|_| "special_tokens: must be texts")?;
    Ok(texts.map(|texts| SpecialTokens::new(&texts)).transpose()?)
}

fn parse(
    params: &Params,
    output: &Value,
    special: Option<&SpecialTokens>,
    timeline: bool,
    strict: bool,
) -> Answer<Value> {
    let text = output
        .as_str()
        .or_else(|| output["text"].as_str())
        .unwrap_or_default();
    let partial = output["partial"] == true;
    let step = output["step"].as_u64().unwrap_or(1).max(1) as usize;
    let mut stream = Stream::new(&params.parser);
    let spans: Option<Vec<(usize, usize)>> = serde_json::from_value(output["special"].clone())
        .map_err(|_| "special: must be pairs of positions")?;
    let mut spans = Some(spans.unwrap_or_default());
    match special {
        Some(special) => stream.set_special_tokens(special)?,
        None => spans = None,
    }
    let rows = feed(&mut stream, text, spans.as_deref(), partial, step)?;
    let ended = stream.finish(EndedBy::limit_if(partial));
    if strict && let Err(error) = ended.strict(EndedBy::limit_if(partial)) {
        debug_assert_eq!(error.kind(), ErrorKind::Parse);
        return Ok(json!({"error": error.to_string()}));
    }
    let Message {
        content,
        reasoning_content,
        tool_calls,
        ..
    } = &ended.message;
    let calls = tool_calls
        .iter()
        .map(|call| json!({"name": call.name, "arguments": call.arguments, "id": call.id}));
    let calls: Vec<Value> = calls.collect();
    let message =
        json!({"content": content, "reasoning_content": reasoning_content, "tool_calls": calls});
    let mut parsed = json!({"message": message, "status": ended.status});
    if timeline {
        parsed["timeline"] = rows.into();
    }
    Ok(parsed)
}

/// Feeds `text` in steps and records the deltas of each. The step that completes a complete output
/// is not recorded. `spans`: the special tokens in it, if known.
fn feed(
    stream: &mut Stream,
    text: &str,
    spans: Option<&[(usize, usize)]>,
    partial: bool,
    step: usize,
) -> Answer<Vec<Value>> {
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
                let within = |at: usize| at.clamp(fed, end) - fed;
                let within: Vec<_> = spans
                    .iter()
                    .map(|(start, end)| within(*start)..within(*end))
                    .collect();
                row(stream.feed_marked(bytes, &within)?)
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
