//! Turns patterns and automata into rules.

use std::collections::HashMap;

use smol_str::{SmolStr, format_smolstr};

use super::dfa::{Dfa, Edge};
use super::pattern::{Expr, Pattern};
use crate::rules::{Builder, Rule};
use chatparse_base::char_class::{self, Spelling as ClassSpelling};
use chatparse_base::chars::Chars;
use chatparse_base::json_string::push_quoted_char;
use chatparse_base::limits;

/// How the characters of a text are written in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As they are.
    Plain,
    /// Inside a JSON string: some characters must be escaped, and others may be.
    JsonString,
    /// Inside a Python string in single quotes, in the same way.
    SingleQuoted,
}

impl Spelling {
    /// The quote around the text, and the shared rule for any of its characters.
    fn quote(self) -> (char, &'static str) {
        if self == Spelling::SingleQuoted {
            ('\'', "single-char")
        } else {
            ('"', "char")
        }
    }

    /// Characters that must be escaped in quotes.
    pub fn must_escape(self) -> [(char, char); 3] {
        let (quote, _) = self.quote();
        [('\0', '\x1f'), (quote, quote), ('\\', '\\')]
    }
}

/// The nesting in the rule of an automaton from which on a state gets a rule.
const NESTED: usize = 12;

/// One character of these.
pub fn characters(builder: &mut Builder, chars: &Chars, spelling: Spelling) -> Rule {
    if let Some(c) = chars.single() {
        return Rule::Literal(literal(c, spelling));
    }
    if spelling == Spelling::Plain {
        return class(chars);
    }
    let (quote, any) = spelling.quote();
    if *chars == Chars::all() {
        return builder.shared(any);
    }
    let raw = chars.without(&Chars::of(spelling.must_escape()));
    let mut branches = Vec::new();
    if !raw.is_empty() {
        branches.push(class(&raw));
    }
    let controls = chars.has_all(&Chars::of([('\0', '\x1f')]));
    let others = chars.has_all(&Chars::of([
        ('\u{80}', '\u{2027}'),
        ('\u{2030}', char::MAX),
    ]));
    // Characters with a short escape. The solidus is escaped in large sets only.
    let short = [
        (quote, quote),
        ('\\', '\\'),
        ('\u{8}', 'b'),
        ('\u{c}', 'f'),
        ('\n', 'n'),
        ('\r', 'r'),
        ('\t', 't'),
    ];
    let short = short.into_iter().chain(others.then_some(('/', '/')));
    let letters: Vec<char> = short
        .filter(|(c, _)| chars.has(*c))
        .map(|(_, letter)| letter)
        .collect();
    let mut escapes = Vec::new();
    if !letters.is_empty() {
        escapes.push(class(&Chars::each(letters)));
    }
    if controls {
        escapes.push(Rule::sequence([
            Rule::literal("u00"),
            Rule::class("[01]"),
            Rule::class("[0-9a-fA-F]"),
        ]));
    }
    if others {
        escapes.push(Rule::sequence([
            Rule::literal("u"),
            Rule::Reference(other_code(builder)),
        ]));
    }
    let escape = Rule::in_group(escapes);
    branches.extend(escape.map(|escape| Rule::sequence([Rule::literal("\\"), escape])));
    if others && branches.len() > 1 {
        return builder.refer("char-but", Rule::Choice(branches));
    }
    // Only controls without a short escape: they are written with digits.
    Rule::in_group(branches).unwrap_or_else(|| spelled_out(chars))
}

/// The digits of a non-ASCII character; surrogates come in pairs.
fn other_code(builder: &mut Builder) -> SmolStr {
    let body = Rule::Gbnf(SmolStr::new_static(concat!(
        "[1-9abcefABCEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2} | ",
        r#"[dD] [89abAB] [0-9a-fA-F]{2} "\\u" [dD] [c-fC-F] [0-9a-fA-F]{2} | "#,
        r#""0" [1-9a-fA-F] [0-9a-fA-F]{2} | "00" [89a-fA-F] [0-9a-fA-F]"#
    )));
    builder.add("code-beyond-ascii", body)
}

