//! What does the grammar of a JSON schema cost, and how does that grow? `cargo bench --bench
//! schema`

use std::time::{Duration, Instant};

use chatparse::grammar::{Recogniser, from_json_schema};
use chatparse::{ChatTemplate, Request};
use serde_json::{Map, Value, json};

const ROUNDS: usize = 15;

fn main() {
    println!("{:26} {:>12} {:>12}", "schema", "bytes", "time");
    for (name, schema) in schemas() {
        let grammar = from_json_schema(&schema).expect("the schema can be used");
        row(
            name,
            grammar.text.len(),
            median(|| drop(from_json_schema(&schema))),
        );
    }
    for template in ["json-call", "tag-arguments"] {
        println!(
            "\n{:26} {:>12} {:>12}   growth",
            format!("tools, {template}"),
            "bytes",
            "time"
        );
        let chat = ChatTemplate::builtin(template).expect("a built-in template");
        let mut before: Option<Duration> = None;
        for count in [1, 10, 100] {
            let request = request(count);
            let run = || {
                chat.params(&request)
                    .expect("the request fits")
                    .grammar()
                    .text
                    .len()
            };
            let time = median(|| assert!(run() > 0));
            row(&count.to_string(), run(), time);
            if let Some(before) = before {
                println!(
                    "{:54} × {:.1} for 10 times the tools",
                    "",
                    time.as_secs_f64() / before.as_secs_f64()
                );
            }
            before = Some(time);
        }
    }
    println!("\n{:26} {:>12} {:>12}", "checked text", "bytes", "time");
    let recogniser = Recogniser::new(&from_json_schema(&json!({})).expect("any value").text)
        .expect("it can be read");
    for count in [100, 1_000] {
        let text =
            json!({"items": vec![json!({"id": 17, "name": "A name", "tags": ["x", null]}); count]})
                .to_string();
        row(
            &format!("{count} objects"),
            text.len(),
            median(|| assert!(recogniser.accepts(&text))),
        );
    }
}

fn row(name: &str, bytes: usize, time: Duration) {
    println!("{name:26} {bytes:>12} {:>9.1} µs", time.as_secs_f64() * 1e6);
}

/// The middle one of several runs.
fn median(run: impl Fn()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn object(properties: usize) -> Value {
    let kinds = [
        json!({"type": "string"}),
        json!({"type": "integer", "minimum": -17, "maximum": 4096}),
        json!({"enum": ["red", "green", "blue"]}),
        json!({"type": "array", "items": {"type": "number"}, "maxItems": 8}),
        json!({"type": "string", "pattern": "^[a-z]{2,8}(-[0-9]+)?$"}),
    ];
    let fields: Map<String, Value> = (0..properties)
        .map(|i| (format!("property_{i}"), kinds[i % kinds.len()].clone()))
        .collect();
    json!({"type": "object", "properties": fields, "required": ["property_0"]})
}

fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("any value", json!({})),
        ("10 properties", object(10)),
        ("100 properties", object(100)),
        ("1,000 properties", object(1_000)),
        ("10,000 properties", object(10_000)),
        (
            "recursive",
            json!({"$ref": "#/$defs/node", "$defs": {"node": {"properties": {
                "value": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/node"}}}}}}),
        ),
        (
            "64 levels",
            (0..64).fold(json!({"type": "null"}), |inner, _| json!({"items": inner})),
        ),
    ]
}

/// A request with as many tools, of ten arguments each.
fn request(tools: usize) -> Request {
    let tool = |i| json!({"type": "function", "function": {"name": format!("tool_{i}"), "parameters": object(10)}});
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": "required"});
    Request::from_json(&body).expect("the request is well-formed")
}
