//! Ranges of whole numbers as rules over their digits.

use super::rule::Rule;

/// Digits that a number may have where it has no bound on that side.
const DIGITS: u64 = 16;

/// The whole numbers from `min` to `max`, and what else the rule allows. At least one bound must be there.
pub(super) fn range(min: Option<i64>, max: Option<i64>) -> (Rule, Option<&'static str>) {
    let mut range = Range { branches: Vec::new(), loses_zeros: false };
    match (min, max) {
        (Some(min), Some(max)) => range.between(min, max),
        (Some(min), None) => range.from(min),
        (None, Some(max)) => range.to(max),
        (None, None) => range.branches.push(Rule::reference("integer")),
    }
    let widened = if range.loses_zeros {
        Some("some shorter numbers beyond the bound are allowed, too")
    } else if min.is_none() && max.is_some_and(|max| max < 0) {
        Some("numbers with leading zeros are allowed, too")
    } else {
        None
    };
    (Rule::Choice(range.branches), widened)
}

struct Range {
    branches: Vec<Rule>,
    loses_zeros: bool,
}

impl Range {
    fn push(&mut self, parts: impl IntoIterator<Item = Rule>) {
        self.branches.push(Rule::sequence(parts));
    }

    /// What `fill` adds, with a minus in front.
    fn negative(&mut self, fill: impl FnOnce(&mut Range)) {
        let inside = self.nested(fill);
        self.push([Rule::literal("-"), inside]);
    }

    fn nested(&mut self, fill: impl FnOnce(&mut Range)) -> Rule {
        let mut inner = Range { branches: Vec::new(), loses_zeros: false };
        fill(&mut inner);
        self.loses_zeros |= inner.loses_zeros;
        Rule::Choice(inner.branches).group()
    }

    fn between(&mut self, min: i64, max: i64) {
        if max < 0 {
            return self.negative(|inner| inner.between(max.saturating_neg(), min.saturating_neg()));
        }
        if min < 0 {
            self.negative(|inner| inner.between(0, min.saturating_neg()));
        }
        let (mut low, high) = (min.max(0).to_string(), max.to_string());
        for digits in low.len()..high.len() {
            self.branches.push(same_length(low.as_bytes(), "9".repeat(digits).as_bytes()));
            low = format!("1{}", "0".repeat(digits));
        }
        self.branches.push(same_length(low.as_bytes(), high.as_bytes()));
    }

    fn to(&mut self, max: i64) {
        if max < 0 {
            return self.negative(|inner| inner.tail(max.unsigned_abs(), DIGITS, false));
        }
        self.push([Rule::literal("-"), Rule::class("[1-9]"), digits(0, DIGITS - 1)]);
        self.between(0, max);
    }

    fn from(&mut self, min: i64) {
        if min >= 0 {
            return self.tail(min.unsigned_abs(), DIGITS, true);
        }
        self.negative(|inner| inner.between(0, min.saturating_neg()));
        self.push([Rule::class("[0]")]);
        self.push([Rule::class("[1-9]"), digits(0, DIGITS - 1)]);
    }

    /// Numbers from `min` on, of at most `left` digits. Only the first digit of a number (`first`) must not be zero.
    fn tail(&mut self, min: u64, left: u64, first: bool) {
        let after = (left - 1).max(1);
        if min == 0 {
            if first {
                self.push([Rule::class("[0]")]);
                self.push([Rule::class("[1-9]"), digits(0, after)]);
            } else {
                self.push([digits(1, left)]);
            }
            return;
        }
        let text = min.to_string();
        let (digit, rest) = (text.as_bytes()[0], &text[1..]);
        let (lowest, length) = (if first { b'1' } else { b'0' }, text.len() as u64);
        // A smaller first digit needs one digit more.
        if digit > b'1' || rest.is_empty() && digit > lowest {
            self.push([class(lowest, digit - 1), digits(length, after)]);
        }
        if rest.is_empty() {
            return self.push([class(digit, b'9'), digits(0, after)]);
        }
        // The rest as a number has lost its zeros in front, and with them its length.
        self.loses_zeros |= rest.len() > 1 && rest.starts_with('0');
        let rest = rest.parse().unwrap_or_default();
        let inside = self.nested(|inner| inner.tail(rest, after, false));
        self.push([class(digit, digit), inside]);
        if digit < b'9' {
            self.push([class(digit + 1, b'9'), digits(length - 1, after)]);
        }
    }
}

/// The numbers between two of the same length.
fn same_length(low: &[u8], high: &[u8]) -> Rule {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let prefix = (common > 0).then(|| Rule::literal(String::from_utf8_lossy(&low[..common])));
    let rest = match (&low[common..], &high[common..]) {
        ([a, low_rest @ ..], [b, high_rest @ ..]) => Some(from_here(*a, low_rest, *b, high_rest)),
        _ => None,
    };
    Rule::sequence(prefix.into_iter().chain(rest))
}

/// The same where the first digits differ.
fn from_here(a: u8, low: &[u8], b: u8, high: &[u8]) -> Rule {
    if low.is_empty() {
        return class(a, b);
    }
    let length = low.len() as u64;
    let (zeros, nines) = (vec![b'0'; low.len()], vec![b'9'; low.len()]);
    let mut branches = Vec::new();
    let mut reached = false;
    if low == zeros {
        branches.push(Rule::sequence([class(a, b - 1), digits(length, length)]));
    } else {
        branches.push(Rule::sequence([class(a, a), same_length(low, &nines).group()]));
        if a < b - 1 {
            reached = high == nines;
            let last = if reached { b } else { b - 1 };
            branches.push(Rule::sequence([class(a + 1, last), digits(length, length)]));
        }
    }
    if !reached {
        branches.push(Rule::sequence([class(b, b), same_length(&zeros, high)]));
    }
    Rule::Choice(branches).group()
}

fn class(from: u8, to: u8) -> Rule {
    let (from, to) = (from as char, to as char);
    Rule::class(if from == to { format!("[{from}]") } else { format!("[{from}-{to}]") })
}

fn digits(min: u64, max: u64) -> Rule {
    let digit = Rule::class("[0-9]");
    // Bounds of more digits than an open range has otherwise take as many as they need.
    if (min, max) == (1, 1) { digit } else { digit.times(min, Some(max.max(min))) }
}
