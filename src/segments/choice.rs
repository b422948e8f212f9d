//! Which values can have a label, and which way: such that the render without labels is the prompt.

use std::cell::Cell;
use std::ops::Range;

use super::marking::{Kind, Known, Marking, Way, is_container, stand_in};
use crate::limits::SEGMENT_RENDERS;
use crate::message::Request;
use crate::template::{Edge, Label, Labels};

/// What labelled renders tell of a prompt.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the prompt.
    pub labels: Vec<Label>,
    pub values: Vec<Known>,
    /// The same prompt with texts that have no outer white space, and its labels, which are the same but for their places.
    pub trimmed: Option<(String, Vec<Label>)>,
    /// Words and scalars without a label.
    pub words: Vec<String>,
    /// What depends on texts without a label.
    pub unknown: Vec<Range<usize>>,
}

pub(super) fn choose(
    prompt: &str,
    labels: Labels,
    request: &Request,
    render: impl Fn(&Request) -> Option<String>,
) -> Found {
    let search = Search { prompt, labels, request, render: &render, renders: Cell::new(0) };
    let mut all = Marking::new(labels, &[], false);
    all.request(request);
    let values = all.values;
    let ways = search.ways(&values);
    let taken = search.labels(&ways, &values).unwrap_or_default();
    let is_padded = |known: &Known| known.kind == Kind::Text && known.text.trim().len() != known.text.len();
    let trimmed = values.iter().any(is_padded).then(|| search.render(&ways, true)).flatten();
    let trimmed = trimmed.filter(|(_, labels)| {
        let same = |(a, b): (&Label, &Label)| (a.edge, a.value) == (b.edge, b.value);
        labels.len() == taken.len() && labels.iter().zip(&taken).all(same)
    });
    let (mut words, mut unknown) = (Vec::new(), Vec::new());
    for (index, known) in values.iter().enumerate().filter(|(index, _)| ways[*index] == Way::Leave) {
        match known.kind {
            Kind::Text => unknown.extend(search.depends_on(index)),
            Kind::Word | Kind::Scalar => words.extend(known.texts().map(str::to_owned)),
        }
    }
    Found { labels: taken, values, trimmed, words, unknown }
}

struct Search<'s> {
    prompt: &'s str,
    labels: Labels,
    request: &'s Request,
    render: &'s dyn Fn(&Request) -> Option<String>,
    renders: Cell<usize>,
}

