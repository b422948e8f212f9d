//! Edits that may mend a template, likely ones first. Whether one does is for renders to say.
//!
//! Where a rule says what the prompt should be, an edit has to be where the source writes the texts around the fault: a text of
//! the source may stand there if its part in front of the edit is what the prompt has in front of it, and so behind.

use std::cmp::Reverse;
use std::ops::Range;

use super::rules::Edit;
use super::skeleton::{self, AROUND, Gap, Skeleton, Wanted, prompt};
use super::{BOS, EOS};
use crate::chat::ChatTemplate;
use chatparse_jinja::{SourceParts, SourceText};

/// Most sources that are tried for one finding: each is a few renders. And most of them for one of its edits.
const TRIED: usize = 96;
const TRIED_OF_ONE: usize = 40;

/// Bytes that stay beside what two prompts do not share.
const NEAR: usize = 12;

/// Texts for ranges of a source, in order.
type Changes = Vec<(Range<usize>, String)>;

/// The edited sources, each with the edit that it tries, likely ones first.
pub fn edited<'e>(source: &str, parts: &SourceParts, edits: &'e [Edit]) -> Vec<(String, &'e Edit)> {
    let mut sources: Vec<(String, &Edit)> = Vec::new();
    for edit in edits {
        if sources.len() >= TRIED {
            break;
        }
        let all = match edit {
            Edit::Prompt(wanted) => gaps(source, parts, wanted),
            Edit::Replace(pairs) => replaced(parts, pairs),
            Edit::Unfilter => unfiltered(parts),
            Edit::Loop => loops(source, parts),
        };
        for changes in all.into_iter().take(TRIED_OF_ONE) {
            let mut mended = source.to_owned();
            for (bytes, text) in changes.iter().rev() {
                mended.replace_range(bytes.clone(), text);
            }
            if mended != source && sources.iter().all(|(known, of)| *known != mended || *of != edit) {
                sources.push((mended, edit));
            }
        }
    }
    sources.truncate(TRIED);
    sources
}

/// Whether the edited template writes the same prompts byte for byte, but for what the edit is about in those that have it.
/// `wanted`: the edits that the rule asks for in a conversation, if it makes this finding there.
pub fn keeps(
    template: &ChatTemplate,
    edited: &ChatTemplate,
    edit: &Edit,
    wanted: &mut dyn FnMut(&Skeleton) -> Vec<Edit>,
) -> bool {
    let [template, edited] = [template, edited].map(|of| of.with_tokens(BOS, EOS).unwrap_or_else(|_| of.clone()));
    let both = |shape| prompt(&template, shape).map(|old| (old, prompt(&edited, shape)));
    let mut changed: Vec<(String, String)> = Vec::new();
    if let Edit::Prompt(wanted) = edit {
        changed.extend(both(wanted.shape).and_then(|(old, new)| Some((old, new?))));
    }
    skeleton::shapes().all(|shape| {
        let Some((old, new)) = both(shape) else { return true };
        let Some(new) = new else { return false };
        let is_right = old == new
            || match edit {
                Edit::Prompt(_) => {
                    changed.iter().any(|long| follows(&old, &new, long))
                        || Skeleton::shaped(&template, shape).is_ok_and(|skeleton| {
                            let is_new = |edit: &Edit| matches!(edit, Edit::Prompt(wanted) if wanted.is(&new));
                            wanted(&skeleton).iter().any(is_new)
                        })
                }
                Edit::Replace(pairs) => pairs.iter().any(|(from, to)| {
                    [(from, to), (to, from)].iter().any(|(a, b)| old.replace(&**a, b) == new.replace(&**a, b))
                }),
                Edit::Unfilter => shape.calls > 0 && old.to_lowercase() == new.to_lowercase(),
                Edit::Loop => shape.calls > 0 && is_in_one_piece(&old, &new),
            };
        if old != new {
            changed.push((old, new));
        }
        is_right
    })
}

