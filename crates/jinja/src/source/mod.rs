//! The pass over a template's source: operators become calls of ours.

pub(crate) mod macros;
pub(crate) mod rewrite;
pub mod texts;
