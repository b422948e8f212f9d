//! [`Parsed`]: the text that the parsers read, the prefill and the output.

/// The parsed text as the model wrote it, and as the machines see it, where text that only looks
/// like a special token is masked. Both have the same length and the same character borders.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'a> {
    pub raw: &'a [u8],
    pub seen: &'a [u8],
}

impl Parsed<'_> {
    /// Its length in bytes.
    pub fn len(self) -> usize {
        self.raw.len()
    }

    /// Its first bytes.
    pub fn to(self, end: usize) -> Self {
        Parsed {
            raw: &self.raw[..end],
            seen: &self.seen[..end],
        }
    }
}

/// Whether names of tools have this byte, as they are in outputs.
pub(crate) fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}
