//! JSON values as llama.cpp writes them: on one line, without blanks, numbers as its JSON library
//! prints them.

use serde_json::Value;

use chatparse_base::json_string::push_json_string;
use chatparse_base::{limits, number};

/// `value` as text; `None` if it is nested too deeply.
pub fn print(value: &Value) -> Option<String> {
    let mut out = String::new();
    push(value, &mut out, 0)?;
    Some(out)
}

fn push(value: &Value, out: &mut String, depth: usize) -> Option<()> {
    if depth > limits::JSON_DEPTH {
        return None;
    }
    match value {
        number if number::is(number) => {
            let text = number::of(number).unwrap_or_default();
            match number::float(number) {
                Some(number) if !number::is_whole(&text) => out.push_str(&float(number)),
                _ => out.push_str(&text),
            }
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                push(item, out, depth + 1)?;
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                push_json_string(name, out, false);
                out.push(':');
                push(field, out, depth + 1)?;
            }
            out.push('}');
        }
        Value::String(text) => push_json_string(text, out, false),
        scalar => out.push_str(&scalar.to_string()),
    }
    Some(())
}

/// The shortest digits that round-trip, with an exponent of at least two digits outside of
/// 1e-4..1e15.
fn float(number: f64) -> String {
    let scientific = format!("{:e}", number.abs());
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // The position of the point, counted from the first digit.
    let point = exponent + 1;
    let count = digits.len() as i32;
    let text = if number == 0.0 {
        "0.0".to_owned()
    } else if count <= point && point <= 15 {
        format!("{digits}{}.0", "0".repeat((point - count) as usize))
    } else if 0 < point && point <= 15 {
        let (whole, part) = digits.split_at(point as usize);
        format!("{whole}.{part}")
    } else if -4 < point && point <= 0 {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!(
            "{first}{dot}{rest}e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        )
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (1e14, "100000000000000.0"),
            (1e15, "1e+15"),
            (0.001, "0.001"),
            (0.00012, "0.00012"),
            (0.00001, "1e-05"),
            (1.25e300, "1.25e+300"),
            (123456.789, "123456.789"),
        ] {
            assert_eq!(float(number), text);
        }
    }
}
