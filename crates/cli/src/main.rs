//! The command line, on the library's public API.
//!
//! A command is a module with its arguments and its code. All commands write to a [`Screen`] and
//! return an [`Outcome`]. This file handles exit statuses, error messages, and readers that close
//! the output.

#![forbid(unsafe_code)]

mod audit;
mod board;
mod demo;
mod diff;
mod export;
mod failure;
mod gguf;
mod grammar;
mod input;
mod inspect;
mod install;
mod lint;
mod linted;
mod live;
mod nearest;
mod parse;
mod proof;
mod render;
mod replay;
mod revised;
mod sarif;
mod screen;
mod templates;
mod text;
#[cfg(feature = "tokenizers")]
mod vocabulary;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::{Failure, Outcome};
use screen::Screen;

/// Learns a model's output format from its chat template, renders prompts, and parses what the
/// model writes.
///
/// Without a command it shows all of this on an example.
///
/// TEMPLATE is a Jinja file, a tokenizer_config.json or chat_template.json with a template in it, a
/// GGUF file, the folder of a checkpoint, or the name of a built-in template. REQUEST is the JSON
/// body of a chat-completions request. `-` stands for standard input.
///
/// Lines are wrapped at the width of the terminal, or at COLUMNS. There are no colours if NO_COLOR
/// is set and not empty, or if TERM is dumb, unless --color is given.
#[derive(Parser)]
#[command(
    name = "chatparse",
    version,
    after_help = "Exit status: 0 success, 1 failure, 2 wrong usage, 3 --fail-on rejects the output

Examples:
  chatparse
  chatparse inspect json-call
  chatparse parse json-call request.json output.txt
  chatparse help parse"
)]
struct Program {
    /// When to use colours; auto: on a terminal
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Render(render::Render),
    Inspect(inspect::Inspect),
    Lint(lint::Lint),
    Diff(diff::Diff),
    Parse(parse::Parse),
    Audit(audit::Audit),
    Grammar(grammar::Grammar),
    Board(board::Board),
    Export(export::Export),
    Replay(replay::Replay),
    Templates(templates::Templates),
    Completions(install::Completions),
    Man(install::Man),
}

fn main() -> ExitCode {
    let mut screen = Screen::stdout();
    let outcome = run(&mut screen);
    // A failed command keeps its output.
    let flushed = screen.flush().map_err(Failure::from);
    match outcome.and(flushed) {
        Ok(()) | Err(Failure::Unread) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => complain(&message, 1),
        Err(Failure::Usage(message)) => complain(&message, 2),
        Err(Failure::Unwanted(message)) => complain(&message, 3),
    }
}

/// Prints an error. If that fails, the exit status still reports it.
fn complain(message: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "chatparse: {}", text::tamed(message));
    ExitCode::from(code)
}

fn run(screen: &mut Screen) -> Outcome {
    let given = Program::command()
        .term_width(screen.width())
        .try_get_matches();
    let program = match given.and_then(|given| Program::from_arg_matches(&given)) {
        Ok(program) => program,
        // Help, or the version.
        Err(error) if !error.use_stderr() => {
            write!(screen, "{error}");
            return Ok(());
        }
        Err(error) => return Err(Failure::Usage(misused(&error))),
    };
    screen.colour(program.color);
    match program.command {
        None => demo::run(screen),
        Some(Command::Render(command)) => command.run(screen),
        Some(Command::Inspect(command)) => command.run(screen),
        Some(Command::Lint(command)) => command.run(screen),
        Some(Command::Diff(command)) => command.run(screen),
        Some(Command::Parse(command)) => command.run(screen),
        Some(Command::Audit(command)) => command.run(screen),
        Some(Command::Grammar(command)) => command.run(screen),
        Some(Command::Board(command)) => command.run(screen),
        Some(Command::Export(command)) => command.run(screen),
        Some(Command::Replay(_)) => replay::run(screen),
        Some(Command::Templates(command)) => command.run(screen),
        Some(Command::Completions(command)) => command.run(screen, &mut Program::command()),
        Some(Command::Man(command)) => command.run(screen, &mut Program::command()),
    }
}

/// What is wrong with the command line.
fn misused(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    match error.get(ContextKind::InvalidSubcommand) {
        Some(word)
            if error.kind() == ErrorKind::InvalidSubcommand
                && Path::new(&word.to_string()).exists() =>
        {
            format!("{text}\nhint: did you mean chatparse inspect {word}?")
        }
        _ => text.to_owned(),
    }
}
