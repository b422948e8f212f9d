//! The rules of a grammar as a tree, which prints as GBNF.
//!
//! The tree keeps details that do not change the language (parentheses, the blanks inside them,
//! which form of a bound is used), so that the text is equal to llama.cpp's. Only [`Rule::Class`],
//! [`Rule::Spelled`] and [`Rule::Gbnf`] contain GBNF.

use std::collections::HashMap;
use std::fmt::{self, Write};

use smol_str::SmolStr;

use crate::text::Node;
use crate::text::gbnf;
use chatparse_base::Result;
use chatparse_base::char_class::{self, Spelling};
use chatparse_peg::Spacing;

/// The body of a rule, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The empty text. In a sequence it is still printed, as nothing between two blanks.
    Empty,
    /// This text.
    Literal(SmolStr),
    /// A text that is already escaped for a GBNF literal.
    Spelled(String),
    /// One character of a class, written as in GBNF, brackets included.
    Class(SmolStr),
    /// The rule of this name.
    Reference(SmolStr),
    /// The white space at a place of JSON.
    Blank(Blank),
    /// A whole body written as GBNF. [`Rule::gbnf`] checks it first.
    Gbnf(SmolStr),
    /// All, in order.
    Sequence(Vec<Rule>),
    /// Any one of these.
    Choice(Vec<Rule>),
    /// In parentheses.
    Group(Box<Rule>, Pad),
    /// Repetitions.
    Repeat(Box<Rule>, Bounds),
}

/// The rule of white space in JSON, which every grammar contains.
pub const SPACE: &str = "space";

/// A place where JSON may have white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// After a comma.
    Comma,
    /// After a colon.
    Colon,
    /// Inside of brackets, and before punctuation.
    Inside,
}

/// Blanks inside parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pad {
    /// `(a)`
    None,
    /// `(a )`
    After,
    /// `( a )`
    Both,
}

/// The bounds of a repetition, and their form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Minimum.
    pub min: u64,
    /// Maximum; `None`: unbounded.
    pub max: Option<u64>,
    /// True: `?`, `*` or `+` if possible, otherwise both bounds in braces. False: always braces,
    /// and equal bounds are written once.
    pub sign: bool,
}

impl Rule {
    /// Matches exactly this text.
    pub fn literal(text: impl Into<SmolStr>) -> Rule {
        Rule::Literal(text.into())
    }

    /// Refers to the rule of this name.
    pub fn reference(name: impl Into<SmolStr>) -> Rule {
        Rule::Reference(name.into())
    }

    /// One character of this class, written as in GBNF, brackets included.
    pub fn class(spelled: impl Into<SmolStr>) -> Rule {
        Rule::Class(spelled.into())
    }

    /// One of these characters, or with `negated` any other.
    pub fn one_of(negated: bool, chars: impl IntoIterator<Item = char>) -> Rule {
        Rule::Class(char_class::spelled(
            chars.into_iter().map(|c| (c, c)),
            negated,
            Spelling::Plain,
        ))
    }

    /// A body written as GBNF, on one line; blanks around it are ignored. It may refer to rules
    /// that are not defined yet.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if llama.cpp's reader would reject it or not read it
    /// as one rule: the text is blank, has a comment or a line break outside of literals, or ends
    /// with an empty alternative.
    pub fn gbnf(text: &str) -> Result<Rule> {
        gbnf::body(text).map(|body| Rule::Gbnf(body.into()))
    }

    /// All of these, in order.
    pub fn sequence(parts: impl Into<Vec<Rule>>) -> Rule {
        Rule::Sequence(parts.into())
    }

    /// A sequence without the empty parts; a single part is not wrapped.
    pub fn joined(parts: impl IntoIterator<Item = Rule>) -> Rule {
        let mut parts: Vec<Rule> = parts
            .into_iter()
            .filter(|part| *part != Rule::Empty)
            .collect();
        match parts.len() {
            0 => Rule::Empty,
            1 => parts.swap_remove(0),
            _ => Rule::Sequence(parts),
        }
    }

    /// Any one of these.
    pub fn choice(branches: impl Into<Vec<Rule>>) -> Rule {
        Rule::Choice(branches.into())
    }

