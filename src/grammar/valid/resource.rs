//! Resolves references within a document, including references to schemas with identifiers.
//!
//! A document is a tree of resources: itself, and each schema in it with an `$id`. The references of a resource are resolved
//! against its URI. Other documents are never loaded. Most documents have no identifiers, so these are collected when the
//! first reference, or the first subschema, needs them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr;

use serde_json::Value;

use super::draft::{Draft, Keywords};
use crate::grammar::pointer;
use crate::grammar::uri::joined;

/// The remaining steps of a check.
pub(super) struct Steps(pub(super) usize);

impl Steps {
    /// Subtracts steps, if enough are left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Subtracts the cost of reading a text of this length.
    pub(super) fn spend_on(&mut self, bytes: usize) -> bool {
        self.spend(1 + bytes / 8)
    }
}

/// The place of a schema: its resource, and the way there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Base {
    resource: usize,
    /// The resources that were entered on the way, as an index of `ways`.
    pub(super) way: usize,
}

struct Resource<'a> {
    /// Empty if the document has no identifier.
    uri: String,
    schema: &'a Value,
    /// `None` if its `$schema` names an unknown draft.
    draft: Option<Draft>,
}

#[derive(Clone, Copy)]
struct Anchor<'a> {
    schema: &'a Value,
    is_dynamic: bool,
}

/// The resources that were entered on a way, without duplicates.
struct Way {
    outer: usize,
    resource: usize,
    length: usize,
}

#[derive(PartialEq, Eq)]
enum Names {
    NotLookedFor,
    Known,
    /// There are more than the steps allow.
    TooMany,
}

pub(super) struct Resources<'a> {
    /// The first one is the document.
    all: Vec<Resource<'a>>,
    names: Names,
    by_place: HashMap<*const Value, usize>,
    /// `None` if two have the same URI.
    by_uri: HashMap<String, Option<usize>>,
    anchors: HashMap<(usize, &'a str), Option<Anchor<'a>>>,
    ways: Vec<Way>,
    further: HashMap<(usize, usize), usize>,
    /// Whether any reference depends on the way to its schema.
    is_dynamic: bool,
    /// Whether the document has a `$schema`.
    says_draft: bool,
}

