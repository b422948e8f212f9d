//! What a request costs on each template, beside llama.cpp.

use std::path::{Path, PathBuf};

use chatparse::{ChatTemplate, Request, builtin, grammar};
use serde_json::{Value, json};

use crate::llama;
use crate::measure::{Ratio, Times, in_turn, quantile, short};
use crate::report::Report;

const ROUNDS: usize = 7;
/// Requests of ours a round: about as long as one of llama.cpp, so that caches that the other's
/// turn has left cold weigh alike.
const REPEATS: usize = 32;

fn tool(name: String, about: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": about, "parameters": parameters}})
}

/// Two tools and three messages. `salt` makes tools that no other salt makes.
fn body(salt: &str) -> Value {
    let tool = |name: &str, about: &str, parameters: Value| {
        tool(format!("{name}{salt}"), about, parameters)
    };
    json!({
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "Hello!"},
            {"role": "user", "content": "What is the weather in Oslo?"},
        ],
        "reasoning_format": "auto",
        "tools": [
            tool("get_weather", "The weather in a city", json!({"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"}}})),
            tool("write_file", "Writes a file", json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string"}, "text": {"type": "string"}}})),
        ],
    })
}

fn templates(folder: Option<PathBuf>) -> (String, Vec<(String, String)>) {
    let folder = folder
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/templates"));
    let paths = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: PathBuf| {
        Some((
            path.file_stem()?.to_str()?.to_owned(),
            std::fs::read_to_string(&path).ok()?,
        ))
    };
    let mut found: Vec<(String, String)> = paths.filter_map(named).collect();
    found.sort();
    if found.is_empty() {
        let own = builtin::BUILTINS
            .iter()
            .map(|builtin| (builtin.name.to_owned(), builtin.source.to_owned()));
        return ("chatparse's own templates".to_owned(), own.collect());
    }
    ("vendors' templates".to_owned(), found)
}

/// One template's times for each column: ours and llama.cpp's.
struct Row {
    name: String,
    pairs: [(Times, Times); 4],
}

const COLUMNS: [&str; 4] = [
    "new tools",
    "same tools",
    "compile and learn",
    "compile, first request",
];

pub fn report(report: &mut Report, folder: Option<PathBuf>) {
    let (title, templates) = templates(folder);
    report.line("## Requests\n");
    report.line("Prompt, parser and grammar for two tools and three messages: on a template that is compiled and learnt, with tools that");
    report.line("it has not seen, and with tools that it has; beside it llama.cpp's request, on a template that it keeps. Then compiling and");
    report.line("learning a template, and all from the source to the first answer, beside the same of llama.cpp.\n");
    let rows: Vec<Row> = templates
        .iter()
        .filter_map(|(name, source)| row(name, source))
        .collect();
    let ratio = |row: &Row, at: usize| Ratio::of(&row.pairs[at].1, &row.pairs[at].0).median;
    report.head(&[
        "over all templates",
        "median time",
        "llama.cpp",
        "ratio: median",
        "10th to 90th percentile",
        "least",
        "slower than llama.cpp",
    ]);
    for (at, what) in COLUMNS.iter().enumerate() {
        let ratios: Vec<f64> = rows.iter().map(|row| ratio(row, at)).collect();
        let us = |times: Vec<f64>| format!("{} µs", short(quantile(times, 0.5)));
        report.row(&[
            (*what).to_owned(),
            us(rows.iter().map(|row| row.pairs[at].0.median()).collect()),
            us(rows.iter().map(|row| row.pairs[at].1.median()).collect()),
            format!("× {}", short(quantile(ratios.clone(), 0.5))),
            format!(
                "{}–{}",
                short(quantile(ratios.clone(), 0.1)),
                short(quantile(ratios.clone(), 0.9))
            ),
            short(quantile(ratios.clone(), 0.0)),
            format!(
                "{} of {}",
                ratios.iter().filter(|ratio| **ratio < 1.0).count(),
                ratios.len()
            ),
        ]);
    }
    report.line(&format!(
        "\nOver {} {title} that both take with the same prompt, of {}. Each, in microseconds, with llama.cpp's request:\n",
        rows.len(),
        templates.len()
    ));
    let mut head = vec!["template", "llama.cpp"];
    head.extend(COLUMNS.iter().flat_map(|column| [*column, "ratio"]));
    report.head(&head);
    for row in &rows {
        let mut cells = vec![row.name.clone(), short(row.pairs[0].1.median())];
        for (at, (ours, _)) in row.pairs.iter().enumerate() {
            cells.extend([short(ours.median()), format!("× {}", short(ratio(row, at)))]);
        }
        report.row(&cells);
    }
    report.line("");
    many(report, &templates);
    schemas(report);
}

