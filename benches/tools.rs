//! What the tools of a request cost, in processor time: `cargo bench --bench tools [--
//! part-of-a-name [tools rounds [one|same]]]`
//!
//! One request with tools of five arguments each: none of them seen before, without the grammar's
//! text and with it; one of them new, without it, with it, in Lark and as structural tags; the same as before, with
//! it; the prompt alone; and the first marker of another format in an output. Each time is the
//! median of the rounds, from the body as JSON to the parameters. Then what the parser holds, and
//! what a request takes on the clock where several threads use the template. With a number of tools
//! and of rounds: only new tools, so often, to be profiled; with `one` behind them, only one of
//! them new, with `same` none, with `new` all; with one more word, with the grammar's text.

use std::path::Path;
use std::time::Instant;

use chatparse::grammar::Dialect;
use chatparse::message::Dialects;
use chatparse::{ChatTemplate, Params, Stream, builtin};

const NAMES: [(&str, &str); 5] = [
    ("Qwen-Qwen2.5-7B-Instruct", "tag-json"),
    ("Qwen3-Coder", "qwen3-coder"),
    ("GLM-4.6", "tag-arguments"),
    ("openai-gpt-oss-120b", "gpt-oss"),
    ("deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2"),
];
const COUNTS: [usize; 5] = [1, 10, 50, 200, 400];

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let part = words.first().map_or("", String::as_str);
    let number = |at: usize| words.get(at).and_then(|word| word.parse().ok());
    println!("milliseconds");
    println!(
        "{:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "tools",
        "new",
        "grammar",
        "one new",
        "grammar",
        "lark",
        "tags",
        "same",
        "prompt",
        "foreign",
        "KB held"
    );
    for (name, source) in templates()
        .into_iter()
        .filter(|(name, _)| name.contains(part))
    {
        let template = ChatTemplate::new(&source, "<s>", "</s>").expect("the template compiles");
        template
            .params(
                &template
                    .request(&body(1, "x", "x"), "{}")
                    .expect("a request"),
            )
            .expect("it takes tools");
        println!("{name}");
        if let Some(tools) = number(1) {
            let kind = words.get(3).map(String::as_str);
            let asked = if words.len() > 4 {
                Asked::Grammar
            } else {
                Asked::Parser
            };
            for round in 0..number(2).unwrap_or(1) {
                let round = format!("p{round}");
                let (salt, last) = match kind {
                    Some("one") => ("p", &*round),
                    Some("same") => ("p", ""),
                    _ => (&*round, ""),
                };
                run(&template, &body(tools, salt, last), asked);
            }
            continue;
        }
        for tools in COUNTS {
            let rounds = if tools > 50 { 5 } else { 15 };
            let times: Vec<[f64; 5]> = (0..rounds)
                .map(|round| row(&template, tools, round))
                .collect();
            let of = |at: usize| median(times.iter().map(|row| row[at]).collect());
            let [new, grammar, same, prompt, foreign] = [0, 1, 2, 3, 4].map(of);
            // One after the other, as an agent has them.
            let one = |name: &str, asked: Asked| {
                let one = |round: usize| {
                    let body = body(tools, name, &format!("_{round}"));
                    timed(|| run(&template, &body, asked))
                };
                let rounds = if matches!(asked, Asked::In(_)) { 4 } else { 40 };
                median((0..rounds).map(one).skip(rounds / 2).collect())
            };
            let [one, text, lark, tags] = [
                one("one", Asked::Parser),
                one("two", Asked::Grammar),
                one("three", Asked::In(Dialect::Lark)),
                one("four", Asked::In(Dialect::StructuralTag)),
            ];
            let params = params(&template, &body(tools, "a0", "x"));
            let held = (params.parser.bytes() + params.parser.late_bytes()) >> 10;
            println!(
                "{tools:>6} {new:>8.2} {grammar:>8.2} {one:>8.2} {text:>8.2} {lark:>8.2} {tags:>8.2} {same:>8.2} {prompt:>8.2} {foreign:>8.2} {held:>8}"
            );
        }
        let [two, eight] = [2, 8].map(|threads| together(&template, threads));
        println!("50 new tools, time on the clock: {two:.2} with 2 threads, {eight:.2} with 8");
    }
}

