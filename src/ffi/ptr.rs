//! Handles and outputs as C passes them.

use std::mem::MaybeUninit;

use crate::error::{Error, Result};

/// Where a function puts a result. C's variable need not hold anything yet. (Signatures spell it out: cbindgen does not see
/// through an alias.)
pub(super) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// The handle or output, where it is not NULL.
pub(super) fn required<T>(pointer: Option<T>, name: &str) -> Result<T> {
    pointer.ok_or_else(|| Error::invalid(format!("{name}: must not be NULL")))
}

/// Makes `value` an object of the caller's. It comes back as `Option<Box<T>>`.
pub(super) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}
