//! Reads templates from the files of models: `tokenizer_config.json` and `chat_template.json`.

use serde_json::{Map, Value};

use super::options::TemplateOptions;
use chatparse_base::limits::CONFIG_BYTES;
use chatparse_base::{Error, Result};

/// Reads `text`, if it is a JSON object; `None` if it is a template's source. Returns the template,
/// which is empty if there is a response template only, and the options with what the file says
/// where nothing else was `given`.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where there is no template in it, or none of that name,
/// and for the name of a file.
pub(super) fn read(
    text: &str,
    given: &TemplateOptions,
) -> Result<Option<(String, TemplateOptions)>> {
    // A prompt that never changes is hardly ever meant.
    let is_line = !text.contains(['{', '\n']) && text.len() < 4096;
    let mut ends = [".jinja", ".jinja2", ".j2", ".json"].into_iter();
    if is_line && ends.any(|end| text.ends_with(end)) {
        return Err(Error::invalid(format!(
            "{text:?} is the name of a file; its text is wanted"
        )));
    }
    // A template does not begin like a JSON object's first key, and is longer.
    let inside = text.trim_start().strip_prefix('{').map(str::trim_start);
    if !inside.is_some_and(|inside| inside.starts_with(['"', '}'])) {
        return Ok(None);
    }
    if text.len() > CONFIG_BYTES {
        return Err(Error::limit(format!(
            "the file has {} bytes, more than {CONFIG_BYTES}",
            text.len()
        )));
    }
    let Ok(fields) = chatparse_base::json::from_text::<Value>(text) else {
        return Ok(None);
    };
    let source = match &fields["chat_template"] {
        Value::String(source) => source.clone(),
        Value::Array(named) if given.name.is_empty() => of_name(named, "default")?,
        Value::Array(named) => of_name(named, &given.name)?,
        _ if fields["response_template"].is_object() => String::new(),
        _ => {
            return Err(Error::invalid(
                "the file is a JSON object without a chat_template",
            ));
        }
    };
    let mut options = given.clone();
    for (token, name) in [
        (&mut options.bos, "bos_token"),
        (&mut options.eos, "eos_token"),
    ] {
        if token.is_empty() {
            *token = token_text(&fields[name]).unwrap_or_default().to_owned();
        }
    }
    if options.response_template.is_null() {
        options.response_template = fields["response_template"].clone();
    }
    if options.special_tokens.is_empty() {
        options.special_tokens = special_tokens(&fields);
    }
    Ok(Some((source, options)))
}

/// The text of a token, or of an object with it.
fn token_text(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token["content"].as_str())
}

/// The special tokens that a `tokenizer_config.json` lists; empty if it lists none. For
/// [`crate::TemplateOptions::special_tokens`].
pub fn special_tokens(fields: &Value) -> Vec<String> {
    let listed = fields["added_tokens_decoder"].as_object();
    let mut all: Vec<&Value> = listed.into_iter().flat_map(Map::values).collect();
    if all.is_empty() {
        return Vec::new();
    }
    if let Value::Array(more) = &fields["additional_special_tokens"] {
        all.extend(more);
    }
    all.extend(["bos_token", "eos_token", "pad_token", "unk_token"].map(|name| &fields[name]));
    let texts = all.into_iter().filter_map(token_text);
    texts.map(str::to_owned).collect()
}

fn of_name(named: &[Value], name: &str) -> Result<String> {
    let found = named.iter().find(|template| template["name"] == name);
    if let Some(source) = found.and_then(|found| found["template"].as_str()) {
        return Ok(source.to_owned());
    }
    let known = named.iter().filter_map(|other| other["name"].as_str());
    let known = known.collect::<Vec<_>>().join(", ");
    Err(Error::invalid(format!(
        "chat_template: there is no template {name:?}; there are: {known}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_models() {
        // Files of JSON, and then templates, which may look like files.
        let config = r#"{"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "{{ bos_token }}"}"#;
        let read = |text: &str, name: &str| {
            super::read(
                text,
                &TemplateOptions {
                    name: name.into(),
                    ..TemplateOptions::default()
                },
            )
        };
        let (source, options) = read(config, "").unwrap().unwrap();
        assert_eq!(
            (&*source, &*options.bos, &*options.eos),
            ("{{ bos_token }}", "<s>", "</s>")
        );
        assert!(options.response_template.is_null() && options.special_tokens.is_empty());
        let given = TemplateOptions {
            bos: "<b>".into(),
            ..TemplateOptions::default()
        };
        assert_eq!(super::read(config, &given).unwrap().unwrap().1.bos, "<b>");
        let alone = read(r#"{"response_template": {"version": 1}}"#, "")
            .unwrap()
            .unwrap();
        assert_eq!(
            (alone.0, alone.1.response_template),
            (String::new(), json!({"version": 1}))
        );
        let named = r#" { "chat_template": [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]}"#;
        assert_eq!(read(named, "").unwrap().unwrap().0, "a");
        assert_eq!(read(named, "rag").unwrap().unwrap().0, "b");
        assert!(
            read(named, "tools")
                .unwrap_err()
                .message()
                .contains("there are: default, rag")
        );
        assert!(
            read("{}", "")
                .unwrap_err()
                .message()
                .contains("without a chat_template")
        );
        assert!(
            read("models/model.jinja", "")
                .unwrap_err()
                .message()
                .contains("the name of a file")
        );
        assert!(read("No more of model.jinja!", "").unwrap().is_none());
        for template in [
            "{{ messages }}",
            "{% if a %}{% endif %}",
            "{# {\"a\": 1} #}",
            "Hi",
            "",
            r#"{"a": {{ b }}}"#,
        ] {
            assert_eq!(read(template, "").unwrap(), None);
        }
    }
}
