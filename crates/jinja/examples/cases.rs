//! How many of the recorded cases of Jinja2 the prototype renders the same.
use std::sync::Arc;

use chatparse_jinja::own::Own;
use chatparse_jinja::{Conversation, Host, Template};
use serde_json::{Map, Value};

fn main() {
    let cases = include_str!("../../../tests/jinja/cases.jsonl");
    let exceptions = include_str!("../../../tests/jinja/exceptions.txt");
    let mut lines = cases.lines();
    let variables: Map<String, Value> = serde_json::from_str(lines.next().unwrap()).unwrap();
    let (mut same, mut count, mut excused, mut both) = (0, 0, 0, 0);
    for line in lines {
        let (source, expected): (String, Option<String>) = serde_json::from_str(line).unwrap();
        let conversation = Conversation {
            messages: Value::Array(Vec::new()).into(),
            tools: Arc::new(Value::Null).into(),
            enable_thinking: true,
            add_generation_prompt: false,
            host: Host::Own,
            extra: variables.clone(),
            now: Some(1_787_356_800),
        };
        let normal = source.replace("\r\n", "\n").replace('\r', "\n");
        let normal = normal.strip_suffix('\n').unwrap_or(&normal);
        let empty = Template::new("", "", "").unwrap();
        let run = |traced: bool| {
            let own = Own::new(normal)?;
            own.render(&empty, &conversation, traced)
                .map(|rendered| rendered.text)
        };
        count += 1;
        let plain = run(false);
        if plain.as_ref().ok() != run(true).as_ref().ok() {
            println!("TRACED DIFFERS {source:?}");
        }
        if plain.as_ref().ok() == expected.as_ref() {
            same += 1;
            continue;
        }
        if exceptions.contains(&serde_json::to_string(&source).unwrap()) {
            excused += 1;
            continue;
        }
        let engine = Template::new(&source, "", "")
            .and_then(|template| template.render(&conversation))
            .ok();
        both += usize::from(engine == expected);
        println!("{source:?}\n  Jinja2 {expected:?}\n  ours   {plain:?}");
    }
    println!("{same} of {count} the same, {excused} excused, {both} only the engine's");
}
