//! What a template accepts, by trial renders; values that are marked, labelled or traced.

pub(crate) mod caps;
pub(crate) mod findings;
pub(crate) mod labels;
pub(crate) mod marks;
pub(crate) mod trace;
