//! `parse`: parses a model's output while it is read, and prints the message.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};

use chatparse::stream::Ended;
use chatparse::{Delta, EndedBy, Stream};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, ValueHint};
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Described, Reading, Template};
use crate::live::Live;
use crate::screen::{Paint, Screen};

/// Parse a model's output, while it comes
///
/// Parses the output of a model for this request and prints reasoning, content
/// and tool calls as they arrive. Reasoning is separated from content unless the
/// request has {"reasoning_format": "none"}.
///
/// At the end it prints the status:
///
///   complete    the whole output matches the template's format
///   partial     the output was cut off, or stops before the format ends
///   recovered   the output breaks the format; from there on it is content, and
///               calls in other known formats
///
/// and diagnostics, with the bytes of the output that they concern.
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit status: 0 success, 1 failure, 2 wrong usage, 3 --fail-on rejects the output

Examples:
  chatparse parse json-call request.json output.txt
  llm-server | chatparse parse model.jinja request.json
  chatparse parse model.jinja request.json output.txt --fail-on partial,recovered,calls
  chatparse parse model.jinja request.json output.txt --json | jq .message.tool_calls"
)]
pub struct Parse {
    #[command(flatten)]
    template: Template,
    /// The JSON body of a chat-completions request
    #[arg(value_hint = ValueHint::FilePath)]
    request: OsString,
    /// A file with the output
    #[arg(value_hint = ValueHint::FilePath, default_value = "-")]
    output: OsString,
    /// Print the message as OpenAI JSON, and its status, at the end
    #[arg(long, conflicts_with = "events")]
    json: bool,
    /// Print a JSON line for each piece: its kind (reasoning, content, tool_name, tool_id,
    /// tool_arguments, tool_end), the number of its call, its text and its span in the output in
    /// bytes; at the end the status
    #[arg(long)]
    events: bool,
    /// The output was cut off: the model did not end it
    #[arg(long)]
    partial: bool,
    /// Exit with 3 if the status is in this list (separated by commas); calls: if a call is not
    /// complete, calls no offered tool, or has arguments that the schema does not allow
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Results)]
    fail_on: Vec<String>,
    /// Fail if the output breaks the template's format, or stops before the format ends (unless
    /// --partial is given), and print no status. Otherwise the rest of such an output is content
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    described: Described,
    #[command(flatten)]
    reading: Reading,
}

/// The values of `--fail-on`, with white space around each.
#[derive(Clone)]
struct Results;

impl TypedValueParser for Results {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        PossibleValuesParser::new(FAIL_ON).parse_ref(
            command,
            arg,
            value.to_string_lossy().trim().as_ref(),
        )
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(FAIL_ON.map(PossibleValue::new).into_iter()))
    }
}

const FAIL_ON: [&str; 3] = ["partial", "recovered", "calls"];

/// Maximum number of bytes read at once; available bytes are parsed without waiting for more.
const CHUNK: usize = 4096;

impl Parse {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let (template, request, output) = (&self.template.template, &self.request, &self.output);
        input::check_stdin([template.as_os_str(), request, output])?;
        let mut view = match (self.json, self.events) {
            (true, _) => View::Message,
            (_, true) => View::Events,
            _ => View::Live(Live::default()),
        };
        let compiled = self
            .template
            .compiled(&self.reading, Some(&self.described))?;
        let body = input::request(request, &json!({}))?;
        let params = compiled
            .params(&body)
            .map_err(input::refused(template, request))?;
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
                        view.delta(&delta, screen);
                    }
                    screen.flush()?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(input::unreadable(output)(error)),
            }
        }
        let ended = stream.finish(EndedBy::limit_if(self.partial));
        for delta in stream.deltas() {
            view.delta(&delta, screen);
        }
        if self.strict
            && let Err(error) = ended.strict(EndedBy::limit_if(self.partial))
        {
            view.end(&ended, true, screen);
            return Err(input::failed(output)(error));
        }
        view.end(&ended, false, screen);
        match unwanted(&ended, &self.fail_on) {
            Some(what) => Err(Failure::Unwanted(format!(
                "{}: {what}",
                input::name(output)
            ))),
            None => Ok(()),
        }
    }
}

/// A description of the result, if `--fail-on` names it.
fn unwanted(ended: &Ended, fail_on: &[String]) -> Option<String> {
    let status = ended.status.name();
    if fail_on.iter().any(|named| named == status) {
        return Some(format!("the output is {status}"));
    }
    if !fail_on.iter().any(|named| named == "calls") {
        return None;
    }
    for (number, call) in (1..).zip(ended.calls()) {
        let what = match (call.complete, call.known, call.valid) {
            (false, ..) => "is not complete",
            (_, false, _) => "is of no tool that the request offers",
            (.., false) => "has arguments that its schema does not allow",
            _ => continue,
        };
        return Some(format!("call {number} {what}"));
    }
    None
}

/// The form in which a parse is printed.
enum View {
    Live(Live),
    Events,
    Message,
}

impl View {
    fn delta(&mut self, delta: &Delta, screen: &mut Screen) {
        match self {
            View::Live(live) => live.delta(delta, screen),
            View::Events => {
                let (kind, call, text) = (delta.kind, delta.call, delta.text);
                let span = [delta.span.start, delta.span.end];
                let event = json!({"kind": kind, "call": call, "text": text, "span": span});
                writeln!(screen, "{event}");
            }
            View::Message => {}
        }
    }

    fn end(&mut self, ended: &Ended, refused: bool, screen: &mut Screen) {
        let status = ended.status.name();
        match self {
            View::Live(live) => {
                live.end(screen);
                if refused {
                    return;
                }
                screen.paint(Paint::Faint, &format!("{:11}{status}\n", "status"));
                for found in ended.diagnostics() {
                    let (from, to, kind) = (found.span.start, found.span.end, found.kind.name());
                    let text = &found.message;
                    let line = format!("{:11}bytes {from} to {to}, {kind}: {text}\n", "");
                    screen.paint(Paint::Faint, &line);
                }
            }
            View::Message if refused => {}
            View::Message => {
                let mut last = ended.report_json();
                last["message"] = ended.message.to_json();
                writeln!(screen, "{last:#}");
            }
            View::Events => writeln!(screen, "{}", ended.report_json()),
        }
    }
}
