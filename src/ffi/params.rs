//! What one request needs.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use super::error::chat_error;
use super::grammar::{self, chat_grammar, chat_trigger};
use super::guard::guard;
use super::ptr::{give, item, required};
use super::status::chat_status;
use super::template::chat_template;
use super::text::{chat_str, utf8, view};
use crate::chat::Params;
use crate::format::Thinking;
use crate::message::Request;
use crate::next::{Rewrite, Session};

/// What one request needs: its prompt, what the sampler and the tokeniser must know, the parser of the output, and the messages, for
/// `chat_params_continue`. Immutable; may be shared between threads, e.g. by the streams of several choices of one request.
pub struct chat_params {
    pub(super) session: Session,
    /// Of those that go on behind others.
    pub(super) next: Option<Continued>,
    json: OnceLock<String>,
    /// The sources of the media as JSON.
    sources: OnceLock<Vec<String>>,
}

/// How params go on behind others.
pub(super) struct Continued {
    pub kept: usize,
    pub rewrite: Option<Rewrite>,
    pub short: bool,
}

impl chat_params {
    pub(super) fn new(session: Session, next: Option<Continued>) -> Self {
        chat_params { session, next, json: OnceLock::new(), sources: OnceLock::new() }
    }

    pub(super) fn params(&self) -> &Params {
        &self.session.params
    }

    /// Made when somebody asks: media may be large.
    fn sources(&self) -> &[String] {
        self.sources.get_or_init(|| self.params().media.iter().map(|media| media.source.to_string()).collect())
    }
}

/// Renders the prompt of a request and builds the parser of its output. The first call on a template also learns the
/// template's format.
///
/// `request` is the JSON text of an OpenAI chat-completions body. Read are
/// - `messages` (required): `role`, `content` (a text, or parts `text`, `refusal`, `thinking`, `image_url`, `input_audio`, `file` and
///   what vendors call such: see `chat_params_media`), `reasoning_content` (or `reasoning`, `thinking`), `tool_calls`, `function_call`, `name`,
///   `tool_call_id`, `refusal`;
/// - `tools`: of type `function` (with `strict`, `return`), or `custom`, which becomes a function with one argument `input`: its format
///   may be a regular expression, not a Lark grammar;
/// - `tool_choice`: `auto`, `required`, `none`, a tool by its name, or `allowed_tools`; `parallel_tool_calls` (default false);
/// - `response_format`: `text`, `json_object` or `json_schema`; `reasoning_effort`;
///
/// and the host's options, which may also stand beside the body (`chat_params_from_template_with`):
/// - `reasoning_format`: `none`, `auto`, `deepseek` or `deepseek-legacy`; anything but `none` tells reasoning from content; default
///   `auto`;
/// - `enable_thinking` (default true), `add_generation_prompt` (default true), `continue_final_message` (true, `content` or
///   `reasoning_content`), `chat_template_kwargs` (an object of further template variables);
/// - `plain`: the template sees `messages`, `tools`, `documents` and `chat_template_kwargs` as they are, of any form, and no other
///   variable, as with transformers; default false;
/// - `json_schema`, `grammar` (GBNF), `grammar_style` (`faithful`, `llama.cpp` or `llama.cpp-b10587`: how schemas become rules; default
///   `faithful`), `force_pure_content`;
/// - `now`: Unix seconds, the only clock that the template sees; default the system's. Where there is none (`wasm32-unknown-unknown`),
///   a template that asks for the date fails without `now`;
/// - `media_marker`: what stands in the prompt for media that the template does not show; default `<__media__>`;
/// - `malformed_arguments`: `keep`, `empty` or `error`: whether arguments of earlier calls that are no JSON object stay as text,
///   become `{}`, or make the request fail; default `keep`;
/// - `dialects`: `off`, `recover` or `always`: whether calls that are written in another way than the template's are read nowhere,
///   once the output has left the format, or in all content; default `recover`;
/// - `unknown_tools`: `call` or `content`: what calls of tools are that the request does not offer; default `call`;
/// - `calls_in_reasoning`: `off`, `at_end` or `always`: whether calls inside reasoning are reasoning, calls where the output ends with
///   them and the reasoning was not closed, or calls; default `off`;
/// - `bare_calls`: `off`, `whole` or `anywhere`: whether a JSON object that no marker tells from a quotation is a call nowhere, where
///   the whole answer is nothing but calls of the tools on offer, or wherever other ways are read; default `whole`;
/// - `opening_again`: `marker` or `reasoning`: whether the opening of the reasoning, where the model writes it once more, is left out or
///   text of the reasoning; default `marker`.
///
/// Other fields are ignored, unless one is but a slip away from an option. The text is copied.
///
/// On success `*out` is a new object, to be freed with `chat_params_free`. It does not need the template any more.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, naming the field that is wrong, e.g. `messages[2].tool_calls[0].function.name`, or
/// the first byte that is not UTF-8; `CHAT_STATUS_TEMPLATE` where the template raises or fails; `CHAT_STATUS_SCHEMA` where
/// `json_schema` cannot be used; `CHAT_STATUS_LIMIT` where the request or the prompt is too long, too deep or too costly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_from_template(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_params>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        // SAFETY: the caller's text, by the contract.
        let request = Request::from_text(unsafe { utf8(request, request_len, "request") }?)?;
        out.write(give(chat_params::new(template.template.session(request)?, None)));
        Ok(())
    })
}

