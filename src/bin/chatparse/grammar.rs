//! `grammar`: prints the grammar of a JSON schema, in any dialect, and checks texts against it.

use std::ffi::OsStr;
use std::io::{self, Write};

use chatparse::GrammarStyle;
use chatparse::grammar::{self, Dialect, Recogniser};

use crate::args::{Args, Command, Count, Kind, Opt, Word};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::nearest::{listed, nearest};
use crate::screen::Screen;
use crate::text::tamed;

pub const COMMAND: Command = Command {
    name: "grammar",
    about: "print the grammar of a JSON schema, or check a grammar",
    usage: &["[--dialect NAME] [--llama] [SCHEMA]", "--check GRAMMAR [TEXT]"],
    text: "\
Prints the grammar of a JSON schema: GBNF, or another dialect. Departures of the grammar from the schema are listed on standard \
error, each with a JSON pointer.

With --check it reads a GBNF grammar like llama.cpp, and reports errors; and whether the grammar allows the whole text of the \
file TEXT.",
    words: &[
        Word {
            name: "FILE",
            about: "the schema, or with --check the grammar; `-` is standard input, and so is a missing schema",
            count: Count::Maybe,
            kind: Kind::File,
        },
        Word { name: "TEXT", about: "with --check: the text; `-` is standard input", count: Count::Maybe, kind: Kind::File },
    ],
    options: &[OPTIONS],
    exit: "0 success, 1 failure, or a grammar or a text that is not as it should be, 2 wrong usage",
    examples: &[
        "chatparse grammar schema.json > schema.gbnf",
        "chatparse grammar --dialect lark schema.json > schema.lark",
        "echo '{\"type\": \"integer\", \"minimum\": 0}' | chatparse grammar",
        "printf 42 | chatparse grammar --check schema.gbnf -",
    ],
    run,
};

const OPTIONS: &[Opt] = &[
    Opt { name: "--check", value: None, about: "check a grammar, or a text against it" },
    Opt {
        name: "--dialect",
        value: Some(("NAME", Kind::Names(|| Dialect::ALL.map(Dialect::name).to_vec()))),
        about: "gbnf, portable-gbnf (also for XGrammar), lark (llguidance, XGrammar, vLLM) or structural-tag (XGrammar)",
    },
    Opt { name: "--llama", value: None, about: "the rules that llama.cpp makes of the schema, to the letter" },
];

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let file = args.word(0).unwrap_or(OsStr::new("-"));
    match (args.flag("--check"), args.word(1)) {
        (false, Some(_)) => Err(Failure::Usage("TEXT goes with --check (see chatparse grammar --help)".into())),
        (false, None) => {
            let style = if args.flag("--llama") { GrammarStyle::LlamaCpp } else { GrammarStyle::Faithful };
            print(file, style, dialect(args)?, screen)
        }
        (true, _) if args.value("--dialect").is_some() || args.flag("--llama") => {
            Err(Failure::Usage("--dialect and --llama do not go with --check (see chatparse grammar --help)".into()))
        }
        (true, None) if args.word(0).is_none() => {
            Err(Failure::Usage("GRAMMAR is missing (see chatparse grammar --help)".into()))
        }
        (true, text) => check(file, text, screen),
    }
}

fn dialect(args: &Args) -> Result<Dialect, Failure> {
    let Some(name) = args.value("--dialect") else { return Ok(Dialect::Gbnf) };
    Dialect::find(name).ok_or_else(|| {
        let known = Dialect::ALL.map(Dialect::name);
        let near = match nearest(name, known.into_iter()) {
            near if near.is_empty() => format!("; there are {}", known.join(", ")),
            near => listed(&near),
        };
        Failure::Usage(format!("there is no dialect {name:?}{near}"))
    })
}

fn print(file: &OsStr, style: GrammarStyle, dialect: Dialect, screen: &mut Screen) -> Outcome {
    let schema = input::json(file)?;
    let grammar = grammar::from_json_schema_as(&schema, style).map_err(|error| input::failed(file, &error))?;
    let printed = grammar.print(dialect).map_err(|error| input::failed(file, &error))?;
    screen.write_all(printed.text.as_bytes())?;
    // The grammar precedes the report if both go to one place.
    screen.flush()?;
    let mut notes = io::stderr().lock();
    for entry in grammar.report.iter().chain(&printed.report) {
        let line = format!("{}: {}: {}", entry.kind.name(), entry.pointer, entry.message);
        writeln!(notes, "chatparse: {}", tamed(&line)).map_err(Failure::from)?;
    }
    Ok(())
}

fn check(file: &OsStr, text: Option<&OsStr>, screen: &mut Screen) -> Outcome {
    input::check_stdin([file, text.unwrap_or_default()])?;
    let recogniser = Recogniser::new(&input::text(file)?).map_err(|error| input::failed(file, &error))?;
    let Some(text) = text else { return Ok(writeln!(screen, "the grammar can be used")?) };
    let text = input::text(text)?;
    if recogniser.accepts(&text) {
        return Ok(writeln!(screen, "the grammar allows the text")?);
    }
    let message = match recogniser.reach(&text) {
        fit if fit == text.len() => "the text is incomplete: the grammar expects more".to_owned(),
        fit => {
            let rest: String = text[fit..].chars().take(40).collect();
            format!("the grammar does not allow the text from byte {fit} on: {rest:?}")
        }
    };
    Err(Failure::Failed(message))
}
