//! Turns a schema's graph into rules, with llama.cpp's names and text.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::pattern::{self, Pattern};
use super::schema_graph::{Count, Graph, Node, NodeId, Property, Text};
use super::{excluded_keys, number};
use chatparse_base::json_string::quoted as as_json;
use chatparse_base::{Error, Result, limits};
use chatparse_grammar::rules::json;
use chatparse_grammar::rules::primitive::{blank as space, comma, quoted};
use chatparse_grammar::rules::{Builder, FidelityKind, Notes, Pad, Rule, clean};
use chatparse_grammar::schema::refused;

/// Turns one graph into rules of a builder.
pub struct Lowering<'b, 'g, 'a> {
    builder: &'b mut Builder,
    graph: &'g Graph<'a>,
    /// The document that the references belong to.
    document: u64,
    /// By node: whether it is an `allOf` that contains itself. Others are written out at each
    /// place.
    circular: Vec<bool>,
    /// The names of the circular ones seen so far.
    named: HashMap<NodeId, SmolStr>,
    /// Rules that have a name but no body yet.
    waiting: VecDeque<(NodeId, SmolStr)>,
    steps: usize,
    pub notes: Notes<'b>,
}

/// The result for a node.
enum Lowered {
    /// The body for a separate rule.
    Body(Rule),
    /// An existing rule.
    Named(SmolStr),
}

impl<'b, 'g, 'a> Lowering<'b, 'g, 'a> {
    pub fn new(
        builder: &'b mut Builder,
        graph: &'g Graph<'a>,
        schema: &'b str,
        document: u64,
    ) -> Self {
        let circular = graph.cyclic(|id| written_out(graph, id));
        let (named, waiting) = Default::default();
        Lowering {
            builder,
            graph,
            document,
            circular,
            named,
            waiting,
            steps: 0,
            notes: Notes::of(schema),
        }
    }

    /// Adds a node as the rule `name` (`""`: the top), with all rules that it needs. Returns the
    /// name of its rule.
    pub fn all(&mut self, first: NodeId, name: &SmolStr) -> Result<SmolStr> {
        for (id, key, message) in &self.graph.lost {
            self.widened(*id, key, message);
        }
        let added = self.visit(first, name, 0)?;
        while let Some((id, name)) = self.waiting.pop_front() {
            let body = match self.lower(id, &name, &name, 0)? {
                Lowered::Body(body) => body,
                Lowered::Named(other) => Rule::Reference(other),
            };
            self.builder.fill(&name, body);
        }
        Ok(added)
    }

    /// The rule of a node. The names of all rules below it begin with `name`.
    fn visit(&mut self, id: NodeId, name: &SmolStr, depth: usize) -> Result<SmolStr> {
        self.steps += 1;
        if self.steps > limits::SCHEMA_NODES || self.builder.bytes() > limits::GRAMMAR_BYTES {
            let message = format!(
                "the grammar of a JSON schema is too large (at {})",
                self.graph.pointer(id, "")
            );
            return Err(Error::limit(message));
        }
        let rule_name = match name.as_str() {
            "" => SmolStr::new_static("root"),
            _ if self.builder.is_reserved(&clean(name)) => {
                format_smolstr!("{name}-")
            }
            _ => name.clone(),
        };
        // Deeper nodes wait in the queue, to bound the stack.
        if depth > limits::LOWERING_DEPTH && shared(self.graph, id).is_none() {
            return Ok(self.later(id, &rule_name));
        }
        Ok(match self.lower(id, name, &rule_name, depth)? {
            Lowered::Body(body) => self.builder.add(&rule_name, body),
            Lowered::Named(known) => known,
        })
    }

    /// Reserves a name for a node whose body comes later.
    fn later(&mut self, id: NodeId, name: &SmolStr) -> SmolStr {
        let name = self.builder.reserve(name);
        self.waiting.push_back((id, name.clone()));
        name
    }

