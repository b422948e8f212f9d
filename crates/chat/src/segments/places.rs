//! Turns labels into segments.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::change::stays;
use super::choice::{Changed, Found};
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
    for bytes in unknown(prompt, &found, &known) {
        known.push(Segment {
            bytes,
            origin: Origin::Unknown,
        });
    }
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
    let mut shown = Vec::new();
    let changed = &found.changed;
    if changed.values.contains(&false) {
        shown = shown_between(prompt, found, &found.labels, &[], is_whole);
        shown.retain(|(_, value)| !changed.has(*value));
    }
    let mut all = shown_between(prompt, found, &changed.labels, &changed.moved, is_piece);
    all.retain(|(_, value)| changed.has(*value));
    shown.append(&mut all);
    sort::by_key(&mut shown, |(bytes, _)| bytes.start);
    let mut segments = Vec::new();
    for (bytes, value) in &shown {
        segments.push(Segment {
            bytes: bytes.clone(),
            origin: found.values[*value].origin().clone(),
        });
    }
    resolve_places(found, &shown, &mut segments);
    segments
}

/// Whether a range of the prompt shows the whole value. The template may have written other text
/// into it.
fn is_whole(prompt: &str, found: &Found, bytes: &Range<usize>, value: usize) -> bool {
    found.changed.has(value) || is_text_of(&found.values[value], &prompt[bytes.clone()])
}

/// Whether a range between two labels is a piece of the value: it moves, or was kept. Otherwise the
/// template has split the value, and wrote this text between its pieces.
fn is_piece(prompt: &str, found: &Found, bytes: &Range<usize>, value: usize) -> bool {
    let text = &prompt[bytes.clone()];
    let Changed { keeps, moved, .. } = &found.changed;
    if !keeps || found.values[value].kind == Kind::Scalar || text.chars().all(stays) {
        return true;
    }
    let first = moved.partition_point(|range| range.end <= bytes.start);
    let next = moved.get(first);
    next.is_some_and(|range| range.start < bytes.end) || found.kept.is(text)
}

/// Whether the prompt shows the text of a value, as it is or in JSON, or a value inside of it.
fn is_text_of(known: &Known, shown: &str) -> bool {
    let mut texts = known.texts().map(str::trim);
    known.kind == Kind::Scalar
        || texts.any(|text| {
            text == shown
                || unquoted(shown).as_deref() == Some(text)
                || unquoted(text).as_deref() == Some(shown)
                || is_container(text)
        })
}

/// The text of which this is the inside of a JSON string.
fn unquoted(text: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{text}\"")).ok()
}

/// The ranges between the two labels of values, each with its value's number. If the template
/// renders a part of a value, one label is missing: then the value extends as far as the text moves
/// with it.
fn shown_between(
    prompt: &str,
    found: &Found,
    labels: &[Label],
    moved: &[Range<usize>],
    is_piece: fn(&str, &Found, &Range<usize>, usize) -> bool,
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
                && is_piece(prompt, found, &(label.at..end), label.value) =>
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
    for range in &moved[first..] {
        if range.start >= gap.end {
            break;
        }
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
    for range in moved[..behind].iter().rev() {
        if range.end <= gap.start {
            break;
        }
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
fn resolve_places(found: &Found, shown: &[(Range<usize>, usize)], segments: &mut [Segment]) {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, (_, value)) in shown.iter().enumerate() {
        if found.values[*value].origins.len() > 1 {
            places.entry(*value).or_default().push(at);
        }
    }
    for (value, places) in places {
        let origins = &found.values[value].origins;
        let mut own = origins.clone();
        if places.len() != own.len() {
            own.clear();
            for at in &places {
                let origin = beside(origins, segments, *at).unwrap_or(&origins[0]);
                own.push(origin.clone());
            }
        }
        for (at, origin) in places.into_iter().zip(own) {
            segments[at].origin = origin;
        }
    }
}

/// Which of the origins is that of a segment, by the messages of its neighbours. The origins are in
/// the order of their messages.
fn beside<'o>(origins: &'o [Origin], segments: &[Segment], at: usize) -> Option<&'o Origin> {
    let before = at
        .checked_sub(1)
        .and_then(|at| segments[at].origin.message());
    let after = segments.get(at + 1).and_then(|next| next.origin.message());
    for message in [after, before] {
        let first = origins.partition_point(|origin| origin.message() < message);
        let origin = origins.get(first);
        if message.is_some() && origin.is_some_and(|origin| origin.message() == message) {
            return origin;
        }
    }
    let between = origins.get(origins.partition_point(|origin| origin.message() <= before));
    between.filter(|origin| origin.message() < after)
}

/// Scalars of arguments without a label: a template that tests their type writes them itself, after
/// their key.
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
        let mut words = whole_words(gap, &known.text).chain(whole_words(gap, python));
        if let Some(word) = words.next() {
            let start = labels[key].at;
            all.push(Segment {
                bytes: start + word.start..start + word.end,
                origin: known.origin().clone(),
            });
        }
    }
    all
}

