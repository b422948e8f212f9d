//! Grammars for constrained sampling.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;

use super::error::chat_error;
use super::guard::guard;
use super::ptr::{give, item, required};
use super::status::chat_status;
use super::text::{chat_str, utf8, view};
use crate::error::{Error, Result};
use crate::grammar::{self, Dialect, FidelityKind, Grammar, Printed, Recogniser, TriggerKind, schema};
use crate::message::GrammarStyle;

/// A grammar in GBNF, the notation of llama.cpp's grammars, and where it is not exactly what its schemas ask for; or one that was
/// printed in another dialect, and what that cannot say. Immutable; may be used by several threads at once.
pub struct chat_grammar(pub(super) Arc<Grammar>);

/// How a grammar departs from a schema.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_fidelity_kind {
    /// It allows more than the schema.
    Widened = 1,
    /// The part could not be used at all, and something else stands for it.
    Refused = 2,
    /// It allows less than the schema.
    Narrowed = 3,
}

impl From<FidelityKind> for chat_fidelity_kind {
    fn from(kind: FidelityKind) -> Self {
        match kind {
            FidelityKind::Widened => chat_fidelity_kind::Widened,
            FidelityKind::Refused => chat_fidelity_kind::Refused,
            FidelityKind::Narrowed => chat_fidelity_kind::Narrowed,
        }
    }
}

/// A place of a schema that the grammar does not follow to the letter. Places without an entry are followed.
#[repr(C)]
pub struct chat_fidelity {
    /// In which way.
    pub kind: chat_fidelity_kind,
    /// The rule or tool that the schema was added as; empty for a grammar's only schema.
    pub schema: chat_str,
    /// The place inside the schema, as a JSON pointer with `#` in front.
    pub pointer: chat_str,
    /// What stands there instead, for people.
    pub message: chat_str,
}

/// How schemas become rules.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_grammar_style {
    /// What the schema allows, as nearly as a grammar can.
    Faithful = 1,
    /// The text that llama.cpp makes of the schema, from 0.5.0 on.
    LlamaCpp = 2,
    /// The text of the versions before, such as b10587: as there, but `{}` is any object.
    LlamaCppB10587 = 3,
}

/// The style of a number that C gave.
pub(super) fn style_of(number: u32) -> Result<GrammarStyle> {
    const NUMBERS: [(u32, GrammarStyle); 3] = [
        (chat_grammar_style::Faithful as u32, GrammarStyle::Faithful),
        (chat_grammar_style::LlamaCpp as u32, GrammarStyle::LlamaCpp),
        (chat_grammar_style::LlamaCppB10587 as u32, GrammarStyle::LlamaCppB10587),
    ];
    numbered("style", number, &NUMBERS)
}

/// What a number stands for that C gave; `what` is its name.
fn numbered<T: Copy>(what: &str, number: u32, numbers: &[(u32, T)]) -> Result<T> {
    let found = numbers.iter().find(|(known, _)| *known == number);
    found.map(|(_, named)| *named).ok_or_else(|| Error::invalid(format!("{what}: there is none of number {number}")))
}

/// A notation of grammars.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_dialect {
    /// GBNF as llama.cpp writes it.
    Gbnf = 1,
    /// GBNF that llama.cpp of every version reads, and XGrammar.
    PortableGbnf = 2,
    /// Lark as llguidance reads it, and XGrammar and vLLM.
    Lark = 3,
    /// XGrammar's structural tag, as JSON: `{"type": "structural_tag", "format": ...}`.
    StructuralTag = 4,
    /// Its older form, which llguidance reads, too: `{"structures": [...], "triggers": [...]}`.
    StructuralTagOld = 5,
}

