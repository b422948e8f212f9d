//! A prototype of an engine of our own, whose texts know whose bytes they have.

#![allow(clippy::type_complexity, clippy::len_without_is_empty)]

pub mod calls;
pub mod eval;
pub mod json;
pub mod parse;
pub mod text;
pub mod value;

use std::fmt::Display;

use self::eval::Run;
use self::parse::Tree;
use self::text::{From, Piece, TEMPLATE, Text};
use self::value::Value;
use crate::{Conversation, Host, Template};

/// The values of a traced render, by their numbers; untraced, it numbers nothing.
#[derive(Debug, Default)]
pub struct Sources {
    pub is_traced: bool,
    /// A pointer to each value, and whether it is the name of a member.
    pub paths: Vec<(String, bool)>,
}

impl Sources {
    pub fn step(&self, path: &mut String, step: &dyn Display) {
        if self.is_traced {
            use std::fmt::Write;
            let _ = write!(path, "/{step}");
        }
    }

    pub fn number(&mut self, path: &str, is_key: bool) -> From {
        if !self.is_traced {
            return TEMPLATE;
        }
        self.paths.push((path.to_owned(), is_key));
        self.paths.len() as From
    }
}

/// A template, parsed.
pub struct Own(Tree);

/// A render.
pub struct Rendered {
    pub text: String,
    pub pieces: Vec<Piece>,
    pub sources: Sources,
}

impl Own {
    pub fn new(source: &str) -> Result<Own, String> {
        let tree = parse::parse(source).map_err(|(line, what)| format!("line {line}: {what}"))?;
        Ok(Own(tree))
    }

    pub fn render(
        &self,
        template: &Template,
        conversation: &Conversation,
        is_traced: bool,
    ) -> Result<Rendered, String> {
        let mut sources = Sources {
            is_traced,
            paths: Vec::new(),
        };
        let names = &self.0.names;
        let mut given: Vec<Option<Value>> = vec![None; names.len()];
        let mut set = |name: &str, make: &mut dyn FnMut() -> Value| {
            if let Some(number) = names.get(name) {
                given[*number as usize] = Some(make());
            }
        };
        let is_plain = conversation.host == Host::Transformers;
        let passes_none = is_plain || conversation.host == Host::Own && template.takes_none();
        if !is_plain {
            if let Some(serde_json::Value::Bool(keep)) =
                conversation.extra.get("preserve_reasoning")
            {
                for (name, value) in crate::request::context::preserve_reasoning(*keep) {
                    set(name, &mut || value.into());
                }
            }
            set("enable_thinking", &mut || {
                conversation.enable_thinking.into()
            });
        }
        let mut value = |name: &str, json: &serde_json::Value, sources: &mut Sources| {
            if names.contains_key(name) {
                let mut path = String::from("/") + name;
                let made = Value::of_json(json, &mut path, sources);
                set(name, &mut || made.clone());
            }
        };
        value("messages", &conversation.messages, &mut sources);
        match &conversation.tools {
            crate::Tools::Json(json) if !json.is_null() => value("tools", json, &mut sources),
            crate::Tools::Own(tools) if !tools.is_empty() => {
                let json = tools.iter().map(|tool| tool.to_json()).collect();
                value("tools", &json, &mut sources);
            }
            _ if passes_none => value("tools", &serde_json::Value::Null, &mut Sources::default()),
            _ => {}
        }
        if passes_none {
            value(
                "documents",
                &serde_json::Value::Null,
                &mut Sources::default(),
            );
        }
        if let (false, Some(effort)) = (is_plain, conversation.extra.get("reasoning_effort")) {
            for name in crate::request::context::EFFORT {
                value(name, effort, &mut sources);
            }
        }
        for (name, json) in &conversation.extra {
            value(name, json, &mut sources);
        }
        for (name, text) in [("bos_token", template.bos()), ("eos_token", template.eos())] {
            if !is_plain || !text.is_empty() {
                set(name, &mut || text.into());
            }
        }
        if conversation.host != Host::LlamaCpp || conversation.add_generation_prompt {
            set("add_generation_prompt", &mut || {
                conversation.add_generation_prompt.into()
            });
        }
        if let (Some(now), false) = (conversation.now, is_plain) {
            for (name, format) in [("datetime", "%b %d %Y"), ("date_string", "%d %b %Y")] {
                set(name, &mut || {
                    Value::Text(Text::from(crate::python::strftime::text(now, format)))
                });
            }
        }
        let mut run = Run::new(&self.0, given);
        run.now = conversation.now;
        run.sees_callers = !is_plain;
        run.escapes = is_plain;
        let result = run
            .run()
            .and_then(|()| run.meter.check().map_err(|error| error.to_string()));
        if let Err(error) = result {
            return Err(format!("line {}: {error}", run.line));
        }
        let (text, pieces) = std::mem::take(&mut run.out).parts();
        Ok(Rendered {
            text,
            pieces,
            sources,
        })
    }
}
