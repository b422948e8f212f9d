//! `grammar`: the GBNF of a JSON schema, and what a grammar allows.

use std::ffi::OsStr;
use std::io::{self, Write};

use chatparse::grammar::{self, Recogniser};

use crate::args::{Args, Syntax};
use crate::failure::{Failure, Outcome};
use crate::screen::Screen;
use crate::text::tamed;
use crate::{Command, input};

pub const COMMAND: Command = Command {
    name: "grammar",
    help: "\
chatparse grammar [SCHEMA]
chatparse grammar --check GRAMMAR [TEXT]

Prints the GBNF grammar of a JSON schema, as llama.cpp writes it. Where the grammar is
not exactly what the schema asks for, standard error says how, with a JSON pointer.
SCHEMA is a file, or standard input.

With --check it reads a GBNF grammar as llama.cpp does, and says what is wrong with it;
and whether the grammar allows the text of the file TEXT, to the last byte. GRAMMAR or
TEXT may be `-`, standard input. The exit status is 1 where either is not as it should be.

options:
  --check       check a grammar, or a text against it

examples:
  chatparse grammar schema.json > schema.gbnf
  echo '{\"type\": \"integer\", \"minimum\": 0}' | chatparse grammar
  printf 42 | chatparse grammar --check schema.gbnf -
",
    syntax: Syntax { required: &[], optional: &["FILE", "TEXT"], flags: &["--check"], values: &[] },
    run,
};

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let file = args.word(0).unwrap_or(OsStr::new("-"));
    match (args.flag("--check"), args.word(1)) {
        (false, Some(_)) => Err(Failure::Usage("TEXT goes with --check (see chatparse grammar --help)".into())),
        (false, None) => print(file, screen),
        (true, None) if args.word(0).is_none() => {
            Err(Failure::Usage("GRAMMAR is missing (see chatparse grammar --help)".into()))
        }
        (true, text) => check(file, text, screen),
    }
}

fn print(file: &OsStr, screen: &mut Screen) -> Outcome {
    let schema = input::json(file)?;
    let grammar = grammar::from_json_schema(&schema).map_err(|error| input::failed(file, &error))?;
    screen.write_all(grammar.text.as_bytes())?;
    // The grammar first, where both go to one place.
    screen.flush()?;
    let mut notes = io::stderr().lock();
    for entry in &grammar.report {
        let line = format!("{}: {}: {}", entry.kind.name(), entry.pointer, entry.message);
        writeln!(notes, "chatparse: {}", tamed(&line)).map_err(Failure::from)?;
    }
    Ok(())
}

fn check(file: &OsStr, text: Option<&OsStr>, screen: &mut Screen) -> Outcome {
    input::check_stdin(&[file, text.unwrap_or_default()])?;
    let recogniser = Recogniser::new(&input::text(file)?).map_err(|error| input::failed(file, &error))?;
    let Some(text) = text else { return Ok(writeln!(screen, "the grammar can be used")?) };
    let text = input::text(text)?;
    if recogniser.accepts(&text) {
        return Ok(writeln!(screen, "the grammar allows the text")?);
    }
    let message = match recogniser.reach(&text) {
        fit if fit == text.len() => "the grammar wants more after the end of the text".to_owned(),
        fit => {
            let rest: String = text[fit..].chars().take(40).collect();
            format!("the grammar does not allow the text from byte {fit} on: {rest:?}")
        }
    };
    Err(Failure::Failed(message))
}
