//! The messages of a render. Messages of texts, which are the most common, become engine values
//! without conversion to JSON.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value as Json;

use crate::given::Given;
use crate::probe::trace::Trace;
use crate::text::Text;
use crate::value::Value;

/// An array of OpenAI messages, prepared for the template. Converted to JSON on access.
#[derive(Clone)]
pub struct Messages(Arc<Inner>);

struct Inner {
    prepared: Vec<Shown>,
    /// The array as JSON; the only form if the messages were not prepared.
    json: OnceLock<Arc<Json>>,
}

/// One message.
#[derive(Clone)]
pub enum Shown {
    /// Its fields, all of them texts, with distinct names.
    Texts(Vec<(&'static str, Text)>),
    Json(Json),
}

impl Shown {
    pub fn to_json(&self) -> Json {
        match self {
            Shown::Texts(texts) => texts.iter().map(|(name, text)| (*name, &**text)).collect(),
            Shown::Json(json) => json.clone(),
        }
    }
}

impl Messages {
    pub(crate) fn new(prepared: Vec<Shown>) -> Messages {
        Messages(Arc::new(Inner {
            prepared,
            json: OnceLock::new(),
        }))
    }

    /// The value for the template.
    pub(crate) fn value(&self, given: &mut Given) -> Value {
        let trace = &Trace::default();
        if self.0.prepared.is_empty() {
            return given.variable("messages", self, trace);
        }
        given.list(
            "messages",
            self.0.prepared.iter(),
            |given, message| match message {
                Shown::Texts(texts) => given.texts(texts),
                Shown::Json(json) => given.value(json, trace),
            },
        )
    }
}

impl From<Arc<Json>> for Messages {
    fn from(json: Arc<Json>) -> Self {
        Messages(Arc::new(Inner {
            prepared: Vec::new(),
            json: json.into(),
        }))
    }
}

impl From<Json> for Messages {
    fn from(json: Json) -> Self {
        Arc::new(json).into()
    }
}

impl Deref for Messages {
    type Target = Json;

    fn deref(&self) -> &Json {
        self.0
            .json
            .get_or_init(|| Arc::new(self.0.prepared.iter().map(Shown::to_json).collect()))
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
