//! Conversations in token ids.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::message::Flags;
use super::next::messages_of;
use super::status::{ErrorOut, Guarded, Out, answer, chat_status, filled, give, guard, required};
use super::stream::chat_delta;
use super::template::chat_template;
use super::text::{
    self, View, array, bytes, chat_list, chat_str, list, listed, seen, utf8, view, view_bytes,
};
use crate::conversation::{Conversation, Finding, Observed, SpecialToken, Tokenizer};
use chatparse_base::{Error, Result, number};

/// A conversation in token ids. One thread at a time. A conversation copies what it needs of the
/// template and of the tokenizer.
///
/// Begin with `chat_conversation_prompt`, sample, give what was sampled to
/// `chat_conversation_observe`, go on with `chat_conversation_extend`. Nothing that was sent or
/// sampled is encoded again.
pub struct chat_conversation(Guarded<Held>);

#[derive(Clone)]
struct Held {
    conversation: Conversation,
    observed: Observed,
    /// The message, as it was asked for last.
    said: String,
    fields: View<chat_conversation_fields>,
    tokens: View<Vec<chat_id_token>>,
}

impl chat_conversation {
    fn change<T>(&mut self, change: impl FnOnce(&mut Held) -> Result<T>) -> Result<T> {
        self.0.change(|held| {
            (held.fields, held.tokens) = Default::default();
            change(held)
        })
    }
}

/// Where a tokenizer puts what it is asked for.
#[derive(Default)]
pub struct chat_token_sink {
    ids: Vec<u32>,
    bytes: Vec<u8>,
}

/// A special token: a template's, which no user may write.
#[repr(C)]
pub struct chat_special_token {
    /// Its text.
    pub text: chat_str,
    /// Its id.
    pub id: u32,
    /// The tokenizer drops white space in front of it.
    pub strips_left: bool,
    /// The tokenizer drops white space behind it.
    pub strips_right: bool,
}

/// A tokenizer of the caller's. Its functions may be called by any thread that uses a conversation
/// with it, by several at once. They return whether they were successful; a failure ends the call
/// that needed them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct chat_tokenizer {
    /// What the functions are given.
    pub user: *mut c_void,
    /// Puts the ids of a text into `sink`, as if it had no special tokens, and with nothing in
    /// front of it or behind it.
    pub encode: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            text: *const c_char,
            len: usize,
            sink: *mut chat_token_sink,
        ) -> bool,
    >,
    /// Puts the bytes of a token into `sink`. It is not asked for those of special tokens.
    pub token_bytes: Option<
        unsafe extern "C" fn(user: *mut c_void, id: u32, sink: *mut chat_token_sink) -> bool,
    >,
    /// Called when no conversation uses the tokenizer any more; may be NULL.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// The special tokens, copied: all that the tokenizer would look for in a text.
    pub special: *const chat_special_token,
    /// How many there are.
    pub special_count: usize,
}

struct Callbacks {
    asked: chat_tokenizer,
    special: Vec<SpecialToken>,
}

// SAFETY: the contract of `chat_tokenizer` lets any thread call its functions, several at once.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(release) = self.asked.release {
            // SAFETY: the caller's function, called once, by the contract.
            unsafe { release(self.asked.user) }
        }
    }
}

impl Callbacks {
    fn ask(
        &self,
        what: &str,
        call: impl FnOnce(*mut chat_token_sink) -> bool,
    ) -> Result<chat_token_sink> {
        let mut sink = chat_token_sink::default();
        match call(&mut sink) {
            true => Ok(sink),
            false => Err(Error::invalid(format!("tokenizer: {what} failed"))),
        }
    }
}

impl Tokenizer for Callbacks {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let chat_tokenizer { user, encode, .. } = self.asked;
        let (data, len) = (text.as_ptr().cast(), text.len());
        let sink = self.ask("encode", |sink| {
            // SAFETY: the caller's function, by the contract.
            encode.is_some_and(|encode| unsafe { encode(user, data, len, sink) })
        });
        Ok(sink?.ids)
    }

    fn special_tokens(&self) -> Vec<SpecialToken> {
        self.special.clone()
    }

    fn token_bytes(&self, id: u32) -> Result<Vec<u8>> {
        let chat_tokenizer {
            user, token_bytes, ..
        } = self.asked;
        let sink = self.ask("token_bytes", |sink| {
            // SAFETY: the caller's function, by the contract.
            token_bytes.is_some_and(|token_bytes| unsafe { token_bytes(user, id, sink) })
        });
        Ok(sink?.bytes)
    }
}

