//! The capture log: where tagged regions begin and end, in the order of the output.

use super::expr::TagId;

/// One end of a tagged region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Whose region.
    pub tag: TagId,
    /// Position in the output.
    pub pos: usize,
    /// Begin or end.
    pub opens: bool,
}

/// What of a running parse may be shown.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a> {
    /// Captures in order; regions may still be open.
    pub captures: &'a [Capture],
    /// How far the open regions reach.
    pub reach: usize,
}
