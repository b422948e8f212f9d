//! Texts of a turn as the expressions of a response template, which are Python's.

use chatparse_learn::analysis::turn::{Glue, GluePiece};

/// The characters of a tool's name and of an argument's.
pub const NAME: &str = r#"[^\s<>(){}\[\]"',]+?"#;
pub const KEY: &str = r#"[^\s<>="',]+?"#;

/// A text, with free white space where it has some.
pub fn text(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    let mut rest = text;
    let mut last = ' ';
    while let Some(c) = rest.chars().next() {
        let more = rest.trim_start();
        if more.len() < rest.len() {
            let is_between_words =
                last.is_alphanumeric() && more.starts_with(char::is_alphanumeric);
            pattern.push_str(if is_between_words { r"\s+" } else { r"\s*" });
            rest = more;
            continue;
        }
        exact(c, &mut pattern);
        last = c;
        rest = &rest[c.len_utf8()..];
    }
    pattern
}

fn exact(c: char, pattern: &mut String) {
    if r"\.^$*+?{}[]|()".contains(c) {
        pattern.push('\\');
    }
    pattern.push(c);
}

/// Glue, with free white space where it has some.
pub fn glue(glue: &Glue) -> String {
    glue.pieces()
        .map(|piece| match piece {
            GluePiece::Text(part) => text(part),
            GluePiece::Name => NAME.to_owned(),
            GluePiece::Key => KEY.to_owned(),
            GluePiece::Counter => r"\d+".to_owned(),
            GluePiece::Word => r"[\w.:-]*".to_owned(),
            GluePiece::Any => r"[^\n]*?".to_owned(),
        })
        .collect()
}

/// Glue at a text whose white space counts: each line break and space of it is there once, or not
/// at all.
pub fn beside_text(glue: &Glue) -> String {
    let mut pattern = String::new();
    for piece in glue.pieces() {
        match piece {
            GluePiece::Text(part) => {
                for c in part.chars() {
                    exact(c, &mut pattern);
                    pattern.push_str(if c.is_whitespace() { "?" } else { "" });
                }
            }
            GluePiece::Key => pattern.push_str("(?P=key)"),
            _ => pattern.push_str(&self::glue(glue)),
        }
    }
    pattern
}

/// One of these patterns.
pub fn any(patterns: &[String]) -> String {
    match patterns {
        [only] => only.clone(),
        _ => format!("(?:{})", patterns.join("|")),
    }
}
