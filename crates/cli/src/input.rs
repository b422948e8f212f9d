//! Reads the inputs of commands (templates, requests, outputs), with errors that name the input.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use chatparse::message::number;
use chatparse::{ChatTemplate, ErrorKind, Place, Request, TemplateOptions, builtin};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, ValueHint};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::nearest::hint;

// The structs without a documentation of their own would give it to the commands that have them.
#[derive(clap::Args)]
pub struct Template {
    /// A Jinja file, a tokenizer_config.json or chat_template.json with a template in it, or the
    /// name of a built-in template
    #[arg(value_parser = TemplateWord, hide_possible_values = true)]
    pub template: OsString,
}

#[derive(clap::Args)]
pub struct Tokens {
    /// The token that begins a prompt, e.g. '<s>'
    #[arg(long, value_name = "TEXT")]
    pub bos: Option<String>,
    /// The token that ends a turn, e.g. '</s>'
    #[arg(long, value_name = "TEXT")]
    pub eos: Option<String>,
    /// Which template, if a tokenizer_config.json has several; default: default
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

// For commands that read output.
#[derive(clap::Args)]
pub struct Reading {
    /// Learn from the template only, without the built-in rules for families
    #[arg(long)]
    pub learn_only: bool,
    #[command(flatten)]
    pub tokens: Tokens,
}

#[derive(clap::Args)]
pub struct Described {
    /// A response template (JSON) by which the output is read, unless another reader reads back
    /// more of what the template renders
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    response_template: Option<OsString>,
}

/// Takes any word, and lets shells complete the names of built-in templates.
#[derive(Clone)]
pub struct TemplateWord;

impl TypedValueParser for TemplateWord {
    type Value = OsString;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<OsString, clap::Error> {
        Ok(value.to_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(builtin::names().map(PossibleValue::new)))
    }
}

/// Most bytes of a file that is no template. A prompt has a quarter of that at most, but a request
/// may hold images.
pub const FILE_BYTES: usize = 256 << 20;

/// Returns an error if standard input is to be read twice.
pub fn check_stdin<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Outcome {
    if words.into_iter().filter(|word| is_stdin(word)).count() > 1 {
        return Err(Failure::Usage(
            "standard input can be read for one thing only; name files for the others".into(),
        ));
    }
    Ok(())
}

pub fn is_stdin(word: &OsStr) -> bool {
    word == "-"
}

/// A template's text, with the tokens that go with a built-in one, or that the vocabulary beside it
/// has.
pub struct Source {
    pub text: String,
    options: TemplateOptions,
}

impl Template {
    pub fn compiled(
        &self,
        reading: &Reading,
        described: Option<&Described>,
    ) -> Outcome<ChatTemplate> {
        let source = source(&self.template)?;
        let response_template = match described {
            Some(Described {
                response_template: Some(file),
            }) => json(file)?,
            _ => Value::Null,
        };
        compile(&source, reading, response_template)
            .map_err(|error| uncompiled(&self.template, &source, &error))
    }
}

/// The template's text.
pub fn source(word: &OsStr) -> Outcome<Source> {
    let mut options = TemplateOptions::default();
    let text = match word.to_str().and_then(builtin::find) {
        Some(known) => {
            (options.bos, options.eos) = (known.bos.to_owned(), known.eos.to_owned());
            known.source.to_owned()
        }
        None => {
            options.special_tokens = beside(word);
            template_file(word)?
        }
    };
    Ok(Source { text, options })
}

/// The special tokens of the `tokenizer_config.json` beside a `chat_template.jinja`; a file that
/// cannot be read has none.
fn beside(word: &OsStr) -> Vec<String> {
    let path = Path::new(word);
    if path.file_name() != Some("chat_template.jinja".as_ref()) {
        return Vec::new();
    }
    let config = std::fs::read_to_string(path.with_file_name("tokenizer_config.json"));
    let fields = serde_json::from_str(&config.unwrap_or_default()).unwrap_or_default();
    chatparse::chat::special_tokens(&fields)
}

/// Compiles a template with the command's options. The response template may be null.
pub fn compile(
    source: &Source,
    reading: &Reading,
    response_template: Value,
) -> chatparse::Result<ChatTemplate> {
    let mut options = source.options.clone();
    let Tokens { bos, eos, name } = &reading.tokens;
    for (option, value) in [
        (&mut options.bos, bos),
        (&mut options.eos, eos),
        (&mut options.name, name),
    ] {
        if let Some(value) = value {
            option.clone_from(value);
        }
    }
    options.learn_only = reading.learn_only;
    options.response_template = response_template;
    ChatTemplate::with_options(&source.text, &options)
}

/// The error for a text that is not a template.
pub fn uncompiled(word: &OsStr, source: &Source, error: &chatparse::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::InvalidArgument => no_template(word, &source.text),
        _ => None,
    };
    with_hint(placed(word, error), hint)
}

