//! Compares today's segments with those of one traced render.
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use chatparse_chat::chat::ChatTemplate;
use chatparse_chat::segments::{Origin, Segments};
use chatparse_message::Request;

use serde_json::Value;

#[path = "../../../tests/segments/conversations.rs"]
mod conversations;

// As in tests/segments: a segment moves with its value alone.
/// The body with one value after another changed, and what the value's origin is.
fn changes(body: &Value) -> Vec<(Origin, Value)> {
    let mut changes = Vec::new();
    for (index, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        let mut leaves = Vec::new();
        collect(message, String::new(), &mut leaves);
        for path in leaves {
            // There are templates that ask whether two messages are alike.
            if message["content"] == "again" {
                continue;
            }
            let kept = ["/role", "/type", "/tool_call_id", "/id"];
            if kept.iter().any(|end| path.ends_with(end)) {
                continue;
            }
            let mut changed = body.clone();
            alter(
                changed
                    .pointer_mut(&format!("/messages/{index}{path}"))
                    .unwrap(),
            );
            changes.push((Origin::Message { index, path }, changed));
        }
    }
    for (index, _) in body["tools"].as_array().into_iter().flatten().enumerate() {
        for path in [
            "/function/description",
            "/function/parameters/properties/pattern/description",
            "/function/parameters/properties/days/minimum",
        ] {
            let mut changed = body.clone();
            if let Some(value) = changed.pointer_mut(&format!("/tools/{index}{path}")) {
                alter(value);
                changes.push((Origin::Tool(index), changed));
            }
        }
    }
    changes
}

fn collect(value: &Value, path: String, leaves: &mut Vec<String>) {
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(key, value)| collect(value, format!("{path}/{key}"), leaves)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| collect(item, format!("{path}/{index}"), leaves)),
        Value::String(text) if text.trim().is_empty() => {}
        // Templates show no null, or ask whether a value is one.
        Value::Null => {}
        _ => leaves.push(path),
    }
}

/// Another value of the same kind.
fn alter(value: &mut Value) {
    *value = match value.take() {
        // JSON stays JSON: there are templates that look.
        Value::String(text) if text.starts_with(['{', '[']) => {
            text.replace("12", "7012").replace("[1,", "[7001,").into()
        }
        Value::String(text) => text
            .replacen(text.trim(), &format!("{}quux", text.trim()), 1)
            .into(),
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => (number.as_f64().unwrap() as i64 + 7_000).into(),
        _ => "quux".into(),
    };
}

/// Whether `other` is the prompt with other text in the segments of this origin, and in those that
/// are unknown.
fn moves_alone(found: &Segments, origin: &Origin, other: &str) -> bool {
    let free = |candidate: &Origin| *candidate == Origin::Unknown || is_of(candidate, origin);
    let mut rest = other;
    let mut gap = false;
    let mut index = 0;
    while index < found.segments.len() {
        if free(&found.segments[index].origin) {
            gap = true;
            index += 1;
            continue;
        }
        let start = found.segments[index].bytes.start;
        while index < found.segments.len() && !free(&found.segments[index].origin) {
            index += 1;
        }
        let text = &found.prompt[start..found.segments[index - 1].bytes.end];
        let is_last = index == found.segments.len();
        rest = match (gap, is_last) {
            (false, _) => match rest.strip_prefix(text) {
                Some(rest) => rest,
                None => return false,
            },
            (true, true) => return rest.ends_with(text),
            (true, false) => match rest.find(text) {
                Some(at) => &rest[at + text.len()..],
                None => return false,
            },
        };
        gap = false;
    }
    gap || rest.is_empty()
}

/// Whether a segment of `candidate` may hold a value of `origin`: arguments are one value for
/// templates that print them as one.
fn is_of(candidate: &Origin, origin: &Origin) -> bool {
    match (candidate, origin) {
        (
            Origin::Message {
                index: a,
                path: candidate,
            },
            Origin::Message { index: b, path },
        ) => {
            a == b
                && (candidate == path
                    || path
                        .strip_prefix(candidate.as_str())
                        .is_some_and(|rest| rest.starts_with('/')))
        }
        (a, b) => a == b,
    }
}

fn each_byte(found: &Segments) -> Vec<&Origin> {
    let mut all = Vec::with_capacity(found.prompt.len());
    for segment in &found.segments {
        all.extend(segment.bytes.clone().map(|_| &segment.origin));
    }
    all
}

fn time<T>(total: &mut u128, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = run();
    *total += start.elapsed().as_nanos();
    value
}

