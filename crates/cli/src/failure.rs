//! The ways in which a command fails, with their exit statuses.

use std::io;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// The command could not do its work: exit status 1.
    Failed(String),
    /// The command line is wrong: exit status 2.
    Usage(String),
    /// The command worked, and has a result that the caller counts as a failure: exit status 3.
    Unwanted(String),
    /// The reader of the output has closed it: a success.
    Unread,
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl From<chatparse::Error> for Failure {
    fn from(error: chatparse::Error) -> Self {
        Failure::Failed(error.to_string())
    }
}

/// Errors of writing. Errors of reading name their input and are made where it is read.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Failed(format!("cannot write the output: {error}")),
        }
    }
}
