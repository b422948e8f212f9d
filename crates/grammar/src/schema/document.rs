//! A schema document: the drafts and identifiers of its schemas, and what their references lead to.
//!
//! A document is a tree of resources: itself, and each schema in it with an `$id`. The references
//! of a resource are resolved against its URI. Other documents are never loaded. Most documents
//! have no identifiers, so these are collected when the first reference, or the first subschema,
//! needs them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr;

use serde_json::Value;

use super::draft::{Draft, Fields};
use super::keywords::Keywords;
use super::pointer;
use super::uri::joined;

/// The remaining steps of a reader of schemas.
#[derive(Debug)]
pub struct Steps(pub usize);

impl Steps {
    /// Subtracts steps, if enough are left.
    pub fn spend(&mut self, steps: usize) -> bool {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Subtracts the cost of reading a text of this length.
    pub fn spend_on(&mut self, bytes: usize) -> bool {
        self.spend(1 + bytes / 8)
    }
}

/// The place of a schema: its resource, and the way there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Base {
    resource: usize,
    /// The resources that were entered on the way, as an index of `ways`. It matters only where
    /// references are dynamic.
    pub way: usize,
}

/// A document, which does not change.
#[derive(Debug)]
pub struct Document<'a> {
    root: Resource<'a>,
    /// Whether it has a `$schema`.
    says_draft: bool,
    /// `None`: there are more than the steps allow.
    names: OnceCell<Option<Names<'a>>>,
    ways: RefCell<Ways>,
}

#[derive(Clone, Debug)]
struct Resource<'a> {
    /// Empty if the document has no identifier.
    uri: String,
    schema: &'a Value,
    /// `None` if its `$schema` names an unknown draft.
    draft: Option<Draft>,
}

/// The identifiers and anchors of a document.
#[derive(Debug, Default)]
struct Names<'a> {
    /// The first one is the document.
    resources: Vec<Resource<'a>>,
    by_place: HashMap<*const Value, usize>,
    /// `None` if two have the same URI.
    by_uri: HashMap<String, Option<usize>>,
    anchors: HashMap<(usize, &'a str), Option<Anchor<'a>>>,
    /// Whether any reference depends on the way to its schema.
    is_dynamic: bool,
}

#[derive(Clone, Copy, Debug)]
struct Anchor<'a> {
    schema: &'a Value,
    is_dynamic: bool,
}

#[derive(Debug)]
struct Ways {
    all: Vec<Way>,
    further: HashMap<(usize, usize), usize>,
}

/// The resources that were entered on a way, without duplicates.
#[derive(Debug)]
struct Way {
    outer: usize,
    resource: usize,
    length: usize,
}

impl<'a> Document<'a> {
    /// The document with this schema at its root.
    pub fn new(root: &'a Value) -> Self {
        let named = root.as_object().and_then(Draft::named);
        let draft = named.unwrap_or(Some(Draft::NEWEST));
        let own = root.as_object().zip(draft);
        let uri = joined("", own.map_or("", |(fields, draft)| uri(fields, draft)));
        let first = Way {
            outer: 0,
            resource: 0,
            length: 1,
        };
        Document {
            root: Resource {
                uri,
                schema: root,
                draft,
            },
            says_draft: named.is_some(),
            names: OnceCell::new(),
            ways: RefCell::new(Ways {
                all: vec![first],
                further: HashMap::new(),
            }),
        }
    }

    /// The draft of a schema at this place, if known.
    pub fn draft(&self, base: Base) -> Option<Draft> {
        self.resource(base.resource).draft
    }

    /// The draft to read a schema at this place by: the newest where its own is unknown.
    pub fn read_as(&self, base: Base) -> Draft {
        self.draft(base).unwrap_or(Draft::NEWEST)
    }

    /// Whether `format` is an annotation for a schema at this place: in the newer drafts, where a
    /// document names one of them.
    pub fn format_annotates(&self, base: Base) -> bool {
        self.says_draft && self.draft(base).is_some_and(|draft| draft >= Draft::Y2019)
    }

    /// The place of `schema`, coming from `base`; `None` if it is unknown.
    pub fn entered(&self, schema: &'a Value, base: Base, steps: &mut Steps) -> Option<Base> {
        if !self.has_name(schema, base.resource)
            || ptr::eq(schema, self.resource(base.resource).schema)
        {
            return Some(base);
        }
        // The target of a reference with an identifier beside it depends on the draft.
        if !self.says_draft && schema.get("$ref").is_some() {
            return None;
        }
        let resource = *self.names(steps)?.by_place.get(&ptr::from_ref(schema))?;
        self.on_the_way(base, resource, steps)
    }