    /// Any one of these, if there is one; only one is not wrapped.
    pub(crate) fn one_of_several(mut branches: Vec<Rule>) -> Option<Rule> {
        if branches.len() > 1 {
            Some(Rule::Choice(branches))
        } else {
            branches.pop()
        }
    }

    /// As a part of a sequence or a branch of a choice: a choice gets parentheses.
    pub(crate) fn into_part(self) -> Rule {
        match self {
            choice @ Rule::Choice(_) => choice.group(),
            part => part,
        }
    }

    /// The same as `one_of_several`, with several in parentheses.
    pub(crate) fn in_group(branches: Vec<Rule>) -> Option<Rule> {
        let is_choice = branches.len() > 1;
        Rule::one_of_several(branches).map(|rule| if is_choice { rule.group() } else { rule })
    }

    /// In parentheses.
    pub fn group(self) -> Rule {
        self.padded(Pad::None)
    }

    /// In parentheses with blanks inside.
    pub fn padded(self, pad: Pad) -> Rule {
        Rule::Group(Box::new(self), pad)
    }

    /// Repeats the rule. Written with `?`, `*` or `+` if possible.
    pub fn repeat(self, min: u64, max: Option<u64>) -> Rule {
        Rule::Repeat(
            Box::new(self),
            Bounds {
                min,
                max,
                sign: true,
            },
        )
    }

    /// Repeats the rule, with the bounds always in braces.
    pub fn times(self, min: u64, max: Option<u64>) -> Rule {
        Rule::Repeat(
            Box::new(self),
            Bounds {
                min,
                max,
                sign: false,
            },
        )
    }

    /// Repeats the rule; zero times is written as the empty text.
    pub fn repeat_or_nothing(self, min: u64, max: Option<u64>) -> Rule {
        if max == Some(0) {
            Rule::Empty
        } else {
            self.repeat(min, max)
        }
    }

    /// Makes the rule optional.
    pub fn optional(self) -> Rule {
        self.repeat(0, Some(1))
    }
}

impl Rule {
    /// The rule with this white space in its JSON, and literals that follow each other as one.
    pub(crate) fn spaced(self, spacing: Spacing) -> Rule {
        match (self, spacing) {
            (Rule::Blank(Blank::Comma), Spacing::Fixed { comma: true, .. })
            | (Rule::Blank(Blank::Colon), Spacing::Fixed { colon: true, .. }) => Rule::literal(" "),
            (Rule::Blank(_), Spacing::Fixed { .. }) => Rule::Empty,
            (Rule::Sequence(parts), _) => {
                let mut all: Vec<Rule> = Vec::with_capacity(parts.len());
                for part in parts {
                    append(part.spaced(spacing), &mut all);
                }
                Rule::joined(all)
            }
            (Rule::Choice(branches), _) => {
                let mut branches: Vec<Rule> = branches
                    .into_iter()
                    .map(|rule| rule.spaced(spacing))
                    .collect();
                distinct(&mut branches);
                if branches.len() == 1 {
                    branches.swap_remove(0)
                } else {
                    Rule::Choice(branches)
                }
            }
            (Rule::Group(body, pad), _) => match body.spaced(spacing) {
                body @ (Rule::Literal(_) | Rule::Reference(_)) => body,
                body => Rule::Group(Box::new(body), pad),
            },
            (Rule::Repeat(body, bounds), _) => Rule::Repeat(Box::new(body.spaced(spacing)), bounds),
            (other, _) => other,
        }
    }

    /// Replaces references to the rules of these names. Returns whether there were any.
    pub(crate) fn rename(&mut self, names: &HashMap<SmolStr, SmolStr>) -> bool {
        match self {
            Rule::Reference(name) => names.get(name).map(|to| *name = to.clone()).is_some(),
            Rule::Sequence(parts) | Rule::Choice(parts) => parts
                .iter_mut()
                .fold(false, |any, part| part.rename(names) | any),
            Rule::Group(body, _) | Rule::Repeat(body, _) => body.rename(names),
            _ => false,
        }
    }

