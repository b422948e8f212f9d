//! The values that a render is given: a conversation's, each with its origin where the render is
//! traced.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::budget;
use crate::memo::{Memo, Part, ToolMemo};
use crate::probe::trace::{Trace, WATCHED};
use crate::text::{From, TEMPLATE, Text};
use crate::value::{Dict, Late, Pairs, Value};
use chatparse_base::number;
use chatparse_message::Tool;

/// The values of a traced render, by their numbers from 1 on. An untraced one numbers nothing.
#[derive(Debug, Default)]
pub struct Sources {
    pub is_traced: bool,
    /// A pointer to each value, and whether it is the name of a member.
    pub paths: Vec<(String, bool)>,
}

impl Sources {
    fn number(&mut self, path: &str, is_key: bool) -> From {
        if !self.is_traced {
            return TEMPLATE;
        }
        self.paths.push((path.to_owned(), is_key));
        self.paths.len() as From
    }
}

/// What a render is given: the values by the numbers of their names, and their sources.
pub type Variables = (Vec<Option<Value>>, Sources);

/// Converts JSON to values.
#[derive(Default)]
pub struct Given {
    pub sources: Sources,
    /// Where the value is.
    path: String,
}

impl Given {
    /// A variable of this name.
    pub fn variable(&mut self, name: &str, json: &Json, trace: &Trace) -> Value {
        self.path.clear();
        self.step(name);
        self.value(json, &trace.child(name))
    }

    /// A variable that is a list, by its items.
    pub fn list<T>(
        &mut self,
        name: &str,
        items: impl Iterator<Item = T>,
        one: impl Fn(&mut Given, T) -> Value,
    ) -> Value {
        self.path.clear();
        self.step(name);
        let length = self.path.len();
        let mut all = Vec::with_capacity(items.size_hint().0);
        for (index, item) in items.enumerate() {
            self.step(index);
            all.push(one(self, item));
            self.path.truncate(length);
        }
        Value::list(all)
    }

    /// A map of texts.
    pub fn texts(&mut self, texts: &[(&'static str, Text)]) -> Value {
        let length = self.path.len();
        let mut pairs = Pairs::with_capacity(texts.len());
        for (name, text) in texts {
            self.step(name);
            let key = self.text(name, true);
            let value = match self.sources.is_traced {
                true => self.text(text, false),
                false => text.clone(),
            };
            pairs.push((Value::Text(key), Value::Text(value)));
            self.path.truncate(length);
        }
        Value::dict_of_given(pairs, Trace::default())
    }

    fn step(&mut self, step: impl std::fmt::Display) {
        if self.sources.is_traced {
            let _ = write!(self.path, "/{step}");
        }
    }

    fn text(&mut self, text: &str, is_key: bool) -> Text {
        Text::of(text, self.sources.number(&self.path, is_key))
    }

    /// Any value. Integers stay integers; those of more than 128 bits become floats, although
    /// Python's are unbounded.
    pub fn value(&mut self, json: &Json, trace: &Trace) -> Value {
        match json {
            Json::Null => Value::None(self.sources.number(&self.path, false)),
            Json::Bool(value) => Value::Bool(*value, self.sources.number(&self.path, false)),
            Json::String(text) if trace.watches_text() => Value::Text(Text::of(text, WATCHED)),
            Json::String(text) => Value::Text(self.text(text, false)),
            json if number::is(json) => {
                let from = self.sources.number(&self.path, false);
                if let Some(number) = json.as_i64() {
                    return Value::Int(number.into(), from);
                }
                let text = number::of(json).unwrap_or_default();
                match text.parse() {
                    Ok(number) => Value::Int(number, from),
                    Err(_) => Value::Float(text.parse().unwrap_or_default(), from),
                }
            }
            Json::Number(_) => Value::Undefined,
            Json::Array(items) => {
                let length = self.path.len();
                let mut all = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.step(index);
                    all.push(self.value(item, &trace.item(index)));
                    self.path.truncate(length);
                }
                Value::list_of_given(all, trace.clone())
            }
            Json::Object(members) => {
                let length = self.path.len();
                let mut pairs = Pairs::with_capacity(members.len());
                for (key, item) in members {
                    self.step(key);
                    let name = Value::Text(self.text(key, true));
                    pairs.push((name, self.value(item, &trace.child(key))));
                    self.path.truncate(length);
                }
                Value::dict_of_given(pairs, trace.clone())
            }
        }
    }
}

/// A map in a tool of the request, which becomes values once somebody reads it, and the memory of
/// the tool. Most templates only print a tool's schema.
pub struct Known {
    source: Source,
    memo: Arc<ToolMemo>,
    part: Part,
}

enum Source {
    Json(Arc<Json>),
    Function(Arc<[Tool]>, usize),
    Tool(Arc<[Tool]>, usize),
}

impl Known {
    /// The tool at `index`, as [`Tool::to_json`] has it.
    pub fn tool(tools: &Arc<[Tool]>, index: usize, memo: &Memo) -> Value {
        let tool = &tools[index];
        if !tool.parameters.is_object() || number::is(&tool.parameters) {
            return Given::default().value(&tool.to_json(), &Trace::default());
        }
        Dict::unread(Known {
            source: Source::Tool(Arc::clone(tools), index),
            memo: memo.of(tool),
            part: Part::Tool,
        })
    }

    fn inner(&self, source: Source, part: Part) -> Value {
        Dict::unread(Known {
            source,
            memo: Arc::clone(&self.memo),
            part,
        })
    }
}

impl Late for Known {
    fn pairs(&self) -> Pairs {
        let mut given = Given::default();
        let pairs: Pairs = match &self.source {
            Source::Json(json) => {
                let members = json.as_object().into_iter().flatten();
                let pairs =
                    members.map(|(key, item)| (&**key, given.value(item, &Trace::default())));
                pairs.map(|(key, item)| (key.into(), item)).collect()
            }
            Source::Function(tools, index) => {
                let tool = &tools[*index];
                let parameters = Source::Json(Arc::clone(&tool.parameters));
                let mut pairs: Pairs = vec![
                    ("name".into(), (&*tool.name).into()),
                    ("description".into(), (&*tool.description).into()),
                    (
                        "parameters".into(),
                        self.inner(parameters, Part::Parameters),
                    ),
                ];
                for (name, value) in &tool.more {
                    pairs.push(((&**name).into(), given.value(value, &Trace::default())));
                }
                pairs
            }
            Source::Tool(tools, index) => {
                let function = Source::Function(Arc::clone(tools), *index);
                let mut pairs: Pairs = vec![
                    ("type".into(), "function".into()),
                    ("function".into(), self.inner(function, Part::Function)),
                ];
                if tools[*index].deferred {
                    pairs.push(("defer_loading".into(), true.into()));
                }
                pairs
            }
        };
        budget::container(2 * pairs.len());
        pairs
    }

    fn json(&self) -> Option<&Json> {
        match &self.source {
            Source::Json(json) => Some(json),
            _ => None,
        }
    }

    fn memo(&self) -> (&ToolMemo, Part) {
        (&self.memo, self.part)
    }
}
