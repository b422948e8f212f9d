//! Rules as compilers write them: names and text, and what a grammar reports.

pub(crate) mod builder;
pub(crate) mod class;
pub(crate) mod json;
pub(crate) mod primitive;
pub(crate) mod report;
pub(crate) mod rule;
pub(crate) mod schema_rules;
pub(crate) mod section;
