//! Format specifications for one value: sign, digits, width. Used by `%` and by `str.format`.

use minijinja::value::Value;
use minijinja::{Error, ErrorKind};

use crate::budget::check_text;
use crate::python::numbers::{integer, real};
use crate::python::pyrepr::float_text;

/// The maximum precision: more than any number has.
const PRECISION: usize = 2_000;

/// The text between `{:` and `}`, or between `%` and its letter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) fill: char,
    /// `<`, `>`, `^`, or `=` (padding between sign and digits).
    pub(crate) align: Option<char>,
    /// `+` or a blank, written before numbers that are not negative.
    pub(crate) sign: Option<char>,
    /// `#`: writes the base before the digits, and keeps the point.
    pub(crate) alternate: bool,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
    /// The separator of digit groups.
    pub(crate) grouping: Option<char>,
    /// The type letter.
    pub(crate) kind: Option<char>,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            fill: ' ',
            align: None,
            sign: None,
            alternate: false,
            width: 0,
            precision: None,
            grouping: None,
            kind: None,
        }
    }
}

/// An error in a format text.
pub(crate) fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("format: {}", what.into()))
}

/// The number at the start of `text`, and the text after it. Its size is bounded, because no text is that wide.
pub(crate) fn leading_number(text: &str) -> (Option<usize>, &str) {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(len);
    ((len > 0).then(|| digits.parse().unwrap_or(usize::MAX)), rest)
}

impl Spec {
    /// Reads the specification after the colon.
    pub(crate) fn parse(text: &str) -> Result<Spec, Error> {
        let mut spec = Spec::default();
        let mut chars = text.chars();
        let (first, second) = (chars.next(), chars.next());
        let is_align = |c: Option<char>| c.filter(|c| "<>^=".contains(*c));
        let mut rest = text;
        if let (Some(fill), Some(align)) = (first, is_align(second)) {
            (spec.fill, spec.align) = (fill, Some(align));
            rest = &text[fill.len_utf8() + 1..];
        } else if let Some(align) = is_align(first) {
            spec.align = Some(align);
            rest = &text[1..];
        }
        let flag = |rest: &mut &str, flags: &str| {
            let found = rest.chars().next().filter(|c| flags.contains(*c))?;
            *rest = &rest[1..];
            Some(found)
        };
        spec.sign = flag(&mut rest, "+- ").filter(|sign| *sign != '-');
        spec.alternate = flag(&mut rest, "#").is_some();
        if flag(&mut rest, "0").is_some() && spec.align.is_none() {
            (spec.fill, spec.align) = ('0', Some('='));
        }
        let width;
        (width, rest) = leading_number(rest);
        spec.width = width.unwrap_or(0);
        spec.grouping = flag(&mut rest, ",_");
        if flag(&mut rest, ".").is_some() {
            (spec.precision, rest) = leading_number(rest);
            spec.precision.ok_or_else(|| wrong("a precision is missing"))?;
        }
        let mut chars = rest.chars();
        spec.kind = chars.next();
        if chars.next().is_some() { Err(wrong(format!("cannot read {text:?}"))) } else { Ok(spec) }
    }

    /// Formats a text: cuts it to the precision and pads it to the width.
    pub(crate) fn text(&self, text: &str) -> Result<String, Error> {
        let text = match self.precision.and_then(|count| text.char_indices().nth(count)) {
            Some((end, _)) => &text[..end],
            None => text,
        };
        self.fill("", text, '<')
    }

