//! Trial renders, which show what a template accepts; values that are marked, labelled or traced.

pub mod caps;
pub mod findings;
pub mod marks;
pub mod trace;
