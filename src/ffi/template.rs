//! A chat template.

use std::ffi::c_char;
use std::sync::{LazyLock, OnceLock};

use super::status::{ErrorOut, Out, chat_status, filled, give, guard, numbered, required, written};
use super::text::{Pointers, bytes, chat_list, chat_str, listed, utf8, view, view_bytes};
use crate::ReportKind;
use crate::builtin;
use crate::chat::{ChatTemplate, TemplateOptions};
use chatparse_base::{Error, Result};
use chatparse_response::Engine;

/// A compiled chat template: renders prompts, and learns the model's output format. Immutable.
///
/// Make one template for each model and share it between threads. It learns the format once, at the
/// first request.
pub struct chat_template {
    pub(super) template: ChatTemplate,
    reports: [OnceLock<Result<String>>; REPORTS.len()],
    stored: OnceLock<Vec<u8>>,
}

fn made(template: ChatTemplate) -> *mut chat_template {
    give(chat_template {
        template,
        reports: Default::default(),
        stored: OnceLock::new(),
    })
}

/// Compiles a template. `source` is Jinja, or the text of a `tokenizer_config.json` or
/// `chat_template.json` that holds a template. `bos` and `eos` are the texts of the model's special
/// tokens, e.g. `<s>` and `</s>`; with length 0, those of the file are used, if it has them.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a JSON object without a template;
/// `CHAT_STATUS_TEMPLATE`, with the line, for text that does not parse; `CHAT_STATUS_LIMIT` for
/// text that is too long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_new(
    source: *const c_char,
    source_len: usize,
    bos: *const c_char,
    bos_len: usize,
    eos: *const c_char,
    eos_len: usize,
    out: Out<*mut chat_template>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's three texts, by the contract.
        let [source, bos, eos] = unsafe {
            [
                utf8(source, source_len, "source")?,
                utf8(bos, bos_len, "bos")?,
                utf8(eos, eos_len, "eos")?,
            ]
        };
        Ok(made(ChatTemplate::new(source, bos, eos)?))
    })
}

/// Compiles a template with options. `options` is a JSON object with any of these fields:
///
/// - `name` (text, default `default`): which of several named templates of a
///   `tokenizer_config.json`;
/// - `bos`, `eos` (text, default empty): as for `chat_template_new`;
/// - `ends` (array of strings, default empty): the texts of further tokens that end the model's
///   output, e.g. those of all ids that `eos_token_id` of a `generation_config.json` lists.
///   Templates do not see them; masks, the next turn and the parser do;
/// - `learn_only` (boolean, default false): use only what the template's text shows, and no
///   built-in rules of a template family;
/// - `prove` (boolean, default true): if there are several readers for the format, render test
///   messages at the first request and take the reader that reads most of them back. False takes
///   the first reader;
/// - `response_template` (object, default null): a response template as transformers has it
///   (version 1), in place of that of a `tokenizer_config.json`. It is the first reader; `source`
///   may then be empty;
/// - `special_tokens` (array of strings, default empty): those of the vocabulary, for
///   `CHAT_REPORT_LINT`, in place of those of a `tokenizer_config.json`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for options that are unknown or have the wrong type;
/// otherwise as `chat_template_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_with_options(
    source: *const c_char,
    source_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Out<*mut chat_template>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [source, options] = unsafe {
            [
                utf8(source, source_len, "source")?,
                utf8(options, options_len, "options")?,
            ]
        };
        let options = TemplateOptions::from_text(options)?;
        Ok(made(ChatTemplate::with_options(source, &options)?))
    })
}

/// Writes the template with what was learnt from it, for `chat_template_from_bytes` of the same
/// library version, in any process. So a server that starts with many models need not learn them
/// again. The first call learns what was not needed yet, in some hundred renders; later ones return
/// the same. The bytes live as long as the template. Keep the template's source, too: other
/// versions refuse the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_to_bytes(
    template: Option<&chat_template>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |all| {
        Ok(view_bytes(
            all.stored.get_or_init(|| all.template.to_bytes()),
        ))
    })
}

/// Makes a template from the bytes of `chat_template_to_bytes`. It is compiled when it first
/// renders, and learns again only for requests that set template variables. The bytes may come from
/// an untrusted source, as a template's source may.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for bytes of another library version, for damaged bytes,
/// and for bytes that are no template; `CHAT_STATUS_LIMIT` for too many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_from_bytes(
    data: *const c_char,
    data_len: usize,
    out: Out<*mut chat_template>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's bytes, by the contract.
        let data = unsafe { bytes(data, data_len, "data") }?;
        Ok(made(ChatTemplate::from_bytes(data)?))
    })
}

