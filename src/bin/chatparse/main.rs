//! The command line, on the library's public API.
//!
//! A command is a module with one [`Command`]: its help, its arguments and its code. All commands write to a [`Screen`] and
//! return an [`Outcome`]. This file handles exit statuses, error messages, and readers that close the output.

mod args;
mod board;
mod causes;
mod completions;
mod demo;
mod export;
mod failure;
mod grammar;
mod help;
mod input;
mod inspect;
mod lint;
mod linted;
mod live;
mod man;
mod nearest;
mod parse;
mod proof;
mod render;
mod replay;
mod sarif;
mod screen;
mod templates;
mod text;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use args::{Args, Command, Count, Kind, Word};
use failure::{Failure, Outcome};
use nearest::{listed, nearest};
use screen::Screen;

/// All commands, in the order in which the help has them.
const COMMANDS: &[&Command] = &[
    &render::COMMAND,
    &inspect::COMMAND,
    &lint::COMMAND,
    &parse::COMMAND,
    &grammar::COMMAND,
    &board::COMMAND,
    &export::COMMAND,
    &replay::COMMAND,
    &templates::COMMAND,
    &completions::COMMAND,
    &man::COMMAND,
    &HELP,
];

const HELP: Command = Command {
    name: "help",
    about: "print the help of a command",
    usage: &[],
    text: "Prints the help of a command, as COMMAND --help does, or the general help.",
    words: &[Word { name: "COMMAND", about: "the command", count: Count::Maybe, kind: Kind::Names(command_names) }],
    options: &[],
    exit: "0 success, 2 there is no such command",
    examples: &["chatparse help parse"],
    run: |args, screen| match args.word(0) {
        Some(word) => Ok(help::of(command(word)?, screen)?),
        None => Ok(help::general(COMMANDS, screen)?),
    },
};

fn command_names() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.name).collect()
}

fn main() -> ExitCode {
    let mut screen = Screen::stdout();
    let outcome = run(std::env::args_os().skip(1).collect(), &mut screen);
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

fn run(words: Vec<OsString>, screen: &mut Screen) -> Outcome {
    // Options in front of a command apply to every command.
    let leading = words.iter().take_while(|word| word.as_encoded_bytes().starts_with(b"--color")).count();
    let leading =
        if words.get(leading.wrapping_sub(1)).is_some_and(|word| word == "--color") { leading + 1 } else { leading };
    let (global, rest) = words.split_at(leading.min(words.len()));
    let Some((first, rest)) = rest.split_first() else {
        colour(&read(global, &HELP)?, screen)?;
        return demo::run(screen);
    };
    match first.to_str() {
        Some("--help" | "-h") => return Ok(help::general(COMMANDS, screen)?),
        Some("--version" | "-V") => return Ok(writeln!(screen, "chatparse {}", env!("CARGO_PKG_VERSION"))?),
        _ => {}
    }
    let command = command(first)?;
    if rest.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        return Ok(help::of(command, screen)?);
    }
    let args = read(&[global, rest].concat(), command)?;
    colour(&args, screen)?;
    (command.run)(&args, screen)
}

fn read(words: &[OsString], command: &Command) -> Outcome<Args> {
    Args::read(words, command)
        .map_err(|message| Failure::Usage(format!("{message} (see chatparse {} --help)", command.name)))
}

fn colour(args: &Args, screen: &mut Screen) -> Outcome {
    match args.value("--color") {
        Some(when) if !screen.colour(when) => {
            Err(Failure::Usage(format!("--color must be auto, always or never, not {when:?}")))
        }
        _ => Ok(()),
    }
}

/// The command of this name. The error suggests similar names.
fn command(name: &OsStr) -> Outcome<&'static Command> {
    if let Some(command) = COMMANDS.iter().find(|command| name == command.name) {
        return Ok(command);
    }
    let shown = name.to_string_lossy();
    let message = if shown.starts_with('-') {
        let near = nearest(&shown, ["--help", "--version", "--color"].into_iter());
        format!("there is no option {shown}{}", listed(&near))
    } else {
        let near = nearest(&shown, command_names().into_iter());
        let file = near.is_empty() && Path::new(name).exists();
        let hint = if file { format!("; did you mean chatparse inspect {shown}?") } else { listed(&near) };
        format!("there is no command {shown:?}{hint}")
    };
    Err(Failure::Usage(format!("{message} (see chatparse --help)")))
}
