//! `grammar`: prints the grammar of a JSON schema, in any dialect, and checks texts against it.

use std::ffi::{OsStr, OsString};

use chatparse::GrammarStyle;
use chatparse::grammar::{self, Dialect, Recogniser};
use clap::ValueHint;

use crate::failure::{Failure, Outcome};
use crate::input;
use crate::screen::Screen;

/// Print the grammar of a JSON schema, or check a grammar
///
/// Prints the grammar of a JSON schema, as GBNF or in another dialect. Standard error lists where
/// the grammar differs from the schema, each place with a JSON pointer.
///
/// With --check it reads a GBNF grammar as llama.cpp does, and reports errors. With TEXT it also
/// says whether the grammar allows the whole text.
#[derive(clap::Args)]
#[command(
    override_usage = "chatparse grammar [--dialect NAME] [--llama] [SCHEMA]\n       chatparse grammar --check GRAMMAR [TEXT]",
    after_help = "Exit status: 0 success, 1 failure, or a wrong grammar, or a text that it does not allow, 2 wrong usage

Examples:
  chatparse grammar schema.json > schema.gbnf
  chatparse grammar --dialect lark schema.json > schema.lark
  echo '{\"type\": \"integer\", \"minimum\": 0}' | chatparse grammar
  printf 42 | chatparse grammar --check schema.gbnf -"
)]
pub struct Grammar {
    /// The schema, or with --check the grammar; `-` is standard input, and so is a missing schema
    #[arg(value_hint = ValueHint::FilePath, required_if_eq("check", "true"))]
    file: Option<OsString>,
    /// With --check: the text; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath, requires = "check")]
    text: Option<OsString>,
    /// Check a grammar, or a text against it
    #[arg(long, conflicts_with_all = ["dialect", "llama"])]
    check: bool,
    /// Also portable-gbnf (for XGrammar), lark (llguidance, XGrammar, vLLM) and structural-tag
    /// (XGrammar)
    #[arg(long, value_name = "NAME", value_parser = Dialect::ALL.map(Dialect::name), default_value = "gbnf")]
    dialect: String,
    /// Print exactly the rules that llama.cpp makes of the schema
    #[arg(long)]
    llama: bool,
}

impl Grammar {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        let file = self.file.as_deref().unwrap_or(OsStr::new("-"));
        if self.check {
            return check(file, self.text.as_deref(), screen);
        }
        let style = if self.llama {
            GrammarStyle::LlamaCpp
        } else {
            GrammarStyle::Faithful
        };
        let dialect = self.dialect.parse().unwrap_or(Dialect::Gbnf);
        let schema = input::json(file)?;
        let grammar = grammar::from_json_schema_as(&schema, style).map_err(input::failed(file))?;
        let printed = grammar.print(dialect).map_err(input::failed(file))?;
        screen.print(printed.text);
        let report = grammar.report.iter().chain(&printed.report);
        screen.notes(report.map(|entry| {
            format!(
                "{}: {}: {}",
                entry.kind.name(),
                entry.pointer,
                entry.message
            )
        }))
    }
}

fn check(file: &OsStr, text: Option<&OsStr>, screen: &mut Screen) -> Outcome {
    input::check_stdin([file, text.unwrap_or_default()])?;
    let recogniser = Recogniser::new(&input::text(file)?).map_err(input::failed(file))?;
    let text = text.map(input::text).transpose()?;
    let told = if text.is_some() {
        "the grammar allows the text"
    } else {
        "the grammar can be used"
    };
    let Some(text) = text.filter(|text| !recogniser.accepts(text)) else {
        writeln!(screen, "{told}");
        return Ok(());
    };
    let fit = recogniser.reach(&text).map_err(input::failed(file))?;
    let rest: String = text[fit..].chars().take(40).collect();
    Err(Failure::Failed(if rest.is_empty() {
        "the text is incomplete: the grammar expects more".to_owned()
    } else {
        format!("the grammar does not allow the text from byte {fit} on: {rest:?}")
    }))
}
