//! The ways to write calls that several formats share.

mod arguments;
pub(super) mod described;
mod ids;
pub(super) mod learnt;
pub(crate) mod members;
mod values;

pub use described::described;
