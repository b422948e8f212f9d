//! A chat template.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use super::error::chat_error;
use super::guard::guard;
use super::ptr::{give, required};
use super::status::chat_status;
use super::text::{chat_str, utf8, view};
use crate::builtin;
use crate::chat::{ChatTemplate, TemplateOptions};
use crate::error::Error;
use crate::lint::lint;

/// A compiled chat template: it renders prompts, and what it shows of the model's format is learnt from it once. Immutable;
/// make one for each model and share it between threads.
pub struct chat_template {
    pub(super) template: ChatTemplate,
    caps: OnceLock<String>,
    proof: OnceLock<String>,
    layout: OnceLock<String>,
    turn: OnceLock<String>,
    lint: OnceLock<String>,
}

impl chat_template {
    fn new(template: ChatTemplate) -> Self {
        let none = OnceLock::new;
        chat_template { template, caps: none(), proof: none(), layout: none(), turn: none(), lint: none() }
    }
}

/// Compiles a template from its text: Jinja, as model vendors ship it, or the text of a `tokenizer_config.json` or
/// `chat_template.json` that holds it. `bos` and `eos` are the texts of the model's special tokens that templates may refer to, e.g.
/// `<s>` and `</s>`; length 0 where the model has none, or for those of the file. The texts are copied.
///
/// On success `*out` is a new template, to be freed with `chat_template_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, with the position of the first wrong byte, and for a
/// JSON object without a template; `CHAT_STATUS_TEMPLATE` with the line where the text does not parse; `CHAT_STATUS_LIMIT` where
/// it is too long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_new(
    source: *const c_char,
    source_len: usize,
    bos: *const c_char,
    bos_len: usize,
    eos: *const c_char,
    eos_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_template>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's three texts, by the contract.
        let [source, bos, eos] =
            unsafe { [utf8(source, source_len, "source")?, utf8(bos, bos_len, "bos")?, utf8(eos, eos_len, "eos")?] };
        out.write(give(chat_template::new(ChatTemplate::new(source, bos, eos)?)));
        Ok(())
    })
}

/// Compiles a template that is to be taken in a certain way.
///
/// `options` is a JSON object; what it leaves out has its default. `name` says which of several named templates of a
/// `tokenizer_config.json` is meant (default: `default`). `bos` and `eos` are the texts of the model's special tokens
/// (default: empty). With `learn_only` (default false) only what the template shows by itself counts: no family of templates and
/// no work-around is looked up. Where there are several ways to read the template's model, the first request lets them read what
/// the template renders and takes the best; with `prove` false (default true) the first way is taken unproved. The texts are
/// copied.
///
/// On success `*out` is a new template, to be freed with `chat_template_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, and for options that are no JSON object, of a wrong
/// type or unknown, naming them; otherwise as `chat_template_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_with_options(
    source: *const c_char,
    source_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_template>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's two texts, by the contract.
        let [source, options] =
            unsafe { [utf8(source, source_len, "source")?, utf8(options, options_len, "options")?] };
        let options = TemplateOptions::from_text(options)?;
        out.write(give(chat_template::new(ChatTemplate::with_options(source, &options)?)));
        Ok(())
    })
}

/// A template that the library brings along, by its name, e.g. `chatml`: for a model that has none.
///
/// On success `*out` is a new template, to be freed with `chat_template_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an unknown name; the message lists the known ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_template_builtin(
    name: *const c_char,
    name_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_template>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's text, by the contract.
        let name = unsafe { utf8(name, name_len, "name") }?;
        let template = ChatTemplate::builtin(name).ok_or_else(|| {
            let known: Vec<&str> = builtin::names().collect();
            Error::invalid(format!("no built-in template is called {name:?}; there are: {}", known.join(", ")))
        })?;
        out.write(give(chat_template::new(template)));
        Ok(())
    })
}

/// How many templates the library brings along.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_builtin_count() -> usize {
    builtin::names().count()
}

/// The name of built-in template number `index` (from 0). The view is valid for ever. Empty for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_builtin_name(index: usize) -> chat_str {
    view(builtin::names().nth(index))
}

/// The text of the template as it is used: line feeds only, none at its end, known faults mended. The view is valid until the
/// template is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_source(template: Option<&chat_template>) -> chat_str {
    view(template.map(|template| template.template.source()))
}

/// What the template accepts, as a JSON object of booleans: `supports_tools`, `supports_system_role`, and so on. The first
/// call finds out, with a few renders; later ones return the same text.
///
/// On success `*out` is a view, valid until the template is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_caps_json(
    template: Option<&chat_template>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        let caps = template.caps.get_or_init(|| template.template.caps().to_json().to_string());
        out.write(view(Some(caps)));
        Ok(())
    })
}

