//! Ranges of whole numbers as rules over their digits, like llama.cpp's.

use chatparse_grammar::rules::{Rule, class as class_of};

/// The maximum number of digits on a side without a bound.
const DIGITS: u64 = 16;

/// The whole numbers from `min` to `max`, and a note if the rule is not exact. At least one bound
/// must be set.
pub fn range(min: Option<i64>, max: Option<i64>) -> (Rule, Option<&'static str>) {
    let mut range = Range(Vec::new());
    let mut widened = None;
    match (min, max) {
        (Some(min), Some(max)) => range.between(min, max),
        (Some(min), None) => range.from(min),
        (None, Some(max)) => {
            range.to(max);
            widened = (max < 0).then_some("numbers with leading zeros are also allowed");
        }
        (None, None) => range.0.push(Rule::reference("integer")),
    }
    (Rule::Choice(range.0), widened)
}

/// The position of the first digit that [`Range::tail`] adds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of the number.
    First,
    /// After a minus. llama.cpp allows some leading zeros here.
    Negative,
    /// After another digit.
    Inside,
}

/// The branches of a range, as alternatives.
struct Range(Vec<Rule>);

impl Range {
    fn push(&mut self, parts: impl Into<Vec<Rule>>) {
        self.0.push(Rule::sequence(parts));
    }

    /// Adds what `fill` adds, after a minus.
    fn negative(&mut self, fill: impl FnOnce(&mut Range)) {
        self.push([Rule::literal("-"), nested(fill)]);
    }

    fn between(&mut self, min: i64, max: i64) {
        if max < 0 {
            return self
                .negative(|inner| inner.between(max.saturating_neg(), min.saturating_neg()));
        }
        if min < 0 {
            self.negative(|inner| inner.between(0, min.saturating_neg()));
        }
        let (mut low, high) = (min.max(0).to_string(), max.to_string());
        for digits in low.len()..high.len() {
            self.0
                .push(same_length(low.as_bytes(), "9".repeat(digits).as_bytes()));
            low = format!("1{}", "0".repeat(digits));
        }
        self.0.push(same_length(low.as_bytes(), high.as_bytes()));
    }

    fn to(&mut self, max: i64) {
        if max < 0 {
            return self.negative(|inner| {
                inner.tail(&max.unsigned_abs().to_string(), DIGITS, Place::Negative)
            });
        }
        self.push([
            Rule::literal("-"),
            Rule::class("[1-9]"),
            digits(0, DIGITS - 1),
        ]);
        self.between(0, max);
    }

    fn from(&mut self, min: i64) {
        if min >= 0 {
            return self.tail(&min.to_string(), DIGITS, Place::First);
        }
        self.negative(|inner| inner.between(0, min.saturating_neg()));
        self.push([Rule::class("[0]")]);
        self.push([Rule::class("[1-9]"), digits(0, DIGITS - 1)]);
    }

    /// Numbers from `min` on, with at most `left` digits. More digits make a larger number, except
    /// for leading zeros. llama.cpp forgets zeros and ones inside of `min`, so it includes smaller
    /// numbers or excludes larger ones.
    fn tail(&mut self, min: &str, left: u64, place: Place) {
        let length = min.len() as u64;
        let after = (left - 1).max(1);
        if min.bytes().all(|digit| digit == b'0') {
            if place == Place::First {
                self.push([Rule::class("[0]")]);
                self.push([Rule::class("[1-9]"), digits(0, after)]);
            } else {
                self.push([digits(length, left)]);
            }
            return;
        }
        let (digit, rest) = (min.as_bytes()[0], &min[1..]);
        let lowest = if place == Place::First { b'1' } else { b'0' };
        let only_zero = place == Place::Negative && digit == b'1' && !rest.is_empty();
        if digit > lowest && !only_zero {
            self.push([class(lowest, digit - 1), digits(length, after)]);
        }
        if rest.is_empty() {
            return self.push([class(digit, b'9'), digits(0, after)]);
        }
        self.push([
            class(digit, digit),
            nested(|inner| inner.tail(rest, after, Place::Inside)),
        ]);
        if digit < b'9' {
            self.push([class(digit + 1, b'9'), digits(length - 1, after)]);
        }
    }
}

