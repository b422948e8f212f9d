//! Bytes read as choices. When they are used up, every choice is the first.

use serde_json::{Map, Number, Value};

/// What is left of the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Choices { rest: bytes }
    }

    /// The bytes as they are: what begins with `=` is no choices but the text itself, so that texts
    /// can be seeds.
    pub fn text(bytes: &'a [u8]) -> Option<&'a str> {
        bytes
            .strip_prefix(b"=")
            .and_then(|text| std::str::from_utf8(text).ok())
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        *first
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = usize::from(self.byte());
        if bound <= 256 {
            number % bound
        } else {
            (number << 8 | usize::from(self.byte())) % bound
        }
    }

    /// Mostly small, and now and then large.
    pub fn size(&mut self) -> usize {
        let most = *self.pick(&[4, 40, 400, 4_000, 20_000]);
        1 + self.below(most)
    }

    /// True once in `times`, and never when there are no more choices.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// So many of the bytes as they are, or what there is.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// A range within `length`, rather short.
    pub fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.once_in(4) { length } else { 12 };
        start..length.min(start + self.below(most + 1))
    }

    /// Changes some bytes: drops, doubles, swaps or moves some, cuts the end off, or puts in one of
    /// `pieces`.
    pub fn mutate(&mut self, bytes: &mut Vec<u8>, pieces: &[String]) {
        let range = self.range(bytes.len());
        match self.below(8) {
            0 => drop(bytes.drain(range)),
            1 => {
                let copy = bytes[range.clone()].to_vec();
                drop(bytes.splice(range.end..range.end, copy));
            }
            2 => {
                let moved: Vec<u8> = bytes.drain(range).collect();
                let at = self.below(bytes.len() + 1);
                drop(bytes.splice(at..at, moved));
            }
            3 if self.once_in(2) => bytes.truncate(range.start),
            4 => {
                let count = self.below(4);
                let new = self.bytes(count).to_vec();
                drop(bytes.splice(range, new));
            }
            5 => {
                let piece = self.pick(pieces).clone();
                drop(bytes.splice(range, piece.into_bytes()));
            }
            _ => {
                let piece = self.pick(pieces).clone();
                drop(bytes.splice(range.start..range.start, piece.into_bytes()));
            }
        }
    }

    /// The same of a text; what is then no UTF-8 any more is replaced.
    pub fn mutate_text(&mut self, text: &str, pieces: &[String]) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.mutate(&mut bytes, pieces);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Any JSON value, nested at most `depth` deep, whose texts and names are among `words`.
    pub fn json(&mut self, depth: usize, words: &[&str]) -> Value {
        let kinds = if depth == 0 { 8 } else { 11 };
        match self.below(kinds) {
            0 => Value::Null,
            1 => Value::Bool(self.once_in(2)),
            2 => Value::from(self.byte()),
            3 => Value::from(*self.pick(&[
                -1,
                i64::MIN,
                i64::MAX,
                1 << 53,
                4_294_967_296,
                2_001,
                100_000,
            ])),
            4 => Number::from_f64(*self.pick(&[0.5, -0.0, 1e300, -1e-300, 1e19, 3.0])).into(),
            5 => Value::from(""),
            6 | 7 => Value::from(*self.pick(words)),
            8 => (0..self.below(4))
                .map(|_| self.json(depth - 1, words))
                .collect(),
            _ => {
                let mut map = Map::new();
                for _ in 0..self.below(4) {
                    map.insert((*self.pick(words)).to_owned(), self.json(depth - 1, words));
                }
                Value::Object(map)
            }
        }
    }

    /// Changes one value somewhere in `value`: replaces or removes it, or copies another into its
    /// place.
    pub fn mutate_json(&mut self, value: &mut Value, words: &[&str]) {
        let copied = self.once_in(4).then(|| self.place(value).clone());
        let stays = self.once_in(3);
        let new = copied.unwrap_or_else(|| self.json(2, words));
        let name = (*self.pick(words)).to_owned();
        match self.place(value) {
            Value::Array(items) if stays => items.push(new),
            Value::Object(fields) if stays => drop(fields.insert(name, new)),
            Value::Object(fields) if !fields.is_empty() && self.once_in(3) => {
                let key = fields
                    .keys()
                    .nth(self.below(fields.len()))
                    .cloned()
                    .unwrap_or_default();
                fields.remove(&key);
            }
            Value::Array(items) if !items.is_empty() && self.once_in(3) => drop(items.pop()),
            place => *place = new,
        }
    }

    /// Some value inside `value`, or itself.
    fn place<'v>(&mut self, value: &'v mut Value) -> &'v mut Value {
        let inside = match value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if inside == 0 || self.once_in(5) {
            return value;
        }
        let at = self.below(inside);
        match value {
            Value::Array(items) => self.place(&mut items[at]),
            Value::Object(fields) => match fields.values_mut().nth(at) {
                Some(field) => self.place(field),
                None => unreachable!("there are {inside} fields"),
            },
            other => other,
        }
    }
}
