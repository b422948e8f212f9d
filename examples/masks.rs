//! What a model learns from conversations: reads one conversation a line (`{"messages": [...],
//! "tools": [...]}`), and prints for each the prompt and the ranges of bytes that models wrote, as
//! JSON. Conversations are worked on in batches, on all processors: see docs/tokens.md.
//!
//!     cargo run --example masks -- model.jinja < conversations.jsonl      # without a file: a
//!     built-in template
use std::error::Error;
use std::io::BufRead;

use chatparse::{ChatTemplate, MaskParts, Request};

const BATCH: usize = 256;

/// One line of JSON for each conversation: its prompt and its mask, or its error.
fn masks(template: &ChatTemplate, lines: &[String]) -> Vec<String> {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let options = serde_json::json!({"for_training": true}).to_string();
    let requests: Vec<_> = lines
        .iter()
        .map(|line| Request::from_text_with(line, &options))
        .collect();
    let right: Vec<Request> = requests
        .iter()
        .filter_map(|request| request.as_ref().ok().cloned())
        .collect();
    let mut found = template.segments_batch(&right, threads).into_iter();
    let next = |request: chatparse::Result<Request>| {
        let found = request.and_then(|_| found.next().expect("there is one for each request"));
        let made = found.map(|found| {
            let mask: Vec<_> = found.mask(MaskParts::default()).iter().map(|range| [range.start, range.end]).collect();
            // Where a limit was reached, turns may be missing from the mask: leave such a
            // conversation out.
            serde_json::json!({"prompt": found.prompt, "mask": mask, "limit": found.limit.is_some()})
        });
        made.unwrap_or_else(|error| serde_json::json!({"error": error.message()}))
            .to_string()
    };
    requests.into_iter().map(next).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let template = match std::env::args().nth(1) {
        Some(file) => ChatTemplate::new(&std::fs::read_to_string(file)?, "", "")?,
        None => ChatTemplate::builtin("chatml").expect("it is built in"),
    };
    let lines = std::io::stdin()
        .lock()
        .lines()
        .collect::<Result<Vec<String>, _>>()?;
    for batch in lines.chunks(BATCH) {
        masks(&template, batch)
            .iter()
            .for_each(|line| println!("{line}"));
    }
    Ok(())
}

#[test]
fn the_turns_of_the_model_are_masked() {
    let template = ChatTemplate::builtin("chatml").unwrap();
    let said = r#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}"#;
    let [first, wrong, last] = masks(&template, &[said.into(), "{".into(), said.into()])
        .try_into()
        .unwrap();
    let made: serde_json::Value = serde_json::from_str(&first).unwrap();
    let [begin, end] = [0, 1].map(|at| made["mask"][0][at].as_u64().unwrap() as usize);
    assert_eq!(
        &made["prompt"].as_str().unwrap()[begin..end],
        "Yo<|im_end|>"
    );
    assert!(wrong.starts_with(r#"{"error":"#), "{wrong}");
    assert_eq!(first, last);
}
