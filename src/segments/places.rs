//! Turns labels into segments.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::change::stays;
use super::choice::Found;
use super::marking::{Kind, Known, is_container};
use super::words::{is_keyword, is_type};
use super::{Origin, Segment};
use chatparse_jinja::{Edge, Label};

/// The characters between the values of JSON, and of Python's lists and dicts.
const PUNCTUATION: [char; 13] = ['{', '}', '[', ']', '"', '\'', ',', ':', ' ', '\n', '\t', '\r', '\\'];

/// The segments that cover the prompt, and the ranges of `{% generation %}` blocks.
pub(super) fn segments(prompt: &str, found: Found) -> (Vec<Segment>, Vec<Range<usize>>) {
    let blocks = blocks(&found.labels, prompt.len());
    let mut known = values(prompt, &found);
    known.extend(spelt_out(prompt, &found));
    chatparse_base::sort::by_key(&mut known, |segment| segment.bytes.start);
    widen_space(prompt, &found, &mut known);
    known = with_punctuation(prompt, known);
    let unknown = unknown(prompt, &found, &known);
    known.extend(unknown.into_iter().map(|bytes| Segment { bytes, origin: Origin::Unknown }));
    chatparse_base::sort::by_key(&mut known, |segment| segment.bytes.start);
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
        let all = shown_between(prompt, &found.labels, &[], &is_whole);
        shown.extend(all.filter(|(_, value)| !is_changed(*value)));
    }
    // A piece of a value moves, or is what was kept of it; else the template has split the value, and wrote this between.
    let is_piece = |bytes: &Range<usize>, value: usize| {
        let text = &prompt[bytes.clone()];
        let is_constant = !changed.keeps || found.values[value].kind == Kind::Scalar || text.chars().all(stays);
        let first = changed.moved.partition_point(|range| range.end <= bytes.start);
        let moves = changed.moved.get(first).is_some_and(|range| range.start < bytes.end);
        is_constant || moves || found.kept.is(text)
    };
    let all = shown_between(prompt, &changed.labels, &changed.moved, &is_piece);
    shown.extend(all.filter(|(_, value)| is_changed(*value)));
    chatparse_base::sort::by_key(&mut shown, |(bytes, _)| bytes.start);
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

/// What stands between the two labels of a value. If the template renders a part of a value, one label is missing: then the
/// value extends as far as the text moves with it.
fn shown_between<'l>(
    prompt: &'l str,
    labels: &'l [Label],
    moved: &'l [Range<usize>],
    is_piece: &'l dyn Fn(&Range<usize>, usize) -> bool,
) -> impl Iterator<Item = (Range<usize>, usize)> + 'l {
    let labels: Vec<&Label> = labels.iter().filter(is_value).collect();
    let (mut index, mut last) = (0, 0);
    std::iter::from_fn(move || {
        let label = *labels.get(index)?;
        let next = labels.get(index + 1);
        let bytes = match next {
            Some(next)
                if opens(label)
                    && !opens(next)
                    && next.value == label.value
                    && is_piece(&(label.at..next.at), label.value) =>
            {
                index += 1;
                label.at..next.at
            }
            _ if opens(label) => {
                let end = next.map_or(prompt.len(), |next| next.at);
                let is_same = next.is_some_and(|next| next.value == label.value);
                label.at..moves_until(prompt, moved, label.at..end, is_same)
            }
            _ => {
                let is_same = index.checked_sub(1).is_some_and(|before| labels[before].value == label.value);
                moves_from(prompt, moved, last..label.at, is_same)..label.at
            }
        };
        index += 1;
        last = last.max(bytes.end);
        Some((bytes, label.value))
    })
    .filter(|(bytes, _)| !bytes.is_empty())
}

/// How far the text at the start of a gap moves. `through`: also over what always stays at the end of the gap.
fn moves_until(prompt: &str, moved: &[Range<usize>], gap: Range<usize>, through: bool) -> usize {
    let mut end = gap.start;
    let first = moved.partition_point(|range| range.end <= gap.start);
    for range in moved[first..].iter().take_while(|range| range.start < gap.end) {
        if !prompt[end..range.start.max(end)].chars().all(stays) {
            return end;
        }
        end = range.end.min(gap.end);
    }
    if through && prompt[end..gap.end].chars().all(stays) { gap.end } else { end }
}

