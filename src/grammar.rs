//! Grammars for constrained sampling, from JSON schemas and formats, as GBNF; their triggers; and
//! checks of texts against grammars and of values against schemas.

#[doc(inline)]
pub use chatparse_grammar::{
    Dialect, Fidelity, FidelityKind, Grammar, Printed, Recogniser, Start, Trigger, TriggerKind,
    from_json_schema, from_json_schema_as, valid,
};
