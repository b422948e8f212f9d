//! Chooses which values get a label, and of which kind, such that the render without labels is the prompt.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use super::marking::{Kind, Known, Marking, Way, With, is_container, stand_in};
use chatparse_base::find::{char_border_before, char_border_behind};
use chatparse_base::limits::{SEGMENT_RENDERS, SEGMENT_WORDS};
use chatparse_jinja::{Edge, Label, Labels};
use chatparse_message::Request;

/// The findings of labelled renders.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the prompt.
    pub labels: Vec<Label>,
    pub values: Vec<Known>,
    /// The same prompt with trimmed texts, and its labels, which differ in their positions only.
    pub trimmed: Option<(String, Vec<Label>)>,
    /// Words and scalars without a label.
    pub words: Vec<String>,
    /// The ranges that depend on texts without a label.
    pub unknown: Vec<Range<usize>>,
}

pub(super) fn choose(
    prompt: &str,
    labels: Labels,
    request: &Request,
    render: impl Fn(&Request) -> Option<String>,
) -> Found {
    let search = Search { prompt, labels, request, render: &render, renders: Cell::new(0) };
    let Chosen { values, ways, share, labels: taken } = search.choose();
    let is_padded = |known: &Known| known.kind == Kind::Text && known.text.trim().len() != known.text.len();
    let trimmed = values.iter().any(is_padded).then(|| search.render(&ways, With { trim: true, share })).flatten();
    let trimmed = trimmed.filter(|(_, labels)| {
        let same = |(a, b): (&Label, &Label)| (a.edge, a.value) == (b.edge, b.value);
        labels.len() == taken.len() && labels.iter().zip(&taken).all(same)
    });
    let (mut words, mut unknown) = (Vec::new(), Vec::new());
    for (index, known) in values.iter().enumerate().filter(|(index, _)| ways[*index] == Way::Leave) {
        match known.kind {
            Kind::Text => unknown.extend(search.depends_on(index, values.len())),
            Kind::Word | Kind::Scalar => words.extend(known.texts().map(str::to_owned)),
        }
    }
    if words.len() > SEGMENT_WORDS {
        words.clear();
        unknown.push(0..prompt.len());
    }
    Found { labels: taken, values, trimmed, words, unknown }
}

/// The treatment of each value, and the resulting labels. `share`: equal texts have one label.
struct Chosen {
    values: Vec<Known>,
    ways: Vec<Way>,
    share: bool,
    labels: Vec<Label>,
}

struct Search<'s> {
    prompt: &'s str,
    labels: Labels,
    request: &'s Request,
    render: &'s dyn Fn(&Request) -> Option<String>,
    renders: Cell<usize>,
}

impl Search<'_> {
    /// The render without its labels, and the labels.
    fn render(&self, ways: &[Way], with: With) -> Option<(String, Vec<Label>)> {
        self.renders.set(self.renders.get() + 1);
        let marked = Marking::new(self.labels, ways, with).request(self.request);
        self.labels.take(&(self.render)(&marked)?)
    }

    /// The labels, if they do not change the prompt.
    fn labels(&self, ways: &[Way], values: &[Known], share: bool) -> Option<Vec<Label>> {
        let (text, labels) = self.render(ways, With { share, ..With::default() })?;
        let (text, labels) = restored(&text, labels, ways, values);
        (text == self.prompt).then_some(labels)
    }

    fn fits(&self, ways: &[Way], values: &[Known]) -> bool {
        self.renders.get() < SEGMENT_RENDERS && self.labels(ways, values, false).is_some()
    }

    /// If labels on all values change the prompt, groups are tried one by one, and the values of a group by halves.
    fn choose(&self) -> Chosen {
        for share in [false, true] {
            let values = self.values(share);
            let ways = vec![Way::Label; values.len()];
            if let Some(labels) = self.labels(&ways, &values, share) {
                return Chosen { values, ways, share, labels };
            }
        }
        let values = self.values(false);
        let ways = self.group_by_group(&values);
        let labels = self.labels(&ways, &values, false).unwrap_or_default();
        Chosen { values, ways, share: false, labels }
    }

    fn values(&self, share: bool) -> Vec<Known> {
        let mut all = Marking::new(self.labels, &[], With { share, ..With::default() });
        all.request(self.request);
        all.values
    }

    fn group_by_group(&self, values: &[Known]) -> Vec<Way> {
        let mut ways = vec![Way::Leave; values.len()];
        // In the order of the request.
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, known) in values.iter().enumerate() {
            let number = *numbers.entry(known.group.as_str()).or_insert(groups.len());
            if number == groups.len() {
                groups.push(Vec::new());
            }
            groups[number].push(index);
        }
        let mut left = groups;
        left.retain(|members| !self.take(&mut ways, values, members));
        left.iter().for_each(|members| self.halve(&mut ways, values, members));
        ways
    }

    /// Labels all these values, in this way, if that does not change the prompt.
    fn take(&self, ways: &mut Vec<Way>, values: &[Known], members: &[usize]) -> bool {
        if self.renders.get() >= SEGMENT_RENDERS {
            return false;
        }
        // Each word is searched for separately.
        let words = members.iter().map(|index| values[*index].texts().count()).sum::<usize>();
        let other = match values[members[0]].kind {
            Kind::Text => Some(Way::Inside),
            Kind::Word if words <= SEGMENT_WORDS => Some(Way::StandIn),
            Kind::Word | Kind::Scalar => None,
        };
        for way in [Some(Way::Label), other].into_iter().flatten() {
            let mut tried = ways.clone();
            // A value that cannot be labelled in this way stays unchanged.
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

    /// The range of the prompt that changes if this text changes. All of it if that is unknown.
    fn depends_on(&self, index: usize, values: usize) -> Option<Range<usize>> {
        let whole = 0..self.prompt.len();
        if self.renders.get() >= SEGMENT_RENDERS {
            return Some(whole);
        }
        let mut ways = vec![Way::Leave; values];
        ways[index] = Way::Change;
        let Some((other, _)) = self.render(&ways, With::default()) else { return Some(whole) };
        let (old, new) = (self.prompt.as_bytes(), other.as_bytes());
        let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - same;
        let behind = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let start = char_border_before(self.prompt, same);
        let end = char_border_behind(self.prompt, old.len() - behind);
        (old != new).then_some(start..end.max(start))
    }
}

/// Whether the value can be labelled in this way.
fn has(way: Way, known: &Known) -> bool {
    match way {
        Way::StandIn => known.texts().all(|text| stand_in(text, 0).is_some()),
        Way::Inside => is_container(&known.text),
        _ => true,
    }
}

/// Replaces stand-ins in the render by their words, and adds labels for them.
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
    chatparse_base::sort::sort(&mut words);
    let mut restored = text.to_owned();
    let mut all = labels;
    for (at, value, shown) in words {
        // A stand-in is as long as its word.
        let end = at + shown.len();
        restored.replace_range(at..end, shown);
        all.push(Label { edge: Edge::Open, value, at });
        all.push(Label { edge: Edge::Close, value, at: end });
    }
    // A stable sort: an end precedes a beginning at the same position only if it did before.
    chatparse_base::sort::by_key(&mut all, |label| label.at);
    (restored, all)
}
