//! Turns model output into a message, piece by piece.

#[doc(inline)]
pub use chatparse_stream::{Budget, Ended, SpecialTokens, Stream};
