//! Which cases a run takes: `CHATPARSE_CASES` and `CHATPARSE_SEED`.

use std::env;
use std::ops::Range;

pub fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} must be a whole number, not {text:?}")),
        Err(_) => default,
    }
}

/// The seeds of this run.
pub fn seeds(usual: u64) -> Range<u64> {
    let first = number("CHATPARSE_SEED", 1);
    first..first + number("CHATPARSE_CASES", usual)
}
