//! What a template accepts, by trial renders; values that are marked, labelled or traced.

pub mod caps;
pub mod findings;
pub mod labels;
pub mod marks;
pub mod trace;
