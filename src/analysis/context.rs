//! The provenance of a [`Layout`]: for each field, the pair of renders that it was read from.
//!
//! The passes of the analysis work on an [`AnalysisContext`]. They render pairs of probes, and change the layout only through its
//! methods `learn`, `derive` and `patch`, which compare the layout before and after and record the changes. So each field that
//! is set has evidence.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::Analysis;
use super::diff::Diff;
use super::layout::Layout;
use super::probe::{self, Call, Probe};
use crate::limits::PROBE_BYTES;
use crate::template::Template;

/// Shared text that is kept on either side of a difference, in characters.
const CONTEXT: usize = 60;
/// Longest difference that is kept, in characters.
const DIFFERENCE: usize = 600;

/// The value of one field and its source. Later evidence for the same field replaces earlier.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The field by its dotted name, as in [`Analysis::fields`], e.g. `reasoning.start`.
    pub field: &'static str,
    /// The value that the field got.
    pub value: Value,
    /// The pass that found it, e.g. `reasoning`.
    pub pass: &'static str,
    /// The source of the value.
    pub source: Source,
}

/// Where a value was read from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// Two renders that differ in one fact. Long texts are cut; `…` marks a cut.
    Comparison {
        /// The fact, e.g. `a reply without / with reasoning`.
        question: &'static str,
        /// The end of the text that both renders share before the difference.
        before: String,
        /// What only the first render has.
        left: String,
        /// What only the second render has.
        right: String,
        /// The start of the text that both renders share after it.
        after: String,
    },
    /// Fields found before.
    Layout,
    /// A row of the table of work-arounds, which recognises the template by its source.
    Workaround {
        /// The template or family.
        name: &'static str,
        /// Why its renders are misleading.
        reason: &'static str,
    },
}

impl Source {
    /// What two renders show about a question.
    fn of(question: &'static str, pair: &Pair) -> Self {
        let Diff { prefix, left, right, suffix } = pair.diff();
        Source::Comparison {
            question,
            before: tail(prefix, CONTEXT),
            left: head(left, DIFFERENCE),
            right: head(right, DIFFERENCE),
            after: head(suffix, CONTEXT),
        }
    }
}

impl Evidence {
    /// The evidence as one flat JSON object.
    pub fn to_json(&self) -> Value {
        let mut json = json!({"field": self.field, "value": self.value, "pass": self.pass});
        match &self.source {
            Source::Comparison { question, before, left, right, after } => {
                json["source"] = "comparison".into();
                json["question"] = (*question).into();
                json["before"] = before.as_str().into();
                json["left"] = left.as_str().into();
                json["right"] = right.as_str().into();
                json["after"] = after.as_str().into();
            }
            Source::Layout => json["source"] = "layout".into(),
            Source::Workaround { name, reason } => {
                json["source"] = "workaround".into();
                json["name"] = (*name).into();
                json["reason"] = (*reason).into();
            }
        }
        json
    }
}

/// Two renders of one template.
pub(super) struct Pair {
    pub a: Rc<str>,
    pub b: Rc<str>,
    /// The lengths that they share at the start and at the end, computed on first use.
    shared: Cell<Option<(usize, usize)>>,
}

impl Pair {
    pub(super) fn diff(&self) -> Diff<'_> {
        match self.shared.get() {
            Some((start, end)) => Diff::sharing(&self.a, &self.b, start, end),
            None => {
                let diff = Diff::between(&self.a, &self.b);
                self.shared.set(Some((diff.prefix.len(), diff.suffix.len())));
                diff
            }
        }
    }
}

/// An analysis in progress.
pub(super) struct AnalysisContext<'t> {
    template: &'t Template,
    /// Renders so far: several passes use the same probe.
    renders: RefCell<Vec<(Probe, Option<Rc<str>>)>>,
    /// The tools in the probes.
    tools: Arc<Value>,
    /// Whether the template reads `enable_thinking`.
    knows_switch: bool,
    pass: &'static str,
    layout: Layout,
    /// [`Layout::fields`] of the current layout.
    fields: Vec<(&'static str, Value)>,
    evidence: Vec<Evidence>,
}

impl<'t> AnalysisContext<'t> {
    pub(super) fn new(template: &'t Template) -> Self {
        let layout = Layout::default();
        AnalysisContext {
            template,
            renders: RefCell::default(),
            tools: probe::tools(),
            knows_switch: template.knows_thinking_switch(),
            pass: "",
            fields: layout.fields(),
            layout,
            evidence: Vec::new(),
        }
    }

    /// Names the pass that the following changes belong to.
    pub(super) fn enter(&mut self, pass: &'static str) {
        self.pass = pass;
    }

