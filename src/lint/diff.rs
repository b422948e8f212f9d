//! Unified diffs.

/// Lines around an edit in a diff.
const CONTEXT: usize = 3;

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
