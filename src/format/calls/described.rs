//! Calls in a layout that the caller describes as JSON, for formats that are built outside of this crate.

use serde::Deserialize;
use serde_json::Value;

use super::super::FormatSpec;
use super::super::builder::FormatBuilder;
use super::{json, pythonic, tagged};
use crate::analysis::{ArgumentsLayout, CallIdLayout, FunctionLayout, Layout, ToolFormat, ToolsLayout};
use crate::error::{Error, Result};
use crate::message::Request;
use crate::peg::{Builder, ExprId};

/// The groups of [`Layout::to_json`] that are about calls.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Described {
    tools: ToolsLayout,
    function: FunctionLayout,
    arguments: ArgumentsLayout,
    call_id: CallIdLayout,
}

/// All calls of a message, with the markers around them, in a layout as [`Analysis::to_json`](crate::learnt::Analysis::to_json)
/// has it; what it leaves out is empty. One format is for descriptions only: `pythonic`, a list like `[f(x=1), g()]`. Of the request, the tools count, whether one must be called, and
/// whether several may be.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] if the layout has another shape or no format, or has neither a marker nor a name by
/// which calls can be recognised.
pub fn described(builder: &mut Builder, request: &Request, layout: &str) -> Result<ExprId> {
    let wrong = |error: serde_json::Error| Error::invalid(format!("layout: {error}"));
    let layout: Value = serde_json::from_str(layout).map_err(wrong)?;
    let spec = FormatSpec::of(request);
    let pythonic = layout.pointer("/tools/format").is_some_and(|format| format == "pythonic");
    let layout = match pythonic {
        true => Layout::default(),
        false => {
            let Described { tools, function, arguments, call_id } = serde_json::from_value(layout).map_err(wrong)?;
            Layout { tools, function, arguments, call_id, ..Layout::default() }
        }
    };
    let p = FormatBuilder::from(std::mem::take(builder));
    let calls = match layout.tools.format {
        _ if spec.tools().is_empty() => Ok(p.empty()),
        _ if pythonic => Ok(p.calls(&spec, pythonic::calls(&p, &spec, ""))),
        ToolFormat::JsonNative => Ok(json::calls(&p, &layout.tools, &spec)),
        ToolFormat::TagWithJson | ToolFormat::TagWithTagged => Ok(tagged::calls(&p, &layout, &spec)),
        ToolFormat::None => Err(Error::invalid("layout.tools.format: missing, or none")),
    };
    *builder = p.into();
    calls
}
