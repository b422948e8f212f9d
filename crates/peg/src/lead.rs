//! Computes the leads of expressions: texts, one of which each match begins with. A wide choice is
//! decided by them.
//!
//! A lead stops before the first capture becomes visible. So if the output has none of an
//! expression's leads, skipping the expression changes nothing except the work.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::check::Checked;
use super::expr::{Arena, Expr, ExprId};
use super::marker::{self, Part};
use chatparse_base::limits;

/// Any amount of white space in a lead. The byte does not occur in UTF-8.
pub const SPACE: u8 = 0xFF;

/// The place of the name in the leads that several [`Expr::Named`] share. UTF-8 does not have this
/// byte either.
const NAME: u8 = 0xFE;

/// The most leads that one alternative may have. Leads are cut where there would be more.
const MOST: usize = 8;

/// The leads of one alternative; none where it must always be tried.
pub type Leads = SmallVec<[Text; 1]>;

/// The leads of a choice's alternatives. `named`: rules are captured as well. `room`: bytes that
/// all leads may take together; the bytes used are subtracted.
pub fn of(
    arena: &Arena,
    checked: &Checked,
    named: bool,
    children: &[ExprId],
    room: &mut usize,
) -> Vec<Leads> {
    let mut finder = Finder {
        arena,
        checked,
        named,
        fuel: 0,
        hidden: 0,
        captured: false,
    };
    // The leads that the last named alternatives have in common.
    let mut common = (None, Leads::new());
    let mut all = Vec::with_capacity(children.len());
    for &child in children {
        let leads = match arena.get(child) {
            Expr::Named { child, name, .. } => {
                if common.0 != Some(*child) {
                    common = (Some(*child), finder.leads(*child, *room));
                }
                with_names(&common.1, name)
            }
            _ => with_names(&finder.leads(child, *room), Expr::NAME),
        };
        *room = room.saturating_sub(leads.iter().map(|lead| lead.len()).sum());
        all.push(leads);
    }
    all
}

/// The leads of an alternative, with its name.
fn with_names(texts: &[Text], name: &str) -> Leads {
    let mut leads = Leads::new();
    for text in texts {
        // The next expression accepts white space itself.
        let lead = with_name(text.strip_suffix(&[SPACE]).unwrap_or(text), name);
        // An alternative with an empty lead must always be tried.
        if lead.is_empty() {
            return Leads::new();
        }
        leads.push(lead);
    }
    leads
}

/// The runs of at least `least` adjacent alternatives that have leads.
pub fn runs(all: &[Leads], least: usize) -> Vec<Range<usize>> {
    let (mut runs, mut start) = (Vec::new(), 0);
    for end in 0..=all.len() {
        if all.get(end).is_none_or(|leads| leads.is_empty()) {
            runs.extend(Some(start..end).filter(|run| run.len() >= least.max(1)));
            start = end + 1;
        }
    }
    runs
}

pub type Text = SmallVec<[u8; 64]>;

/// The texts that the expressions seen so far begin with.
struct Texts {
    /// Texts that the next expression extends, and texts that are complete.
    open: SmallVec<[Text; 1]>,
    ended: SmallVec<[Text; 1]>,
}

impl Texts {
    /// The empty text only.
    fn one() -> Self {
        Texts {
            open: smallvec![Text::new()],
            ended: SmallVec::new(),
        }
    }

    fn end(&mut self) {
        self.ended.append(&mut self.open);
    }

