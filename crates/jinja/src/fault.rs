//! Results and errors of functions that the engine calls, and locks.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use minijinja::{Error, ErrorKind};

/// The result of a function that the engine calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation that its operands do not allow.
pub fn invalid(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

/// The value of a lock, also after a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
