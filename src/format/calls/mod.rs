//! The ways to write calls that several formats share.

mod arguments;
mod described;
pub(super) mod json;
pub(super) mod learnt;
pub(crate) mod members;
pub(super) mod pythonic;
pub(super) mod tagged;
mod values;

pub use described::described;
