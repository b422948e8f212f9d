//! Calls without the rest of a message, in a turn that no template shows.

use serde::Deserialize;
use serde_json::Value;

use crate::builder::FormatBuilder;
use crate::{FormatSpec, Opening, learnt};
use chatparse_base::{Error, Result, json};
use chatparse_learn::analysis::turn::TurnFormat;
use chatparse_message::{NearlyJson, OutputOptions, Request, Tool, UnknownTools};
use chatparse_peg::{Builder, ExprId};

/// All calls of a message, with the markers around them, in a [`TurnFormat`] as JSON. Of the
/// request, the tools count, whether one must be called, and whether several may be.
///
/// # Errors
/// [`chatparse_base::ErrorKind::InvalidArgument`] if the turn has another shape or no calls.
pub fn described(builder: &mut Builder, request: &Request, turn: &Value) -> Result<ExprId> {
    let turn = TurnFormat::deserialize(turn).map_err(|error| json::wrong("turn", &error))?;
    if turn.calls.is_empty() {
        return Err(Error::invalid("turn.calls: missing"));
    }
    let opening = Opening::default();
    let spec = FormatSpec::of(request, &opening);
    let mut p = FormatBuilder::from(std::mem::take(builder));
    p.mends = request.output.leniency.nearly_json == NearlyJson::Mend;
    let calls = if spec.tools().is_empty() {
        p.empty()
    } else {
        let calls = learnt::calls(&p, &turn, &spec);
        if spec.call_required() {
            calls
        } else {
            p.optional(calls)
        }
    };
    *builder = p.into();
    Ok(calls)
}

/// The calls of a message in a turn like this, of these tools; `unknown`: also of tools that are
/// not offered.
pub fn section(p: &FormatBuilder, turn: &TurnFormat, tools: &[Tool], unknown: bool) -> ExprId {
    let mut options = OutputOptions::default();
    options.leniency.unknown_tools = if unknown {
        UnknownTools::Call
    } else {
        UnknownTools::Content
    };
    learnt::calls(
        p,
        turn,
        &FormatSpec {
            options: &options,
            opening: &Opening::default(),
            offered: tools,
        },
    )
}