/// Whether a text changes as a longer one does in what the two share at their beginnings and at their ends, and nowhere else.
fn follows(old: &str, new: &str, (long, changed): &(String, String)) -> bool {
    let [old, new, long, changed] = [old, new, long, changed].map(str::as_bytes);
    let front = alike(old.iter(), long.iter());
    let back = alike(old.iter().rev(), long.iter().rev()).min(old.len() - front);
    let own = &old[front..old.len() - back];
    let [most_front, most_back] = [alike(new.iter(), changed.iter()), alike(new.iter().rev(), changed.iter().rev())];
    if own.is_empty() && back == 0 {
        return most_front == new.len();
    }
    // What is put in where the shared texts end may be of the longer text alone, unless what goes on behind it is as before there.
    let left = &old[front.saturating_sub(NEAR)..front];
    let goes_on = &long[front..][..NEAR.min(long.len() - front)];
    let right = &old[old.len() - back..][..back.min(NEAR)];
    (0..=most_front.min(new.len().saturating_sub(own.len()))).any(|at| {
        let (before, rest) = (&new[..at], &new[at..]);
        let is_shared = before.ends_with(left) || !goes_on.is_empty() && changed[at..].starts_with(goes_on);
        let is_own = is_shared && (front > 0 || at == 0) && rest.starts_with(own);
        let behind = rest.get(own.len()..).filter(|behind| is_own && behind.starts_with(right));
        behind.is_some_and(|behind| behind.len() <= most_back && (back > 0 || behind.is_empty()))
    })
}

/// How many bytes are the same.
fn alike<'b>(a: impl Iterator<Item = &'b u8>, b: impl Iterator<Item = &'b u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// Whether a text is another one with something put in at one place.
fn is_in_one_piece(old: &str, new: &str) -> bool {
    let [old, new] = [old, new].map(str::as_bytes);
    let (front, back) = (alike(old.iter(), new.iter()), alike(old.iter().rev(), new.iter().rev()));
    old.len() <= new.len() && front + back >= old.len()
}

/// Each filter that changes the case of a text, and all of them.
fn unfiltered(parts: &SourceParts) -> Vec<Changes> {
    let cases = ["upper", "lower", "title", "capitalize"];
    let filters = parts.filters.iter().filter(|(name, _)| cases.contains(&&**name));
    let all: Changes = filters.map(|(_, bytes)| (bytes.clone(), String::new())).collect();
    let each = all.iter().map(|change| vec![change.clone()]);
    each.chain([all.clone()]).collect()
}

/// Each loop over something else, over the calls of the message.
fn loops(source: &str, parts: &SourceParts) -> Vec<Changes> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    // What the source names so, as `message.tool_calls` or `m['tool_calls']`, or else what a loop has.
    let mut calls: Vec<String> = Vec::new();
    let mut variables: Vec<String> = Vec::new();
    for tag in &parts.tags {
        let tag = &source[tag.clone()];
        for (at, _) in tag.match_indices("tool_calls") {
            let name = tag[..at].trim_end_matches(['.', '[', '\'', '"']).trim_end_matches(word).len();
            let end = at + "tool_calls".len();
            let end = end + tag[end..].len() - tag[end..].trim_start_matches(['\'', '"', ']']).len();
            if at > name + 1 {
                calls.push(tag[name..end].to_owned());
            }
        }
        if let Some(said) = said(tag).strip_prefix("for ") {
            variables.push(format!("{}.tool_calls", &said[..said.len() - said.trim_start_matches(word).len()]));
        }
    }
    let mut calls: Vec<String> = if calls.is_empty() { variables } else { calls };
    calls.sort();
    calls.dedup();
    let mut all = Vec::new();
    for tag in &parts.tags {
        let said = &source[tag.clone()];
        let Some(over) = said.find(" in ").filter(|_| is_loop(said)) else { continue };
        let from = over + " in ".len();
        let to = [" if ", "-%}", "+%}", "%}"].iter().filter_map(|end| said[from..].find(end)).min();
        let to = from + said[from..from + to.unwrap_or(0)].trim_end().len();
        let others = calls.iter().filter(|calls| said[from..to] != **calls);
        all.extend(others.map(|calls| vec![(tag.start + from..tag.start + to, calls.clone())]));
    }
    all
}

