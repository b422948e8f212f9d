//! What a request says in vain: no option is dropped without a word. `tests/together` has all pairs
//! of options.

use chatparse_format::FormatSpec;
use chatparse_jinja::Template;
use chatparse_message::{Continuation, JsonSpacing, MalformedArguments, Request, RevealedTools};

const UNREAD: &str = "the template does not read it";
const AS_GIVEN: &str = "a plain request shows the messages as they are";

/// A note for each option that changes neither the prompt nor the grammar nor how outputs are read.
/// `free`: there is no grammar.
pub fn notes(
    template: &Template,
    request: &Request,
    spec: &FormatSpec,
    prompt: &str,
    free: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    for name in request.template_kwargs.keys() {
        if template.has_word(name) {
            continue;
        }
        let group = if name == "reasoning_effort" {
            ""
        } else {
            "chat_template_kwargs."
        };
        notes.push(format!("{group}{name}: {UNREAD}"));
    }
    let options = &request.output;
    let (is_plain, is_pure) = (request.plain.is_some(), request.force_pure_content);
    let (must_call, structured) = (spec.call_required(), spec.response_schema().is_some());
    let unanswered =
        spec.options.json_schema.is_object() && spec.call_or_response() && must_call && !is_pure;
    let is_spaced = options.json_spacing != JsonSpacing::Template;
    let is_styled = is_spaced && !spec.is_faithful();
    let goes_on = is_spaced && !is_styled && spec.opening.goes_on();
    let last = request.messages.last();
    let thought = last.map_or("", |last| last.reasoning_content.trim());
    // Whether each note applies, its field, and why it has no effect.
    let rows = [
        (
            !options.enable_thinking && !is_plain && !template.knows_thinking_switch(),
            "enable_thinking",
            UNREAD,
        ),
        (
            is_pure && !request.tools.is_empty(),
            "tools",
            "force_pure_content reads all output as content",
        ),
        (
            must_call && spec.tools().is_empty(),
            "tool_choice",
            "there is no tool to call",
        ),
        (
            unanswered,
            "response_format",
            "a call is required, so no answer follows it",
        ),
        (
            !request.grammar.is_empty(),
            "grammar",
            "is no part of the params; the host gives it to its sampler",
        ),
        (
            options.prose && !((must_call || structured) && spec.is_faithful()),
            "prose",
            "the grammar allows content before calls anyway",
        ),
        (
            is_styled,
            "json_spacing",
            "grammars in llama.cpp's style have its white space",
        ),
        (
            goes_on,
            "json_spacing",
            "an answer that goes on may have any white space",
        ),
        (
            is_spaced && !is_styled && !goes_on && free,
            "json_spacing",
            "there is no grammar",
        ),
        (
            is_plain && request.malformed_arguments != MalformedArguments::Keep,
            "malformed_arguments",
            AS_GIVEN,
        ),
        (
            is_plain && request.revealed_tools != RevealedTools::Inline,
            "revealed_tools",
            AS_GIVEN,
        ),
        (
            is_plain && request.media_marker != "<__media__>",
            "media_marker",
            AS_GIVEN,
        ),
        (
            request.continuation != Continuation::None && !prompt.contains(thought),
            "continue_final_message",
            "the template does not show the reasoning so far",
        ),
    ];
    for (applies, field, why) in rows {
        if applies {
            notes.push(format!("{field}: {why}"));
        }
    }
    notes
}
