//! Arguments: positional words and `--options`, in any order; `--` ends the options.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

/// What a command takes.
pub struct Syntax {
    /// Names of the positional words that must be there.
    pub required: &'static [&'static str],
    /// Names of those that may follow.
    pub optional: &'static [&'static str],
    /// Options that are there or not, e.g. `--json`.
    pub flags: &'static [&'static str],
    /// Options with a value, e.g. `--bos TEXT`.
    pub values: &'static [&'static str],
}

/// What a command was given.
#[derive(Debug, Default)]
pub struct Args {
    words: Vec<OsString>,
    flags: Vec<&'static str>,
    values: HashMap<&'static str, String>,
}

impl Args {
    /// Sorts `words` by `syntax`. The error says which word does not fit.
    pub fn read(words: &[OsString], syntax: &Syntax) -> Result<Args, String> {
        let mut args = Args::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let bytes = word.as_encoded_bytes();
            if word == "--" {
                args.words.extend(words.by_ref().cloned());
            } else if bytes.starts_with(b"-") && bytes != b"-" {
                args.option(word, &mut words, syntax)?;
            } else {
                args.words.push(word.clone());
            }
        }
        let most = syntax.required.len() + syntax.optional.len();
        if let Some(missing) = syntax.required.get(args.words.len()) {
            return Err(format!("{missing} is missing"));
        }
        match args.words.get(most) {
            Some(extra) => Err(format!("unexpected argument {:?}", extra.to_string_lossy())),
            None => Ok(args),
        }
    }

    fn option<'a>(
        &mut self,
        word: &OsStr,
        rest: &mut impl Iterator<Item = &'a OsString>,
        syntax: &Syntax,
    ) -> Result<(), String> {
        let text = word.to_string_lossy();
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&*text, None),
        };
        if let Some(flag) = syntax.flags.iter().find(|flag| **flag == name) {
            if attached.is_some() {
                return Err(format!("{name} takes no value"));
            }
            self.flags.push(flag);
            return Ok(());
        }
        let Some(known) = syntax.values.iter().find(|known| **known == name) else {
            return Err(format!("there is no option {name}"));
        };
        let value = match attached {
            Some(value) => value.to_owned(),
            None => {
                let next = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
                next.to_str().ok_or_else(|| format!("{name}: the value is not UTF-8"))?.to_owned()
            }
        };
        self.values.insert(known, value);
        Ok(())
    }

    /// The positional word at `index`.
    pub fn word(&self, index: usize) -> Option<&OsStr> {
        self.words.get(index).map(OsString::as_os_str)
    }

    /// Whether the flag is there.
    pub fn flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }

    /// The last value given for the option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}
