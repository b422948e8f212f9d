//! What a request makes of a template besides its prompt, kept for requests that want the same: agents send the same tools
//! again and again.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;

use crate::error::Result;
use crate::format::{Constraint, Format, Wanted};
use crate::grammar::Grammar;
use crate::limits::{PLANS, PLANS_BYTES};
use crate::message::{Continuation, Leniency, ReasoningFormat, Tool, ToolChoice};
use crate::parser::Parser;

/// A format, compiled.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The format, less its expressions, which the parser has.
    format: Format,
    pub parser: Parser,
    grammar: OnceLock<Arc<Grammar>>,
}

impl Deref for Plan {
    type Target = Format;

    fn deref(&self) -> &Format {
        &self.format
    }
}

impl Plan {
    /// Compiles `format`. `tools`: whose calls may also be read where the format has none.
    pub fn new(mut format: Format, wanted: &Wanted, tools: Vec<Tool>) -> Result<Plan> {
        let output = std::mem::take(&mut format.output);
        let parser = Parser::with_tools(output, wanted.prefill, tools, wanted.leniency)?;
        Ok(Plan { format, parser, grammar: OnceLock::new() })
    }

    /// The grammar of the format; empty where nothing constrains the output. Made by the first call.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.grammar.get_or_init(|| {
            Arc::new(match &self.format.constraint {
                Constraint::Free => Grammar::default(),
                constraint => self.parser.grammar(constraint.is_lazy()),
            })
        })
    }
}

/// A template's last plans, the latest one first. Shared by threads.
#[derive(Default)]
pub(crate) struct Plans(Mutex<VecDeque<Kept>>);

struct Kept {
    key: Key,
    plan: Arc<Plan>,
    /// What both take, less the grammar.
    bytes: usize,
}

impl Kept {
    fn new(key: Key, plan: Arc<Plan>) -> Kept {
        let bytes = key.bytes() + plan.parser.bytes();
        Kept { key, plan, bytes }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.plan.grammar.get().map_or(0, |grammar| grammar.text.len())
    }
}

impl Plans {
    /// The plan that serves `wanted`; `make` says which format that is, where it is not there yet.
    pub fn get_or_make(&self, wanted: &Wanted, make: impl FnOnce() -> Result<Format>) -> Result<Arc<Plan>> {
        if let Some(plan) = self.get(wanted) {
            return Ok(plan);
        }
        let plan = Arc::new(Plan::new(make()?, wanted, wanted.tools().to_vec())?);
        // What a message has so far hardly comes twice.
        if wanted.prefill == wanted.opening {
            self.keep(Kept::new(Key::of(wanted), plan.clone()));
        }
        Ok(plan)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, wanted: &Wanted) -> Option<Arc<Plan>> {
        let mut kept = self.kept();
        let at = kept.iter().position(|one| one.key.is(wanted))?;
        let found = kept.remove(at)?;
        let plan = found.plan.clone();
        kept.push_front(found);
        Some(plan)
    }

    /// Keeps it, and lets the oldest ones go that are too many or too large.
    fn keep(&self, new: Kept) {
        let mut kept = self.kept();
        kept.push_front(new);
        let mut bytes = 0;
        let fitting = kept.iter().take(PLANS).take_while(|one| {
            bytes += one.bytes();
            bytes <= PLANS_BYTES
        });
        let fitting = fitting.count();
        kept.truncate(fitting);
    }
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} plans", self.kept().len())
    }
}

/// All that a [`Wanted`] says. Both functions that read one name each of its fields: no new one can be forgotten.
struct Key {
    opening: String,
    prefill: String,
    continuation: Continuation,
    offered: Vec<Tool>,
    tool_choice: ToolChoice,
    parallel_tool_calls: bool,
    reasoning_format: ReasoningFormat,
    enable_thinking: bool,
    json_schema: Value,
    leniency: Leniency,
}

impl Key {
    fn of(wanted: &Wanted) -> Key {
        let Wanted {
            source: _,
            opening,
            prefill,
            continuation,
            offered,
            tool_choice,
            parallel_tool_calls,
            reasoning_format,
            enable_thinking,
            json_schema,
            leniency,
        } = *wanted;
        Key {
            opening: opening.to_owned(),
            prefill: prefill.to_owned(),
            continuation,
            offered: offered.to_vec(),
            tool_choice,
            parallel_tool_calls,
            reasoning_format,
            enable_thinking,
            json_schema: json_schema.clone(),
            leniency,
        }
    }

    fn is(&self, wanted: &Wanted) -> bool {
        // The source is that of the template to which the plans belong.
        let Wanted {
            source: _,
            opening,
            prefill,
            continuation,
            offered,
            tool_choice,
            parallel_tool_calls,
            reasoning_format,
            enable_thinking,
            json_schema,
            leniency,
        } = *wanted;
        self.opening == opening
            && self.prefill == prefill
            && self.continuation == continuation
            && self.tool_choice == tool_choice
            && self.parallel_tool_calls == parallel_tool_calls
            && self.reasoning_format == reasoning_format
            && self.enable_thinking == enable_thinking
            && self.leniency == leniency
            && is_same(&self.json_schema, json_schema)
            && self.offered.len() == offered.len()
            && self.offered.iter().zip(offered).all(|(one, other)| is_same_tool(one, other))
    }

