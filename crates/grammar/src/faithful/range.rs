//! Numbers between bounds and multiples of a number, as automata over digits.

use serde_json::Value;

use crate::regular::{Dfa, LazyAutomaton, Pattern, StateBudget, automaton};
use chatparse_base::chars::Chars;
use chatparse_base::decimal::Decimal;

/// A number as its digits before and after the point, without redundant zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digits {
    negative: bool,
    whole: Vec<u8>,
    part: Vec<u8>,
}

/// The number of states up to which an automaton is minimised.
const MINIMISED: usize = 500;
/// The maximum number of digits of a bound; longer ones are ignored.
const DIGITS: usize = 400;

impl Digits {
    /// `None` if it has too many digits, or is no number.
    pub fn of(number: &Value) -> Option<Digits> {
        let Decimal {
            negative,
            mut digits,
            point,
        } = chatparse_base::number::decimal(number)?;
        if point.unsigned_abs() > DIGITS as u128 || digits.len() > DIGITS {
            return None;
        }
        let point = point as isize;
        let zeros = (-point).max(0) as usize;
        digits.splice(..0, std::iter::repeat_n(0, zeros));
        let whole = point.max(0) as usize;
        if digits.len() < whole {
            digits.resize(whole, 0);
        }
        let part = digits.split_off(whole);
        Some(Digits {
            negative,
            whole: digits,
            part,
        })
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.part.is_empty()
    }

    fn cmp(&self, other: &Digits) -> Compared {
        match (self.negative, other.negative) {
            (false, true) => Compared::Greater,
            (true, false) => Compared::Less,
            (false, false) => self.size().cmp(&other.size()),
            (true, true) => other.size().cmp(&self.size()),
        }
    }

    /// The absolute value, in a form that can be compared.
    fn size(&self) -> (usize, &[u8], &[u8]) {
        (self.whole.len(), &self.whole, &self.part)
    }

    /// The divisor for `multipleOf`: its digits as one number, and how many of them are after the
    /// point.
    fn factor(&self) -> Option<(u64, usize)> {
        let digits = self.whole.iter().chain(&self.part);
        let value = digits.fold(0_u64, |value, digit| {
            value.saturating_mul(10).saturating_add(u64::from(*digit))
        });
        (1..=2_000)
            .contains(&value)
            .then_some((value, self.part.len()))
    }
}

/// A bound, and whether it includes the bound itself.
pub type Bound = (Digits, bool);

/// A range of numbers.
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// Without point and exponent.
    pub whole: bool,
    /// With a fraction that is not zero.
    pub fraction: bool,
    pub min: Option<Bound>,
    pub max: Option<Bound>,
    /// The number must be a multiple of each of these.
    pub multiple_of: Vec<Digits>,
}

impl Range {
    pub fn is_free(&self) -> bool {
        self.min.is_none() && self.max.is_none() && self.multiple_of.is_empty() && !self.fraction
    }

    /// Moves the lower or the upper bound inwards.
    pub fn narrow(&mut self, is_upper: bool, bound: Bound) {
        let (known, stricter) = match is_upper {
            true => (&mut self.max, Compared::Less),
            false => (&mut self.min, Compared::Greater),
        };
        if known
            .as_ref()
            .is_none_or(|known| bound.0.cmp(&known.0) == stricter || bound.0 == known.0 && !bound.1)
        {
            *known = Some(bound);
        }
    }

    /// Whether a number may have an exponent, which moves it beyond any bound but zero, and its
    /// point.
    pub fn has_exponent(&self) -> bool {
        !self.whole
            && !self.fraction
            && self.multiple_of.is_empty()
            && self.bounds().all(|bound| bound.is_zero())
    }

    fn bounds(&self) -> impl Iterator<Item = &Digits> {
        self.min.iter().chain(&self.max).map(|(bound, _)| bound)
    }

    /// The automaton of these numbers in JSON; `None` if it would be too large.
    pub fn automaton(&self, room: &StateBudget) -> Option<Dfa> {
        let mut all = Dfa::of(&Sided(self), room)?;
        if self.fraction {
            let fractions = Pattern::parse(r"\.[0-9]*[1-9]").ok()?;
            all = all.and(&automaton(&fractions, room)?, room)?;
        }
        for step in &self.multiple_of {
            let (value, places) = step.factor()?;
            all = all.and(&Dfa::of(&Multiples { value, places }, room)?, room)?;
        }
        Some(all.minimal_up_to(MINIMISED, room))
    }
}

