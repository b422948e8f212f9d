//! Edits that may mend a template, and the proof of one: with it the finding is gone, nothing new is found, and no fewer messages
//! are read back.

use std::ops::Range;

use super::finding::Patch;
use super::rules::Edit;
use super::{BOS, EOS};
use chatparse_jinja::SourceParts;

/// Most edits that are tried for one finding: each is a lint.
const TRIED: usize = 96;

/// Lines around an edit in a diff.
const CONTEXT: usize = 3;

/// Texts for ranges of a source, in order.
type Changes = Vec<(Range<usize>, String)>;

/// The edited sources, likely ones first.
pub fn edited(source: &str, parts: &SourceParts, edits: &[Edit]) -> Vec<Patch> {
    let mut all: Vec<Changes> = Vec::new();
    for edit in edits {
        match edit {
            Edit::Replace(pairs) => replaced(parts, pairs, &mut all),
            Edit::Insert { text, behind } => inserted(source, parts, text, behind, &mut all),
            Edit::Unfilter => {
                let cases = ["upper", "lower", "title", "capitalize"];
                let filters = parts.filters.iter().filter(|(name, _)| cases.contains(&&**name));
                all.extend(filters.map(|(_, bytes)| vec![(bytes.clone(), String::new())]));
            }
        }
    }
    let mut patches: Vec<Patch> = Vec::new();
    for changes in all {
        if patches.len() == TRIED {
            break;
        }
        let mut mended = source.to_owned();
        for (bytes, text) in changes.iter().rev() {
            mended.replace_range(bytes.clone(), text);
        }
        if mended != source && !patches.iter().any(|patch| patch.source == mended) {
            patches.push(Patch { source: mended, diff: String::new() });
        }
    }
    patches
}

fn replaced(parts: &SourceParts, pairs: &[(String, String)], all: &mut Vec<Changes>) {
    let mut everywhere = Changes::new();
    for (from, to) in pairs.iter().filter(|(from, _)| !from.is_empty()) {
        for text in &parts.texts {
            let found = text.text.match_indices(&**from);
            everywhere.extend(found.map(|(at, _)| (text.bytes(at..at + from.len()), text.written(to))));
        }
    }
    everywhere.sort_by_key(|(bytes, _)| bytes.start);
    let apart = everywhere.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start);
    // Each alone, the last ones first: what turns look like stands behind the instruction. Then several.
    if pairs.len() == 1 {
        all.extend(everywhere.iter().rev().map(|change| vec![change.clone()]));
    }
    if apart && everywhere.len() > 1 {
        // Every other one, where a marker opens and closes.
        all.push(everywhere.iter().skip(1).step_by(2).cloned().collect());
        all.push(everywhere);
    }
}

fn inserted(source: &str, parts: &SourceParts, text: &str, behind: &str, all: &mut Vec<Changes>) {
    let token = match text.trim() {
        EOS => Some("eos_token"),
        BOS => Some("bos_token"),
        _ => None,
    };
    let mut places: Changes = Vec::new();
    if token.is_none() {
        // Not in conditions, which print nothing.
        let asks = |tag: &Range<usize>| {
            let said = source[tag.clone()].trim_start_matches(['{', '%', '-', '+', ' ', '\n']);
            source[tag.clone()].starts_with("{%") && !said.starts_with("set")
        };
        let conditions: Vec<&Range<usize>> = parts.tags.iter().filter(|tag| asks(tag)).collect();
        let within = |at: usize| {
            conditions[..conditions.partition_point(|tag| tag.start <= at)].last().is_some_and(|tag| at < tag.end)
        };
        for own in parts.texts.iter().filter(|own| !own.text.is_empty() && !within(own.bytes(0..0).start)) {
            let trimmed = own.text.trim_end().len();
            let mut within = vec![0, trimmed, own.text.len()];
            // Behind a bracket and in front of a marker, where one text has both.
            let short = own.text.len() < 80 && !own.text.trim().is_empty();
            let borders = own.text.match_indices(['}', ']', ')', '\n', '<']).map(|(at, _)| at);
            within.extend(borders.take(if short { 4 } else { 0 }));
            within.sort_unstable();
            within.dedup();
            places.extend(within.into_iter().map(|at| (own.bytes(at..at), own.written(text))));
        }
    }
    let prints = |tag: &&Range<usize>| {
        let said = source[(*tag).clone()].trim_start_matches(['{', '%', '-', '+', ' ', '\n']);
        source[(*tag).clone()].starts_with("{{") || said.starts_with("end")
    };
    for tag in parts.tags.iter().filter(prints) {
        let close = if source[..tag.end].ends_with("-}}") || source[..tag.end].ends_with("-%}") { "-}}" } else { "}}" };
        let said = match token {
            Some(token) => token.to_owned(),
            None => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n")),
        };
        places.push((tag.end..tag.end, format!("{{{{- {said} {close}")));
    }
    places.sort_by_key(|(bytes, _)| bytes.start);
    // Behind the last place of what it closes first, then before it, from the end on.
    let mut texts = parts.texts.iter().filter(|own| !behind.is_empty() && own.text.contains(behind));
    let from = texts.next_back().map_or(0, |own| own.bytes(0..0).start);
    let (before, after): (Changes, Changes) = places.into_iter().partition(|(bytes, _)| bytes.start < from);
    all.extend(after.into_iter().take(TRIED / 2).chain(before.into_iter().rev()).map(|change| vec![change]));
}

