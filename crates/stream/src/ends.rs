//! The texts that end an output. An end at the end of the output is in no field of the message.

use chatparse_base::bytes::Bytes;
use chatparse_base::limits::END_BYTES;

/// The texts that end an output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// As the host told them. None is blank.
    pub told: Vec<String>,
    /// The same, also without the white space before, and twice.
    texts: Vec<String>,
    heads: Bytes,
    longest: usize,
}

impl Ends {
    pub fn new(mut told: Vec<String>) -> Self {
        told.retain(|text| !text.trim().is_empty() && text.len() <= END_BYTES);
        let mut texts = Vec::new();
        for text in &told {
            for end in [text.clone(), text.repeat(2)] {
                texts.push(end.trim_start().to_owned());
                texts.push(end);
            }
        }
        chatparse_base::sort::sort(&mut texts);
        texts.dedup();
        let heads = texts.iter().map(|text| Bytes::byte(text.as_bytes()[0]));
        let heads = heads.collect();
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        Ends {
            told,
            texts,
            heads,
            longest,
        }
    }

    /// The first position at or after `from` at which an end may begin; the length if there is
    /// none.
    #[inline]
    pub fn begin(&self, text: &[u8], from: usize) -> usize {
        let from = from.max(text.len().saturating_sub(self.longest));
        let mut places = from..text.len();
        places
            .find(|at| self.may_begin(&text[*at..]))
            .unwrap_or(text.len())
    }

    /// Whether a text, which is not empty, is the beginning of an end.
    #[inline]
    fn may_begin(&self, text: &[u8]) -> bool {
        self.heads.contains(text[0])
            && self
                .texts
                .iter()
                .any(|end| end.as_bytes().starts_with(text))
    }

    /// Whether a text is an end; white space after it may be missing.
    pub fn has(&self, text: &[u8]) -> bool {
        self.texts
            .iter()
            .any(|end| end.as_bytes().starts_with(text) && text.len() >= end.trim_end().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_may_be_cut_and_written_twice() {
        let ends = Ends::new(vec!["\n<|end|>\n".to_owned(), " ".to_owned()]);
        assert_eq!(ends.told.len(), 1, "a blank text ends nothing");
        for (text, at) in [("a\n<|e", 1), ("a<|end|>", 1), ("a<b", 3), ("", 0)] {
            assert_eq!(ends.begin(text.as_bytes(), 0), at, "{text:?}");
        }
        for text in ["\n<|end|>", "<|end|>\n", "<|end|>\n\n<|end|>"] {
            assert!(ends.has(text.as_bytes()), "{text:?}");
        }
        assert!(!ends.has(b"<|end|") && !ends.has(b"<|end|>a"));
    }
}
