//! Compiles an arena to a program: rules become subroutines, and all other expressions are laid out
//! in place. Checks the arena first ([`check`]) and adds the tests by which choices skip
//! alternatives (`first`, `lead`).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::check::{self, Checked};
use super::expr::{Arena, CharSet, Expr, ExprId, TagId};
use super::first::{First, Firsts};
use super::lead;
use super::marker::{self, Part};
use super::program::{Begin, Bounds, Late, Op, Program, Test};
use super::select::{Rest, Table};
use super::until::Markers;
use chatparse_base::bytes::Bytes;
use chatparse_base::{Error, Result, limits};

/// The number of adjacent alternatives from which on a choice uses one table for all. For fewer,
/// trying them in turn is as fast.
const MANY: usize = 8;

/// The number of alternatives from which on a choice is laid out once, and called from its place.
const WIDE: usize = 32;

/// Compiles the expressions that can be reached from the arena's root.
///
/// # Errors
/// If the root is missing, a reference refers to an undefined rule, rules are left-recursive, or
/// the nesting is deeper than [`chatparse_base::limits::EXPR_DEPTH`].
pub fn compile(arena: &Arena) -> Result<Program> {
    compile_to(arena, None, MANY, Op::Accept)
}

/// Like [`compile`], with parts ([`Expr::Late`]) that `part` compiles by their numbers
/// ([`compile_part`]), where a machine first enters one; a run that enters one that cannot be
/// compiled has reached its limit. `widest`: the most alternatives of their choices.
///
/// # Errors
/// As [`compile`].
pub fn compile_late(
    arena: &Arena,
    parts: u32,
    widest: u32,
    part: impl Fn(u32) -> Option<Arc<Program>> + Send + Sync + 'static,
) -> Result<Program> {
    let mut program = compile(arena)?;
    program.widest = program.widest.max(widest);
    program.late = Some(Arc::new(Late::new(parts, part)));
    Ok(program)
}

/// Compiles a part: the root of its arena. Programs of several formats may share it.
///
/// # Errors
/// As [`compile`].
pub fn compile_part(arena: &Arena) -> Result<Program> {
    compile_to(arena, None, MANY, Op::Return)
}

/// Like [`compile`], with regions for rules as well. A tag in the program is an index into the
/// returned list of regions.
pub fn compile_regions(arena: &Arena) -> Result<(Program, Vec<Region>)> {
    let mut regions = Regions::default();
    let program = compile_to(arena, Some(&mut regions), MANY, Op::Accept)?;
    if regions.list.len() > usize::from(u16::MAX) {
        return Err(Error::limit(format!(
            "the format has more than {} rules and tags",
            u16::MAX
        )));
    }
    Ok((program, regions.list))
}

/// `many`: see [`MANY`]; `end`: the instruction after the root.
pub fn compile_to(
    arena: &Arena,
    regions: Option<&mut Regions>,
    many: usize,
    end: Op,
) -> Result<Program> {
    let checked = check::check(arena)?;
    let mut out = Program {
        ops: Vec::with_capacity(2 * arena.len()),
        ..Program::default()
    };
    out.tests.reserve(arena.len() / 16);
    out.begins.reserve(64);
    let rules = vec![None; arena.len()];
    let firsts = Firsts::new(arena, &checked);
    let mut compiler = Compiler {
        arena,
        checked: &checked,
        out,
        rules,
        calls: Vec::new(),
        markers_at: vec![(0, 0); arena.len()],
        firsts,
        markers: BTreeMap::new(),
        begins: [0; 64],
        regions,
        many,
        room: limits::PROGRAM_SIZE,
        own: None,
        common: HashMap::new(),
    };
    compiler.expr(checked.root);
    compiler.emit(end);
    let mut next = 0;
    while next < compiler.calls.len() {
        let (rule, call) = compiler.calls[next];
        next += 1;
        let known = compiler.rules[rule.index()];
        let at = known.unwrap_or(compiler.here());
        compiler.out.ops[call] = Op::Call(at);
        if known.is_none() {
            compiler.rules[rule.index()] = Some(at);
            compiler.rule(rule);
            compiler.emit(Op::Return);
        }
    }
    Ok(compiler.out)
}

