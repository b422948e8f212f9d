//! `templates`: the built-in templates.

use std::io::Write;

use chatparse::builtin::{self, BUILTINS};

use crate::Command;
use crate::args::{Args, Syntax};
use crate::failure::{Failure, Outcome};
use crate::screen::{Paint, Screen};
use crate::text::{WIDTH, wrapped};

pub const COMMAND: Command = Command {
    name: "templates",
    help: "\
chatparse templates [NAME]

Lists the built-in templates with a word about each; with a name, prints that
template's Jinja text. Each shows one way to write reasoning and tool calls.

examples:
  chatparse templates
  chatparse templates json-call > mine.jinja
",
    syntax: Syntax { required: &[], optional: &["NAME"], flags: &[], values: &[] },
    run,
};

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    if let Some(word) = args.word(0) {
        let name = word.to_string_lossy();
        let known = builtin::find(&name).ok_or_else(|| {
            Failure::Failed(format!("there is no built-in template {name:?}; chatparse templates lists them"))
        })?;
        return Ok(screen.write_all(known.source.as_bytes())?);
    }
    let widest = builtin::names().map(str::len).max().unwrap_or(0) + 2;
    for known in BUILTINS {
        screen.paint(Paint::Strong, &format!("{:widest$}", known.name))?;
        writeln!(screen, "{}", wrapped(known.about, WIDTH - widest).join(&format!("\n{:widest$}", "")))?;
    }
    Ok(())
}
