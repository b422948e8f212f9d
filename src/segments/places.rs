//! Turns labels into segments.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::choice::Found;
use super::marking::{Kind, Known};
use super::words::{is_keyword, is_type};
use super::{Origin, Segment};
use chatparse_base::find::{char_border_before, char_border_behind};
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

/// The values between their labels. If the template renders a part of a value, one label is missing: then the segment
/// extends as far as the value's text matches.
fn values(prompt: &str, found: &Found) -> Vec<Segment> {
    let labels: Vec<&Label> = found.labels.iter().filter(is_value).collect();
    let (mut segments, mut shown): (Vec<Segment>, Vec<usize>) = Default::default();
    let mut index = 0;
    while let Some(label) = labels.get(index) {
        let known = &found.values[label.value];
        let next = labels.get(index + 1);
        let bytes = match next {
            Some(next) if opens(label) && !opens(next) && next.value == label.value => {
                index += 1;
                label.at..next.at
            }
            _ if opens(label) => {
                let end = next.map_or(prompt.len(), |next| next.at);
                label.at..label.at + alike(&prompt[label.at..end], known, false)
            }
            _ => {
                let start = segments.last().map_or(0, |last| last.bytes.end);
                label.at - alike(&prompt[start..label.at], known, true)..label.at
            }
        };
        index += 1;
        if !bytes.is_empty() {
            segments.push(Segment { bytes, origin: known.origin().clone() });
            shown.push(label.value);
        }
    }
    resolve_places(found, &shown, &mut segments);
    segments
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

/// The length of the beginning (or the end) that `shown` shares with a value, as it is or in JSON.
fn alike(shown: &str, known: &Known, from_end: bool) -> usize {
    // Only as much of a long text as can match.
    let text = known.text.trim();
    let text = match from_end {
        false => &text[..char_border_before(text, shown.len())],
        true => &text[char_border_behind(text, text.len().saturating_sub(shown.len()))..],
    };
    let mut escaped = String::new();
    chatparse_base::json_string::push_quoted(text, &mut escaped);
    let of = |text: &str| {
        let same: usize = match from_end {
            false => shown.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum(),
            true => {
                let pairs = shown.chars().rev().zip(text.chars().rev());
                pairs.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum()
            }
        };
        same
    };
    of(text).max(of(&escaped))
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
    // The number of open brackets in the current value.
    let mut open = 0;
    for (index, segment) in segments.iter().enumerate() {
        let own = whole(&segment.origin);
        let before = index.checked_sub(1).map(|index| &segments[index]);
        let from = before.map_or(0, |before| before.bytes.end);
        let gap = &prompt[from..segment.bytes.start];
        let is_same = own.is_some() && before.is_some_and(|before| whole(&before.origin) == own);
        if let (true, Some(origin)) = (is_same && is_punctuation(gap), &own) {
            open = gap.chars().fold(open, |open: usize, c| match c {
                '{' | '[' => open + 1,
                '}' | ']' => open.saturating_sub(1),
                _ => open,
            });
            all.push(Segment { bytes: from..segment.bytes.start, origin: origin.clone() });
        } else if let Some(origin) = &own
            && is_part(&segment.origin, origin)
        {
            let start = segment.bytes.start - opening(gap);
            open = prompt[start..segment.bytes.start].matches(['{', '[']).count();
            all.push(Segment { bytes: start..segment.bytes.start, origin: origin.clone() });
        }
        all.push(segment.clone());
        let until = segments.get(index + 1).map_or(prompt.len(), |next| next.bytes.start);
        let gap = &prompt[segment.bytes.end..until];
        let goes_on = segments.get(index + 1).is_some_and(|next| whole(&next.origin) == own) && is_punctuation(gap);
        if let (false, Some(origin)) = (goes_on, &own)
            && is_part(&segment.origin, origin)
        {
            let end = segment.bytes.end + closing(gap, open);
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

/// The length of the closing quote and brackets after the last value of arguments; `open`: how many are open.
fn closing(gap: &str, open: usize) -> usize {
    let mut length = 0;
    let quote = gap.chars().next().filter(|c| matches!(c, '"' | '\''));
    length += quote.map_or(0, char::len_utf8);
    for _ in 0..open {
        let rest = &gap[length..];
        let closer = rest.trim_start_matches([' ', '\n', '\t']);
        if !closer.starts_with(['}', ']']) {
            break;
        }
        length += rest.len() - closer.len() + 1;
    }
    length
}

/// The length of the opening quote and brackets in front of the first value.
fn opening(gap: &str) -> usize {
    let mut rest = gap.strip_suffix(['"', '\'']).unwrap_or(gap);
    loop {
        let opener = rest.trim_end_matches([' ', '\n', '\t']);
        match opener.strip_suffix(['{', '[']) {
            Some(before) => rest = before,
            None => return gap.len() - rest.len(),
        }
    }
}

/// The ranges that words and texts without a label may affect.
fn unknown(prompt: &str, found: &Found, known: &[Segment]) -> Vec<Range<usize>> {
    let words = found.words.iter().flat_map(|word| whole_words(prompt, word));
    let mut unknown: Vec<Range<usize>> = words.chain(found.unknown.iter().cloned()).collect();
    chatparse_base::sort::by_key(&mut unknown, |range| range.start);
    // Labelled ranges are known.
    let mut left = Vec::new();
    let mut from = 0;
    for range in unknown {
        let mut start = range.start.max(from);
        let first = known.partition_point(|segment| segment.bytes.end <= start);
        for segment in known[first..].iter().take_while(|segment| segment.bytes.start < range.end) {
            if start < segment.bytes.start {
                left.push(start..segment.bytes.start);
            }
            start = start.max(segment.bytes.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
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
        assert_eq!(closing("\"}}\n</tool_call>", 1), 2);
        assert_eq!(closing("\n</parameter>", 1), 0);
        assert_eq!(opening("\"arguments\": {\""), 2);
        assert_eq!(opening("<parameter=city>\n"), 0);
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
