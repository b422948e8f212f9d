//! A table of the dialects in which models write calls instead of their template's format, with the texts that such calls
//! begin with.

use chatparse_learn::analysis::turn::{COUNTER, CallForm, CallPiece, Slot};
use chatparse_learn::format::FormatBuilder;
use chatparse_learn::format::calls::described::{ARGUMENTS, NAME, call, form, one_by_one};
use chatparse_message::Tool;
use chatparse_peg::ExprId;

/// A dialect of calls. Wrappers around them count in all of them.
struct Dialect {
    name: &'static str,
    /// The group of rows that it belongs to.
    rows: Rows,
    /// The texts that its calls may begin with.
    starts: &'static [&'static str],
    calls: Calls,
}

/// How the calls of a dialect are written.
enum Calls {
    /// In one of these forms. A line break in them is any white space, or none.
    Forms(fn() -> Vec<CallForm>),
    /// In more ways than forms can say: the members of JSON are in any order, and what may be nested in front of the name has
    /// a bound; the parts of Harmony's header are in any order, and any may be missing.
    Built(fn(&Calling) -> ExprId),
}

impl Dialect {
    /// A dialect whose calls begin with a marker.
    const fn marked(name: &'static str, starts: &'static [&'static str], calls: Calls) -> Dialect {
        Dialect { name, rows: Rows::Marked, starts, calls }
    }
}

/// The table. The index of a row is part of its tag.
const DIALECTS: &[Dialect] = &[
    Dialect::marked(IN_TAGS, &[TOOL_CALL[0]], Calls::Built(json_in_tags)),
    Dialect::marked("function-tags", &["<function="], Calls::Forms(function_tags)),
    Dialect::marked("invoke-tags", &["<function_calls>", "<invoke name=\""], Calls::Forms(invoke_tags)),
    Dialect::marked("kimi-k2", &["<|tool_calls_section_begin|>", "<|tool_call_begin|>"], Calls::Forms(kimi_k2)),
    Dialect::marked(
        "deepseek-r1",
        &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<tool▁calls▁begin>", "<tool▁call▁begin>"],
        Calls::Forms(deepseek_r1),
    ),
    Dialect::marked("deepseek-r1-function", &["function<"], Calls::Forms(|| vec![in_block("function<", ">", "")])),
    Dialect::marked("deepseek-r1-list", &["function\n```json", "function ```json"], Calls::Built(deepseek_r1_list)),
    Dialect::marked(
        "deepseek-r1-tags",
        &[TOOL_CALL[0]],
        Calls::Forms(|| vec![in_block("<tool_call>\nfunction</think>", "", "")]),
    ),
    Dialect::marked("harmony", &["<|channel|>", "<|start|>assistant"], Calls::Built(harmony)),
    Dialect { name: "bare-json", rows: Rows::Bare, starts: &["{"], calls: Calls::Built(bare_json) },
    Dialect { name: IN_TAGS, rows: Rows::Held, starts: &["{"], calls: Calls::Built(bare_json) },
];

/// JSON in tags: those of Hermes and Qwen, which are the most common and often incomplete, or any other wrapper that marks
/// it.
const IN_TAGS: &str = "json-in-tags";

/// Maximum nesting of arguments in front of the name of their call.
const SHALLOW: usize = 16;

const TOOL_CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];

/// The name of the row with this index.
pub(crate) fn name(index: u16) -> Option<&'static str> {
    DIALECTS.get(usize::from(index)).map(|dialect| dialect.name)
}

/// Whether the calls of a row have no marker; `None` if there is no such row.
pub(super) fn is_bare(index: u16) -> Option<bool> {
    DIALECTS.get(usize::from(index)).map(|dialect| dialect.rows == Rows::Bare)
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

fn table(rows: Rows) -> impl Iterator<Item = (usize, &'static Dialect)> {
    DIALECTS.iter().enumerate().filter(move |(_, dialect)| dialect.rows == rows)
}

/// The texts that the calls of a group begin with.
pub(super) fn starts(rows: Rows) -> impl Iterator<Item = &'static str> {
    table(rows).flat_map(|(_, dialect)| dialect.starts.iter().copied())
}

/// The calls of a group.
pub(super) fn calls(p: &mut FormatBuilder, offer: Offer, rows: Rows) -> Vec<ExprId> {
    let mut calls = Vec::new();
    for (index, dialect) in table(rows) {
        p.dialect = Some(index);
        let call = match dialect.calls {
            Calls::Forms(forms) => call(p, forms(), offer.tools, offer.unknown),
            Calls::Built(call) => call(&Calling { p, offer }),
        };
        calls.push(p.sequence([p.and(p.any_of(dialect.starts.iter().copied())), call]));
    }
    p.dialect = None;
    calls
}

