//! `render`: a request as prompt text.

use std::io::Write;

use chatparse::{Origin, Segments};
use serde_json::json;

use crate::args::{Args, Syntax};
use crate::failure::Outcome;
use crate::screen::{Paint, Screen};
use crate::{Command, input};

pub const COMMAND: Command = Command {
    name: "render",
    help: "\
chatparse render TEMPLATE [REQUEST]

Prints the prompt that the template makes of the request: its exact bytes, nothing
added. TEMPLATE is a Jinja file, a tokenizer_config.json with one, or the name of a
built-in template. REQUEST is the JSON body of a chat-completions request; standard
input where it is `-` or missing.

options:
  --bos TEXT    the token that begins a prompt, e.g. '<s>'
  --eos TEXT    the token that ends a turn, e.g. '</s>'
  --name NAME   which of several templates in a tokenizer_config.json; default: default
  --plain       show the template the messages, tools, documents and chat_template_kwargs
                of the request as they are, and nothing else: as transformers does
  --segments    print where each part of the prompt comes from: in colours on a terminal,
                else each part as a JSON object on a line of its own
  --params      print all that the request needs as JSON: the prompt, what of it is
                the assistant's turn already, triggers, stops, preserved tokens

examples:
  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | chatparse render chatml
  chatparse render model.jinja request.json --bos '<s>' > prompt.txt
  chatparse render model.jinja request.json --params | jq .additional_stops
",
    syntax: Syntax {
        required: &["TEMPLATE"],
        optional: &["REQUEST"],
        flags: &["--plain", "--segments", "--params"],
        values: input::TEMPLATE_OPTIONS,
    },
    run,
};

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let word = args.word(1).unwrap_or("-".as_ref());
    input::check_stdin(&[args.word(0).unwrap_or_default(), word])?;
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
    (Paint::Right, "content of a message"),
    (Paint::Left, "reasoning"),
    (Paint::Call, "a call"),
    (Paint::Strong, "a tool, a variable or another field of a message"),
    (Paint::Plain, "unknown"),
];

fn paint(origin: &Origin) -> Paint {
    match origin {
        Origin::Template => Paint::Faint,
        Origin::Message { path, .. } => match path.split('/').nth(1) {
            Some("content") => Paint::Right,
            Some("reasoning_content" | "reasoning" | "thinking") => Paint::Left,
            Some("tool_calls") => Paint::Call,
            _ => Paint::Strong,
        },
        Origin::Tool(_) | Origin::Kwarg(_) => Paint::Strong,
        _ => Paint::Plain,
    }
}
