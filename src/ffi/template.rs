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
use crate::chat::ChatTemplate;
use crate::error::Error;

/// A compiled chat template: it renders prompts, and what it shows of the model's format is learnt from it once. Immutable;
/// make one for each model and share it between threads.
pub struct chat_template {
    pub(super) template: ChatTemplate,
    caps: OnceLock<String>,
}

impl chat_template {
    fn new(template: ChatTemplate) -> Self {
        chat_template { template, caps: OnceLock::new() }
    }
}

/// Compiles a template from its text (Jinja, as model vendors ship it). `bos` and `eos` are the texts of the model's special
/// tokens that templates may refer to, e.g. `<s>` and `</s>`; length 0 where the model has none. The texts are copied.
///
/// On success `*out` is a new template, to be freed with `chat_template_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is not UTF-8, with the position of the first wrong byte;
/// `CHAT_STATUS_TEMPLATE` with the line where the text does not parse; `CHAT_STATUS_LIMIT` where it is too long.
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

/// Frees the template. Params that were made from it stay valid. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_template_free(template: Option<Box<chat_template>>) {
    drop(template);
}
