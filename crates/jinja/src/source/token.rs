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

impl Token<'_> {
    /// Counts brackets that are open.
    pub fn count_brackets(self, open: &mut usize) {
        match self {
            Token::Sign("(" | "[" | "{") => *open += 1,
            Token::Sign(")" | "]" | "}") => *open = open.saturating_sub(1),
            _ => {}
        }
    }
}

/// Where the comment that begins at `start` ends.
pub fn comment_end(source: &str, start: usize) -> usize {
    let end = source[start..].find("#}");
    end.map_or(source.len(), |at| start + at + 2)
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
    let (token, len) = first(&source[start..], if in_brackets { "" } else { end });
    (token, start, start + len)
}

/// The token at the start of `rest`, and its length. `end` closes the tag; empty if nothing does.
fn first<'s>(rest: &'s str, end: &str) -> (Token<'s>, usize) {
    let bytes = rest.as_bytes();
    let Some(&first) = bytes.first() else {
        return (Token::None, 0);
    };
    let marked = usize::from(matches!(first, b'-' | b'+'));
    if !end.is_empty() && bytes[marked..].starts_with(end.as_bytes()) {
        let len = marked + end.len();
        return (Token::End(&rest[..len]), len);
    }
    match first {
        b'0'..=b'9' => (Token::Literal, number_len(bytes)),
        b'"' | b'\'' => text_len(bytes).map_or((Token::None, 0), |len| (Token::Literal, len)),
        _ if first == b'_' || rest.starts_with(char::is_alphabetic) => {
            let len = count(
                rest,
                |b| b.is_ascii_alphanumeric() || b == b'_',
                char::is_alphanumeric,
            );
            (Token::Name(&rest[..len]), len)
        }
        _ => {
            let len = match (first, bytes.get(1)) {
                (b'*', Some(b'*'))
                | (b'/', Some(b'/'))
                | (b'=' | b'!' | b'<' | b'>', Some(b'=')) => 2,
                _ if b"+-*/%~<>=()[]{}.,:|".contains(&first) => 1,
                _ => return (Token::None, 0),
            };
            (Token::Sign(&rest[..len]), len)
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

/// The length of the number at the start of `bytes`.
fn number_len(bytes: &[u8]) -> usize {
    let mut len = digits_end(bytes, 0);
    if bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
        len = digits_end(bytes, len + 1);
    }
    if !matches!(bytes.get(1), Some(b'x' | b'X'))
        && matches!(bytes[len - 1], b'e' | b'E')
        && matches!(bytes.get(len), Some(b'+' | b'-'))
    {
        len = digits_end(bytes, len + 1);
    }
    len
}

/// Where the digits, letters and underscores from `from` on end.
fn digits_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes[from..].iter();
    from + rest
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count()
}
