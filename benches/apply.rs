//! What a request costs, on every template: `cargo bench --bench apply [-- folder]`
//!
//! Runs over the built-in templates and over those of the folder, by default `../shared/templates`,
//! where it is there. For each, the best of the rounds: the prompt alone; prompt, parser and
//! grammar for tools that the template has not seen; the same for tools that it has; and, once a
//! round, compiling and learning the template. Then requests of other sizes, as the median over the
//! templates; and, for those formats that take most for each tool, an agent's request that comes
//! again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use chatparse::{ChatTemplate, Request, builtin};
use serde_json::{Map, Value, json};

const ROUNDS: usize = 30;
const COLD_ROUNDS: usize = 3;

fn main() {
    let builtins = builtin::BUILTINS
        .iter()
        .map(|b| (b.name.to_owned(), b.source.to_owned()))
        .collect();
    let all = vec![
        ("built-in templates", builtins),
        ("templates of the folder", shared()),
    ];
    for (title, templates) in all
        .into_iter()
        .filter(|(_, templates): &(_, Vec<_>)| !templates.is_empty())
    {
        println!("{title}: microseconds");
        println!(
            "{:>10} {:>10} {:>10} {:>10}",
            "prompt", "new tools", "same tools", "cold"
        );
        let mut rows: Vec<([f64; 4], String)> = templates
            .iter()
            .filter_map(|(name, source)| row(name, source))
            .collect();
        rows.sort_by(|a, b| a.0[1].total_cmp(&b.0[1]));
        for (times, name) in &rows {
            println!("{} {name}", line(times));
        }
        let medians: Vec<f64> = (0..4)
            .map(|column| median(rows.iter().map(|row| row.0[column]).collect()))
            .collect();
        println!("{} median of {}\n", line(&medians), rows.len());
        sizes(&templates);
    }
    again();
}

fn shared() -> Vec<(String, String)> {
    let named = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .map(PathBuf::from);
    let folder =
        named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/templates"));
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!(
            "no {}: only the built-in ones are measured",
            folder.display()
        );
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = paths.filter_map(|path| {
        Some((
            path.file_stem()?.to_str()?.to_owned(),
            std::fs::read_to_string(&path).ok()?,
        ))
    });
    named.collect()
}

fn line(times: &[f64]) -> String {
    times
        .iter()
        .map(|time| format!("{time:>10.1}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn best(rounds: usize, mut run: impl FnMut(usize)) -> f64 {
    let mut timed = |round| {
        let start = Instant::now();
        run(round);
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..rounds).map(&mut timed).fold(f64::MAX, f64::min)
}

/// A conversation of `messages` messages with `tools` tools. `salt` makes tools that no other salt
/// makes.
fn request(messages: usize, tools: usize, salt: &str) -> Request {
    let said = (0..messages).map(|index| match (index, index % 2) {
        (0, _) if messages > 1 => json!({"role": "system", "content": "You help."}),
        (_, 0) => json!({"role": "assistant", "content": format!("Answer {index}: it depends on the day.")}),
        _ => json!({"role": "user", "content": format!("Question {index}: what is the weather in Oslo?")}),
    });
    let mut said: Vec<Value> = said.collect();
    if messages % 2 == 1 {
        said.push(json!({"role": "user", "content": "And tomorrow?"}));
    }
    let tool = |index: usize| {
        json!({"type": "function", "function": {
            "name": format!("get_weather_{index}{salt}"),
            "description": "The weather in a city",
            "parameters": {"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string", "description": "Its name"},
                "days": {"type": "integer"},
                "unit": {"enum": ["celsius", "fahrenheit"]}}}}})
    };
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    let body = json!({"messages": said, "tools": tools, "reasoning_format": "auto"});
    Request::from_json(&body).expect("the request is well-formed")
}