    fn len(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// Extends the texts by optional white space.
    fn space(&mut self) {
        self.open
            .iter_mut()
            .filter(|open| !open.ends_with(&[SPACE]))
            .for_each(|open| open.push(SPACE));
    }

    fn all(&self) -> impl Iterator<Item = &Text> {
        self.open.iter().chain(&self.ended)
    }

    /// Whether no output has one of these and one of the others.
    fn excludes(&self, other: &Texts) -> bool {
        self.all()
            .all(|one| other.all().all(|other| exclude_each_other(one, other)))
    }

    /// Adds other texts.
    fn add(&mut self, mut other: Texts) {
        self.open.append(&mut other.open);
        self.ended.append(&mut other.ended);
    }

    /// Extends each text by each of `next`.
    fn then(&mut self, next: &Texts) {
        for before in &std::mem::take(&mut self.open) {
            self.open
                .extend(next.open.iter().map(|after| joined(before, after)));
            self.ended
                .extend(next.ended.iter().map(|after| joined(before, after)));
        }
    }
}

fn joined(before: &Text, after: &Text) -> Text {
    let twice = before.ends_with(&[SPACE]) && after.starts_with(&[SPACE]);
    let mut both = before.clone();
    both.extend_from_slice(behind(before, &after[usize::from(twice)..]));
    both
}

/// `text` without leading white space, if `before` ends with white space that has matched it
/// already.
fn behind<'t>(before: &[u8], text: &'t [u8]) -> &'t [u8] {
    if before.ends_with(&[SPACE]) {
        text.trim_ascii_start()
    } else {
        text
    }
}

/// A text with this in place of each [`NAME`].
fn with_name(text: &[u8], name: &str) -> Text {
    let mut named = Text::new();
    for (place, part) in text.split(|byte| *byte == NAME).enumerate() {
        if place > 0 {
            named.extend_from_slice(name.as_bytes());
        }
        named.extend_from_slice(part);
    }
    named
}

/// Whether no output can begin with both texts.
fn exclude_each_other(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).find(|(one, other)| one != other);
    differ.is_some_and(|(&one, &other)| !may_match(one, other) && !may_match(other, one))
}

/// Whether white space or a name may have this other byte.
fn may_match(open: u8, byte: u8) -> bool {
    open == SPACE || open == NAME && Expr::in_names().contains(byte)
}

/// Follows an expression for as long as it consists of text.
struct Finder<'a> {
    arena: &'a Arena,
    checked: &'a Checked,
    named: bool,
    /// Expressions and bytes that may still be visited.
    fuel: usize,
    /// The number of enclosing groups that hide their captures, and whether one has captures.
    hidden: usize,
    captured: bool,
}

