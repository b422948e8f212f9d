//! Python methods of strings.

use minijinja::ErrorKind;
use minijinja::value::{Kwargs, Value};

use super::numbers::{self, integer};
use super::pyobject::{List, as_dict, as_text, items};
use super::pystr::{self, Ends};
use super::{chars, printf, pyrepr};
use crate::budget::{self, check_text};
use crate::builtins::args::Args;
use crate::fault::{Result, invalid};
use crate::reading::Reads;

/// How a method of a text, or of another value, reads texts.
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
    Ok(match name {
        "upper" => this.to_uppercase().into(),
        "lower" => this.to_lowercase().into(),
        "casefold" => pystr::casefold(this).into(),
        "swapcase" => pystr::swapcase(this).into(),
        "capitalize" => pystr::capitalize(this).into(),
        "title" => pystr::title(this).into(),
        "strip" | "lstrip" | "rstrip" => {
            let ends = Ends {
                left: name != "rstrip",
                right: name != "lstrip",
            };
            pystr::strip(this, ends, args.text(0, "chars")?.as_deref())?.into()
        }
        "startswith" => any_of(this, args, |text, part| text.starts_with(part))?.into(),
        "endswith" => any_of(this, args, |text, part| text.ends_with(part))?.into(),
        "removeprefix" => {
            let rest = this.strip_prefix(&*args.required_text(0, "prefix")?);
            rest.unwrap_or(this).into()
        }
        "removesuffix" => {
            let rest = this.strip_suffix(&*args.required_text(0, "suffix")?);
            rest.unwrap_or(this).into()
        }
        "split" | "rsplit" => {
            let (separator, limit) = (args.text(0, "sep")?, args.integer(1, "maxsplit")?);
            list(pystr::split(
                this,
                separator.as_deref(),
                limit,
                name == "rsplit",
            )?)?
        }
        "splitlines" => {
            let lines = pystr::lines(this, args.flag(0, "keepends"));
            list(lines.map(pystr::piece).collect::<Result<_>>()?)?
        }
        "partition" | "rpartition" => {
            partition(this, &args.required_text(0, "sep")?, name == "rpartition")?
        }
        "replace" => {
            let (old, new) = (args.required_text(0, "old")?, args.required_text(1, "new")?);
            pystr::replace(this, &old, &new, args.integer(2, "count")?)?.into()
        }
        "find" | "index" | "rfind" | "rindex" => match find(this, args, name.starts_with('r'))? {
            Some(at) => at.into(),
            None if name.ends_with("index") => return Err(invalid("substring not found")),
            None => (-1).into(),
        },
        "count" => {
            let part = args.required_text(0, "sub")?;
            let text = window(this, args)?.map(|(_, text)| text);
            text.map_or(0, |text| text.matches(&*part).count()).into()
        }
        "join" => joined(this, &items(&args.get(0, "iterable"))?)?.into(),
        "format" => printf::str_format(this, args)?.into(),
        "format_map" => {
            let map = args.get(0, "mapping");
            let map = as_dict(&map).ok_or_else(|| invalid("format_map needs a map"))?;
            let named = map.pairs()?.into_iter();
            let named: Kwargs = named
                .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)))
                .collect();
            printf::str_format(this, &Args::new(&[named.into()])?)?.into()
        }
        "expandtabs" => {
            let width = args.integer(0, "tabsize")?.unwrap_or(8);
            pystr::expand_tabs(this, width.try_into().unwrap_or(0))?.into()
        }
        "translate" => translate(this, &args.get(0, "table"))?,
        "zfill" | "ljust" | "rjust" | "center" => pad(this, name, args)?,
        _ => {
            // The category of a character that is not ASCII is searched for.
            if !this.is_ascii() {
                budget::work(CHARACTER.saturating_mul(this.len()) / 2)?;
            }
            is(this, name).ok_or(ErrorKind::UnknownMethod)?.into()
        }
    })
}

fn list(texts: Vec<&str>) -> Result<Value> {
    List::of(texts.into_iter().map(Value::from).collect())
}

