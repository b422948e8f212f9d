//! What C reads in a handle: a struct of fields, and the lists that they point to.

use std::any::Any;
use std::ptr::{self, from_ref};
use std::sync::OnceLock;

use super::guard::answer;

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
