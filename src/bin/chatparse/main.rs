//! The command line: glue over the library's public API.
//!
//! A command is one module with one [`Command`]: its help, what arguments it takes and what it does. All of them write
//! to a [`Screen`] and end in an [`Outcome`]; the rest (exit codes, error messages, a reader that went away) is here.

mod args;
mod demo;
mod failure;
mod grammar;
mod input;
mod inspect;
mod lint;
mod live;
mod parse;
mod proof;
mod render;
mod replay;
mod screen;
mod templates;
mod text;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use args::{Args, Syntax};
use failure::{Failure, Outcome};
use screen::Screen;

/// One command of the program.
struct Command {
    name: &'static str,
    /// What `chatparse NAME --help` prints.
    help: &'static str,
    syntax: Syntax,
    run: fn(&Args, &mut Screen) -> Outcome,
}

const COMMANDS: &[&Command] = &[
    &render::COMMAND,
    &inspect::COMMAND,
    &lint::COMMAND,
    &parse::COMMAND,
    &grammar::COMMAND,
    &replay::COMMAND,
    &templates::COMMAND,
];

const HELP: &str = "\
chatparse learns how a language model writes from its chat template,
renders prompts with it, and reads what the model writes.

usage: chatparse COMMAND ...

  render TEMPLATE [REQUEST]           print the prompt of a request
  inspect TEMPLATE                    show what was learnt of a template, and from what
  lint TEMPLATE                       check that what a template writes is read back
  parse TEMPLATE REQUEST [OUTPUT]     read a model's output as a message, while it comes
  grammar [SCHEMA]                    print the grammar of a JSON schema
  replay                              answer scenarios, one JSON line each
  templates                           list the built-in templates

Without a command it shows all of this once on an example.
TEMPLATE is a Jinja file, a tokenizer_config.json with one, or the name of a built-in
template, REQUEST the JSON body of a chat-completions request; `-` stands for standard
input.

options:
  --help        this text, or with a command what it does and takes
  --version     the version

exit status: 0 success, 1 failure, 2 wrong usage. Colours appear on a terminal
only, and not where NO_COLOR is set.

examples:
  chatparse
  chatparse inspect json-call
  chatparse parse json-call request.json output.txt
  chatparse parse --help
";

fn main() -> ExitCode {
    let mut screen = Screen::stdout();
    let outcome = run(std::env::args_os().skip(1).collect(), &mut screen);
    // Even a failed command keeps what it has written.
    let flushed = screen.flush().map_err(Failure::from);
    match outcome.and(flushed) {
        Ok(()) | Err(Failure::Unread) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => complain(&message, 1),
        Err(Failure::Usage(message)) => complain(&message, 2),
    }
}

/// Says what went wrong. Nobody may be listening; the exit code tells it all the same.
fn complain(message: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "chatparse: {}", text::tamed(message));
    ExitCode::from(code)
}

fn run(words: Vec<OsString>, screen: &mut Screen) -> Outcome {
    let Some((first, rest)) = words.split_first() else { return demo::run(screen) };
    match first.to_str() {
        Some("--help" | "-h" | "help") => return Ok(screen.write_all(HELP.as_bytes())?),
        Some("--version" | "-V") => return Ok(writeln!(screen, "chatparse {}", env!("CARGO_PKG_VERSION"))?),
        _ => {}
    }
    let Some(command) = COMMANDS.iter().find(|command| first == command.name) else {
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        let shown = first.to_string_lossy();
        let message = format!("there is no command {shown:?}; the commands are {}", names.join(", "));
        return Err(Failure::Usage(format!("{message} (see chatparse --help)")));
    };
    if rest.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        return Ok(screen.write_all(command.help.as_bytes())?);
    }
    let args = Args::read(rest, &command.syntax)
        .map_err(|message| Failure::Usage(format!("{message} (see chatparse {} --help)", command.name)))?;
    (command.run)(&args, screen)
}
