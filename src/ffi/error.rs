//! What went wrong, for people.

use super::status::{chat_error, chat_status};
use super::text::{chat_str, view};

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
