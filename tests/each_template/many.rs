//! With many tools, what a call has behind its head is compiled where an output has it: the same as
//! if all were compiled at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use chatparse::internals::peg::program_of;
use chatparse::message::Dialects;
use chatparse::{ChatTemplate, EndedBy, Parser, Request, Stream};
use serde_json::{Value, json};

use super::shown::feed;
use super::written::{tool, turn};

/// What is wrong, and how many outputs were looked at.
pub fn check(template: &ChatTemplate, late: &AtomicUsize) -> (Vec<String>, usize) {
    let schemas = [
        json!({"town": {"type": "string"}, "days": {"type": "integer"}}),
        json!({}),
        json!({"way": {"enum": ["one", "two"]}, "tags": {"type": "array", "items": {"type": "string"}}}),
        json!({"at": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": ["string", "null"]}}}}),
    ];
    let listed = |at: usize| tool(&format!("do_{at}"), &schemas[at % 4]);
    let tools: Value = (0..12).map(listed).collect();
    // With other tools beside it, a call has the part that was compiled for the first list.
    let more: Value = [tool("more", &schemas[0])]
        .into_iter()
        .chain((0..14).rev().map(listed))
        .collect();
    let said = [
        vec![("do_4", json!({"town": "Oslo, \"x\" <b>", "days": 3}))],
        vec![
            ("do_10", json!({"way": "two", "tags": ["a", "b"]})),
            ("do_1", json!({})),
        ],
        vec![
            ("do_0", json!({"town": "a"})),
            ("do_8", json!({"town": "{b}"})),
            ("do_11", json!({"at": {"x": 1.5, "y": null}})),
        ],
    ];
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (tools, calls) in [&tools, &more]
        .into_iter()
        .flat_map(|tools| said.iter().map(move |calls| (tools, calls)))
    {
        let calls: Vec<_> = calls
            .iter()
            .map(|(name, arguments)| ((*name).to_owned(), arguments.clone()))
            .collect();
        let Some((params, output)) = turn(template, tools, &calls) else {
            continue;
        };
        let whole =
            Parser::from_text(&params.parser.to_text()).expect("it was written by this library");
        let smaller = program_of(&params.parser).bytes() < program_of(&whole).bytes();
        late.fetch_add(smaller.into(), Ordering::Relaxed);
        // Under a template that writes otherwise: with all of the tools, and with those that are
        // called.
        let called = calls
            .iter()
            .map(|(name, _)| listed(name[3..].parse().expect("it is a number")));
        let [many, few] = [tools, &called.collect()].map(foreign);
        let names = [
            ("do_4", "do_44"),
            ("do_8", "do_7"),
            ("do_1\"", "do_2\""),
            ("two", "three"),
            ("Oslo", "<|x|>"),
            (":", ""),
            (">", ""),
        ];
        let other = names.iter().map(|(from, to)| output.replacen(from, to, 1));
        let cut =
            (1..6).filter_map(|sixth| Some(output.get(..output.len() * sixth / 6)?.to_owned()));
        let all = [
            (output.clone(), false),
            (format!("{output}\nAnd more."), false),
        ]
        .into_iter();
        for (output, cut_off) in all
            .chain(other.map(|output| (output, false)))
            .chain(cut.map(|output| (output, true)))
        {
            looked += 1;
            let read =
                |parser: &Parser| feed(Stream::new(parser), output.as_bytes().chunks(9), cut_off);
            let (late, whole) = (read(&params.parser), read(&whole));
            if late != whole {
                wrong.push(format!(
                    "{output:?}\n  compiled late {late:?}\n  at once {whole:?}"
                ));
            }
            // The others are tools of the long list alone, and what may be half of a name is
            // dropped where an output is cut.
            if cut_off || ["do_7", "do_2"].iter().any(|other| output.contains(other)) {
                continue;
            }
            let [many, few] = [&many, &few].map(|parser| {
                parser
                    .read(output.as_bytes(), EndedBy::limit_if(cut_off))
                    .message
            });
            if many != few {
                wrong.push(format!(
                    "{output:?}\n  of many tools {many:?}\n  of few {few:?}"
                ));
            }
        }
    }
    (wrong, looked)
}

/// Reads calls in each way that is known, but for its own: it has none.
fn foreign(tools: &Value) -> Parser {
    let template = ChatTemplate::builtin("chatml").expect("it is built in");
    let body = json!({"messages": [{"role": "user", "content": "Go."}], "tools": tools});
    let mut request = Request::from_json(&body).expect("it is a request");
    request.output.leniency.dialects = Dialects::Always;
    template.params(&request).expect("it renders").parser
}
