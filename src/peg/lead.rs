//! The texts that an expression begins with one of, whatever else it does: what a choice between many alternatives looks for.
//!
//! A lead is as long as nothing can be seen of the expression while it is read: no capture shows before its end. So where none of
//! the leads stands in the output, leaving the expression out changes nothing but the work.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::check::Checked;
use super::expr::{Arena, Expr, ExprId};
use super::marker::{self, Part};
use crate::limits;

/// In a lead: white space, as much as there is. No text has this byte.
pub(super) const SPACE: u8 = 0xFF;

/// Leads that one alternative may have. They end where there would be more.
const MOST: usize = 8;

/// The leads of a choice's alternatives.
pub(super) struct Leads {
    text: Vec<u8>,
    /// Of each lead, in the order of the alternatives: where it ends in the text, and whose it is.
    ends: Vec<(usize, usize)>,
    /// By alternative: its last lead, counted from 1.
    last: Vec<usize>,
}

impl Leads {
    /// `named`: rules are captured, too. `room`: how long all leads may be together; what they take is subtracted.
    pub fn new(arena: &Arena, checked: &Checked, named: bool, children: &[ExprId], room: &mut usize) -> Self {
        let mut leads = Leads {
            text: Vec::with_capacity(32 * children.len()),
            ends: Vec::with_capacity(children.len()),
            last: Vec::with_capacity(children.len()),
        };
        for (alternative, &child) in children.iter().enumerate() {
            let fuel = limits::LEAD_STEPS.min(*room);
            let mut finder = Finder { arena, checked, named, fuel, hidden: 0, captured: false };
            let mut texts = Texts::one();
            finder.add(child, &mut texts);
            texts.end();
            // What follows takes white space itself.
            let bare = |text: &Text| text.len() - usize::from(text.ends_with(&[SPACE]));
            // One that says nothing: the alternative is to be tried always.
            if texts.ended.iter().all(|text| bare(text) > 0) {
                for text in texts.ended {
                    leads.text.extend_from_slice(&text[..bare(&text)]);
                    leads.ends.push((leads.text.len(), alternative));
                    *room = room.saturating_sub(text.len());
                }
            }
            leads.last.push(leads.ends.len());
        }
        leads
    }

    /// A lead, and whose it is.
    pub fn get(&self, lead: usize) -> (&[u8], usize) {
        let start = lead.checked_sub(1).map_or(0, |before| self.ends[before].0);
        let (end, alternative) = self.ends[lead];
        (&self.text[start..end], alternative)
    }

    /// The leads of some alternatives.
    pub fn of(&self, alternatives: &Range<usize>) -> Range<usize> {
        let before = |alternative: usize| alternative.checked_sub(1).map_or(0, |before| self.last[before]);
        before(alternatives.start)..before(alternatives.end)
    }

    /// The alternatives that have leads, where so many of them stand side by side.
    pub fn runs(&self, least: usize) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < self.last.len() {
                let start = at;
                while at < self.last.len() && !self.of(&(at..at + 1)).is_empty() {
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

type Text = SmallVec<[u8; 64]>;

/// Texts of which what was looked at begins with one.
struct Texts {
    /// Those that what follows belongs to, too, and those that are as long as they can be.
    open: SmallVec<[Text; 1]>,
    ended: SmallVec<[Text; 1]>,
}

impl Texts {
    /// The empty one, to begin with.
    fn one() -> Self {
        Texts { open: smallvec![Text::new()], ended: SmallVec::new() }
    }

    fn end(&mut self) {
        self.ended.append(&mut self.open);
    }

    fn len(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// White space, as much as there is.
    fn space(&mut self) {
        self.open.iter_mut().filter(|open| !open.ends_with(&[SPACE])).for_each(|open| open.push(SPACE));
    }

    fn all(&self) -> impl Iterator<Item = &Text> {
        self.open.iter().chain(&self.ended)
    }

    /// These, each followed by one of those.
    fn then(&mut self, next: &Texts) {
        let open = std::mem::take(&mut self.open);
        let both = |before: &Text, after: &Text| {
            let twice = before.ends_with(&[SPACE]) && after.starts_with(&[SPACE]);
            before.iter().chain(behind(before, &after[usize::from(twice)..])).copied().collect()
        };
        for before in &open {
            self.open.extend(next.open.iter().map(|after| both(before, after)));
            self.ended.extend(next.ended.iter().map(|after| both(before, after)));
        }
    }
}

/// What of a text is left where white space in front of it has been taken already.
fn behind<'t>(before: &[u8], text: &'t [u8]) -> &'t [u8] {
    if before.ends_with(&[SPACE]) { text.trim_ascii_start() } else { text }
}

/// Whether no output begins with both.
fn exclude_each_other(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).find(|(one, other)| one != other);
    differ.is_some_and(|(one, other)| *one != SPACE && *other != SPACE)
}

/// Follows an expression as long as all of it is text.
struct Finder<'a> {
    arena: &'a Arena,
    checked: &'a Checked,
    named: bool,
    /// Expressions and bytes that may still be looked at.
    fuel: usize,
    /// Groups around the expression whose captures do not show yet, and whether they have any.
    hidden: usize,
    captured: bool,
}