/// What `fill` adds, in parentheses.
fn nested(fill: impl FnOnce(&mut Range)) -> Rule {
    let mut inner = Range(Vec::new());
    fill(&mut inner);
    Rule::Choice(inner.0).group()
}

/// The numbers between two of equal length.
fn same_length(low: &[u8], high: &[u8]) -> Rule {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let prefix = (common > 0).then(|| Rule::literal(String::from_utf8_lossy(&low[..common])));
    let rest = match (&low[common..], &high[common..]) {
        ([a, low_rest @ ..], [b, high_rest @ ..]) => Some(from_here(*a, low_rest, *b, high_rest)),
        _ => None,
    };
    Rule::Sequence(prefix.into_iter().chain(rest).collect())
}

/// Like `same_length`, if the first digits differ.
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
        branches.push(Rule::sequence([
            class(a, a),
            same_length(low, &nines).group(),
        ]));
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
    class_of([(from.into(), to.into())].into_iter(), false)
}

fn digits(min: u64, max: u64) -> Rule {
    let digit = Rule::class("[0-9]");
    // Bounds with more digits than an open range may have get as many as they need.
    if (min, max) == (1, 1) {
        digit
    } else {
        digit.times(min, Some(max.max(min)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use chatparse_grammar::Recogniser;

    /// Whether the rule of a range allows `number`, and whether the range is reported as too wide.
    fn verdict(min: Option<i64>, max: Option<i64>, number: i64) -> (bool, bool) {
        let (rule, widened) = range(min, max);
        let recogniser =
            Recogniser::new(&format!("root ::= {rule}")).expect("the rule can be read");
        (recogniser.accepts(&number.to_string()), widened.is_some())
    }

    fn bound() -> impl Strategy<Value = i64> {
        prop_oneof![
            -20..20_i64,
            -3_000..3_000_i64,
            -1_000_000_000..1_000_000_000_i64,
            any::<i64>()
        ]
    }

    proptest! {
        #[test]
        fn between_two_bounds_exactly(a in bound(), b in bound(), number in bound()) {
            let (min, max) = (a.min(b), a.max(b));
            for number in [number, min, max, min.saturating_sub(1), max.saturating_add(1), min / 2 + max / 2] {
                prop_assert_eq!(verdict(Some(min), Some(max), number), (min <= number && number <= max, false));
            }
        }

        #[test]
        fn from_or_to_one_bound(bound in -99_999_999..99_999_999_i64, number in bound()) {
            let number = number % 1_000_000_000_000_000;
            for number in [number, bound, bound - 1, bound + 1, bound / 10, bound * 10] {
                let (allowed, widened) = verdict(Some(bound), None, number);
                prop_assert!(if widened { allowed || number < bound } else { allowed == (number >= bound) }, "{} {}", bound, number);
                let (allowed, widened) = verdict(None, Some(bound), number);
                prop_assert!(if widened { allowed || number > bound } else { allowed == (number <= bound) }, "{} {}", bound, number);
            }
        }
    }

    #[test]
    fn ends_of_the_world() {
        for (min, max) in [
            (i64::MIN + 1, i64::MAX - 1),
            (i64::MAX - 1, i64::MAX - 1),
            (0, i64::MAX - 1),
        ] {
            assert_eq!(verdict(Some(min), Some(max), max), (true, false));
        }
        for bound in [
            10_000_000_000_000_000,
            999_999_999_999_999_999,
            i64::MAX - 1,
        ] {
            assert!(verdict(Some(bound), None, bound).0, "{bound}");
            assert!(verdict(None, Some(-bound), -bound).0, "{bound}");
        }
    }
}
