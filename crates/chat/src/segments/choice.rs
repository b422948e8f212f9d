//! Chooses which values get a label, and of which kind, such that the render without labels is the
//! prompt.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Limit;
use super::change::{Change, Kept, NO_SPACE, moved};
use super::marking::{Kind, Known, Marking, Way, With, is_container, stand_in};
use super::words::is_word;
use chatparse_base::find::{char_border_before, char_border_behind, shared, shared_end};
use chatparse_base::limits::{SEGMENT_RENDERS, SEGMENT_WORDS};
use chatparse_base::sort;
use chatparse_jinja::{Edge, Label, Labels, VALUES};
use chatparse_message::Request;

/// The findings of labelled renders.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// In the order of the prompt.
    pub labels: Vec<Label>,
    pub values: Vec<Known>,
    /// The same prompt with trimmed texts, and its labels, which differ in their positions only.
    pub trimmed: Option<(String, Vec<Label>)>,
    /// The render with changed values.
    pub changed: Changed,
    /// What that render keeps in values, with a label.
    pub kept: Kept,
    /// Words that the template compares, such that no change of them can be rendered.
    pub words: Vec<String>,
    /// The ranges that depend on other such texts.
    pub unknown: Vec<Range<usize>>,
    pub limit: Option<Limit>,
}

/// A render with changed values that is otherwise the prompt.
#[derive(Clone, Debug, Default)]
pub(super) struct Changed {
    /// Which values, by their numbers.
    pub values: Vec<bool>,
    pub keeps: bool,
    /// The render, without its labels.
    pub text: String,
    /// Its labels, at their places in the prompt.
    pub labels: Vec<Label>,
    /// What differs in the prompt, in order.
    pub moved: Vec<Range<usize>>,
}

impl Changed {
    /// Whether the value of this number is changed.
    pub fn has(&self, value: usize) -> bool {
        self.values.get(value) == Some(&true)
    }

    /// Whether something moves that no two labels enclose: the template shows a value in pieces.
    fn moves_outside(&self) -> bool {
        let mut labels = self.labels.iter().peekable();
        let mut open = 0usize;
        self.moved.iter().any(|range| {
            while let Some(label) = labels.next_if(|label| label.at <= range.start) {
                match label.edge {
                    Edge::Open | Edge::OpenScalar => open += 1,
                    Edge::OpenBlock | Edge::CloseBlock => {}
                    _ => open = open.saturating_sub(1),
                }
            }
            open == 0
        })
    }
}

pub(super) fn choose(
    prompt: &str,
    source: &str,
    labels: Labels,
    request: &Request,
    render: impl Fn(&Request) -> Option<String>,
) -> Found {
    let search = Search {
        prompt,
        labels,
        request,
        render: &render,
        renders: Cell::new(0),
        is_over: Cell::new(false),
    };
    let (marked, changed, is_all) = search.choose();
    let values = &marked.values;
    // Outer white space of values is found by a render without it.
    let mut texts = values.iter().filter(|known| known.kind == Kind::Text);
    let mut trimmed = None;
    if texts.any(|known| known.text.trim().len() != known.text.len()) {
        trimmed = search.render(&marked, true, Change::default());
        trimmed = trimmed.filter(|(_, labels)| kinds(labels).eq(kinds(&changed.labels)));
    }
    let mut found = Found {
        labels: changed.labels.clone(),
        trimmed,
        changed,
        ..Found::default()
    };
    if !is_all {
        search.renders.set(0);
        found.kept = Kept::of(source, values.iter().flat_map(Known::texts));
        let mut apart = Vec::new();
        search.change(&marked, 0..values.len(), &mut found, &mut apart);
        if !apart.is_empty() {
            let unknown = search.depends_on(&marked, &apart, &found);
            found.unknown.extend(unknown);
        }
    }
    if found.changed.moves_outside() {
        found
            .unknown
            .extend(search.spaces(&marked, &found.changed.values));
    }
    for (known, way) in values.iter().zip(&marked.ways) {
        if *way == Way::Leave && known.kind == Kind::Scalar {
            found.words.extend(known.texts().map(str::to_owned));
        }
    }
    let mut is_over = search.is_over.get();
    if found.words.len() > SEGMENT_WORDS {
        found.words.clear();
        found.unknown.push(0..prompt.len());
        is_over = true;
    }
    if values.len() > VALUES {
        found.limit = Some(Limit::Values);
    } else if is_over {
        found.limit = Some(Limit::Renders);
    }
    found.values = marked.values;
    found
}

