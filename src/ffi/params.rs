//! What one request needs.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use super::grammar::{self, chat_grammar, chat_trigger};
use super::status::{ErrorOut, Out, answer, chat_status, filled, give};
use super::template::chat_template;
use super::text::{View, chat_list, chat_str, listed, seen, utf8, view};
#[cfg(feature = "next")]
use super::turn::chat_turn_fields;
use crate::chat::Params;
#[cfg(feature = "next")]
use crate::next::{Rewrite, Session};
use chatparse_chat::grammar::Dialect;

/// One request: its prompt, what the sampler and the tokeniser need, and the output's parser.
/// Immutable.
///
/// Several choices of one request may use the same params, on several threads.
pub struct chat_params {
    pub(super) session: Session,
    /// Of those that go on behind others.
    #[cfg(feature = "next")]
    pub(super) next: Option<Continued>,
    fields: View<chat_params_fields>,
    #[cfg(feature = "next")]
    pub(super) turn: View<chat_turn_fields>,
    json: OnceLock<String>,
    /// With the sources as JSON. Made when somebody asks: media may be large.
    media: View<Vec<chat_media>>,
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
    pub(super) fn new(session: Session) -> Self {
        chat_params {
            session,
            #[cfg(feature = "next")]
            next: None,
            #[cfg(feature = "next")]
            turn: View::default(),
            fields: View::default(),
            json: OnceLock::new(),
            media: View::default(),
        }
    }

    pub(super) fn params(&self) -> &Params {
        &self.session.params
    }
}

