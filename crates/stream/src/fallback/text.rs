//! Builds the expressions for text that may contain calls.
//!
//! Alternatives in order: the calls of the format, then the rows of the table of dialects. Each
//! begins with a marker, so text waits only where a marker may begin. Nothing of a call is visible
//! before its name is certain; from there on it is that call, because
//! [`Machine::committed`](chatparse_peg::Machine::committed) runs these expressions.

use std::collections::HashSet;

use super::dialects::{self, LateRows, Offer, Rows, Seen};
use super::{CallRules, FallbackConfig};
use chatparse_base::brackets::{self, is_marker};
use chatparse_base::bytes::Bytes;
use chatparse_base::sort;
use chatparse_format::wrappers::{self, behind, wrapped};
use chatparse_format::{FormatBuilder, Tag};
use chatparse_message::{BareCalls, Dialects, Leniency, UnknownTools};
use chatparse_peg::{Arena, Expr, ExprId, Found, Markers, incomplete_tail};
use smol_str::SmolStr;

/// Where calls may be in a text, and the text before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// Anywhere: text, call, text.
    Anywhere,
    /// Like `Anywhere`, after a call.
    BehindCall,
    /// Like `Anywhere`, after a call in a wrapper that the format does not have.
    BehindWrapped,
    /// Like `Anywhere`, after a call that was found: the markers that may close it come first.
    BehindFound,
    /// Like `Anywhere`, after an interrupted call: its rest comes first, up to a marker that can
    /// close it or begin another.
    InCall,
    /// At the end of the output only: from the first call of an offered tool on, all waits for it.
    AtEnd,
    /// The whole text consists of calls, or has none; bare calls count.
    Whole,
}

impl Scope {
    /// The number of scopes.
    pub const COUNT: usize = Scope::Whole as usize + 1;

    /// Whether calls are read at the end of the text only.
    pub fn waits_for_end(self) -> bool {
        matches!(self, Scope::AtEnd | Scope::Whole)
    }
}

/// The texts that calls begin with; without `whole`, the text before a tool's name is enough.
fn starts(config: &FallbackConfig, scope: Scope, whole: bool) -> Vec<String> {
    let CallRules {
        tools, leniency, ..
    } = &config.rules;
    let mut starts: Vec<String> = own_starts(&config.format).collect();
    if leniency.dialects != Dialects::Off {
        starts.extend(dialects::starts(Rows::Marked, tools, whole));
        if counts_bare(*leniency, scope) {
            starts.extend(dialects::starts(Rows::Bare, tools, whole));
        }
    }
    starts
}

/// The texts that calls of the format begin with.
fn own_starts(format: &Arena) -> impl Iterator<Item = String> {
    format
        .trigger_rules()
        .filter_map(|rule| format.first_texts(rule))
        .flatten()
}

/// Whether the markup before a call without a marker has one.
pub(super) fn has_wrapper(markup: &str) -> bool {
    let before = markup.split('{').next().unwrap_or_default();
    before.contains("```") || is_marker(before)
}

/// The text that closes the marker at the beginning of a text: `[/NAME]` for `[NAME]`.
fn counterpart(start: &str) -> Option<String> {
    brackets::mirrored(start.trim().split_inclusive(brackets::closes).next()?)
}

/// The text that `[/NAME]` closes: `[NAME]`.
fn opening(close: &str) -> Option<String> {
    let (before, name) = close.split_once('/')?;
    (close.ends_with(brackets::closes) && !before.contains(char::is_alphanumeric))
        .then(|| format!("{before}{name}"))
}

fn openings(closes: &[String]) -> Vec<String> {
    closes.iter().filter_map(|close| opening(close)).collect()
}

/// Whether calls without a marker count.
pub(super) fn counts_bare(leniency: Leniency, scope: Scope) -> bool {
    scope == Scope::Whole || leniency.bare_calls == BareCalls::Anywhere
}

/// The same, and `opens`, which open sections of the format, as the markers that end a text.
fn ends_of_text(mut starts: Vec<String>, opens: Vec<String>, scope: Scope) -> Vec<String> {
    starts.extend(opens.into_iter().chain(wrappers::starts()));
    // A list of calls that have no marker does not count in reasoning, and code is full of
    // brackets.
    starts.extend((scope != Scope::AtEnd).then(|| "[".to_owned()));
    starts.retain(|start| !start.trim_ascii().is_empty());
    sort::set(starts).into_iter().collect()
}

/// Searches for the place where the first call may begin. It costs far less than
/// [`text_with_calls`], and most outputs have none.
#[derive(Debug)]
pub(super) struct Prefilter {
    starts: Markers,
    /// Calls are the whole text, except for white space in front.
    whole: bool,
}

