//! Python methods of strings.

use minijinja::value::Value;
use minijinja::{Error, ErrorKind};

use super::numbers::integer;
use super::pyobject::{List, as_dict, as_text, items};
use super::pystr::{self, Ends};
use super::{chars, printf, pyrepr};
use crate::budget::{self, check_text};
use crate::builtins::args::Args;
use crate::fault::{Result, invalid};
use crate::reading::Reads;

/// What a method of a text, or of another value, reads of texts.
pub fn reads(name: &str) -> Reads {
    match name {
        "append" | "copy" | "endswith" | "extend" | "get" | "insert" | "items" | "keys"
        | "lstrip" | "pop" | "remove" | "removeprefix" | "removesuffix" | "rstrip"
        | "setdefault" | "startswith" | "strip" | "update" => Reads::Bytes,
        "count" | "find" | "index" | "join" | "partition" | "replace" | "rfind" | "rindex"
        | "rpartition" | "rsplit" | "split" => Reads::Search,
        "capitalize" | "casefold" | "istitle" | "swapcase" | "title" => Reads::Letters,
        _ => Reads::Characters,
    }
}

/// Calls `this.name(args)`, whose texts were counted.
pub fn call(this: &str, name: &str, args: &Args) -> Result<Value> {
    let strip = |left: bool, right: bool| {
        let chars = args.text(0, "chars")?;
        Ok(Value::from(pystr::strip(
            this,
            Ends { left, right },
            chars.as_deref(),
        )?))
    };
    let list = |texts: Vec<&str>| List::of(texts.into_iter().map(Value::from).collect());
    Ok(match name {
        "upper" => Value::from(this.to_uppercase()),
        "lower" => Value::from(this.to_lowercase()),
        "casefold" => Value::from(pystr::casefold(this)),
        "swapcase" => Value::from(pystr::swapcase(this)),
        "capitalize" => Value::from(pystr::capitalize(this)),
        "title" => Value::from(pystr::title(this)),
        "strip" => return strip(true, true),
        "lstrip" => return strip(true, false),
        "rstrip" => return strip(false, true),
        "startswith" => Value::from(any_of(this, args, |text, part| text.starts_with(part))?),
        "endswith" => Value::from(any_of(this, args, |text, part| text.ends_with(part))?),
        "removeprefix" => Value::from(
            this.strip_prefix(&*args.required_text(0, "prefix")?)
                .unwrap_or(this),
        ),
        "removesuffix" => Value::from(
            this.strip_suffix(&*args.required_text(0, "suffix")?)
                .unwrap_or(this),
        ),
        "split" | "rsplit" => {
            let separator = args.text(0, "sep")?;
            let pieces = pystr::split(
                this,
                separator.as_deref(),
                args.integer(1, "maxsplit")?,
                name == "rsplit",
            )?;
            return list(pieces);
        }
        "splitlines" => {
            let lines = pystr::lines(this, args.flag(0, "keepends"));
            return list(lines.map(pystr::piece).collect::<Result<_, _>>()?);
        }
        "partition" | "rpartition" => {
            return partition(this, &args.required_text(0, "sep")?, name == "rpartition");
        }
        "replace" => {
            let (old, new) = (args.required_text(0, "old")?, args.required_text(1, "new")?);
            Value::from(pystr::replace(this, &old, &new, args.integer(2, "count")?)?)
        }
        "find" | "index" => {
            return position(
                find(this, args, |text, part| text.find(part))?,
                name == "index",
            );
        }
        "rfind" | "rindex" => {
            return position(
                find(this, args, |text, part| text.rfind(part))?,
                name == "rindex",
            );
        }
        "count" => {
            let part = args.required_text(0, "sub")?;
            Value::from(window(this, args)?.map_or(0, |(_, text)| text.matches(&*part).count()))
        }
        "join" => Value::from(joined(this, items(&args.get(0, "iterable"))?.iter())?),
        "format" => Value::from(printf::str_format(this, args)?),
        "format_map" => {
            let map = args.get(0, "mapping");
            let named = as_dict(&map)
                .ok_or_else(|| invalid("format_map needs a map"))?
                .pairs()?;
            let named = named
                .into_iter()
                .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
            let values = [Value::from(named.collect::<minijinja::value::Kwargs>())];
            Value::from(printf::str_format(this, &Args::new(&values)?)?)
        }
        "expandtabs" => {
            let width = args.integer(0, "tabsize")?.unwrap_or(8);
            Value::from(pystr::expand_tabs(
                this,
                usize::try_from(width).unwrap_or(0),
            )?)
        }
        "translate" => return translate(this, &args.get(0, "table")),
        "zfill" | "ljust" | "rjust" | "center" => return pad(this, name, args),
        _ => {
            // The category of a character that is not ASCII is searched for.
            budget::work(if this.is_ascii() {
                0
            } else {
                CHARACTER.saturating_mul(this.len()) / 2
            })?;
            return is(this, name)
                .map(Value::from)
                .ok_or_else(|| Error::from(ErrorKind::UnknownMethod));
        }
    })
}

/// The texts of `values` with `separator` between them.
pub fn joined<'v>(separator: &str, values: impl Iterator<Item = &'v Value>) -> Result<String> {
    let mut out = String::new();
    for (index, value) in values.enumerate() {
        let text = pyrepr::text(value);
        check_text(out.len() + separator.len() + text.len())?;
        budget::search(separator.len() + text.len())?;
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(&text);
    }
    Ok(out)
}

