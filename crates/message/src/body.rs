//! The text of a chat-completions body: an object in which no name occurs twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use chatparse_base::Error;

/// A body, if no name occurs twice.
pub struct Body(pub chatparse_base::Result<Value>);

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Body;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a request")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Body, A::Error> {
                let (mut fields, mut twice) = (Map::new(), None);
                while let Some((name, value)) = given.next_entry::<String, Value>()? {
                    if fields.contains_key(&name) {
                        twice = Some(name.clone());
                    }
                    fields.insert(name, value);
                }
                Ok(Body(match twice {
                    Some(name) => Err(Error::invalid(format!(
                        "{name}: occurs in the request more than once"
                    ))),
                    None => Ok(Value::Object(fields)),
                }))
            }
        }

        from.deserialize_map(Fields)
    }
}
