//! Outputs that were quadratic once, byte by byte: how long they take, and what they take in
//! memory. `cargo bench --bench adversarial`
//!
//! Each runs in a process of its own, so that its peak memory is its own. The shapes are those of
//! `tests/growth`, which counts what is timed here. `ADVERSARIAL.md` has the results.

#[path = "../tests/growth/shapes.rs"]
mod shapes;

use std::env;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use chatparse::{EndedBy, Stream};
use shapes::SHAPES;

/// A shape, its size, and what it may take.
struct Case {
    shape: &'static str,
    n: usize,
    most: Duration,
    /// Megabytes.
    memory: Option<u64>,
}

const fn case(shape: &'static str, n: usize, milliseconds: u64) -> Case {
    Case {
        shape,
        n,
        most: Duration::from_millis(milliseconds),
        memory: None,
    }
}

const CASES: &[Case] = &[
    case("calls behind the format", 8_000, 300),
    case("LFM2, texts in single quotes", 4_000, 100),
    case("MiniMax-M3, items as JSON", 8_000, 300),
    case("calls at the end of reasoning that has no end", 4_000, 200),
    Case {
        memory: Some(40),
        ..case("text behind a broken call", 1 << 16, 600)
    },
    // 1 MB at 300 ns a byte.
    case("<f<f<f of 100 tools", 1 << 15, 315),
];

/// Tells the child process which case to run.
const CASE: &str = "CHATPARSE_ADVERSARIAL_CASE";

fn main() {
    if let Some(case) = env::var(CASE)
        .ok()
        .and_then(|index| CASES.get(index.parse::<usize>().ok()?))
    {
        return run(case);
    }
    println!("| output | size | time | target | a byte | peak memory | target |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let this = env::current_exe().expect("the path of this program");
    for (index, case) in CASES.iter().enumerate() {
        let status = Command::new(&this)
            .env(CASE, index.to_string())
            .status()
            .expect("a process");
        assert!(status.success(), "{}", case.shape);
    }
}

fn run(case: &Case) {
    let shape = SHAPES
        .iter()
        .find(|shape| shape.name == case.shape)
        .expect("a shape of this name");
    let (parser, output) = (shape.parser(), (shape.output)(case.n));
    let before = peak();
    let start = Instant::now();
    let mut stream = Stream::new(&parser);
    output
        .as_bytes()
        .chunks(1)
        .for_each(|byte| drop(stream.feed(byte)));
    let ended = stream.finish(EndedBy::Model);
    let time = start.elapsed();
    let grown = peak()
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before).div_ceil(1024));
    let verdict = |good: bool| if good { "" } else { " (missed)" };
    println!(
        "| {} | {} KB, {} calls | {} ms{} | {} ms | {:.0} ns | {}{} | {} |",
        case.shape,
        output.len() >> 10,
        ended.message.tool_calls.len(),
        time.as_millis(),
        verdict(time <= case.most),
        case.most.as_millis(),
        time.as_nanos() as f64 / output.len() as f64,
        grown.map_or("?".to_owned(), |grown| format!("{grown} MB")),
        verdict(
            grown
                .zip(case.memory)
                .is_none_or(|(grown, most)| grown <= most)
        ),
        case.memory
            .map_or("".to_owned(), |most| format!("{most} MB")),
    );
}

/// The most memory that this process has had, in kilobytes, where the system says.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    })
}
