//! How a call went.

use std::ffi::{CString, c_char};
use std::sync::LazyLock;

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

/// Names by their numbers, as C reads them.
pub(super) type Names = LazyLock<Vec<(u32, CString)>>;

/// The names of kinds with their numbers.
pub(super) fn named<'n>(names: impl IntoIterator<Item = (u32, &'n str)>) -> Vec<(u32, CString)> {
    let names = names.into_iter();
    names
        .map(|(number, name)| (number, CString::new(name).unwrap_or_default()))
        .collect()
}

pub(super) fn name_of(number: u32, names: &'static Names) -> *const c_char {
    let known = names.iter().find(|(known, _)| *known == number);
    known.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// Returns the lower-case name of a status, e.g. `invalid_argument`, or `unknown`; static, with NUL
/// at its end.
#[unsafe(no_mangle)]
pub extern "C" fn chat_status_name(status: u32) -> *const c_char {
    static NAMES: Names = Names::new(|| {
        let kinds = ErrorKind::ALL.map(|kind| (chat_status::from(kind) as u32, kind.name()));
        named([(chat_status::Ok as u32, "ok")].into_iter().chain(kinds))
    });
    name_of(status, &NAMES)
}
