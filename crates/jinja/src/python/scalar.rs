//! Scalars that print with labels ([`Labels`]), and access to their plain values.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use minijinja::State;
use minijinja::value::{Object, ObjectRepr, Value};

use crate::probe::labels::Labels;

/// A number, a boolean or none that prints with a label.
#[derive(Debug)]
pub struct Scalar {
    value: Value,
    number: usize,
    labels: Labels,
}

impl Scalar {
    pub fn new(value: Value, number: usize, labels: Labels) -> Self {
        Scalar {
            value,
            number,
            labels,
        }
    }

    /// Its text with the label. `print` converts the plain value.
    pub fn labelled(&self, print: impl FnOnce(&Value) -> String) -> String {
        self.labels.around(&print(&self.value), self.number)
    }
}

impl Object for Scalar {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.value.is_true()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.labelled(Value::to_string))
    }
}

/// The variable that holds the labels' letters. The space keeps templates from naming it.
pub const LABELS: &str = " labels";

/// The labels of this render.
pub fn labels(state: &State) -> Option<Labels> {
    state.lookup(LABELS)?.downcast_object_ref().copied()
}

fn plain(value: &Value) -> Option<&Value> {
    value
        .downcast_object_ref::<Scalar>()
        .map(|scalar| &scalar.value)
}

/// The value without its labels, if there are any.
pub fn bare(value: &Value, labels: Option<&Labels>) -> Value {
    let Some(labels) = labels else {
        return value.clone();
    };
    match value.as_str().and_then(|text| labels.take(text)) {
        Some((text, _)) => Value::from(text),
        None => plain(value).unwrap_or(value).clone(),
    }
}

/// The arguments with plain values instead of labelled ones.
pub fn without_labels(args: &[Value]) -> Cow<'_, [Value]> {
    match args.iter().any(|value| plain(value).is_some()) {
        true => args
            .iter()
            .map(|value| plain(value).unwrap_or(value).clone())
            .collect(),
        false => Cow::Borrowed(args),
    }
}