    fn lower(
        &mut self,
        id: NodeId,
        name: &SmolStr,
        rule_name: &SmolStr,
        depth: usize,
    ) -> Result<Lowered> {
        if let Some(shared) = shared(self.graph, id) {
            return Ok(if name.is_empty() {
                Lowered::Body(self.builder.unshared(shared))
            } else {
                Lowered::Named(self.builder.share(shared))
            });
        }
        let graph = self.graph;
        Ok(Lowered::Body(match graph.node(id) {
            Node::Ref(pointer) => Rule::Reference(self.reference(pointer)),
            Node::AnyOf(branches) => {
                let mut choice = Vec::with_capacity(branches.len());
                for (i, branch) in branches.iter().enumerate() {
                    let name = if name.is_empty() {
                        format_smolstr!("alternative-{i}")
                    } else {
                        format_smolstr!("{name}-{i}")
                    };
                    choice.push(Rule::Reference(self.visit(*branch, &name, depth + 1)?));
                }
                Rule::Choice(choice)
            }
            Node::AllOf(_)
                if self.circular[id] && self.named.get(&id).is_none_or(|own| own != rule_name) =>
            {
                let name = match self.named.get(&id) {
                    Some(name) => name.clone(),
                    None => {
                        let name = self.later(id, rule_name);
                        self.named.insert(id, name.clone());
                        name
                    }
                };
                return Ok(Lowered::Named(name));
            }
            Node::AllOf(parts) => self.all_of(id, parts, name, depth)?,
            Node::Const(value) => self.constant(id, value)?,
            Node::Enum(values) => {
                let values: Result<Vec<Rule>> = values
                    .iter()
                    .map(|value| self.constant(id, value))
                    .collect();
                Rule::Choice(values?).group()
            }
            Node::Object(properties, additional) => {
                if properties.is_empty() && additional.is_some_and(|others| graph.is_any(others)) {
                    return Ok(Lowered::Body(self.builder.shared("object")));
                }
                self.object(id, properties, *additional, name, depth)?
            }
            Node::Tuple(items) => {
                let mut parts = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        parts.push(comma());
                    }
                    let name = below(name, &format!("tuple-{i}"));
                    parts.push(Rule::Reference(self.visit(*item, &name, depth + 1)?));
                }
                bracketed(Rule::joined(parts))
            }
            Node::Array(item, count) => {
                let item = Rule::Reference(self.visit(*item, &below(name, "item"), depth + 1)?);
                let count = self.bounded(id, *count, "minItems", "maxItems");
                bracketed(listed(item, count))
            }
            Node::String(text) => self.string(id, text, rule_name)?,
            Node::Integer(min, max) => {
                let (range, widened) = number::range(*min, *max);
                if let Some(message) = widened {
                    self.widened(id, "", message);
                }
                range.group()
            }
            // Of these, all but the first have shared rules.
            Node::Any | Node::Null | Node::Boolean | Node::Number => self.builder.shared("value"),
        }))
    }

    fn reference(&mut self, pointer: &str) -> SmolStr {
        let key = (self.document, pointer.to_owned());
        if let Some(name) = self.builder.references.get(&key) {
            return name.clone();
        }
        let target = self.graph.target(pointer);
        let name = match shared(self.graph, target) {
            Some(shared) => self.builder.share(shared),
            None => self.later(
                target,
                &format_smolstr!("ref{}", pointer.trim_start_matches('#')),
            ),
        };
        self.builder.references.insert(key, name.clone());
        name
    }

    fn constant(&self, id: NodeId, value: &Value) -> Result<Rule> {
        match json::print(value) {
            Some(text) => Ok(Rule::literal(text)),
            None => Err(refused(
                &self.graph.pointer(id, ""),
                "a constant is nested too deeply",
            )),
        }
    }

    /// The rule of an `allOf`: one object with the properties of all parts. Properties from the
    /// branches of an `anyOf` are optional. If parts are enums, their common values instead.
    fn all_of(
        &mut self,
        id: NodeId,
        parts: &[NodeId],
        name: &SmolStr,
        depth: usize,
    ) -> Result<Rule> {
        let graph = self.graph;
        let mut properties: Vec<Property> = Vec::new();
        let mut required = HashSet::new();
        // Values, each with the parts that list it.
        let mut enums: BTreeMap<String, (Rule, HashSet<NodeId>)> = BTreeMap::new();
        let mut ignored = Vec::new();
        // Objects that describe additional properties.
        let mut closed = Vec::new();
        for part in parts {
            let (components, is_required) = match graph.node(*part) {
                Node::AnyOf(branches) => (&**branches, false),
                _ => (std::slice::from_ref(part), true),
            };
            for component in components {
                let object = behind(graph, *component);
                match graph.node(object) {
                    Node::Object(own, additional) => {
                        if additional.is_some_and(|others| !graph.is_any(others)) {
                            closed.push((object, own));
                        }
                        properties.extend(own);
                        for property in own {
                            // llama.cpp makes all of them required. In a circle that would never
                            // end.
                            if is_required && (property.required || !self.circular[id]) {
                                required.insert(property.name);
                            }
                        }
                    }
                    Node::Enum(values) => {
                        for value in *values {
                            let rule = self.constant(*component, value)?;
                            enums
                                .entry(rule.to_string())
                                .or_insert((rule, HashSet::new()))
                                .1
                                .insert(*part);
                        }
                    }
                    Node::Any => {}
                    _ => ignored.push(*component),
                }
            }
        }
        for (object, own) in closed {
            let own: HashSet<&str> = own.iter().map(|property| property.name).collect();
            if properties
                .iter()
                .any(|property| !own.contains(property.name))
            {
                let message = "properties of other parts of an allOf are not held to it";
                self.widened(object, "additionalProperties", message);
            }
        }
        let had_enums = !enums.is_empty();
        let common: Vec<Rule> = enums
            .into_values()
            .filter(|(_, listing)| listing.len() == parts.len())
            .map(|(rule, _)| rule)
            .collect();
        for part in ignored {
            self.refused(
                part,
                "allOf merges objects and enums; this part is left out",
            );
        }
        if !common.is_empty() {
            return Ok(Rule::Choice(common).group());
        }
        if had_enums {
            self.refused(
                id,
                "the enums in allOf have no value in common and are left out",
            );
        }
        let mut last = HashMap::new();
        for property in &mut properties {
            property.required = required.contains(property.name);
            last.insert(property.name, property.schema);
        }
        let is_followed = properties.iter().all(|property| {
            last[property.name] == property.schema || graph.is_any(property.schema)
        });
        if !is_followed {
            self.widened(
                id,
                "allOf",
                "of several schemas for a property, only the last is followed",
            );
        }
        self.object(id, &properties, None, name, depth)
    }

    /// The required properties in order, then any of the others, in order.
    fn object(
        &mut self,
        id: NodeId,
        properties: &[Property],
        additional: Option<NodeId>,
        name: &SmolStr,
        depth: usize,
    ) -> Result<Rule> {
        let mut pairs: HashMap<&str, Rule> = HashMap::with_capacity(properties.len());
        for property in properties {
            let name = below(name, property.name);
            let value = self.visit(property.schema, &name, depth + 1)?;
            let pair = [
                Rule::Literal(as_json(property.name)),
                space(),
                Rule::literal(":"),
                space(),
                Rule::Reference(value),
            ];
            let name = format_smolstr!("{name}-kv");
            let pair = self.builder.refer(&name, Rule::sequence(pair));
            pairs.insert(property.name, pair);
        }
        let mut required = Vec::new();
        // Name, rule, and whether it may be repeated.
        let mut optional: Vec<(&str, Rule, bool)> = Vec::new();
        for property in properties {
            let pair = pairs[property.name].clone();
            if !property.required {
                optional.push((property.name, pair, false));
                continue;
            }
            if !required.is_empty() {
                required.push(comma());
            }
            required.push(pair);
        }
        if let Some(schema) = additional {
            let pair = self.additional(id, schema, properties, name, depth)?;
            optional.push(("*", pair, true));
        }

        let mut parts = vec![Rule::literal("{"), space()];
        let none_required = required.is_empty();
        if none_required && optional.is_empty() {
            parts.push(Rule::literal("}"));
            return Ok(Rule::Sequence(parts));
        }
        parts.push(Rule::joined(required));
        if !optional.is_empty() {
            let choice = Rule::Choice(self.subsets(&optional, name));
            parts.push(match none_required {
                true => choice.padded(Pad::After).optional(),
                false => Rule::sequence([comma(), choice.padded(Pad::Both)])
                    .padded(Pad::Both)
                    .optional(),
            });
        }
        parts.extend([space(), Rule::literal("}")]);
        Ok(Rule::Sequence(parts))
    }

    /// A branch for each property, with any of the later properties after it. Each tail has a rule,
    /// so the size is linear.
    fn subsets(&mut self, optional: &[(&str, Rule, bool)], name: &str) -> Vec<Rule> {
        let mut branches = Vec::with_capacity(optional.len());
        let mut tail: Option<Rule> = None;
        for (i, (property, pair, repeats)) in optional.iter().enumerate().rev() {
            let rest = tail.take().map(|tail| {
                let name = below(name, &format_smolstr!("{property}-rest"));
                self.builder.refer(&name, tail)
            });
            let again = Rule::sequence([comma(), pair.clone()]).padded(Pad::Both);
            let again = again.repeat(0, if *repeats { None } else { Some(1) });
            let mut branch = vec![pair.clone()];
            branch.extend(repeats.then(|| again.clone()));
            branch.extend(rest.clone());
            branches.push(Rule::Sequence(branch));
            if i > 0 {
                tail = Some(Rule::Sequence([again].into_iter().chain(rest).collect()));
            }
        }
        branches.reverse();
        branches
    }

    /// The rule of an additional property.
    fn additional(
        &mut self,
        id: NodeId,
        schema: NodeId,
        properties: &[Property],
        name: &SmolStr,
        depth: usize,
    ) -> Result<Rule> {
        let name = below(name, "additional");
        let value = match self.graph.node(schema) {
            Node::Any => self.builder.share("value"),
            _ => self.visit(schema, &format_smolstr!("{name}-value"), depth + 1)?,
        };
        let key = if properties.is_empty() {
            self.builder.shared("string")
        } else {
            let chars = self.builder.share("char");
            let names = properties.iter().map(|property| property.name);
            let (rule, complete) = excluded_keys::none_of(names, &chars);
            if !complete {
                let message =
                    "names that are long or need escapes may also come as additional properties";
                self.widened(id, "additionalProperties", message);
            }
            self.builder.refer(&format_smolstr!("{name}-k"), rule)
        };
        let pair = [key, Rule::literal(":"), space(), Rule::Reference(value)];
        let name = format_smolstr!("{name}-kv");
        Ok(self.builder.refer(&name, Rule::sequence(pair)))
    }

    fn string(&mut self, id: NodeId, text: &Text, rule_name: &SmolStr) -> Result<Rule> {
        if let Some(source) = text.pattern {
            return self.pattern(id, source, rule_name);
        }
        if let Some(format) = text.format {
            return Ok(self.builder.shared(format));
        }
        let char = self.builder.shared("char");
        let length = self.bounded(id, text.length, "minLength", "maxLength");
        Ok(quoted(char.repeat_or_nothing(length.min, length.max)))
    }

    fn pattern(&mut self, id: NodeId, source: &str, rule_name: &str) -> Result<Rule> {
        let pattern = match Pattern::parse(source) {
            Ok(pattern) => pattern,
            Err(pattern::Problem::Unsupported(why)) => {
                let message =
                    format!("pattern {source:?} is not supported ({why}); any string is allowed");
                self.widened(id, "pattern", &message);
                return Ok(self.builder.shared("string"));
            }
            Err(pattern::Problem::Invalid(why)) => {
                let message = format!("pattern {source:?} is not a regular expression: {why}");
                return Err(refused(&self.graph.pointer(id, ""), &message));
            }
        };
        for message in &pattern.widened {
            self.widened(id, "pattern", message);
        }
        Ok(quoted(pattern.rule(self.builder, rule_name).group()))
    }

    /// Adjusts bounds for llama.cpp's reader, which rejects large lower bounds and treats large
    /// upper ones as infinite.
    fn bounded(&mut self, id: NodeId, count: Count, min: &'static str, max: &'static str) -> Count {
        let most = limits::GBNF_REPETITIONS;
        if count.min > most {
            self.widened(
                id,
                min,
                &format!("lowered to {most}, the most that llama.cpp reads"),
            );
        }
        if count.max.is_some_and(|max| max > most) {
            self.widened(
                id,
                max,
                &format!("llama.cpp reads a bound over {most} as no bound"),
            );
        }
        Count {
            min: count.min.min(most),
            ..count
        }
    }

    fn widened(&mut self, id: NodeId, key: &str, message: &str) {
        self.notes
            .add(self.graph.pointer(id, key), FidelityKind::Widened, message);
    }

    fn refused(&mut self, id: NodeId, message: &str) {
        self.notes
            .add(self.graph.pointer(id, ""), FidelityKind::Refused, message);
    }
}

