//! The pass over a template's source: operators become calls of ours, and what stands at its end is found.

pub(crate) mod generation_prompt;
pub(crate) mod macros;
pub(crate) mod rewrite;
pub mod texts;
