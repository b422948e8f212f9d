//! Tools that earlier requests had: agents send nearly the same list each turn, and a tool whose
//! text is known is not read again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::body::Body;
use super::{Request, Tool};
use chatparse_base::Result;
use chatparse_base::json::bytes;
use chatparse_base::limits::KNOWN_TOOLS_BYTES;
use chatparse_base::number::{self, end_of_text};
use chatparse_base::store::{Store, hash_of};

/// The tools of earlier requests by their texts, up to a bound. Threads may share it.
#[derive(Debug)]
pub struct KnownTools {
    tools: Store<Arc<str>, Arc<Known>>,
    /// Where to look first for the first tool of a list.
    first: AtomicU64,
}

#[derive(Debug)]
struct Known {
    text: Arc<str>,
    tool: Tool,
    /// The hash of the tool that followed it last, to look there first.
    next: AtomicU64,
}

/// An item of a list of tools.
struct Item<'t> {
    text: &'t str,
    hash: u64,
    /// The tool if it is known.
    known: Option<Tool>,
}

impl Default for KnownTools {
    fn default() -> Self {
        KnownTools {
            tools: Store::new(KNOWN_TOOLS_BYTES),
            first: AtomicU64::new(0),
        }
    }
}

/// A tool of a body: known, or as JSON that is to be read.
pub enum Given {
    Known(Tool),
    New(Value),
}

impl KnownTools {
    /// [`Request::from_text_with`], where only new tools are read. All results are equal.
    ///
    /// # Errors
    /// As there.
    pub fn request(&self, body: &str, options: &str) -> Result<Request> {
        // A body that is cut cannot tell where an error is.
        self.request_of_cut(body, options)
            .map_or_else(|| Request::from_text_with(body, options), Ok)
    }

    /// `None` where a body has no tools, is no ordinary one, or has an error.
    fn request_of_cut(&self, body: &str, options: &str) -> Option<Request> {
        let (cut, items) = self.cut(body, tools_of(body)?)?;
        let Body(body) = number::read(&cut).ok()?;
        let options = number::read(options).ok()?;
        let mut given = Vec::with_capacity(items.len());
        let mut new: Vec<(&str, u64, usize)> = Vec::new();
        for Item { text, hash, known } in items {
            given.push(match known {
                Some(tool) => Given::Known(tool),
                None => {
                    new.push((text, hash, given.len()));
                    Given::New(number::read(text).ok()?)
                }
            });
        }
        let request = Request::read_with(&body.ok()?, &options, Some(&mut given)).ok();
        let request = request.filter(|request| request.plain.is_none())?;
        for (text, hash, index) in new {
            let Given::Known(tool) = &given[index] else {
                continue;
            };
            let size =
                size_of::<Known>() + text.len() + tool.description.len() + bytes(&tool.parameters);
            let known = Known {
                text: text.into(),
                tool: tool.clone(),
                next: AtomicU64::new(0),
            };
            let key = Arc::clone(&known.text);
            self.tools.keep(hash, key, Arc::new(known), size);
        }
        Some(request)
    }

    /// The body without the items of its list of tools, which begins at `open`, and the items, each
    /// with the known tool.
    fn cut<'t>(&self, body: &'t str, open: usize) -> Option<(String, Vec<Item<'t>>)> {
        let (bytes, mut at, mut items) = (body.as_bytes(), open, Vec::new());
        let mut before: Option<Arc<Known>> = None;
        loop {
            at = behind_space(bytes, at);
            // A list goes on as it did before.
            let next = before.as_ref().map_or(&self.first, |known| &known.next);
            let expected = next.load(Ordering::Relaxed);
            let known = self
                .tools
                .get(expected, |text| bytes[at..].starts_with(text.as_bytes()));
            let (text, hash, known) = match known {
                Some(known) => (&body[at..at + known.text.len()], expected, Some(known)),
                None => {
                    let text = &body[at..end_of_value(bytes, at)?];
                    let hash = hash_of(text);
                    (text, hash, self.tools.get(hash, |known| **known == *text))
                }
            };
            next.store(hash, Ordering::Relaxed);
            items.push(Item {
                text,
                hash,
                known: known.as_ref().map(|known| known.tool.clone()),
            });
            before = known;
            at = behind_space(bytes, at + text.len());
            match bytes.get(at)? {
                b',' => at += 1,
                b']' => return Some(([&body[..open], &body[at..]].concat(), items)),
                _ => return None,
            }
        }
    }
}

