//! Global functions.

use super::args::Call;
use crate::budget;
use crate::fault::{Fault, Kind, Made, fail};
use crate::python::strftime;
use crate::text::TEMPLATE;
use crate::value::{Form, Value};

/// Calls a function; `now`: the render's clock.
pub fn function(now: Option<i64>, name: &str, call: Call) -> Made<Value> {
    Ok(match name {
        "raise_exception" => {
            let message = call.get(0, "message").text();
            return Err(Fault::new(Kind::Raised, &*message));
        }
        "strftime_now" => {
            let now = now.ok_or_else(|| strftime::missing("strftime_now"))?;
            let format = call.required(0, "format")?;
            strftime::format(now, &format)?.into()
        }
        "range" => {
            let first = call.int(0, "range")?.ok_or("range needs a bound")?;
            let (start, stop) = match call.int(1, "range")? {
                Some(stop) => (first, stop),
                None => (0, first),
            };
            let step = call.int(2, "range")?.unwrap_or(1);
            if step == 0 {
                fail!("range needs a step other than zero");
            }
            let [wide_start, wide_stop, wide_step] = [start, stop, step].map(i128::from);
            let len =
                ((wide_stop - wide_start + wide_step - wide_step.signum()) / wide_step).max(0);
            if len > 1_000_000 {
                fail!("a range of more than 1000000 numbers");
            }
            budget::container(len as usize);
            budget::check()?;
            let items = (0..len).map(|index| Value::Int(wide_start + index * wide_step, TEMPLATE));
            Value::form(items.collect(), Form::Range(start, stop, step))
        }
        _ => {
            let mut entries = Vec::new();
            for value in &call.given {
                if let Value::Dict(_) = value {
                    entries.extend(value.pairs()?);
                    continue;
                }
                for pair in value.items()? {
                    match pair.items()?.as_slice() {
                        [key, item] => entries.push((key.clone(), item.clone())),
                        _ => fail!("a map is made of pairs"),
                    }
                }
            }
            entries.extend(
                call.named
                    .into_iter()
                    .map(|(name, value)| ((&*name).into(), value)),
            );
            for (_, value) in &entries {
                value.clone().data()?;
            }
            Value::dict_of(entries, name == "namespace")
        }
    })
}
