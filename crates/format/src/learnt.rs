//! Builds formats from a learnt turn: its parts, and the glue between them.
//!
//! A model writes reasoning, then content, then calls; some write content after the calls. Each
//! part is a step that ends for good, so that nothing is read twice. A step accepts any glue that
//! was seen before its part, whatever part came before.

use crate::rules::calls::{first_tags, tag_prefix};
use crate::rules::thought::OPENING;
use crate::rules::turn::{
    AFTER_CALLS, CALLS, CALLS_CLOSED, LAST_CALL, LIST_CLOSE, NEXT_CALL, NO_CALLS, SECTION_OPEN,
    TURN_END,
};
use std::cell::OnceCell;

use serde_json::Value;

use super::builder::FormatBuilder;
use super::calls::learnt as calls;
use super::glue::{any_space, behind_json, end_of_json, is_strong, split_space};
use super::late::{Late, Want};
use super::sites::Writer;
use super::{Begun, Constraint, Delimiter, Format, FormatSpec, Thinking};
use chatparse_base::brackets;
use chatparse_grammar::Trigger;
use chatparse_learn::Writing;
use chatparse_learn::analysis::ToolFormat;
use chatparse_learn::analysis::turn::{
    CallPiece, Glue, Reasoning,
    SlotKind::{self, Call, Content, End, Prompt},
    TurnFormat,
};
use chatparse_peg::{Arena, ExprId};

/// A builder for such turns.
fn builder(writing: &Writing, spec: &FormatSpec, want: Want) -> FormatBuilder {
    let Writing {
        turn, tolerances, ..
    } = writing;
    let mut p = FormatBuilder::writing(tolerances, spec);
    p.raw_lines = turn.raw_lines;
    p.prefix = tag_prefix(turn).unwrap_or_default().into();
    p.faithful = spec.is_faithful();
    (p.sorts_names, p.leaves_out_null) = (
        turn.sorts_names && p.faithful,
        turn.leaves_out_null && p.faithful,
    );
    p.spelled_breaks = turn.members().any(|members| members.name_close().is_some());
    p.set_spacing(spec.spacing(turn.spacing));
    p.late = Late::of(turn, spec.tools(), want);
    p
}

/// The calls of turns that are written like this, for their parts.
pub fn build_calls(
    writing: &Writing,
    spec: &FormatSpec,
    want: Want,
) -> (Arena, Vec<(u32, ExprId)>) {
    let p = builder(writing, spec, want);
    let marked = Writer::new(&p, writing, spec).is_marked();
    let root = calls::any(&p, &writing.turn, spec, marked);
    (p.finish(root), p.late.built())
}

/// The format of turns that are written like this, for one request.
pub fn build(writing: &Writing, spec: &FormatSpec, want: Want) -> Format {
    let p = builder(writing, spec, want);
    let Writing { turn, layout, .. } = writing;
    let callable = !turn.calls.is_empty() && !spec.tools().is_empty();
    let opening = spec.opening.front();
    let mut thought = Reasoning::in_request(turn, layout, opening);
    if let (Some(Begun { content: None, .. }), Some(thought)) = (spec.opening.begun, &mut thought) {
        thought.open = Glue::default();
    }
    let thought = thought.as_ref();
    let writer = Writer {
        opening,
        callable,
        thought,
        ..Writer::new(&p, writing, spec)
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
        call_keys: turn.call_keys(),
        parts: p.late.parts(),
        ..Format::default()
    }
}

/// The rule for calls of tools that are not offered, before one that is.
pub const UNLISTED_FRONT: &str = "unlisted-calls-in-front";

/// All calls of a message in a turn without anything else.
pub fn calls(p: &FormatBuilder, turn: &TurnFormat, spec: &FormatSpec) -> ExprId {
    Writer::new(p, &Writing::learnt(turn.clone()), spec).calls()
}

impl<'a> Writer<'a> {
    /// A writer of calls in a turn without anything else.
    fn new(p: &'a FormatBuilder, writing: &'a Writing, spec: &'a FormatSpec<'a>) -> Self {
        let (call_open, wrapper_close) = writing.turn.call_frame();
        Writer {
            p,
            turn: &writing.turn,
            layout: &writing.layout,
            spec,
            opening: "",
            callable: true,
            thought: None,
            tolerances: &writing.tolerances,
            call_open,
            wrapper_close,
            before_first_call: OnceCell::new(),
            announced_call: OnceCell::new(),
            marks_of_calls: OnceCell::new(),
        }
    }

