//! `completions`: prints completion scripts for shells, made from the tables of the commands.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::COMMANDS;
use crate::args::{Args, COMMON, Command, Count, Kind, Opt, Word};
use crate::failure::{Failure, Outcome};
use crate::nearest::{listed, nearest};
use crate::screen::Screen;

pub const COMMAND: Command = Command {
    name: "completions",
    about: "print the completions of a shell",
    usage: &[],
    text: "Prints a script with which the shell completes commands, options, their values, and the names of built-in \
           templates. Save it where the shell looks for it; packages do that.",
    words: &[Word { name: "SHELL", about: "bash, zsh or fish", count: Count::Once, kind: Kind::Names(shells) }],
    options: &[],
    exit: "0 success, 1 failure, 2 wrong usage",
    examples: &[
        "chatparse completions bash > ~/.local/share/bash-completion/completions/chatparse",
        "chatparse completions zsh > ~/.zfunc/_chatparse",
        "chatparse completions fish > ~/.config/fish/completions/chatparse.fish",
    ],
    run,
};

type Script = fn() -> Result<String, std::fmt::Error>;

const SHELLS: &[(&str, Script)] = &[("bash", bash), ("zsh", zsh), ("fish", fish)];

fn shells() -> Vec<&'static str> {
    SHELLS.iter().map(|(name, _)| *name).collect()
}

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let word = args.word(0).unwrap_or_default().to_string_lossy();
    let Some((_, script)) = SHELLS.iter().find(|(name, _)| *name == word) else {
        let near = listed(&nearest(&word, shells().into_iter()));
        return Err(Failure::Usage(format!("SHELL must be bash, zsh or fish, not {word:?}{near}")));
    };
    let text = script().map_err(|_| Failure::Failed("the script cannot be written".into()))?;
    Ok(screen.write_all(text.as_bytes())?)
}

/// The names for a word or a value, and whether it may also be a file.
fn choices(kind: Kind) -> (Vec<&'static str>, bool) {
    match kind {
        Kind::Text => (Vec::new(), false),
        Kind::File => (Vec::new(), true),
        Kind::FileOr(names) => (names(), true),
        Kind::Names(names) => (names(), false),
    }
}

fn command_names() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.name).collect()
}

fn bash() -> Result<String, std::fmt::Error> {
    let mut out =
        String::from("# Completions of chatparse for bash, made by `chatparse completions bash`.\n_chatparse() {\n");
    out += "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n";
    out += "    local command= word options= names= files=\n";
    out += "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n        case $word in\n";
    writeln!(out, "            {}) command=$word; break ;;", command_names().join(" | "))?;
    out += "        esac\n    done\n    case $command,$previous in\n";
    let values = |option: &Opt, command: &str| {
        option.value.map(|(_, kind)| {
            let (names, file) = choices(kind);
            let file = if file { " files=1" } else { "" };
            format!("        {command},{}) names='{}'{file} ;;\n", option.name, names.join(" "))
        })
    };
    for command in COMMANDS {
        let own = command.options.iter().copied().flatten();
        out.extend(own.filter_map(|option| values(option, command.name)));
    }
    out.extend(COMMON.iter().filter_map(|option| values(option, "*")));
    out += "        *)\n            case $command in\n";
    writeln!(out, "                '') options='--help --version --color' names='{}' ;;", command_names().join(" "))?;
    for command in COMMANDS {
        let options: Vec<&str> = command.options().map(|option| option.name).collect();
        let (names, files): (Vec<_>, Vec<_>) = command.words.iter().map(|word| choices(word.kind)).unzip();
        let file = if files.contains(&true) { " files=1" } else { "" };
        let (options, names) = (options.join(" "), names.concat().join(" "));
        writeln!(out, "                {}) options='{options}' names='{names}'{file} ;;", command.name)?;
    }
    out += "            esac ;;\n    esac\n    [[ $current == -* ]] && names=$options files=\n";
    out += "    COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n";
    out += "    if [[ $files ]]; then\n        compopt -o filenames\n";
    out += "        while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -f -- \"$current\")\n    fi\n";
    out += "    return 0\n}\ncomplete -F _chatparse chatparse\n";
    Ok(out)
}