/// A hint for a JSON file without a template.
fn no_template(word: &OsStr, text: &str) -> Option<String> {
    let fields: Value = serde_json::from_str(text).ok()?;
    if fields.get("messages").is_some() {
        return Some("this reads like a request; TEMPLATE comes first, then REQUEST".into());
    }
    if fields.get("chat_template").is_some() {
        return None;
    }
    let beside = Path::new(word).with_file_name("chat_template.jinja");
    Some(match beside.is_file() {
        true => format!("there is a template beside it: {}", beside.display()),
        false => "a model's template may be in a file of its own, chat_template.jinja or chat_template.json".into(),
    })
}

fn template_file(word: &OsStr) -> Outcome<String> {
    if !is_stdin(word) && !Path::new(word).exists() {
        let given = word.to_string_lossy();
        let message = format!(
            "there is no file {given:?}, and no built-in template of that name{}",
            hint(&given)
        );
        return Err(Failure::Failed(message));
    }
    let bytes = read(word, ChatTemplate::MAX_BYTES)?;
    if bytes.starts_with(b"GGUF") {
        let message = format!("{}: a model in GGUF, not a template", name(word));
        let hint = "its template is the metadata tokenizer.chat_template; save that as a file, e.g. with gguf-dump --json \
                    --no-tensors and jq, or take it from the model's tokenizer_config.json";
        return Err(with_hint(message, Some(hint.into())));
    }
    utf8(word, bytes, ChatTemplate::MAX_BYTES)
}

/// Reads the request, with options in addition.
pub fn request(word: &OsStr, options: &Value) -> Outcome<Request> {
    let text = text(word)?;
    Request::from_text_with(&text, &options.to_string()).map_err(
        |error| match serde_json::from_str::<IgnoredAny>(&text) {
            Err(error) => no_json(word, &text, &error),
            Ok(_) => failed(word, &error),
        },
    )
}

/// Reads a JSON value.
pub fn json(word: &OsStr) -> Outcome<Value> {
    let text = text(word)?;
    number::read(&text).map_err(|error| no_json(word, &text, &error))
}

/// Reads a text.
pub fn text(word: &OsStr) -> Outcome<String> {
    utf8(word, read(word, FILE_BYTES)?, FILE_BYTES)
}

/// Reads the lines of a file one by one, each with its end.
pub fn lines(word: &OsStr, mut each: impl FnMut(&str) -> Outcome) -> Outcome {
    let mut input = BufReader::new(open(word)?);
    let mut line = String::new();
    // The line with its end.
    let most = FILE_BYTES as u64 + 1;
    loop {
        line.clear();
        match input
            .by_ref()
            .take(most)
            .read_line(&mut line)
            .map_err(|error| unreadable(word, &error))?
        {
            0 => return Ok(()),
            size if size > FILE_BYTES && !line.ends_with('\n') => {
                return Err(too_long(word, FILE_BYTES));
            }
            _ => each(&line)?,
        }
    }
}

/// Opens the file, or standard input, to be read piece by piece.
pub fn open(word: &OsStr) -> Outcome<Box<dyn Read>> {
    if is_stdin(word) {
        return Ok(Box::new(io::stdin().lock()));
    }
    if Path::new(word).is_dir() {
        return Err(directory(word));
    }
    let file = File::open(word).map_err(|error| unreadable(word, &error))?;
    Ok(Box::new(file))
}

fn directory(word: &OsStr) -> Failure {
    let mut hint = None;
    for file in [
        "chat_template.json",
        "tokenizer_config.json",
        "chat_template.jinja",
    ] {
        let path = Path::new(word).join(file);
        if path.is_file() {
            hint = Some(format!("there is a template in it: {}", path.display()));
        }
    }
    let message = format!("cannot read {}: it is a directory", name(word));
    with_hint(message, hint)
}

