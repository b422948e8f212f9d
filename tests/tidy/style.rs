//! How functions are written. The rules are those that regex, winnow and minijinja keep.

use regex::Regex;

use super::{bare, count_words, report, source_files};

/// The widest line, rustfmt's default.
const WIDTH: usize = 100;

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
fn closures_with_names_have_one_line_and_two_uses() {
    let bound = Regex::new(r"\n( *)let (?:mut )?(\w+)(?:: [^=;]+)? = (?:move )?\|").unwrap();
    let mut broken = Vec::new();
    for file in source_files() {
        let code = bare(&file.text);
        for found in bound.captures_iter(&code) {
            let rest = &code[found.get(0).unwrap().end()..];
            let end_of_scope = format!("\n{}}}", " ".repeat(found[1].len().saturating_sub(4)));
            let scope = &rest[..rest.find(&end_of_scope).unwrap_or(rest.len())];
            let one_line = scope.lines().next().is_some_and(|line| line.ends_with(';'));
            if !one_line || count_words(scope, &found[2]) < 2 {
                broken.push(format!("{}: {}", file.path, &found[2]));
            }
        }
    }
    report(
        "a closure bound by let has one line and two uses, or is a function",
        &broken,
    );
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
        for found in function.captures_iter(&file.text) {
            let rest = &file.text[found.get(0).unwrap().end()..];
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
