//! The next turn of a conversation, against a render of the whole: `cargo bench --bench next [--
//! folder or files]`
//!
//! For the built-in templates, and those of the folder, by default `../shared/templates`, where it
//! is there: microseconds for the prompt behind the answer to a conversation of 3, 31 and 301
//! messages, when the user goes on: rendered anew of all messages (`ChatTemplate::params`), and by
//! `Session::next`, with the ratio. A template that writes anew what was sent is left out.

mod support;

use std::time::Instant;

use chatparse::{ChatTemplate, Request, Session, builtin};
use serde_json::{Value, json};
use support::{files, median};

const ROUNDS: usize = 20;
/// Odd ones end with the user's message.
const SIZES: [usize; 3] = [3, 31, 301];

fn main() {
    let builtins = builtin::BUILTINS
        .iter()
        .map(|b| (b.name.to_owned(), b.source.to_owned()));
    println!("microseconds for 3, 31 and 301 messages: anew; next, and times anew");
    let mut all: Vec<[[f64; 2]; 3]> = Vec::new();
    for (name, source) in builtins.chain(files()) {
        let rows: Option<Vec<[f64; 2]>> =
            SIZES.into_iter().map(|size| row(&source, size)).collect();
        let Some(rows) = rows else { continue };
        let rows = std::array::from_fn(|size| rows[size]);
        println!("{}   {name}", line(&rows));
        all.push(rows);
    }
    let medians = std::array::from_fn(|size| {
        std::array::from_fn(|column| median(all.iter().map(|rows| rows[size][column]).collect()))
    });
    println!("{}   median of {}", line(&medians), all.len());
}

/// The times for a conversation of so many messages.
fn row(source: &str, size: usize) -> Option<[f64; 2]> {
    let template = ChatTemplate::new(source, "<s>", "</s>").ok()?;
    let messages: Vec<Value> = (0..size).map(message).collect();
    let request = |messages: &[Value]| {
        Request::from_json(
            &json!({"messages": messages, "now": 1_785_672_000, "enable_thinking": false}),
        )
        .unwrap()
    };
    let output = "It will rain.";
    let new = json!([message(size + 1)]);
    let answer = json!({"role": "assistant", "content": output});
    let whole = request(&[&messages, &[answer, new[0].clone()][..]].concat());
    let session: Session = template.session(request(&messages)).ok()?;
    session
        .next(output.as_bytes(), &new)
        .ok()
        .filter(|next| next.rewrite.is_none())?;
    template.params(&whole).ok()?;
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let times = [
            time(|| template.params(&whole).unwrap().prompt.len()),
            time(|| session.next(output.as_bytes(), &new).unwrap().kept),
        ];
        best.iter_mut()
            .zip(times)
            .for_each(|(best, time)| *best = best.min(time));
    }
    Some(best)
}

fn message(index: usize) -> Value {
    let role = if index.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    json!({"role": role, "content": format!("Message {index} tells of the weather, of a hill, and of what is behind it, at some length. ").repeat(1 + index % 3)})
}

fn time(run: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    std::hint::black_box(run());
    start.elapsed().as_secs_f64() * 1e6
}

fn line(rows: &[[f64; 2]; 3]) -> String {
    let columns = |[anew, next]: &[f64; 2]| format!("{anew:>8.0} {next:>8.0} {:>5.2}", next / anew);
    rows.iter().map(columns).collect::<Vec<_>>().join("   ")
}
