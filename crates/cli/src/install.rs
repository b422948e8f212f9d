//! `completions` and `man`: what is installed with the program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::screen::Screen;

/// Print the completions of a shell
///
/// Prints a script with which the shell completes commands, options, their values, and files. Save
/// it where the shell looks for it; packages do that.
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
    pub fn run(self, screen: &mut Screen, program: &mut clap::Command) -> Outcome {
        screen.print(script(self.shell, program));
        Ok(())
    }
}

fn script(shell: Shell, program: &mut clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, program, "chatparse", &mut script);
    script
}

/// Print a manual page
///
/// Prints the manual page of the program, or of a command. With --share it writes all pages, and
/// the completions of shells, as packages install them.
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 success, 1 failure, 2 wrong usage

Examples:
  chatparse man > ~/.local/share/man/man1/chatparse.1
  chatparse man parse | man -l -")]
pub struct Man {
    command: Option<String>,
    /// Write all of them below this folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with = "command")]
    share: Option<PathBuf>,
}

impl Man {
    pub fn run(self, screen: &mut Screen, program: &mut clap::Command) -> Outcome {
        if let Some(folder) = &self.share {
            return Ok(share(folder, program)?);
        }
        program.build();
        let command = match &self.command {
            None => &*program,
            Some(name) => {
                let command = program.find_subcommand(name);
                command.ok_or_else(|| Failure::Usage(format!("there is no command {name:?}")))?
            }
        };
        screen.print(page(command)?);
        Ok(())
    }
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let (mut bytes, name) = (Vec::new(), page_name(command));
    let command = command.clone().name(name.clone()).display_name(name);
    clap_mangen::Man::new(command)
        .manual("User Commands")
        .render(&mut bytes)?;
    Ok(bytes)
}

fn page_name(command: &clap::Command) -> String {
    match command.get_name() {
        "chatparse" => "chatparse".to_owned(),
        name => format!("chatparse-{name}"),
    }
}

/// Writes the completions of shells and all manual pages below a folder.
fn share(folder: &Path, program: &mut clap::Command) -> io::Result<()> {
    for (shell, path, name) in [
        (Shell::Bash, "bash-completion/completions", "chatparse"),
        (Shell::Zsh, "zsh/site-functions", "_chatparse"),
        (Shell::Fish, "fish/vendor_completions.d", "chatparse.fish"),
    ] {
        write(&folder.join(path), name, &script(shell, program))?;
    }
    program.build();
    let commands = program
        .get_subcommands()
        .filter(|command| command.get_name() != "help");
    for command in commands.chain([&*program]) {
        let name = format!("{}.1", page_name(command));
        write(&folder.join("man/man1"), &name, &page(command)?)?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(name), bytes)
}
