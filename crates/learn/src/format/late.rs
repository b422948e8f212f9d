//! Formats for many tools, of which an output calls a few: what a call has behind its head is built where an output has it.
//!
//! The same code builds all of a format, the format without those parts, and one of the parts: so they have the same expressions. A part
//! has a number: the place of its tool, and which of the tool's calls it is. Without its parts a call differs from another tool's in the
//! name and in these numbers: it is built for one of them ([`Expr::Named`]).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::analysis::turn::{CallPiece, Glue, GluePiece, TurnFormat};
use chatparse_base::limits;
use chatparse_message::Tool;
use chatparse_peg::{self as peg, Arena, Expr, ExprId, Program};

/// What of a format is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// All of it.
    #[default]
    Whole,
    /// All of it, without what the rules of deviations read: no grammar has that.
    Grammar,
    /// All but parts that are built late, if there are many tools.
    Late,
    /// One of these.
    Part(u32),
}

/// Builds a format for many tools, and what of it is built late.
pub trait Source: Send + Sync {
    /// Builds what is wanted.
    fn build(&self, want: Want) -> Arena;

    /// The tool of a part, and which of its calls it is.
    fn tool(&self, part: u32) -> (&Tool, u32);

    /// Builds the part as if its tool was the only one, or `beside` one other.
    fn alone(&self, part: u32, beside: bool) -> Arena;
}

/// How a format's parts that are built late, and all of it, are built.
#[derive(Clone)]
pub struct Parts {
    /// How many there are.
    pub count: u32,
    /// The most alternatives of their choices.
    pub widest: u32,
    /// Builds them.
    pub source: Arc<dyn Source>,
    /// Compiles a part, or knows it already.
    pub compile: Arc<dyn Fn(u32) -> Option<Arc<Program>> + Send + Sync>,
}

impl Parts {
    /// Parts of which nothing is known.
    pub fn new(count: u32, widest: u32, source: Arc<dyn Source>) -> Parts {
        let builds = Arc::clone(&source);
        let compile = move |part| peg::compile_part(&builds.build(Want::Part(part))).ok().map(Arc::new);
        Parts { count, widest, source, compile: Arc::new(compile) }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} parts", self.count)
    }
}

/// Which calls of a format are built, and which of them are parts.
#[derive(Default)]
pub struct Late {
    pub(super) want: Want,
    /// What is added to the numbers of parts: several formats of one program have parts of their own.
    first: u32,
    /// For each tool whose calls are parts, how large they are; empty without parts.
    tools: Vec<Option<u32>>,
    /// For each tool, how many calls of it there are so far.
    calls: RefCell<Vec<u32>>,
    /// There are no more numbers.
    full: Cell<bool>,
    /// What calls have in front of their names does not depend on the tool.
    same_fronts: bool,
    /// The wanted part.
    pub(super) found: Cell<Option<ExprId>>,
}

impl Late {
    /// The calls of these tools in a turn like this. The first tool's are no parts: what all calls have in common is found there. But a
    /// part may be built of a tool alone, or beside another.
    pub fn of(turn: &TurnFormat, tools: &[Tool], want: Want) -> Late {
        if repeats_names(turn) {
            return Late::default();
        }
        let mut fronts = turn.calls.iter().flat_map(|form| form.pieces.iter().take_while(|piece| !piece.is_name()));
        Late { same_fronts: !fronts.any(CallPiece::holds_arguments), ..Late::of_tools(tools, want) }
    }

    /// The same of calls that begin alike and have their names once.
    pub fn of_tools(tools: &[Tool], want: Want) -> Late {
        let alone = tools.len() <= 2 && want != Want::Late;
        let many = alone || (limits::LATE_TOOLS..=limits::MOST_LATE_TOOLS).contains(&tools.len());
        if matches!(want, Want::Whole | Want::Grammar) || !many {
            return Late::default();
        }
        let weights = tools.iter().enumerate().map(|(place, tool)| match want {
            Want::Part(part) if part as usize % tools.len() != place => None,
            _ => Some(tool).filter(|_| alone || place > 0).and_then(|tool| weigh(&tool.parameters)),
        });
        let calls = RefCell::new(vec![0; tools.len()]);
        Late { want, tools: weights.collect(), calls, same_fronts: true, ..Late::default() }
    }