/// An error about an input.
pub fn failed(word: &OsStr, error: &chatparse::Error) -> Failure {
    Failure::Failed(placed(word, error))
}

/// The error with the name of its input, and the line if it is in a template.
pub fn placed(word: &OsStr, error: &chatparse::Error) -> String {
    let Some(Place {
        line,
        column,
        excerpt,
        ..
    }) = error.place()
    else {
        return format!("{}: {error}", name(word));
    };
    let mut text = name(word);
    // The lines of a template in a JSON file are not those of the file.
    if Path::new(word).extension().is_some_and(|end| end == "json") {
        text += ": chat_template";
    }
    text += &format!(":{line}");
    if let Some(column) = column {
        text += &format!(":{column}");
    }
    text += &format!(": {}", error.reason());
    if !excerpt.is_empty() {
        text += &format!("\n  {line} | {excerpt}");
    }
    text
}

/// The error of rendering a request with a template: what the template raises concerns the request.
pub fn refused(template: &OsStr, request: &OsStr, error: &chatparse::Error) -> Failure {
    match error.kind() {
        ErrorKind::Template => failed(template, error),
        _ => failed(request, error),
    }
}

/// The error for a text that is not JSON: its place, the text there, and a hint.
fn no_json(word: &OsStr, text: &str, error: &serde_json::Error) -> Failure {
    if text.trim().is_empty() {
        return unusable(word, "not JSON: it is empty");
    }
    let (mut line, mut column) = (error.line(), error.column());
    let described = error.to_string();
    let place = format!(" at line {line} column {column}");
    let what = described.strip_suffix(&place).unwrap_or(&described);
    if error.is_eof() {
        // The text ends too early: the mark comes after its last character.
        let written = text.trim_end();
        line = written.lines().count();
        column = written.lines().last().map_or(0, str::len) + 1;
    }
    let message = format!(
        "{}:{line}:{column}: not JSON: {what}{}",
        name(word),
        marked(text, line, column)
    );
    let template = text.contains("{%") || text.contains("{{");
    with_hint(
        message,
        template.then(|| "this reads like a template; TEMPLATE comes first, then REQUEST".into()),
    )
}

/// A line of a text, and a mark below its byte `column`, from 1.
fn marked(text: &str, line: usize, column: usize) -> String {
    const AROUND: usize = 36;
    let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let [mut from, mut at, mut end] = [
        column.saturating_sub(AROUND),
        column.saturating_sub(1),
        column + AROUND,
    ];
    for place in [&mut from, &mut at, &mut end] {
        while !shown.is_char_boundary(*place) {
            *place = (*place - 1).min(shown.len());
        }
    }
    let part = shown[from..end].replace('\t', " ");
    let (margin, before) = (
        line.to_string().len(),
        shown[from.min(at)..at].chars().count(),
    );
    format!("\n  {line} | {part}\n  {:margin$} | {:before$}^", "", "")
}

fn with_hint(message: String, hint: Option<String>) -> Failure {
    Failure::Failed(match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message,
    })
}

/// An error of reading an input.
pub fn unreadable(word: &OsStr, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot read {}: {error}", name(word)))
}

/// The error for an input that is too long.
pub fn too_long(word: &OsStr, most: usize) -> Failure {
    unusable(
        word,
        &format!("longer than {most} bytes, which is the limit"),
    )
}

/// The error for an input, with its name.
pub fn unusable(word: &OsStr, why: &str) -> Failure {
    Failure::Failed(format!("{}: {why}", name(word)))
}

/// Reads at most `most` bytes, and one more if there are more.
fn read(word: &OsStr, most: usize) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    open(word)?
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(word, &error))?;
    Ok(bytes)
}

/// What was read with this limit, as a text.
fn utf8(word: &OsStr, bytes: Vec<u8>, most: usize) -> Outcome<String> {
    if bytes.len() > most {
        return Err(too_long(word, most));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        unusable(word, &format!("not UTF-8 text from byte {at} on"))
    })
}

/// The name of an input.
pub fn name(word: &OsStr) -> String {
    if is_stdin(word) {
        "standard input".to_owned()
    } else {
        word.to_string_lossy().into_owned()
    }
}