/// The dialect of a number that C gave.
pub(super) fn dialect(number: u32) -> Result<Dialect> {
    const NUMBERS: [(u32, Dialect); 5] = [
        (chat_dialect::Gbnf as u32, Dialect::Gbnf),
        (chat_dialect::PortableGbnf as u32, Dialect::PortableGbnf),
        (chat_dialect::Lark as u32, Dialect::Lark),
        (chat_dialect::StructuralTag as u32, Dialect::StructuralTag),
        (chat_dialect::StructuralTagOld as u32, Dialect::StructuralTagOld),
    ];
    numbered("dialect", number, &NUMBERS)
}

impl From<Printed> for chat_grammar {
    fn from(Printed { text, report }: Printed) -> Self {
        chat_grammar(Arc::new(Grammar { text, report }))
    }
}

/// How the value of a trigger is read.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_trigger_kind {
    /// A text that appears in the output.
    Word = 1,
    /// A regular expression (ECMAScript) that is searched for in the output. The grammar starts at its first group that takes
    /// part, or at its beginning.
    Pattern = 2,
}

impl From<TriggerKind> for chat_trigger_kind {
    fn from(kind: TriggerKind) -> Self {
        match kind {
            TriggerKind::Word => chat_trigger_kind::Word,
            TriggerKind::Pattern => chat_trigger_kind::Pattern,
        }
    }
}

/// What makes a lazily applied grammar start.
#[repr(C)]
pub struct chat_trigger {
    /// How `value` is read.
    pub kind: chat_trigger_kind,
    /// The word or the regular expression. Valid until the params that it was asked of are freed.
    pub value: chat_str,
}

/// What a grammar says of a text.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum chat_grammar_verdict {
    /// It allows the text.
    Allowed = 1,
    /// It does not allow the text yet: some longer text that begins so is allowed.
    Prefix = 2,
    /// It allows no text that begins so.
    Refused = 3,
}

/// The grammar of the JSON values that a schema allows, compact or pretty. `schema` is JSON text; it is copied.
///
/// Properties stand in the order in which the schema declares them, and others where the schema allows them. What a grammar cannot
/// say, or no sampler could carry, is told by `chat_grammar_report`: where the grammar allows more than the schema, and where less.
///
/// On success `*out` is a new grammar, to be freed with `chat_grammar_free`.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is no JSON or not UTF-8; `CHAT_STATUS_SCHEMA` for a schema
/// that contradicts itself or is wrong, with the JSON pointer of the place, e.g. `#/properties/age`; `CHAT_STATUS_LIMIT` for one
/// that is too deep or too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_from_json_schema(
    schema: *const c_char,
    schema_len: usize,
    out: Option<&mut MaybeUninit<*mut chat_grammar>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's text, by the contract.
        let schema = schema::from_text(unsafe { utf8(schema, schema_len, "schema") }?)?;
        let grammar = grammar::from_json_schema(&schema)?;
        out.write(give(chat_grammar(Arc::new(grammar))));
        Ok(())
    })
}

/// `chat_grammar_from_json_schema` in the style of that number, a `chat_grammar_style`.
///
/// Errors: as there, and `CHAT_STATUS_INVALID_ARGUMENT` for a number without a style.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_from_json_schema_with(
    schema: *const c_char,
    schema_len: usize,
    style: u32,
    out: Option<&mut MaybeUninit<*mut chat_grammar>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's text, by the contract.
        let schema = schema::from_text(unsafe { utf8(schema, schema_len, "schema") }?)?;
        let grammar = grammar::from_json_schema_as(&schema, style_of(style)?)?;
        out.write(give(chat_grammar(Arc::new(grammar))));
        Ok(())
    })
}

/// Whether a value that the schema (JSON text) allows may be a string, by any of its branches. Tagged formats write such values as raw
/// text.
///
/// On success `*out` is the answer. A reference that leads nowhere, or in a circle, counts as no string.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for text that is no JSON or not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_schema_allows_string(
    schema: *const c_char,
    schema_len: usize,
    out: Option<&mut MaybeUninit<bool>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's text, by the contract.
        let schema = schema::from_text(unsafe { utf8(schema, schema_len, "schema") }?)?;
        out.write(schema::may_be_string(&schema, &schema));
        Ok(())
    })
}

