//! Streaming: is it linear, and what does a chunk cost? `cargo bench --bench feed`
//!
//! Output of 64 KB and of 256 KB in chunks of 4 bytes, as a token a time would bring it. A round
//! times four short outputs and one long one in turn, so that a busy machine slows both alike; the
//! median of the rounds' ratios counts. Then outputs of 1 KB to 16 MB: what a chunk and a byte
//! cost, the same text at once, deltas and message as JSON, and a chunk where the host says that
//! all of it is text beside 1,000 special tokens, which is the most work.

use std::time::Instant;

use chatparse::message::chunk_delta;
use chatparse::stream::SpecialTokens;
use chatparse::{ChatTemplate, EndedBy, Request, Status, Stream};

const CODE: &str = "fn main() {\n    let total: u32 = (1..=10).map(|n| n * n).sum();\n    println!(\"{total} <= {}\", 385);\n}\n";
const CHUNK: usize = 4;
const ROUNDS: usize = 15;

struct Case {
    name: &'static str,
    template: &'static str,
    before: &'static str,
    after: &'static str,
    json: bool,
}

const CASES: &[Case] = &[
    Case {
        name: "content",
        template: "json-call",
        before: "",
        after: "",
        json: false,
    },
    Case {
        name: "reasoning",
        template: "json-call",
        before: "<think>\n",
        after: "\n</think>\n\nDone.",
        json: false,
    },
    Case {
        name: "JSON call",
        template: "json-call",
        before: "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.rs\", \"text\": \"",
        after: "\"}}\n</tool_call>",
        json: true,
    },
    Case {
        name: "tagged call",
        template: "tag-arguments",
        before: "<call>write_file\n<key>path</key>\n<value>a.rs</value>\n<key>text</key>\n<value>",
        after: "</value>\n</call>",
        json: false,
    },
];

fn request() -> Request {
    let body = r#"{
        "messages": [{"role": "user", "content": "Write it."}],
        "reasoning_format": "auto",
        "tools": [{"type": "function", "function": {"name": "write_file", "parameters": {"type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path", "text"]}}}]
    }"#;
    Request::from_text(body).expect("the request is well-formed")
}

fn output(case: &Case, size: usize) -> String {
    let line = if case.json {
        serde_json::Value::from(CODE).to_string()
    } else {
        CODE.to_owned()
    };
    let line = if case.json {
        &line[1..line.len() - 1]
    } else {
        &line
    };
    format!(
        "{}{}{}",
        case.before,
        line.repeat(size / line.len()),
        case.after
    )
}

fn main() {
    println!(
        "{:12} {:>10} {:>10} {:>8} {:>12}",
        "output", "64 KB", "256 KB", "ratio", "a chunk"
    );
    for case in CASES {
        let template = ChatTemplate::builtin(case.template).expect("a built-in template");
        let params = template.params(&request()).expect("the request fits");
        let run = |text: &str| {
            let start = Instant::now();
            let mut stream = Stream::new(&params.parser);
            let deltas: usize = text
                .as_bytes()
                .chunks(CHUNK)
                .map(|chunk| stream.feed(chunk).len())
                .sum();
            let ended = stream.finish(EndedBy::Model);
            assert_eq!(ended.status, Status::Complete, "{}", case.name);
            assert!(
                deltas > text.len() / CHUNK / 2,
                "{}: {deltas} deltas",
                case.name
            );
            start.elapsed().as_secs_f64()
        };
        let (short, long) = (output(case, 64 << 10), output(case, 256 << 10));
        let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
            .map(|_| ((0..4).map(|_| run(&short)).sum::<f64>() / 4.0, run(&long)))
            .collect();
        rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let ratio = rounds[ROUNDS / 2].1 / rounds[ROUNDS / 2].0;
        let (short_time, long_time) = rounds.iter().fold((f64::MAX, f64::MAX), |best, round| {
            (best.0.min(round.0), best.1.min(round.1))
        });
        let each = long_time * 1e6 / long.len().div_ceil(CHUNK) as f64;
        let (short_ms, long_ms) = (short_time * 1e3, long_time * 1e3);
        println!(
            "{:12} {short_ms:>7.2} ms {long_ms:>7.2} ms {ratio:>8.2} {each:>9.3} µs",
            case.name
        );
    }
    println!(
        "\n{:12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "output", "KB", "a chunk", "a byte", "at once", "as deltas", "as JSON", "marked"
    );
    CASES.iter().for_each(sizes);
}

/// Nanoseconds for outputs of many sizes, the best of some runs.
fn sizes(case: &Case) {
    let template = ChatTemplate::builtin(case.template).expect("a built-in template");
    let params = template.params(&request()).expect("the request fits");
    let tokens: Vec<String> = (0..1_000)
        .map(|number| format!("<|reserved_special_token_{number}|>"))
        .collect();
    let special = SpecialTokens::new(&tokens).expect("they are short");
    for size in [1 << 10, 32 << 10, 1 << 20, 16 << 20] {
        let text = output(case, size);
        let runs = ((8 << 20) / text.len()).clamp(1, 100);
        let best = |run: &dyn Fn() -> usize| {
            let timed = || {
                let start = Instant::now();
                assert!(run() > 0, "{}", case.name);
                start.elapsed().as_secs_f64() * 1e9
            };
            (0..runs).map(|_| timed()).fold(f64::MAX, f64::min)
        };
        let streamed = best(&|| {
            let mut stream = Stream::new(&params.parser);
            text.as_bytes()
                .chunks(CHUNK)
                .map(|chunk| stream.feed(chunk).len())
                .sum()
        });
        let as_deltas = best(&|| {
            let mut stream = Stream::new(&params.parser);
            let chunks = text.as_bytes().chunks(CHUNK);
            chunks
                .map(|chunk| chunk_delta(stream.feed(chunk)).to_string().len())
                .sum()
        });
        let parse = || params.parser.parse(text.as_bytes(), EndedBy::Model).0;
        let at_once = best(&|| {
            let message = parse();
            message.content.len() + message.reasoning_content.len() + message.tool_calls.len()
        });
        let marked = best(&|| {
            let mut stream = Stream::new(&params.parser);
            stream
                .set_special_tokens(&special)
                .expect("nothing was fed");
            let feed = |chunk| {
                stream
                    .feed_marked(chunk, &[])
                    .expect("no span is wrong")
                    .len()
            };
            text.as_bytes().chunks(CHUNK).map(feed).sum()
        });
        let message = parse();
        let as_json = best(&|| message.to_json().to_string().len());
        let bytes = text.len() as f64;
        let chunks = bytes / CHUNK as f64;
        println!(
            "{:12} {:>9} {:>6.1} ns {:>6.2} ns {:>6.2} ns {:>6.1} ns {:>6.2} ns {:>6.1} ns",
            case.name,
            size >> 10,
            streamed / chunks,
            streamed / bytes,
            at_once / bytes,
            as_deltas / chunks,
            as_json / bytes,
            marked / chunks
        );
    }
}
