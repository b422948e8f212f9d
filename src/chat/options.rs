//! How a template is to be taken.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// How a template is to be taken. More fields will come: change the ones that you need in a default.
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
    /// Which of several named templates of a `tokenizer_config.json` is meant, e.g. `tool_use`; empty for `default`.
    pub name: String,
    /// The text of the model's token that begins a prompt; empty for none.
    pub bos: String,
    /// The text of the model's token that ends a turn; empty for none.
    pub eos: String,
    /// Only what the template shows by itself counts: no family of templates and no work-around is looked up.
    pub learn_only: bool,
    /// Where there are several ways to read the template's model, they prove themselves on messages that the template renders, and
    /// the best is taken. Otherwise the first is: no proof is made unless somebody asks for it. On by default.
    pub prove: bool,
}

impl Default for TemplateOptions {
    fn default() -> Self {
        TemplateOptions { name: String::new(), bos: String::new(), eos: String::new(), learn_only: false, prove: true }
    }
}

impl TemplateOptions {
    /// Options from the text of a JSON object with the names of the fields; what it leaves out is as in the default.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for another shape, and for a field that there is not.
    pub fn from_text(text: &str) -> Result<Self> {
        // A list of values is no way to say which is which.
        let fields = serde_json::from_str::<Map<String, Value>>(text);
        let options = fields.and_then(|fields| serde_json::from_value(fields.into()));
        options.map_err(|error| Error::invalid(format!("options: {error}")))
    }
}
