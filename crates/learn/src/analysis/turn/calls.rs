//! Learns the inside of a call: its parts in order, and where it ends.
//!
//! The glue after the last part of a call closes the call and opens what comes next, in one piece.
//! The common beginning of all such glue closes the call: `}]` after the last call and `}, {`
//! between two give `}`. The end of a value is split from the separator before the next key in
//! the same way.

use std::collections::{BTreeMap, BTreeSet};

use super::glue::{COUNTER, Glue};
use super::parts::{Found, Token, Walk};
use super::{CallForm, CallPiece, Encoding, Members, Nested, Slot, ValueKind, slots_of};
use chatparse_base::sort;
use chatparse_jinja::NAMED_ID;

/// More forms of a call than any template has.
const MOST_FORMS: usize = 6;

/// One walk with its glue.
#[derive(Clone, Debug)]
pub struct Path {
    pub parts: Vec<Found>,
    pub glue: Vec<Glue>,
    pub leaves_out_null: bool,
}

impl Path {
    pub fn of(walk: Walk, counter: Option<usize>) -> Option<Path> {
        let glue = walk
            .gaps
            .iter()
            .map(|gap| gap.glue(counter))
            .collect::<Option<Vec<_>>>()?;
        Some(Path {
            parts: walk.parts,
            glue,
            leaves_out_null: walk.leaves_out_null,
        })
    }

    /// The ranges of the parts of each call.
    fn calls(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut at = 0;
        self.parts
            .chunk_by(|a, b| a.call == b.call)
            .filter_map(move |parts| {
                let from = at;
                at += parts.len();
                parts[0].call.map(|_| from..at)
            })
    }
}

/// The number of the first call, if the glue of calls differs in a number: with it, the least glue
/// is seen between parts.
pub fn counter(walk: &Walk) -> Option<usize> {
    let ways = [None, Some(0), Some(1)].into_iter();
    ways.min_by_key(|counter| differences(walk, *counter))?
}

/// How many pieces of glue the calls of a walk have, by their place, with this number of the first.
fn differences(walk: &Walk, counter: Option<usize>) -> usize {
    let Some(path) = Path::of(walk.clone(), counter) else {
        return usize::MAX;
    };
    let (mut inner, mut outer) = (BTreeSet::new(), BTreeSet::new());
    for (index, call) in path.calls().enumerate() {
        for at in call.start + 1..call.end {
            inner.insert((
                path.parts[at - 1].token,
                path.parts[at].token,
                &path.glue[at],
            ));
        }
        // The first call has no other call before it.
        if index > 0 {
            outer.insert(&path.glue[call.start]);
        }
    }
    inner.len() + outer.len()
}

/// The result for the calls of a template.
#[derive(Debug, Default)]
pub struct Calls {
    pub forms: Vec<CallForm>,
    slots: Vec<(ValueKind, Slot)>,
    next: Glue,
    befores: BTreeMap<ValueKind, Glue>,
}

/// A form of a value, with the glue that was seen after it: before keys, and before other parts.
struct Seen {
    kind: ValueKind,
    slot: Slot,
    keys: BTreeSet<Glue>,
    others: BTreeSet<Glue>,
}

impl Calls {
    /// Returns `None` if the glue between two parts depends on more than those parts.
    pub fn learn(paths: &mut Vec<Path>, encoding: Encoding) -> Option<Calls> {
        let mut calls = Calls::default();
        calls.learn_befores(paths);
        calls.learn_values(paths, encoding)?;
        // A path with a value that cannot be separated from its surroundings is not used.
        paths.retain(|path| {
            let mut places = 0..path.parts.len();
            places.all(|at| calls.behind_value(path, at).is_some())
        });
        // Each form of a call, with the glue seen after it.
        let mut forms: Vec<(CallForm, BTreeSet<Glue>)> = Vec::new();
        for path in &*paths {
            for call in path.calls() {
                let form = calls.form(path, call.clone())?;
                let behind = calls.behind_value(path, call.end - 1)?;
                match forms.iter_mut().find(|(known, _)| *known == form) {
                    Some((_, all)) => drop(all.insert(behind)),
                    None => forms.push((form, BTreeSet::from([behind]))),
                }
            }
        }
        if forms.len() > MOST_FORMS {
            return None;
        }
        calls.forms = forms
            .into_iter()
            .map(|(form, all)| CallForm {
                close: Glue::common_start(&all),
                ..form
            })
            .collect();
        sort::by_key(&mut calls.forms, |form| {
            std::cmp::Reverse(form.pieces.len())
        });
        Some(calls)
    }

