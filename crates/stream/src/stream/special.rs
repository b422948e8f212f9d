//! The texts of special tokens, and the search for several texts at once.
//!
//! An Aho-Corasick automaton: one step for each byte, however many texts there are. A text that
//! contains another one is left out, because the inner one is found first; so at most one text ends
//! at each byte, and its node has no children.

use std::ops::Range;
use std::sync::Arc;

use chatparse_base::limits::SPECIAL_TOKEN_BYTES;
use chatparse_base::{Error, Result};

/// The texts of a model's special tokens, by which a stream tells a token from text that spells it
/// out: see [`crate::Stream::feed_marked`]. Immutable and cheap to clone; threads may share it.
#[derive(Clone, Debug)]
pub struct SpecialTokens(pub(super) Arc<TextSearch>);

/// A search for several texts at once, in pieces.
#[derive(Clone, Debug)]
pub struct TextSearch {
    /// The root first, then by depth.
    nodes: Vec<Node>,
    /// The byte that leads to each node.
    bytes: Vec<u8>,
    /// The first bytes of the texts.
    heads: [bool; 256],
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Sorted by their bytes.
    children: Range<u32>,
    /// The longest proper suffix of the read bytes that begins another text, but is no whole text.
    fallback: u32,
    depth: u32,
    /// The length of the text that ends here, or 0.
    length: u32,
}

/// The state of a search: the part of a text that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun(u32);

impl SpecialTokens {
    /// Takes the text that the tokeniser writes for each special token. White space around it is
    /// ignored, because white space at markers is free; a token of white space only is skipped, and
    /// of a token with white space inside, the first word counts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for an empty text, [`crate::ErrorKind::Limit`] where
    /// they are too long together.
    pub fn new<S: AsRef<str>>(tokens: &[S]) -> Result<Self> {
        if let Some(index) = tokens.iter().position(|token| token.as_ref().is_empty()) {
            return Err(Error::invalid(format!(
                "special tokens: number {index} is empty"
            )));
        }
        let bytes: usize = tokens.iter().map(|token| token.as_ref().len()).sum();
        if bytes > SPECIAL_TOKEN_BYTES {
            let message =
                format!("special tokens: {bytes} bytes are more than {SPECIAL_TOKEN_BYTES}");
            return Err(Error::limit(message));
        }
        let words = tokens
            .iter()
            .filter_map(|token| token.as_ref().split_whitespace().next());
        Ok(SpecialTokens(Arc::new(TextSearch::new(
            words.map(str::as_bytes).collect(),
        ))))
    }
}

impl TextSearch {
    /// A search for these texts; none is empty. The cost is linear in their bytes.
    pub fn new(mut texts: Vec<&[u8]>) -> Self {
        chatparse_base::sort::sort(&mut texts);
        texts.dedup();
        let mut tree = TextSearch {
            nodes: vec![Node::default()],
            bytes: vec![0],
            heads: [false; 256],
        };
        // For each node, the texts that begin with its bytes.
        let mut below = vec![(0, texts.len())];
        let mut at = 0;
        while at < tree.nodes.len() {
            let ((mut from, to), node) = (below[at], tree.nodes[at].clone());
            let first = tree.nodes.len();
            while node.length == 0 && from < to {
                let rest = &texts[from..to];
                let depth = node.depth as usize;
                let byte = rest[0][depth];
                let alike = rest.partition_point(|text| text[depth] == byte);
                let mut child = Node {
                    depth: node.depth + 1,
                    ..Node::default()
                };
                if at > 0 {
                    child.fallback = tree.step(node.fallback, byte);
                }
                let within = &tree.nodes[child.fallback as usize];
                if within.length != 0 {
                    (child.length, child.fallback) = (within.length, within.fallback);
                } else if rest[0].len() == depth + 1 {
                    child.length = child.depth;
                }
                tree.nodes.push(child);
                tree.bytes.push(byte);
                below.push((from, from + alike));
                from += alike;
            }
            tree.nodes[at].children = first as u32..tree.nodes.len() as u32;
            at += 1;
        }
        for text in texts {
            tree.heads[usize::from(text[0])] = true;
        }
        tree
    }