fn is_loop(tag: &str) -> bool {
    tag.starts_with("{%") && said(tag).starts_with("for ")
}

/// Texts of the source for others: each alone, the last ones first, as what turns look like stands behind the instruction. Then
/// several.
fn replaced(parts: &SourceParts, pairs: &[(String, String)]) -> Vec<Changes> {
    let (mut all, mut everywhere) = (Vec::new(), Changes::new());
    for (from, to) in pairs.iter().filter(|(from, _)| !from.is_empty()) {
        for text in &parts.texts {
            let found = text.text.match_indices(&**from);
            everywhere.extend(found.map(|(at, _)| (text.bytes(at..at + from.len()), text.written(to))));
        }
    }
    everywhere.sort_by_key(|(bytes, _)| bytes.start);
    if pairs.len() == 1 {
        all.extend(everywhere.iter().rev().map(|change| vec![change.clone()]));
    }
    let apart = everywhere.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start);
    if apart && everywhere.len() > 1 {
        all.insert(all.len().min(TRIED_OF_ONE / 2), everywhere);
    }
    all
}

/// Where the source may write what is to change: each place alone, those first whose texts are also around it in the prompt; and
/// all of them.
fn gaps(source: &str, parts: &SourceParts, wanted: &Wanted) -> Vec<Changes> {
    let mut gaps: Vec<&Gap> = Vec::new();
    for gap in &wanted.changes {
        if gaps.len() < 4 && !gaps.contains(&gap) {
            gaps.push(gap);
        }
    }
    let conditions: Vec<&Range<usize>> = parts.tags.iter().filter(|tag| asks(&source[(*tag).clone()])).collect();
    let in_condition = |at: usize| {
        conditions[..conditions.partition_point(|tag| tag.start <= at)].last().is_some_and(|tag| at < tag.end)
    };
    let printed: Vec<&SourceText> = parts.texts.iter().filter(|text| !in_condition(text.bytes(0..0).start)).collect();
    let mut places: Vec<(usize, Range<usize>, String)> = Vec::new();
    for gap in gaps {
        for (at, text) in printed.iter().enumerate() {
            // A token is no text of the source.
            if gap.from.is_empty() && [BOS, EOS].contains(&gap.to.trim()) {
                continue;
            }
            let beside = beside(&printed[..at], &printed[at + 1..], gap);
            places.extend(within(text, gap, beside).map(|(score, bytes, written)| {
                // A text that is there is a stronger sign than texts beside a tag.
                let sign = if score > 0 { 4 * AROUND } else { 0 };
                (sign + score, text.bytes(bytes), written)
            }));
        }
        if gap.from.is_empty() {
            places.extend(behind_tags(source, parts, &printed, gap));
        }
    }
    places.sort_by_key(|(score, bytes, _)| Reverse((*score, bytes.start)));
    places.dedup();
    let mut all: Vec<Changes> =
        places.iter().map(|(_, bytes, text)| vec![(bytes.clone(), text.clone())]).take(TRIED_OF_ONE).collect();
    // All at once: where several texts are to change, or one that the source writes at several places.
    let mut several: Changes =
        places.into_iter().filter(|place| !place.1.is_empty()).map(|(_, bytes, text)| (bytes, text)).collect();
    several.sort_by_key(|(bytes, _)| bytes.start);
    several.dedup();
    if several.len() > 1 && several.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start) {
        all.insert(0, several);
    }
    all
}

/// Whether a tag asks or loops, and prints nothing.
fn asks(tag: &str) -> bool {
    tag.starts_with("{%") && !said(tag).starts_with("set")
}

fn said(tag: &str) -> &str {
    tag.trim_start_matches(['{', '%', '-', '+', ' ', '\n'])
}

/// How many characters the texts before and behind a place of the source share with what is around the gap.
fn beside(before: &[&SourceText], behind: &[&SourceText], gap: &Gap) -> [usize; 2] {
    let said = |text: &&&SourceText| !text.text.trim().is_empty();
    let front = before.iter().rev().take(AROUND).find(said);
    let front = front.and_then(|text| same(&mut text.text.chars().rev(), &mut gap.before.chars().rev()));
    let back = behind.iter().take(AROUND).find(said);
    let back = back.and_then(|text| same(&mut text.text.chars(), &mut gap.behind.chars()));
    [front.unwrap_or(0), back.unwrap_or(0)]
}

