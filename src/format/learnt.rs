//! Builds formats from a learnt turn: its parts, and the glue between them.
//!
//! A model writes reasoning, then content, then calls; some write content behind the calls. Each part is a step that ends
//! for good, so that nothing is read twice. A step accepts any glue that was seen in front of its part, whatever part came
//! before.

use super::builder::FormatBuilder;
use super::calls::learnt as calls;
use super::glue::{any_space, behind_json, glue, heads, split_space};
use super::thought::Thought;
use super::{Constraint, Delimiter, Format, FormatSpec, Thinking, wrappers};
use crate::analysis::turn::{CallPiece, Edge, Glue, Place, TurnFormat};
use crate::analysis::{Layout, ToolFormat};
use crate::grammar::Trigger;
use crate::message::Continuation;
use crate::peg::ExprId;

/// How a model deviates from what its template writes, where not all models do.
#[derive(Clone, Copy, Debug)]
pub struct Tolerances {
    /// A call may open inside reasoning that is not closed. It counts from the name of an offered tool on, because reasoning
    /// may also mention its markers.
    pub calls_in_reasoning: bool,
    /// Other spellings of texts in markers: the template's, and the model's.
    pub spellings: &'static [(&'static str, &'static str)],
    /// A grammar constrains from this text on, where that is not the learnt marker of calls.
    pub calls_from: &'static str,
    /// A call may begin with the marker of its own where the markers around all calls are expected.
    pub bare_calls: bool,
}

impl Tolerances {
    /// The model writes what its template writes.
    pub const NONE: Self = Tolerances { calls_in_reasoning: false, spellings: &[], calls_from: "", bare_calls: false };
}