/// The same backwards, from the end of a gap.
fn moves_from(prompt: &str, moved: &[Range<usize>], gap: Range<usize>, through: bool) -> usize {
    let mut start = gap.end;
    let behind = moved.partition_point(|range| range.start < gap.end);
    for range in moved[..behind].iter().rev().take_while(|range| range.end > gap.start) {
        if !prompt[range.end.min(start)..start].chars().all(stays) {
            return start;
        }
        start = range.start.max(gap.start);
    }
    if through && prompt[gap.start..start].chars().all(stays) { gap.start } else { start }
}

/// Resolves ids and equal texts with several places: each occurrence gets one of the places, in order, or the one next to
/// other values of its message.
fn resolve_places(found: &Found, shown: &[usize], segments: &mut [Segment]) {
    let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, value) in shown.iter().enumerate().filter(|(_, value)| found.values[**value].origins.len() > 1) {
        places.entry(*value).or_default().push(at);
    }
    let message = |origin: &Origin| match origin {
        Origin::Message { index, .. } => Some(*index),
        _ => None,
    };
    for (value, places) in places {
        let origins = &found.values[value].origins;
        let beside = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| message(&segments[at].origin));
            let after = segments.get(at + 1).and_then(|next| message(&next.origin));
            // They are in the order of the messages.
            let from = |index: Option<usize>| &origins[origins.partition_point(|origin| message(origin) < index)..];
            let of =
                |index: Option<usize>| from(index).first().filter(|origin| index.is_some() && message(origin) == index);
            let between =
                || from(before).iter().find(|origin| message(origin) > before).filter(|origin| message(origin) < after);
            let beside = if before == after { of(before) } else { of(after).or(of(before)) };
            beside.or_else(between)
        };
        let own: Vec<Origin> = match places.len() == origins.len() {
            true => origins.clone(),
            false => places.iter().map(|at| beside(*at).unwrap_or(&origins[0]).clone()).collect(),
        };
        places.into_iter().zip(own).for_each(|(at, origin)| segments[at].origin = origin);
    }
}

/// Scalars of arguments without a label: a template that tests their type writes them itself, behind their key.
fn spelt_out(prompt: &str, found: &Found) -> Vec<Segment> {
    let labels: Vec<&Label> = found.labels.iter().filter(is_value).collect();
    let seen: HashSet<usize> = labels.iter().map(|label| label.value).collect();
    let mut keys: HashMap<&Origin, usize> = HashMap::new();
    for (at, label) in labels.iter().enumerate().filter(|(_, label)| !opens(label)) {
        keys.entry(found.values[label.value].origin()).or_insert(at);
    }
    let mut all = Vec::new();
    for (value, known) in found.values.iter().enumerate() {
        let is_argument = matches!(known.origin(), Origin::Message { path, .. } if path.contains("/arguments/"));
        if known.kind != Kind::Scalar || !is_argument || seen.contains(&value) {
            continue;
        }
        let Some(&key) = keys.get(known.origin()) else { continue };
        let end = labels.get(key + 1).map_or(prompt.len(), |next| next.at);
        let gap = &prompt[labels[key].at..end];
        let python = match known.text.as_str() {
            "null" => "None",
            "true" => "True",
            "false" => "False",
            other => other,
        };
        let found = whole_words(gap, &known.text).chain(whole_words(gap, python)).next();
        let bytes = found.map(|range| labels[key].at + range.start..labels[key].at + range.end);
        all.extend(bytes.map(|bytes| Segment { bytes, origin: known.origin().clone() }));
    }
    all
}

/// The occurrences of a word that are not part of a longer one.
fn whole_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let all = text.match_indices(word).map(|(at, word)| at..at + word.len());
    all.filter(move |range| !text[..range.start].ends_with(is_part) && !text[range.end..].starts_with(is_part))
}

