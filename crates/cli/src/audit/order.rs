//! Puts together what an answer says, and finds where its events do not come as its API has them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use chatparse::api::Api;
use chatparse::message::number;
use serde_json::Value;

use super::said::{Field, Head, Place, Said, Usage, What};
use super::{
    AFTER_END, At, CHANGED_ID, CHANGED_NAME, Findings, INDEX, LOST_TEXT, NO_END, NO_FINISH, ORDER, OTHER_TEXT,
    REPEATED_HEAD, ROLE, SENT_TWICE, SEQUENCE, SNAPSHOTS, TWO_FINISHES, WRONG_FINISH,
};

/// One choice of an answer.
#[derive(Debug, Default)]
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
    /// The ids of calls without an end.
    pub incomplete: Vec<String>,
    pub usage: Option<Usage>,
}

/// The choices of an answer. `None`: the server has failed, so that there is no answer.
pub fn turns(api: Api, said: &[Said], found: &mut Findings) -> Option<Vec<Turn>> {
    let is_streamed = said.iter().any(|one| one.event > 0);
    let mut stream = Stream { api, is_streamed, found, choices: BTreeMap::new(), rest: Rest::default() };
    said.iter().for_each(|one| stream.take(one));
    stream.end(said.iter().any(|one| matches!(one.what, What::Failed)))
}

struct Stream<'a> {
    api: Api,
    is_streamed: bool,
    found: &'a mut Findings,
    choices: BTreeMap<u64, Choice>,
    rest: Rest,
}

/// What is said of all choices.
#[derive(Default)]
struct Rest {
    first: bool,
    last: bool,
    id: String,
    sequence: Option<u64>,
    usage: Option<Usage>,
    whole: Option<Vec<Turn>>,
    event: usize,
}

#[derive(Default)]
struct Choice {
    turn: Turn,
    has_role: bool,
    /// The event that says why it ended.
    finish: Option<usize>,
    items: BTreeMap<u64, Item>,
    texts: BTreeMap<Place, Vec<String>>,
}

struct Item {
    field: Field,
    head: Head,
    is_open: bool,
    parts: BTreeSet<u64>,
}

impl Choice {
    fn call(&self, place: Place) -> Option<usize> {
        let calls = self.items.range(..place.index).filter(|(_, item)| item.field == Field::Call);
        (place.field == Field::Call).then(|| calls.count())
    }
}

