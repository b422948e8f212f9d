//! Suggestions for misspelt names of built-in templates.

use chatparse::builtin;

/// The maximum length of a word that is compared; names are shorter.
const MOST: usize = 40;

/// Up to three of `names` that are similar to `word`, or begin with it; the nearest first.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word
        .chars()
        .take(MOST)
        .flat_map(char::to_lowercase)
        .collect::<String>();
    let length = word.chars().count();
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let slips = strsim::osa_distance(&word, name);
            let begins = length > 2 && name.starts_with(&word);
            (begins || slips <= length.div_ceil(3).min(3)).then_some((slips, name))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).take(3).collect()
}

/// What to do about a name that there is not: `; did you mean a, b or c?`.
pub fn hint(word: &str) -> String {
    listed(&nearest(word, builtin::names()))
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "; chatparse templates lists them".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [most @ .., last] => format!("; did you mean {} or {last}?", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_beginnings_are_found() {
        let names = ["inspect", "lint", "parse", "qwen3-coder"];
        let near = |word: &str| nearest(word, names.into_iter());
        assert_eq!(near("inspet"), ["inspect"]);
        assert_eq!(near("praes"), ["parse"]);
        assert_eq!(near("LNIT"), ["lint"]);
        assert_eq!(near("qwen3"), ["qwen3-coder"]);
        assert_eq!(near("frobnicate"), [""; 0]);
        assert_eq!(near(""), [""; 0]);
        assert_eq!(listed(&["a", "b", "c"]), "; did you mean a, b or c?");
    }
}