fn spelled_out(chars: &Chars) -> Rule {
    let codes = chars.ranges().iter().flat_map(|&(low, high)| low..=high);
    Rule::Choice(
        codes
            .map(|code| Rule::literal(format_smolstr!("\\u{code:04x}")))
            .collect(),
    )
    .group()
}

fn class(chars: &Chars) -> Rule {
    if *chars == Chars::all() {
        return Rule::class("[^\\x00]");
    }
    let (negated, ranges) = chars.spelled();
    Rule::Class(char_class::spelled(
        ranges.into_iter(),
        negated,
        ClassSpelling::Ascii,
    ))
}

pub fn literal(c: char, spelling: Spelling) -> SmolStr {
    let mut out = String::new();
    match (spelling, c) {
        (Spelling::SingleQuoted, '\'') => out.push_str("\\'"),
        (Spelling::Plain, _) | (Spelling::SingleQuoted, '"') => out.push(c),
        _ => push_quoted_char(c, &mut out),
    }
    out.into()
}

/// The rule as one item of a sequence or repetition.
pub fn item(rule: Rule) -> Rule {
    match rule {
        Rule::Literal(text) if text.chars().count() > 1 => Rule::Literal(text).group(),
        Rule::Literal(_) | Rule::Class(_) | Rule::Reference(_) | Rule::Group(..) => rule,
        rule => rule.group(),
    }
}

/// A pattern as written, without an automaton; `None` if it needs an automaton.
pub fn of_pattern(builder: &mut Builder, pattern: &Pattern, spelling: Spelling) -> Option<Rule> {
    if !pattern.ahead.is_empty() {
        return None;
    }
    let mut branches = Vec::new();
    for (begins, body, ends) in anchored(&pattern.expr)? {
        let mut parts = Vec::new();
        let any =
            |builder: &mut Builder| characters(builder, &Chars::all(), spelling).repeat(0, None);
        if !begins {
            parts.push(any(builder));
        }
        for part in body {
            parts.push(expression(builder, part, spelling)?);
        }
        if !ends {
            parts.push(any(builder));
        }
        branches.push(Rule::joined(parts));
    }
    Some(choice(branches))
}

fn choice(mut branches: Vec<Rule>) -> Rule {
    let count = branches.len();
    branches.retain(|branch| *branch != Rule::Empty);
    let is_optional = branches.len() < count;
    match Rule::in_group(branches) {
        Some(rule) if is_optional => item(rule).optional(),
        rule => rule.unwrap_or(Rule::Empty),
    }
}

