//! What both parsers made of the streams, in a file.
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use chatparse::ChatTemplate;
use serde_json::{Value, json};

static SEEN: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);
static TEMPLATES: LazyLock<Mutex<HashMap<String, ChatTemplate>>> = LazyLock::new(Mutex::default);

/// In how many ways ours reads a stream that tests cut in many.
const CUTS: usize = 4;

/// A template by its file beside the project.
pub fn template(file: &str) -> ChatTemplate {
    let mut templates = TEMPLATES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let load = || {
        let path = Path::new(&std::env::var_os("CHATPARSE_TEMPLATES").unwrap()).join(file);
        ChatTemplate::new(&std::fs::read_to_string(&path).unwrap(), "", "").unwrap()
    };
    templates.entry(file.to_owned()).or_insert_with(load).clone()
}

/// `given`: what the parsers were told beside the input; `ours` is asked for what our parser makes
/// of it.
pub fn note(parser: &str, given: &Value, pieces: &[String], theirs: &Value, ours: impl FnOnce() -> Value) {
    let input = pieces.concat();
    let times = {
        let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let times = seen.entry(json!([parser, given, input, theirs]).to_string()).or_default();
        *times += 1;
        *times
    };
    if times > CUTS {
        return;
    }
    let line = json!({"parser": parser, "given": given, "input": input, "theirs": theirs, "ours": ours()});
    let path = std::env::var_os("CHATPARSE_STREAMS").unwrap();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
