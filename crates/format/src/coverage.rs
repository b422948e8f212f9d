//! Accounts: each byte of an output is text of a field, or structure. Structure is what the format
//! spells out: markers, glue, white space. Text that the model chooses is inside a region whose
//! text goes to a field; this module finds where it is not.

use chatparse_base::limits::MARKER_WORD_CHARS;
use chatparse_peg::{Arena, Builder, Expr, ExprId};

use super::tag::Tag;

/// A word of these characters in a marker, e.g. the name of a special token around a call. It is
/// bounded, so it is a part of the marker.
pub fn word(p: &Builder, min: u32, characters: &[(char, char)]) -> ExprId {
    p.repeat(p.one_of(characters), min, Some(MARKER_WORD_CHARS))
}

/// A word in a marker that means nothing.
pub fn any_word(p: &Builder) -> ExprId {
    word(p, 1, WORD)
}

/// Digits in a marker.
pub fn number(p: &Builder) -> ExprId {
    word(p, 1, &[('0', '9')])
}

/// A word of the characters that names have in the APIs.
pub fn name(p: &Builder) -> ExprId {
    word(p, 1, &WORD[..5])
}

/// The characters of words in markers, those of names in the APIs first. Beyond ASCII they are
/// those of scripts, without the signs that markers have.
pub const WORD: &[(char, char)] = &[
    ('a', 'z'),
    ('A', 'Z'),
    ('0', '9'),
    ('_', '_'),
    ('-', '-'),
    ('.', '.'),
    (':', ':'),
    ('\u{C0}', '\u{1FFF}'),
    ('\u{3041}', '\u{D7FF}'),
];

/// An expression that matches text of the model's own outside of all fields.
pub fn uncovered(arena: &Arena) -> Option<ExprId> {
    let mut seen = vec![false; arena.len()];
    let mut pending: Vec<ExprId> = arena.root().into_iter().collect();
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        match arena.get(id) {
            // Consume nothing.
            Expr::And(_) | Expr::Not(_) => {}
            Expr::Repeat(word, _, Some(..=MARKER_WORD_CHARS)) if matches!(arena.get(*word), Expr::Char(set) if !set.contains(' ')) =>
                {}
            Expr::Tag(tag, _) if Tag::from_id(*tag).is_some_and(Tag::is_text) => {}
            Expr::Any
            | Expr::StringBody(_)
            | Expr::StringLine(_)
            | Expr::Until(_)
            | Expr::UntilMarker(_) => {
                return Some(id);
            }
            Expr::Char(set) if ['b', 'K', '7', 'é'].iter().any(|c| set.contains(*c)) => {
                return Some(id);
            }
            Expr::Ref(name) => pending.extend(arena.rule_named(name)),
            node => pending.extend(node.children()),
        }
    }
    None
}
