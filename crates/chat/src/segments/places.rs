//! Turns labels into segments.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::change::stays;
use super::choice::Found;
use super::marking::{Kind, Known, is_container};
use super::words::{is_keyword, is_type};
use super::{Origin, Segment};
use crate::texts::whole_words;
use chatparse_base::sort;
use chatparse_jinja::{Edge, Label};

/// The characters between the values of JSON, and of Python's lists and dicts.
const PUNCTUATION: [char; 13] = [
    '{', '}', '[', ']', '"', '\'', ',', ':', ' ', '\n', '\t', '\r', '\\',
];

/// The segments that cover the prompt, and the ranges of `{% generation %}` blocks.
pub(super) fn segments(prompt: &str, found: Found) -> (Vec<Segment>, Vec<Range<usize>>) {
    let blocks = blocks(&found.labels, prompt.len());
    let mut known = values(prompt, &found);
    known.extend(spelt_out(prompt, &found));
    sort::by_key(&mut known, |segment| segment.bytes.start);
    widen_space(prompt, &found, &mut known);
    known = with_punctuation(prompt, known);
    let unknown = unknown(prompt, &found, &known);
    known.extend(unknown.into_iter().map(|bytes| Segment {
        bytes,
        origin: Origin::Unknown,
    }));
    sort::by_key(&mut known, |segment| segment.bytes.start);
    (covering(prompt, known), blocks)
}

/// The outermost blocks. A message that the model continues lacks its end.
fn blocks(labels: &[Label], end: usize) -> Vec<Range<usize>> {
    let (mut blocks, mut open) = (Vec::new(), Vec::new());
    for label in labels {
        match label.edge {
            Edge::OpenBlock => open.push(label.at),
            Edge::CloseBlock => {
                if let (Some(start), true) = (open.pop(), open.is_empty()) {
                    blocks.push(start..label.at);
                }
            }
            _ => {}
        }
    }
    blocks.extend(open.first().map(|start| *start..end));
    blocks
}

fn opens(label: &Label) -> bool {
    matches!(label.edge, Edge::Open | Edge::OpenScalar)
}

fn is_value(label: &&Label) -> bool {
    !matches!(label.edge, Edge::OpenBlock | Edge::CloseBlock)
}

/// The values, each as its own render shows it.
fn values(prompt: &str, found: &Found) -> Vec<Segment> {
    let mut shown: Vec<(Range<usize>, usize)> = Vec::new();
    let changed = &found.changed;
    let is_changed = |value: usize| changed.values.get(value) == Some(&true);
    // What is not the whole text may have been written into it.
    let is_whole = |bytes: &Range<usize>, value: usize| {
        is_changed(value) || is_text_of(&found.values[value], &prompt[bytes.clone()])
    };
    if changed.values.contains(&false) {
        shown.extend(shown_between(prompt, &found.labels, &[], &is_whole));
        shown.retain(|(_, value)| !is_changed(*value));
    }
    // A piece of a value moves, or is what was kept of it; else the template has split the value,
    // and wrote this between.
    let is_piece = |bytes: &Range<usize>, value: usize| {
        let text = &prompt[bytes.clone()];
        let is_constant =
            !changed.keeps || found.values[value].kind == Kind::Scalar || text.chars().all(stays);
        let first = changed
            .moved
            .partition_point(|range| range.end <= bytes.start);
        let moves = changed
            .moved
            .get(first)
            .is_some_and(|range| range.start < bytes.end);
        is_constant || moves || found.kept.is(text)
    };
    let all = shown_between(prompt, &changed.labels, &changed.moved, &is_piece);
    shown.extend(all.into_iter().filter(|(_, value)| is_changed(*value)));
    sort::by_key(&mut shown, |(bytes, _)| bytes.start);
    let segment = |(bytes, value): &(Range<usize>, usize)| Segment {
        bytes: bytes.clone(),
        origin: found.values[*value].origin().clone(),
    };
    let mut segments: Vec<Segment> = shown.iter().map(segment).collect();
    let shown: Vec<usize> = shown.into_iter().map(|(_, value)| value).collect();
    resolve_places(found, &shown, &mut segments);
    segments
}