impl Stream<'_> {
    /// Whether items begin and end.
    fn has_items(&self) -> bool {
        self.api != Api::ChatCompletions
    }

    fn take(&mut self, said: &Said) {
        let Said { event, choice, what } = said;
        let mut at = At { event: *event, choice: *choice, call: None };
        self.rest.event = *event;
        if self.rest.last && self.is_streamed && !matches!(what, What::Answer(_) | What::Sequence(_)) {
            return self.found.add(AFTER_END, at, "the stream goes on behind its end");
        }
        let (has_items, is_streamed) = (self.has_items(), self.is_streamed);
        let of = self.choices.entry(*choice).or_default();
        of.turn.choice = *choice;
        let found = &mut *self.found;
        if let What::Begin(place, _) | What::Text(place, _) | What::Whole(place, _) = what {
            at.call = of.call(*place);
            let is_empty = matches!(what, What::Text(_, text) if text.is_empty()) || matches!(what, What::Whole(..));
            if is_streamed && !is_empty {
                if of.finish.is_some_and(|finish| finish < *event) {
                    found.add(AFTER_END, at, format!("{} comes behind the finish", place.name()));
                }
                if !self.rest.first && has_items {
                    found.add(ORDER, at, "the event that begins a stream is not there");
                }
                if !has_items && !of.has_role {
                    found.add(ROLE, at, "the first delta has no role");
                    of.has_role = true;
                }
            }
        }
        match what {
            What::Failed => {}
            What::Wrong(kind, message) => found.add(kind, at, message.clone()),
            What::First if self.rest.first => found.add(ORDER, at, "the stream begins a second time"),
            What::First => self.rest.first = true,
            What::Answer(id) => {
                if !self.rest.id.is_empty() && self.rest.id != *id {
                    found.add(CHANGED_ID, at, format!("the answer's id was {:?}, and now it is {id:?}", self.rest.id));
                }
                self.rest.id.clone_from(id);
            }
            What::Sequence(number) => {
                let next = self.rest.sequence.map_or(*number, |last| Some(last + 1));
                if number.is_none() || *number != next {
                    let shown = |number: Option<u64>| number.map_or("missing".into(), |number| number.to_string());
                    let (is, should) = (shown(*number), shown(next));
                    found.add(SEQUENCE, at, format!("the sequence number is {is}, but {should} comes next"));
                }
                self.rest.sequence = *number;
            }
            What::Role(role) => {
                if role != "assistant" {
                    found.add(ROLE, at, format!("the role is {role:?}"));
                } else if of.has_role && self.api != Api::Responses {
                    found.add(ROLE, at, "the role is said again, and clients append it");
                }
                of.has_role = true;
            }
            What::Begin(place, head) => match of.items.get_mut(&place.key(has_items)) {
                Some(_) if has_items => found.add(INDEX, at, format!("item {} begins a second time", place.index)),
                Some(item) => item.again(head, true, at, found),
                None => {
                    let calls = of.items.len() as u64;
                    if place.index != calls {
                        let what = if has_items { "item" } else { "call" };
                        found.add(INDEX, at, format!("the index of the {what} is {}, not {calls}", place.index));
                    }
                    if self.api == Api::Messages && of.items.values().any(|item| item.is_open) {
                        found.add(ORDER, at, format!("block {} begins before the one in front has ended", place.index));
                    }
                    let item = Item { field: place.field, head: head.clone(), is_open: true, parts: BTreeSet::new() };
                    of.items.insert(place.index, item);
                }
            },
            What::Again(index, head) => {
                if let Some(item) = of.items.get_mut(index) {
                    item.again(head, false, at, found);
                }
            }
            What::Text(place, text) => {
                let item = of.items.get(&place.index).filter(|item| item.field == place.field);
                let is_known = !has_items && place.field != Field::Call || item.is_some_and(|item| item.is_open);
                let is_other = of.items.get(&place.index).is_some_and(|item| item.field == Field::Other);
                // Only texts of messages have parts that begin in all servers.
                let in_part = self.api != Api::Responses || place.field != Field::Content || !is_streamed;
                let in_part = in_part || item.is_some_and(|item| item.parts.contains(&place.part));
                if is_other {
                    return;
                }
                if !is_known || !in_part {
                    let what = if is_known { "a part" } else { "an item" };
                    let what = if has_items { what } else { "a call" };
                    found.add(ORDER, at, format!("{} comes for {what} that is not open", place.name()));
                }
                of.texts.entry(*place).or_default().push(text.clone());
            }
            What::Whole(place, whole) => {
                let sum = of.texts.get(place).map(|pieces| joined(pieces).0).unwrap_or_default();
                if let Some((kind, how)) = unlike(&sum, whole) {
                    found.add(kind, at, format!("{}: the deltas and what is said to be all of it differ: {how}", place.name()));
                }
            }
            What::BeginPart(place) => {
                let item = of.items.get_mut(&place.index).filter(|item| item.is_open);
                if !item.is_some_and(|item| item.parts.insert(place.part)) {
                    found.add(ORDER, at, "a part begins in an item that is not open, or a second time");
                }
            }
            What::EndPart(place) => {
                if !of.items.get_mut(&place.index).is_some_and(|item| item.parts.remove(&place.part)) {
                    found.add(ORDER, at, "a part ends that is not open");
                }
            }
            What::End(index) => match of.items.get_mut(index).filter(|item| item.is_open) {
                None => found.add(ORDER, at, "an item or block ends that is not open"),
                Some(item) => {
                    item.is_open = false;
                    if !item.parts.is_empty() {
                        found.add(ORDER, at, format!("item {index} ends before its part"));
                    }
                }
            },
            What::Finish(finish) => {
                if of.finish.is_some() {
                    found.add(TWO_FINISHES, at, format!("the answer finishes again, with {finish:?}"));
                } else if has_items && let Some((index, _)) = of.items.iter().find(|(_, item)| item.is_open) {
                    found.add(ORDER, at, format!("the answer finishes before item or block {index} has ended"));
                }
                of.finish = Some(*event);
                of.turn.finish.clone_from(finish);
            }
            What::StopText(text) => of.turn.stop_text.clone_from(text),
            What::Incomplete(ids) => of.turn.incomplete.clone_from(ids),
            What::Usage(usage) => {
                let before = self.rest.usage.take().unwrap_or_default();
                let input = usage.input.or(before.input);
                self.rest.usage = Some(Usage { input, ..usage.clone() });
            }
            What::Final(whole) => self.rest.whole = turns(self.api, whole, found),
            What::Last => self.rest.last = true,
        }
    }

    fn end(mut self, has_failed: bool) -> Option<Vec<Turn>> {
        if has_failed {
            return None;
        }
        if self.is_streamed && !self.choices.values().any(|choice| choice.finish.is_none()) && !self.rest.last && self.has_items() {
            self.found.add(NO_END, At { event: self.rest.event, ..At::default() }, "the event that ends a stream is not there");
        }
        if self.choices.is_empty() {
            self.choices.insert(0, Choice::default());
        }
        let mut all = Vec::new();
        for (choice, Choice { mut turn, has_role, finish, items, texts, .. }) in std::mem::take(&mut self.choices) {
            let at = At { choice, ..At::default() };
            // Usage may stand in an event that has no choice.
            let is_nothing = finish.is_none() && items.is_empty() && texts.is_empty() && !has_role;
            if is_nothing && (choice > 0 || !all.is_empty()) {
                continue;
            }
            if finish.is_none() {
                self.found.add(NO_FINISH, at, "nothing says why the answer ended");
            }
            if !has_role && self.api != Api::Responses && !is_nothing {
                self.found.add(ROLE, at, "no role is said");
            }
            let mut calls = BTreeMap::new();
            for (index, item) in &items {
                match item.field {
                    Field::Call => drop(calls.insert(*index, (item.head.clone(), String::new()))),
                    Field::Other => turn.others += 1,
                    _ => {}
                }
            }
            for (place, pieces) in texts {
                let (text, fault) = joined(&pieces);
                let number = calls.range(..place.index).count();
                if let Some((kind, how)) = fault.filter(|_| self.is_streamed) {
                    let at = At { call: (place.field == Field::Call).then_some(number), ..at };
                    self.found.add(kind, at, format!("{}: {how}", place.name()));
                }
                match place.field {
                    Field::Reasoning => turn.reasoning.push_str(&text),
                    Field::Content => turn.content.push_str(&text),
                    Field::Call => calls.entry(place.index).or_default().1.push_str(&text),
                    Field::Other => {}
                }
            }
            turn.calls = calls.into_values().collect();
            // Of a block without deltas, the object is empty.
            if self.api == Api::Messages {
                turn.calls.iter_mut().filter(|(_, input)| input.is_empty()).for_each(|(_, input)| input.push_str("{}"));
            }
            turn.usage.clone_from(&self.rest.usage);
            all.push(turn);
        }
        if let Some(whole) = &self.rest.whole {
            compare(&all, whole, self.found);
        }
        Some(all)
    }
}

