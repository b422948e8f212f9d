//! Calls as the analysis learnt them: parts in order, with glue between them.

use chatparse_base::brackets;
use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;

use super::super::FormatSpec;
use super::super::builder::FormatBuilder;
use super::super::glue::{self as text, glue, is_strong};
use super::arguments::Arguments;
use super::ids::{generated_id, is_member, named_id, opening, quoted_id};
use super::members::{members, unlisted_name};
use super::order;
use crate::analysis::turn::{CallForm, CallPiece, Glue, GluePiece, Members, SlotKind, TurnFormat};
use crate::format::wrappers::is_marker;
use chatparse_message::Tool;
use chatparse_peg::{ExprId, Notation, SchemaRef};

/// The texts that end the content in front of a call with this glue.
pub(in crate::format) fn heads(turn: &TurnFormat, glue: &Glue, spec: &FormatSpec) -> Vec<String> {
    if is_strong(glue) {
        let first = glue.marker_spans().first().cloned().unwrap_or_default();
        let (marker, rest) = (first.end, glue.head().get(first.end..).unwrap_or_default());
        // No text has a special token, and models vary the white space behind it.
        let special = glue.head()[first].starts_with("<|");
        if special && !rest.trim().is_empty() {
            return text::heads(&glue.up_to(marker));
        }
        // In front of JSON the marker is enough: what models write behind it differs.
        let json = glue.head().get(marker..).and_then(|rest| rest.find(['[', '{']));
        return match json.filter(|_| marker > 0) {
            Some(at) => text::heads(&glue.up_to(marker + at)),
            // Without a marker, several words in front of it are enough.
            None => {
                let words = glue.head().find(['[', '{']).map(|at| glue.up_to(at));
                let words = words.filter(|words| words.head().trim().contains(char::is_whitespace));
                text::heads(words.as_ref().unwrap_or(glue))
            }
        };
    }
    let (start, whole) = (glue.head().trim_start(), glue.head());
    let texts = |end: &str| -> Vec<String> {
        let spaced = ["", " ", "\n"].iter().flat_map(|space| [whole, start].map(|text| format!("{text}{space}{end}")));
        spaced.collect()
    };
    // That part may differ from call to call.
    match glue.pieces().find(|piece| !matches!(piece, GluePiece::Text(_))) {
        Some(GluePiece::Counter) => return (0..10).flat_map(|digit: u8| texts(&digit.to_string())).collect(),
        Some(_) => return text::heads(glue),
        None => {}
    }
    match turn.calls.iter().find_map(|form| form.pieces.first()) {
        Some(CallPiece::Name) => spec.tools().iter().flat_map(|tool| texts(&tool.name)).collect(),
        Some(CallPiece::Arguments { quoted }) => texts(if *quoted { "\"{" } else { "{" }),
        _ => text::heads(glue),
    }
}

