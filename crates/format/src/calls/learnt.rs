//! Calls as the analysis learnt them: parts in order, with glue between them.

use crate::rules::arguments::LAST_ARGUMENT;
use crate::rules::calls::{
    AFTER_ARGUMENTS, AFTER_ID, AFTER_NAME, ARGUMENTS, BEFORE_ARGUMENTS, BETWEEN_ARGUMENTS,
    CALL_CLOSE, CALL_CLOSED, CALL_FORM, CALL_OPEN, CALL_TAG, ID, LAST_ID, MEMBERS, NAME,
    NAME_ALONE, NAME_CLOSE, NAMES, NO_ARGUMENTS, NO_GLUE, WRAPPER_CLOSE, WRAPPER_CLOSED,
    no_other_tag,
};
use chatparse_base::brackets;
use std::cell::RefCell;

use serde_json::Value;

use super::ids::{before_quoted_id, generated_id, member_key, named_id, opening, quoted_id};
use super::members::{Member, members};
use super::order;
use crate::FormatSpec;
use crate::builder::FormatBuilder;
use crate::glue::{self as text, glue, is_strong};
use crate::sites::{Arguments, Call, End, INNER, Shared, unannounced};
use crate::tag::Tag;
use chatparse_learn::analysis::turn::{
    CallForm, CallPiece, Glue, GluePiece, Members, SlotKind, Tail, TurnFormat,
};
use chatparse_message::Tool;
use chatparse_peg::{ExprId, Notation};

/// The texts that a form has after its id, before the piece `next`.
fn behind_id(next: Option<&CallPiece>, form: &CallForm) -> Vec<String> {
    match next {
        Some(CallPiece::Glue(next)) => text::heads(next),
        Some(CallPiece::Members(members)) => text::heads(&members.first),
        _ => text::heads(&form.close),
    }
}

/// The texts that end the content before a call with this glue.
pub fn heads(turn: &TurnFormat, glue: &Glue, spec: &FormatSpec) -> Vec<String> {
    if is_strong(glue) {
        let first = glue.marker_spans().first().cloned().unwrap_or_default();
        let (marker, rest) = (first.end, glue.head().get(first.end..).unwrap_or_default());
        // No text has a special token, and models vary the white space after it.
        let special = brackets::begins_token(&glue.head()[first]);
        if special && !rest.trim().is_empty() {
            return text::heads(&glue.up_to(marker));
        }
        // Before JSON the marker is enough: what models write after it differs.
        let json = glue
            .head()
            .get(marker..)
            .and_then(|rest| rest.find(['[', '{']));
        return match json.filter(|_| marker > 0) {
            Some(at) => text::heads(&glue.up_to(marker + at)),
            // Without a marker, several words before it are enough.
            None => {
                let words = glue.head().find(['[', '{']).map(|at| glue.up_to(at));
                let words = words.filter(|words| words.core().contains(char::is_whitespace));
                text::heads(words.as_ref().unwrap_or(glue))
            }
        };
    }
    // That part may differ from call to call.
    let mut pieces = glue.pieces();
    let varied = pieces.find(|piece| !matches!(piece, GluePiece::Text(_)));
    let first = turn.calls.iter().find_map(|form| form.pieces.first());
    let starts: Vec<String> = match (varied, first) {
        (Some(GluePiece::Counter), _) => (0..10).map(|digit| digit.to_string()).collect(),
        (Some(_), _) => return text::heads(glue),
        (None, Some(CallPiece::Name)) => {
            // Models write Python's calls in brackets.
            let bare = glue.head().trim().is_empty() && turn.calls_are_python();
            let fronts = if bare { &["", "["][..] } else { &[""] };
            let names = spec.tools().iter().map(|tool| &*tool.name);
            names
                .flat_map(|name| fronts.iter().map(move |front| [front, name].concat()))
                .collect()
        }
        (None, Some(CallPiece::Arguments { quoted: true })) => vec!["\"{".to_owned()],
        (None, Some(CallPiece::Arguments { .. })) => vec!["{".to_owned()],
        _ => return text::heads(glue),
    };
    let mut heads = Vec::new();
    for start in starts {
        for space in ["", " ", "\n"] {
            for front in [glue.head(), glue.head().trim_start()] {
                heads.push([front, space, &start].concat());
            }
        }
    }
    heads
}

