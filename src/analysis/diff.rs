//! [`Diff`]: splits two renders of one template into the text that they share and the text that only one of them has.

use super::markup::{Markup, Segment};

/// `a` is `prefix + left + suffix`, `b` is `prefix + right + suffix`. Markers are never split: two different markers share
/// nothing, even if they begin or end alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Diff<'a> {
    pub prefix: &'a str,
    pub left: &'a str,
    pub right: &'a str,
    pub suffix: &'a str,
}

impl<'a> Diff<'a> {
    /// Takes equal segments from both ends in turn, one at a time, so that a piece that occurs at both ends (a line break,
    /// an end-of-turn marker) is not always assigned to the same end. Compares the remaining texts character by character,
    /// end first.
    ///
    /// If `b` only continues after the end of `a`, the difference is that continuation, even if the ends have more in
    /// common.
    pub(super) fn between(a: &'a str, b: &'a str) -> Self {
        let (a_segments, b_segments) = (Markup::new(a).segments(), Markup::new(b).segments());
        let (head, tail) = shared_ends(&a_segments, &b_segments);
        let diff = Diff::sharing(a, b, head, tail);
        match b.strip_prefix(a) {
            Some(added) if added.is_empty() || diff.left.is_empty() => {
                Diff { prefix: a, left: "", right: added, suffix: "" }
            }
            _ => diff,
        }
    }

    /// Splits two texts that share this many bytes at the start and at the end.
    pub(super) fn sharing(a: &'a str, b: &'a str, head: usize, tail: usize) -> Self {
        Diff {
            prefix: &a[..head],
            left: &a[head..a.len() - tail],
            right: &b[head..b.len() - tail],
            suffix: &a[a.len() - tail..],
        }
    }
}

/// The number of bytes that two texts share at the start and at the end.
fn shared_ends(mut a: &[Segment], mut b: &[Segment]) -> (usize, usize) {
    let (mut head, mut tail) = (0, 0);
    while a.len() > 1 && b.len() > 1 {
        let taken = head + tail;
        head += take_first(&mut a, &mut b);
        // A side with one segment left also gives it to the start if it is equal there: an end-of-turn marker then closes
        // the previous turn instead of opening the addition.
        if a.len() == 1 || b.len() == 1 {
            head += take_first(&mut a, &mut b);
        }
        tail += take_last(&mut a, &mut b);
        if head + tail == taken {
            break;
        }
    }
    match (a, b) {
        // One side has one segment left, which may end or begin the other side.
        ([only], [first, .., last]) | ([first, .., last], [only]) if only == last || only == first => {
            let size = only.as_str().len();
            if only == last { (head, tail + size) } else { (head + size, tail) }
        }
        ([a_first, .., a_last], [b_first, .., b_last]) => {
            let end = common_end(*a_last, *b_last);
            (head + common_start(*a_first, *b_first), tail + end)
        }
        ([only], [first, .., last]) | ([first, .., last], [only]) => {
            let end = common_end(*only, *last);
            (head + common_start(only.shortened(end), *first), tail + end)
        }
        ([x], [y]) => {
            let end = common_end(*x, *y);
            (head + common_start(x.shortened(end), y.shortened(end)), tail + end)
        }
        _ => (head, tail),
    }
}

/// Removes the first segment from both sides if it is equal. Returns its length, or 0.
fn take_first(a: &mut &[Segment], b: &mut &[Segment]) -> usize {
    match (*a, *b) {
        ([x, rest_a @ ..], [y, rest_b @ ..]) if x == y => {
            (*a, *b) = (rest_a, rest_b);
            x.as_str().len()
        }
        _ => 0,
    }
}

/// Removes the last segment from both sides if it is equal. Returns its length, or 0.
fn take_last(a: &mut &[Segment], b: &mut &[Segment]) -> usize {
    match (*a, *b) {
        ([rest_a @ .., x], [rest_b @ .., y]) if x == y => {
            (*a, *b) = (rest_a, rest_b);
            x.as_str().len()
        }
        _ => 0,
    }
}

/// The number of bytes that two texts share at their starts; 0 for markers.
fn common_start(a: Segment, b: Segment) -> usize {
    let (Segment::Text(a), Segment::Text(b)) = (a, b) else { return 0 };
    a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

/// The number of bytes that two texts share at their ends; 0 for markers.
fn common_end(a: Segment, b: Segment) -> usize {
    let (Segment::Text(a), Segment::Text(b)) = (a, b) else { return 0 };
    a.chars().rev().zip(b.chars().rev()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(a: &str, b: &str) -> [String; 4] {
        let diff = Diff::between(a, b);
        assert_eq!([diff.prefix, diff.left, diff.suffix].concat(), a);
        assert_eq!([diff.prefix, diff.right, diff.suffix].concat(), b);
        [diff.prefix, diff.left, diff.right, diff.suffix].map(str::to_string)
    }

    #[test]
    fn markers_stay_whole() {
        assert_eq!(split("<a><b><c>", "<a><bb><c>"), ["<a>", "<b>", "<bb>", "<c>"]);
        assert_eq!(split("<a>one</a>", "<a>once</a>"), ["<a>on", "", "c", "e</a>"]);
        assert_eq!(split("x one", "x two"), ["x ", "one", "two", ""]);
    }

    #[test]
    fn a_longer_text_is_an_addition() {
        assert_eq!(split("<u>q</u>\n", "<u>q</u>\n<a>r</u>\n"), ["<u>q</u>\n", "", "<a>r</u>\n", ""]);
        assert_eq!(split("<s>q<e>t", "<s>q<e><a>r<e>t"), ["<s>q<e>", "", "<a>r<e>", "t"]);
        assert_eq!(split("", "<a>"), ["", "", "<a>", ""]);
        assert_eq!(split("<a>", ""), ["", "<a>", "", ""]);
        assert_eq!(split("same", "same"), ["same", "", "", ""]);
    }

    #[test]
    fn ends_never_overlap() {
        assert_eq!(split("a a", "a a a"), ["a a", "", " a", ""]);
        assert_eq!(split("<s>x<s>", "<s>"), ["", "<s>x", "", "<s>"]);
        assert_eq!(split("äö", "äü"), ["ä", "ö", "ü", ""]);
    }

    #[test]
    fn any_two_texts_are_put_together_again() {
        let pieces = ["<", ">", "[", "]", "a", "é", "\n", "<a>", "[b]"];
        let mut state = 1u32;
        let mut text = || {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text += pieces[(state >> 24) as usize % pieces.len()];
            }
            text
        };
        for _ in 0..2000 {
            split(&text(), &text());
        }
    }
}