/// The places of a text that may be the gap: how many characters around are the same, the bytes, and what is written for them.
fn within<'t>(
    text: &'t SourceText,
    gap: &'t Gap,
    beside: [usize; 2],
) -> impl Iterator<Item = (usize, Range<usize>, String)> + 't {
    let own = &*text.text;
    // White space between tags is of the source, not of the prompt.
    let blank = !own.is_empty() && own.trim().is_empty();
    // Inside of white space are no other places than at its ends.
    let white = |c: Option<char>| c.is_some_and(char::is_whitespace);
    let starts = own.char_indices().map(|(at, _)| at).chain([own.len()]).filter(move |_| !blank || text.is_quoted());
    let starts = starts.filter(move |&at| !white(own[..at].chars().next_back()) || !white(own[at..].chars().next()));
    let places = starts.filter_map(move |at| {
        let behind = own[at..].strip_prefix(&*gap.from)?;
        let (before, end) = (&own[..at], own.len() - behind.len());
        let mut front = same(&mut before.chars().rev(), &mut gap.before.chars().rev())?;
        let mut back = same(&mut behind.chars(), &mut gap.behind.chars())?;
        front += if before.is_empty() { beside[0] } else { 0 };
        back += if behind.is_empty() { beside[1] } else { 0 };
        if !gap.from.is_empty() {
            return Some((2 * (front + back) + 1, at..end, text.written(&gap.to)));
        }
        // With the white space that is there.
        let (mut to, mut score) = (&*gap.to, 2 * (front + back));
        let (lead, trail) = (&to[..to.len() - to.trim_start().len()], &to[to.trim_end().len()..]);
        if !lead.is_empty() && before.ends_with(lead) {
            to = to.trim_start();
            score += 1;
        }
        if !trail.is_empty() && behind.starts_with(trail) {
            to = to.trim_end();
            score += 1;
        }
        Some((score, at..end, text.written(to)))
    });
    places.take(TRIED_OF_ONE)
}

/// The number of characters that two texts share from their beginning on, but for white space, if that is all of one of them.
fn same(own: &mut dyn Iterator<Item = char>, there: &mut dyn Iterator<Item = char>) -> Option<usize> {
    let dense = |c: &char| !c.is_whitespace();
    let (mut own, mut there) = (own.filter(dense), there.filter(dense));
    for count in 0..AROUND {
        match (own.next(), there.next()) {
            (None, _) => return Some(count),
            // A value stands there, and the source goes on.
            (Some(_), None) => return None,
            (Some(a), Some(b)) if a != b => return None,
            _ => {}
        }
    }
    Some(AROUND)
}

/// A tag of its own for what is missing, behind each tag that prints or ends something.
fn behind_tags(
    source: &str,
    parts: &SourceParts,
    printed: &[&SourceText],
    gap: &Gap,
) -> Vec<(usize, Range<usize>, String)> {
    let token = match gap.to.trim() {
        EOS => Some("eos_token"),
        BOS => Some("bos_token"),
        _ => None,
    };
    let prints = |tag: &&Range<usize>| {
        let tag = &source[(*tag).clone()];
        tag.starts_with("{{") || said(tag).starts_with("end")
    };
    let said = match token {
        Some(token) => token.to_owned(),
        None => format!("'{}'", gap.to.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n")),
    };
    let places = parts.tags.iter().filter(prints).map(|tag| {
        let close = if source[..tag.end].ends_with("-}}") || source[..tag.end].ends_with("-%}") { "-}}" } else { "}}" };
        let next = printed.partition_point(|text| text.bytes(0..0).start < tag.end);
        let [front, back] = beside(&printed[..next], &printed[next..], gap);
        (2 * (front + back), tag.end..tag.end, format!("{{{{- {said} {close}"))
    });
    places.collect()
}
