//! MiniMax-M3: calls as XML with a namespace token before each tag. Objects and arrays are nested elements; an element is
//! named after the argument or the member, or `item`.
//!
//! ```text
//! <mm:think>reasoning</mm:think>content]<]minimax[>[<tool_call>
//! ]<]minimax[>[<invoke name="f">]<]minimax[>[<x>text]<]minimax[>[</x>]<]minimax[>[</invoke>
//! ]<]minimax[>[</tool_call>
//! ```
//!
//! Not learnt, because the schema decides whether nested elements are an object, an array or a text, and without a schema
//! the element names do. Renders have only a few of these, with the names of probes.

use serde_json::Value;

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::calls::members::{self, Member};
use crate::format::prompt::{Prompt, PromptInput, plain};
use crate::format::{Delimiter, Format, FormatSpec, Thinking};
use crate::grammar::schema::{self, Types};
use crate::grammar::{Trigger, pointer};
use crate::limits::{NESTED_REFERENCES, REFERRING_PARTS};
use crate::message::Tool;
use crate::peg::{Arena, ExprId, SchemaRef};

/// Checks for the namespace token and the tags of a call.
pub fn detect(source: &str) -> bool {
    has_all(source, &["]<]minimax[>[", "<tool_call>", "<invoke name="])
}

/// Renders the prompt. A continuation opens the turn as the template does.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = plain(input)?;
    let opening = format!("{}<mm:think>", prompt.generation_prompt);
    Ok(prompt.continued(input, &opening, "</mm:think>"))
}

const NS: &str = "]<]minimax[>[";
const THINK: [&str; 2] = ["<mm:think>", "</mm:think>"];
const ANY_MEMBER: &str = "any-member";
const ANY_ITEM: &str = "any-item";

/// The format for one request.
pub fn build(spec: &FormatSpec) -> Format {
    let tokens = [NS, "<tool_call>", "</tool_call>", THINK[0], THINK[1]];
    Format {
        name: "peg-minimax-m3",
        constraint: spec.constraint(spec.response_object().is_some(), [Trigger::word(tag("tool_call"))]),
        preserved_tokens: tokens.map(str::to_owned).to_vec(),
        thinking: Some(Thinking::new(THINK[0], [THINK[1]])),
        delimiters: Delimiter::list([
            ("assistant", "]~b]ai"),
            ("user", "]~b]user"),
            ("tool", "]~b]tool"),
            ("system", "]~b]developer"),
            ("system", "]~b]system"),
        ]),
        output: output(spec),
        ..Format::default()
    }
}

fn tag(inside: &str) -> String {
    format!("{NS}<{inside}>")
}

fn output(spec: &FormatSpec) -> Arena {
    let p = FormatBuilder::default();
    let turn = p.prefix(spec.opening, THINK[0]);
    let reasoning = if spec.extract_reasoning() {
        let [open, close] = THINK.map(|tag| p.literal(tag));
        // A model without reasoning may write the closing tag alone.
        let block = p.sequence([open, p.space(), p.reopened(spec, THINK[0]), p.reasoning(p.until(THINK[1])), close]);
        p.optional(p.choice([block, close]))
    } else {
        p.empty()
    };
    let answer = if let Some(schema) = spec.response_object() {
        p.response(schema)
    } else if spec.tools().is_empty() {
        p.content(p.rest())
    } else {
        let calls = calls(&p, spec);
        let calls = p.calls(spec, calls);
        // White space between the reasoning and a call is not content.
        let gap = p.tolerated(p.optional(p.sequence([p.space(), p.and(p.literal(tag("tool_call")))])));
        p.sequence([gap, p.content(p.until(tag("tool_call"))), calls])
    };
    p.finish(p.sequence([turn, reasoning, answer, p.end()]))
}

fn calls(p: &FormatBuilder, spec: &FormatSpec) -> ExprId {
    undescribed(p);
    let each = p.any_tool(spec, &|tool| call(p, tool));
    let more = if spec.parallel() { p.many(p.sequence([p.space(), each])) } else { p.empty() };
    let end = p.choice([p.literal(tag("/tool_call")), p.end()]);
    let end = p.sequence([end, p.markup_ends()]);
    p.trigger_rule("tool-call", p.spaced([p.literal(tag("tool_call")), p.sequence([each, more]), end]))
}

