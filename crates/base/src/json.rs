//! [`json!`](crate::json!), used as serde_json's macro of this name. That macro expands to some 200
//! bytes of code for each field; this one calls functions that are compiled once.

use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Map;
pub use serde_json::Value;

use crate::error::Error;

/// A JSON value: `json!({"type": "text", "text": text})`. Keys are `&str`; values are JSON, or
/// anything that can be written as JSON.
#[macro_export]
macro_rules! json {
    (@fields $object:ident) => {};
    (@fields $object:ident $key:tt: $value:tt $(, $($more:tt)*)?) => {
        $crate::json::put(&mut $object, $key, $crate::json!($value));
        $crate::json!(@fields $object $($($more)*)?)
    };
    (@fields $object:ident $key:tt: $value:expr $(, $($more:tt)*)?) => {
        $crate::json::put(&mut $object, $key, $crate::json!($value));
        $crate::json!(@fields $object $($($more)*)?)
    };
    (@items $list:ident) => {};
    (@items $list:ident $value:tt $(, $($more:tt)*)?) => {
        $list.push($crate::json!($value));
        $crate::json!(@items $list $($($more)*)?)
    };
    (@items $list:ident $value:expr $(, $($more:tt)*)?) => {
        $list.push($crate::json!($value));
        $crate::json!(@items $list $($($more)*)?)
    };
    (null) => { $crate::json::Value::Null };
    ([]) => { $crate::json::Value::Array(Vec::new()) };
    ([$($items:tt)+]) => {{
        let mut list = $crate::json::list();
        $crate::json!(@items list $($items)+);
        $crate::json::Value::Array(list)
    }};
    ({}) => { $crate::json::Value::Object($crate::json::object()) };
    ({$($fields:tt)+}) => {{
        let mut object = $crate::json::object();
        $crate::json!(@fields object $($fields)+);
        $crate::json::Value::Object(object)
    }};
    ($value:expr) => { $crate::json::value(&$value) };
}

/// Nesting up to which JSON is read on the caller's stack: serde_json takes some 1.1 KiB for a
/// level.
const SHALLOW: usize = 48;

/// Reads JSON text as serde_json does, up to its 128 levels, on a stack that is deep enough.
///
/// # Errors
/// The errors of serde_json; and an error if the text nests deeply and there is no thread for it.
pub fn from_text<T: DeserializeOwned + Send>(text: &str) -> serde_json::Result<T> {
    if !nests(text.as_bytes(), SHALLOW) {
        return serde_json::from_str(text);
    }
    crate::stack::deep(|| Ok(serde_json::from_str(text)))
        .unwrap_or_else(|error| Err(serde::de::Error::custom(error)))
}

/// The error for a text or a value that errors call `what`.
pub fn wrong(what: impl Display, error: &serde_json::Error) -> Error {
    let why = fault(error);
    let told = format!("{what}: {why}");
    if why.starts_with("too deep") {
        Error::limit(told)
    } else {
        Error::invalid(told)
    }
}

/// What is wrong with a text or a value, and where, in other words than serde's, which are about
/// types of Rust.
pub fn fault(error: &serde_json::Error) -> String {
    let mut told = error.to_string();
    for (theirs, ours) in [
        ("EOF while parsing", "it ends in"),
        ("expected value", "no value"),
        ("recursion limit exceeded", "too deep"),
        ("missing field", "lacks"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("unknown variant ", ""),
        ("unknown field ", ""),
        ("a sequence", "an array"),
        ("a map", "an object"),
    ] {
        told = told.replacen(theirs, ours, 1);
    }
    let Some((got, wanted)) = told.split_once(", expected ") else {
        return told;
    };
    let wanted = match wanted.split(' ').next() {
        Some("struct") => "an object",
        Some("tuple") => "an array",
        _ => wanted,
    };
    format!("must be {wanted}, not {got}")
}

/// Whether brackets outside of strings nest deeper than `most`.
pub fn nests(text: &[u8], most: usize) -> bool {
    // Mostly there are fewer.
    if memchr::memchr2_iter(b'[', b'{', text).nth(most).is_none() {
        return false;
    }
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    text.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            b'[' | b'{' if !inside => depth += 1,
            b']' | b'}' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > most
    })
}

/// An empty list.
pub fn list() -> Vec<Value> {
    Vec::new()
}

/// An empty object.
#[inline(never)]
pub fn object() -> Map<String, Value> {
    Map::new()
}

/// Adds a field.
#[inline(never)]
pub fn put(object: &mut Map<String, Value>, key: &str, value: Value) {
    object.insert(key.to_owned(), value);
}

/// Anything as JSON; only a map with keys that are no texts cannot be.
#[inline(never)]
pub fn value<T: Serialize + ?Sized>(any: &T) -> Value {
    serde_json::to_value(any).expect("keys are texts")
}

/// Approximate memory use of a JSON value in bytes.
pub fn bytes(value: &Value) -> usize {
    /// The key of a member and its index entry.
    const MEMBER: usize = size_of::<String>() + 4 * size_of::<usize>();
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes).sum(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| MEMBER + key.len() + bytes(value))
                .sum(),
            _ => 0,
        }
}

/// A JSON value that equals another only where both are written alike: with the members in one
/// order, and `0` apart from `-0.0`.
#[derive(Clone, Debug, Default)]
pub struct Written(pub Value);

impl Deref for Written {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl PartialEq for Written {
    fn eq(&self, other: &Written) -> bool {
        same(self, other)
    }
}

impl Eq for Written {}

impl Hash for Written {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_string().hash(state);
    }
}

/// Whether two values are written alike.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.to_string() == b.to_string(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => same_members(a, b),
        _ => a == b,
    }
}

/// Whether two objects have the same members in one order, written alike.
pub fn same_members(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|((name, a), (other, b))| name == other && same(a, b))
}

/// The white space in the JSON that a grammar writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// A blank, a line break or none, wherever JSON allows it.
    #[default]
    Free,
    /// None, except for a blank where these say so.
    Fixed {
        /// After each comma.
        comma: bool,
        /// After each colon.
        colon: bool,
    },
}

impl Spacing {
    /// No white space.
    pub const COMPACT: Spacing = Spacing::Fixed {
        comma: false,
        colon: false,
    };
}
