//! The texts of special tokens, and the search for them in ordinary text.
//!
//! An Aho-Corasick automaton: one step for each byte, however many tokens there are. A token that contains another one is
//! left out, because the inner one is found first; so at most one token ends at each byte, and its node has no children.

use std::ops::Range;
use std::sync::Arc;

use chatparse_base::limits::SPECIAL_TOKEN_BYTES;
use chatparse_base::{Error, ErrorKind, Result};

/// The texts of a model's special tokens, by which a stream tells a token from text that spells it out: see
/// [`crate::Stream::feed_marked`]. Immutable and cheap to clone; threads may share it.
#[derive(Clone, Debug)]
pub struct SpecialTokens(Arc<Automaton>);

#[derive(Debug)]
struct Automaton {
    /// The root first, then by depth.
    nodes: Vec<Node>,
    /// The byte that leads to each node.
    bytes: Vec<u8>,
    /// The first bytes of tokens.
    heads: [bool; 256],
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Sorted by their bytes.
    children: Range<u32>,
    /// The longest proper suffix of the text read that is a prefix of another token, but not a whole token.
    fallback: u32,
    depth: u32,
    /// The length of the token that ends here, or 0.
    token: u32,
}

/// The state of a search: the part of a token that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun(u32);

impl SpecialTokens {
    /// Takes the text that the tokeniser writes for each special token. White space around it is ignored, because white
    /// space at markers is free; a token of white space only is skipped, and of a token with white space inside, the first
    /// word counts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for an empty text, [`crate::ErrorKind::Limit`] where they are too long
    /// together.
    pub fn new<S: AsRef<str>>(tokens: &[S]) -> Result<Self> {
        if let Some(index) = tokens.iter().position(|token| token.as_ref().is_empty()) {
            return Err(Error::invalid(format!("special tokens: number {index} is empty")));
        }
        let bytes: usize = tokens.iter().map(|token| token.as_ref().len()).sum();
        if bytes > SPECIAL_TOKEN_BYTES {
            let message = format!("special tokens: {bytes} bytes are more than {SPECIAL_TOKEN_BYTES}");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let words = tokens.iter().filter_map(|token| token.as_ref().split_whitespace().next());
        let mut tokens: Vec<&[u8]> = words.map(str::as_bytes).collect();
        chatparse_base::sort::sort(&mut tokens);
        tokens.dedup();
        Ok(SpecialTokens(Arc::new(Automaton::new(&tokens))))
    }

    /// Reads ordinary text. Calls `found` with the end and the length of each token that the text spells out.
    pub(super) fn follow(&self, text: &[u8], begun: Begun, mut found: impl FnMut(usize, usize)) -> Begun {
        let Automaton { nodes, heads, .. } = &*self.0;
        let (mut at, mut state) = (0, begun.0);
        while at < text.len() {
            if state == 0 {
                let Some(next) = text[at..].iter().position(|byte| heads[usize::from(*byte)]) else { break };
                at += next;
            }
            state = self.0.step(state, text[at]);
            at += 1;
            let node = &nodes[state as usize];
            if node.token != 0 {
                found(at, node.token as usize);
                state = node.fallback;
            }
        }
        Begun(state)
    }

    /// The number of bytes at the end that may become a token.
    pub(super) fn length(&self, begun: Begun) -> usize {
        self.0.nodes[begun.0 as usize].depth as usize
    }
}

impl Automaton {
    fn new(tokens: &[&[u8]]) -> Self {
        let mut tree = Automaton { nodes: vec![Node::default()], bytes: vec![0], heads: [false; 256] };
        // For each node, the tokens that begin with its text.
        let mut below = vec![(0, tokens.len())];
        let mut at = 0;
        while at < tree.nodes.len() {
            let ((mut from, to), node) = (below[at], tree.nodes[at].clone());
            let first = tree.nodes.len();
            while node.token == 0 && from < to {
                let rest = &tokens[from..to];
                let depth = node.depth as usize;
                let byte = rest[0][depth];
                let alike = rest.partition_point(|token| token[depth] == byte);
                let mut child = Node { depth: node.depth + 1, ..Node::default() };
                if at > 0 {
                    child.fallback = tree.step(node.fallback, byte);
                }
                let within = &tree.nodes[child.fallback as usize];
                if within.token != 0 {
                    (child.token, child.fallback) = (within.token, within.fallback);
                } else if rest[0].len() == depth + 1 {
                    child.token = child.depth;
                }
                tree.nodes.push(child);
                tree.bytes.push(byte);
                below.push((from, from + alike));
                from += alike;
            }
            tree.nodes[at].children = first as u32..tree.nodes.len() as u32;
            at += 1;
        }
        for token in tokens {
            tree.heads[usize::from(token[0])] = true;
        }
        tree
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

    #[test]
    fn what_counts_of_a_token() {
        let ends = |token: &str, text: &str| {
            let mut ends = Vec::new();
            SpecialTokens::new(&[token]).unwrap().follow(text.as_bytes(), Begun::default(), |end, _| ends.push(end));
            ends
        };
        assert_eq!(ends("<a>", "<a><<a>"), [3, 7]);
        assert_eq!(ends(" <a>\n", "<a> <a>"), [3, 7]);
        assert_eq!(ends("<a b>", "<a  b>"), [2]);
        assert!(ends("\n \n", "\n \n").is_empty());
        assert_eq!(SpecialTokens::new(&["<a>", ""]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let long = "a".repeat(SPECIAL_TOKEN_BYTES);
        assert_eq!(SpecialTokens::new(&[&*long, "b"]).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(SpecialTokens::new(&[&*long]).unwrap().0.nodes.len(), SPECIAL_TOKEN_BYTES + 1);
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
                    begun = special.follow(piece, begun, |end, length| starts.push((before + end - length, length)));
                    before += piece.len();
                }
                (starts, special.length(begun))
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
