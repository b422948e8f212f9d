//! Makes the format of a request from how the model writes.

use std::sync::Arc;

use super::host::tell;
use super::late::Want;
use super::{Format, FormatSpec, Opening, harmony, learnt, rules};
use chatparse_learn::Writing;
use chatparse_message::{OutputOptions, Tool};
use serde_json::json;

/// The format of the output of a model that writes like this, for one request.
pub fn lower(writing: &Writing, spec: &FormatSpec, want: Want) -> Format {
    let mut format = match writing.harmony {
        Some(dialect) => harmony::build(&writing.tolerances, spec, want, dialect),
        None => learnt::build(writing, spec, want),
    };
    if let Some(host) = writing.host {
        tell(host, spec, &mut format);
    }
    format
}

/// The names of the rules that read something in outputs of a model that writes like this, with
/// tools of all kinds of arguments.
pub fn applied_rules(writing: &Writing) -> Vec<&'static str> {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": ["boolean", "null"]}, "d": {},
        "e": {"type": "array", "items": {"type": "string"}},
        "f": {"type": "object", "required": ["g"], "properties": {"g": {"type": "string"}, "h": {"type": "number"}}},
    }});
    let tools = [
        Tool::new("f", "", schema),
        Tool::new("g.h", "", json!({"type": "object"})),
    ];
    let (options, opening) = (OutputOptions::default(), Opening::of(&writing.turn.opening));
    let spec = FormatSpec {
        options: &options,
        opening: &opening,
        offered: &tools,
    };
    let all = lower(writing, &spec, Want::Whole).output;
    let mut names: Vec<&str> = rules::all().map(|(_, name)| name).collect();
    names.retain(|name| lower(&writing.without(name), &spec, Want::Whole).output != all);
    names
}

/// A request's writing, options, opening and tools: all that its format is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// How the model writes.
    pub writing: Arc<Writing>,
    /// How outputs are read and constrained.
    pub options: OutputOptions,
    /// Where the prompt leaves the message.
    pub opening: Opening,
    /// The tools that are offered.
    pub tools: Vec<Tool>,
}

impl Resolved {
    /// Copies what `spec` refers to.
    pub fn new(writing: &Arc<Writing>, spec: &FormatSpec) -> Resolved {
        Resolved {
            writing: Arc::clone(writing),
            options: spec.options.clone(),
            opening: spec.opening.clone(),
            tools: spec.offered.to_vec(),
        }
    }

    /// What the writing is lowered for.
    pub fn spec(&self) -> FormatSpec<'_> {
        FormatSpec {
            options: &self.options,
            opening: &self.opening,
            offered: &self.tools,
        }
    }

    /// Whether its format is also that of `spec`, whatever the tools.
    pub fn serves(&self, writing: &Arc<Writing>, spec: &FormatSpec) -> bool {
        let same_writing = Arc::ptr_eq(&self.writing, writing) || self.writing == *writing;
        same_writing && self.options == *spec.options && self.opening == *spec.opening
    }
}
