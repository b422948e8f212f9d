//! What one request needs.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use super::grammar::{self, chat_grammar, chat_trigger};
use super::guard::{answer, filled};
use super::ptr::{ErrorOut, Out, give, item};
use super::status::chat_status;
use super::template::chat_template;
use super::text::{chat_str, utf8, view};
use crate::chat::{ChatTemplate, Params};
#[cfg(feature = "next")]
use crate::next::{Rewrite, Session};
use chatparse_base::Result;
use chatparse_learn::format::Thinking;
use chatparse_message::Request;

/// One request: its prompt, what the sampler and the tokeniser need, and the output's parser. Immutable.
///
/// Several choices of one request may use the same params, on several threads.
pub struct chat_params {
    pub(super) session: Session,
    /// Of those that go on behind others.
    #[cfg(feature = "next")]
    pub(super) next: Option<Continued>,
    json: OnceLock<String>,
    /// The sources of the media as JSON.
    sources: OnceLock<Vec<String>>,
}

/// A session that cannot go on.
#[cfg(not(feature = "next"))]
pub(super) struct Session {
    params: Params,
}

/// How params go on behind others.
#[cfg(feature = "next")]
pub(super) struct Continued {
    pub kept: usize,
    pub rewrite: Option<Rewrite>,
}

impl chat_params {
    fn of(template: &ChatTemplate, request: Request) -> Result<Self> {
        #[cfg(feature = "next")]
        let session = template.session(request)?;
        #[cfg(not(feature = "next"))]
        let session = Session { params: template.params(&request)? };
        Ok(chat_params::new(session))
    }

    pub(super) fn new(session: Session) -> Self {
        chat_params {
            session,
            #[cfg(feature = "next")]
            next: None,
            json: OnceLock::new(),
            sources: OnceLock::new(),
        }
    }

    pub(super) fn params(&self) -> &Params {
        &self.session.params
    }

    /// Made when somebody asks: media may be large.
    fn sources(&self) -> &[String] {
        self.sources.get_or_init(|| self.params().media.iter().map(|media| media.source.to_string()).collect())
    }
}