fn row(name: &str, source: &str) -> Option<([f64; 4], String)> {
    let template = ChatTemplate::new(source, "<s>", "</s>").expect("the template compiles");
    let same = request(3, 2, "");
    template.params(&same).ok()?.grammar();
    let others: Vec<Request> = (0..ROUNDS)
        .map(|round| request(3, 2, &format!("_{round}")))
        .collect();
    let fits = "the template takes the request";
    let prompt = best(ROUNDS, |_| drop(template.prompt(&same).expect(fits)));
    let new = best(ROUNDS, |round| {
        drop(
            template
                .params(&others[round])
                .expect(fits)
                .grammar()
                .clone(),
        )
    });
    template.params(&same).expect(fits).grammar();
    let known = best(ROUNDS, |_| {
        drop(template.params(&same).expect(fits).grammar().clone())
    });
    let cold = best(COLD_ROUNDS, |_| {
        drop(
            ChatTemplate::new(source, "<s>", "</s>")
                .expect("it compiles")
                .layout()
                .clone(),
        )
    });
    Some(([prompt, new, known, cold], name.to_owned()))
}

/// Requests of several sizes, over all templates that take them.
fn sizes(templates: &[(String, String)]) {
    println!(
        "{:>10} {:>10} {:>10} {:>10}",
        "messages", "tools", "new tools", "same tools"
    );
    let compiled: Vec<ChatTemplate> = templates
        .iter()
        .map(|(_, source)| ChatTemplate::new(source, "<s>", "</s>").expect("it compiles"))
        .collect();
    for (messages, tools) in [(3, 1), (3, 10), (3, 100), (30, 1), (300, 1), (300, 100)] {
        let (first, second) = (
            request(messages, tools, "_a"),
            request(messages, tools, "_b"),
        );
        let taking = compiled
            .iter()
            .filter(|template| template.params(&first).is_ok());
        let times = taking.map(|template| {
            let run = |request| {
                drop(
                    template
                        .params(request)
                        .expect("it takes it")
                        .grammar()
                        .clone(),
                )
            };
            let new = best(1, |_| run(&second));
            let same = best(3, |_| run(&second));
            (new, same)
        });
        let (new, same): (Vec<f64>, Vec<f64>) = times.unzip();
        println!(
            "{messages:>10} {tools:>10} {:>10.1} {:>10.1}",
            median(new),
            median(same)
        );
    }
    println!();
}

/// The same tools again in a new request, as agents send them, against the prompt alone. Goal: at
/// most 1.5 times as long.
fn again() {
    println!(
        "microseconds{:>10} {:>10} {:>10}",
        "prompt", "again", "ratio"
    );
    for (tools, rounds) in [(100, ROUNDS), (300, ROUNDS / 3)] {
        for name in ["qwen3-coder", "json-call", "minimax-m3"] {
            let template = ChatTemplate::builtin(name).expect("it is built in");
            let (first, second) = (agent(tools), agent(tools));
            let fits = "the template takes the request";
            template.params(&first).expect(fits).grammar();
            let prompt = best(rounds, |_| drop(template.prompt(&second).expect(fits)));
            let again = best(rounds, |_| {
                drop(template.params(&second).expect(fits).grammar().clone())
            });
            println!(
                "{prompt:>22.1} {again:>10.1} {:>10.2} {name}, {tools} tools again",
                again / prompt
            );
        }
    }
}

/// A request of an agent with many tools, of seven arguments each.
fn agent(tools: usize) -> Request {
    let argument = |index: usize| {
        let schema = match index % 4 {
            0 => {
                json!({"type": "string", "description": "The path of the file that is to be read or written"})
            }
            1 => json!({"type": "integer", "description": "How many lines at most"}),
            2 => json!({"enum": ["one", "two", "three"], "description": "Which way"}),
            _ => {
                json!({"type": "array", "items": {"type": "string"}, "description": "Names of things"})
            }
        };
        (format!("argument_{index}"), schema)
    };
    let arguments: Map<String, Value> = (0..7).map(argument).collect();
    let tool = |index: usize| {
        json!({"type": "function", "function": {
            "name": format!("tool_number_{index}"),
            "description": "Does something with a file, and says what came of it",
            "parameters": {"type": "object", "required": ["argument_0"], "properties": arguments}}})
    };
    let tools: Vec<Value> = (0..tools).map(tool).collect();
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "reasoning_format": "auto"});
    Request::from_json(&body).expect("the request is well-formed")
}
