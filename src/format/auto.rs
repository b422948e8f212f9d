//! Builds formats from a learnt layout: a turn is reasoning, then content, then calls, separated by the markers that the
//! analysis found.

use super::builder::FormatBuilder;
use super::calls::{json, tagged};
use super::wrappers;
use super::{Constraint, Delimiter, Format, FormatSpec, Thinking};
use crate::analysis::{ContentMode, Layout, ReasoningLayout, ReasoningMode, ToolFormat};
use crate::grammar::Trigger;
use crate::message::Continuation;
use crate::peg::{Arena, ExprId};

/// The format of a template with this layout, for one request. `calls`: whether the template can write tool calls.
pub fn build(layout: &Layout, spec: &FormatSpec, calls: bool) -> Format {
    let callable = layout.tools.format != ToolFormat::None && !spec.tools().is_empty();
    let thinking = (layout.reasoning.mode != ReasoningMode::None).then(|| Thinking {
        start: layout.reasoning.start.trim_ascii().to_owned(),
        ends: Some(layout.reasoning.end.trim_ascii().to_owned()).filter(|end| !end.is_empty()).into_iter().collect(),
    });
    Format {
        output: output(layout, spec, callable && calls),
        constraint: constraint(layout, spec, callable),
        preserved_tokens: layout.preserved_tokens.clone(),
        additional_stops: layout.additional_stops.clone(),
        thinking,
        delimiters: Delimiter::of_layout(layout),
        ..Format::default()
    }
}

/// A format in which all output behind the generation prompt is content.
pub fn pure_content(generation_prompt: &str) -> Format {
    let p = FormatBuilder::default();
    let root = p.spaced([p.exact(generation_prompt), p.content(p.rest())]);
    Format { output: p.finish(root), ..Format::default() }
}

/// The end of the prompt when the model continues a message: the opening of the turn, the reasoning so far and, if the
/// content is continued, the end of the reasoning and the content so far.
pub fn continued_prompt(layout: &Layout, generation_prompt: &str, reasoning: &str, content: Option<&str>) -> String {
    let mut prompt = generation_prompt.to_owned();
    let ReasoningLayout { mode, start, end } = &layout.reasoning;
    if !start.is_empty() {
        prompt.truncate(prompt.find(start.as_str()).unwrap_or(prompt.len()));
    }
    if !start.is_empty() || *mode != ReasoningMode::None {
        prompt.push_str(start);
        prompt.push_str(reasoning);
        if content.is_some() {
            prompt.push_str(end);
        }
    }
    prompt.push_str(content.unwrap_or(""));
    prompt
}

fn output(layout: &Layout, spec: &FormatSpec, callable: bool) -> Arena {
    let p = FormatBuilder::default();
    let reasoning = reasoning(&p, layout, spec);
    let mut plain = layout.reasoning.mode == ReasoningMode::None;
    let body = if let Some(schema) = spec.response_schema() {
        plain = false;
        p.sequence([reasoning, p.response(schema), p.end()])
    } else if callable {
        plain = false;
        let calls = match layout.tools.format {
            ToolFormat::JsonNative => json::calls(&p, &layout.tools, spec),
            _ => tagged::calls(&p, layout, spec),
        };
        p.sequence([reasoning, before_calls(&p, layout, spec), calls, turn_end(&p, layout), p.end()])
    } else {
        content(&p, layout, spec, reasoning)
    };
    let prefix = p.prefix(spec.opening, layout.reasoning.start.trim_ascii());
    let root = if plain { p.sequence([prefix, body]) } else { p.spaced([prefix, body]) };
    p.finish(root)
}

/// The output is constrained only by a response schema or by calls that have a marker.
fn constraint(layout: &Layout, spec: &FormatSpec, callable: bool) -> Constraint {
    let marker = layout.calls_marker();
    if spec.response_schema().is_some() || callable && spec.call_required() {
        return Constraint::Strict(Vec::new());
    }
    if !callable || marker.is_empty() {
        return Constraint::Free;
    }
    let wrapper = layout.tools.openai_wrapper.then(|| Trigger::word("{\"type\": \"function\","));
    Constraint::Lazy([Trigger::word(marker)].into_iter().chain(wrapper).collect())
}

fn reasoning(p: &FormatBuilder, layout: &Layout, spec: &FormatSpec) -> ExprId {
    let markers = &layout.reasoning;
    if !spec.extract_reasoning() || markers.mode == ReasoningMode::None || markers.end.is_empty() {
        return p.empty();
    }
    let text = p.reasoning(p.until(markers.end.trim_ascii()));
    p.optional(p.sequence([
        p.literal(&*markers.start),
        p.reopened(spec, &markers.start),
        text,
        p.literal(&*markers.end),
    ]))
}

fn content(p: &FormatBuilder, layout: &Layout, spec: &FormatSpec, reasoning: ExprId) -> ExprId {
    if !is_wrapped(layout) {
        return p.sequence([reasoning, p.content(p.rest()), p.end()]);
    }
    let extracts = spec.extract_reasoning() && layout.reasoning.mode != ReasoningMode::None;
    let before = if extracts { reasoning } else { p.content(p.until(&*layout.content.start)) };
    let plain = p.tolerated(p.content(p.until(&*layout.content.end)));
    p.sequence([before, p.choice([wrapped_content(p, layout, spec), plain]), p.end()])
}

fn is_wrapped(layout: &Layout) -> bool {
    let content = &layout.content;
    content.mode == ContentMode::AlwaysWrapped && !content.start.is_empty() && !content.end.is_empty()
}

/// The prompt may already contain the marker of the content of a continued message.
fn wrapped_content(p: &FormatBuilder, layout: &Layout, spec: &FormatSpec) -> ExprId {
    let start = p.literal(&*layout.content.start);
    let start = if spec.continuation == Continuation::Content { p.optional(start) } else { start };
    p.sequence([start, p.content(p.until(&*layout.content.end)), p.literal(&*layout.content.end)])
}

/// The end of a turn with calls, if the model writes it as text. Grammars leave it out, because a token ends the turn.
fn turn_end(p: &FormatBuilder, layout: &Layout) -> ExprId {
    let pieces = layout.tools.turn_end.iter().rev();
    let spelled = pieces.fold(p.space(), |rest, piece| p.optional(p.sequence([p.space(), p.literal(piece), rest])));
    p.tolerated(spelled)
}

/// Content in front of calls: text up to their marker.
fn before_calls(p: &FormatBuilder, layout: &Layout, spec: &FormatSpec) -> ExprId {
    if layout.tools.format == ToolFormat::JsonNative {
        if is_wrapped(layout) {
            let ends = [layout.calls_marker(), &layout.content.end].map(str::to_owned);
            let plain = p.tolerated(p.content(p.until_any(ends)));
            return p.optional(p.choice([wrapped_content(p, layout, spec), plain]));
        }
        return p.optional(match layout.calls_marker() {
            "" => wrappers::text_before(p, &["{".to_owned()], &[]),
            marker => p.content(p.until(marker)),
        });
    }
    let marker = match layout.calls_marker() {
        "" => &layout.function.name_prefix,
        marker => marker,
    };
    if marker.is_empty() { p.empty() } else { p.optional(p.content(p.until(marker))) }
}