    /// Where the first text or call may begin: after the prompt, unless that opens the reasoning.
    pub fn begin(&self) -> &'static [SlotKind] {
        if self.thought.is_some_and(|thought| thought.open.is_empty()) {
            &[SlotKind::Reasoning]
        } else {
            &[Prompt, SlotKind::Reasoning]
        }
    }

    fn before_calls(&self) -> impl Iterator<Item = &'a Glue> {
        self.turn.glues([self.begin(), &[Content]].concat(), Call)
    }

    fn output(&self) -> ExprId {
        let (p, spec) = (self.p, self.spec);
        let before = self.thought.map_or(self.opening, |thought| {
            thought.before_message(self.opening, self.reads_thoughts())
        });
        let opened = &self.opening[before.len()..];
        let mut steps = match spec.opening.begun {
            Some(begun) => self.begun(begun),
            None => {
                let thought = self.reasoning(opened);
                let again = p.between(OPENING, |way| way(self, opened));
                vec![p.sequence([p.literal(before), again]), thought]
            }
        };
        let response = spec.response_schema().map(|schema| self.response(schema));
        // An engine may hold the model to the schema from the first byte on, also where the prompt
        // has opened reasoning.
        let thinks = self.thought.is_some_and(|thought| thought.open.is_empty());
        let at_once = thinks && spec.opening.begun.is_none() && spec.is_own();
        let thoughtless = response.filter(|_| at_once).map(|all| {
            let all = p.sequence([p.literal(opened), all, self.end(), p.end()]);
            p.sequence([p.and(all), all])
        });
        steps.push(match response {
            Some(response) if !self.callable || !spec.call_or_response() => response,
            _ => self.content_and_calls(response),
        });
        steps.extend([self.end(), p.end()]);
        let front = steps.remove(0);
        p.sequence([front, p.choice([thoughtless, Some(p.sequence(steps))])])
    }

    /// A structured response, with the markers of content or without.
    fn response(&self, schema: &Value) -> ExprId {
        let (p, spec) = (self.p, self.spec);
        let fenced = if spec.is_faithful() {
            spec.options.prose
        } else {
            !self.tolerances.bare_response
        };
        let (all, close) = (p.response(schema, fenced), self.close(Content));
        let mut ways = Vec::new();
        if spec.opening.begun_content().is_none() {
            let opens = self.turn.glues(self.begin(), Content);
            for open in opens.filter(|open| !open.is_blank()) {
                ways.push(p.sequence([p.glue(open), all, close]));
            }
        }
        // A response without a marker before it need not have the one after it.
        let close = if ways.is_empty() {
            close
        } else {
            p.optional(close)
        };
        ways.push(p.sequence([all, close]));
        p.choice(ways)
    }

    /// The content of a turn and its calls. `response`: a structured response in place of both.
    fn content_and_calls(&self, response: Option<ExprId>) -> ExprId {
        let (p, spec) = (self.p, self.spec);
        // The end of the last text of a turn is not repeated after calls.
        let close = self.close(Content);
        let (mut at_once, mut marked) = (Vec::new(), Vec::new());
        if self.callable {
            for (begins_turn, way) in self.ways_of_calls() {
                if begins_turn {
                    at_once.push(way);
                } else {
                    marked.push(way);
                }
            }
        }
        let mut begun = spec.opening.begun_content().into_iter();
        let begins_turn = !at_once.is_empty() && begun.all(|text| text.trim().is_empty());
        let [at_once, marked] = [at_once, marked].map(|ways| p.choice(ways));
        let last = if !self.callable {
            close
        } else if spec.call_required() || response.is_some() {
            marked
        } else if self.tolerances.allowed_calls {
            let text = [p.not(self.announced_call()), self.last_text(Vec::new())];
            p.choice([marked, p.sequence(text)])
        } else {
            p.choice([marked, close])
        };
        let content = p.only_read(spec.calls_only(), self.content());
        let all = p.sequence([content, p.between(NO_CALLS, |way| way(self)), last]);
        if let Some(response) = response {
            // No text that the schema does not ask for is before a call.
            return p.choice([at_once, marked, response, p.only_read(true, all)]);
        }
        if !begins_turn {
            return all;
        }
        let opens = self.before_first_call().iter();
        let opens = opens
            .filter(|open| self.begins_turn(open))
            .map(|open| p.glue(open));
        let call = p.sequence([p.choice(opens), self.named_call()]);
        p.choice([at_once, p.sequence([p.not(call), all])])
    }

    /// A message that the prompt has begun: the template's text before it, its reasoning, and
    /// its content so far, which the content's own step reads.
    fn begun(&self, begun: Begun) -> Vec<ExprId> {
        let (p, prefill) = (self.p, &*self.spec.opening.prefill);
        let Some((from, to)) = begun.reasoning else {
            return vec![p.literal(self.opening)];
        };
        let reads = self.reads_thoughts() && self.thought.is_some();
        // Reasoning that is not separated has its marker, and what is none to the template is all
        // content.
        let before = prefill[..from].trim_end();
        let apart = match self.thought {
            None => (from < to && before.starts_with(&self.turn.opening))
                .then_some(self.turn.opening.len()),
            Some(thought) => before
                .strip_suffix(&*thought.start)
                .filter(|_| !thought.start.is_empty())
                .map(str::len),
        };
        let front = apart.filter(|_| !reads).unwrap_or(from);
        let mut steps = vec![p.literal(&prefill[..front])];
        match begun.content {
            None => steps.push(self.reasoning(&prefill[front..])),
            Some(content) if reads => {
                steps.extend([
                    self.thought_text(p.literal(&prefill[from..to])),
                    p.literal(&prefill[to..content]),
                ]);
            }
            Some(content) => steps.push(p.content(p.literal(&prefill[front..content]))),
        }
        steps
    }

    /// Nothing, in a grammar. The parser never takes it.
    pub fn nothing(&self) -> ExprId {
        self.p.not(self.p.empty())
    }

    /// The glue before the first call. If reasoning is not separated, its end is content.
    pub fn before_first_call(&self) -> &[Glue] {
        self.before_first_call.get_or_init(|| {
            let thought = self.thought.filter(|_| !self.reads_thoughts());
            let close = thought.map_or("", |thought| thought.close.core());
            let mut all: Vec<Glue> = Vec::new();
            for glue in self.before_calls() {
                let reasoning = glue.head().rfind(close).filter(|_| !close.is_empty());
                let glue = glue.without_start(reasoning.map_or(0, |at| at + close.len()));
                // What is before the marker of calls may be missing.
                let marker = glue
                    .head()
                    .find(self.marker())
                    .filter(|_| !self.marker().trim().is_empty());
                // In a dialect what is before any marker.
                let spans = if self.p.dialect.is_some() {
                    glue.marker_spans()
                } else {
                    Vec::new()
                };
                let from = marker
                    .into_iter()
                    .chain(spans.into_iter().map(|span| span.start))
                    .filter(|at| *at > 0);
                let marked: Vec<Glue> = from
                    .map(|at| glue.without_start(at))
                    .filter(is_strong)
                    .collect();
                for glue in [glue].into_iter().chain(marked) {
                    if !all.contains(&glue) {
                        all.push(glue);
                    }
                }
            }
            all
        })
    }

    /// The opening of a call up to the name of an offered tool.
    pub fn announced_call(&self) -> ExprId {
        *self.announced_call.get_or_init(|| self.up_to_name())
    }

    fn up_to_name(&self) -> ExprId {
        let p = self.p;
        if !self.turn.calls_begin_with_names() {
            let marks = self
                .marks_of_calls()
                .iter()
                .map(String::as_str)
                .chain([self.marker()]);
            return p.after_space(p.any_of(marks));
        }
        let names = self.named_call();
        let opens = p.exactly(!p.prefix.is_empty(), || self.opens_call());
        let written = p.spaced([opens, names]);
        let near = self
            .near_tag()
            .map(|tag| p.sequence([self.opens_call(), p.space(), names, tag]));
        p.sequence([
            p.space(),
            p.between(SECTION_OPEN, |way| way(self)),
            p.choice([Some(written), near]),
        ])
    }

    /// The opening of the first call, with or without the markers around all calls.
    fn opens_call(&self) -> ExprId {
        let glues = self.before_first_call().iter().map(Glue::trim_start);
        let glues = glues.chain(self.bare_open().cloned());
        self.p.choice(glues.map(|open| self.p.glue(&open)))
    }

    /// Where a tag is known by the token before it, what tells a call from a quotation without that
    /// token: more of the call.
    fn near_tag(&self) -> Option<ExprId> {
        let (p, tags) = (self.p, first_tags(self.p, self.turn)?);
        let first = self.turn.calls.first()?.at_name().1.first;
        let name_close = first.head().split(&*p.prefix).next()?;
        Some(p.sequence([
            p.marker(name_close),
            p.space(),
            p.choice([p.marker(&*p.prefix), tags]),
        ]))
    }

    /// The opening of each call, if it announces a call without the markers around all calls.
    pub fn bare_open(&self) -> Option<&Glue> {
        let open = Some(&self.call_open).filter(|open| is_strong(open) && open.is_literal());
        let mut outers = self.outers();
        open.filter(|_| {
            self.callable && outers.all(|outer| outer.is_some_and(|outer| !outer.is_blank()))
        })
    }

    /// What is before the opening of each call, for each way to begin calls.
    pub fn outers(&self) -> impl Iterator<Item = Option<Glue>> {
        let glues = self.before_first_call().iter();
        glues.map(|glue| glue.strip_suffix(&self.call_open))
    }

    /// The glue before the first call, where calls may be.
    pub fn openings(&self) -> &[Glue] {
        if self.callable {
            self.before_first_call()
        } else {
            &[]
        }
    }

    /// What the marker around all calls and that of each call both begin with.
    pub fn family_of_markers(&self) -> Option<&str> {
        let open = self.bare_open()?.head().trim_start();
        let mut sections = self
            .before_first_call()
            .iter()
            .filter_map(Glue::first_marker);
        sections.find_map(|section| {
            let same = open
                .char_indices()
                .zip(section.chars())
                .find(|((_, one), other)| one != other)?
                .0
                .0;
            let family = &open[..same];
            (brackets::begins_token(family) && family.contains(char::is_alphanumeric))
                .then_some(family)
        })
    }

    /// Whether calls begin so only where the turn begins: without a marker, which they have after
    /// text.
    pub fn begins_turn(&self, glue: &Glue) -> bool {
        let named = self.turn.calls_begin_with_names();
        let mut behind_text = self.turn.glues([Content], Call).peekable();
        let marked = behind_text.peek().is_some()
            && behind_text.all(|other| {
                if glue.is_blank() {
                    !other.is_blank()
                } else {
                    is_strong(other)
                }
            });
        self.callable && named && marked && !is_strong(glue)
    }

    /// All calls of a message with the glue around them, and the text after them if the template
    /// has one.
    fn calls(&self) -> ExprId {
        self.p
            .choice(self.ways_of_calls().into_iter().map(|(_, way)| way))
    }

    /// The name of an offered tool where a call may begin with it.
    pub fn named_call(&self) -> ExprId {
        let p = self.p;
        p.choice(
            self.spec
                .tools()
                .iter()
                .map(|tool| p.sequence([p.literal(p.written(&tool.name)), p.name_ends()])),
        )
    }

    /// The glue before calls without the opening of each call.
    fn outer(&self, glue: &Glue) -> Glue {
        glue.strip_suffix(&self.call_open).unwrap_or_default()
    }

    /// Whether each call is JSON in markers of its own, without markers around all calls.
    fn wraps_each_call(&self) -> bool {
        let tools = &self.layout.tools;
        tools.format == ToolFormat::JsonNative
            && tools.section_start.is_empty()
            && !self.wrapper_close.is_blank()
    }

    /// The ways to begin calls, and whether each is one only where the turn begins.
    fn ways_of_calls(&self) -> Vec<(bool, ExprId)> {
        let p = self.p;
        let rest = self.first_call_and_others();
        let firsts = self.openings_of_calls();
        // Calls after the end of calls, and reasoning between them.
        let mut again = Vec::new();
        for (core, _) in &firsts {
            again.push(p.sequence([p.space(), p.glue(core), rest]));
        }
        let again = p.between(CALLS_CLOSED, |way| way(self, &again));
        // A grammar constrains from the marker of calls on.
        let (mut triggers, mut ways) = (Vec::new(), Vec::new());
        let marker = self.marker();
        for (core, spaces) in &firsts {
            let space = any_space(p, spaces);
            let way = if marker.starts_with(char::is_whitespace) {
                self.constrained(&mut triggers, core.clone(), space, [rest, again])
            } else {
                let place = core.head().find(marker).filter(|_| !marker.is_empty());
                let (front, from) = core.split_at(place.unwrap_or(0));
                let calls = self.constrained(&mut triggers, from, p.empty(), [rest, again]);
                p.sequence([space, p.glue(&front), calls])
            };
            ways.push((self.begins_turn(&core.and(&self.call_open)), way));
        }
        for (core, _) in &firsts {
            let others = p.ways(CALLS, |way| way(self, core, rest));
            ways.extend(others.into_iter().map(|way| (false, way)));
        }
        // Without the markers around all calls.
        if self.bare_open().is_some() {
            // A dialect is known by its marker.
            let open = match p.dialect {
                Some(_) => p.empty(),
                None => p.and(self.announced_call()),
            };
            let bare_calls = self.tolerances.bare_calls;
            let calls = if bare_calls {
                self.constrained(&mut triggers, Glue::default(), p.empty(), [rest, again])
            } else {
                p.sequence([rest, again])
            };
            let bare = p.sequence([
                p.space(),
                open,
                p.between(SECTION_OPEN, |way| way(self)),
                calls,
            ]);
            ways.push((false, p.only_read(!bare_calls, bare)));
        }
        ways
    }

    /// The rule for calls from the text `from` on, at which a grammar begins to constrain: one rule
    /// for each text.
    fn constrained(
        &self,
        triggers: &mut Vec<Glue>,
        from: Glue,
        space: ExprId,
        [rest, again]: [ExprId; 2],
    ) -> ExprId {
        let p = self.p;
        let known = triggers.iter().position(|known| *known == from);
        let name = match known.unwrap_or(triggers.len()) {
            0 => "tool-call".to_owned(),
            number => format!("tool-call-{number}"),
        };
        if known.is_some() {
            return p.reference(name);
        }
        let calls = p.sequence([space, p.glue(&from), rest, again, self.spelled_end()]);
        triggers.push(from);
        p.trigger_rule(name, calls)
    }

    /// The texts that open all calls, each with the white space that may be before it: where the
    /// same text follows different white space, the part before it decides which.
    fn openings_of_calls(&self) -> Vec<(Glue, Vec<&str>)> {
        let mut firsts: Vec<(Glue, Vec<&str>)> = Vec::new();
        for glue in self.before_first_call() {
            let (space, _) = split_space(glue);
            let core = split_space(&self.outer(glue)).1;
            match firsts.iter_mut().find(|(known, _)| *known == core) {
                Some((_, spaces)) if spaces.contains(&space) => {}
                Some((_, spaces)) => spaces.push(space),
                None => firsts.push((core, vec![space])),
            }
        }
        firsts
    }

    /// The rule for a call, further calls, the end of all calls and the text after them.
    fn first_call_and_others(&self) -> ExprId {
        let (p, turn) = (self.p, self.turn);
        let call = p.rule("call", calls::any(p, turn, self.spec, self.is_marked()));
        let mut between = Vec::new();
        for glue in turn.glues([Call], Call) {
            let outer = self.outer(glue);
            between.push(if self.wraps_each_call() {
                let close = behind_json(p, &self.wrapper_close, None);
                // This white space is not JSON's.
                let (space, open) = split_space(&outer);
                p.sequence([close, p.fixed(p.space(), space, space), p.glue(&open)])
            } else {
                p.glue(&self.wrapper_close.and(&outer))
            });
        }
        let (mut rest, mut next) = (vec![call], Vec::new());
        for between in &between {
            next.push(p.sequence([*between, p.reference("call")]));
        }
        let shown = !next.is_empty();
        if p.is_defined(calls::UNLISTED) && shown && !self.tolerances.allowed_calls {
            let front = p.sequence([p.reference(calls::UNLISTED), p.choice(between.clone())]);
            let front = p.sequence([p.some(front), p.and(self.named_call())]);
            let front = p.optional(p.rule(UNLISTED_FRONT, p.atomic(front)));
            rest.insert(0, p.only_read(true, front));
            for between in between {
                let call = p.sequence([between, p.reference(calls::UNLISTED)]);
                next.push(p.only_read(true, call));
            }
        }
        next.extend(p.ways(NEXT_CALL, |way| way(self)));
        // A further call is a call, whether or not the request allows it. llama.cpp's grammars
        // allow it where each JSON call has markers of its own only.
        let next = p.many(p.choice(next));
        let excluded = self.tolerances.allowed_calls && !self.spec.parallel();
        if !excluded {
            let further = self.wraps_each_call() || self.tolerances.further_calls;
            let llama = !self.spec.is_faithful() && further;
            rest.push(p.only_read(!(shown && (self.spec.parallel() || llama)), next));
        }
        rest.extend([p.between(LAST_CALL, |way| way(self)), self.close(Call)]);
        rest.extend(self.text_after_calls(excluded));
        p.rule("calls", p.sequence(rest))
    }

    /// The text that the template writes after calls. `excluded`: further calls are text.
    fn text_after_calls(&self, excluded: bool) -> Option<ExprId> {
        let (p, allowed_calls) = (self.p, self.tolerances.allowed_calls);
        let text = self.turn.glues([Call], Content).next()?;
        let marks = if allowed_calls {
            Vec::new()
        } else {
            self.marks_of_calls().to_vec()
        };
        // Once the name of a call was shown, it is no text.
        let no_call = (allowed_calls && !excluded).then(|| p.not(self.announced_call()));
        // The end of all calls is read by now. Text without a marker of its own may be a quotation
        // of calls.
        let mut ends = self.turn.glues([Call], End).filter(|end| !end.is_blank());
        let open = ends.find_map(|end| text.strip_prefix(end).filter(is_strong));
        let open = p.glue(open.as_ref().unwrap_or(text));
        let front = p.between(AFTER_CALLS, |way| way(self));
        let text = [
            no_call,
            Some(front),
            Some(open),
            Some(self.last_text(marks)),
        ];
        Some(p.only_read(self.spec.calls_only(), p.optional(p.sequence(text))))
    }

    /// The text that shows that a call begins.
    pub fn marker(&self) -> &str {
        match &*self.tolerances.calls_from {
            "" if !self.p.prefix.is_empty() => self
                .turn
                .before_calls()
                .find_map(|glue| self.p.first_tag(glue))
                .unwrap_or_default(),
            "" => self.layout.calls_marker(),
            from => from,
        }
    }

    /// The end of the last part, which is this one; a model may leave it out.
    pub fn close(&self, last: SlotKind) -> ExprId {
        let (p, is_call) = (self.p, last == Call);
        let before = if is_call {
            self.wrapper_close.clone()
        } else {
            Glue::default()
        };
        let glues: Vec<Glue> = self
            .turn
            .glues([last], End)
            .map(|glue| before.and(glue))
            .collect();
        // Engines stop at a token that ends the turn, but not at one that closes a section.
        let in_section = self.sections().any(|opens| opens);
        let closes_section = is_call && self.sections().all(|opens| opens);
        let must = glues
            .iter()
            .all(|glue| !glue.is_blank() && (closes_section || !self.turn.is_stop(glue)));
        let ends: Vec<(Glue, Glue)> = glues
            .iter()
            .filter(|glue| !glue.is_blank())
            .map(|glue| self.apart(glue))
            .collect();
        if ends.is_empty() {
            return p.empty();
        }
        let is_json = is_call && self.layout.tools.format == ToolFormat::JsonNative;
        let left_out = p.only_read(must, p.empty());
        let ends = ends.iter().map(|(end, token)| {
            let close = match is_json {
                _ if end.is_blank() => p.empty(),
                true => end_of_json(p, end),
                false => p.glue(end),
            };
            if !token.is_blank() {
                let token = p.optional(p.sequence([p.space(), p.glue(token), p.markup_ends()]));
                let close = Some(close).filter(|_| !end.is_blank());
                return p.sequence([close, Some(token)]);
            }
            let closes = p.or(close, LIST_CLOSE, |way| way(p, end));
            // Where no section is open, grammars leave out the token.
            let ends_turn = self.turn.is_stop(end) && !in_section;
            p.only_read(ends_turn, p.sequence([closes, p.markup_ends()]))
        });
        p.choice(ends.chain([left_out]))
    }

    /// What closes a part, and what ends the turn with it, if turns end otherwise after other
    /// parts. What nothing opens is closed by nothing: what follows a bare content ends its turn.
    fn apart(&self, end: &Glue) -> (Glue, Glue) {
        let mut opens = self.before_content();
        let bare = !self.turn.is_stop(end) && opens.any(Glue::is_blank);
        let behind = self.turn.glues([Content], End);
        let marks = behind
            .map(|glue| glue.first_marker().filter(|_| bare))
            .collect::<Option<Vec<_>>>();
        let at = marks
            .unwrap_or_default()
            .into_iter()
            .find_map(|mark| end.head().find(mark));
        at.map_or_else(
            || (end.clone(), Glue::default()),
            |at| (end.up_to(at), end.without_start(at)),
        )
    }

    /// What opens and closes all calls, where both are markers.
    pub fn section(&self) -> Option<[&str; 2]> {
        let is_section = |glue: &Glue| is_strong(glue) && glue.is_literal();
        let mut opens = self.openings().iter().filter(|glue| {
            glue.strip_suffix(&self.call_open)
                .as_ref()
                .is_some_and(is_section)
        });
        let close = self.turn.glues([Call], End).find(|glue| is_section(glue))?;
        let open = opens.next()?.head();
        let open = &open[..open.len() - self.call_open.head().len()];
        Some([
            open[open.find(self.marker()).unwrap_or(0)..].trim(),
            close.core(),
        ])
    }

    /// Whether something opens before the first call, for each glue there.
    fn sections(&self) -> impl Iterator<Item = bool> {
        self.outers()
            .map(|outer| outer.is_none_or(|outer| !outer.is_blank()))
    }

    pub fn end(&self) -> ExprId {
        let header = self.p.between(TURN_END, |way| way(self));
        self.p.sequence([self.spelled_end(), header])
    }

    /// The end of a turn, if the model writes it as text. Grammars leave out a lone marker, because
    /// a token ends the turn.
    fn spelled_end(&self) -> ExprId {
        let p = self.p;
        let (before, last) = self.turn.end.before_last_marker();
        let token = self.optional_end(&last, p.empty());
        if before.is_blank() {
            p.only_read(true, token)
        } else {
            self.optional_end(&before, token)
        }
    }

    /// An end that the model may leave out, and `more` after it.
    fn optional_end(&self, end: &Glue, more: ExprId) -> ExprId {
        let p = self.p;
        if end.is_blank() {
            return more;
        }
        p.optional(p.sequence([p.space(), p.glue(end), p.markup_ends(), more]))
    }

    /// Whether a marker identifies calls. Only then can calls of tools that are not offered be
    /// read.
    fn is_marked(&self) -> bool {
        let mut between = self.turn.glues([Call], Call);
        // A dialect is known by its marker.
        !self.tolerances.allowed_calls
            && self
                .before_first_call()
                .iter()
                .all(|glue| is_strong(glue) || self.p.dialect.is_some() && !glue.is_blank())
            && between.all(is_strong)
    }

    fn constraint(&self) -> Constraint {
        // Of calls without arguments there is no grammar, as most tools have some.
        let callable = self.callable && self.turn.pieces().any(CallPiece::holds_arguments);
        if self.spec.response_schema().is_some() || callable && self.spec.call_required() {
            return Constraint::Strict(Vec::new());
        }
        let marker = self.marker();
        if !callable || marker.is_empty() {
            return Constraint::Free;
        }
        // The marker may be after the name that each call begins with.
        let behind = self
            .before_calls()
            .all(|glue| glue.literal().is_some_and(|text| !text.contains(marker)));
        if behind && self.tolerances.calls_from.is_empty() && self.turn.calls_begin_with_names() {
            let words = self
                .spec
                .tools()
                .iter()
                .map(|tool| Trigger::word(format!("{}{marker}", tool.name)));
            return Constraint::Lazy(words.collect());
        }
        // What the prompt has opened no sampler sees.
        if self
            .spec
            .opening
            .begun_content()
            .is_some_and(|text| text.contains(marker))
        {
            return Constraint::Strict(Vec::new());
        }
        // The marker may depend on what is called.
        let mut words = vec![marker.to_owned()];
        for glue in self.before_calls() {
            if !words.iter().any(|word| glue.head().contains(word)) {
                words.push(glue.core().to_owned());
            }
        }
        Constraint::Lazy(words.into_iter().map(Trigger::word).collect())
    }
}
