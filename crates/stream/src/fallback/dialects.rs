//! The dialects in which models write calls instead of their template's format, with the texts that
//! their calls begin with.
//!
//! A dialect is a stored turn (`dialects.json`): most are learnt of the built-in templates, which a
//! test writes; dialects of no template follow them. Only JSON without a marker is an expression of
//! its own: it bounds the nesting before a call's name.

use std::ops::Range;
use std::sync::LazyLock;

use crate::output::is_of_name;
use chatparse_base::brackets::is_marker;
use chatparse_base::sort;
use chatparse_format::FormatBuilder;
use chatparse_format::calls::described::section;
use chatparse_format::late::{Late, Want};
use chatparse_format::wrappers;
use chatparse_learn::analysis::turn::{Reasoning, TurnFormat};
use chatparse_message::Tool;
use chatparse_peg::{self as peg, ExprId, Program};

/// A dialect of calls. Wrappers around them count in all of them.
struct Dialect {
    name: String,
    /// The group of rows that it belongs to.
    rows: Rows,
    /// The texts that its calls may begin with.
    starts: Vec<String>,
    named: Option<Named>,
    /// How its calls are written. A line break is any white space, or none. `None`: as JSON without
    /// a marker.
    turn: Option<TurnFormat>,
}

/// The texts around the name that a call begins with, if only the text after it is a marker.
struct Named {
    /// One of these is before the name.
    before: Vec<String>,
    behind: String,
}

/// A row of the table: its name, the texts that its calls begin with, and its turn.
type StoredRow = (String, Vec<String>, TurnFormat);

/// The table. The index of a row is part of its tag.
static DIALECTS: LazyLock<Vec<Dialect>> = LazyLock::new(|| {
    let stored: Vec<StoredRow> =
        serde_json::from_str(include_str!("dialects.json")).unwrap_or_default();
    let mut rows: Vec<Dialect> = stored.into_iter().map(Dialect::from).collect();
    // Who writes arguments one by one may write them as one object, but not the other way round.
    sort::by_key(&mut rows, |dialect| {
        let mut turns = dialect.turn.iter();
        !turns.any(|turn| turn.members().next().is_some())
    });
    for (name, group) in [("bare-json", Rows::Bare), (IN_TAGS, Rows::Held)] {
        rows.push(Dialect {
            name: name.to_owned(),
            rows: group,
            starts: vec!["{".to_owned()],
            named: None,
            turn: None,
        });
    }
    debug_assert!(rows.len() <= Seen::ROWS, "a bit for each row");
    rows
});

impl From<StoredRow> for Dialect {
    fn from((name, starts, turn): StoredRow) -> Dialect {
        let mut named = Named::of(&turn);
        // Where nothing marks the calls, the name of an offered tool on a line of its own begins
        // them.
        let mut rows = Rows::Marked;
        if starts.is_empty() && named.is_none() {
            rows = Rows::Bare;
            named = Some(Named {
                before: vec![String::new()],
                behind: "\n{".to_owned(),
            });
        }
        Dialect {
            name,
            rows,
            starts,
            named,
            turn: Some(turn),
        }
    }
}

impl Dialect {
    /// The texts that calls of these tools may begin with; without `whole`, the text before the
    /// name is enough.
    fn starts(&self, tools: &[Tool], whole: bool) -> Vec<String> {
        let mut starts = self.starts.clone();
        if let Some(Named { before, behind }) = &self.named {
            for before in before {
                if whole || before.is_empty() {
                    let names = tools.iter().map(|tool| &tool.name);
                    starts.extend(names.map(|name| format!("{before}{name}{behind}")));
                } else {
                    starts.push(before.clone());
                }
            }
        }
        starts
    }

    /// The expression of their beginnings.
    fn begins(&self, p: &FormatBuilder, tools: &[Tool]) -> ExprId {
        let starts = p.any_of(&self.starts);
        let Some(Named { before, behind }) = &self.named else {
            return starts;
        };
        let names = p.shared("offered names", || {
            p.one_of_tools(tools, |name| p.marker(name))
        });
        let named = before
            .iter()
            .map(|before| p.sequence([p.marker(&**before), names, p.marker(&**behind)]));
        p.choice(named.chain([starts]))
    }

