//! [`Diff`]: splits two renders of one template into the text that they share and the text that
//! only one of them has.

use super::markup::{Segment, segments};
use chatparse_base::find::{shared, shared_end};

/// `a` is `prefix + left + suffix`, `b` is `prefix + right + suffix`. Markers are never split: two
/// different markers share nothing, even if they begin or end alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diff<'a> {
    pub prefix: &'a str,
    pub left: &'a str,
    pub right: &'a str,
    pub suffix: &'a str,
}

impl<'a> Diff<'a> {
    /// If `b` only continues after the end of `a`, the difference is that continuation. Otherwise
    /// the ends share as much as they can, and the beginnings what is left.
    pub fn between(a: &'a str, b: &'a str) -> Self {
        if let Some(added) = b.strip_prefix(a) {
            return Diff {
                prefix: a,
                left: "",
                right: added,
                suffix: "",
            };
        }
        let tail = in_common(
            segments(a).into_iter().rev(),
            segments(b).into_iter().rev(),
            shared_end,
        );
        let (rest_a, rest_b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
        let head = in_common(
            segments(rest_a).into_iter(),
            segments(rest_b).into_iter(),
            shared,
        );
        Diff {
            prefix: &a[..head],
            left: &rest_a[head..],
            right: &rest_b[head..],
            suffix: &a[a.len() - tail..],
        }
    }
}

/// The number of bytes that two lists of segments share: equal segments, and of the first two that
/// differ what `within` says, if both are text.
fn in_common<'a>(
    a: impl Iterator<Item = Segment<'a>>,
    b: impl Iterator<Item = Segment<'a>>,
    within: fn(&str, &str) -> usize,
) -> usize {
    let mut size = 0;
    for (a, b) in a.zip(b) {
        if a != b {
            return match (a, b) {
                (Segment::Text(a), Segment::Text(b)) => size + within(a, b),
                _ => size,
            };
        }
        size += a.as_str().len();
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared() {
        let diff = |a, b| {
            let Diff {
                prefix,
                left,
                right,
                suffix,
            } = Diff::between(a, b);
            [prefix, left, right, suffix]
        };
        assert_eq!(
            diff("<q>a<e>", "<q>a<e><r>b<e>"),
            ["<q>a<e>", "", "<r>b<e>", ""]
        );
        assert_eq!(
            diff("<q>a<e>\n<s>", "<q>a<e>\n<r>b<e>\n<s>"),
            ["<q>a", "", "<e>\n<r>b", "<e>\n<s>"]
        );
        assert_eq!(diff("<a>x1y", "<b>x2y"), ["", "<a>x1", "<b>x2", "y"]);
        assert_eq!(diff("aé", "aè"), ["a", "é", "è", ""]);
        assert_eq!(diff("", ""), ["", "", "", ""]);
    }
}