fn main() {
    let bodies = conversations::all();
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let step: usize = args.remove(0).parse().unwrap();
    let only = args.remove(0);
    let mut paths: Vec<_> = args
        .iter()
        .flat_map(|dir| {
            fs::read_dir(dir)
                .unwrap()
                .filter_map(|e| Some(e.ok()?.path()))
                .collect::<Vec<_>>()
        })
        .filter(|path| path.extension().is_some_and(|e| e == "jinja"))
        .collect();
    paths.sort();
    if only != "-" {
        paths.retain(|path| {
            only.split(',')
                .any(|part| path.to_string_lossy().contains(part))
        });
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut add = |name: &str, n: usize| *counts.entry(name.to_owned()).or_default() += n;
    let mut times = [0_u128; 4];
    let mut rows = Vec::new();
    let laws = std::env::var_os("LAWS").is_some();
    let mut wrongs = 0;
    for path in &paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = fs::read_to_string(path).unwrap();
        let Ok(template) = ChatTemplate::new(&source, "<s>", "</s>") else {
            continue;
        };
        let (mut own, mut unknown, mut unknown_now, mut differ, mut bytes, mut shown) =
            ([0_u128; 4], 0, 0, 0, 0, 0);
        let mut renders = 0;
        for (what, body) in bodies.iter().step_by(step) {
            for is_plain in [false, true] {
                let options = serde_json::json!({"plain": is_plain});
                let Ok(request) = Request::from_json_with(body, &options) else {
                    continue;
                };
                if template.prompt(&request).is_err() {
                    continue;
                }
                let Ok(today) = time(&mut own[3], || template.segments_with(&request, false))
                else {
                    continue;
                };
                let traced = match template.traced(&request) {
                    Ok(traced) => traced,
                    Err(error) => {
                        add("traced fails", 1);
                        if shown < 2 {
                            shown += 1;
                            println!("{name}, {what}, plain {is_plain}: {error}");
                        }
                        continue;
                    }
                };
                for way in [0, 1, 2] {
                    let _ = template.spike(&request, way);
                    for _ in 0..3 {
                        let _ = time(&mut own[way as usize], || template.spike(&request, way));
                    }
                }
                renders += 1;
                add("prompts", 1);
                if traced.prompt != today.prompt {
                    add("other prompts", 1);
                    if shown < 2 {
                        shown += 1;
                        let at = traced
                            .prompt
                            .bytes()
                            .zip(today.prompt.bytes())
                            .take_while(|(a, b)| a == b)
                            .count();
                        let cut = |t: &str| {
                            String::from_utf8_lossy(
                                &t.as_bytes()[at.saturating_sub(40)..(at + 60).min(t.len())],
                            )
                            .into_owned()
                        };
                        println!(
                            "{name}, {what}, plain {is_plain}: other prompt\n   {:?}\n   {:?}",
                            cut(&today.prompt),
                            cut(&traced.prompt)
                        );
                    }
                    continue;
                }
                if laws {
                    for (origin, changed) in changes(body) {
                        let Ok(request) = Request::from_json_with(&changed, &options) else {
                            continue;
                        };
                        let Ok(other) = template.prompt(&request) else {
                            continue;
                        };
                        add("changes", 1);
                        for (way, found) in [("today", &today), ("traced", &traced)] {
                            if !moves_alone(found, &origin, &other) {
                                add(&format!("changes wrong {way}"), 1);
                                if way == "traced" && wrongs < 40 {
                                    wrongs += 1;
                                    println!(
                                        "WRONG {name}, {what}, plain {is_plain}: {origin:?}; today {}",
                                        moves_alone(&today, &origin, &other)
                                    );
                                }
                            }
                        }
                    }
                }
                if traced.generation != today.generation {
                    add("other generation", 1);
                    if shown < 2 {
                        shown += 1;
                        println!(
                            "{name}, {what}: generation {:?} {:?} of {}",
                            today.generation,
                            traced.generation,
                            today.prompt.len()
                        );
                    }
                }
                let (a, b) = (each_byte(&today), each_byte(&traced));
                bytes += a.len();
                let mut first = None;
                for (at, (a, b)) in a.iter().zip(&b).enumerate() {
                    unknown += usize::from(**a == Origin::Unknown);
                    unknown_now += usize::from(**b == Origin::Unknown);
                    if **a == Origin::Unknown || a == b {
                        continue;
                    }
                    differ += 1;
                    let c = today.prompt.as_bytes()[at];
                    let kind = format!(
                        "{}: {} -> {}",
                        if c.is_ascii_whitespace() {
                            "space"
                        } else {
                            "differ"
                        },
                        a.name(),
                        b.name()
                    );
                    if a.name() == "template" || b.name() == "template" {
                        add(&kind, 1)
                    } else {
                        add(&format!("{kind} (both values)"), 1)
                    }
                    if !c.is_ascii_whitespace() {
                        first.get_or_insert(at);
                    }
                }
                if let Some(at) = first
                    && shown < 3
                {
                    shown += 1;
                    let text = String::from_utf8_lossy(
                        &today.prompt.as_bytes()[at.saturating_sub(25)..(at + 35).min(a.len())],
                    )
                    .into_owned();
                    println!(
                        "{name}, {what}, plain {is_plain}: today {:?}, traced {:?} at {text:?}",
                        a[at], b[at]
                    );
                }
            }
        }
        let us = |n: u128, times: u128| n as f64 / 1000.0 / (times * renders.max(1)) as f64;
        rows.push(format!("{name}: {renders} prompts, {bytes} bytes, unknown {unknown} -> {unknown_now}, differ {differ}; us engine {:.0} own {:.0} traced {:.0} segments {:.0}", us(own[0], 3), us(own[1], 3), us(own[2], 3), us(own[3], 1)));
        for (sum, one) in times.iter_mut().zip(own) {
            *sum += one;
        }
        add("bytes", bytes);
        add("unknown today", unknown);
        add("unknown traced", unknown_now);
        add("differ", differ);
    }
    for row in rows {
        println!("{row}");
    }
    println!("{counts:#?}");
    println!(
        "ms: engine {} own {} traced {} (each / 3), segments {}",
        times[0] / 3_000_000,
        times[1] / 3_000_000,
        times[2] / 3_000_000,
        times[3] / 1_000_000
    );
}