/// The labels without their places.
fn kinds(labels: &[Label]) -> impl Iterator<Item = (Edge, usize)> {
    labels.iter().map(|label| (label.edge, label.value))
}

/// The treatment of each value. `share`: equal texts have one label.
#[derive(Clone)]
struct Marked {
    values: Vec<Known>,
    ways: Vec<Way>,
    share: bool,
}

struct Search<'s> {
    prompt: &'s str,
    labels: Labels,
    request: &'s Request,
    render: &'s dyn Fn(&Request) -> Option<String>,
    renders: Cell<usize>,
    /// Whether a trial was left out because of their number.
    is_over: Cell<bool>,
}

impl Search<'_> {
    fn may_render(&self) -> bool {
        let may = self.renders.get() < SEGMENT_RENDERS;
        self.is_over.set(self.is_over.get() || !may);
        may
    }

    /// The render without its labels, and the labels.
    fn render(&self, marked: &Marked, trim: bool, change: Change) -> Option<(String, Vec<Label>)> {
        self.renders.set(self.renders.get() + 1);
        let with = With {
            share: marked.share,
            trim,
            change,
        };
        let request = Marking::new(self.labels, &marked.ways, with).request(self.request);
        let (text, labels) = self.labels.take(&(self.render)(&request)?)?;
        Some(restored(text, labels, marked))
    }

    /// The render with some values changed, if it differs from the prompt in their characters only.
    fn changed(&self, marked: &Marked, change: Change) -> Option<Changed> {
        let (text, labels) = self.render(marked, false, change)?;
        let moved = moved(self.prompt, &text)?;
        Some(Changed {
            values: change.values.to_vec(),
            keeps: change.kept.is_some(),
            text,
            labels,
            moved,
        })
    }

    /// The labels alone, if they do not change the prompt.
    fn labelled(&self, marked: &Marked) -> Option<Changed> {
        let mut same = self.changed(marked, Change::default())?;
        same.values = vec![false; marked.values.len()];
        same.moved.is_empty().then_some(same)
    }

    /// If labels on all values change the prompt, groups are tried one by one, and the values of a
    /// group by halves. Also says whether the labels are those of a render with all values changed.
    fn choose(&self) -> (Marked, Changed, bool) {
        for share in [false, true] {
            let values = self.values(share);
            let marked = Marked {
                ways: vec![Way::Label; values.len()],
                values,
                share,
            };
            let all = Change {
                values: &vec![true; marked.values.len()],
                ..Change::default()
            };
            if let Some(changed) = self.changed(&marked, all) {
                return (marked, changed, true);
            }
            if let Some(labels) = self.labelled(&marked) {
                return (marked, labels, false);
            }
        }
        let values = self.values(false);
        let mut marked = Marked {
            ways: vec![Way::Leave; values.len()],
            values,
            share: false,
        };
        self.group_by_group(&mut marked);
        let labels = self.labelled(&marked).unwrap_or_else(|| Changed {
            values: vec![false; marked.values.len()],
            text: self.prompt.to_owned(),
            ..Changed::default()
        });
        (marked, labels, false)
    }

    fn values(&self, share: bool) -> Vec<Known> {
        let with = With {
            share,
            ..With::default()
        };
        let mut all = Marking::new(self.labels, &[], with);
        all.request(self.request);
        all.values
    }

    fn group_by_group(&self, marked: &mut Marked) {
        // In the order of the request.
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, known) in marked.values.iter().enumerate() {
            let number = *numbers.entry(known.group.as_str()).or_insert(groups.len());
            if number == groups.len() {
                groups.push(Vec::new());
            }
            groups[number].push(index);
        }
        groups.retain(|members| !self.take(marked, members));
        for members in groups {
            self.halve(marked, &members);
        }
    }

    /// Labels all these values, in one way, if that does not change the prompt.
    fn take(&self, marked: &mut Marked, members: &[usize]) -> bool {
        if !self.may_render() {
            return false;
        }
        let values = &marked.values;
        // Each word is searched for separately.
        let texts = members.iter().map(|index| values[*index].texts().count());
        let words: usize = texts.sum();
        let other = match values[members[0]].kind {
            Kind::Text => Some(Way::Inside),
            Kind::Word if words <= SEGMENT_WORDS => Some(Way::StandIn),
            Kind::Word | Kind::Scalar => None,
        };
        for way in [Some(Way::Label), other].into_iter().flatten() {
            let before = marked.ways.clone();
            // A value that cannot be labelled in this way stays unchanged.
            for &index in members {
                if has(way, &marked.values[index]) {
                    marked.ways[index] = way;
                }
            }
            if marked.ways != before && self.may_render() && self.labelled(marked).is_some() {
                let mut ways = members.iter().map(|index| marked.ways[*index]);
                return ways.all(|way| way != Way::Leave);
            }
            marked.ways = before;
        }
        false
    }

    fn halve(&self, marked: &mut Marked, members: &[usize]) {
        let mut members = members.to_vec();
        members.retain(|index| marked.ways[*index] == Way::Leave);
        if members.len() < 2 || !self.may_render() {
            return;
        }
        for half in [&members[..members.len() / 2], &members[members.len() / 2..]] {
            if !self.take(marked, half) {
                self.halve(marked, half);
            }
        }
    }

    /// The spaces of these values in the prompt, as far as the template does not look at them. The
    /// text around a space of a value in pieces does not tell whether the template wrote it.
    fn spaces(&self, marked: &Marked, values: &[bool]) -> Vec<Range<usize>> {
        let plain = self.left(marked, 0..marked.values.len());
        let change = Change {
            values,
            spaces: true,
            ..Change::default()
        };
        let Some((text, _)) = self.render(&plain, false, change) else {
            return Vec::new();
        };
        if text.len() != self.prompt.len() {
            return Vec::new();
        }
        let pairs = self.prompt.bytes().zip(text.bytes()).enumerate();
        pairs
            .filter(|(_, (a, b))| *a == b' ' && char::from(*b) == NO_SPACE)
            .map(|(at, _)| at..at + 1)
            .collect()
    }

    /// The same with these values left as they are.
    fn left(&self, marked: &Marked, numbers: impl Iterator<Item = usize>) -> Marked {
        let mut left = marked.clone();
        for number in numbers {
            left.ways[number] = Way::Leave;
        }
        left
    }

    /// Changes these values, too: at once, or with the texts kept that the template looks for, or
    /// by halves. `apart` gets the values that cannot be changed. All changes are in one render,
    /// because of two equal values each would hide the change of the other.
    fn change(
        &self,
        marked: &Marked,
        numbers: Range<usize>,
        found: &mut Found,
        apart: &mut Vec<usize>,
    ) {
        if numbers.is_empty() {
            return;
        }
        let mut values = found.changed.values.clone();
        values[numbers.clone()].fill(true);
        for keeps in [false, true] {
            let is_new = if keeps {
                !found.kept.is_empty()
            } else {
                !found.changed.keeps
            };
            if !is_new || !self.may_render() {
                continue;
            }
            let mut change = Change {
                values: &values,
                kept: keeps.then_some(&found.kept),
                labels: 2,
                ..Change::default()
            };
            // With two labels a template that cuts at some length shows something else.
            if keeps && self.changed(marked, change).is_none() {
                continue;
            }
            change.labels = 1;
            if let Some(changed) = self.changed(marked, change) {
                found.changed = changed;
                return;
            }
        }
        if numbers.len() > 1 {
            let middle = numbers.start + numbers.len() / 2;
            self.change(marked, numbers.start..middle, found, apart);
            self.change(marked, middle..numbers.end, found, apart);
            return;
        }
        let known = &marked.values[numbers.start];
        match known.kind {
            Kind::Scalar => {}
            Kind::Word if known.texts().all(is_word) => {
                found.words.extend(known.texts().map(str::to_owned))
            }
            _ => apart.push(numbers.start),
        }
    }

    /// The range of the prompt that changes if the texts change that no render could change before.
    /// All of it if that is unknown.
    fn depends_on(&self, marked: &Marked, apart: &[usize], found: &Found) -> Option<Range<usize>> {
        let whole = 0..self.prompt.len();
        let mut values = found.changed.values.clone();
        // Without a label nothing of a value is kept. What is cut at another place may be the same
        // by chance, but hardly twice.
        let plain = self.left(marked, apart.iter().copied());
        apart.iter().for_each(|index| values[*index] = true);
        let kept = found.changed.keeps.then_some(&found.kept);
        let old = found.changed.text.as_str();
        let mut differs = false;
        let [mut same, mut behind, mut shortest] = [old.len(); 3];
        for again in [&[][..], apart] {
            let change = Change {
                values: &values,
                kept,
                labels: 1,
                again,
                ..Change::default()
            };
            let Some((other, _)) = self.render(&plain, false, change) else {
                return Some(whole);
            };
            same = same.min(shared(old, &other));
            behind = behind.min(shared_end(old, &other));
            shortest = shortest.min(other.len());
            differs |= old != other;
        }
        // Text around the range may begin or end as what is there does: then the range may be
        // longer.
        let both = (same + behind).saturating_sub(shortest);
        let text = self.prompt;
        let texts = apart.iter().flat_map(|index| marked.values[*index].texts());
        let mut own: HashSet<char> = HashSet::new();
        for text in texts {
            own.extend(text.chars().flat_map(char::to_lowercase));
        }
        let start = char_border_before(text, same - both);
        let start = start - length_of(&own, text[..start].chars().rev());
        let end = char_border_behind(text, old.len() - (behind - both));
        let end = end + length_of(&own, text[end..].chars());
        // Where it is inserted or left out as a whole, its place is not told.
        differs.then_some(if start < end { start..end } else { whole })
    }
}

