//! The answers of a server to requests that it cannot serve.

use serde_json::Value;

use super::Api;
use chatparse_base::{Error, ErrorKind};

/// HTTP codes with OpenAI's and Anthropic's names for such errors. For other codes, the entry for
/// the same hundred is used, which is the first of them.
const KINDS: &[(u16, &str, &str)] = &[
    (400, "invalid_request_error", "invalid_request_error"),
    (401, "authentication_error", "authentication_error"),
    (403, "permission_error", "permission_error"),
    (404, "not_found_error", "not_found_error"),
    (413, "invalid_request_error", "request_too_large"),
    (429, "rate_limit_error", "rate_limit_error"),
    (500, "server_error", "api_error"),
    (503, "server_error", "overloaded_error"),
    (529, "server_error", "overloaded_error"),
];

/// The HTTP code for an error of this library: 400 for errors in the request, otherwise 500.
pub fn http_status(error: &Error) -> u16 {
    match error.kind() {
        ErrorKind::InvalidArgument | ErrorKind::Schema | ErrorKind::Limit | ErrorKind::Template => {
            400
        }
        _ => 500,
    }
}

impl Api {
    /// The body of an error with this HTTP code. For OpenAI, `param` is the field that the message
    /// begins with, if it does.
    pub fn error_body(self, http_status: u16, message: &str) -> Value {
        let (openai, anthropic) = kinds(http_status);
        match self {
            Api::ChatCompletions | Api::Responses => {
                json!({"error": {"message": message, "type": openai, "param": param(message), "code": null}})
            }
            Api::Messages => {
                json!({"type": "error", "error": {"type": anthropic, "message": message}})
            }
        }
    }
}

pub fn kinds(http_status: u16) -> (&'static str, &'static str) {
    let other = if http_status < 500 { 400 } else { 500 };
    let mut rows = KINDS.iter().rev();
    let row = rows.find(|(known, ..)| [http_status, other].contains(known));
    let (_, openai, anthropic) = row.unwrap_or(&KINDS[0]);
    (openai, anthropic)
}

/// The path at the start of a message: `messages[2].content: missing`.
fn param(message: &str) -> Option<&str> {
    let (path, _) = message.split_once(": ")?;
    let mut letters = path.chars();
    let is_path = letters.all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c));
    (is_path && !path.is_empty()).then_some(path)
}
