//! chatparse: learns a language model's chat template.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod error;
pub mod limits;
pub mod message;
pub mod peg;
pub mod template;

pub use error::{Error, ErrorKind, Result};
