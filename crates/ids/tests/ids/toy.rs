//! A small byte-pair tokenizer: it learns its merges from a text, and knows no words, so that
//! tokens span all borders.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use chatparse::Result;
use chatparse::conversation::{SpecialToken, Tokenizer};

const MERGES: usize = 220;
const LEARNT_FROM: &str = "<|im_start|>user\nHow is the weather in Oslo today?<|im_end|>\n<|im_start|>assistant\n<think>\nI have to see \
    what the weather is.\n</think>\n\nIt rains in Oslo, and the wind is cold.<|im_end|>\n<tool_call>\n{\"name\": \"look\", \"arguments\": \
    {\"place\": \"Oslo\", \"days\": 3}}\n</tool_call>\n<|im_start|>user\n<tool_response>\nRain 3\n</tool_response><|im_end|>\n> é 🌧";

pub struct Toy {
    ranks: HashMap<(u32, u32), u32>,
    tokens: Vec<Vec<u8>>,
    special: Vec<SpecialToken>,
    /// How many bytes were encoded.
    pub encoded: AtomicUsize,
}

impl Toy {
    pub fn new<S: AsRef<str>>(special: &[S]) -> Self {
        let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        let mut ranks = HashMap::new();
        let mut text: Vec<u32> = LEARNT_FROM.bytes().map(u32::from).collect();
        for _ in 0..MERGES {
            let mut counts: HashMap<(u32, u32), usize> = HashMap::new();
            text.windows(2)
                .for_each(|pair| *counts.entry((pair[0], pair[1])).or_default() += 1);
            let Some((pair, _)) = counts
                .into_iter()
                .max_by_key(|(pair, count)| (*count, *pair))
            else {
                break;
            };
            let id = tokens.len() as u32;
            tokens.push([&tokens[pair.0 as usize][..], &tokens[pair.1 as usize]].concat());
            ranks.insert(pair, id);
            text = merged(&text, pair, id);
        }
        let special = special.iter().map(|text| {
            tokens.push(text.as_ref().as_bytes().to_vec());
            SpecialToken::new(tokens.len() as u32 - 1, text.as_ref())
        });
        let special = special.collect();
        Toy {
            ranks,
            tokens,
            special,
            encoded: AtomicUsize::new(0),
        }
    }

    pub fn id(&self, special: &str) -> u32 {
        self.special
            .iter()
            .find(|token| token.text == special)
            .unwrap_or_else(|| panic!("no {special}"))
            .id
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.special.iter().any(|token| token.id == id)
    }

    /// As tokenizers encode a whole text: special tokens count wherever they stand.
    pub fn encode_all(&self, text: &str) -> Vec<u32> {
        let (mut ids, mut from, mut at) = (Vec::new(), 0, 0);
        while at < text.len() {
            let found = self
                .special
                .iter()
                .filter(|token| text.as_bytes()[at..].starts_with(token.text.as_bytes()));
            match found.max_by_key(|token| token.text.len()) {
                Some(token) => {
                    ids.extend(self.plain(&text[from..at]));
                    ids.push(token.id);
                    at += token.text.len();
                    from = at;
                }
                None => at += 1,
            }
        }
        ids.extend(self.plain(&text[from..]));
        ids
    }

    fn plain(&self, text: &str) -> Vec<u32> {
        let mut ids: Vec<u32> = text.bytes().map(u32::from).collect();
        while let Some((id, pair)) = ids
            .windows(2)
            .filter_map(|pair| Some((*self.ranks.get(&(pair[0], pair[1]))?, (pair[0], pair[1]))))
            .min()
        {
            ids = merged(&ids, pair, id);
        }
        ids
    }
}

fn merged(ids: &[u32], pair: (u32, u32), id: u32) -> Vec<u32> {
    let (mut made, mut at) = (Vec::with_capacity(ids.len()), 0);
    while at < ids.len() {
        let is_pair = ids[at] == pair.0 && ids.get(at + 1) == Some(&pair.1);
        made.push(if is_pair { id } else { ids[at] });
        at += 1 + usize::from(is_pair);
    }
    made
}

impl Tokenizer for Toy {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        self.encoded.fetch_add(text.len(), Ordering::Relaxed);
        Ok(self.plain(text))
    }

    fn special_tokens(&self) -> Vec<SpecialToken> {
        self.special.clone()
    }

    fn token_bytes(&self, id: u32) -> Result<Vec<u8>> {
        let unknown = || {
            chatparse::Error::new(
                chatparse::ErrorKind::InvalidArgument,
                format!("no token {id}"),
            )
        };
        self.tokens.get(id as usize).cloned().ok_or_else(unknown)
    }
}
