//! What there is to say of an output once it is whole: of each call whether it can be used, and what is unusual.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::dialects;
use super::draft::Stray;
use super::recovery::Recovery;
use crate::grammar::{schema, valid};
use crate::message::{CallReport, Diagnostic, DiagnosticKind, Message, Report, ToolCall};

/// What was seen of a call while it was read: whether its end was there, what is unusual about it, and the bytes of the output
/// that it was read from.
pub(crate) type Seen = (bool, Stray, Range<usize>);

/// Where an output left its format, by the calls that it does not have.
pub(crate) fn first_stray(calls: &[Seen]) -> Option<usize> {
    calls.iter().filter(|(_, stray, _)| *stray != Stray::default()).map(|(.., span)| span.start).min()
}

/// The report on a message. `left`: the bytes of the output behind the place where it left the format.
pub(crate) fn judge(message: &Message, seen: &[Seen], asked: &Recovery, left: Option<Range<usize>>) -> Report {
    let mut found = Vec::new();
    if let Some(span) = left {
        let message = "the output does not fit the template's format from here on".to_owned();
        found.push(Diagnostic { kind: DiagnosticKind::LeftFormat, call: None, span, message });
    }
    let mut calls = Vec::new();
    for (index, (call, (complete, stray, span))) in message.tool_calls.iter().zip(seen).enumerate() {
        let mut tell = |kind, message| found.push(Diagnostic { kind, call: Some(index), span: span.clone(), message });
        calls.push(judge_call(call, *complete, *stray, asked, &mut tell));
    }
    found.sort_by_key(|diagnostic| diagnostic.span.start);
    Report { calls, diagnostics: found }
}

fn judge_call(
    call: &ToolCall,
    complete: bool,
    stray: Stray,
    asked: &Recovery,
    tell: &mut impl FnMut(DiagnosticKind, String),
) -> CallReport {
    if let Some(name) = stray.dialect.and_then(dialects::name) {
        tell(DiagnosticKind::Dialect, format!("a call in the way of {name}"));
    } else if stray.recovered && !stray.in_reasoning {
        tell(DiagnosticKind::Dialect, "a call where the format has none".to_owned());
    }
    if stray.in_reasoning {
        tell(DiagnosticKind::CallInReasoning, "a call inside the reasoning".to_owned());
    }
    let tool = asked.tools.iter().find(|tool| tool.name == call.name);
    let known = tool.is_some() || asked.tools.is_empty();
    if !known {
        tell(DiagnosticKind::UnknownTool, format!("no tool has the name {:?}", call.name));
    }
    if !complete {
        tell(DiagnosticKind::UnfinishedCall, "the call has no end".to_owned());
        return CallReport { complete, known, valid: false };
    }
    let mut wrong = |message| tell(DiagnosticKind::InvalidArguments, message);
    let (valid, repeated) = match (members(&call.arguments), tool) {
        (Ok((_, repeated)), None) => (true, repeated),
        (Ok((arguments, repeated)), Some(tool)) => {
            let violations = valid::check(&schema::parameters(&tool.parameters), &Value::Object(arguments));
            for violation in &violations {
                wrong(format!("{:?} {}", violation.pointer, violation.message));
            }
            (violations.is_empty(), repeated)
        }
        (Err(_), _) => {
            wrong(match serde_json::from_str::<Value>(&call.arguments) {
                Err(error) => format!("the arguments are no JSON: {error}"),
                Ok(_) => "the arguments are no object".to_owned(),
            });
            (false, BTreeSet::new())
        }
    };
    for name in repeated {
        tell(DiagnosticKind::DuplicateArgument, format!("{name:?} is given more than once"));
    }
    CallReport { complete, known, valid }
}

/// An object, and the names that it has more than once, of which the last value counts.
fn members(object: &str) -> serde_json::Result<(Map<String, Value>, BTreeSet<String>)> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = (Map<String, Value>, BTreeSet<String>);

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let (mut members, mut repeated) = (Map::new(), BTreeSet::new());
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if members.contains_key(&name) {
                    repeated.insert(name.clone());
                }
                members.insert(name, value);
            }
            Ok((members, repeated))
        }
    }

    let mut reader = serde_json::Deserializer::from_str(object);
    let members = reader.deserialize_map(Members)?;
    reader.end().map(|()| members)
}