/// Renders the prompt of a request and builds the parser of its output. The first call on a template also learns its
/// format.
///
/// `request` is the JSON text of an OpenAI chat-completions body. The library reads these fields:
///
/// - `messages` (required): `role`, `content` (a text, or parts `text`, `refusal`, `thinking`, `image_url`,
///   `input_audio`, `file` and vendors' names for them: see `chat_params_media`), `reasoning_content` (or `reasoning`,
///   `thinking`), `tool_calls`, `function_call`, `name`, `tool_call_id`, `refusal`;
/// - `tools`: of type `function` (with `strict`, `return`); `custom`, which becomes a function with one argument `input`,
///   whose format may be a regular expression or a Lark grammar; `namespace`, a list of tools whose names it precedes; and
///   tools of clients that the APIs know by their type, such as `apply_patch`. A tool with `defer_loading` is unknown
///   until a part `tool_reference` reveals it;
/// - `tool_choice`: `auto`, `required`, `none`, a tool by its name, or `allowed_tools`; `parallel_tool_calls` (default
///   true; false narrows the grammar only);
/// - `response_format`: `text`, `json_object` or `json_schema`; beside tools, the output is a call or such a response
///   (`tool_choice`: `auto`), or a call (`required`); `reasoning_effort`.
///
/// It also reads these options, which may instead be in a JSON of their own (`chat_params_from_template_with`):
///
/// - `reasoning_format`: `none` leaves reasoning in the content; `auto` (default), `deepseek` and `deepseek-legacy`
///   separate it;
/// - `enable_thinking`, `add_generation_prompt` (default true); `chat_template_kwargs`: an object of further template
///   variables. If one of them changes the format, the parser and the grammar follow it;
/// - `roles`: what the library does if the template raises an error on the messages, or leaves out what they say. `fit`
///   (default): it makes the fewest changes with which the prompt has all texts: it puts results in the order of their
///   calls, changes ids of calls to the form that the template demands, makes turns of several calls of a turn, joins
///   system and developer messages or makes them the user's, joins consecutive messages of one role, and adds empty
///   messages. `chat_params_json` notes what was changed, and what is not in the prompt. `as_sent` (the default of
///   `plain` requests and of `compat`: `llama.cpp`): nothing is changed;
/// - `effort`: `fit` (default): `reasoning_effort` `none` turns thinking off where the template has the switch, and a
///   level that the template refuses becomes the nearest one that it takes. `as_sent`: it stays;
/// - `continue_final_message`: true, `content` or `reasoning_content`: the model continues that text of the last
///   message: the prompt ends where the text ends, as in transformers. The parsed message includes the text that the
///   prompt has;
/// - `compat`: `off` (default), or `llama.cpp`, which sets the defaults of llama.cpp's own request (`reasoning_format`:
///   `none`, `parallel_tool_calls`: false, `grammar_style`: `llama.cpp`, `opening_again`: `reasoning`,
///   `calls_in_reasoning`: `llama.cpp`, `nearly_json`: `keep`), a continued message follows the generation prompt, no
///   tool can be called beside a `response_format`, and the end of the turn stays in the content;
/// - `plain` (default false): the template gets `messages`, `tools`, `documents` and `chat_template_kwargs` unchanged,
///   in any form, and no other variable, as in transformers;
/// - `for_training` (default false): if true, the default of `plain` is true and that of `add_generation_prompt` is
///   false: for segments and masks of conversations as transformers renders them;
/// - `append`: what `chat_params_continue` does if the template would rewrite earlier text. `template` (default): from
///   there on the prompt is the template's. `always`: the earlier text stays;
/// - `json_schema`, `grammar` (GBNF): constrain the content; `grammar_style`: `faithful` (default), `llama.cpp` or
///   `llama.cpp-b10587`, see `chat_grammar_style`; `force_pure_content`: parse the output as content only;
/// - `prose` (default false): a faithful grammar allows content before a required call;
/// - `json_spacing`: white space in the JSON of a faithful grammar. `template` (default): as the template writes it, if
///   it writes JSON on one line and there is no response schema; otherwise `free`. `free`: any. `compact`: none;
/// - `now`: Unix seconds, the only clock that the template sees; default the system's. On a system without one
///   (`wasm32-unknown-unknown`), a template that asks for the date fails without `now`;
/// - `media_marker`: placeholder of media that the template does not render; default `<__media__>`;
/// - `malformed_arguments`: arguments of earlier calls that are not a JSON object. `keep` (default): as text. `empty`:
///   as `{}`. `error`: the request fails;
/// - `dialects`: where the library looks for tool calls in formats other than the template's. `recover` (default): only
///   after the first byte that breaks the template's format. `tail`: also at the end of the content, for complete and
///   valid calls of offered tools with nothing after them. `always`: in all content; text that may start a call is
///   delayed. `off`: nowhere;
/// - `unknown_tools`: calls of tools that the request does not offer are a `call` (default) or `content`;
/// - `calls_in_reasoning`: calls inside reasoning. `at_end` (default): calls of offered tools are calls if the output
///   ends and the reasoning was not closed, and wait for that. `off`: they are reasoning. `always`: they are calls.
///   `llama.cpp`: they are calls for the models that llama.cpp lists, otherwise reasoning;
/// - `bare_calls`: JSON objects without a marker that look like calls. `off`: they are text. `whole` (default): they
///   are calls if the answer holds nothing else and the request offers their tools. `anywhere`: they are calls in all
///   text that `dialects` searches;
/// - `opening_again`: a second opening marker inside the reasoning. `marker` (default): it is left out. `reasoning`: it
///   is text of the reasoning;
/// - `incomplete_calls`: a call that is unfinished when the output ends. `keep` (default): it is a call that is not
///   complete. `drop`: it is not in the final message, and a diagnostic has its bytes. `content`: its text is content
///   of the final message. The deltas have shown it in any case;
/// - `nearly_json`: arguments that are almost JSON. `mend` (default): the library mends control characters in strings,
///   a last comma, comments, Python's words and quotes, and the text of an object where the schema has no text.
///   `keep`: it reads them as llama.cpp does;
/// - `revealed_tools`: where the prompt shows a deferred tool once it is revealed, if the template does not support
///   such tools. `inline` (default): where it is revealed. `listed`: after the other tools, which rewrites the prompt
///   from there on;
/// - `hosted_tools`: tools that a server must run, such as `web_search`. `refuse` (default): the request fails. `keep`:
///   they are left to the host, and the model does not see them.
///
/// A misspelled field is an error, and so is an unsupported field that would change what the model sees.
///
/// The template remembers tools, up to some megabytes, so that those that are sent again cost little.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of the wrong field, e.g.
/// `messages[2].tool_calls[0].function.name`; `CHAT_STATUS_TEMPLATE` if the template raises or fails;
/// `CHAT_STATUS_SCHEMA` for a `json_schema` that cannot be used; `CHAT_STATUS_LIMIT` if the request or the prompt is
/// too long, too deep or too costly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_from_template(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    out: Out<*mut chat_params>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |template| {
        // SAFETY: the caller's text, by the contract.
        let request = template.template.request(unsafe { utf8(request, request_len, "request") }?, "{}")?;
        Ok(give(chat_params::of(&template.template, request)?))
    })
}

