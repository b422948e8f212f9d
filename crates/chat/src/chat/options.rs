//! Options for compiling a template.

use serde::Deserialize;
use serde_json::{Map, Value};

use chatparse_base::{Result, json};

/// Options for compiling a template. Later versions may add fields: use
/// `..TemplateOptions::default()` for the rest.
///
/// ```
/// use chatparse::{ChatTemplate, TemplateOptions};
/// let mut options = TemplateOptions::default();
/// options.eos = "</s>".into();
/// options.learn_only = true;
/// let template = ChatTemplate::with_options("{{ messages[0].content ~ eos_token }}", &options)?;
/// # Ok::<(), chatparse::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TemplateOptions {
    /// The name of one of several templates in a `tokenizer_config.json`, e.g. `tool_use`; empty
    /// for `default`.
    pub name: String,
    /// The text of the model's token that begins a prompt; empty for none.
    pub bos: String,
    /// The text of the model's token that ends a turn; empty for none.
    pub eos: String,
    /// The texts of further tokens that end the model's output, e.g. those of all ids that
    /// `eos_token_id` of a `generation_config.json` lists. Templates do not see them.
    pub ends: Vec<String>,
    /// Learn from the template's renders only: use no knowledge of families of templates.
    pub learn_only: bool,
    /// If there are several readers for the template, test them on messages that the template
    /// renders, and use the best. Otherwise the first is used, and a proof is made on request only.
    /// On by default.
    pub prove: bool,
    /// A response template that says how the model's output is read (version 1, as transformers has
    /// it), in place of that of a `tokenizer_config.json`; `Null` for none. It is used unless
    /// another reader reads more of what the template renders. With it, the template may be empty.
    pub response_template: Value,
    /// The special tokens of the model's vocabulary, for the check of `lint`, in place of
    /// those of a `tokenizer_config.json`.
    pub special_tokens: Vec<String>,
}

impl Default for TemplateOptions {
    fn default() -> Self {
        TemplateOptions {
            name: String::new(),
            bos: String::new(),
            eos: String::new(),
            ends: Vec::new(),
            learn_only: false,
            prove: true,
            response_template: Value::Null,
            special_tokens: Vec::new(),
        }
    }
}

impl TemplateOptions {
    /// Reads options from the text of a JSON object with the names of the fields; missing fields
    /// have their defaults.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for another shape, and for an unknown field.
    pub fn from_text(text: &str) -> Result<Self> {
        // Parsed as an object first, because serde would accept an array of values.
        let fields: Map<_, _> =
            json::from_text(text).map_err(|error| json::wrong("options", &error))?;
        TemplateOptions::deserialize(Value::from(fields.clone())).map_err(|error| {
            // Errors of serde do not name the field: alone, it fails as well.
            for (name, value) in fields {
                let alone = Value::from_iter([(&*name, value)]);
                if let Err(error) = TemplateOptions::deserialize(alone) {
                    return json::wrong(format_args!("options.{name}"), &error);
                }
            }
            json::wrong("options", &error)
        })
    }
}