impl Prefilter {
    pub fn new(config: &FallbackConfig, scope: Scope) -> Self {
        let opens = openings(&closing_markers(&config.format));
        let starts: Vec<SmolStr> = ends_of_text(starts(config, scope, true), opens, scope)
            .into_iter()
            .map(SmolStr::from)
            .collect();
        let whole = scope == Scope::Whole;
        Prefilter {
            starts: if whole {
                Markers::beginnings(&starts)
            } else {
                Markers::new(&starts, true)
            },
            whole,
        }
    }

    /// Searches at or after `from`, up to which all is text.
    pub fn look(&self, text: &[u8], from: usize) -> Sight {
        let mut from = from;
        if self.whole {
            let rest = text[from..].iter();
            from += rest
                .take_while(|byte| Bytes::SPACE.contains(**byte))
                .count();
        }
        match self.starts.first(text, from) {
            Found::Whole(start, _) | Found::Half(start) if self.whole && start > from => {
                Sight::Nothing(from)
            }
            Found::Nothing if self.whole && from < text.len() => Sight::Nothing(from),
            Found::Whole(start, end) => Sight::Call(start, end),
            Found::Half(start) => Sight::Text(start),
            Found::Nothing => Sight::Text(text.len() - incomplete_tail(&text[from..])),
        }
    }

    pub fn warm(&self) {
        self.starts.warm();
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.starts.bytes() + self.starts.late_bytes()
    }
}

/// The result of a [`Prefilter`].
pub(super) enum Sight {
    /// All is text up to here, where a call may begin once more bytes are there.
    Text(usize),
    /// A call may begin here, with a marker that ends there.
    Call(usize, usize),
    /// From here on the text has something else in place of calls.
    Nothing(usize),
}

/// Text that may contain calls: of the format, and of the dialects with markers that were seen.
/// `late`: the format's parts, to which the parts of dialects are added.
pub(super) fn text_with_calls(
    config: &FallbackConfig,
    scope: Scope,
    seen: Seen,
    late: &mut LateRows,
) -> Arena {
    let FallbackConfig {
        format,
        rules:
            CallRules {
                tools,
                call_keys,
                leniency,
                ends,
            },
        ..
    } = config;
    let (leniency, offer) = (*leniency, config.offer());
    let mut p = FormatBuilder::extending(Arena::clone(format));
    p.mends = config.mends();
    let any_tool = leniency.unknown_tools == UnknownTools::Call && !scope.waits_for_end();
    if scope == Scope::AtEnd {
        p.without_unknown_tools();
    }
    let starts = starts(config, scope, false);
    let own = format
        .trigger_rules()
        .filter(|rule| format.first_texts(rule).is_some());
    let mut calls: Vec<ExprId> = own.map(|rule| p.reference(rule.clone())).collect();
    let (mut held, mut bare) = (calls.clone(), Vec::new());
    if leniency.dialects != Dialects::Off {
        let any = Offer {
            unknown: any_tool,
            ..offer
        };
        let marked = dialects::calls(&mut p, any, Rows::Marked, seen, late);
        bare = dialects::calls(&mut p, offer, Rows::Held, seen, late);
        calls.extend(&marked);
        held.extend(marked.iter().chain(&bare));
        if counts_bare(leniency, scope) {
            calls.extend(dialects::calls(&mut p, offer, Rows::Bare, seen, late));
        }
    }
    let (call, held, bare) = (p.choice(calls), p.choice(held), p.choice(bare));
    let closing = p.with_arena(closing_markers);
    let closes = closing_markers(format);
    let opens = openings(&closes);
    let around = [&*opens, &*closes];
    let own: Vec<String> = closes
        .iter()
        .cloned()
        .chain(own_starts(format).filter_map(|start| counterpart(&start)))
        .collect();
    let [own, ends] = [&own, &closing].map(|more| [&**ends, more].concat());
    let openings = starts.iter().filter(|start| is_marker(start));
    let openings: Vec<String> = openings.cloned().collect();
    let behind_own = behind(&p, &own, &openings, false);
    let behind = behind(&p, &ends, &openings, true);
    let call = p.sequence([wrapped(&p, call, held, around), behind]);
    if scope == Scope::Whole {
        let all = p.spaced([p.some(p.after_space(call)), p.end()]);
        // White space in front is visible at once, because most answers are text.
        return p.finish(p.sequence([p.content(p.space()), p.atomic(all)]));
    }
    let before = match scope {
        // A call that continues the row of the previous one.
        Scope::BehindCall | Scope::BehindWrapped => {
            let separator = wrappers::separator(&p);
            let next = p.after_space(p.spaced([separator, call]));
            // Bare calls in the same wrapper count only if something closes it.
            let closing = p.any_of(ends.iter().map(|end| end.trim()));
            let bare = p.some(p.after_space(p.spaced([p.optional(separator), bare])));
            let bare = p.atomic(p.spaced([bare, p.and(closing)]));
            // Anything else in its wrapper is text, except the marker that closes the wrapper.
            let closes = own.iter().map(|close| close.trim());
            let closes = closes.filter(|close| is_marker(close));
            let starts = ends_of_text(starts.clone(), opens.clone(), scope);
            let text =
                p.content(p.until_marker(starts.iter().map(String::as_str).chain(closes.clone())));
            let others = p.choice([p.any_of(closes), separator]);
            let late = [p.not(p.after_space(others)), text, behind_own];
            let close = match scope {
                Scope::BehindCall => p.choice([p.sequence(late), behind_own]),
                _ => {
                    let close = p.choice([wrappers::special(&p, true), p.literal("]")]);
                    p.sequence([p.optional(p.after_space(close)), behind])
                }
            };
            p.sequence([p.optional(bare), close, p.optional(next)])
        }
        Scope::BehindFound => behind,
        Scope::InCall => p.sequence([
            rest_of_call(
                &p,
                &self::starts(config, scope, true),
                closing,
                call_keys.is_some(),
            ),
            behind,
        ]),
        _ => p.empty(),
    };
    // Where calls of other dialects may begin, the text waits, and a program that reads them
    // continues.
    let others =
        (leniency.dialects != Dialects::Off).then(|| p.not(dialects::begins(&p, seen, tools)));
    // The text may begin like a call; `any` does not match invalid bytes.
    let text = p.sequence([
        p.optional(p.any()),
        p.until_marker(ends_of_text(starts, opens, scope)),
    ]);
    let text = p.sequence(others.into_iter().chain([p.content(text)]));
    p.finish(p.sequence([before, p.many(p.choice([call, text])), p.end()]))
}

