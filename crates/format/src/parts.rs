//! The parts that a format is linked with: programs and rules that are made of one tool each.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::FormatSpec;
use super::harmony;
use super::late::{Want, rule_name};
use super::learnt::build_calls;
use super::lower::{Resolved, lower};
use chatparse_grammar::{Grammar, Section, SectionRoot, TextSections, linked};
use chatparse_message::Tool;
use chatparse_peg::{self as peg, Arena, ExprId, Program};

/// Makes what is made of a tool's parts, or knows it from another list of tools.
pub trait PartMaker: Send + Sync {
    /// The program of a part.
    fn program(&self, source: &Arc<Resolved>, part: u32) -> Option<Arc<Program>>;

    /// The rules of the tool at this place, as far as a grammar has them.
    fn rules(&self, source: &Arc<Resolved>, place: usize, rules: &[u32]) -> Arc<Section>;

    /// The rules of texts that it has made.
    fn texts(&self) -> &TextSections;
}

/// Makes all anew.
#[derive(Default)]
pub struct Anew(TextSections);

impl PartMaker for Anew {
    fn program(&self, source: &Arc<Resolved>, part: u32) -> Option<Arc<Program>> {
        source.program(part).map(Arc::new)
    }

    fn rules(&self, source: &Arc<Resolved>, place: usize, rules: &[u32]) -> Arc<Section> {
        Arc::new(source.rules(place, rules, &self.0))
    }

    fn texts(&self) -> &TextSections {
        &self.0
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
    pub source: Arc<Resolved>,
    /// Makes them.
    pub maker: Arc<dyn PartMaker>,
}

impl Parts {
    /// The program of a part.
    pub fn program(&self, part: u32) -> Option<Arc<Program>> {
        self.maker.program(&self.source, part)
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
            self.maker.texts(),
            |rules| {
                let mut of_tools: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
                for (place, rule) in rules {
                    of_tools.entry(place).or_default().push(rule);
                }
                of_tools
                    .iter()
                    .map(|(place, rules)| self.maker.rules(&self.source, *place, rules))
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
    /// The tool of a part, and which of its calls it is.
    pub fn part(&self, part: u32) -> (&Tool, u32) {
        let tools = self.spec().tools();
        (
            &tools[part as usize % tools.len()],
            part / tools.len() as u32,
        )
    }

    /// The program of a part.
    pub fn program(&self, part: u32) -> Option<Program> {
        let (tool, call) = self.part(part);
        let (mut arena, parts) = self.alone(tool, Want::Whole);
        arena.set_root(parts.into_iter().find(|(part, _)| *part == call)?.1);
        peg::compile_part(&arena).ok()
    }

    /// The rules of the tool at this place, made of it alone.
    pub fn rules(&self, place: usize, rules: &[u32], texts: &TextSections) -> Section {
        let tool = &self.spec().tools()[place];
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
    pub fn alone(&self, tool: &Tool, want: Want) -> (Arena, Vec<(u32, ExprId)>) {
        let spec = FormatSpec {
            offered: std::slice::from_ref(tool),
            ..self.spec()
        };
        let calls = match self.writing.harmony {
            Some(dialect) => harmony::build_calls(&self.writing.tolerances, &spec, want, dialect),
            None => build_calls(&self.writing, &spec, want),
        };
        (calls.output, calls.part_exprs)
    }
}