/// Makes one of the built-in templates, by its name, e.g. `chatml`: for a model that has none.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for an unknown name; the message lists the known ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_builtin(
    name: *const c_char,
    name_len: usize,
    out: Out<*mut chat_template>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's text, by the contract.
        let name = unsafe { utf8(name, name_len, "name") }?;
        let template = ChatTemplate::builtin(name).ok_or_else(|| {
            let known: Vec<&str> = builtin::names().collect();
            Error::invalid(format!(
                "no built-in template is called {name:?}; there are: {}",
                known.join(", ")
            ))
        })?;
        Ok(made(template))
    })
}

/// Returns the names of the built-in templates, valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_builtins() -> chat_list<chat_str> {
    static NAMES: LazyLock<Pointers<Vec<chat_str>>> =
        LazyLock::new(|| Pointers(builtin::names().map(view).collect()));
    listed(Some(&*NAMES), |names| &names.0)
}

/// Returns the text of the template as the library renders it: line feeds only, no line feed at its
/// end, known faults corrected.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_source(template: Option<&chat_template>) -> chat_str {
    view(template.map_or("", |template| template.template.source()))
}

/// Writes the name of the reader of the model's output: `turn` for a learnt format,
/// `response-template`, or the name of a template family. If there are several readers to choose
/// from, the first call compares them in about ten renders, unless `chat_params_from_template` has
/// done so. The view is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_reader(
    template: Option<&chat_template>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |template| {
        Ok(view(template.template.reader()))
    })
}

/// Tests how well the library reads what the template writes: it renders messages of many kinds,
/// and parses the renders. `*cases` is the number of messages, `*read_back` the number that parse
/// to the same message. Messages that the template refuses, and those whose turn does not begin
/// where the prompt ends, do not count. A host may refuse a template if the numbers differ or are
/// 0; `CHAT_REPORT_PROOF` has the reasons. The first call renders and parses about sixty messages;
/// later ones return the same.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_proof(
    template: Option<&chat_template>,
    read_back: Out<usize>,
    cases: Out<usize>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let template = required(template, "template")?;
        let (read_back, cases) = (required(read_back, "read_back")?, required(cases, "cases")?);
        let proof = template.template.proof();
        read_back.write(proof.read_back);
        cases.write(proof.cases);
        Ok(())
    })
}

/// The reports of `chat_template_report`. Each is a JSON object.
#[repr(u32)]
#[allow(dead_code, reason = "the numbers are for the header")]
pub enum chat_report {
    /// What the template accepts. Costs a few renders.
    Caps = 1,
    /// What the library learnt about an assistant's turn. Costs some thirty renders, unless a
    /// request made them.
    Turn = 2,
    /// The same under llama.cpp's names. Costs as much.
    Layout = 3,
    /// How well the library reads what the template writes. Costs some sixty renders and parses.
    Proof = 4,
    /// A check for authors of templates. Costs some hundred renders and parses. Only if the library
    /// was built with its part `lint` (docs/packaging.md).
    Lint = 5,
    /// How outputs are read, as a response template for other programs. Costs as much as the turn.
    ResponseTemplate = 6,
    /// The same, limited to what vLLM's server in Python supports.
    ResponseTemplateVllm = 7,
    /// The same, limited to what vLLM's server in Rust supports.
    ResponseTemplateVllmRust = 8,
    /// The same, limited to what SGLang supports.
    ResponseTemplateSglang = 9,
}

/// The kinds of report in the order of their numbers; `None` for the check of the part `lint`.
const REPORTS: [Option<ReportKind>; chat_report::ResponseTemplateSglang as usize] = {
    use ReportKind::{Caps, Layout, Proof, ResponseTemplate, ResponseTemplateFor, Turn};
    [
        Some(Caps),
        Some(Turn),
        Some(Layout),
        Some(Proof),
        None,
        Some(ResponseTemplate),
        Some(ResponseTemplateFor(Engine::Vllm)),
        Some(ResponseTemplateFor(Engine::VllmRust)),
        Some(ResponseTemplateFor(Engine::Sglang)),
    ]
};