/// What a request offers to call, and how its template's model writes calls.
#[derive(Clone, Copy)]
pub(super) struct Offer<'a> {
    pub tools: &'a [Tool],
    /// The keys of the name and of the arguments in the format's calls, if those are JSON objects.
    pub keys: Option<&'a [String; 2]>,
    /// Whether tools that are not offered may be called.
    pub unknown: bool,
}

/// What the calls of a row are built with.
struct Calling<'a> {
    p: &'a FormatBuilder,
    offer: Offer<'a>,
}

impl Calling<'_> {
    /// Any of the names.
    fn name(&self) -> ExprId {
        if self.offer.unknown { self.p.any_tool_name() } else { self.known_name() }
    }

    fn known_name(&self) -> ExprId {
        self.p.listed_tool_name(self.offer.tools)
    }

    /// `{"name": "f", "arguments": {...}}` after `before`: the fields in either order, and `parameters`, or the keys of the format,
    /// for these. The last brace is optional in front of `after`.
    fn object(&self, before: ExprId, name: ExprId, after: &str) -> ExprId {
        let p = self.p;
        let comma = || p.sequence([p.space(), p.marker(","), p.space()]);
        let kind = p.optional(match p.mends {
            true => p.members_in_front(""),
            false => p.sequence([p.json_member("type", p.marker("\"function\"")), comma()]),
        });
        let [between, behind, nested] = match p.mends {
            true => [p.optional(p.other_members("")), p.members_behind(""), p.brace_behind()],
            false => [p.empty(); 3],
        };
        let open = p.sequence([before, p.space(), p.tool_open(p.marker("{")), p.space(), kind]);
        let own = self.offer.keys.map(|[name, arguments]| [&**name, &**arguments]);
        let name = p.sequence([p.marker("\""), name, p.marker("\"")]);
        let names = ["name"].into_iter().chain(own.map(|[name, _]| name).filter(|name| *name != "name"));
        let name = p.choice(names.map(|key| p.json_member(key, name)));
        let keys = ["arguments", "parameters"].into_iter();
        let keys = keys.chain(own.map(|[_, key]| key).filter(|key| !matches!(*key, "arguments" | "parameters")));
        let key = p.choice(keys.map(|key| p.marker(format!("\"{key}\""))));
        let arguments = p.sequence([key, p.space(), p.marker(":"), p.space(), p.any_json_args(), p.space()]);
        let brace = p.marker("}");
        let close = p.tool_close(if after.is_empty() { brace } else { p.choice([brace, p.and(p.marker(after))]) });
        let name_first =
            p.sequence([p.atomic(p.sequence([open, name, comma(), between])), arguments, behind, close, nested]);
        let shallow =
            p.sequence([key, p.space(), p.marker(":"), p.space(), p.tool_args(self.shallow_object()), p.space()]);
        let name_last = p.atomic(p.sequence([open, shallow, p.marker(","), p.space(), name, behind, p.space(), close]));
        p.choice([name_first, name_last])
    }

    /// Arguments in front of their name. Without a name the object is text, and each object nested in it is tried again as a
    /// call; so the cost grows with the nesting, which is bounded.
    fn shallow_object(&self) -> ExprId {
        let p = self.p;
        let container = |open: &str, close: &str, item: ExprId| {
            let next = p.sequence([p.space(), p.marker(","), p.space(), item]);
            let items = p.sequence([item, p.many(next), p.space()]);
            p.sequence([p.marker(open), p.space(), p.optional(items), p.marker(close)])
        };
        let words = ["true", "false", "null"].map(|word| p.marker(word));
        let plain = p.choice([p.json_string(), p.json_number()].into_iter().chain(words));
        let member = |value| p.sequence([p.json_string(), p.space(), p.marker(":"), p.space(), value]);
        let value = (1..SHALLOW).fold(plain, |inner, depth| {
            let containers = [container("{", "}", member(inner)), container("[", "]", inner), plain];
            p.rule(format!("shallow-{depth}"), p.choice(containers))
        });
        container("{", "}", member(value))
    }

    /// The opening of a JSON code block.
    fn block_start(&self) -> ExprId {
        self.p.sequence([self.p.space(), self.p.marker("```json"), self.p.space()])
    }

    /// An optional marker, with white space in front of it.
    fn maybe(&self, marker: &str) -> ExprId {
        self.p.optional(self.p.sequence([self.p.space(), self.p.marker(marker)]))
    }
}

