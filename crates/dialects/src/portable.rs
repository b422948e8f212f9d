//! Prints GBNF that all readers accept: every version of llama.cpp's, and XGrammar's.
//!
//! XGrammar accepts an empty alternative only as `""`, has no `.`, and reads more than two digits
//! after `\x`; older readers lack `\-`; names differ in more than case, because converters to other
//! notations require it.

use std::collections::HashMap;
use std::fmt::Write;

use chatparse_base::chars::Chars;
use chatparse_base::limits;
use chatparse_grammar::text::{Node, Tree};

/// Prints the rules of `tree`, `root` first, one per line.
pub fn print(tree: &Tree) -> String {
    let used = tree.used();
    let mut printer = Printer::new(tree, &used, false);
    for rule in used {
        printer.rule(rule, &tree.rules[rule]);
    }
    printer.out
}

/// `name`, with `first` before what is no letter, and a number appended if it is taken.
pub fn free(
    mut name: String,
    first: char,
    joint: char,
    taken: &mut HashMap<String, usize>,
) -> String {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, &format!("{first}{joint}"));
    }
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

/// Prints rules as portable GBNF, or as Lark.
#[derive(Default)]
pub struct Printer<'t> {
    pub lark: bool,
    /// How rules are referred to, and terminals.
    pub names: HashMap<usize, String>,
    /// Names in use.
    pub taken: HashMap<String, usize>,
    /// Rules that are not written yet: groups that nest too deeply become rules.
    pending: Vec<(String, &'t Node)>,
    pub out: String,
}

/// The maximum nesting of groups in Lark; llguidance rejects about sixty.
pub const NESTED: usize = 16;

impl<'t> Printer<'t> {
    /// With a unique name for each rule, which begins with a letter and differs in more than case.
    pub fn new(tree: &Tree, used: &[usize], lark: bool) -> Printer<'t> {
        let mut printer = Printer {
            lark,
            ..Printer::default()
        };
        let joint = if lark { '_' } else { '-' };
        // The root comes first, so it gets the name that it prefers.
        for &rule in used {
            let name = match (rule == tree.root, lark) {
                (true, true) => "start".to_owned(),
                (true, false) => "root".to_owned(),
                (false, true) => tree.names[rule].to_ascii_lowercase().replace('-', "_"),
                (false, false) => tree.names[rule].to_string(),
            };
            let name = free(name, 'r', joint, &mut printer.taken);
            printer.names.insert(rule, name);
        }
        printer
    }

    pub fn rule(&mut self, rule: usize, body: &'t Node) {
        self.pending.push((self.names[&rule].clone(), body));
        while let Some((name, body)) = self.pending.pop() {
            self.out
                .extend([&*name, if self.lark { ": " } else { " ::= " }]);
            self.branches(body, 0);
            self.out.push('\n');
        }
    }

    fn branches(&mut self, node: &'t Node, depth: usize) {
        match node {
            Node::Choice(branches) if !branches.is_empty() => {
                // The empty branch first: a reader that tries branches in order still tries all.
                let (first, others): (Vec<&Node>, Vec<&Node>) = branches
                    .iter()
                    .partition(|branch| !self.lark && **branch == Node::EMPTY);
                for (i, branch) in first.into_iter().chain(others).enumerate() {
                    if i > 0 {
                        self.out.push_str(" | ");
                    }
                    self.sequence(branch, depth);
                }
            }
            other => self.sequence(other, depth),
        }
    }

    fn sequence(&mut self, node: &'t Node, depth: usize) {
        match node {
            Node::Sequence(parts) if parts.is_empty() => self.out.push_str("\"\""),
            Node::Sequence(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        self.out.push(' ');
                    }
                    self.item(part, depth);
                }
            }
            other => self.item(other, depth),
        }
    }

    fn item(&mut self, node: &'t Node, depth: usize) {
        match node {
            Node::Text(text) => self.out.push_str(&quoted(text, false)),
            Node::Class(set) => class(set, member, &mut self.out),
            Node::Rule(rule) => self.out.push_str(&self.names[rule]),
            Node::Choice(branches) if branches.is_empty() => {
                let sign = if self.lark { "/" } else { "" };
                self.out.push_str(sign);
                class(&Chars::default(), member, &mut self.out);
                self.out.push_str(sign);
            }
            Node::Choice(_) | Node::Sequence(_) => self.in_group(node, depth),
            Node::Repeat(part, min, max) if self.lark => {
                match **part {
                    Node::Repeat(..) => self.in_group(part, depth),
                    _ => self.item(part, depth),
                }
                bounds(*min, *max, &mut self.out);
            }
            Node::Repeat(part, min, max) => self.repeat(part, *min, *max, depth),
        }
    }

    fn in_group(&mut self, part: &'t Node, depth: usize) {
        if self.lark && depth == NESTED {
            let name = free("part".to_owned(), 'p', '_', &mut self.taken);
            self.out.push_str(&name);
            self.pending.push((name, part));
            return;
        }
        self.out.push('(');
        self.branches(part, depth + 1);
        self.out.push(')');
    }

    fn repeat(&mut self, part: &'t Node, min: u64, max: Option<u64>, depth: usize) {
        let start = self.out.len();
        self.item(part, depth);
        let once = self.out.split_off(start);
        let times = max.unwrap_or(min);
        if rules(part).saturating_mul(times) < limits::GBNF_REPETITIONS
            || times < 2
            || once.len() > SPLIT_BYTES
        {
            return self.times(part, &once, min, max);
        }
        // Newer readers reject a repetition that unrolls to more rules than older ones accept.
        let first = min.min(times - 1);
        self.times(part, &once, first, Some(times - 1));
        self.out.push(' ');
        self.times(part, &once, min - first, max.map(|_| 1));
    }

    /// Writes a repetition of a part, whose text is `once`.
    fn times(&mut self, part: &Node, once: &str, min: u64, max: Option<u64>) {
        let [open, close] = match part {
            Node::Repeat(..) if (min, max) != (1, Some(1)) => ["(", ")"],
            _ => ["", ""],
        };
        self.out.extend([open, once, close]);
        bounds(min, max, &mut self.out);
    }
}

