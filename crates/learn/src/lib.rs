//! Learns from a chat template how its model writes ([`analysis`]): a [`Writing`], of which the
//! format is made.
//!
//! - **In:** a template, and the variables of a request.
//! - **Out:** a [`Writing`], inert data.
//! - **Never:** it sees no expression, no output and no request's text, and names no model that a
//!   render shows.
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

pub mod analysis;
pub mod host;
mod model;
pub mod prompt;
mod writing;

pub use model::{FAMILIES, Family, family_of};
pub use prompt::{Prompt, PromptInput};
pub use writing::{Dialect, Tolerances, Writing};

pub use chatparse_base::{Error, ErrorKind, Result};
