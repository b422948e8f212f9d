//! Puts together what an answer says, and finds where its events do not come as its API has them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use chatparse::api::Api;
use chatparse::message::number;
use serde_json::Value;

use crate::said::{Field, Head, Place, SUMMARY, Said, What};
use crate::{At, Findings};

/// One choice of an answer.
#[derive(Default)]
pub struct Turn {
    pub choice: u64,
    pub reasoning: String,
    pub content: String,
    /// The calls of functions and custom tools, with their arguments or texts.
    pub calls: Vec<(Head, String)>,
    /// The number of other items, which may be calls, too.
    pub others: usize,
    /// Why it ended; empty if that is not said.
    pub finish: String,
    pub stop_text: String,
    /// The usage of all choices.
    pub usage: Value,
}

impl Turn {
    /// Whether nothing is said, except white space.
    pub fn is_empty(&self) -> bool {
        self.reasoning.trim().is_empty()
            && self.content.trim().is_empty()
            && self.calls.is_empty()
            && self.others == 0
    }
}

/// The choices of an answer. `None`: the server has failed, so that there is no answer.
pub fn turns(api: Api, said: &[Said], found: &mut Findings) -> Option<Vec<Turn>> {
    for Said { at, what } in said {
        if let What::Failed(why) = what {
            found.add("error", *at, format!("the answer is an error: {why}"));
            return None;
        }
    }
    let mut stream = Stream {
        api,
        is_streamed: said.iter().any(|one| one.at.event > 0),
        has_items: api != Api::ChatCompletions,
        choices: BTreeMap::new(),
        is_begun: false,
        is_ended: false,
        id: "",
        sequence: None,
        usage: Value::Null,
        whole: None,
    };
    said.iter().for_each(|one| stream.take(one, found));
    Some(stream.end(said.last().map_or(0, |last| last.at.event), found))
}

struct Stream<'a> {
    api: Api,
    is_streamed: bool,
    /// Whether items or blocks begin and end.
    has_items: bool,
    choices: BTreeMap<u64, Choice<'a>>,
    is_begun: bool,
    is_ended: bool,
    /// The last id of the answer.
    id: &'a str,
    sequence: Option<u64>,
    usage: Value,
    whole: Option<Vec<Turn>>,
}

#[derive(Default)]
struct Choice<'a> {
    turn: Turn,
    has_role: bool,
    /// The event that says why it ended.
    finish: Option<usize>,
    items: BTreeMap<u64, Item>,
    calls: usize,
    open: usize,
    texts: BTreeMap<Place, Text<'a>>,
}

struct Item {
    field: Field,
    head: Head,
    /// The number of the call, or of the next one.
    call: usize,
    is_open: bool,
    parts: BTreeSet<u64>,
}

#[derive(Default)]
struct Text<'a> {
    /// None is empty.
    pieces: Vec<&'a str>,
    /// What was said to be all of it was not.
    is_unlike: bool,
}

