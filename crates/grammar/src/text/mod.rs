//! Grammars that are read: as a tree, what follows for all rules, and which texts they allow.

pub mod circles;
pub mod dead;
pub mod fixpoint;
pub mod gbnf;
pub mod repetition;
#[cfg(any(test, feature = "sample"))]
#[path = "../../tests/support/sample.rs"]
pub mod sample;
mod tree;

pub use tree::{Node, Tree};