impl Search<'_> {
    /// The render without its labels, and these.
    fn render(&self, ways: &[Way], trims: bool) -> Option<(String, Vec<Label>)> {
        self.renders.set(self.renders.get() + 1);
        let marked = Marking::new(self.labels, ways, trims).request(self.request);
        self.labels.take(&(self.render)(&marked)?)
    }

    /// The labels, if they leave the prompt as it is.
    fn labels(&self, ways: &[Way], values: &[Known]) -> Option<Vec<Label>> {
        let (text, labels) = self.render(ways, false)?;
        let (text, labels) = restored(&text, labels, ways, values);
        (text == self.prompt).then_some(labels)
    }

    fn fits(&self, ways: &[Way], values: &[Known]) -> bool {
        self.renders.get() < SEGMENT_RENDERS && self.labels(ways, values).is_some()
    }

    /// What becomes of each value. If not all can have a label, groups are tried one by one, and the values of a group by halves.
    fn ways(&self, values: &[Known]) -> Vec<Way> {
        let all = vec![Way::Label; values.len()];
        if self.fits(&all, values) {
            return all;
        }
        let mut ways = vec![Way::Leave; values.len()];
        let mut groups: Vec<&str> = Vec::new();
        values.iter().map(|known| known.group.as_str()).for_each(|group| {
            if !groups.contains(&group) {
                groups.push(group);
            }
        });
        let mut left = Vec::new();
        for group in groups {
            let members: Vec<usize> = (0..values.len()).filter(|index| values[*index].group == group).collect();
            if !self.take(&mut ways, values, &members) {
                left.push(members);
            }
        }
        left.iter().for_each(|members| self.halve(&mut ways, values, members));
        ways
    }

    /// Gives all these values a label, or another sign of their kind, if that leaves the prompt as it is.
    fn take(&self, ways: &mut Vec<Way>, values: &[Known], members: &[usize]) -> bool {
        let other = match values[members[0]].kind {
            Kind::Text => Way::Inside,
            Kind::Word => Way::StandIn,
            Kind::Scalar => Way::Label,
        };
        for way in [Way::Label, other] {
            let mut tried = ways.clone();
            // A sign that there is none of leaves the value as it is.
            members.iter().filter(|index| has(way, &values[**index])).for_each(|index| tried[*index] = way);
            if tried != *ways && self.fits(&tried, values) {
                *ways = tried;
                return members.iter().all(|index| ways[*index] != Way::Leave);
            }
        }
        false
    }

    fn halve(&self, ways: &mut Vec<Way>, values: &[Known], members: &[usize]) {
        let members: Vec<usize> = members.iter().copied().filter(|index| ways[*index] == Way::Leave).collect();
        if members.len() < 2 || self.renders.get() >= SEGMENT_RENDERS {
            return;
        }
        for half in [&members[..members.len() / 2], &members[members.len() / 2..]] {
            if !self.take(ways, values, half) {
                self.halve(ways, values, half);
            }
        }
    }

    /// What of the prompt is other if this text is. All of it where nobody can tell.
    fn depends_on(&self, index: usize) -> Option<Range<usize>> {
        let whole = 0..self.prompt.len();
        if self.renders.get() >= SEGMENT_RENDERS {
            return Some(whole);
        }
        let mut ways = vec![Way::Leave; index + 1];
        ways[index] = Way::Change;
        let Some((other, _)) = self.render_left(&ways) else { return Some(whole) };
        let (old, new) = (self.prompt.as_bytes(), other.as_bytes());
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - same;
        let behind = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let (mut start, mut end) = (same, old.len() - behind);
        while !self.prompt.is_char_boundary(start) {
            start -= 1;
        }
        while !self.prompt.is_char_boundary(end) {
            end += 1;
        }
        (old != new).then_some(start..end.max(start))
    }

    /// A render in which no value behind the last of `ways` has a label.
    fn render_left(&self, ways: &[Way]) -> Option<(String, Vec<Label>)> {
        let mut all = Marking::new(self.labels, &[], false);
        all.request(self.request);
        let mut ways = ways.to_vec();
        ways.resize(all.values.len(), Way::Leave);
        self.render(&ways, false)
    }
}

/// Whether the value takes this sign.
fn has(way: Way, known: &Known) -> bool {
    match way {
        Way::StandIn => known.texts().all(|text| stand_in(text, 0).is_some()),
        Way::Inside => is_container(&known.text),
        _ => true,
    }
}

/// The render with words where stand-ins are, and labels for them.
fn restored(text: &str, labels: Vec<Label>, ways: &[Way], values: &[Known]) -> (String, Vec<Label>) {
    let mut words: Vec<(usize, usize, &str)> = Vec::new();
    for (value, known) in values.iter().enumerate().filter(|(value, _)| ways.get(*value) == Some(&Way::StandIn)) {
        for shown in known.texts() {
            let Some(word) = stand_in(shown, value) else { continue };
            words.extend(text.match_indices(&word).map(|(at, _)| (at, value, shown)));
        }
    }
    if words.is_empty() {
        return (text.to_owned(), labels);
    }
    words.sort();
    let mut restored = text.to_owned();
    let mut all = labels;
    for (at, value, shown) in words {
        // A stand-in is as long as its word.
        let end = at + shown.len();
        restored.replace_range(at..end, shown);
        all.push(Label { edge: Edge::Open, value, at });
        all.push(Label { edge: Edge::Close, value, at: end });
    }
    // Stable: an end comes before the beginning at the same place only if it did.
    all.sort_by_key(|label| label.at);
    (restored, all)
}
