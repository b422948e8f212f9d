//! The places of schemas in a document, and the targets of references.

use std::rc::Rc;

use serde_json::Value;

use super::condition::{Conditions, Piece};
use crate::schema::{Base, Document, Draft, Keywords, Places, Step, Steps};
use chatparse_base::limits;

/// A schema, its place, and what its references are relative to.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub schema: &'a Value,
    pub place: Place,
    pub base: Base,
    pub draft: Draft,
    /// It is not in the document: what it names is not evaluated by it.
    pub is_made: bool,
    /// It holds under a condition.
    pub is_conditional: bool,
}

impl<'a> Part<'a> {
    /// Its keywords; `None` if it has none.
    pub fn keywords(&self) -> Option<Keywords<'a>> {
        Some(Keywords {
            fields: self.schema.as_object()?,
            draft: self.draft,
        })
    }

    /// The part, which holds under a condition if `other` does.
    pub fn beside(self, other: Part<'a>) -> Part<'a> {
        let is_conditional = other.is_conditional;
        Part {
            is_conditional,
            ..self
        }
    }

    /// Identifies it, with the way to it where that matters.
    pub fn key(&self) -> (*const Value, usize) {
        (self.schema, self.base.way)
    }
}

/// Index of a place in [`SchemaLocations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place(usize);

/// The places of a document that were visited.
pub struct SchemaLocations<'a> {
    document: Rc<Document<'a>>,
    pub conditions: &'a Conditions<'a>,
    steps: Places<'a>,
    /// Of each place.
    depths: Vec<u16>,
    /// A place that is nested too deep.
    pub too_deep: Option<Place>,
    /// For references and identifiers.
    left: Steps,
}

impl<'a> SchemaLocations<'a> {
    /// A document and the schema in it to begin with.
    pub fn new(
        schema: &'a Value,
        document: Rc<Document<'a>>,
        conditions: &'a Conditions<'a>,
    ) -> (Self, Part<'a>) {
        let base = Base::default();
        let places = SchemaLocations {
            document,
            conditions,
            steps: Places::new("#"),
            depths: vec![0],
            too_deep: None,
            left: Steps(limits::SCHEMA_STEPS),
        };
        let draft = places.document.read_as(base);
        (
            places,
            Part {
                schema,
                place: Place(0),
                base,
                draft,
                is_made: false,
                is_conditional: false,
            },
        )
    }

    /// Whether `format` is an annotation there.
    pub fn format_annotates(&self, part: Part<'a>) -> bool {
        self.document.format_annotates(part.base)
    }

    /// The schema under a key of a part.
    pub fn key(&mut self, part: Part<'a>, key: &'a str, schema: &'a Value) -> Part<'a> {
        self.step(part, Step::Key(key), schema)
    }

    /// The schema at an index of the list under a key.
    pub fn item(
        &mut self,
        part: Part<'a>,
        key: &'a str,
        index: usize,
        schema: &'a Value,
    ) -> Part<'a> {
        let list = self.step(part, Step::Key(key), part.schema);
        self.step(list, Step::Item(index), schema)
    }

    /// A schema of a condition that the keyword `key` of a part stands for.
    pub fn piece(&mut self, part: Part<'a>, key: &'static str, piece: &'a Piece<'a>) -> Part<'a> {
        match piece {
            Piece::Key(key, schema) => self.key(part, key, schema),
            Piece::Named(key, name, schema) => self.named(part, key, name, schema),
            Piece::Item(key, index, schema) => self.item(part, key, *index, schema),
            Piece::Made(schema) => {
                // It says what is required as newer drafts do.
                let draft = part.draft.max(Draft::Four);
                Part {
                    is_made: true,
                    draft,
                    ..self.step(part, Step::Made(key), schema)
                }
            }
        }
    }

    /// The schema under a name in the map under a key.
    pub fn named(
        &mut self,
        part: Part<'a>,
        key: &'a str,
        name: &'a str,
        schema: &'a Value,
    ) -> Part<'a> {
        let map = self.step(part, Step::Key(key), part.schema);
        self.step(map, Step::Key(name), schema)
    }

    fn step(&mut self, from: Part<'a>, step: Step<'a>, schema: &'a Value) -> Part<'a> {
        let place = Place(self.steps.add(from.place.0, step));
        let depth = match step {
            Step::Start(_) => 0,
            _ => self.depths[from.place.0] + 1,
        };
        self.depths.push(depth);
        // A schema in a list or a map takes two steps.
        if usize::from(depth) > 2 * limits::JSON_DEPTH {
            self.too_deep.get_or_insert(place);
        }
        Part {
            schema,
            place,
            is_made: false,
            is_conditional: false,
            ..from
        }
    }

    /// Whether one part is another, or the way to it leads through that.
    pub fn is_within(&self, part: Part<'a>, outer: Part<'a>) -> bool {
        // Places are numbered as they are found.
        let mut at = part.place.0;
        while at > outer.place.0 {
            at = self.steps.before(at);
        }
        at == outer.place.0
    }

    /// Whether more places may be visited.
    pub fn is_full(&self) -> bool {
        self.steps.count() > 2 * limits::SCHEMA_NODES || self.left.0 == 0
    }

    /// The part with what its references are relative to: the schema itself if it has an
    /// identifier.
    pub fn within(&mut self, part: Part<'a>) -> Part<'a> {
        match self
            .document
            .entered(part.schema, part.base, &mut self.left)
        {
            Some(base) if base != part.base => Part {
                base,
                draft: self.document.read_as(base),
                ..part
            },
            _ => part,
        }
    }

    /// The target of the reference that is the value of `key`; `None` if it is not in this
    /// document.
    pub fn target(&mut self, from: Part<'a>, key: &str, reference: &'a Value) -> Option<Part<'a>> {
        let (schema, base) = self
            .document
            .target(key, reference, from.base, &mut self.left)?;
        let start = Part {
            base,
            draft: self.document.read_as(base),
            ..from
        };
        Some(self.step(start, Step::Start(reference.as_str()?), schema))
    }

    /// The JSON pointer of a place.
    pub fn pointer(&self, place: Place) -> String {
        self.pointer_of(place, "")
    }

    /// The same of a keyword at a place.
    pub fn pointer_of(&self, place: Place, key: &str) -> String {
        self.steps.pointer(place.0, key)
    }
}