    /// The targets of all references of a schema; `None` for each that does not exist or is outside
    /// of the document.
    pub fn targets(
        &self,
        keywords: Keywords<'a>,
        base: Base,
        steps: &mut Steps,
    ) -> Vec<Option<(&'a Value, Base)>> {
        let mut targets = Vec::new();
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = keywords.get(key) {
                targets.push(self.target(key, reference, base, steps));
            }
        }
        targets
    }

    /// The target of the reference that is the value of `key`.
    pub fn target(
        &self,
        key: &str,
        reference: &Value,
        base: Base,
        steps: &mut Steps,
    ) -> Option<(&'a Value, Base)> {
        let reference = reference.as_str()?;
        match key {
            "$dynamicRef" => self.dynamic_target(reference, base, steps),
            "$recursiveRef" if reference == "#" => self.recursive_target(base, steps),
            "$recursiveRef" => None,
            _ => {
                let (schema, resource, _) = self.found(reference, base, steps)?;
                Some((schema, self.on_the_way(base, resource, steps)?))
            }
        }
    }

    /// The outermost resource on the way that also has the name.
    fn dynamic_target(
        &self,
        reference: &str,
        base: Base,
        steps: &mut Steps,
    ) -> Option<(&'a Value, Base)> {
        let names = self.names(steps)?;
        let (mut schema, mut resource, anchor) = self.found(reference, base, steps)?;
        let named = |resource, name| match names.anchors.get(&(resource, name)) {
            Some(Some(Anchor {
                schema,
                is_dynamic: true,
            })) => Some(*schema),
            _ => None,
        };
        if let Some(name) = anchor.filter(|name| named(resource, name).is_some()) {
            for outer in self.entered_before(base, steps)? {
                if let Some(found) = named(outer, name) {
                    (schema, resource) = (found, outer);
                }
            }
        }
        Some((schema, self.on_the_way(base, resource, steps)?))
    }

    /// This resource, or the outermost marked one if this one is marked.
    fn recursive_target(&self, base: Base, steps: &mut Steps) -> Option<(&'a Value, Base)> {
        self.names(steps)?;
        let mut resource = base.resource;
        if self.is_recursive(resource) {
            let outer = self.entered_before(base, steps)?;
            resource = outer
                .into_iter()
                .rfind(|outer| self.is_recursive(*outer))
                .unwrap_or(resource);
        }
        Some((
            self.resource(resource).schema,
            self.on_the_way(base, resource, steps)?,
        ))
    }

    fn is_recursive(&self, resource: usize) -> bool {
        self.resource(resource).schema.get("$recursiveAnchor") == Some(&Value::Bool(true))
    }

    /// A schema, its resource, and the name by which it was found.
    fn found<'r>(
        &self,
        reference: &'r str,
        base: Base,
        steps: &mut Steps,
    ) -> Option<(&'a Value, usize, Option<&'r str>)> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut resource = base.resource;
        if !steps.spend_on(reference.len()) {
            return None;
        }
        if !uri.is_empty() {
            let names = self.names(steps)?;
            let base = &self.resource(resource).uri;
            if !steps.spend_on(base.len()) {
                return None;
            }
            resource = (*names.by_uri.get(&joined(base, uri))?)?;
        }
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let anchor = (*self.names(steps)?.anchors.get(&(resource, fragment))?)?;
            return Some((anchor.schema, resource, Some(fragment)));
        }
        let mut through = Vec::new();
        let mut schema = pointer::find_through(self.resource(resource).schema, fragment, |value| {
            through.push(value)
        });
        if schema.is_err() {
            // Many authors write pointers from the document's root even below an identifier.
            (resource, through) = (0, Vec::new());
            schema = pointer::find_through(self.root.schema, fragment, |value| through.push(value));
        }
        for value in through {
            if self.has_name(value, resource) {
                resource = self
                    .names(steps)?
                    .by_place
                    .get(&ptr::from_ref(value))
                    .copied()
                    .unwrap_or(resource);
            }
        }
        Some((schema.ok()?, resource, None))
    }

    fn has_name(&self, schema: &'a Value, resource: usize) -> bool {
        own_name(schema, self.resource(resource).draft).is_some_and(|(_, _, uri)| !uri.is_empty())
    }

    fn resource(&self, number: usize) -> &Resource<'a> {
        self.known_names()
            .and_then(|names| names.resources.get(number))
            .unwrap_or(&self.root)
    }

    /// The identifiers and anchors, if something has asked for them.
    fn known_names(&self) -> Option<&Names<'a>> {
        self.names.get()?.as_ref()
    }

    /// The resources that were entered on the way, the outermost last.
    fn entered_before(&self, base: Base, steps: &mut Steps) -> Option<Vec<usize>> {
        let ways = &self.ways.borrow().all;
        let mut way = &ways[base.way];
        if !steps.spend(way.length) {
            return None;
        }
        let mut entered = vec![way.resource];
        while way.length > 1 {
            way = &ways[way.outer];
            entered.push(way.resource);
        }
        Some(entered)
    }

    fn on_the_way(&self, base: Base, resource: usize, steps: &mut Steps) -> Option<Base> {
        let is_dynamic = self.known_names().is_some_and(|names| names.is_dynamic);
        if !is_dynamic
            || resource == base.resource
            || self.entered_before(base, steps)?.contains(&resource)
        {
            return Some(Base {
                resource,
                way: base.way,
            });
        }
        let Ways { all, further } = &mut *self.ways.borrow_mut();
        let way = *further.entry((base.way, resource)).or_insert_with(|| {
            all.push(Way {
                outer: base.way,
                resource,
                length: all[base.way].length + 1,
            });
            all.len() - 1
        });
        Some(Base { resource, way })
    }

    /// All identifiers and anchors; `None` if there are too many.
    fn names(&self, steps: &mut Steps) -> Option<&Names<'a>> {
        self.names
            .get_or_init(|| Names::of(&self.root, steps))
            .as_ref()
    }
}

