//! Prints structural tags: JSON that describes the texts around constrained parts.

use serde_json::Value;
use smol_str::SmolStr;

use super::{Printed, portable, widened};
use crate::text::tree::{Node, Tree};
use crate::{Trigger, TriggerKind};
use chatparse_base::{Error, Result};
use chatparse_base::{limits, number};
use chatparse_peg::{Arena, Expr, ExprId, Notation};

/// The text of a tag with this format.
pub(super) fn of(format: Value) -> String {
    number::write(&json!({"type": "structural_tag", "format": format}))
}

/// A grammar as a part of a format.
pub(super) fn grammar(tree: &Tree) -> Value {
    json!({"type": "grammar", "grammar": portable::print(tree)})
}

/// Free text without the words, and then the grammar or nothing. The grammar is written once: any call
/// may follow another.
pub(super) fn behind_words(mut tree: Tree, words: &[String]) -> Value {
    if words.is_empty() {
        return json!({"type": "any_text"});
    }
    tree.root = tree.add("root", Node::Rule(tree.root).optional());
    json!({"type": "sequence", "elements": [{"type": "any_text", "excludes": words}, grammar(&tree)]})
}

/// The error for what the older form cannot express.
pub(super) fn not_old(reason: &str) -> Error {
    Error::invalid(format!("structural-tag-old: {reason}"))
}

/// One form of a call: the texts around the schema of its arguments.
#[derive(Clone, Default)]
struct Structure {
    begin: String,
    schema: Option<Value>,
    end: String,
}

/// The older form of a lazy format.
pub(super) fn old(format: &Arena, triggers: &[Trigger]) -> Result<Printed> {
    let [Trigger { kind: TriggerKind::Word, value: word }] = triggers else {
        return Err(not_old("it has exactly one trigger, a word"));
    };
    let mut structures: Vec<Structure> = Vec::new();
    let mut reader = Reader { format, left: limits::LOWERING_DEPTH * limits::LOWERING_DEPTH, spaces: false };
    for name in format.trigger_rules() {
        for found in reader.rule(name, 0)? {
            if found.schema.is_none() || !found.begin.starts_with(&**word) {
                continue;
            }
            if !structures.iter().any(|known| known.begin == found.begin) {
                structures.push(found);
            }
        }
    }
    if structures.is_empty() {
        return Err(not_old("no call begins with the trigger and has its arguments as one JSON object"));
    }
    let structures: Vec<Value> = structures
        .into_iter()
        .map(|Structure { begin, schema, end }| json!({"begin": begin, "schema": schema, "end": end}))
        .collect();
    let text = number::write(&json!({"structures": structures, "triggers": [word]}));
    let mut report = vec![widened("text and calls may follow the calls".to_owned())];
    if reader.spaces {
        report.push(widened("white space that may stand between the parts of a call is left out".to_owned()));
    }
    Ok(Printed { text, report })
}

struct Reader<'a> {
    format: &'a Arena,
    /// The number of structures that may still be built.
    left: usize,
    /// Whether optional white space was left out.
    spaces: bool,
}

impl Reader<'_> {
    fn rule(&mut self, name: &SmolStr, depth: usize) -> Result<Vec<Structure>> {
        match self.format.rule_named(name) {
            Some(rule) => self.ways(rule, depth + 1),
            None => Ok(vec![Structure::default()]),
        }
    }

    /// The forms of an expression, without duplicates; the older form cannot express alternatives otherwise.
    fn ways(&mut self, id: ExprId, depth: usize) -> Result<Vec<Structure>> {
        if depth > limits::LOWERING_DEPTH || self.left == 0 {
            return Err(not_old("the format is too large"));
        }
        match self.format.get(id) {
            Expr::Empty
            | Expr::Start
            | Expr::End
            | Expr::And(_)
            | Expr::Not(_)
            | Expr::Tolerated(_)
            | Expr::Late(_)
            | Expr::Named { .. } => Ok(vec![Structure::default()]),
            Expr::Space => {
                self.spaces = true;
                Ok(vec![Structure::default()])
            }
            Expr::Literal(text) | Expr::Marker(text) | Expr::Written(_, text) => {
                Ok(vec![Structure { begin: text.to_string(), ..Structure::default() }])
            }
            Expr::Sequence(children) => {
                let mut all = vec![Structure::default()];
                for &child in children {
                    let ways = self.ways(child, depth + 1)?;
                    let mut longer = Vec::new();
                    for first in &all {
                        for way in &ways {
                            self.left = self.left.saturating_sub(1);
                            longer.push(joined(first, way)?);
                        }
                    }
                    if self.left == 0 {
                        return Err(not_old("the format is too large"));
                    }
                    all = longer;
                }
                Ok(all)
            }
            Expr::Choice(children) => {
                let mut all = Vec::new();
                let is_written = |child: &&ExprId| !matches!(self.format.get(**child), Expr::Tolerated(_));
                for &child in children.iter().filter(is_written).collect::<Vec<_>>() {
                    all.extend(self.ways(child, depth + 1)?);
                }
                Ok(all)
            }
            Expr::Repeat(_, 0, _) => Ok(vec![Structure::default()]),
            Expr::Repeat(child, ..) => self.ways(*child, depth + 1),
            Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => self.ways(*child, depth + 1),
            Expr::Ref(name) => self.rule(name, depth),
            Expr::Schema(value) if value.notation == Notation::Json => {
                let schema = &value.schema;
                let found = schema.document.pointer(&schema.pointer);
                let whole = schema.pointer.is_empty();
                match found.filter(|found| whole && found.is_object()) {
                    Some(found) => Ok(vec![Structure { schema: Some(found.clone()), ..Structure::default() }]),
                    None => Err(not_old("the arguments of a call are not one JSON object with a schema of its own")),
                }
            }
            _ => Err(not_old("calls have parts that are neither fixed texts nor JSON")),
        }
    }
}

fn joined(first: &Structure, more: &Structure) -> Result<Structure> {
    let mut joined = first.clone();
    if joined.schema.is_none() {
        joined.begin.push_str(&more.begin);
        joined.schema.clone_from(&more.schema);
        joined.end.clone_from(&more.end);
    } else if more.schema.is_some() {
        return Err(not_old("a call has more than one JSON value"));
    } else {
        joined.end.push_str(&more.begin);
    }
    Ok(joined)
}
