//! What does it cost to ask what comes next, for each byte of a call? `cargo bench --bench matcher`
//!
//! Ratios hold on any machine: a byte of a long output against one of a short output, a draft
//! against a byte, 200 tools against one.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chatparse::{ChatTemplate, Matcher, Request};
use serde_json::{Value, json};

const ROUNDS: usize = 15;

fn main() {
    println!(
        "{:24} {:>12} {:>10} {:>10} {:>10} {:>12}",
        "template, tools", "built", "first", "byte", "forced", "memory"
    );
    for template in ["json-call", "qwen3-coder", "deepseek-v3.1"] {
        for count in [1, 200] {
            let call = drafted(&matcher(template, count, "required").0);
            let (matcher, built) = matcher(template, count, "required");
            let began = Instant::now();
            assert_eq!(matcher.clone().feed(&call), Ok(call.len()));
            let first = began.elapsed().as_nanos() as f64 / call.len() as f64;
            let byte = per_byte(&call, || {
                let mut matcher = matcher.clone();
                call.iter()
                    .for_each(|byte| drop(black_box(matcher.feed(std::slice::from_ref(byte)))));
            });
            let both = per_byte(&call, || {
                let mut matcher = matcher.clone();
                for byte in &call {
                    black_box(matcher.forced());
                    let _ = matcher.feed(std::slice::from_ref(byte));
                }
            });
            let (name, memory) = (format!("{template}, {count}"), matcher.bytes());
            println!(
                "{name:24} {built:>12.1?} {first:>7.0} ns {byte:>7.0} ns {:>7.0} ns {memory:>12}",
                both - byte
            );
        }
    }
    let (mut matcher, _) = matcher("json-call", 1, "auto");
    let text = "It rains in Oslo, or so \u{e9} they say. ".repeat(1_000);
    let whole = |matcher: &Matcher| {
        per_byte(text.as_bytes(), || {
            drop(black_box(matcher.clone().feed(text.as_bytes())))
        })
    };
    let first = whole(&matcher);
    assert_eq!(
        matcher.feed(text.repeat(100).as_bytes()),
        Ok(100 * text.len())
    );
    println!(
        "\na byte behind 4 MB takes × {:.2} of one at the beginning",
        whole(&matcher) / first
    );
}

fn matcher(template: &str, tools: usize, choice: &str) -> (Matcher, Duration) {
    let tool = |index: usize| {
        let properties = json!({"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"enum": ["celsius", "fahrenheit"]}, "tags": {"type": "array", "items": {"type": "string"}}});
        let parameters = json!({"type": "object", "properties": properties, "required": ["city", "days", "unit", "tags"]});
        json!({"type": "function", "function": {"name": format!("get_thing_{index}"), "parameters": parameters}})
    };
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": choice});
    let chat = ChatTemplate::builtin(template).expect("a built-in template");
    let params = chat
        .params(&Request::from_json(&body).expect("a request"))
        .expect("it fits");
    params.grammar();
    let began = Instant::now();
    (params.matcher().expect("it has one"), began.elapsed())
}

/// A call: what is forced, and where there is a choice a letter, or the last of what may come.
fn drafted(matcher: &Matcher) -> Vec<u8> {
    let (mut matcher, mut call) = (matcher.clone(), Vec::new());
    while !matcher.may_end() && call.len() < 2_000 {
        let mut next = matcher.forced();
        if next.is_empty() {
            let allowed = matcher.allowed();
            let written = call.len() % 12 < 11 && allowed.has(b'e');
            next.extend(if written {
                Some(b'e')
            } else {
                allowed.iter().find(|byte| b"\"\n<}]'".contains(byte))
            });
            if next.is_empty() {
                next.extend(allowed.iter().last());
            }
        }
        matcher.feed(&next).expect("it may come next");
        call.extend(next);
    }
    call
}

/// Nanoseconds for a byte, in the median run.
fn per_byte(call: &[u8], run: impl Fn()) -> f64 {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2].as_nanos() as f64 / call.len() as f64
}