/// Renders the prompt of a request and builds the parser of its output. The first call on a
/// template also learns its format.
///
/// `request` is the JSON text of an OpenAI chat-completions body. The library reads these fields:
///
/// - `messages` (required): `role`, `content` (a text, or parts `text`, `refusal`, `thinking`,
///   `image_url`, `input_audio`, `file` and vendors' names for them: see `chat_params_media`),
///   `reasoning_content` (or `reasoning`, `thinking`), `tool_calls`, `function_call`, `name`,
///   `tool_call_id`, `refusal`;
/// - `tools`: of type `function` (with `strict`, `return`); `custom`, which becomes a function with
///   one argument `input`, whose format may be a regular expression or a Lark grammar; `namespace`,
///   a list of tools whose names it precedes; and tools of clients that the APIs know by their
///   type, such as `apply_patch`. A tool with `defer_loading` is unknown until a part
///   `tool_reference` reveals it;
/// - `tool_choice`: `auto`, `required`, `none`, a tool by its name, or `allowed_tools`;
///   `parallel_tool_calls` (default true; false narrows the grammar only);
/// - `response_format`: `text`, `json_object` or `json_schema`; beside tools, the output is a call
///   or such a response (`tool_choice`: `auto`), or a call (`required`); `reasoning_effort`.
///
/// It also reads these options, which may instead be in a JSON of their own
/// (`chat_params_from_template_with`):
///
/// - `reasoning_format`: `none` leaves reasoning in the content; `auto` (default), `deepseek` and
///   `deepseek-legacy` separate it;
/// - `enable_thinking`, `add_generation_prompt` (default true); `chat_template_kwargs`: an object
///   of further template variables. If one of them changes the format, the parser and the grammar
///   follow it;
/// - `roles`: what the library does if the template raises an error on the messages, or leaves out
///   what they say. `fit` (default): it makes the fewest changes with which the prompt has all
///   texts: it puts results in the order of their calls, changes ids of calls to the form that the
///   template demands, makes turns of several calls of a turn, joins system and developer messages
///   or makes them the user's, joins consecutive messages of one role, and adds empty messages.
///   `chat_params_json` notes what was changed, and what is not in the prompt. `as_sent` (the
///   default of `plain` requests and of `compat`: `llama.cpp`): nothing is changed;
/// - `effort`: `fit` (default): `reasoning_effort` `none` turns thinking off where the template has
///   the switch, and a level that the template refuses becomes the nearest one that it takes.
///   `as_sent`: it stays;
/// - `continue_final_message`: true, `content` or `reasoning_content`: the model continues that
///   text of the last message: the prompt ends where the text ends, as in transformers. The parsed
///   message includes the text that the prompt has;
/// - `compat`: `off` (default), or `llama.cpp`, which sets the defaults of llama.cpp's own request
///   (`reasoning_format`: `none`, `parallel_tool_calls`: false, `grammar_style`: `llama.cpp`,
///   `opening_again`: `reasoning`, `calls_in_reasoning`: `llama.cpp`, `nearly_json`: `keep`), a
///   continued message follows the generation prompt, no tool can be called beside a
///   `response_format`, and the end of the turn stays in the content;
/// - `plain` (default false): the template gets `messages`, `tools`, `documents` and
///   `chat_template_kwargs` unchanged, in any form, and no other variable, as in transformers;
/// - `for_training` (default false): if true, the default of `plain` is true and that of
///   `add_generation_prompt` is false: for segments and masks of conversations as transformers
///   renders them;
/// - `append`: what `chat_params_continue` does if the template would rewrite earlier text.
///   `template` (default): from there on the prompt is the template's. `always`: the earlier text
///   stays;
/// - `json_schema`, `grammar` (GBNF): constrain the content; `grammar_style`: `faithful` (default),
///   `llama.cpp` or `llama.cpp-b10587`, see `chat_grammar_style`; `force_pure_content`: parse the
///   output as content only;
/// - `prose` (default false): a faithful grammar allows content before a required call;
/// - `json_spacing`: white space in the JSON of a faithful grammar. `template` (default): as the
///   template writes it, if it writes JSON on one line and there is no response schema; otherwise
///   `free`. `free`: any. `compact`: none;
/// - `now`: Unix seconds, the only clock that the template sees; default the system's. On a system
///   without one (`wasm32-unknown-unknown`), a template that asks for the date fails without `now`;
/// - `media_marker`: placeholder of media that the template does not render; default `<__media__>`;
/// - `malformed_arguments`: arguments of earlier calls that are not a JSON object. `keep`
///   (default): as text. `empty`: as `{}`. `error`: the request fails;
/// - `dialects`: where the library looks for tool calls in formats other than the template's.
///   `recover` (default): only after the first byte that breaks the template's format. `tail`: also
///   at the end of the content, for complete and valid calls of offered tools with nothing after
///   them. `always`: in all content; text that may start a call is delayed. `off`: nowhere;
/// - `unknown_tools`: calls of tools that the request does not offer are a `call` (default) or
///   `content`;
/// - `calls_in_reasoning`: calls inside reasoning. `at_end` (default): calls of offered tools are
///   calls if the output ends and the reasoning was not closed, and wait for that. `off`: they are
///   reasoning. `always`: they are calls. `llama.cpp`: they are calls for the models that llama.cpp
///   lists, otherwise reasoning;
/// - `bare_calls`: JSON objects without a marker that look like calls. `off`: they are text.
///   `whole` (default): they are calls if the answer holds nothing else and the request offers
///   their tools. `anywhere`: they are calls in all text that `dialects` searches;
/// - `opening_again`: a second opening marker inside the reasoning. `marker` (default): it is left
///   out. `reasoning`: it is text of the reasoning;
/// - `incomplete_calls`: a call that is unfinished when the output ends. `keep` (default): it is a
///   call that is not complete. `drop`: it is not in the final message, and a diagnostic has its
///   bytes. `content`: its text is content of the final message. The deltas have shown it in any
///   case;
/// - `nearly_json`: arguments that are almost JSON. `mend` (default): the library mends control
///   characters in strings, a last comma, comments, Python's words and quotes, and the text of an
///   object where the schema has no text. `keep`: it reads them as llama.cpp does;
/// - `revealed_tools`: where the prompt shows a deferred tool once it is revealed, if the template
///   does not support such tools. `inline` (default): where it is revealed. `listed`: after the
///   other tools, which rewrites the prompt from there on;
/// - `hosted_tools`: tools that a server must run, such as `web_search`. `refuse` (default): the
///   request fails. `keep`: they are left to the host, and the model does not see them.
///
/// A misspelled field is an error, and so is an unsupported field that would change what the model
/// sees.
///
/// The template remembers tools, up to some megabytes, so that those that are sent again cost
/// little.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the path of the wrong field, e.g.
/// `messages[2].tool_calls[0].function.name`; `CHAT_STATUS_TEMPLATE` if the template raises or
/// fails; `CHAT_STATUS_SCHEMA` for a `json_schema` that cannot be used; `CHAT_STATUS_LIMIT` if the
/// request or the prompt is too long, too deep or too costly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_from_template(
    template: Option<&chat_template>,
    request: *const c_char,
    request_len: usize,
    out: Out<*mut chat_params>,
    error: ErrorOut,
) -> chat_status {
    let options = "{}";
    let (data, len) = (options.as_ptr().cast(), options.len());
    // SAFETY: this function's contract is the same, and these options are a text.
    unsafe { chat_params_from_template_with(template, request, request_len, data, len, out, error) }
}

