//! Reads the inputs of commands (templates, requests, outputs), with errors that name the input.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use chatparse::message::number;
use chatparse::{ChatTemplate, ErrorKind, Place, Request, TemplateOptions, builtin};
use clap::ValueHint;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::gguf;
use crate::nearest::hint;

// The structs without a documentation of their own would give it to the commands that have them.
#[derive(clap::Args)]
pub struct Template {
    /// A Jinja file, a tokenizer_config.json or chat_template.json with a template in it, a GGUF
    /// file, the folder of a checkpoint, or the name of a built-in template
    #[arg(value_hint = ValueHint::AnyPath)]
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

/// A template's text, or that of a JSON object with it, and options that the place determines.
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

/// The names of the files of a checkpoint that may have its template, the preferred one first.
const TEMPLATES: [&str; 3] = [
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer_config.json",
];

/// The template of a place, with the tokens that belong to it.
pub fn source(word: &OsStr) -> Outcome<Source> {
    let mut options = TemplateOptions::default();
    if let Some(known) = word.to_str().and_then(builtin::find) {
        (options.bos, options.eos) = (known.bos.to_owned(), known.eos.to_owned());
        let text = known.source.to_owned();
        return Ok(Source { text, options });
    }
    if !is_stdin(word) && !Path::new(word).exists() {
        let given = word.to_string_lossy();
        let message = format!(
            "there is no file {given:?}, and no built-in template of that name{}",
            hint(&given)
        );
        return Err(Failure::Failed(message));
    }
    let file = checkpoint(Path::new(word)).unwrap_or_else(|| word.into());
    let mut input = BufReader::new(open(file.as_os_str())?);
    let head = input.fill_buf();
    let head = head.map_err(unreadable(word))?;
    let mut fields = Value::Null;
    let text = if head.starts_with(b"GGUF") {
        input.consume(4);
        fields = gguf::config(&mut input).map_err(unreadable(word))?;
        fields.to_string()
    } else {
        let text = read(word, input, ChatTemplate::MAX_BYTES)?;
        if file.file_name().is_some_and(|name| name == TEMPLATES[0]) {
            fields = beside(&file, TEMPLATES[2])?;
            fields["chat_template"] = text.into();
            fields["ends"] = ends(&file, &fields)?;
            fields.to_string()
        } else if is_json(&file) {
            parsed::<IgnoredAny>(file.as_os_str(), &text).map(|_| text)?
        } else {
            text
        }
    };
    for end in fields["ends"].as_array().into_iter().flatten() {
        options.ends.extend(end.as_str().map(str::to_owned));
    }
    Ok(Source { text, options })
}

/// The file of a checkpoint's folder that has its template; `None` for another path.
fn checkpoint(folder: &Path) -> Option<PathBuf> {
    let mut files = TEMPLATES.iter().map(|name| folder.join(name));
    files.find(|file| file.is_file())
}

/// The JSON object in a file of the same folder; empty if there is none.
fn beside(file: &Path, name: &str) -> Outcome<Value> {
    let file = file.with_file_name(name);
    match std::fs::read_to_string(&file) {
        Ok(text) => parsed(file.as_os_str(), &text).map(Value::Object),
        Err(_) => Ok(json!({})),
    }
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "json")
}

/// The texts of the tokens that end outputs, by the `generation_config.json` beside a template.
fn ends(file: &Path, fields: &Value) -> Outcome<Value> {
    let ids = beside(file, "generation_config.json")?["eos_token_id"].take();
    let ids = match ids {
        Value::Array(ids) => ids,
        id => vec![id],
    };
    let tokens = &fields["added_tokens_decoder"];
    let texts = ids
        .iter()
        .map(|id| tokens[id.to_string()]["content"].clone());
    Ok(texts.filter(Value::is_string).collect())
}

/// Whether a file is a template or a model by its ending.
pub fn is_template(path: &Path) -> bool {
    let end = path.extension();
    end.is_some_and(|end| end == "jinja" || end == "gguf")
}

