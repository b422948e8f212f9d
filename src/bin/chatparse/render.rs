//! `render`: prints the prompt of a request.

use std::io::Write;

use chatparse::{Origin, Segments};
use serde_json::json;

use crate::args::{Args, Command, Count, Opt, Word};
use crate::failure::Outcome;
use crate::input;
use crate::screen::{Paint, Screen};

pub const COMMAND: Command = Command {
    name: "render",
    about: "print the prompt of a request",
    usage: &[],
    text: "Prints the prompt for the request: its exact bytes, and nothing else.",
    words: &[input::TEMPLATE, Word { count: Count::Maybe, about: REQUEST_ABOUT, ..input::REQUEST }],
    options: &[OPTIONS, input::TEMPLATE_OPTIONS],
    exit: "0 success, 1 failure, 2 wrong usage",
    examples: &[
        "echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | chatparse render chatml",
        "chatparse render model.jinja request.json --bos '<s>' > prompt.txt",
        "chatparse render model.jinja request.json --params | jq .additional_stops",
    ],
    run,
};

const REQUEST_ABOUT: &str = "the JSON body of a chat-completions request; standard input where it is `-` or missing";

const OPTIONS: &[Opt] = &[
    Opt {
        name: "--plain",
        value: None,
        about: "pass the messages, tools, documents and chat_template_kwargs of the request to the template unchanged, and \
                nothing else: as transformers does",
    },
    Opt {
        name: "--segments",
        value: None,
        about: "print the origin of each part of the prompt: in colours on a terminal, otherwise as one JSON object per \
                line",
    },
    Opt {
        name: "--params",
        value: None,
        about: "print all parameters of the request as JSON: the prompt, the generation prompt, triggers, stops, preserved \
                tokens",
    },
];

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let word = args.word(1).unwrap_or("-".as_ref());
    input::check_stdin([args.word(0).unwrap_or_default(), word])?;
    let template = input::template(args)?;
    let request = match args.flag("--plain") {
        true => input::request_with(word, &json!({"plain": true}))?,
        false => input::request(word)?,
    };
    if args.flag("--params") {
        let params = template.params(&request).map_err(|error| input::refused(args, word, &error))?;
        return Ok(writeln!(screen, "{:#}", params.to_json())?);
    }
    if args.flag("--segments") {
        let found = template.segments(&request).map_err(|error| input::refused(args, word, &error))?;
        return show(&found, screen);
    }
    let prompt = template.prompt(&request).map_err(|error| input::refused(args, word, &error))?;
    Ok(screen.write_all(prompt.as_bytes())?)
}

fn show(found: &Segments, screen: &mut Screen) -> Outcome {
    for segment in &found.segments {
        let text = &found.prompt[segment.bytes.clone()];
        if screen.is_coloured() {
            screen.paint(paint(&segment.origin), text)?;
        } else {
            let mut json = segment.to_json();
            json["text"] = text.into();
            writeln!(screen, "{json}")?;
        }
    }
    if screen.is_coloured() {
        screen.heading("whose text it is")?;
        for (paint, what) in LEGEND {
            screen.paint(*paint, what)?;
            writeln!(screen)?;
        }
    }
    Ok(())
}

const LEGEND: &[(Paint, &str)] = &[
    (Paint::Faint, "the template"),
    (Paint::Green, "content of a message"),
    (Paint::Red, "reasoning"),
    (Paint::Call, "a call"),
    (Paint::Strong, "a tool, a variable or another field of a message"),
    (Paint::Plain, "unknown"),
];

fn paint(origin: &Origin) -> Paint {
    match origin {
        Origin::Template => Paint::Faint,
        Origin::Message { path, .. } => match path.split('/').nth(1) {
            Some("content") => Paint::Green,
            Some("reasoning_content" | "reasoning" | "thinking") => Paint::Red,
            Some("tool_calls") => Paint::Call,
            _ => Paint::Strong,
        },
        Origin::Tool(_) | Origin::Kwarg(_) => Paint::Strong,
        _ => Paint::Plain,
    }
}
