//! The messages of a render. Messages of texts, which are the most common, become engine values
//! without conversion to JSON.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use minijinja::value::Value;
use serde_json::Value as Json;

use crate::fault::Result;
use crate::probe::labels::Labels;
use crate::python::from_json::{labelled, list_of, of_json, of_texts};

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
    Texts(Vec<(&'static str, Value)>),
    Json(Json),
}

impl Shown {
    pub fn to_json(&self) -> Json {
        match self {
            Shown::Texts(texts) => texts
                .iter()
                .map(|(name, text)| (*name, text.as_str().unwrap_or_default()))
                .collect(),
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

    /// The engine value for the template; `labels`: the labels that the texts may contain.
    pub(crate) fn value(&self, labels: Option<&Labels>) -> Result<Value> {
        if self.0.prepared.is_empty() {
            return labelled(self, labels);
        }
        list_of(self.0.prepared.iter().map(|message| match message {
            Shown::Texts(texts) => of_texts(texts),
            Shown::Json(json) => of_json(json, labels),
        }))
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
