//! Chooses which values get a label, and of which kind, such that the render without labels is the prompt.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Limit;
use super::change::{Change, Kept, NO_SPACE, moved};
use super::marking::{Kind, Known, Marking, Way, With, is_container, stand_in};
use super::words::is_word;
use chatparse_base::find::{char_border_before, char_border_behind, shared, shared_end};
use chatparse_base::limits::{SEGMENT_RENDERS, SEGMENT_WORDS};
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
    let search = Search { prompt, labels, request, render: &render, renders: Cell::new(0), is_over: Cell::new(false) };
    let Chosen { values, ways, share, labels: taken, changed } = search.choose();
    let is_padded = |known: &Known| known.kind == Kind::Text && known.text.trim().len() != known.text.len();
    let trim = || search.render(&ways, With { trim: true, share, change: None });
    let trimmed = values.iter().any(is_padded).then(trim).flatten();
    let trimmed = trimmed.filter(|(_, labels)| {
        let same = |(a, b): (&Label, &Label)| (a.edge, a.value) == (b.edge, b.value);
        labels.len() == taken.len() && labels.iter().zip(&taken).all(same)
    });
    let mut found = Found { labels: taken, trimmed, ..Found::default() };
    match changed {
        Some(changed) => found.changed = changed,
        None => {
            search.renders.set(0);
            let none = vec![false; values.len()];
            found.changed =
                Changed { values: none, labels: found.labels.clone(), text: prompt.to_owned(), ..Changed::default() };
            found.kept = Kept::of(source, values.iter().flat_map(Known::texts));
            let trial = Trial { search: &search, values: &values, ways: &ways, share };
            let mut apart = Vec::new();
            trial.change(0..values.len(), &mut found, &mut apart);
            if !apart.is_empty() {
                let unknown = trial.depends_on(&apart, &found);
                found.unknown.extend(unknown);
            }
        }
    }
    if found.changed.moves_outside() {
        found.unknown.extend(search.spaces(&found.changed.values, share));
    }
    for (_, known) in values.iter().enumerate().filter(|(index, _)| ways[*index] == Way::Leave) {
        if known.kind == Kind::Scalar {
            found.words.extend(known.texts().map(str::to_owned));
        }
    }
    let mut is_over = search.is_over.get();
    if found.words.len() > SEGMENT_WORDS {
        found.words.clear();
        found.unknown.push(0..prompt.len());
        is_over = true;
    }
    let limit = if values.len() > VALUES { Some(Limit::Values) } else { is_over.then_some(Limit::Renders) };
    Found { values, limit, ..found }
}

/// The treatment of each value, and the resulting labels. `share`: equal texts have one label.
struct Chosen {
    values: Vec<Known>,
    ways: Vec<Way>,
    share: bool,
    labels: Vec<Label>,
    /// If these labels are those of a render with all values changed.
    changed: Option<Changed>,
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
        self.may_render() && self.labels(ways, values, false).is_some()
    }

    /// If labels on all values change the prompt, groups are tried one by one, and the values of a group by halves.
    fn choose(&self) -> Chosen {
        for share in [false, true] {
            let values = self.values(share);
            let ways = vec![Way::Label; values.len()];
            let all = Change { values: &vec![true; values.len()], kept: None, labels: 0, spaces: false, again: &[] };
            if let Some(changed) = self.changed(&ways, &values, share, all) {
                return Chosen { labels: changed.labels.clone(), values, ways, share, changed: Some(changed) };
            }
            if let Some(labels) = self.labels(&ways, &values, share) {
                return Chosen { values, ways, share, labels, changed: None };
            }
        }
        let values = self.values(false);
        let ways = self.group_by_group(&values);
        let labels = self.labels(&ways, &values, false).unwrap_or_default();
        Chosen { values, ways, share: false, labels, changed: None }
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
        if !self.may_render() {
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
        if members.len() < 2 || !self.may_render() {
            return;
        }
        for half in [&members[..members.len() / 2], &members[members.len() / 2..]] {
            if !self.take(ways, values, half) {
                self.halve(ways, values, half);
            }
        }
    }

    /// The render with these values changed, if it differs from the prompt in their characters only.
    fn changed(&self, ways: &[Way], values: &[Known], share: bool, change: Change) -> Option<Changed> {
        let (text, labels) = self.render(ways, With { share, trim: false, change: Some(change) })?;
        let (text, labels) = restored(&text, labels, ways, values);
        let moved = moved(self.prompt, &text)?;
        Some(Changed { values: change.values.to_vec(), keeps: change.kept.is_some(), text, labels, moved })
    }

    /// The spaces of these values in the prompt, as far as the template does not look at them: of a value in pieces they are
    /// not told from the template's by what stands around them.
    fn spaces(&self, values: &[bool], share: bool) -> Vec<Range<usize>> {
        let ways = vec![Way::Leave; values.len()];
        let change = Some(Change { values, kept: None, labels: 0, spaces: true, again: &[] });
        let Some((text, _)) = self.render(&ways, With { change, share, trim: false }) else { return Vec::new() };
        if text.len() != self.prompt.len() {
            return Vec::new();
        }
        let pairs = self.prompt.bytes().zip(text.bytes()).enumerate();
        pairs.filter(|(_, (a, b))| *a == b' ' && char::from(*b) == NO_SPACE).map(|(at, _)| at..at + 1).collect()
    }
}

