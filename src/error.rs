//! What can go wrong before any model output is seen: a template, a schema, a request or a call that cannot be served.
//! Model output never makes an error; it makes a message and a status.

use std::fmt;

/// The class of an error. Hosts map it to a response code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's input has the wrong shape: request JSON, an option, a text that is not UTF-8.
    InvalidArgument,
    /// The template does not parse, raises, or fails while it renders.
    Template,
    /// A JSON schema cannot be used.
    Schema,
    /// A limit of [`crate::limits`] was reached.
    Limit,
    /// A strict parse met output that does not fit the format.
    Parse,
    /// A defect of this library.
    Internal,
}

impl ErrorKind {
    /// A stable lower-case name, e.g. `invalid_argument`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::InvalidArgument => "invalid_argument",
            ErrorKind::Template => "template",
            ErrorKind::Schema => "schema",
            ErrorKind::Limit => "limit",
            ErrorKind::Parse => "parse",
            ErrorKind::Internal => "internal",
        }
    }
}

/// A kind, and a sentence that names what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into().into_boxed_str() }
    }

    /// [`ErrorKind::InvalidArgument`] in short.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong and where, for people.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
