//! Where each byte of a prompt comes from, for the built-in templates and those next to the
//! repository.

mod conversations;
mod derived;
mod injection;
mod tokens;
mod turns;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chatparse::{ChatTemplate, MaskParts, Origin, Request, Segments, builtin};
use serde_json::Value;

/// Most of all bytes whose origin nobody knows, in a hundred.
const UNKNOWN: f64 = 1.0;

/// The built-in templates, and those next to the repository where they are there.
fn templates() -> Vec<(String, ChatTemplate)> {
    let mut all: Vec<(String, ChatTemplate)> = builtin::BUILTINS
        .iter()
        .map(|b| (b.name.to_owned(), ChatTemplate::builtin(b.name).unwrap()))
        .collect();
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    for folder in ["templates", "templates-wild"] {
        let Ok(entries) = fs::read_dir(shared.join(folder)) else {
            println!(
                "There is no {folder} next to the repository: only built-in templates are tried."
            );
            continue;
        };
        let mut paths: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        paths.sort();
        for path in paths
            .iter()
            .filter(|path| path.extension().is_some_and(|ending| ending == "jinja"))
        {
            let source = fs::read_to_string(path).expect("templates can be read");
            let template = ChatTemplate::new(&source, "<s>", "</s>").expect("templates compile");
            all.push((
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                template,
            ));
        }
    }
    all
}

/// What is known of one template, or wrong.
#[derive(Default)]
struct Seen {
    prompts: usize,
    bytes: usize,
    unknown: usize,
    changes: usize,
    wrong: Vec<String>,
}

/// Looks at each template, on two threads.
fn each(look: impl Fn(&ChatTemplate, &mut Seen) + Sync) -> BTreeMap<String, Seen> {
    let (mut templates, next, seen) = (
        templates(),
        AtomicUsize::new(0),
        Mutex::new(BTreeMap::new()),
    );
    if cfg!(debug_assertions) && std::env::var_os("CHATPARSE_ALL").is_none() {
        // All of them take minutes without optimisation.
        templates = templates.into_iter().step_by(8).collect();
        println!("This build tries every eighth template; with CHATPARSE_ALL it tries all.");
    }
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while let Some((name, template)) =
                    templates.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let mut one = Seen::default();
                    look(template, &mut one);
                    seen.lock().unwrap().insert(name.clone(), one);
                }
            });
        }
    });
    seen.into_inner().unwrap()
}

fn sum(seen: &BTreeMap<String, Seen>, count: fn(&Seen) -> usize) -> usize {
    seen.values().map(count).sum()
}

#[test]
fn every_byte_has_an_origin_and_moves_with_it_alone() {
    let bodies = conversations::all();
    let seen = each(|template, one| {
        bodies
            .iter()
            .for_each(|(what, body)| check(template, what, body, one))
    });
    let (bytes, unknown) = (
        sum(&seen, |seen| seen.bytes),
        sum(&seen, |seen| seen.unknown),
    );
    let (prompts, changes) = (
        sum(&seen, |seen| seen.prompts),
        sum(&seen, |seen| seen.changes),
    );
    println!(
        "{} templates, {prompts} prompts, {bytes} bytes, {unknown} of them unknown, {changes} changes",
        seen.len()
    );
    for (name, one) in seen
        .iter()
        .filter(|(_, one)| one.unknown > 0 || !one.wrong.is_empty())
    {
        let (wrong, changes) = (one.wrong.len(), one.changes);
        println!(
            "{name}: {} of {} bytes unknown, {wrong} of {changes} changes wrong",
            one.unknown, one.bytes
        );
        one.wrong
            .iter()
            .take(4)
            .for_each(|wrong| println!("    {wrong}"));
    }
    assert!(
        (unknown as f64) < bytes as f64 * UNKNOWN / 100.0,
        "{unknown} of {bytes} bytes are unknown"
    );
    assert_eq!(sum(&seen, |seen| seen.wrong.len()), 0);
}

fn check(template: &ChatTemplate, what: &str, body: &Value, seen: &mut Seen) {
    for plain in [false, true] {
        let options = serde_json::json!({"plain": plain});
        let request =
            |body: &Value| Request::from_json_with(body, &options).expect("bodies are requests");
        let Ok(prompt) = template.prompt(&request(body)) else {
            continue;
        };
        let found = template
            .segments(&request(body))
            .expect("what renders has segments");
        assert_eq!(found.prompt, prompt);
        covers(&found);
        if let Some(wrong) = masked(body, &found) {
            seen.wrong.push(format!("{what}: {wrong}"));
        }
        seen.prompts += 1;
        seen.bytes += prompt.len();
        let of = |origin: &Origin| {
            found
                .segments
                .iter()
                .filter(|segment| segment.origin == *origin)
                .map(|segment| segment.bytes.len())
                .sum::<usize>()
        };
        seen.unknown += of(&Origin::Unknown);
        for (origin, changed) in changes(body) {
            let Ok(other) = template.prompt(&request(&changed)) else {
                continue;
            };
            seen.changes += 1;
            if !moves_alone(&found, &origin, &other) {
                let form = if plain { "plain" } else { "prepared" };
                seen.wrong.push(format!("{what}, {form}: {origin:?}"));
            }
        }
    }
}

fn covers(found: &Segments) {
    let mut at = 0;
    for segment in &found.segments {
        assert_eq!(segment.bytes.start, at);
        assert!(segment.bytes.end > at && found.prompt.is_char_boundary(segment.bytes.end));
        at = segment.bytes.end;
    }
    assert_eq!(at, found.prompt.len());
}

/// A mask has all of the assistant's values and none of others'. A result that names its call again
/// is no value of the assistant's.
fn masked(body: &Value, found: &Segments) -> Option<String> {
    let mask = found.mask(MaskParts::default());
    let spoken = |index: usize| body["messages"][index]["role"] == "assistant";
    let mut names = HashSet::new();
    for segment in &found.segments {
        let inside = mask
            .iter()
            .any(|span| span.start <= segment.bytes.start && segment.bytes.end <= span.end);
        let touched = mask
            .iter()
            .any(|span| span.start < segment.bytes.end && segment.bytes.start < span.end);
        let right = match &segment.origin {
            Origin::Message { index, path } if spoken(*index) => {
                let again =
                    path.ends_with("/function/name") && !names.insert((*index, path.clone()));
                inside || again || !found.generation.is_empty()
            }
            Origin::Template | Origin::Unknown => true,
            _ => !touched,
        };
        if !right {
            return Some(format!("{segment:?} and the mask {mask:?}"));
        }
    }
    None
}

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
