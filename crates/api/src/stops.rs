//! Cuts the content of an answer where a stop text of the client begins.

use std::borrow::Cow;

use serde_json::Value;

use chatparse_stream::{Begun, TextSearch};

/// The search for the client's stop texts in the content.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    search: Option<TextSearch>,
    begun: Begun,
    /// The end of the content, which from `passed` on may begin a stop text.
    held: String,
    passed: usize,
    /// The stop text that ended the content.
    pub found: Option<String>,
}

impl Stops {
    /// Reads `stop`, a text or a list, or `stop_sequences`. Empty texts stop nothing.
    pub fn of(request: &Value) -> Stops {
        let mut texts: Vec<&[u8]> = Vec::new();
        for name in ["stop", "stop_sequences"] {
            let all = match &request[name] {
                Value::Array(all) => &all[..],
                one if name == "stop" => std::slice::from_ref(one),
                _ => &[],
            };
            texts.extend(all.iter().filter_map(Value::as_str).map(str::as_bytes));
        }
        texts.retain(|text| !text.is_empty());
        Stops {
            search: (!texts.is_empty()).then(|| TextSearch::new(texts)),
            ..Stops::default()
        }
    }

    /// Adds to the content, and returns what no stop text can take back. The cost of all pieces is
    /// linear in their bytes.
    pub fn push<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let Some(search) = &self.search else {
            return text.into();
        };
        let mut stop = None;
        self.begun = search.follow(text.as_bytes(), self.begun, |end, length| {
            stop.get_or_insert((end, length));
        });
        self.held.push_str(text);
        let mut ready = self.held.len() - search.length(self.begun);
        if let Some((end, length)) = stop {
            let end = self.held.len() - text.len() + end;
            ready = end - length;
            self.found = Some(self.held[ready..end].to_owned());
            self.held.truncate(ready);
        }
        let shown = self.held[self.passed..ready].to_owned();
        self.passed = ready;
        if self.passed > self.held.len() / 2 {
            self.held.drain(..self.passed);
            self.passed = 0;
        }
        shown.into()
    }

    /// Ends the content, or interrupts it: what was held is content.
    pub fn flush(&mut self) -> String {
        self.begun = Begun::default();
        self.held.drain(..std::mem::take(&mut self.passed));
        std::mem::take(&mut self.held)
    }
}
