//! Any response template: an error, or one that outputs are read by, and that can be written again.

use std::sync::LazyLock;

use chatparse::{ChatTemplate, ErrorKind, Request, Stream, TemplateOptions, builtin};
use serde_json::Value;

use super::choices::Choices;
use super::{feed, known};

/// Those of our own templates.
static WRITTEN: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let templates = builtin::names().filter_map(ChatTemplate::builtin);
    let written = templates.filter_map(|template| template.response_template().ok());
    written.map(|written| written.template.to_json()).collect()
});

/// What is put into them.
const WORDS: &[&str] = &[
    "open",
    "close",
    "open_pattern",
    "close_pattern",
    "content",
    "json",
    "xml-inline",
    "text",
    "repeats",
    "transform",
    "{content}",
    "{name}",
    "{content.name}",
    "tag_pattern",
    "string_delims",
    "content_args",
    "thinking",
    "tool_calls",
    "(?P<name>\\w+)",
    "(?P<key>[^>]+)",
    "(?P<value>.*?)",
    "(?P<id>a(?P<name>b))",
    "(?:",
    ")",
    "|",
    "?",
    "\\s*",
    "\\d+",
    "(?=",
    "\\Z",
    "$",
    "[",
    "]",
    "\\",
    "<think>",
    "<call>",
    "{\"name\": \"",
    "}",
    ", ",
    "\n",
    " ",
    "é",
];

pub fn case(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut response_template = choices.pick(&WRITTEN).clone();
    for _ in 0..choices.below(6) {
        choices.mutate_json(&mut response_template, WORDS);
    }
    let shown = response_template.to_string();
    let mut options = TemplateOptions::default();
    options.response_template = response_template;
    let template = match ChatTemplate::with_options("", &options) {
        Ok(template) => template,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{shown}: {error}");
            assert!(
                options.response_template.is_null()
                    || error.message().contains("response_template"),
                "{error}"
            );
            return;
        }
    };
    let request = known::request(choices.below(known::REQUESTS));
    let request = Request::from_json(&request).unwrap_or_else(|error| panic!("{error}"));
    drop(template.response_template());
    let Ok(params) = template.params(&request) else {
        return;
    };
    let pieces: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
    let mut output =
        b"<think>a</think>b<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>".to_vec();
    choices.mutate(&mut output, &pieces);
    let cut_off = choices.once_in(2);
    feed::check(
        &Stream::new(&params.parser),
        &shown,
        &output,
        cut_off,
        &mut choices,
    );
}
