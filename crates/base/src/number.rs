//! Numbers of JSON texts, exactly. A [`Value`] holds the numbers of 64 bits; for another number,
//! the value has an object with the number's text. So `serde_json` needs no feature for them: a
//! feature would be on in the whole program of a host, where this one breaks the host's own types.

use std::borrow::Cow;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Number, Value};

use crate::decimal::Decimal;
use crate::error::Result;
use crate::find::find2;
use crate::json::{from_text, wrong};

/// The only name in an object that replaces a number.
const NAME: &str = "$chatparse.number";
const OPEN: &str = "{\"$chatparse.number\":\"";
const CLOSE: &str = "\"}";

/// The most bytes of a number without an exponent that surely fits: `f64` has 15 digits.
const SHORT: usize = 15;

/// Reads a JSON text.
///
/// # Errors
/// The errors of `serde_json`, except for a number that is too large for it.
pub fn read<T: DeserializeOwned + Send>(text: &str) -> serde_json::Result<T> {
    // Errors tell places in the given text.
    from_text(&marked(text)).map_err(|error| from_text::<IgnoredAny>(text).err().unwrap_or(error))
}

/// Reads a JSON text, which errors call `what`.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where it is no JSON, with the place;
/// [`crate::ErrorKind::Limit`] where it nests too deeply.
pub fn parse(text: &str, what: &str) -> Result<Value> {
    read(text).map_err(|error| {
        // Other languages print words for numbers that JSON does not have.
        let line = text.lines().nth(error.line().saturating_sub(1));
        let rest = line.and_then(|line| line.get(error.column().saturating_sub(1)..));
        let why = match rest {
            Some(rest) if rest.starts_with("NaN") => ": JSON has no NaN",
            Some(rest) if rest.starts_with("Infinity") => ": JSON has no Infinity",
            _ => "",
        };
        wrong(format_args!("{what}: not JSON{why}"), &error)
    })
}

/// A JSON text in which objects replace the numbers that a [`Value`] does not hold.
pub fn marked(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => end_of_text(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let digits = bytes[at..].iter().take_while(|byte| is_of_number(**byte));
                let end = at + digits.count();
                let number = &text[at..end];
                if number == "-0" {
                    // A whole number, which has no sign.
                    out.extend([&text[kept..at], "0"]);
                    kept = end;
                } else if !fits(number) {
                    out.extend([&text[kept..at], OPEN, number, CLOSE]);
                    kept = end;
                }
                end
            }
            _ => at + 1,
        };
    }
    if kept == 0 {
        text.into()
    } else {
        (out + &text[kept..]).into()
    }
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
}

/// The position after the quote that ends a text; `at` is inside the text.
pub fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(length) = bytes.get(at..).and_then(|rest| find2([b'"', b'\\'], rest)) {
        at += length;
        match bytes[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}

/// Whether a [`Value`] holds this number, whole or not as it is written. `serde_json` refuses a
/// text that is no number.
fn fits(text: &str) -> bool {
    if text.len() <= SHORT && !text.contains(['e', 'E']) || !is_number(text) {
        return true;
    }
    let held = serde_json::from_str::<Number>(text);
    held.is_ok_and(|held| {
        held.is_f64() != is_whole(text) && Decimal::of(&held.to_string()) == Decimal::of(text)
    })
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether the number is written without a point and an exponent.
pub fn is_whole(text: &str) -> bool {
    !text.contains(['.', 'e', 'E'])
}

/// The text of a number; `None` for other values.
pub fn of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Number(number) => Some(number.to_string().into()),
        other => Some(long(other)?.into()),
    }
}

/// Whether the value is a number.
pub fn is(value: &Value) -> bool {
    value.is_number() || long(value).is_some()
}

/// A number as a float, rounded; `None` for other values, and for a number that is too large.
pub fn float(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| long(value)?.parse().ok())
        .filter(|number: &f64| number.is_finite())
}

/// A number, exactly; `None` for other values.
pub fn decimal(value: &Value) -> Option<Decimal> {
    Some(Decimal::of(&of(value)?))
}

/// The text of a number that an object replaces.
pub fn long(value: &Value) -> Option<&str> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(NAME)?.as_str().filter(|text| is_number(text))
}

/// A value as JSON text, with its numbers as they were read.
pub fn write(value: &Value) -> String {
    let text = value.to_string();
    let mut parts = text.split(OPEN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    // Inside of a text, a backslash would be before the quotes.
    for part in parts {
        match part
            .split_once(CLOSE)
            .filter(|(number, _)| is_number(number))
        {
            Some((number, rest)) => out.extend([number, rest]),
            None => out.extend([OPEN, part]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_as_they_are_written() {
        for number in [
            "12345678901234567890123",
            "-170141183460469231731687303715884105728",
            "1e400",
            "-1E+400",
            "1e-400",
            "0.10000000000000000001",
            "972783798187987123879878123.18878137",
            "1e9223372036854775808",
        ] {
            let text = format!("{{\"a\":[{number},\"{number} \\\"[1e400\\\\\"],\"b\":{number}}}");
            let value: Value = read(&text).unwrap();
            assert_eq!(of(&value["a"][0]).unwrap(), number);
            assert_eq!(of(&value["b"]).unwrap(), number);
            assert_eq!(write(&value), text);
            assert_eq!(write(&read(number).unwrap()), number);
        }
    }

    #[test]
    fn floats_are_those_nearest_to_their_texts() {
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits(seed);
            if number.is_finite() {
                let text = format!("{number:?}");
                let read: Value = read(&text).unwrap();
                assert_eq!(of(&read).unwrap().parse(), Ok(number), "{text}");
            }
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "[1, -1.5, 1.10, 1e5, 18446744073709551615, -9223372036854775808, 0.1, 1e22]",
            "\"12345678901234567890123\"",
            "\"\\",
            "",
        ] {
            assert!(matches!(marked(text), Cow::Borrowed(_)), "{text}");
        }
        for wrong in [
            "01234567890123456789",
            "[1e400, 1.]",
            "1e4001e5",
            "{1e400: 1}",
            "-",
            "[1e400",
            "1e400 x",
        ] {
            let plain = serde_json::from_str::<IgnoredAny>(wrong)
                .unwrap_err()
                .to_string();
            assert_eq!(
                read::<Value>(wrong).unwrap_err().to_string(),
                plain,
                "{wrong}"
            );
        }
        assert_eq!(write(&read("[-0, -0.0]").unwrap()), "[0,-0.0]");
        let object = serde_json::json!({"$chatparse.number": "no"});
        assert_eq!((of(&object), write(&object)), (None, object.to_string()));
    }
}
