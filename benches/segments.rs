//! Whose text a prompt is, beside a render of it: `cargo bench --bench segments [-- folder or
//! files]`
//!
//! For the built-in templates, and those of the folder, by default `../shared/templates`, where it
//! is there: microseconds for a conversation of ten messages and some 5 KB, as for training:
//! rendered, and with segments and the mask, with the ratio of the two; and how many conversations
//! a second a batch of them makes on one thread.

mod support;

use std::time::Instant;

use chatparse::{ChatTemplate, MaskParts, Request, builtin};
use serde_json::{Value, json};
use support::{files, median};

const ROUNDS: usize = 30;
const BATCH: usize = 100;

fn main() {
    let builtins = builtin::BUILTINS
        .iter()
        .map(|b| (b.name.to_owned(), b.source.to_owned()));
    println!(
        "{:>8} {:>8} {:>6} {:>8}",
        "render", "segments", "", "a second"
    );
    let mut all: Vec<[f64; 4]> = Vec::new();
    for (name, source) in builtins.chain(files()) {
        let Some(row) = row(&source) else { continue };
        println!("{}   {name}", line(&row));
        all.push(row);
    }
    let medians = std::array::from_fn(|column| median(all.iter().map(|row| row[column]).collect()));
    println!("{}   median of {}", line(&medians), all.len());
}

fn row(source: &str) -> Option<[f64; 4]> {
    let template = ChatTemplate::new(source, "<s>", "</s>").ok()?;
    let request = request(0);
    let found = template.segments(&request).ok()?;
    found.turns.first()?;
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let times = [
            time(|| drop(std::hint::black_box(template.prompt(&request)))),
            time(|| {
                drop(
                    template
                        .segments(&request)
                        .map(|found| std::hint::black_box(found.mask(MaskParts::default()))),
                )
            }),
        ];
        best.iter_mut()
            .zip(times)
            .for_each(|(best, time)| *best = best.min(time));
    }
    let requests: Vec<Request> = (0..BATCH).map(self::request).collect();
    let batch = || time(|| drop(std::hint::black_box(template.segments_batch(&requests, 1))));
    let batch = (0..ROUNDS / 5)
        .map(|_| batch())
        .fold(f64::INFINITY, f64::min);
    let [render, segments] = best;
    Some([
        render,
        segments,
        segments / render,
        BATCH as f64 / batch * 1e6,
    ])
}

fn request(number: usize) -> Request {
    let message = |index: usize| {
        let role = if index.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        json!({"role": role, "content": format!("Message {index} of {number} tells of the weather, of a hill, and of what is behind it. ").repeat(7)})
    };
    let messages: Vec<Value> = (0..10).map(message).collect();
    Request::from_json(&json!({"messages": messages, "now": 1_785_672_000, "for_training": true}))
        .unwrap()
}

fn time(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e6
}

fn line(row: &[f64; 4]) -> String {
    format!(
        "{:>8.1} {:>8.1} {:>6.2} {:>8.0}",
        row[0], row[1], row[2], row[3]
    )
}