/// Puts ids into a sink, behind those that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_token_sink_ids(
    sink: Option<&mut chat_token_sink>,
    ids: *const u32,
    count: usize,
) {
    // SAFETY: the caller's array, by the contract.
    if let (Some(sink), Ok(ids)) = (sink, unsafe { array(ids, count, "ids") }) {
        sink.ids.extend_from_slice(ids);
    }
}

/// Puts bytes into a sink, behind those that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_token_sink_bytes(
    sink: Option<&mut chat_token_sink>,
    data: *const c_char,
    len: usize,
) {
    // SAFETY: the caller's bytes, by the contract.
    if let (Some(sink), Ok(data)) = (sink, unsafe { bytes(data, len, "data") }) {
        sink.bytes.extend_from_slice(data);
    }
}

/// Makes a conversation without messages so far. `request` is JSON as for
/// `chat_params_from_template`, with the tools and the options; its messages may be missing, and
/// are not used. `options` is as for `chat_params_from_template_with`, or NULL. `tokenizer` is
/// copied, its special tokens too. Its `user` must last until `release`, which is called even if
/// this function fails, unless `encode` or `token_bytes` is NULL.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a wrong request, a tokenizer without functions, a
/// special token without text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_conversation_new(
    template: Option<&chat_template>,
    tokenizer: Option<&chat_tokenizer>,
    request: *const c_char,
    request_len: usize,
    options: *const c_char,
    options_len: usize,
    out: Out<*mut chat_conversation>,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let asked = required(tokenizer, "tokenizer")?;
        required(asked.encode, "tokenizer.encode")?;
        required(asked.token_bytes, "tokenizer.token_bytes")?;
        let mut tokenizer = Callbacks {
            asked: *asked,
            special: Vec::new(),
        };
        let (template, out) = (required(template, "template")?, required(out, "out")?);
        // SAFETY: the caller's array, by the contract.
        for token in unsafe { array(asked.special, asked.special_count, "tokenizer.special") }? {
            // SAFETY: the caller's text, by the contract.
            let text = unsafe { utf8(token.text.data, token.text.len, "tokenizer.special") }?;
            let mut special = SpecialToken::new(token.id, text);
            (special.strips_left, special.strips_right) = (token.strips_left, token.strips_right);
            tokenizer.special.push(special);
        }
        // SAFETY: as above.
        let request = unsafe { utf8(request, request_len, "request") }?;
        // SAFETY: as above.
        let options = unsafe { text::options(options, options_len) }?;
        let request = &with_messages(request);
        let request = template.template.request(request, options)?;
        let conversation = template
            .template
            .conversation(Arc::new(tokenizer), request)?;
        out.write(give(chat_conversation(Guarded::new(Held {
            conversation,
            observed: Observed::default(),
            said: String::new(),
            fields: View::default(),
            tokens: View::default(),
        }))));
        Ok(())
    })
}

/// The body with an empty list of messages if it has none.
fn with_messages(body: &str) -> Cow<'_, str> {
    match number::read::<Map<String, Value>>(body) {
        Ok(fields) if !fields.contains_key("messages") => {
            let comma = if fields.is_empty() { "" } else { "," };
            body.replacen('{', &format!("{{\"messages\": []{comma}"), 1)
                .into()
        }
        _ => body.into(),
    }
}

/// Makes a second conversation in the same state; the two then go their own ways.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_clone(
    conversation: Option<&chat_conversation>,
    out: Out<*mut chat_conversation>,
    error: ErrorOut,
) -> chat_status {
    filled(conversation, "conversation", out, error, |conversation| {
        conversation.0.get()?;
        Ok(give(chat_conversation(conversation.0.clone())))
    })
}

/// Begins with these messages, JSON text of an array, and forgets what there was: the ids in
/// `chat_conversation_view` are those of the prompt. The template's own special tokens are such;
/// what messages say is text.
///
/// Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_conversation_prompt(
    conversation: Option<&mut chat_conversation>,
    messages: *const c_char,
    messages_len: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's text, by the contract.
        let messages = unsafe { messages_of(messages, messages_len) }?;
        required(conversation, "conversation")?.change(|held| {
            held.conversation.prompt_ids(&messages)?;
            held.observed = Observed::default();
            Ok(())
        })
    })
}

