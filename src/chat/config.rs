//! Reads templates from the files of models: `tokenizer_config.json` and `chat_template.json`.

use serde_json::Value;

use chatparse_base::limits;
use chatparse_base::{Error, ErrorKind, Result};

/// A template, the special tokens and the response template in such a file.
#[derive(Debug, PartialEq)]
pub(super) struct Config {
    /// The template; empty if there is a response template only.
    pub source: String,
    pub bos: String,
    pub eos: String,
    /// The response template; `Null` if there is none.
    pub response_template: Value,
    /// The special tokens that the file lists; empty if it lists none.
    pub special_tokens: Vec<String>,
}

impl Config {
    /// Reads `text`, if it is a JSON object; `None` if it is a template's source. If it has several templates, `name`
    /// chooses one (empty: `default`).
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where there is no template in it, or none of that name, and for the name of a file.
    pub fn read(text: &str, name: &str) -> Result<Option<Config>> {
        // A prompt that never changes is hardly ever meant.
        let is_line = !text.contains(['{', '\n']) && text.len() < 4096;
        if is_line && [".jinja", ".jinja2", ".j2", ".json"].iter().any(|end| text.ends_with(end)) {
            return Err(Error::invalid(format!("{text:?} is the name of a file; its text is wanted")));
        }
        // A template does not begin like a JSON object's first key, and is longer.
        let inside = text.trim_start().strip_prefix('{').map(str::trim_start);
        if !inside.is_some_and(|inside| inside.starts_with(['"', '}'])) {
            return Ok(None);
        }
        if text.len() > limits::CONFIG_BYTES {
            let message = format!("the file has {} bytes, more than {}", text.len(), limits::CONFIG_BYTES);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let Ok(fields) = chatparse_base::json::from_text::<Value>(text) else { return Ok(None) };
        let token = |name: &str| {
            let token = &fields[name];
            let text = token.as_str().or_else(|| token["content"].as_str());
            text.unwrap_or_default().to_owned()
        };
        let source = match &fields["chat_template"] {
            Value::String(source) => source.clone(),
            Value::Array(named) => of_name(named, if name.is_empty() { "default" } else { name })?,
            _ if fields["response_template"].is_object() => String::new(),
            _ => return Err(Error::invalid("the file is a JSON object without a chat_template")),
        };
        let response_template = fields["response_template"].clone();
        let special_tokens = special_tokens(&fields);
        Ok(Some(Config { source, bos: token("bos_token"), eos: token("eos_token"), response_template, special_tokens }))
    }
}

/// The special tokens that a `tokenizer_config.json` lists; empty if it lists none. For [`crate::TemplateOptions::special_tokens`].
pub fn special_tokens(fields: &Value) -> Vec<String> {
    let listed = fields["added_tokens_decoder"].as_object().into_iter().flat_map(|tokens| tokens.values());
    let more = fields["additional_special_tokens"].as_array().into_iter().flatten();
    let named = ["bos_token", "eos_token", "pad_token", "unk_token"].map(|name| &fields[name]);
    let listed: Vec<&Value> = listed.collect();
    if listed.is_empty() {
        return Vec::new();
    }
    let all = listed.into_iter().chain(more).chain(named);
    all.filter_map(|token| token.as_str().or_else(|| token["content"].as_str())).map(str::to_owned).collect()
}

fn of_name(named: &[Value], name: &str) -> Result<String> {
    let found = named.iter().find(|template| template["name"] == name).and_then(|found| found["template"].as_str());
    found.map(str::to_owned).ok_or_else(|| {
        let known: Vec<&str> = named.iter().filter_map(|template| template["name"].as_str()).collect();
        Error::invalid(format!("chat_template: there is no template {name:?}; there are: {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_models() {
        let config = r#"{"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "{{ bos_token }}"}"#;
        let read = Config::read(config, "").unwrap().unwrap();
        let response_template = Value::Null;
        let expected = Config {
            source: "{{ bos_token }}".into(),
            bos: "<s>".into(),
            eos: "</s>".into(),
            response_template,
            special_tokens: vec![],
        };
        assert_eq!(read, expected);
        let alone = Config::read(r#"{"response_template": {"version": 1}}"#, "").unwrap().unwrap();
        assert_eq!((alone.source, alone.response_template), (String::new(), json!({"version": 1})));
        let named = r#" { "chat_template": [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]}"#;
        assert_eq!(Config::read(named, "").unwrap().unwrap().source, "a");
        assert_eq!(Config::read(named, "rag").unwrap().unwrap().source, "b");
        assert!(Config::read(named, "tools").unwrap_err().message().contains("there are: default, rag"));
        assert!(Config::read("{}", "").unwrap_err().message().contains("without a chat_template"));
        assert!(Config::read("models/model.jinja", "").unwrap_err().message().contains("the name of a file"));
        assert!(Config::read("No more of model.jinja!", "").unwrap().is_none());
        for template in ["{{ messages }}", "{% if a %}{% endif %}", "{# {\"a\": 1} #}", "Hi", "", r#"{"a": {{ b }}}"#] {
            assert_eq!(Config::read(template, "").unwrap(), None);
        }
    }
}
