//! chatparse: learns a language model's chat template.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod analysis;
pub mod error;
pub mod format;
pub mod grammar;
pub mod limits;
pub mod message;
pub mod peg;
pub mod stream;
pub mod template;

pub use error::{Error, ErrorKind, Result};
