//! Labels: letters around each value of a conversation that identify the value in a render.
//!
//! Labels work like [`crate::Marks`], with a number for each value, so that the origin of each byte
//! of a prompt can be determined. The letters have no case and belong to a script that neither the
//! template nor the request uses, so that trimming, `tojson`, `replace`, joining and Python's
//! `repr` leave them unchanged. A label is inside the outer white space of its text.
//!
//! Numbers, booleans and null cannot hold letters. A request gives them as texts
//! ([`Labels::scalar`]); as values of the engine they are numbers, booleans and none again, and
//! print with their labels ([`crate::python::scalar::Scalar`]). Where the template prints JSON text
//! as it came, the quotes of the text are removed with its label.

use std::ops::Range;

use minijinja::value::Object;

/// Digits of the number in a label.
const DIGITS: usize = 5;
/// The base of the number.
const BASE: usize = 16;
/// The number of letters: digits, and the variants of [`Edge`] in their order.
const LETTERS: usize = BASE + 6;

/// The maximum number of values.
pub const VALUES: usize = BASE.pow(DIGITS as u32);

/// The first byte of all letters of labels in UTF-8.
const LEAD: u8 = 0xea;

/// The letters of the labels of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Labels([char; LETTERS]);

/// The kind of a label. Those of values have a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Open,
    Close,
    /// Of a number, a boolean or null that is written as a text.
    OpenScalar,
    CloseScalar,
    /// Of a `{% generation %}` block.
    OpenBlock,
    CloseBlock,
}

const EDGES: [Edge; 6] = [
    Edge::Open,
    Edge::Close,
    Edge::OpenScalar,
    Edge::CloseScalar,
    Edge::OpenBlock,
    Edge::CloseBlock,
];

/// One label in a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    pub edge: Edge,
    /// The number of the value; unused for blocks.
    pub value: usize,
    /// Its position in the render without labels.
    pub at: usize,
}

/// As a variable of the engine.
impl Object for Labels {}

impl Labels {
    /// Letters that do not occur in `texts`, not even as JSON escapes; `None` if there are too few.
    pub fn unused_in(texts: &[&str]) -> Option<Labels> {
        // Phags-pa, Vai and Yi: scripts without case.
        let pool = ('\u{a840}'..='\u{a871}')
            .chain('\u{a500}'..='\u{a60b}')
            .chain('\u{a000}'..='\u{a0ff}');
        let (mut with_letters, mut with_escapes) = (texts.to_vec(), texts.to_vec());
        with_letters.retain(|text| text.as_bytes().contains(&LEAD));
        with_escapes.retain(|text| text.contains("\\u"));
        let mut unused = pool.filter(|letter| {
            let escape = escape(*letter);
            !with_letters.iter().any(|text| text.contains(*letter))
                && !with_escapes.iter().any(|text| text.contains(&escape))
        });
        let mut letters = ['\0'; LETTERS];
        for letter in &mut letters {
            *letter = unused.next()?;
        }
        Some(Labels(letters))
    }

    fn edge(&self, edge: Edge) -> char {
        self.0[BASE + edge as usize]
    }

    fn write(&self, edge: Edge, value: usize, out: &mut String) {
        out.push(self.edge(edge));
        (0..DIGITS)
            .rev()
            .for_each(|digit| out.push(self.0[value / BASE.pow(digit as u32) % BASE]));
    }

    /// `text`, which must not have outer white space, with its label.
    pub fn around(&self, text: &str, value: usize) -> String {
        self.with(Edge::Open, text, Edge::Close, value)
    }

    /// A number, a boolean or null in JSON, as a labelled text.
    pub fn scalar(&self, json: &str, value: usize) -> String {
        self.with(Edge::OpenScalar, json, Edge::CloseScalar, value)
    }

    fn with(&self, open: Edge, text: &str, close: Edge, value: usize) -> String {
        let mut out = String::with_capacity(text.len() + 2 * 3 * (DIGITS + 1));
        self.write(open, value, &mut out);
        out.push_str(text);
        self.write(close, value, &mut out);
        out
    }

