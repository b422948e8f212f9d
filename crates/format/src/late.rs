//! Calls of tools, of which an output has a few: a grammar links the rule of a tool's call, a
//! program what a call has after its head.
//!
//! Both depend on the writing, the options and the tool alone. So they are built from the calls of
//! that tool alone, the program where an output has it and the rules where a grammar is asked for,
//! and kept for other lists of tools. A part of a program has a number: the place of its tool, and
//! which of the tool's parts it is. Without its parts a call differs from another tool's in the
//! name and in these numbers: it is built for one of them ([`Expr::Named`]).

use std::cell::{Cell, RefCell};

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use chatparse_base::limits;
use chatparse_learn::analysis::turn::{CallPiece, Glue, GluePiece, TurnFormat};
use chatparse_message::Tool;
use chatparse_peg::{Expr, ExprId};

/// What of a format is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// All of it.
    #[default]
    Whole,
    /// All of it, without what the rules of deviations read: no grammar has that.
    Grammar,
    /// Numbers in place of parts.
    Linked,
}

/// Which of a format's calls are parts.
#[derive(Default)]
pub struct Late {
    want: Want,
    /// What is added to the numbers of parts: several formats of one program have parts of their
    /// own.
    pub first: u32,
    /// For each tool whose calls are parts, how large they are; empty without parts.
    tools: Vec<Option<u32>>,
    /// For each tool, how many parts it has so far.
    calls: RefCell<Vec<u32>>,
    /// How many rules each tool has so far.
    rules: Cell<u32>,
    /// There are no more numbers.
    full: Cell<bool>,
    /// What calls have before their names does not depend on the tool.
    same_fronts: bool,
    /// The parts that are built for a parser, or the rules for a grammar.
    built: RefCell<Vec<(u32, ExprId)>>,
}

impl Late {
    /// The calls of these tools in a turn like this. Where parts are linked, the first tool's are
    /// none: what all calls have in common is found there.
    pub fn of(turn: &TurnFormat, tools: &[Tool], want: Want) -> Late {
        if repeats_names(turn) {
            return Late::unlinked(want);
        }
        let mut fronts = turn
            .calls
            .iter()
            .flat_map(|form| form.pieces.iter().take_while(|piece| !piece.is_name()));
        Late {
            same_fronts: !fronts.any(CallPiece::holds_arguments),
            ..Late::of_tools(tools, want)
        }
    }

    /// The same of calls that begin alike and have their names once.
    pub fn of_tools(tools: &[Tool], want: Want) -> Late {
        let linked = want == Want::Linked;
        if want == Want::Grammar || linked && tools.len() > limits::LATE_TOOLS {
            return Late::unlinked(want);
        }
        let weights = tools.iter().enumerate().map(|(place, tool)| {
            if linked {
                weigh(&tool.parameters).filter(|_| place > 0)
            } else {
                Some(0)
            }
        });
        Late {
            want,
            tools: weights.collect(),
            calls: RefCell::new(vec![0; tools.len()]),
            same_fronts: true,
            ..Late::default()
        }
    }

    /// Of calls without parts.
    fn unlinked(want: Want) -> Late {
        Late {
            want: if want == Want::Linked {
                Want::Whole
            } else {
                want
            },
            ..Late::default()
        }
    }

    /// The number of the next part of a tool, if its calls have parts: that of the tool at the
    /// first place, to which the place is added. A machine has two bytes for a number, and a value
    /// for no part.
    pub fn part(&self, place: usize) -> Option<u32> {
        (*self.tools.get(place)?)?;
        let mut calls = self.calls.borrow_mut();
        let count = calls.len() as u32;
        let call = calls[place];
        calls[place] += 1;
        if self.want != Want::Linked {
            return Some(call);
        }
        // Those of all tools, or none.
        let fits = !self.full.get() && self.first + (call + 1) * count <= u16::MAX.into();
        self.full.set(!fits);
        fits.then_some(self.first + call * count)
    }

    /// The number of the next rule of each tool.
    pub fn rule(&self) -> u32 {
        self.rules.replace(self.rules.get() + 1)
    }

    /// Whether parts are numbers.
    pub fn is_linked(&self) -> bool {
        self.want == Want::Linked
    }

    /// Whether rules are built for a grammar.
    pub fn is_of_grammar(&self) -> bool {
        self.want == Want::Grammar
    }

    /// Notes a part or a rule that is built.
    pub fn note(&self, part: u32, expr: ExprId) {
        self.built.borrow_mut().push((part, expr));
    }

    /// The parts or rules that are built, by number.
    pub fn built(&self) -> Vec<(u32, ExprId)> {
        self.built.take()
    }

    /// Whether the calls of this tool have parts that are linked.
    pub fn is_part(&self, place: usize, name: &str) -> bool {
        let late = self.is_linked() && self.tools.get(place).is_some_and(Option::is_some);
        late && !self.full.get() && !name.is_empty()
    }

    /// Whether such calls are like those of other tools except for the name and the numbers of
    /// parts.
    pub fn is_named(&self, name: &str) -> bool {
        let in_names = Expr::in_names();
        // What a grammar has of calls may depend on a namespace in the name.
        self.same_fronts && name.bytes().all(|c| c != b'.' && in_names.contains(c))
    }

    /// What is made of calls of the tool at this place; `None`, as if it was not made, if there are
    /// too few numbers for its parts.
    pub fn unless_full(&self, place: usize, make: impl FnOnce() -> ExprId) -> Option<ExprId> {
        let before = self.calls.borrow()[place];
        let made = make();
        if self.full.get() {
            self.calls.borrow_mut()[place] = before;
        }
        (!self.full.get()).then_some(made)
    }

    /// How many parts there are.
    pub fn count(&self) -> u32 {
        self.calls.borrow().iter().copied().max().unwrap_or(0) * self.tools.len() as u32
    }

    /// How many are linked, and how wide, if calls are linked.
    pub fn parts(&self) -> Option<(u32, u32)> {
        (self.is_linked() && self.rules.get() > 0).then(|| (self.count(), self.widest()))
    }

    /// More alternatives than a choice of these tools' parts has.
    pub fn widest(&self) -> u32 {
        self.tools.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// The name of a rule of this tool's calls.
pub fn rule_name(tool: &str, rule: u32) -> SmolStr {
    match rule {
        0 => format_smolstr!("tool-{tool}"),
        rule => format_smolstr!("tool-{tool}-call-{rule}"),
    }
}

/// Whether calls have the tool's name beside its own place: then the markers that end them are not
/// those of the first tool.
fn repeats_names(turn: &TurnFormat) -> bool {
    let repeats = |glue: &Glue| glue.pieces().any(|piece| piece == GluePiece::Name);
    turn.edges.iter().any(|edge| repeats(&edge.glue))
        || turn.calls.iter().any(|form| {
            let pieces = form.pieces.iter().any(|piece| match piece {
                CallPiece::Glue(glue) => repeats(glue),
                CallPiece::NamedId { .. } => true,
                CallPiece::Members(members) => {
                    let slots = members
                        .slots
                        .iter()
                        .flat_map(|(_, slot)| [&slot.before, &slot.open, &slot.close]);
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
            Value::Object(members) => {
                members
                    .iter()
                    .try_fold(left, |left, (key, value)| match &**key {
                        "$ref" | "$dynamicRef" | "$recursiveRef" => None,
                        _ => count(value, left),
                    })
            }
            _ => Some(left),
        }
    }
    count(schema, limits::LATE_TOOL_VALUES).map(|left| limits::LATE_TOOL_VALUES - left)
}