impl<'a> Stream<'a> {
    fn take(&mut self, said: &'a Said, found: &mut Findings) {
        let Said { mut at, ref what } = *said;
        let of = self.choices.entry(at.choice).or_default();
        if let What::Begin(place, _)
        | What::Text(place, _)
        | What::Whole(place, _)
        | What::Wrong(Some(place), ..) = what
        {
            at.call = of.call(*place);
        }
        if self.is_ended && self.is_streamed && !matches!(what, What::Answer(_) | What::Sequence(_))
        {
            return found.add("after-end", at, "the stream goes on behind its end");
        }
        let says = matches!(what, What::Begin(..))
            || matches!(what, What::Text(_, text) if !text.is_empty());
        if says && self.is_streamed {
            if of.finish.is_some_and(|finish| finish < at.event) {
                found.add("after-end", at, "a delta comes behind the finish");
            }
            if self.has_items && !self.is_begun {
                found.add("order", at, "the event that begins a stream is not there");
            }
            if !self.has_items && !of.has_role {
                found.add("role", at, "the first delta has no role");
                of.has_role = true;
            }
        }
        match what {
            What::Failed(_) => {}
            What::Wrong(_, kind, message) => found.add(kind, at, *message),
            What::First if self.is_begun => {
                found.add("order", at, "the stream begins a second time")
            }
            What::First => self.is_begun = true,
            What::Answer(id) => {
                if !self.id.is_empty() && self.id != id {
                    found.add(
                        "changed-id",
                        at,
                        format!("the answer's id was {:?}, and now it is {id:?}", self.id),
                    );
                }
                self.id = id;
            }
            What::Sequence(number) => {
                let next = self.sequence.map_or(*number, |last| last.checked_add(1));
                if number.is_none() || *number != next {
                    let [number, next] = [*number, next]
                        .map(|one| one.map_or("missing".into(), |one| one.to_string()));
                    found.add(
                        "sequence",
                        at,
                        format!("the sequence number is {number}, not {next}"),
                    );
                }
                self.sequence = *number;
            }
            What::Role(role) => {
                if role != "assistant" {
                    found.add("role", at, format!("the role is {role:?}"));
                } else if of.has_role && self.api != Api::Responses {
                    found.add("role", at, "the role is said again, and clients append it");
                }
                of.has_role = true;
            }
            What::Begin(place, head) => match of.items.get_mut(&place.index) {
                Some(_) if self.has_items => {
                    found.add("index", at, "an item or block begins a second time")
                }
                Some(item) => item.again(head, true, at, found),
                None => {
                    let (index, before) = (place.index, of.items.len());
                    if index != before as u64 {
                        found.add(
                            "index",
                            at,
                            format!("index {index} follows {before} items, blocks or calls"),
                        );
                    }
                    if self.api == Api::Messages && of.open > 0 {
                        found.add(
                            "order",
                            at,
                            "a block begins before the one in front has ended",
                        );
                    }
                    let (field, call) = (place.field, of.calls);
                    of.calls += usize::from(field == Field::Call);
                    of.open += usize::from(self.has_items);
                    let item = Item {
                        field,
                        head: head.clone(),
                        call,
                        is_open: true,
                        parts: BTreeSet::new(),
                    };
                    of.items.insert(index, item);
                }
            },
            What::Again(index, head) => {
                if let Some(item) = of.items.get_mut(index) {
                    item.again(head, false, at, found);
                }
            }
            What::Text(place, text) => {
                let in_item = self.has_items || place.field == Field::Call;
                let item = of.items.get(&place.index).filter(|_| in_item);
                if item.is_some_and(|item| item.field == Field::Other) {
                    return;
                }
                // Of other items, not all servers say where a part begins.
                let has_parts =
                    self.is_streamed && self.api == Api::Responses && place.field == Field::Content;
                let is_open = item.is_some_and(|item| {
                    item.is_open
                        && item.field == place.field
                        && (!has_parts || item.parts.contains(&place.part))
                });
                if in_item && !is_open {
                    found.add(
                        "order",
                        at,
                        "a delta comes for a part, an item, a block or a call that is not open",
                    );
                }
                let pieces = &mut of.texts.entry(*place).or_default().pieces;
                pieces.extend(Some(text.as_str()).filter(|text| !text.is_empty()));
            }
            What::Whole(place, whole) => {
                let said = of.texts.entry(*place).or_default();
                if !said.is_unlike && said.pieces.concat() != *whole {
                    said.is_unlike = true;
                    let (sum, _) = said.joined();
                    if let Some((kind, how)) = kind_of(&sum, whole) {
                        found.add(
                            kind,
                            at,
                            format!(
                                "the deltas and what is said to be all of a text differ: {how}"
                            ),
                        );
                    }
                }
            }
            What::Part(place, begins) => {
                let item = of.items.get_mut(&place.index).filter(|item| item.is_open);
                let stands = item.is_some_and(|Item { parts, .. }| {
                    if *begins {
                        parts.insert(place.part)
                    } else {
                        parts.remove(&place.part)
                    }
                });
                if !stands {
                    found.add("order", at, "a part begins or ends where it does not stand");
                }
            }
            What::End(index) => match of.items.get_mut(index).filter(|item| item.is_open) {
                None => found.add("order", at, "an item or block ends that is not open"),
                Some(item) => {
                    (item.is_open, of.open) = (false, of.open - 1);
                    if !item.parts.is_empty() {
                        found.add("order", at, "an item ends before its part");
                    }
                }
            },
            What::Finish(finish) => {
                if of.finish.is_some() {
                    found.add(
                        "two-finishes",
                        at,
                        format!("the answer finishes again, with {finish:?}"),
                    );
                } else if of.open > 0 {
                    found.add(
                        "order",
                        at,
                        "the answer finishes before all items or blocks have ended",
                    );
                }
                of.finish = Some(at.event);
                of.turn.finish.clone_from(finish);
            }
            What::StopText(text) => of.turn.stop_text.clone_from(text),
            What::Usage(usage) => self.usage.clone_from(usage),
            What::Final(whole) => self.whole = turns(self.api, whole, found),
            What::Last => self.is_ended = true,
        }
    }

