//! The brackets that markers begin and end with.

/// Brackets that are neither `<>` nor `[]`, each with the one that closes it.
const PAIRS: &str = "⟦⟧⟨⟩⟪⟫«»‹›〈〉《》「」『』【】〔〕〖〗⌈⌉⌊⌋❬❭❮❯❰❱⦃⦄◁▷◀▶";

/// The bracket that closes this one; `None` if this opens none.
pub fn closer(open: char) -> Option<char> {
    match open {
        '<' => Some('>'),
        '[' => Some(']'),
        _ if open.is_ascii() => None,
        _ => pairs().find_map(|(left, right)| (left == open).then_some(right)),
    }
}

/// Whether a marker may begin with this.
pub fn opens(c: char) -> bool {
    closer(c).is_some()
}

/// Whether a marker may end with this.
pub fn closes(c: char) -> bool {
    matches!(c, '>' | ']') || !c.is_ascii() && pairs().any(|(_, right)| right == c)
}

/// Whether a text begins with a marker that nobody writes in prose: a bracket and a bar, or a
/// bracket beyond ASCII.
pub fn begins_token(text: &str) -> bool {
    is_token_edge(text.chars(), opens)
}

/// Whether a text ends with such a marker.
pub fn ends_token(text: &str) -> bool {
    is_token_edge(text.chars().rev(), closes)
}

fn is_token_edge(mut signs: impl Iterator<Item = char>, is_bracket: fn(char) -> bool) -> bool {
    let Some(bracket) = signs.next().filter(|sign| is_bracket(*sign)) else {
        return false;
    };
    !bracket.is_ascii() || matches!(bracket, '<' | '>') && signs.next().is_some_and(is_bar)
}

/// Whether this is a bar between the brackets and the words of a marker.
pub fn is_bar(c: char) -> bool {
    matches!(c, '|' | '｜')
}

/// The marker that closes the region of this one: it has a slash before its words. `None` if this
/// is not one marker of words.
pub fn mirrored(marker: &str) -> Option<String> {
    let closer = closer(marker.chars().next()?)?;
    let words = marker
        .find(char::is_alphanumeric)
        .filter(|words| !marker[..*words].contains('/'))?;
    let is_one = marker.find(closer) == Some(marker.trim_end_matches(closer).len());
    is_one.then(|| format!("{}/{}", &marker[..words], &marker[words..]))
}

fn pairs() -> impl Iterator<Item = (char, char)> {
    let right = PAIRS.chars().skip(1).step_by(2);
    PAIRS.chars().step_by(2).zip(right)
}

/// Whether the whole text is a marker.
pub fn is_marker(text: &str) -> bool {
    text.len() > 3
        && text.contains(|c| c == '|' || opens(c))
        && text.contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_and_their_edges() {
        for token in ["<|a|>", "◁a▷", "<｜a｜>"] {
            assert!(begins_token(token) && ends_token(token), "{token}");
        }
        for text in ["<a>", "[a]", "|a|", ""] {
            assert!(!begins_token(text) && !ends_token(text), "{text}");
        }
        for (marker, closing) in [
            ("[CALL]", Some("[/CALL]")),
            ("<|call|>", Some("<|/call|>")),
            ("</a>", None),
            ("<a><b>", None),
            ("(a)", None),
        ] {
            assert_eq!(mirrored(marker).as_deref(), closing, "{marker}");
        }
    }
}
