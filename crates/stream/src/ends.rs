//! The texts that end an output. An end that nothing follows is no part of the message, in any of
//! its fields.

use chatparse_base::bytes::Bytes;
use chatparse_base::limits::END_BYTES;

/// The texts, as they may stand at the end of an output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// As they were told. None is blank.
    pub told: Vec<String>,
    /// Also without the white space before, and twice.
    texts: Vec<String>,
    heads: Bytes,
    longest: usize,
}

impl Ends {
    pub fn new(mut told: Vec<String>) -> Self {
        told.retain(|text| !text.trim().is_empty() && text.len() <= END_BYTES);
        let mut texts: Vec<String> = told
            .iter()
            .flat_map(|text| [text.clone(), text.repeat(2)])
            .collect();
        texts.extend(
            texts
                .iter()
                .map(|text| text.trim_start().to_owned())
                .collect::<Vec<_>>(),
        );
        chatparse_base::sort::sort(&mut texts);
        texts.dedup();
        let heads = texts
            .iter()
            .map(|text| Bytes::byte(text.as_bytes()[0]))
            .fold(Bytes::NONE, Bytes::or);
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        Ends {
            told,
            texts,
            heads,
            longest,
        }
    }

    /// Where the text begins, at or after `from`, that may become an end; the length if none does.
    #[inline]
    pub fn begin(&self, text: &[u8], from: usize) -> usize {
        let from = from.max(text.len().saturating_sub(self.longest));
        let begins = |at: &usize| {
            let rest = &text[*at..];
            self.heads.contains(rest[0])
                && self
                    .texts
                    .iter()
                    .any(|end| end.as_bytes().starts_with(rest))
        };
        (from..text.len()).find(begins).unwrap_or(text.len())
    }

    /// Whether a text is an end; white space after it may be missing.
    pub fn has(&self, text: &[u8]) -> bool {
        let is =
            |end: &String| end.as_bytes().starts_with(text) && text.len() >= end.trim_end().len();
        self.texts.iter().any(is)
    }
}
