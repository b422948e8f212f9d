//! Reads and writes character classes such as `[a-z_]` or `[^"\\]`.

use smol_str::{SmolStr, SmolStrBuilder, format_smolstr};

/// Why a character could not be read.
#[derive(Debug)]
pub enum Unreadable {
    /// The text ends.
    End,
    /// An unknown escape; `None`: the text ends after the backslash.
    Escape(Option<char>),
    /// This escape needs so many hexadecimal digits.
    Digits(char, usize),
}

/// The code point at the start of `text`, decoding GBNF's escapes, and the text after it.
pub fn character(text: &str) -> Result<(u32, &str), Unreadable> {
    let mut chars = text.chars();
    let first = chars.next().ok_or(Unreadable::End)?;
    if first != '\\' {
        return Ok((u32::from(first), chars.as_str()));
    }
    let kind = chars.next();
    let rest = chars.as_str();
    let plain = match kind {
        Some('t') => '\t',
        Some('r') => '\r',
        Some('n') => '\n',
        Some(c @ ('\\' | '"' | '[' | ']' | '-')) => c,
        Some('x') => return coded('x', 2, rest),
        Some('u') => return coded('u', 4, rest),
        Some('U') => return coded('U', 8, rest),
        kind => return Err(Unreadable::Escape(kind)),
    };
    Ok((plain.into(), rest))
}

/// The code point that hexadecimal digits at the start of `text` name, and the text after them.
fn coded(kind: char, digits: usize, text: &str) -> Result<(u32, &str), Unreadable> {
    let hex = text
        .get(..digits)
        .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
        Some(code) => Ok((code, &text[digits..])),
        None => Err(Unreadable::Digits(kind, digits)),
    }
}

/// The range at the start of `text` (one character is a range of itself), and the text after it. A
/// dash at the end of the class is literal.
pub fn range<'t, C: Copy, E>(
    text: &'t str,
    is_end: impl Fn(&str) -> bool,
    mut character: impl FnMut(&'t str) -> Result<(C, &'t str), E>,
) -> Result<((C, C), &'t str), E> {
    let (low, rest) = character(text)?;
    match rest.strip_prefix('-').filter(|rest| !is_end(rest)) {
        Some(high) => character(high).map(|(high, rest)| ((low, high), rest)),
        None => Ok(((low, low), rest)),
    }
}

/// The two forms in which llama.cpp writes classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// ASCII only.
    Ascii,
    /// Characters unescaped where possible.
    Plain,
}

/// Writes the class of these ranges, or with `negated` of all other characters, as GBNF.
pub fn spelled(
    ranges: impl Iterator<Item = (char, char)>,
    negated: bool,
    spelling: Spelling,
) -> SmolStr {
    let mut out = SmolStrBuilder::new();
    out.push_str(if negated { "[^" } else { "[" });
    let mut ranges = ranges.peekable();
    while let Some((low, high)) = ranges.next() {
        if (low, high) == ('-', '-') && ranges.peek().is_none() {
            // A dash at the end is literal.
            out.push('-');
            continue;
        }
        push(low, spelling, &mut out);
        if high != low {
            out.push('-');
            push(high, spelling, &mut out);
        }
    }
    out.push(']');
    out.finish()
}

fn push(c: char, spelling: Spelling, out: &mut SmolStrBuilder) {
    let ascii = spelling == Spelling::Ascii;
    match (c, u32::from(c)) {
        ('\n', _) => out.push_str("\\n"),
        ('\r', _) => out.push_str("\\r"),
        ('\t', _) if ascii => out.push_str("\\t"),
        (']' | '\\', _) => {
            out.push('\\');
            out.push(c);
        }
        ('[', _) if ascii => out.push_str("\\["),
        ('-', _) if !ascii => out.push_str("\\-"),
        // At the start, a caret would negate the class, and not all readers have an escape for it,
        // nor for a dash. A NUL would end the text for a reader in C.
        ('^' | '-' | '\0', code) => out.push_str(&format_smolstr!("\\x{code:02X}")),
        (c, _) if !ascii || matches!(c, ' '..='~') => out.push(c),
        (_, code @ ..=0xFF) => out.push_str(&format_smolstr!("\\x{code:02X}")),
        (_, code @ ..=0xFFFF) => out.push_str(&format_smolstr!("\\u{code:04X}")),
        (_, code) => out.push_str(&format_smolstr!("\\U{code:08X}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_in_either_way_reads_as_it_was() {
        let all = [
            '\0', '\t', '\n', '\r', ' ', '"', '-', '[', '\\', ']', '^', 'a', '~', '\u{7f}', 'é',
            '世', '😀',
        ];
        let ranges: Vec<(char, char)> = all
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .chain([('-', '-')])
            .collect();
        let single: Vec<(char, char)> = all.iter().map(|&c| (c, c)).collect();
        for ranges in [ranges, single] {
            for spelling in [Spelling::Ascii, Spelling::Plain] {
                let text = spelled(ranges.iter().copied(), false, spelling);
                assert!(spelling == Spelling::Plain || text.is_ascii());
                let mut rest = &text[1..];
                let mut found = Vec::new();
                while rest != "]" {
                    let (read, after) =
                        range(rest, |rest| rest.starts_with(']'), character).unwrap();
                    found.push(read);
                    rest = after;
                }
                let expected: Vec<_> = ranges
                    .iter()
                    .map(|&(low, high)| (u32::from(low), u32::from(high)))
                    .collect();
                assert_eq!(found, expected, "{text}");
            }
        }
    }

    #[test]
    fn the_two_spellings() {
        for (chars, ascii, plain) in [
            ("a-]", r"[a\x2D\]]", r"[a\-\]]"),
            ("^-", r"[\x5E-]", r"[\x5E-]"),
            ("[\té\0", r"[\[\t\xE9\x00]", "[[\té\\x00]"),
        ] {
            let spelled = |spelling| spelled(chars.chars().map(|c| (c, c)), false, spelling);
            assert_eq!(
                (&*spelled(Spelling::Ascii), &*spelled(Spelling::Plain)),
                (ascii, plain)
            );
        }
    }
}
