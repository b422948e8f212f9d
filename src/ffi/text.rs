//! Text in: pointer and length. Text out: a borrowed view. What C reads in a handle: a struct of
//! fields, and the lists that they point to.

use std::any::Any;
use std::ffi::c_char;
use std::ptr::{self, from_ref};
use std::slice;
use std::sync::OnceLock;

use super::status::answer;
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

/// What C's pointers into a handle are kept in.
#[derive(Clone, Default)]
pub(super) struct Pointers<T>(pub T);

// SAFETY: they lead to what the handle owns and no call changes while C may read it.
unsafe impl<T> Send for Pointers<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Pointers<T> {}

/// An array that belongs to an object.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct chat_list<T> {
    /// The first item; NULL if there is none.
    pub data: *const T,
    /// How many items there are.
    pub len: usize,
}

impl<T> Default for chat_list<T> {
    fn default() -> Self {
        chat_list {
            data: ptr::null(),
            len: 0,
        }
    }
}

/// The items as C reads them. Rust has an address for no items, too, at which some languages stop a
/// program.
pub(super) fn list<T>(items: &[T]) -> chat_list<T> {
    match items {
        [] => chat_list::default(),
        items => chat_list {
            data: items.as_ptr(),
            len: items.len(),
        },
    }
}

/// What lists of fields are kept in.
#[derive(Default)]
pub(super) struct Lists(Vec<Box<dyn Any>>);

impl Lists {
    pub fn keep<T: 'static>(&mut self, items: impl Iterator<Item = T>) -> chat_list<T> {
        let items: Vec<T> = items.collect();
        let kept = list(&items);
        self.0.push(Box::new(items));
        kept
    }
}

/// Fields that are made when C first asks for them.
pub(super) struct View<T>(OnceLock<Pointers<(T, Lists)>>);

impl<T> Default for View<T> {
    fn default() -> Self {
        View(OnceLock::new())
    }
}

/// A copy of a handle shows fields of its own.
impl<T> Clone for View<T> {
    fn clone(&self) -> Self {
        View::default()
    }
}

impl<T> View<T> {
    pub fn get(&self, make: impl FnOnce(&mut Lists) -> T) -> &T {
        let made = self.0.get_or_init(|| {
            let mut lists = Lists::default();
            Pointers((make(&mut lists), lists))
        });
        &made.0.0
    }
}

/// What C reads where there is no handle, or no usable one.
static NOTHING: [u64; 32] = [0; 32];

/// The fields of a handle. Without it, or after a panic, all of them are 0.
pub(super) fn seen<'a, H, T: 'a>(
    handle: Option<&'a H>,
    see: impl FnOnce(&'a H) -> Option<&'a T>,
) -> *const T {
    const { assert!(size_of::<T>() <= size_of::<[u64; 32]>() && align_of::<T>() <= align_of::<u64>()) };
    answer(handle, |handle| see(handle).map(from_ref)).unwrap_or_else(|| NOTHING.as_ptr().cast())
}

/// A list of a handle.
pub(super) fn listed<'a, H, T: 'a>(
    handle: Option<&'a H>,
    see: impl FnOnce(&'a H) -> &'a [T],
) -> chat_list<T> {
    answer(handle, |handle| list(see(handle)))
}
