//! Suggestions for misspelt names of built-in templates.

use chatparse::builtin;

/// The maximum length of a word that is compared; names are shorter.
const MOST: usize = 40;

/// Texts are this similar if one is the other misspelt; equal ones are 1.
const SIMILAR: f64 = 0.85;

/// What to do about a name that there is not: `; did you mean json-call?`.
pub fn hint(word: &str) -> String {
    let word: String = word.to_lowercase().chars().take(MOST).collect();
    let names = builtin::names().map(|name| (strsim::jaro_winkler(&word, name), name));
    match names.max_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((near, name)) if near > SIMILAR => format!("; did you mean {name}?"),
        _ => "; chatparse templates lists them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_beginnings_are_found() {
        for (word, name) in [
            ("json-cal", "json-call"),
            ("JOSN-call", "json-call"),
            ("qwen3", "qwen3-coder"),
            ("gpt_oss", "gpt-oss"),
        ] {
            assert_eq!(hint(word), format!("; did you mean {name}?"));
        }
        for word in ["frobnicate", "", "model.jinja"] {
            assert_eq!(hint(word), "; chatparse templates lists them");
        }
    }
}