/// The branches of an expression without its anchors, and whether each had `^` and `$`; `None` if
/// there are anchors inside.
fn anchored(expr: &Expr) -> Option<Vec<(bool, &[Expr], bool)>> {
    if let Expr::Choice(branches) = expr {
        let mut all = Vec::new();
        for branch in branches {
            all.extend(anchored(branch)?);
        }
        return Some(all);
    }
    let mut parts = match expr {
        Expr::Sequence(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    // `^$|…` and `(^a$|^b$)` are branches as well.
    if let [only @ Expr::Choice(_)] = parts {
        return anchored(only);
    }
    let (mut begins, mut ends) = (false, false);
    while let [Expr::Start, rest @ ..] = parts {
        (begins, parts) = (true, rest);
    }
    while let [rest @ .., Expr::End] = parts {
        (ends, parts) = (true, rest);
    }
    let inside = parts.iter().any(Expr::has_anchor);
    (!inside).then(|| vec![(begins, parts, ends)])
}

fn expression(builder: &mut Builder, expr: &Expr, spelling: Spelling) -> Option<Rule> {
    Some(match expr {
        Expr::One(chars) if chars.is_empty() => return None,
        Expr::One(chars) => characters(builder, chars, spelling),
        Expr::Sequence(parts) => {
            let mut rules = Vec::new();
            for part in parts {
                rules.push(expression(builder, part, spelling)?);
            }
            Rule::joined(rules)
        }
        Expr::Choice(branches) => {
            let branches: Option<Vec<Rule>> = branches
                .iter()
                .map(|branch| expression(builder, branch, spelling))
                .collect();
            choice(branches?)
        }
        Expr::Repeat(_, _, Some(0)) => Rule::Empty,
        Expr::Repeat(body, min, max) => {
            let (min, max) = (u64::from(*min), max.map(u64::from));
            // llama.cpp rejects unbounded repetitions of parts that may be empty, and large counts.
            let too_many = min > limits::GBNF_REPETITIONS
                || max.is_some_and(|max| max > limits::GBNF_REPETITIONS);
            if too_many || max.is_none() && body.width().0 == 0 {
                return None;
            }
            match expression(builder, body, spelling)? {
                Rule::Empty => Rule::Empty,
                rule => item(rule).repeat(min, max),
            }
        }
        Expr::Start | Expr::End | Expr::Edge(_) => return None,
    })
}

/// The rule of an automaton. States with several predecessors get rules, named after `name`.
pub fn of_automaton(builder: &mut Builder, name: &str, dfa: &Dfa, spelling: Spelling) -> Rule {
    let mut writer = Writer {
        builder,
        name,
        dfa,
        spelling,
        common: &[],
        ways: ways(dfa, &[]),
        names: HashMap::new(),
        pending: Vec::new(),
    };
    let first = writer.state(Some(0), 0);
    writer.fill_pending();
    first
}

/// Adds the rules of texts: `name` for the first state, and [`onward`] for how it goes on to
/// others. Most states go on so, too.
pub fn add_texts(builder: &mut Builder, name: &str, dfa: &Dfa) {
    let common: Vec<Edge> = dfa.states[0]
        .edges
        .iter()
        .filter(|edge| edge.2 != 0)
        .copied()
        .collect();
    let (first, ways) = (builder.reserve(name), ways(dfa, &common));
    let names = HashMap::from([(Some(0), first.clone())]);
    let pending = vec![(Some(0), first)];
    Writer {
        builder,
        name,
        dfa,
        spelling: Spelling::Plain,
        common: &common,
        ways,
        names,
        pending,
    }
    .fill_pending();
}

/// The name of the rule for how the first state of a text goes on to others.
pub fn onward(name: &str) -> SmolStr {
    format_smolstr!("p{}", &name[1..])
}

/// How many ways lead to each state. `common`: edges that count once.
fn ways(dfa: &Dfa, common: &[Edge]) -> Vec<u32> {
    let mut ways = vec![0_u32; dfa.states.len()];
    ways[0] = 1;
    let states = dfa
        .states
        .iter()
        .enumerate()
        .map(|(from, state)| (from, own(&state.edges, common)));
    for (from, edges) in states.chain([(usize::MAX, common.to_vec())]) {
        let mut last = None;
        for edge in edges {
            // Ranges with the same target count once.
            if edge.2 as usize != from && last.replace(edge.2) != Some(edge.2) {
                ways[edge.2 as usize] += 1;
            }
        }
    }
    ways
}

/// What edges have besides the common ones; all of them where they have not all of these.
fn own(edges: &[Edge], common: &[Edge]) -> Vec<Edge> {
    let has_all = common.iter().all(|edge| edges.binary_search(edge).is_ok());
    edges
        .iter()
        .filter(|edge| !has_all || common.binary_search(edge).is_err())
        .copied()
        .collect()
}

struct Writer<'b> {
    builder: &'b mut Builder,
    name: &'b str,
    dfa: &'b Dfa,
    spelling: Spelling,
    /// Edges of many states, which have a rule; none: there is no such rule.
    common: &'b [Edge],
    /// The number of ways to reach each state.
    ways: Vec<u32>,
    /// The names of states, and of the common edges, which are no state.
    names: HashMap<Option<u32>, SmolStr>,
    pending: Vec<(Option<u32>, SmolStr)>,
}

impl Writer<'_> {
    /// Adds the rules of states that have a name.
    fn fill_pending(&mut self) {
        while let Some((at, name)) = self.pending.pop() {
            let body = match self.state(at, 0) {
                Rule::Group(body, _) if matches!(*body, Rule::Choice(_)) => *body,
                body => body,
            };
            self.builder.fill(&name, body);
        }
    }

    /// The rule of the texts from a state on, or of those that begin with a common edge.
    fn state(&mut self, start: Option<u32>, depth: usize) -> Rule {
        let mut parts = Vec::new();
        let mut at = start;
        loop {
            let state = at.map(|at| &self.dfa.states[at as usize]);
            let edges = state.map_or_else(
                || self.common.to_vec(),
                |state| own(&state.edges, self.common),
            );
            let goes_on = state.is_some_and(|state| edges.len() < state.edges.len());
            let mut moves: Vec<(u32, Vec<(u32, u32)>)> = Vec::new();
            let mut places: HashMap<u32, usize> = HashMap::new();
            for (low, high, to) in edges {
                let place = *places.entry(to).or_insert_with(|| {
                    moves.push((to, Vec::new()));
                    moves.len() - 1
                });
                moves[place].1.push((low, high));
            }
            if let Some(itself) = at.and_then(|at| places.get(&at)) {
                let (_, ranges) = moves.remove(*itself);
                parts.push(item(self.characters(&ranges)).repeat(0, None));
            }
            let accepts = state.is_some_and(|state| state.accepts);
            // A chain is not nested.
            if let ([(to, ranges)], false, false) = (&moves[..], accepts, goes_on) {
                parts.push(self.characters(ranges));
                if !self.is_inline(*to) {
                    let next = self.reference(Some(*to));
                    parts.push(next);
                    break;
                }
                at = Some(*to);
                continue;
            }
            let mut branches = Vec::new();
            if goes_on {
                branches.push(self.reference(None));
            }
            for (to, ranges) in moves {
                let chars = self.characters(&ranges);
                let inside = self.is_inline(to) && (depth < NESTED || self.is_simple(to));
                let rest = if inside {
                    self.state(Some(to), depth + 1)
                } else {
                    self.reference(Some(to))
                };
                branches.push(Rule::joined([chars, rest]));
            }
            if accepts {
                branches.push(Rule::Empty);
            }
            if !branches.is_empty() {
                parts.push(choice(branches));
            }
            break;
        }
        Rule::joined(parts)
    }

    fn characters(&mut self, ranges: &[(u32, u32)]) -> Rule {
        let chars = Chars::of_codes(ranges.iter().copied());
        characters(self.builder, &chars, self.spelling)
    }

    fn is_inline(&self, at: u32) -> bool {
        self.ways[at as usize] == 1 && at != 0 || self.is_simple(at)
    }

    /// Whether the state has no successor, or only itself.
    fn is_simple(&self, at: u32) -> bool {
        let state = &self.dfa.states[at as usize];
        at != 0 && state.accepts && state.edges.iter().all(|edge| edge.2 == at)
    }

    fn reference(&mut self, at: Option<u32>) -> Rule {
        let name = match self.names.get(&at) {
            Some(name) => name.clone(),
            None => {
                let name = at.map_or_else(
                    || onward(self.name),
                    |at| format_smolstr!("{}-{at:02}", self.name),
                );
                let name = self.builder.reserve(&name);
                self.names.insert(at, name.clone());
                self.pending.push((at, name.clone()));
                name
            }
        };
        Rule::Reference(name)
    }
}
