//! What went wrong, for people.

use std::sync::OnceLock;

use super::status::chat_status;
use super::text::{chat_str, view};
use crate::api::{Api, http_status};
use crate::error::Error;

/// What went wrong: a status and a sentence. Immutable; may be used by several threads at once.
///
/// Functions that can fail take `chat_error **error` last. Pass NULL if the status is enough. Otherwise a call that does not
/// return `CHAT_STATUS_OK` puts a new object there, which is yours: free it with `chat_error_free`. What the variable held
/// before is not looked at. A call that returns `CHAT_STATUS_OK` leaves it alone.
///
/// ```c
/// chat_error *error = NULL;
/// if (chat_template_new(text, len, "", 0, "", 0, &template, &error) != CHAT_STATUS_OK) {
///   chat_str message = chat_error_message(error);
///   fprintf(stderr, "%.*s\n", (int)message.len, message.data);
///   chat_error_free(error);
/// }
/// ```
pub struct chat_error(pub(super) Error, Bodies);

/// The error in the shape of each API, once somebody has asked.
type Bodies = [OnceLock<String>; 3];

impl chat_error {
    pub(super) fn new(error: Error) -> Self {
        chat_error(error, Bodies::default())
    }

    pub(super) fn body(&self, api: Api) -> &str {
        self.1[api as usize].get_or_init(|| api.error_body(http_status(&self.0), self.0.message()).to_string())
    }
}

/// The status that the failed call returned. `CHAT_STATUS_INVALID_ARGUMENT` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_status(error: Option<&chat_error>) -> chat_status {
    error.map_or(chat_status::InvalidArgument, |error| error.0.kind().into())
}

/// What is wrong and where, as one sentence for people; its words may change between versions. The view is valid until the
/// error is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_message(error: Option<&chat_error>) -> chat_str {
    view(error.map(|error| error.0.message()))
}

/// Frees the error. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_error_free(error: Option<Box<chat_error>>) {
    drop(error);
}