/// As `chat_params_from_template`, with the options in a JSON object of their own. They take
/// precedence over fields of the body.
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
        let (request, options) = unsafe {
            (
                utf8(request, request_len, "request")?,
                utf8(options, options_len, "options")?,
            )
        };
        let template = &template.template;
        let request = template.request(request, options)?;
        #[cfg(feature = "next")]
        let session = template.session(request)?;
        #[cfg(not(feature = "next"))]
        let session = Session {
            params: template.params(&request)?,
        };
        Ok(give(chat_params::new(session)))
    })
}

/// Makes the params of a prompt that the host has rendered itself. The library reads from the end
/// of the prompt what it leaves open, such as reasoning or a text to continue; it renders nothing.
/// `request` is a body as for `chat_params_from_template`; the library reads its tools and options,
/// and `messages` may be empty. The params keep no pointer to the texts.
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
        let (prompt, request) = unsafe {
            (
                utf8(prompt, prompt_len, "prompt")?,
                utf8(request, request_len, "request")?,
            )
        };
        let template = &template.template;
        let request = template.request(request, "{}")?;
        let params = template.parser_for(prompt, &request)?;
        #[cfg(feature = "next")]
        let session = template.session_of(params, request);
        #[cfg(not(feature = "next"))]
        let session = Session { params };
        Ok(give(chat_params::new(session)))
    })
}

/// What a host reads of the params. Views and arrays are valid as long as the params.
#[repr(C)]
pub struct chat_params_fields {
    /// The prompt: the text for the model.
    pub prompt: chat_str,
    /// The end of the prompt that belongs to the assistant's turn. Streams know it: do not feed it
    /// to them.
    pub generation_prompt: chat_str,
    /// The name of the output's format, for logs: `peg-native`, `peg-gemma4` or `peg-minimax-m3`.
    pub format: chat_str,
    /// Texts that the tokeniser must keep as single tokens and the detokeniser must print.
    pub preserved_tokens: chat_list<chat_str>,
    /// Texts that end the output besides the end-of-turn token.
    pub additional_stops: chat_list<chat_str>,
    /// The text that opens reasoning, e.g. `<think>`; empty if there is none.
    pub thinking_start_tag: chat_str,
    /// The texts that close reasoning; each of them alone does.
    pub thinking_end_tags: chat_list<chat_str>,
    /// The texts at the start of a role's turns in a prompt.
    pub message_delimiters: chat_list<chat_delimiter>,
    /// The places from which a lazy grammar applies. Ignore them if the grammar is not lazy.
    pub grammar_triggers: chat_list<chat_trigger>,
    /// Whether the output is free up to the first trigger, and the grammar applies from there. If
    /// false, the grammar describes the generation prompt and the output together: let the sampler
    /// accept `generation_prompt` first.
    pub grammar_lazy: bool,
    /// Whether the template has reasoning.
    pub supports_thinking: bool,
}

/// The text at the start of a role's turns in a prompt.
#[repr(C)]
pub struct chat_delimiter {
    /// The role: `user`, `assistant`, `system` or `tool`.
    pub role: chat_str,
    /// The text.
    pub text: chat_str,
}

/// Returns what a host reads of the params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_view(params: Option<&chat_params>) -> *const chat_params_fields {
    seen(params, |params| {
        let fields = &params.fields;
        let params = params.params();

        let thinking = params.thinking.as_ref();
        let delimiters = params.delimiters.iter();
        let triggers = params.constraint.triggers().iter();
        Some(fields.get(|lists| {
            let mut texts = |texts: &[String]| lists.keep(texts.iter().map(|text| view(text)));
            chat_params_fields {
                prompt: view(&params.prompt),
                generation_prompt: view(&params.generation_prompt),
                format: view(params.format),
                preserved_tokens: texts(&params.preserved_tokens),
                additional_stops: texts(&params.additional_stops),
                thinking_start_tag: view(thinking.map_or("", |thinking| &thinking.start)),
                thinking_end_tags: texts(thinking.map_or(&[], |thinking| &thinking.ends)),
                message_delimiters: lists.keep(delimiters.map(|from| chat_delimiter {
                    role: view(from.role),
                    text: view(&from.delimiter),
                })),
                grammar_triggers: lists.keep(triggers.map(|from| chat_trigger {
                    kind: from.kind,
                    value: view(&from.value),
                })),
                grammar_lazy: params.constraint.is_lazy(),
                supports_thinking: thinking.is_some(),
            }
        }))
    })
}

