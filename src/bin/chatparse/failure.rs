//! How a command can fail.

use std::io;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for could not be done: exit status 1.
    Failed(String),
    /// It was asked for in the wrong way: exit status 2.
    Usage(String),
    /// It was done, and its result is one that the caller calls a failure: exit status 3.
    Unwanted(String),
    /// Whoever read the output has seen enough: a success.
    Unread,
}

/// What a command ends in.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Errors of the output; those of an input say which one and are made where it is read.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Failed(format!("cannot write the output: {error}")),
        }
    }
}