/// One call of any tool, with its opening. `marked`: a marker in front identifies calls, so tools that are not offered can be
/// read.
pub(in crate::format) fn any(p: &FormatBuilder, turn: &TurnFormat, spec: &FormatSpec, marked: bool) -> ExprId {
    let behind = p.rule("behind-call", behind_call(p, turn, spec));
    let (open, wrapper_close) = turn.call_frame();
    let renamed = renamed(turn);
    let inner = inner_opening(renamed.as_ref().map_or(&open, |(first, _)| first));
    let inner = inner.as_ref();
    let objects = RefCell::default();
    let of = |rule: &str, turn: &TurnFormat, open: &Glue, any: bool| {
        let (shared, objects, wrapper_close) = (&Shared::default(), &objects, &wrapper_close);
        let call = |tool: &Tool| Call { p, turn, tool, shared, objects, behind, open, wrapper_close, inner }.expr();
        let python = |members: &Members| members.first.head().trim_end().ends_with('(');
        let mut members = turn.calls.iter().flat_map(|form| &form.pieces).filter_map(CallPiece::members);
        if !marked && turn.calls_begin_with_names() && members.next().is_some_and(python) {
            p.unknown_tool(spec, &call).map(|call| p.rule(UNLISTED, call));
        }
        if any { p.any_tool(rule, spec, &call) } else { p.known_tool(rule, spec.tools(), &call) }
    };
    // Of a name that is not known no expression can say that it is the same again.
    let tool = of("tool", turn, &open, marked && renamed.is_none());
    let renamed = renamed.map(|(first, turn)| (first, of("renamed", &turn, &open, marked)));
    if let Some(inner) = inner {
        p.rule(INNER, p.sequence([glue(p, inner, None, ""), renamed.as_ref().map_or(tool, |(_, call)| *call)]));
    }
    // What announces it may be missing.
    let unannounced = renamed.as_ref().map(|(first, call)| {
        let opens = [first.clone(), unannounced(first)].into_iter().filter(is_strong);
        let opens = opens.map(|open| glue(p, &open, None, ""));
        p.tolerated(p.sequence([p.choice(opens.collect::<Vec<_>>()), *call]))
    });
    // Where a call has the name twice, the second one counts.
    let renamed = renamed.map(|(first, call)| {
        let first = p.atomic(p.sequence([text::announced_name(p), glue(p, &first, None, "")]));
        p.tolerated(p.sequence([first, call]))
    });
    let calls = p.choice([tool].into_iter().chain(renamed));
    if let Some(id) = generated_id(&open) {
        // The id is in the opening.
        return p.sequence([p.tool_open(p.empty()), opening(p, id), calls]);
    }
    let ends_text = turn.before_calls().all(is_strong);
    let opened = |turn: &TurnFormat, open: &Glue, calls: ExprId| {
        let open = quoted_id(turn, open).unwrap_or(open.clone());
        let written = if ends_text { glue(p, &open, None, "") } else { text::as_written(p, &open) };
        let bare = text::without_word(&open).map(|bare| p.tolerated(glue(p, &bare, None, "")));
        let mut ways: Vec<ExprId> = [written].into_iter().chain(nearly_opened(p, turn, &open)).chain(bare).collect();
        // Where the name is a key, any other would begin like it.
        if open.head().trim_end().ends_with("{\"") {
            ways.reverse();
        }
        p.sequence([p.choice(ways), calls])
    };
    let others = order::others(turn, &open, &wrapper_close);
    let others = others.iter().enumerate().map(|(nth, (open, turn))| {
        let call = opened(turn, open, of(&format!("tool-in-order-{nth}"), turn, open, marked));
        // llama.cpp's grammars have the learnt order.
        if spec.is_faithful() { call } else { p.tolerated(call) }
    });
    p.choice([opened(turn, &open, calls)].into_iter().chain(others).chain(unannounced).collect::<Vec<_>>())
}

/// What is between the names of a call behind the first marker of that.
fn unannounced(between: &Glue) -> Glue {
    between.without_start(between.marker_spans().first().map_or(0, |first| first.end))
}

/// The texts that calls begin with whose name is not announced.
pub(in crate::format) fn unannounced_heads(turn: &TurnFormat) -> Vec<String> {
    renamed(turn)
        .map(|(first, _)| unannounced(&first))
        .filter(is_strong)
        .map_or_else(Vec::new, |open| text::heads(&open))
}

/// The opening of a call that is a JSON object and begins with the name, with more members in front of that.
pub(in crate::format) fn nearly_opened(p: &FormatBuilder, turn: &TurnFormat, open: &Glue) -> Option<ExprId> {
    let names_first = turn.calls.iter().all(|form| form.pieces.first() == Some(&CallPiece::Name));
    let text = open.literal().filter(|_| p.mends && names_first)?;
    let brace = text.rfind('{').filter(|brace| text[brace + 1..].trim_start().starts_with('"'))? + 1;
    let [before, key] =
        [open.up_to(brace), open.without_start(brace).trim_start()].map(|part| glue(p, &part, None, ""));
    let front = p.members_in_front(&keys(turn, open));
    Some(p.tolerated(p.atomic(p.sequence([before, p.space(), p.tool_open(p.empty()), front, key]))))
}

/// The text that a call has beside its name and its arguments.
fn keys(turn: &TurnFormat, open: &Glue) -> String {
    let glues = turn.calls.iter().flat_map(|form| {
        form.pieces.iter().filter_map(|piece| match piece {
            CallPiece::Glue(glue) => Some(glue),
            _ => None,
        })
    });
    glues.chain([open]).chain(turn.calls.iter().map(|form| &form.close)).map(Glue::head).collect()
}

/// The rule for a further call in the wrapper of the one before.
pub(in crate::format) const INNER: &str = "inner-call";

/// The rule for a call of a tool that is not offered, where only an offered one beside it shows that it is a call.
pub(in crate::format) const UNLISTED: &str = "unlisted-call";

/// What opens such a call: what this opening has behind its last marker.
fn inner_opening(opening: &Glue) -> Option<Glue> {
    let Some(GluePiece::Text(text)) = opening.pieces().last() else { return None };
    let opening = Glue::from(text);
    let whole = |span: &std::ops::Range<usize>| text[span.clone()].ends_with(brackets::closes);
    let wrapper = opening.marker_spans().into_iter().rfind(whole)?.end;
    Some(opening.without_start(wrapper).trim_start()).filter(is_strong)
}

