//! Builds formats from a learnt turn: its parts, and the glue between them.
//!
//! A model writes reasoning, then content, then calls; some write content behind the calls. Each part is a step that ends
//! for good, so that nothing is read twice. A step accepts any glue that was seen in front of its part, whatever part came
//! before.

use super::builder::FormatBuilder;
use super::calls::learnt as calls;
use super::glue::{any_space, glue, heads, split_space};
use super::{Constraint, Delimiter, Format, FormatSpec, Thinking, wrappers};
use crate::analysis::turn::{Edge, Glue, Place, Reasoning, TurnFormat};
use crate::analysis::{Layout, ReasoningMode};
use crate::grammar::Trigger;
use crate::peg::ExprId;

/// The format of a template that writes turns like this, for one request. `layout` is the view of the turn with thinking on.
pub fn build(turn: &TurnFormat, layout: &Layout, spec: &FormatSpec) -> Format {
    let p = FormatBuilder::default();
    let callable = !turn.calls.is_empty() && !spec.tools().is_empty();
    let thought = Thought::of(turn, layout, spec.opening);
    let writer = Writer { p: &p, turn, layout, spec, callable, thought: thought.as_ref() };
    let root = writer.output();
    let constraint = writer.constraint();
    Format {
        output: p.finish(root),
        constraint,
        preserved_tokens: layout.preserved_tokens.clone(),
        additional_stops: layout.additional_stops.clone(),
        thinking: Thinking::of_layout(layout),
        delimiters: Delimiter::of_layout(layout),
        ..Format::default()
    }
}

/// Reasoning with one of its openings.
struct Thought<'a> {
    /// Its marker, in the prompt or in the output.
    start: &'a str,
    /// The opening in the output; empty if the prompt has it.
    open: Glue,
    close: Glue,
}

impl<'a> Thought<'a> {
    fn of(turn: &'a TurnFormat, layout: &'a Layout, opening: &str) -> Option<Thought<'a>> {
        let known = layout.reasoning.mode != ReasoningMode::None && !layout.reasoning.end.trim().is_empty();
        let start = if known { layout.reasoning.start.trim() } else { "" };
        let Some(Reasoning { open, close, .. }) = &turn.reasoning else {
            let (open, close) = (Glue::from(&*layout.reasoning.start), Glue::from(&*layout.reasoning.end));
            return known.then(|| Thought { start, open, close }.behind(opening));
        };
        let start = if open.is_blank() { start } else { open.head().trim() };
        let thought = Thought { start, open: open.clone(), close: close.clone() };
        Some(if opening == turn.opening { thought } else { thought.behind(opening) })
    }

    /// The same reasoning when another opening may begin or end it.
    fn behind(self, opening: &str) -> Thought<'a> {
        let opens = !self.start.is_empty() && opening.rfind(self.start) > opening.rfind(self.close.head().trim());
        let open = match (opens, self.open.is_blank()) {
            (true, _) => Glue::default(),
            (false, true) => Glue::from(self.start),
            (false, false) => self.open,
        };
        Thought { open, ..self }
    }
}

/// The end of the prompt when the model continues a message.
pub fn continued_prompt(
    turn: &TurnFormat,
    layout: &Layout,
    opening: &str,
    reasoning: &str,
    content: Option<&str>,
) -> String {
    let mut prompt = opening.to_owned();
    let mut from = Place::Prompt;
    let thought = Thought::of(turn, layout, opening);
    if let Some(thought) = thought.filter(|t| !reasoning.is_empty() || content.is_none() || t.open.is_empty()) {
        from = Place::Reasoning;
        prompt.push_str(thought.open.head());
        prompt.push_str(reasoning);
        if content.is_some() {
            prompt.push_str(thought.close.head());
        }
    }
    if let Some(content) = content {
        let edge = turn.edges.iter().find(|edge| edge.from == from && edge.to == Place::Content);
        prompt.push_str(edge.map_or("", |edge| edge.glue.head()));
        prompt.push_str(content);
    }
    prompt
}

struct Writer<'a> {
    p: &'a FormatBuilder,
    turn: &'a TurnFormat,
    layout: &'a Layout,
    spec: &'a FormatSpec<'a>,
    callable: bool,
    thought: Option<&'a Thought<'a>>,
}

