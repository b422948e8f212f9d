//! Prints Lark, as llguidance, XGrammar and vLLM read it.
//!
//! llguidance splits the output into terminals, the longest first, and each terminal costs time. So
//! terminals are as long as possible without changing the language (`tokens`, `lexer`). The two
//! engines agree on `\u` with four digits only.

use super::lexer;
use super::portable::{Printer, bounds, class, free, in_short, quoted};
use super::recursion;
use super::terminals::{Cut, Facts, Splits, cut};
use chatparse_base::chars::Chars;
use chatparse_base::{Error, Result, limits};
use chatparse_grammar::text::{Node, Tree};

/// The number of rounds in which terminals are split into parts, then into characters, and then all
/// terminals are split.
const ROUNDS: [usize; 3] = [10, 6, 3];

/// Prints the rules of `tree`, `start` first, then the terminals.
///
/// # Errors
/// [`chatparse_base::ErrorKind::Limit`] with the largest rule.
pub fn print(mut tree: Tree) -> Result<String> {
    let mut left = limits::LARK_PARTS.saturating_sub(weighed(&tree)?);
    let free = recursion::into_loops(&mut tree, &mut left);
    weighed(&tree)?;
    let facts = Facts::new(&tree, &free);
    Ok(print_cut(&facts, &terminals(&facts)))
}

/// The weight of all rules, if it is within the bound.
fn weighed(tree: &Tree) -> Result<usize> {
    let weights: Vec<usize> = tree.rules.iter().map(Node::weight).collect();
    let all = weights.iter().sum();
    if all <= limits::LARK_PARTS {
        return Ok(all);
    }
    let largest = weights
        .iter()
        .zip(&tree.names)
        .max_by_key(|(weight, _)| **weight);
    let name = largest.map_or("", |(_, name)| name);
    Err(Error::limit(format!(
        "grammar: too large for Lark; its largest rule is {name:?}"
    )))
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
            let Some(confused) = lexer::confused(&cut, facts, &mut budget) else {
                break;
            };
            if confused.is_empty() {
                return cut;
            }
            for token in confused {
                splits.add(&cut.tokens[token], stage > 0, facts.tree);
            }
        }
    }
    // All terminals, and then free text.
    splits.add_everything();
    splits.add_everything();
    cut(facts, &splits)
}

/// The length up to which terminals are written in place instead of getting a name.
const SHORT: usize = 32;

/// Prints the rules, and then the terminals that have names.
fn print_cut(facts: &Facts, cut: &Cut) -> String {
    let used: Vec<usize> = cut.rules.iter().map(|(rule, _)| *rule).collect();
    let mut printer = Printer::new(facts.tree, &used, true);
    let mut terminals = String::new();
    let of_rules = facts.terminals();
    for (token, number) in cut.tokens.iter().zip(cut.first..) {
        let (rule, body) = match token {
            Node::Rule(rule) => (Some(*rule), &facts.tree.rules[*rule]),
            other => (of_rules.get(other).copied(), other),
        };
        if let Node::Text(text) = body {
            printer.names.insert(number, quoted(text, true));
            continue;
        }
        let mut expression = String::from("/");
        regex(facts.tree, body, &mut expression);
        expression.push('/');
        if expression.len() <= SHORT && rule.is_none() {
            printer.names.insert(number, expression);
            continue;
        }
        let name = rule.map_or("text".to_owned(), |rule| facts.tree.names[rule].to_string());
        let name = name.to_ascii_uppercase().replace('-', "_");
        let name = free(name, 'T', '_', &mut printer.taken);
        terminals.extend([&*name, ": ", &expression, "\n"]);
        printer.names.insert(number, name);
    }
    for (rule, part) in &cut.rules {
        printer.rule(*rule, part);
    }
    printer.out + &terminals
}

/// Writes a terminal as a regular expression.
fn regex(tree: &Tree, node: &Node, out: &mut String) {
    match node {
        Node::Text(text) => text.chars().for_each(|c| member(c, out)),
        Node::Class(set) => class(set, member, out),
        Node::Rule(rule) => group(tree, &tree.rules[*rule], out),
        Node::Sequence(parts) => parts.iter().for_each(|part| match part {
            Node::Choice(_) => group(tree, part, out),
            other => regex(tree, other, out),
        }),
        Node::Choice(branches) if branches.is_empty() => class(&Chars::default(), member, out),
        Node::Choice(branches) => {
            for (i, branch) in branches.iter().enumerate() {
                if i > 0 {
                    out.push('|');
                }
                regex(tree, branch, out);
            }
        }
        Node::Repeat(part, min, max) => {
            match &**part {
                Node::Class(set) => class(set, member, out),
                Node::Text(text) if text.chars().count() == 1 => regex(tree, part, out),
                other => group(tree, other, out),
            }
            bounds(*min, *max, out);
        }
    }
}

fn group(tree: &Tree, node: &Node, out: &mut String) {
    out.push('(');
    regex(tree, node, out);
    out.push(')');
}

/// Writes a character of a regular expression, inside or outside of a class.
fn member(c: char, out: &mut String) {
    match c {
        c if c.is_ascii_alphanumeric() || " \"'!,;<>_%@`".contains(c) => out.push(c),
        c if c.is_alphanumeric() => out.push(c),
        c => in_short(c, out),
    }
}

#[cfg(test)]
mod tests {
    use super::super::portable::NESTED;
    use super::*;
    use chatparse_grammar::text::gbnf::tree as read;

    fn lark(gbnf: &str) -> String {
        print(read(gbnf).unwrap()).unwrap()
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
            lark(
                "root ::= a b | c\na ::= \"x\"\nb ::= root \".\" | \"z.\"\nc ::= \"xz\" root \";\""
            ),
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
        assert!(
            printed.contains("text: /[^<]+/? (\"<\" t1_on /[^<]+/?)*"),
            "{printed}"
        );
    }

    #[test]
    fn texts_and_names() {
        assert_eq!(
            lark(
                "root ::= \"a::=\\\"/\\\\\" | start\nstart ::= \"b\" start root \"\\x00\" | \"c\" root \"d\""
            ),
            "start: \"a::\\u003D\\\"/\\\\\" | start_2\nstart_2: \"b\" start_2 start \"\\u0000\" | \"c\" start \"d\"\n"
        );
        assert!(!lark("root ::= \":\" \":=\" [:=]{2,400}").contains("::="));
    }

    #[test]
    fn deep_groups_are_rules() {
        let gbnf = format!(
            "root ::= {}root{} | \"x\"",
            "(\"a\" | \"b\" ".repeat(100),
            ")".repeat(100)
        );
        let printed = lark(&gbnf);
        assert!(
            printed
                .lines()
                .all(|line| line.matches('(').count() <= NESTED + 1),
            "{printed}"
        );
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
