//! Values formatted by specifications, as the engine does it, within bounds and with Python's kinds
//! of numbers. Used by `%` and by `str.format`.

use minijinja::formatting::{FormatStyle, format};

use crate::budget::check_text;
use crate::fault::{Fault, Made};
use crate::value::Value;

/// The maximum precision: more than any number has.
const PRECISION: usize = 2_000;

/// An error in a format text.
pub fn wrong(what: impl std::fmt::Display) -> Fault {
    format!("format: {what}").into()
}

/// The number at the start of `text`, and the text after it. Its size is bounded, because no text
/// is that wide.
pub fn leading_number(text: &str) -> (Option<usize>, &str) {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(len);
    (
        (len > 0).then(|| digits.parse().unwrap_or(usize::MAX)),
        rest,
    )
}

/// A text by the specification without its type letter: the part between `{:` and `}`, or after
/// `%`.
pub fn text(style: FormatStyle, spec: &str, text: &str) -> Made<String> {
    laid_out(style, spec, Some('s'), text.into())
}

/// A number by a specification and its type letter, if it has one.
pub fn number(style: FormatStyle, spec: &str, kind: Option<char>, value: &Value) -> Made<String> {
    let (Some(real), integer) = (value.real(), value.int()) else {
        return Err(wrong(format!("{kind:?} needs a number")));
    };
    if let (Some(number), None | Some('b' | 'o' | 'x' | 'X' | 'd' | 'n')) = (integer, kind)
        && !(kind.is_none() && spec.contains('.'))
    {
        return laid_out(style, spec, kind.filter(|kind| *kind != 'n'), number.into());
    }
    match kind {
        Some('%') => Ok(laid_out(style, spec, Some('f'), (real * 100.0).into())? + "%"),
        Some('n') => laid_out(style, spec, Some('g'), real.into()),
        None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G') => laid_out(style, spec, kind, real.into()),
        _ => Err(wrong(format!("{kind:?} needs a number"))),
    }
}

fn laid_out(
    style: FormatStyle,
    spec: &str,
    kind: Option<char>,
    value: minijinja::Value,
) -> Made<String> {
    let (width, precision) = spec.split_once('.').unwrap_or((spec, ""));
    let width = width
        .trim_end_matches([',', '_'])
        .rsplit(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    check_text(
        leading_number(width)
            .0
            .unwrap_or(0)
            .saturating_mul(char::MAX.len_utf8()),
    )?;
    if leading_number(precision)
        .0
        .is_some_and(|precision| precision > PRECISION)
    {
        return Err(wrong("a precision is too large"));
    }
    let kind = kind.map_or_else(String::new, String::from);
    let field = match style {
        FormatStyle::Printf => format!("%{spec}{kind}"),
        FormatStyle::StrFormat => format!("{{:{spec}{kind}}}"),
    };
    format(style, &field, &[value]).map_err(|error| wrong(error.detail().unwrap_or_default()))
}
