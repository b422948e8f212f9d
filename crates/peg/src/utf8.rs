//! Decodes UTF-8 that may be cut off or invalid.

use std::borrow::Cow;

/// The first character of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A character and its length in bytes.
    Char(char, usize),
    /// Invalid bytes: how many to skip.
    Broken(usize),
    /// The text ends inside a character, or is empty.
    Incomplete,
}

/// Decodes the first character of `text`.
pub fn decode(text: &[u8]) -> Decoded {
    let head = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(valid) => valid,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).expect("valid up to there")
        }
        Err(error) => {
            return error
                .error_len()
                .map_or(Decoded::Incomplete, Decoded::Broken);
        }
    };
    valid
        .chars()
        .next()
        .map_or(Decoded::Incomplete, |c| Decoded::Char(c, c.len_utf8()))
}

/// The length of the unfinished character at the end of `text`; 0 if the text ends with a whole or
/// an invalid one.
#[inline]
pub fn incomplete_tail(text: &[u8]) -> usize {
    if text.last().is_none_or(u8::is_ascii) {
        0
    } else {
        unfinished_tail(text)
    }
}

fn unfinished_tail(text: &[u8]) -> usize {
    for back in 1..=text.len().min(3) {
        let byte = text[text.len() - back];
        if byte & 0xC0 == 0x80 {
            continue;
        }
        let tail = &text[text.len() - back..];
        return match std::str::from_utf8(tail) {
            Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => back,
            _ => 0,
        };
    }
    0
}

/// The text with U+FFFD in place of invalid bytes. Faster than the standard library for valid text.
pub fn lossy(text: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails() {
        let text = "aé€😀".as_bytes();
        for end in 0..=text.len() {
            let whole = (0..=end)
                .rev()
                .find(|&i| std::str::from_utf8(&text[..i]).is_ok())
                .unwrap_or(0);
            assert_eq!(
                incomplete_tail(&text[..end]),
                end - whole,
                "prefix of {end} bytes"
            );
        }
        assert_eq!(incomplete_tail(b"a\xFF"), 0);
        assert_eq!(incomplete_tail(b"a\xE6="), 0);
        assert_eq!(incomplete_tail(b"\x80\x80\x80\x80"), 0);
        assert_eq!(decode("€x".as_bytes()), Decoded::Char('€', 3));
        assert_eq!(decode(b"\xE6\x80="), Decoded::Broken(2));
        assert_eq!(decode(b"\xE6\x80"), Decoded::Incomplete);
    }
}
