//! Markers by their shape: which text is one, and how the marker that closes it would look.

use std::ops::Range;

/// Stands for a value in a text: U+FFFC, an object.
pub const VALUE: char = '\u{fffc}';

/// Most bytes of a marker.
const BYTES: usize = 80;

/// Words that a pair of markers has in common places, e.g. `<|tool_call_begin|>` and `<|tool_call_end|>`.
const PAIRS: &[(&str, &str)] = &[
    ("begin", "end"),
    ("beginning", "end"),
    ("start", "end"),
    ("prefix", "suffix"),
    ("open", "close"),
    ("opening", "closing"),
    ("bos", "eos"),
];

/// A marker in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    pub bytes: Range<usize>,
    /// The marker without what differs from one to the next: `<f>` for `<f=a>` and `<f name="a">`.
    pub kind: String,
}

impl Marker {
    pub fn is_closing(&self) -> bool {
        self.kind.starts_with("</") || self.kind.starts_with("[/") || self.kind[1..].starts_with("|/")
    }
}

/// The markers of a text, in order.
pub fn markers(text: &str) -> Vec<Marker> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(open) = text[at..].find(['<', '[']).map(|open| at + open) {
        at = open + 1;
        let (end, square) = if text[open..].starts_with('<') { ('>', false) } else { (']', true) };
        let Some(len) = text[at..].bytes().take(BYTES).position(|byte| byte == end as u8) else { continue };
        let inside = &text[at..at + len];
        if let Some(kind) = kind(inside, square) {
            at += len + 1;
            found.push(Marker { bytes: open..at, kind });
        }
    }
    found
}

fn kind(inside: &str, square: bool) -> Option<String> {
    let letters = |c: char| c.is_alphabetic() || c == VALUE;
    if !inside.contains(letters)
        || inside.contains(['<', '[', '\n', '"', '{']) && square
        || inside.contains(['<', '\n'])
    {
        return None;
    }
    if square {
        let named = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '/');
        return inside.chars().all(named).then(|| format!("[{inside}]"));
    }
    let first = inside.trim_start_matches(['/', '|', '｜']).chars().next()?;
    if !letters(first) && first != '_' || inside.contains("...") {
        return None;
    }
    // An attribute begins with a space and has a `=`; the bar that may close the marker stays.
    let equals = inside.find('=').unwrap_or(inside.len());
    let name = &inside[..equals];
    let name = match name.rsplit_once(' ') {
        Some((name, _)) if equals < inside.len() => name,
        _ => name,
    };
    let bar = if equals < inside.len() && inside.ends_with(['|', '｜']) { "|" } else { "" };
    Some(format!("<{}{bar}>", name.trim_end()))
}

/// How a marker of the kind that closes it may look; empty for a kind that closes one.
pub fn closing(kind: &str) -> Vec<String> {
    let bare = kind.trim_start_matches(['<', '[', '|', '｜']);
    if bare.starts_with('/') || kind.starts_with("</") {
        return Vec::new();
    }
    let bars = kind[1..].len() - kind[1..].trim_start_matches(['|', '｜']).len();
    let (before, behind) = kind.split_at(1 + bars);
    let mut closing = vec![format!("{}/{}", &kind[..1], &kind[1..])];
    if bars > 0 {
        closing.push(format!("{before}/{behind}"));
    }
    if let Some(name) = behind.strip_suffix('>').filter(|name| bars > 0 && !name.ends_with(['|', '｜'])) {
        closing.push(format!("<{name}{}>", &kind[1..1 + bars]));
    }
    closing.extend(swapped(kind, PAIRS.iter().copied()));
    closing
}

/// Whether the name or the shape of a marker says that another one closes it: `<|tool_call_begin|>`, `<|tool_call>`.
pub fn says_open(kind: &str) -> bool {
    let half = kind.starts_with(['<']) && kind[1..].starts_with('|') && !kind.ends_with("|>") && !kind.contains('/');
    half || !swapped(kind, PAIRS.iter().copied()).is_empty()
}

/// How a marker of the kind that opens it may look.
pub fn opening(kind: &str) -> Vec<String> {
    let mut opening: Vec<String> =
        kind.match_indices('/').map(|(at, _)| [&kind[..at], &kind[at + 1..]].concat()).collect();
    let inside = &kind[1..kind.len() - 1];
    let name = inside.trim_end_matches(['|', '｜']);
    if kind.starts_with('<') && name.len() < inside.len() && !name.starts_with(['|', '｜', '/']) {
        opening.push(format!("<{}{name}>", &inside[name.len()..]));
    }
    opening.extend(swapped(kind, PAIRS.iter().map(|(open, close)| (*close, *open))));
    opening
}

/// The kind with one word of a pair replaced, in the case in which it is written.
fn swapped<'p>(kind: &str, pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Vec<String> {
    let mut swapped = Vec::new();
    for (from, to) in pairs {
        let title = |word: &str| word[..1].to_uppercase() + &word[1..];
        for (from, to) in [(from.into(), to.into()), (from.to_uppercase(), to.to_uppercase()), (title(from), title(to))]
        {
            for (at, _) in kind.match_indices(&from) {
                let beside = [kind[..at].chars().next_back(), kind[at + from.len()..].chars().next()];
                if beside.into_iter().flatten().all(|c| !c.is_alphanumeric()) {
                    swapped.push([&kind[..at], &to, &kind[at + from.len()..]].concat());
                }
            }
        }
    }
    swapped
}

/// Whether two texts differ by a slip: in few characters for their length.
pub fn is_near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a == b || a.len().abs_diff(b.len()) > 3 || a.len().max(b.len()) > BYTES {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let kept = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = kept.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()] <= 2 && row[b.len()] * 4 <= a.len().max(b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_their_pairs() {
        let kinds = |text: &str| markers(text).into_iter().map(|marker| marker.kind).collect::<Vec<_>>();
        assert_eq!(
            kinds("<a>b</a> 2 < 3 [X] [x] <f=g> <h i=\"j\" k=\"l\"></h>"),
            ["<a>", "</a>", "[X]", "<f>", "<h>", "</h>"]
        );
        assert_eq!(kinds("<|\"|> <｜D｜ i n=\"$x\"> <|a> <a|>"), ["<｜D｜ i>", "<|a>", "<a|>"]);
        for (open, close) in [
            ("<a>", "</a>"),
            ("[A]", "[/A]"),
            ("<|a|>", "<|/a|>"),
            ("<|a_START|>", "<|a_END|>"),
            ("<｜a▁begin｜>", "<｜a▁end｜>"),
            ("<|a>", "<a|>"),
        ] {
            assert!(closing(open).contains(&close.to_owned()), "{open} {:?}", closing(open));
        }
        assert!(
            opening("</a>").contains(&"<a>".to_owned())
                && opening("<|a_end|>").contains(&"<|a_start|>".to_owned())
                && opening("<a|>") == ["<|a>"]
        );
        assert!(is_near("<tool_cal>", "<tool_call>") && !is_near("<tool>", "<think>") && !is_near("<a>", "<a>"));
    }
}
