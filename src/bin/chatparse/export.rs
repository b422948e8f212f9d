//! `export`: prints what was learnt of a template in the formats of others.

use std::io::{self, Write};

use crate::args::{Args, Command, Opt};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::screen::Screen;
use crate::text::tamed;

pub const COMMAND: Command = Command {
    name: "export",
    about: "print how a template's model writes, as a response template",
    usage: &[],
    text: "\
Prints how the output of a template's model is read, as a response template (version 1): the JSON that transformers finds under \
response_template in a tokenizer_config.json. What it cannot say is listed on standard error, by the field of the message.",
    words: &[input::TEMPLATE],
    options: &[
        &[
            Opt { name: "--response-template", value: None, about: "a response template; the only format so far" },
            input::LEARN_ONLY,
        ],
        input::TEMPLATE_OPTIONS,
    ],
    exit: "0 success, 1 the template cannot be used, or no response template can say how its calls are written; 2 wrong usage",
    examples: &["chatparse export --response-template json-call > response_template.json"],
    run,
};

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    if !args.flag("--response-template") {
        return Err(Failure::Usage("--response-template is missing (see chatparse export --help)".into()));
    }
    let written = input::template(args)?.response_template();
    let written = written.map_err(|error| input::failed(args.word(0).unwrap_or_default(), &error))?;
    writeln!(screen, "{:#}", written.template.to_json())?;
    screen.flush()?;
    let mut notes = io::stderr().lock();
    for limit in &written.limits {
        writeln!(notes, "chatparse: {}: {}", limit.field, tamed(&limit.message)).map_err(Failure::from)?;
    }
    Ok(())
}