/// The place after the bracket that opens the list of tools of a body; `None` if the body has no
/// tools.
fn tools_of(body: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let mut at = behind_space(bytes, 0);
    if *bytes.get(at)? != b'{' {
        return None;
    }
    loop {
        let name = behind_space(bytes, at + 1);
        if *bytes.get(name)? != b'"' {
            return None;
        }
        let end = end_of_text(bytes, name + 1);
        let colon = behind_space(bytes, end);
        let value = behind_space(bytes, colon + 1);
        if *bytes.get(colon)? != b':' {
            return None;
        }
        if &body[name..end] == "\"tools\"" && *bytes.get(value)? == b'[' {
            return Some(value + 1)
                .filter(|open| bytes.get(behind_space(bytes, *open)) != Some(&b']'));
        }
        at = behind_space(bytes, end_of_value(bytes, value)?);
        if *bytes.get(at)? != b',' {
            return None;
        }
    }
}

fn behind_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| is_space(*byte)) {
        at += 1;
    }
    at
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// How deep a tool may be: in its body, it is deeper, and must not be too deep for a JSON text
/// there.
const DEPTH: usize = 100;

/// Behind the JSON value that begins at `at`, if it is one; whoever reads it finds out. `None`
/// where it is too deep.
fn end_of_value(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = end_of_text(bytes, at + 1),
            b'[' | b'{' if depth == DEPTH => return None,
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' if depth == 0 => return None,
            _ if depth == 0 => {
                while let Some(byte) = bytes.get(at)
                    && !matches!(byte, b',' | b']' | b'}')
                    && !is_space(*byte)
                {
                    at += 1;
                }
                return Some(at);
            }
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"messages": [{"role": "user", "content": "Hi, \"tools\": [{}]"}],
        "tools" : [ {"type": "function", "function": {"name": "a", "description": "ü \\", "parameters": {"type": "object", "x": [1e400, -0]}}}
        , {"type": "namespace", "name": "n", "tools": [{"type": "function", "function": {"name": "b"}}]},
        {"type":"custom","custom":{"name":"c"}}], "tool_choice": "required"}"#;

    #[test]
    fn a_body_is_read_as_if_no_tool_was_known_whatever_is_wrong_with_it() {
        let known = KnownTools::default();
        let read = |body: &str| {
            let show = |request: Result<Request>| request.map_err(|error| error.to_string());
            let [mine, plain] = [
                known.request(body, "{}"),
                Request::from_text_with(body, "{}"),
            ]
            .map(show);
            assert_eq!(mine, plain, "{body}");
            mine.is_ok()
        };
        assert!(read(BODY) && read(BODY));
        assert_eq!(known.tools.size().0, 3);
        let mut state = 1_u64;
        let mut chance = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut fine = 0;
        for _ in 0..30_000 {
            let mut body = BODY.as_bytes().to_vec();
            for _ in 0..=chance(2) {
                let at = chance(body.len());
                match chance(3) {
                    0 => drop(body.remove(at)),
                    1 => body.insert(at, b"{}[]\",: \\ae1"[chance(12)]),
                    _ => body[at] = b"{}[]\",: \\ae1"[chance(12)],
                }
            }
            fine += usize::from(std::str::from_utf8(&body).is_ok_and(read));
        }
        assert!(fine > 1_000, "only {fine} could be read");
        let deep = |levels: usize| {
            BODY.replace("[1e400, -0]", &("[".repeat(levels) + &"]".repeat(levels)))
        };
        [90, 98, 120, 130, 200_000].into_iter().for_each(|levels| {
            read(&deep(levels));
        });
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let known = KnownTools::default();
        for list in 0..10_000 {
            let description = "d".repeat(if list % 500 == 0 {
                KNOWN_TOOLS_BYTES
            } else {
                list % 900
            });
            let tool = json!({"type": "function", "function": {"name": format!("a{list}"), "description": description}});
            known
                .request(&json!({"messages": [], "tools": [tool]}).to_string(), "{}")
                .unwrap();
            assert!(known.tools.size().1 <= KNOWN_TOOLS_BYTES);
        }
    }

    #[test]
    fn what_is_used_again_is_not_forgotten() {
        let known = KnownTools::default();
        let tool = |name: String| json!({"type": "function", "function": {"name": name, "description": "d".repeat(1_000)}});
        let read = |tools: &[Value]| {
            known
                .request(&json!({"messages": [], "tools": tools}).to_string(), "{}")
                .unwrap()
        };
        let always: Vec<Value> = (0..200)
            .map(|index| tool(format!("always_{index}")))
            .collect();
        let first = read(&always);
        for list in 0..200 {
            read(
                &(0..100)
                    .map(|index| tool(format!("other_{list}_{index}")))
                    .collect::<Vec<_>>(),
            );
            let again = read(&always);
            let mut both = first.tools.iter().zip(&again.tools);
            assert!(
                both.all(|(one, other)| Arc::ptr_eq(&one.parameters, &other.parameters)),
                "{list}"
            );
        }
    }
}
