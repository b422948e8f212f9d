//! Splits markers into text and white space. A marker matches by its text; white space around and
//! inside it is optional, because models vary it.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::expr::CharSet;

/// The number of gaps in a marker, from the first, that may have other white space when all others
/// are as written.
const GAPS: usize = 8;

/// A part of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// White space of any length.
    Space,
    /// White space that separates two words; at least one character.
    Gap,
    /// Text that must match exactly.
    Text(&'a str),
    /// White space at the end. Each of its characters is optional, because the next text may begin
    /// with more white space.
    Tail(&'a str),
}

/// The parts of a marker, in order.
pub fn parts(marker: &str) -> impl Iterator<Item = Part<'_>> {
    let core = marker.trim_end();
    let tail = Some(&marker[core.len()..]).filter(|tail| !tail.is_empty());
    let mut rest = core.trim_start();
    let mut waiting = (!rest.is_empty()).then_some(Part::Space);
    let inner = std::iter::from_fn(move || {
        if let Some(part) = waiting.take() {
            return Some(part);
        }
        if rest.is_empty() {
            return None;
        }
        let (text, behind) = rest.split_at(end_of_text(rest));
        rest = behind.trim_start();
        waiting = match (text.chars().next_back(), rest.chars().next()) {
            (Some(left), Some(right)) if is_word(left) && is_word(right) => Some(Part::Gap),
            (_, Some(_)) => Some(Part::Space),
            _ => None,
        };
        Some(Part::Text(text))
    });
    inner.chain(tail.map(Part::Tail))
}

