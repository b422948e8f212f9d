//! Parses the text of a chat-completions body directly to messages. Messages of texts only, the most common kind, are not
//! converted to JSON first.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::Message;
use super::fields::Fields;
use super::read::message;
use chatparse_base::Result;
use chatparse_base::limits::CALL_ID_BYTES;

/// A body, with its messages separated from the other fields.
pub(super) struct Body {
    /// An object.
    pub rest: Value,
    /// `None` if the body has none.
    pub messages: Option<Vec<Given>>,
    /// A name that several fields have.
    pub twice: Option<String>,
}

/// One message of a body, which is an object.
pub(super) enum Given {
    /// Its fields in order, with distinct names that are in [`TEXTS`]; `role` and `content` are among them.
    Texts(Texts),
    Any(Value),
}

type Texts = SmallVec<[(&'static str, String); 2]>;

/// The fields with the same value in a [`Message`] as in JSON.
const TEXTS: [&str; 5] = ["role", "content", "reasoning_content", "name", "tool_call_id"];

impl Given {
    /// Converts the message, which errors name `messages[index]` of `body`.
    pub fn message(self, body: &Fields, index: usize) -> Result<Message> {
        let texts = match self {
            Given::Texts(texts) => texts,
            Given::Any(any) => return message(&body.item("messages", index, &any)?),
        };
        let mut message = Message::default();
        for (name, text) in texts {
            match name {
                "role" => message.role = text,
                "content" => message.content = text,
                "reasoning_content" => message.reasoning_content = text,
                "name" => message.name = text,
                _ => message.tool_call_id = text,
            }
        }
        Ok(message)
    }

    pub fn into_json(self) -> Value {
        match self {
            Given::Texts(texts) => Value::Object(json(texts)),
            Given::Any(any) => any,
        }
    }
}

fn json(texts: Texts) -> Map<String, Value> {
    texts.into_iter().map(|(name, text)| (name.to_owned(), Value::String(text))).collect()
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Given;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Given, A::Error> {
                let mut texts = Texts::new();
                let mut any: Option<Map<String, Value>> = None;
                while let Some(Name(name)) = fields.next_key()? {
                    match (&mut any, name, fields.next_value()?) {
                        (None, Cow::Borrowed(name), Value::String(text)) => {
                            match texts.iter_mut().find(|(known, _)| *known == name) {
                                Some((_, known)) => *known = text,
                                None => texts.push((name, text)),
                            }
                        }
                        (any, name, value) => {
                            let any = any.get_or_insert_with(|| json(std::mem::take(&mut texts)));
                            any.insert(name.into_owned(), value);
                        }
                    }
                }
                let has = |name: &str| texts.iter().any(|(known, _)| *known == name);
                // The error for a long id names its place.
                let long = |(name, text): &(&str, String)| *name == "tool_call_id" && text.len() > CALL_ID_BYTES;
                Ok(match any {
                    None if has("role") && has("content") && !texts.iter().any(long) => Given::Texts(texts),
                    any => Given::Any(Value::Object(any.unwrap_or_else(|| json(texts)))),
                })
            }
        }

        from.deserialize_map(Fields)
    }
}

/// The name of a message's field; borrowed from [`TEXTS`] if it is one of them.
struct Name(Cow<'static, str>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                let known = TEXTS.into_iter().find(|known| *known == name);
                Ok(Name(known.map_or_else(|| Cow::Owned(name.to_owned()), Cow::Borrowed)))
            }
        }

        from.deserialize_str(Text)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Body;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a request")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Body, A::Error> {
                let (mut rest, mut messages, mut twice) = (Map::new(), None, None);
                while let Some(name) = fields.next_key::<String>()? {
                    if rest.contains_key(&name) || name == "messages" && messages.is_some() {
                        twice = Some(name.clone());
                    }
                    if name == "messages" {
                        messages = Some(fields.next_value()?);
                    } else {
                        rest.insert(name, fields.next_value()?);
                    }
                }
                Ok(Body { rest: Value::Object(rest), messages, twice })
            }
        }

        from.deserialize_map(Fields)
    }
}