fn digit(low: u8, high: u8) -> Chars {
    Chars::of([(char::from(b'0' + low), char::from(b'0' + high))])
}

/// The position in the text of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Before the sign.
    Begin,
    /// After a minus.
    Signed,
    /// After a zero before the point.
    Zero,
    /// After this many digits before the point; counted up to the longest bound.
    Whole(usize),
    /// After the point, before a digit.
    Point,
    /// After this many digits after the point.
    Part(usize),
    /// After the `e`, after its sign, or after its first digit.
    Exponent,
    ExponentSign,
    /// This many more digits may follow; most readers do not accept larger numbers.
    ExponentDigits(u8),
}

/// The result of comparing the digits so far with those of a bound.
type Compared = std::cmp::Ordering;

/// The automaton's transitions for numbers within bounds.
struct Sided<'r>(&'r Range);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct At {
    phase: Phase,
    negative: bool,
    /// Comparisons with the lower and the upper bound, by absolute value.
    lower: Compared,
    upper: Compared,
}

impl At {
    fn to(self, phase: Phase) -> At {
        At { phase, ..self }
    }

    /// The number of digits after the point, counted up to the longest bound.
    fn places(self) -> usize {
        match self.phase {
            Phase::Part(count) => count,
            _ => 0,
        }
    }

    /// The next digit beside that of a bound.
    fn compared(self, digit: u8, bound: Option<&Bound>) -> Compared {
        let Some((bound, _)) = bound else {
            return Compared::Equal;
        };
        let other = match self.phase {
            Phase::Begin | Phase::Signed => bound.whole.first(),
            Phase::Whole(count) => bound.whole.get(count),
            Phase::Point => bound.part.first().or(Some(&0)),
            Phase::Part(count) => bound.part.get(count).or(Some(&0)),
            _ => None,
        };
        other.map_or(Compared::Equal, |other| digit.cmp(other))
    }

    /// Whether a number that ends here is on this side of a bound, or is the bound and may be.
    fn is_beyond(self, compared: Compared, (bound, includes): &Bound, side: Compared) -> bool {
        match compared {
            Compared::Equal if bound.part.len() > self.places() => side == Compared::Less,
            Compared::Equal => *includes,
            compared => compared == side,
        }
    }
}

impl Sided<'_> {
    /// The lower and upper bounds of the absolute value of a number with this sign.
    fn sizes(&self, negative: bool) -> (Option<&Bound>, Option<&Bound>) {
        let (min, max) = (self.0.min.as_ref(), self.0.max.as_ref());
        if negative {
            (max.filter(|max| max.0.negative || max.0.is_zero()), min)
        } else {
            (min.filter(|min| !min.0.negative), max)
        }
    }

    /// Whether a number may have this sign.
    fn allows(&self, negative: bool) -> bool {
        match negative {
            true => self.0.min.as_ref().is_none_or(|(min, _)| min.negative),
            false => self
                .0
                .max
                .as_ref()
                .is_none_or(|(max, open)| !max.negative && (!max.is_zero() || *open)),
        }
    }

    /// The number of digits beyond which they are not counted.
    fn longest(&self) -> usize {
        let digits = self.0.bounds().map(|bound| bound.whole.len());
        digits.max().unwrap_or(0) + 1
    }

    /// The same of the digits after the point.
    fn deepest(&self) -> usize {
        let digits = self.0.bounds().map(|bound| bound.part.len());
        digits.max().unwrap_or(0)
    }

    /// The comparison after the last digit before the point.
    fn weighed(compared: Compared, count: usize, bound: Option<&Bound>) -> Compared {
        bound.map_or(Compared::Equal, |(bound, _)| {
            count.cmp(&bound.whole.len()).then(compared)
        })
    }

    /// Whether the number may end here.
    fn fits(&self, at: At) -> bool {
        let (lower, upper) = self.sizes(at.negative);
        lower.is_none_or(|bound| at.is_beyond(at.lower, bound, Compared::Greater))
            && upper.is_none_or(|bound| at.is_beyond(at.upper, bound, Compared::Less))
    }

    /// The state after the digits before the point.
    fn closed(&self, at: At) -> At {
        let count = match at.phase {
            Phase::Whole(count) => count,
            // A zero has no significant digits.
            Phase::Zero => 0,
            _ => return at,
        };
        let (lower, upper) = self.sizes(at.negative);
        At {
            lower: Self::weighed(at.lower, count, lower),
            upper: Self::weighed(at.upper, count, upper),
            ..at
        }
    }

    /// Adds the moves by the digits from `from` on. Most digits lead to the state of the digit
    /// before.
    fn digits(&self, at: At, from: u8, phase: Phase, moves: &mut Vec<(Chars, At)>) {
        let all: Vec<(u8, At)> = (from..=9)
            .map(|number| (number, self.next(at, phase, number)))
            .collect();
        for same in all.chunk_by(|(_, one), (_, other)| one == other) {
            moves.push((digit(same[0].0, same[same.len() - 1].0), same[0].1));
        }
    }

    fn next(&self, at: At, phase: Phase, digit: u8) -> At {
        let (lower, upper) = self.sizes(at.negative);
        At {
            phase,
            lower: at.lower.then(at.compared(digit, lower)),
            upper: at.upper.then(at.compared(digit, upper)),
            ..at
        }
    }
}

