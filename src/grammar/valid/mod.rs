//! Whether a value is what a JSON schema asks for, and where it is not.
//!
//! What is found is certain: keywords and references that are not followed here leave the matter open, and what is open is no
//! violation, neither below `not` nor where one alternative must be told from another. Left open are `format`, `unevaluated*`,
//! `dynamic` references, references out of the schema, and patterns that [`regex_lite`] does not read.
//!
//! What must hold all at once waits in a queue, so depth costs no stack; only alternatives are judged one inside the other.

mod run;
mod scalar;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ptr;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use self::run::Verdict::{self, No, Open, Yes};
use self::run::{Report, Run, Step, Task};
use self::scalar::{TYPES, counted, is_of, listed, name_of, numeric, outside, same};
use super::pointer;
use crate::limits;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a JSON pointer into the value; empty for all of it.
    pub pointer: String,
    /// What, for people and models, e.g. `must be a string, not a number`.
    pub message: String,
}

/// What is wrong with `value`, as far as `schema` can tell: at most [`limits::VIOLATIONS`], outer ones first; none if it is
/// valid. Never fails: what cannot be checked, or not within [`limits::VALID_STEPS`], counts as satisfied.
///
/// ```
/// use serde_json::json;
/// let schema = json!({"properties": {"city": {"type": "string"}}, "required": ["city"]});
/// let found = chatparse::grammar::valid::check(&schema, &json!({"city": 7}));
/// assert_eq!((&*found[0].pointer, &*found[0].message), ("/city", "must be a string, not a number"));
/// assert!(chatparse::grammar::valid::check(&schema, &json!({"city": "Bonn"})).is_empty());
/// ```
pub fn check(schema: &Value, value: &Value) -> Vec<Violation> {
    let mut checker =
        Checker { root: schema, steps: limits::VALID_STEPS, patterns: HashMap::new(), judging: HashSet::new() };
    let mut report = Report { places: vec![(0, Step::Root)], found: Vec::new() };
    checker.judge(schema, value, 0, Some(&mut report));
    report.found
}

/// Whether `schema` may allow `value`, as far as is certain. References lead into `root`.
pub(super) fn allows(schema: &Value, root: &Value, value: &Value) -> bool {
    let mut checker = Checker { root, steps: limits::VALID_STEPS, patterns: HashMap::new(), judging: HashSet::new() };
    checker.judge(schema, value, 0, None) != No
}

type Fields = Map<String, Value>;

struct Checker<'a> {
    /// Where references lead into.
    root: &'a Value,
    /// How many more steps may be taken.
    steps: usize,
    patterns: HashMap<&'a str, Option<Regex>>,
    /// What is being judged: schemas and values by their places.
    judging: HashSet<(*const Value, *const Value)>,
}

impl<'a> Checker<'a> {
    /// How `value` fits `schema`. Stops at the first violation unless they are to be reported.
    fn judge(&mut self, schema: &'a Value, value: &'a Value, depth: usize, report: Option<&mut Report<'a>>) -> Verdict {
        // An alternative that leads back to itself says nothing.
        let judged = (ptr::from_ref(schema), ptr::from_ref(value));
        if depth > limits::VALID_DEPTH || !self.judging.insert(judged) {
            return Open;
        }
        let queue = VecDeque::from([(schema, value, 0)]);
        let mut run = Run { queue, followed: HashSet::new(), report, verdict: Yes, depth };
        while let Some(task) = run.queue.pop_front() {
            if run.is_over() {
                break;
            }
            if !self.spend(1) {
                run.open();
                break;
            }
            self.apply(&mut run, task);
        }
        self.judging.remove(&judged);
        run.verdict
    }

