//! `export`: prints what was learnt of a template in the formats of others.

use std::io::{self, Write};

use chatparse::response::Engine;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Reading, Template};
use crate::screen::Screen;
use crate::text::tamed;

const ENGINES: [Engine; 4] = Engine::ALL;

/// Print how a template's model writes, as a response template
///
/// Prints how the output of a template's model is read, as a response template (version 1): the JSON that transformers finds under
/// response_template in a tokenizer_config.json. What it cannot say is listed on standard error, by the field of the message.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 success, 1 the template cannot be used, or no response template can say how its calls are written; 2 wrong usage

Examples:
  chatparse export --response-template json-call > response_template.json")]
pub struct Export {
    #[command(flatten)]
    template: Template,
    /// A response template; the only format so far
    #[arg(long, required = true)]
    response_template: bool,
    /// The program that is to read it
    #[arg(long = "for", value_name = "PROGRAM", default_value = "transformers", value_parser = ENGINES.map(Engine::name))]
    engine: String,
    #[command(flatten)]
    reading: Reading,
}

impl Export {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let engine = Engine::find(&self.engine).unwrap_or_default();
        let written = self.template.compiled(&self.reading, None)?.response_template_for(engine);
        let written = written.map_err(|error| input::failed(&self.template.template, &error))?;
        writeln!(screen, "{:#}", written.template.to_json())?;
        screen.flush()?;
        let mut notes = io::stderr().lock();
        for limit in &written.limits {
            writeln!(notes, "chatparse: {}: {}", limit.field, tamed(&limit.message)).map_err(Failure::from)?;
        }
        Ok(())
    }
}
