//! The places of schemas in a document, and the targets of references.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::condition::{Conditions, Piece};
use crate::grammar::pointer;
use crate::grammar::uri::joined;
use crate::limits;

/// The keywords of a schema.
pub(super) type Fields = Map<String, Value>;

/// A schema, its place, and the resource that its references are relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub schema: &'a Value,
    pub place: Place,
    pub resource: Resource,
    /// It is not in the document: what it names is not evaluated by it.
    pub is_made: bool,
    /// It holds under a condition.
    pub is_conditional: bool,
}

/// Index of a place in [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place(u32);

/// Index of a schema with an identifier, or of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resource(u32);

/// A step from one place to another.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    /// To the target of a reference.
    Target(&'a str),
    Key(&'a str),
    Item(usize),
    /// To a schema that stands for this keyword and is not in the document.
    Made(&'a str),
}

/// The places of a document that were visited, and its identifiers.
pub(super) struct Places<'a> {
    root: &'a Value,
    pub conditions: &'a Conditions<'a>,
    /// For each place: the previous place, the step from it, and the depth.
    steps: Vec<(Place, Step<'a>, u16)>,
    /// A place that is nested too deep.
    pub too_deep: Option<Place>,
    resources: Vec<(&'a Value, String)>,
    /// Resources by the address of their schema.
    known: HashMap<*const Value, Resource>,
    /// Schemas by identifier, and by identifier and anchor; built on first use.
    identifiers: Option<HashMap<String, (&'a Value, String)>>,
    /// Whether keywords beside a reference are ignored, as up to draft 7.
    pub lone_references: bool,
    /// Whether an identifier beside a reference is ignored, as in the drafts with `definitions`.
    lone_identifiers: bool,
    /// Whether `format` is an annotation in this draft.
    pub format_annotates: bool,
}

impl<'a> Places<'a> {
    /// A document and the schema in it to begin with.
    pub fn new(schema: &'a Value, root: &'a Value, conditions: &'a Conditions<'a>) -> (Self, Part<'a>) {
        let base = identifier(root).unwrap_or_default().trim_end_matches('#').to_owned();
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let lone_references = ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| dialect.contains(old));
        let looks_old = dialect.is_empty() && root.get("definitions").is_some() && root.get("$defs").is_none();
        let places = Places {
            root,
            conditions,
            steps: vec![(Place(0), Step::Target("#"), 0)],
            too_deep: None,
            resources: vec![(root, base)],
            known: HashMap::from([(std::ptr::from_ref(root), Resource(0))]),
            identifiers: None,
            lone_references,
            lone_identifiers: lone_references || looks_old,
            format_annotates: ["2019-09", "2020-12"].iter().any(|new| dialect.contains(new)),
        };
        (places, Part { schema, place: Place(0), resource: Resource(0), is_made: false, is_conditional: false })
    }

    /// The schema under a key of a part.
    pub fn key(&mut self, part: Part<'a>, key: &'a str, schema: &'a Value) -> Part<'a> {
        self.step(part, Step::Key(key), schema)
    }

    /// The schema at an index of the list under a key.
    pub fn item(&mut self, part: Part<'a>, key: &'a str, index: usize, schema: &'a Value) -> Part<'a> {
        let list = self.step(part, Step::Key(key), part.schema);
        self.step(list, Step::Item(index), schema)
    }

    /// A schema of a condition that the keyword `key` of a part stands for.
    pub fn piece(&mut self, part: Part<'a>, key: &'static str, piece: &'a Piece<'a>) -> Part<'a> {
        match piece {
            Piece::Key(key, schema) => self.key(part, key, schema),
            Piece::Named(key, name, schema) => self.named(part, key, name, schema),
            Piece::Item(key, index, schema) => self.item(part, key, *index, schema),
            Piece::Made(schema) => Part { is_made: true, ..self.step(part, Step::Made(key), schema) },
        }
    }

    /// The schema under a name in the map under a key.
    pub fn named(&mut self, part: Part<'a>, key: &'a str, name: &'a str, schema: &'a Value) -> Part<'a> {
        let map = self.step(part, Step::Key(key), part.schema);
        self.step(map, Step::Key(name), schema)
    }

    fn step(&mut self, from: Part<'a>, step: Step<'a>, schema: &'a Value) -> Part<'a> {
        let place = Place(self.steps.len() as u32);
        let depth = match step {
            Step::Target(_) => 0,
            _ => self.steps[from.place.0 as usize].2 + 1,
        };
        self.steps.push((from.place, step, depth));
        // A schema in a list or a map takes two steps.
        if usize::from(depth) > 2 * limits::JSON_DEPTH {
            self.too_deep.get_or_insert(place);
        }
        Part { schema, place, resource: from.resource, is_made: false, is_conditional: false }
    }

    /// Whether one part is another, or the way to it leads through that.
    pub fn is_within(&self, part: Part<'a>, outer: Part<'a>) -> bool {
        // Places are numbered as they are found.
        let mut at = part.place;
        while at.0 > outer.place.0 {
            at = self.steps[at.0 as usize].0;
        }
        at == outer.place
    }

    /// Whether more places may be visited.
    pub fn is_full(&self) -> bool {
        self.steps.len() > 2 * limits::SCHEMA_NODES
    }

    /// The part with the resource that it belongs to: the schema itself if it has an identifier.
    pub fn within(&mut self, part: Part<'a>) -> Part<'a> {
        let address = std::ptr::from_ref(part.schema);
        if let Some(&resource) = self.known.get(&address) {
            return Part { resource, ..part };
        }
        let is_ignored = self.lone_identifiers && part.schema.get("$ref").is_some();
        match identifier(part.schema) {
            Some(id) if !id.starts_with('#') && !is_ignored => {
                let base = joined(&self.resources[part.resource.0 as usize].1, id.trim_end_matches('#'));
                Part { resource: self.resource(part.schema, base), ..part }
            }
            _ => part,
        }
    }

    fn resource(&mut self, schema: &'a Value, base: String) -> Resource {
        let fresh = Resource(self.resources.len() as u32);
        self.resources.push((schema, base));
        self.known.insert(std::ptr::from_ref(schema), fresh);
        fresh
    }

    /// The target of a reference; `None` if it is not in this document.
    pub fn target(&mut self, from: Part<'a>, reference: &'a str) -> Option<Part<'a>> {
        let (base, fragment) = reference.split_once('#').map_or((reference, ""), |(base, fragment)| (base, fragment));
        let (own, own_base) = &self.resources[from.resource.0 as usize];
        let (root, base) = match base {
            "" => (*own, own_base.clone()),
            base => {
                let base = joined(own_base, base);
                if base == self.resources[0].1 { (self.root, base) } else { self.identifiers().get(&base).cloned()? }
            }
        };
        let schema = match fragment {
            "" => root,
            pointer if pointer.starts_with('/') => {
                let found = pointer::find(root, pointer).ok();
                // Many authors write pointers from the document's root even below an identifier.
                found.or_else(|| pointer::find(self.root, pointer).ok())?
            }
            anchor => {
                let name = format!("{base}#{anchor}");
                self.identifiers().get(&name).cloned()?.0
            }
        };
        let resource = match self.known.get(&std::ptr::from_ref(root)) {
            Some(&known) => known,
            None => self.resource(root, base),
        };
        let start = Part { schema, resource, ..from };
        Some(self.step(start, Step::Target(reference), schema))
    }

    /// All identifiers and anchors of the document.
    fn identifiers(&mut self) -> &HashMap<String, (&'a Value, String)> {
        let (root, base) = (self.root, &self.resources[0].1);
        self.identifiers.get_or_insert_with(|| {
            let mut found = HashMap::new();
            let mut open = vec![(root, base.clone())];
            while let Some((value, mut base)) = open.pop() {
                if let Some(id) = identifier(value) {
                    match id.strip_prefix('#') {
                        Some("") => {}
                        Some(_) => drop(found.entry(format!("{base}{id}")).or_insert((value, base.clone()))),
                        None => {
                            base = joined(&base, id.trim_end_matches('#'));
                            found.entry(base.clone()).or_insert((value, base.clone()));
                        }
                    }
                }
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = value.get(key).and_then(Value::as_str) {
                        found.entry(format!("{base}#{anchor}")).or_insert((value, base.clone()));
                    }
                }
                match value {
                    Value::Object(fields) => open.extend(fields.values().map(|field| (field, base.clone()))),
                    Value::Array(items) => open.extend(items.iter().map(|item| (item, base.clone()))),
                    _ => {}
                }
            }
            found
        })
    }

    /// The JSON pointer of a place after `#`, or after the reference that led there.
    pub fn pointer(&self, place: Place) -> String {
        self.pointer_of(place, "")
    }

    /// The same of a keyword at a place. What is below a schema that is not in the document has the pointer of what that
    /// stands for.
    pub fn pointer_of(&self, place: Place, key: &str) -> String {
        let mut steps = Vec::new();
        steps.extend(Some(key).filter(|key| !key.is_empty()).map(pointer::escaped));
        let mut at = place;
        loop {
            let (from, step, _) = self.steps[at.0 as usize];
            match step {
                Step::Target(reference) => {
                    steps.push(reference.to_owned());
                    break;
                }
                Step::Key(key) => steps.push(pointer::escaped(key)),
                Step::Item(index) => steps.push(index.to_string()),
                Step::Made(key) => steps = vec![pointer::escaped(key)],
            }
            at = from;
        }
        steps.reverse();
        steps.join("/")
    }
}

/// The identifier of a schema.
fn identifier(schema: &Value) -> Option<&str> {
    schema.get("$id").or_else(|| schema.get("id")).and_then(Value::as_str)
}
