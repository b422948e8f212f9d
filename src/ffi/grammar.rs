//! Grammars for constrained sampling.

use std::ffi::c_char;
use std::sync::Arc;

use super::status::{ErrorOut, Out, chat_status, filled, give, numbered, written};
use super::text::{View, chat_list, chat_str, seen, utf8, view};
use chatparse_base::Result;
use chatparse_grammar::{Grammar, Printed, Recogniser, schema};
use chatparse_llama::from_json_schema_as;

/// A sampling grammar and a report on where it differs from its schemas. Immutable.
///
/// Grammars are in GBNF, llama.cpp's notation, or converted to another dialect; of a converted one
/// only its text and its report can be used.
pub struct chat_grammar {
    grammar: Arc<Grammar>,
    fields: View<chat_grammar_fields>,
}

pub(super) fn made(grammar: impl Into<Arc<Grammar>>) -> *mut chat_grammar {
    give(chat_grammar {
        grammar: grammar.into(),
        fields: View::default(),
    })
}

/// How a grammar departs from a schema.
pub use chatparse_grammar::FidelityKind as chat_fidelity_kind;

/// A place of a schema where the grammar departs from it. At all other places they agree.
#[repr(C)]
pub struct chat_fidelity {
    /// How.
    pub kind: chat_fidelity_kind,
    /// The rule or tool that the schema belongs to; empty for a grammar's only schema.
    pub schema: chat_str,
    /// The place in the schema: `#` and a JSON pointer.
    pub pointer: chat_str,
    /// What the grammar has there instead, for people.
    pub message: chat_str,
}

/// How the library converts schemas to rules.
pub use chatparse_message::GrammarStyle as chat_grammar_style;

/// The style of a number that C gave.
pub(super) fn style_of(number: u32) -> Result<chat_grammar_style> {
    use chat_grammar_style::{Faithful, LlamaCpp, LlamaCppB10587};
    numbered("style", number, &[Faithful, LlamaCpp, LlamaCppB10587])
}

/// The notations of grammars.
pub use chatparse_chat::grammar::Dialect as chat_dialect;

/// The dialect of a number that C gave.
pub(super) fn dialect(number: u32) -> Result<chat_dialect> {
    numbered("dialect", number, &chat_dialect::ALL)
}

pub(super) fn printed(Printed { text, report }: Printed) -> *mut chat_grammar {
    let mut grammar = Grammar::written(text);
    grammar.report = report;
    made(grammar)
}

/// The kinds of trigger.
pub use chatparse_grammar::TriggerKind as chat_trigger_kind;

/// A place in the output from which a lazy grammar applies.
#[repr(C)]
pub struct chat_trigger {
    /// How to read `value`.
    pub kind: chat_trigger_kind,
    /// The word or the regular expression.
    pub value: chat_str,
}

/// Whether a grammar allows a text.
#[repr(u32)]
pub enum chat_grammar_verdict {
    /// It allows the text.
    Allowed = 1,
    /// It does not allow the text, but some longer text that begins with it.
    Prefix = 2,
    /// It allows no text that begins with it.
    Refused = 3,
}

/// Makes the grammar of the JSON values that a schema (JSON text) allows, compact or pretty.
/// Declared properties keep the order of the schema; others are allowed where the schema allows
/// them. The grammar's report lists where it allows more or less than the schema. `style` is a
/// `chat_grammar_style`; take `CHAT_GRAMMAR_STYLE_FAITHFUL`.
///
/// Errors: `CHAT_STATUS_SCHEMA`, with the JSON pointer of the place, e.g. `#/properties/age`, for a
/// schema that is wrong or contradicts itself; `CHAT_STATUS_LIMIT` for one that is too deep or too
/// large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_from_json_schema(
    schema: *const c_char,
    schema_len: usize,
    style: u32,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's text, by the contract.
        let schema = schema::from_text(unsafe { utf8(schema, schema_len, "schema") }?)?;
        Ok(made(from_json_schema_as(&schema, style_of(style)?)?))
    })
}

/// What a grammar says. All is valid as long as the grammar.
#[repr(C)]
pub struct chat_grammar_fields {
    /// Its text. GBNF has a line for each rule and starts at `root`. Empty if nothing is
    /// constrained.
    pub text: chat_str,
    /// Where it departs from its schemas, or what its dialect cannot express.
    pub report: chat_list<chat_fidelity>,
}

/// Returns what the grammar says.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_view(grammar: Option<&chat_grammar>) -> *const chat_grammar_fields {
    seen(grammar, |chat_grammar { grammar, fields }| {
        Some(fields.get(|lists| chat_grammar_fields {
            text: view(&grammar.text),
            report: lists.keep(grammar.report.iter().map(|entry| chat_fidelity {
                kind: entry.kind,
                schema: view(&entry.schema),
                pointer: view(&entry.pointer),
                message: view(&entry.message),
            })),
        }))
    })
}

/// Writes whether a grammar allows a text: for tests of grammars, and of outputs. `grammar` is GBNF
/// from any source; each call reads it anew, as llama.cpp does.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT`, with the line, for a grammar that llama.cpp cannot use:
/// not GBNF, no rule `root`, a reference to a missing rule, or a rule that begins with itself;
/// `CHAT_STATUS_LIMIT`, also where the text can be read in too many ways to be checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_check(
    grammar: *const c_char,
    grammar_len: usize,
    text: *const c_char,
    text_len: usize,
    out: Out<chat_grammar_verdict>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's two texts, by the contract.
        let [grammar, text] = unsafe {
            [
                utf8(grammar, grammar_len, "grammar")?,
                utf8(text, text_len, "text")?,
            ]
        };
        let recogniser = Recogniser::new(grammar)?;
        Ok(if recogniser.reach(text)? < text.len() {
            chat_grammar_verdict::Refused
        } else if recogniser.accepts(text) {
            chat_grammar_verdict::Allowed
        } else {
            chat_grammar_verdict::Prefix
        })
    })
}

/// Converts a grammar to another dialect, a `chat_dialect`. The result allows exactly the same
/// texts; its report lists what the dialect cannot express, but not where the grammar departs from
/// schemas. In a structural tag, the grammar is one part.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for a grammar that llama.cpp cannot use or that was
/// converted already; `CHAT_STATUS_LIMIT` if it is too large.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_as(
    grammar: Option<&chat_grammar>,
    dialect: u32,
    out: Out<*mut chat_grammar>,
    error: ErrorOut,
) -> chat_status {
    filled(grammar, "grammar", out, error, |grammar| {
        Ok(printed(grammar.grammar.print(self::dialect(dialect)?)?))
    })
}

/// Writes whether a schema (JSON text) allows any string, in any of its branches. Tagged formats
/// write such values as raw text. A reference without a target, or in a circle, counts as no
/// string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_schema_allows_string(
    schema: *const c_char,
    schema_len: usize,
    out: Out<bool>,
    error: ErrorOut,
) -> chat_status {
    written(out, error, || {
        // SAFETY: the caller's text, by the contract.
        let schema = schema::from_text(unsafe { utf8(schema, schema_len, "schema") }?)?;
        Ok(schema::may_be_string(&schema, &schema))
    })
}

/// Frees the grammar.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_free(grammar: Option<Box<chat_grammar>>) {
    drop(grammar);
}
