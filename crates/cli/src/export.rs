//! `export`: prints what was learnt of a template in the formats of others.

use chatparse::response::Engine;

use crate::failure::Outcome;
use crate::input::{self, Reading, Template};
use crate::screen::Screen;

/// Print a response template, made from a chat template
///
/// Prints what was learnt from the chat template as a response template (version 1): the JSON that
/// transformers looks for under response_template in a tokenizer_config.json. Standard error lists
/// what it cannot express, by the field of the message.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 success, 1 the template cannot be used, or no response template can express its calls; 2 wrong usage

Examples:
  chatparse export --response-template json-call > response_template.json")]
pub struct Export {
    #[command(flatten)]
    template: Template,
    /// Print a response template; the only format so far
    #[arg(long, required = true)]
    response_template: bool,
    /// The program that will read it
    #[arg(long = "for", value_name = "PROGRAM", default_value = "transformers", value_parser = Engine::ALL.map(Engine::name))]
    engine: String,
    #[command(flatten)]
    reading: Reading,
}

impl Export {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let engine = self.engine.parse().unwrap_or_default();
        let written = self
            .template
            .compiled(&self.reading, None)?
            .response_template_for(engine);
        let written = written.map_err(input::failed(&self.template.template))?;
        writeln!(screen, "{:#}", written.template.to_json());
        screen.notes(
            written
                .limits
                .iter()
                .map(|limit| format!("{}: {}", limit.field, limit.message)),
        )
    }
}