fn call(p: &FormatBuilder, tool: &Tool) -> ExprId {
    let open = [p.literal(format!("{NS}<invoke name=\"")), p.tool_name(&tool.name), p.literal("\">")];
    let arguments = members::arguments(p, tool, &|member| element(p, member, 0));
    p.sequence([p.tool_open(p.sequence(open)), arguments, p.space(), p.tool_close(p.literal(tag("/invoke")))])
}

/// A member: its name in a tag, its value, and the closing tag. `refs`: number of references followed so far.
fn element(p: &FormatBuilder, member: &Member, refs: usize) -> ExprId {
    if FormatBuilder::is_any(member.name) {
        let listed = p.sequence([p.literal(format!("{NS}<")), p.space(), p.listed_name(member.name)]);
        return p.sequence([p.not(listed), p.reference(ANY_MEMBER)]);
    }
    let open = p.sequence([p.literal(format!("{NS}<")), p.space(), p.arg_name(member.name), p.literal(">")]);
    let close = tag(&format!("/{}", member.name));
    p.sequence([p.atomic(open), value(p, &member.schema, &member.rule, &close, refs)])
}

/// A value and its closing tag.
fn value(p: &FormatBuilder, schema: &SchemaRef, rule: &str, close: &str, refs: usize) -> ExprId {
    let mut ways = Ways { p, close, plain: Types::NONE, described: Types::NONE, nested: Vec::new(), text: false };
    ways.add(schema, rule, refs);
    if ways.is_empty() {
        ways.add_any();
    }
    ways.choice(schema, rule)
}

/// The forms in which a value may be written.
struct Ways<'a> {
    p: &'a FormatBuilder,
    close: &'a str,
    /// Types written as JSON.
    plain: Types,
    /// Objects and arrays with a schema for their members. They may also be written as JSON.
    described: Types,
    /// Objects and arrays as elements, each with the closing tag behind it.
    nested: Vec<ExprId>,
    text: bool,
}