fn templates() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/templates");
    let given = |(name, built_in): (&str, &str)| {
        let file = std::fs::read_to_string(folder.join(name).with_extension("jinja")).ok();
        let file =
            file.or_else(|| std::fs::read_to_string(folder.join(format!("{name}.jinja"))).ok());
        let own = || {
            builtin::BUILTINS
                .iter()
                .find(|one| one.name == built_in)
                .map(|one| one.source.to_owned())
        };
        Some((name.to_owned(), file.or_else(own)?))
    };
    NAMES.into_iter().filter_map(given).collect()
}

/// New tools without and with the grammar, the same, the prompt, and the first marker of another
/// format.
fn row(template: &ChatTemplate, tools: usize, round: usize) -> [f64; 5] {
    let timed_run = |salt: &str, asked: Asked| {
        let body = body(tools, &format!("{salt}{round}"), "");
        timed(|| run(template, &body, asked))
    };
    let (new, grammar) = (
        timed_run("a", Asked::Parser),
        timed_run("b", Asked::Grammar),
    );
    let same = timed_run("b", Asked::Grammar);
    let request = template
        .request(&body(tools, "a", ""), "{}")
        .expect("a request");
    let prompt = timed(|| drop(template.prompt(&request).expect("a prompt")));
    let mut request = template
        .request(&body(tools, &format!("c{round}"), ""), "{}")
        .expect("a request");
    request.output.leniency.dialects = Dialects::Always;
    let parser = template
        .params(&request)
        .expect("the template takes it")
        .parser;
    parser.warm();
    let mut stream = Stream::new(&parser);
    let foreign = timed(|| drop(stream.feed(b"[TOOL_CALLS]")));
    [new, grammar, same, prompt, foreign]
}

/// The time of a request on the clock, where so many threads use a template.
fn together(template: &ChatTemplate, threads: usize) -> f64 {
    const REQUESTS: usize = 48;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let one = move |round| {
                run(
                    template,
                    &body(50, &format!("t{threads}_{thread}_{round}"), ""),
                    Asked::Grammar,
                )
            };
            scope.spawn(move || (0..REQUESTS / threads).for_each(one));
        }
    });
    start.elapsed().as_secs_f64() * 1e3 / REQUESTS as f64
}

fn params(template: &ChatTemplate, body: &str) -> Params {
    let request = template.request(body, "{}").expect("a request");
    template.params(&request).expect("the template takes it")
}

/// What a host asks for.
#[derive(Clone, Copy)]
enum Asked {
    Parser,
    /// Also the grammar's text.
    Grammar,
    /// The same in another dialect.
    In(Dialect),
}

fn run(template: &ChatTemplate, body: &str, asked: Asked) {
    let params = params(template, body);
    match asked {
        Asked::Parser => {}
        Asked::Grammar => drop(params.grammar()),
        Asked::In(dialect) => drop(params.grammar_as(dialect)),
    }
}

fn timed(run: impl FnOnce()) -> f64 {
    let from = cpu();
    run();
    (cpu() - from) * 1e3
}

/// The time of the processor that this thread has used, in seconds.
fn cpu() -> f64 {
    // The kernel counts where a thread gives way. Nanoseconds on the processor come first.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ')
        .next()
        .and_then(|nanoseconds| nanoseconds.parse::<f64>().ok())
        .unwrap_or_default()
        / 1e9
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// `salt` names the tools; `last` the last one besides. Written as one text: what many small values
/// leave to the allocator would be counted.
fn body(tools: usize, salt: &str, last: &str) -> String {
    const SCHEMA: &str = r#"{"type":"object","required":["path","lines"],"properties":{"path":{"type":"string","description":"The path of the file that is to be read or written"},"lines":{"type":"integer","description":"How many lines at most"},"way":{"enum":["one","two","three"],"description":"Which way"},"names":{"type":"array","items":{"type":"string"},"description":"Names of things"},"dry":{"type":"boolean","description":"Whether nothing is written"}}}"#;
    let mut body =
        r#"{"messages":[{"role":"user","content":"Hi"}],"reasoning_format":"auto","tools":["#
            .to_owned();
    for index in 0..tools {
        let (comma, last) = (
            if index == 0 { "" } else { "," },
            if index + 1 == tools { last } else { "" },
        );
        body += &format!(
            r#"{comma}{{"type":"function","function":{{"name":"tool_{index}_{salt}{last}","description":"Does something with a file, and says what came of it","parameters":{SCHEMA}}}}}"#
        );
    }
    body + "]}"
}
