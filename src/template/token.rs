//! The tokens of a Jinja expression.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    /// A string or a number.
    Literal,
    Sign(&'s str),
    /// What ends the tag, with its white-space mark.
    End(&'s str),
    /// The end of the source, or a character that is no token.
    None,
}

/// The next token of `source` at or after `pos`, and where it lies. `end` closes the tag, unless a bracket is open.
pub(super) fn next<'s>(source: &'s str, pos: usize, end: &str, in_brackets: bool) -> (Token<'s>, usize, usize) {
    let rest = &source[pos..];
    let start = pos + (rest.len() - rest.trim_start().len());
    let rest = &source[start..];
    let found = |token, len: usize| (token, start, start + len);
    if !in_brackets {
        let marked = usize::from(rest.starts_with(['-', '+']));
        if rest[marked..].starts_with(end) {
            let len = marked + end.len();
            return found(Token::End(&rest[..len]), len);
        }
    }
    let Some(first) = rest.chars().next() else { return found(Token::None, 0) };
    if first.is_alphabetic() || first == '_' {
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        return found(Token::Name(&rest[..len]), len);
    }
    if first.is_ascii_digit() {
        return found(Token::Literal, number_len(rest));
    }
    if first == '"' || first == '\'' {
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == first => return found(Token::Literal, at + 1),
                _ => {}
            }
        }
        return found(Token::None, 0);
    }
    let long = ["**", "//", "==", "!=", "<=", ">="].into_iter().find(|sign| rest.starts_with(sign));
    if long.is_none() && !"+-*/%~<>=()[]{}.,:|".contains(first) {
        return found(Token::None, 0);
    }
    let len = long.map_or(1, str::len);
    found(Token::Sign(&rest[..len]), len)
}

/// The bytes of the number at the start of `text`.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let mut len = digits(0);
    if bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
        len += 1 + digits(len + 1);
    }
    let radix = bytes.len() > 1 && matches!(bytes[1], b'x' | b'X');
    if !radix && matches!(bytes[len - 1], b'e' | b'E') && matches!(bytes.get(len), Some(b'+' | b'-')) {
        len += 1 + digits(len + 1);
    }
    len
}