/// The rest of an interrupted call: up to and including the nearest markers that can close it, or
/// up to the beginning of another call. For calls without markers, up to the end of the line.
/// `object`: a call is an object, whose own brace before that is none of the arguments.
fn rest_of_call(
    p: &FormatBuilder,
    starts: &[String],
    mut closing: Vec<String>,
    object: bool,
) -> ExprId {
    closing.retain(|marker| !starts.contains(marker));
    let marked = starts.iter().filter(|start| is_marker(start));
    let mut ends: Vec<&str> = closing.iter().chain(marked).map(String::as_str).collect();
    if ends.is_empty() {
        ends.push("\n");
    }
    let end = p.choice([p.any_of(ends.iter().copied()), p.end()]);
    let bracket = p.sequence([p.space(), p.optional(p.literal("]")), p.space()]);
    let brace = p.sequence([p.literal("}"), bracket, p.and(end)]);
    let run = p.until_marker(ends.into_iter().chain(object.then_some("}")));
    let more = p.many(p.sequence([p.and(p.literal("}")), p.not(brace), p.any(), run]));
    let text = p.tag(Tag::Broken, p.sequence([run, more]));
    p.sequence([text, p.optional(brace), p.many(p.any_of(&closing))])
}

/// The markers that close calls and their sections in all formats of an arena.
fn closing_markers(arena: &Arena) -> Vec<String> {
    let nodes = arena.nodes();
    let mut ends = vec![false; nodes.len()];
    for (id, node) in nodes.iter().enumerate() {
        let rule = if let Expr::Ref(name) = node {
            arena.rule_named(name)
        } else {
            None
        };
        let within = node.children().chain(rule).any(|child| ends[child.index()]);
        ends[id] = within || matches!(node, Expr::Tag(tag, _) if *tag == Tag::ToolClose.into());
    }
    let mut found: Vec<ExprId> = Vec::new();
    for node in nodes {
        match node {
            Expr::Tag(tag, child) if *tag == Tag::ToolClose.into() => found.push(*child),
            Expr::Sequence(children) => {
                let last = children.iter().rposition(|child| ends[child.index()]);
                found.extend(last.map_or(&[][..], |last| &children[last + 1..]));
            }
            _ => {}
        }
    }
    let (mut texts, mut seen) = (Vec::new(), HashSet::new());
    while let Some(id) = found.pop() {
        match arena.get(id) {
            _ if !seen.insert(id) => {}
            Expr::Marker(text) | Expr::Literal(text) => texts.push(text.trim().to_owned()),
            Expr::Sequence(children) | Expr::Choice(children) => found.extend(children),
            Expr::Ref(name) => found.extend(arena.rule_named(name)),
            Expr::Rule { child, .. }
            | Expr::Atomic(child)
            | Expr::Tolerated(child)
            | Expr::Tag(_, child)
            | Expr::Repeat(child, ..) => found.push(*child),
            _ => {}
        }
    }
    // The text before a token may be missing.
    let tokens = texts
        .iter()
        .filter_map(|text| Some(text[text.find(brackets::opens)?..].to_owned()));
    texts.extend(tokens.collect::<Vec<_>>());
    // The end of a tag that opens is none.
    texts.retain(|text| is_marker(text) && !text.starts_with('>'));
    sort::set(texts).into_iter().collect()
}
