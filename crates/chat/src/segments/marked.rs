//! Which text of a conversation is which text of the request: what prepares a request for its
//! template moves and joins texts, and does the same to texts with marks.

use std::ops::Range;

use serde_json::Value;

use chatparse_message::{Message, Request, THINKING};

/// The first letter of marks. Value `n` begins with the letter `2 n` and ends with `2 n + 1`.
const FIRST: u32 = 0xf_0000;

/// The number of values that can be marked.
const VALUES: usize = 32_000;

/// The value of a request that a mark is of.
pub(super) struct Marked {
    /// The index of the message.
    pub message: usize,
    /// A JSON pointer into the message.
    pub path: String,
    /// The call that it names.
    pub call: Option<usize>,
}

/// The parts of a text that have marks, in order, each with the number of its value.
pub(super) type Places = Vec<(Range<usize>, usize)>;

/// The request with marks in the texts of messages and the names of calls; `None` if it has
/// letters of marks, or more values than there are.
pub(super) fn mark(request: &Request) -> Option<(Request, Vec<Marked>)> {
    let (mut marked, mut values) = (request.clone(), Vec::new());
    for (index, message) in marked.messages.iter_mut().enumerate() {
        for (path, call, text) in texts(message) {
            if text.chars().any(|c| number_of(c).is_some()) || values.len() >= VALUES {
                return None;
            }
            let inner = text.trim();
            if inner.is_empty() {
                continue;
            }
            let start = inner.as_ptr() as usize - text.as_ptr() as usize;
            let end = start + inner.len();
            let [opening, closing] = [0, 1].map(|end| letter(2 * values.len() + end));
            text.insert(end, closing);
            text.insert(start, opening);
            values.push(Marked {
                message: index,
                path,
                call,
            });
        }
    }
    Some((marked, values))
}

fn letter(number: usize) -> char {
    char::from_u32(FIRST + number as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn number_of(c: char) -> Option<usize> {
    let number = (c as u32).checked_sub(FIRST)? as usize;
    (number < 2 * VALUES).then_some(number)
}

/// The texts of a message, with their paths, and the names of its calls.
fn texts(message: &mut Message) -> Vec<(String, Option<usize>, &mut String)> {
    let mut all = vec![
        (
            "/reasoning_content".to_owned(),
            None,
            &mut message.reasoning_content,
        ),
        ("/content".to_owned(), None, &mut message.content),
        ("/name".to_owned(), None, &mut message.name),
    ];
    for (at, part) in message.parts.iter_mut().enumerate() {
        let name = if part.kind == THINKING {
            THINKING
        } else {
            "text"
        };
        all.push((format!("/content/{at}/{name}"), None, &mut part.text));
    }
    for (at, call) in message.tool_calls.iter_mut().enumerate() {
        let path = format!("/tool_calls/{at}/function/name");
        all.push((path, Some(at), &mut call.name));
    }
    all
}

/// A text without its marks, and their places. A text that was cut has the rest of its value.
pub(super) fn read(marked: &str) -> (String, Places) {
    let (mut text, mut places) = (String::with_capacity(marked.len()), Places::new());
    let mut open: Vec<(usize, usize)> = Vec::new();
    for c in marked.chars() {
        let Some(number) = number_of(c) else {
            text.push(c);
            continue;
        };
        match (number % 2, open.last()) {
            (0, _) => open.push((number / 2, text.len())),
            (_, Some(&(value, start))) if value == number / 2 => {
                places.push((start..text.len(), value));
                open.pop();
            }
            _ => places.push((0..text.len(), number / 2)),
        }
    }
    for (value, start) in open {
        places.push((start..text.len(), value));
    }
    (text, places)
}

/// JSON without the marks in its texts.
pub(super) fn without_marks(json: &Value) -> Value {
    match json {
        Value::String(text) => read(text).0.into(),
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| (name.clone(), without_marks(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_the_parts_of_texts_that_were_joined_or_cut() {
        let body = json!({"messages": [
            {"role": "system", "content": " Be brief. "},
            {"role": "user", "content": "Hi"},
        ]});
        let (marked, values) = mark(&Request::from_json(&body).unwrap()).unwrap();
        let [first, second] = [0, 1].map(|index| &*marked.messages[index].content);
        let (text, places) = read(&format!("{first}\n{second}"));
        assert_eq!(
            (&*text, places),
            (" Be brief. \nHi", vec![(1..10, 0), (12..14, 1)])
        );
        let cut = second.find('i').unwrap();
        assert_eq!(read(&second[..cut]), ("H".to_owned(), vec![(0..1, 1)]));
        assert_eq!(read(&second[cut..]), ("i".to_owned(), vec![(0..1, 1)]));
        assert_eq!((values[1].message, &*values[1].path), (1, "/content"));
        assert!(mark(&marked).is_none());
    }
}
