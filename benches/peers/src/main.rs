//! chatparse beside its peers, at the same work in the same process: see `benches/RESULTS.md`,
//! which this writes.
//!
//! Arguments: a folder of templates for the part about requests; `--only streaming` or `--only
//! requests` for one part, which is shown and not written.

mod cases;
#[cfg(feature = "llama")]
mod llama;
mod measure;
mod parsers;
mod report;
#[cfg(feature = "llama")]
mod requests;
mod streaming;

fn main() {
    let mut arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let only = arguments
        .iter()
        .position(|argument| argument == "--only")
        .map(|at| {
            let part = arguments.drain(at..arguments.len().min(at + 2)).last();
            part.unwrap_or_default()
        });
    let part = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let folder = arguments.first().map(std::path::PathBuf::from);
    let mut report = report::Report::default();
    report.line("# chatparse beside its peers\n");
    report.line("Written by `cargo run --release --manifest-path benches/peers/Cargo.toml`: each system in turn, in one process, one");
    report.line(
        "thread; times are those of the processor. Ratios count, times are this machine's.\n",
    );
    report.line(&machine());
    report.line("Systems: chatparse, dynamo-parsers-v2 0.9.6, tool-parser and reasoning-parser 1.10.0, llama.cpp 0.8.0 (b12032)");
    report.line(
        "as in llama-cpp-sys-4 0.11.0 (as its session and server do: parse all text so far, take the difference).\n",
    );
    #[cfg(feature = "llama")]
    llama::quiet();
    #[cfg(not(feature = "llama"))]
    report.line("Built without the feature `llama`: llama.cpp was not measured, nor anything that only it does besides chatparse.\n");
    if part("streaming") {
        streaming::report(&mut report);
    }
    #[cfg(feature = "llama")]
    if part("requests") {
        requests::report(&mut report, folder);
    }
    #[cfg(not(feature = "llama"))]
    drop(folder);
    if only.is_none() {
        report.write();
    }
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("Machine: {name}, {cores} cores.\n")
}