/// Writes a report about the template, a `chat_report`, as a JSON object. The first call for a
/// report makes it; later ones return the same text.
///
/// `CHAT_REPORT_CAPS` has booleans: `supports_string_content`, `supports_typed_content`,
/// `supports_tools`, `supports_tool_calls`, `supports_parallel_tool_calls`, `supports_system_role`,
/// `supports_preserve_reasoning`, `supports_reasoning_effort` and `supports_object_arguments`
/// (arguments must be an object, not JSON text). Beside them is `reasoning_effort_levels`, a list:
/// those of `minimal`, `low`, `medium`, `high`, `xhigh` and `max` for which the template renders
/// different prompts.
///
/// `CHAT_REPORT_TURN` is for people. It has a list of texts for each part of the turn, such as
/// `reasoning`, `call` or `argument: string`, and for what is between two of them, such as `content
/// → call`. Parts that the library could not learn are missing. The parser uses it if
/// `chat_template_reader` is `turn`.
///
/// `CHAT_REPORT_LAYOUT` has `reasoning` and `tools`, objects, and `user_start`, `assistant_start`,
/// `preserved_tokens` and `additional_stops`: what llama.cpp tells hosts of the turn; and `turn`:
/// how it is written, as descriptions (docs/formats.md) take it.
///
/// `CHAT_REPORT_PROOF` has the result of `chat_template_proof` in full:
///
/// - `reader`: as `chat_template_reader`;
/// - `cases`, `read_back`: as `chat_template_proof`; `with_calls`: the cases with tool calls;
/// - `recovered`: those that are read back although they break the reader's format; grammars do not
///   cover them, and streams show them late;
/// - `grammar_cases`: the messages of calls alone that the grammar of required calls was asked
///   about; `grammar_right`: those that it takes, without a beginning that is no answer;
///   `grammar_fault`: what it does with the first other one;
/// - `alike`: messages that do not count, because another one comes back that the template renders
///   to the same text;
/// - `no_turn`, `omitted`, `refused`: messages that do not count, because the turn does not begin
///   where the prompt ends, because the template leaves out a part of them, or because it raises an
///   error; `refusal`: the first of these errors, or empty;
/// - `failures`: an array of objects with `probe` (the kind of message), `thinking` (`off`,
///   `silent` or `on`: reasoning is disabled, absent, or present), `turn` (the rendered text),
///   `expected` and `got` (messages as JSON text), and `why`.
///
/// `CHAT_REPORT_LINT` asks laws about renders and reads (docs/lint.md lists them):
/// - `faults`: the number of findings that are faults;
/// - `laws`: an object with `fault`, `note`, `holds` or `not asked` for each law;
/// - `findings`: an array of objects with `rule` (the law), `fault` (false for a note), `message`,
///   `effect` (the cost to users), `request` (the smallest one that shows it, or null), `shown`
///   (texts: `from`, e.g. `expected` and `got`, and `text`) and `places` in the template's source
///   (`line`, `column`, `excerpt`);
/// - `cases`: an array with an object for each message of the proof and each `thinking`: `probe`
///   (the kind of message), `turn` (the rendered text), `outcome` (`survives`, `omitted`,
///   `no_turn`, `lost`, `alike`, `spaced`, `rewritten` or `refused`), `fault`, `at` (the first byte
///   that differs, or null), `expected` (a text, or the part that is omitted) and `got` (a text, or
///   the error).
///
/// `CHAT_REPORT_RESPONSE_TEMPLATE` has `response_template`: how outputs are read, in the form of
/// transformers (version 1), or null with an `error` if no response template can express the calls;
/// and `limits`: an array of objects with `field` (of the message) and `message`, which says what
/// may be read differently. `CHAT_REPORT_RESPONSE_TEMPLATE_VLLM` and the reports after it have the
/// same for other engines; their `limits` also list what is lost in that engine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_report(
    template: Option<&chat_template>,
    report: u32,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(template, "template", out, error, |template| {
        let kind = numbered("report", report, &REPORTS)?;
        let text = template.reports[report as usize - 1].get_or_init(|| {
            let template = &template.template;
            let report = match kind {
                Some(kind) => template.report(kind),
                #[cfg(feature = "lint")]
                None => crate::lint::lint(template).to_json(),
                #[cfg(not(feature = "lint"))]
                None => {
                    return Err(Error::invalid(
                        "report: the library was built without its part `lint`",
                    ));
                }
            };
            Ok(report.to_string())
        });
        Ok(view(text.as_ref().map_err(Clone::clone)?))
    })
}

/// Frees the template. Params that were made from it stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_free(template: Option<Box<chat_template>>) {
    drop(template);
}
