//! Turns model output into a message, piece by piece.

#[doc(inline)]
pub use chatparse_stream::{
    Budget, Closing, Ended, EndedBy, Missing, OpenPart, SpecialTokens, Stream, StreamState,
};