    /// Its calls. `first`: the number of its first part.
    fn calls(&self, p: &mut FormatBuilder, offer: Offer, first: u32, want: Want) -> ExprId {
        let Some(turn) = &self.turn else {
            return bare_json(p, offer);
        };
        p.late = Late::of(turn, offer.tools, want);
        p.late.first = first;
        // No thought is left open before a call.
        let marks = p.any_of(turn.reasoning.iter().flat_map(marks_of));
        let front = p.repeat(p.sequence([marks, p.space()]), 0, Some(wrappers::MARKS));
        p.sequence([front, section(p, turn, offer.tools, offer.unknown)])
    }
}

impl Named {
    fn of(turn: &TurnFormat) -> Option<Named> {
        let behind = turn.marker_behind_names()?.to_owned();
        let before = turn.before_calls();
        let before = sort::set(before.map(|glue| glue.head().trim_start().to_owned()));
        Some(Named {
            before: before.into_iter().collect(),
            behind,
        })
    }

    /// The beginning of a call whose name, of a known tool, ends this text.
    fn begins(&self, text: &[u8], is_known: &impl Fn(&str) -> bool) -> Option<usize> {
        let from = text.len().saturating_sub(NAME_BYTES);
        let name = text[from..]
            .iter()
            .rposition(|byte| !is_of_name(*byte))
            .map_or(from, |at| from + at + 1);
        let (text, name) = text.split_at(name);
        if !std::str::from_utf8(name).is_ok_and(is_known) {
            return None;
        }
        let before = self
            .before
            .iter()
            .filter(|before| text.ends_with(before.as_bytes()));
        before.map(|before| text.len() - before.len()).min()
    }
}

/// Maximum length in bytes of a name that is searched for before its marker.
const NAME_BYTES: usize = 256;

/// The markers of reasoning.
fn marks_of(reasoning: &Reasoning) -> Vec<String> {
    let texts = [
        &*reasoning.start,
        reasoning.open.head(),
        reasoning.close.head(),
    ]
    .map(|text| text.trim().to_owned());
    texts.into_iter().filter(|text| is_marker(text)).collect()
}

/// JSON in tags: of Hermes and Qwen, which are the most common and often incomplete, or in any
/// other wrapper.
const IN_TAGS: &str = "json-in-tags";

/// Maximum nesting of arguments before the name of their call.
const SHALLOW: usize = 16;

/// The name of the row with this index.
pub(crate) fn name(index: u16) -> Option<&'static str> {
    DIALECTS
        .get(usize::from(index))
        .map(|dialect| &*dialect.name)
}

/// Whether the calls of a row have no marker; `None` if there is no row of this index.
pub(super) fn is_bare(index: u16) -> Option<bool> {
    DIALECTS
        .get(usize::from(index))
        .map(|dialect| dialect.rows == Rows::Bare)
}

/// A group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// Dialects with markers.
    Marked,
    /// Bare JSON.
    Bare,
    /// Bare JSON inside a wrapper that marks it.
    Held,
}

/// Rows with markers that were seen: only their calls can be in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen(u64);

impl Seen {
    pub const ALL: Seen = Seen(u64::MAX);
    const ROWS: usize = u64::BITS as usize;

    /// These rows and others.
    pub fn and(self, other: Seen) -> Seen {
        Seen(self.0 | other.0)
    }

    fn has(self, row: usize) -> bool {
        self.0 >> row & 1 == 1
    }
}

fn table(rows: Rows) -> impl Iterator<Item = (usize, &'static Dialect)> {
    DIALECTS
        .iter()
        .enumerate()
        .filter(move |(_, dialect)| dialect.rows == rows)
}

/// The texts that the calls of a group begin with; without `whole`, the text before a tool's name
/// is enough.
pub(super) fn starts(rows: Rows, tools: &[Tool], whole: bool) -> impl Iterator<Item = String> {
    table(rows).flat_map(move |(_, dialect)| dialect.starts(tools, whole))
}

/// The beginnings of calls of rows with markers, except for rows that were seen.
pub(super) fn begins(p: &FormatBuilder, seen: Seen, tools: &[Tool]) -> ExprId {
    let rows = table(Rows::Marked).filter(|(row, _)| !seen.has(*row));
    p.choice(rows.map(|(_, dialect)| dialect.begins(p, tools)))
}

/// A text that calls begin with, or that follows their names, and the row.
type Ending = (&'static [u8], usize, Option<&'static Named>);

/// A text that calls begin with, in an output.
pub(super) struct Start {
    pub span: Range<usize>,
    /// The rows whose calls begin so and were not seen before.
    pub rows: Seen,
}

