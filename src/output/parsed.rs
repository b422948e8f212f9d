//! The text that is parsed: the prefill and the output.

/// The parsed text as the model wrote it, and as the parsing machines see it: without the markers that only look like ones. Both have
/// the same length, and their characters begin at the same places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parsed<'a> {
    pub raw: &'a [u8],
    pub seen: &'a [u8],
}

impl Parsed<'_> {
    /// How long it is.
    pub fn len(self) -> usize {
        self.raw.len()
    }

    /// Its first bytes.
    pub fn to(self, end: usize) -> Self {
        Parsed { raw: &self.raw[..end], seen: &self.seen[..end] }
    }
}
