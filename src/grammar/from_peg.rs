//! A format's expressions as grammar rules: the same description that parses the output constrains it.
//!
//! Rules stay rules, schemas speak where they annotate JSON, text up to a marker becomes an automaton of one rule a state, and
//! look aheads vanish: a grammar cannot say them, so it may allow a little more than the parser does.

use std::collections::HashMap;

use serde_json::Value;

use super::automaton::Automaton;
use super::builder::{Builder, Fidelity, FidelityKind, Grammar};
use super::rule::Rule;
use crate::peg::{Arena, Expr, ExprId, SchemaRef};

/// With more required parts than this in any order, the grammar counts them instead of remembering which are there: that would
/// take a rule for each subset.
const MAX_SUBSETS: usize = 5;

/// The grammar of a format. `lazy`: of what may follow a trigger only, that is of its trigger rules.
pub fn from_arena(arena: &Arena, lazy: bool) -> Grammar {
    let mut lowering = Lowering {
        arena,
        rules: Builder::new(),
        names: HashMap::new(),
        pending: Vec::new(),
        texts: HashMap::new(),
        schemas: HashMap::new(),
        orders: 0,
    };
    let root = match (lazy, arena.root()) {
        (true, _) => {
            let triggers: Vec<&str> = arena.trigger_rules().collect();
            Rule::choice(triggers.into_iter().map(|name| lowering.reference(name)))
        }
        (false, Some(root)) => lowering.lower(root),
        (false, None) => Rule::Empty,
    };
    lowering.rules.add_rule("root", body_of(root));
    while let Some((name, id)) = lowering.pending.pop() {
        let body = lowering.lower(id);
        lowering.rules.fill(&name, body_of(body));
    }
    lowering.rules.finish()
}

struct Lowering<'a> {
    arena: &'a Arena,
    rules: Builder,
    /// The grammar's names for the arena's rules.
    names: HashMap<&'a str, String>,
    /// Rules that have a name but no body yet.
    pending: Vec<(String, ExprId)>,
    /// Rules for text with markers, by the markers and whether the marker is part of it.
    texts: HashMap<(&'a [String], bool), String>,
    /// Rules for schemas.
    schemas: HashMap<ExprId, Rule>,
    /// Groups of parts in any order so far.
    orders: usize,
}

impl<'a> Lowering<'a> {
    fn lower(&mut self, id: ExprId) -> Rule {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty | Expr::End | Expr::And(_) | Expr::Not(_) | Expr::Tolerated(_) => Rule::Empty,
            Expr::Literal(text) if text.is_empty() => Rule::Empty,
            Expr::Literal(text) => Rule::literal(text.as_str()),
            Expr::Sequence(children) => {
                let parts = children.iter().map(|&child| self.lower(child)).collect();
                sequence(parts)
            }
            Expr::Choice(children) => Rule::choice(children.iter().map(|&child| self.lower(child)).collect::<Vec<_>>()),
            Expr::Repeat(child, min, max) => match self.lower(*child) {
                Rule::Empty => Rule::Empty,
                child => item(child).repeat(u64::from(*min), max.map(u64::from)),
            },
            Expr::Any => Rule::class("."),
            Expr::Space => Rule::reference("space"),
            Expr::Char(set) => Rule::class(class(&set.ranges, set.negated)),
            Expr::StringBody(delimiter) => string_body(char::from(*delimiter)),
            Expr::Until(markers) if markers.is_empty() => Rule::class(".").repeat(0, None),
            Expr::Until(markers) => self.text(markers, false),
            Expr::Excluding(_, markers) => self.text(markers, true),
            Expr::Unordered(required, optional) => self.unordered(required, optional),
            Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => self.lower(*child),
            Expr::Ref(name) => self.reference(name),
            Expr::Schema { child, name, schema, .. } => {
                let known = self.schemas.get(&id).cloned();
                let rule = known.unwrap_or_else(|| self.schema(name, schema, *child));
                self.schemas.insert(id, rule.clone());
                rule
            }
        }
    }

    fn reference(&mut self, name: &'a str) -> Rule {
        if let Some(known) = self.names.get(name) {
            return Rule::reference(known.as_str());
        }
        let Some(rule) = self.arena.rule_named(name) else { return Rule::Empty };
        let reserved = self.rules.reserve(name);
        self.names.insert(name, reserved.clone());
        self.pending.push((reserved.clone(), rule));
        Rule::reference(reserved)
    }

    /// A schema that cannot be used degrades alone: any JSON stands for it, and the report says so.
    fn schema(&mut self, name: &str, schema: &SchemaRef, child: ExprId) -> Rule {
        let SchemaRef { document, pointer } = schema;
        let found = document.pointer(pointer).unwrap_or(&Value::Null);
        match self.rules.add_schema_within(name, found, document) {
            Ok(rule) => Rule::reference(rule),
            Err(error) => {
                self.rules.note(Fidelity {
                    schema: name.to_owned(),
                    pointer: format!("#{pointer}"),
                    kind: FidelityKind::Refused,
                    message: error.message().to_owned(),
                });
                self.lower(child)
            }
        }
    }

    /// Text without any of the markers, or with `closed` text that ends with the first of them.
    fn text(&mut self, markers: &'a [String], closed: bool) -> Rule {
        if let Some(known) = self.texts.get(&(markers, closed)) {
            return Rule::reference(known.as_str());
        }
        let automaton = Automaton::new(markers);
        let kind = if closed { "closed-text" } else { "text" };
        let number = self.texts.len();
        let mut name = |state| self.rules.reserve(&format!("{kind}-{number}-{state}"));
        let states: HashMap<usize, String> = automaton.moves().map(|(state, _)| (state, name(state))).collect();
        for (state, moves) in automaton.moves() {
            let mut branches = Vec::new();
            if !closed {
                branches.push(Rule::Empty);
            } else if !moves.completing.is_empty() {
                branches.push(Rule::one_of(false, moves.completing));
            }
            for (to, chars) in moves.onward {
                branches.push(sequence(vec![Rule::one_of(false, chars), Rule::reference(states[&to].as_str())]));
            }
            branches.push(sequence(vec![Rule::one_of(true, moves.special), Rule::reference(states[&0].as_str())]));
            self.rules.fill(&states[&state], Rule::choice(branches));
        }
        let first = states.get(&0).cloned().unwrap_or_default();
        self.texts.insert((markers, closed), first.clone());
        Rule::reference(first)
    }

    fn unordered(&mut self, required: &[ExprId], optional: &[ExprId]) -> Rule {
        let required: Vec<Rule> = required.iter().map(|&id| self.lower(id)).collect();
        let optional: Vec<Rule> = optional.iter().map(|&id| self.lower(id)).collect();
        let any = |rules: &[Rule]| item(Rule::choice(rules.to_vec()));
        if required.is_empty() && optional.is_empty() {
            return Rule::Empty;
        }
        if required.is_empty() {
            return any(&optional).repeat(0, None);
        }
        if required.len() > MAX_SUBSETS {
            let all: Vec<Rule> = required.iter().chain(&optional).cloned().collect();
            let (least, most) = (required.len() as u64, all.len() as u64);
            return any(&all).repeat(least, Some(most));
        }
        // A rule for each set of required parts that are still missing, by the set's bits; the empty set comes first.
        let number = self.orders;
        self.orders += 1;
        let mut name = |missing| self.rules.reserve(&format!("any-order-{number}-{missing}"));
        let sets: Vec<String> = (0..1_usize << required.len()).map(&mut name).collect();
        for (missing, name) in sets.iter().enumerate() {
            let mut branches: Vec<Rule> = Vec::new();
            if missing == 0 {
                branches.push(Rule::Empty);
            }
            for (bit, part) in required.iter().enumerate().filter(|(bit, _)| missing & 1 << bit != 0) {
                branches.push(sequence(vec![part.clone(), Rule::reference(sets[missing & !(1 << bit)].as_str())]));
            }
            let more = optional.iter().map(|part| sequence(vec![part.clone(), Rule::reference(name.as_str())]));
            branches.extend(more);
            self.rules.fill(name, body_of(Rule::choice(branches)));
        }
        Rule::reference(sets[sets.len() - 1].as_str())
    }
}