/// As `chat_params_from_template`, with the options in a JSON object of their own. They take precedence over fields of
/// the body.
///
/// Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` for an unknown option.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_from_template_with(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Out<*mut chat_params>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |template| {
        // SAFETY: the caller's texts, by the contract.
        let (request, options) =
            unsafe { (utf8(request, request_len, "request")?, utf8(options, options_len, "options")?) };
        let request = template.template.request(request, options)?;
        Ok(give(chat_params::of(&template.template, request)?))
    })
}

/// Makes the params of a prompt that the host has rendered itself. The library reads from the end of the prompt what it
/// leaves open, such as reasoning or a text to continue; it renders nothing. `request` is a body as for
/// `chat_params_from_template`; the library reads its tools and options, and `messages` may be empty. The params keep
/// no pointer to the texts.
///
/// Errors: as `chat_params_from_template`, except those of renders.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_for_prompt(
    template: Option<&chat_template>,
    prompt: *const c_char,
    prompt_len: usize,
    request: *const c_char,
    request_len: usize,
    out: Out<*mut chat_params>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |template| {
        // SAFETY: the caller's texts, by the contract.
        let (prompt, request) =
            unsafe { (utf8(prompt, prompt_len, "prompt")?, utf8(request, request_len, "request")?) };
        let request = template.template.request(request, "{}")?;
        let params = template.template.parser_for(prompt, &request)?;
        #[cfg(feature = "next")]
        let session = template.template.session_of(params, request);
        #[cfg(not(feature = "next"))]
        let session = Session { params };
        Ok(give(chat_params::new(session)))
    })
}

/// Returns the prompt: the text for the model.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_prompt(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params().prompt.as_str()))
}

/// Returns the end of the prompt that belongs to the assistant's turn. Streams know it: do not feed it to them.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_generation_prompt(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params().generation_prompt.as_str()))
}

/// A piece of media that the prompt refers to.
#[repr(C)]
pub struct chat_media {
    /// `image`, `audio`, `video` or `file`.
    pub kind: chat_str,
    /// Its placeholder in the prompt. Several may have the same text; they come in the prompt's order.
    pub text: chat_str,
    /// The part of the request as JSON, e.g. `{"type": "image_url", "image_url": {"url": ...}}`.
    pub source: chat_str,
    /// Index of its message in the request.
    pub message: usize,
    /// Index of its part in that message's content.
    pub part: usize,
    /// True if the template wrote `text`; false if it is the option `media_marker`.
    pub native: bool,
}

/// Returns how many pieces of media the prompt refers to; 0 for a `plain` request.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_media_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().media.len())
}

/// Fills `*out` with piece of media `index`, in the order of the prompt.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_media(
    params: Option<&chat_params>,
    index: usize,
    out: Out<chat_media>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        let media = item(&params.params().media, index, "pieces of media")?;
        Ok(chat_media {
            kind: view(Some(&media.kind)),
            text: view(Some(&media.text)),
            source: view(Some(&params.sources()[index])),
            message: media.message,
            part: media.part,
            native: media.native,
        })
    })
}

/// Makes the sampling grammar in GBNF. Its text is empty if the output is unconstrained. If `chat_params_grammar_lazy`
/// is true, apply it from the first trigger on; otherwise from the first byte of the generation prompt. A tool whose
/// schema cannot be converted is replaced by "any JSON object" and listed in the grammar's report; other tools are
/// unaffected. The first call makes the grammar; later ones are quick.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar(
    params: Option<&chat_params>,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| Ok(give(chat_grammar(Arc::clone(params.params().grammar())))))
}

/// Makes the sampling grammar in another dialect, a `chat_dialect`, for an engine that sees only the output: it applies
/// from the output's first byte on, whatever `chat_params_grammar_lazy` returns, and allows free text before a trigger.
/// With `CHAT_DIALECT_GBNF` it is that of `chat_params_grammar`, unchanged. The text is empty if the output is
/// unconstrained. The report lists what the dialect cannot express, but not where the grammar departs from schemas.
///
/// Errors: `CHAT_STATUS_LIMIT` if the grammar is too large.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_as(
    params: Option<&chat_params>,
    dialect: u32,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        Ok(give(params.params().grammar_as(grammar::dialect(dialect)?)?.into()))
    })
}

/// Returns whether the output is free up to the first trigger, and the grammar applies from there. If false, the
/// grammar describes the generation prompt and the output together: let the sampler accept
/// `chat_params_generation_prompt` first.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_lazy(params: Option<&chat_params>) -> bool {
    params.is_some_and(|params| params.params().constraint.is_lazy())
}

/// Returns how many triggers there are. Ignore them if the grammar is not lazy.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_trigger_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().constraint.triggers().len())
}

