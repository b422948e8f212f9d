//! A template as bytes, with what was learnt of it, so that another process need not learn it.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChatTemplate;
use crate::proof::{Choice, Tried};
use crate::reader::{AnalyzedTemplate, Reader, Response};
use chatparse_base::limits::STORED_BYTES;
use chatparse_base::{Error, Result};
use chatparse_jinja::Template;
use chatparse_learn::analysis::turn::TurnFormat;

/// The bytes before a checksum and the JSON that it is of: what they are, and the version.
const HEAD: &str = concat!("chatparse template ", env!("CARGO_PKG_VERSION"), " ");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    source: String,
    bos: String,
    eos: String,
    ends: Vec<String>,
    learn_only: bool,
    prove: bool,
    special_tokens: Vec<String>,
    response: Option<Response>,
    response_fault: Option<String>,
    findings: Value,
    /// With thinking off, and on.
    turns: [TurnFormat; 2],
    reader: String,
    tried: Vec<(String, usize, usize)>,
}

impl ChatTemplate {
    /// The template with what was learnt of it, for [`ChatTemplate::from_bytes`]: a server that
    /// starts with many models reads them instead of learning. Other versions of the library refuse
    /// them, so keep the template's source, too. The first call learns what was not needed yet, in
    /// some hundred renders. What requests with other variables (`chat_template_kwargs`) need is
    /// not in it, and is learnt when they come.
    pub fn to_bytes(&self) -> Vec<u8> {
        let analyzed = &self.0.analyzed;
        let choice = self.choice();
        let mut tried = Vec::new();
        for read in &choice.tried {
            tried.push((read.reader.to_owned(), read.cases, read.read_back));
        }
        let fault = analyzed.response_fault.as_ref();
        let stored = Stored {
            // Without its last line break it would lose another one.
            source: format!("{}\n", analyzed.template.written()),
            bos: analyzed.template.bos().to_owned(),
            eos: analyzed.template.eos().to_owned(),
            ends: analyzed.ends.clone(),
            learn_only: analyzed.learn_only,
            prove: self.0.prove,
            special_tokens: self.0.special_tokens.clone(),
            response: analyzed.response.clone(),
            response_fault: fault.map(|fault| fault.message().to_owned()),
            findings: analyzed.template.findings(),
            turns: [false, true].map(|thinking| analyzed.turn(thinking).clone()),
            reader: choice.reader.name().to_owned(),
            tried,
        };
        let body = json!(stored).to_string();
        format!("{HEAD}{:016x}\n{body}", checksum(&body)).into_bytes()
    }

    /// Reads [`ChatTemplate::to_bytes`] of this version of the library. Nothing is learnt or
    /// proved, and the template is compiled when it first renders. The bytes may come from
    /// anywhere: those that were changed on purpose, and not only damaged, can make a template that
    /// renders or reads wrongly, as another source can.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for bytes of another version, that are damaged, or that are
    /// none of a template; [`crate::ErrorKind::Limit`] for too many of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > STORED_BYTES {
            return Err(Error::limit(format!(
                "template: more than {STORED_BYTES} stored bytes"
            )));
        }
        if !bytes.starts_with(b"chatparse template ") {
            return Err(wrong("these bytes are no stored template"));
        }
        let Some(checked) = bytes.strip_prefix(HEAD.as_bytes()) else {
            return Err(wrong(
                "it was stored by another version of the library; make it from its source",
            ));
        };
        let body = String::from_utf8_lossy(checked.get(17..).unwrap_or_default());
        if checked.get(..17) != Some(format!("{:016x}\n", checksum(&body)).as_bytes()) {
            return Err(wrong("the stored bytes are damaged"));
        }
        let stored: Stored =
            serde_json::from_str(&body).map_err(|error| wrong(&format!("stored: {error}")))?;
        let template =
            Template::stored(&stored.source, &stored.bos, &stored.eos, &stored.findings)?;
        let mut analyzed = AnalyzedTemplate::new(template, &[], stored.learn_only);
        analyzed.ends = stored.ends;
        analyzed.turns = stored.turns.map(OnceLock::from);
        analyzed.response = stored.response;
        analyzed.response_fault = stored.response_fault.map(Error::invalid);
        let template = ChatTemplate::analyzed(analyzed, stored.prove, stored.special_tokens);
        let mut choice = Choice {
            reader: template.candidate(&stored.reader)?,
            tried: Vec::new(),
        };
        for (name, cases, read_back) in stored.tried {
            choice.tried.push(Tried {
                reader: template.candidate(&name)?.name(),
                cases,
                read_back,
            });
        }
        let _ = template.0.choice.set(choice);
        Ok(template)
    }

    /// The candidate of this name.
    fn candidate(&self, name: &str) -> Result<Arc<Reader>> {
        let mut candidates = self.0.candidates.iter();
        let found = candidates.find(|reader| reader.name() == name);
        found
            .cloned()
            .ok_or_else(|| wrong("its reader is not one of this library"))
    }
}

fn wrong(what: &str) -> Error {
    Error::invalid(format!("template: {what}"))
}

/// FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
