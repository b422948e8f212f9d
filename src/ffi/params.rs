//! What one request needs.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use super::error::chat_error;
use super::grammar::{self, chat_grammar, chat_trigger};
use super::guard::guard;
use super::ptr::{give, required};
use super::status::chat_status;
use super::template::chat_template;
use super::text::{chat_str, utf8, view};
use crate::chat::Params;
use crate::error::Error;
use crate::format::Thinking;
use crate::message::Request;

/// What one request needs: its prompt, what the sampler and the tokeniser must know, and the parser of the output. Immutable;
/// may be shared between threads, e.g. by the streams of several choices of one request.
pub struct chat_params {
    pub(super) params: Params,
    json: OnceLock<String>,
}

/// Renders the prompt of a request and builds the parser of its output. The first call on a template also learns the
/// template's format.
///
/// `request` is the JSON text of an OpenAI chat-completions body. Read are `messages` (required), `tools`, `tool_choice`,
/// `parallel_tool_calls`, and besides: `reasoning_format` (`none`, `auto`, `deepseek` or `deepseek-legacy`; anything but `none`
/// tells reasoning from content), `enable_thinking` (default true), `json_schema`, `grammar`, `add_generation_prompt` (default
/// true), `continue_final_message` (true, `content` or `reasoning_content`), `chat_template_kwargs` (an object of further
/// template variables), `force_pure_content`, `now` (Unix seconds: the only clock that the template sees), and
/// `malformed_arguments` (`keep`, `empty` or `error`: whether arguments of earlier calls that are no JSON object stay as text,
/// become `{}`, or make the request fail; default `keep`). Of output that is not quite in the template's format speak `dialects`
/// (`off`, `recover` or `always`: whether calls that are written in another way are read nowhere, once the output has left the
/// format, or in all content; default `recover`), `unknown_tools` (`call` or `content`: what calls of tools are that the request
/// does not offer; default `call`), `calls_in_reasoning` (`off`, `at_end` or `always`: whether calls inside reasoning are
/// reasoning, calls where the output ends with them and the reasoning was not closed, or calls; default `off`), and `bare_calls`
/// (`off`, `whole` or `anywhere`: whether a JSON object that no marker tells from a quotation is a call nowhere, where the whole
/// answer is nothing but calls of the tools on offer, or wherever other ways are read; default `whole`), and `grammar_style`
/// (`faithful` or `llama.cpp`: how schemas become rules; default `faithful`). Other fields are ignored. The text is copied.
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
        let params = template.template.params(&request)?;
        out.write(give(chat_params { params, json: OnceLock::new() }));
        Ok(())
    })
}

/// The prompt: what the model is given. The view is valid until the params are freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_prompt(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params.prompt.as_str()))
}

/// The end of the prompt that is already the assistant's turn. Streams made from these params know it: do not feed it to
/// them. The view is valid until the params are freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_generation_prompt(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params.generation_prompt.as_str()))
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
        out.write(give(chat_grammar(Arc::clone(params.params.grammar()))));
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
        out.write(give(params.params.grammar_as(grammar::dialect(dialect)?)?.into()));
        Ok(())
    })
}

/// Whether the grammar applies from the first trigger on only, and the output is free before it. Where it is not lazy, it
/// describes the generation prompt together with the output: let the sampler accept `chat_params_generation_prompt` first.
/// False for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_lazy(params: Option<&chat_params>) -> bool {
    params.is_some_and(|params| params.params.constraint.is_lazy())
}

/// How many triggers there are. A grammar that is not lazy may have some, too; it does not wait for them. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_trigger_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params.constraint.triggers().len())
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
        let triggers = params.params.constraint.triggers();
        let trigger = triggers.get(index).ok_or_else(|| {
            Error::invalid(format!("index: {index} is out of range, there are {} triggers", triggers.len()))
        })?;
        out.write(chat_trigger { kind: trigger.kind.into(), value: view(Some(&trigger.value)) });
        Ok(())
    })
}

/// The name of the way the output is parsed in, for logs: `peg-native`, `Content-only`, ... The view is valid until the params are
/// freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_format(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params.format))
}

/// How many texts there are that the tokeniser must keep as single tokens and the detokeniser must print. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_preserved_token_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params.preserved_tokens.len())
}

/// Number `index` (from 0) of these texts. The view is valid until the params are freed. Empty for NULL and for an index that is out
/// of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_preserved_token(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params.preserved_tokens.get(index)).map(String::as_str))
}

/// How many texts there are that end the output besides the end-of-turn token. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_additional_stop_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params.additional_stops.len())
}

/// Number `index` (from 0) of these texts. As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_additional_stop(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params.additional_stops.get(index)).map(String::as_str))
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
    params?.params.thinking.as_ref()
}

/// How many message delimiters there are: texts that the turns of a role begin with in a prompt. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params.delimiters.len())
}

/// The role of message delimiter number `index` (from 0): `user`, `assistant`, `system` or `tool`. As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter_role(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params.delimiters.get(index)).map(|delimiter| delimiter.role))
}

/// The text of message delimiter number `index` (from 0). As `chat_params_preserved_token`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params.delimiters.get(index)).map(|delimiter| delimiter.delimiter.as_str()))
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
        let json = params.json.get_or_init(|| params.params.to_json().to_string());
        out.write(view(Some(json)));
        Ok(())
    })
}

/// Frees the params. Streams, messages, grammars and parsers that were made with them stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_free(params: Option<Box<chat_params>>) {
    drop(params);
}
