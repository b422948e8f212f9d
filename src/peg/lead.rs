//! The text that an expression begins with, whatever else it does: what a choice between many alternatives looks for.
//!
//! A lead is as long as nothing can be seen of the expression while it is read: no capture shows before its end. So where the
//! lead does not stand in the output, leaving the expression out changes nothing but the work.

use std::ops::Range;

use super::check::Checked;
use super::expr::{Arena, Expr, ExprId};
use crate::limits;

/// In a lead: white space, as much as there is. No text has this byte.
pub(super) const SPACE: u8 = 0xFF;

/// The leads of a choice's alternatives.
pub(super) struct Leads {
    text: Vec<u8>,
    /// By alternative.
    ends: Vec<usize>,
}

impl Leads {
    /// `named`: rules are captured, too. `room`: how long all leads may be together; what they take is subtracted.
    pub fn new(arena: &Arena, checked: &Checked, named: bool, children: &[ExprId], room: &mut usize) -> Self {
        let mut text = Vec::with_capacity(16 * children.len());
        let mut ends = Vec::with_capacity(children.len());
        for &child in children {
            let start = text.len();
            let fuel = limits::LEAD_STEPS.min(*room);
            let mut lead = Lead { arena, checked, named, text: &mut text, start, fuel, hidden: 0, captured: false };
            lead.add(child);
            // What follows takes white space itself.
            if text[start..].ends_with(&[SPACE]) {
                text.pop();
            }
            *room -= text.len() - start;
            ends.push(text.len());
        }
        Leads { text, ends }
    }

    /// How an alternative begins; empty where that cannot be told.
    pub fn of(&self, alternative: usize) -> &[u8] {
        let start = alternative.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[alternative]]
    }

    /// The alternatives that have leads, where so many of them stand side by side.
    pub fn runs(&self, least: usize) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < self.ends.len() {
                let start = at;
                while at < self.ends.len() && !self.of(at).is_empty() {
                    at += 1;
                }
                let run = start..at;
                at = at.max(start + 1);
                if run.len() >= least.max(1) {
                    return Some(run);
                }
            }
            None
        })
    }
}

/// Follows an expression as long as all of it is text.
struct Lead<'a> {
    arena: &'a Arena,
    checked: &'a Checked,
    named: bool,
    text: &'a mut Vec<u8>,
    start: usize,
    /// Expressions and bytes that may still be looked at.
    fuel: usize,
    /// Groups around the expression whose captures do not show yet, and whether they have any.
    hidden: usize,
    captured: bool,
}

impl Lead<'_> {
    /// Whether what follows the expression belongs to the lead, too.
    fn add(&mut self, id: ExprId) -> bool {
        let Some(fuel) = self.fuel.checked_sub(1) else { return false };
        self.fuel = fuel;
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty => true,
            Expr::Literal(text) => {
                let some = text.len().min(self.fuel);
                self.text.extend_from_slice(&text.as_bytes()[..some]);
                self.fuel -= some;
                some == text.len()
            }
            Expr::Space => {
                if self.text[self.start..].last() != Some(&SPACE) {
                    self.text.push(SPACE);
                }
                true
            }
            Expr::Sequence(children) => children.iter().all(|&child| self.add(child)),
            Expr::Tag(_, child) => self.capture(*child),
            Expr::Rule { child, .. } if self.named => self.capture(*child),
            Expr::Atomic(child) => {
                self.hidden += 1;
                let goes_on = self.add(*child);
                self.hidden -= 1;
                goes_on && !(self.hidden == 0 && self.captured)
            }
            Expr::Rule { child, .. }
            | Expr::Tolerated(child)
            | Expr::Excluding(child, _)
            | Expr::Gbnf(child, _) => self.add(*child),
            Expr::Schema(value) => self.add(value.child),
            Expr::Ref(_) => self.add(self.checked.target(id)),
            _ => false,
        }
    }

    fn capture(&mut self, child: ExprId) -> bool {
        self.captured = true;
        self.hidden > 0 && self.add(child)
    }
}