/// A body with many tools of five arguments each. `salt` names them, `last` the last one besides.
fn many_tools(salt: &str, last: &str) -> String {
    let parameters = json!({"type": "object", "required": ["path", "lines"], "properties": {
        "path": {"type": "string", "description": "The path of the file that is to be read or written"},
        "lines": {"type": "integer", "description": "How many lines at most"},
        "way": {"enum": ["one", "two", "three"], "description": "Which way"},
        "names": {"type": "array", "items": {"type": "string"}, "description": "Names of things"},
        "dry": {"type": "boolean", "description": "Whether nothing is written"}}});
    let listed = |index: usize| {
        let last = if index + 1 == MANY { last } else { "" };
        tool(
            format!("tool_{index}_{salt}{last}"),
            "Does something with a file, and says what came of it",
            parameters.clone(),
        )
    };
    let tools: Vec<Value> = (0..MANY).map(listed).collect();
    json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "reasoning_format": "auto"}).to_string()
}

const MANY: usize = 200;
const WITH_MANY: [&str; 5] = [
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen3-Coder",
    "GLM-4.6",
    "openai-gpt-oss-120b",
    "deepseek-ai-DeepSeek-V3.2",
];

fn many(report: &mut Report, templates: &[(String, String)]) {
    report.line(&format!("### {MANY} tools\n"));
    report.line("From the text of a request to prompt and parser: with tools that are all new, and the text of their grammar, which llama.cpp");
    report.line("always makes; without that text; with one that is new; with the same. In milliseconds; a ratio is llama.cpp's time to ours.\n");
    report.head(&[
        "template",
        "llama.cpp",
        "new, grammar",
        "ratio",
        "new",
        "ratio",
        "one new",
        "ratio",
        "same",
        "ratio",
    ]);
    for (name, source) in templates
        .iter()
        .filter(|(name, _)| WITH_MANY.contains(&name.as_str()))
    {
        let (bos, eos) = ("<s>", "</s>");
        let (Ok(ours), Some(theirs)) = (
            ChatTemplate::new(source, bos, eos),
            llama::Template::new(source, bos, eos),
        ) else {
            continue;
        };
        let run = |body: &str, grammar: bool| {
            let params = ours
                .request(body, "{}")
                .and_then(|request| ours.params(&request))
                .expect("it takes tools");
            if grammar {
                params.grammar();
            }
        };
        let bodies = |kind: &str, last: bool| -> Vec<String> {
            let body = |round| {
                if last {
                    many_tools(kind, &format!("_{round}"))
                } else {
                    many_tools(&format!("{kind}{round}"), "")
                }
            };
            (0..ROUNDS).map(body).collect()
        };
        let (fresh, plain, one, same) = (
            bodies("a", false),
            bodies("b", false),
            bodies("c", true),
            many_tools("d", ""),
        );
        let (mut fresh, mut plain, mut one) = (fresh.iter(), plain.iter(), one.iter());
        run(&many_tools("c", ""), false);
        run(&same, false);
        let times = in_turn(
            ROUNDS,
            &mut [
                &mut || drop(llama::Request::new(&same).map(|request| theirs.apply(&request))),
                &mut || fresh.next().into_iter().for_each(|body| run(body, true)),
                &mut || plain.next().into_iter().for_each(|body| run(body, false)),
                &mut || one.next().into_iter().for_each(|body| run(body, false)),
                &mut || run(&same, false),
            ],
        );
        let ms = |at: usize| short(times[at].median() / 1e3);
        let mut cells = vec![name.clone(), ms(0)];
        (1..5).for_each(|at| {
            cells.extend([
                ms(at),
                format!("× {}", short(Ratio::of(&times[0], &times[at]).median)),
            ])
        });
        report.row(&cells);
    }
    report.line("");
}

