//! The next turn of a conversation.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use serde_json::Value;

use super::error::chat_error;
use super::guard::guard;
use super::params::{Continued, chat_params};
use super::ptr::{give, required};
use super::status::chat_status;
use super::text::{bytes, chat_str, utf8, view};
use crate::error::Error;
use crate::next::{Next, Reason};

/// For `chat_params_continue`: where the template was found to write the next turn without a look at what is further up, only
/// the system's message, the user's last one and what is new are rendered, so the cost does not grow with the conversation.
/// It was found out in conversations of some thirty messages; a template that only counts further than that would not be
/// noticed. Such conversations are rendered once for a template, some hundred in all; `chat_params_short` tells whether they
/// settled it.
pub const CHAT_CONTINUE_LEARNT: u32 = 1;

/// Goes on behind an output so that nothing that was sent is written anew, and what a server keeps of what its model has read
/// stays good: `chat_params_append` of the new params is what to send behind the prompt of `params` and `output`.
///
/// `output` is what the model wrote behind that prompt, any bytes, with or without the text of the token that ended it. It
/// stays as it was written, also where the message that was read of it would be rendered with other white space or another
/// order of keys. It may have been cut off: what is open then is closed as the template closes it. `messages` is the JSON
/// text of an array of messages as in a request: results of tools, or what the user says. Calls to which the model gave no id
/// have those that the results answer, in their order. Both texts are copied.
///
/// Some templates write anew what was sent once other messages follow: they drop the reasoning of earlier turns, say. That is
/// no failure: then `chat_params_rewrite` tells why, and `chat_params_kept` how many bytes of what was sent stand; those
/// behind them are to be taken back, a token that reaches behind them included, and `chat_params_append` sent instead.
///
/// With `flags` 0, the whole conversation is rendered and compared, so nothing is written anew without being told; the other
/// value is `CHAT_CONTINUE_LEARNT`. The clock that the template sees is that of the first request.
///
/// On success `*out` is a new object, to be freed with `chat_params_free`: it has the whole prompt, and what parses the next
/// output. `params` stays as it is, for another output. Neither needs the other, nor the template.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for unknown flags, and for messages that are no JSON array of messages,
/// naming the field; `CHAT_STATUS_TEMPLATE` where the template raises or fails; `CHAT_STATUS_LIMIT` where the prompt is too
/// long, too deep or too costly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_params_continue(
    params: Option<&chat_params>,
    output: *const c_char,
    output_len: usize,
    messages: *const c_char,
    messages_len: usize,
    flags: u32,
    out: Option<&mut MaybeUninit<*mut chat_params>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (params, out) = (required(params, "params")?, required(out, "out")?);
        // SAFETY: the caller's texts, by the contract.
        let (output, messages) =
            unsafe { (bytes(output, output_len, "output")?, utf8(messages, messages_len, "messages")?) };
        let messages: Value = serde_json::from_str(messages)
            .map_err(|error| Error::invalid(format!("the messages are no JSON: {error}")))?;
        let Next { session, kept, rewrite, short, .. } = match flags {
            0 => params.session.next(output, &messages)?,
            CHAT_CONTINUE_LEARNT => params.session.next_learnt(output, &messages)?,
            unknown => return Err(Error::invalid(format!("flags: {unknown:#x} is unknown"))),
        };
        out.write(give(chat_params::new(session, Some(Continued { kept, rewrite, short }))));
        Ok(())
    })
}

/// How many bytes stand of what was sent before `chat_params_continue`, which is the prompt and the output: all of them where
/// there is no rewrite. The prompt begins with them. 0 for NULL, and for params that go on behind no others.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_kept(params: Option<&chat_params>) -> usize {
    params.and_then(|params| params.next.as_ref()).map_or(0, |next| next.kept)
}

/// What to send behind what stands: the prompt from byte `chat_params_kept` on. The view is valid until the params are freed.
/// Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_append(params: Option<&chat_params>) -> chat_str {
    view(params.and_then(|params| params.params().prompt.get(chat_params_kept(Some(params))..)))
}

/// Whether `CHAT_CONTINUE_LEARNT` spared the render of the whole conversation. False for NULL, and for params that go on
/// behind no others.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_short(params: Option<&chat_params>) -> bool {
    params.and_then(|params| params.next.as_ref()).is_some_and(|next| next.short)
}

/// Why a template writes anew what was sent. Later versions may add reasons: take those that you do not know for
/// `CHAT_REASON_CHANGED`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum chat_reason {
    /// It does not.
    #[default]
    None = 0,
    /// The reasoning of an earlier turn is left out.
    Reasoning = 1,
    /// The turn opens otherwise than the prompt opened it, e.g. without an empty thought.
    Opening = 2,
    /// What was sent comes further on, behind something else.
    Moved = 3,
    /// Other text stands there.
    Changed = 4,
    /// The template does not write the turn as the model did: it leaves a part out, or writes it in a way that cannot be told
    /// to be the same.
    Output = 5,
}

impl From<Reason> for chat_reason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Reasoning => chat_reason::Reasoning,
            Reason::Opening => chat_reason::Opening,
            Reason::Moved => chat_reason::Moved,
            Reason::Changed => chat_reason::Changed,
            Reason::Output => chat_reason::Output,
        }
    }
}

/// What a template writes anew.
#[repr(C)]
pub struct chat_rewrite {
    /// Why; `CHAT_REASON_NONE` where all that was sent stands.
    pub reason: chat_reason,
    /// The same in words, valid for ever.
    pub words: chat_str,
    /// The message that stands where the first byte is another one, by its number in the conversation, from 0; `SIZE_MAX`
    /// where the template's own words stand there, and where there is no rewrite.
    pub message: usize,
}

/// Why not all that was sent before `chat_params_continue` stands, if so. The first byte that does not is `chat_params_kept`. No
/// reason for NULL, and for params that go on behind no others.
#[unsafe(no_mangle)]
pub extern "C" fn chat_params_rewrite(params: Option<&chat_params>) -> chat_rewrite {
    match params.and_then(|params| params.next.as_ref()?.rewrite.as_ref()) {
        Some(rewrite) => chat_rewrite {
            reason: rewrite.reason.into(),
            words: view(Some(rewrite.reason.words())),
            message: rewrite.message.unwrap_or(usize::MAX),
        },
        None => chat_rewrite { reason: chat_reason::None, words: view(None), message: usize::MAX },
    }
}
