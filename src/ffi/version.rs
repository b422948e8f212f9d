//! The version of the header and of the library.

use std::ffi::c_char;

use super::status::{ErrorOut, chat_status, guard};
use chatparse_base::Error;

/// Major version of this header.
pub const CHAT_VERSION_MAJOR: u32 = 0;
/// Minor version of this header.
pub const CHAT_VERSION_MINOR: u32 = 1;
/// Patch version of this header.
pub const CHAT_VERSION_PATCH: u32 = 0;
/// Version of this header as one number, for comparisons: major * 10000 + minor * 100 + patch.
pub const CHAT_VERSION_NUMBER: u32 =
    CHAT_VERSION_MAJOR * 10_000 + CHAT_VERSION_MINOR * 100 + CHAT_VERSION_PATCH;

/// Returns the version of the linked library, e.g. `0.1.0`. The text is static and ends with NUL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Checks that a program compiled with the header version `header` can use the library that was
/// loaded: pass `CHAT_VERSION_NUMBER`. A library can be used by programs for its own version, and
/// for older versions with the same ABI.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with both versions, if it cannot.
#[unsafe(no_mangle)]
pub extern "C" fn chat_version_check(header: u32, error: ErrorOut) -> chat_status {
    guard(error, || match serves(CHAT_VERSION_NUMBER, header) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the program was compiled for chatparse {}, and the library is {}",
            shown(header),
            shown(CHAT_VERSION_NUMBER)
        ))),
    })
}

fn serves(library: u32, header: u32) -> bool {
    abi(library) == abi(header) && library >= header
}

/// The minor version up to 1.0, and the major one from then on.
fn abi(number: u32) -> (u32, u32) {
    match number {
        ..10_000 => (0, number / 100),
        _ => (number / 10_000, 0),
    }
}

fn shown(number: u32) -> String {
    format!(
        "{}.{}.{}",
        number / 10_000,
        number / 100 % 100,
        number % 100
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_library_serves_older_programs_of_its_abi() {
        for (library, header, serves) in [
            (100, 100, true),
            (103, 101, true),
            (101, 103, false),
            (200, 100, false),
            (10_000, 9_900, false),
            (10_203, 10_000, true),
            (10_203, 10_300, false),
            (20_000, 10_000, false),
        ] {
            assert_eq!(
                super::serves(library, header),
                serves,
                "{library} for {header}"
            );
        }
    }
}