/// The places that have one template each: of a folder that is no checkpoint, its templates, GGUF
/// files and checkpoints.
pub fn places(words: &[OsString]) -> Outcome<Vec<OsString>> {
    let mut all = Vec::new();
    for word in words {
        let folder = Path::new(word);
        if !folder.is_dir() || checkpoint(folder).is_some() {
            all.push(word.clone());
            continue;
        }
        let entries = std::fs::read_dir(folder).map_err(unreadable(word))?;
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            if is_template(&path) && path.is_file() || checkpoint(&path).is_some() {
                found.push(path.into_os_string());
            }
        }
        if found.is_empty() {
            return Err(unusable(
                word,
                "there is no template in it: no .jinja, no .gguf, no checkpoint",
            ));
        }
        found.sort();
        all.extend(found);
    }
    Ok(all)
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
    Some(if beside.is_file() {
        format!("there is a template beside it: {}", beside.display())
    } else {
        "a model's template may be in a file of its own, chat_template.jinja or chat_template.json"
            .into()
    })
}

/// Reads the request, with options in addition.
pub fn request(word: &OsStr, options: &Value) -> Outcome<Request> {
    let text = text(word)?;
    Request::from_text_with(&text, &options.to_string()).map_err(|error| {
        let shape = parsed::<IgnoredAny>(word, &text).err();
        shape.unwrap_or_else(|| failed(word)(error))
    })
}

/// Reads a JSON value.
pub fn json(word: &OsStr) -> Outcome<Value> {
    parsed(word, &text(word)?)
}

/// Parses the JSON text of a file.
fn parsed<T: DeserializeOwned + Send>(word: &OsStr, text: &str) -> Outcome<T> {
    number::read(text).map_err(|error| no_json(word, text, &error))
}

/// Reads a text.
pub fn text(word: &OsStr) -> Outcome<String> {
    read(word, open(word)?, FILE_BYTES)
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
            .map_err(unreadable(word))?
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
        return Err(unreadable(word)("it is a directory"));
    }
    let file = File::open(word).map_err(unreadable(word))?;
    Ok(Box::new(file))
}

/// An error about an input.
pub fn failed(word: &OsStr) -> impl Fn(chatparse::Error) -> Failure {
    move |error| Failure::Failed(placed(word, &error))
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
    if is_json(Path::new(word)) {
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
pub fn refused(template: &OsStr, request: &OsStr) -> impl Fn(chatparse::Error) -> Failure {
    move |error| match error.kind() {
        ErrorKind::Template => failed(template)(error),
        _ => failed(request)(error),
    }
}

/// The error for a text that is not JSON: its place, the text there, and a hint.
fn no_json(word: &OsStr, text: &str, error: &serde_json::Error) -> Failure {
    if text.trim().is_empty() {
        return unusable(word, "not JSON: it is empty");
    }
    let (mut line, mut column) = (error.line(), error.column());
    let wrong = number::wrong("not JSON", error);
    let what = wrong.message().split(" at line ").next();
    if error.is_eof() {
        // The text ends too early: the mark comes after its last character.
        let written = text.trim_end();
        line = written.lines().count();
        column = written.lines().last().map_or(0, str::len) + 1;
    }
    let message = format!(
        "{}:{line}:{column}: {}{}",
        name(word),
        what.unwrap_or_default(),
        marked(text, line, column)
    );
    let template = !is_json(Path::new(word)) && (text.contains("{%") || text.contains("{{"));
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
pub fn unreadable<E: Display>(word: &OsStr) -> impl Fn(E) -> Failure {
    move |error| Failure::Failed(format!("cannot read {}: {error}", name(word)))
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

/// Reads a text of at most `most` bytes.
fn read(word: &OsStr, input: impl Read, most: usize) -> Outcome<String> {
    let mut bytes = Vec::new();
    let read = input.take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(unreadable(word))?;
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