/// One call of any tool, with its opening. `marked`: a marker before it identifies calls, so tools
/// that are not offered can be read.
pub fn any(p: &FormatBuilder, turn: &TurnFormat, spec: &FormatSpec, marked: bool) -> ExprId {
    let behind = p.rule("behind-call", behind_call(p, turn));
    let (open, wrapper_close) = turn.call_frame();
    let renamed = renamed(turn);
    let inner = inner_opening(renamed.as_ref().map_or(&open, |(first, _)| first));
    let maker = Call {
        p,
        turn,
        tool: &Tool::default(),
        shared: &Shared::default(),
        objects: &RefCell::default(),
        behind,
        open: &open,
        wrapper_close: &wrapper_close,
        inner: inner.as_ref(),
    };
    let ends_text = turn.before_calls().all(is_strong);
    // Of a name that is not known no expression can say that it is the same again.
    let tool = maker.of_tools(spec, marked, marked && renamed.is_none());
    let renamed = renamed.map(|(first, turn)| {
        let any = marked || is_strong(&first);
        let maker = Call {
            turn: &turn,
            ..maker
        };
        (first, maker.of_tools(spec, marked, any))
    });
    if let Some(inner) = maker.inner {
        let call = renamed.as_ref().map_or(tool, |(_, call)| *call);
        p.rule(INNER, p.sequence([p.glue(inner), call]));
    }
    let mut calls = vec![tool];
    if let Some((first, call)) = &renamed {
        calls.extend(p.ways(NAMES, |way| way(p, first, *call)));
    }
    let calls = p.choice(calls);
    if let Some(id) = generated_id(&open) {
        // The id is in the opening.
        return p.sequence([p.tool_open(p.empty()), opening(p, id), calls]);
    }
    let mut ways = vec![maker.opened(ends_text, calls)];
    for (open, turn) in order::others(turn, &open, &wrapper_close) {
        let maker = Call {
            turn: &turn,
            open: &open,
            ..maker
        };
        let call = maker.opened(ends_text, maker.of_tools(spec, marked, marked));
        // llama.cpp's grammars have the learnt order.
        ways.push(p.only_read(!spec.is_faithful(), call));
    }
    if let Some((first, call)) = &renamed {
        ways.extend(p.ways(NAME_ALONE, |way| way(p, first, *call)));
    }
    p.choice(ways)
}

/// The texts that calls begin with whose name is not announced.
pub fn unannounced_heads(turn: &TurnFormat) -> Vec<String> {
    let open = announced(turn)
        .map(|first| unannounced(&first))
        .filter(is_strong);
    open.map_or_else(Vec::new, |open| text::heads(&open))
}

/// What is between the two names of each call.
pub fn announced(turn: &TurnFormat) -> Option<Glue> {
    renamed(turn).map(|(first, _)| first)
}

/// The rule for a call of a tool that is not offered, where only an offered one beside it shows
/// that it is a call.
pub const UNLISTED: &str = "unlisted-call";

/// What opens such a call: what this opening has after its last marker.
fn inner_opening(opening: &Glue) -> Option<Glue> {
    let Some(GluePiece::Text(text)) = opening.pieces().last() else {
        return None;
    };
    let opening = Glue::from(text);
    let wrapper = opening
        .marker_spans()
        .into_iter()
        .rfind(|span| text[span.clone()].ends_with(brackets::closes))?
        .end;
    Some(opening.without_start(wrapper).trim_start()).filter(is_strong)
}

/// The same calls from the second name on, and what is between the names in all of them.
fn renamed(turn: &TurnFormat) -> Option<(Glue, TurnFormat)> {
    order::alike(turn, turn.calls.iter().map(behind_first_name))
}

/// What is between the two names of a call, and the call from the second one on.
fn behind_first_name(form: &CallForm) -> Option<(Glue, CallForm)> {
    let mut form = form.clone();
    let (CallPiece::Name, rest) = form.pieces.split_first_mut()? else {
        return None;
    };
    let behind = match rest.first_mut() {
        Some(CallPiece::Glue(glue)) => glue,
        Some(CallPiece::Members(members)) => &mut members.first,
        Some(_) => return None,
        None => &mut form.close,
    };
    let (before, after) = behind.around_name()?;
    *behind = after;
    Some((before, form))
}

