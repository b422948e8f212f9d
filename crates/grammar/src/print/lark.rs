//! Prints Lark, as llguidance, XGrammar and vLLM read it.
//!
//! llguidance splits the output into terminals, the longest first, and each terminal costs time. So terminals are as long as
//! possible without changing the language (`tokens`, `lexer`). The two engines agree on `\u` with four digits only.

use std::collections::HashMap;

use super::lexer;
use super::portable::{bounds, class, escaped, free, names};
use super::recursion;
use super::terminals::{Cut, Facts, Part, Splits, cut};
use crate::text::tree::{Node, Tree};
use chatparse_base::chars::Chars;
use chatparse_base::limits;
use chatparse_base::{Error, ErrorKind, Result};

/// The number of rounds in which terminals are split into parts, then into characters, and then all terminals are split.
const ROUNDS: [usize; 3] = [10, 6, 3];

/// Prints the rules of `tree`, `start` first, then the terminals.
///
/// # Errors
/// [`ErrorKind::Limit`] with the largest rule.
pub(super) fn print(tree: &Tree) -> Result<String> {
    let mut tree = tree.clone();
    let mut left = limits::LARK_PARTS.saturating_sub(weighed(&tree)?);
    let free = recursion::into_loops(&mut tree, &mut left);
    weighed(&tree)?;
    let facts = Facts::new(&tree, &free);
    Ok(Printer::new(&facts, &terminals(&facts)).print())
}

/// The weight of all rules, if it is within the bound.
fn weighed(tree: &Tree) -> Result<usize> {
    let weights: Vec<usize> = tree.rules.iter().map(Node::weight).collect();
    let all = weights.iter().sum();
    if all <= limits::LARK_PARTS {
        return Ok(all);
    }
    let largest = weights.iter().zip(&tree.names).max_by_key(|(weight, _)| **weight);
    let name = largest.map_or("", |(_, name)| name);
    let message = format!("grammar: too large for Lark; its largest rule is {name:?}");
    Err(Error::new(ErrorKind::Limit, message))
}

/// The grammar over terminals that the lexer can tell apart.
fn terminals(facts: &Facts) -> Cut {
    let mut splits = Splits::default();
    let mut budget = lexer::budget(facts);
    let stages = if budget > 0 { &ROUNDS[..] } else { &[] };
    for (stage, &rounds) in stages.iter().enumerate() {
        if stage + 1 == ROUNDS.len() {
            splits.add_everything();
        }
        for _ in 0..rounds {
            let cut = cut(facts, &splits);
            let Some(confused) = lexer::confused(&cut, facts, &mut budget) else { break };
            if confused.is_empty() {
                return cut;
            }
            confused.iter().for_each(|&token| splits.add(&cut.tokens[token], stage > 0, facts.tree));
        }
    }
    // All terminals, and then free text.
    splits.add_everything();
    splits.add_everything();
    cut(facts, &splits)
}

struct Printer<'a> {
    facts: &'a Facts<'a>,
    cut: &'a Cut,
    rules: HashMap<usize, String>,
    /// The terminals, as written in rules.
    tokens: Vec<String>,
    /// Names in use.
    taken: HashMap<String, usize>,
    /// Groups that become rules.
    pending: Vec<(String, &'a Part)>,
    out: String,
}

/// The length up to which terminals are written in place instead of getting a name.
const SHORT: usize = 32;
/// The maximum nesting of groups; llguidance rejects about sixty.
const NESTED: usize = 16;

