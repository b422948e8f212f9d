//! What a grammar says of the places where it departs from its schemas.

use std::collections::HashSet;

use serde::Serialize;

/// A place of a schema at which the grammar departs from it. At all other places the grammar is
/// exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fidelity {
    /// The rule or tool that the schema was added as; empty for a grammar's only schema.
    pub schema: String,
    /// The place inside the schema, as a JSON pointer after `#`.
    pub pointer: String,
    /// How the grammar departs from it.
    pub kind: FidelityKind,
    /// What the grammar has there instead, for display.
    pub message: String,
}

impl Fidelity {
    pub(crate) fn new(
        schema: &str,
        pointer: impl Into<String>,
        kind: FidelityKind,
        message: impl Into<String>,
    ) -> Self {
        Fidelity {
            schema: schema.to_owned(),
            pointer: pointer.into(),
            kind,
            message: message.into(),
        }
    }
}

/// How a grammar departs from one schema: each departure once, though places are visited again.
pub struct Notes<'s> {
    /// The schema's name.
    schema: &'s str,
    pub all: Vec<Fidelity>,
    known: HashSet<(String, String)>,
}

impl<'s> Notes<'s> {
    pub fn of(schema: &'s str) -> Self {
        Notes {
            schema,
            all: Vec::new(),
            known: HashSet::new(),
        }
    }

    pub fn add(&mut self, pointer: String, kind: FidelityKind, message: &str) {
        if self.known.insert((pointer.clone(), message.to_owned())) {
            self.all
                .push(Fidelity::new(self.schema, pointer, kind, message));
        }
    }
}

chatparse_base::names! {
    /// How a grammar departs from a schema.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FidelityKind {
        /// It allows more than the schema.
        Widened(1) = "widened",
        /// The library could not use this part and replaced it; or no value fits it, and what needs
        /// it is left out.
        Refused(2) = "refused",
        /// It allows less than the schema.
        Narrowed(3) = "narrowed",
    }
}
