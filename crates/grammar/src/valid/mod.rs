//! Checks values against JSON schemas, and reports violations with their places.
//!
//! Reported violations are certain. Keywords and references that are not supported leave the result
//! open, and open results are not violations, not even inside `not` or when alternatives are
//! compared. Open are: `format`, which is an annotation in the newer drafts; references out of the
//! schema; patterns that no automaton can express; and schemas whose `$schema` names an unknown
//! draft. Drafts 3 to 2020-12 are known; the newest is the default.
//!
//! Schemas that must all hold wait in a queue, so depth uses no stack; only alternatives recurse.

mod array;
mod at;
mod combined;
mod draft3;
mod number;
mod object;
mod run;
mod scalar;
mod unevaluated;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use serde_json::Value;

pub use self::at::schema_at;
use self::run::Verdict::{self, No, Open, Yes};
use self::run::{Check, Key, Report, Run, Task};
use self::scalar::{alike, listed, same};
use crate::regular::{Finder, Pattern};
use crate::schema::{Base, Document, Draft, Keywords, Places, Steps};
use chatparse_base::limits;

/// A violation of a schema by a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The place as a JSON pointer into the value; empty for the whole value.
    pub pointer: String,
    /// A description for people and models, e.g. `must be a string, not a number`.
    pub message: String,
}

/// What is wrong with `value`, as far as `schema` can tell: the first few, outer ones first; none
/// if it is valid. Never fails: what cannot be checked, or not within a bound of steps, counts as
/// satisfied.
///
/// ```
/// use serde_json::json;
/// let schema = json!({"properties": {"city": {"type": "string"}}, "required": ["city"]});
/// let found = chatparse::grammar::valid::check(&schema, &json!({"city": 7}));
/// assert_eq!((&*found[0].pointer, &*found[0].message), ("/city", "must be a string, not a number"));
/// assert!(chatparse::grammar::valid::check(&schema, &json!({"city": "Bonn"})).is_empty());
/// ```
pub fn check(schema: &Value, value: &Value) -> Vec<Violation> {
    let mut report = Report {
        places: Places::new(""),
        found: Vec::new(),
    };
    Checker::new(Rc::new(Document::new(schema)), limits::VALID_STEPS).judge(
        Task::new(schema, value),
        0,
        Some(&mut report),
    );
    report.found
}

/// Checks values against schemas of one document.
pub(super) struct Checker<'a> {
    document: Rc<Document<'a>>,
    /// The remaining steps.
    steps: Steps,
    /// By source; `None`: it cannot be used.
    patterns: HashMap<&'a str, Option<Finder>>,
    /// Lists of allowed values by address: those that may be equal to a value, once the list is
    /// asked for again.
    lists: HashMap<*const Value, Option<HashMap<u64, Vec<&'a Value>>>>,
    /// The checks in progress.
    judging: HashSet<Key>,
}

impl<'a> Checker<'a> {
    /// All checks together may take so many steps.
    pub(super) fn new(document: Rc<Document<'a>>, steps: usize) -> Self {
        Checker {
            document,
            steps: Steps(steps),
            patterns: HashMap::new(),
            lists: HashMap::new(),
            judging: HashSet::new(),
        }
    }

    /// Whether `schema`, at `base`, may allow `value`; false only if it is certain.
    pub(super) fn allows(&mut self, schema: &'a Value, base: Base, value: &Value) -> bool {
        self.judge(Task::new(schema, value).with(schema, base), 0, None) != No
    }

    /// Whether no steps are left, so that values may have been allowed without a look at them.
    pub(super) fn is_spent(&self) -> bool {
        self.steps.0 == 0
    }

