//! Operators, as Python has them, with llama.cpp's leniency where templates rely on it.

use std::rc::Rc;

use crate::budget;
use crate::fault::{Fault, Made, fail};
use crate::probe::trace::{self, Use};
use crate::python::numbers::from_end;
use crate::python::pystr::byte_of;
use crate::text::{Buf, TEMPLATE};
use crate::value::{Form, Value, order};

/// Methods of texts that templates may access without calling them.
const OF_TEXTS: &[&str] = &[
    "endswith",
    "lower",
    "replace",
    "split",
    "startswith",
    "strip",
    "upper",
];
const OF_LISTS: &[&str] = &["append", "clear", "copy", "pop"];
const OF_MAPS: &[&str] = &[
    "clear",
    "copy",
    "get",
    "items",
    "keys",
    "pop",
    "setdefault",
    "update",
    "values",
];

/// `value.name`.
pub fn attribute(value: &Value, name: &str) -> Value {
    match value {
        Value::Dict(dict) if dict.is_namespace => dict.get(name).unwrap_or(Value::Undefined),
        Value::Dict(dict) => match OF_MAPS.contains(&name) {
            true => Value::Method(Rc::new((value.clone(), name.into()))),
            false => dict.get(name).unwrap_or(Value::Undefined),
        },
        Value::Text(_) if OF_TEXTS.contains(&name) => {
            Value::Method(Rc::new((value.clone(), name.into())))
        }
        Value::List(list) if list.form == Form::Group => match name {
            "grouper" => list.items()[0].clone(),
            "list" => list.items()[1].clone(),
            _ => Value::Undefined,
        },
        Value::List(_) if OF_LISTS.contains(&name) => {
            Value::Method(Rc::new((value.clone(), name.into())))
        }
        Value::Loop(state) => {
            let (index, len) = (state.index.get(), state.items.len());
            let neighbour = |at: Option<usize>| {
                at.and_then(|at| state.items.get(at).cloned())
                    .unwrap_or(Value::Undefined)
            };
            match name {
                "index" => (index + 1).into(),
                "index0" => index.into(),
                "revindex" => (len - index).into(),
                "revindex0" => (len - index - 1).into(),
                "first" => (index == 0).into(),
                "last" => (index + 1 == len).into(),
                "length" => len.into(),
                "depth" => (state.depth + 1).into(),
                "depth0" => state.depth.into(),
                "previtem" => neighbour(index.checked_sub(1)),
                "nextitem" => neighbour(Some(index + 1)),
                _ => Value::Undefined,
            }
        }
        _ => Value::Undefined,
    }
}

/// `value[index]`.
pub fn item(value: &Value, index: &Value) -> Value {
    let found = match (value, index) {
        (Value::Dict(dict), index) => dict.get_value(index),
        (Value::List(list), Value::Text(name)) if list.form == Form::Group => {
            Some(attribute(value, name))
        }
        (Value::List(list), index) => index.int().and_then(|at| {
            let items = list.items();
            let at = usize::try_from(from_end(at as i64, items.len())).ok()?;
            list.trace.index();
            list.trace.item(at).read();
            items.get(at).cloned()
        }),
        (Value::Text(text), index) => index.int().and_then(|at| {
            trace::text(text, Use::Index);
            budget::note(if at < 0 {
                text.len()
            } else {
                text.len().min(at as usize)
            });
            let at = if at < 0 {
                from_end(at as i64, text.chars().count())
            } else {
                at as i64
            };
            let (start, c) = text.char_indices().nth(usize::try_from(at).ok()?)?;
            Some(Value::Text(text.part(start..start + c.len_utf8())))
        }),
        (Value::Loop(_), index) => index.as_str().map(|name| attribute(value, name)),
        _ => None,
    };
    found.unwrap_or(Value::Undefined)
}

/// `value[start:stop:step]`.
pub fn slice(value: &Value, [start, stop, step]: [Option<i64>; 3]) -> Made<Value> {
    let step = step.unwrap_or(1);
    if step == 0 {
        fail!("slice step cannot be zero");
    }
    let places = |len: usize| {
        let end = len as i64;
        let (low, high) = if step > 0 { (0, end) } else { (-1, end - 1) };
        let [start, stop] =
            [start, stop].map(|bound| bound.map(|at| from_end(at, len).clamp(low, high)));
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let (mut next, stop) = (start.or(Some(first)), stop.unwrap_or(last));
        std::iter::from_fn(move || {
            let at = next.filter(|&at| if step > 0 { at < stop } else { at > stop })?;
            next = at.checked_add(step);
            usize::try_from(at).ok()
        })
    };
    Ok(match value {
        Value::Text(text) => {
            trace::text(text, Use::Index);
            budget::work(2 * text.len())?;
            let count = text.chars().count();
            let mut all = places(count);
            if step != 1 {
                let starts: Vec<(usize, char)> = text.char_indices().collect();
                let mut out = Buf::default();
                for index in all {
                    let (at, c) = starts[index];
                    out.push_part(text, at..at + c.len_utf8());
                }
                return Ok(Value::Text(out.text()));
            }
            let Some(first) = all.next() else {
                return Ok("".into());
            };
            let start = byte_of(text, first);
            let end = start + byte_of(&text[start..], 1 + all.count());
            Value::Text(text.part(start..end))
        }
        Value::List(list) => {
            let items = list.items();
            list.trace.read_items(items.len());
            budget::work(items.len())?;
            let part = places(items.len())
                .map(|index| items[index].clone())
                .collect();
            match list.form {
                Form::List | Form::Range(..) => Value::list(part),
                _ => Value::tuple(part),
            }
        }
        Value::Undefined => Value::list(Vec::new()),
        Value::None(_) | Value::Bool(..) | Value::Int(..) | Value::Float(..) => Value::Undefined,
        other => fail!("{} cannot be sliced", other.kind()),
    })
}