impl Item {
    /// Takes what is said again of an item. `deltas`: clients append it to what was said.
    fn again(&mut self, head: &Head, deltas: bool, at: At, found: &mut Findings) {
        let Head { item, id, name, .. } = &mut self.head;
        let fields = [(item, &head.item, CHANGED_ID), (id, &head.id, CHANGED_ID), (name, &head.name, CHANGED_NAME)];
        for (old, new, kind) in fields {
            if old.is_empty() {
                old.clone_from(new);
            } else if !new.is_empty() && old != new {
                found.add(kind, at, format!("{old:?} was said before, and now {new:?}"));
            } else if deltas && !new.is_empty() {
                found.add(REPEATED_HEAD, at, format!("{new:?} is said again, and clients append it"));
            }
        }
    }
}

impl Place {
    fn name(self) -> &'static str {
        match self.field {
            Field::Reasoning => "reasoning",
            Field::Content => "content",
            Field::Call => "a call",
            Field::Other => "an item",
        }
    }

    /// The item; texts of chat completions are in none.
    fn key(self, has_items: bool) -> u64 {
        if has_items || self.field == Field::Call { self.index } else { u64::MAX }
    }
}

/// Fewer bytes than these may repeat by chance.
const BY_CHANCE: usize = 12;

/// The text that the pieces come to, and what is wrong with them.
fn joined(pieces: &[String]) -> (String, Option<(&'static str, &'static str)>) {
    let said: Vec<&str> = pieces.iter().map(String::as_str).filter(|piece| !piece.is_empty()).collect();
    let grows = |pair: &[&str]| pair[1].len() > pair[0].len() && pair[1].starts_with(pair[0]);
    match &said[..] {
        [.., last] if said.len() > 2 && last.len() >= BY_CHANCE && said.windows(2).all(grows) => {
            ((*last).to_owned(), Some((SNAPSHOTS, "each delta has all of the text so far")))
        }
        [before @ .., last] if before.len() > 2 && last.len() >= BY_CHANCE && before.concat() == *last => {
            ((*last).to_owned(), Some((SENT_TWICE, "the last delta has all of the text again")))
        }
        _ => (said.concat(), None),
    }
}

