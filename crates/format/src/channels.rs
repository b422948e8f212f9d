//! The tokens of messages on channels, and the site of their rules.

use super::FormatSpec;
use super::builder::FormatBuilder;
use chatparse_learn::Dialect;

pub const CHANNEL: &str = "<|channel|>";
pub const MESSAGE: &str = "<|message|>";
pub const CONSTRAIN: &str = "<|constrain|>";
pub const START: &str = "<|start|>";
pub const END: &str = "<|end|>";
/// Ends a call that is the last message of the turn.
pub const CALL: &str = "<|call|>";
/// Ends an answer that is the last message of the turn.
pub const RETURN: &str = "<|return|>";

/// A turn for one request, the site of the rules for messages on channels.
pub struct Harmony<'a> {
    pub p: &'a FormatBuilder,
    pub spec: &'a FormatSpec<'a>,
    pub dialect: Dialect,
}