/// Extends values by their outer white space, which is missing between two labels if values are
/// trimmed.
fn widen_space(prompt: &str, found: &Found, segments: &mut [Segment]) {
    let Some((trimmed, labels)) = &found.trimmed else {
        return;
    };
    let mut places: Vec<(&Label, &Label)> = found.labels.iter().zip(labels).collect();
    places.retain(|(label, _)| is_value(label));
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
        let closing = before.map(|(label, _)| label).filter(|label| !opens(label));
        let opening = after.map(|(label, _)| label).filter(|label| opens(label));
        let trailing = closing.map_or("", |label| {
            let text = &found.values[label.value].text;
            &text[text.trim_end().len()..]
        });
        let leading = opening.map_or("", |label| {
            let text = &found.values[label.value].text;
            &text[..text.len() - text.trim_start().len()]
        });
        let Some((trailing, leading)) = added_space(shown, without, trailing, leading) else {
            continue;
        };
        if let Some(Label { at, .. }) = closing {
            let index = segments.partition_point(|segment| segment.bytes.end < *at);
            if let Some(Segment { bytes, .. }) = segments.get_mut(index)
                && bytes.end == *at
            {
                bytes.end += trailing;
            }
        }
        if let Some(Label { at, .. }) = opening {
            let index = segments.partition_point(|segment| segment.bytes.start < *at);
            if let Some(Segment { bytes, .. }) = segments.get_mut(index)
                && bytes.start == *at
            {
                bytes.start -= leading;
            }
        }
    }
}

/// The lengths of the white space that `shown` has around `without`: of the space that ends one
/// value, and of the space that begins the next.
fn added_space(
    shown: &str,
    without: &str,
    trailing: &str,
    leading: &str,
) -> Option<(usize, usize)> {
    for trailing in as_written(trailing) {
        let rest = shown.strip_prefix(&*trailing);
        for leading in as_written(leading) {
            if rest.and_then(|rest| rest.strip_suffix(&*leading)) == Some(without) {
                return Some((trailing.len(), leading.len()));
            }
        }
    }
    None
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
pub(super) fn with_punctuation(prompt: &str, segments: Vec<Segment>) -> Vec<Segment> {
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
    let mut rest = gap.strip_prefix(['"', '\'']).unwrap_or(gap);
    for bracket in open.iter().rev() {
        let closer = rest.trim_start_matches([' ', '\n', '\t']);
        let Some(behind) = closer.strip_prefix(*bracket) else {
            break;
        };
        rest = behind;
    }
    gap.len() - rest.len()
}

/// The length of the opening quote and brackets before the first value, which is inside of at most
/// so many brackets.
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
    let mut unknown = found.unknown.clone();
    unknown.extend_from_slice(&found.changed.moved);
    for word in &found.words {
        unknown.extend(whole_words(prompt, word));
    }
    sort::by_key(&mut unknown, |range| range.start);
    // Labelled ranges are known.
    let mut left: Vec<Range<usize>> = Vec::new();
    let (mut from, mut first) = (0, 0);
    for range in unknown {
        let mut start = range.start.max(from);
        first += known[first..].partition_point(|segment| segment.bytes.end <= start);
        let last = left.last().map_or(0, |last| last.end);
        let before = known[..first].last();
        let mut joins = before.is_none_or(|segment| segment.bytes.end <= last);
        for Segment { bytes, .. } in &known[first..] {
            if bytes.start >= range.end {
                break;
            }
            push_unknown(prompt, &mut left, start..bytes.start, joins);
            start = start.max(bytes.end);
            joins = false;
        }
        push_unknown(prompt, &mut left, start..range.end, joins);
        from = from.max(range.end);
    }
    left
}

/// Appends a range. It may join the last one: text between two pieces of a value that never changes
/// is the value's.
fn push_unknown(prompt: &str, all: &mut Vec<Range<usize>>, bytes: Range<usize>, joins: bool) {
    if bytes.is_empty() {
        return;
    }
    match all.last_mut() {
        Some(last) if joins && prompt[last.end..bytes.start].chars().all(stays) => {
            last.end = bytes.end
        }
        _ => all.push(bytes),
    }
}

/// Covers the whole prompt: the template wrote all ranges between the known segments.
pub(super) fn covering(prompt: &str, known: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(known.len() * 2 + 1);
    let mut at = 0;
    for Segment { bytes, origin } in known {
        let bytes = bytes.start.max(at)..bytes.end.max(at);
        push_segment(&mut all, at..bytes.start, Origin::Template);
        at = bytes.end;
        push_segment(&mut all, bytes, origin);
    }
    push_segment(&mut all, at..prompt.len(), Origin::Template);
    all
}

/// Appends a range to the last segment if both have the same origin.
fn push_segment(all: &mut Vec<Segment>, bytes: Range<usize>, origin: Origin) {
    match all.last_mut() {
        _ if bytes.is_empty() => {}
        Some(last) if last.origin == origin => last.bytes.end = bytes.end,
        _ => all.push(Segment { bytes, origin }),
    }
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
    fn a_text_of_several_messages_is_that_of_its_neighbours() {
        let of = |index| Origin::Message {
            index,
            path: "/content".to_owned(),
        };
        let beside = |before: usize, after: usize| {
            let segments = [before, 1, after].map(|index| Segment {
                bytes: 0..1,
                origin: of(index),
            });
            beside(&[of(1), of(3)], &segments, 1).cloned()
        };
        assert_eq!(beside(0, 3), Some(of(3)));
        assert_eq!(beside(1, 2), Some(of(1)));
        assert_eq!(beside(0, 2), Some(of(1)));
        assert_eq!(beside(4, 5), None);
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