/// Whether the prompt shows the text of a value, as it is or in JSON, or a value inside of it.
fn is_text_of(known: &Known, shown: &str) -> bool {
    known.texts().any(|text| {
        let quoted = |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
        let text = text.trim();
        text == shown
            || quoted(shown).as_deref() == Some(text)
            || quoted(text).as_deref() == Some(shown)
            || is_container(text)
    }) || known.kind == Kind::Scalar
}

/// What stands between the two labels of a value. If the template renders a part of a value, one
/// label is missing: then the value extends as far as the text moves with it.
fn shown_between(
    prompt: &str,
    labels: &[Label],
    moved: &[Range<usize>],
    is_piece: &dyn Fn(&Range<usize>, usize) -> bool,
) -> Vec<(Range<usize>, usize)> {
    let labels: Vec<&Label> = labels.iter().filter(is_value).collect();
    let (mut shown, mut index, mut last) = (Vec::new(), 0, 0);
    while let Some(&label) = labels.get(index) {
        let next = labels.get(index + 1);
        let own = |other: Option<&&Label>| other.is_some_and(|other| other.value == label.value);
        let end = next.map_or(prompt.len(), |next| next.at);
        let bytes = match opens(label) {
            true if own(next)
                && next.is_some_and(|next| !opens(next))
                && is_piece(&(label.at..end), label.value) =>
            {
                index += 1;
                label.at..end
            }
            true => label.at..moves_until(prompt, moved, label.at..end, own(next)),
            false => {
                let before = index.checked_sub(1).map(|before| &labels[before]);
                moves_from(prompt, moved, last..label.at, own(before))..label.at
            }
        };
        index += 1;
        last = last.max(bytes.end);
        if !bytes.is_empty() {
            shown.push((bytes, label.value));
        }
    }
    shown
}

/// How far the text at the start of a gap moves. `through`: also over what always stays at the end
/// of the gap.
fn moves_until(prompt: &str, moved: &[Range<usize>], gap: Range<usize>, through: bool) -> usize {
    let mut end = gap.start;
    let first = moved.partition_point(|range| range.end <= gap.start);
    for range in moved[first..]
        .iter()
        .take_while(|range| range.start < gap.end)
    {
        if !prompt[end..range.start.max(end)].chars().all(stays) {
            return end;
        }
        end = range.end.min(gap.end);
    }
    if through && prompt[end..gap.end].chars().all(stays) {
        gap.end
    } else {
        end
    }
}

/// The same backwards, from the end of a gap.
fn moves_from(prompt: &str, moved: &[Range<usize>], gap: Range<usize>, through: bool) -> usize {
    let mut start = gap.end;
    let behind = moved.partition_point(|range| range.start < gap.end);
    for range in moved[..behind]
        .iter()
        .rev()
        .take_while(|range| range.end > gap.start)
    {
        if !prompt[range.end.min(start)..start].chars().all(stays) {
            return start;
        }
        start = range.start.max(gap.start);
    }
    if through && prompt[gap.start..start].chars().all(stays) {
        gap.start
    } else {
        start
    }
}