/// The format of a template that writes turns like this, for one request. `layout` is the view of the turn with thinking on.
pub fn build(turn: &TurnFormat, tolerances: Tolerances, layout: &Layout, spec: &FormatSpec) -> Format {
    let p = FormatBuilder::spelling(tolerances.spellings);
    let callable = !turn.calls.is_empty() && !spec.tools().is_empty();
    // A continued message has reasoning of its own in place of what the opening has.
    let start = turn.reasoning.as_ref().map_or(layout.reasoning.start.trim(), |reasoning| &reasoning.start);
    let reasoning = spec.opening.rfind(start).filter(|_| !start.is_empty() && spec.continuation != Continuation::None);
    let opening = reasoning.map_or(spec.opening, |at| &spec.opening[..at]);
    let thought = Thought::of(turn, layout, opening);
    let (call_open, wrapper_close) = turn.call_frame();
    let writer = Writer {
        p: &p,
        turn,
        layout,
        tolerances,
        spec,
        opening,
        callable,
        thought: thought.as_ref(),
        call_open,
        wrapper_close,
    };
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

/// All calls of a message in a turn without anything else.
pub(super) fn calls(p: &FormatBuilder, turn: &TurnFormat, spec: &FormatSpec) -> ExprId {
    let layout = Layout::of(turn);
    let (call_open, wrapper_close) = turn.call_frame();
    let (opening, tolerances) = ("", Tolerances::NONE);
    let callable = true;
    Writer { p, turn, layout: &layout, tolerances, spec, opening, callable, thought: None, call_open, wrapper_close }
        .calls()
}

struct Writer<'a> {
    p: &'a FormatBuilder,
    turn: &'a TurnFormat,
    layout: &'a Layout,
    spec: &'a FormatSpec<'a>,
    /// The part of the prompt's opening in front of what is read.
    opening: &'a str,
    callable: bool,
    thought: Option<&'a Thought>,
    tolerances: Tolerances,
    /// What opens each call, and what closes its wrapper.
    call_open: Glue,
    wrapper_close: Glue,
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
        let before = self.thought.map(|thought| thought.before_message(self.opening, spec.extract_reasoning()));
        let mut steps = vec![p.exact(before.unwrap_or(self.opening)), self.reasoning()];
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
        let ends = p.spelled(heads(&thought.close));
        let closed = glue(p, &thought.close, None, "");
        // Where a call must come, reasoning does not end the output.
        let end = (!self.spec.call_required()).then(|| p.end());
        let (text, close) = match self.callable && self.tolerances.calls_in_reasoning {
            false => (p.until_any(ends), p.choice([closed].into_iter().chain(end))),
            true => {
                let opens = self.marks_of_calls().into_iter().chain(self.marks_of_bare_calls());
                let call = p.and(self.announced_call());
                let stop = p.choice([closed, call]);
                let run = p.until_any(ends.into_iter().chain(opens));
                let more = p.many(p.sequence([p.not(stop), p.any(), run]));
                (p.sequence([run, more]), p.choice([closed, p.tolerated(call)].into_iter().chain(end)))
            }
        };
        let text = p.reasoning(text);
        let rest = p.sequence([p.reopened(self.spec, &thought.start), text, close]);
        match thought.open.is_empty() {
            // As in llama.cpp, a grammar does not insist on the end of reasoning in front of calls.
            true if self.spec.call_required() => {
                let at_once = glue(p, &thought.close.trim_start(), None, "");
                p.choice([rest, at_once, p.empty()])
            }
            true => rest,
            false => {
                let space = if self.spec.continuation == Continuation::None { p.empty() } else { p.space() };
                p.optional(p.sequence([glue(p, &thought.open, None, ""), space, rest]))
            }
        }
    }

    /// Nothing, in a grammar. The parser never takes it.
    fn nothing(&self) -> ExprId {
        self.p.not(self.p.empty())
    }

    /// The glue in front of the first call. If reasoning is not separated, its end is content.
    fn before_first_call(&self) -> Vec<Glue> {
        let thought = self.thought.filter(|_| !self.spec.extract_reasoning());
        let close = thought.map_or("", |thought| thought.close.head().trim());
        let mut all: Vec<Glue> = Vec::new();
        for edge in self.edges(self.before_calls(), Place::Call) {
            let reasoning = edge.glue.head().rfind(close).filter(|_| !close.is_empty());
            let glue = reasoning.map_or_else(|| edge.glue.clone(), |at| edge.glue.without_start(at + close.len()));
            // What stands in front of the marker of calls may be missing.
            let marker = glue.head().find(self.marker()).filter(|at| *at > 0 && !self.marker().trim().is_empty());
            let marked = marker.map(|at| glue.without_start(at));
            for glue in [glue].into_iter().chain(marked) {
                if !all.contains(&glue) {
                    all.push(glue);
                }
            }
        }
        all
    }

    /// The opening of a call up to the name of an offered tool.
    fn announced_call(&self) -> ExprId {
        let p = self.p;
        if self.turn.calls.iter().any(|form| form.pieces.first() != Some(&CallPiece::Name)) {
            // The name is not next to its marker.
            return p.sequence([p.space(), p.literal(self.marker())]);
        }
        let names = self.spec.tools().iter().map(|tool| p.sequence([p.exact(&*tool.name), p.name_ends()]));
        let names = p.choice(names.collect::<Vec<_>>());
        let glues = self.before_first_call().into_iter().map(|glue| glue.trim_start());
        let opens = glues.chain(self.bare_open().cloned()).map(|open| glue(p, &open, None, ""));
        p.sequence([p.space(), p.choice(opens.collect::<Vec<_>>()), p.space(), names])
    }

    /// The opening of each call, if it announces a call without the markers around all calls.
    fn bare_open(&self) -> Option<&Glue> {
        let open = Some(&self.call_open).filter(|open| calls::is_strong(open) && open.is_literal());
        let outer = |glue: Glue| glue.strip_suffix(&self.call_open).is_some_and(|outer| !outer.is_blank());
        open.filter(|_| self.callable && self.before_first_call().into_iter().all(outer))
    }

    /// The markers that end a text in front of calls.
    fn marks_of_calls(&self) -> Vec<String> {
        let glues = if self.callable { self.before_first_call() } else { Vec::new() };
        let named = self.turn.calls.iter().all(|form| form.pieces.first() == Some(&CallPiece::Name));
        let marker = self.marker().trim();
        let marks = glues.iter().flat_map(|glue| match glue.head().find(marker) {
            // What stands between the marker and the name may differ.
            Some(at) if !named && !marker.is_empty() => heads(&glue.up_to(at + marker.len())),
            _ => calls::heads(self.turn, glue, self.spec),
        });
        self.p.spelled(marks.collect())
    }

    /// The texts that calls without the markers around all calls begin with, and those markers: other white space may stand
    /// behind them.
    fn marks_of_bare_calls(&self) -> Vec<String> {
        let Some(open) = self.bare_open() else { return Vec::new() };
        let first = |glue: &Glue| glue.marker_spans().first().map(|first| glue.head()[first.clone()].to_owned());
        let outer = self.before_first_call();
        let bare = self.spec.tools().iter().map(|tool| format!("{}{}", open.head(), tool.name));
        self.p.spelled(outer.iter().filter_map(first).chain(bare).collect())
    }

    /// Text up to calls or one of `ends`.
    fn text(&self, ends: Vec<String>) -> ExprId {
        let p = self.p;
        let stops: Vec<String> = self.marks_of_calls().into_iter().chain(ends.iter().cloned()).collect();
        let plain = p.content(p.until_any(stops.clone()));
        if self.bare_open().is_none() {
            return plain;
        }
        let alone = p.tolerated(p.and(self.announced_call()));
        if !self.tolerances.bare_calls {
            // Behind other text, what looks like a call is a part of that.
            return p.choice([alone, plain]);
        }
        let bare = self.marks_of_bare_calls().into_iter().flat_map(|mark| [format!("\n{mark}"), mark]);
        let marks: Vec<String> = stops.iter().cloned().chain(bare).collect();
        let stop = p.choice([self.announced_call(), p.any_of(&stops)]);
        let run = p.until_any(marks);
        let more = p.many(p.sequence([p.not(stop), p.any(), run]));
        p.choice([alone, p.tolerated(p.content(p.sequence([run, more]))), plain])
    }

    /// The markers that end the last text of a turn.
    fn marks_of_end(&self) -> Vec<String> {
        let glues = self.edges(&[Place::Content], Place::End).filter(|edge| !edge.glue.is_blank());
        glues.flat_map(|edge| heads(&edge.glue)).collect()
    }

    fn content(&self) -> ExprId {
        let p = self.p;
        if self.thought.is_some() && !self.spec.extract_reasoning() {
            // The marker of content is none of the content's, whatever reasoning is in front.
            let end = self.thought.map_or("", |thought| thought.close.head().trim());
            let marked = self.edges(&[Place::Prompt, Place::Reasoning], Place::Content).map(|edge| &edge.glue);
            let marked: Vec<&Glue> =
                marked.filter(|glue| calls::is_strong(glue) && !glue.head().contains(end)).collect();
            if marked.is_empty() {
                return self.text(Vec::new());
            }
            let before =
                p.content(p.until_any(marked.iter().flat_map(|glue| heads(glue)).chain(self.marks_of_calls())));
            let marker = p.choice(marked.iter().map(|open| glue(p, open, None, "")).collect::<Vec<_>>());
            return p.sequence([before, p.optional(p.sequence([marker, self.text(self.marks_of_end())]))]);
        }
        let (stops, ends) = (self.marks_of_calls(), self.marks_of_end());
        let marked = self.before_first_call().iter().all(calls::is_strong);
        let text = match stops.is_empty() || marked {
            true => self.text(ends),
            false => wrappers::text_before(p, &stops, &ends),
        };
        let (blank, marked): (Vec<&Edge>, Vec<&Edge>) =
            self.edges(self.begin(), Place::Content).partition(|edge| edge.glue.is_blank());
        let mut ways: Vec<ExprId> =
            marked.iter().map(|edge| p.sequence([glue(p, &edge.glue, None, ""), text])).collect();
        let mut spaces: Vec<&str> = blank.iter().map(|edge| edge.glue.head()).collect();
        spaces.dedup();
        match spaces.is_empty() {
            // Without its marker.
            true => ways.extend([p.tolerated(text), p.empty()]),
            false => ways.push(p.sequence([any_space(p, &spaces), text])),
        }
        ways.push(self.nothing());
        p.choice(ways)
    }

    /// All calls of a message with the glue around them, and the text behind them if the template has one.
    fn calls(&self) -> ExprId {
        let (p, turn) = (self.p, self.turn);
        let wrapper_close = &self.wrapper_close;
        let outer = |edge: &Edge| edge.glue.strip_suffix(&self.call_open).unwrap_or_default();
        let tools = &self.layout.tools;
        let apart =
            tools.format == ToolFormat::JsonNative && tools.section_start.is_empty() && !wrapper_close.is_blank();
        let mut rest = vec![p.rule("call", calls::any(p, turn, self.spec, self.is_marked()))];
        let between = self.edges(&[Place::Call], Place::Call);
        let mut next: Vec<ExprId> = between
            .map(|edge| match apart {
                true => p.sequence([
                    behind_json(p, wrapper_close, None),
                    p.space(),
                    glue(p, &outer(edge).trim_start(), None, ""),
                ]),
                false => glue(p, &wrapper_close.and(&outer(edge)), None, ""),
            })
            .map(|between| p.sequence([between, p.reference("call")]))
            .collect();
        let shown = !next.is_empty();
        if !wrapper_close.is_blank() {
            let comma = p.optional(p.literal(","));
            next.push(p.tolerated(p.sequence([p.space(), comma, p.space(), p.reference("call")])));
        }
        // A further call is a call, whether or not the request allows it. llama.cpp's grammars allow it where each JSON call has
        // markers of its own only.
        let next = p.many(p.choice(next));
        match shown && (self.spec.parallel() || apart) {
            true => rest.push(next),
            false => rest.push(p.tolerated(next)),
        }
        rest.push(self.close(&[Place::Call]));
        if let Some(edge) = self.edges(&[Place::Call], Place::Content).next() {
            // The end of the turn is excluded from content only where text may follow calls.
            let marks = self.marks_of_end().into_iter().chain(heads(&turn.end)).chain(self.marks_of_calls());
            let text = p.content(p.until_any(marks));
            let close = self.close(&[Place::Content]);
            rest.push(p.optional(p.sequence([glue(p, &edge.glue, None, ""), text, close])));
        }
        let rest = p.rule("calls", p.sequence(rest));
        // Where the same opening follows different white space, the part before it decides which.
        let mut firsts: Vec<(Glue, Vec<&str>)> = Vec::new();
        let before = self.before_first_call();
        for glue in &before {
            let (space, _) = split_space(glue);
            let core = split_space(&glue.strip_suffix(&self.call_open).unwrap_or_default()).1;
            match firsts.iter_mut().find(|(known, _)| *known == core) {
                Some((_, spaces)) if spaces.contains(&space) => {}
                Some((_, spaces)) => spaces.push(space),
                None => firsts.push((core, vec![space])),
            }
        }
        // Calls behind the end of calls.
        let again = firsts.iter().map(|(core, _)| p.sequence([p.space(), glue(p, core, None, ""), rest]));
        let again = p.tolerated(p.many(p.choice(again.collect::<Vec<_>>())));
        // A grammar constrains from the marker of calls on.
        let mut triggers: Vec<Glue> = Vec::new();
        let mut constrained = |from: Glue, space: ExprId| {
            let at = triggers.iter().position(|known| *known == from);
            let at = at.unwrap_or_else(|| {
                triggers.push(from.clone());
                triggers.len() - 1
            });
            let name = if at == 0 { "tool-call".to_owned() } else { format!("tool-call-{at}") };
            match p.is_defined(&name) {
                true => p.reference(name),
                false => {
                    p.trigger_rule(name, p.sequence([space, glue(p, &from, None, ""), rest, again, self.spelled_end()]))
                }
            }
        };
        let marker = self.marker();
        let ways = firsts.iter().map(|(core, spaces)| {
            let space = any_space(p, spaces);
            if marker.starts_with(char::is_whitespace) {
                return constrained(core.clone(), space);
            }
            let at = core.head().find(marker).filter(|_| !marker.is_empty()).unwrap_or(0);
            let calls = constrained(core.without_start(at), p.empty());
            p.sequence([space, glue(p, &core.up_to(at), None, ""), calls])
        });
        let mut ways: Vec<ExprId> = ways.collect();
        // Without the markers around all calls.
        if self.bare_open().is_some() {
            let open = p.and(self.announced_call());
            ways.push(match self.tolerances.bare_calls {
                true => p.sequence([p.space(), open, constrained(Glue::default(), p.empty())]),
                false => p.tolerated(p.sequence([p.space(), open, rest, again])),
            });
        }
        p.choice(ways)
    }

    /// The text that shows that a call begins.
    fn marker(&self) -> &str {
        match self.tolerances.calls_from {
            "" => self.layout.calls_marker(),
            from => from,
        }
    }

    /// The end of the last part, coming from one of these places; a model may leave it out.
    fn close(&self, from: &'static [Place]) -> ExprId {
        let p = self.p;
        let before = if from == [Place::Call] { self.wrapper_close.clone() } else { Glue::default() };
        let glues: Vec<Glue> = self.edges(from, Place::End).map(|edge| before.and(&edge.glue)).collect();
        let must = glues.iter().all(|glue| !glue.is_blank() && !self.turn.is_stop(glue));
        let ends: Vec<&Glue> = glues.iter().filter(|glue| !glue.is_blank()).collect();
        if ends.is_empty() {
            return p.empty();
        }
        let is_json = from == [Place::Call] && self.layout.tools.format == ToolFormat::JsonNative;
        let close = |end: &Glue| match is_json {
            true if end.trim_end() == *end => behind_json(p, end, None),
            true => p.sequence([behind_json(p, &end.trim_end(), None), p.space()]),
            false => glue(p, end, None, ""),
        };
        let left_out = if must { p.tolerated(p.empty()) } else { p.empty() };
        let ends = ends.into_iter().map(|end| p.sequence([close(end), p.markup_ends()]));
        p.choice(ends.chain([left_out]).collect::<Vec<_>>())
    }

    fn end(&self) -> ExprId {
        self.p.sequence([self.spelled_end(), self.p.tolerated(self.p.space())])
    }

    /// The end of a turn, if the model writes it as text. Grammars leave out a lone marker, because a token ends the turn.
    fn spelled_end(&self) -> ExprId {
        let (p, end) = (self.p, &self.turn.end);
        let optional = |end: &Glue, more: ExprId| match end.is_blank() {
            true => more,
            false => p.optional(p.sequence([p.space(), glue(p, end, None, ""), p.markup_ends(), more])),
        };
        let last = end.marker_spans().pop().map_or(0, |last| last.start);
        let token = optional(&end.without_start(last), p.empty());
        match end.up_to(last) {
            before if before.is_blank() => p.tolerated(token),
            before => optional(&before, token),
        }
    }

    /// Whether a marker identifies calls. Only then can calls of tools that are not offered be read.
    fn is_marked(&self) -> bool {
        let between = self.edges(&[Place::Call], Place::Call).map(|edge| edge.glue.clone());
        self.before_first_call().into_iter().chain(between).all(|glue| calls::is_strong(&glue))
    }

    fn constraint(&self) -> Constraint {
        if self.spec.response_schema().is_some() || self.callable && self.spec.call_required() {
            return Constraint::Strict(Vec::new());
        }
        let marker = self.marker();
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
