//! Formats text for display: makes control characters visible, wraps long lines.

/// `text` on one line: line breaks, tabs and other control characters as escapes.
pub fn escaped(text: &str) -> String {
    with_escapes(text, |c| c == '\\' || c.is_control())
}

/// `text` without characters that could move a terminal's cursor.
pub fn tamed(text: &str) -> String {
    with_escapes(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

fn with_escapes(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
    }
    shown
}

/// `line` in pieces of at most `width` characters (at least one); escapes are not split.
pub fn folded(line: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((mut end, _)) = rest.char_indices().nth(width.max(8)) {
        // An escape is a backslash and the next character: an even number of backslashes in front
        // of the cut are complete escapes.
        let backslashes = rest[..end]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        end -= backslashes % 2;
        let (piece, more) = rest.split_at(end);
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

/// `text` in lines of at most `width` characters, wrapped at spaces.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(escaped("a\n\t\\é\u{1b}"), "a\\n\\t\\\\é\\u{1b}");
        assert_eq!(tamed("a\n\u{1b}[31m"), "a\n\\u{1b}[31m");
    }

    #[test]
    fn folding_loses_nothing_and_keeps_escapes_whole() {
        let line = r"123456789\n123456789\\é456789";
        let pieces = folded(line, 10);
        assert_eq!(pieces, ["123456789", r"\n12345678", r"9\\é456789"]);
        assert_eq!(pieces.concat(), line);
        assert_eq!(folded("", 10), [""]);
    }

    #[test]
    fn wrapping_breaks_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("longer-than-it", 4), ["longer-than-it"]);
    }
}
