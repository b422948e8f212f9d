//! Learns from a chat template how its model writes ([`analysis`]), and describes that as expressions ([`format`](mod@format)), of which
//! a parser and a grammar are made.
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

pub mod analysis;
pub mod format;

pub use chatparse_base::{Error, ErrorKind, Result};
