//! TranslateGemma: plain text. The user's content is one part with the languages to translate between, which come from the
//! template variables of the same names.
//!
//! Not learnt, because the template renders no message in any form that requests have.

use serde_json::Value;

use super::has_all;
use crate::error::Result;
use crate::format::builder::FormatBuilder;
use crate::format::prompt::{Prompt, PromptInput, render_changed};
use crate::format::{Format, FormatSpec};
use crate::message::text_part;

const OPENING: &str = "<start_of_turn>model\n";
/// The fields of the part.
const LANGUAGES: [&str; 2] = ["source_lang_code", "target_lang_code"];
/// The language that a request does not name, as in llama.cpp.
const DEFAULT: &str = "en-GB";

/// Checks for the names of the languages.
pub fn detect(source: &str) -> bool {
    has_all(source, &["[source_lang_code]", "[target_lang_code]"])
}

/// Renders the prompt, with the texts of each user message as one part.
pub fn prompt(input: &PromptInput) -> Result<Prompt> {
    let prompt = render_changed(input, |message| {
        if message["role"] == "user" {
            let mut part = text_part(&text(&message["content"]));
            for name in LANGUAGES {
                part[name] = input.request.template_kwargs.get(name).cloned().unwrap_or_else(|| json!(DEFAULT));
            }
            message["content"] = [part].into_iter().collect();
        }
    })?;
    Ok(prompt.continued_with(input, |message, _| format!("{OPENING}{}", message.text())))
}

/// A content as one text.
fn text(content: &Value) -> String {
    let texts = match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        text => Vec::from_iter(text.as_str()),
    };
    texts.join("\n")
}

/// Builds a format of content alone.
pub fn build(_: &FormatSpec) -> Format {
    let p = FormatBuilder::default();
    let root = p.spaced([p.literal(OPENING), p.content(p.rest()), p.end()]);
    Format { output: p.finish(root), ..Format::default() }
}
