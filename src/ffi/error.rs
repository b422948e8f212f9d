//! What went wrong, for people.

use std::sync::OnceLock;

use super::status::chat_status;
use super::text::{chat_str, view};
use chatparse_base::Error;

/// A status and a sentence about a call that failed. Immutable.
///
/// Functions that can fail take `chat_error **error` last. Pass NULL if the status is enough.
/// Otherwise a call that fails stores a new object there, whatever the old value is; free it with
/// `chat_error_free`. A call that succeeds leaves `*error` alone.
///
/// ```c
/// chat_error *error = NULL;
/// if (chat_template_new(text, len, "", 0, "", 0, &template, &error) != CHAT_STATUS_OK) {
///   chat_str message = chat_error_message(error);
///   fprintf(stderr, "%.*s\n", (int)message.len, message.data);
///   chat_error_free(error);
/// }
/// ```
pub struct chat_error(pub(super) Error, pub(super) Bodies);

/// The error in the shape of each API, once somebody has asked.
pub(super) type Bodies = [OnceLock<String>; 3];

/// Returns the status that the failed call returned. `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_status(error: Option<&chat_error>) -> chat_status {
    error.map_or(chat_status::InvalidArgument, |error| error.0.kind().into())
}

/// Returns what is wrong and where, as one sentence for people. The words may change between
/// versions.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_message(error: Option<&chat_error>) -> chat_str {
    view(error.map_or("", |error| error.0.message()))
}

/// Frees the error.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_free(error: Option<Box<chat_error>>) {
    drop(error);
}