/// The name of what reads the model's output: `layout` or `turn` for what was learnt of the template, else the name of a family of
/// templates that is known. Where there are several ways to read it, the first call lets them read what the template renders
/// until one has turned out best, which takes some ten renders; so does the first `chat_params_from_template`, unless this was
/// called before. Later calls return the same.
///
/// On success `*out` is a view, valid for ever.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_reader(
    template: Option<&chat_template>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        out.write(view(Some(template.template.reader().name())));
        Ok(())
    })
}

/// How well what the template writes is read back: it renders messages of many kinds as the model would write them, and those
/// are parsed. Of `*cases` messages, `*read_back` come back. Messages that the template refuses, and those whose beginning cannot
/// be told from the prompt, are no cases; a template that renders nothing has none. A host may refuse a template where the numbers
/// differ, or are 0; `chat_template_proof_json` says what is wrong. The first call renders and parses some sixty messages; later
/// ones return the same.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_proof(
    template: Option<&chat_template>,
    read_back: Option<&mut MaybeUninit<usize>>,
    cases: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
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

/// The same in full, as a JSON object: `reader`, `cases`, `read_back`, and `failures`, an array of objects with `probe` (what the
/// message shows), `thinking` (`off`, `silent` or `on`: the model is asked not to think, does not, or thinks), `turn` (what the
/// template writes), `expected` and `got` (the messages, as JSON text) and `why`. Of the cases, `with_calls` make calls. Of those
/// that come back, `recovered` are not in the reader's format, so that neither streaming nor grammars know them, and `alike` come
/// back as another message that the template writes alike. What is no case is counted, too: in `no_turn` messages that do not
/// begin where the prompt ends, in `omitted` those whose calls are left out, in `refused` those that the template refuses;
/// `refusal` says why the first was.
///
/// On success `*out` is a view, valid until the template is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_proof_json(
    template: Option<&chat_template>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        let proof = template.proof.get_or_init(|| template.template.proof().to_json().to_string());
        out.write(view(Some(proof)));
        Ok(())
    })
}

/// What was learnt of the template by comparing its renders, as a JSON object of groups of fields: `reasoning`, `content`, `tools`,
/// `function`, `arguments`, `call_id` and more. They say what opens and closes each part of an answer, and how calls are written, for people
/// and for `chat_expr_calls`. Where `chat_template_reader` is another than `layout`, something else reads the output. The first call
/// finds out, with some renders, unless a request did before; later ones return the same.
///
/// On success `*out` is a view, valid until the template is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_layout_json(
    template: Option<&chat_template>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        let layout = template.layout.get_or_init(|| template.template.analysis().layout.to_json().to_string());
        out.write(view(Some(layout)));
        Ok(())
    })
}

/// What was learnt of the way in which the template writes an assistant's turn, as a JSON object, for people: a list of texts for each
/// thing that it writes, such as `reasoning`, `call`, `argument: string` or `content → call`, what stands between the two; `null` where
/// no turn was learnt. This is what reads the output where `chat_template_reader` is `turn`. The first call finds out, with some renders,
/// unless a request did before; later ones return the same.
///
/// On success `*out` is a view, valid until the template is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_turn_json(
    template: Option<&chat_template>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        let turn = template.turn.get_or_init(|| {
            let learnt = template.template.turn(true).or(template.template.turn(false));
            learnt.map_or_else(|| "null".to_owned(), |turn| turn.to_json().to_string())
        });
        out.write(view(Some(turn)));
        Ok(())
    })
}

/// For authors of templates, as a JSON object: whether what the template writes is read back, and rendered again to the same bytes,
/// and whether prompts only grow as a conversation does. `faults` counts the `cases` to look at. Each case has `probe` (what the message
/// shows), `thinking`, `turn` (what the template writes), `outcome` (`survives`, `unsaid`, `no_turn`, `lost`, `spaced`, `rewritten` or
/// `refused`) and, where there is more to say, `at` (the first byte that differs), `wanted`, `got`, `part` or `error`. `next` says for
/// each kind of turn whether what was sent is `preserved`, and `untraced` has texts of a prompt whose origin cannot be told. The first
/// call renders some hundred conversations; later ones return the same.
///
/// On success `*out` is a view, valid until the template is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_lint_json(
    template: Option<&chat_template>,
    out: Option<&mut MaybeUninit<chat_str>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        let found = template.lint.get_or_init(|| lint(&template.template).to_json().to_string());
        out.write(view(Some(found)));
        Ok(())
    })
}

/// Frees the template. Params that were made from it stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_free(template: Option<Box<chat_template>>) {
    drop(template);
}
