//! Every recorded output, cut off after each of its bytes: there is always a message, it only ever
//! grows, and a call that has ended is one that the whole output has.

#[path = "support/shown.rs"]
mod shown;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use chatparse::{ChatTemplate, EndedBy, Message, Parser, Request, Status, Stream};
use serde_json::{Value, json};

use shown::{Shown, feed};

/// The texts of a message that grow, each with its place; a call's name and id count as one text.
fn texts(message: &Message) -> Vec<&str> {
    let calls = message
        .tool_calls
        .iter()
        .flat_map(|call| [&*call.name, &*call.id, &*call.arguments]);
    [&*message.reasoning_content, &*message.content]
        .into_iter()
        .chain(calls)
        .collect()
}

/// Whether `later` has all that `earlier` has, and perhaps more. `mid_character`: what stands for
/// the beginning of a character at the end of `earlier` may become that character.
fn grows(earlier: &Message, later: &Message, mid_character: bool) -> bool {
    let later = texts(later);
    let known = texts(earlier).into_iter().map(|text| {
        match text.strip_suffix(char::REPLACEMENT_CHARACTER) {
            Some(text) if mid_character => text,
            _ => text,
        }
    });
    known
        .enumerate()
        .all(|(at, text)| later.get(at).is_some_and(|longer| longer.starts_with(text)))
}

/// The calls that have ended are these calls of `whole`.
fn ended_calls_stand(shown: &Shown, whole: &Message) -> bool {
    shown.ended.iter().all(|&index| {
        let whole = whole
            .tool_calls
            .get(index)
            .map(|call| [&call.name, &call.id, &call.arguments]);
        whole.is_some_and(|whole| shown.calls[index].iter().eq(whole))
    })
}

/// Feeds the output byte by byte, and after each ends a copy of the stream in both ways. The error
/// names the prefix.
fn check(parser: &Parser, output: &str, partial: bool) -> Result<(), String> {
    let mut stream = Stream::new(parser);
    let mut shown = Shown::default();
    let whole = feed(
        Stream::new(parser),
        [output.as_bytes()].into_iter(),
        partial,
    )?
    .1
    .message;
    let mut before = Message::default();
    for end in 0..=output.len() {
        let wrong = |what: &str, message: &Message| {
            let text = String::from_utf8_lossy(&output.as_bytes()[..end]);
            Err(format!(
                "{what}, after {text:?}: {message:?}\n  the whole: {whole:?}"
            ))
        };
        shown.add(stream.feed(&output.as_bytes()[end.saturating_sub(1)..end]))?;
        let now = stream.message();
        if !shown.is(&now) {
            return wrong("the deltas are not the message", &now);
        }
        if !grows(&before, &now, false) || !grows(&now, &whole, false) {
            return wrong("something is taken back", &now);
        }
        if !ended_calls_stand(&shown, &whole) {
            return wrong("a call ends too early", &now);
        }
        for cut_off in [true, false] {
            let mut copy = stream.clone();
            let ended = copy.finish(EndedBy::limit_if(cut_off));
            let mut shown = shown.clone();
            shown.add(copy.deltas())?;
            if !shown.is(&ended.message) || !grows(&now, &ended.message, false) {
                return wrong("the end takes something back", &ended.message);
            }
            // The beginning of bare JSON is shown where it is all there is, though it may be that
            // of a call without a marker.
            let content = &ended.message.content;
            let is_bare =
                content.starts_with('{') && content.as_bytes() == &output.as_bytes()[..end];
            if cut_off && !is_bare && !grows(&ended.message, &whole, !output.is_char_boundary(end))
            {
                return wrong("the cut shows what is not there", &ended.message);
            }
            if cut_off && !ended_calls_stand(&shown, &whole) {
                return wrong("the cut ends a call", &ended.message);
            }
            if cut_off && ended.status == Status::Complete {
                return wrong("complete, though cut off", &ended.message);
            }
        }
        before = now;
    }
    Ok(())
}

/// Unoptimized code looks at one output in so many, unless `CHATPARSE_ALL` is set.
const STRIDE: usize = if cfg!(debug_assertions) { 7 } else { 1 };

#[test]
fn every_prefix_of_every_recorded_output() {
    let stride = if std::env::var_os("CHATPARSE_ALL").is_some() {
        1
    } else {
        STRIDE
    };
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let packs =
        ["scenarios", "reference-tests"].map(|name| shared.join(format!("parity/{name}.jsonl.gz")));
    if !packs.iter().all(|pack| pack.is_file()) {
        println!("skipped: no recorded outputs next to the repository");
        return;
    }
    let unpacked = Command::new("gzip")
        .arg("-dc")
        .args(&packs)
        .output()
        .expect("gzip runs");
    assert!(
        unpacked.status.success(),
        "gzip: {}",
        String::from_utf8_lossy(&unpacked.stderr)
    );
    let mut templates = HashMap::new();
    let (mut outputs, mut bytes, mut wrong) = (0, 0, Vec::new());
    for line in String::from_utf8(unpacked.stdout)
        .expect("the packs are text")
        .lines()
    {
        let scenario: Value = serde_json::from_str(line).expect("a line is JSON");
        let scenario = &scenario["in"];
        let text = |name: &str| scenario[name].as_str().unwrap_or_default().to_owned();
        let key = ["template", "bos", "eos"].map(text);
        let template = templates.entry(key).or_insert_with_key(|[name, bos, eos]| {
            let source = fs::read_to_string(shared.join("templates").join(name))
                .expect("the template is there");
            ChatTemplate::new(&source, bos, eos).expect("the template compiles")
        });
        // Some requests are there to be refused. A call in reasoning that nobody closes is one
        // where the output ends, and reasoning where it is cut.
        let options = json!({"calls_in_reasoning": "llama.cpp"});
        let request = Request::from_json_with(&scenario["request"], &options);
        let Ok(params) = request.and_then(|request| template.params(&request)) else {
            continue;
        };
        for output in scenario["outputs"].as_array().into_iter().flatten() {
            let text = output["text"].as_str().expect("an output is a text");
            outputs += 1;
            if outputs % stride != 0 {
                continue;
            }
            bytes += text.len();
            if let Err(error) = check(&params.parser, text, output["partial"] == true) {
                wrong.push(format!("{}: {error}", scenario["id"]));
            }
        }
    }
    println!(
        "{} of {outputs} outputs, {bytes} prefixes",
        outputs / stride
    );
    assert!(
        wrong.is_empty(),
        "{} outputs:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
    assert!(outputs > 3_000, "only {outputs} outputs");
}