    /// Checks a value against a schema. Stops at the first violation unless they are reported.
    fn judge<'v>(
        &mut self,
        task: Task<'a, 'v>,
        depth: usize,
        report: Option<&mut Report<'v>>,
    ) -> Verdict {
        // An alternative that leads back to itself constrains nothing.
        let judged = task.key();
        if depth > limits::VALID_DEPTH || !self.judging.insert(judged) {
            return Open;
        }
        let queue = VecDeque::from([task]);
        let mut run = Run {
            queue,
            followed: HashSet::new(),
            report,
            verdict: Yes,
            depth,
        };
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

    /// Subtracts steps. Returns whether they were left.
    fn spend(&mut self, steps: usize) -> bool {
        self.steps.spend(steps)
    }

    fn apply<'v>(&mut self, run: &mut Run<'a, 'v, '_>, mut task: Task<'a, 'v>) {
        let keywords = match (task.schema, self.keywords(&mut task)) {
            (_, Some(keywords)) => keywords,
            (Value::Bool(false), _) => return run.wrong(task.place, "must not be there"),
            (Value::Bool(true), _) => return,
            _ => return run.open(),
        };
        let mut check = Check {
            checker: self,
            run,
            keywords,
            task,
        };
        check.references();
        if keywords.draft.lone_ref() && keywords.fields.contains_key("$ref") {
            return;
        }
        if keywords.get("format").is_some() {
            check.run.open();
        }
        check.kind();
        match task.value {
            number if chatparse_base::number::is(number) => check.bounds(number),
            Value::Object(members) => check.object(members),
            Value::Array(items) => check.array(items),
            Value::String(text) => check.string(text),
            _ => {}
        }
        check.combined();
        check.unevaluated();
    }

    /// The keywords of a schema. If it has an identifier, `task` moves into it.
    fn keywords(&mut self, task: &mut Task<'a, '_>) -> Option<Keywords<'a>> {
        let fields = task.schema.as_object()?;
        task.base = self
            .document
            .entered(task.schema, task.base, &mut self.steps)?;
        let draft = self.document.draft(task.base)?;
        Some(Keywords { fields, draft })
    }

    fn is_one_of(&mut self, values: &'a [Value], value: &Value) -> Verdict {
        // The value may be an item of the list itself.
        if values.as_ptr_range().contains(&std::ptr::from_ref(value)) {
            return Yes;
        }
        let steps = &mut self.steps;
        let groups = match self.lists.entry(values.as_ptr()) {
            Entry::Vacant(entry) => {
                entry.insert(None);
                return any_same(&mut values.iter(), value, steps);
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        if groups.is_none() {
            let mut fresh: HashMap<u64, Vec<&Value>> = HashMap::new();
            for value in values {
                let Some(key) = alike(value, steps) else {
                    return Open;
                };
                fresh.entry(key).or_default().push(value);
            }
            *groups = Some(fresh);
        }
        let Some(key) = alike(value, steps) else {
            return Open;
        };
        let found = groups.as_ref().and_then(|groups| groups.get(&key));
        any_same(&mut found.into_iter().flatten().copied(), value, steps)
    }

    /// Whether a pattern is found in a text.
    fn matches(&mut self, pattern: &'a str, text: &str) -> Verdict {
        if !self.steps.spend(1 + pattern.len()) {
            return Open;
        }
        let steps = &mut self.steps;
        let finder = self.patterns.entry(pattern).or_insert_with(|| {
            let read = Pattern::parse(pattern).ok()?;
            Finder::new(&read, limits::PATTERN_STATES).filter(|finder| steps.spend(finder.states()))
        });
        match finder
            .as_ref()
            .and_then(|finder| finder.finds(text, &mut |visited| steps.spend(visited)))
        {
            None => Open,
            Some(true) => Yes,
            Some(false) => No,
        }
    }
}

impl Check<'_, '_, '_, '_> {
    fn references(&mut self) {
        let Checker {
            document, steps, ..
        } = &mut *self.checker;
        for target in document.targets(self.keywords, self.task.base, steps) {
            let Some((schema, base)) = target else {
                self.run.open();
                continue;
            };
            let task = self.task.with(schema, base);
            if self.run.followed.insert(task.key()) {
                self.run.queue.push_back(task);
            }
        }
    }

    /// Checks `type`, `enum` and `const`.
    fn kind(&mut self) {
        let keywords = self.keywords;
        if keywords.draft == Draft::Three {
            self.kind_in_draft_3();
        } else {
            self.kind_by_name();
        }
        let constant = keywords
            .get("const")
            .map(|value| (std::slice::from_ref(value), "must be"));
        let listed_ones = keywords
            .get("enum")
            .and_then(Value::as_array)
            .map(|values| (&values[..], "must be one of"));
        for (values, word) in constant.into_iter().chain(listed_ones) {
            let verdict = self.checker.is_one_of(values, self.task.value);
            self.holds(verdict, || format!("{word} {}", listed(values)));
        }
    }

    fn string(&mut self, text: &str) {
        let keywords = self.keywords;
        // Only draft 7 allows validators to check these.
        if keywords.get("contentEncoding").is_some() || keywords.get("contentMediaType").is_some() {
            self.run.open();
        }
        if keywords.fields.contains_key("minLength") || keywords.fields.contains_key("maxLength") {
            self.counted(
                ["minLength", "maxLength"],
                "character",
                text.chars().count(),
            );
        }
        if let Some(pattern) = keywords.text("pattern") {
            let verdict = self.checker.matches(pattern, text);
            self.holds(verdict, || format!("must match {pattern}"));
        }
    }
}

/// Whether two values are equal; numbers by value.
pub(super) fn are_equal(one: &Value, other: &Value) -> bool {
    same(one, other, || true) == Yes
}

/// Whether one of these is equal to a value.
fn any_same(values: &mut dyn Iterator<Item = &Value>, value: &Value, steps: &mut Steps) -> Verdict {
    let mut verdict = No;
    for allowed in values {
        verdict = verdict.max(same(allowed, value, || steps.spend(1)));
        if verdict == Yes {
            break;
        }
    }
    verdict
}
