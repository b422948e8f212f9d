//! Filters for HTML and URLs. Nothing is escaped unless a template asks for it, because prompts are not HTML.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use crate::budget::{self, check_text};
use crate::builtins::args::{Args, subject};
use crate::python::chars;
use crate::python::pyobject::{as_text, items, pairs};
use crate::python::pyrepr;

/// `text` with HTML's special characters as entities.
pub(crate) fn escaped(text: &str) -> Result<String, Error> {
    let entity = |byte| match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'\'' => "&#39;",
        b'"' => "&#34;",
        _ => "",
    };
    budget::work(text.len())?;
    check_text(text.bytes().map(|byte| entity(byte).len().max(1)).sum())?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !entity(byte).is_empty()) {
        out.push_str(&rest[..at]);
        out.push_str(entity(rest.as_bytes()[at]));
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// `e`: the result is marked as escaped, for the test `escaped`.
pub(crate) fn escape(args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    match as_text(&value) {
        Some(text) if value.is_safe() => Ok(Value::from_safe_string(text.to_owned())),
        _ => Ok(Value::from_safe_string(escaped(&pyrepr::text(&value))?)),
    }
}

/// `forceescape`: escapes escaped text again.
pub(crate) fn force_escape(args: &[Value]) -> Result<Value, Error> {
    Ok(Value::from_safe_string(escaped(&pyrepr::text(&subject(args)))?))
}

/// `striptags`: removes comments and tags, collapses white space, and decodes entities.
pub(crate) fn strip_tags(args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    let text = pyrepr::text(&value);
    check_text(text.len())?;
    // One step after the other, because each holds a copy of the text.
    let bare = without(&without(&text, "<!--", "-->"), "<", ">");
    let mut words = String::with_capacity(bare.len());
    for word in bare.split(chars::space).filter(|word| !word.is_empty()) {
        words.push_str(if words.is_empty() { "" } else { " " });
        words.push_str(word);
    }
    drop(bare);
    Ok(Value::from(unescaped(&words)))
}

/// Removes all text from `open` to `close`.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        let Some(len) = rest[start..].find(close) else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + len + close.len()..];
    }
    out.push_str(rest);
    out
}

const ENTITIES: &[(&str, char)] =
    &[("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("nbsp", '\u{a0}')];

/// The maximum length of an entity.
const ENTITY_BYTES: usize = 10;

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.bytes().take(ENTITY_BYTES).position(|b| b == b';');
        match end.and_then(|end| Some((entity(&rest[..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(digits) = name.strip_prefix('#') {
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        return char::from_u32(code.ok()?);
    }
    ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, c)| *c)
}

/// `urlencode`: a text, or pairs of names and values for a query.
pub(crate) fn url_encode(args: &[Value]) -> Result<Value, Error> {
    let value = subject(args);
    let pairs = match value.kind() {
        _ if as_text(&value).is_some() => None,
        ValueKind::Map => Some(pairs(&value)?),
        ValueKind::Seq | ValueKind::Iterable => Some(items(&value)?.iter().map(pair).collect::<Result<_, _>>()?),
        _ => None,
    };
    let mut out = String::new();
    match pairs {
        None => quote(&mut out, &pyrepr::text(&value), false)?,
        Some(pairs) => {
            for (index, (name, value)) in pairs.iter().enumerate() {
                out.push_str(if index > 0 { "&" } else { "" });
                quote(&mut out, &pyrepr::text(name), true)?;
                out.push('=');
                quote(&mut out, &pyrepr::text(value), true)?;
            }
        }
    }
    Ok(Value::from(out))
}

fn pair(value: &Value) -> Result<(Value, Value), Error> {
    match items(value)?.as_slice() {
        [name, value] => Ok((name.clone(), value.clone())),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "a query is made of pairs")),
    }
}

fn quote(out: &mut String, text: &str, query: bool) -> Result<(), Error> {
    budget::work(text.len())?;
    check_text(out.len().saturating_add(text.len().saturating_mul(3)))?;
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b'/' if !query => out.push('/'),
            b' ' if query => out.push('+'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    Ok(())
}

/// `xmlattr`: a map as attributes of a tag; none and undefined values are left out.
pub(crate) fn attributes(args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "d");
    if value.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, "attributes are made of a map"));
    }
    let mut out = String::new();
    for (name, value) in pairs(&value)? {
        let name = pyrepr::text(&name);
        if value.is_none() || value.is_undefined() {
            continue;
        }
        if name.contains(|c: char| c.is_whitespace() || "/>=".contains(c)) {
            return Err(Error::new(ErrorKind::InvalidOperation, format!("{name:?} cannot be an attribute")));
        }
        out.push_str(if out.is_empty() { "" } else { " " });
        let _ = write!(out, "{}=\"{}\"", escaped(&name)?, escaped(&pyrepr::text(&value))?);
        check_text(out.len())?;
    }
    let autospace = args.get(1, "autospace");
    if !out.is_empty() && (autospace.is_undefined() || autospace.is_true()) {
        out.insert(0, ' ');
    }
    Ok(Value::from_safe_string(out))
}
