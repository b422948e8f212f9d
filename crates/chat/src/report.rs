//! What the library knows of a template, as JSON.

use serde_json::Value;

use crate::chat::ChatTemplate;
use chatparse_response::Engine;

/// The reports about a template. `include/chatparse.h` lists their fields and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportKind {
    /// What the template accepts.
    Caps,
    /// What was learnt of an assistant's turn, for people.
    Turn,
    /// What llama.cpp tells hosts of it, and how it is written, as `described_calls` takes it.
    Layout,
    /// How well the library reads what the template writes.
    Proof,
    /// The same as the reader, as a response template for transformers, and what that cannot say.
    ResponseTemplate,
    /// The same for another engine.
    ResponseTemplateFor(Engine),
}

impl ChatTemplate {
    /// A report about the template, as the C function `chat_template_report` writes it.
    pub fn report(&self, kind: ReportKind) -> Value {
        match kind {
            ReportKind::Caps => self.caps().to_json(),
            ReportKind::Turn => self.turn(true).to_json(),
            ReportKind::Layout => {
                let mut layout = self.layout().to_json();
                layout["turn"] = json!(self.turn(true));
                layout
            }
            ReportKind::Proof => self.proof().to_json(),
            ReportKind::ResponseTemplate => {
                self.report(ReportKind::ResponseTemplateFor(Engine::Transformers))
            }
            ReportKind::ResponseTemplateFor(engine) => match self.response_template_for(engine) {
                Ok(written) => written.to_json(),
                Err(error) => {
                    json!({"response_template": null, "limits": [], "error": error.message()})
                }
            },
        }
    }
}
