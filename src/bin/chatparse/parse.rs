//! `parse`: parses a model's output while it is read, and prints the message.

use std::io::{self, ErrorKind, Read, Write};

use chatparse::message::Diagnostic;
use chatparse::stream::Ended;
use chatparse::{Delta, Stream};
use serde_json::json;

use crate::args::{Args, Command, Count, Kind, Opt, Word};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::live::Live;
use crate::nearest::{listed, nearest};
use crate::screen::{Paint, Screen};

pub const COMMAND: Command = Command {
    name: "parse",
    about: "read a model's output as a message, while it comes",
    usage: &[],
    text: "\
Parses the output of a model for this request and prints reasoning, content and tool calls as they arrive. Reasoning is separated \
from content unless the request has {\"reasoning_format\": \"none\"}.

At the end it prints the status:

  complete    all of the output matches the template's format
  partial     the output was cut off, or ends where the format does not
  recovered   a part of the output does not match: it was read as content, and as calls in known formats

and diagnostics, with the bytes of the output that they concern.",
    words: &[
        input::TEMPLATE,
        input::REQUEST,
        Word {
            name: "OUTPUT",
            about: "a file with the output; standard input where it is `-` or missing",
            count: Count::Maybe,
            kind: Kind::File,
        },
    ],
    options: &[OPTIONS, &[input::LEARN_ONLY, input::RESPONSE_TEMPLATE], input::TEMPLATE_OPTIONS],
    exit: "0 success, 1 failure, 2 wrong usage, 3 the result is one that --fail-on names",
    examples: &[
        "chatparse parse json-call request.json output.txt",
        "llm-server | chatparse parse model.jinja request.json",
        "chatparse parse model.jinja request.json output.txt --fail-on partial,recovered,calls",
        "chatparse parse model.jinja request.json output.txt --json | jq .message.tool_calls",
    ],
    run,
};

const OPTIONS: &[Opt] = &[
    Opt { name: "--json", value: None, about: "print the message as OpenAI JSON, and its status, when all is read" },
    Opt {
        name: "--events",
        value: None,
        about: "print a JSON line for each piece: its kind (reasoning, content, tool_name, tool_id, tool_arguments, tool_end), \
                the number of its call, its text and its span in the output in bytes; at the end the status",
    },
    Opt { name: "--partial", value: None, about: "the output was cut off, it did not end by itself" },
    Opt {
        name: "--fail-on",
        value: Some(("LIST", Kind::Names(|| FAIL_ON.to_vec()))),
        about: "exit with 3 where the result is one of these, with commas between them: partial, recovered (the status), calls \
                (a call that is not complete, of no offered tool, or has arguments that its schema does not allow)",
    },
    Opt {
        name: "--strict",
        value: None,
        about: "fail if the output does not match the template's format, or ends before it does (unless --partial), and print no \
                status; otherwise the rest is content",
    },
];

/// The values of `--fail-on`.
const FAIL_ON: &[&str] = &["partial", "recovered", "calls"];

