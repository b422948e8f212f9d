//! `parse`: a model's output as a message, while it comes.

use std::io::{self, ErrorKind, Read, Write};

use chatparse::message::Diagnostic;
use chatparse::stream::Ended;
use chatparse::{Delta, Status, Stream};
use serde_json::json;

use crate::args::{Args, Syntax};
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::screen::{Paint, Screen};
use crate::{Command, input};

pub const COMMAND: Command = Command {
    name: "parse",
    help: "\
chatparse parse TEMPLATE REQUEST [OUTPUT]

Reads what a model wrote after the prompt of this request and shows reasoning, content
and tool calls as they come. TEMPLATE is a Jinja file, a tokenizer_config.json with one,
or the name of a built-in template, REQUEST the JSON body of a chat-completions request,
OUTPUT a file; standard input where it is `-` or missing. Reasoning is told from content
unless the request has {\"reasoning_format\": \"none\"}.

options:
  --json        print the message as OpenAI JSON, and its status, when all is read
  --events      print a JSON line for each piece: its kind (reasoning, content,
                tool_name, tool_id, tool_arguments, tool_end), the number of its call,
                its text and its span in the output in bytes; at the end the status:
                complete, partial or recovered
  --partial     the output was cut off, it did not end by itself
  --strict      fail where the output does not fit the template's format; otherwise
                what does not fit is content
  --learn-only  only what the template shows by itself: no family of templates and no
                work-around is looked up
  --bos TEXT    the token that begins a prompt
  --eos TEXT    the token that ends a turn
  --name NAME   which of several templates in a tokenizer_config.json; default: default

examples:
  chatparse parse json-call request.json output.txt
  llm-server | chatparse parse model.jinja request.json
  chatparse parse model.jinja request.json output.txt --json | jq .message.tool_calls
",
    syntax: Syntax {
        required: &["TEMPLATE", "REQUEST"],
        optional: &["OUTPUT"],
        flags: &["--json", "--events", "--partial", "--strict", input::LEARN_ONLY],
        values: input::TEMPLATE_OPTIONS,
    },
    run,
};

/// Bytes read at once at most; what has come is passed on without waiting for more.
const CHUNK: usize = 4096;

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let (request, output) = (args.word(1).unwrap_or_default(), args.word(2).unwrap_or("-".as_ref()));
    input::check_stdin(&[args.word(0).unwrap_or_default(), request, output])?;
    let mut view = match (args.flag("--json"), args.flag("--events")) {
        (true, true) => return Err(Failure::Usage("--json and --events exclude each other".into())),
        (true, false) => View::Message,
        (false, true) => View::Events,
        (false, false) => View::Live(Live::default()),
    };
    let template = input::template(args)?;
    let body = input::request(request)?;
    let params = template.params(&body).map_err(|error| input::refused(args, request, &error))?;
    let mut stream = Stream::new(&params.parser);
    let mut source = input::open(output)?;
    let mut chunk = [0; CHUNK];
    loop {
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(size) => {
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
    let refused = args.flag("--strict") && ended.status == Status::Recovered;
    view.end(&ended, refused, screen)?;
    if refused { Err(input::failed(output, &ended.mismatch())) } else { Ok(()) }
}

/// What is shown of a parse.
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
                let Delta { kind, call, text, span } = delta;
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
