//! Which version this is.

use std::ffi::c_char;

/// Major version of this header.
pub const CHAT_VERSION_MAJOR: u32 = 0;
/// Minor version of this header.
pub const CHAT_VERSION_MINOR: u32 = 1;
/// Patch version of this header.
pub const CHAT_VERSION_PATCH: u32 = 0;
/// Version of this header as one number, for comparisons: major * 10000 + minor * 100 + patch.
pub const CHAT_VERSION_NUMBER: u32 = CHAT_VERSION_MAJOR * 10_000 + CHAT_VERSION_MINOR * 100 + CHAT_VERSION_PATCH;

/// Returns the version of the linked library, e.g. `0.1.0`. The text is static and ends with NUL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