/// Maximum number of bytes read at once; available bytes are parsed without waiting for more.
const CHUNK: usize = 4096;

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let (request, output) = (args.word(1).unwrap_or_default(), args.word(2).unwrap_or("-".as_ref()));
    input::check_stdin([args.word(0).unwrap_or_default(), request, output])?;
    let mut view = match (args.flag("--json"), args.flag("--events")) {
        (true, true) => return Err(Failure::Usage("--json and --events exclude each other".into())),
        (true, false) => View::Message,
        (false, true) => View::Events,
        (false, false) => View::Live(Live::default()),
    };
    let fail_on = fail_on(args)?;
    let template = input::template(args)?;
    let body = input::request(request)?;
    let params = template.params(&body).map_err(|error| input::refused(args, request, &error))?;
    let mut stream = Stream::new(&params.parser);
    let mut source = input::open(output)?;
    let mut chunk = [0; CHUNK];
    let mut length = 0;
    loop {
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(size) => {
                length += size;
                if length > input::FILE_BYTES {
                    return Err(input::too_long(output, input::FILE_BYTES));
                }
                for delta in stream.feed(&chunk[..size]) {
                    view.delta(&delta, screen)?;
                }
                screen.flush()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(input::unreadable(output, &error)),
        }
    }
    let ended = stream.finish(args.flag("--partial"));
    for delta in stream.deltas() {
        view.delta(&delta, screen)?;
    }
    let refused = if args.flag("--strict") { ended.strict(args.flag("--partial")).err() } else { None };
    view.end(&ended, refused.is_some(), screen)?;
    if let Some(error) = refused {
        return Err(input::failed(output, &error));
    }
    match unwanted(&ended, &fail_on) {
        Some(what) => Err(Failure::Unwanted(format!("{}: {what}", input::name(output)))),
        None => Ok(()),
    }
}

/// Parses the value of `--fail-on`.
fn fail_on(args: &Args) -> Outcome<Vec<&'static str>> {
    let named = args.value("--fail-on").map(|list| list.split(',').map(str::trim));
    let known = |name: &str| {
        FAIL_ON.iter().copied().find(|known| *known == name).ok_or_else(|| {
            let near = match nearest(name, FAIL_ON.iter().copied()) {
                near if near.is_empty() => format!("; there are {}", FAIL_ON.join(", ")),
                near => listed(&near),
            };
            Failure::Usage(format!("--fail-on: there is no result {name:?}{near}"))
        })
    };
    named.into_iter().flatten().map(known).collect()
}

/// A description of the result, if `--fail-on` names it.
fn unwanted(ended: &Ended, fail_on: &[&str]) -> Option<String> {
    if fail_on.contains(&ended.status.name()) {
        return Some(format!("the output is {}", ended.status.name()));
    }
    let bad = ended.calls().iter().position(|call| !(call.complete && call.known && call.valid));
    let bad = bad.filter(|_| fail_on.contains(&"calls"))?;
    let call = ended.calls()[bad];
    let what = match (call.complete, call.known) {
        (false, _) => "is not complete",
        (true, false) => "is of no tool that the request offers",
        (true, true) => "has arguments that its schema does not allow",
    };
    Some(format!("call {} {what}", bad + 1))
}

/// The form in which a parse is printed.
enum View {
    Live(Live),
    Events,
    Message,
}

impl View {
    fn delta(&mut self, delta: &Delta, screen: &mut Screen) -> io::Result<()> {
        match self {
            View::Live(live) => live.delta(delta, screen),
            View::Events => {
                let Delta { kind, call, text, span, .. } = delta;
                let span = [span.start, span.end];
                writeln!(screen, "{}", json!({"kind": kind.name(), "call": call, "text": text, "span": span}))
            }
            View::Message => Ok(()),
        }
    }

    fn end(&mut self, ended: &Ended, refused: bool, screen: &mut Screen) -> io::Result<()> {
        let status = ended.status.name();
        match self {
            View::Live(live) => {
                live.end(screen)?;
                if refused {
                    return Ok(());
                }
                screen.paint(Paint::Faint, &format!("{:11}{status}\n", "status"))?;
                for found in ended.diagnostics() {
                    let Diagnostic { kind, span, message, .. } = found;
                    let line = format!("{:11}bytes {} to {}, {}: {message}\n", "", span.start, span.end, kind.name());
                    screen.paint(Paint::Faint, &line)?;
                }
                Ok(())
            }
            View::Message if refused => Ok(()),
            View::Events | View::Message => {
                let mut last = ended.report_json();
                if let View::Message = self {
                    last["message"] = ended.message.to_json();
                }
                if let View::Message = self { writeln!(screen, "{last:#}") } else { writeln!(screen, "{last}") }
            }
        }
    }
}