impl<'a> Resources<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        let named = document.as_object().and_then(Draft::named);
        let draft = named.unwrap_or(Some(Draft::NEWEST));
        let id = document.as_object().zip(draft).and_then(|(fields, draft)| Keywords { fields, draft }.id());
        let uri = joined("", id.map_or("", |(uri, _)| uri));
        Resources {
            all: vec![Resource { uri, schema: document, draft }],
            names: Names::NotLookedFor,
            by_place: HashMap::new(),
            by_uri: HashMap::new(),
            anchors: HashMap::new(),
            ways: vec![Way { outer: 0, resource: 0, length: 1 }],
            further: HashMap::new(),
            is_dynamic: false,
            says_draft: named.is_some(),
        }
    }

    /// The draft of a schema at this place, if known.
    pub(super) fn draft(&self, base: Base) -> Option<Draft> {
        self.all[base.resource].draft
    }

    /// The place of `schema`, coming from `base`; `None` if it is unknown.
    pub(super) fn entered(&mut self, schema: &'a Value, base: Base, steps: &mut Steps) -> Option<Base> {
        if !self.has_name(schema, base.resource) || ptr::eq(schema, self.all[base.resource].schema) {
            return Some(base);
        }
        // The target of a reference with an identifier beside it depends on the draft.
        if !self.says_draft && schema.get("$ref").is_some() {
            return None;
        }
        self.look_for_names(steps)?;
        let resource = *self.by_place.get(&ptr::from_ref(schema))?;
        self.on_the_way(base, resource, steps)
    }

    /// The target of a reference; `None` if it does not exist or is outside of the document.
    pub(super) fn target(&mut self, reference: &str, base: Base, steps: &mut Steps) -> Option<(&'a Value, Base)> {
        let (schema, resource, _) = self.found(reference, base, steps)?;
        Some((schema, self.on_the_way(base, resource, steps)?))
    }

    /// The target of a `$dynamicRef`: the outermost resource on the way that also has the name.
    pub(super) fn dynamic_target(
        &mut self,
        reference: &str,
        base: Base,
        steps: &mut Steps,
    ) -> Option<(&'a Value, Base)> {
        self.look_for_names(steps)?;
        let (mut schema, mut resource, anchor) = self.found(reference, base, steps)?;
        let named = |anchors: &HashMap<_, _>, resource, name| match anchors.get(&(resource, name)) {
            Some(Some(Anchor { schema, is_dynamic: true })) => Some(*schema),
            _ => None,
        };
        if let Some(name) = anchor.filter(|name| named(&self.anchors, resource, name).is_some()) {
            for outer in self.entered_before(base, steps)? {
                if let Some(found) = named(&self.anchors, outer, name) {
                    (schema, resource) = (found, outer);
                }
            }
        }
        Some((schema, self.on_the_way(base, resource, steps)?))
    }

    /// The target of a `$recursiveRef`: this resource, or the outermost marked one if this one is marked.
    pub(super) fn recursive_target(&mut self, base: Base, steps: &mut Steps) -> Option<(&'a Value, Base)> {
        self.look_for_names(steps)?;
        let mut resource = base.resource;
        if self.is_recursive(resource) {
            let outer = self.entered_before(base, steps)?;
            resource = outer.into_iter().rfind(|outer| self.is_recursive(*outer)).unwrap_or(resource);
        }
        Some((self.all[resource].schema, self.on_the_way(base, resource, steps)?))
    }

    fn is_recursive(&self, resource: usize) -> bool {
        self.all[resource].schema.get("$recursiveAnchor") == Some(&Value::Bool(true))
    }

    /// A schema, its resource, and the name by which it was found.
    fn found<'r>(
        &mut self,
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
            self.look_for_names(steps)?;
            let base = &self.all[resource].uri;
            if !steps.spend_on(base.len()) {
                return None;
            }
            resource = (*self.by_uri.get(&joined(base, uri))?)?;
        }
        if !fragment.is_empty() && !fragment.starts_with('/') {
            self.look_for_names(steps)?;
            let anchor = (*self.anchors.get(&(resource, fragment))?)?;
            return Some((anchor.schema, resource, Some(fragment)));
        }
        let mut through = Vec::new();
        let schema = pointer::find_through(self.all[resource].schema, fragment, |value| through.push(value)).ok()?;
        for value in through {
            if self.has_name(value, resource) {
                self.look_for_names(steps)?;
                resource = self.by_place.get(&ptr::from_ref(value)).copied().unwrap_or(resource);
            }
        }
        Some((schema, resource, None))
    }

    fn has_name(&self, schema: &'a Value, resource: usize) -> bool {
        let parent = self.all[resource].draft;
        own_name(schema, parent).is_some_and(|(_, _, uri)| !uri.is_empty())
    }

    /// The resources that were entered on the way, the outermost last.
    fn entered_before(&self, base: Base, steps: &mut Steps) -> Option<Vec<usize>> {
        let mut way = &self.ways[base.way];
        if !steps.spend(way.length) {
            return None;
        }
        let mut entered = vec![way.resource];
        while way.length > 1 {
            way = &self.ways[way.outer];
            entered.push(way.resource);
        }
        Some(entered)
    }

    fn on_the_way(&mut self, base: Base, resource: usize, steps: &mut Steps) -> Option<Base> {
        if !self.is_dynamic || resource == base.resource {
            return Some(Base { resource, way: base.way });
        }
        if self.entered_before(base, steps)?.contains(&resource) {
            return Some(Base { resource, way: base.way });
        }
        let ways = &mut self.ways;
        let way = *self.further.entry((base.way, resource)).or_insert_with(|| {
            ways.push(Way { outer: base.way, resource, length: ways[base.way].length + 1 });
            ways.len() - 1
        });
        Some(Base { resource, way })
    }

    /// Visits all schemas of the document, once; `None` if there are too many.
    fn look_for_names(&mut self, steps: &mut Steps) -> Option<()> {
        if self.names == Names::NotLookedFor {
            self.names = Names::TooMany;
            let uri = self.all[0].uri.clone();
            self.by_uri.insert(uri, Some(0));
            let mut open = vec![(self.all[0].schema, 0)];
            while let Some((schema, mut resource)) = open.pop() {
                if !steps.spend(1) {
                    return None;
                }
                let Some((draft, fields, uri)) = own_name(schema, self.all[resource].draft) else { continue };
                let keywords = Keywords { fields, draft };
                if !uri.is_empty() && !ptr::eq(schema, self.all[0].schema) {
                    let uri = joined(&self.all[resource].uri, uri);
                    if !steps.spend_on(uri.len()) {
                        return None;
                    }
                    resource = self.all.len();
                    // Only a resource may have another draft than its parent.
                    let draft = Draft::named(fields).unwrap_or(Some(draft));
                    self.all.push(Resource { uri: uri.clone(), schema, draft });
                    self.by_place.insert(ptr::from_ref(schema), resource);
                    self.by_uri.entry(uri).and_modify(|same| *same = None).or_insert(Some(resource));
                }
                self.take_anchors(keywords, schema, resource);
                keywords.each_inside(|inside| open.push((inside, resource)));
            }
            self.names = Names::Known;
        }
        (self.names == Names::Known).then_some(())
    }

    fn take_anchors(&mut self, keywords: Keywords<'a>, schema: &'a Value, resource: usize) {
        let dynamic = keywords.text("$dynamicAnchor");
        self.is_dynamic |= dynamic.is_some() || keywords.get("$recursiveAnchor").is_some();
        let old = keywords.id().and_then(|(_, name)| name);
        for name in [old, keywords.text("$anchor"), dynamic].into_iter().flatten() {
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

/// The draft, the fields and the URI (empty if it has none) of a schema, in a resource of the draft `parent`.
fn own_name(schema: &Value, parent: Option<Draft>) -> Option<(Draft, &super::draft::Fields, &str)> {
    let fields = schema.as_object()?;
    let uri = |draft: Draft| Keywords { fields, draft }.id().map_or("", |(uri, _)| uri);
    // The schema's own draft decides how its identifier is written.
    let own = Draft::named(fields).flatten().filter(|draft| !uri(*draft).is_empty());
    let draft = own.or(parent)?;
    Some((draft, fields, uri(draft)))
}
