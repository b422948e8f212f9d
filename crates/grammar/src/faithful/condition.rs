//! Conditions as choices: `if`, `dependencies` and its successors, `not`, and a `oneOf` of which
//! two branches may hold.
//!
//! Each of them says that one of several sets of schemas holds. Some of these schemas are not in
//! the document: they say that a property is absent, or that another schema does not hold. They are
//! made before the rules, for the whole document, so that they live as long as it does.

use std::collections::HashMap;

use serde_json::Value;

use super::not::{ANNOTATIONS, excluded_types, forbidden, not_matching};
use super::types;
use crate::schema::{Draft, Keywords, draft_within};
use chatparse_base::number;

/// A choice between sets of schemas.
#[derive(Debug)]
pub struct Condition<'a> {
    /// The keyword that it stands for.
    pub key: &'static str,
    /// Sets of schemas; one of them holds.
    pub branches: Vec<Vec<Piece<'a>>>,
    /// Whether the keyword allows nothing else than the branches do.
    pub exact: bool,
}

/// A schema of a branch.
#[derive(Debug)]
pub enum Piece<'a> {
    /// In the document: the schema under this key, or in the map or list under it.
    Key(&'a str, &'a Value),
    Named(&'a str, &'a str, &'a Value),
    Item(&'a str, usize, &'a Value),
    Made(Value),
}

/// The conditions of a document, by the addresses of their schemas.
#[derive(Debug, Default)]
pub struct Conditions<'a> {
    all: HashMap<*const Value, Vec<Condition<'a>>>,
    /// By the address of the list: the branches of a `oneOf`, each without what the others allow.
    exclusive: HashMap<*const Value, Condition<'a>>,
    /// By the address of a `contains` that has a `maxContains`: its opposite.
    uncontained: HashMap<*const Value, Vec<Piece<'a>>>,
}

/// The most branches of one condition, and of a `oneOf` that becomes one.
const MOST: usize = 16;
const MOST_EXCLUSIVE: usize = 4;
/// The size of a schema, in values and bytes of texts, up to which its opposite is made.
const LARGEST: usize = 16 << 10;
/// The nesting up to which the opposite of a schema is made.
const DEPTH: usize = 6;