/// How the sum of deltas differs from the whole.
fn unlike(sum: &str, whole: &str) -> Option<(&'static str, String)> {
    let kind = match sum.len().cmp(&whole.len()) {
        _ if sum == whole => return None,
        Ordering::Greater => SENT_TWICE,
        Ordering::Less => LOST_TEXT,
        Ordering::Equal => OTHER_TEXT,
    };
    Some((kind, format!("{} bytes and {}, from byte {} on", sum.len(), whole.len(), shared(sum, whole))))
}

/// How many bytes two texts begin with alike.
pub fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// Whether arguments say the same, however they are written.
pub fn are_alike(one: &str, other: &str) -> bool {
    let value = |text| number::read::<Value>(text).ok();
    one == other || value(one).is_some_and(|one| Some(one) == value(other))
}

/// Finds where a stream and the whole answer differ.
pub fn compare(streamed: &[Turn], whole: &[Turn], found: &mut Findings) {
    for (turn, whole) in streamed.iter().zip(whole) {
        let at = At { choice: turn.choice, ..At::default() };
        let texts = [("reasoning", &turn.reasoning, &whole.reasoning), ("content", &turn.content, &whole.content)];
        for (name, sum, whole) in texts {
            if let Some((kind, how)) = unlike(sum, whole) {
                found.add(kind, at, format!("{name} of the stream and of the whole answer differ: {how}"));
            }
        }
        let (calls, all) = (turn.calls.len(), whole.calls.len());
        if calls != all {
            let kind = if calls > all { SENT_TWICE } else { LOST_TEXT };
            found.add(kind, at, format!("the stream has {calls} calls, the whole answer {all}"));
        }
        for (call, ((head, sum), (other, all))) in turn.calls.iter().zip(&whole.calls).enumerate() {
            let at = At { call: Some(call), ..at };
            for (said, other, kind) in [(&head.id, &other.id, CHANGED_ID), (&head.name, &other.name, CHANGED_NAME)] {
                if said != other {
                    found.add(kind, at, format!("{said:?} in the stream is {other:?} in the whole answer"));
                }
            }
            if let Some((kind, how)) = unlike(sum, all).filter(|_| !are_alike(sum, all)) {
                found.add(kind, at, format!("the arguments in the stream and in the whole answer differ: {how}"));
            }
        }
        if !turn.finish.is_empty() && turn.finish != whole.finish {
            let message = format!("{:?} ends the stream, {:?} the whole answer", turn.finish, whole.finish);
            found.add(WRONG_FINISH, at, message);
        }
    }
}
