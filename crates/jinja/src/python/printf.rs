//! Formats values into a text: Python's `%`, and `str.format`.

use std::borrow::Cow;

use minijinja::formatting::FormatStyle;
use minijinja::value::{Value, ValueKind};

use super::numbers::{self, integer};
use super::pyobject::{List, as_dict, as_list, as_text, item_at};
use super::pyrepr::{self, repr, text};
use super::scalar::without_labels;
use super::spec::{self, leading_number, wrong};
use crate::budget::{self, check_text};
use crate::builtins::args::Args;
use crate::fault::Result;

/// The maximum length of nested braces, and of the text that replaces them.
const NESTED: usize = 100;

/// `text % values`: the items of a tuple in order, the values of a map by name, or a single value.
pub fn format(text: &str, values: &Value) -> Result<String> {
    let tuple = as_list(values)
        .filter(|list| list.form.is_tuple())
        .map(List::items)
        .transpose()?;
    // Not all of a list or a map need be used.
    let needs_all = tuple.is_some() || as_list(values).is_none() && as_dict(values).is_none();
    let mut next = Values {
        given: tuple.unwrap_or_else(|| vec![values.clone()]),
        used: 0,
        work: Work::default(),
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        rest = conversion(behind, values, &mut next, &mut out)?;
        check_text(out.len())?;
    }
    out.push_str(rest);
    if next.used < next.given.len() && needs_all {
        return Err(wrong("there are more values than places for them"));
    }
    Ok(out)
}

/// The values that are used in order.
struct Values {
    given: Vec<Value>,
    used: usize,
    work: Work,
}

/// Counts the bytes of converted values, even if they are truncated.
#[derive(Default)]
struct Work(usize);

impl Work {
    /// Converts a value as `s`, `r` or `a` requires.
    fn text<'v>(&mut self, value: &'v Value, conversion: &str) -> Result<Cow<'v, str>> {
        budget::work(as_text(value).map_or(0, str::len))?;
        let made = match (as_text(value), conversion) {
            (Some(text), "s") => return Ok(text.into()),
            (_, "s") => text(value).into_owned(),
            (_, "r") => repr(value),
            (_, "a") => ascii(value),
            _ => return Err(wrong(format!("!{conversion} is not known"))),
        };
        self.0 = self.0.saturating_add(made.len());
        check_text(self.0)?;
        Ok(made.into())
    }
}

impl Values {
    fn next(&mut self) -> Result<Value> {
        self.used += 1;
        let value = self.given.get(self.used - 1).cloned();
        value.ok_or_else(|| wrong("there are not enough values"))
    }

    /// A width or precision: a number, or `*` for the next value.
    fn size<'t>(&mut self, text: &'t str) -> Result<(Option<i64>, &'t str)> {
        let Some(rest) = text.strip_prefix('*') else {
            let (size, rest) = leading_number(text);
            return Ok((size.map(|size| size.try_into().unwrap_or(i64::MAX)), rest));
        };
        match integer(&self.next()?).map(i64::try_from) {
            Some(Ok(size)) => Ok((Some(size), rest)),
            _ => Err(wrong("* needs an integer")),
        }
    }
}

