//! `completions` and `man`: what is installed with the program.

use std::io::Write;

use chatparse::builtin;
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::screen::Screen;

/// Print the completions of a shell
///
/// Prints a script with which the shell completes commands, options, their values, and the names of built-in templates. Save it
/// where the shell looks for it; packages do that.
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 success, 1 failure, 2 wrong usage

Examples:
  chatparse completions bash > ~/.local/share/bash-completion/completions/chatparse
  chatparse completions zsh > ~/.zfunc/_chatparse
  chatparse completions fish > ~/.config/fish/completions/chatparse.fish")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self, screen: &mut Screen, mut program: clap::Command) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "chatparse", &mut script);
        let mut script = String::from_utf8_lossy(&script).into_owned();
        let names = builtin::names().collect::<Vec<_>>().join(" ");
        match self.shell {
            // Where a template is named, it may be a file, too.
            Shell::Zsh => {
                let either = format!("_alternative \"files:file:_files\" \"names:template:({names})\"");
                script = script.replace(&format!("({names})"), &either);
            }
            // Fish gets the options only.
            Shell::Fish => {
                let takes_name = |command: &&clap::Command| {
                    command.get_positionals().any(|word| word.get_possible_values().len() == builtin::names().count())
                };
                for command in program.get_subcommands().filter(takes_name) {
                    let here = format!("__fish_chatparse_using_subcommand {}", command.get_name());
                    script += &format!("complete -c chatparse -n \"{here}\" -a \"{names}\"\n");
                }
            }
            _ => {}
        }
        Ok(screen.write_all(script.as_bytes())?)
    }
}

/// Print a manual page
///
/// Prints the manual page of the program, or of a command. Packages install them.
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 success, 1 failure, 2 wrong usage

Examples:
  chatparse man > ~/.local/share/man/man1/chatparse.1
  chatparse man parse | man -l -")]
pub struct Man {
    command: Option<String>,
}

impl Man {
    pub fn run(self, screen: &mut Screen, mut program: clap::Command) -> Outcome {
        program.build();
        let page = match &self.command {
            None => program,
            Some(name) => {
                let command = program.find_subcommand(name).cloned();
                let command = command.ok_or_else(|| Failure::Usage(format!("there is no command {name:?}")))?;
                let name = format!("chatparse-{name}");
                command.name(name.clone()).display_name(name)
            }
        };
        let mut bytes = Vec::new();
        clap_mangen::Man::new(page).manual("User Commands").render(&mut bytes)?;
        Ok(screen.write_all(&bytes)?)
    }
}
