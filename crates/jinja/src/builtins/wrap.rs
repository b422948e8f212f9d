//! Filters that fit text to a width, and `pprint`.

use std::ops::Range;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use crate::budget::{charge, charge_items, check_text};
use crate::builtins::args::Args;
use crate::python::numbers::{plain, real};
use crate::python::pyobject::{Dict, List, as_text};
use crate::python::pyrepr;
use crate::python::pystr::{self, parse_float};
use crate::reading;

fn wrong(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

/// A width, which must not be negative.
fn width(args: &Args, index: usize, name: &str, usual: usize) -> Result<usize, Error> {
    match args.integer(index, name)? {
        None => Ok(usual),
        Some(number) => usize::try_from(number).map_err(|_| wrong("a width is negative")),
    }
}

/// `center(width)`.
pub(crate) fn center(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let width = args.integer(1, "width")?.map_or(80, |width| usize::try_from(width).unwrap_or(0));
    Ok(Value::from(pystr::center(&pyrepr::text(&args.get(0, "value")), width, ' ')?))
}

/// `truncate(length, killwords, end, leeway)`.
pub(crate) fn truncate(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "s");
    let length = width(&args, 1, "length", 255)?;
    let end = args.text(3, "end")?.unwrap_or("...".into());
    let leeway = width(&args, 4, "leeway", 5)?;
    let end_length = end.chars().count();
    let Some(kept) = length.checked_sub(end_length) else {
        return Err(wrong("the end is longer than the text may be"));
    };
    let text = match as_text(&value) {
        Some(text) => text,
        None if value.is_undefined() => "",
        None if value.len().is_some_and(|len| len <= length.saturating_add(leeway)) => return Ok(value),
        None => return Err(wrong("only a text can be truncated")),
    };
    if text.chars().nth(length.saturating_add(leeway)).is_none() {
        return Ok(Value::from(text));
    }
    let cut = text.char_indices().nth(kept).map_or(text, |(at, _)| &text[..at]);
    let cut = if args.flag(2, "killwords") { cut } else { cut.rsplit_once(' ').map_or(cut, |(before, _)| before) };
    Ok(Value::from(format!("{cut}{end}")))
}

/// `wordwrap(width, break_long_words, wrapstring, break_on_hyphens)`.
pub(crate) fn word_wrap(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let value = args.get(0, "s");
    let text = as_text(&value).ok_or_else(|| wrong("only a text can be wrapped"))?;
    let is_set =
        |index, name| Some(args.get(index, name)).filter(|value| !value.is_undefined()).is_none_or(|v| v.is_true());
    let rule = Wrap {
        width: width(&args, 1, "width", 79)?,
        long: is_set(2, "break_long_words"),
        hyphens: is_set(4, "break_on_hyphens"),
    };
    let end = args.text(3, "wrapstring")?.unwrap_or("\n".into());
    let mut out = String::with_capacity(text.len());
    for (index, line) in pystr::lines(text, false).enumerate() {
        if index > 0 {
            out.push_str(&end);
            check_text(out.len())?;
        }
        if rule.width == 0 && !line.is_empty() {
            return Err(wrong("a width must be positive"));
        }
        rule.line(line, &end, &mut out)?;
    }
    Ok(Value::from(out))
}

/// How to cut lines.
struct Wrap {
    width: usize,
    /// Words longer than a line are cut.
    long: bool,
    /// Words may be cut after hyphens.
    hyphens: bool,
}

impl Wrap {
    /// Writes `line` as one or more lines.
    fn line(&self, line: &str, end: &str, out: &mut String) -> Result<(), Error> {
        // The characters, and at most as many pieces.
        charge_items(line.chars().count())?;
        let chars: Vec<char> = line.chars().collect();
        let mut pieces = self.pieces(&chars).into_iter();
        let mut next = pieces.next();
        let mut first = true;
        while let Some(piece) = next.clone() {
            // White space at the start of a line is dropped, except at the start of the text.
            if !first && chars[piece.start].is_whitespace() {
                next = pieces.next();
                continue;
            }
            let start = piece.start;
            let mut stop = start;
            while let Some(piece) = next.take() {
                let fits = piece.end - start <= self.width;
                stop =
                    if fits { piece.end } else { piece.start + self.cut(&chars[piece.clone()], piece.start - start) };
                next = if stop < piece.end { Some(stop..piece.end) } else { pieces.next() };
                if !fits {
                    break;
                }
            }
            let Some(last) = chars[start..stop].iter().rposition(|c| !c.is_whitespace()) else { continue };
            if !first {
                out.push_str(end);
            }
            first = false;
            out.extend(&chars[start..=start + last]);
            check_text(out.len())?;
        }
        Ok(())
    }