    /// Formats a number by the type letter.
    pub(crate) fn number(&self, value: &Value) -> Result<String, Error> {
        let not_a_number = || wrong(format!("{:?} needs a number", self.kind));
        match self.kind {
            Some('b' | 'o' | 'x' | 'X' | 'd' | 'i' | 'u' | 'n') | None if integer(value).is_some() => {
                self.integer(integer(value).ok_or_else(not_a_number)?)
            }
            Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%') | None => {
                self.real(real(value).ok_or_else(not_a_number)?)
            }
            _ => Err(not_a_number()),
        }
    }

    fn integer(&self, number: i128) -> Result<String, Error> {
        let size = number.unsigned_abs();
        let (digits, prefix) = match self.kind {
            Some('b') => (format!("{size:b}"), "0b"),
            Some('o') => (format!("{size:o}"), "0o"),
            Some('x') => (format!("{size:x}"), "0x"),
            Some('X') => (format!("{size:X}"), "0X"),
            _ => (size.to_string(), ""),
        };
        let zeros = self.digits_behind(0)?.saturating_sub(digits.len());
        let digits = "0".repeat(zeros) + &digits;
        let sign = format!("{}{}", self.sign_of(number < 0), if self.alternate { prefix } else { "" });
        self.fill(&sign, &self.grouped(&digits, if prefix.is_empty() { 3 } else { 4 }), '>')
    }

    fn real(&self, number: f64) -> Result<String, Error> {
        let size = number.abs();
        let precision = self.digits_behind(6)?;
        let mut digits = match self.kind {
            _ if !size.is_finite() => float_text(size),
            Some('e' | 'E') => scientific(size, precision),
            Some('f' | 'F') => fixed(size, precision),
            Some('%') => fixed(size * 100.0, precision),
            None if self.precision.is_none() => float_text(size),
            kind => shortest(size, precision.max(1), kind.is_none(), self.alternate),
        };
        if self.alternate && precision == 0 && size.is_finite() && !digits.contains('.') {
            digits.insert(digits.find('e').unwrap_or(digits.len()), '.');
        }
        if self.kind.is_some_and(|kind| kind.is_ascii_uppercase()) {
            digits.make_ascii_uppercase();
        }
        let end = if self.kind == Some('%') { "%" } else { "" };
        let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let digits = format!("{}{}{end}", self.grouped(&digits[..whole], 3), &digits[whole..]);
        self.fill(self.sign_of(number.is_sign_negative() && !number.is_nan()), &digits, '>')
    }

    /// The precision, or the default.
    fn digits_behind(&self, usual: usize) -> Result<usize, Error> {
        let precision = self.precision.unwrap_or(usual);
        if precision > PRECISION { Err(wrong("a precision is too large")) } else { Ok(precision) }
    }

    fn sign_of(&self, negative: bool) -> &'static str {
        match self.sign {
            _ if negative => "-",
            Some('+') => "+",
            Some(_) => " ",
            None => "",
        }
    }

    fn grouped(&self, digits: &str, size: usize) -> String {
        let Some(separator) = self.grouping else { return digits.to_owned() };
        let mut out = String::with_capacity(digits.len() * 2);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(size) {
                out.push(separator);
            }
            out.push(digit);
        }
        out
    }

    /// Pads to the width; `align` is the default alignment.
    fn fill(&self, sign: &str, text: &str, align: char) -> Result<String, Error> {
        let missing = self.width.saturating_sub(sign.len() + text.chars().count());
        check_text(missing.saturating_mul(self.fill.len_utf8()))?;
        let run = |count: usize| String::from(self.fill).repeat(count);
        Ok(match self.align.unwrap_or(align) {
            '<' => format!("{sign}{text}{}", run(missing)),
            '^' => format!("{}{sign}{text}{}", run(missing / 2), run(missing - missing / 2)),
            '=' => format!("{sign}{}{text}", run(missing)),
            _ => format!("{}{sign}{text}", run(missing)),
        })
    }
}

fn fixed(number: f64, precision: usize) -> String {
    format!("{number:.precision$}")
}

fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// A number with this many significant digits, without an exponent if that is short. `with_point`: keeps the point.
fn shortest(number: f64, digits: usize, with_point: bool, keep_zeros: bool) -> String {
    let text = format!("{number:.*e}", digits - 1);
    let exponent: i64 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let limit = digits as i64 - i64::from(with_point);
    let (mut text, tail) = if (-4..limit).contains(&exponent) || number == 0.0 {
        (fixed(number, usize::try_from(digits as i64 - 1 - exponent).unwrap_or(0)), String::new())
    } else {
        let text = scientific(number, digits - 1);
        let at = text.find('e').unwrap_or(text.len());
        (text[..at].to_owned(), text[at..].to_owned())
    };
    if text.contains('.') && !keep_zeros {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if with_point && tail.is_empty() && !text.contains('.') {
        text.push_str(".0");
    }
    text + &tail
}
