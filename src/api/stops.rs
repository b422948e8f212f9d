//! Cuts the content of an answer where a stop text of the client begins.

use std::borrow::Cow;

use serde_json::Value;

use chatparse_stream::{Begun, TextSearch};

/// The search for the client's stop texts in the content.
#[derive(Clone, Debug, Default)]
pub(super) struct Stops {
    search: Option<TextSearch>,
    begun: Begun,
    /// The end of the content, which may begin a stop text.
    held: String,
    /// The stop text that ended the content.
    pub found: Option<String>,
}

impl Stops {
    /// Reads `stop`, a text or a list, or `stop_sequences`. Empty texts stop nothing.
    pub fn of(request: &Value) -> Stops {
        let listed = |name: &str| request[name].as_array().into_iter().flatten();
        let texts = std::iter::once(&request["stop"]).chain(listed("stop")).chain(listed("stop_sequences"));
        let texts: Vec<&[u8]> =
            texts.filter_map(Value::as_str).map(str::as_bytes).filter(|text| !text.is_empty()).collect();
        Stops { search: (!texts.is_empty()).then(|| TextSearch::new(texts)), ..Stops::default() }
    }

    /// Adds to the content, and returns what no stop text can take back. The cost is linear in `text` and in what it held.
    pub fn push<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let Some(search) = &self.search else { return text.into() };
        let mut stop = None;
        self.begun = search.follow(text.as_bytes(), self.begun, |end, length| {
            stop.get_or_insert((end, length));
        });
        let mut all = std::mem::take(&mut self.held) + text;
        if let Some((end, length)) = stop {
            let end = all.len() - text.len() + end;
            self.found = Some(all[end - length..end].to_owned());
            all.truncate(end - length);
        } else {
            self.held = all.split_off(all.len() - search.length(self.begun));
        }
        all.into()
    }

    /// Ends the content, or interrupts it: what was held is content.
    pub fn flush(&mut self) -> String {
        self.begun = Begun::default();
        std::mem::take(&mut self.held)
    }
}
