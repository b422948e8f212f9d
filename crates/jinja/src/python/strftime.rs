//! Formats dates. Templates have no clock other than the request's.

use std::fmt::Write;

use chrono::{DateTime, Utc};

use crate::fault::{Fault, Made, fail};

/// Maximum length of a date text in bytes.
const MAX_BYTES: usize = 99;

/// Formats `now` (Unix seconds, UTC) by `format` (C's `strftime`). Unknown letters are copied.
pub fn format(now: i64, format: &str) -> Made<String> {
    let out = text(now, format);
    if out.len() > MAX_BYTES {
        fail!("strftime_now: the result is too long");
    }
    Ok(out)
}

/// The error for `name` if there is no clock.
pub fn missing(name: &str) -> Fault {
    let why = "this system has no clock: set the time in the request's `now`, in Unix seconds";
    format!("{name}: {why}").into()
}

/// [`format()`] without a bound, for formats of our own.
pub fn text(now: i64, format: &str) -> String {
    let time = DateTime::<Utc>::from_timestamp(now, 0).unwrap_or_default();
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let spec = &rest[at..at + spec_len(&rest[at..])];
        let kept = out.len();
        match spec {
            // The time has neither a zone nor fractions of a second, as in Python.
            "%Z" | "%z" => {}
            "%f" => out.push_str("000000"),
            _ if write!(out, "{}", time.format(spec)).is_err() => {
                out.truncate(kept);
                out.push_str(spec);
            }
            _ => {}
        }
        rest = &rest[at + spec.len()..];
        // The text is too long already.
        if out.len() > MAX_BYTES {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// The length of the conversion at the start of `text`: `%`, flags, a letter.
fn spec_len(text: &str) -> usize {
    let flags = text[1..]
        .bytes()
        .take_while(|b| b"-_0^#EO".contains(b))
        .count();
    let letter = text[1 + flags..].chars().next().map_or(0, char::len_utf8);
    1 + flags + letter
}