    /// Learns the glue that the kind of a value puts before its name, from the first arguments
    /// of calls.
    fn learn_befores(&mut self, paths: &[Path]) {
        let mut firsts: BTreeMap<ValueKind, BTreeSet<&Glue>> = BTreeMap::new();
        for path in paths {
            for (three, glue) in path.parts.windows(3).zip(&path.glue[1..]) {
                if let [
                    Token::Name | Token::Id | Token::NamedId,
                    Token::Key,
                    Token::Value(kind),
                ] = [0, 1, 2].map(|at| three[at].token)
                    && three.iter().all(|part| part.call == three[0].call)
                {
                    firsts.entry(kind).or_default().insert(glue);
                }
            }
        }
        let shared = Glue::common_start(firsts.values().flatten().copied());
        let differ = firsts.values().flatten().any(|glue| **glue != shared);
        if differ && firsts.values().all(|glues| glues.len() == 1) {
            let befores = firsts
                .into_iter()
                .filter_map(|(kind, glues)| Some((kind, glues.first()?.strip_prefix(&shared)?)));
            self.befores = befores.collect();
        }
    }

    /// The glue before the name at `at`, without the part that depends on the kind of its
    /// value.
    fn before_key(&self, path: &Path, at: usize, glue: &Glue) -> Option<Glue> {
        if let Some(part) = path.parts.get(at + 1)
            && let Token::Value(kind) = part.token
            && let Some(before) = self.befores.get(&kind)
        {
            return glue.strip_suffix(before);
        }
        Some(glue.clone())
    }

    /// Learns the glue around values. A kind may have several forms, which differ in their
    /// openings.
    fn learn_values(&mut self, paths: &[Path], encoding: Encoding) -> Option<()> {
        let values = self.values(paths, encoding)?;
        let (lone, mut known): (Vec<_>, Vec<_>) = values
            .into_iter()
            .partition(|value| value.keys.is_empty() || value.others.is_empty());
        for seen in &mut known {
            seen.slot.close = Glue::common_start(seen.keys.iter().chain(&seen.others));
        }
        // If the end of calls begins with the separator, it seems to be a part of the value's end.
        let separators = known
            .iter()
            .filter_map(|value| value.keys.first()?.strip_prefix(&value.slot.close));
        self.next = separators
            .max_by_key(|separator| separator.chars().count())
            .unwrap_or_default();
        let mut after = BTreeSet::new();
        for Seen {
            kind,
            mut slot,
            keys,
            others,
        } in known
        {
            let close = keys.first()?.strip_suffix(&self.next)?;
            if close != slot.close && keys.iter().any(|key| *key != slot.close)
                || keys
                    .iter()
                    .any(|key| key.strip_suffix(&self.next).as_ref() != Some(&close))
            {
                return None;
            }
            slot.close = close;
            after.extend(
                others
                    .iter()
                    .filter_map(|other| other.strip_prefix(&slot.close)),
            );
            self.slots.push((kind, slot));
        }
        // A form that was seen in one place alone gets the separator of the others.
        for Seen {
            kind,
            slot,
            keys,
            others,
        } in lone
        {
            let close = match keys.first() {
                Some(key) => key.strip_suffix(&self.next),
                // Glue that begins like a key and is none says nothing of a key.
                None => {
                    let other = others.first()?;
                    let closes = after.iter().filter_map(|after| other.strip_suffix(after));
                    closes.min_by_key(|close| close.chars().count())
                }
            };
            self.slots
                .extend(close.map(|close| (kind, Slot { close, ..slot })));
        }
        // The longest opening first, because a shorter one may be its beginning.
        sort::by_key(&mut self.slots, |(kind, slot)| {
            (*kind, std::cmp::Reverse(slot.open.chars().count()))
        });
        Some(())
    }

    /// All values by kind and opening, with the glue that was seen after each.
    fn values(&self, paths: &[Path], encoding: Encoding) -> Option<Vec<Seen>> {
        // The glue before keys, before the turn's end or another part, and before other calls.
        let mut seen: BTreeMap<(ValueKind, &Glue), [BTreeSet<Glue>; 3]> = BTreeMap::new();
        let mut encodings = BTreeMap::new();
        for path in paths {
            for (at, part) in path.parts.iter().enumerate() {
                let Token::Value(kind) = part.token else {
                    continue;
                };
                if part.encoding != Encoding::default() {
                    encodings.insert(kind, part.encoding);
                }
                let mut glue = path.glue[at + 1].clone();
                let follower = match path.parts.get(at + 1) {
                    Some(next) if next.call == part.call && next.token == Token::Key => {
                        glue = self.before_key(path, at + 1, &glue)?;
                        0
                    }
                    Some(next) if next.call.is_some() && next.call != part.call => 2,
                    _ => 1,
                };
                seen.entry((kind, &path.glue[at])).or_default()[follower].insert(glue);
            }
        }
        let mut values = Vec::new();
        for ((kind, open), [keys, mut others, calls]) in seen {
            // A key and a call may begin alike, so that those two alone do not show where a value
            // ends.
            if keys.is_empty() || !others.is_empty() {
                others.extend(calls);
            }
            let encoding = match kind {
                ValueKind::Text => encoding,
                _ => encodings.get(&kind).copied().unwrap_or_default(),
            };
            let slot = Slot {
                before: self.befores.get(&kind).cloned().unwrap_or_default(),
                open: open.clone(),
                close: Glue::default(),
                encoding,
            };
            values.push(Seen {
                kind,
                slot,
                keys,
                others,
            });
        }
        Some(values)
    }

