//! Prints GBNF that all readers accept: every version of llama.cpp's, and XGrammar's.
//!
//! XGrammar accepts an empty alternative only as `""`, has no `.`, and reads more than two digits after `\x`; older readers
//! lack `\-`; names differ in more than case, because converters to other notations require it.

use std::collections::HashMap;
use std::fmt::Write;

use crate::text::tree::{Node, Tree};
use chatparse_base::chars::Chars;
use chatparse_base::limits;

/// Prints the rules of `tree`, `root` first, one per line.
pub(super) fn print(tree: &Tree) -> String {
    let used = tree.used();
    let names = names(tree, &used, '-', |name, root| if root { "root".to_owned() } else { name.to_owned() });
    let mut out = String::new();
    for &rule in &used {
        out.extend([&*names[&rule], " ::= "]);
        branches(&tree.rules[rule], &names, &mut out);
        out.push('\n');
    }
    out
}

/// A unique name for each rule: it begins with a letter and differs from others in more than case. `wish` returns the
/// preferred name; it gets the rule and whether that is the root. `joint` precedes numbers.
pub(super) fn names(
    tree: &Tree,
    used: &[usize],
    joint: char,
    wish: impl Fn(&str, bool) -> String,
) -> HashMap<usize, String> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut names = HashMap::with_capacity(used.len());
    // The root comes first, so it gets the name that it prefers.
    for &rule in used {
        let mut name = wish(&tree.names[rule], rule == tree.root);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, &format!("r{joint}"));
        }
        names.insert(rule, free(name, joint, &mut taken));
    }
    names
}

/// `name`, with a number appended if it is taken.
pub(super) fn free(name: String, joint: char, taken: &mut HashMap<String, usize>) -> String {
    let mut key = name.to_ascii_lowercase();
    let Some(&count) = taken.get(&key) else {
        taken.insert(key, 1);
        return name;
    };
    let mut number = count + 1;
    loop {
        let candidate = format!("{name}{joint}{number}");
        let taken_name = candidate.to_ascii_lowercase();
        if !taken.contains_key(&taken_name) {
            taken.insert(taken_name, 1);
            taken.insert(std::mem::take(&mut key), number);
            return candidate;
        }
        number += 1;
    }
}

fn branches(node: &Node, names: &HashMap<usize, String>, out: &mut String) {
    match node {
        Node::Choice(branches) if !branches.is_empty() => {
            // The empty branch first: a reader that tries branches in order still tries all.
            let empty = branches.iter().filter(|branch| **branch == Node::EMPTY);
            let others = branches.iter().filter(|branch| **branch != Node::EMPTY);
            for (i, branch) in empty.chain(others).enumerate() {
                if i > 0 {
                    out.push_str(" | ");
                }
                sequence(branch, names, out);
            }
        }
        other => sequence(other, names, out),
    }
}

fn sequence(node: &Node, names: &HashMap<usize, String>, out: &mut String) {
    match node {
        Node::Sequence(parts) if parts.is_empty() => out.push_str("\"\""),
        Node::Sequence(parts) => {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                item(part, names, out);
            }
        }
        other => item(other, names, out),
    }
}

fn item(node: &Node, names: &HashMap<usize, String>, out: &mut String) {
    match node {
        Node::Text(text) => literal(text, out),
        Node::Class(set) => class(set, member, out),
        Node::Rule(rule) => out.push_str(&names[rule]),
        Node::Choice(branches) if branches.is_empty() => class(&Chars::default(), member, out),
        Node::Choice(_) | Node::Sequence(_) => {
            out.push('(');
            branches(node, names, out);
            out.push(')');
        }
        Node::Repeat(part, min, max) => {
            let mut once = String::new();
            item(part, names, &mut once);
            let in_group = matches!(**part, Node::Repeat(..));
            let times_of = |min: u64, max: Option<u64>, out: &mut String| {
                let is_group = in_group && (min, max) != (1, Some(1));
                out.push_str(if is_group { "(" } else { "" });
                out.push_str(&once);
                out.push_str(if is_group { ")" } else { "" });
                bounds(min, max, out);
            };
            let times = max.unwrap_or(*min);
            if rules(part).saturating_mul(times) < limits::GBNF_REPETITIONS || times < 2 || once.len() > SPLIT_BYTES {
                return times_of(*min, *max, out);
            }
            // Newer readers reject a repetition that unrolls to more rules than older ones accept.
            let first = (*min).min(times - 1);
            times_of(first, Some(times - 1), out);
            out.push(' ');
            times_of(min - first, max.map(|_| 1), out);
        }
    }
}

