//! The ways to write calls that several formats share.

mod arguments;
pub mod described;
mod ids;
pub(super) mod learnt;
mod members;
pub(super) mod order;
mod values;

pub use described::described;