/// Longer parts are not written twice.
const SPLIT_BYTES: usize = 1_000;

/// The maximum number of rules that a part counts for when llama.cpp's reader unrolls it.
fn rules(node: &Node) -> u64 {
    match node {
        Node::Text(_) | Node::Class(_) | Node::Rule(_) => 1,
        Node::Choice(parts) | Node::Sequence(parts) => {
            parts.iter().map(rules).fold(1, u64::saturating_add)
        }
        Node::Repeat(part, min, max) => rules(part).saturating_mul(max.unwrap_or(*min).max(1)),
    }
}

/// Writes the bounds of a repetition, as in GBNF and Lark.
pub fn bounds(min: u64, max: Option<u64>, out: &mut String) {
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

/// A quoted text, as in JSON. Readers of Lark take a text with `::=` in it for GBNF.
pub fn quoted(text: &str, lark: bool) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '=' if lark && out.ends_with("::") => escaped(c, &mut out),
            c if c.is_control() => in_short(c, &mut out),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Writes a character with a letter if there is one, or by its code.
pub fn in_short(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => escaped(c, out),
    }
}

/// Writes a class; `member` writes its characters.
pub fn class(set: &Chars, member: fn(char, &mut String), out: &mut String) {
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
        c if c.is_ascii_graphic() && !"[]\\^-\"".contains(c) || c == ' ' => out.push(c),
        c => in_short(c, out),
    }
}

/// Writes a character by its code, with a number of digits that all readers accept.
pub fn escaped(c: char, out: &mut String) {
    let _ = match u32::from(c) {
        code @ ..=0xFFFF => write!(out, "\\u{code:04X}"),
        code => write!(out, "\\U{code:08X}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use chatparse_grammar::text::gbnf::tree as read;

    #[test]
    fn what_readers_disagree_about_is_not_there() {
        for (gbnf, portable) in [
            (
                "root ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}",
                r#"root ::= "" | " " | "\n"{1,2} [\t ]{0,20}"#,
            ),
            ("root ::= (\"a\" |) \"b\"", r#"root ::= ("" | "a") "b""#),
            (
                "root ::= .*? [a\\-z\\]] [^\\x00-\\x1F\"]",
                r"root ::= [\u0000-\U0010FFFF]* [\u002D\u005Daz] [^\u0000-\u001F\u0022]",
            ),
            (
                "root ::= [^\\x00-\\U0010FFFF]",
                r"root ::= [^\u0000-\U0010FFFF]",
            ),
            (
                "root ::= \"\\x00a\\\"\\\\é\" [é-ü]",
                r#"root ::= "\u0000a\"\\é" [\u00E9-\u00FC]"#,
            ),
            (
                "root ::= \"a\"{0,1999} \"b\"{0,2000}",
                r#"root ::= "a"{0,1999} "b"{0,1999} "b"?"#,
            ),
            (
                "root ::= \"a\"{2000,} [b]{2000}",
                r#"root ::= "a"{1999} "a"+ "b"{1999} "b""#,
            ),
            (
                "root ::= (\"a\"{1,40}){50}",
                r#"root ::= ("a"{1,40}){49} "a"{1,40}"#,
            ),
            (
                "root ::= (\"ab\"{2}){3} \"c\"{4,}",
                r#"root ::= ("ab"{2}){3} "c"{4,}"#,
            ),
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