impl<'a> Printer<'a> {
    fn new(facts: &'a Facts<'a>, cut: &'a Cut) -> Printer<'a> {
        let used: Vec<usize> = cut.rules.iter().map(|(rule, _)| *rule).collect();
        let wish =
            |name: &str, root| if root { "start".to_owned() } else { name.to_ascii_lowercase().replace('-', "_") };
        let rules = names(facts.tree, &used, '_', wish);
        let taken = rules.values().map(|name| (name.to_ascii_lowercase(), 1)).collect();
        Printer { facts, cut, rules, tokens: Vec::new(), taken, pending: Vec::new(), out: String::new() }
    }

    fn print(mut self) -> String {
        let mut terminals = String::new();
        let of_rules = self.facts.terminals();
        for token in &self.cut.tokens {
            let (rule, body) = match token {
                Node::Rule(rule) => (Some(*rule), &self.facts.tree.rules[*rule]),
                other => (of_rules.get(other).copied(), other),
            };
            if let Node::Text(text) = body {
                self.tokens.push(quoted(text));
                continue;
            }
            let mut regex = String::from("/");
            self.regex(body, &mut regex);
            regex.push('/');
            if regex.len() <= SHORT && rule.is_none() {
                self.tokens.push(regex);
                continue;
            }
            let name = rule.map_or("text".to_owned(), |rule| self.facts.tree.names[rule].to_string());
            let mut name = name.to_ascii_uppercase().replace('-', "_");
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                name.insert_str(0, "T_");
            }
            let name = free(name, '_', &mut self.taken);
            terminals.extend([&*name, ": ", &regex, "\n"]);
            self.tokens.push(name);
        }
        for (rule, part) in &self.cut.rules {
            self.out.extend([&*self.rules[rule], ": "]);
            self.branches(part, 0);
            self.out.push('\n');
            while let Some((name, part)) = self.pending.pop() {
                self.out.extend([&*name, ": "]);
                self.branches(part, 0);
                self.out.push('\n');
            }
        }
        self.out + &terminals
    }

    fn branches(&mut self, part: &'a Part, depth: usize) {
        match part {
            Part::Choice(branches) if !branches.is_empty() => {
                for (i, branch) in branches.iter().enumerate() {
                    if i > 0 {
                        self.out.push_str(" | ");
                    }
                    self.sequence(branch, depth);
                }
            }
            other => self.sequence(other, depth),
        }
    }