/// The same with the host's options beside the client's body: `options` is a JSON object of the options above, each of which
/// counts before the body's field of that name.
///
/// On success `*out` is a new object, to be freed with `chat_params_free`. It does not need the template any more.
///
/// Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` for an option that there is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_from_template_with(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_params>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        // SAFETY: the caller's texts, by the contract.
        let (request, options) =
            unsafe { (utf8(request, request_len, "request")?, utf8(options, options_len, "options")?) };
        let request = Request::from_text_with(request, options)?;
        out.write(give(chat_params::new(template.template.session(request)?, None)));
        Ok(())
    })
}

/// The prompt: what the model is given. The view is valid until the params are freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_prompt(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params().prompt.as_str()))
}

/// The end of the prompt that is already the assistant's turn. Streams made from these params know it: do not feed it to
/// them. The view is valid until the params are freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_generation_prompt(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params().generation_prompt.as_str()))
}

/// A piece of media that the prompt wants. The texts are valid until the params that it was asked of are freed.
#[repr(C)]
pub struct chat_media {
    /// `image`, `audio`, `video` or `file`.
    pub kind: chat_str,
    /// What stands in the prompt for it. Several may have the same text: they come in the prompt's order.
    pub text: chat_str,
    /// The part of the request as JSON, e.g. `{"type": "image_url", "image_url": {"url": ...}}`.
    pub source: chat_str,
    /// Index of its message in the request.
    pub message: usize,
    /// Index of its part in that message's content.
    pub part: usize,
    /// Whether the template wrote `text`; otherwise it is the option `media_marker`.
    pub native: bool,
}

/// How many pieces of media the prompt wants. 0 for NULL, and for a plain request: its media is the host's.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_media_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().media.len())
}

/// Number `index` (from 0) of the media, in the order of the prompt.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_media(
    params: Option<&chat_params>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_media>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        let media = item(&params.params().media, index, "pieces of media")?;
        out.write(chat_media {
            kind: view(Some(&media.kind)),
            text: view(Some(&media.text)),
            source: view(Some(&params.sources()[index])),
            message: media.message,
            part: media.part,
            native: media.native,
        });
        Ok(())
    })
}

/// The grammar that the sampler should hold the output to; its text is empty where nothing constrains the output. Ask
/// `chat_params_grammar_lazy` from where on. A tool whose schema cannot be used spoils no other: the grammar's report names it.
/// The first call makes the grammar; later ones are quick.
///
/// On success `*out` is a new handle, to be freed with `chat_grammar_free`. It does not need the params any more.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar(
    params: Option<&chat_params>,
    out: Option<&mut MaybeUninit<*mut chat_grammar>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        out.write(give(chat_grammar(Arc::clone(params.params().grammar()))));
        Ok(())
    })
}

/// The grammar in another dialect, one of `chat_dialect`, for an engine that sees nothing but the output: free text in front of a trigger is a
/// part of it, and it starts behind the generation prompt. So it applies from the output's first byte on, whatever
/// `chat_params_grammar_lazy` says. Only `CHAT_DIALECT_GBNF` is the grammar of `chat_params_grammar` as it is. The text is empty where
/// nothing constrains the output. The report has what the dialect cannot say, and not what the grammar leaves of the schemas.
///
/// On success `*out` is a new handle, to be freed with `chat_grammar_free`. It does not need the params any more.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a dialect that there is not, and, with the reason, where
/// `CHAT_DIALECT_STRUCTURAL_TAG_OLD` does not fit: it takes one trigger and calls whose arguments are one JSON object;
/// `CHAT_STATUS_LIMIT` where the grammar is too large.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_as(
    params: Option<&chat_params>,
    dialect: u32,
    out: Option<&mut MaybeUninit<*mut chat_grammar>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        out.write(give(params.params().grammar_as(grammar::dialect(dialect)?)?.into()));
        Ok(())
    })
}

