//! Python's bytes: the result of `encode`.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind};

use crate::budget;
use crate::builtins::args::Args;
use crate::python::pyrepr;

/// Bytes as a template's value.
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Object for Bytes {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).map(|byte| Value::from(*byte))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.0.is_empty()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::from("b");
        pyrepr::quote(&mut out, self.0.iter().map(|byte| char::from(*byte)), |c| matches!(c, ' '..='~'));
        f.write_str(&out)
    }
}

/// `text.encode(encoding, errors)` for UTF-8, and for ASCII if the text is ASCII.
pub(crate) fn encode(text: &str, args: &Args) -> Result<Value, Error> {
    let encoding = args.text(0, "encoding")?.unwrap_or("utf-8".into()).to_lowercase();
    let errors = args.text(1, "errors")?;
    let bytes = match (encoding.as_str(), errors.as_deref()) {
        ("utf-8" | "utf8", _) => text.as_bytes().to_vec(),
        ("ascii", Some("ignore")) => text.bytes().filter(u8::is_ascii).collect(),
        ("ascii", Some("replace")) => text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect(),
        ("ascii", _) if text.is_ascii() => text.as_bytes().to_vec(),
        _ => return Err(Error::new(ErrorKind::InvalidOperation, "the text cannot be encoded so")),
    };
    budget::charge_container(0)?;
    budget::charge(bytes.len())?;
    Ok(Value::from_object(Bytes(bytes)))
}

/// `bytes.name()`.
pub(crate) fn call(bytes: &Bytes, name: &str) -> Result<Value, Error> {
    budget::scan(bytes.0.len())?;
    match (name, std::str::from_utf8(&bytes.0)) {
        ("decode", Ok(text)) => Ok(Value::from(text)),
        ("decode", Err(_)) => Err(Error::new(ErrorKind::InvalidOperation, "the bytes are not UTF-8")),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}
