//! How models write: what a prompt looks like for each family of templates.

mod harmony;
pub mod model;
pub mod prompt;