    pub(super) fn template(&self) -> &'t Template {
        self.template
    }

    /// The layout so far.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn finish(self) -> Analysis {
        Analysis { layout: self.layout, evidence: self.evidence }
    }

    /// Renders both; `None` if the template rejects one of them or its render is longer than [`PROBE_BYTES`].
    pub(super) fn pair(&self, a: Probe, b: Probe) -> Option<Pair> {
        Some(Pair { a: self.render(a)?, b: self.render(b)?, shared: Cell::default() })
    }

    /// Renders the same conversation with one call and with two.
    pub(super) fn one_and_two_calls(&self) -> Option<Pair> {
        self.pair(Probe::calling(&[Call::FIRST]), Probe::calling(&[Call::FIRST, Call::SECOND]))
    }

    /// Whether `text` is in the render.
    pub(super) fn shows(&self, probe: Probe, text: &str) -> bool {
        self.render(probe).is_some_and(|render| render.contains(text))
    }

    fn render(&self, probe: Probe) -> Option<Rc<str>> {
        // The switch has no effect on a template that does not read it, so that one render serves both.
        let probe = if self.knows_switch { probe } else { probe.thinking(true) };
        if let Some((_, known)) = self.renders.borrow().iter().find(|(known, _)| *known == probe) {
            return known.clone();
        }
        let conversation = probe.conversation(self.template.caps(), &self.tools);
        let text = self.template.render(&conversation).ok().filter(|text| text.len() <= PROBE_BYTES).map(Rc::from);
        self.renders.borrow_mut().push((probe, text.clone()));
        text
    }

    /// Changes the layout, with `pair` as evidence.
    pub(super) fn learn(&mut self, question: &'static str, pair: &Pair, change: impl FnOnce(&mut Layout)) {
        self.change(Source::of(question, pair), change);
    }

    /// Changes the layout by a work-around.
    pub(super) fn patch(&mut self, name: &'static str, reason: &'static str, change: impl FnOnce(&mut Layout)) {
        self.change(Source::Workaround { name, reason }, change);
    }

    /// Changes the layout by what other fields imply.
    pub(super) fn derive(&mut self, change: impl FnOnce(&mut Layout)) {
        self.change(Source::Layout, change);
    }

    /// Resets fields with values that cannot be right. A marker never contains a word of a probe; if it does, that marker
    /// and its neighbours were misread.
    pub(super) fn settle(&mut self) {
        let wrong: Vec<&str> = self.misread().collect();
        if wrong.is_empty() {
            return;
        }
        wrong.into_iter().for_each(|field| self.layout.forget(field));
        let before = std::mem::replace(&mut self.fields, self.layout.fields());
        let forgotten =
            |item: &Evidence| before.iter().zip(&self.fields).any(|(old, new)| old.0 == item.field && old != new);
        self.evidence.retain(|item| !forgotten(item));
        debug_assert_eq!(self.misread().next(), None, "the fields were reset");
    }

    /// The fields in which the pass has put a word of a probe, other than the id in a field that is meant to hold one.
    fn misread(&self) -> impl Iterator<Item = &'static str> {
        let id = match &*self.layout.call_id.example {
            "" => None,
            id => Some(id),
        };
        let misread = move |text: &str| match id {
            None => probe::has_probe_word(text),
            Some(id) => probe::has_probe_word(&text.replace(id, "")),
        };
        let says = move |value: &Value| match value {
            Value::String(text) => misread(text),
            Value::Array(items) => items.iter().filter_map(Value::as_str).any(misread),
            _ => false,
        };
        let found = |field: &str| {
            self.evidence.iter().rev().take_while(|item| item.pass == self.pass).any(|item| item.field == field)
        };
        self.fields.iter().filter(move |(field, value)| found(field) && says(value)).map(|(field, _)| *field)
    }

    fn change(&mut self, source: Source, change: impl FnOnce(&mut Layout)) {
        change(&mut self.layout);
        self.note_changes(&source);
    }

    /// Compiled once, whatever the change was.
    #[inline(never)]
    fn note_changes(&mut self, source: &Source) {
        let fields = self.layout.fields();
        let changed = self.fields.iter().zip(&fields).filter(|(old, new)| old != new);
        let evidence = changed.map(|(_, (field, value))| Evidence {
            field,
            value: value.clone(),
            pass: self.pass,
            source: source.clone(),
        });
        self.evidence.extend(evidence);
        self.fields = fields;
    }
}

/// The first `most` characters of `text`.
fn head(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// The last `most` characters of `text`.
fn tail(text: &str, most: usize) -> String {
    match text.char_indices().nth_back(most) {
        Some((at, c)) => format!("…{}", &text[at + c.len_utf8()..]),
        None => text.to_string(),
    }
}