/// Extends values by their outer white space, which is missing between two labels if values are trimmed.
fn widen_space(prompt: &str, found: &Found, segments: &mut [Segment]) {
    let Some((trimmed, labels)) = &found.trimmed else { return };
    let places: Vec<(&Label, &Label)> = found.labels.iter().zip(labels).filter(|(label, _)| is_value(label)).collect();
    for index in 0..=places.len() {
        let before = index.checked_sub(1).map(|index| places[index]);
        let after = places.get(index);
        let gap = |text: &str, place: fn(&(&Label, &Label)) -> usize| {
            let start = before.as_ref().map_or(0, place);
            text.get(start..after.map_or(text.len(), place)).unwrap_or_default().to_owned()
        };
        let (shown, without) = (gap(prompt, |place| place.0.at), gap(trimmed, |place| place.1.at));
        if shown.len() <= without.len() {
            continue;
        }
        let behind = before
            .filter(|(label, _)| !opens(label))
            .map(|(label, _)| (label.at, end_space(&found.values[label.value])));
        let ahead = after
            .filter(|(label, _)| opens(label))
            .map(|(label, _)| (label.at, start_space(&found.values[label.value])));
        for (trailing, leading) in
            spaces(behind.as_ref().map(|(_, space)| space), ahead.as_ref().map(|(_, space)| space))
        {
            if shown.len() == trailing.len() + without.len() + leading.len()
                && shown.strip_prefix(trailing).and_then(|rest| rest.strip_suffix(leading)) == Some(&*without)
            {
                if let Some((at, _)) = behind {
                    let index = segments.partition_point(|segment| segment.bytes.end < at);
                    if let Some(segment) = segments.get_mut(index).filter(|segment| segment.bytes.end == at) {
                        segment.bytes.end += trailing.len();
                    }
                }
                if let Some((at, _)) = ahead {
                    let index = segments.partition_point(|segment| segment.bytes.start < at);
                    if let Some(segment) = segments.get_mut(index).filter(|segment| segment.bytes.start == at) {
                        segment.bytes.start -= leading.len();
                    }
                }
                break;
            }
        }
    }
}

/// The combinations of white space of the values before and behind a gap.
fn spaces<'s>(behind: Option<&'s [String; 2]>, ahead: Option<&'s [String; 2]>) -> Vec<(&'s str, &'s str)> {
    let written = |space: Option<&'s [String; 2]>| -> Vec<&'s str> {
        space.into_iter().flatten().map(String::as_str).chain([""]).collect()
    };
    let ahead = written(ahead);
    written(behind).into_iter().flat_map(|behind| ahead.iter().map(move |ahead| (behind, *ahead))).collect()
}

/// The white space at the end of a value, as it is and in JSON.
fn end_space(known: &Known) -> [String; 2] {
    as_written(&known.text[known.text.trim_end().len()..])
}

fn start_space(known: &Known) -> [String; 2] {
    as_written(&known.text[..known.text.len() - known.text.trim_start().len()])
}

fn as_written(space: &str) -> [String; 2] {
    let mut escaped = String::new();
    chatparse_base::json_string::push_quoted(space, &mut escaped);
    [space.to_owned(), escaped]
}

/// The larger value that a segment belongs to: arguments or a tool.
fn whole(origin: &Origin) -> Option<Origin> {
    const ARGUMENTS: &str = "/arguments";
    match origin {
        Origin::Message { index, path } => {
            let path = match path.find(ARGUMENTS) {
                Some(at) => &path[..at + ARGUMENTS.len()],
                None => path,
            };
            Some(Origin::Message { index: *index, path: path.to_owned() })
        }
        Origin::Tool(_) | Origin::Kwarg(_) => Some(origin.clone()),
        _ => None,
    }
}

