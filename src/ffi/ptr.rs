//! Handles and outputs as C passes them.

use std::mem::MaybeUninit;

use super::error::chat_error;
use chatparse_base::{Error, Result};

/// Where a function puts a result. C's variable need not hold anything yet. (cbindgen does not see
/// through aliases: `.ci/header.sh` spells both out for it.)
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Where a function puts what went wrong.
pub type ErrorOut<'a> = Out<'a, *mut chat_error>;

/// The handle or output, where it is not NULL.
pub(super) fn required<T>(pointer: Option<T>, name: &str) -> Result<T> {
    pointer.ok_or_else(|| Error::invalid(format!("{name}: must not be NULL")))
}

/// What a number stands for that C gave, of values that C counts from 1; `what` is its name.
pub(super) fn numbered<T: Copy>(what: &str, number: u32, values: &[T]) -> Result<T> {
    let value = values.get((number as usize).wrapping_sub(1));
    value
        .copied()
        .ok_or_else(|| Error::invalid(format!("{what}: {number} is unknown")))
}

/// Makes `value` an object of the caller's. It comes back as `Option<Box<T>>`.
pub(super) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}
