//! Errors that a template meets.

use std::borrow::Cow;

use minijinja::{Error, ErrorKind};

/// The error of an operation that its operands do not allow.
pub fn invalid(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}