    fn end(mut self, event: usize, found: &mut Findings) -> Vec<Turn> {
        // The usage may be in an event of no choice.
        self.choices.retain(|_, of| {
            of.has_role || of.finish.is_some() || !of.texts.is_empty() || !of.items.is_empty()
        });
        if self.choices.is_empty() {
            let mut none = Choice {
                has_role: true,
                ..Choice::default()
            };
            if !self.has_items {
                found.add("choices", At::event(event), "the answer has no choice");
                none.finish = Some(event);
            }
            self.choices.insert(0, none);
        }
        let is_finished = self.choices.values().all(|of| of.finish.is_some());
        if is_finished && self.has_items && self.is_streamed && !self.is_ended {
            found.add(
                "no-end",
                At::event(event),
                "the event that ends a stream is not there",
            );
        }
        let mut all = Vec::new();
        for (choice, mut of) in std::mem::take(&mut self.choices) {
            let at = At {
                choice,
                ..At::default()
            };
            if of.finish.is_none() {
                found.add("no-finish", at, "nothing says why the answer ended");
            }
            if !of.has_role && self.api != Api::Responses {
                found.add("role", at, "no role is said");
            }
            let (mut turn, mut calls) = (std::mem::take(&mut of.turn), BTreeMap::new());
            let mut thought = None;
            for (place, said) in &of.texts {
                let (text, fault) = said.joined();
                if let Some((kind, how)) = fault.filter(|_| self.is_streamed) {
                    found.add(
                        kind,
                        At {
                            call: of.call(*place),
                            ..at
                        },
                        how,
                    );
                }
                match place.field {
                    // A summary says again what is there.
                    Field::Reasoning if place.part >= SUMMARY && thought == Some(place.index) => {}
                    Field::Reasoning => {
                        thought = Some(place.index).filter(|_| !text.is_empty());
                        turn.reasoning.push_str(&text);
                    }
                    Field::Content => turn.content.push_str(&text),
                    Field::Call => drop(calls.insert(place.index, text)),
                    Field::Other => {}
                }
            }
            for (index, item) in of.items {
                match item.field {
                    // Of a block without deltas, the object is empty.
                    Field::Call => {
                        let none = if self.api == Api::Messages { "{}" } else { "" };
                        let said = calls.remove(&index).filter(|said| !said.is_empty());
                        turn.calls
                            .push((item.head, said.unwrap_or_else(|| none.to_owned())));
                    }
                    Field::Other => turn.others += 1,
                    _ => {}
                }
            }
            (turn.choice, turn.usage) = (choice, self.usage.clone());
            all.push(turn);
        }
        if let Some(whole) = &self.whole {
            compare(&all, whole, found);
        }
        all
    }
}

impl Choice<'_> {
    fn call(&self, place: Place) -> Option<usize> {
        self.items
            .get(&place.index)
            .filter(|_| place.field == Field::Call)
            .map(|item| item.call)
    }
}

