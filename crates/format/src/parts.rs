//! The parts that a format is linked with: programs and rules that are made of one tool each.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use serde_json::{Map, Value};

use super::FormatSpec;
use super::harmony;
use super::late::{Want, rule_name};
use super::learnt::build_calls;
use super::lower::{Resolved, lower};
use chatparse_base::json;
use chatparse_base::store::{Store, hash_of};
use chatparse_grammar::{Grammar, Section, SectionRoot, TextSections, linked};
use chatparse_message::Tool;
use chatparse_peg::{self as peg, Arena, ExprId, Program};

/// What a part of a tool's calls is kept by: parts have no descriptions.
pub struct PartKey {
    /// The format's, without its tools.
    format: Arc<Resolved>,
    name: String,
    parameters: Arc<Value>,
    kind: PartKind,
}

/// The things that are made of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PartKind {
    /// The program of this call.
    Program(u32),
    /// The rules of these calls.
    Rules(Vec<u32>),
}

/// What is made of a tool.
#[derive(Clone)]
pub enum Part {
    /// `None`: it cannot be compiled.
    Program(Option<Arc<Program>>),
    /// The rules of its calls.
    Rules(Arc<Section>),
}

impl Part {
    fn bytes(&self) -> usize {
        match self {
            Part::Program(program) => program.as_ref().map_or(0, |program| program.bytes()),
            Part::Rules(rules) => rules.bytes(),
        }
    }
}

impl PartKey {
    fn is(&self, format: &Arc<Resolved>, tool: &Tool, kind: &PartKind) -> bool {
        let (own, parameters) = (&self.parameters, &tool.parameters);
        self.kind == *kind
            && self.name == tool.name
            && (Arc::ptr_eq(own, parameters) || json::same(own, parameters))
            && (Arc::ptr_eq(&self.format, format)
                || self.format.serves(&format.writing, &format.spec()))
    }
}

/// The parts that a format is linked with.
#[derive(Clone)]
pub struct Parts {
    /// How many there are.
    pub count: u32,
    /// The most alternatives of their choices.
    pub widest: u32,
    /// What they are made of.
    source: Arc<Resolved>,
    /// The same without its tools.
    format: Arc<Resolved>,
    /// Weak, because a cached format owns this, and the cache the format.
    kept: Weak<Store<PartKey, Part>>,
    texts: Arc<TextSections>,
}

impl Parts {
    /// So many parts, so wide, of this format. They are `kept` for other lists of tools.
    pub fn new(
        (count, widest): (u32, u32),
        source: &Arc<Resolved>,
        kept: Weak<Store<PartKey, Part>>,
        texts: Arc<TextSections>,
    ) -> Parts {
        let format = Resolved {
            tools: Vec::new(),
            ..Resolved::clone(source)
        };
        Parts {
            count,
            widest,
            source: Arc::clone(source),
            format: format.into(),
            kept,
            texts,
        }
    }

    /// The part of the tool that is kept, or a new one.
    fn get_or_make(&self, tool: &Tool, kind: PartKind, make: impl FnOnce() -> Part) -> Part {
        let Some(kept) = self.kept.upgrade() else {
            return make();
        };
        let hash = hash_of((
            &self.format.options,
            &self.format.opening,
            &tool.name,
            properties(tool),
            &kind,
        ));
        let known = kept.get(hash, |key| key.is(&self.format, tool, &kind));
        known.unwrap_or_else(|| {
            let part = make();
            let size = tool.name.len() + json::bytes(&tool.parameters) + part.bytes();
            let key = PartKey {
                format: Arc::clone(&self.format),
                name: tool.name.clone(),
                parameters: Arc::clone(&tool.parameters),
                kind,
            };
            kept.keep(hash, key, part.clone(), size_of::<PartKey>() + size);
            part
        })
    }

    /// The program of a part.
    pub fn program(&self, part: u32) -> Option<Arc<Program>> {
        let tools = self.source.spec().tools();
        let (tool, call) = (
            &tools[part as usize % tools.len()],
            part / tools.len() as u32,
        );
        let make = || Part::Program(self.source.program(tool, call).map(Arc::new));
        match self.get_or_make(tool, PartKind::Program(call), make) {
            Part::Program(program) => program,
            Part::Rules(_) => None,
        }
    }

    /// The rules of a tool, as far as a grammar has them.
    fn rules(&self, tool: &Tool, rules: Vec<u32>) -> Option<Arc<Section>> {
        let make = || Part::Rules(self.source.rules(tool, &rules, &self.texts).into());
        match self.get_or_make(tool, PartKind::Rules(rules.clone()), make) {
            Part::Rules(rules) => Some(rules),
            Part::Program(_) => None,
        }
    }

    /// The format with all of its parts.
    pub fn whole(&self, want: Want) -> Arena {
        lower(&self.source.writing, &self.source.spec(), want).output
    }

    /// The faithful grammar of a format whose `head` is linked with these parts; `None` if rules of
    /// one name differ.
    pub fn grammar(&self, head: &Arena, lazy: bool) -> Option<Grammar> {
        let tools = self.source.spec().tools();
        linked(
            head,
            lazy,
            &|place, rule| rule_name(&tools[place].name, rule),
            &self.texts,
            |rules| {
                let mut of_tools: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
                for (place, rule) in rules {
                    of_tools.entry(place).or_default().push(rule);
                }
                of_tools
                    .into_iter()
                    .filter_map(|(place, rules)| self.rules(&tools[place], rules))
                    .collect()
            },
        )
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} parts", self.count)
    }
}

impl Resolved {
    /// The program of one of a tool's calls.
    fn program(&self, tool: &Tool, call: u32) -> Option<Program> {
        let (mut arena, parts) = self.alone(tool, Want::Whole);
        arena.set_root(parts.into_iter().find(|(part, _)| *part == call)?.1);
        peg::compile_part(&arena).ok()
    }

    /// The rules of this tool, made of it alone.
    fn rules(&self, tool: &Tool, rules: &[u32], texts: &TextSections) -> Section {
        let (arena, built) = self.alone(tool, Want::Grammar);
        let built: BTreeMap<u32, ExprId> = built.into_iter().collect();
        let mut roots = Vec::new();
        for rule in rules {
            roots.extend(built.get(rule).map(|expr| SectionRoot {
                name: rule_name(&tool.name, *rule),
                expr: *expr,
            }));
        }
        Section::of_roots(&arena, &roots, texts)
    }

    /// The calls of this tool alone, and where their parts or rules are.
    fn alone(&self, tool: &Tool, want: Want) -> (Arena, Vec<(u32, ExprId)>) {
        let spec = FormatSpec {
            offered: std::slice::from_ref(tool),
            ..self.spec()
        };
        match self.writing.harmony {
            Some(dialect) => harmony::build_calls(&self.writing.tolerances, &spec, want, dialect),
            None => build_calls(&self.writing, &spec, want),
        }
    }
}

/// How many properties the schema of a tool has, which tells most tools of one name apart.
pub fn properties(tool: &Tool) -> Option<usize> {
    tool.parameters["properties"].as_object().map(Map::len)
}