fn zsh() -> Result<String, std::fmt::Error> {
    let mut out =
        String::from("#compdef chatparse\n# Completions of chatparse for zsh, made by `chatparse completions zsh`.\n");
    out += "_chatparse() {\n  local -a commands=(\n";
    for command in COMMANDS {
        writeln!(out, "    {}", quoted(&format!("{}:{}", command.name, command.about.replace(':', "\\:"))))?;
    }
    out += "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n";
    out += "    _arguments '--help[print the help]' '--version[print the version]'\n    return\n  fi\n";
    out += "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
    for command in COMMANDS {
        writeln!(out, "    {})\n      _arguments \\", command.name)?;
        for option in command.options() {
            let about = option.about.replace('[', "\\[").replace(']', "\\]");
            let value =
                option.value.map_or(String::new(), |(value, kind)| format!(":{value}:{}", zsh_action(value, kind)));
            writeln!(out, "        {} \\", quoted(&format!("{}[{about}]{value}", option.name)))?;
        }
        for (index, word) in command.words.iter().enumerate() {
            let place = match word.count {
                Count::Once => format!("{}:", index + 1),
                Count::Maybe => format!("{}::", index + 1),
                Count::Many => "*:".to_owned(),
            };
            writeln!(
                out,
                "        {} \\",
                quoted(&format!("{place}{}:{}", word.name, zsh_action(word.name, word.kind)))
            )?;
        }
        out += "        && return\n      ;;\n";
    }
    out += "  esac\n}\n_chatparse \"$@\"\n";
    Ok(out)
}

fn zsh_action(name: &str, kind: Kind) -> String {
    match choices(kind) {
        (names, true) if names.is_empty() => "_files".to_owned(),
        (names, true) => {
            let what = name.to_lowercase();
            format!("_alternative \"files:file:_files\" \"{what}:{what}:({})\"", names.join(" "))
        }
        (names, false) if names.is_empty() => String::new(),
        (names, false) => format!("({})", names.join(" ")),
    }
}

fn fish() -> Result<String, std::fmt::Error> {
    let mut out = String::from("# Completions of chatparse for fish, made by `chatparse completions fish`.\n");
    for command in COMMANDS {
        let about = quoted(command.about);
        writeln!(out, "complete -c chatparse -f -n __fish_use_subcommand -a {} -d {about}", command.name)?;
    }
    out += "complete -c chatparse -n __fish_use_subcommand -l version -d 'the version'\n";
    for option in COMMON {
        writeln!(out, "complete -c chatparse{}", fish_option(option))?;
    }
    for command in COMMANDS {
        let here = format!("complete -c chatparse -n '__fish_seen_subcommand_from {}'", command.name);
        for option in command.options.iter().copied().flatten() {
            writeln!(out, "{here}{}", fish_option(option))?;
        }
        for word in command.words {
            let (names, file) = choices(word.kind);
            if !names.is_empty() {
                let only = if file { "" } else { " -f" };
                writeln!(out, "{here}{only} -a {} -d {}", quoted(&names.join(" ")), word.name)?;
            }
        }
        if !command.words.iter().any(|word| choices(word.kind).1) {
            writeln!(out, "{here} -f")?;
        }
    }
    Ok(out)
}

fn fish_option(option: &Opt) -> String {
    let value = option.value.map_or(String::new(), |(_, kind)| match choices(kind) {
        (_, true) => " -r".to_owned(),
        (names, false) if names.is_empty() => " -x".to_owned(),
        (names, false) => format!(" -x -a {}", quoted(&names.join(" "))),
    });
    format!(" -l {}{value} -d {}", option.name.trim_start_matches('-'), quoted(option.about))
}

/// Quotes a text for a shell. The tables have no backslash in front of a quote or at the end of a text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