impl Ways<'_> {
    fn is_empty(&self) -> bool {
        !self.text && self.plain == Types::NONE && self.nested.is_empty()
    }

    /// Adds the forms that a schema, or a branch of it, allows.
    fn add(&mut self, schema: &SchemaRef, rule: &str, refs: usize) {
        if schema.get().get("$ref").is_some() {
            // A schema that refers to itself in many places would grow on each level.
            let may_follow = refs < NESTED_REFERENCES && self.p.at(REFERRING_PARTS).is_none();
            return match pointer::followed(schema).filter(|_| may_follow) {
                Some(target) => self.add(&target, rule, refs + 1),
                None => self.add_any(),
            };
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.get().get(key) {
                for index in (0..branches.len()).map(|index| index.to_string()) {
                    self.add(&schema.within(&[key, &index]), &format!("{rule}|{index}"), refs);
                }
                return;
            }
        }
        let types = schema::types(schema.get(), &schema.document);
        if types == Types::ALL {
            return self.add_any();
        }
        let plain = [Types::NULL, Types::BOOLEAN, Types::NUMBER].into_iter().filter(|kind| types.has(*kind));
        self.plain = plain.fold(self.plain, Types::or);
        self.text |= types.has(Types::STRING);
        if types.has(Types::OBJECT) {
            self.add_object(schema, rule, refs);
        }
        if types.has(Types::ARRAY) {
            self.add_array(schema, rule, refs);
        }
    }

    fn add_object(&mut self, schema: &SchemaRef, rule: &str, refs: usize) {
        let p = self.p;
        let prefix = format!("{rule}/");
        let mut known = members::members(schema, &prefix).peekable();
        let inside = if known.peek().is_some() {
            self.described = self.described.or(Types::OBJECT);
            let unlisted = members::unlisted_name(p, &prefix, schema);
            let any = element(p, &Member { name: &unlisted, ..Member::any() }, refs);
            members::in_any_order(p, &mut known, &|member| element(p, member, refs), any)
        } else {
            self.plain = self.plain.or(Types::OBJECT);
            p.many(p.sequence([p.space(), p.reference(ANY_MEMBER)]))
        };
        self.nested.push(p.object(self.closed(inside)));
    }

    fn add_array(&mut self, schema: &SchemaRef, rule: &str, refs: usize) {
        let p = self.p;
        self.described = self.described.or(Types::ARRAY);
        let rule = format!("{rule}[]");
        let item = match schema.get().get("items") {
            Some(_) => {
                let value = value(p, &schema.within(&["items"]), &rule, &tag("/item"), refs);
                p.rule(rule, p.sequence([p.literal(tag("item")), value]))
            }
            None => p.reference(ANY_ITEM),
        };
        self.nested.push(p.array(self.closed(p.many(p.sequence([p.space(), item])))));
    }

    /// Adds all types.
    fn add_any(&mut self) {
        let p = self.p;
        self.plain = Types::ALL;
        self.text = true;
        self.nested.push(p.array(self.closed(p.some(p.sequence([p.space(), p.reference(ANY_ITEM)])))));
        self.nested.push(p.object(self.closed(p.some(p.sequence([p.space(), p.reference(ANY_MEMBER)])))));
    }

    fn closed(&self, inside: ExprId) -> ExprId {
        self.p.sequence([inside, self.p.space(), self.p.literal(self.close)])
    }

    /// The first character identifies JSON. All objects and arrays but the last are atomic; if text is allowed, so is
    /// everything except the text. If the schema allows text and elements, the elements are text as well.
    fn choice(self, schema: &SchemaRef, rule: &str) -> ExprId {
        let p = self.p;
        let end = p.arg_close(p.literal(self.close));
        let json = |types| {
            let json = p.arg_json(p.argument(p.json(), format!("{rule}-schema"), schema.clone(), false));
            p.sequence([members::sign(p, types), json, p.space(), end])
        };
        if self.text {
            let mut ways = Vec::new();
            if self.plain.has(Types::NULL) {
                ways.push(p.null(self.plain.or(Types::STRING), end));
            }
            if self.plain != Types::NONE {
                ways.push(p.atomic(json(self.plain)));
            }
            if self.plain == Types::ALL {
                ways.extend(self.nested.iter().map(|&way| p.atomic(way)));
            }
            let text = p.sequence([p.arg_text(p.until(self.close)), end]);
            return p.choice(ways.into_iter().chain([p.excluding(text, [self.close])]));
        }
        if let ([nested], Types::NONE) = (&*self.nested, self.plain) {
            // JSON begins with the same bracket as an element.
            return p.choice([p.at_once(*nested), json(self.described)]);
        }
        let types = self.plain.or(self.described);
        let null = self.plain.has(Types::NULL).then(|| p.null(self.plain, end));
        let ways = null.into_iter().chain((types != Types::NONE).then(|| json(types)));
        let last = self.nested.len().saturating_sub(1);
        let nested = self.nested.iter().enumerate().map(|(at, &way)| if at < last { p.atomic(way) } else { way });
        p.choice(ways.chain(nested))
    }
}

/// Rules for members and items without a schema: JSON if it parses as JSON, elements, or text. Values that are visible early
/// are identified by their first characters.
fn undescribed(p: &FormatBuilder) {
    let end = || p.literal(format!("{NS}</"));
    let json = p.atomic(p.sequence([members::sign(p, Types::ALL), p.arg_json(p.json()), p.and(end())]));
    let item = p.literal(tag("item"));
    let element = p.sequence([p.literal(format!("{NS}<")), p.not(p.literal("/"))]);
    let array = p.sequence([p.and(item), p.array(p.some(p.reference(ANY_ITEM)))]);
    let object = p.sequence([p.not(item), p.and(element), p.object(p.some(p.reference(ANY_MEMBER)))]);
    let text = p.sequence([p.not(element), p.arg_text(p.until(format!("{NS}</"))), p.arg_close(p.and(end()))]);
    let value = p.rule("any-value", p.choice([json, array, object, text]));
    // The name is not compared; text that continues to another tag is not a closing tag.
    let close = p.sequence([end(), p.until_any([">", "<"]), p.literal(">")]);
    p.rule(ANY_MEMBER, p.sequence([element, p.space(), p.key(p.until(">")), p.literal(">"), value, close]));
    p.rule(ANY_ITEM, p.sequence([item, value, p.literal(tag("/item"))]));
}
