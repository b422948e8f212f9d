//! Learns arrays and objects in a notation other than JSON: their openings, separators and ends.
//!
//! In a render, the opening of an array is next to the opening of its first item and to the glue in
//! front of the array. Comparing an array of texts with one of numbers shows what belongs to the
//! items; an array in an array shows what belongs to the array.

use serde_json::Value;

use super::glue::Glue;
use super::sample::{Sample, SampleCall, Sampler, Words};
use super::{
    Container, Encoding, Nested, Slot,
    ValueKind::{self, Array, Integer, Object, Text},
    slots_of,
};

/// The leaves and names of the probes, in alphabetical order, because some templates sort members.
const WORDS: [&str; 2] = ["plumkor", "quincel"];
const NUMBERS: [u64; 2] = [83_507, 84_611];
const NAMES: [&str; 4] = ["awmol", "bexul", "cazin", "dofra"];

/// One value, split: the glue before its first leaf or name, between name and leaf, between two
/// members, and after.
#[derive(Debug)]
struct Shown {
    before: Glue,
    opens: Glue,
    between: Glue,
    after: Glue,
}

/// Learns the notation of arrays and objects, and the form of arguments that are arrays or objects.
/// `behind`: the glue after the value of a call's only argument.
pub fn learn(sampler: &Sampler, behind: &Glue) -> Option<(Nested, Vec<(ValueKind, Slot)>)> {
    let see = |value: Value, named: bool| shown(sampler, behind, &value, named);
    let mut found = Nested::default();
    let mut slots = Vec::new();
    let ([s, t], [a, b], [m, n, o, p]) = (WORDS, NUMBERS, NAMES);
    let arrays = [see(json!([s, t]), false), see(json!([a, b]), false)];
    let objects = [
        see(json!({m: s, n: t}), true),
        see(json!({m: a, n: b}), true),
    ];
    if let [Some(texts), Some(integers)] = arrays {
        let (array, slot) = container([texts, integers], see(json!([[a], [b]]), false), false)?;
        found.array = Some(array);
        slots.push((Array, slot));
    }
    if let [Some(texts), Some(integers)] = objects {
        let inner = see(json!({m: {o: a}, n: {p: b}}), true);
        let (object, slot) = container([texts, integers], inner, true)?;
        found.object = Some(object);
        slots.push((Object, slot));
    }
    // An array in an object, and an object in an array.
    if let (Some(array), Some(object)) = (&mut found.array, &mut found.object) {
        let item = slots_of(&array.slots, Integer).next()?.clone();
        let member = slots_of(&object.slots, Integer).next()?.clone();
        if let Some(seen) = see(json!([{m: a}, {n: b}]), true) {
            // The names are where the leaves of other arrays are.
            let open = seen.before.strip_prefix(&slots[0].1.open.and(&array.open));
            if let Some(open) = open
                && let Some(between) = seen.between.strip_prefix(&member.close)
                && let Some(close) = between.strip_suffix(&array.next.and(&open))
            {
                let slot = object.narrow(&open, &close, &mut slots[1].1)?;
                array.slots.push((Object, slot));
            }
        }
        if let Some(seen) = see(json!({m: [a], n: [b]}), true)
            && let Some(open) = seen.opens.strip_suffix(&array.open.and(&item.open))
            && let Some(between) = seen.between.strip_prefix(&item.close.and(&array.close))
            && let Some(close) = between.strip_suffix(&object.next)
        {
            object.slots.push((Array, nested(open, close)));
        }
    }
    // Glue both between two items and before the first is before each: an empty array lacks it.
    for container in found.array.iter_mut().chain(&mut found.object) {
        if let Some(open) = container.open.strip_suffix(&container.next)
            && !open.is_blank()
            && !container.next.is_blank()
        {
            container.each = std::mem::take(&mut container.next);
            container.open = open;
        }
    }
    (!slots.is_empty()).then_some((found, slots))
}

/// The form of an array or object in the template's notation.
fn nested(open: Glue, close: Glue) -> Slot {
    Slot {
        open,
        close,
        encoding: Encoding::Nested,
        ..Slot::default()
    }
}

impl Container {
    /// Narrows an object's opening and end to what an object in an array shares with it; the rest
    /// belongs to the argument or to the array. Returns the form of an object as an item.
    fn narrow(&mut self, open: &Glue, close: &Glue, argument: &mut Slot) -> Option<Slot> {
        let own = (
            Glue::shared_end(&self.open, open),
            Glue::common_start([&self.close, close]),
        );
        let rest = (
            self.open.strip_suffix(&own.0)?,
            self.close.strip_prefix(&own.1)?,
        );
        let within = self
            .slots
            .iter_mut()
            .filter(|(kind, _)| *kind == Object)
            .map(|(_, slot)| slot);
        for slot in within.chain([argument]) {
            (slot.open, slot.close) = (slot.open.and(&rest.0), rest.1.and(&slot.close));
        }
        let slot = nested(open.strip_suffix(&own.0)?, close.strip_prefix(&own.1)?);
        (self.open, self.close) = own;
        Some(slot)
    }
}

