//! Reads a model's output as it comes in: a [`Parser`] is a compiled format, a [`Stream`] an output
//! that it reads. The additions of a piece show at once and are not taken back; at the end there
//! are a message, a status and a report on each call.
//!
//! - **In:** a compiled format, and an output in pieces.
//! - **Out:** deltas that are never taken back; the message, its status and its reports.
//! - **Never:** it reads no byte twice for one piece, and loses none.
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

mod delta;
mod ends;
mod fallback;
mod output;
mod parser;
mod report;
mod stream;

pub use chatparse_base::{Error, ErrorKind, Result};
pub use delta::{Delta, DeltaKind, chunk_delta};
pub use fallback::CallRules;
pub use output::Json;
pub use parser::Parser;
pub use report::{
    CallOrigin, CallReport, Diagnostic, DiagnosticKind, EndedBy, OutputPart, PartKind, Report,
    Status,
};
pub use stream::{
    Begun, Budget, Closing, Ended, Missing, OpenPart, SpecialTokens, Stream, StreamState,
    TextSearch,
};