    fn bytes(&self) -> usize {
        let tool = |tool: &Tool| tool.name.len() + tool.description.len() + bytes(&tool.parameters) + size_of::<Tool>();
        self.opening.len()
            + self.prefill.len()
            + bytes(&self.json_schema)
            + self.offered.iter().map(tool).sum::<usize>()
    }
}

fn is_same_tool(one: &Tool, other: &Tool) -> bool {
    let Tool { name, description, parameters } = one;
    *name == other.name
        && *description == other.description
        && (Arc::ptr_eq(parameters, &other.parameters) || is_same(parameters, &other.parameters))
}

/// Whether two JSON values are written alike. Their `==` takes no heed of the order of members, nor of the sign of zero, and
/// grammars have both.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, value), (other_key, other))| key == other_key && is_same(value, other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => {
            one == other && one.as_f64().map(f64::to_bits) == other.as_f64().map(f64::to_bits)
        }
        _ => one == other,
    }
}

/// About what a JSON value takes in memory.
fn bytes(value: &Value) -> usize {
    /// Of a member's key and its place in the index.
    const MEMBER: usize = size_of::<String>() + 4 * size_of::<usize>();
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes).sum(),
            Value::Object(members) => members.iter().map(|(key, value)| MEMBER + key.len() + bytes(value)).sum(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::Dialects;

    fn wanted<'a>(tools: &'a [Tool], schema: &'a Value) -> Wanted<'a> {
        Wanted {
            source: "",
            opening: "<|assistant|>",
            prefill: "<|assistant|>",
            continuation: Continuation::None,
            offered: tools,
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: false,
            reasoning_format: ReasoningFormat::Auto,
            enable_thinking: true,
            json_schema: schema,
            leniency: Leniency::default(),
        }
    }

    fn tool(name: &str, parameters: &str) -> Tool {
        Tool { name: name.to_owned(), parameters: serde_json::from_str(parameters).unwrap(), ..Tool::default() }
    }

    fn format() -> Result<Format> {
        Ok(crate::format::auto::pure_content("<|assistant|>"))
    }

    #[test]
    fn only_what_is_wanted_alike_shares_a_plan() {
        let plans = Plans::default();
        let (null, schema) = (Value::Null, json!({"type": "object"}));
        let tools = [tool("a", r#"{"x": 1, "y": 0.0}"#)];
        let others = [
            [tool("b", r#"{"x": 1, "y": 0.0}"#)],
            [tool("a", r#"{"y": 0.0, "x": 1}"#)],
            [tool("a", r#"{"x": 1, "y": -0.0}"#)],
            [tool("a", r#"{"x": 1.0, "y": 0.0}"#)],
            [Tool { description: "d".to_owned(), ..tools[0].clone() }],
        ];
        let first = wanted(&tools, &null);
        let plan = plans.get_or_make(&first, format).unwrap();
        let again = tools.clone();
        assert!(Arc::ptr_eq(&plan, &plans.get_or_make(&wanted(&again, &null), format).unwrap()));
        let different = [
            Wanted { opening: "", prefill: "", ..first },
            Wanted { opening: "", ..first },
            Wanted { prefill: "<|assistant|>Yes", ..first },
            Wanted { continuation: Continuation::Content, ..first },
            Wanted { offered: &[], ..first },
            Wanted { tool_choice: ToolChoice::Required, ..first },
            Wanted { parallel_tool_calls: true, ..first },
            Wanted { reasoning_format: ReasoningFormat::None, ..first },
            Wanted { enable_thinking: false, ..first },
            Wanted { json_schema: &schema, ..first },
            Wanted { leniency: Leniency { dialects: Dialects::Off, ..Leniency::default() }, ..first },
        ];
        for wanted in different.into_iter().chain(others.iter().map(|tools| Wanted { offered: tools, ..first })) {
            assert!(!Arc::ptr_eq(&plan, &plans.get_or_make(&wanted, format).unwrap()), "{wanted:?}");
        }
        assert!(Arc::ptr_eq(&plan, &plans.get_or_make(&first, format).unwrap()));
    }

    #[test]
    fn the_oldest_go() {
        let plans = Plans::default();
        let null = Value::Null;
        let sets: Vec<[Tool; 1]> = (0..=PLANS).map(|index| [tool(&index.to_string(), "{}")]).collect();
        let make = |tools| plans.get_or_make(&wanted(tools, &null), format).unwrap();
        let first = make(&sets[0]);
        let second = make(&sets[1]);
        assert!(Arc::ptr_eq(&first, &make(&sets[0])));
        sets[2..].iter().for_each(|tools| drop(make(tools)));
        assert_eq!(plans.kept().len(), PLANS);
        assert!(Arc::ptr_eq(&first, &make(&sets[0])));
        assert!(!Arc::ptr_eq(&second, &make(&sets[1])));

        let large = [Tool { description: "d".repeat(PLANS_BYTES), ..Tool::default() }];
        make(&large);
        assert_eq!(plans.kept().len(), 0, "what is too large is not kept, and nothing that is older");
    }
}