impl LazyAutomaton for Sided<'_> {
    type State = At;

    fn start(&self) -> At {
        At {
            phase: Phase::Begin,
            negative: false,
            lower: Compared::Equal,
            upper: Compared::Equal,
        }
    }

    fn moves(&self, at: &At) -> Vec<(Chars, At)> {
        let at = *at;
        let mut moves = Vec::new();
        match at.phase {
            Phase::Begin | Phase::Signed if at.phase == Phase::Signed || self.allows(false) => {
                self.digits(at, 1, Phase::Whole(1), &mut moves);
                moves.push((digit(0, 0), at.to(Phase::Zero)));
            }
            Phase::Begin | Phase::Signed | Phase::Zero => {}
            Phase::Whole(count) => {
                let next = Phase::Whole((count + 1).min(self.longest()));
                self.digits(at, 0, next, &mut moves);
            }
            Phase::Point | Phase::Part(_) => {
                let next = Phase::Part((at.places() + 1).min(self.deepest()));
                self.digits(at, 0, next, &mut moves);
            }
            Phase::Exponent | Phase::ExponentSign => {
                moves.push((digit(0, 2), at.to(Phase::ExponentDigits(2))));
                moves.push((digit(3, 9), at.to(Phase::ExponentDigits(1))));
            }
            Phase::ExponentDigits(0) => {}
            Phase::ExponentDigits(left) => {
                moves.push((digit(0, 9), at.to(Phase::ExponentDigits(left - 1))));
            }
        }
        match at.phase {
            Phase::Begin if self.allows(true) => {
                moves.push((
                    Chars::one('-'),
                    At {
                        phase: Phase::Signed,
                        negative: true,
                        ..at
                    },
                ));
            }
            Phase::Zero | Phase::Whole(_) if !self.0.whole => {
                moves.push((Chars::one('.'), self.closed(at).to(Phase::Point)));
            }
            Phase::Exponent => {
                moves.push((Chars::each(['+', '-']), at.to(Phase::ExponentSign)));
            }
            _ => {}
        }
        let ended = matches!(at.phase, Phase::Zero | Phase::Whole(_) | Phase::Part(_));
        if ended && self.0.has_exponent() && self.accepts(&at) {
            moves.push((Chars::each(['e', 'E']), self.start().to(Phase::Exponent)));
        }
        moves
    }

    fn accepts(&self, at: &At) -> bool {
        match at.phase {
            Phase::Zero | Phase::Whole(_) => self.fits(self.closed(*at)),
            Phase::Part(_) => self.fits(*at),
            // The number fitted before its exponent.
            Phase::ExponentDigits(_) => true,
            _ => false,
        }
    }
}

/// The multiples of `value`, which has `places` digits after the point.
struct Multiples {
    value: u64,
    places: usize,
}

impl LazyAutomaton for Multiples {
    /// The remainder of the digits so far, how many of them are after the point, and whether there
    /// are any.
    type State = (u64, Option<usize>, bool);

    fn start(&self) -> Self::State {
        (0, None, false)
    }

