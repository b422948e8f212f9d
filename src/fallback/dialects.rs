//! A table of the dialects in which models write calls instead of their template's format, with the texts that such calls
//! begin with.

use crate::format::members::{self, Member};
use crate::format::{FormatBuilder, Tag};
use crate::grammar::schema;
use crate::message::Tool;
use crate::peg::{ExprId, SchemaRef};

/// A dialect of calls.
struct Dialect {
    name: &'static str,
    /// The group of rows that it belongs to.
    rows: Rows,
    /// The texts that its calls may begin with.
    starts: &'static [&'static str],
    call: fn(&Offer) -> ExprId,
}

impl Dialect {
    /// A dialect whose calls begin with a marker.
    const fn marked(name: &'static str, starts: &'static [&'static str], call: fn(&Offer) -> ExprId) -> Dialect {
        Dialect { name, rows: Rows::Marked, starts, call }
    }
}

/// The table. The index of a row is part of its tag.
const DIALECTS: &[Dialect] = &[
    Dialect::marked(IN_TAGS, &[TOOL_CALL[0]], json_in_tags),
    Dialect::marked("function-tags", &[TOOL_CALL[0], "<function="], function_tags),
    Dialect::marked("invoke-tags", &[TOOL_CALL[0], "<function_calls>", "<invoke name=\""], invoke_tags),
    Dialect::marked("kimi-k2", &["<|tool_calls_section_begin|>", "<|tool_call_begin|>"], kimi_k2),
    Dialect::marked(
        "deepseek-r1",
        &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<tool▁calls▁begin>", "<tool▁call▁begin>"],
        deepseek_r1,
    ),
    Dialect::marked("deepseek-r1-function", &["function<"], deepseek_r1_function),
    Dialect::marked("deepseek-r1-list", &["function\n```json", "function ```json"], deepseek_r1_list),
    Dialect::marked("deepseek-r1-tags", &[TOOL_CALL[0]], deepseek_r1_tags),
    Dialect::marked("harmony", &["<|channel|>", "<|start|>assistant"], harmony),
    Dialect { name: "bare-json", rows: Rows::Bare, starts: &["{"], call: bare_json },
    Dialect { name: IN_TAGS, rows: Rows::Held, starts: &["{"], call: bare_json },
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

/// The calls of a group, and the texts that they begin with. `unknown`: also calls of tools that are not offered.
pub(super) fn calls(p: &FormatBuilder, tools: &[Tool], unknown: bool, rows: Rows) -> (Vec<ExprId>, Vec<String>) {
    let table = DIALECTS.iter().enumerate().filter(|(_, dialect)| dialect.rows == rows);
    let (mut calls, mut starts) = (Vec::new(), Vec::new());
    for (index, dialect) in table {
        starts.extend(dialect.starts.iter().map(|start| (*start).to_owned()));
        let start = p.and(p.any_of(dialect.starts.iter().copied()));
        calls.push(p.sequence([start, (dialect.call)(&Offer { p, tools, unknown, dialect: index })]));
    }
    (calls, starts)
}

/// The tool or tools that a row's calls may name.
struct Offer<'a> {
    p: &'a FormatBuilder,
    tools: &'a [Tool],
    unknown: bool,
    /// The index of the row.
    dialect: usize,
}

impl Offer<'_> {
    /// Any of the names.
    fn name(&self) -> ExprId {
        if self.unknown { self.noted(self.p.any_tool_name()) } else { self.known_name() }
    }

    /// A name, tagged with the dialect.
    fn noted(&self, name: ExprId) -> ExprId {
        self.p.sequence([self.p.tag(Tag::dialect(self.dialect), self.p.empty()), name])
    }

    fn known_name(&self) -> ExprId {
        self.noted(self.p.listed_tool_name(self.tools))
    }

    /// A call between these markers, with arguments as one JSON object.
    fn json_call(&self, before_name: ExprId, after_name: ExprId, close: ExprId) -> ExprId {
        let p = self.p;
        let head = p.atomic(p.sequence([p.tool_open(before_name), self.name(), after_name, p.space()]));
        p.sequence([head, p.any_json_args(), p.space(), p.tool_close(close)])
    }