/// Resolves ids and equal texts with several places: each occurrence gets one of the places, in
/// order, or the one next to other values of its message.
fn resolve_places(found: &Found, shown: &[usize], segments: &mut [Segment]) {
    let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, value) in shown
        .iter()
        .enumerate()
        .filter(|(_, value)| found.values[**value].origins.len() > 1)
    {
        places.entry(*value).or_default().push(at);
    }
    for (value, places) in places {
        let origins = &found.values[value].origins;
        // They are in the order of the messages.
        let from = |index: Option<usize>| {
            &origins[origins.partition_point(|origin| origin.message() < index)..]
        };
        let of = |index: Option<usize>| {
            from(index)
                .first()
                .filter(|origin| index.is_some() && origin.message() == index)
        };
        let beside = |at: usize| {
            let before = at
                .checked_sub(1)
                .and_then(|at| segments[at].origin.message());
            let after = segments.get(at + 1).and_then(|next| next.origin.message());
            let between = || from(before).iter().find(|origin| origin.message() > before);
            of(after)
                .or(of(before))
                .or_else(|| between().filter(|origin| origin.message() < after))
        };
        let own: Vec<Origin> = match places.len() == origins.len() {
            true => origins.clone(),
            false => places
                .iter()
                .map(|at| beside(*at).unwrap_or(&origins[0]).clone())
                .collect(),
        };
        places
            .into_iter()
            .zip(own)
            .for_each(|(at, origin)| segments[at].origin = origin);
    }
}

/// Scalars of arguments without a label: a template that tests their type writes them itself,
/// behind their key.
fn spelt_out(prompt: &str, found: &Found) -> Vec<Segment> {
    let labels: Vec<&Label> = found.labels.iter().filter(is_value).collect();
    let seen: HashSet<usize> = labels.iter().map(|label| label.value).collect();
    let mut keys: HashMap<&Origin, usize> = HashMap::new();
    for (at, label) in labels.iter().enumerate().filter(|(_, label)| !opens(label)) {
        keys.entry(found.values[label.value].origin()).or_insert(at);
    }
    let mut all = Vec::new();
    for (value, known) in found.values.iter().enumerate() {
        let is_argument =
            matches!(known.origin(), Origin::Message { path, .. } if path.contains("/arguments/"));
        if known.kind != Kind::Scalar || !is_argument || seen.contains(&value) {
            continue;
        }
        let Some(&key) = keys.get(known.origin()) else {
            continue;
        };
        let end = labels.get(key + 1).map_or(prompt.len(), |next| next.at);
        let gap = &prompt[labels[key].at..end];
        let python = match known.text.as_str() {
            "null" => "None",
            "true" => "True",
            "false" => "False",
            other => other,
        };
        let found = whole_words(gap, &known.text)
            .chain(whole_words(gap, python))
            .next();
        let bytes = found.map(|range| labels[key].at + range.start..labels[key].at + range.end);
        all.extend(bytes.map(|bytes| Segment {
            bytes,
            origin: known.origin().clone(),
        }));
    }
    all
}

/// Extends values by their outer white space, which is missing between two labels if values are
/// trimmed.
fn widen_space(prompt: &str, found: &Found, segments: &mut [Segment]) {
    let Some((trimmed, labels)) = &found.trimmed else {
        return;
    };
    let places: Vec<(&Label, &Label)> = found
        .labels
        .iter()
        .zip(labels)
        .filter(|(label, _)| is_value(label))
        .collect();
    for index in 0..=places.len() {
        let before = index.checked_sub(1).map(|index| places[index]);
        let after = places.get(index).copied();
        let (from, to) = (
            before.map_or((0, 0), ends_of),
            after.map_or((prompt.len(), trimmed.len()), ends_of),
        );
        let shown = prompt.get(from.0..to.0).unwrap_or_default();
        let without = trimmed.get(from.1..to.1).unwrap_or_default();
        if shown.len() <= without.len() {
            continue;
        }
        let behind = before.map(|(label, _)| label).filter(|label| !opens(label));
        let ahead = after.map(|(label, _)| label).filter(|label| opens(label));
        let text =
            |label: Option<&Label>| label.map_or("", |label| &found.values[label.value].text);
        let trailing = as_written(&text(behind)[text(behind).trim_end().len()..]);
        let leading = text(ahead);
        let leading = as_written(&leading[..leading.len() - leading.trim_start().len()]);
        let all = trailing
            .iter()
            .flat_map(|trailing| leading.iter().map(move |leading| (trailing, leading)));
        let is_shown = |(trailing, leading): &(&String, &String)| {
            shown.len() == trailing.len() + without.len() + leading.len()
                && shown
                    .strip_prefix(&***trailing)
                    .and_then(|rest| rest.strip_suffix(&***leading))
                    == Some(without)
        };
        let Some((trailing, leading)) = all.into_iter().find(is_shown) else {
            continue;
        };
        if let Some(at) = behind.map(|label| label.at) {
            let index = segments.partition_point(|segment| segment.bytes.end < at);
            if let Some(segment) = segments
                .get_mut(index)
                .filter(|segment| segment.bytes.end == at)
            {
                segment.bytes.end += trailing.len();
            }
        }
        if let Some(at) = ahead.map(|label| label.at) {
            let index = segments.partition_point(|segment| segment.bytes.start < at);
            if let Some(segment) = segments
                .get_mut(index)
                .filter(|segment| segment.bytes.start == at)
            {
                segment.bytes.start -= leading.len();
            }
        }
    }
}