/// The set of white-space characters.
pub fn white_space() -> CharSet {
    CharSet {
        ranges: [('\t', '\r'), (' ', ' ')].into_iter().collect(),
        negated: false,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the first text of a marker.
fn end_of_text(marker: &str) -> usize {
    let mut places = 0..marker.len();
    places
        .find(|at| is_border(marker, *at))
        .unwrap_or(marker.len())
}

/// Whether a text of a marker ends here: at white space, between a tag and another tag, a list or
/// an object, or at a special token.
fn is_border(marker: &str, at: usize) -> bool {
    let (before, rest) = marker.as_bytes().split_at(at);
    let last = before.last();
    before.ends_with(b"|>")
        || match rest[0] {
            b'\t'..=b'\r' | b' ' => true,
            b'<' => {
                matches!(last, Some(b'>' | b'['))
                    || at > 0 && marker[at + 1..].starts_with(['|', '｜'])
            }
            b'{' | b'[' => matches!(last, Some(b'>' | b']')),
            b']' => last == Some(&b'>'),
            // These begin all white space beyond ASCII.
            0xC2 | 0xE1..=0xE3 => marker[at..].starts_with(char::is_whitespace),
            _ => false,
        }
}

/// The markers that end a text: each as written and, if its text is too distinctive to occur by
/// chance, with other white space. A marker is left out if another one ends the text before it.
pub fn ends(markers: &[SmolStr]) -> Vec<SmolStr> {
    let mut ends = Vec::with_capacity(4 * markers.len());
    // The white space before a text, and the text.
    let mut certain: BTreeSet<(&str, &str)> = BTreeSet::new();
    for marker in markers {
        let core = marker.trim();
        if is_certain(core) {
            let before = &marker[..marker.len() - marker.trim_start().len()];
            certain.extend([(before, core), ("", core)]);
            // Models write line breaks with a return, too.
            certain.extend((before == "\n").then_some(("\r\n", core)));
        } else {
            ends.push(marker.clone());
        }
    }
    // The last text without gaps. A longer text that begins with it does so however it is spaced.
    let mut first = ("", None);
    for (before, core) in certain {
        let text = &core[..end_of_text(core)];
        if first.0 == before && first.1.is_some_and(|first| text.starts_with(first)) {
            continue;
        }
        if text == core {
            first = (before, Some(core));
        }
        let written = spaced(core).into_iter();
        ends.extend(written.map(|core| {
            if before.is_empty() {
                core
            } else {
                SmolStr::from_iter([before, &core])
            }
        }));
    }
    ends
}

/// A marker as written, and with other white space between its parts: in all places, or in one.
fn spaced(core: &str) -> Vec<SmolStr> {
    let mut written = vec![SmolStr::new(core)];
    // The gap before each text: as written, and the least of it; and the text.
    let mut texts: SmallVec<[(&str, &str, &str); 4]> = SmallVec::new();
    let mut gap = None;
    let mut at = 0;
    for part in parts(core).skip(1) {
        match part {
            Part::Text(text) => {
                let start = core.len() - core[at..].trim_start().len();
                let (own, least) = gap
                    .take()
                    .map_or(("", ""), |least| (&core[at..start], least));
                texts.push((own, least, text));
                at = start + text.len();
            }
            Part::Gap => gap = Some(" "),
            Part::Space | Part::Tail(_) => gap = Some(""),
        }
    }
    let gaps = texts.len() - 1;
    let mut text = String::with_capacity(core.len() + gaps * 2);
    for space in ["", " ", "\n", "  ", "\n\n"] {
        // The first place stands for all; with one gap, "in all places" is "in one".
        for place in usize::from(gaps < 2)..=gaps.min(GAPS) {
            let (own, least, _) = texts[place];
            if place > 0 && own == if space.is_empty() { least } else { space } {
                continue;
            }
            text.clear();
            for (number, (own, least, part)) in texts.iter().enumerate() {
                let is_other = number > 0 && (place == 0 || place == number);
                text += match is_other {
                    true if space.is_empty() => least,
                    true => space,
                    false => own,
                };
                text += part;
            }
            written.push(SmolStr::new(&text));
        }
    }
    written
}

/// Whether a text is certainly a marker: it has a word, and a bracket or bar.
fn is_certain(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.nth(1).is_some()
        && text.contains(|c: char| {
            matches!(c, '<' | '[' | '|') || !c.is_ascii() && !c.is_alphanumeric()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_seen_is_text_and_the_rest_is_free() {
        let is =
            |marker, all: &[Part]| assert_eq!(parts(marker).collect::<Vec<_>>(), all, "{marker:?}");
        is("", &[]);
        is(" \n", &[Part::Tail(" \n")]);
        is("<a>", &[Part::Space, Part::Text("<a>")]);
        is(
            "\n<a>\n",
            &[Part::Space, Part::Text("<a>"), Part::Tail("\n")],
        );
        is(
            "<a>\n<b>",
            &[
                Part::Space,
                Part::Text("<a>"),
                Part::Space,
                Part::Text("<b>"),
            ],
        );
        is(
            "<a><b=",
            &[
                Part::Space,
                Part::Text("<a>"),
                Part::Space,
                Part::Text("<b="),
            ],
        );
        is(
            "<|a|>b<|c|>",
            &[
                Part::Space,
                Part::Text("<|a|>"),
                Part::Space,
                Part::Text("b"),
                Part::Space,
                Part::Text("<|c|>"),
            ],
        );
        is(
            "Final Answer: ",
            &[
                Part::Space,
                Part::Text("Final"),
                Part::Gap,
                Part::Text("Answer:"),
                Part::Tail(" "),
            ],
        );
    }

    #[test]
    fn what_ends_a_text() {
        let is = |marker: &str, all: &[&str]| {
            let mut ends = ends(&[SmolStr::new(marker)]);
            chatparse_base::sort::sort(&mut ends);
            ends.dedup();
            let mut all = all.to_vec();
            chatparse_base::sort::sort(&mut all);
            assert_eq!(ends, all, "{marker:?}");
        };
        is("\n</value>\n", &["\r\n</value>", "\n</value>", "</value>"]);
        let written = ["\n", "\n\n", " ", "  ", ""].map(|space| format!("<call>{space}<name="));
        is("<call><name=", &written.each_ref().map(String::as_str));
        is("\n}", &["\n}"]);
        is("'", &["'"]);
    }
}