    /// The value and the number of a text from [`Labels::scalar`].
    pub fn read_scalar<'t>(&self, text: &'t str) -> Option<(&'t str, usize)> {
        let inner = text.strip_prefix(self.edge(Edge::OpenScalar))?;
        let (_, value, length) = self.read(text)?;
        let end = inner.find(self.edge(Edge::CloseScalar))? + text.len() - inner.len();
        Some((text.get(length..end)?, value))
    }

    /// The text of a `{% generation %}` block.
    pub fn block(&self, text: &str) -> String {
        format!(
            "{}{text}{}",
            self.edge(Edge::OpenBlock),
            self.edge(Edge::CloseBlock)
        )
    }

    /// The render without its labels, and the labels. `None` if one of them is damaged.
    pub fn take(&self, render: &str) -> Option<(String, Vec<Label>)> {
        let (mut text, mut labels) = (String::with_capacity(render.len()), Vec::new());
        let mut rest = render;
        while let Some(at) = self.find(rest) {
            text.push_str(&rest[..at.start]);
            let (edge, value, length) = self.read(&rest[at.start..])?;
            rest = &rest[at.start + length..];
            // The quotes of a scalar, escaped or not, belong to its label.
            match edge {
                Edge::OpenScalar => {
                    let quoted = text.strip_suffix('"')?;
                    text.truncate(quoted.strip_suffix('\\').unwrap_or(quoted).len());
                }
                Edge::CloseScalar => {
                    rest = rest
                        .strip_prefix("\\\"")
                        .or_else(|| rest.strip_prefix('"'))?
                }
                _ => {}
            }
            labels.push(Label {
                edge,
                value,
                at: text.len(),
            });
        }
        text.push_str(rest);
        Some((text, labels))
    }

    /// The next letter, with the backslashes of its escape.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let mut places = memchr::memchr2_iter(b'\\', LEAD, text.as_bytes());
        places.find_map(|at| {
            let rest = &text[at..];
            let Some(code) = rest.strip_prefix('\\') else {
                let c = rest.chars().next()?;
                return self.0.contains(&c).then(|| at..at + c.len_utf8());
            };
            let letter = self.escaped(code.strip_prefix('u')?)?;
            let slashes = text.len() - text[..at].trim_end_matches('\\').len() - rest.len();
            // JSON text in a JSON string has two backslashes.
            Some(at - slashes % 2..at + escape(letter).len())
        })
    }

    /// The letter with the hexadecimal code at the start of `text`.
    fn escaped(&self, text: &str) -> Option<char> {
        let code = u32::from_str_radix(text.get(..4)?, 16).ok()?;
        char::from_u32(code).filter(|letter| self.0.contains(letter))
    }

    /// The index of the letter at the start of `text`, and its length.
    fn letter(&self, text: &str) -> Option<(usize, usize)> {
        let (letter, length) = match text.chars().next()? {
            '\\' => {
                let slashes = if text.starts_with("\\\\") { 2 } else { 1 };
                (self.escaped(&text[slashes + 1..])?, slashes + 5)
            }
            letter => (letter, letter.len_utf8()),
        };
        Some((self.0.iter().position(|known| *known == letter)?, length))
    }

    /// The label at the start of `text`: its kind, its number and its length.
    fn read(&self, text: &str) -> Option<(Edge, usize, usize)> {
        let (letter, mut length) = self.letter(text)?;
        let edge = EDGES[letter.checked_sub(BASE)?];
        let mut value = 0;
        if !matches!(edge, Edge::OpenBlock | Edge::CloseBlock) {
            for _ in 0..DIGITS {
                let (digit, more) = self
                    .letter(&text[length..])
                    .filter(|(digit, _)| *digit < BASE)?;
                value = value * BASE + digit;
                length += more;
            }
        }
        Some((edge, value, length))
    }
}

/// The letter as a JSON escape.
pub fn escape(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_without_a_trace_and_tell_where_values_stand() {
        let labels = Labels::unused_in(&["a template with \u{a840}", "\\ua841"]).unwrap();
        assert_eq!(labels.0[0], '\u{a842}');
        let labelled = format!("a {} {}\n", labels.around("b", 70_000), labels.block("c"));
        let (text, found) = labels.take(&labelled).unwrap();
        assert_eq!(text, "a b c\n");
        let at = |edge, value, at| Label { edge, value, at };
        let open = [at(Edge::Open, 70_000, 2), at(Edge::Close, 70_000, 3)];
        assert_eq!(
            found,
            [
                &open[..],
                &[at(Edge::OpenBlock, 0, 4), at(Edge::CloseBlock, 0, 5)]
            ]
            .concat()
        );
    }

    #[test]
    fn labels_may_be_escaped_once_and_twice() {
        let labels = Labels::unused_in(&[]).unwrap();
        let text = labels.around("b\\", 3);
        let once: String = text
            .chars()
            .map(|c| {
                if c.is_ascii() {
                    c.to_string()
                } else {
                    escape(c)
                }
            })
            .collect();
        for (escaped, expected) in [
            (once.replace("b\\", "b\\\\"), "b\\\\"),
            (once.replace('\\', "\\\\"), "b\\\\"),
        ] {
            let (text, found) = labels.take(&escaped).unwrap();
            assert_eq!(
                (text.as_str(), found.len(), found[1].at),
                (expected, 2, expected.len())
            );
        }
    }

    #[test]
    fn scalars_are_given_as_texts() {
        let labels = Labels::unused_in(&[]).unwrap();
        let scalar = labels.scalar("1.50", 9);
        assert_eq!(labels.read_scalar(&scalar), Some(("1.50", 9)));
        assert_eq!(labels.read_scalar("1.50"), None);
        let (text, found) = labels.take(&format!("{{\"a\": \"{scalar}\"}}")).unwrap();
        assert_eq!(
            (text.as_str(), found[0].at, found[1].at),
            ("{\"a\": 1.50}", 6, 10)
        );
        assert_eq!(labels.take(&scalar), None);
    }
}
