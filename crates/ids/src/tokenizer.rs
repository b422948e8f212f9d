//! The tokenizer of a host, and how it makes ids of texts.
//!
//! A tokenizer cuts a text at special tokens, and encodes the texts between them. So does a
//! [`Vocabulary`], but it looks for special tokens in the template's own bytes alone. A text
//! between two special tokens is encoded at once, whoever wrote it. So the ids are the tokenizer's
//! ids for the whole text, unless a user writes a marker.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use chatparse_base::{Error, Result};
use chatparse_stream::SpecialTokens;

/// A tokenizer as the host has it.
pub trait Tokenizer: Send + Sync {
    /// The ids of a text in which nothing is a special token. Nothing is added before or
    /// after it.
    ///
    /// # Errors
    /// Why it cannot be encoded.
    fn encode(&self, text: &str) -> Result<Vec<u32>>;

    /// The tokens that a template writes as tokens: all that the tokenizer looks for before it
    /// encodes, whether it calls them special or not.
    fn special_tokens(&self) -> Vec<SpecialToken>;

    /// The bytes of a token; for a special token its text.
    ///
    /// # Errors
    /// If the token does not exist.
    fn token_bytes(&self, id: u32) -> Result<Vec<u8>>;
}

/// A special token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialToken {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub text: String,
    /// The tokenizer drops white space before it.
    pub strips_left: bool,
    /// The tokenizer drops white space after it.
    pub strips_right: bool,
}

impl SpecialToken {
    /// A token that leaves the text around it alone.
    pub fn new(id: u32, text: impl Into<String>) -> Self {
        SpecialToken {
            id,
            text: text.into(),
            ..SpecialToken::default()
        }
    }
}

/// A token, and where its text ends.
pub(crate) type Placed = (u32, usize);

/// A tokenizer with its special tokens, sorted for search.
pub(crate) struct Vocabulary {
    tokenizer: Arc<dyn Tokenizer>,
    /// By their first bytes, the longest first.
    heads: HashMap<u8, Vec<SpecialToken>>,
    texts: HashMap<u32, String>,
    /// The same for streams.
    pub stream: SpecialTokens,
    bytes: RwLock<HashMap<u32, Arc<[u8]>>>,
}

impl Vocabulary {
    pub fn new(tokenizer: Arc<dyn Tokenizer>) -> Result<Self> {
        let mut tokens = tokenizer.special_tokens();
        chatparse_base::sort::by(&mut tokens, |a, b| {
            (b.text.len(), &a.text).cmp(&(a.text.len(), &b.text))
        });
        if let Some(empty) = tokens.iter().find(|token| token.text.is_empty()) {
            return Err(Error::invalid(format!(
                "tokenizer: the special token {} has no text",
                empty.id
            )));
        }
        let stream =
            SpecialTokens::new(&tokens.iter().map(|token| &token.text).collect::<Vec<_>>())?;
        let texts = tokens
            .iter()
            .map(|token| (token.id, token.text.clone()))
            .collect();
        let mut heads: HashMap<u8, Vec<SpecialToken>> = HashMap::new();
        for token in tokens {
            heads
                .entry(token.text.as_bytes()[0])
                .or_default()
                .push(token);
        }
        Ok(Vocabulary {
            tokenizer,
            heads,
            texts,
            stream,
            bytes: RwLock::default(),
        })
    }

    /// The text of a special token.
    pub fn special(&self, id: u32) -> Option<&str> {
        self.texts.get(&id).map(String::as_str)
    }

    /// Whether a text is a special token.
    pub fn has(&self, text: &str) -> bool {
        self.special_at(text.as_bytes())
            .is_some_and(|token| token.text == text)
    }

    /// The bytes of a token.
    pub fn bytes(&self, id: u32) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self
            .bytes
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
        {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = match self.special(id) {
            Some(text) => text.as_bytes().into(),
            None => self.tokenizer.token_bytes(id)?.into(),
        };
        self.bytes
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, Arc::clone(&bytes));
        Ok(bytes)
    }

    /// The bytes of each of these tokens.
    pub fn texts(&self, ids: &[u32]) -> Result<Vec<Arc<[u8]>>> {
        ids.iter().map(|id| self.bytes(*id)).collect()
    }

    /// The ids of a text; special tokens count in the ranges `own` alone, which are in order and
    /// disjoint.
    pub fn encode(&self, text: &str, own: &[Range<usize>]) -> Result<Vec<Placed>> {
        let mut placed = Vec::new();
        let mut from = 0;
        for range in own {
            let mut at = range.start.max(from);
            while at < range.end {
                let Some(token) = self.special_at(&text.as_bytes()[at..range.end]) else {
                    at += 1;
                    continue;
                };
                let before = &text[from..at];
                let before = if token.strips_left {
                    before.trim_end()
                } else {
                    before
                };
                self.plain(before, from, &mut placed)?;
                from = at + token.text.len();
                if token.strips_right {
                    from = text.len() - text[from..].trim_start().len();
                }
                placed.push((token.id, from));
                at = from;
            }
        }
        self.plain(&text[from..], from, &mut placed)?;
        Ok(placed)
    }

    fn special_at(&self, bytes: &[u8]) -> Option<&SpecialToken> {
        self.heads
            .get(bytes.first()?)?
            .iter()
            .find(|token| bytes.starts_with(token.text.as_bytes()))
    }

    /// A text without special tokens, which begins at `base`.
    fn plain(&self, text: &str, base: usize, placed: &mut Vec<Placed>) -> Result<()> {
        if self.piece(text, base, placed)?.is_none() {
            return Ok(());
        }
        // The tokenizer makes a special token of its pieces: so the pieces are encoded apart.
        let cuts = text
            .char_indices()
            .filter(|(at, _)| self.special_at(&text.as_bytes()[*at..]).is_some());
        let mut from = 0;
        for to in cuts.map(|(at, c)| at + c.len_utf8()).chain([text.len()]) {
            if let Some(id) = self.piece(&text[from..to], base + from, placed)? {
                return Err(Error::invalid(format!(
                    "tokenizer: plain text became the special token {id}"
                )));
            }
            from = to;
        }
        Ok(())
    }

    /// Adds the tokens of a text, unless one is a special token, which is returned. If their bytes
    /// are not the text's, because the tokenizer changes texts, each gets the end of the text.
    fn piece(&self, text: &str, base: usize, placed: &mut Vec<Placed>) -> Result<Option<u32>> {
        let ids = if text.is_empty() {
            Vec::new()
        } else {
            self.tokenizer.encode(text)?
        };
        if let Some(id) = ids.iter().find(|id| self.texts.contains_key(id)) {
            return Ok(Some(*id));
        }
        let first = placed.len();
        let mut at = 0;
        for id in ids {
            at += self.bytes(id)?.len();
            placed.push((id, base + at));
        }
        if at != text.len() {
            placed[first..]
                .iter_mut()
                .for_each(|(_, end)| *end = base + text.len());
        }
        Ok(None)
    }
}