impl<'a> Writer<'a> {
    fn edges(&self, from: &'static [Place], to: Place) -> impl Iterator<Item = &'a Edge> {
        self.turn.edges.iter().filter(move |edge| edge.to == to && from.contains(&edge.from))
    }

    /// Where the first text or call may begin: behind the prompt, unless that opens the reasoning.
    fn begin(&self) -> &'static [Place] {
        match self.thought.is_some_and(|thought| thought.open.is_empty()) {
            true => &[Place::Reasoning],
            false => &[Place::Prompt, Place::Reasoning],
        }
    }

    fn before_calls(&self) -> &'static [Place] {
        match self.begin() {
            [Place::Reasoning] => &[Place::Reasoning, Place::Content],
            _ => &[Place::Prompt, Place::Reasoning, Place::Content],
        }
    }

    fn output(&self) -> ExprId {
        let (p, spec) = (self.p, self.spec);
        let mut steps = vec![p.exact(spec.opening), self.reasoning()];
        if let Some(schema) = spec.response_schema() {
            let wrapped = self.edges(self.begin(), Place::Content).filter(|edge| !edge.glue.is_blank());
            let open =
                p.choice(wrapped.map(|edge| glue(p, &edge.glue, None, "")).chain([p.empty()]).collect::<Vec<_>>());
            steps.extend([open, p.response(schema), self.close(&[Place::Content])]);
        } else {
            // The end of the last text of a turn is not repeated behind calls.
            let close = self.close(&[Place::Content]);
            steps.push(self.content());
            steps.push(match self.callable {
                true if spec.call_required() => self.calls(),
                true => p.choice([self.calls(), close]),
                false => close,
            });
        }
        steps.extend([self.end(), p.end()]);
        p.sequence(steps)
    }

    fn reasoning(&self) -> ExprId {
        let p = self.p;
        let Some(thought) = self.thought.filter(|_| self.spec.extract_reasoning()) else {
            return p.empty();
        };
        let text = p.reasoning(p.until_any(heads(&thought.close)));
        let close = p.choice([glue(p, &thought.close, None, ""), p.end()]);
        let rest = p.sequence([p.reopened(self.spec, thought.start), text, close]);
        match thought.open.is_empty() {
            true => rest,
            false => p.optional(p.sequence([glue(p, &thought.open, None, ""), rest])),
        }
    }

    /// The markers that end a text in front of calls.
    fn marks_of_calls(&self, from: &'static [Place]) -> Vec<String> {
        let glues = self.edges(from, Place::Call).filter(|_| self.callable);
        glues.flat_map(|edge| calls::heads(self.turn, edge, self.spec)).collect()
    }

    /// The markers that end the last text of a turn.
    fn marks_of_end(&self) -> Vec<String> {
        let glues = self.edges(&[Place::Content], Place::End).filter(|edge| !edge.glue.is_blank());
        glues.flat_map(|edge| heads(&edge.glue)).collect()
    }

    fn content(&self) -> ExprId {
        let p = self.p;
        if !self.spec.extract_reasoning() {
            return p.content(p.until_any(self.marks_of_calls(self.before_calls())));
        }
        let (calls, ends) = (self.marks_of_calls(self.before_calls()), self.marks_of_end());
        let text = match calls.is_empty() || self.is_marked() {
            true => p.content(p.until_any(calls.into_iter().chain(ends))),
            false => wrappers::text_before(p, &calls, &ends),
        };
        let (blank, marked): (Vec<&Edge>, Vec<&Edge>) =
            self.edges(self.begin(), Place::Content).partition(|edge| edge.glue.is_blank());
        let mut ways: Vec<ExprId> =
            marked.iter().map(|edge| p.sequence([glue(p, &edge.glue, None, ""), text])).collect();
        let mut spaces: Vec<&str> = blank.iter().map(|edge| edge.glue.head()).collect();
        spaces.dedup();
        match spaces.is_empty() {
            true => ways.push(p.empty()),
            false => ways.push(p.sequence([any_space(p, &spaces), text])),
        }
        p.choice(ways)
    }

    /// All calls of a message with the glue around them, and the text behind them if the template has one.
    fn calls(&self) -> ExprId {
        let (p, turn) = (self.p, self.turn);
        let mut rest = vec![p.rule("call", calls::any(p, turn, self.spec, self.is_marked()))];
        let next: Vec<ExprId> = self
            .edges(&[Place::Call], Place::Call)
            .filter(|_| self.spec.parallel())
            .map(|edge| p.sequence([glue(p, &edge.glue, None, ""), p.reference("call")]))
            .collect();
        if !next.is_empty() {
            rest.push(p.many(p.choice(next)));
        }
        rest.push(self.close(&[Place::Call]));
        if let Some(edge) = self.edges(&[Place::Call], Place::Content).next() {
            // The end of the turn is excluded from content only where text may follow calls.
            let marks = self.marks_of_end().into_iter().chain(heads(&turn.end));
            let text = p.content(p.until_any(marks));
            let close = self.close(&[Place::Content]);
            rest.push(p.optional(p.sequence([glue(p, &edge.glue, None, ""), text, close])));
        }
        let rest = p.rule("calls", p.sequence(rest));
        // Where the same opening follows different white space, the part before it decides which.
        let mut firsts: Vec<(Glue, Vec<&str>)> = Vec::new();
        for edge in self.edges(self.before_calls(), Place::Call) {
            let (space, core) = split_space(&edge.glue);
            match firsts.iter_mut().find(|(known, _)| *known == core) {
                Some((_, spaces)) if spaces.contains(&space) => {}
                Some((_, spaces)) => spaces.push(space),
                None => firsts.push((core, vec![space])),
            }
        }
        let ways = firsts.iter().enumerate().map(|(index, (core, spaces))| {
            let calls = p.sequence([glue(p, core, None, ""), rest]);
            let name = if index == 0 { "tool-call".to_owned() } else { format!("tool-call-{index}") };
            p.sequence([any_space(p, spaces), p.trigger_rule(name, calls)])
        });
        p.choice(ways.collect::<Vec<_>>())
    }

    /// The end of the last part, coming from one of these places; a model may leave it out.
    fn close(&self, from: &'static [Place]) -> ExprId {
        let p = self.p;
        let ends: Vec<&Edge> = self.edges(from, Place::End).filter(|edge| !edge.glue.is_blank()).collect();
        if ends.is_empty() {
            return p.empty();
        }
        let must = self.edges(from, Place::End).all(|edge| !edge.glue.is_blank() && !self.turn.is_stop(&edge.glue));
        let left_out = if must { p.tolerated(p.empty()) } else { p.empty() };
        let ends = ends.into_iter().map(|edge| p.sequence([glue(p, &edge.glue, None, ""), p.markup_ends()]));
        p.choice(ends.chain([left_out]).collect::<Vec<_>>())
    }

    /// The end of a turn, if the model writes it as text. Grammars leave it out, because a token ends the turn.
    fn end(&self) -> ExprId {
        let p = self.p;
        let spelled = match self.turn.end.is_blank() {
            true => p.empty(),
            false => p.optional(p.sequence([p.space(), glue(p, &self.turn.end, None, ""), p.markup_ends()])),
        };
        p.tolerated(p.sequence([spelled, p.space()]))
    }

    /// Whether a marker identifies calls. Only then can calls of tools that are not offered be read.
    fn is_marked(&self) -> bool {
        let mut glues = self.edges(self.before_calls(), Place::Call).chain(self.edges(&[Place::Call], Place::Call));
        glues.all(|edge| calls::is_strong(&edge.glue))
    }

    fn constraint(&self) -> Constraint {
        if self.spec.response_schema().is_some() || self.callable && self.spec.call_required() {
            return Constraint::Strict(Vec::new());
        }
        let marker = self.layout.calls_marker();
        if !self.callable || marker.is_empty() {
            return Constraint::Free;
        }
        // The marker may depend on what is called.
        let mut words = vec![marker.to_owned()];
        for edge in self.edges(self.before_calls(), Place::Call) {
            if !words.iter().any(|word| edge.glue.head().contains(word)) {
                words.push(split_space(&edge.glue).1.head().trim_end().to_owned());
            }
        }
        Constraint::Lazy(words.into_iter().map(Trigger::word).collect())
    }
}
