//! A value is read alike in whatever way its schema is declared.

use chatparse::{ChatTemplate, Request};
use serde_json::{Value, json};

use super::written::turn;

fn tools(parameters: &Value) -> Value {
    json!([{"type": "function", "function": {"name": "do_it", "description": "D", "parameters": parameters}}])
}

/// Parameters that are declared in different ways, the usual one first.
fn ways(kind: &str) -> Vec<Value> {
    let object = |h: Value| json!({"type": "object", "properties": {"l": {"type": "string"}, "h": h}, "required": ["l"]});
    let usual = object(json!({"type": kind}));
    let values = [
        json!({"anyOf": [{"type": kind}, {"type": "null"}]}),
        json!({"type": [kind, "null"]}),
        json!({"allOf": [{"type": kind}]}),
        json!({"$ref": "#/$defs/h"}),
    ];
    let whole = [
        json!({"$ref": "#/$defs/p"}),
        json!({"allOf": [{"properties": {"l": {"type": "string"}}}, usual]}),
        json!({"anyOf": [usual, {"type": "null"}]}),
    ];
    let mut all: Vec<Value> = [usual.clone()]
        .into_iter()
        .chain(values.map(object))
        .chain(whole)
        .collect();
    for schema in &mut all {
        schema["$defs"] = json!({"h": {"type": kind}, "p": usual});
        // Templates look for it.
        schema["type"] = "object".into();
    }
    all
}

/// What is wrong, and how many outputs were looked at.
pub fn check(template: &ChatTemplate) -> (Vec<String>, usize) {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    let values = [
        json!(7),
        json!(1.5),
        json!(true),
        json!([1, 2]),
        json!("12"),
        json!({"a": {"b": "c"}}),
    ];
    for (kind, value) in ["integer", "number", "boolean", "array", "string", "object"]
        .into_iter()
        .zip(values)
    {
        let call = ("do_it".to_owned(), json!({"l": "last", "h": value}));
        let read =
            |parameters: &Value| turn(template, &tools(parameters), std::slice::from_ref(&call));
        let ways = ways(kind);
        if read(&ways[0]).is_none() {
            continue;
        }
        for way in &ways[1..] {
            let body = json!({"messages": [{"role": "user", "content": "Well?"}], "tools": tools(way), "now": 0});
            // A template may look for members that are elsewhere.
            if template
                .prompt(&Request::from_json(&body).unwrap())
                .is_err()
            {
                continue;
            }
            looked += 1;
            if read(way).is_none() {
                wrong.push(format!("{} under {way}", call.1));
            }
        }
    }
    (wrong, looked)
}