impl Finder<'_> {
    /// Adds the texts of an expression to those of what stands in front of it.
    fn add(&mut self, id: ExprId, texts: &mut Texts) {
        if texts.open.is_empty() {
            return;
        }
        let Some(fuel) = self.fuel.checked_sub(1) else { return texts.end() };
        self.fuel = fuel;
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty => {}
            Expr::Literal(text) => self.text(text, texts),
            Expr::Space => texts.space(),
            Expr::Marker(text) => {
                for part in marker::parts(text) {
                    match part {
                        Part::Text(text) => self.text(text, texts),
                        Part::Space | Part::Gap | Part::Tail(_) => texts.space(),
                    }
                }
            }
            Expr::Sequence(children) => self.sequence(children, texts),
            Expr::Choice(children) => self.choice(children, texts),
            Expr::Repeat(child, 1.., _) => {
                self.add(*child, texts);
                texts.end();
            }
            Expr::Tag(_, child) => self.capture(*child, texts),
            Expr::Rule { child, .. } if self.named => self.capture(*child, texts),
            Expr::Atomic(child) => {
                self.hidden += 1;
                self.add(*child, texts);
                self.hidden -= 1;
                if self.hidden == 0 && self.captured {
                    texts.end();
                }
            }
            Expr::Rule { child, .. } | Expr::Tolerated(child) | Expr::Excluding(child, _) | Expr::Gbnf(child, _) => {
                self.add(*child, texts)
            }
            Expr::Schema(value) => self.add(value.child, texts),
            Expr::Ref(_) => self.add(self.checked.target(id), texts),
            _ => texts.end(),
        }
    }

    fn text(&mut self, text: &str, texts: &mut Texts) {
        if texts.open.is_empty() {
            return;
        }
        let some = text.len().min(self.fuel / texts.open.len());
        self.fuel -= some * texts.open.len();
        texts.open.iter_mut().for_each(|open| open.extend_from_slice(behind(open, &text.as_bytes()[..some])));
        if some < text.len() {
            texts.end();
        }
    }

    fn sequence(&mut self, children: &[ExprId], texts: &mut Texts) {
        for (place, &child) in children.iter().enumerate() {
            if texts.open.is_empty() {
                return;
            }
            match self.arena.get(child) {
                Expr::Repeat(child, 0, Some(1)) => return self.optional(*child, &children[place + 1..], texts),
                _ => self.add(child, texts),
            }
        }
    }

    /// What may be there, and what follows. It begins with either where no output can be both.
    fn optional(&mut self, child: ExprId, rest: &[ExprId], texts: &mut Texts) {
        let Some(fuel) = self.fuel.checked_sub(1) else { return texts.end() };
        self.fuel = fuel;
        let (mut with, mut without) = (Texts::one(), Texts::one());
        self.add(child, &mut with);
        self.sequence(rest, &mut without);
        let clear = with.all().all(|with| without.all().all(|without| exclude_each_other(with, without)));
        with.then(&without);
        if !clear || texts.open.len() * (with.len() + without.len()) > MOST {
            return texts.end();
        }
        with.open.append(&mut without.open);
        with.ended.append(&mut without.ended);
        texts.then(&with);
    }

    fn capture(&mut self, child: ExprId, texts: &mut Texts) {
        self.captured = true;
        if self.hidden > 0 { self.add(child, texts) } else { texts.end() }
    }

    /// What follows the choice belongs to its texts only where the first one that matches is the only one that does.
    fn choice(&mut self, children: &[ExprId], texts: &mut Texts) {
        let mut any = Texts { open: SmallVec::new(), ended: SmallVec::new() };
        let mut clear = true;
        for &child in children {
            let mut one = Texts::one();
            self.add(child, &mut one);
            if texts.open.len() * (any.len() + one.len()) > MOST {
                return texts.end();
            }
            clear = clear && one.all().all(|one| any.all().all(|other| exclude_each_other(one, other)));
            any.open.append(&mut one.open);
            any.ended.append(&mut one.ended);
        }
        if !clear {
            any.end();
        }
        texts.then(&any);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, TagId, check};
    use super::*;

    fn leads(build: impl Fn(&Builder) -> ExprId) -> Vec<String> {
        let p = Builder::new();
        let child = build(&p);
        let arena = p.finish(child);
        let checked = check::check(&arena).unwrap();
        let leads = Leads::new(&arena, &checked, false, &[child], &mut 1_000);
        let shown =
            |lead| leads.get(lead).0.split(|byte| *byte == SPACE).map(String::from_utf8_lossy).collect::<Vec<_>>();
        leads.of(&(0..1)).map(|lead| shown(lead).join("_")).collect()
    }

    #[test]
    fn what_each_expression_must_begin_with() {
        let is = |build: &dyn Fn(&Builder) -> ExprId, all: &[&str]| assert_eq!(leads(build), all);
        is(&|p| p.sequence([p.literal("a"), p.empty(), p.literal("b"), p.any(), p.literal("c")]), &["ab"]);
        is(&|p| p.sequence([p.space(), p.literal("a"), p.space(), p.space(), p.literal("b"), p.space()]), &["_a_b"]);
        is(&|p| p.sequence([p.space(), p.until("a")]), &[]);
        is(
            &|p| p.rule("a", p.sequence([p.literal("a"), p.rule("b", p.some(p.literal("b"))), p.literal("c")])),
            &["ab"],
        );
        is(&|p| p.literal("a".repeat(400)), &[&*"a".repeat(limits::LEAD_STEPS - 1)]);
        // What shows must be entered.
        let tag = |p: &Builder| p.tag(TagId(1), p.literal("b"));
        is(&|p| p.sequence([p.literal("a"), tag(p), p.literal("c")]), &["a"]);
        is(&|p| p.sequence([p.literal("a"), p.atomic(p.sequence([tag(p), p.literal("c")])), p.literal("d")]), &["abc"]);
        is(&|p| p.sequence([p.atomic(p.literal("a")), p.literal("b")]), &["ab"]);
        // One of several, where it is certain which.
        let choice = |p: &Builder, all: &[&str]| p.choice(all.iter().map(|text| p.literal(*text)).collect::<Vec<_>>());
        is(&|p| p.sequence([p.literal("a"), choice(p, &["b", "c"]), p.literal("d")]), &["abd", "acd"]);
        is(&|p| p.sequence([p.literal("a"), choice(p, &["b", "bc"]), p.literal("d")]), &["ab", "abc"]);
        is(&|p| p.sequence([p.literal("a"), choice(p, &["b", ""]), p.literal("d")]), &["ab", "a"]);
        is(&|p| p.sequence([choice(p, &["a", "b", "c"]), choice(p, &["x", "y", "z"])]), &["a", "b", "c"]);
        is(&|p| p.sequence([p.literal("a"), p.optional(p.literal("b")), p.literal("c")]), &["abc", "ac"]);
        is(&|p| p.sequence([p.literal("a"), p.optional(p.literal("b")), p.literal("bc")]), &["a"]);
    }
}