/// As the body of a rule, which must not be blank: the next line would count as part of it.
fn body_of(rule: Rule) -> Rule {
    match rule {
        Rule::Empty => Rule::literal(""),
        Rule::Choice(branches) if branches.iter().all(|branch| *branch == Rule::Empty) => Rule::literal(""),
        rule => rule,
    }
}

/// All of these but the empty ones, with choices in parentheses.
fn sequence(parts: Vec<Rule>) -> Rule {
    let mut parts: Vec<Rule> = parts
        .into_iter()
        .flat_map(|part| match part {
            Rule::Empty => Vec::new(),
            Rule::Sequence(inner) => inner,
            choice @ Rule::Choice(_) => vec![choice.group()],
            other => vec![other],
        })
        .collect();
    match parts.len() {
        0 => Rule::Empty,
        1 => parts.swap_remove(0),
        _ => Rule::Sequence(parts),
    }
}

/// As one item, that a repetition sign can follow.
fn item(rule: Rule) -> Rule {
    match rule {
        rule @ (Rule::Sequence(_) | Rule::Choice(_) | Rule::Repeat(..) | Rule::Empty) => rule.group(),
        rule => rule,
    }
}

fn class(ranges: &[(char, char)], negated: bool) -> String {
    let mut out = String::from(if negated { "[^" } else { "[" });
    for &(low, high) in ranges {
        let one = |c: char| {
            let spelled = Rule::one_of(false, [c]).to_string();
            match c {
                '-' | ']' | '[' | '\\' => format!("\\{c}"),
                _ => spelled[1..spelled.len() - 1].to_owned(),
            }
        };
        out.push_str(&one(low));
        if high != low {
            out.push('-');
            out.push_str(&one(high));
        }
    }
    out.push(']');
    out
}

/// Characters other than the delimiter, or an escape.
fn string_body(delimiter: char) -> Rule {
    let escape = Rule::choice([
        Rule::class(format!("[{delimiter}\\\\/bfnrt]")),
        sequence(vec![Rule::literal("u"), Rule::class("[0-9a-fA-F]").times(4, Some(4))]),
    ]);
    let plain = Rule::class(format!("[^{delimiter}\\\\]"));
    item(Rule::choice([plain, sequence(vec![Rule::literal("\\"), escape])])).repeat(0, None)
}
