//! Text in: pointer and length. Text out: a borrowed view.

use std::ffi::c_char;
use std::slice;

use chatparse_base::{Error, Result};

/// A view of text. See the rules above for its lifetime. Print it with `printf("%.*s",
/// (int)text.len, text.data)`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct chat_str {
    /// The first byte; never NULL in a view that the library returns, except in the fields of a
    /// NULL handle.
    pub data: *const c_char,
    /// Length in bytes.
    pub len: usize,
}

/// A view of text.
pub(super) fn view(text: &str) -> chat_str {
    view_bytes(text.as_bytes())
}

/// A view of bytes that may be no text.
pub(super) fn view_bytes(bytes: &[u8]) -> chat_str {
    match bytes {
        // Rust's empty slices point nowhere in particular; C code likes an address it may look at.
        [] => chat_str {
            data: c"".as_ptr(),
            len: 0,
        },
        bytes => chat_str {
            data: bytes.as_ptr().cast(),
            len: bytes.len(),
        },
    }
}

/// Bytes from C. NULL is fine for no bytes.
///
/// # Safety
/// `data` is NULL, or `len` bytes can be read there and do not change for as long as the result is
/// used.
pub(super) unsafe fn bytes<'a>(data: *const c_char, len: usize, name: &str) -> Result<&'a [u8]> {
    // SAFETY: this function's contract is the same.
    unsafe { items(data.cast(), len, name, "length") }
}

/// Text from C that must be UTF-8.
///
/// # Safety
/// As [`bytes`].
pub(super) unsafe fn utf8<'a>(data: *const c_char, len: usize, name: &str) -> Result<&'a str> {
    // SAFETY: this function's contract is the same.
    let bytes = unsafe { bytes(data, len, name) }?;
    std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid(format!("{name}: not UTF-8 at byte {}", error.valid_up_to()))
    })
}

/// The JSON text of a request's options. NULL stands for none.
///
/// # Safety
/// `data` is NULL, or as in [`bytes`].
pub(super) unsafe fn options<'a>(data: *const c_char, len: usize) -> Result<&'a str> {
    if data.is_null() {
        Ok("{}")
    } else {
        // SAFETY: not NULL, and otherwise this function's contract is the same.
        unsafe { utf8(data, len, "options") }
    }
}

/// An array from C. NULL is fine for none.
///
/// # Safety
/// `data` is NULL, or `count` items can be read there and do not change for as long as the result
/// is used.
pub(super) unsafe fn array<'a, T>(data: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    // SAFETY: this function's contract is the same.
    unsafe { items(data, count, name, "count") }
}

/// Bytes, or an array. `measure` is what errors call their number.
///
/// # Safety
/// As [`array`].
unsafe fn items<'a, T>(data: *const T, count: usize, name: &str, measure: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::invalid(format!(
            "{name}: must not be NULL with a {measure} of {count}"
        )));
    }
    let size = count.checked_mul(size_of::<T>());
    if size.is_none_or(|size| isize::try_from(size).is_err()) {
        return Err(Error::invalid(format!(
            "{name}: a {measure} of {count} is more than memory can hold"
        )));
    }
    // SAFETY: not NULL, no longer than an object can be, and readable by this function's contract.
    Ok(unsafe { slice::from_raw_parts(data, count) })
}

/// An array of texts from C that must be UTF-8.
///
/// # Safety
/// As [`array()`], and each text in it as [`utf8`].
pub(super) unsafe fn texts<'a>(
    data: *const chat_str,
    count: usize,
    name: &str,
) -> Result<Vec<&'a str>> {
    // SAFETY: this function's contract is the same.
    unsafe {
        array(data, count, name)?
            .iter()
            .map(|text| utf8(text.data, text.len, name))
            .collect()
    }
}

/// Fills the first `capacity` places of C's array, and returns how many items there are.
///
/// # Safety
/// `out` is NULL, or `capacity` items can be written there.
pub(super) unsafe fn fill<T>(
    items: impl ExactSizeIterator<Item = T>,
    out: *mut T,
    capacity: usize,
) -> usize {
    let len = items.len();
    for (index, item) in items
        .take(if out.is_null() { 0 } else { capacity })
        .enumerate()
    {
        // SAFETY: within the array, by this function's contract.
        unsafe { out.add(index).write(item) };
    }
    len
}