/// Writes the value of the conversion at the start of `rest`. Returns the text after it.
fn conversion<'t>(
    rest: &'t str,
    all: &Value,
    next: &mut Values,
    out: &mut String,
) -> Result<&'t str> {
    let mut named = None;
    let mut rest = rest;
    if let Some(behind) = rest.strip_prefix('(') {
        let Some((name, behind)) = behind.split_once(')') else {
            return Err(wrong("a name has no end"));
        };
        let dict = as_dict(all).ok_or_else(|| wrong("names need a map"))?;
        named = dict.get(&name.into());
        if named.is_none() {
            return Err(wrong(format!("there is no value {name}")));
        }
        rest = behind;
    }
    let flags = &rest[..rest.bytes().take_while(|b| b"-+ #0".contains(b)).count()];
    rest = &rest[flags.len()..];
    let width;
    (width, rest) = next.size(rest)?;
    let is_left = flags.contains('-') || width.is_some_and(|width| width < 0);
    let minus = if is_left { "-" } else { "" };
    let width = width.map_or_else(String::new, |width| width.unsigned_abs().to_string());
    let mut precision = String::new();
    if let Some(behind) = rest.strip_prefix('.') {
        let size;
        (size, rest) = next.size(behind)?;
        precision = format!(".{}", size.unwrap_or(0).max(0));
    }
    rest = rest.trim_start_matches(['h', 'l', 'L']);
    let Some(kind) = rest.chars().next() else {
        return Err(wrong("the text ends behind %"));
    };
    if kind == '%' {
        out.push('%');
        return Ok(&rest[1..]);
    }
    let mut value = named.map_or_else(|| next.next(), Ok)?;
    next.used = next.used.max(1);
    if !matches!(kind, 's' | 'r' | 'a') {
        value = without_labels(&[value])[0].clone();
    }
    let style = FormatStyle::Printf;
    let number_spec = [minus, flags, &width, &precision].concat();
    out.push_str(&match kind {
        's' | 'r' | 'a' => {
            let text = next.work.text(&value, &rest[..1])?;
            spec::text(style, &[minus, &width, &precision].concat(), &text)?
        }
        'c' => spec::text(style, &[minus, &width].concat(), &character(&value)?)?,
        'd' | 'i' | 'u' => spec::number(style, &number_spec, Some('d'), &whole(&value)?)?,
        'o' | 'x' | 'X' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            spec::number(style, &number_spec, Some(kind), &value)?
        }
        _ => return Err(wrong(format!("%{kind} is not known"))),
    });
    Ok(&rest[kind.len_utf8()..])
}

/// The integer part of a number.
fn whole(value: &Value) -> Result<Value> {
    let number = integer(value).or_else(|| numbers::float(value).and_then(numbers::truncate));
    number
        .map(numbers::whole)
        .ok_or_else(|| wrong("%d needs a number"))
}

fn character(value: &Value) -> Result<String> {
    if let Some(text) = as_text(value)
        && text.chars().count() == 1
    {
        return Ok(text.to_owned());
    }
    let code = integer(value).and_then(|code| u32::try_from(code).ok());
    match code.and_then(char::from_u32) {
        Some(c) => Ok(c.into()),
        None => Err(wrong("%c needs a character or its number")),
    }
}

/// `repr` with non-ASCII characters escaped.
fn ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in repr(value).chars() {
        if c.is_ascii() {
            out.push(c)
        } else {
            pyrepr::escape(&mut out, c)
        }
    }
    out
}