    /// Reads a piece. Calls `found` with the end in it and the length of each text that it ends.
    pub fn follow(&self, text: &[u8], begun: Begun, mut found: impl FnMut(usize, usize)) -> Begun {
        let TextSearch { nodes, heads, .. } = self;
        let (mut at, mut state) = (0, begun.0);
        while at < text.len() {
            if state == 0 {
                let Some(next) = text[at..].iter().position(|byte| heads[usize::from(*byte)])
                else {
                    break;
                };
                at += next;
            }
            state = self.step(state, text[at]);
            at += 1;
            let node = &nodes[state as usize];
            if node.length != 0 {
                found(at, node.length as usize);
                state = node.fallback;
            }
        }
        Begun(state)
    }

    /// The number of bytes at the end that may become one of the texts.
    pub fn length(&self, begun: Begun) -> usize {
        self.nodes[begun.0 as usize].depth as usize
    }

    fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            let node = &self.nodes[state as usize];
            let (from, to) = (node.children.start as usize, node.children.end as usize);
            match self.bytes[from..to].binary_search(&byte) {
                Ok(child) => return (from + child) as u32,
                Err(_) if state == 0 => return 0,
                Err(_) => state = node.fallback,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use chatparse_base::ErrorKind;

    #[test]
    fn what_counts_of_a_token() {
        let ends = |token: &str, text: &str| {
            let mut ends = Vec::new();
            SpecialTokens::new(&[token]).unwrap().0.follow(
                text.as_bytes(),
                Begun::default(),
                |end, _| ends.push(end),
            );
            ends
        };
        assert_eq!(ends("<a>", "<a><<a>"), [3, 7]);
        assert_eq!(ends(" <a>\n", "<a> <a>"), [3, 7]);
        assert_eq!(ends("<a b>", "<a  b>"), [2]);
        assert!(ends("\n \n", "\n \n").is_empty());
        assert_eq!(
            SpecialTokens::new(&["<a>", ""]).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        let long = "a".repeat(SPECIAL_TOKEN_BYTES);
        assert_eq!(
            SpecialTokens::new(&[&*long, "b"]).unwrap_err().kind(),
            ErrorKind::Limit
        );
        assert_eq!(
            SpecialTokens::new(&[&*long]).unwrap().0.nodes.len(),
            SPECIAL_TOKEN_BYTES + 1
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Each token in a text is found, or else a shorter one inside it.
        #[test]
        fn finds_what_comparing_all_tokens_finds(
            tokens in prop::collection::vec("[ab<é]{1,4}", 1..8), text in "[ab<é]{0,24}", cut in 0usize..24,
        ) {
            let found = |pieces: &[&[u8]]| {
                let special = SpecialTokens::new(&tokens).unwrap();
                let (mut begun, mut before, mut starts) = (Begun::default(), 0, Vec::new());
                for piece in pieces {
                    begun = special.0.follow(piece, begun, |end, length| starts.push((before + end - length, length)));
                    before += piece.len();
                }
                (starts, special.0.length(begun))
            };
            let (starts, open) = found(&[text.as_bytes()]);
            let (head, tail) = text.as_bytes().split_at(cut.min(text.len()));
            prop_assert_eq!(found(&[head, tail]), (starts.clone(), open));
            for (start, length) in &starts {
                prop_assert!(tokens.contains(&text[*start..start + length].to_owned()));
            }
            for token in &tokens {
                for (at, _) in text.match_indices(token.as_str()) {
                    let within = at..at + token.len();
                    prop_assert!(starts.iter().any(|(start, length)| within.contains(start) && start + length <= within.end));
                }
                // A prefix of a token at the end waits, unless a token was found in it.
                let begins = (1..token.len()).rev().find(|length| text.as_bytes().ends_with(&token.as_bytes()[..*length]));
                if let Some(length) = begins {
                    let from = text.len() - length;
                    prop_assert!(open >= length || starts.iter().any(|(start, _)| *start >= from));
                }
            }
        }
    }
}