/// Changes values that are labelled already.
struct Trial<'t> {
    search: &'t Search<'t>,
    values: &'t [Known],
    ways: &'t [Way],
    share: bool,
}

impl Trial<'_> {
    /// Changes these values, too: at once, or with what the template looks for kept, or by halves; `apart` gets those that
    /// cannot be changed. All changes are in one render, because values may be alike: then each could hide the other.
    fn change(&self, numbers: Range<usize>, found: &mut Found, apart: &mut Vec<usize>) {
        if numbers.is_empty() {
            return;
        }
        let mut values = found.changed.values.clone();
        values[numbers.clone()].fill(true);
        for keeps in [false, true] {
            let is_new = if keeps { !found.kept.is_empty() } else { !found.changed.keeps };
            if !is_new || !self.search.may_render() {
                continue;
            }
            let changed = |labels: usize| {
                let change =
                    Change { values: &values, kept: keeps.then_some(&found.kept), labels, spaces: false, again: &[] };
                self.search.changed(self.ways, self.values, self.share, change)
            };
            // With two labels a template that cuts at some length shows something else.
            if (!keeps || changed(2).is_some())
                && let Some(changed) = changed(1)
            {
                found.changed = changed;
                return;
            }
        }
        if numbers.len() > 1 {
            let middle = numbers.start + numbers.len() / 2;
            self.change(numbers.start..middle, found, apart);
            self.change(middle..numbers.end, found, apart);
            return;
        }
        let known = &self.values[numbers.start];
        match known.kind {
            Kind::Scalar => {}
            Kind::Word if known.texts().all(is_word) => found.words.extend(known.texts().map(str::to_owned)),
            _ => apart.push(numbers.start),
        }
    }

    /// The range of the prompt that changes if the texts change that no render could change before. All of it if that is
    /// unknown.
    fn depends_on(&self, apart: &[usize], found: &Found) -> Option<Range<usize>> {
        let whole = 0..self.search.prompt.len();
        let mut values = found.changed.values.clone();
        // Without a label nothing of a value is kept. What is cut at another place may be the same by chance, but hardly twice.
        let mut ways = self.ways.to_vec();
        for index in apart {
            (values[*index], ways[*index]) = (true, Way::Leave);
        }
        let kept = found.changed.keeps.then_some(&found.kept);
        let old = found.changed.text.as_str();
        let (mut same, mut behind, mut shortest, mut differs) = (old.len(), old.len(), old.len(), false);
        for again in [&[][..], apart] {
            let change = Some(Change { values: &values, kept, labels: 1, spaces: false, again });
            let Some((other, labels)) = self.search.render(&ways, With { change, share: self.share, trim: false })
            else {
                return Some(whole);
            };
            let (other, _) = restored(&other, labels, &ways, self.values);
            same = same.min(shared(old, &other));
            behind = behind.min(shared_end(old, &other));
            shortest = shortest.min(other.len());
            differs |= old != other;
        }
        // Text around the range may begin or end as what is there does: then the range may be longer.
        let both = (same + behind).saturating_sub(shortest);
        let text = self.search.prompt;
        let texts = apart.iter().flat_map(|index| self.values[*index].texts());
        let own: HashSet<char> = texts.flat_map(str::chars).flat_map(char::to_lowercase).collect();
        let is_own = |c: &char| c.to_lowercase().all(|c| own.contains(&c));
        let length =
            |chars: &mut dyn Iterator<Item = char>| chars.take_while(is_own).map(char::len_utf8).sum::<usize>();
        let start = char_border_before(text, same - both);
        let start = start - length(&mut text[..start].chars().rev());
        let end = char_border_behind(text, old.len() - (behind - both));
        let end = end + length(&mut text[end..].chars());
        // Where it is inserted or left out as a whole, its place is not told.
        differs.then_some(if start < end { start..end } else { whole })
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
