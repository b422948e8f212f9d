//! Reads a JSON schema into a [`Graph`]: chooses the keyword that counts, checks its value, and
//! resolves references.
//!
//! The supported keywords and their precedence are llama.cpp's. Others are recorded as lost.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::schema_graph::{Count, Graph, Node, NodeId, Property, Text};
use super::unsupported;
use chatparse_base::{Error, Result, limits, number};
use chatparse_grammar::schema::{
    self, Places, Step, all_of, format_rule, has_object_keywords, has_string_keywords, refused,
};

type Fields = Map<String, Value>;

/// The graph of `schema`, and its first node. References are resolved in `root`.
pub fn resolve<'a>(
    schema: &'a Value,
    root: &'a Value,
    empty_is_object: bool,
) -> Result<(Graph<'a>, NodeId)> {
    let mut resolver = Resolver {
        root,
        empty_is_object,
        graph: Graph {
            nodes: Vec::new(),
            places: Places::new("#"),
            targets: HashMap::new(),
            lost: Vec::new(),
        },
        queue: VecDeque::new(),
    };
    let first = resolver.node(schema, 0, 0)?;
    // References are resolved after the schemas that contain them, so that a long chain needs no
    // stack.
    while let Some(pointer) = resolver.queue.pop_front() {
        let target = resolver.find(pointer)?;
        let place = resolver.graph.places.add(0, Step::Start(pointer));
        let id = resolver.node(target, place, 0)?;
        resolver.graph.targets.insert(pointer, id);
    }
    resolver.refuse_empty_circles()?;
    Ok((resolver.graph, first))
}

/// The keyword of a bound, how a fraction moves inwards to a whole number, and the step from there.
type Bound = (&'static str, fn(f64) -> f64, i64);

struct Resolver<'a> {
    root: &'a Value,
    /// Whether the schema `{}` allows objects only.
    empty_is_object: bool,
    graph: Graph<'a>,
    /// References whose targets are not in the graph yet: there, their first node stands for them.
    queue: VecDeque<&'a str>,
}

impl<'a> Resolver<'a> {
    fn node(&mut self, schema: &'a Value, place: usize, depth: usize) -> Result<NodeId> {
        let id = self.reserve(place)?;
        // Below the top, `true` is the schema that allows any value.
        if *schema == Value::Bool(true) && place != 0 {
            return Ok(id);
        }
        let Value::Object(fields) = schema else {
            return Err(self.error(id, "a schema must be an object"));
        };
        self.fill(id, fields, fields.get("type"), depth)?;
        Ok(id)
    }

    /// The node of a schema these steps below another one.
    fn node_below(
        &mut self,
        schema: &'a Value,
        id: NodeId,
        steps: &[Step<'a>],
        depth: usize,
    ) -> Result<NodeId> {
        let places = &mut self.graph.places;
        let place = steps.iter().fold(self.graph.nodes[id].1, |place, step| {
            places.add(place, *step)
        });
        self.node(schema, place, depth + 1)
    }

    fn fill(
        &mut self,
        id: NodeId,
        fields: &'a Fields,
        kind: Option<&'a Value>,
        depth: usize,
    ) -> Result<()> {
        let node = self.with_type(fields, kind, id, depth)?;
        for (key, message) in unsupported::lost(&node, fields) {
            self.graph.lost.push((id, key, message));
        }
        self.graph.nodes[id].0 = node;
        Ok(())
    }

    /// Reserves a node whose children come first.
    fn reserve(&mut self, place: usize) -> Result<NodeId> {
        if self.graph.nodes.len() >= limits::SCHEMA_NODES {
            let message = format!("a JSON schema has more than {} parts", limits::SCHEMA_NODES);
            return Err(Error::limit(message));
        }
        let id = self.graph.nodes.len();
        self.graph.nodes.push((Node::Any, place));
        Ok(id)
    }

    fn error(&self, id: NodeId, message: impl AsRef<str>) -> Error {
        refused(&self.graph.pointer(id, ""), message.as_ref())
    }

    /// Reads a schema as if its `type` were `kind`.
    fn with_type(
        &mut self,
        fields: &'a Fields,
        kind: Option<&'a Value>,
        id: NodeId,
        depth: usize,
    ) -> Result<Node<'a>> {
        if depth > limits::JSON_DEPTH {
            return Err(self.error(id, format!("nested more than {} deep", limits::JSON_DEPTH)));
        }
        if let Some(target) = fields.get("$ref") {
            return self.reference(target, id);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(branches) = fields.get(key) {
                return Ok(Node::AnyOf(self.branches(branches, key, id, depth)?));
            }
        }
        // Each type of a list becomes a branch with the other keywords.
        if let Some(Value::Array(kinds)) = kind {
            if kinds.is_empty() {
                return Err(self.error(id, "type must name at least one type"));
            }
            let mut branches = Vec::with_capacity(kinds.len());
            for kind in kinds {
                let branch = self.reserve(self.graph.place(id))?;
                self.fill(branch, fields, Some(kind), depth + 1)?;
                branches.push(branch);
            }
            return Ok(Node::AnyOf(branches));
        }
        if let Some(value) = fields.get("const") {
            return Ok(Node::Const(value));
        }
        if let Some(values) = fields.get("enum") {
            return match values {
                Value::Array(values) if !values.is_empty() => Ok(Node::Enum(values)),
                _ => Err(self.error(id, "enum must be an array with at least one value")),
            };
        }
        let name = match kind {
            None | Some(Value::Null) => "",
            Some(Value::String(name)) => name,
            Some(_) => {
                return Err(self.error(id, "type must be the name of a type, or an array of names"));
            }
        };
        if let Some(branches) = all_of(fields, name) {
            return Ok(Node::AllOf(self.branches(branches, "allOf", id, depth)?));
        }
        // Without a type the keywords decide, in llama.cpp's order.
        match name {
            "" if fields.is_empty() && self.empty_is_object => self.object(fields, id, depth),
            "" if has_object_keywords(fields) => self.object(fields, id, depth),
            "" if fields.contains_key("items") || fields.contains_key("prefixItems") => {
                self.array(fields, id, depth)
            }
            "" if has_string_keywords(fields) => self.string(fields, id),
            "" => self.format(fields, id).map(|_| Node::Any),
            "object" => self.object(fields, id, depth),
            "string" => self.string(fields, id),
            "array" => self.array(fields, id, depth),
            "integer" => self.integer(fields, id),
            "number" => Ok(Node::Number),
            "boolean" => Ok(Node::Boolean),
            "null" => Ok(Node::Null),
            name => Err(self.error(id, format!("there is no type {name:?}"))),
        }
    }

