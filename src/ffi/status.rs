//! How a call went.

use std::ffi::{CStr, c_char};

use crate::error::ErrorKind;

/// How a call went. Numbers are grouped by hundreds and never change their meaning; later versions may add some, so treat
/// one that you do not know like the first of its hundred.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_status {
    /// All went well; the outputs are written.
    Ok = 0,
    /// The caller's input has the wrong shape: a NULL handle, a text that is not UTF-8, a request that is no JSON or lacks a
    /// field, an unknown flag, an index that is out of range. (HTTP: 400.)
    InvalidArgument = 100,
    /// The template does not parse, raises an error, or fails while it renders. (HTTP: 400 for a template of the client's, 500
    /// for the server's own.)
    Template = 200,
    /// A JSON schema cannot be used. (HTTP: 400.)
    Schema = 300,
    /// A limit was reached: the input is too long, too deep or too costly. (HTTP: 400 or 413.)
    Limit = 400,
    /// Only with `CHAT_PARSE_STRICT`: the model's output does not fit the template's format. (HTTP: 500.)
    Parse = 500,
    /// A defect of the library. If the call had a handle without `const`, that handle answers with this status from now on and
    /// is good for nothing but its `_free`. (HTTP: 500.)
    Internal = 900,
}

impl From<ErrorKind> for chat_status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidArgument => chat_status::InvalidArgument,
            ErrorKind::Template => chat_status::Template,
            ErrorKind::Schema => chat_status::Schema,
            ErrorKind::Limit => chat_status::Limit,
            ErrorKind::Parse => chat_status::Parse,
            ErrorKind::Internal => chat_status::Internal,
        }
    }
}

const NAMES: &[(chat_status, &CStr)] = &[
    (chat_status::Ok, c"ok"),
    (chat_status::InvalidArgument, c"invalid_argument"),
    (chat_status::Template, c"template"),
    (chat_status::Schema, c"schema"),
    (chat_status::Limit, c"limit"),
    (chat_status::Parse, c"parse"),
    (chat_status::Internal, c"internal"),
];

/// The lower-case name of a status, e.g. `invalid_argument`; `unknown` for a number that is none. The text is static and ends
/// with NUL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_status_name(status: u32) -> *const c_char {
    let known = NAMES.iter().find(|(known, _)| *known as u32 == status);
    known.map_or(c"unknown", |(_, name)| name).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_error_kinds() {
        use ErrorKind::{Internal, InvalidArgument, Limit, Parse, Schema, Template};
        for kind in [InvalidArgument, Template, Schema, Limit, Parse, Internal] {
            let (_, name) = NAMES.iter().find(|(status, _)| *status == chat_status::from(kind)).unwrap();
            assert_eq!(name.to_str(), Ok(kind.name()));
        }
    }
}
