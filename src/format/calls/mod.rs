//! Ways to write calls that more than one format shares.

mod described;
pub(super) mod json;
pub(super) mod learnt;
pub(crate) mod members;
pub(super) mod pythonic;
pub(super) mod tagged;
mod values;

pub use described::described;
