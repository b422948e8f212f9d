//! Response templates: how a model's output is read, as a `tokenizer_config.json` may say it, for
//! transformers and others.
//! [`ChatTemplate::response_template`](crate::ChatTemplate::response_template) writes one of what
//! was learnt.

pub use chatparse_response::{Anchor, Engine, ExportedTemplate, Field, Limit, ResponseTemplate};
