//! `templates`: lists the built-in templates.

use std::ffi::OsString;

use chatparse::builtin::{self, BUILTINS};

use crate::failure::{Failure, Outcome};
use crate::nearest::hint;
use crate::screen::{Paint, Screen};
use crate::text::wrapped;

/// List the built-in templates
///
/// Lists the built-in templates with a short description of each. With a name, prints the Jinja
/// text of that template. Each template shows one format of reasoning and tool calls.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 success, 1 there is no such template, 2 wrong usage

Examples:
  chatparse templates
  chatparse templates json-call > mine.jinja"
)]
pub struct Templates {
    /// The template to print
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    name: Option<OsString>,
}

impl Templates {
    pub fn run(&self, screen: &mut Screen) -> Outcome {
        if let Some(word) = &self.name {
            let name = word.to_string_lossy();
            let known = builtin::find(&name).ok_or_else(|| {
                Failure::Failed(format!(
                    "there is no built-in template {name:?}{}",
                    hint(&name)
                ))
            })?;
            screen.print(known.source);
            return Ok(());
        }
        let widest = builtin::names().map(str::len).max().unwrap_or(0) + 2;
        for known in BUILTINS {
            screen.paint(Paint::Strong, &format!("{:widest$}", known.name));
            let lines = wrapped(known.about, screen.width().saturating_sub(widest));
            writeln!(screen, "{}", lines.join(&format!("\n{:widest$}", "")));
        }
        Ok(())
    }
}
