//! Finds the tags of a Jinja template, and splits expressions into tokens.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'s> {
    Name(&'s str),
    /// A string or a number.
    Literal,
    Sign(&'s str),
    /// The end of the tag, with its white-space control.
    End(&'s str),
    /// The end of the source, or a character that does not begin a token.
    None,
}

/// The position of the next tag or comment at or after `from`.
pub fn find_tag(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut open = memchr::memchr_iter(b'{', &bytes[from..]).map(|at| from + at);
    open.find(|at| matches!(bytes.get(at + 1), Some(b'{' | b'%' | b'#')))
}

/// Where the inside of a tag begins: after its white-space control.
pub fn inside(source: &str, tag: usize) -> usize {
    tag + 2 + usize::from(source[tag + 2..].starts_with(['-', '+']))
}

/// The next token of `source` at or after `pos`, and its range. `end` closes the tag, unless a
/// bracket is open.
pub fn next<'s>(
    source: &'s str,
    pos: usize,
    end: &str,
    in_brackets: bool,
) -> (Token<'s>, usize, usize) {
    let start = pos
        + count(
            &source[pos..],
            |b| matches!(b, b'\t'..=b'\r' | b' '),
            char::is_whitespace,
        );
    let rest = &source[start..];
    let bytes = rest.as_bytes();
    let found = |token, len: usize| (token, start, start + len);
    let Some(&first) = bytes.first() else {
        return found(Token::None, 0);
    };
    if !in_brackets {
        let marked = usize::from(matches!(first, b'-' | b'+'));
        let end_at = |at: usize| bytes.get(marked + at) == end.as_bytes().get(at);
        if (0..end.len()).all(end_at) {
            let len = marked + end.len();
            return found(Token::End(&rest[..len]), len);
        }
    }
    match first {
        b'0'..=b'9' => found(Token::Literal, number_len(rest)),
        b'"' | b'\'' => match text_len(bytes) {
            Some(len) => found(Token::Literal, len),
            None => found(Token::None, 0),
        },
        _ if first == b'_' || rest.starts_with(char::is_alphabetic) => {
            let len = count(
                rest,
                |b| b.is_ascii_alphanumeric() || b == b'_',
                char::is_alphanumeric,
            );
            found(Token::Name(&rest[..len]), len)
        }
        _ => {
            let len = match (first, bytes.get(1)) {
                (b'*', Some(b'*'))
                | (b'/', Some(b'/'))
                | (b'=' | b'!' | b'<' | b'>', Some(b'=')) => 2,
                _ if b"+-*/%~<>=()[]{}.,:|".contains(&first) => 1,
                _ => return found(Token::None, 0),
            };
            found(Token::Sign(&rest[..len]), len)
        }
    }
}

/// The tokens in a tag that ends with `end`.
pub fn tokens<'s>(
    source: &'s str,
    from: usize,
    end: &'static str,
) -> impl Iterator<Item = Token<'s>> {
    let mut pos = from;
    std::iter::from_fn(move || {
        let (token, _, behind) = next(source, pos, end, false);
        pos = behind;
        (!matches!(token, Token::End(_) | Token::None)).then_some(token)
    })
}

/// The length of the prefix of `text` whose ASCII bytes are `plain` and whose other characters are
/// `wide`.
fn count(text: &str, plain: impl Fn(u8) -> bool, wide: fn(char) -> bool) -> usize {
    let mut len = 0;
    loop {
        len += text.bytes().skip(len).take_while(|b| plain(*b)).count();
        match text[len..].chars().next() {
            Some(c) if !c.is_ascii() && wide(c) => len += c.len_utf8(),
            _ => return len,
        }
    }
}

/// The length of the string at the start of `bytes`, if it ends.
fn text_len(bytes: &[u8]) -> Option<usize> {
    let quote = bytes[0];
    let mut at = 1;
    loop {
        at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes[at] == quote {
            return Some(at + 1);
        }
        // Skips an escaped character. The other bytes of a wide character are neither quotes nor
        // backslashes.
        at += 2;
    }
}

/// The length of the number at the start of `text`.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
            .count()
    };
    let mut len = digits(0);
    if bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
        len += 1 + digits(len + 1);
    }
    let radix = bytes.len() > 1 && matches!(bytes[1], b'x' | b'X');
    if !radix
        && matches!(bytes[len - 1], b'e' | b'E')
        && matches!(bytes.get(len), Some(b'+' | b'-'))
    {
        len += 1 + digits(len + 1);
    }
    len
}
