//! The basis of all parts of chatparse: errors, every bound on the cost of input, sets of bytes and
//! of characters, texts as JSON.
//!
//! - **In:** bytes, texts and values of any origin.
//! - **Out:** bounds with their reasons, errors that name a place, one type for each set of bytes
//!   or characters, one store.
//! - **Never:** it knows no chat word, and no other package of ours.
#![forbid(unsafe_code)]

pub mod brackets;
pub mod bytes;
pub mod char_class;
pub mod chars;
pub mod decimal;
mod error;
pub mod find;
pub mod json;
pub mod json_string;
pub mod limits;
#[doc(hidden)]
pub mod names;
pub mod number;
pub mod pointer;
pub mod sort;
pub mod stack;
pub mod store;

pub use error::{Error, ErrorKind, Place, Result};