/// The expression that a captured region was matched by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// An expression with this tag.
    Tag(TagId),
    /// The rule of this name.
    Rule(String),
}

/// The captured regions of a program, without duplicates.
#[derive(Default)]
pub struct Regions {
    list: Vec<Region>,
    known: HashMap<Region, u16>,
}

impl Regions {
    /// Returns the tag of a region. At most `u16::MAX` regions have one; with more, the compilation
    /// fails.
    fn tag(&mut self, region: Region) -> TagId {
        let next = u16::try_from(self.list.len()).unwrap_or(u16::MAX);
        TagId(*self.known.entry(region).or_insert_with_key(|region| {
            self.list.push(region.clone());
            next
        }))
    }
}

struct Compiler<'a> {
    arena: &'a Arena,
    checked: &'a Checked,
    /// If set: collects the regions of tags and rules, and gives them tags that replace the
    /// arena's.
    regions: Option<&'a mut Regions>,
    out: Program,
    /// Addresses of compiled rules, by expression.
    rules: Vec<Option<u32>>,
    /// The rules that are called, and the addresses of the calls.
    calls: Vec<(ExprId, usize)>,
    /// By expression: the instructions of a marker that were emitted first, without its tail.
    markers_at: Vec<(usize, usize)>,
    /// The first bytes of the expressions.
    firsts: Firsts<'a>,
    /// By the markers of an expression, how many there are, and whether their white space may
    /// differ: indices of the program's.
    markers: BTreeMap<(usize, bool, &'a [SmolStr]), u32>,
    /// By hash: indices of some of the program's byte sets, to share them.
    begins: [u32; 64],
    /// See [`MANY`].
    many: usize,
    /// The bytes of text that choices with tables may still use, counted for each alternative.
    room: usize,
    /// In an [`Expr::Named`].
    own: Option<Own>,
    /// The expressions that several [`Expr::Named`] share, with the code that the first was
    /// compiled to.
    common: HashMap<ExprId, (Own, Range<Lengths>)>,
}

/// The own values of an [`Expr::Named`]: the index of its name, and the number that is added to
/// those of its parts.
#[derive(Clone, Copy)]
struct Own {
    name: u32,
    part: u32,
}

/// How much of a program, and how many calls, there were.
#[derive(Clone)]
struct Lengths {
    ops: usize,
    selects: usize,
    calls: usize,
}

impl<'a> Compiler<'a> {
    fn here(&self) -> u32 {
        self.out.ops.len() as u32
    }

    fn emit(&mut self, op: Op) -> usize {
        self.out.ops.push(op);
        self.out.ops.len() - 1
    }

