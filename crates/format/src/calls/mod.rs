//! The ways to write calls that several formats share.

pub(super) mod arguments;
pub mod described;
pub(super) mod ids;
pub(super) mod learnt;
pub(super) mod members;
pub(super) mod order;
pub(super) mod values;

pub use described::described;
