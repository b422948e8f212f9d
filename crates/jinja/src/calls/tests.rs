//! Tests (`is ...`).

use std::rc::Rc;

use crate::fault::{Made, fail};
use crate::ops::{compares, is_in, two};
use crate::probe::trace::{self, Use};
use crate::python::pystr;
use crate::text::Text;
use crate::value::Value;

const FILTERS: &str = "abs attr batch capitalize count d default dictsort e escape first float \
    format groupby indent int items join last length list lower map max min random reject \
    rejectattr replace reverse round safe select selectattr slice sort string sum title tojson \
    trim truncate unique upper wordcount";
const TESTS: &str = "boolean callable defined divisibleby eq equalto == escaped even false filter \
    float ge >= gt greaterthan > in integer iterable le <= lt lessthan < lower mapping ne != none \
    number odd sameas sequence string test true undefined upper";
pub fn test(name: &str, value: &Value, other: Option<&Value>) -> Made<bool> {
    let needed = || other.ok_or_else(|| "the test needs something to compare with".to_owned());
    let rest = |by: Value| match value {
        Value::Text(_) => Err("a text has no remainder".into()),
        value => two("%", value.clone(), by).map(|rest| rest.real()),
    };
    let half = || rest(2.into());
    Ok(match name {
        "boolean" => matches!(value, Value::Bool(..)),
        "callable" => !matches!(
            value,
            Value::None(_)
                | Value::Bool(..)
                | Value::Int(..)
                | Value::Float(..)
                | Value::Text(_)
                | Value::List(_)
                | Value::Dict(_)
        ),
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "divisibleby" => rest(needed()?.clone())? == Some(0.0),
        // Comparisons, whose names may be signs.
        "eq" | "equalto" | "==" => *value == *needed()?,
        "ne" | "!=" => *value != *needed()?,
        "lt" | "lessthan" | "<" => compares("<", value, needed()?)?,
        "le" | "<=" => compares("<=", value, needed()?)?,
        "gt" | "greaterthan" | ">" => compares(">", value, needed()?)?,
        "ge" | ">=" => compares(">=", value, needed()?)?,
        "in" => is_in(needed()?, value)?,
        "escaped" => value.as_text().is_some_and(Text::is_safe),
        "even" => half()? == Some(0.0),
        "odd" => half()? == Some(1.0),
        "false" => matches!(value, Value::Bool(false, _)),
        "true" => matches!(value, Value::Bool(true, _)),
        "float" => matches!(value, Value::Float(..)),
        "integer" => matches!(value, Value::Int(..)),
        "number" => matches!(value, Value::Bool(..) | Value::Int(..) | Value::Float(..)),
        "iterable" | "sequence" => matches!(
            value,
            Value::Text(_) | Value::List(_) | Value::Dict(_) | Value::Undefined
        ),
        "lower" => pystr::cased(&value.text(), char::is_lowercase, char::is_uppercase),
        "upper" => pystr::cased(&value.text(), char::is_uppercase, char::is_lowercase),
        "mapping" => matches!(value, Value::Dict(_)),
        "none" => value.is_none(),
        "string" => {
            if let Value::Text(text) = value {
                trace::text(text, Use::IsString);
            }
            value.as_str().is_some()
        }
        "sameas" => match (value, needed()?) {
            (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
            (a, b) => a.kind() == b.kind() && a == b,
        },
        "filter" => value
            .as_str()
            .is_some_and(|name| FILTERS.split(' ').any(|known| known == name)),
        "test" => value
            .as_str()
            .is_some_and(|name| TESTS.split(' ').any(|known| known == name)),
        _ => fail!("test {name} is unknown"),
    })
}