/// The predicates `isdigit` and so on.
fn is(this: &str, name: &str) -> Option<bool> {
    let all = |test: fn(char) -> bool| !this.is_empty() && this.chars().all(test);
    Some(match name {
        "isdecimal" => all(chars::decimal),
        "isdigit" => all(chars::digit),
        "isnumeric" => all(chars::numeric),
        "isalpha" => all(chars::alpha),
        "isalnum" => all(|c| chars::alpha(c) || chars::numeric(c)),
        "isspace" => all(chars::space),
        "isprintable" => this.chars().all(chars::printable),
        "isascii" => this.is_ascii(),
        "islower" => pystr::cased(this, char::is_lowercase, char::is_uppercase),
        "isupper" => pystr::cased(this, char::is_uppercase, char::is_lowercase),
        "istitle" => pystr::is_title(this),
        "isidentifier" => pystr::is_identifier(this),
        _ => return None,
    })
}

/// The part of a text between the second and the third argument, and the number of characters
/// before it; `None` if it would begin after the end.
fn window<'t>(this: &'t str, args: &Args) -> Result<Option<(usize, &'t str)>> {
    let (start, stop) = (args.integer(1, "start")?, args.integer(2, "end")?);
    if start.is_none() && stop.is_none() {
        return Ok(Some((0, this)));
    }
    budget::work(2 * this.len())?;
    let len = this.chars().count() as i64;
    let place = |at: i64| {
        if at < 0 {
            at.saturating_add(len).max(0)
        } else {
            at
        }
    };
    let (start, stop) = (
        place(start.unwrap_or(0)),
        place(stop.unwrap_or(len)).min(len),
    );
    if start > stop {
        return Ok(None);
    }
    let byte = |at: i64| {
        this.char_indices()
            .nth(at as usize)
            .map_or(this.len(), |(byte, _)| byte)
    };
    Ok(Some((start as usize, &this[byte(start)..byte(stop)])))
}

/// The position of the first argument, in characters.
fn find(
    this: &str,
    args: &Args,
    find: impl Fn(&str, &str) -> Option<usize>,
) -> Result<Option<usize>> {
    let part = args.required_text(0, "sub")?;
    let Some((before, text)) = window(this, args)? else {
        return Ok(None);
    };
    let Some(at) = find(text, &part) else {
        return Ok(None);
    };
    budget::work(at)?;
    Ok(Some(before + text[..at].chars().count()))
}

fn position(found: Option<usize>, must: bool) -> Result<Value> {
    match found {
        Some(at) => Ok(Value::from(at)),
        None if must => Err(invalid("substring not found")),
        None => Ok(Value::from(-1)),
    }
}

/// Whether the first argument, or one of its items if it is a tuple, passes the test.
fn any_of(this: &str, args: &Args, test: impl Fn(&str, &str) -> bool) -> Result<bool> {
    let parts = args.get(0, "prefix");
    let Some((_, text)) = window(this, args)? else {
        return Ok(false);
    };
    match as_text(&parts) {
        Some(part) => Ok(test(text, part)),
        None => {
            let parts = items(&parts)?;
            parts
                .iter()
                .filter_map(as_text)
                .try_for_each(|part| budget::scan(part.len().min(text.len())))?;
            Ok(parts
                .iter()
                .any(|part| as_text(part).is_some_and(|part| test(text, part))))
        }
    }
}

fn partition(this: &str, separator: &str, right: bool) -> Result<Value> {
    if separator.is_empty() {
        return Err(invalid("empty separator"));
    }
    let cut = if right {
        this.rsplit_once(separator)
    } else {
        this.split_once(separator)
    };
    let parts = match cut {
        Some((before, after)) => [before, separator, after],
        None if right => ["", "", this],
        None => [this, "", ""],
    };
    List::tuple(parts.into_iter().map(Value::from).collect())
}

fn pad(this: &str, name: &str, args: &Args) -> Result<Value> {
    let width = args
        .integer(0, "width")?
        .and_then(|width| usize::try_from(width).ok())
        .unwrap_or(0);
    let fill = args
        .text(1, "fillchar")?
        .and_then(|fill| fill.chars().next())
        .unwrap_or(' ');
    let missing = width.saturating_sub(this.chars().count());
    check_text(
        missing
            .saturating_mul(fill.len_utf8())
            .saturating_add(this.len()),
    )?;
    let (sign, text) = this.split_at(usize::from(name == "zfill" && this.starts_with(['+', '-'])));
    let fill = String::from(if name == "zfill" { '0' } else { fill });
    let left = match name {
        "ljust" => 0,
        // An odd character goes where Python puts it.
        "center" => missing / 2 + (missing & width & 1),
        _ => missing,
    };
    Ok(Value::from(format!(
        "{sign}{}{text}{}",
        fill.repeat(left),
        fill.repeat(missing - left)
    )))
}

/// The units of work for a character that is looked for in a map or a table.
const CHARACTER: usize = 16;

/// Replaces or removes the characters whose codes are keys of `table`.
fn translate(this: &str, table: &Value) -> Result<Value> {
    let table = as_dict(table).ok_or_else(|| invalid("translate needs a map"))?;
    let mut out = String::with_capacity(this.len());
    budget::work(CHARACTER.saturating_mul(this.len()))?;
    for c in this.chars() {
        match table.get(&Value::from(u32::from(c))) {
            None => out.push(c),
            Some(other) if other.is_none() => {}
            Some(other) => match (as_text(&other), integer(&other)) {
                (Some(text), _) => out.push_str(text),
                (None, Some(code)) => out.extend(u32::try_from(code).ok().and_then(char::from_u32)),
                (None, None) => {
                    return Err(invalid("a character becomes a text, a number or none"));
                }
            },
        }
        check_text(out.len())?;
    }
    Ok(Value::from(out))
}