    /// Whether that many more steps may be taken.
    fn spend(&mut self, steps: usize) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }

    fn apply(&mut self, run: &mut Run<'a, '_>, (schema, value, place): Task<'a>) {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return run.wrong(place, "must not be there"),
            Value::Bool(true) => return,
            _ => return run.open(),
        };
        if UNCHECKED.iter().any(|key| fields.contains_key(*key)) {
            run.open();
        }
        self.reference(run, fields, value, place);
        self.kind(run, fields, value, place);
        match value {
            Value::Object(members) => self.object(run, fields, members, place),
            Value::Array(items) => self.array(run, fields, items, place),
            Value::String(text) => self.string(run, fields, text, place),
            Value::Number(number) => numeric(run, fields, number, place),
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(run, fields, value, place);
    }

    fn reference(&mut self, run: &mut Run<'a, '_>, fields: &'a Fields, value: &'a Value, place: usize) {
        let Some(reference) = fields.get("$ref") else { return };
        match pointer::target(reference, self.root) {
            Some(target) => {
                if run.followed.insert((ptr::from_ref(target), ptr::from_ref(value))) {
                    run.queue.push_back((target, value, place));
                }
            }
            None => run.open(),
        }
    }

    /// `type`, `enum` and `const`.
    fn kind(&mut self, run: &mut Run<'a, '_>, fields: &'a Fields, value: &'a Value, place: usize) {
        let names = match fields.get("type") {
            Some(Value::Array(names)) => &names[..],
            Some(name) => std::slice::from_ref(name),
            None => &[],
        };
        let known = |name: &str| TYPES.iter().find(|(known, _)| *known == name);
        let wanted: Vec<_> = names.iter().filter_map(Value::as_str).map(known).collect();
        if wanted.contains(&None) {
            run.open();
        } else if !wanted.is_empty() && !wanted.iter().flatten().any(|(name, _)| is_of(value, name)) {
            let wanted: Vec<&str> = wanted.iter().flatten().map(|(_, words)| *words).collect();
            let found = known(name_of(value)).map_or("", |(_, words)| words);
            let found = if wanted == ["a whole number"] && value.is_number() { "a fraction" } else { found };
            run.wrong(place, format!("must be {}, not {found}", wanted.join(" or ")));
        }
        let (values, word) = match (fields.get("const"), fields.get("enum")) {
            (Some(value), _) => (std::slice::from_ref(value), "must be"),
            (None, Some(Value::Array(values))) => (&values[..], "must be one of"),
            _ => return,
        };
        let mut verdict = No;
        for allowed in values {
            match same(allowed, value, || self.spend(1)) {
                No => {}
                Open => verdict = Open,
                Yes => return,
            }
        }
        run.holds(verdict, place, || format!("{word} {}", listed(values)));
    }

    fn object(&mut self, run: &mut Run<'a, '_>, fields: &'a Fields, members: &'a Fields, place: usize) {
        counted(run, fields, ["minProperties", "maxProperties"], "member", members.len(), place);
        for name in strings(fields.get("required")) {
            if !self.spend(1) || run.is_over() {
                break;
            }
            if !members.contains_key(name) {
                run.wrong(place, format!("{name:?} is missing"));
            }
        }
        let properties = fields.get("properties").and_then(Value::as_object);
        let patterns = fields.get("patternProperties").and_then(Value::as_object);
        let others = fields.get("additionalProperties");
        for (name, member) in members {
            if !self.spend(1) {
                return run.open();
            }
            let mut described = No;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                described = Yes;
                run.inside(schema, member, place, Step::Name(name));
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                match self.matches(pattern, name) {
                    Yes => {
                        described = Yes;
                        run.inside(schema, member, place, Step::Name(name));
                    }
                    Open => {
                        run.open();
                        described = if described == Yes { Yes } else { Open };
                    }
                    No => {}
                }
            }
            match others {
                Some(Value::Bool(false)) if described == No => run.wrong(place, format!("must not have {name:?}")),
                Some(schema) if described == No => run.inside(schema, member, place, Step::Name(name)),
                _ => {}
            }
        }
    }

    fn array(&mut self, run: &mut Run<'a, '_>, fields: &'a Fields, items: &'a [Value], place: usize) {
        counted(run, fields, ["minItems", "maxItems"], "item", items.len(), place);
        // An array of schemas was called `items` once, and what is behind them `additionalItems`.
        let (first, rest) = match (fields.get("prefixItems"), fields.get("items")) {
            (None, Some(Value::Array(first))) => (&first[..], fields.get("additionalItems")),
            (first, rest) => (first.and_then(Value::as_array).map_or(&[][..], Vec::as_slice), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if !self.spend(1) {
                return run.open();
            }
            if let Some(schema) = first.get(index).or(rest) {
                run.inside(schema, item, place, Step::Index(index));
            }
        }
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            let verdict = self.unique(items);
            run.holds(verdict, place, || "must not have the same item twice".to_owned());
        }
    }

    fn string(&mut self, run: &mut Run<'a, '_>, fields: &'a Fields, text: &str, place: usize) {
        if fields.contains_key("minLength") || fields.contains_key("maxLength") {
            counted(run, fields, ["minLength", "maxLength"], "character", text.chars().count(), place);
        }
        if let Some(Value::String(pattern)) = fields.get("pattern") {
            let verdict = self.matches(pattern, text);
            run.holds(verdict, place, || format!("must match {pattern}"));
        }
    }

    /// `allOf`, and the keywords that need the verdict on a schema rather than what is wrong.
    fn combined(&mut self, run: &mut Run<'a, '_>, fields: &'a Fields, value: &'a Value, place: usize) {
        let branches = |key: &str| fields.get(key).and_then(Value::as_array).filter(|branches| !branches.is_empty());
        for schema in branches("allOf").into_iter().flatten() {
            run.queue.push_back((schema, value, place));
        }
        let below = run.depth + 1;
        if let Some(branches) = branches("anyOf") {
            let mut verdict = No;
            for schema in branches {
                match self.judge(schema, value, below, None) {
                    Yes => {
                        verdict = Yes;
                        break;
                    }
                    Open => verdict = Open,
                    No => {}
                }
            }
            run.holds(verdict, place, || "fits no schema of anyOf".to_owned());
        }
        if let Some(branches) = branches("oneOf") {
            let (mut fit, mut open) = (0, 0);
            for schema in branches {
                match self.judge(schema, value, below, None) {
                    Yes => fit += 1,
                    Open => open += 1,
                    No => {}
                }
            }
            let verdict = match (fit, open) {
                (0, 0) | (2.., _) => No,
                (1, 0) => Yes,
                _ => Open,
            };
            run.holds(verdict, place, || {
                if fit == 0 { "fits no schema of oneOf" } else { "fits more than one schema of oneOf" }.to_owned()
            });
        }
        if let Some(schema) = fields.get("not") {
            let verdict = match self.judge(schema, value, below, None) {
                Yes => No,
                Open => Open,
                No => Yes,
            };
            run.holds(verdict, place, || "fits the schema of not".to_owned());
        }
        if let Some(schema) = fields.get("if") {
            let then = match self.judge(schema, value, below, None) {
                Yes => fields.get("then"),
                No => fields.get("else"),
                Open => return run.open(),
            };
            run.queue.extend(then.map(|schema| (schema, value, place)));
        }
    }

    /// Whether a pattern occurs in a text.
    fn matches(&mut self, pattern: &'a str, text: &str) -> Verdict {
        // Each byte may be looked at by each instruction of a program, some hundred at most.
        if !self.spend(1 + pattern.len() + 4 * text.len()) {
            return Open;
        }
        let regex = self.patterns.entry(pattern).or_insert_with(|| compiled(pattern));
        match regex {
            None => Open,
            Some(regex) if regex.is_match(text) => Yes,
            Some(_) => No,
        }
    }

    fn unique(&mut self, items: &'a [Value]) -> Verdict {
        let mut verdict = Yes;
        // Items that look the same from outside.
        let mut alike: HashMap<_, Vec<&Value>> = HashMap::new();
        for item in items {
            let others = alike.entry(outside(item)).or_default();
            for other in &*others {
                match same(other, item, || self.spend(1)) {
                    Yes => return No,
                    Open => return Open,
                    No => {}
                }
            }
            others.push(item);
            if !self.spend(1) {
                verdict = Open;
                break;
            }
        }
        verdict
    }
}

/// A pattern of ECMAScript, where it means the same here.
fn compiled(pattern: &str) -> Option<Regex> {
    let differs = [r"\<", r"\>", r"\A", r"\z", r"\a", "[:"];
    if differs.iter().any(|it| pattern.contains(it)) {
        return None;
    }
    RegexBuilder::new(pattern).size_limit(limits::PATTERN_BYTES).build().ok()
}

fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Keywords that could exclude a value and are not followed.
const UNCHECKED: &[&str] = &[
    "format",
    "contains",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
];
