//! Learns the edges between the parts of a turn from the turns that were rendered.

use super::super::markup::trim;
use super::calls::{Calls, Path};
use super::glue::Glue;
use super::parts::Token;
use super::{
    Edge, Reasoning,
    SlotKind::{self, Call, Content, End, Prompt},
};
use chatparse_base::brackets;

/// Removes the end of the turn from the last glue of all paths, and returns it.
pub fn cut_end(paths: &mut [Path]) -> Option<Glue> {
    let lasts: Vec<&Glue> = paths.iter().filter_map(|path| path.glue.last()).collect();
    // If the same glue ends turns with content and turns with calls, it is the end, whether or not
    // it has markers.
    let mut said = paths.iter().filter(|path| {
        let last = path.parts.last();
        last.is_some_and(|last| last.token == Token::Content)
    });
    let end = said.find_map(|path| {
        let end = path.glue.last()?;
        lasts
            .iter()
            .all(|last| last.ends_with(end))
            .then(|| end.clone())
    });
    let end = end.unwrap_or_else(|| Glue::common_end(lasts));
    let end = end.strip_prefix(&closes_content(paths, &end))?;
    for last in paths.iter_mut().filter_map(|path| path.glue.last_mut()) {
        *last = last.strip_suffix(&end)?;
    }
    Some(end)
}

/// The part of the end of the turn that also occurs between content and calls: markers that close
/// each part.
fn closes_content(paths: &[Path], end: &Glue) -> Glue {
    let mut between = paths.iter().flat_map(|path| {
        let two = path.parts.windows(2).zip(&path.glue[1..]);
        two.filter(|(two, _)| two[0].token == Token::Content)
            .map(|(_, glue)| glue)
    });
    let Some(first) = between.next() else {
        return Glue::default();
    };
    let shared = Glue::common_start(between.chain([first, end]));
    let shared = shared.head().trim_end_matches(|c| !brackets::closes(c));
    let split = end
        .marker_spans()
        .into_iter()
        .find(|span| span.start < shared.len() && shared.len() < span.end);
    let markers = Glue::from(&shared[..split.map_or(shared.len(), |span| span.start)]);
    // One token may end both a part and the turn.
    let is_all = end
        .strip_prefix(&markers)
        .is_none_or(|rest| rest.is_blank());
    if is_all { Glue::default() } else { markers }
}

/// All edges that were seen, the longest glue first, and the markers of the reasoning. The prompt
/// ends with `opening`.
pub fn learn(
    paths: &[Path],
    calls: &Calls,
    opening: &str,
) -> Option<(Vec<Edge>, Option<Reasoning>)> {
    let mut edges: Vec<Edge> = Vec::new();
    for path in paths {
        for edge in steps(path, calls)? {
            if !edges.contains(&edge) {
                edges.push(edge);
            }
        }
    }
    let reasoning = split_reasoning(&mut edges, opening);
    chatparse_base::sort::by_key(&mut edges, |edge| {
        std::cmp::Reverse(edge.glue.chars().count())
    });
    edges.dedup();
    Some((edges, reasoning))
}

/// The edges of one turn. The glue after a call excludes the call's end.
fn steps(path: &Path, calls: &Calls) -> Option<Vec<Edge>> {
    let mut edges = Vec::new();
    let (mut from, mut at) = (Prompt, 0);
    let mut glue = path.glue[0].clone();
    for parts in path
        .parts
        .chunk_by(|a, b| a.call == b.call && a.call.is_some())
    {
        let to = match (parts[0].call, parts[0].token) {
            (Some(_), _) => Call,
            (None, Token::Reasoning) => SlotKind::Reasoning,
            (None, _) => Content,
        };
        edges.push(Edge { from, glue, to });
        let first = at;
        at += parts.len();
        glue = if to == Call {
            calls.behind(path, first..at)?
        } else {
            path.glue[at].clone()
        };
        from = to;
    }
    edges.push(Edge::new(from, glue, End));
    Some(edges)
}

/// Splits the end of the reasoning, the common beginning of all edges from it, from those edges.
/// Reasoning without an end cannot be told from what follows, and is dropped.
fn split_reasoning(edges: &mut Vec<Edge>, opening: &str) -> Option<Reasoning> {
    let open = edges
        .iter()
        .find(|edge| edge.to == SlotKind::Reasoning)?
        .glue
        .clone();
    let mut close = closes_reasoning(edges);
    if close.is_blank() {
        let mut leaves = edges.iter().filter(|edge| edge.from == SlotKind::Reasoning);
        let to_content = leaves.find(|edge| edge.to == Content);
        close = to_content.map(|edge| edge.glue.clone()).unwrap_or_default();
    }
    // Further markers belong to the next part.
    close = close.up_to_first_marker();
    edges.retain(|edge| edge.to != SlotKind::Reasoning || edge.from == Content);
    if close.is_blank() {
        edges.retain(|edge| edge.from != SlotKind::Reasoning && edge.to != SlotKind::Reasoning);
        return None;
    }
    let mut holds_calls = false;
    for edge in edges
        .iter_mut()
        .filter(|edge| edge.from == SlotKind::Reasoning)
    {
        match edge.glue.strip_prefix(&close) {
            Some(rest) => edge.glue = rest,
            None => holds_calls |= edge.to == Call,
        }
    }
    // A word directly after a marker is the role's name, and no reasoning.
    let marker = Glue::last_marker(opening);
    let after = opening.rsplit_once(marker).map_or("", |(_, after)| after);
    let start = match open.is_blank() {
        true if after.starts_with(char::is_alphanumeric) => "",
        true => marker,
        false => trim(open.head()),
    };
    Some(Reasoning {
        start: start.to_owned(),
        open,
        close,
        shown: true,
        holds_calls,
    })
}

/// The common beginning of all edges from the reasoning, without glue that also occurs before a
/// part without reasoning.
fn closes_reasoning(edges: &[Edge]) -> Glue {
    let (leaves, others): (Vec<&Edge>, Vec<&Edge>) = edges
        .iter()
        .partition(|edge| edge.from == SlotKind::Reasoning);
    let mut ends = Vec::new();
    for leaf in leaves {
        let same = others.iter().filter(|other| other.to == leaf.to);
        let rests = same.filter_map(|other| leaf.glue.strip_suffix(&other.glue));
        let shortest = rests
            .filter(|rest| !rest.is_blank())
            .min_by_key(|rest| rest.chars().count());
        ends.push(shortest.unwrap_or_else(|| leaf.glue.clone()));
    }
    Glue::common_start(&ends)
}