pub fn two(op: &str, left: Value, right: Value) -> Made<Value> {
    let impossible = || {
        Fault::from(format!(
            "{} {op} {} is not possible",
            left.kind(),
            right.kind()
        ))
    };
    match (op, &left, &right) {
        ("+", Value::Text(_), _) | ("+", _, Value::Text(_)) => {
            // A text that nothing else holds grows in place.
            let mut out = match left {
                Value::Text(text) => text.into_buf(),
                Value::None(_) => Buf::default(),
                other => other.text().into_buf(),
            };
            if !right.is_none() {
                right.print(&mut out);
            }
            return Ok(Value::Text(out.text()));
        }
        ("+", Value::List(a), Value::List(b)) => {
            let mut all = a.items().clone();
            all.extend(b.items().iter().cloned());
            return Ok(match (a.form, b.form) {
                (Form::Tuple, Form::Tuple) => Value::tuple(all),
                _ => Value::list(all),
            });
        }
        ("~", ..) => {
            let mut out = left.text().into_buf();
            right.print(&mut out);
            return Ok(Value::Text(out.text()));
        }
        ("*", Value::Text(_) | Value::List(_), _) | ("*", _, Value::Text(_) | Value::List(_)) => {
            let (thing, times) = match left.int() {
                Some(times) => (&right, Some(times)),
                None => (&left, right.int()),
            };
            let times = times.ok_or_else(impossible)?.max(0) as usize;
            return repeated(thing, times);
        }
        _ => {}
    }
    let is_whole = op != "/" && !(op == "**" && right.int().is_some_and(|right| right < 0));
    if let (true, Some(a), Some(b)) = (is_whole, left.int(), right.int()) {
        let number = match op {
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            _ if b == 0 && op != "**" => fail!("division by zero"),
            "//" => Some(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
            "%" => Some(((a % b) + b) % b),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        };
        return match number {
            Some(number) => Ok(Value::Int(number, TEMPLATE)),
            None => Err("a number of more than 128 bits".into()),
        };
    }
    let (Some(a), Some(b)) = (left.real(), right.real()) else {
        return Err(impossible());
    };
    Ok(Value::Float(
        match op {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "**" if a != 0.0 || b >= 0.0 => a.powf(b),
            _ if b == 0.0 || op == "**" => fail!("division by zero"),
            "/" => a / b,
            "//" => (a / b).floor(),
            _ => match a % b {
                0.0 => 0_f64.copysign(b),
                rest if (rest < 0.0) != (b < 0.0) => rest + b,
                rest => rest,
            },
        },
        TEMPLATE,
    ))
}

fn repeated(thing: &Value, times: usize) -> Made<Value> {
    if let Value::List(list) = thing {
        let once = list.items();
        let count = once.len().saturating_mul(times);
        budget::container(count);
        budget::check()?;
        let all = once.iter().cycle().take(count).cloned().collect();
        return Ok(match list.form {
            Form::Tuple | Form::Group => Value::tuple(all),
            _ => Value::list(all),
        });
    }
    let once = thing.text();
    budget::check_text(once.len().saturating_mul(times))?;
    let mut out = Buf::default();
    (0..times).for_each(|_| out.push_text(&once));
    Ok(Value::Text(out.text()))
}

/// Whether two values compare so.
pub fn compares(op: &str, left: &Value, right: &Value) -> Made<bool> {
    Ok(match op {
        "==" => left == right,
        "!=" => left != right,
        "in" => is_in(right, left)?,
        "not in" => !is_in(right, left)?,
        _ => {
            let order = order(left, right);
            match op {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }
        }
    })
}

pub fn is_in(whole: &Value, part: &Value) -> Made<bool> {
    Ok(match (whole, part) {
        (Value::Text(whole), Value::Text(part)) => {
            budget::work(whole.len() / budget::SEARCHED + part.len())?;
            whole.contains(&**part)
        }
        (Value::Text(_), part) if part.is_undefined() => false,
        (Value::Text(_), part) => {
            let kind = part.kind();
            fail!("'in' needs a string on the left of a string, not {kind}");
        }
        (Value::Dict(dict), part) => dict.get_value(part).is_some(),
        (Value::List(list), part) => {
            list.trace.read_items(list.items().len());
            list.items().iter().any(|item| item == part)
        }
        (Value::Undefined, _) => false,
        (whole, _) => fail!("nothing can be in {}", whole.kind()),
    })
}