/// The same calls from the second name on, and what is between the names in all of them.
fn renamed(turn: &TurnFormat) -> Option<(Glue, TurnFormat)> {
    let mut first: Option<Glue> = None;
    let mut calls = Vec::new();
    for form in &turn.calls {
        let mut form = form.clone();
        let (CallPiece::Name, rest) = form.pieces.split_first_mut()? else { return None };
        let behind = match rest.first_mut() {
            Some(CallPiece::Glue(glue)) => glue,
            Some(CallPiece::Members(members)) => &mut members.first,
            Some(_) => return None,
            None => &mut form.close,
        };
        let (before, after) = behind.around_name()?;
        *behind = after;
        if first.get_or_insert_with(|| before.clone()) != &before {
            return None;
        }
        calls.push(form);
    }
    Some((first?, TurnFormat { calls, ..turn.clone() }))
}

/// What may follow a call: another call, the end of all calls, or the end of the output.
fn behind_call(p: &FormatBuilder, turn: &TurnFormat, spec: &FormatSpec) -> ExprId {
    let edges = turn.edges.iter().filter(|edge| edge.from == SlotKind::Call);
    let ways = edges.map(|edge| {
        let between = glue(p, &edge.glue, None, "");
        match edge.to {
            SlotKind::Call if turn.calls_begin_with_names() => {
                let names = spec.tools().iter().map(|tool| p.marker(&*tool.name));
                p.sequence([between, p.choice(names.collect::<Vec<_>>())])
            }
            _ if edge.glue.is_blank() => p.sequence([p.space(), glue(p, &turn.end, None, "")]),
            _ => between,
        }
    });
    // Engines leave out what ends the turn.
    let end = p.sequence([p.space(), p.end()]);
    p.choice(ways.chain([end]).collect::<Vec<_>>())
}

/// One tool's call.
struct Call<'a> {
    p: &'a FormatBuilder,
    turn: &'a TurnFormat,
    tool: &'a Tool,
    shared: &'a Shared,
    /// The arguments of each tool as one object, by its name.
    objects: &'a RefCell<HashMap<String, ExprId>>,
    behind: ExprId,
    /// The opening of each call.
    open: &'a Glue,
    /// What closes the wrapper of a call, which is not part of the call.
    wrapper_close: &'a Glue,
    /// What opens a further call in the same wrapper.
    inner: Option<&'a Glue>,
}

/// Expressions for what the calls of all tools have in common.
#[derive(Default)]
struct Shared {
    /// An argument of any name, by the form of the call.
    arguments: Once<CallForm>,
    /// The end of a call that does not repeat its name, by its text and by what is in front: JSON, or arguments one by one.
    ends: Once<(Glue, bool, bool)>,
}

/// An expression for each key.
struct Once<K>(RefCell<Vec<(K, ExprId)>>);

impl<K> Default for Once<K> {
    fn default() -> Self {
        Once(RefCell::default())
    }
}

impl<K: PartialEq> Once<K> {
    fn get(&self, key: K, make: impl FnOnce() -> ExprId) -> ExprId {
        let known = self.0.borrow().iter().find(|(known, _)| *known == key).map(|(_, rule)| *rule);
        known.unwrap_or_else(|| {
            let made = make();
            self.0.borrow_mut().push((key, made));
            made
        })
    }
}

/// The rest of a form, behind the name.
struct Tail<'a> {
    /// The glue directly behind the name.
    first: Glue,
    pieces: &'a [CallPiece],
    form: &'a CallForm,
}

impl Tail<'_> {
    /// The end of a JSON object whose only member besides the name is the arguments, which a model may leave out.
    fn may_lack_arguments(&self) -> bool {
        let last = matches!(self.pieces, [CallPiece::Arguments { .. }]) && self.form.close.head().starts_with('}');
        let first = self.first.head().trim_start_matches(['"', ' ']);
        last && first.starts_with(',') && first.trim_end().ends_with(':')
    }
}

impl CallForm {
    /// The pieces up to the name, and the rest.
    fn at_name(&self) -> (&[CallPiece], Tail<'_>) {
        let name = self.pieces.iter().position(CallPiece::is_name);
        let (head, rest) = self.pieces.split_at(name.map_or(0, |at| at + 1));
        let (first, pieces) = match rest.split_first() {
            Some((CallPiece::Glue(first), rest)) => (first.clone(), rest),
            Some((CallPiece::Members(members), _)) => (members.in_front(), rest),
            Some(_) => (Glue::default(), rest),
            None => (self.close.clone(), rest),
        };
        (head, Tail { first, pieces, form: self })
    }

