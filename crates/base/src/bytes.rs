//! Sets of bytes, e.g. the first bytes of an expression or a terminal.

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes([u64; 4]);

impl Bytes {
    pub const NONE: Bytes = Bytes([0; 4]);
    pub const ALL: Bytes = Bytes([u64::MAX; 4]);
    /// Bytes of multi-byte characters.
    pub const WIDE: Bytes = Bytes([0, 0, u64::MAX, u64::MAX]);

    /// White space.
    pub const SPACE: Bytes = Bytes([1 << b' ' | 0b11111 << b'\t', 0, 0, 0]);

    pub fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & 1 << (byte & 63) != 0
    }

    pub fn words(self) -> [u64; 4] {
        self.0
    }

    pub fn or(self, other: Bytes) -> Bytes {
        Bytes(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    /// The bytes of an inclusive range.
    pub fn range(low: u8, high: u8) -> Bytes {
        Bytes(std::array::from_fn(|at| {
            let [from, to] = [low, high].map(|byte| i32::from(byte) - 64 * at as i32);
            if from > 63 || to < 0 {
                0
            } else {
                (u64::MAX << from.max(0)) & (u64::MAX >> (63 - to.min(63)))
            }
        }))
    }

    /// The first bytes of the characters of an inclusive range.
    pub fn heads(low: char, high: char) -> Bytes {
        let [low, high] = [low, high].map(|c| c.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        Bytes::range(low, high)
    }

    pub fn negated(self) -> Bytes {
        Bytes(self.0.map(|word| !word))
    }

    /// Whether a byte is in both sets.
    pub fn meets(self, other: Bytes) -> bool {
        self.0.iter().zip(other.0).any(|(one, two)| one & two != 0)
    }

    pub fn byte(byte: u8) -> Bytes {
        Bytes::range(byte, byte)
    }
}

/// The union of the sets.
impl FromIterator<Bytes> for Bytes {
    fn from_iter<I: IntoIterator<Item = Bytes>>(sets: I) -> Bytes {
        sets.into_iter().fold(Bytes::NONE, Bytes::or)
    }
}