    /// The rule as a node. `number`: the number of a rule, by its name.
    pub(crate) fn node(&self, number: &dyn Fn(&str) -> Result<usize>) -> Result<Node> {
        Ok(match self {
            Rule::Empty => Node::EMPTY,
            Rule::Literal(text) => Node::text(text.to_string()),
            Rule::Spelled(text) => gbnf::node(&format!("\"{text}\""), number)?,
            Rule::Class(text) | Rule::Gbnf(text) => gbnf::node(text, number)?,
            Rule::Reference(name) => Node::Rule(number(name)?),
            Rule::Blank(_) => Node::Rule(number(SPACE)?),
            Rule::Sequence(parts) => Node::sequence(nodes(parts, number)?),
            Rule::Choice(branches) => Node::choice(nodes(branches, number)?),
            Rule::Group(body, _) => body.node(number)?,
            Rule::Repeat(body, Bounds { min, max, .. }) => body.node(number)?.repeat(*min, *max),
        })
    }

    /// Writes the rule as GBNF.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Rule::Empty => {}
            Rule::Literal(text) => {
                out.push('"');
                push_spelled(text, out);
                out.push('"');
            }
            Rule::Spelled(text) => out.extend(["\"", text, "\""]),
            Rule::Blank(_) => out.push_str(SPACE),
            Rule::Class(text) | Rule::Reference(text) | Rule::Gbnf(text) => out.push_str(text),
            Rule::Sequence(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        out.push(' ');
                    }
                    part.write_item(out, matches!(part, Rule::Choice(_)));
                }
            }
            Rule::Choice(branches) => {
                for (i, branch) in branches.iter().enumerate() {
                    if i > 0 {
                        let after_blank = i == 1 && matches!(branches[0], Rule::Empty);
                        out.push_str(if after_blank { "|" } else { " |" });
                        if *branch != Rule::Empty {
                            out.push(' ');
                        }
                    }
                    branch.write(out);
                }
            }
            Rule::Group(body, pad) => {
                let (open, close) = match pad {
                    Pad::None => ("(", ")"),
                    Pad::After => ("(", " )"),
                    Pad::Both => ("( ", " )"),
                };
                out.push_str(open);
                body.write(out);
                out.push_str(close);
            }
            Rule::Repeat(body, bounds) => {
                body.write_item(out, matches!(**body, Rule::Choice(_) | Rule::Sequence(_)));
                write!(out, "{bounds}").expect("a String takes all that is written to it");
            }
        }
    }
}

impl Rule {
    /// Writes a part that `is_several` items or alternatives in parentheses.
    fn write_item(&self, out: &mut String, is_several: bool) {
        let [open, close] = if is_several { ["(", ")"] } else { ["", ""] };
        out.push_str(open);
        self.write(out);
        out.push_str(close);
    }
}

impl fmt::Display for Rule {
    /// Formats the rule as GBNF.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounds { min, max, sign } = *self;
        match (min, max) {
            (0, Some(1)) if sign => f.write_char('?'),
            (0, None) if sign => f.write_char('*'),
            (1, None) if sign => f.write_char('+'),
            (min, Some(max)) if min == max && !sign => write!(f, "{{{min}}}"),
            (min, Some(max)) => write!(f, "{{{min},{max}}}"),
            (min, None) => write!(f, "{{{min},}}"),
        }
    }
}

fn nodes(rules: &[Rule], number: &dyn Fn(&str) -> Result<usize>) -> Result<Vec<Node>> {
    rules.iter().map(|rule| rule.node(number)).collect()
}

/// Appends a part to a sequence. Literals that follow each other become one.
fn append(part: Rule, all: &mut Vec<Rule>) {
    match (all.last_mut(), part) {
        (_, Rule::Empty) => {}
        (_, Rule::Group(body, _)) if matches!(*body, Rule::Sequence(_)) => append(*body, all),
        (_, Rule::Sequence(parts)) => parts.into_iter().for_each(|part| append(part, all)),
        (Some(Rule::Literal(before)), Rule::Literal(text)) => {
            *before = SmolStr::from_iter([before.as_str(), &text])
        }
        (_, part) => all.push(part),
    }
}

