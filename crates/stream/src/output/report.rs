//! Makes the report on a complete output: whether each call can be used, and diagnostics.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::event::CallFlags;
use super::json::Json;
use super::literal::MENDED;
use crate::report::{CallReport, Diagnostic, DiagnosticKind, Report};
use chatparse_base::limits::JSON_DEPTH;
use chatparse_base::{json, number, pointer};
use chatparse_grammar::{schema, valid};
use chatparse_message::{Message, Tool, ToolCall};

/// The record of a call, made while it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRecord {
    /// Whether its end was read.
    pub complete: bool,
    /// Whether it has an id that was not undone.
    pub has_id: bool,
    /// How it deviates from the format.
    pub flags: CallFlags,
    /// The parts of its arguments that were no JSON, and were mended: bits of [`MENDED`].
    pub mended: u8,
    /// The bytes of the output that it was read from.
    pub span: Range<usize>,
    /// Where the markup before them begins that opens the call.
    pub begin: usize,
}

/// The position of the first call that the format does not have, or that breaks in it. `whole`: the
/// last one has not been cut off.
pub(crate) fn first_unusual(calls: &[CallRecord], whole: bool) -> Option<usize> {
    let mut first = None;
    for (at, call) in calls.iter().enumerate() {
        let breaks = !call.complete && (whole || at + 1 < calls.len());
        let start = call.span.start;
        if (breaks || call.flags != CallFlags::default()) && first.is_none_or(|first| start < first)
        {
            first = Some(start);
        }
    }
    first
}

/// The report on a message. `found`: the findings about the output as a whole. `dialect`: returns
/// the name of a row of the table of dialects.
pub(crate) fn report(
    message: &Message,
    records: &[CallRecord],
    tools: &[Tool],
    mut found: Vec<Diagnostic>,
    dialect: impl Fn(u16) -> Option<&'static str>,
) -> Report {
    let mut calls = Vec::new();
    for (index, (call, record)) in message.tool_calls.iter().zip(records).enumerate() {
        let mut diagnose = |kind, message| {
            // The markup before a call without an end belongs to it, as hosts may show all of it.
            let begin = if kind == DiagnosticKind::UnfinishedCall {
                record.begin
            } else {
                record.span.start
            };
            found.push(Diagnostic {
                kind,
                call: Some(index),
                span: begin..record.span.end,
                message,
            });
        };
        let name = record.flags.dialect.and_then(&dialect);
        calls.push(report_call(call, record, name, tools, &mut diagnose));
    }
    chatparse_base::sort::by_key(&mut found, |diagnostic| diagnostic.span.start);
    Report {
        calls,
        diagnostics: found,
    }
}

fn report_call(
    call: &ToolCall,
    record: &CallRecord,
    dialect: Option<&str>,
    tools: &[Tool],
    diagnose: &mut impl FnMut(DiagnosticKind, String),
) -> CallReport {
    let CallRecord {
        complete, flags, ..
    } = *record;
    let origin = flags.origin;
    if let Some(name) = dialect {
        diagnose(
            DiagnosticKind::Dialect,
            format!("a call in the format of {name}"),
        );
    } else if flags.recovered && !flags.in_reasoning {
        diagnose(
            DiagnosticKind::Dialect,
            "a call where the format has none".to_owned(),
        );
    }
    if flags.in_reasoning {
        diagnose(
            DiagnosticKind::CallInReasoning,
            "a call inside the reasoning".to_owned(),
        );
    }
    if record.mended > 0 {
        let kinds = (0..).zip(MENDED);
        let what = kinds.filter(|(bit, _)| record.mended >> bit & 1 > 0);
        let what = what.map(|(_, kind)| kind).collect::<Vec<_>>().join(", ");
        diagnose(
            DiagnosticKind::MendedArguments,
            format!("not JSON, and mended: {what}"),
        );
    }
    let tool = tools.iter().find(|tool| tool.name == call.name);
    let known = tool.is_some() || tools.is_empty();
    if !known {
        diagnose(
            DiagnosticKind::UnknownTool,
            format!("no tool has the name {:?}", call.name),
        );
    }
    if !complete {
        diagnose(
            DiagnosticKind::UnfinishedCall,
            "the call has no end".to_owned(),
        );
        return CallReport {
            complete,
            known,
            valid: false,
            origin,
        };
    }
    let mut wrong = |message| diagnose(DiagnosticKind::InvalidArguments, message);
    let (valid, repeated) = match number::read::<Map<String, Value>>(&call.arguments) {
        Ok(arguments) => {
            let violations = match tool {
                Some(tool) => valid::check(
                    &schema::parameters(&tool.parameters),
                    &Value::Object(arguments),
                ),
                None => Vec::new(),
            };
            for violation in &violations {
                wrong(format!("{:?} {}", violation.pointer, violation.message));
            }
            (violations.is_empty(), repeated_names(&call.arguments))
        }
        // A value that nests deeper than the reader allows is not checked against the schema.
        Err(_)
            if is_json_object(&call.arguments)
                && json::nests(call.arguments.as_bytes(), JSON_DEPTH - 1) =>
        {
            (true, BTreeSet::new())
        }
        Err(_) => {
            wrong(match number::read::<Value>(&call.arguments) {
                Err(error) => json::wrong("the arguments are not JSON", &error).to_string(),
                Ok(_) => "the arguments are not an object".to_owned(),
            });
            (false, BTreeSet::new())
        }
    };
    for name in repeated {
        diagnose(
            DiagnosticKind::DuplicateArgument,
            format!("{name:?} is given more than once"),
        );
    }
    CallReport {
        complete,
        known,
        valid,
        origin,
    }
}

/// Whether a text is a JSON object, at any depth: serde_json reads ignored values without
/// recursion.
fn is_json_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The names that an object has more than once.
fn repeated_names(object: &str) -> BTreeSet<String> {
    let (mut names, mut repeated) = (HashSet::new(), BTreeSet::new());
    Json::default().read_all(object, &mut |json, _| {
        if json.open.len() == 1 && !names.insert(json.pointer.clone()) {
            repeated.insert(pointer::name(&json.pointer[1..]));
        }
    });
    repeated
}