/// The first text that ends after `from` and that calls of rows begin with which were not seen
/// yet. `is_known`: whether a tool has this name.
pub(super) fn find(
    output: &[u8],
    from: usize,
    seen: Seen,
    is_known: impl Fn(&str) -> bool,
) -> Option<Start> {
    // By last byte, which few bytes of prose are.
    static ENDING: LazyLock<Vec<Vec<Ending>>> = LazyLock::new(|| {
        let mut ending = vec![Vec::new(); 256];
        for (row, dialect) in table(Rows::Marked) {
            let named = dialect.named.as_ref();
            let starts = dialect
                .starts
                .iter()
                .map(|start| (start.as_bytes(), row, None));
            for start in
                starts.chain(named.map(|named| (named.behind.as_bytes(), row, Some(named))))
            {
                ending[usize::from(start.0[start.0.len() - 1])].push(start);
            }
        }
        ending
    });
    for last in from..output.len() {
        let (text, mut found) = (&output[..=last], None);
        for &(end, row, named) in &ENDING[usize::from(output[last])] {
            let Some(before) = text.strip_suffix(end).filter(|_| !seen.has(row)) else {
                continue;
            };
            let begins = match named {
                Some(named) => named.begins(before, &is_known),
                None => Some(before.len()),
            };
            let Some(begins) = begins else { continue };
            let start = found.get_or_insert(Start {
                span: begins..last + 1,
                rows: Seen::default(),
            });
            start.span.start = start.span.start.min(begins);
            start.rows = start.rows.and(Seen(1 << row));
        }
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Bare rows whose calls begin with names.
pub(super) fn named() -> Seen {
    table(Rows::Bare)
        .filter(|(_, dialect)| dialect.named.is_some())
        .fold(Seen::default(), |all, (row, _)| Seen(all.0 | 1 << row))
}

/// The calls of a group; of the rows with markers or with leading names, only the seen ones.
/// `late`: the parts so far.
pub(super) fn calls(
    p: &mut FormatBuilder,
    offer: Offer,
    rows: Rows,
    seen: Seen,
    late: &mut LateRows,
) -> Vec<ExprId> {
    let mut calls = Vec::new();
    for (index, dialect) in table(rows).filter(|(index, dialect)| {
        seen.has(*index) || rows != Rows::Marked && dialect.named.is_none()
    }) {
        p.dialect = Some(index);
        let call = dialect.calls(p, offer, late.count, Want::Linked);
        let parts = std::mem::take(&mut p.late);
        late.rows.push(LateRow {
            first: late.count,
            row: index,
            unknown: offer.unknown,
        });
        (late.count, late.widest) = (late.count + parts.count(), late.widest.max(parts.widest()));
        calls.push(p.sequence([p.and(dialect.begins(p, offer.tools)), call]));
    }
    p.dialect = None;
    calls
}

/// The parts of calls that are built where an output has them: the format's, then the rows'.
pub(super) struct LateRows {
    /// How many there are.
    pub count: u32,
    /// The most alternatives of their choices.
    pub widest: u32,
    pub rows: Vec<LateRow>,
}

pub(super) struct LateRow {
    /// The number of its first part.
    first: u32,
    row: usize,
    /// As it was offered.
    unknown: bool,
}

impl LateRows {
    /// The program of a part of a row, which depends on its tool alone.
    pub fn program(&self, number: u32, offer: Offer, mends: bool) -> Option<Program> {
        let LateRow {
            first,
            row,
            unknown,
        } = self.rows.iter().rfind(|row| row.first <= number)?;
        let mut p = FormatBuilder::default();
        (p.mends, p.dialect) = (mends, Some(*row));
        let (count, part) = (offer.tools.len(), (number - first) as usize);
        let tools = std::slice::from_ref(offer.tools.get(part % count)?);
        let root = DIALECTS[*row].calls(
            &mut p,
            Offer {
                unknown: *unknown,
                tools,
                ..offer
            },
            *first,
            Want::Whole,
        );
        let parts = p.late.built();
        let mut arena = p.finish(root);
        arena.set_root(
            parts
                .into_iter()
                .find(|(call, _)| *call as usize == part / count)?
                .1,
        );
        peg::compile_part(&arena).ok()
    }
}

/// The tools that a request offers, and the keys of the template's calls.
#[derive(Clone, Copy)]
pub(super) struct Offer<'a> {
    pub tools: &'a [Tool],
    /// The keys of the name and of the arguments in the format's calls, if those are JSON objects.
    pub keys: Option<&'a [String; 2]>,
    /// Whether tools that are not offered may be called.
    pub unknown: bool,
}

/// `{"name": "f", "arguments": {...}}` of an offered tool, without a marker: the fields in either
/// order, and `parameters`, or the keys of the format, for these.
fn bare_json(p: &FormatBuilder, offer: Offer) -> ExprId {
    let comma = p.sequence([p.space(), p.marker(","), p.space()]);
    let [kind, inner, between, behind] = if p.mends {
        let inner = p.sequence([p.json_member("function", p.marker("{")), p.space()]);
        [
            p.optional(p.members_in_front("", false)),
            p.optional(inner),
            p.optional(p.other_members("", false)),
            p.members_behind(""),
        ]
    } else {
        let kind = p.sequence([p.json_member("type", p.marker("\"function\"")), comma]);
        [p.optional(kind), p.empty(), p.empty(), p.empty()]
    };
    let open = p.spaced([p.tool_open(p.marker("{")), kind]);
    let open = p.after_space(p.sequence([open, inner]));
    // The quotation mark after the name may be missing, and one may follow the arguments.
    let quote = p.choice([p.marker("\""), p.and(p.literal(", \""))]);
    let name = p.one_of_tools(offer.tools, |name| p.tool_name(name));
    let single = p.literal("'");
    let single = p.mends.then(|| p.sequence([single, name, single]));
    let name = p.choice(
        [p.sequence([p.marker("\""), name, quote])]
            .into_iter()
            .chain(single),
    );
    let (mut names, mut keys) = (vec!["name"], vec!["arguments", "parameters"]);
    if let Some([name, arguments]) = offer.keys {
        names.extend(Some(&**name).filter(|name| *name != "name"));
        keys.extend(Some(&**arguments).filter(|key| !matches!(*key, "arguments" | "parameters")));
    }
    let name = p.choice(names.into_iter().map(|key| p.json_member(key, name)));
    let key = p.choice(keys.into_iter().map(|key| p.json_word(key)));
    let behind_text = p.optional(p.literal("\""));
    let colon = p.marker(":");
    let arguments = p.spaced([key, colon, p.any_json_args()]);
    let arguments = p.sequence([arguments, behind_text, p.space()]);
    let brace = p.marker("}");
    let close = p.tool_close(brace);
    // An id after the call in the object around it is the call's.
    let close = if p.mends {
        let nested = p.tool_close(p.sequence([brace, p.outer_end()]));
        p.choice([p.tolerated(nested), close])
    } else {
        close
    };
    let name_first = p.sequence([
        p.atomic(p.sequence([open, name, comma, between])),
        arguments,
        behind,
        close,
    ]);
    let shallow = p.spaced([key, colon, p.tool_args(shallow_object(p))]);
    let name_last = p.atomic(p.sequence([
        open,
        p.spaced([shallow, p.marker(","), name]),
        behind,
        p.space(),
        close,
    ]));
    p.choice([name_first, name_last])
}

/// Arguments before their name. Without a name the object is text, and each object nested in
/// it is tried again as a call; so the cost grows with the nesting, which is bounded.
fn shallow_object(p: &FormatBuilder) -> ExprId {
    let words = ["true", "false", "null"].map(|word| p.marker(word));
    let string = if p.mends {
        p.python_string()
    } else {
        p.json_string()
    };
    let plain = p.choice([string, p.json_number()].into_iter().chain(words));
    let mut value = plain;
    for depth in 1..SHALLOW {
        let containers = [
            shallow_members(p, string, value),
            shallow_container(p, ["[", "]"], value),
            plain,
        ];
        value = p.rule(format!("shallow-{depth}"), p.choice(containers));
    }
    shallow_members(p, string, value)
}

fn shallow_members(p: &FormatBuilder, name: ExprId, value: ExprId) -> ExprId {
    let member = p.spaced([name, p.marker(":"), value]);
    shallow_container(p, ["{", "}"], member)
}

fn shallow_container(p: &FormatBuilder, [open, close]: [&str; 2], item: ExprId) -> ExprId {
    let next = p.after_space(p.spaced([p.marker(","), item]));
    let items = p.sequence([item, p.many(next), p.space()]);
    p.sequence([
        p.marker(open),
        p.space(),
        p.optional(items),
        p.marker(close),
    ])
}
