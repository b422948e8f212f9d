//! `diff`: what another revision of a template changes.

use std::ffi::OsString;

use chatparse::lint::{Change, ChangeKind, diff};
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::input::{self, Reading};
use crate::lint;
use crate::screen::{Paint, Screen};

/// Print what a change of a template changes
///
/// Renders the same conversations with both revisions, reads the outputs that each writes with the
/// other, and asks the laws of chatparse lint about both. Prints a line for each difference, and
/// the smallest request that shows it: texts that are lost, errors, another order, other text of
/// the template, outputs that are not read any more, and laws that hold now, or not any more.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 success, 1 a template cannot be read, 2 wrong usage

Examples:
  chatparse diff old.jinja new.jinja
  chatparse diff old.gguf new/ --json | jq '.[] | select(.better == false)'"
)]
pub struct Diff {
    /// The template before
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    old: OsString,
    /// The template after
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    new: OsString,
    /// Print a JSON array of all changes
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Diff {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        input::check_stdin([self.old.as_os_str(), self.new.as_os_str()])?;
        let compiled = |word: &OsString| {
            let source = input::source(word)?;
            input::compile(&source, &self.reading, Value::Null).map_err(input::failed(word))
        };
        let changes = diff(&compiled(&self.old)?, &compiled(&self.new)?);
        if self.json {
            writeln!(screen, "{:#}", json!(changes));
            return Ok(());
        }
        screen.margin = 14;
        for change in &changes {
            show(change, screen);
        }
        let prompts = changes
            .iter()
            .any(|change| change.kind < ChangeKind::Output);
        let summary = match (&changes[..], prompts) {
            ([], _) => "no difference",
            (_, true) => "prompts differ: what is cached of earlier turns is lost where they do",
            _ => "all prompts are the same: what is cached stays",
        };
        writeln!(screen, "{summary}");
        Ok(())
    }
}

fn show(change: &Change, screen: &mut Screen) {
    let (word, paint) = match change.is_better {
        Some(true) => ("better: ", Paint::Green),
        Some(false) => ("worse: ", Paint::Red),
        None => ("", Paint::Plain),
    };
    let text = format!("{word}{}", change.message);
    screen.row(change.kind.name(), &text, paint);
    if !change.request.is_null() {
        let text = match change.count {
            1 => lint::brief(&change.request),
            count => format!("{}; {count} conversations", lint::brief(&change.request)),
        };
        screen.row("  request", &text, Paint::Faint);
    }
    for shown in &change.shown {
        if !shown.text.is_empty() {
            screen.exact(&format!("  {}", shown.from), &shown.text, Paint::Plain);
        }
    }
}
