//! How a call went.

use std::ffi::{CStr, c_char};

use chatparse_base::ErrorKind;

/// The result of a call. Each hundred is one kind of error. Numbers never change their meaning;
/// later versions may add some. Treat an unknown number as its hundred: 203 as 200.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_status {
    /// The call succeeded and wrote its outputs.
    Ok = 0,
    /// The input has the wrong form; the error's message names what and where. (HTTP: 400.)
    InvalidArgument = 100,
    /// The template does not parse, raises an error, or fails while it renders. (HTTP: 400 for a
    /// client's template, 500 for the server's own.)
    Template = 200,
    /// A JSON schema cannot be used. (HTTP: 400.)
    Schema = 300,
    /// The input is too long, too deep or too costly. (HTTP: 400 or 413.)
    Limit = 400,
    /// The output does not match the format, and the caller set `CHAT_PARSE_STRICT`; or a tree that
    /// did not match has no message. (HTTP: 500.)
    Parse = 500,
    /// A defect of the library. A handle that the call took without `const` can only be freed now.
    /// (HTTP: 500.)
    Internal = 900,
}

same_names!(ErrorKind => chat_status: InvalidArgument, Template, Schema, Limit, Parse; other: Internal);

const NAMES: &[(chat_status, &CStr)] = &[
    (chat_status::Ok, c"ok"),
    (chat_status::InvalidArgument, c"invalid_argument"),
    (chat_status::Template, c"template"),
    (chat_status::Schema, c"schema"),
    (chat_status::Limit, c"limit"),
    (chat_status::Parse, c"parse"),
    (chat_status::Internal, c"internal"),
];

/// Returns the lower-case name of a status, e.g. `invalid_argument`, or `unknown`; static, with NUL
/// at its end.
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
            let (_, name) = NAMES
                .iter()
                .find(|(status, _)| *status == chat_status::from(kind))
                .unwrap();
            assert_eq!(name.to_str(), Ok(kind.name()));
        }
    }
}
