//! Adds labels to the values of a request.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Origin;
use super::change::{Change, NO_SPACE, changed};
use super::json_text::{Token, json_texts, outer_space};
use super::words::{is_keyword, is_type, is_word, names_members};
use chatparse_base::{number, pointer};
use chatparse_jinja::{Labels, VALUES};
use chatparse_message::{Message, PlainConversation, Request, THINKING, Tool};

/// A value of a request that can be labelled.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Several for an id that occurs at more than one place, in the order of the request.
    pub origins: Vec<Origin>,
    /// The text in the request, or a scalar as JSON.
    pub text: String,
    /// Other texts with the same label.
    pub others: Vec<String>,
    pub kind: Kind,
    /// Templates treat the values of one group alike.
    pub group: String,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// A name, a key or an id, which templates may compare.
    Word,
    /// A number, a boolean or null.
    Scalar,
}

/// How a value is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Way {
    /// Not at all.
    Leave,
    /// It gets a label.
    #[default]
    Label,
    /// The values inside its JSON text get a label.
    Inside,
    /// It is replaced by a unique word of the same form.
    StandIn,
}

/// Labels requests, always the same values in the same order.
pub(super) struct Marking<'m> {
    labels: Labels,
    ways: &'m [Way],
    with: With<'m>,
    pub values: Vec<Known>,
    shared: HashMap<(String, String), usize>,
}

/// How texts are treated in addition.
#[derive(Clone, Debug, Default)]
pub(super) struct With<'w> {
    /// Outer white space is removed.
    pub trim: bool,
    /// Equal texts of messages have one label, because some templates compare messages.
    pub share: bool,
    /// Texts get other characters.
    pub change: Change<'w>,
}

/// The meaning of the values of a list or map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Fields with names that templates use.
    Fields,
    /// Arguments: names and scalars are the caller's.
    Arguments,
    /// A tool: the names in a schema are the caller's.
    Schema,
}

/// The place of a value.
#[derive(Clone, Copy)]
struct ValuePlace<'p> {
    owner: Owner<'p>,
    /// A JSON pointer to the value from its owner.
    path: &'p str,
    /// The names on this path, without indices and the caller's names.
    group: &'p str,
    form: Form,
    /// The key of the value, or of the list that contains it.
    key: &'p str,
}

#[derive(Clone, Copy)]
enum Owner<'p> {
    Message(usize),
    Tool(usize),
    Kwarg(&'p str),
}

impl<'p> ValuePlace<'p> {
    fn field(owner: Owner<'p>, path: &'p str, group: &'p str) -> Self {
        ValuePlace {
            owner,
            path,
            group,
            form: Form::Fields,
            key: "",
        }
    }

    fn origin(self) -> Origin {
        match self.owner {
            Owner::Message(index) => Origin::Message {
                index,
                path: self.path.to_owned(),
            },
            Owner::Tool(index) => Origin::Tool(index),
            Owner::Kwarg(name) => Origin::Kwarg(name.to_owned()),
        }
    }
}

impl Known {
    /// The first of its origins.
    pub fn origin(&self) -> &Origin {
        &self.origins[0]
    }

    /// All texts with its label.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.text)
            .chain(&self.others)
            .map(String::as_str)
    }
}

impl<'m> Marking<'m> {
    /// `ways`: how each value is changed; further values get labels.
    pub fn new(labels: Labels, ways: &'m [Way], with: With<'m>) -> Self {
        Marking {
            labels,
            ways,
            with,
            values: Vec::new(),
            shared: HashMap::new(),
        }
    }

    /// The labelled request.
    pub fn request(&mut self, request: &Request) -> Request {
        let mut marked = request.clone();
        for (index, message) in marked.messages.iter_mut().enumerate() {
            *message = self.message(index, message);
        }
        for (index, tool) in marked.tools.iter_mut().enumerate() {
            *tool = self.tool(index, tool);
        }
        marked.plain = request.plain.as_ref().map(|given| PlainConversation {
            messages: self.each(&given.messages, |index| {
                ValuePlace::field(Owner::Message(index), "", "message")
            }),
            tools: self.each(&given.tools, |index| ValuePlace {
                form: Form::Schema,
                ..ValuePlace::field(Owner::Tool(index), "", "tool")
            }),
            documents: Arc::new(self.json(
                &given.documents,
                ValuePlace::field(Owner::Kwarg("documents"), "", "documents"),
            )),
        });
        for (name, value) in &mut marked.template_kwargs {
            *value = self.json(value, ValuePlace::field(Owner::Kwarg(name), "", name));
        }
        marked
    }

