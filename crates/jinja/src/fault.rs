//! Errors that a template meets, and locks that none leaves closed.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use minijinja::{Error, ErrorKind};

/// What the engine takes from us.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of an operation that its operands do not allow.
pub fn invalid(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

/// What a lock holds, also after a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
