//! What a request says in vain: no option is dropped without a word. `tests/together` has all pairs
//! of options.

use chatparse_format::FormatSpec;
use chatparse_jinja::Template;
use chatparse_message::{Continuation, JsonSpacing, MalformedArguments, Request, RevealedTools};

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
    let mut note =
        |when: bool, field: &str, why: &str| notes.extend(when.then(|| format!("{field}: {why}")));
    let unread = "the template does not read it";
    for name in request
        .template_kwargs
        .keys()
        .filter(|name| !template.has_word(name))
    {
        let field = if name == "reasoning_effort" {
            name
        } else {
            &format!("chat_template_kwargs.{name}")
        };
        note(true, field, unread);
    }
    let is_plain = request.plain.is_some();
    let (tools, pure) = (!request.tools.is_empty(), request.force_pure_content);
    note(
        !request.output.enable_thinking && !is_plain && !template.knows_thinking_switch(),
        "enable_thinking",
        unread,
    );
    note(
        pure && tools,
        "tools",
        "force_pure_content reads all output as content",
    );
    note(
        spec.call_required() && spec.tools().is_empty(),
        "tool_choice",
        "there is no tool to call",
    );
    let unanswered = spec.options.json_schema.is_object()
        && spec.call_or_response()
        && spec.call_required()
        && !pure;
    note(
        unanswered,
        "response_format",
        "a call is required, so no answer follows it",
    );
    note(
        !request.grammar.is_empty(),
        "grammar",
        "is no part of the params; the host gives it to its sampler",
    );
    let asks = spec.call_required() || spec.response_schema().is_some();
    let idle = request.output.prose && !(asks && spec.is_faithful());
    note(
        idle,
        "prose",
        "the grammar allows content before calls anyway",
    );
    let spaced = request.output.json_spacing != JsonSpacing::Template;
    let styled = spaced && !spec.is_faithful();
    note(
        styled,
        "json_spacing",
        "grammars in llama.cpp's style have its white space",
    );
    let goes_on = spaced && !styled && spec.opening.goes_on();
    note(
        goes_on,
        "json_spacing",
        "an answer that goes on may have any white space",
    );
    note(
        spaced && !styled && !goes_on && free,
        "json_spacing",
        "there is no grammar",
    );
    let as_given = "a plain request shows the messages as they are";
    let malformed = request.malformed_arguments != MalformedArguments::Keep;
    note(is_plain && malformed, "malformed_arguments", as_given);
    note(
        is_plain && request.revealed_tools != RevealedTools::Inline,
        "revealed_tools",
        as_given,
    );
    note(
        is_plain && request.media_marker != "<__media__>",
        "media_marker",
        as_given,
    );
    let thought = request
        .messages
        .last()
        .map_or("", |last| last.reasoning_content.trim());
    let unseen = request.continuation != Continuation::None && !prompt.contains(thought);
    note(
        unseen,
        "continue_final_message",
        "the template does not show the reasoning so far",
    );
    notes
}