/// Fills `*out` with trigger `index`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar_trigger(
    params: Option<&chat_params>,
    index: usize,
    out: Out<chat_trigger>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        let trigger = item(params.params().constraint.triggers(), index, "triggers")?;
        Ok(chat_trigger { kind: trigger.kind.into(), value: view(Some(&trigger.value)) })
    })
}

/// Returns the name of the output's format, for logs: `peg-native`, `peg-gemma4` or `peg-minimax-m3`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_format(params: Option<&chat_params>) -> chat_str {
    view(params.map(|params| params.params().format))
}

/// Returns how many texts the tokeniser must keep as single tokens and the detokeniser must print.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_preserved_token_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().preserved_tokens.len())
}

/// Returns preserved token `index`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_preserved_token(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().preserved_tokens.get(index)).map(String::as_str))
}

/// Returns how many texts end the output besides the end-of-turn token.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_additional_stop_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().additional_stops.len())
}

/// Returns additional stop `index`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_additional_stop(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().additional_stops.get(index)).map(String::as_str))
}

/// Returns what the template writes to end the assistant's turn, e.g. `<|im_end|>`; empty if it writes nothing, or if
/// the end is unknown. If the engine does not stop at this token anyway, make it a stop. The first call may have to
/// learn the format of turns. The view is valid as long as the params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_end_of_turn(params: Option<&chat_params>) -> chat_str {
    view(answer(|| params.map(|params| params.params().end_of_turn())))
}

/// Builds what a stream otherwise builds when an output first needs it, such as the parser of calls in other formats.
/// This takes a few milliseconds: call it while the model reads the prompt, so that no piece of the first output waits
/// for it. It serves the streams and parsers of all params that share the format. Thread-safe; NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_warm(params: Option<&chat_params>) {
    answer(|| {
        if let Some(params) = params {
            params.params().parser.warm();
        }
    });
}

/// Returns whether the template has reasoning.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_supports_thinking(params: Option<&chat_params>) -> bool {
    thinking(params).is_some()
}

/// Returns the text that opens reasoning, e.g. `<think>`; empty if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_thinking_start_tag(params: Option<&chat_params>) -> chat_str {
    view(thinking(params).map(|thinking| thinking.start.as_str()))
}

/// Returns how many texts close reasoning; each of them alone does.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_thinking_end_tag_count(params: Option<&chat_params>) -> usize {
    thinking(params).map_or(0, |thinking| thinking.ends.len())
}

/// Returns reasoning end tag `index`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_thinking_end_tag(params: Option<&chat_params>, index: usize) -> chat_str {
    view(thinking(params).and_then(|thinking| thinking.ends.get(index)).map(String::as_str))
}

fn thinking(params: Option<&chat_params>) -> Option<&Thinking> {
    params?.params().thinking.as_ref()
}

/// Returns how many message delimiters there are: the texts at the start of a role's turns in a prompt.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter_count(params: Option<&chat_params>) -> usize {
    params.map_or(0, |params| params.params().delimiters.len())
}

/// Returns the role of message delimiter `index`: `user`, `assistant`, `system` or `tool`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter_role(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().delimiters.get(index)).map(|delimiter| delimiter.role))
}

/// Returns the text of message delimiter `index`.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_message_delimiter(params: Option<&chat_params>, index: usize) -> chat_str {
    view(params.and_then(|params| params.params().delimiters.get(index)).map(|delimiter| delimiter.delimiter.as_str()))
}

/// Writes all of the params as one JSON object. Later versions may add fields. The first call writes the text; later
/// ones return the same.
///
/// - `prompt`, `generation_prompt`, `format`, `preserved_tokens`, `additional_stops`, `supports_thinking`,
///   `thinking_start_tag`, `thinking_end_tags`: as the functions of these names;
/// - `grammar`: the text of `chat_params_grammar`; `grammar_lazy`: as the function of that name;
/// - `grammar_triggers`: objects with `type`, `word` or `pattern`, and `value`;
/// - `grammar_report`: objects with `schema`, `pointer`, `kind` (`widened`, `narrowed` or `refused`) and `message`;
/// - `message_delimiters`: objects with `role` and `delimiter`; `end_of_turn`: as the function of that name;
/// - `notes`: sentences on the request: which messages were changed because the template demands it (see `roles`); and
///   each option that has no effect: its field, a colon, and the reason.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_json(params: Option<&chat_params>, out: Out<chat_str>, error: ErrorOut) -> chat_status {
    filled(params, "params", out, error, |params| {
        let json = params.json.get_or_init(|| params.params().to_json().to_string());
        Ok(view(Some(json)))
    })
}

/// Frees the params. Streams, messages, grammars and parsers that were made with them stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_free(params: Option<Box<chat_params>>) {
    drop(params);
}
