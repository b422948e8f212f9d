//! Prints the tree of a grammar in the notations of engines other than llama.cpp.
//!
//! - **In:** the tree of a grammar.
//! - **Out:** Lark, a structural tag, or portable GBNF.
//! - **Never:** it reads no text of a grammar, and adds no rule of its own.
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

mod lark;
mod lexer;
mod portable;
mod recursion;
mod tag;
mod terminals;

pub use lark::print as lark;
pub use portable::print as portable_gbnf;
pub use tag::print as structural_tag;