    fn expr(&mut self, id: ExprId) {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty => {}
            Expr::Start => drop(self.emit(Op::Start)),
            Expr::End => drop(self.emit(Op::End)),
            Expr::Literal(text) if text.is_empty() => {}
            Expr::Literal(text) => self.literal(text.clone()),
            Expr::Marker(text) => self.marker(id, text),
            Expr::Sequence(children) => children.iter().for_each(|&child| self.expr(child)),
            Expr::Choice(children) if children.len() < WIDE || self.own.is_some() => {
                self.choice(children)
            }
            Expr::Repeat(child, min, max) => self.repeat(*child, *min, *max),
            Expr::And(child) => {
                self.emit(Op::AndBegin);
                self.expr(*child);
                self.emit(Op::AndEnd);
            }
            Expr::Not(child) => {
                let begin = self.emit(Op::NotBegin(0));
                self.expr(*child);
                self.emit(Op::NotEnd);
                self.out.ops[begin] = Op::NotBegin(self.here());
            }
            Expr::Any => drop(self.emit(Op::Any)),
            Expr::Space => drop(self.emit(Op::Space)),
            Expr::Char(set) => {
                let index = self.set(set);
                self.emit(Op::Char(index));
            }
            Expr::StringBody(delimiter) => drop(self.emit(Op::StringBody(*delimiter, *delimiter))),
            Expr::StringLine(delimiter) => drop(self.emit(Op::StringBody(*delimiter, b'\n'))),
            Expr::Until(markers) => self.until(markers, false),
            Expr::UntilMarker(markers) => self.until(markers, true),
            Expr::Tag(tag, child) => {
                let tag = match &mut self.regions {
                    Some(regions) => regions.tag(Region::Tag(*tag)),
                    None => *tag,
                };
                self.region(tag, *child);
            }
            Expr::Atomic(child) => {
                self.emit(Op::AtomicBegin);
                self.expr(*child);
                self.emit(Op::AtomicEnd);
            }
            Expr::Rule { name, child, .. } => match &mut self.regions {
                Some(regions) => {
                    let tag = regions.tag(Region::Rule(name.to_string()));
                    self.region(tag, *child);
                }
                None => self.expr(*child),
            },
            Expr::Late(part) => {
                self.emit(Op::Late(*part + self.own.map_or(0, |own| own.part)));
            }
            Expr::Ref(_) => self.call(self.checked.target(id)),
            Expr::Choice(_) | Expr::Named { .. } => self.call(id),
            // The parser uses the child of all other expressions.
            other => other.children().for_each(|child| self.expr(child)),
        }
    }

    fn call(&mut self, rule: ExprId) {
        let at = self.emit(Op::Call(0));
        self.calls.push((rule, at));
    }

    /// Lays out a called expression.
    fn rule(&mut self, id: ExprId) {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Choice(children) => self.choice(children),
            Expr::Named {
                child, name, part, ..
            } => {
                let own = Own {
                    name: self.add_literal(name.clone()),
                    part: *part,
                };
                if let Some((first, all)) = self.common.get(child).cloned() {
                    return self.copy(first, all, own);
                }
                let from = self.lengths();
                self.own = Some(own);
                self.expr(*child);
                self.own = None;
                let all = from..self.lengths();
                // A table may have the name in it.
                if all.start.selects == all.end.selects {
                    self.common.insert(*child, (own, all));
                }
            }
            _ => self.expr(id),
        }
    }

    fn lengths(&self) -> Lengths {
        Lengths {
            ops: self.out.ops.len(),
            selects: self.out.selects.len(),
            calls: self.calls.len(),
        }
    }

    /// Copies the code of the `first`, with other own values.
    fn copy(&mut self, first: Own, all: Range<Lengths>, own: Own) {
        let Program {
            ops,
            tests,
            repeats,
            ..
        } = &mut self.out;
        let from = ops.len();
        let shift = (from - all.start.ops) as u32;
        ops.extend_from_within(all.start.ops..all.end.ops);
        for op in &mut ops[from..] {
            match op {
                Op::Literal(index) if *index == first.name => *index = own.name,
                Op::Late(part) => *part = *part - first.part + own.part,
                Op::Choice(to) | Op::Commit(to) | Op::RepeatEnd(to) | Op::NotBegin(to) => {
                    *to += shift
                }
                Op::Test(index) => {
                    let test = tests[*index as usize];
                    *index = tests.len() as u32;
                    tests.push(Test {
                        other: test.other + shift,
                        ..test
                    });
                }
                Op::RepeatNext(index) => {
                    let bounds = repeats[*index as usize];
                    *index = repeats.len() as u32;
                    repeats.push(Bounds {
                        exit: bounds.exit + shift,
                        ..bounds
                    });
                }
                _ => {}
            }
        }
        for at in all.start.calls..all.end.calls {
            let (rule, call) = self.calls[at];
            self.calls.push((rule, call + shift as usize));
        }
    }

    fn literal(&mut self, text: SmolStr) {
        let index = match self.own {
            Some(own) if text == Expr::NAME => own.name,
            _ => self.add_literal(text),
        };
        self.emit(Op::Literal(index));
    }

    fn add_literal(&mut self, text: SmolStr) -> u32 {
        self.out.literals.push(text);
        self.out.literals.len() as u32 - 1
    }

    /// `spaced`: the markers' white space may differ.
    fn until(&mut self, markers: &'a [SmolStr], spaced: bool) {
        let all = &mut self.out.markers;
        let index = *self
            .markers
            .entry((markers.len(), spaced, markers))
            .or_insert_with(|| {
                all.push(Markers::new(markers, spaced));
                all.len() as u32 - 1
            });
        self.emit(Op::Until(index));
    }

    fn marker(&mut self, id: ExprId, text: &str) {
        let (core, tail) = text.split_at(text.trim_end().len());
        let (from, to) = self.markers_at[id.index()];
        let start = self.out.ops.len();
        // These instructions name no address, so they are the same in each place.
        if from < to && text != Expr::NAME {
            self.out.ops.extend_from_within(from..to);
        } else {
            marker::parts(core).for_each(|part| match part {
                Part::Text(text) => self.literal(text.into()),
                Part::Gap => {
                    let space = self.set(&marker::white_space());
                    self.emit(Op::Char(space));
                    self.emit(Op::Space);
                }
                Part::Space | Part::Tail(_) => drop(self.emit(Op::Space)),
            });
            self.markers_at[id.index()] = (start, self.out.ops.len());
        }
        // Each of these characters is optional, because the next text may begin with more white
        // space.
        for c in tail.chars() {
            let text = SmolStr::from_iter([c]);
            // A line break may have a return in it.
            let returns = First::of_literal("\r");
            let mut first = First::of_literal(&text);
            if c == '\n' {
                first = first.or(returns);
            }
            self.rounds(0, Some(1), first, |compiler| {
                if c == '\n' {
                    compiler.rounds(0, Some(1), returns, |compiler| {
                        compiler.literal("\r".into())
                    });
                }
                compiler.literal(text);
            });
        }
    }

    fn region(&mut self, tag: TagId, child: ExprId) {
        self.emit(Op::Open(tag));
        self.expr(child);
        self.emit(Op::Close(tag));
    }

    fn choice(&mut self, children: &[ExprId]) {
        let Some((&last, others)) = children.split_last() else {
            self.emit(Op::Fail);
            return;
        };
        self.out.widest = self.out.widest.max(children.len() as u32);
        // For each of the other alternatives, the last one first: its beginning, and the first
        // bytes for which a later one must be tried.
        let mut firsts: SmallVec<[(First, Bytes); 4]> = SmallVec::new();
        let last = self.firsts.of(last);
        let mut later = last.tries();
        for &child in others.iter().rev() {
            let first = self.firsts.of(child);
            firsts.push((first, later));
            later = later.or(first.tries());
        }
        firsts.reverse();
        let all = firsts.iter().map(|(first, _)| first).chain([&last]);
        let mut tables = self.tables(children, all).into_iter().peekable();
        let mut commits: SmallVec<[usize; 8]> = SmallVec::new();
        // Whether an earlier test lets a byte through only if this alternative or a later one must
        // be tried.
        let mut tested = false;
        let mut next = 0;
        while let Some(&child) = children.get(next) {
            if let Some((run, table)) = tables.next_if(|(run, _)| run.start == next) {
                let later = firsts.get(run.end - 1).map(|&(_, later)| later);
                self.select(&children[run.clone()], table, later, &mut commits);
                (next, tested) = (run.end, true);
                continue;
            }
            let Some(&(first, later)) = firsts.get(next) else {
                self.expr(child);
                break;
            };
            next += 1;
            let begin = Begin {
                bytes: first.enters(),
                wide: first.wide & !first.passes,
            };
            // This test would always push the other alternatives.
            let always = begin.bytes == later
                && if tested {
                    !begin.wide
                } else {
                    later == Bytes::ALL
                };
            let needed = first.looks && !always;
            tested = needed || (tested && always);
            let at = self.emit(Op::Choice(0));
            self.expr(child);
            commits.push(self.emit(Op::Commit(0)));
            let other = self.here();
            self.out.ops[at] = if needed {
                self.test(begin, later, other)
            } else {
                Op::Choice(other)
            };
        }
        for commit in commits {
            self.out.ops[commit] = Op::Commit(self.here());
        }
    }

    /// Finds the runs of alternatives that are worth a table, and builds the tables. `firsts`:
    /// their beginnings.
    fn tables<'f>(
        &mut self,
        children: &[ExprId],
        firsts: impl Iterator<Item = &'f First>,
    ) -> Vec<(Range<usize>, Table)> {
        // The longest run of alternatives that may begin with a text: a match of one that may begin
        // with a character of a set, or with nothing, does not.
        let (mut run, mut longest) = (0, 0);
        for first in firsts {
            run = if first.passes || first.wide {
                0
            } else {
                run + 1
            };
            longest = longest.max(run);
        }
        if longest < self.many {
            return Vec::new();
        }
        let leads = lead::of(
            self.arena,
            self.checked,
            self.regions.is_some(),
            children,
            &mut self.room,
        );
        let runs = lead::runs(&leads, self.many).into_iter();
        runs.map(|run| (run.clone(), Table::new(&leads[run])))
            .collect()
    }

    /// `later`: the first bytes for which the alternatives after these must be tried; `None` if
    /// there are none.
    fn select(
        &mut self,
        children: &[ExprId],
        table: Table,
        later: Option<Bytes>,
        commits: &mut SmallVec<[usize; 8]>,
    ) {
        let begin = later.map(|bytes| self.begin(Begin { bytes, wide: false }));
        let index = self.out.selects.len();
        self.out.selects.push(table);
        for (place, &child) in children.iter().enumerate() {
            let head = self.emit(Op::Select(index as u32)) as u32;
            self.out.selects[index].heads.push(head);
            self.expr(child);
            if place + 1 < children.len() || begin.is_some() {
                commits.push(self.emit(Op::Commit(0)));
            }
        }
        self.out.selects[index].rest = begin.map(|begin| Rest {
            at: self.here(),
            begin,
        });
    }

    fn test(&mut self, begin: Begin, later: Bytes, other: u32) -> Op {
        let (begin, later) = (
            self.begin(begin),
            self.begin(Begin {
                bytes: later,
                wide: false,
            }),
        );
        self.out.tests.push(Test {
            begin,
            later,
            other,
        });
        Op::Test(self.out.tests.len() as u32 - 1)
    }

    fn begin(&mut self, begin: Begin) -> u32 {
        let (begins, known) = (&mut self.out.begins, &mut self.begins[begin.hash()]);
        if begins.get(*known as usize) != Some(&begin) {
            *known = begins.len() as u32;
            begins.push(begin);
        }
        *known
    }

    fn repeat(&mut self, child: ExprId, min: u32, max: Option<u32>) {
        if let (Expr::Char(set), 0..=1, None) = (self.arena.get(child), min, max) {
            let index = self.set(set);
            if min == 1 {
                self.emit(Op::Char(index));
            }
            self.emit(Op::Span(index));
            return;
        }
        let first = self.firsts.of(child);
        self.rounds(min, max, first, |compiler| compiler.expr(child));
    }

    fn rounds(&mut self, min: u32, max: Option<u32>, first: First, round: impl FnOnce(&mut Self)) {
        let index = self.out.repeats.len();
        let begin = self.begin(Begin {
            bytes: first.bytes,
            wide: first.wide,
        });
        self.out.repeats.push(Bounds {
            min,
            max,
            exit: 0,
            begin,
        });
        self.emit(Op::RepeatBegin);
        let next = self.here();
        self.emit(Op::RepeatNext(index as u32));
        round(self);
        self.emit(Op::RepeatEnd(next));
        self.out.repeats[index].exit = self.here();
    }

    fn set(&mut self, set: &CharSet) -> u32 {
        let sets = &mut self.out.sets;
        let known = sets.iter().position(|known| known == set);
        if known.is_none() {
            sets.push(set.clone());
        }
        known.unwrap_or(sets.len() - 1) as u32
    }
}