/// Whether the grammar applies from the first trigger on only, and the output is free before it. Where it is not lazy, it
/// describes the generation prompt together with the output: let the sampler accept `chat_params_generation_prompt` first.
/// False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_lazy(params: Option<&chat_params>) -> bool {
    params.is_some_and(|params| params.params().constraint.is_lazy())
}

/// How many triggers there are. A grammar that is not lazy may have some, too; it does not wait for them. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_trigger_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().constraint.triggers().len())
}

/// Trigger number `index` (from 0).
///
/// On success `*out` is filled; its text is valid until the params are freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_trigger(
    params: Option<&chat_params>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_trigger>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        let trigger = item(params.params().constraint.triggers(), index, "triggers")?;
        out.write(chat_trigger { kind: trigger.kind.into(), value: view(Some(&trigger.value)) });
        Ok(())
    })
}

/// The name of the way the output is parsed in, for logs: `peg-native`, `Content-only`, ... The view is valid until the params are
/// freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_format(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params().format))
}

/// How many texts there are that the tokeniser must keep as single tokens and the detokeniser must print. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_preserved_token_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().preserved_tokens.len())
}

/// Number `index` (from 0) of these texts. The view is valid until the params are freed. Empty for NULL and for an index that is out
/// of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_preserved_token(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().preserved_tokens.get(index)).map(String::as_str))
}

/// How many texts there are that end the output besides the end-of-turn token. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_additional_stop_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().additional_stops.len())
}

/// Number `index` (from 0) of these texts. As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_additional_stop(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().additional_stops.get(index)).map(String::as_str))
}

/// Whether the template knows reasoning. False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_supports_thinking(params: Option<&chat_params>) -> bool {
    thinking(params).is_some()
}

/// What opens reasoning, e.g. `<think>`; empty where nothing does. The view is valid until the params are freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_thinking_start_tag(params: Option<&chat_params>) -> chat_str {
    view(thinking(params).map(|thinking| thinking.start.as_str()))
}

/// How many texts close reasoning: any of them does. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_thinking_end_tag_count(params: Option<&chat_params>) -> usize {
    thinking(params).map_or(0, |thinking| thinking.ends.len())
}

/// Number `index` (from 0) of these texts. As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_thinking_end_tag(params: Option<&chat_params>, index: usize) -> chat_str {
    view(thinking(params).and_then(|thinking| thinking.ends.get(index)).map(String::as_str))
}

fn thinking(params: Option<&chat_params>) -> Option<&Thinking> {
    params?.params().thinking.as_ref()
}

/// How many message delimiters there are: texts that the turns of a role begin with in a prompt. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().delimiters.len())
}

/// The role of message delimiter number `index` (from 0): `user`, `assistant`, `system` or `tool`. As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter_role(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().delimiters.get(index)).map(|delimiter| delimiter.role))
}

/// The text of message delimiter number `index` (from 0). As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().delimiters.get(index)).map(|delimiter| delimiter.delimiter.as_str()))
}

/// All of the params as one JSON object:
///
/// - `prompt`, `generation_prompt`: as the functions of that name;
/// - `grammar`: the text of `chat_params_grammar`, empty where nothing constrains the output;
/// - `grammar_lazy`, `grammar_triggers` (objects with `type`, `word` or `pattern`, and `value`): where the grammar starts;
/// - `grammar_report` (objects with `schema`, `pointer`, `kind`, `widened`, `narrowed` or `refused`, and `message`): where the grammar is
///   not exactly what the schemas ask for;
/// - `preserved_tokens`: texts that the tokeniser must keep whole and the detokeniser must print;
/// - `additional_stops`: texts that end the output besides the end-of-turn token;
/// - `supports_thinking`, `thinking_start_tag`, `thinking_end_tags`: the markers of reasoning;
/// - `message_delimiters` (objects with `role` and `delimiter`): how turns begin in a prompt;
/// - `format`: how the output is parsed.
///
/// Later versions may add fields. The first call writes the text; later ones return the same.
///
/// On success `*out` is a view, valid until the params are freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_json(
    params: Option<&chat_params>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        let json = params.json.get_or_init(|| params.params().to_json().to_string());
        out.write(view(Some(json)));
        Ok(())
    })
}

/// Frees the params. Streams, messages, grammars and parsers that were made with them stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_free(params: Option<Box<chat_params>>) {
    drop(params);
}