    fn sequence(&mut self, part: &'a Part, depth: usize) {
        match part {
            Part::Sequence(parts) if parts.is_empty() => self.out.push_str("\"\""),
            Part::Sequence(parts) => {
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

    fn item(&mut self, part: &'a Part, depth: usize) {
        match part {
            Part::Token(token) => self.out.push_str(&self.tokens[*token]),
            Part::Rule(rule) => self.out.push_str(&self.rules[rule]),
            Part::Choice(branches) if branches.is_empty() => {
                self.out.push('/');
                class(&Chars::default(), member, &mut self.out);
                self.out.push('/');
            }
            Part::Choice(_) | Part::Sequence(_) => self.in_group(part, depth),
            Part::Repeat(inner, min, max) => {
                match **inner {
                    Part::Repeat(..) => self.in_group(inner, depth),
                    _ => self.item(inner, depth),
                }
                bounds(*min, *max, &mut self.out);
            }
        }
    }

    fn in_group(&mut self, part: &'a Part, depth: usize) {
        if depth == NESTED {
            let name = free("part".to_owned(), '_', &mut self.taken);
            self.out.push_str(&name);
            self.pending.push((name, part));
            return;
        }
        self.out.push('(');
        self.branches(part, depth + 1);
        self.out.push(')');
    }

    /// Writes a terminal as a regular expression.
    fn regex(&self, node: &Node, out: &mut String) {
        match node {
            Node::Text(text) => text.chars().for_each(|c| member(c, out)),
            Node::Class(set) => class(set, member, out),
            Node::Rule(rule) => self.group(&self.facts.tree.rules[*rule], out),
            Node::Sequence(parts) => parts.iter().for_each(|part| match part {
                Node::Choice(_) => self.group(part, out),
                other => self.regex(other, out),
            }),
            Node::Choice(branches) if branches.is_empty() => class(&Chars::default(), member, out),
            Node::Choice(branches) => {
                for (i, branch) in branches.iter().enumerate() {
                    if i > 0 {
                        out.push('|');
                    }
                    self.regex(branch, out);
                }
            }
            Node::Repeat(part, min, max) => {
                match &**part {
                    Node::Class(set) => class(set, member, out),
                    Node::Text(text) if text.chars().count() == 1 => self.regex(part, out),
                    other => self.group(other, out),
                }
                bounds(*min, *max, out);
            }
        }
    }

    fn group(&self, node: &Node, out: &mut String) {
        out.push('(');
        self.regex(node, out);
        out.push(')');
    }
}

/// Writes a character of a regular expression, inside or outside of a class.
fn member(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_ascii_alphanumeric() || " \"'!,;<>_%@`".contains(c) => out.push(c),
        c if c.is_alphanumeric() => out.push(c),
        c => escaped(c, out),
    }
}

/// A quoted text, as in JSON. Readers take a text with `::=` in it for GBNF.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '=' if out.ends_with("::") => escaped(c, &mut out),
            c if c.is_control() => escaped(c, &mut out),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::gbnf::tree as read;

    fn lark(gbnf: &str) -> String {
        print(&read(gbnf).unwrap()).unwrap()
    }

    #[test]
    fn what_ends_where_nothing_else_goes_on_is_one_terminal() {
        let gbnf = "root ::= \"{\" space string space \",\" space [0-9]+ space \"}\"\nspace ::= | \" \" | \"\\n\"{1,2}\nstring ::= \"\\\"\" ([^\"\\\\] | \"\\\\\" [\"n])* \"\\\"\"";
        let text = "start: \"{\" SPACE? STRING SPACE? \",\" SPACE? /[0-9]+/ SPACE? \"}\"\nSPACE: / |\\n{1,2}/\nSTRING: /\"([^\"\\u005C]|\\u005C[\"n])*\"/\n";
        assert_eq!(lark(gbnf), text);
    }

    #[test]
    fn what_could_be_taken_for_more_is_split() {
        // Either branch may match, however the terminals are split.
        assert_eq!(
            lark("root ::= a b | c\na ::= \"x\"\nb ::= root \".\" | \"z.\"\nc ::= \"xz\" root \";\""),
            "start: \"x\" b | c\nb: start \".\" | \"z.\"\nc: \"x\" \"z\" start \";\"\n"
        );
        // The digits would be one terminal that leaves none for the rest.
        assert_eq!(
            lark("root ::= (s [0-9]* s [0-9])* s\ns ::= \" \"?"),
            "start: (\" \"? /[0-9]/* \" \"? /[0-9]/)* \" \"?\n"
        );
    }

    #[test]
    fn text_up_to_a_marker_is_a_loop_over_long_terminals() {
        let gbnf = "root ::= text \"<e>\" (\"(\" root \")\")?\ntext ::= | [^<] text | \"<\" t1\nt1 ::= | \"<\" t1 | \"e\" t2 | [^<e] text\nt2 ::= | \"<\" t1 | [^<>] text";
        let printed = lark(gbnf);
        assert!(printed.contains("text: /[^<]+/? (\"<\" t1_on /[^<]+/?)*"), "{printed}");
    }

    #[test]
    fn texts_and_names() {
        assert_eq!(
            lark("root ::= \"a::=\\\"/\\\\\" | start\nstart ::= \"b\" start root \"\\x00\" | \"c\" root \"d\""),
            "start: \"a::\\u003D\\\"/\\\\\" | start_2\nstart_2: \"b\" start_2 start \"\\u0000\" | \"c\" start \"d\"\n"
        );
        assert!(!lark("root ::= \":\" \":=\" [:=]{2,400}").contains("::="));
    }

    #[test]
    fn deep_groups_are_rules() {
        let gbnf = format!("root ::= {}root{} | \"x\"", "(\"a\" | \"b\" ".repeat(100), ")".repeat(100));
        let printed = lark(&gbnf);
        assert!(printed.lines().all(|line| line.matches('(').count() <= NESTED + 1), "{printed}");
    }

    #[test]
    fn chains_of_rules_need_no_stack() {
        let mut gbnf = String::from("root ::= r0\n");
        for number in 0..50_000 {
            gbnf += &format!("r{number} ::= r{}\n", number + 1);
        }
        gbnf += "r50000 ::= \"x\"";
        assert!(lark(&gbnf).contains("start: "));
    }
}
