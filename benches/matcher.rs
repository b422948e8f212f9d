//! What does it cost to ask what comes next, for each byte of a call? `cargo bench --bench matcher`
//!
//! Ratios hold on any machine: a byte of a long output against one of a short output, a draft against a byte, 200 tools against one.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chatparse::{ChatTemplate, Matcher, Request};
use serde_json::{Value, json};

const ROUNDS: usize = 15;

fn main() {
    println!(
        "{:34} {:>10} {:>10} {:>10} {:>10} {:>12}",
        "template, tools", "built", "first", "byte", "forced", "memory"
    );
    for template in ["json-call", "qwen3-coder", "deepseek-v3.1"] {
        for count in [1, 200] {
            let (matcher, built) = matcher(template, count);
            let call = drafted(&matcher);
            let began = Instant::now();
            assert_eq!(matcher.clone().feed(&call), Ok(call.len()));
            let first = began.elapsed() / call.len() as u32;
            let byte = per_byte(&call, || {
                let mut matcher = matcher.clone();
                call.iter().for_each(|byte| drop(black_box(matcher.feed(std::slice::from_ref(byte)))));
            });
            let forced = per_byte(&call, || {
                let mut matcher = matcher.clone();
                for byte in &call {
                    black_box(matcher.forced());
                    let _ = matcher.feed(std::slice::from_ref(byte));
                }
            });
            let name = format!("{template}, {count}");
            let forced = forced.saturating_sub(byte);
            println!("{name:34} {built:>10.1?} {first:>10.1?} {byte:>10.1?} {forced:>10.1?} {:>12}", matcher.bytes());
        }
    }
    let (mut matcher, _) = matcher("json-call", 1);
    let text = "It rains in Oslo, or so \u{e9} they say. ".repeat(1_000);
    let short = per_byte(&text.as_bytes()[..380], || drop(black_box(matcher.clone().feed(&text.as_bytes()[..380]))));
    matcher.feed(text.repeat(20).as_bytes()).expect("free text");
    let long = per_byte(text.as_bytes(), || drop(black_box(matcher.clone().feed(text.as_bytes()))));
    println!("\na byte behind 760 KB is × {:.2} one at the beginning", long.as_secs_f64() / short.as_secs_f64());
}

fn matcher(template: &str, tools: usize) -> (Matcher, Duration) {
    let tool = |index: usize| {
        let properties = json!({"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"enum": ["celsius", "fahrenheit"]}, "tags": {"type": "array", "items": {"type": "string"}}});
        let parameters =
            json!({"type": "object", "properties": properties, "required": ["city", "days", "unit", "tags"]});
        json!({"type": "function", "function": {"name": format!("get_thing_{index}"), "parameters": parameters}})
    };
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": "required"});
    let chat = ChatTemplate::builtin(template).expect("a built-in template");
    let params = chat.params(&Request::from_json(&body).expect("a request")).expect("it fits");
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
            next.extend(if written { Some(b'e') } else { allowed.iter().find(|byte| b"\"\n<}]'".contains(byte)) });
            if next.is_empty() {
                next.extend(allowed.iter().last());
            }
        }
        matcher.feed(&next).expect("it may come next");
        call.extend(next);
    }
    call
}

fn per_byte(call: &[u8], run: impl Fn()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            (0..100).for_each(|_| run());
            began.elapsed() / (100 * call.len() as u32)
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