/// Where two labels are.
fn ends_of((label, trimmed): (&Label, &Label)) -> (usize, usize) {
    (label.at, trimmed.at)
}

/// White space as it is, in JSON, and left out.
fn as_written(space: &str) -> [String; 3] {
    let mut escaped = String::new();
    chatparse_base::json_string::push_quoted(space, &mut escaped);
    [space.to_owned(), escaped, String::new()]
}

/// The larger value that a segment belongs to, arguments or a tool, and how deep it is in
/// arguments.
fn whole(origin: &Origin) -> (Origin, usize) {
    const ARGUMENTS: &str = "/arguments";
    let Origin::Message { index, path } = origin else {
        return (origin.clone(), 0);
    };
    let length = path
        .find(ARGUMENTS)
        .map_or(path.len(), |at| at + ARGUMENTS.len());
    let (path, inside) = path.split_at(length);
    (
        Origin::Message {
            index: *index,
            path: path.to_owned(),
        },
        inside.matches('/').count(),
    )
}

/// Adds the punctuation of JSON values: between the parts of a larger value, and around those of
/// arguments.
fn with_punctuation(prompt: &str, segments: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(segments.len() * 2);
    // What closes the open brackets in the current value.
    let mut open: Vec<char> = Vec::new();
    let (mut from, mut is_same) = (0, false);
    let mut following = segments.iter().skip(1);
    for segment in &segments {
        let (own, depth) = whole(&segment.origin);
        let Range { start, end } = segment.bytes;
        if !is_same {
            open.clear();
            from = if depth > 0 {
                start - opening(&prompt[from..start], depth)
            } else {
                start
            };
        }
        brackets(&prompt[from..start], &mut open);
        all.push(Segment {
            bytes: from..start,
            origin: own.clone(),
        });
        all.push(segment.clone());
        let next = following.next();
        let gap = &prompt[end..next.map_or(prompt.len(), |next| next.bytes.start)];
        is_same = next.is_some_and(|next| whole(&next.origin).0 == own) && is_punctuation(gap);
        if !is_same && depth > 0 {
            all.push(Segment {
                bytes: end..end + closing(gap, &open),
                origin: own,
            });
        }
        from = end;
    }
    all.retain(|segment| !segment.bytes.is_empty());
    all
}

/// Whether a text is punctuation of JSON, with only keywords of schemas.
fn is_punctuation(gap: &str) -> bool {
    let mut words = gap.split(PUNCTUATION).filter(|word| !word.is_empty());
    words.all(|word| is_keyword(word) || is_type(word)) && !gap.contains("\n\n")
}

