//! The program under bounds of memory and processor time, on cases by chance.

#![cfg(unix)]

mod cases;
mod schemas;
#[path = "../../../../tests/support/seeds.rs"]
mod seeds;
mod templates;

use std::io::Write;
use std::process::{Command, Stdio};
use std::{env, fs};

use seeds::{number, seeds};

/// For unoptimized code on a busy machine.
const SECONDS: u64 = 60;

/// Bytes that look random (SplitMix64), as choices.
fn choices(seed: u64) -> Vec<u8> {
    let word = |at: u64| {
        let state = seed.wrapping_add(at.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)).to_le_bytes()
    };
    (1..=25).flat_map(word).collect()
}

/// What became of the program in so many MiB of memory, if it did not end by itself with a result
/// or an error. Its input is kept in a file.
fn failure(seed: u64, mebibytes: usize, input: &str, arguments: &[&str]) -> Option<String> {
    let memory = mebibytes << 10;
    let bounds = format!(
        "ulimit -v {memory}; ulimit -t {}; exec \"$@\"",
        number("CHATPARSE_SECONDS", SECONDS)
    );
    let mut program = Command::new("sh");
    program
        .args(["-c", &bounds, "sh", env!("CARGO_BIN_EXE_chatparse")])
        .args(arguments);
    let mut program = program
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    program
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = program.wait_with_output().unwrap();
    if matches!(output.status.code(), Some(0..=2)) {
        return None;
    }
    let file = env::temp_dir().join(format!("chatparse-hostile-{seed}"));
    fs::write(&file, input).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    Some(format!(
        "CHATPARSE_SEED={seed} CHATPARSE_CASES=1 {arguments:?} < {file:?}: {}: {errors}",
        output.status
    ))
}
