//! The variables of requests under which a template's model writes otherwise than by default: what
//! is learnt under their values.
//!
//! Values that the source cannot tell apart by its literals matter if the one that represents them
//! does. So texts of which each request has another, such as dates, are looked at once.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::reader::Reader;
use chatparse_base::limits::{VARIABLE_BYTES, VARIABLES, VARIED, VARIED_BYTES};
use chatparse_base::store::{Store, hash_of};
use chatparse_jinja::Template;

/// By values, what is learnt under them; `None`: they do not matter.
#[derive(Debug)]
pub(crate) struct Variables(Store<String, Option<Arc<Reader>>>);

impl Default for Variables {
    fn default() -> Self {
        Variables(Store::new(VARIED * VARIED_BYTES))
    }
}

impl Variables {
    /// The reader that is learnt under these variables of a request; `None` if the variables do not
    /// matter.
    pub fn under(&self, usual: &Reader, given: &Map<String, Value>) -> Option<Arc<Reader>> {
        let template = usual.template();
        let (mut read, mut alike) = (Map::new(), Map::new());
        for (name, value) in given {
            let is_plain = match value {
                Value::String(text) => text.len() <= VARIABLE_BYTES,
                value => !value.is_array() && !value.is_object(),
            };
            if !is_plain || !template.reads(name) {
                continue;
            }
            if read.len() == VARIABLES {
                return None;
            }
            alike.insert(name.clone(), self::alike(template, value));
            read.insert(name.clone(), value.clone());
        }
        if read.is_empty() || !usual.learns() {
            return None;
        }
        self.learnt(usual, alike)?;
        self.learnt(usual, read)
    }

    fn learnt(&self, usual: &Reader, read: Map<String, Value>) -> Option<Arc<Reader>> {
        let values = Value::from(read.clone()).to_string();
        let hash = hash_of(&values);
        if let Some(known) = self.0.get(hash, |known| *known == values) {
            return known;
        }
        let analyzed = Arc::new(usual.analyzed.under(read));
        let differs = [true, false].into_iter().any(|thinking| {
            let (turn, usual) = (analyzed.turn(thinking), usual.analyzed.turn(thinking));
            turn != usual && (!turn.edges.is_empty() || usual.edges.is_empty())
        });
        // What is known of a family is of the calls that it is known to write.
        let varied = differs
            .then(|| analyzed.reader_named(usual.name()))
            .flatten();
        self.0.keep(hash, values, varied.clone(), VARIED_BYTES);
        varied
    }
}

/// The value that represents all that the source cannot tell apart by its literals.
fn alike(template: &Template, value: &Value) -> Value {
    let unknown = |word: &str| !template.has_word(word);
    match value {
        Value::String(text) if !text.is_empty() && !template.has_literal(text) => {
            let mut texts = (0..).map(|number| format!("text{number}"));
            texts.find(|text| unknown(text)).into()
        }
        Value::Number(number) if unknown(&number.to_string()) => {
            let is_negative = number.as_f64().is_some_and(|number| number < 0.0);
            let other = (1_000_i64..).find(|number| unknown(&number.to_string()));
            other
                .map(|other| if is_negative { -other } else { other })
                .into()
        }
        value => value.clone(),
    }
}
