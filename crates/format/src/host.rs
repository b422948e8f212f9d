//! What hosts are told that no render shows.

use super::{Constraint, Delimiter, Format, FormatSpec, Thinking};
use chatparse_grammar::Trigger;
use chatparse_learn::host::{Constrains, Host, Structured};
use chatparse_message::ToolChoice;

/// Says in a format what hosts are told.
pub fn tell(host: &'static Host, spec: &FormatSpec, format: &mut Format) {
    if let Some(constraint) = &host.constraint {
        format.constraint = constraint_of(constraint, spec);
    }
    if let Some(tokens) = &host.tokens {
        format.preserved_tokens = tokens.split(' ').map(str::to_owned).collect();
    }
    if let Some(thinking) = &host.thinking {
        format.thinking = thinking.split_first().map(|(start, ends)| Thinking {
            start: start.clone(),
            ends: ends.to_vec(),
        });
    }
    if let Some(delimiters) = &host.delimiters {
        format.delimiters =
            Delimiter::list(delimiters.iter().map(|(role, text)| (&**role, &**text)));
    }
    if !host.stops.is_empty() {
        format.additional_stops.clone_from(&host.stops);
    }
    format.name = host.name.as_deref();
}

fn constraint_of(constrains: &Constrains, spec: &FormatSpec) -> Constraint {
    let (trigger, structured) = match constrains {
        Constrains::Never => return Constraint::Free,
        Constrains::Word(text, structured) => (Trigger::word(&**text), structured),
        Constrains::Pattern(text, structured) => (Trigger::pattern(&**text), structured),
        Constrains::Tools { bare } => {
            let lazy = spec.options.tool_choice == ToolChoice::Auto && !spec.tools().is_empty();
            let tools = spec
                .offered
                .iter()
                .filter(|_| *bare)
                .map(|tool| format!("<function={}>", tool.name));
            let words = ["<tool_call>".to_owned()]
                .into_iter()
                .chain(tools)
                .filter(|_| lazy);
            return spec.constraint(spec.response_schema().is_some(), words.map(Trigger::word));
        }
    };
    let structured = match structured {
        Structured::Never => false,
        Structured::Fields => spec.response_schema().is_some(),
        Structured::Any => spec.response_object().is_some(),
    };
    spec.constraint(structured, [trigger])
}