/// Learns an array or object from one with texts, one with numbers, and a nested one. Also returns
/// the form of an argument that is one.
fn container(seen: [Shown; 2], inner: Option<Shown>, named: bool) -> Option<(Container, Slot)> {
    // The glue before the first leaf or of the first name.
    let outer = if named {
        seen[0].before.clone()
    } else {
        Glue::common_start(seen.iter().map(|shown| &shown.before))
    };
    let mut container = Container::default();
    let mut closes = Glue::default();
    for (kind, shown) in [Text, Integer].into_iter().zip(&seen) {
        let open = if named {
            shown.opens.clone()
        } else {
            shown.before.strip_prefix(&outer)?
        };
        let between = if named {
            shown.between.clone()
        } else {
            shown.between.strip_suffix(&open)?
        };
        let close = Glue::common_start([&between, &shown.after]);
        let (next, end) = (
            between.strip_prefix(&close)?,
            shown.after.strip_prefix(&close)?,
        );
        if kind == Text {
            (container.next, closes) = (next, end);
        } else if (&container.next, &closes) != (&next, &end) {
            return None;
        }
        container.slots.push((
            kind,
            Slot {
                open,
                close,
                ..Slot::default()
            },
        ));
    }
    let (_, leaf) = container.slots.last()?.clone();
    // `outer` is the opening of the argument and of the array; the glue before the inner array
    // has the latter alone.
    let split = inner.and_then(|inner| {
        let open = if named {
            inner.opens.clone()
        } else {
            inner
                .before
                .strip_prefix(&outer)?
                .strip_suffix(&leaf.open)?
        };
        let after = inner
            .after
            .strip_prefix(&leaf.close)?
            .strip_suffix(&closes)?;
        let own = Glue::shared_end(&outer, &open);
        let end = Glue::common_start([&closes, &after]);
        let slot = nested(open.strip_suffix(&own)?, after.strip_prefix(&end)?);
        Some((own, end, slot))
    });
    let Some((own, end, slot)) = split else {
        (container.open, container.close) = (outer, closes);
        return Some((container, nested(Glue::default(), Glue::default())));
    };
    let argument = nested(outer.strip_suffix(&own)?, closes.strip_prefix(&end)?);
    (container.open, container.close) = (own, end);
    container
        .slots
        .push((if named { Object } else { Array }, slot));
    Some((container, argument))
}

/// Renders a call with one argument and returns the glue around the leaves of its value. `named`:
/// each leaf has a name.
fn shown(sampler: &Sampler, behind: &Glue, value: &Value, named: bool) -> Option<Shown> {
    let (key, _) = Words::default().argument(ValueKind::of(value));
    let turn = sampler.turn(&Sample::of_calls(vec![SampleCall {
        arguments: vec![(key, value.clone())],
    }]))?;
    // The text before each name and leaf, and after the last.
    let (_, mut rest) = turn.split_once(key)?;
    let (mut texts, mut keys) = (Vec::new(), vec![key]);
    for part in parts(value) {
        let text = match part {
            Part::Name(name) => {
                keys.push(name);
                name.to_owned()
            }
            Part::Leaf(Value::String(text)) => sampler.marks.mark(text),
            Part::Leaf(other) => other.to_string(),
        };
        let (before, after) = rest.split_once(&text)?;
        texts.push(before);
        rest = after;
    }
    texts.push(rest);
    let mut gaps = Vec::new();
    for text in texts {
        if sampler.marks.in_text(text) {
            return None;
        }
        // A closing tag may repeat the name.
        let mut text = text.to_owned();
        for key in &keys {
            text = text.replace(key, NAMES_ECHO);
        }
        gaps.push(Glue::new(&text, SampleCall::name(0), NAMES_ECHO, None)?);
    }
    let after = gaps.pop()?.strip_suffix(behind)?;
    // The glue before the second half is the one between two members.
    let between = gaps.get(gaps.len() / 2).filter(|_| gaps.len() > 1)?.clone();
    let mut gaps = gaps.into_iter();
    Some(Shown {
        before: gaps.next()?,
        opens: gaps.next().filter(|_| named).unwrap_or_default(),
        between,
        after,
    })
}

/// Placeholder for any of the names while glue is made.
const NAMES_ECHO: &str = "eqwubla";

enum Part<'v> {
    Name(&'v str),
    Leaf(&'v Value),
}

/// The names and leaves of a value, as they are written.
fn parts(value: &Value) -> Vec<Part<'_>> {
    match value {
        Value::Array(items) => items.iter().flat_map(parts).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| [vec![Part::Name(name)], parts(value)])
            .flatten()
            .collect(),
        leaf => vec![Part::Leaf(leaf)],
    }
}
