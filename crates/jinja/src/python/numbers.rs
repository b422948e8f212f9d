//! Python's numbers.

/// A place in `len` items: a negative one counts from their end.
pub fn from_end(at: i64, len: usize) -> i64 {
    if at < 0 {
        at.saturating_add(len as i64)
    } else {
        at
    }
}
