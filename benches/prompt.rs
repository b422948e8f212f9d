//! A request as JSON text to its prompt, beside the engine alone: `cargo bench --bench prompt [--
//! folder or files]`
//!
//! For the built-in templates, and those of the folder, by default `../shared/templates`, where it
//! is there: the time from the text of a request of 3 and of 300 messages to the prompt, plain and
//! prepared, and, in turn, that of minijinja, set up as for Jinja2, for the same messages as parsed
//! JSON. The ratios count. Templates that minijinja does not render are left out.

mod support;

use std::time::Instant;

use chatparse::{ChatTemplate, Request, builtin};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind};
use serde_json::{Value, json};
use support::{files, median};

const ROUNDS: usize = 40;

/// The option of the plain way.
const PLAIN: &str = r#"{"plain": true}"#;

fn main() {
    let builtins = builtin::BUILTINS
        .iter()
        .map(|b| (b.name.to_owned(), b.source.to_owned()));
    println!("microseconds for 3 and 300 messages, and times minijinja's");
    println!(
        "{:>8} {:>8} {:>6} {:>8} {:>6}   {:>8} {:>8} {:>6} {:>8} {:>6}",
        "engine", "plain", "", "prepared", "", "engine", "plain", "", "prepared", ""
    );
    let mut all: Vec<(String, [f64; 10])> = Vec::new();
    for (name, source) in builtins.chain(files()) {
        let rows: Option<Vec<_>> = [3, 300]
            .into_iter()
            .map(|count| row(&source, count))
            .collect();
        let Some(rows) = rows else { continue };
        let row: [f64; 10] = rows.concat().try_into().expect("two of five");
        println!("{}   {name}", line(&row));
        all.push((name, row));
    }
    let medians =
        std::array::from_fn(|column| median(all.iter().map(|(_, row)| row[column]).collect()));
    println!("{}   median of {}", line(&medians), all.len());
}

/// minijinja, our prompt from text plain and its ratio, prepared and its ratio.
fn row(source: &str, messages: usize) -> Option<Vec<f64>> {
    let messages: Vec<Value> = (0..messages).map(message).collect();
    let body = json!({"messages": messages, "now": 1_785_672_000, "chat_template_kwargs": {"enable_thinking": true}})
        .to_string();
    let request =
        |plain: bool| Request::from_text_with(&body, if plain { PLAIN } else { "{}" }).unwrap();
    let template = ChatTemplate::new(source, "<s>", "</s>").ok()?;
    let env = environment(source)?;
    let shown = json!({"messages": messages, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true, "enable_thinking": true});
    let engine = || env.get_template("chat").ok()?.render(Serde(&shown)).ok();
    engine()?;
    template.prompt(&request(true)).ok()?;
    template.prompt(&request(false)).ok()?;
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        let times = [
            time(|| engine().map(|text| text.len())),
            time(|| template.prompt(&request(true)).ok().map(|text| text.len())),
            time(|| template.prompt(&request(false)).ok().map(|text| text.len())),
        ];
        best.iter_mut()
            .zip(times)
            .for_each(|(best, time)| *best = best.min(time));
    }
    let [engine, plain, prepared] = best;
    Some(vec![
        engine,
        plain,
        plain / engine,
        prepared,
        prepared / engine,
    ])
}

fn message(index: usize) -> Value {
    let role = if index.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    json!({"role": role, "content": format!("Message {index} tells of the weather, of a hill, and of what is behind it, at some length. ").repeat(1 + index % 3)})
}

fn environment(source: &str) -> Option<Environment<'_>> {
    let mut env = Environment::new();
    env.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .ok()?,
    );
    env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    env.add_function("raise_exception", |text: String| {
        Err::<String, _>(Error::new(ErrorKind::InvalidOperation, text))
    });
    env.add_function("strftime_now", |_: String| "2 Aug 2026");
    env.add_template("chat", source).ok()?;
    Some(env)
}

fn time(run: impl FnOnce() -> Option<usize>) -> f64 {
    let start = Instant::now();
    std::hint::black_box(run());
    start.elapsed().as_secs_f64() * 1e6
}

fn line(row: &[f64; 10]) -> String {
    let half = |row: &[f64]| {
        format!(
            "{:>8.1} {:>8.1} {:>6.2} {:>8.1} {:>6.2}",
            row[0], row[1], row[2], row[3], row[4]
        )
    };
    format!("{}   {}", half(&row[..5]), half(&row[5..]))
}