impl Finder<'_> {
    /// The texts that an expression begins with. `room`: the most bytes of them.
    fn leads(&mut self, id: ExprId, room: usize) -> Leads {
        self.fuel = limits::LEAD_STEPS.min(room);
        (self.hidden, self.captured) = (0, false);
        let mut texts = Texts::one();
        self.add(id, &mut texts);
        texts.end();
        texts.ended
    }

    /// Extends the texts by an expression.
    fn add(&mut self, id: ExprId, texts: &mut Texts) {
        if texts.open.is_empty() {
            return;
        }
        let Some(fuel) = self.fuel.checked_sub(1) else {
            return texts.end();
        };
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
            Expr::Rule { child, .. }
            | Expr::Tolerated(child)
            | Expr::Excluding(child, _)
            | Expr::Gbnf(child, _)
            | Expr::Written(child, _) => self.add(*child, texts),
            Expr::Named { child, name, .. } => {
                let mut one = Texts::one();
                self.add(*child, &mut one);
                if texts.open.len() * one.len() > MOST {
                    return texts.end();
                }
                for text in one.open.iter_mut().chain(&mut one.ended) {
                    *text = with_name(text, name);
                }
                texts.then(&one);
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
        let text = if text == Expr::NAME {
            &[NAME]
        } else {
            text.as_bytes()
        };
        let some = text.len().min(self.fuel / texts.open.len());
        self.fuel -= some * texts.open.len();
        texts
            .open
            .iter_mut()
            .for_each(|open| open.extend_from_slice(behind(open, &text[..some])));
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
                Expr::Repeat(child, 0, Some(1)) => {
                    return self.optional(*child, &children[place + 1..], texts);
                }
                _ => self.add(child, texts),
            }
        }
    }

    /// An optional child and the expressions after it. The texts split in two if no output can
    /// begin with both.
    fn optional(&mut self, child: ExprId, rest: &[ExprId], texts: &mut Texts) {
        let Some(fuel) = self.fuel.checked_sub(1) else {
            return texts.end();
        };
        self.fuel = fuel;
        let (mut with, mut without) = (Texts::one(), Texts::one());
        self.add(child, &mut with);
        self.sequence(rest, &mut without);
        let clear = with.excludes(&without);
        with.then(&without);
        if !clear || texts.open.len() * (with.len() + without.len()) > MOST {
            return texts.end();
        }
        with.add(without);
        texts.then(&with);
    }

    fn capture(&mut self, child: ExprId, texts: &mut Texts) {
        self.captured = true;
        if self.hidden > 0 {
            self.add(child, texts)
        } else {
            texts.end()
        }
    }

    /// The texts of a choice can be extended only if at most one of its alternatives can match.
    fn choice(&mut self, children: &[ExprId], texts: &mut Texts) {
        let mut any = Texts {
            open: SmallVec::new(),
            ended: SmallVec::new(),
        };
        let mut clear = true;
        for &child in children {
            let mut one = Texts::one();
            self.add(child, &mut one);
            if texts.open.len() * (any.len() + one.len()) > MOST {
                return texts.end();
            }
            clear = clear && one.excludes(&any);
            any.add(one);
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
        let leads = of(&arena, &checked, false, &[child], &mut 1_000);
        let shown = |lead: &Text| {
            lead.split(|byte| *byte == SPACE)
                .map(String::from_utf8_lossy)
                .collect::<Vec<_>>()
                .join("_")
        };
        leads[0].iter().map(shown).collect()
    }

    #[test]
    fn what_each_expression_must_begin_with() {
        let is = |build: &dyn Fn(&Builder) -> ExprId, all: &[&str]| assert_eq!(leads(build), all);
        is(
            &|p| {
                p.sequence([
                    p.literal("a"),
                    p.empty(),
                    p.literal("b"),
                    p.any(),
                    p.literal("c"),
                ])
            },
            &["ab"],
        );
        is(
            &|p| {
                p.sequence([
                    p.space(),
                    p.literal("a"),
                    p.space(),
                    p.space(),
                    p.literal("b"),
                    p.space(),
                ])
            },
            &["_a_b"],
        );
        is(&|p| p.sequence([p.space(), p.until("a")]), &[]);
        is(
            &|p| {
                p.rule(
                    "a",
                    p.sequence([
                        p.literal("a"),
                        p.rule("b", p.some(p.literal("b"))),
                        p.literal("c"),
                    ]),
                )
            },
            &["ab"],
        );
        is(
            &|p| p.literal("a".repeat(400)),
            &[&*"a".repeat(limits::LEAD_STEPS - 1)],
        );
        // Visible captures must be entered.
        let tag = |p: &Builder| p.tag(TagId(1), p.literal("b"));
        is(
            &|p| p.sequence([p.literal("a"), tag(p), p.literal("c")]),
            &["a"],
        );
        is(
            &|p| {
                p.sequence([
                    p.literal("a"),
                    p.atomic(p.sequence([tag(p), p.literal("c")])),
                    p.literal("d"),
                ])
            },
            &["abc"],
        );
        is(
            &|p| p.sequence([p.atomic(p.literal("a")), p.literal("b")]),
            &["ab"],
        );
        // A choice whose alternatives exclude each other.
        let choice = |p: &Builder, all: &[&str]| {
            p.choice(all.iter().map(|text| p.literal(*text)).collect::<Vec<_>>())
        };
        is(
            &|p| p.sequence([p.literal("a"), choice(p, &["b", "c"]), p.literal("d")]),
            &["abd", "acd"],
        );
        is(
            &|p| p.sequence([p.literal("a"), choice(p, &["b", "bc"]), p.literal("d")]),
            &["ab", "abc"],
        );
        is(
            &|p| p.sequence([p.literal("a"), choice(p, &["b", ""]), p.literal("d")]),
            &["ab", "a"],
        );
        is(
            &|p| p.sequence([choice(p, &["a", "b", "c"]), choice(p, &["x", "y", "z"])]),
            &["a", "b", "c"],
        );
        is(
            &|p| p.sequence([p.literal("a"), p.optional(p.literal("b")), p.literal("c")]),
            &["abc", "ac"],
        );
        is(
            &|p| p.sequence([p.literal("a"), p.optional(p.literal("b")), p.literal("bc")]),
            &["a"],
        );
    }
}
