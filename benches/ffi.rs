//! What the C surface costs: `cargo bench --bench ffi --features capi`
//!
//! 64 KB of output in chunks of 4 bytes, fed from Rust and through the `chat_*` functions as a C
//! program calls them; both look at every delta. A round times both in turn, several times, so that
//! a busy machine slows both alike; the median of the rounds' ratios counts, and should not be over
//! 1.3.
#![allow(unsafe_code, reason = "the caller's side of the C surface")]

use std::ffi::c_char;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use chatparse::internals::ffi::message::chat_outcome;
use chatparse::internals::ffi::params::{chat_params, chat_params_free, chat_params_from_template};
use chatparse::internals::ffi::status::chat_status;
use chatparse::internals::ffi::stream::{
    chat_stream, chat_stream_feed, chat_stream_fields, chat_stream_finish, chat_stream_free,
    chat_stream_new, chat_stream_view,
};
use chatparse::internals::ffi::template::{chat_template_builtin, chat_template_free};
use chatparse::{ChatTemplate, EndedBy, Request, Status, Stream};

const CODE: &str = "    println!(\"{total} <= {}\", 385); // of all that is squared\n";
const SIZE: usize = 64 << 10;
const CHUNK: usize = 4;
const ROUNDS: usize = 25;
const RUNS: usize = 4;
const REQUEST: &str = r#"{"messages": [{"role": "user", "content": "Write it."}], "reasoning_format": "auto",
    "tools": [{"type": "function", "function": {"name": "write_file", "parameters": {"type": "object",
    "properties": {"text": {"type": "string"}}}}}]}"#;

/// An output: its name, and what stands around the text.
const CASES: &[(&str, &str, &str)] = &[
    ("content", "", ""),
    ("reasoning", "<think>\n", "\n</think>\n\nDone."),
    (
        "JSON call",
        "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"text\": \"",
        "\"}}\n</tool_call>",
    ),
];

fn output(before: &str, after: &str) -> String {
    let line = serde_json::Value::from(CODE).to_string();
    let line = if before.ends_with('"') {
        &line[1..line.len() - 1]
    } else {
        CODE
    };
    format!("{before}{}{after}", line.repeat(SIZE / line.len()))
}

fn from_rust(parser: &chatparse::Parser, output: &[u8]) -> usize {
    let mut read = 0;
    let mut stream = Stream::new(parser);
    for chunk in output.chunks(CHUNK) {
        read += stream
            .feed(chunk)
            .map(|delta| black_box(&delta).text.len())
            .sum::<usize>();
    }
    assert_eq!(stream.finish(EndedBy::Model).status, Status::Complete);
    read + stream.deltas().map(|delta| delta.text.len()).sum::<usize>()
}

/// What a function puts into a variable, or why not.
fn made<T>(call: impl FnOnce(&mut MaybeUninit<T>) -> chat_status) -> T {
    let mut out = MaybeUninit::uninit();
    assert_eq!(call(&mut out), chat_status::Ok);
    // SAFETY: outputs are written where the status is OK.
    unsafe { out.assume_init() }
}

fn fields(stream: &chat_stream) -> &chat_stream_fields {
    // SAFETY: they are valid until the stream changes.
    unsafe { &*chat_stream_view(Some(stream)) }
}

fn read(fields: &chat_stream_fields) -> usize {
    // SAFETY: the deltas of these fields.
    let deltas = (0..fields.deltas.len).map(|index| unsafe { &*fields.deltas.data.add(index) });
    deltas.map(|delta| black_box(delta).text.len).sum()
}

fn from_c(params: &chat_params, output: &[u8]) -> usize {
    let mut sum = 0;
    let stream = made(|out| chat_stream_new(Some(params), Some(out), None));
    // SAFETY: the stream is ours alone until it is freed below.
    let mut stream = unsafe { Box::from_raw(stream) };
    for chunk in output.chunks(CHUNK) {
        // SAFETY: a pointer and its length.
        let fed = unsafe {
            chat_stream_feed(Some(&mut stream), chunk.as_ptr().cast(), chunk.len(), None)
        };
        assert_eq!(fed, chat_status::Ok);
        sum += read(fields(&stream));
    }
    assert_eq!(
        chat_stream_finish(Some(&mut stream), 0, None),
        chat_status::Ok
    );
    assert_eq!(fields(&stream).outcome, chat_outcome::Complete);
    sum += read(fields(&stream));
    chat_stream_free(Some(stream));
    sum
}

fn main() {
    let template = ChatTemplate::builtin("json-call").expect("a built-in template");
    let params = template
        .params(&Request::from_text(REQUEST).expect("well-formed"))
        .expect("the request fits");
    let name = "json-call";
    // SAFETY: pointers and their lengths, and objects that nobody else has.
    let (c_template, c_params) = unsafe {
        let bytes = |text: &'static str| text.as_ptr().cast::<c_char>();
        let template = Box::from_raw(made(|out| {
            chat_template_builtin(bytes(name), name.len(), Some(out), None)
        }));
        let params = made(|out| {
            chat_params_from_template(
                Some(&template),
                bytes(REQUEST),
                REQUEST.len(),
                Some(out),
                None,
            )
        });
        (template, Box::from_raw(params))
    };

    println!("{:12} {:>10} {:>10} {:>8}", "output", "Rust", "C", "ratio");
    for (name, before, after) in CASES {
        let output = output(before, after);
        let timed = |body: &dyn Fn() -> usize| {
            let start = Instant::now();
            let read: usize = (0..RUNS).map(|_| body()).sum();
            (start.elapsed().as_secs_f64() / RUNS as f64, read)
        };
        let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
            .map(|_| {
                let (rust, c) = (
                    timed(&|| from_rust(&params.parser, output.as_bytes())),
                    timed(&|| from_c(&c_params, output.as_bytes())),
                );
                assert_eq!(rust.1, c.1, "{name}: the same deltas");
                (rust.0, c.0)
            })
            .collect();
        rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let ratio = rounds[ROUNDS / 2].1 / rounds[ROUNDS / 2].0;
        let best = rounds.iter().fold((f64::MAX, f64::MAX), |best, round| {
            (best.0.min(round.0), best.1.min(round.1))
        });
        println!(
            "{name:12} {:>7.2} ms {:>7.2} ms {ratio:>8.2}",
            best.0 * 1e3,
            best.1 * 1e3
        );
    }
    chat_params_free(Some(c_params));
    chat_template_free(Some(c_template));
}
