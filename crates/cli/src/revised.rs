//! Revisions of templates that their vendors have replaced since.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// A line for each revision: the SHA-256 of its text, the models, the date of the later one, and
/// what that mends, separated by tabs. The text has line feeds only, and one at its end.
const KNOWN: &str = include_str!("revisions.txt");

/// A revision that a later one replaces.
#[derive(Serialize)]
pub struct Revised {
    pub models: &'static str,
    /// The date of the later one, e.g. `2026-07-09`.
    pub date: &'static str,
    pub mends: &'static str,
}

/// What is known of this text, whose last line feed is left out.
pub fn revised(source: &str) -> Option<Revised> {
    let hash = Sha256::digest(format!("{source}\n"));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = KNOWN.lines().find_map(|line| line.strip_prefix(&*hash))?;
    let mut columns = line.trim_start().split('\t');
    Some(Revised {
        models: columns.next()?,
        date: columns.next()?,
        mends: columns.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_columns() {
        for line in KNOWN.lines() {
            let columns = Vec::from_iter(line.split('\t'));
            let [hash, models, date, mends] = columns[..] else {
                panic!("{line}");
            };
            let is_hash = hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit());
            assert!(is_hash && !models.is_empty() && date.len() == 10 && !mends.is_empty());
        }
        assert!(revised("").is_none());
    }
}