    /// The same, with this number for the first part; those that are wanted are counted from 0.
    pub fn numbered_from(self, first: u32) -> Late {
        Late { first, ..self }
    }

    /// Whether the calls of the tool at this place are built.
    pub(super) fn wants(&self, place: usize) -> bool {
        !matches!(self.want, Want::Part(part) if part as usize % self.tools.len().max(1) != place)
    }

    /// The number of the next call of the tool at this place, if it is a part, and whether it is wanted. A machine has two bytes for a
    /// number, and a value for no part.
    pub(super) fn part(&self, place: usize) -> Option<(u32, bool)> {
        (*self.tools.get(place)?)?;
        let mut calls = self.calls.borrow_mut();
        let count = calls.len() as u32;
        let part = place as u32 + calls[place] * count;
        calls[place] += 1;
        // Those of all tools, or none.
        let fits = self.first + calls[place] * count <= u16::MAX.into();
        self.full.set(self.full.get() || !fits);
        fits.then_some((self.first + part, self.want == Want::Part(part)))
    }

    /// Whether the calls of this tool are like those of others but for the name and the numbers of parts.
    pub(super) fn is_named(&self, place: usize, name: &str) -> bool {
        let plain = Expr::in_names();
        let late = self.want == Want::Late && self.tools.get(place).is_some_and(Option::is_some);
        late && self.same_fronts && !self.full.get() && !name.is_empty() && name.bytes().all(|c| plain.contains(c))
    }

    /// What is made of calls of the tool at this place; `None`, as if it was not made, if there are too few numbers for its parts.
    pub(super) fn unless_full(&self, place: usize, make: impl FnOnce() -> ExprId) -> Option<ExprId> {
        let before = self.calls.borrow()[place];
        let made = make();
        if self.full.get() {
            self.calls.borrow_mut()[place] = before;
        }
        (!self.full.get()).then_some(made)
    }

    /// How many parts there are.
    pub fn count(&self) -> u32 {
        let most = self.calls.borrow().iter().max().copied().unwrap_or_default();
        most * self.tools.len() as u32
    }

    /// How many there are, and how wide, if there are any.
    pub(super) fn parts(&self) -> Option<(u32, u32)> {
        Some((self.count(), self.widest())).filter(|(count, _)| *count > 0)
    }

    /// More alternatives than a choice of these tools' parts has.
    pub fn widest(&self) -> u32 {
        self.tools.iter().flatten().max().copied().unwrap_or_default()
    }
}

/// Whether calls have the tool's name beside its own place: then the markers that end them are not those of the first tool.
fn repeats_names(turn: &TurnFormat) -> bool {
    let repeats = |glue: &Glue| glue.pieces().any(|piece| piece == GluePiece::Name);
    turn.edges.iter().any(|edge| repeats(&edge.glue))
        || turn.calls.iter().any(|form| {
            let pieces = form.pieces.iter().any(|piece| match piece {
                CallPiece::Glue(glue) => repeats(glue),
                CallPiece::NamedId { .. } => true,
                CallPiece::Members(members) => {
                    let slots = members.slots.iter().flat_map(|(_, slot)| [&slot.before, &slot.open, &slot.close]);
                    slots.chain([&members.first, &members.next]).any(repeats)
                }
                _ => false,
            });
            pieces || repeats(&form.close)
        })
}

/// The number of values in a schema; `None` if it is large, or may be larger than it looks.
fn weigh(schema: &Value) -> Option<u32> {
    fn count(value: &Value, left: u32) -> Option<u32> {
        let left = left.checked_sub(1)?;
        match value {
            Value::Array(items) => items.iter().try_fold(left, |left, item| count(item, left)),
            Value::Object(members) => members.iter().try_fold(left, |left, (key, value)| match &**key {
                "$ref" | "$dynamicRef" | "$recursiveRef" => None,
                _ => count(value, left),
            }),
            _ => Some(left),
        }
    }
    count(schema, limits::LATE_TOOL_VALUES).map(|left| limits::LATE_TOOL_VALUES - left)
}
