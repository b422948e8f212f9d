//! chatparse: learns a language model's chat template.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod analysis;
pub mod error;
pub mod format;
pub mod limits;
pub mod message;
pub mod template;

pub use error::{Error, ErrorKind, Result};