    /// The form without its id, which a model may leave out with the marker in front of it, if another one follows.
    fn without_id(&self) -> Option<CallForm> {
        let at = self.pieces.iter().position(|piece| *piece == CallPiece::Id)?;
        let is_marked = |piece: &CallPiece| {
            let CallPiece::Glue(glue) = piece else { return false };
            glue.marker_spans().first().is_some_and(|span| glue.head()[..span.start].trim().is_empty())
        };
        let around = [self.pieces.get(at.checked_sub(1)?)?, self.pieces.get(at + 1)?];
        let pieces = || self.pieces[..at - 1].iter().chain(&self.pieces[at + 1..]).cloned().collect();
        around.into_iter().all(is_marked).then(|| CallForm { pieces: pieces(), close: self.close.clone() })
    }
}

impl Call<'_> {
    /// Forms with the same beginning up to the name share it.
    fn expr(&self) -> ExprId {
        let p = self.p;
        let mut groups: Vec<(&[CallPiece], Vec<Tail>)> = Vec::new();
        for (head, tail) in self.turn.calls.iter().map(CallForm::at_name) {
            match groups.iter_mut().find(|(known, _)| *known == head) {
                Some((_, tails)) => tails.push(tail),
                None => groups.push((head, vec![tail])),
            }
        }
        let bare: Vec<CallForm> = self.turn.calls.iter().filter_map(CallForm::without_id).collect();
        let bare = bare.iter().map(CallForm::at_name).map(|(head, tail)| p.tolerated(self.group(head, &[tail])));
        let all = groups.iter().map(|(head, tails)| self.group(head, tails)).chain(bare);
        p.choice(all.collect::<Vec<_>>())
    }

    /// Nothing of a call is visible before its name is certain: the text up to it and the glue behind it are one group.
    fn group(&self, head: &[CallPiece], tails: &[Tail]) -> ExprId {
        let p = self.p;
        let shared = Glue::common_start(tails.iter().map(|tail| &tail.first));
        // A quote behind the name is enough to end it.
        let quote = shared.head().chars().next().filter(|first| matches!(first, '"' | '\''));
        let whole = shared.clone();
        let shared = quote.map_or(shared, |quote| Glue::from(&*quote.to_string()));
        let mut parts = Vec::new();
        if generated_id(self.open).is_none() {
            parts.push(p.tool_open(p.empty()));
        }
        if head.first() == Some(&CallPiece::Name) {
            parts.push(p.tolerated(p.space()));
        }
        let pieces = || head.iter().enumerate().map(|(at, piece)| self.piece(piece, head.get(at + 1), None));
        match head {
            // An id between quotes may be a number.
            [CallPiece::Id, CallPiece::Glue(behind), ..] if quoted_id(self.turn, self.open).is_some() => {
                let text = p.sequence([p.marker("\"")].into_iter().chain(pieces().take(2)));
                let behind = glue(p, &behind.without_start(1), Some(self.tool), "");
                let number = p.tolerated(p.sequence([p.tool_id(p.json_number()), behind]));
                parts.push(p.choice([text, number]));
                parts.extend(pieces().skip(2));
            }
            _ => parts.extend(pieces()),
        }
        // Where a quote shows the name, there is no way back: an empty tag is then a way to go on.
        let empty_tag = whole.head().trim_end().strip_suffix('>').filter(|tag| !tag.ends_with('/'));
        let behind = empty_tag.and_then(|tag| tag.get(usize::from(quote.is_some())..));
        let closed = behind.map(|tag| p.tolerated(p.atomic(p.tool_close(p.marker(format!("{tag}/>"))))));
        let whole_tag = |end| p.tolerated(p.atomic(p.sequence([p.sequence(parts.clone()), end])));
        let (ending, unquoted) = if quote.is_some() { (closed, None) } else { (None, closed.map(whole_tag)) };
        parts.push(match shared.is_blank() {
            true => p.choice([self.behind_name(tails)].into_iter().chain(self.unopened_argument(tails))),
            false => {
                let bare = quote.is_none().then(|| self.section_ends()).flatten();
                let members = self.turn.calls.iter().flat_map(|form| &form.pieces).find_map(CallPiece::members);
                let extra = self.extra_ends(members);
                let bare =
                    bare.map(|end| p.tolerated(p.sequence([p.space(), extra, p.and(p.sequence([p.space(), end]))])));
                p.choice([glue(p, &shared, Some(self.tool), "")].into_iter().chain(bare))
            }
        });
        // A marker may only be mentioned: the arguments of a tool that is not offered must begin.
        let is_object = |tail: &Tail| {
            let bare = tail.first.strip_prefix(&shared).is_some_and(|rest| rest.is_blank());
            bare && matches!(tail.pieces.first(), Some(CallPiece::Arguments { quoted: false }))
        };
        if self.tool.name == FormatBuilder::ANY && tails.iter().all(is_object) {
            parts.push(p.and(p.sequence([p.space(), p.choice([p.literal("{"), p.literal("\"")])])));
        }
        let head = p.atomic(p.sequence(parts));
        let markup = if shared.is_blank() { p.empty() } else { p.markup_ends() };
        let taken = if shared.is_blank() { Glue::default() } else { shared };
        let ways = || {
            let ways = tails.iter().map(|tail| self.tail(tail, &taken));
            Some(p.choice(ways.chain(ending).collect::<Vec<_>>()))
        };
        let call = p.sequence([head, markup].into_iter().chain(p.late(ways)));
        p.choice([call].into_iter().chain(unquoted))
    }

    /// Looks ahead to what the template writes behind a name.
    fn behind_name(&self, tails: &[Tail]) -> ExprId {
        let p = self.p;
        let first = |tail: &Tail| match tail.pieces.first().and_then(CallPiece::members) {
            Some(members) if tail.first.is_blank() => members.first.trim_start(),
            _ => tail.first.trim_start(),
        };
        let firsts: Vec<Glue> = tails.iter().map(first).collect();
        if firsts.iter().any(Glue::is_blank) {
            return p.name_ends();
        }
        let members = tails.iter().flat_map(|tail| tail.pieces).find_map(CallPiece::members);
        let object = members.map(|_| p.tolerated(p.literal("{")));
        let firsts = firsts.iter().map(|first| glue(p, first, Some(self.tool), ""));
        let firsts = p.choice(firsts.chain(object).chain(self.section_ends()).collect::<Vec<_>>());
        let extra = self.extra_ends(members);
        let written = p.sequence([p.space(), extra, p.space(), firsts]);
        let spelled = tails.iter().filter_map(|tail| {
            let first = tail.pieces.first().and_then(CallPiece::members).filter(|_| tail.first.is_blank());
            p.with_spelled_breaks(first.map_or(&tail.first, |members| &members.first).literal()?)
        });
        p.and(p.choice([written].into_iter().chain(spelled).collect::<Vec<_>>()))
    }

    /// The end of the markers around all calls, which ends a call that has no end of its own.
    fn section_ends(&self) -> Option<ExprId> {
        let mut ends = self.turn.edges.iter().filter(|edge| (edge.from, edge.to) == (SlotKind::Call, SlotKind::End));
        let end = ends.find_map(|edge| edge.glue.first_marker().filter(|end| is_marker(end)))?;
        Some(self.p.tolerated(self.p.marker(end)))
    }

    /// Looks ahead to an argument of the schema whose opening is missing: its name ends the tool's.
    fn unopened_argument(&self, tails: &[Tail]) -> Option<ExprId> {
        let p = self.p;
        let members = tails.iter().find_map(|tail| tail.pieces.first()?.members())?;
        let close = members.name_close()?;
        let name = p.late(|| {
            let listed = unlisted_name(p, &self.tool.name, &SchemaRef::from(p.parameters(self.tool)));
            let known = self.tool.name != FormatBuilder::ANY && listed != FormatBuilder::ANY;
            let name = [p.space(), self.opening_again(), p.listed_name(&listed), p.marker(close)];
            known.then(|| p.sequence(name))
        });
        name.map(|name| p.tolerated(p.and(name)))
    }

    /// The opening of calls, which models write in place of that of an argument.
    fn opening_again(&self) -> ExprId {
        let p = self.p;
        match self.open.is_blank() || text::heads(self.open).is_empty() {
            true => p.empty(),
            false => p.optional(glue(p, self.open, None, "")),
        }
    }

    fn tail(&self, tail: &Tail, taken: &Glue) -> ExprId {
        let p = self.p;
        let close = tail.form.close.strip_suffix(self.wrapper_close).unwrap_or_default();
        let first =
            if tail.pieces.is_empty() && tail.first == tail.form.close { close.clone() } else { tail.first.clone() };
        let first = first.strip_prefix(taken).unwrap_or_default();
        let end = tail.may_lack_arguments().then(|| p.tool_close(text::behind_json(p, &close, Some(self.tool))));
        let without = end.map(|end| p.tolerated(p.atomic(p.sequence([p.space(), end]))));
        let call = p.choice(without.into_iter().chain([self.arguments_and_end(tail, &first, close)]));
        // Where arguments are required, a call without any is none that is asked for.
        let lacks = !tail.form.pieces.iter().any(CallPiece::holds_arguments)
            && members(p, &p.parameters(self.tool).into(), "", true).iter().any(|member| member.required);
        if lacks { p.tolerated(call) } else { call }
    }

    fn arguments_and_end(&self, tail: &Tail, first: &Glue, close: Glue) -> ExprId {
        let p = self.p;
        let mut parts = Vec::new();
        let mut pieces = tail.pieces;
        match pieces.split_first() {
            Some((CallPiece::Members(members), rest)) => {
                parts.push(self.members(members, first, tail.form));
                pieces = rest;
            }
            Some(_) => {
                let written = glue(p, first, Some(self.tool), "");
                let rest = first.head().trim_start().strip_prefix(',').filter(|_| p.mends);
                let nearly = rest.map(|rest| {
                    let rest = first.without_start(first.head().len() - rest.trim_start().len());
                    let others = p.other_members(&keys(self.turn, self.open));
                    let rest = glue(p, &rest, Some(self.tool), "");
                    p.tolerated(p.sequence([p.space(), p.literal(","), p.space(), others, rest]))
                });
                parts.push(p.choice([written].into_iter().chain(nearly)));
            }
            None => {
                let members = self.turn.calls.iter().flat_map(|form| &form.pieces).find_map(CallPiece::members);
                let extra = self.extra_ends(members);
                let left_out = self.section_ends().map(|end| p.tolerated(p.and(p.sequence([p.space(), end]))));
                let ends = p.choice([glue(p, first, Some(self.tool), "")].into_iter().chain(left_out));
                return p.sequence([extra, p.tool_close(ends)]);
            }
        }
        let (id, pieces) = match pieces.split_last_chunk() {
            Some((pieces, [CallPiece::Glue(key), CallPiece::Id])) if is_member(key) => (Some(key), pieces),
            _ => (None, pieces),
        };
        parts.extend(
            pieces.iter().enumerate().map(|(at, piece)| self.piece(piece, pieces.get(at + 1), Some(tail.form))),
        );
        let is_json = matches!(pieces.last(), Some(CallPiece::Arguments { .. }));
        let is_brace = |close: &Glue| {
            let rest = close.head().trim_start().strip_prefix('}').filter(|_| p.mends && is_json);
            let behind = self.turn.edges.iter().filter(|edge| edge.from == SlotKind::Call).map(|edge| edge.glue.head());
            rest.is_some_and(|rest| behind.chain([rest]).all(|text| !text.trim_start().starts_with('}')))
        };
        if is_brace(&tail.form.close) {
            parts.push(p.tolerated(p.members_behind(&keys(self.turn, self.open))));
        }
        let last = tail.pieces.last().and_then(CallPiece::members);
        let members_last = last.is_some_and(|members| is_strong(&members.next));
        // The marker that closes the wrapper, once more.
        let twice = |close: &Glue| match is_marker(close.head().trim()) {
            true => p.tolerated(p.many(p.marker(close.head().trim()))),
            false => p.empty(),
        };
        let end = |close: &Glue| {
            // The call is complete behind the first mark of its end.
            let first = close.marker_spans().first().cloned().unwrap_or(close.head().len()..close.head().len());
            let braces = close.up_to(first.start);
            let only_brace = close.head().trim() == "}";
            let ends_arguments = braces.head().trim_end().ends_with(['}', ')']);
            let mark = if ends_arguments { first.start } else { first.end };
            let (close, rest) = if is_json || !close.is_literal() {
                (close.clone(), Glue::default())
            } else {
                (close.up_to(mark), close.without_start(mark))
            };
            let rest = match rest.is_blank() {
                true => glue(p, &rest, Some(self.tool), ""),
                false => {
                    let written = p.sequence([glue(p, &rest, Some(self.tool), ""), p.markup_ends(), twice(&rest)]);
                    let inner = self.inner.map(|inner| p.and(glue(p, inner, None, "")));
                    let others =
                        [p.end()].into_iter().chain(inner).map(|end| p.tolerated(p.sequence([p.space(), end])));
                    p.choice([written].into_iter().chain(others.collect::<Vec<_>>()))
                }
            };
            let close = match is_json {
                true => text::behind_json(p, &close, Some(self.tool)),
                false => glue(p, &close, Some(self.tool), ""),
            };
            // What closes the wrapper closes the call as well, and so does the next call's opening.
            let next = Some(self.open).filter(|open| is_strong(open) && open.is_literal());
            let next = next.map(|open| open.head().trim().to_owned());
            let ends = text::heads(self.wrapper_close).pop().into_iter().chain(next).map(|end| p.marker(end));
            let ends = ends.chain(self.section_ends()).map(|end| p.and(p.sequence([p.space(), end])));
            // A model may leave the end of its last call to the end of its output.
            let left_out = (members_last || is_json).then(|| {
                let closed = (is_json && ends_arguments).then(|| text::behind_json(p, &braces, Some(self.tool)));
                p.sequence([p.choice(closed.into_iter().chain([p.empty()])), p.space(), p.end()])
            });
            let whole = p.sequence([p.tool_close(close), rest]);
            // The call may be the member of another object.
            let (whole, nested) = match is_brace(&tail.form.close) {
                true if only_brace => {
                    let outer = p.tolerated(p.optional(p.atomic(p.outer_end())));
                    (p.sequence([whole, outer]), None)
                }
                true => {
                    let behind = p.members_behind(&keys(self.turn, self.open));
                    let nested = p.sequence([p.space(), p.literal("}"), p.space(), behind, close]);
                    (whole, Some(p.tolerated(p.tool_close(nested))))
                }
                false => (whole, None),
            };
            let others = ends.chain(left_out).map(|end| p.tolerated(p.tool_close(end)));
            p.choice([whole].into_iter().chain(nested).chain(others.collect::<Vec<_>>()))
        };
        let end = |close: &Glue| match close.is_literal() {
            true => self.shared.ends.get((close.clone(), is_json, members_last), || end(close)),
            false => end(close),
        };
        parts.push(match id.zip(close.strip_prefix(&Glue::from("\""))) {
            // A last member with the id, which a model may leave out.
            Some((key, bare)) => {
                let id = [glue(p, key, Some(self.tool), ""), p.tool_id(p.string_body(b'"')), end(&close)];
                p.choice([p.sequence(id), p.tolerated(end(&bare))])
            }
            None => end(&close),
        });
        p.sequence(parts)
    }

    /// One piece; `next` is the one behind it.
    fn piece(&self, piece: &CallPiece, next: Option<&CallPiece>, form: Option<&CallForm>) -> ExprId {
        let p = self.p;
        match piece {
            CallPiece::Glue(between) => glue(p, between, Some(self.tool), ""),
            CallPiece::Name if self.tool.name == FormatBuilder::ANY => p.tool_name(FormatBuilder::ANY),
            CallPiece::Name => {
                // Models write it twice.
                let again = p.sequence([p.literal(":"), p.literal(&*self.tool.name)]);
                p.sequence([p.tool_name(&self.tool.name), p.tolerated(p.optional(again))])
            }
            CallPiece::Id => {
                let close = form.map(|form| &form.close);
                let ends = match next {
                    Some(CallPiece::Glue(next)) => text::heads(next),
                    Some(CallPiece::Members(members)) => text::heads(&members.first),
                    _ => close.map(text::heads).unwrap_or_default(),
                };
                p.tool_id(match ends.first() {
                    None => p.other_name(),
                    Some(end) if end.starts_with('"') => p.string_body(b'"'),
                    Some(_) => p.until_marker(ends),
                })
            }
            CallPiece::NamedId { before, behind } => named_id(p, before, &self.tool.name, behind),
            CallPiece::Arguments { quoted: true } => {
                let schema = p.parameters(self.tool);
                p.argument(p.quoted_args(), format!("tool-{}-schema", self.tool.name), schema, Notation::Escaped)
            }
            CallPiece::Arguments { .. } if self.tool.name == FormatBuilder::ANY => p.any_json_args(),
            CallPiece::Arguments { .. } => {
                *self.objects.borrow_mut().entry(self.tool.name.clone()).or_insert_with(|| p.json_args(self.tool))
            }
            CallPiece::Members(members) => {
                let before_name =
                    || CallForm { pieces: [piece].into_iter().chain(next).cloned().collect(), close: Glue::default() };
                let form = form.cloned().unwrap_or_else(before_name);
                self.members(members, &members.in_front(), &form)
            }
        }
    }

    /// Arguments one by one. `first`: the glue in front of them.
    fn members(&self, members: &Members, first: &Glue, form: &CallForm) -> ExprId {
        let p = self.p;
        let own_close = form.close.strip_suffix(self.wrapper_close).unwrap_or_default();
        let at = form.pieces.iter().position(|piece| piece.members().is_some());
        let (close, wrapper_close, behind) = match at.and_then(|at| form.pieces.get(at + 1)) {
            None if at.is_some() => (Some(&own_close), self.wrapper_close, self.behind),
            // The name follows, or the id.
            Some(CallPiece::Glue(next)) => (Some(next), &Glue::default(), p.empty()),
            _ => (None, self.wrapper_close, self.behind),
        };
        let each = members.in_front_of_each();
        let opens = |tool| match (glue(p, &members.next, Some(tool), ""), members.name_close()) {
            _ if !each => vec![p.empty()],
            (next, None) => vec![next],
            (next, Some(_)) if self.open.is_blank() => vec![next, p.tolerated(p.empty())],
            (next, Some(_)) => vec![next, p.tolerated(p.empty()), p.tolerated(glue(p, self.open, None, ""))],
        };
        let any_tool = Tool::new(FormatBuilder::ANY, "", Value::Null);
        let writer = |tool| Arguments { p, tool, members, opens: opens(tool), close, wrapper_close, behind };
        let any = || writer(&any_tool).any();
        let writer = writer(self.tool);
        let known = writer.known();
        // The end of the call may look like the name of an argument. Without an end, an argument of any name would match too
        // much, and so it would before the name, where that follows.
        let is_last = at.is_some_and(|at| at + 1 == form.pieces.len());
        let no = close.filter(|close| is_last && !close.is_blank());
        // Where a tag repeats a name, a dialect has the names that are known: the text of another tag would be lost.
        let repeats = p.dialect.is_some() && members.slots.iter().any(|(_, slot)| !slot.close.is_literal());
        let any = (!repeats && (no.is_some() || self.tool.name == FormatBuilder::ANY))
            .then(|| writer.unlisted(self.shared.arguments.get(form.clone(), any)));
        let no = no.map_or_else(
            || p.empty(),
            |close| {
                let closes = p.not(glue(p, close, Some(self.tool), ""));
                p.sequence([closes, text::no_closer(p, &members.next, close)])
            },
        );
        if each {
            let extra = self.extra_ends(Some(members));
            let marked = |argument| p.sequence([p.blank(), argument, extra]);
            let (required, optional): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, required)| *required);
            let any = any.map(|any| p.tolerated(p.sequence([no, marked(any)])));
            let [required, optional] = [required, optional]
                .map(|all| all.into_iter().map(|(argument, _)| marked(argument)).collect::<Vec<_>>());
            let optional: Vec<ExprId> = optional.into_iter().chain(any).collect();
            let one_by_one = p.sequence([extra, p.unordered(required, optional)]);
            return p.sequence([glue(p, first, Some(self.tool), ""), self.whole_or(one_by_one, first)]);
        }
        let any = any.map(|any| p.tolerated(p.sequence([no, any])));
        let has_known = !known.is_empty();
        let between = p.sequence([p.blank(), glue(p, &members.next, Some(self.tool), ""), p.blank()]);
        let all = p.listed(known, any, between);
        let all = p.sequence([glue(p, first, Some(self.tool), ""), all, p.blank()]);
        if has_known { all } else { p.tolerated(all) }
    }
}

impl Call<'_> {
    /// Arguments one by one, or all of them as one JSON object. `before`: the glue in front of all arguments.
    fn whole_or(&self, one_by_one: ExprId, before: &Glue) -> ExprId {
        let p = self.p;
        if before.head().trim_end().ends_with(['{', '(']) {
            return one_by_one;
        }
        let object = if self.tool.name == FormatBuilder::ANY { p.any_json_args() } else { p.json_args(self.tool) };
        let whole = p.sequence([p.space(), p.and(p.literal("{")), object, p.space()]);
        p.choice([p.tolerated(whole), one_by_one])
    }
}

impl Call<'_> {
    /// The end of an argument without its beginning.
    fn extra_ends(&self, members: Option<&Members>) -> ExprId {
        let p = self.p;
        let Some(members) = members else { return p.empty() };
        let end = Glue::common_start(members.slots.iter().map(|(_, slot)| &slot.close));
        let end = end.head().trim();
        let closes =
            [&self.turn.calls[0].close, self.wrapper_close].iter().any(|other| other.head().trim().starts_with(end));
        if !is_marker(end) || closes { p.empty() } else { p.tolerated(p.many(p.marker(end))) }
    }
}
