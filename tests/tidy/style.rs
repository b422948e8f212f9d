//! How functions are written. The rules are those that regex, winnow and minijinja keep.

use std::collections::BTreeMap;

use regex::Regex;

use super::{bare, report, source_files};

/// The widest line, rustfmt's default.
const WIDTH: usize = 100;

/// Closures bound by `let` in a thousand lines of a package.
const CLOSURES: usize = 3;

/// A longer function says its steps in comments.
const LONG: usize = 60;

const COMBINATORS: &[&str] = &[
    "all",
    "and_then",
    "any",
    "chain",
    "enumerate",
    "filter",
    "filter_map",
    "find",
    "find_map",
    "flat_map",
    "flatten",
    "fold",
    "for_each",
    "inspect",
    "is_none_or",
    "is_ok_and",
    "is_some_and",
    "map",
    "map_err",
    "map_or",
    "map_or_else",
    "map_while",
    "max_by_key",
    "min_by_key",
    "ok_or_else",
    "or_else",
    "partition",
    "position",
    "rev",
    "rposition",
    "scan",
    "skip",
    "skip_while",
    "take",
    "take_while",
    "then",
    "then_some",
    "unwrap_or_else",
    "zip",
];

/// rustfmt sees to code. Tables, diagrams and examples may be wider.
#[test]
fn comments_have_at_most_100_characters() {
    let mut broken = Vec::new();
    for file in source_files() {
        let mut in_example = false;
        for (line, number) in file.text.lines().zip(1..) {
            let comment = line.trim_start().starts_with("//");
            in_example ^= comment && line.contains("```");
            let may_be_wide = in_example || ["|", "──", "`"].iter().any(|sign| line.contains(sign));
            if comment && line.chars().count() > WIDTH && !may_be_wide {
                broken.push(format!("{}:{number}", file.path));
            }
        }
    }
    report("break comments of more than 100 characters", &broken);
}

/// A name for a closure promises a second use; a function says more of one that is long.
#[test]
fn few_closures_are_bound_by_let() {
    let bound = Regex::new(r"\blet (?:mut )?\w+(?:: [^=;]+)? = (?:move )?\|").unwrap();
    let mut packages: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for file in source_files() {
        let code = bare(&file.text);
        let (closures, lines) = packages.entry(file.root).or_default();
        *closures += bound.find_iter(&code).count();
        *lines += code.lines().filter(|line| !line.trim().is_empty()).count();
    }
    let mut broken = Vec::new();
    for (package, (closures, lines)) in packages {
        if closures * 1000 > lines * CLOSURES {
            broken.push(format!("{package}: {closures} in {lines} lines"));
        }
    }
    report("write a function, or the closure where it is used", &broken);
}

#[test]
fn at_most_three_combinators_follow_each_other() {
    let mut broken = Vec::new();
    for file in source_files() {
        let code = bare(&file.text);
        let (mut count, mut depth) = (0, None);
        for line in code.lines().filter(|line| !line.trim().is_empty()) {
            let indent = line.len() - line.trim_start().len();
            let method = line.trim_start().strip_prefix('.');
            match (method, depth) {
                (Some(method), _) if depth.is_none_or(|depth| depth == indent) => {
                    let name = method
                        .split(|c: char| !c.is_alphanumeric() && c != '_')
                        .next();
                    count += usize::from(COMBINATORS.contains(&name.unwrap_or_default()));
                    depth = Some(indent);
                }
                // The arguments of a combinator, and their end.
                (_, Some(depth)) if indent > depth => {}
                (None, Some(depth))
                    if indent == depth && line.trim().starts_with([')', '}', ']']) => {}
                _ => (count, depth) = (0, None),
            }
            if count == 4 {
                broken.push(format!("{}: {}", file.path, line.trim()));
                count += 1;
            }
        }
    }
    report("write a loop before the fourth combinator", &broken);
}

#[test]
fn long_functions_say_their_steps() {
    let function =
        Regex::new(r"\n( *)(?:pub(?:\([^)]*\))? )?(?:const |unsafe |extern \x22C\x22 )*fn (\w+)")
            .unwrap();
    let mut broken = Vec::new();
    for file in source_files() {
        let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        for found in function.captures_iter(code) {
            let rest = &code[found.get(0).unwrap().end()..];
            let Some(end) = rest.find(&format!("\n{}}}", &found[1])) else {
                continue;
            };
            let mut steps = rest[..end]
                .lines()
                .filter(|line| line.trim_start().starts_with("// "));
            if rest[..end].lines().count() > LONG && steps.next().is_none() {
                broken.push(format!("{}: {}", file.path, &found[2]));
            }
        }
    }
    report(
        "a function of more than 60 lines has comments that say its steps",
        &broken,
    );
}