    fn moves(&self, &(rest, places, any): &Self::State) -> Vec<(Chars, Self::State)> {
        let mut moves = Vec::new();
        match places {
            Some(places) if places == self.places => {
                moves.push((digit(0, 0), (rest, Some(places), true)))
            }
            _ => {
                for number in 0..=9_u8 {
                    let rest = (rest * 10 + u64::from(number)) % self.value;
                    moves.push((
                        digit(number, number),
                        (rest, places.map(|count| count + 1), true),
                    ));
                }
            }
        }
        match (places, any) {
            (None, true) => moves.push((Chars::one('.'), (rest, Some(0), true))),
            (None, false) if rest == 0 => moves.push((Chars::one('-'), (0, None, false))),
            _ => {}
        }
        moves
    }

    fn accepts(&self, &(rest, places, any): &Self::State) -> bool {
        let missing = self.places - places.unwrap_or(0);
        any && (0..missing).fold(rest, |rest, _| rest * 10 % self.value) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Digits {
        Digits::of(&chatparse_base::number::read(text).unwrap()).unwrap()
    }

    #[test]
    fn decimals() {
        assert_eq!(decimal("1.50e2"), decimal("150"));
        assert_eq!(decimal("-0.0"), decimal("0"));
        assert_eq!(decimal("1e-3").part, [0, 0, 1]);
        assert!(
            decimal("-3").cmp(&decimal("2")).is_lt() && decimal("-30").cmp(&decimal("-4")).is_lt()
        );
        assert!(
            decimal("1.25").cmp(&decimal("1.3")).is_lt()
                && decimal("10").cmp(&decimal("9.9")).is_gt()
        );
    }

    #[test]
    fn what_is_accepted_is_what_is_in_range() {
        let numbers: Vec<String> = (-130..=130)
            .flat_map(|n: i32| {
                [
                    n.to_string(),
                    format!("{}.{}", n, (n.abs() * 7) % 10),
                    format!("{n}.25"),
                    format!("{n}.0"),
                ]
            })
            .collect();
        let bounds = [
            None,
            Some("-100"),
            Some("-12.5"),
            Some("-1"),
            Some("0"),
            Some("0.25"),
            Some("9"),
            Some("100.75"),
        ];
        for min in bounds {
            for max in bounds {
                for (open, whole) in [(false, false), (true, false), (false, true), (true, true)] {
                    let mut range = Range {
                        whole,
                        ..Range::default()
                    };
                    min.iter()
                        .for_each(|min| range.narrow(false, (decimal(min), !open)));
                    max.iter()
                        .for_each(|max| range.narrow(true, (decimal(max), !open)));
                    let dfa = range.automaton(&StateBudget::of_states(10_000)).unwrap();
                    for text in &numbers {
                        let value: f64 = text.parse().unwrap();
                        let low = min.is_none_or(|min| {
                            let min: f64 = min.parse().unwrap();
                            value > min || !open && value == min
                        });
                        let high = max.is_none_or(|max| {
                            let max: f64 = max.parse().unwrap();
                            value < max || !open && value == max
                        });
                        let negative_zero = text.starts_with('-') && value == 0.0;
                        let expected = low && high && !(whole && text.contains('.'));
                        assert!(
                            dfa.accepts(text) == expected || negative_zero,
                            "{min:?} {max:?} {open} {whole} {text}"
                        );
                    }
                    for text in ["", "-", "01", "1.", ".5", "+1", "1e", "--1"] {
                        assert!(!dfa.accepts(text), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn multiples() {
        for (step, yes, no) in [
            ("3", ["0", "-9", "12.0"], ["1", "-10", "3.5"]),
            (
                "0.01",
                ["1.25", "-0.1", "7.100"],
                ["0.001", "1.255", "-1.0001"],
            ),
            ("1.5", ["3", "4.5", "-1.5"], ["1", "2.5", "0.5"]),
        ] {
            let range = Range {
                multiple_of: vec![decimal(step)],
                ..Range::default()
            };
            let dfa = range.automaton(&StateBudget::of_states(10_000)).unwrap();
            yes.iter()
                .for_each(|text| assert!(dfa.accepts(text), "{step} {text}"));
            no.iter()
                .for_each(|text| assert!(!dfa.accepts(text), "{step} {text}"));
        }
        let over = Range {
            min: Some((decimal("0"), false)),
            ..Range::default()
        }
        .automaton(&StateBudget::of_states(100))
        .unwrap();
        assert!(
            over.accepts("1e-06")
                && over.accepts("0.5E+3")
                && !over.accepts("0e5")
                && !over.accepts("-1")
        );
    }
}