impl<'a> Names<'a> {
    /// Visits all schemas of the document.
    fn of(root: &Resource<'a>, steps: &mut Steps) -> Option<Names<'a>> {
        let mut names = Names {
            resources: vec![root.clone()],
            ..Names::default()
        };
        names.by_uri.insert(root.uri.clone(), Some(0));
        let mut open = vec![(root.schema, 0)];
        while let Some((schema, mut resource)) = open.pop() {
            if !steps.spend(1) {
                return None;
            }
            let Some((draft, fields, uri)) = own_name(schema, names.resources[resource].draft)
            else {
                continue;
            };
            let keywords = Keywords { fields, draft };
            if !uri.is_empty() && !ptr::eq(schema, root.schema) {
                let uri = joined(&names.resources[resource].uri, uri);
                if !steps.spend_on(uri.len()) {
                    return None;
                }
                resource = names.resources.len();
                // Only a resource may have another draft than its parent.
                let draft = Draft::named(fields).unwrap_or(Some(draft));
                names.resources.push(Resource {
                    uri: uri.clone(),
                    schema,
                    draft,
                });
                names.by_place.insert(ptr::from_ref(schema), resource);
                names
                    .by_uri
                    .entry(uri)
                    .and_modify(|same| *same = None)
                    .or_insert(Some(resource));
            }
            names.take_anchors(keywords, schema, resource);
            keywords.each_inside(|inside| open.push((inside, resource)));
        }
        Some(names)
    }

    fn take_anchors(&mut self, keywords: Keywords<'a>, schema: &'a Value, resource: usize) {
        let dynamic = keywords.text("$dynamicAnchor");
        self.is_dynamic |= dynamic.is_some() || keywords.get("$recursiveAnchor").is_some();
        let old = keywords.id().and_then(|(_, name)| name);
        for name in [old, keywords.text("$anchor"), dynamic]
            .into_iter()
            .flatten()
        {
            let is_dynamic = dynamic == Some(name);
            match self.anchors.entry((resource, name)) {
                Entry::Vacant(entry) => drop(entry.insert(Some(Anchor { schema, is_dynamic }))),
                Entry::Occupied(mut entry) => {
                    let same = entry.get().filter(|other| ptr::eq(other.schema, schema));
                    *entry.get_mut() = same.map(|_| Anchor { schema, is_dynamic });
                }
            }
        }
    }
}

/// The draft of a schema in a resource of the draft `parent`. Only a schema with an identifier may
/// have another one.
pub fn draft_within(schema: &Value, parent: Draft) -> Draft {
    own_name(schema, Some(parent)).map_or(parent, |(draft, ..)| draft)
}

/// The draft, the fields and the URI (empty if it has none) of a schema, in a resource of the draft
/// `parent`.
fn own_name(schema: &Value, parent: Option<Draft>) -> Option<(Draft, &Fields, &str)> {
    let fields = schema.as_object()?;
    // The schema's own draft decides how its identifier is written.
    let own = Draft::named(fields)
        .flatten()
        .filter(|draft| !uri(fields, *draft).is_empty());
    let draft = own.or(parent)?;
    Some((draft, fields, uri(fields, draft)))
}

/// The URI of a schema's identifier; empty if it has none.
fn uri(fields: &Fields, draft: Draft) -> &str {
    Keywords { fields, draft }.id().map_or("", |(uri, _)| uri)
}
