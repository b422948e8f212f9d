//! The pass over a template's source: operators become calls of ours.

pub mod macros;
pub mod rewrite;
pub mod texts;