/// Any tool's name, and what follows it. What may follow a call depends on no list of tools.
fn any_name(p: &FormatBuilder, turn: &TurnFormat) -> ExprId {
    let firsts = turn.calls.iter().map(|form| form.at_name().1.first);
    let ends = firsts.map(|first| {
        if first.is_blank() {
            p.name_ends()
        } else {
            p.after_space(p.glue(&first))
        }
    });
    p.sequence([p.other_name(), p.choice(ends)])
}

/// What may follow a call: another call, the end of all calls, or the end of the output.
fn behind_call(p: &FormatBuilder, turn: &TurnFormat) -> ExprId {
    let edges = turn.edges.iter().filter(|edge| edge.from == SlotKind::Call);
    let ways = edges.map(|edge| {
        let between = p.glue(&edge.glue);
        match edge.to {
            SlotKind::Call if turn.calls_begin_with_names() => {
                p.sequence([between, any_name(p, turn)])
            }
            _ if edge.glue.is_blank() => p.after_space(p.glue(&turn.end)),
            _ => between,
        }
    });
    // Engines leave out what ends the turn.
    let end = p.after_space(p.end());
    p.choice(ways.chain([end]))
}

impl Call<'_> {
    /// Calls like this one of each tool, without their opening. `marked`: a marker before them
    /// identifies calls. `any`: also of tools that are not offered.
    fn of_tools(&self, spec: &FormatSpec, marked: bool, any: bool) -> ExprId {
        let (p, shared) = (self.p, &Shared::default());
        let call = |tool: &Tool| {
            let call = Call {
                tool,
                shared,
                ..*self
            };
            call.expr()
        };
        if !marked
            && self.turn.calls_begin_with_names()
            && self.turn.calls_are_python()
            && let Some(call) = p.unknown_tool(spec, &call)
        {
            p.rule(UNLISTED, call);
        }
        if any {
            p.any_tool(spec, &call)
        } else {
            p.known_tool(spec.tools(), &call)
        }
    }

    /// Such calls with their opening. `ends_text`: the glue before calls ends a text.
    fn opened(&self, ends_text: bool, calls: ExprId) -> ExprId {
        let (p, turn) = (self.p, self.turn);
        let open = &before_quoted_id(turn, self.open).unwrap_or(self.open.clone());
        let written = if ends_text {
            p.glue(open)
        } else {
            text::as_written(p, open)
        };
        // Where the name is a key, any other would begin like it.
        let opens = if open.head().trim_end().ends_with("{\"") {
            p.rather(written, CALL_OPEN, |way| way(p, turn, open))
        } else {
            p.or(written, CALL_OPEN, |way| way(p, turn, open))
        };
        p.sequence([opens, calls])
    }

    /// Glue with the call's name.
    pub fn glue(&self, text: &Glue) -> ExprId {
        glue(self.p, text, Some(self.tool), "")
    }

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
        let groups = groups.iter().map(|(head, tails)| {
            let lacks = tails.iter().all(|tail| self.lacks_arguments(tail));
            p.only_read(lacks, self.group(head, tails))
        });
        let others = self
            .turn
            .calls
            .iter()
            .flat_map(|form| p.ways(CALL_FORM, |way| way(self, form)));
        p.choice(groups.chain(others))
    }

    /// Nothing of a call is visible before its name is certain: the text up to it and the glue
    /// after it are one group.
    pub fn group(&self, head: &[CallPiece], tails: &[Tail]) -> ExprId {
        let p = self.p;
        let shared = Glue::common_start(tails.iter().map(|tail| &tail.first));
        // A quote after the name is enough to end it.
        let quote = shared
            .head()
            .chars()
            .next()
            .filter(|first| matches!(first, '"' | '\''));
        let whole = shared.clone();
        let shared = quote.map_or(shared, |quote| quote.to_string().into());
        let mut parts = Vec::new();
        parts.extend(
            generated_id(self.open)
                .is_none()
                .then(|| p.tool_open(p.empty())),
        );
        parts.extend((head.first() == Some(&CallPiece::Name)).then(|| p.stray_space()));
        let form = CallForm {
            pieces: head.to_vec(),
            close: whole.clone(),
        };
        let mut pieces = head;
        // An id between quotes may be a number.
        if let [CallPiece::Id, CallPiece::Glue(behind), rest @ ..] = head
            && before_quoted_id(self.turn, self.open).is_some()
        {
            parts.push(p.or(quoted_id(p, p.string_body(b'"')), ID, |way| way(p)));
            let after = self.glue(&behind.without_start(1));
            parts.push(p.or(after, AFTER_ID, |way| way(self, behind)));
            pieces = rest;
        }
        parts.extend(self.pieces(pieces, &form));
        // Where a quote shows the name, there is no way back: an empty tag is then a way to go on.
        let opened = whole.head().trim_end();
        let inside = opened
            .strip_suffix(brackets::closes)
            .filter(|tag| !tag.ends_with('/'));
        let empty_tag = inside.map(|tag| format!("{tag}/{}", &opened[tag.len()..]));
        let behind = empty_tag
            .as_deref()
            .and_then(|tag| tag.get(usize::from(quote.is_some())..));
        let ending = p.ways(CALL_TAG, |way| {
            way(self, behind.filter(|_| quote.is_some())?)
        });
        let unquoted = p.ways(CALL_TAG, |way| {
            let end = way(self, behind.filter(|_| quote.is_none())?)?;
            Some(p.atomic(p.sequence([p.sequence(parts.clone()), end])))
        });
        parts.push(if shared.is_blank() {
            p.or(self.behind_name(tails), NO_GLUE, |way| way(self, tails))
        } else {
            p.or(self.glue(&shared), NAME_CLOSE, |way| way(self, quote))
        });
        // A marker may only be mentioned: the arguments of a tool that is not offered must begin.
        if self.is_any()
            && tails.iter().all(|tail| {
                let bare = tail
                    .first
                    .strip_prefix(&shared)
                    .is_some_and(|rest| rest.is_blank());
                bare && matches!(
                    tail.pieces.first(),
                    Some(CallPiece::Arguments { quoted: false })
                )
            })
        {
            parts.push(p.ahead(p.choice([p.literal("{"), p.literal("\"")])));
        }
        // Without the token before each tag, calls of other formats begin so.
        let rest = whole.strip_prefix(&shared).unwrap_or_default();
        parts.extend(no_other_tag(
            p,
            self.turn,
            rest.head().split(&*p.prefix).next().unwrap_or_default(),
        ));
        let head = p.atomic(p.sequence(parts));
        let (markup, taken) = if shared.is_blank() {
            (p.empty(), Glue::default())
        } else {
            (p.markup_ends(), shared)
        };
        let rest = p.late(|| {
            let all_lack = tails.iter().all(|tail| self.lacks_arguments(tail));
            let ways = tails.iter().map(|tail| {
                let lacks = !all_lack && self.lacks_arguments(tail);
                p.only_read(lacks, self.tail(tail, &taken))
            });
            Some(p.choice(ways.chain(ending)))
        });
        let call = p.sequence([Some(head), Some(markup), rest]);
        p.choice([call].into_iter().chain(unquoted))
    }

    fn pieces(&self, pieces: &[CallPiece], form: &CallForm) -> impl Iterator<Item = ExprId> {
        let pieces = pieces
            .iter()
            .enumerate()
            .map(|(at, piece)| (piece, pieces.get(at + 1)));
        pieces.map(|(piece, next)| self.piece(piece, next, form))
    }

    /// Looks ahead to what the template writes after a name.
    fn behind_name(&self, tails: &[Tail]) -> ExprId {
        let p = self.p;
        let mut firsts = Vec::new();
        for tail in tails {
            firsts.push(match tail.pieces.first().and_then(CallPiece::members) {
                Some(members) if tail.first.is_blank() => &members.first,
                _ => &tail.first,
            });
        }
        if firsts.iter().any(|first| first.is_blank()) {
            return p.choice([Some(p.name_ends()), self.call_ends()]);
        }
        let members = tails
            .iter()
            .flat_map(|tail| tail.pieces)
            .find_map(CallPiece::members);
        let written = firsts.iter().map(|first| self.glue(&first.trim_start()));
        let written = p.choice(written.chain(p.ways(AFTER_NAME, |way| way(self, members))));
        let extra = self.extra_ends(members);
        let mut ways = vec![p.after_space(p.spaced([extra, written]))];
        for text in firsts.iter().filter_map(|first| first.literal()) {
            ways.extend(p.with_spelled_breaks(text));
        }
        p.and(p.choice(ways))
    }

    /// Looks ahead to what follows a call, where the name is the last part of one with arguments.
    fn call_ends(&self) -> Option<ExprId> {
        let p = self.p;
        let mut forms = self
            .turn
            .calls
            .iter()
            .filter_map(|form| form.pieces.split_last());
        let is_last = forms
            .any(|(last, before)| last.is_name() && before.iter().any(CallPiece::holds_arguments));
        let ends = self
            .turn
            .behind(SlotKind::Call)
            .filter(|glue| !glue.is_blank())
            .map(|glue| p.glue(glue))
            .chain([p.end()]);
        is_last.then(|| p.ahead(p.choice(ends)))
    }

    /// The end of the markers around all calls, which ends a call that has no end of its own.
    fn section_end(&self) -> Option<&str> {
        let mut ends = self.turn.glues([SlotKind::Call], SlotKind::End);
        ends.find_map(|glue| {
            self.p
                .first_tag(glue)
                .filter(|end| brackets::is_marker(end))
        })
    }

    /// That end.
    pub fn section_ends(&self) -> Option<ExprId> {
        Some(self.p.glue(&self.section_end()?.into()))
    }

    fn tail(&self, tail: &Tail, taken: &Glue) -> ExprId {
        let p = self.p;
        let close = tail
            .form
            .close
            .strip_suffix(self.wrapper_close)
            .unwrap_or_default();
        let first = if tail.pieces.is_empty() && tail.first == tail.form.close {
            close.clone()
        } else {
            tail.first.clone()
        };
        let first = first.strip_prefix(taken).unwrap_or_default();
        let mut ways = p.ways(ARGUMENTS, |way| way(self, tail, &close));
        ways.push(self.arguments_and_end(tail, &first, close));
        p.choice(ways)
    }

    /// Whether the tool requires arguments, and the form has none: a call like this is none that is
    /// asked for.
    fn lacks_arguments(&self, tail: &Tail) -> bool {
        let p = self.p;
        !tail.form.pieces.iter().any(CallPiece::holds_arguments)
            && members(p, &p.parameters(self.tool).into(), "", true)
                .iter()
                .any(|member| member.required)
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
                parts.push(p.or(self.glue(first), BEFORE_ARGUMENTS, |way| way(self, first)));
            }
            None => {
                let extra = self.extra_ends(self.turn.members().next());
                let end = p.or(self.glue(first), NO_ARGUMENTS, |way| way(self));
                return p.sequence([extra, p.tool_close(end)]);
            }
        }
        let mut id = None;
        if let Some((before, [CallPiece::Glue(key), CallPiece::Id])) = pieces.split_last_chunk()
            && let Some(key) = member_key(key)
        {
            (id, pieces) = (Some(key), before);
        }
        parts.extend(self.pieces(pieces, tail.form));
        let is_json = matches!(pieces.last(), Some(CallPiece::Arguments { .. }));
        let is_brace = is_json && self.is_brace(&tail.form.close);
        if is_brace {
            parts.push(p.between(AFTER_ARGUMENTS, |way| way(self)));
        }
        let last = tail.pieces.last().and_then(CallPiece::members);
        let ends_members = last.is_some_and(|members| is_strong(&members.next));
        let mut close = close;
        if let Some((key, bare)) = id.zip(close.strip_prefix(&"\"".into())) {
            // A last member with the id.
            let id = p.sequence([self.glue(&key), quoted_id(p, p.string_body(b'"'))]);
            parts.push(p.or(id, LAST_ID, |way| way(p)));
            close = bare;
        }
        parts.push(self.end(End {
            close,
            is_json,
            ends_members,
            is_brace,
        }));
        p.sequence(parts)
    }

    /// Whether this ends a JSON object that further members may be in.
    fn is_brace(&self, close: &Glue) -> bool {
        let rest = close
            .head()
            .trim_start()
            .strip_prefix('}')
            .filter(|_| self.p.mends);
        let behind = self.turn.behind(SlotKind::Call).map(Glue::head);
        rest.is_some_and(|rest| {
            behind
                .chain([rest])
                .all(|text| !text.trim_start().starts_with('}'))
        })
    }

    /// The end of a call that repeats no name is the same for all tools.
    fn end(&self, end: End) -> ExprId {
        if end.close.is_literal() {
            self.shared.ends.get(end.clone(), || self.whole_end(&end))
        } else {
            self.whole_end(&end)
        }
    }

    fn whole_end(&self, end: &End) -> ExprId {
        let p = self.p;
        // The call is complete after the first mark of its end.
        let first = end.first_mark();
        let mark = if end.ends_arguments() {
            first.start
        } else {
            first.end
        };
        let (close, rest) = if end.is_json || !end.close.is_literal() {
            (end.close.clone(), Glue::default())
        } else {
            (end.close.up_to(mark), end.close.without_start(mark))
        };
        let mut after = self.glue(&rest);
        if !rest.is_blank() {
            let twice = p.between(WRAPPER_CLOSED, |way| way(p, &rest));
            after = p.or(
                p.sequence([after, p.markup_ends(), twice]),
                WRAPPER_CLOSE,
                |way| way(self),
            );
        }
        let closes = if end.is_json {
            text::behind_json(p, &close, Some(self.tool))
        } else {
            self.glue(&close)
        };
        let whole = p.sequence([
            p.tool_close(closes),
            after,
            p.between(CALL_CLOSED, |way| way(p, end)),
        ]);
        p.choice([whole].into_iter().chain(p.ways(CALL_CLOSE, |way| {
            let close = way(self, end, closes)?;
            Some(p.tool_close(close))
        })))
    }

    /// One piece; `next` is the one after it.
    fn piece(&self, piece: &CallPiece, next: Option<&CallPiece>, form: &CallForm) -> ExprId {
        let p = self.p;
        match piece {
            CallPiece::Glue(between) => self.glue(between),
            CallPiece::Name if self.is_any() => p.tool_name(FormatBuilder::ANY),
            CallPiece::Name => {
                let again = p.between(NAME, |way| way(p, &self.tool.name));
                p.sequence([p.tool_name(&self.tool.name), again])
            }
            CallPiece::Id => {
                let mut ends = behind_id(next, form);
                // The id ends where any form goes on: the calls of some have no arguments.
                for other in &self.turn.calls {
                    let id = other
                        .pieces
                        .iter()
                        .position(|piece| *piece == CallPiece::Id);
                    if let Some(id) = id {
                        ends.extend(behind_id(other.pieces.get(id + 1), other));
                    }
                }
                p.tool_id(match ends.first() {
                    None => p.other_name(),
                    Some(end) if end.starts_with('"') => p.string_body(b'"'),
                    Some(_) => p.until_marker(ends),
                })
            }
            CallPiece::NamedId { before, behind } => named_id(p, before, &self.tool.name, behind),
            CallPiece::Arguments { quoted: true } => {
                let schema = p.parameters(self.tool);
                p.argument(
                    p.quoted_args(),
                    format!("tool-{}-schema", self.tool.name),
                    schema,
                    Notation::Escaped,
                )
            }
            CallPiece::Arguments { .. } if self.is_any() => p.any_json_args(),
            CallPiece::Arguments { .. } => {
                let all = *self
                    .objects
                    .borrow_mut()
                    .entry(self.tool.name.clone())
                    .or_insert_with(|| p.json_args(self.tool));
                match next {
                    Some(CallPiece::Glue(next)) if self.is_brace(next) => {
                        p.sequence([all, p.between(AFTER_ARGUMENTS, |way| way(self))])
                    }
                    _ => all,
                }
            }
            CallPiece::Members(members) => self.members(members, &members.in_front(), form),
        }
    }

    /// Arguments one by one. `first`: the glue before them.
    fn members(&self, members: &Members, first: &Glue, form: &CallForm) -> ExprId {
        let p = self.p;
        let own_close = form
            .close
            .strip_suffix(self.wrapper_close)
            .unwrap_or_default();
        let at = form
            .pieces
            .iter()
            .position(|piece| piece.members().is_some());
        let rest = at.map(|at| &form.pieces[at + 1..]);
        let name = if self.is_any() {
            Glue::name()
        } else {
            Glue::from(&*self.tool.name)
        };
        let own_close = match rest {
            Some([CallPiece::Glue(next), CallPiece::Name]) => next.and(&name).and(&own_close),
            Some([CallPiece::Glue(next), ..]) => next.clone(),
            _ => own_close,
        };
        let (close, wrapper_close, behind) = match rest {
            Some([]) => (Some(&own_close), self.wrapper_close, self.behind),
            // The name follows, or the id.
            Some([CallPiece::Glue(_), ..]) => (Some(&own_close), &Glue::default(), p.empty()),
            _ => (None, self.wrapper_close, self.behind),
        };
        let each = members.in_front_of_each();
        let any_tool = Tool::new(FormatBuilder::ANY, "", Value::Null);
        let section = self.section_end().map(|end| {
            let ends = p.choice([p.glue(&self.turn.end), p.after_space(p.end())]);
            (end, ends)
        });
        let writer = |tool| Arguments {
            p,
            tool,
            root: p.parameters(tool).into(),
            members,
            opens: if each {
                glue(p, &members.next, Some(tool), "")
            } else {
                p.empty()
            },
            call_open: Some(self.open).filter(|_| each && members.name_close().is_some()),
            close,
            wrapper_close,
            behind,
            section,
        };
        let writer_of_any = || writer(&any_tool).argument(&Member::any());
        let writer = writer(self.tool);
        let known = writer.known();
        // The end of the call may look like the name of an argument. Without an end, an argument of
        // any name would match too much, and so it would before the name, where that follows.
        let is_last = at.is_some_and(|at| at + 1 == form.pieces.len());
        let no = close.filter(|close| is_last && !close.is_blank());
        // Where a tag repeats a name, a dialect has the names that are known: the text of another
        // tag would be lost.
        let repeats = p.dialect.is_some()
            && members
                .slots
                .iter()
                .any(|(_, slot)| !slot.close.is_literal());
        let extra = each.then(|| self.extra_ends(Some(members)));
        let marked = |argument| {
            if each {
                p.sequence([Some(p.blank()), Some(argument), extra])
            } else {
                argument
            }
        };
        let any = (!repeats && (no.is_some() || self.is_any())).then(|| {
            p.only_read(
                true,
                p.parsed(|| {
                    let closes = no.map(|close| {
                        let closer = text::no_closer(p, &members.next, close);
                        p.sequence([p.not(self.glue(close)), closer])
                    });
                    let any = self.shared.arguments.get(form.clone(), writer_of_any);
                    let argument = marked(writer.unlisted(any));
                    p.sequence([closes.unwrap_or_else(|| p.empty()), argument])
                }),
            )
        });
        if each {
            let one_by_one = p.sequence([extra, Some(p.in_any_order(known, any, marked))]);
            let mut ways = p.ways(MEMBERS, |way| way(self, first));
            ways.push(one_by_one);
            return p.sequence([self.glue(first), p.markup_ends(), p.choice(ways)]);
        }
        let has_known = !known.is_empty();
        let all = p.listed(
            known,
            any,
            p.sequence([p.blank(), writer.next(), p.blank()]),
        );
        let last = p.between(LAST_ARGUMENT, |way| way(p, members));
        let python = members.is_python().then(|| p.tag(Tag::Python, p.empty()));
        let all = p.sequence([self.glue(first), all, p.blank(), last]);
        p.only_read(!has_known, p.sequence([python, Some(all)]))
    }

    /// The end of an argument without its beginning.
    pub fn extra_ends(&self, members: Option<&Members>) -> ExprId {
        self.p.between(BETWEEN_ARGUMENTS, |way| way(self, members?))
    }
}
