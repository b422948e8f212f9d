//! The crate's error type, for failures before model output is parsed: of a template, a schema, a
//! request or a call. Model output never causes an error; it gives a message and a status.

use std::fmt;
use std::ops::Range;

crate::names! {
    /// The class of an error. Hosts map it to a response code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ErrorKind {
        /// The caller's input has the wrong shape: request JSON, an option, a text that is not
        /// UTF-8.
        InvalidArgument = "invalid_argument",
        /// The template does not parse, raises, or fails while it renders.
        Template = "template",
        /// A JSON schema cannot be used.
        Schema = "schema",
        /// A limit of the library was reached: each is a constant of `limits`.
        Limit = "limit",
        /// A strict parse of output that does not match the format.
        Parse = "parse",
        /// A defect of this library.
        Internal = "internal",
    }
}

/// An error: its kind, and a message that names what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Box<str>,
    place: Option<Box<(Place, Range<usize>)>>,
}

/// The place of an error in a template.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The line in its source, from 1. For a template in a `tokenizer_config.json` or the like, the
    /// source is the template's text.
    pub line: usize,
    /// The character in the line, from 1, if known.
    pub column: Option<usize>,
    /// The source from there on, or the line if the column is unknown; shortened if it is long.
    pub excerpt: String,
}

impl fmt::Display for Place {
    /// E.g. `line 3, column 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.column
            .map_or(Ok(()), |column| write!(f, ", column {column}"))
    }
}

impl Error {
    /// An error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error::of(kind, message.into())
    }

    /// Compiled once for all kinds of texts.
    #[cold]
    fn of(kind: ErrorKind, message: String) -> Self {
        Error {
            kind,
            message: message.into_boxed_str(),
            place: None,
        }
    }

    /// An error at a place in a template: the message is the place, the `reason` and `more`.
    pub fn in_template(kind: ErrorKind, place: Place, reason: &str, more: &str) -> Self {
        let before = format!("template {place}: ");
        let span = before.len()..before.len() + reason.len();
        Error {
            place: Some(Box::new((place, span))),
            ..Error::new(kind, before + reason + more)
        }
    }

    /// The same error, with `what` it is about before its message, e.g. `requests[3]`.
    pub fn within(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message).into();
        if let Some(place) = &mut self.place {
            let moved = what.len() + 2;
            place.1 = place.1.start + moved..place.1.end + moved;
        }
        self
    }

    /// Shorthand for [`ErrorKind::InvalidArgument`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// Shorthand for [`ErrorKind::Limit`].
    pub fn limit(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Limit, message)
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message: what is wrong and where.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The place in the template, if known.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref().map(|place| &place.0)
    }

    /// The message without the place, for callers that print the place themselves.
    pub fn reason(&self) -> &str {
        self.place
            .as_ref()
            .map_or(&self.message, |place| &self.message[place.1.clone()])
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The crate's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;