/// `text.format(...)`.
pub fn str_format(text: &str, args: &Args) -> Result<String> {
    let mut fields = Fields {
        args,
        counted: 0,
        numbered: false,
        work: Work::default(),
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = behind;
            continue;
        }
        if brace == "}" {
            return Err(wrong("a } has no {"));
        }
        let end = field_end(rest)?;
        fields.write(&rest[..end], &mut out)?;
        check_text(out.len())?;
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The end of the field whose inside is at the start of `text`.
fn field_end(text: &str) -> Result<usize> {
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Ok(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    Err(wrong("a { has no }"))
}

/// The values for the fields of a text.
struct Fields<'a> {
    args: &'a Args<'a>,
    /// The number of fields without an explicit index so far.
    counted: usize,
    /// Whether a field had an explicit index.
    numbered: bool,
    work: Work,
}

impl Fields<'_> {
    /// Writes the field with `inside` between its braces: `name!conversion:spec`.
    fn write(&mut self, inside: &str, out: &mut String) -> Result<()> {
        let (name, spec) = inside.split_once(':').unwrap_or((inside, ""));
        let (name, conversion) = match name.split_once('!') {
            Some((name, letter)) => (name, Some(letter)),
            None => (name, None),
        };
        let mut value = self.value(name)?;
        let spec = self.nested(spec)?;
        if let Some(letter) = conversion {
            value = self.work.text(&value, letter)?.into();
        }
        out.push_str(&laid_out(&value, &spec)?);
        Ok(())
    }

    /// A specification with the values of the fields in it.
    fn nested(&mut self, spec: &str) -> Result<String> {
        let mut out = String::new();
        let mut rest = spec;
        while let Some((before, behind)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, behind)) = behind.split_once('}') else {
                return Err(wrong("a { has no }"));
            };
            if name.contains(['{', ':', '!']) || name.len() > NESTED {
                return Err(wrong("fields are nested too deeply"));
            }
            let value = self.value(name)?;
            let is_long = as_text(&value).is_some_and(|text| text.len() > NESTED);
            if is_long || value.as_object().is_some() {
                return Err(wrong("a field within a field is a short text or a number"));
            }
            out.push_str(&text(&value));
            rest = behind;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The value of `first.attribute[key]`.
    fn value(&mut self, name: &str) -> Result<Value> {
        let len = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut path) = name.split_at(len);
        let is_counted = first.is_empty();
        let index = match is_counted {
            true => Some(self.counted),
            false => first.parse().ok(),
        };
        let given = match index {
            Some(index) => {
                self.counted += usize::from(is_counted);
                self.numbered |= !is_counted;
                if self.numbered && self.counted > 0 {
                    return Err(wrong("fields with and without numbers"));
                }
                self.args.positional().get(index).cloned()
            }
            None => Some(self.args.named(first)).filter(|value| !value.is_undefined()),
        };
        let mut value = given.ok_or_else(|| wrong(format!("there is no value {first:?}")))?;
        while !path.is_empty() {
            let key;
            (key, path) = if let Some(inside) = path.strip_prefix('[') {
                inside
                    .split_once(']')
                    .ok_or_else(|| wrong("a [ has no ]"))?
            } else if let Some(rest) = path.strip_prefix('.') {
                rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
            } else {
                return Err(wrong("a ] needs a . or [ behind it"));
            };
            value = item_at(&value, key);
        }
        Ok(value)
    }
}

/// Formats a value by the specification after the colon.
fn laid_out(value: &Value, spec: &str) -> Result<String> {
    budget::work(as_text(value).map_or(0, str::len))?;
    if spec.is_empty() {
        return Ok(text(value).into_owned());
    }
    let kind = spec
        .chars()
        .next_back()
        .filter(|c| c.is_ascii_alphabetic() || *c == '%');
    let sized = &spec[..spec.len() - kind.map_or(0, char::len_utf8)];
    let style = FormatStyle::StrFormat;
    match (as_text(value), value.kind(), kind) {
        (Some(text), _, None | Some('s')) => {
            let rest = match sized.split_once(['<', '>', '^', '=']) {
                Some((fill, rest)) if fill.chars().count() < 2 => rest,
                _ => sized,
            };
            if rest.contains(['+', ' ', '#', ',', '_']) {
                return Err(wrong("a text has neither sign nor digits"));
            }
            // Zeros follow a text.
            match sized.strip_prefix('0') {
                Some(width) => spec::text(style, &format!("0<{width}"), text),
                None => spec::text(style, sized, text),
            }
        }
        (_, ValueKind::Number | ValueKind::Bool, Some('c')) => {
            spec::text(style, sized, &character(value)?)
        }
        (_, ValueKind::Number | ValueKind::Bool, kind) => {
            let whole = matches!(kind, None | Some('b' | 'o' | 'x' | 'X' | 'd' | 'n'))
                && integer(value).is_some();
            if whole && sized.contains('.') {
                return Err(wrong("an integer has no digits behind the point"));
            }
            spec::number(style, sized, kind, value)
        }
        _ => Err(wrong(format!("{} cannot be formatted", value.kind()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_bounded() {
        for text in [
            "%99999999999d",
            "%999999999999999999999999s",
            "%.99999f",
            "%.99999999999d",
        ] {
            assert!(format(text, &Value::from(1)).is_err(), "{text}");
        }
        let args = [Value::from(1)];
        for text in ["{:99999999999}", "{:.99999f}", "{:{:{", "{:{{{{"] {
            assert!(
                str_format(text, &Args::new(&args).unwrap()).is_err(),
                "{text}"
            );
        }
    }
}