/// Takes ids as they were sampled, and replaces the deltas. `logprobs` has one for each id, or is
/// NULL.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` before a prompt, behind `chat_conversation_finish`, and
/// for an id that the tokenizer does not know. Then nothing is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_conversation_observe(
    conversation: Option<&mut chat_conversation>,
    ids: *const u32,
    logprobs: *const f32,
    count: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        // SAFETY: the caller's arrays, by the contract.
        let ids = unsafe { array(ids, count, "ids") }?;
        let logprobs = match logprobs.is_null() {
            true => &[],
            // SAFETY: as above.
            false => unsafe { array(logprobs, count, "logprobs") }?,
        };
        required(conversation, "conversation")?.change(|held| {
            held.observed = held.conversation.observe_with(ids, logprobs)?;
            Ok(())
        })
    })
}

/// Ends the output and replaces the deltas: they hold the text that could have become a marker.
/// `flags` is 0, or `CHAT_PARSE_PARTIAL` if the output was cut off. `chat_conversation_extend` does
/// so by itself.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` before a prompt.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_finish(
    conversation: Option<&mut chat_conversation>,
    flags: u32,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        let by = Flags::from_bits(flags)?.by;
        required(conversation, "conversation")?.change(|held| {
            held.observed.deltas = held.conversation.finish(by)?.deltas;
            Ok(())
        })
    })
}

/// What stays of a conversation that goes on.
#[repr(C)]
pub struct chat_extended {
    /// How many ids stay. Those behind them, in `chat_conversation_view`, are to be sent.
    pub kept: usize,
    /// The first token whose text the template changes; `SIZE_MAX` if it changes nothing.
    pub token: usize,
    /// The first byte that it changes.
    pub at: usize,
    /// Index of the message at that byte; `SIZE_MAX` for text of the template, and if nothing
    /// changes.
    pub message: usize,
    /// The lower-case name of the reason, as those of `chat_reason`; empty if nothing changes;
    /// valid for ever.
    pub reason: chat_str,
    /// The reason as a sentence; valid for ever.
    pub words: chat_str,
}

/// Appends what is to be sent behind the output in order to go on with `messages`, JSON text of an
/// array. If the template changes what was sent, `*out` says from which token on, and why; with the
/// option `append: always` all ids stay nevertheless.
///
/// Errors: as `chat_params_continue`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed. Then
/// nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_conversation_extend(
    conversation: Option<&mut chat_conversation>,
    messages: *const c_char,
    messages_len: usize,
    out: Out<chat_extended>,
    error: ErrorOut,
) -> chat_status {
    filled(conversation, "conversation", out, error, |conversation| {
        // SAFETY: the caller's text, by the contract.
        let messages = unsafe { messages_of(messages, messages_len) }?;
        conversation.change(|held| {
            let next = held.conversation.extend(&messages)?;
            held.observed = Observed::default();
            let rewrite = next.rewrite.as_ref();
            let why = rewrite.map(|rewrite| &rewrite.why);
            Ok(chat_extended {
                kept: next.kept,
                token: rewrite.map_or(usize::MAX, |rewrite| rewrite.token),
                at: why.map_or(0, |why| why.at),
                message: why.and_then(|why| why.message).unwrap_or(usize::MAX),
                reason: view(why.map_or("", |why| why.reason)),
                words: view(why.map_or("", |why| why.words)),
            })
        })
    })
}

/// Takes back what was sampled behind the first `length` ids, also behind
/// `chat_conversation_finish`. To go back further, keep a clone.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` if these ids do not end in the last output.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_rewind(
    conversation: Option<&mut chat_conversation>,
    length: usize,
    error: ErrorOut,
) -> chat_status {
    guard(error, || {
        required(conversation, "conversation")?.change(|held| {
            held.conversation.rewind(length)?;
            held.observed = Observed::default();
            Ok(())
        })
    })
}