/// Removes branches that are there already.
pub fn distinct(branches: &mut Vec<Rule>) {
    /// Larger choices are of different names.
    const COMPARED: usize = 16;
    if branches.len() <= COMPARED {
        let mut kept: Vec<Rule> = Vec::with_capacity(branches.len());
        for branch in branches.drain(..) {
            if !kept.contains(&branch) {
                kept.push(branch);
            }
        }
        *branches = kept;
    }
}

/// `text`, escaped for a GBNF literal.
pub fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_spelled(text, &mut out);
    out
}

fn push_spelled(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n', '"', '\\', '\0']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'\r' => "\\r",
            b'\n' => "\\n",
            b'"' => "\\\"",
            b'\\' => "\\\\",
            // A NUL would end the text for a reader in C.
            _ => "\\x00",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints() {
        let a = || Rule::reference("a");
        for (rule, text) in [
            (Rule::literal("a\"\\\n-]\0"), r#""a\"\\\n-]\x00""#),
            (Rule::one_of(false, "a-]".chars()), r"[a\-\]]"),
            (Rule::one_of(true, "^-".chars()), r"[^\x5E-]"),
            (Rule::sequence([a(), Rule::Empty, a()]), "a  a"),
            (Rule::choice([a(), Rule::Empty, a()]), "a | | a"),
            (Rule::choice([Rule::Empty, a()]), "| a"),
            (Rule::choice([a(), Rule::Empty]).group(), "(a |)"),
            (a().padded(Pad::After).optional(), "(a )?"),
            (a().padded(Pad::Both).repeat(0, None), "( a )*"),
            (a().repeat(1, None), "a+"),
            (a().repeat(2, Some(2)), "a{2,2}"),
            (a().times(2, Some(2)), "a{2}"),
            (a().times(0, Some(1)), "a{0,1}"),
            (a().repeat(3, None), "a{3,}"),
        ] {
            assert_eq!(rule.to_string(), text);
        }
    }

    #[test]
    fn literals_that_follow_each_other_are_one() {
        let part = Rule::sequence([Rule::literal("b"), Rule::Empty]).group();
        let rule = Rule::sequence([Rule::literal("a"), part, Rule::Blank(Blank::Comma)]);
        assert_eq!(rule.spaced(Spacing::Free).to_string(), "\"ab\" space");
    }

    #[test]
    fn bodies_that_are_one_rule_pass_as_they_are() {
        for body in [
            r#""""#,
            r#""a" | [^"\]\n(] b-2{2,3} (c? "(" | .*)+"#,
            r#"| "\\" x "\"y""#,
            "\"line\nbreak\"",
            "\"# ü ::= |\"",
        ] {
            assert_eq!(
                Rule::gbnf(body).map(|rule| rule.to_string()).as_deref(),
                Ok(body)
            );
        }
        assert_eq!(Rule::gbnf(" \n a\n").unwrap().to_string(), "a");
    }

    #[test]
    fn bodies_that_would_run_into_other_rules_are_refused() {
        for (body, says) in [
            ("", "blank"),
            (" \r\n\t", "blank"),
            ("a\nb ::= c", "byte 1: unexpected '\\n'"),
            ("(a\n| b)", "byte 2: "),
            ("a{2,\n}", "byte 4: "),
            ("a | \n b", "byte 4: unexpected '\\n'"),
            ("a |", "byte 3: an empty alternative"),
            ("\n|", "byte 2: an empty alternative"),
            ("b ::= c", "byte 2: unexpected ':'"),
            ("a_b", "byte 1: unexpected '_'"),
            ("# a", "byte 0: unexpected '#'"),
            ("a # b", "byte 2: unexpected '#'"),
            (r#"  a "\""#, "ends inside quotes"),
            ("[a\\]", "ends inside quotes or brackets"),
            ("(a (b)", "byte 6: expected \")\""),
            (" \n a)", "byte 4: unexpected ')'"),
            ("\"\0\"", "NUL"),
            ("*", "nothing to repeat"),
        ] {
            let error = Rule::gbnf(body).unwrap_err();
            assert!(error.message().contains(says), "{body:?}: {error}");
        }
    }
}