/// The rules as GBNF, a line each; it starts at the rule `root`. Empty where nothing is constrained. The view is valid until
/// the grammar is freed. Empty for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_text(grammar: Option<&chat_grammar>) -> chat_str {
    view(grammar.map(|grammar| grammar.0.text.as_str()))
}

/// What a grammar says of a text, for tests of grammars and of what was written under them. `grammar` is GBNF, from
/// `chat_grammar_text` or from anywhere else, and is read anew by each call, as llama.cpp reads it. Grammar and text are only
/// looked at; may be called by several threads at once.
///
/// On success `*out` is the verdict. A text that would take too long to check counts as refused.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for text that is not UTF-8, and, with the line, for a grammar that llama.cpp
/// could not use: it is no GBNF, has no rule `root`, a rule refers to one that is not there, or begins with itself;
/// `CHAT_STATUS_LIMIT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chat_grammar_check(
    grammar: *const c_char,
    grammar_len: usize,
    text: *const c_char,
    text_len: usize,
    out: Option<&mut MaybeUninit<chat_grammar_verdict>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let out = required(out, "out")?;
        // SAFETY: the caller's two texts, by the contract.
        let [grammar, text] = unsafe { [utf8(grammar, grammar_len, "grammar")?, utf8(text, text_len, "text")?] };
        let recogniser = Recogniser::new(grammar)?;
        out.write(if recogniser.accepts(text) {
            chat_grammar_verdict::Allowed
        } else if recogniser.prefix(text) {
            chat_grammar_verdict::Prefix
        } else {
            chat_grammar_verdict::Refused
        });
        Ok(())
    })
}

/// The same grammar in another dialect, one of `chat_dialect`. It allows exactly the same texts; its report has what the dialect cannot say,
/// and not what the grammar itself leaves of its schemas. A tag holds the grammar as one part.
///
/// On success `*out` is a new grammar, to be freed with `chat_grammar_free`; only its text and its report are of use, as GBNF is the
/// one dialect that is read.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL, for a dialect that there is not, for a grammar that llama.cpp could not use or
/// that was printed in another dialect, and for `CHAT_DIALECT_STRUCTURAL_TAG_OLD`, which holds no grammars; `CHAT_STATUS_LIMIT`
/// where it is too large.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_as(
    grammar: Option<&chat_grammar>,
    dialect: u32,
    out: Option<&mut MaybeUninit<*mut chat_grammar>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (grammar, out) = (required(grammar, "grammar")?, required(out, "out")?);
        out.write(give(grammar.0.print(self::dialect(dialect)?)?.into()));
        Ok(())
    })
}

/// In how many places the grammar departs from its schemas. 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_report_count(grammar: Option<&chat_grammar>) -> usize {
    grammar.map_or(0, |grammar| grammar.0.report.len())
}

/// Place number `index` (from 0) where the grammar departs from a schema.
///
/// On success `*out` is filled; its texts are valid until the grammar is freed.
///
/// Errors: `CHAT_STATUS_INVALID_ARGUMENT` for NULL and for an index that is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_report(
    grammar: Option<&chat_grammar>,
    index: usize,
    out: Option<&mut MaybeUninit<chat_fidelity>>,
    error: Option<&mut MaybeUninit<*mut chat_error>>,
) -> chat_status {
    guard(error, || {
        let (grammar, out) = (required(grammar, "grammar")?, required(out, "out")?);
        let entry = item(&grammar.0.report, index, "entries")?;
        out.write(chat_fidelity {
            kind: entry.kind.into(),
            schema: view(Some(&entry.schema)),
            pointer: view(Some(&entry.pointer)),
            message: view(Some(&entry.message)),
        });
        Ok(())
    })
}

/// Frees the grammar. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn chat_grammar_free(grammar: Option<Box<chat_grammar>>) {
    drop(grammar);
}