    fn reference(&mut self, target: &'a Value, id: NodeId) -> Result<Node<'a>> {
        let Value::String(pointer) = target else {
            return Err(self.error(id, "$ref must be a string"));
        };
        if pointer != "#" && !pointer.starts_with("#/") {
            let message = format!(
                "$ref {pointer:?} leads out of the schema; only \"#\" and \"#/...\" can be followed"
            );
            return Err(self.error(id, message));
        }
        if !self.graph.targets.contains_key(&**pointer) {
            self.graph.targets.insert(pointer, id);
            self.queue.push_back(pointer);
        }
        Ok(Node::Ref(pointer))
    }

    /// The schema at a pointer.
    fn find(&self, pointer: &'a str) -> Result<&'a Value> {
        schema::find(self.root, pointer).map_err(|step| {
            let message = format!("$ref {pointer:?} leads nowhere from {step:?} on");
            self.error(self.graph.target(pointer), message)
        })
    }

    fn branches(
        &mut self,
        value: &'a Value,
        key: &'static str,
        id: NodeId,
        depth: usize,
    ) -> Result<Vec<NodeId>> {
        match value {
            Value::Array(schemas) if !schemas.is_empty() => self.items(schemas, key, id, depth),
            _ => Err(self.error(
                id,
                format!("{key} must be an array with at least one schema"),
            )),
        }
    }

    fn items(
        &mut self,
        schemas: &'a [Value],
        key: &'static str,
        id: NodeId,
        depth: usize,
    ) -> Result<Vec<NodeId>> {
        let items = schemas.iter().enumerate();
        items
            .map(|(i, item)| self.node_below(item, id, &[Step::Key(key), Step::Item(i)], depth))
            .collect()
    }

    fn object(&mut self, fields: &'a Fields, id: NodeId, depth: usize) -> Result<Node<'a>> {
        let required: HashSet<&str> = match fields.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => HashSet::new(),
        };
        let mut properties = Vec::new();
        match fields.get("properties") {
            None => {}
            Some(Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    let required = required.contains(&**name);
                    // A property with the schema `false` must be missing.
                    if *schema == Value::Bool(false) && !required {
                        continue;
                    }
                    let steps = [Step::Key("properties"), Step::Key(name)];
                    properties.push(Property {
                        name,
                        schema: self.node_below(schema, id, &steps, depth)?,
                        required,
                    });
                }
            }
            Some(_) => return Err(self.error(id, "properties must be an object of schemas")),
        }
        let additional = match fields.get("additionalProperties") {
            Some(schema) => schema,
            // An object without keywords is any object; one with properties has no others unless
            // they are allowed.
            None if fields.contains_key("properties") => &Value::Bool(false),
            None => &Value::Bool(true),
        };
        let additional = match additional {
            Value::Bool(false) => None,
            Value::Bool(true) | Value::Object(_) => {
                let steps = [Step::Key("additionalProperties")];
                Some(self.node_below(additional, id, &steps, depth)?)
            }
            _ => return Err(self.error(id, "additionalProperties must be a boolean or a schema")),
        };
        Ok(Node::Object(properties, additional))
    }

    fn array(&mut self, fields: &'a Fields, id: NodeId, depth: usize) -> Result<Node<'a>> {
        let no_more = fields.get("items") == Some(&Value::Bool(false));
        let keys = if no_more {
            &["prefixItems"][..]
        } else {
            &["items", "prefixItems"]
        };
        let given = keys.iter().find_map(|key| Some((*key, fields.get(*key)?)));
        let item = match given {
            None if no_more => return Ok(Node::Tuple(Vec::new())),
            Some((key, Value::Array(schemas))) => {
                return self.items(schemas, key, id, depth).map(Node::Tuple);
            }
            Some((key, schema)) => self.node_below(schema, id, &[Step::Key(key)], depth)?,
            None => self.node_below(&Value::Bool(true), id, &[Step::Key("items")], depth)?,
        };
        Ok(Node::Array(
            item,
            self.count(fields, "minItems", "maxItems", id)?,
        ))
    }

    fn string(&self, fields: &'a Fields, id: NodeId) -> Result<Node<'a>> {
        let pattern = match fields.get("pattern") {
            None => None,
            Some(Value::String(pattern)) => Some(&**pattern).filter(|pattern| !pattern.is_empty()),
            Some(_) => return Err(self.error(id, "pattern must be a string")),
        };
        let format = self.format(fields, id)?;
        Ok(Node::String(Text {
            pattern,
            format,
            length: self.count(fields, "minLength", "maxLength", id)?,
        }))
    }

    /// The shared rule of the format, if there is one.
    fn format(&self, fields: &'a Fields, id: NodeId) -> Result<Option<&'static str>> {
        match fields.get("format") {
            None => Ok(None),
            Some(Value::String(name)) => Ok(format_rule(name)),
            Some(_) => Err(self.error(id, "format must be a string")),
        }
    }

    fn count(&self, fields: &'a Fields, min: &str, max: &str, id: NodeId) -> Result<Count> {
        let size = |key: &str| match fields.get(key).map(Value::as_u64) {
            Some(None) => {
                let message = format!("{key} must be a whole number that is not negative");
                Err(self.error(id, message))
            }
            size => Ok(size.flatten()),
        };
        let count = Count {
            min: size(min)?.unwrap_or(0),
            max: size(max)?,
        };
        if count.max.is_some_and(|most| most < count.min) {
            return Err(self.error(id, format!("nothing fits: {min} is larger than {max}")));
        }
        Ok(count)
    }

    /// A bound of whole numbers, by the first of two keywords that is there.
    fn bound(&self, fields: &Fields, bounds: [Bound; 2], id: NodeId) -> Result<Option<i64>> {
        for (key, round, step) in bounds {
            let Some(bound) = fields.get(key) else {
                continue;
            };
            if !number::is(bound) {
                return Err(self.error(id, format!("{key} must be a number")));
            }
            // A bound beyond i64 is replaced by the end of i64.
            let rounded = || round(number::float(bound).unwrap_or_default()) as i64;
            let bound = bound.as_i64().unwrap_or_else(rounded);
            return Ok(Some(bound.saturating_add(step)));
        }
        Ok(None)
    }

    fn integer(&self, fields: &'a Fields, id: NodeId) -> Result<Node<'a>> {
        const LEAST: [Bound; 2] = [
            ("minimum", f64::ceil, 0),
            ("exclusiveMinimum", f64::floor, 1),
        ];
        const MOST: [Bound; 2] = [
            ("maximum", f64::floor, 0),
            ("exclusiveMaximum", f64::ceil, -1),
        ];
        let min = self.bound(fields, LEAST, id)?;
        let max = self.bound(fields, MOST, id)?;
        let (min, max) = (
            min.filter(|min| *min != i64::MIN),
            max.filter(|max| *max != i64::MAX),
        );
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            return Err(self.error(id, "nothing fits: the lower bound is above the upper one"));
        }
        Ok(Node::Integer(min, max))
    }

    /// Rejects schemas that consist of references to themselves, because their grammar would be
    /// left-recursive.
    fn refuse_empty_circles(&self) -> Result<()> {
        let graph = &self.graph;
        let circles = graph.cyclic(|id| match graph.node(id) {
            Node::Ref(pointer) => vec![graph.target(pointer)],
            Node::AnyOf(branches) | Node::AllOf(branches) => branches.clone(),
            _ => Vec::new(),
        });
        for (id, in_circle) in circles.into_iter().enumerate() {
            if in_circle && matches!(graph.node(id), Node::Ref(_)) {
                return Err(self.error(id, "$ref leads back to itself with nothing in between"));
            }
        }
        Ok(())
    }
}