/// The texts of `values` with `separator` between them.
pub fn joined(separator: &str, values: &[Value]) -> Result<String> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
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
    let test: fn(char) -> bool = match name {
        "isdecimal" => chars::decimal,
        "isdigit" => chars::digit,
        "isnumeric" => chars::numeric,
        "isalpha" => chars::alpha,
        "isalnum" => |c| chars::alpha(c) || chars::numeric(c),
        "isspace" => chars::space,
        "isprintable" => return Some(this.chars().all(chars::printable)),
        "isascii" => return Some(this.is_ascii()),
        "islower" => return Some(pystr::cased(this, char::is_lowercase, char::is_uppercase)),
        "isupper" => return Some(pystr::cased(this, char::is_uppercase, char::is_lowercase)),
        "istitle" => return Some(pystr::is_title(this)),
        "isidentifier" => return Some(pystr::is_identifier(this)),
        _ => return None,
    };
    Some(!this.is_empty() && this.chars().all(test))
}

/// The part of a text between the second and the third argument, and the number of characters
/// before it; `None` if it would begin after the end.
fn window<'t>(this: &'t str, args: &Args) -> Result<Option<(usize, &'t str)>> {
    let (start, stop) = (args.integer(1, "start")?, args.integer(2, "end")?);
    if start.is_none() && stop.is_none() {
        return Ok(Some((0, this)));
    }
    budget::work(2 * this.len())?;
    let len = this.chars().count();
    let [start, stop] = [start.unwrap_or(0), stop.unwrap_or(len as i64)]
        .map(|at| numbers::from_end(at, len).max(0) as usize);
    let stop = stop.min(len);
    if start > stop {
        return Ok(None);
    }
    let bytes = pystr::byte_of(this, start)..pystr::byte_of(this, stop);
    Ok(Some((start, &this[bytes])))
}

/// The position of the first argument, or the last one from the right, in characters.
fn find(this: &str, args: &Args, from_right: bool) -> Result<Option<usize>> {
    let part = &*args.required_text(0, "sub")?;
    let Some((before, text)) = window(this, args)? else {
        return Ok(None);
    };
    let place = match from_right {
        true => text.rfind(part),
        false => text.find(part),
    };
    let Some(at) = place else {
        return Ok(None);
    };
    budget::work(at)?;
    Ok(Some(before + text[..at].chars().count()))
}

/// Whether the first argument, or one of its items if it is a tuple, passes the test.
fn any_of(this: &str, args: &Args, test: impl Fn(&str, &str) -> bool) -> Result<bool> {
    let parts = args.get(0, "prefix");
    let Some((_, text)) = window(this, args)? else {
        return Ok(false);
    };
    if let Some(part) = as_text(&parts) {
        return Ok(test(text, part));
    }
    let parts = items(&parts)?;
    let parts = || parts.iter().filter_map(as_text);
    parts().try_for_each(|part| budget::scan(part.len().min(text.len())))?;
    Ok(parts().any(|part| test(text, part)))
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
    List::tuple(parts.map(Value::from).to_vec())
}

fn pad(this: &str, name: &str, args: &Args) -> Result<Value> {
    let width = args.integer(0, "width")?.unwrap_or(0);
    let width = usize::try_from(width).unwrap_or(0);
    let fill = args.text(1, "fillchar")?;
    let fill = fill.and_then(|fill| fill.chars().next()).unwrap_or(' ');
    let missing = width.saturating_sub(this.chars().count());
    check_text(
        missing
            .saturating_mul(fill.len_utf8())
            .saturating_add(this.len()),
    )?;
    let is_number = name == "zfill";
    let (sign, text) = this.split_at(usize::from(is_number && this.starts_with(['+', '-'])));
    let fill = String::from(if is_number { '0' } else { fill });
    let left = match name {
        "ljust" => 0,
        // An odd character goes where Python puts it.
        "center" => missing / 2 + (missing & width & 1),
        _ => missing,
    };
    Ok(
        [sign, &fill.repeat(left), text, &fill.repeat(missing - left)]
            .concat()
            .into(),
    )
}

/// The units of work for a character that is looked for in a map or a table.
const CHARACTER: usize = 16;

/// Replaces or removes the characters whose codes are keys of `table`.
fn translate(this: &str, table: &Value) -> Result<Value> {
    let table = as_dict(table).ok_or_else(|| invalid("translate needs a map"))?;
    let mut out = String::with_capacity(this.len());
    budget::work(CHARACTER.saturating_mul(this.len()))?;
    for c in this.chars() {
        match table.get(&u32::from(c).into()) {
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
    Ok(out.into())
}