/// Adds the punctuation of JSON values: between the parts of a larger value, and around those of arguments.
fn with_punctuation(prompt: &str, segments: Vec<Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::with_capacity(segments.len() * 2);
    // What closes the open brackets in the current value.
    let mut open: Vec<char> = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let own = whole(&segment.origin);
        let before = index.checked_sub(1).map(|index| &segments[index]);
        let from = before.map_or(0, |before| before.bytes.end);
        let gap = &prompt[from..segment.bytes.start];
        let is_same = own.is_some() && before.is_some_and(|before| whole(&before.origin) == own);
        if let (true, Some(origin)) = (is_same && is_punctuation(gap), &own) {
            brackets(gap, &mut open);
            all.push(Segment { bytes: from..segment.bytes.start, origin: origin.clone() });
        } else if let Some(origin) = &own
            && is_part(&segment.origin, origin)
        {
            let depth = |origin: &Origin| match origin {
                Origin::Message { path, .. } => path.matches('/').count(),
                _ => 0,
            };
            let start = segment.bytes.start - opening(gap, depth(&segment.origin) - depth(origin));
            open.clear();
            brackets(&prompt[start..segment.bytes.start], &mut open);
            all.push(Segment { bytes: start..segment.bytes.start, origin: origin.clone() });
        }
        all.push(segment.clone());
        let until = segments.get(index + 1).map_or(prompt.len(), |next| next.bytes.start);
        let gap = &prompt[segment.bytes.end..until];
        let goes_on = segments.get(index + 1).is_some_and(|next| whole(&next.origin) == own) && is_punctuation(gap);
        if let (false, Some(origin)) = (goes_on, &own)
            && is_part(&segment.origin, origin)
        {
            let end = segment.bytes.end + closing(gap, &open);
            all.push(Segment { bytes: segment.bytes.end..end, origin: origin.clone() });
        }
    }
    all.retain(|segment| !segment.bytes.is_empty());
    all
}

/// Whether the value is a proper part of the larger one.
fn is_part(origin: &Origin, whole: &Origin) -> bool {
    matches!(origin, Origin::Message { .. }) && origin != whole
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

/// The length of the closing quote and brackets after the last value of arguments; `open`: the brackets that are to come, the
/// last one first.
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

/// The length of the opening quote and brackets in front of the first value, which stands in at most so many.
fn opening(gap: &str, most: usize) -> usize {
    let mut rest = gap.strip_suffix(['"', '\'']).unwrap_or(gap);
    for _ in 0..most {
        let opener = rest.trim_end_matches([' ', '\n', '\t']);
        let Some(before) = opener.strip_suffix(['{', '[']) else { break };
        rest = before;
    }
    gap.len() - rest.len()
}

/// The ranges outside of values that move with one, or that words and texts without a label may affect.
fn unknown(prompt: &str, found: &Found, known: &[Segment]) -> Vec<Range<usize>> {
    let words = found.words.iter().flat_map(|word| whole_words(prompt, word));
    let moved = found.changed.moved.iter().cloned();
    let mut unknown: Vec<Range<usize>> = words.chain(found.unknown.iter().cloned()).chain(moved).collect();
    chatparse_base::sort::by_key(&mut unknown, |range| range.start);
    // Labelled ranges are known.
    let mut left: Vec<Range<usize>> = Vec::new();
    let (mut from, mut first) = (0, 0);
    for range in unknown {
        let mut start = range.start.max(from);
        first += known[first..].partition_point(|segment| segment.bytes.end <= start);
        let last = left.last().map_or(0, |last| last.end);
        let mut joins = known[..first].last().is_none_or(|segment| segment.bytes.end <= last);
        let mut push = |bytes: Range<usize>, joins: bool| match left.last_mut() {
            _ if bytes.is_empty() => {}
            // What always stays between two pieces of a value is the value's.
            Some(last) if joins && prompt[last.end..bytes.start].chars().all(stays) => last.end = bytes.end,
            _ => left.push(bytes),
        };
        for segment in known[first..].iter().take_while(|segment| segment.bytes.start < range.end) {
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
        let text = Segment { bytes: 2..4, origin: Origin::Tool(0) };
        let all = covering("abcdef", vec![text.clone()]);
        let template = |bytes| Segment { bytes, origin: Origin::Template };
        assert_eq!(all, [template(0..2), text, template(4..6)]);
    }
}