    /// `{"name": "f", "arguments": {...}}` after `before`: the fields in either order, and `parameters` for `arguments`. The
    /// last brace is optional in front of `after`.
    fn object(&self, before: ExprId, name: ExprId, after: &str) -> ExprId {
        let p = self.p;
        let comma = || p.sequence([p.space(), p.marker(","), p.space()]);
        let kind = p.optional(p.sequence([p.json_member("type", p.marker("\"function\"")), comma()]));
        let open = p.sequence([before, p.space(), p.tool_open(p.marker("{")), p.space(), kind]);
        let name = p.json_member("name", p.sequence([p.marker("\""), name, p.marker("\"")]));
        let key = p.choice([p.marker("\"arguments\""), p.marker("\"parameters\"")]);
        let arguments = p.sequence([key, p.space(), p.marker(":"), p.space(), p.any_json_args(), p.space()]);
        let brace = p.marker("}");
        let close = p.tool_close(if after.is_empty() { brace } else { p.choice([brace, p.and(p.marker(after))]) });
        let name_first = p.sequence([p.atomic(p.sequence([open, name, comma()])), arguments, close]);
        let shallow =
            p.sequence([key, p.space(), p.marker(":"), p.space(), p.tool_args(self.shallow_object()), p.space()]);
        let name_last = p.atomic(p.sequence([open, shallow, p.marker(","), p.space(), name, p.space(), close]));
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

    /// Arguments in tags: `<open name close> value </parameter>`.
    fn tagged_call(&self, tags: &ArgumentTags) -> ExprId {
        let p = self.p;
        let any = Tool { name: FormatBuilder::ANY.to_owned(), ..Tool::default() };
        let unknown = self.unknown.then_some(&any);
        p.choice(self.tools.iter().chain(unknown).map(|tool| {
            let open = p.tool_open(p.optional(p.sequence([p.marker(tags.wrapper[0]), p.space()])));
            let name = p.sequence([p.marker(tags.call), self.noted(p.tool_name(&tool.name)), p.marker(tags.name_end)]);
            let head = p.atomic(p.sequence([open, name]));
            let extra_ends = p.many(p.sequence([p.space(), p.marker(PARAMETER_END)]));
            let one = |member: &Member| {
                let name = p.sequence([p.marker(tags.argument), p.arg_name(member.name), p.marker(tags.name_end)]);
                let end = p.sequence([p.arg_close(p.marker(PARAMETER_END)), extra_ends]);
                let json = p.sequence([p.space(), member.python(p), p.space(), end]);
                let close = p.sequence([p.space(), end]);
                let value = members::value(p, member.types(), close, json, self.text());
                p.sequence([p.atomic(p.sequence([name, p.optional(p.marker("\n"))])), value, extra_ends])
            };
            let arguments = if tool.name == FormatBuilder::ANY {
                members::arguments(p, tool, &one)
            } else {
                // The prefix keeps these rules apart from those of the format and of other dialects.
                let prefix = format!("{}{}{}-arg-", tags.wrapper[0], tags.call, tool.name);
                let parameters = SchemaRef::from(schema::parameters(&tool.parameters));
                let unlisted = members::unlisted_name(p, &prefix, &parameters);
                let any = one(&Member { name: &unlisted, ..Member::any() });
                members::in_any_order(p, &mut members::members(&parameters, &prefix), &one, any)
            };
            let close = p.tool_close(p.marker(tags.end));
            let rest = p.optional(p.sequence([p.space(), p.marker(tags.wrapper[1])]));
            p.sequence([head, arguments, p.space(), close, rest])
        }))
    }

    /// Text up to the closing tag, without the line break in front of it.
    fn text(&self) -> ExprId {
        let p = self.p;
        let on_its_own_line = format!("\n{PARAMETER_END}");
        let text = p.arg_text(p.until_marker([&*on_its_own_line, PARAMETER_END]));
        p.sequence([text, p.arg_close(p.choice([p.marker(on_its_own_line), p.marker(PARAMETER_END)]))])
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

const PARAMETER_END: &str = "</parameter>";

/// The tags of a dialect with tagged arguments.
struct ArgumentTags {
    /// The tags around the call; optional.
    wrapper: [&'static str; 2],
    call: &'static str,
    argument: &'static str,
    name_end: &'static str,
    end: &'static str,
}

/// `<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>`, the dialect of Hermes and Qwen.
fn json_in_tags(offer: &Offer) -> ExprId {
    let p = offer.p;
    p.sequence([offer.object(p.marker(TOOL_CALL[0]), offer.name(), TOOL_CALL[1]), offer.maybe(TOOL_CALL[1])])
}

/// `<tool_call><function=f><parameter=x>1</parameter></function></tool_call>`, the dialect of Qwen3-Coder.
fn function_tags(offer: &Offer) -> ExprId {
    let tags = ArgumentTags {
        wrapper: TOOL_CALL,
        call: "<function=",
        argument: "<parameter=",
        name_end: ">",
        end: "</function>",
    };
    offer.tagged_call(&tags)
}

/// `<tool_call><invoke name="f"><parameter name="x">1</parameter></invoke></tool_call>`.
fn invoke_tags(offer: &Offer) -> ExprId {
    let p = offer.p;
    let tags = ArgumentTags {
        wrapper: TOOL_CALL,
        call: "<invoke name=\"",
        argument: "<parameter name=\"",
        name_end: "\">",
        end: "</invoke>",
    };
    let listed = ArgumentTags { wrapper: ["<function_calls>", "</function_calls>"], ..tags };
    p.choice([offer.tagged_call(&tags), offer.tagged_call(&listed)])
}

/// `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x": 1}<|tool_call_end|>`, with or without a section.
fn kimi_k2(offer: &Offer) -> ExprId {
    let p = offer.p;
    let number = p.optional(p.sequence([p.marker(":"), p.some(p.one_of(&[('0', '9')]))]));
    let section = p.optional(p.sequence([p.marker("<|tool_calls_section_begin|>"), p.space()]));
    let start = p.sequence([section, p.marker("<|tool_call_begin|>"), p.space()]);
    let id = p.tool_id(p.sequence([p.optional(p.marker("functions.")), offer.name(), number]));
    let head = [p.tool_open(start), id, p.space(), p.marker("<|tool_call_argument_begin|>"), p.space()];
    let close = p.tool_close(p.marker("<|tool_call_end|>"));
    let end = offer.maybe("<|tool_calls_section_end|>");
    p.sequence([p.atomic(p.sequence(head)), p.any_json_args(), p.space(), close, end])
}

/// `<｜tool▁call▁begin｜>function<｜tool▁sep｜>f`, a JSON code block and `<｜tool▁call▁end｜>`, with or without a section.
fn deepseek_r1(offer: &Offer) -> ExprId {
    let p = offer.p;
    p.choice([["<｜", "｜>"], ["<", ">"]].map(|[left, right]| {
        let marker = |words: &str| format!("{left}{words}{right}");
        let section = p.optional(p.sequence([p.marker(marker("tool▁calls▁begin")), p.space()]));
        let begin = [section, p.marker(marker("tool▁call▁begin")), p.space(), p.marker("function")];
        let begin = p.sequence([p.sequence(begin), p.marker(marker("tool▁sep"))]);
        let end = p.sequence([p.marker("```"), p.space(), p.marker(marker("tool▁call▁end"))]);
        let call = offer.json_call(begin, offer.block_start(), end);
        p.sequence([call, offer.maybe(&marker("tool▁calls▁end"))])
    }))
}

/// `function<f>` and a JSON code block.
fn deepseek_r1_function(offer: &Offer) -> ExprId {
    let p = offer.p;
    let after = p.sequence([p.marker(">"), offer.block_start()]);
    offer.json_call(p.marker("function<"), after, p.marker("```"))
}

/// `function` and a JSON code block: `{"tools": [{"name": "f", "arguments": {"x": 1}}]}`.
fn deepseek_r1_list(offer: &Offer) -> ExprId {
    let p = offer.p;
    let list = p.json_member("tools", p.marker("["));
    let start = [p.marker("function"), offer.block_start(), p.marker("{"), p.space(), list];
    let more = p.sequence([p.space(), offer.object(p.marker(","), offer.name(), "")]);
    let end = [p.space(), p.marker("]"), p.space(), p.marker("}"), offer.maybe("```")];
    p.sequence([offer.object(p.sequence(start), offer.name(), ""), p.many(more), p.sequence(end)])
}

/// `<tool_call>function</think>f`, a JSON code block and `</tool_call>`.
fn deepseek_r1_tags(offer: &Offer) -> ExprId {
    let p = offer.p;
    let start = p.sequence([p.marker(TOOL_CALL[0]), p.space(), p.marker("function</think>")]);
    let call = offer.json_call(start, offer.block_start(), p.marker("```"));
    p.sequence([call, offer.maybe(TOOL_CALL[1])])
}

/// `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}<|call|>`: the recipient may be before or
/// behind the channel, and the header may lack parts or have errors that models make.
fn harmony(offer: &Offer) -> ExprId {
    let p = offer.p;
    let one_of = |words: &[&'static str]| p.any_of(words.iter().copied());
    let word = p.sequence([one_of(&["analysis", "commentary", "final"]), p.many(p.marker("?"))]);
    let channel = p.optional(p.sequence([p.marker("<|channel|>"), word]));
    let kind = p.optional(p.sequence([p.optional(p.marker("<|constrain|>")), one_of(&["json", "code"])]));
    let to = [p.optional(p.marker("<|start|>assistant")), channel, p.marker(" to=functions.")];
    let after = [channel, p.space(), kind, p.marker("<|message|>")];
    let close = p.choice([p.marker("<|call|>"), p.marker("<|end|>"), p.and(p.marker("<|start|>")), p.end()]);
    offer.json_call(p.sequence(to), p.sequence(after), close)
}

/// `{"name": "f", "arguments": {"x": 1}}` without a marker, for offered tools only.
fn bare_json(offer: &Offer) -> ExprId {
    offer.object(offer.p.empty(), offer.known_name(), "")
}