    /// How much of a piece that does not fit stays in a line with `len` characters: nothing, unless the piece is longer than
    /// a line.
    fn cut(&self, piece: &[char], len: usize) -> usize {
        if piece.len() <= self.width {
            return 0;
        }
        if !self.long {
            return if len == 0 { piece.len() } else { 0 };
        }
        let room = self.width - len;
        let hyphen = piece[..room].iter().rposition(|c| *c == '-').filter(|at| self.hyphens && *at > 0);
        hyphen.filter(|at| piece[..*at].iter().any(|c| *c != '-')).map_or(room, |at| at + 1)
    }

    /// Splits a text into runs of white space, and words or parts of words.
    fn pieces(&self, chars: &[char]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for at in 1..=chars.len() {
            let edge = at == chars.len()
                || chars[at].is_whitespace() != chars[at - 1].is_whitespace()
                || self.hyphens && behind_hyphen(chars, at);
            if edge {
                pieces.push(start..at);
                start = at;
            }
        }
        pieces
    }
}

/// Whether a word can be cut at `at`: after a hyphen between letters.
fn behind_hyphen(chars: &[char], at: usize) -> bool {
    let letter = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphabetic());
    let hyphen = |at: Option<usize>| at.and_then(|at| chars.get(at)) == Some(&'-');
    let back = |by: usize| at.checked_sub(by);
    hyphen(back(1))
        && letter(back(2))
        && (letter(back(3)) || hyphen(back(3)) && letter(back(4)))
        && letter(Some(at))
        && (letter(Some(at + 1)) || hyphen(Some(at + 1)) && letter(Some(at + 2)))
}

/// `filesizeformat(binary)`.
pub(crate) fn file_size(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    const DECIMAL: [&str; 8] = ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
    const BINARY: [&str; 8] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];
    let args = Args::new(args)?;
    let value = args.get(0, "value");
    let bytes = real(&value).or_else(|| parse_float(as_text(&value)?)).ok_or_else(|| wrong("a size is a number"))?;
    let (base, names) = if args.flag(1, "binary") { (1024.0, BINARY) } else { (1000.0, DECIMAL) };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", bytes.trunc() + 0.0)));
    }
    let mut unit = base;
    let mut name = names[0];
    for next in names {
        name = next;
        unit *= base;
        if bytes < unit {
            break;
        }
    }
    Ok(Value::from(format!("{:.1} {name}", base * bytes / unit)))
}

/// The line width of `pprint`.
const LINE: usize = 80;

/// `pprint`: the `repr` of a value with sorted maps, broken into lines.
pub(crate) fn pretty(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let mut out = String::new();
    let value = sorted(args.first().unwrap_or(&Value::UNDEFINED))?;
    lay_out(&mut out, &value, 0, 0)?;
    Ok(Value::from(out))
}

fn sorted(value: &Value) -> Result<Value, Error> {
    if let Some(list) = value.downcast_object_ref::<List>() {
        let items = list.items()?.iter().map(sorted).collect::<Result<_, _>>()?;
        return if list.form.is_tuple() { List::tuple(items) } else { List::of(items) };
    }
    let Some(dict) = value.downcast_object_ref::<Dict>() else { return Ok(value.clone()) };
    let mut pairs = dict.pairs()?;
    reading::sort(pairs.iter().map(|(key, _)| key))?;
    chatparse_base::sort::by_key(&mut pairs, |(key, _)| plain(key));
    Dict::of(pairs.into_iter().map(|(key, item)| Ok((key, sorted(&item)?))).collect::<Result<_, Error>>()?)
}

/// Writes `value` from column `indent` on; `behind`: characters that follow it on its last line.
fn lay_out(out: &mut String, value: &Value, indent: usize, behind: usize) -> Result<(), Error> {
    let line = pyrepr::repr(value);
    charge(line.len())?;
    let short = line.chars().count() <= LINE.saturating_sub(indent + behind);
    if short || !matches!(value.kind(), ValueKind::Seq | ValueKind::Map) {
        out.push_str(&line);
        return Ok(());
    }
    let ends = (&line[..1], &line[line.len() - 1..]);
    let entries: Vec<(String, Value)> = match value.downcast_object_ref::<Dict>() {
        Some(dict) => dict.pairs()?.into_iter().map(|(key, item)| (pyrepr::repr(&key) + ": ", item)).collect(),
        None => crate::python::pyobject::items(value)?.into_iter().map(|item| (String::new(), item)).collect(),
    };
    out.push_str(ends.0);
    for (index, (name, item)) in entries.iter().enumerate() {
        if index > 0 {
            out.push_str(",\n");
            out.push_str(&" ".repeat(indent + 1));
        }
        out.push_str(name);
        let behind = if index + 1 == entries.len() { behind + 1 } else { 1 };
        lay_out(out, item, indent + 1 + name.chars().count(), behind)?;
        check_text(out.len())?;
    }
    out.push_str(ends.1);
    Ok(())
}