/// Longer parts are not written twice.
const SPLIT_BYTES: usize = 1_000;

/// The maximum number of rules that a part counts for when llama.cpp's reader unrolls it.
fn rules(node: &Node) -> u64 {
    match node {
        Node::Text(_) | Node::Class(_) | Node::Rule(_) => 1,
        Node::Choice(parts) | Node::Sequence(parts) => parts.iter().map(rules).fold(1, u64::saturating_add),
        Node::Repeat(part, min, max) => rules(part).saturating_mul(max.unwrap_or(*min).max(1)),
    }
}

/// Writes the bounds of a repetition, as in GBNF and Lark.
pub(super) fn bounds(min: u64, max: Option<u64>, out: &mut String) {
    let _ = match (min, max) {
        (1, Some(1)) => Ok(()),
        (0, Some(1)) => out.write_char('?'),
        (0, None) => out.write_char('*'),
        (1, None) => out.write_char('+'),
        (min, Some(max)) if min == max => write!(out, "{{{min}}}"),
        (min, Some(max)) => write!(out, "{{{min},{max}}}"),
        (min, None) => write!(out, "{{{min},}}"),
    };
}

fn literal(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => escaped(c, out),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes a class; `member` writes its characters.
pub(super) fn class(set: &Chars, member: fn(char, &mut String), out: &mut String) {
    let (negated, mut ranges) = set.spelled();
    if set.is_empty() {
        ranges = vec![('\0', '\u{10FFFF}')];
    }
    out.push_str(if negated || set.is_empty() { "[^" } else { "[" });
    for (low, high) in ranges {
        member(low, out);
        if high != low {
            out.push('-');
            member(high, out);
        }
    }
    out.push(']');
}

fn member(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_ascii_graphic() && !"[]\\^-\"".contains(c) || c == ' ' => out.push(c),
        c => escaped(c, out),
    }
}

/// Writes a character by its code, with a number of digits that all readers accept.
pub(super) fn escaped(c: char, out: &mut String) {
    let _ = match u32::from(c) {
        code @ ..=0xFFFF => write!(out, "\\u{code:04X}"),
        code => write!(out, "\\U{code:08X}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::gbnf::tree as read;

    #[test]
    fn what_readers_disagree_about_is_not_there() {
        for (gbnf, portable) in [
            ("root ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}", r#"root ::= "" | " " | "\n"{1,2} [\t ]{0,20}"#),
            ("root ::= (\"a\" |) \"b\"", r#"root ::= ("" | "a") "b""#),
            (
                "root ::= .*? [a\\-z\\]] [^\\x00-\\x1F\"]",
                r"root ::= [\u0000-\U0010FFFF]* [\u002D\u005Daz] [^\u0000-\u001F\u0022]",
            ),
            ("root ::= [^\\x00-\\U0010FFFF]", r"root ::= [^\u0000-\U0010FFFF]"),
            ("root ::= \"\\x00a\\\"\\\\é\" [é-ü]", r#"root ::= "\u0000a\"\\é" [\u00E9-\u00FC]"#),
            ("root ::= \"a\"{0,1999} \"b\"{0,2000}", r#"root ::= "a"{0,1999} "b"{0,1999} "b"?"#),
            ("root ::= \"a\"{2000,} [b]{2000}", r#"root ::= "a"{1999} "a"+ "b"{1999} "b""#),
            ("root ::= (\"a\"{1,40}){50}", r#"root ::= ("a"{1,40}){49} "a"{1,40}"#),
            ("root ::= (\"ab\"{2}){3} \"c\"{4,}", r#"root ::= ("ab"{2}){3} "c"{4,}"#),
        ] {
            let printed = print(&read(gbnf).unwrap());
            assert_eq!(printed, format!("{portable}\n"));
            assert_eq!(print(&read(&printed).unwrap()), printed);
        }
    }

    #[test]
    fn names_differ_in_more_than_case() {
        let grammar = "root ::= a A -x 1 a-2 Root A-2\na ::= \"1\"\nA ::= \"2\"\n-x ::= \"3\"\n1 ::= \"4\"\na-2 ::= \"5\"\nRoot ::= \"6\"\nA-2 ::= \"7\"\nunused ::= \"8\"";
        let printed = print(&read(grammar).unwrap());
        let first = printed.lines().next().unwrap();
        assert_eq!(first, "root ::= a A-2 r--x r-1 a-2-2 Root-2 A-2-3");
        assert_eq!(printed.lines().count(), 8);
    }
}