    fn each<'p>(&mut self, list: &Value, place: impl Fn(usize) -> ValuePlace<'p>) -> Arc<Value> {
        let mut marked = list.clone();
        for (index, item) in marked.as_array_mut().into_iter().flatten().enumerate() {
            *item = self.json(item, place(index));
        }
        Arc::new(marked)
    }

    fn message(&mut self, index: usize, message: &Message) -> Message {
        let mut marked = message.clone();
        let of = (index, &*message.role);
        if !is_word(&message.role) {
            self.field(&mut marked.role, of, "/role", "/role", Kind::Text);
        }
        let path = "/reasoning_content";
        self.field(&mut marked.reasoning_content, of, path, path, Kind::Text);
        let path = "/content";
        self.field(&mut marked.content, of, path, path, Kind::Text);
        for (at, part) in marked.parts.iter_mut().enumerate() {
            let (name, group) = if part.kind == THINKING {
                (THINKING, "/reasoning_content")
            } else {
                ("text", "/content")
            };
            let path = format!("/content/{at}/{name}");
            self.field(&mut part.text, of, &path, group, Kind::Text);
        }
        self.field(&mut marked.name, of, "/name", "/name", Kind::Word);
        let id = &mut marked.tool_call_id;
        self.field(id, of, "/tool_call_id", "/id", Kind::Word);
        for (at, call) in marked.tool_calls.iter_mut().enumerate() {
            let path = format!("/tool_calls/{at}/id");
            self.field(&mut call.id, of, &path, "/id", Kind::Word);
            let path = format!("/tool_calls/{at}/function/name");
            self.field(&mut call.name, of, &path, "/call", Kind::Word);
        }
        for (at, part) in marked.parts.iter_mut().enumerate() {
            if let Some(source) = &mut part.source {
                let path = format!("/content/{at}");
                let place = ValuePlace::field(Owner::Message(index), &path, "media");
                *source = Arc::new(self.json(source, place));
            }
        }
        for (at, call) in marked.tool_calls.iter_mut().enumerate() {
            let path = format!("/tool_calls/{at}/function/arguments");
            let place = ValuePlace {
                form: Form::Arguments,
                ..ValuePlace::field(Owner::Message(index), &path, "arguments")
            };
            call.arguments = self.json_text(&call.arguments, place);
        }
        let place = ValuePlace::field(Owner::Message(index), "", "more");
        marked.more = self.members(&message.more, place);
        marked
    }

    /// Marks a text of the message with this index and role.
    fn field(
        &mut self,
        text: &mut String,
        (index, role): (usize, &str),
        path: &str,
        group: &str,
        kind: Kind,
    ) {
        let group = format!("{role}{group}");
        let place = ValuePlace::field(Owner::Message(index), path, &group);
        *text = self.text(text, place, kind);
    }

    fn tool(&mut self, index: usize, tool: &Tool) -> Tool {
        let place = ValuePlace {
            form: Form::Schema,
            ..ValuePlace::field(Owner::Tool(index), "", "tool")
        };
        let name = self.text(&tool.name, place, Kind::Word);
        let description = self.text(&tool.description, place, Kind::Text);
        let mut marked = Tool::new(name, description, self.json(&tool.parameters, place));
        marked.deferred = tool.deferred;
        marked.more = tool.more.clone();
        for (_, value) in &mut marked.more {
            *value = self.json(value, place);
        }
        marked
    }

    /// The number of a value, and how it is changed. Values that a template may compare share a
    /// number: those of a tool, equal ids, and equal texts if requested.
    fn number(&mut self, text: &str, place: ValuePlace, kind: Kind) -> (usize, Way) {
        let shared = match place.owner {
            Owner::Tool(index) => Some((format!("{index} {kind:?}"), String::new())),
            Owner::Message(_)
                if place.group.ends_with("/id") || self.with.share && kind == Kind::Text =>
            {
                Some((String::new(), text.to_owned()))
            }
            _ => None,
        };
        let next = self.values.len();
        let number = shared.map_or(next, |shared| *self.shared.entry(shared).or_insert(next));
        if number == next {
            let group = format!("{} {kind:?}", place.group);
            let origins = vec![place.origin()];
            self.values.push(Known {
                origins,
                text: text.to_owned(),
                others: Vec::new(),
                kind,
                group,
            });
        } else {
            let known = &mut self.values[number];
            if known.text != text {
                known.others.push(text.to_owned());
            }
            let origin = place.origin();
            if known.origins.last() != Some(&origin) {
                known.origins.push(origin);
            }
        }
        let way = if number < VALUES {
            self.ways.get(number).copied().unwrap_or_default()
        } else {
            Way::Leave
        };
        (number, way)
    }

    fn text(&mut self, text: &str, place: ValuePlace, kind: Kind) -> String {
        let inner = text.trim();
        if inner.is_empty() {
            return text.to_owned();
        }
        let (number, way) = self.number(text, place, kind);
        let marked = match way {
            Way::StandIn => return stand_in(text, number).unwrap_or_else(|| text.to_owned()),
            Way::Inside => return self.inside(text, number).unwrap_or_else(|| text.to_owned()),
            Way::Leave => self.changed(inner, number, false, false),
            Way::Label => self
                .labels
                .around(&self.changed(inner, number, false, true), number)
                .into(),
        };
        let start = text.len() - text.trim_start().len();
        let (before, after) = if self.with.trim {
            ("", "")
        } else {
            (&text[..start], &text[start + inner.len()..])
        };
        format!("{before}{marked}{after}")
    }

    /// The text as this render is to show it. `labelled`: what is kept of a changed text gets a
    /// label; without labels nothing is kept.
    fn changed<'t>(
        &self,
        text: &'t str,
        number: usize,
        json: bool,
        labelled: bool,
    ) -> Cow<'t, str> {
        let change = &self.with.change;
        if change.values.get(number) != Some(&true) {
            return text.into();
        }
        let kept = change.kept.filter(|_| labelled);
        if change.spaces {
            return text.replace(' ', NO_SPACE.encode_utf8(&mut [0])).into();
        }
        let mut other = changed(text, kept, json, &|kept| self.labelled(kept, number));
        if !labelled && change.again.binary_search(&number).is_ok() {
            other = changed(&other, None, json, &|kept| self.labelled(kept, number));
        }
        other.into()
    }

    /// A text that is kept, with as many labels as the change asks for.
    fn labelled(&self, kept: &str, number: usize) -> String {
        let mut text = kept.to_owned();
        for _ in 0..self.with.change.labels {
            text = self.labels.around(&text, number);
        }
        text
    }

    /// JSON with labels of one number around its values.
    fn inside(&self, text: &str, number: usize) -> Option<String> {
        is_container(text).then(|| json_texts(text, &mut |token, _| self.token(token, number)))
    }

    fn token(&self, token: Token, number: usize) -> String {
        match token {
            Token::Text(text) => {
                let (before, inner, after) = outer_space(text);
                if inner.is_empty() {
                    return text.to_owned();
                }
                let (before, after) = if self.with.trim {
                    ("", "")
                } else {
                    (before, after)
                };
                let changed = self.changed(inner, number, true, true);
                format!("{before}{}{after}", self.labels.around(&changed, number))
            }
            Token::Scalar(json) => format!("\"{}\"", self.labels.scalar(json, number)),
        }
    }

    /// Arguments as JSON text: each key, text and scalar has a label.
    fn json_text(&mut self, text: &str, place: ValuePlace) -> String {
        if !is_container(text) {
            return self.text(text, place, Kind::Text);
        }
        json_texts(text, &mut |token, pointer| {
            let path = &format!("{}{pointer}", place.path);
            let place = ValuePlace { path, ..place };
            let (shown, kind) = match token {
                Token::Text(text) => (text, Kind::Text),
                Token::Scalar(json) => (json, Kind::Scalar),
            };
            if shown.is_empty() {
                return shown.to_owned();
            }
            match self.number(shown, place, kind) {
                (number, Way::Label) => self.token(token, number),
                (number, _) if kind == Kind::Text => {
                    self.changed(shown, number, true, false).into_owned()
                }
                _ => shown.to_owned(),
            }
        })
    }

    fn json(&mut self, json: &Value, place: ValuePlace) -> Value {
        match json {
            Value::String(text) if place.key == "arguments" => {
                let place = ValuePlace {
                    form: Form::Arguments,
                    group: "arguments",
                    ..place
                };
                self.json_text(text, place).into()
            }
            Value::String(text) => {
                if matches!(place.key, "type" | "role")
                    && (is_type(text) || place.form == Form::Fields && is_word(text))
                {
                    return json.clone();
                }
                let is_name = matches!(place.key, "name" | "required" | "id" | "tool_call_id");
                let is_kwarg = matches!(place.owner, Owner::Kwarg(_)) && is_word(text);
                let kind = if is_name && place.form != Form::Arguments || is_kwarg {
                    Kind::Word
                } else {
                    Kind::Text
                };
                let group = if matches!(place.key, "id" | "tool_call_id") {
                    "/id"
                } else {
                    place.group
                };
                self.text(text, ValuePlace { group, ..place }, kind).into()
            }
            Value::Array(items) => {
                let mut marked = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let path = &format!("{}/{index}", place.path);
                    marked.push(self.json(item, ValuePlace { path, ..place }));
                }
                marked.into()
            }
            Value::Object(members) if number::long(json).is_none() => {
                Value::Object(self.members(members, place))
            }
            scalar if place.form == Form::Fields => scalar.clone(),
            scalar => {
                let text = number::write(scalar);
                match self.number(&text, place, Kind::Scalar) {
                    (number, Way::Label) => self.labels.scalar(&text, number).into(),
                    _ => scalar.clone(),
                }
            }
        }
    }

    fn members(&mut self, members: &Map<String, Value>, place: ValuePlace) -> Map<String, Value> {
        let mut marked = Map::new();
        for (key, value) in members {
            let is_known = match place.form {
                Form::Fields => is_word(key),
                Form::Arguments => false,
                Form::Schema => is_keyword(key) && !names_members(place.key),
            };
            let path = format!("{}/{}", place.path, pointer::escaped(key));
            let group = if is_known {
                format!("{}/{key}", place.group)
            } else {
                place.group.to_owned()
            };
            let form = if key == "arguments" && place.form == Form::Fields {
                Form::Arguments
            } else {
                place.form
            };
            let key_at = if names_members(place.key) {
                ""
            } else {
                key.as_str()
            };
            let place = ValuePlace {
                path: &path,
                group: &group,
                key: key_at,
                form,
                ..place
            };
            let name = if is_known {
                key.clone()
            } else {
                self.text(key, place, Kind::Word)
            };
            marked.insert(name, self.json(value, place));
        }
        marked
    }
}

/// Whether the text is JSON with values in it.
pub(super) fn is_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && number::read::<Value>(text).is_ok()
}

/// A word of the same form that contains `number`; `None` for a short text, whose replacement might
/// occur by chance.
pub(super) fn stand_in(text: &str, number: usize) -> Option<String> {
    if !is_word(text) || text.len() < 6 {
        return None;
    }
    let seed = text.bytes().fold(number as u64 + 1, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(byte.into())
    });
    let mut state = (seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = String::new();
    for c in text.chars() {
        let (first, count) = match c {
            '0'..='9' => (b'0', 10),
            'a'..='z' => (b'a', 26),
            'A'..='Z' => (b'A', 26),
            _ => {
                word.push(c);
                continue;
            }
        };
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.push(char::from(first + (state >> 32) as u8 % count));
    }
    (word != text).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_have_the_form_of_their_word() {
        let word = stand_in("call_a1B2c", 3).unwrap();
        assert_eq!(word.len(), 10);
        assert!(
            word.as_bytes()[4] == b'_'
                && word.as_bytes()[6].is_ascii_digit()
                && word != "call_a1B2c"
        );
        assert_eq!(stand_in("get", 3), None);
    }
}
