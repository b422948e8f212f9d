//! Formats values into a text: Python's `%`, and `str.format`.

use std::borrow::Cow;

use minijinja::formatting::FormatStyle;
use minijinja::value::{Value, ValueKind};

use super::numbers::{self, integer};
use super::pyobject::{List, as_dict, as_list, as_text};
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
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = conversion(&rest[at + 1..], values, &mut next, &mut out)?;
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
        self.given
            .get(self.used - 1)
            .cloned()
            .ok_or_else(|| wrong("there are not enough values"))
    }

    /// A width or precision: a number, or `*` for the next value.
    fn size<'t>(&mut self, text: &'t str) -> Result<(Option<i64>, &'t str)> {
        match text.strip_prefix('*') {
            Some(rest) => {
                let size = integer(&self.next()?).and_then(|size| i64::try_from(size).ok());
                Ok((Some(size.ok_or_else(|| wrong("* needs an integer"))?), rest))
            }
            None => {
                let (size, rest) = leading_number(text);
                Ok((
                    size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)),
                    rest,
                ))
            }
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
        let (name, behind) = behind
            .split_once(')')
            .ok_or_else(|| wrong("a name has no end"))?;
        let dict = as_dict(all).ok_or_else(|| wrong("names need a map"))?;
        let name = Value::from(name);
        named = Some(
            dict.get(&name)
                .ok_or_else(|| wrong(format!("there is no value {name}")))?,
        );
        rest = behind;
    }
    let flags = &rest[..rest.bytes().take_while(|b| b"-+ #0".contains(b)).count()];
    rest = &rest[flags.len()..];
    let width;
    (width, rest) = next.size(rest)?;
    let minus = if flags.contains('-') || width.is_some_and(|width| width < 0) {
        "-"
    } else {
        ""
    };
    let width = width
        .map(|width| width.unsigned_abs().to_string())
        .unwrap_or_default();
    let mut precision = String::new();
    if let Some(behind) = rest.strip_prefix('.') {
        let size;
        (size, rest) = next.size(behind)?;
        precision = format!(".{}", size.unwrap_or(0).max(0));
    }
    rest = rest.trim_start_matches(['h', 'l', 'L']);
    let kind = rest
        .chars()
        .next()
        .ok_or_else(|| wrong("the text ends behind %"))?;
    if kind == '%' {
        out.push('%');
        return Ok(&rest[1..]);
    }
    let value = named.map_or_else(|| next.next(), Ok)?;
    if next.used == 0 {
        next.used = 1;
    }
    let value = if matches!(kind, 's' | 'r' | 'a') {
        value
    } else {
        without_labels(&[value])[0].clone()
    };
    let text = |text: &str, spec: &[&str]| spec::text(FormatStyle::Printf, &spec.concat(), text);
    let sized = [minus, flags, &width, &precision].concat();
    let number =
        |kind: char, value: &Value| spec::number(FormatStyle::Printf, &sized, Some(kind), value);
    out.push_str(&match kind {
        's' | 'r' | 'a' => text(
            &next.work.text(&value, &rest[..1])?,
            &[minus, &width, &precision],
        )?,
        'c' => text(&character(&value)?, &[minus, &width])?,
        'd' | 'i' | 'u' => number('d', &whole(&value)?)?,
        'o' | 'x' | 'X' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => number(kind, &value)?,
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
    let code = || char::from_u32(u32::try_from(integer(value)?).ok()?);
    let given = as_text(value)
        .filter(|text| text.chars().count() == 1)
        .map(str::to_owned);
    given
        .or_else(|| code().map(String::from))
        .ok_or_else(|| wrong("%c needs a character or its number"))
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
        let (name, conversion) = name
            .split_once('!')
            .map_or((name, None), |(name, letter)| (name, Some(letter)));
        let value = self.value(name)?;
        let spec = if spec.contains('{') {
            self.nested(spec)?
        } else {
            spec.to_owned()
        };
        let value = match conversion {
            None => value,
            Some(letter) => Value::from(self.work.text(&value, letter)?),
        };
        out.push_str(&laid_out(&value, &spec)?);
        Ok(())
    }

    /// A specification that contains fields.
    fn nested(&mut self, spec: &str) -> Result<String> {
        let mut out = String::new();
        let mut rest = spec;
        while let Some((before, behind)) = rest.split_once('{') {
            out.push_str(before);
            let (name, behind) = behind
                .split_once('}')
                .ok_or_else(|| wrong("a { has no }"))?;
            if name.contains(['{', ':', '!']) || name.len() > NESTED {
                return Err(wrong("fields are nested too deeply"));
            }
            let value = self.value(name)?;
            if as_text(&value).is_some_and(|text| text.len() > NESTED)
                || value.as_object().is_some()
            {
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
        let index = if first.is_empty() {
            Some(self.counted)
        } else {
            first.parse::<usize>().ok()
        };
        let mut value = match index {
            Some(index) => {
                self.counted += usize::from(first.is_empty());
                self.numbered |= !first.is_empty();
                if self.numbered && self.counted > 0 {
                    return Err(wrong("fields with and without numbers"));
                }
                self.args.positional().get(index).cloned()
            }
            None => Some(self.args.named(first)).filter(|value| !value.is_undefined()),
        }
        .ok_or_else(|| wrong(format!("there is no value {first:?}")))?;
        while !path.is_empty() {
            let (key, behind) = match path.strip_prefix('[') {
                Some(inside) => inside
                    .split_once(']')
                    .ok_or_else(|| wrong("a [ has no ]"))?,
                None => {
                    let path = path
                        .strip_prefix('.')
                        .ok_or_else(|| wrong("a ] needs a . or [ behind it"))?;
                    path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
                }
            };
            let key = key
                .parse::<usize>()
                .map_or_else(|_| Value::from(key), Value::from);
            value = value.get_item(&key).unwrap_or_default();
            path = behind;
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
    match (as_text(value), value.kind(), kind) {
        (Some(text), _, None | Some('s')) => {
            let align = sized
                .find(['<', '>', '^', '='])
                .filter(|at| sized[..*at].chars().count() < 2);
            if sized[align.map_or(0, |at| at + 1)..].contains(['+', ' ', '#', ',', '_']) {
                return Err(wrong("a text has neither sign nor digits"));
            }
            // Zeros follow a text.
            let zeros = sized.strip_prefix('0').map(|width| format!("0<{width}"));
            spec::text(
                FormatStyle::StrFormat,
                zeros.as_deref().unwrap_or(sized),
                text,
            )
        }
        (_, ValueKind::Number | ValueKind::Bool, Some('c')) => {
            spec::text(FormatStyle::StrFormat, sized, &character(value)?)
        }
        (_, ValueKind::Number | ValueKind::Bool, kind) => {
            let whole = matches!(kind, None | Some('b' | 'o' | 'x' | 'X' | 'd' | 'n'))
                && integer(value).is_some();
            if whole && sized.contains('.') {
                return Err(wrong("an integer has no digits behind the point"));
            }
            spec::number(FormatStyle::StrFormat, sized, kind, value)
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