fn row(name: &str, source: &str) -> Option<Row> {
    let (bos, eos) = ("<s>", "</s>");
    let ours = ChatTemplate::new(source, bos, eos).ok()?;
    let theirs = llama::Template::new(source, bos, eos)?;
    let same = Request::from_json(&body("")).ok()?;
    let their_request = llama::Request::new(&body("").to_string())?;
    let params = ours.params(&same).ok()?;
    let their_params = theirs.apply(&their_request)?;
    if params.prompt != their_params.prompt()
        || params.grammar().text.is_empty() != (their_params.grammar_len() == 0)
    {
        println!("{name}: not the same prompt, or no grammar on one side; left out");
        return None;
    }
    let fresh = (0..ROUNDS * REPEATS).map(|at| Request::from_json(&body(&format!("_{at}"))).ok());
    let fresh: Vec<Request> = fresh.collect::<Option<_>>()?;
    let mut rounds = fresh.chunks(REPEATS);
    let run = |request: &Request| drop(ours.params(request).map(|params| params.grammar().clone()));
    let times = in_turn(
        ROUNDS,
        &mut [
            &mut || rounds.next().into_iter().flatten().for_each(run),
            &mut || (0..REPEATS).for_each(|_| run(&same)),
            &mut || {
                drop(
                    ChatTemplate::new(source, bos, eos).map(|template| template.layout().to_json()),
                )
            },
            &mut || {
                let template = ChatTemplate::new(source, bos, eos);
                drop(
                    template
                        .and_then(|template| template.params(&same))
                        .map(|params| params.grammar().clone()),
                );
            },
            &mut || drop(theirs.apply(&their_request)),
            &mut || drop(llama::Template::new(source, bos, eos)),
            &mut || {
                drop(
                    llama::Template::new(source, bos, eos)
                        .map(|template| template.apply(&their_request)),
                )
            },
        ],
    );
    let [new, known, cold, first, theirs, their_cold, their_first] =
        <[Times; 7]>::try_from(times).ok()?;
    let each = |times: Times| {
        Times(
            times
                .0
                .into_iter()
                .map(|time| time / REPEATS as f64)
                .collect(),
        )
    };
    let pairs = [
        (each(new), theirs.clone()),
        (each(known), theirs),
        (cold, their_cold),
        (first, their_first),
    ];
    Some(Row {
        name: name.to_owned(),
        pairs,
    })
}

fn schemas(report: &mut Report) {
    report.line("### The grammar of a JSON schema\n");
    report.head(&["schema", "chatparse", "llama.cpp", "ratio"]);
    let object = |count: usize| {
        let kinds = [
            json!({"type": "string"}),
            json!({"type": "integer", "minimum": -17, "maximum": 4096}),
            json!({"enum": ["red", "green", "blue"]}),
            json!({"type": "array", "items": {"type": "number"}, "maxItems": 8}),
        ];
        let fields: serde_json::Map<String, Value> = (0..count)
            .map(|at| (format!("property_{at}"), kinds[at % kinds.len()].clone()))
            .collect();
        json!({"type": "object", "properties": fields, "required": ["property_0"]})
    };
    for (name, schema) in [
        ("any value", json!({})),
        ("10 properties", object(10)),
        ("100 properties", object(100)),
    ] {
        let text = schema.to_string();
        let times = in_turn(
            15,
            &mut [
                &mut || {
                    drop(
                        serde_json::from_str::<Value>(&text)
                            .map(|schema| grammar::from_json_schema(&schema)),
                    )
                },
                &mut || assert!(llama::schema_grammar(&text) > 0),
            ],
        );
        let us = |at: usize| format!("{} µs", short(times[at].median()));
        report.row(&[
            name,
            &us(0),
            &us(1),
            &Ratio::of(&times[1], &times[0]).to_string(),
        ]);
    }
    report.line("");
}