/// The difference of two texts as a unified diff, without the names of files: one hunk for each group of lines that differ.
pub fn diff(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let most = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    // Edits keep the number of lines, mostly: then equal lines between them are context.
    let (from, to_a, to_b) = (head, a.len() - tail, b.len() - tail);
    let mut lines: Vec<(char, &str)> = Vec::new();
    if to_a - from == to_b - from {
        for at in from..to_a {
            match a[at] == b[at] {
                true => lines.push((' ', a[at])),
                false => lines.extend([('-', a[at]), ('+', b[at])]),
            }
        }
    } else {
        lines.extend(a[from..to_a].iter().map(|line| ('-', *line)));
        lines.extend(b[from..to_b].iter().map(|line| ('+', *line)));
    }
    let first = from.saturating_sub(CONTEXT);
    let mut all: Vec<(char, &str)> = a[first..from].iter().map(|line| (' ', *line)).collect();
    all.extend(lines);
    all.extend(a[to_a..a.len().min(to_a + CONTEXT)].iter().map(|line| (' ', *line)));
    hunks(&all, first)
}

/// Lines with their marks, as hunks: a longer stretch without an edit is left out.
fn hunks(lines: &[(char, &str)], first: usize) -> String {
    let is_near = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let (mut text, mut at) = (String::new(), 0);
    let (mut old, mut new) = (first, first);
    while at < lines.len() {
        let end = (at..lines.len()).find(|&line| !is_near(line)).unwrap_or(lines.len());
        let hunk = &lines[at..end];
        let count = |other: char| hunk.iter().filter(|(mark, _)| *mark != other).count();
        let (of_old, of_new) = (count('+'), count('-'));
        if !hunk.is_empty() {
            text.push_str(&format!("@@ -{},{of_old} +{},{of_new} @@\n", old + 1, new + 1));
            hunk.iter().for_each(|(mark, line)| text.push_str(&format!("{mark}{line}\n")));
        }
        (old, new) = (old + of_old, new + of_new);
        let next = (end..lines.len()).find(|&line| is_near(line)).unwrap_or(lines.len());
        (old, new) = (old + next - end, new + next - end);
        at = next;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_of_single_lines() {
        let old: Vec<String> = (1..=20).map(|line| format!("line {line}")).collect();
        let mut new = old.clone();
        new[4] = "five".into();
        new[15] = "sixteen".into();
        let expected = "@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n line 6\n line 7\n line 8\n@@ -13,7 +13,7 @@\n line 13\n \
                        line 14\n line 15\n-line 16\n+sixteen\n line 17\n line 18\n line 19\n";
        assert_eq!(diff(&old.join("\n"), &new.join("\n")), expected);
        assert_eq!(diff("a\nb", "a\nb\nc"), "@@ -1,2 +1,3 @@\n a\n b\n+c\n");
        assert_eq!(diff("a", "b"), "@@ -1,1 +1,1 @@\n-a\n+b\n");
    }
}
