//! Commands as tables, and the parsing of their arguments: positional words and `--options`, in any order; `--` ends the
//! options.
//!
//! Help, manual page and completions are made from the same tables.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use crate::failure::Outcome;
use crate::nearest::{listed, nearest};
use crate::screen::Screen;

/// One command of the program.
pub struct Command {
    pub name: &'static str,
    /// A description on one line, for the general help.
    pub about: &'static str,
    /// If one line of usage is not sufficient: all lines, without the command's name.
    pub usage: &'static [&'static str],
    /// Paragraphs; one that begins with two spaces is a table of names and descriptions, separated by two spaces.
    pub text: &'static str,
    pub words: &'static [Word],
    pub options: &'static [&'static [Opt]],
    pub exit: &'static str,
    /// Whole command lines.
    pub examples: &'static [&'static str],
    pub run: fn(&Args, &mut Screen) -> Outcome,
}

/// A positional word.
pub struct Word {
    pub name: &'static str,
    pub about: &'static str,
    pub count: Count,
    pub kind: Kind,
}

/// How often a word may occur. Only the last word may occur more than once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Once,
    Maybe,
    Many,
}

/// The type of a word or a value.
#[derive(Clone, Copy)]
pub enum Kind {
    Text,
    File,
    /// A file, or one of these.
    FileOr(fn() -> Vec<&'static str>),
    /// One of these; the command checks the value.
    Names(fn() -> Vec<&'static str>),
}

/// An option, with or without a value.
pub struct Opt {
    pub name: &'static str,
    pub value: Option<(&'static str, Kind)>,
    pub about: &'static str,
}

/// The options of every command.
pub const COMMON: &[Opt] = &[
    Opt {
        name: "--color",
        value: Some(("WHEN", Kind::Names(|| vec!["auto", "always", "never"]))),
        about: "auto (the default): colours on a terminal, unless NO_COLOR is set or TERM is dumb; always; never",
    },
    Opt { name: "--help", value: None, about: "this text; also -h" },
];

impl Command {
    /// All options, common ones last.
    pub fn options(&self) -> impl Iterator<Item = &'static Opt> {
        self.options.iter().copied().flatten().chain(COMMON)
    }
}

/// The arguments of a command.
#[derive(Debug, Default)]
pub struct Args {
    words: Vec<OsString>,
    flags: Vec<&'static str>,
    values: HashMap<&'static str, String>,
}

impl Args {
    /// Parses `words` by the table of `command`. The error names the word that is wrong, and suggests another.
    pub fn read(words: &[OsString], command: &Command) -> Result<Args, String> {
        let mut args = Args::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let bytes = word.as_encoded_bytes();
            if word == "--" {
                args.words.extend(words.by_ref().cloned());
            } else if bytes.starts_with(b"-") && bytes != b"-" {
                args.option(word, &mut words, command)?;
            } else {
                args.words.push(word.clone());
            }
        }
        let given = args.words.len();
        if let Some(missing) = command.words.get(given).filter(|word| word.count != Count::Maybe) {
            return Err(format!("{} is missing", missing.name));
        }
        let many = command.words.last().is_some_and(|word| word.count == Count::Many);
        match args.words.get(command.words.len()) {
            Some(extra) if !many => Err(format!("unexpected argument {:?}", extra.to_string_lossy())),
            _ => Ok(args),
        }
    }

    fn option<'a>(
        &mut self,
        word: &OsStr,
        rest: &mut impl Iterator<Item = &'a OsString>,
        command: &Command,
    ) -> Result<(), String> {
        let text = word.to_string_lossy();
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&*text, None),
        };
        let Some(known) = command.options().find(|known| known.name == name) else {
            let near = nearest(name, command.options().map(|known| known.name));
            return Err(format!("there is no option {name}{}", listed(&near)));
        };
        if self.flag(known.name) || self.values.contains_key(known.name) {
            return Err(format!("{name} is given twice"));
        }
        let value = match (known.value, attached) {
            (None, Some(_)) => return Err(format!("{name} takes no value")),
            (None, None) => {
                self.flags.push(known.name);
                return Ok(());
            }
            (Some(_), Some(value)) => value.to_owned(),
            (Some((value, _)), None) => {
                let next = rest.next().ok_or_else(|| format!("{name} needs a value, {value}"))?;
                next.to_str().ok_or_else(|| format!("{name}: the value is not UTF-8"))?.to_owned()
            }
        };
        self.values.insert(known.name, value);
        Ok(())
    }

    /// The positional word at `index`.
    pub fn word(&self, index: usize) -> Option<&OsStr> {
        self.words.get(index).map(OsString::as_os_str)
    }

    /// All positional words.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        self.words.iter().map(OsString::as_os_str)
    }

    /// Whether the flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }

    /// The value given for the option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}
