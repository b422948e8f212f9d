//! Numbers by value, exactly: JSON does not say how large or how long a number may be.

use std::cmp::Ordering;

/// A decimal number of any size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    pub negative: bool,
    /// Without zeros at either end; none for zero.
    pub digits: Vec<u8>,
    /// The number of places from the beginning of the digits to the point; 0 for zero.
    pub point: i128,
}

impl Decimal {
    /// The number with this text, which is a number in JSON.
    pub fn of(text: &str) -> Decimal {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let size = mantissa.trim_start_matches('-');
        let (whole, part) = size.split_once('.').unwrap_or((size, ""));
        let text = format!("{whole}{part}");
        let digits = text.trim_start_matches('0');
        if digits.is_empty() {
            return Decimal::default();
        }
        let zeros = (text.len() - digits.len()) as i128;
        let most = i128::MAX / 2;
        let too_long = if exponent.starts_with('-') {
            -most
        } else {
            most
        };
        let exponent = exponent.parse().unwrap_or(too_long).clamp(-most, most);
        let digits = digits.trim_end_matches('0').bytes();
        Decimal {
            negative: mantissa.starts_with('-'),
            digits: digits.map(|digit| digit - b'0').collect(),
            point: exponent + whole.len() as i128 - zeros,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub fn is_whole(&self) -> bool {
        self.point >= self.digits.len() as i128
    }

    fn sign(&self) -> i8 {
        i8::from(!self.is_zero()) * if self.negative { -1 } else { 1 }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let sizes = (self.point, &self.digits).cmp(&(other.point, &other.digits));
        let sizes = if self.negative {
            sizes.reverse()
        } else {
            sizes
        };
        self.sign().cmp(&other.sign()).then(sizes)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::of(text)
    }

    #[test]
    fn numbers_are_compared_exactly() {
        let order = [
            "-1e9223372036854775807",
            "-1e300",
            "-10",
            "-9.5",
            "-0.01",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "2",
            "9007199254740992.0",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775807.5",
            "1e400",
            "1.5e400",
        ];
        for (i, left) in order.into_iter().enumerate() {
            for (j, right) in order.into_iter().enumerate() {
                assert_eq!(
                    decimal(left).cmp(&decimal(right)),
                    i.cmp(&j),
                    "{left} {right}"
                );
            }
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for (left, right) in [
            ("0", "-0.0"),
            ("0e5", "0.00"),
            ("1.50e2", "150"),
            ("-0.001", "-1E-3"),
            ("9223372036854775807", "9223372036854775807.0"),
            ("120e+398", "12E399"),
        ] {
            assert_eq!(decimal(left), decimal(right), "{left} {right}");
        }
        for (text, whole) in [
            ("0.0", true),
            ("1e400", true),
            ("1.50e1", true),
            ("9007199254740993.5", false),
            ("1e-400", false),
        ] {
            assert_eq!(decimal(text).is_whole(), whole, "{text}");
        }
    }
}