impl Item {
    /// Takes what is said again of an item. `deltas`: clients append it to what was said.
    fn again(&mut self, head: &Head, deltas: bool, at: At, found: &mut Findings) {
        let Head { item, id, name, .. } = &mut self.head;
        for (old, new, kind) in [
            (item, &head.item, "changed-id"),
            (id, &head.id, "changed-id"),
            (name, &head.name, "changed-name"),
        ] {
            if old.is_empty() {
                old.clone_from(new);
            } else if !new.is_empty() && old != new {
                found.add(
                    kind,
                    at,
                    format!("{old:?} was said before, and now {new:?}"),
                );
            } else if deltas && !new.is_empty() {
                found.add(
                    "repeated-head",
                    at,
                    format!("{new:?} is said again, and clients append it"),
                );
            }
        }
    }
}

/// Fewer bytes than these may repeat by chance.
const BY_CHANCE: usize = 12;

impl Text<'_> {
    /// The text that the pieces come to, and what is wrong with them.
    fn joined(&self) -> (String, Option<(&'static str, &'static str)>) {
        if let [before @ .., last] = &self.pieces[..]
            && before.len() > 1
            && last.len() >= BY_CHANCE
        {
            let mut pairs = self.pieces.windows(2);
            let fault = if pairs
                .all(|pair| pair[1].len() > pair[0].len() && pair[1].starts_with(pair[0]))
            {
                ("snapshots", "each delta has all of the text so far")
            } else if before.len() > 2 && before.concat() == *last {
                ("sent-twice", "the last delta has all of the text again")
            } else {
                return (self.pieces.concat(), None);
            };
            return ((*last).to_owned(), Some(fault));
        }
        (self.pieces.concat(), None)
    }
}

/// How the sum of deltas differs from the whole, and the kind of that.
fn kind_of(sum: &str, whole: &str) -> Option<(&'static str, String)> {
    let kind = match sum.len().cmp(&whole.len()) {
        _ if sum == whole => return None,
        Ordering::Greater => "sent-twice",
        Ordering::Less => "lost-text",
        Ordering::Equal => "other-text",
    };
    let same = sum
        .bytes()
        .zip(whole.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    Some((
        kind,
        format!(
            "{} bytes and {}, from byte {same} on",
            sum.len(),
            whole.len()
        ),
    ))
}

/// Finds where a stream and the whole answer differ.
pub fn compare(streamed: &[Turn], whole: &[Turn], found: &mut Findings) {
    for (turn, whole) in streamed.iter().zip(whole) {
        for (field, call, kind, how) in differences(turn, whole, |text| text) {
            let kind = match field {
                "id" => "changed-id",
                "name" => "changed-name",
                "finish" => "wrong-finish",
                _ => kind,
            };
            let at = At {
                choice: turn.choice,
                call,
                event: 0,
            };
            found.add(
                kind,
                at,
                format!("{field}: the stream and the whole answer differ: {how}"),
            );
        }
    }
}

/// A field in which two answers differ, the call, the kind of the difference for a stream and its
/// sum, and how they differ.
type Difference = (&'static str, Option<usize>, &'static str, String);

/// Arguments may be written in several ways. `trim`: what of the texts counts.
pub fn differences(one: &Turn, other: &Turn, trim: fn(&str) -> &str) -> Vec<Difference> {
    let counts = [one, other].map(|turn| "#".repeat(turn.calls.len()));
    let mut pairs = vec![
        ("reasoning", None, &*one.reasoning, &*other.reasoning),
        ("content", None, &one.content, &other.content),
        ("finish", None, &one.finish, &other.finish),
        ("calls", None, &counts[0], &counts[1]),
    ];
    for (call, ((head, said), (other, whole))) in one.calls.iter().zip(&other.calls).enumerate() {
        pairs.push(("id", Some(call), &head.id, &other.id));
        pairs.push(("name", Some(call), &head.name, &other.name));
        if said != whole {
            let [value, other] = [said, whole].map(|text| number::read::<Value>(text).ok());
            if value.is_none() || value != other {
                pairs.push(("arguments", Some(call), said, whole));
            }
        }
    }
    let mut all = Vec::new();
    for (field, call, one, other) in pairs {
        if let Some((kind, how)) = kind_of(trim(one), trim(other)) {
            all.push((field, call, kind, how));
        }
    }
    all
}
