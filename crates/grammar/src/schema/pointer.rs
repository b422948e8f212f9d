//! Resolves `$ref`s within a document, and their JSON pointers.

use std::borrow::Cow;

use serde_json::Value;

pub use chatparse_base::pointer::escaped;

/// The target of a reference `#` or `#/...`, or the step that cannot be resolved.
pub fn find<'a, 'r>(root: &'a Value, reference: &'r str) -> Result<&'a Value, &'r str> {
    find_through(root, reference, |_| {})
}

/// Like `find`; calls a function for each value on the way, except the root.
pub fn find_through<'a, 'r>(
    root: &'a Value,
    reference: &'r str,
    mut through: impl FnMut(&'a Value),
) -> Result<&'a Value, &'r str> {
    steps(reference).try_fold(root, |value, step| {
        let (_, found) = inside(value, step).ok_or(step)?;
        through(found);
        Ok(found)
    })
}

/// The target of a `$ref`'s value; `None` if there is none, or it is outside of `root`.
pub fn target<'a>(reference: &Value, root: &'a Value) -> Option<&'a Value> {
    find(root, local(reference)?).ok()
}

/// The JSON pointer of a `$ref`'s target; `None` if there is none, or it is outside of `root`.
pub fn place(reference: &Value, root: &Value) -> Option<String> {
    let place = steps(local(reference)?).try_fold((root, String::new()), |(value, place), step| {
        let (name, found) = inside(value, step)?;
        Some((found, format!("{place}/{}", escaped(&name))))
    });
    place.map(|(_, place)| place)
}

/// A step from one place to another.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// To the target of a reference, or `""` to a value that pointers begin at.
    Start(&'a str),
    Key(&'a str),
    Item(usize),
    /// To a schema made from this keyword, which is not in the document.
    Made(&'a str),
}

/// Places, each by the one before it and the step from there.
#[derive(Debug)]
pub struct Places<'a>(Vec<(usize, Step<'a>)>);

impl<'a> Places<'a> {
    /// With the first place.
    pub fn new(start: &'a str) -> Places<'a> {
        Places(vec![(0, Step::Start(start))])
    }

    pub fn add(&mut self, from: usize, step: Step<'a>) -> usize {
        self.0.push((from, step));
        self.0.len() - 1
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn before(&self, place: usize) -> usize {
        self.0[place].0
    }

    /// The JSON pointer of a keyword at a place (`""`: of the place), after `#` or the reference
    /// that led there. A place below a schema that is not in the document has the pointer
    /// of the keyword that made the schema.
    pub fn pointer(&self, place: usize, key: &str) -> String {
        let mut steps = Vec::new();
        steps.extend(Some(key).filter(|key| !key.is_empty()).map(escaped));
        let mut at = place;
        loop {
            let (from, step) = self.0[at];
            match step {
                Step::Start(start) => {
                    let is_whole = start.is_empty() || start.contains('#');
                    steps.push(if is_whole {
                        start.to_owned()
                    } else {
                        format!("{start}#")
                    });
                    break;
                }
                Step::Key(key) => steps.push(escaped(key)),
                Step::Item(index) => steps.push(index.to_string()),
                Step::Made(key) => steps = vec![escaped(key)],
            }
            at = from;
        }
        steps.reverse();
        steps.join("/")
    }
}

/// A reference within the same document.
fn local(reference: &Value) -> Option<&str> {
    reference
        .as_str()
        .filter(|reference| *reference == "#" || reference.starts_with("#/"))
}

fn steps(reference: &str) -> impl Iterator<Item = &str> {
    reference.split('/').skip(1)
}

/// The value at a step of a reference, and its name or index. A member whose name is the step as
/// written comes first, because many authors escape nothing.
fn inside<'a, 'r>(value: &'a Value, step: &'r str) -> Option<(Cow<'r, str>, &'a Value)> {
    match value {
        Value::Object(fields) => {
            let name: Cow<str> = if fields.contains_key(step) {
                step.into()
            } else {
                unescaped(step)?.into()
            };
            let found = fields.get(&*name)?;
            Some((name, found))
        }
        Value::Array(items) => {
            let index: usize = step.parse().ok()?;
            Some((index.to_string().into(), items.get(index)?))
        }
        _ => None,
    }
}

/// A step with its escapes (`~1`, `~0`, and `%XX` of URLs) decoded; `None` if it has none, or
/// invalid ones.
fn unescaped(step: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(byte);
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            *bytes.last_mut()? = u8::from_str_radix(digits, 16).ok()?;
            rest = &after[2..];
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    Some(chatparse_base::pointer::name(&text))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn escapes_are_undone_wherever_a_reference_is_followed() {
        let root = json!({"$defs": {"a b": [1, {"c/d~e": 2}], "x%20y": 3, "~1": 4}});
        for (reference, pointer) in [
            ("#", Some("")),
            ("#/$defs/a%20b/0", Some("/$defs/a b/0")),
            ("#/$defs/a b/1/c~1d~0e", Some("/$defs/a b/1/c~1d~0e")),
            ("#/%24defs/a%20b/1/c%2Fd%7E0e", Some("/$defs/a b/1/c~1d~0e")),
            ("#/$defs/x%20y", Some("/$defs/x%20y")),
            ("#/$defs/~1", Some("/$defs/~01")),
            ("#/$defs/%", None),
            ("#/$defs/a b/2", None),
            ("#$defs", None),
            ("other#/$defs", None),
        ] {
            let found = target(&reference.into(), &root);
            assert_eq!(
                found,
                pointer.and_then(|pointer| root.pointer(pointer)),
                "{reference}"
            );
            assert_eq!(
                place(&reference.into(), &root).as_deref(),
                pointer,
                "{reference}"
            );
        }
    }
}
