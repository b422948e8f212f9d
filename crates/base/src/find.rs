//! Finds bytes in short texts, or near ones in long texts: eight bytes at a time, and then with a
//! wide search, which has a set-up cost. Also finds the borders of characters.

use memchr::{memchr, memchr2, memchr3};

/// Each byte of a word is 1.
const ONES: u64 = u64::MAX / 255;

/// Bytes to search before the wide search begins.
const NEAR: usize = 32;

/// The last border of a character at or before `at`.
pub fn char_border_before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// The first border of a character at or after `at`.
pub fn char_border_behind(text: &str, at: usize) -> usize {
    (at..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

/// The length of the common beginning of two texts, in whole characters.
pub fn shared(a: &str, b: &str) -> usize {
    const STEP: usize = 64;
    let steps = a
        .as_bytes()
        .chunks_exact(STEP)
        .zip(b.as_bytes().chunks_exact(STEP));
    let from = steps.take_while(|(a, b)| a == b).count() * STEP;
    let rest = a.as_bytes()[from..].iter().zip(&b.as_bytes()[from..]);
    char_border_before(b, from + rest.take_while(|(a, b)| a == b).count())
}

/// The length of the common end of two texts, in whole characters.
pub fn shared_end(a: &str, b: &str) -> usize {
    let same = a
        .bytes()
        .rev()
        .zip(b.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    a.len() - char_border_behind(a, a.len() - same)
}

/// The first occurrence of a byte.
pub fn find(byte: u8, text: &[u8]) -> Option<usize> {
    if text.len() < NEAR {
        eight_by_eight(text, |word| equal(word, byte))
    } else {
        memchr(byte, text)
    }
}

/// The first occurrence of either byte.
#[inline]
pub fn find2([a, b]: [u8; 2], text: &[u8]) -> Option<usize> {
    near_or_far(
        text,
        |word| equal(word, a) | equal(word, b),
        |text| memchr2(a, b, text),
    )
}

/// The first occurrence of any of three bytes.
pub fn find3([a, b, c]: [u8; 3], text: &[u8]) -> Option<usize> {
    near_or_far(
        text,
        |word| equal(word, a) | equal(word, b) | equal(word, c),
        |text| memchr3(a, b, c, text),
    )
}

/// The first byte that a JSON string must escape.
pub fn find_to_escape(text: &[u8]) -> Option<usize> {
    eight_by_eight(text, to_escape)
}

/// The first byte that a JSON string in ASCII must escape: also any that is not printable ASCII.
pub fn find_to_escape_ascii(text: &[u8]) -> Option<usize> {
    eight_by_eight(text, |word| {
        to_escape(word) | equal(word, 0x7F) | (word & (ONES * 0x80))
    })
}

// A token's text is searched for two or three bytes: the call would cost as much as the search.
#[inline(always)]
fn near_or_far(
    text: &[u8],
    mask: impl Fn(u64) -> u64,
    far: impl FnOnce(&[u8]) -> Option<usize>,
) -> Option<usize> {
    match text.split_at_checked(NEAR) {
        None => eight_by_eight(text, mask),
        Some((near, rest)) => eight_by_eight(near, mask).or_else(|| far(rest).map(|at| NEAR + at)),
    }
}

/// The first byte whose highest bit is set in the mask of its word. Later bits may be wrong.
fn eight_by_eight(text: &[u8], mask: impl Fn(u64) -> u64) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let found = mask(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    // Tokens usually have four bytes.
    let (half, tail) = rest.split_at(rest.len() & 4);
    let found = half.first_chunk().map_or(0, |half| {
        mask(u64::from(u32::from_le_bytes(*half))) & 0x8080_8080
    });
    let at = if found == 0 {
        half.len()
            + tail
                .iter()
                .position(|byte| mask(u64::from(*byte)) & 0x80 != 0)?
    } else {
        found.trailing_zeros() as usize / 8
    };
    Some(words.len() * 8 + at)
}

/// The mask of bytes that a JSON string must escape.
fn to_escape(word: u64) -> u64 {
    equal(word, b'"') | equal(word, b'\\') | below(word, b' ')
}

fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

/// The mask of bytes below a bound, which is up to 128.
fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(bound)) & !word & (ONES * 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_plain_search_finds() {
        let all: Vec<u8> = (0..=255).cycle().take(700).collect();
        for from in 0..300 {
            for length in (0..40).chain([64, 300]) {
                let text = &all[from..from + length];
                let plain = |test: &dyn Fn(u8) -> bool| text.iter().position(|byte| test(*byte));
                assert_eq!(find(b'"', text), plain(&|byte| byte == b'"'));
                assert_eq!(find(0xFF, text), plain(&|byte| byte == 0xFF));
                assert_eq!(
                    find2([b'"', 0], text),
                    plain(&|byte| byte == b'"' || byte == 0)
                );
                assert_eq!(
                    find3([b'a', 0x80, 0x7F], text),
                    plain(&|byte| [b'a', 0x80, 0x7F].contains(&byte))
                );
                let must = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
                assert_eq!(find_to_escape(text), plain(&must));
                let must = |byte: u8| must(byte) || byte >= 0x7F;
                assert_eq!(find_to_escape_ascii(text), plain(&must));
            }
        }
    }
}