/// Follows the brackets of a piece of JSON.
fn brackets(gap: &str, open: &mut Vec<char>) {
    for c in gap.chars() {
        match c {
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
}

/// The length of the closing quote and brackets after the last value of arguments; `open`: the
/// brackets that are to come, the last one first.
fn closing(gap: &str, open: &[char]) -> usize {
    let mut length = 0;
    let quote = gap.chars().next().filter(|c| matches!(c, '"' | '\''));
    length += quote.map_or(0, char::len_utf8);
    for bracket in open.iter().rev() {
        let rest = &gap[length..];
        let closer = rest.trim_start_matches([' ', '\n', '\t']);
        if !closer.starts_with(*bracket) {
            break;
        }
        length += rest.len() - closer.len() + 1;
    }
    length
}

/// The length of the opening quote and brackets in front of the first value, which stands in at
/// most so many.
fn opening(gap: &str, most: usize) -> usize {
    let mut rest = gap.strip_suffix(['"', '\'']).unwrap_or(gap);
    for _ in 0..most {
        let opener = rest.trim_end_matches([' ', '\n', '\t']);
        let Some(before) = opener.strip_suffix(['{', '[']) else {
            break;
        };
        rest = before;
    }
    gap.len() - rest.len()
}

/// The ranges outside of values that move with one, or that words and texts without a label may
/// affect.
fn unknown(prompt: &str, found: &Found, known: &[Segment]) -> Vec<Range<usize>> {
    let words = found
        .words
        .iter()
        .flat_map(|word| whole_words(prompt, word));
    let moved = found.changed.moved.iter().cloned();
    let mut unknown: Vec<Range<usize>> = words
        .chain(found.unknown.iter().cloned())
        .chain(moved)
        .collect();
    sort::by_key(&mut unknown, |range| range.start);
    // Labelled ranges are known.
    let mut left: Vec<Range<usize>> = Vec::new();
    let (mut from, mut first) = (0, 0);
    for range in unknown {
        let mut start = range.start.max(from);
        first += known[first..].partition_point(|segment| segment.bytes.end <= start);
        let last = left.last().map_or(0, |last| last.end);
        let mut joins = known[..first]
            .last()
            .is_none_or(|segment| segment.bytes.end <= last);
        let mut push = |bytes: Range<usize>, joins: bool| match left.last_mut() {
            _ if bytes.is_empty() => {}
            // What always stays between two pieces of a value is the value's.
            Some(last) if joins && prompt[last.end..bytes.start].chars().all(stays) => {
                last.end = bytes.end
            }
            _ => left.push(bytes),
        };
        for segment in known[first..]
            .iter()
            .take_while(|segment| segment.bytes.start < range.end)
        {
            push(start..segment.bytes.start.max(start), joins);
            start = start.max(segment.bytes.end);
            joins = false;
        }
        push(start..range.end.max(start), joins);
        from = from.max(range.end);
    }
    left
}

/// Covers the whole prompt: what is not known is the template's.
fn covering(prompt: &str, known: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(known.len() * 2 + 1);
    let mut push = |bytes: Range<usize>, origin: Origin| match all.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.origin == origin => last.bytes.end = bytes.end,
        _ => all.push(Segment { bytes, origin }),
    };
    let mut at = 0;
    for Segment { bytes, origin } in known {
        let bytes = bytes.start.max(at)..bytes.end.max(at);
        push(at..bytes.start, Origin::Template);
        at = bytes.end;
        push(bytes, origin);
    }
    push(at..prompt.len(), Origin::Template);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_around_arguments_is_theirs() {
        assert_eq!(closing("\"}}\n</tool_call>", &['}']), 2);
        assert_eq!(closing("\n</parameter>", &['}']), 0);
        assert_eq!(opening("\"arguments\": {\"", 1), 2);
        assert_eq!(opening("<parameter=city>\n", 1), 0);
        assert!(is_punctuation("\", \"type\": \"string\", \""));
        assert!(!is_punctuation("</tool>\n"));
    }

    #[test]
    fn what_is_not_known_is_the_templates() {
        let text = Segment {
            bytes: 2..4,
            origin: Origin::Tool(0),
        };
        let all = covering("abcdef", vec![text.clone()]);
        let template = |bytes| Segment {
            bytes,
            origin: Origin::Template,
        };
        assert_eq!(all, [template(0..2), text, template(4..6)]);
    }
}