/// The shared rule that is equal to a node.
fn shared(graph: &Graph, id: NodeId) -> Option<&'static str> {
    match graph.node(id) {
        Node::Null => Some("null"),
        Node::Boolean => Some("boolean"),
        Node::Number => Some("number"),
        Node::Integer(None, None) => Some("integer"),
        Node::String(Text {
            pattern: None,
            format: None,
            length: Count::ANY,
        }) => Some("string"),
        Node::String(Text {
            pattern: None,
            format: Some("uuid"),
            ..
        }) => Some("uuid"),
        Node::Array(item, Count::ANY) if graph.is_any(*item) => Some("array"),
        _ => None,
    }
}

/// The nodes that are written into the rules of a node instead of being referred to.
fn written_out(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    match graph.node(id) {
        Node::AnyOf(branches) | Node::Tuple(branches) => branches.clone(),
        Node::Array(item, _) => vec![*item],
        Node::Object(properties, additional) => properties
            .iter()
            .map(|property| property.schema)
            .chain(*additional)
            .collect(),
        Node::AllOf(parts) => {
            let components = parts.iter().flat_map(|part| match graph.node(*part) {
                Node::AnyOf(branches) => branches.clone(),
                _ => vec![*part],
            });
            components
                .map(|component| behind(graph, component))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The node at the end of a chain of references.
fn behind(graph: &Graph, mut id: NodeId) -> NodeId {
    while let Node::Ref(pointer) = graph.node(id) {
        id = graph.target(pointer);
    }
    id
}

fn below(name: &str, part: &str) -> SmolStr {
    if name.is_empty() {
        part.into()
    } else {
        format_smolstr!("{name}-{part}")
    }
}

fn bracketed(inside: Rule) -> Rule {
    Rule::sequence([
        Rule::literal("["),
        space(),
        inside,
        space(),
        Rule::literal("]"),
    ])
}

/// A repetition with commas in between.
fn listed(item: Rule, count: Count) -> Rule {
    let Count { min, max } = count;
    if min == 0 && max.is_some_and(|max| max <= 1) {
        return item.repeat_or_nothing(min, max);
    }
    let more = Rule::sequence([comma(), item.clone()]).group();
    let more = more.repeat_or_nothing(min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
    let items = Rule::sequence([item, more]);
    if min == 0 {
        items.group().optional()
    } else {
        items
    }
}