impl<'a> Conditions<'a> {
    /// The conditions in these documents, which are of this draft.
    pub fn of(documents: [&'a Value; 2], draft: Draft) -> Conditions<'a> {
        let mut conditions = Conditions::default();
        let mut open = documents.map(|document| (document, draft)).to_vec();
        open.dedup_by(|(one, _), (other, _)| std::ptr::eq(*one, *other));
        while let Some((value, draft)) = open.pop() {
            match value {
                Value::Object(fields) => {
                    let draft = draft_within(value, draft);
                    let own = conditions_of(Keywords { fields, draft });
                    if !own.is_empty() {
                        conditions.all.insert(std::ptr::from_ref(value), own);
                    }
                    if let Some(Value::Array(branches)) = fields.get("oneOf")
                        && let Some(exclusive) = exclusive(branches, draft)
                    {
                        conditions.exclusive.insert(branches.as_ptr(), exclusive);
                    }
                    if let (Some(contains), true) =
                        (fields.get("contains"), fields.contains_key("maxContains"))
                        && let Some(opposite) = opposite(contains, draft, 0)
                    {
                        let pieces = opposite.into_iter().map(Piece::Made).collect();
                        conditions.uncontained.insert(contains, pieces);
                    }
                    open.extend(fields.values().map(|value| (value, draft)));
                }
                Value::Array(items) => open.extend(items.iter().map(|item| (item, draft))),
                _ => {}
            }
        }
        conditions
    }

    pub fn on(&self, schema: &Value) -> &[Condition<'a>] {
        self.all
            .get(&std::ptr::from_ref(schema))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a keyword of a schema is a condition here.
    pub fn has(&self, schema: &Value, key: &str) -> bool {
        self.on(schema).iter().any(|condition| condition.key == key)
    }

    /// Schemas of which one holds wherever this `contains` does not.
    pub fn uncontained(&self, contains: &Value) -> Option<&[Piece<'a>]> {
        self.uncontained
            .get(&std::ptr::from_ref(contains))
            .map(Vec::as_slice)
    }

    pub fn exclusive(&self, branches: &[Value]) -> Option<&Condition<'a>> {
        self.exclusive.get(&branches.as_ptr())
    }
}

fn conditions_of(keywords: Keywords<'_>) -> Vec<Condition<'_>> {
    let mut all = Vec::new();
    for key in ["dependencies", "dependentRequired", "dependentSchemas"] {
        for (name, needed) in keywords.map(key) {
            let with = match needed {
                Value::Array(names) => {
                    // Where no schema declares them, what is needed comes first.
                    let names = names.iter().cloned().chain([Value::from(name.as_str())]);
                    vec![Piece::Made(json!({"required": names.collect::<Vec<_>>()}))]
                }
                Value::String(other) => vec![Piece::Made(json!({"required": [other, name]}))],
                Value::Bool(true) => continue,
                schema => vec![
                    Piece::Made(json!({"required": [name]})),
                    Piece::Named(key, name, schema),
                ],
            };
            let without = vec![Piece::Made(json!({"properties": {name: false}}))];
            all.push(Condition {
                key,
                branches: vec![without, with],
                exact: true,
            });
        }
    }
    all.extend(if_then_else(keywords));
    all.extend(opposite_of_not(keywords));
    all
}

fn if_then_else(keywords: Keywords<'_>) -> Option<Condition<'_>> {
    let condition = keywords.get("if")?;
    let (then, otherwise) = (keywords.get("then"), keywords.get("else"));
    let opposite = opposite(condition, keywords.draft, 0);
    let exact = opposite.is_some();
    if otherwise.is_none() && (then.is_none() || !exact) {
        return None;
    }
    let mut holds = vec![Piece::Key("if", condition)];
    holds.extend(then.map(|schema| Piece::Key("then", schema)));
    let mut branches = vec![holds];
    let others = opposite.map_or_else(|| vec![None], |all| all.into_iter().map(Some).collect());
    for other in others {
        let mut fails: Vec<Piece> = other.map(Piece::Made).into_iter().collect();
        fails.extend(otherwise.map(|schema| Piece::Key("else", schema)));
        branches.push(fails);
    }
    Some(Condition {
        key: "if",
        branches,
        exact,
    })
}

/// A `not` that the rules of its types do not follow.
fn opposite_of_not(keywords: Keywords<'_>) -> Option<Condition<'_>> {
    let draft = keywords.draft;
    let not = keywords.get("not")?;
    let kind = keywords.text("type");
    let listed = not
        .as_object()
        .is_some_and(|not| not.keys().all(|key| key == "enum" || key == "const"));
    let is_followed = listed || not_matching(not, draft).is_some();
    if excluded_types(not, draft) != 0
        || kind == Some("object") && forbidden(not, draft).is_some()
        || kind == Some("string") && is_followed
    {
        return None;
    }
    let branches = opposite(not, draft, 0)?
        .into_iter()
        .map(|other| vec![Piece::Made(other)])
        .collect();
    Some(Condition {
        key: "not",
        branches,
        exact: true,
    })
}

/// Each branch of a `oneOf`, without what the others allow.
fn exclusive(branches: &[Value], draft: Draft) -> Option<Condition<'_>> {
    if branches.len() > MOST_EXCLUSIVE {
        return None;
    }
    let opposites: Vec<Vec<Value>> = branches
        .iter()
        .map(|branch| opposite(branch, draft, 0))
        .collect::<Option<_>>()?;
    let mut all = Vec::new();
    for (number, branch) in branches.iter().enumerate() {
        let others = opposites
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number);
        for others in each_of(others.map(|(_, opposites)| opposites.as_slice()))? {
            let others = others.into_iter().map(|other| Piece::Made(other.clone()));
            all.push(
                [Piece::Item("oneOf", number, branch)]
                    .into_iter()
                    .chain(others)
                    .collect(),
            );
        }
    }
    (all.len() <= MOST).then_some(Condition {
        key: "oneOf",
        branches: all,
        exact: true,
    })
}

/// All ways to take one of each list; `None` if there are too many.
fn each_of<'v>(lists: impl Iterator<Item = &'v [Value]>) -> Option<Vec<Vec<&'v Value>>> {
    let mut all = vec![Vec::new()];
    for list in lists {
        if all.len() * list.len() > MOST {
            return None;
        }
        all = all
            .iter()
            .flat_map(|way| list.iter().map(|one| [way.as_slice(), &[one]].concat()))
            .collect();
    }
    Some(all)
}

/// Schemas of which one holds wherever `schema` does not, and nowhere else; `None` if they cannot
/// be made.
fn opposite(schema: &Value, draft: Draft, depth: usize) -> Option<Vec<Value>> {
    let fields = match schema {
        Value::Bool(true) => return Some(Vec::new()),
        Value::Bool(false) => return Some(vec![Value::Bool(true)]),
        Value::Object(fields) if depth < DEPTH && is_small(schema) => fields,
        _ => return None,
    };
    let mut all: Vec<Value> = Vec::new();
    for (key, value) in fields.iter().filter(|(key, _)| draft.knows(key)) {
        all.extend(match key.as_str() {
            "properties" => {
                let mut others = Vec::new();
                for (name, schema) in value.as_object()? {
                    let values = opposite(schema, draft, depth + 1)?.into_iter();
                    others.extend(
                        values.map(|value| json!({"type": "object", "required": [name], "properties": {name: value}})),
                    );
                }
                others
            }
            "required" => {
                let names = value.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
                names.into_iter().map(|name| json!({"type": "object", "properties": {name: false}})).collect()
            }
            "type" => {
                types::of(value)?;
                vec![json!({"not": {"type": value}})]
            }
            "const" => unlisted(std::slice::from_ref(value))?,
            "enum" => unlisted(value.as_array()?)?,
            "not" => vec![value.clone()],
            "minimum" if !fields.contains_key("exclusiveMinimum") => {
                beyond("exclusiveMaximum", value)?
            }
            "maximum" if !fields.contains_key("exclusiveMaximum") => {
                beyond("exclusiveMinimum", value)?
            }
            "exclusiveMinimum" if !fields.contains_key("minimum") => beyond("maximum", value)?,
            "exclusiveMaximum" if !fields.contains_key("maximum") => beyond("minimum", value)?,
            "pattern" => {
                let not = json!({"pattern": value});
                not_matching(&not, draft)?;
                vec![json!({"type": "string", "not": not})]
            }
            "minLength" => fewer("string", "maxLength", value)?,
            "maxLength" => more("string", "minLength", value)?,
            "minItems" => fewer("array", "maxItems", value)?,
            "maxItems" => more("array", "minItems", value)?,
            "minProperties" => fewer("object", "maxProperties", value)?,
            "maxProperties" => more("object", "minProperties", value)?,
            "allOf" | "anyOf" => {
                let branches = value.as_array()?.iter().map(|branch| opposite(branch, draft, depth + 1));
                let branches = branches.collect::<Option<Vec<_>>>()?;
                match key.as_str() {
                    "allOf" => branches.concat(),
                    _ => {
                        let ways = each_of(branches.iter().map(Vec::as_slice))?.into_iter();
                        ways.map(|way| json!({"allOf": way})).collect()
                    }
                }
            }
            key if ANNOTATIONS.contains(&key) => continue,
            _ => return None,
        });
        if all.len() > MOST {
            return None;
        }
    }
    // A schema that says nothing always holds.
    Some(all)
}

/// The numbers beyond a bound.
fn beyond(key: &str, bound: &Value) -> Option<Vec<Value>> {
    number::is(bound).then(|| vec![json!({"type": "number", key: bound})])
}

/// The values with a size below a bound.
fn fewer(kind: &str, key: &str, bound: &Value) -> Option<Vec<Value>> {
    Some(match bound.as_u64()?.checked_sub(1) {
        Some(most) => vec![json!({"type": kind, key: most})],
        None => Vec::new(),
    })
}

/// The values with a size above a bound.
fn more(kind: &str, key: &str, bound: &Value) -> Option<Vec<Value>> {
    let least = bound.as_u64()?.saturating_add(1);
    Some(vec![json!({"type": kind, key: least})])
}

/// Whether a schema may be copied as a part of others.
fn is_small(schema: &Value) -> bool {
    let (mut left, mut open) = (LARGEST, vec![schema]);
    while let Some(value) = open.pop() {
        let (size, inner): (usize, Vec<&Value>) = match value {
            Value::String(text) => (text.len(), Vec::new()),
            Value::Array(items) => (items.len(), items.iter().take(left).collect()),
            Value::Object(fields) => (
                fields.keys().map(String::len).sum(),
                fields.values().take(left).collect(),
            ),
            _ => (0, Vec::new()),
        };
        match left.checked_sub(1 + size) {
            Some(rest) => left = rest,
            None => return false,
        }
        open.extend(inner);
    }
    true
}

/// Schemas of the values that are not among these.
fn unlisted(values: &[Value]) -> Option<Vec<Value>> {
    let mut kinds = Vec::new();
    let mut all = Vec::new();
    let texts: Vec<&Value> = values.iter().filter(|value| value.is_string()).collect();
    if !texts.is_empty() {
        kinds.push("string");
        all.push(json!({"type": "string", "not": {"enum": texts}}));
    }
    let truths: Vec<bool> = values.iter().filter_map(Value::as_bool).collect();
    if let Some(&first) = truths.first() {
        kinds.push("boolean");
        if truths.iter().all(|other| *other == first) {
            all.push(json!({"enum": [!first]}));
        }
    }
    if values.iter().any(Value::is_null) {
        kinds.push("null");
    }
    let mut numbers = values.iter().filter(|value| number::is(value));
    if let Some(number) = numbers.next() {
        kinds.push("number");
        all.extend(
            [("exclusiveMaximum", number), ("exclusiveMinimum", number)]
                .map(|(key, bound)| json!({"type": "number", key: bound})),
        );
    }
    if numbers.next().is_some()
        || values
            .iter()
            .any(|value| value.is_array() || value.is_object())
    {
        return None;
    }
    all.push(json!({"not": {"type": kinds}}));
    Some(all)
}