/// What a conversation has. All is valid until the conversation changes.
#[repr(C)]
pub struct chat_conversation_fields {
    /// All ids, sent and sampled.
    pub ids: chat_list<u32>,
    /// How many of them are in front of the last output.
    pub prompt_count: usize,
    /// The text in front of the last output.
    pub text: chat_str,
    /// The bytes of the last output.
    pub output: chat_str,
    /// The deltas of the last `chat_conversation_observe` or `chat_conversation_finish`.
    pub deltas: chat_list<chat_delta>,
    /// Whether the last output ends with a special token that ends outputs.
    pub ended: bool,
}

/// Returns what the conversation has.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_view(
    conversation: Option<&chat_conversation>,
) -> *const chat_conversation_fields {
    seen(conversation, |conversation| {
        let held = conversation.0.get().ok()?;
        Some(held.fields.get(|lists| chat_conversation_fields {
            ids: list(held.conversation.ids()),
            prompt_count: held.conversation.prompt_len(),
            text: view(held.conversation.prompt()),
            output: view_bytes(held.conversation.output()),
            deltas: lists.keep(held.observed.deltas.iter().map(|delta| chat_delta {
                kind: delta.kind,
                call: delta.call,
                text: view(&delta.text),
                span_begin: delta.span.start,
                span_end: delta.span.end,
            })),
            ended: held.observed.ended,
        }))
    })
}

/// What a token of a conversation is a part of. Later versions may add some: treat unknown ones as
/// `CHAT_FIELD_MARKUP`.
pub use chatparse_ids::FieldKind as chat_field;

/// A token of a conversation.
#[repr(C)]
pub struct chat_id_token {
    /// Where its text ends in the conversation's, in bytes.
    pub end: usize,
    /// The call that it is a part of; `SIZE_MAX` if none.
    pub call: usize,
    /// The argument of the call whose value it is; empty if none. Valid until the conversation
    /// changes.
    pub argument: chat_str,
    /// What it is a part of.
    pub field: chat_field,
    /// Its log probability; NaN if it was not told.
    pub logprob: f32,
    /// Whether it was sampled.
    pub sampled: bool,
}

/// Returns what is known of each id; valid until the conversation changes. The first call after a
/// change costs as much as the conversation is long.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_tokens(
    conversation: Option<&chat_conversation>,
) -> chat_list<chat_id_token> {
    listed(conversation, |conversation| match conversation.0.get() {
        Ok(held) => held.tokens.get(|_| {
            let tokens = held.conversation.tokens().iter();
            tokens
                .map(|token| chat_id_token {
                    end: token.end,
                    call: token.field.call.unwrap_or(usize::MAX),
                    argument: view(token.field.argument.as_deref().unwrap_or_default()),
                    field: token.field.kind,
                    logprob: token.logprob.unwrap_or(f32::NAN),
                    sampled: token.sampled,
                })
                .collect()
        }),
        Err(_) => &[],
    })
}

/// Writes the last output as a message, JSON text as OpenAI has it, to `*out`; valid until the
/// conversation changes.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_message_json(
    conversation: Option<&mut chat_conversation>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(conversation, "conversation", out, error, |conversation| {
        conversation.change(|held| {
            held.said = held.conversation.message().to_json().to_string();
            Ok(view(&held.said))
        })
    })
}

/// Checks whether the tokenizer goes with the template, with the tools and options of the
/// conversation, and writes what stands between them to `*out`, JSON text; valid until the
/// conversation changes. It is an array of objects: `kind` (`end`, `marker`: the end of the turn,
/// or another marker, is no special token; `seam`: ids turn by turn are not those of the whole;
/// `rewrite`: the template changes what was sent), `words`, the smallest of the conversations that
/// were tried which shows it as `messages`, and `token`, the first token that differs, or null. The
/// conversation itself stays as it is.
///
/// Errors: as `chat_params_from_template`; `CHAT_STATUS_INVALID_ARGUMENT` if the tokenizer failed.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_check_json(
    conversation: Option<&mut chat_conversation>,
    out: Out<chat_str>,
    error: ErrorOut,
) -> chat_status {
    filled(conversation, "conversation", out, error, |conversation| {
        conversation.change(|held| {
            let found = held.conversation.check()?;
            held.said = Value::from_iter(found.iter().map(Finding::to_json)).to_string();
            Ok(view(&held.said))
        })
    })
}

/// Frees a conversation. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_conversation_free(conversation: Option<Box<chat_conversation>>) {
    answer(conversation, drop);
}