/// The length of the first characters that are among those of `own`, in either case.
fn length_of(own: &HashSet<char>, chars: impl Iterator<Item = char>) -> usize {
    let first = chars.take_while(|c| c.to_lowercase().all(|c| own.contains(&c)));
    first.map(char::len_utf8).sum()
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
fn restored(mut text: String, mut labels: Vec<Label>, marked: &Marked) -> (String, Vec<Label>) {
    let mut words: Vec<(usize, usize, &str)> = Vec::new();
    for (value, known) in marked.values.iter().enumerate() {
        if marked.ways[value] != Way::StandIn {
            continue;
        }
        for shown in known.texts() {
            let Some(word) = stand_in(shown, value) else {
                continue;
            };
            words.extend(text.match_indices(&word).map(|(at, _)| (at, value, shown)));
        }
    }
    sort::sort(&mut words);
    for (at, value, shown) in words {
        // A stand-in is as long as its word.
        let end = at + shown.len();
        text.replace_range(at..end, shown);
        for (edge, at) in [(Edge::Open, at), (Edge::Close, end)] {
            labels.push(Label { edge, value, at });
        }
    }
    // A stable sort: an end precedes a beginning at the same position only if it did before.
    sort::by_key(&mut labels, |label| label.at);
    (text, labels)
}
