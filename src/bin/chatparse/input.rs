//! Reading what commands are given: templates, requests, outputs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use chatparse::{ChatTemplate, ErrorKind, Request, TemplateOptions, builtin};

use crate::args::Args;
use crate::failure::{Failure, Outcome};

/// The options with a value that [`template`] looks at.
pub const TEMPLATE_OPTIONS: &[&str] = &["--bos", "--eos", "--name"];
/// The flag that [`template`] looks at, for commands that read output.
pub const LEARN_ONLY: &str = "--learn-only";

/// Refuses to read standard input for two things.
pub fn check_stdin(words: &[&OsStr]) -> Outcome {
    if words.iter().filter(|word| is_stdin(word)).count() > 1 {
        return Err(Failure::Usage("standard input can be read for one thing only; name files for the others".into()));
    }
    Ok(())
}

fn is_stdin(word: &OsStr) -> bool {
    word == "-"
}

/// The template that the first word names.
pub fn template(args: &Args) -> Outcome<ChatTemplate> {
    let word = args.word(0).unwrap_or_default();
    let known = word.to_str().and_then(builtin::find);
    let (source, bos, eos) = match known {
        Some(known) => (known.source.to_owned(), known.bos, known.eos),
        None => (template_file(word)?, "", ""),
    };
    let text = |name: &str, known: &str| args.value(name).unwrap_or(known).to_owned();
    let options = TemplateOptions {
        name: text("--name", ""),
        bos: text("--bos", bos),
        eos: text("--eos", eos),
        learn_only: args.flag(LEARN_ONLY),
        ..TemplateOptions::default()
    };
    ChatTemplate::with_options(&source, &options).map_err(|error| failed(word, &error))
}

fn template_file(word: &OsStr) -> Outcome<String> {
    let names = || builtin::names().collect::<Vec<_>>().join(", ");
    let bytes = match read(word) {
        Err(Failure::Failed(message)) if !is_stdin(word) && !Path::new(word).exists() => {
            return Err(Failure::Failed(format!("{message}; it is no built-in template either ({})", names())));
        }
        read => read?,
    };
    utf8(word, bytes)
}

/// The request that the word names.
pub fn request(word: &OsStr) -> Outcome<Request> {
    let text = text(word)?;
    Request::from_text(&text).map_err(|error| failed(word, &error))
}

/// The same, with options beside it.
pub fn request_with(word: &OsStr, options: &serde_json::Value) -> Outcome<Request> {
    Request::from_json_with(&json(word)?, options).map_err(|error| failed(word, &error))
}

/// The JSON value that the word names.
pub fn json(word: &OsStr) -> Outcome<serde_json::Value> {
    serde_json::from_str(&text(word)?).map_err(|error| Failure::Failed(format!("{}: {error}", name(word))))
}

/// The text that the word names.
pub fn text(word: &OsStr) -> Outcome<String> {
    utf8(word, read(word)?)
}

/// The word's file, or standard input, to be read as it comes.
pub fn open(word: &OsStr) -> Outcome<Box<dyn Read>> {
    if is_stdin(word) {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(word) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(unreadable(word, &error)),
    }
}

/// A failure about the input that the word names.
pub fn failed(word: &OsStr, error: &chatparse::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", name(word)))
}

/// The request that `request` names fails on the template that the first word names: what the template raises is about that one.
pub fn refused(args: &Args, request: &OsStr, error: &chatparse::Error) -> Failure {
    match error.kind() {
        ErrorKind::Template => failed(args.word(0).unwrap_or_default(), error),
        _ => failed(request, error),
    }
}

/// A failure to read the input that the word names.
pub fn unreadable(word: &OsStr, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot read {}: {error}", name(word)))
}

fn read(word: &OsStr) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    open(word)?.read_to_end(&mut bytes).map_err(|error| unreadable(word, &error))?;
    Ok(bytes)
}

fn utf8(word: &OsStr, bytes: Vec<u8>) -> Outcome<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Failed(format!("{}: not UTF-8 text from byte {at} on", name(word)))
    })
}

fn name(word: &OsStr) -> String {
    if is_stdin(word) { "standard input".to_owned() } else { word.to_string_lossy().into_owned() }
}