    /// The form of the value at `at`.
    fn slot(&self, path: &Path, at: usize) -> Option<&Slot> {
        let Token::Value(kind) = path.parts[at].token else {
            return None;
        };
        slots_of(&self.slots, kind).find(|slot| slot.open == path.glue[at])
    }

    /// The glue after the part at `at`, without the end of a value.
    fn behind_value(&self, path: &Path, at: usize) -> Option<Glue> {
        match path.parts[at].token {
            Token::Value(_) => path.glue[at + 1].strip_prefix(&self.slot(path, at)?.close),
            _ => Some(path.glue[at + 1].clone()),
        }
    }

    /// The pieces of one call: its parts and the glue between them.
    fn form(&self, path: &Path, call: std::ops::Range<usize>) -> Option<CallForm> {
        let mut pieces = Vec::new();
        let mut members = false;
        for at in call.clone() {
            let glue = if at > call.start {
                self.behind_value(path, at - 1)?
            } else {
                Glue::default()
            };
            let piece = match path.parts[at].token {
                Token::Value(_) => continue,
                Token::Key if members => {
                    // Glue after members belongs to them only between two members.
                    let Some(CallPiece::Members(_)) = pieces.last() else {
                        return None;
                    };
                    continue;
                }
                Token::Key => {
                    members = true;
                    let (first, next) = (self.before_key(path, at, &glue)?, self.next.clone());
                    let members = Members {
                        first,
                        next,
                        slots: self.slots.clone(),
                        nested: Nested::default(),
                    };
                    pieces.push(CallPiece::Members(members.into()));
                    continue;
                }
                Token::Name => CallPiece::Name,
                Token::Id => CallPiece::Id,
                Token::NamedId => {
                    let [before, behind] = NAMED_ID;
                    CallPiece::NamedId {
                        before: before.into(),
                        behind: format!("{behind}{COUNTER}").into(),
                    }
                }
                Token::Arguments { quoted } => CallPiece::Arguments { quoted },
                Token::Reasoning | Token::Content => return None,
            };
            pieces.extend((!glue.is_empty()).then_some(CallPiece::Glue(glue)));
            pieces.push(piece);
        }
        Some(CallForm {
            pieces,
            close: Glue::default(),
        })
    }

    /// The glue after the value in a turn with one call with one argument. `end`: the end of all
    /// turns.
    pub fn behind_one_text(&self, paths: &[Path], end: &Glue) -> Option<Glue> {
        let (path, at) = paths.iter().find_map(|path| {
            let mut parts = path.parts.iter();
            let one_call = path.calls().count() == 1 && parts.all(|part| part.call.is_some());
            let parts = path.parts.iter().enumerate();
            let mut values = parts.filter(|(_, part)| matches!(part.token, Token::Value(_)));
            let (at, first) = values.next().filter(|_| one_call)?;
            let is_text = first.token == Token::Value(ValueKind::Text);
            (is_text && values.next().is_none()).then_some((path, at))
        })?;
        let mut behind = self.behind_value(path, at)?;
        for (part, glue) in path.parts.iter().zip(&path.glue[1..]).skip(at + 1) {
            behind = (part.token == Token::Name).then(|| behind.and(&Glue::name()).and(glue))?;
        }
        Some(behind.and(end))
    }

    /// Adds a notation for arrays and objects that were not seen as JSON.
    pub fn add_nested(&mut self, learn: impl FnOnce() -> Option<(Nested, Vec<(ValueKind, Slot)>)>) {
        let known = |kind| self.slots.iter().any(|(known, _)| *known == kind);
        if self.slots.is_empty() || known(ValueKind::Array) && known(ValueKind::Object) {
            return;
        }
        let Some((nested, mut new)) = learn() else {
            return;
        };
        new.retain(|(kind, _)| !known(*kind));
        for piece in self.forms.iter_mut().flat_map(|form| &mut form.pieces) {
            if let CallPiece::Members(members) = piece {
                members.nested = nested.clone();
                members.slots.extend_from_slice(&new);
            }
        }
    }

    /// The glue after a call, without the call's end.
    pub fn behind(&self, path: &Path, call: std::ops::Range<usize>) -> Option<Glue> {
        let form = self.form(path, call.clone())?;
        let form = self
            .forms
            .iter()
            .find(|known| known.pieces == form.pieces)?;
        self.behind_value(path, call.end - 1)?
            .strip_prefix(&form.close)
    }
}
