//! A template's first answer, learnt and stored: `cargo bench --bench first [-- folder or files]`
//!
//! For the built-in templates, and those of the folder, by default `../shared/templates`, where it
//! is there: the time to compile, learn and answer a request with two tools; the length of the
//! stored template; the time to load that; and to load it and answer.

mod support;

use std::time::Instant;

use chatparse::{ChatTemplate, Request, builtin};
use support::{files, median};

const ROUNDS: usize = 10;

const BODY: &str = r#"{"now": 1785672000, "messages": [{"role": "user", "content": "Rain in Oslo?"}], "tools": [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {"line": {"type": "integer"}}}}}]}"#;

fn main() {
    let builtins = builtin::BUILTINS
        .iter()
        .map(|b| (b.name.to_owned(), b.source.to_owned()));
    println!(
        "microseconds, bytes\n{:>9} {:>7} {:>7} {:>11}",
        "learn", "bytes", "load", "and answer"
    );
    let mut all: Vec<[f64; 4]> = Vec::new();
    for (name, source) in builtins.chain(files()) {
        let Some(row) = row(&source) else { continue };
        println!("{}   {name}", line(row));
        all.push(row);
    }
    let medians = std::array::from_fn(|column| median(all.iter().map(|row| row[column]).collect()));
    println!("{}   median of {}", line(medians), all.len());
}

fn row(source: &str) -> Option<[f64; 4]> {
    let request = Request::from_text(BODY).ok()?;
    let learn = || {
        ChatTemplate::new(source, "<s>", "</s>")
            .ok()?
            .params(&request)
            .ok()
    };
    learn()?;
    let stored = ChatTemplate::new(source, "<s>", "</s>").ok()?.to_bytes();
    let load = || ChatTemplate::from_bytes(&stored).expect("it was stored");
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        let times = [time(learn), time(load), time(|| load().params(&request))];
        best.iter_mut()
            .zip(times)
            .for_each(|(best, time)| *best = best.min(time));
    }
    let [learn, load, answer] = best;
    Some([learn, stored.len() as f64, load, answer])
}

fn time<T>(run: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let made = run();
    let took = start.elapsed().as_secs_f64() * 1e6;
    drop(made);
    took
}

fn line([learn, bytes, load, answer]: [f64; 4]) -> String {
    format!("{learn:>9.0} {bytes:>7.0} {load:>7.1} {answer:>11.0}")
}