/// A piece of media that the prompt refers to.
#[repr(C)]
pub struct chat_media {
    /// `image`, `audio`, `video` or `file`.
    pub kind: chat_str,
    /// Its placeholder in the prompt. Several may have the same text; they come in the prompt's
    /// order.
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

/// Returns the pieces of media that the prompt refers to, in its order; none for a `plain` request.
/// They are valid as long as the params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_media(params: Option<&chat_params>) -> chat_list<chat_media> {
    listed(params, |params| {
        params.media.get(|lists| {
            let media = &params.params().media;
            let sources: Vec<String> = media.iter().map(|it| it.source.to_string()).collect();
            let listed = media.iter().zip(&sources);
            let listed = listed.map(|(media, source)| chat_media {
                kind: view(&media.kind),
                text: view(&media.text),
                source: view(source),
                message: media.message,
                part: media.part,
                native: media.native,
            });
            let listed = listed.collect();
            lists.keep(sources.into_iter());
            listed
        })
    })
}

/// Makes the sampling grammar in a `chat_dialect`. Its text is empty if the output is
/// unconstrained. The grammar in GBNF is made by the first call; later ones are quick.
///
/// GBNF is for engines that know `grammar_lazy` of `chat_params_fields`: if it is true, apply the
/// grammar from the first trigger on; otherwise from the first byte of the generation prompt. A
/// tool whose schema cannot be converted is replaced by "any JSON object" and listed in the
/// grammar's report; other tools are unaffected.
///
/// Other dialects are for engines that see only the output: the grammar applies from the output's
/// first byte on, lazy or not, and allows free text before a trigger. The report lists what the
/// dialect cannot express, but not where the grammar departs from schemas.
///
/// Errors: `CHAT_STATUS_LIMIT` if the grammar is too large for the dialect.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_grammar(
    params: Option<&chat_params>,
    dialect: u32,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        let params = params.params();
        Ok(match grammar::dialect(dialect)? {
            Dialect::Gbnf => grammar::made(Arc::clone(params.grammar())),
            dialect => grammar::printed(params.grammar_as(dialect)?),
        })
    })
}

/// Returns what the template writes to end the assistant's turn, e.g. `<|im_end|>`; empty if it
/// writes nothing, or if the end is unknown. If the engine does not stop at this token anyway, make
/// it a stop. The first call may have to learn the format of turns. The view is valid as long as
/// the params.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_end_of_turn(params: Option<&chat_params>) -> chat_str {
    view(answer(params, |params| params.params().end_of_turn()))
}

/// Builds what a stream otherwise builds when an output first needs it, such as the parser of calls
/// in other formats. This takes a few milliseconds: call it while the model reads the prompt, so
/// that no piece of the first output waits for it. It serves the streams and parsers of all params
/// that share the format. Thread-safe; NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_warm(params: Option<&chat_params>) {
    answer(params, |params| params.params().parser.warm());
}

/// Writes all of the params as one JSON object. Later versions may add fields. The first call
/// writes the text; later ones return the same.
///
/// - `prompt`, `generation_prompt`, `format`, `preserved_tokens`, `additional_stops`,
///   `supports_thinking`, `thinking_start_tag`, `thinking_end_tags`, `grammar_lazy`: as in
///   `chat_params_fields`;
/// - `grammar_triggers`: objects with `type`, `word` or `pattern`, and `value`;
/// - `message_delimiters`: objects with `role` and `delimiter`; `end_of_turn`: as the function of
///   that name;
/// - `grammar`: the text of the grammar in GBNF;
/// - `grammar_report`: objects with `schema`, `pointer`, `kind` (`widened`, `narrowed` or
///   `refused`) and `message`;
/// - `notes`: sentences on the request: which messages were changed because the template demands it
///   (see `roles`); and each option that has no effect: its field, a colon, and the reason.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_json(
    params: Option<&chat_params>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(params, "params", out, error, |params| {
        let json = &params.json;
        Ok(view(
            json.get_or_init(|| params.params().to_json().to_string()),
        ))
    })
}

/// Frees the params. Streams, messages, grammars and parsers that were made with them stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_free(params: Option<Box<chat_params>>) {
    drop(params);
}