/// `<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>`, the dialect of Hermes and Qwen.
fn json_in_tags(calling: &Calling) -> ExprId {
    let p = calling.p;
    p.sequence([calling.object(p.marker(TOOL_CALL[0]), calling.name(), TOOL_CALL[1]), calling.maybe(TOOL_CALL[1])])
}

/// `<function=f><parameter=x>1</parameter></function>`, the dialect of Qwen3-Coder.
fn function_tags() -> Vec<CallForm> {
    tagged("<function=", "<parameter=", ">", "</function>")
}

/// `<invoke name="f"><parameter name="x">1</parameter></invoke>`.
fn invoke_tags() -> Vec<CallForm> {
    tagged("<invoke name=\"", "<parameter name=\"", "\">", "</invoke>")
}

/// Arguments in tags, in texts of their own.
fn tagged(call: &str, argument: &str, name_end: &str, end: &str) -> Vec<CallForm> {
    let slot =
        Slot { open: format!("{name_end}\n").as_str().into(), close: "\n</parameter>\n".into(), ..Slot::default() };
    let members = one_by_one(&format!("{name_end}\n{argument}"), argument, slot);
    let pieces = vec![CallPiece::Glue(call.into()), CallPiece::Name, members];
    vec![CallForm { pieces, close: end.into() }, form(&format!("{call}{NAME}{name_end}\n{end}"))]
}

/// `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x": 1}<|tool_call_end|>`.
fn kimi_k2() -> Vec<CallForm> {
    let call = |before: &str| {
        let begin = "<|tool_call_begin|>\n";
        let mut call = form(&format!("{begin}{NAME}\n<|tool_call_argument_begin|>\n{ARGUMENTS}\n<|tool_call_end|>"));
        let behind = &*format!(":{COUNTER}");
        call.pieces[1] = CallPiece::NamedId { before: before.into(), behind: behind.into() };
        call
    };
    ["functions.", ""].map(call).into()
}

/// `<｜tool▁call▁begin｜>function<｜tool▁sep｜>f`, a JSON code block and `<｜tool▁call▁end｜>`.
fn deepseek_r1() -> Vec<CallForm> {
    let call = |[left, right]: [&str; 2]| {
        let [begin, sep, end] = ["call▁begin", "sep", "call▁end"].map(|word| format!("{left}tool▁{word}{right}"));
        in_block(&format!("{begin}\nfunction{sep}"), "", &format!("\n{end}"))
    };
    [["<｜", "｜>"], ["<", ">"]].map(call).into()
}

/// A call with its arguments in a JSON code block.
fn in_block(before_name: &str, behind_name: &str, end: &str) -> CallForm {
    form(&format!("{before_name}{NAME}{behind_name}\n```json\n{ARGUMENTS}\n```{end}"))
}

/// `function` and a JSON code block: `{"tools": [{"name": "f", "arguments": {"x": 1}}]}`.
fn deepseek_r1_list(calling: &Calling) -> ExprId {
    let p = calling.p;
    let list = p.json_member("tools", p.marker("["));
    let start = [p.marker("function"), calling.block_start(), p.marker("{"), p.space(), list];
    let more = p.sequence([p.space(), calling.object(p.marker(","), calling.name(), "")]);
    let end = [p.space(), p.marker("]"), p.space(), p.marker("}"), calling.maybe("```")];
    p.sequence([calling.object(p.sequence(start), calling.name(), ""), p.many(more), p.sequence(end)])
}

/// `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}<|call|>`: the recipient may be before or
/// behind the channel, and the header may lack parts or have errors that models make.
fn harmony(calling: &Calling) -> ExprId {
    let p = calling.p;
    let one_of = |words: &[&'static str]| p.any_of(words.iter().copied());
    let word = p.sequence([one_of(&["analysis", "commentary", "final"]), p.many(p.marker("?"))]);
    let channel = p.optional(p.sequence([p.marker("<|channel|>"), word]));
    let kind = p.optional(p.sequence([p.optional(p.marker("<|constrain|>")), one_of(&["json", "code"])]));
    let to = [p.optional(p.marker("<|start|>assistant")), channel, p.marker(" to=functions.")];
    let after = [channel, p.space(), kind, p.marker("<|message|>")];
    let close = p.choice([p.marker("<|call|>"), p.marker("<|end|>"), p.and(p.marker("<|start|>")), p.end()]);
    let head = p.sequence([p.tool_open(p.sequence(to)), calling.name(), p.sequence(after), p.space()]);
    p.sequence([p.atomic(head), p.any_json_args(), p.space(), p.tool_close(close)])
}

/// `{"name": "f", "arguments": {"x": 1}}` without a marker, for offered tools only.
fn bare_json(calling: &Calling) -> ExprId {
    calling.object(calling.p.empty(), calling.known_name(), "")
}
