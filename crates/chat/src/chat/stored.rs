//! A template as bytes, with what was learnt of it, so that another process need not learn it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChatTemplate;
use crate::proof::{Choice, Tried};
use crate::reader::{AnalyzedTemplate, Response};
use chatparse_base::limits::STORED_BYTES;
use chatparse_base::{Error, ErrorKind, Result};
use chatparse_jinja::Template;
use chatparse_learn::analysis::turn::TurnFormat;

/// What stands in front of the version, the checksum of what follows, and that: JSON.
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
            response_fault: analyzed
                .response_fault
                .as_ref()
                .map(|fault| fault.message().to_owned()),
            findings: analyzed.template.findings(),
            turns: [false, true].map(|thinking| analyzed.turn(thinking).clone()),
            reader: choice.reader.name().to_owned(),
            tried: choice
                .tried
                .iter()
                .map(|tried| (tried.reader.to_owned(), tried.cases, tried.read_back))
                .collect(),
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
    /// [`ErrorKind::InvalidArgument`] for bytes of another version, that are damaged, or that are
    /// none of a template; [`ErrorKind::Limit`] for too many of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: &str| Error::invalid(format!("template: {what}"));
        if bytes.len() > STORED_BYTES {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("template: more than {STORED_BYTES} stored bytes"),
            ));
        }
        let kind = HEAD.split_inclusive(' ').take(2).map(str::len).sum();
        if !bytes.starts_with(&HEAD.as_bytes()[..kind]) {
            return Err(wrong("these bytes are no stored template"));
        }
        let other =
            || wrong("it was stored by another version of the library; make it from its source");
        let behind = bytes.strip_prefix(HEAD.as_bytes()).ok_or_else(other)?;
        let damaged = || wrong("the stored bytes are damaged");
        let (sum, body) = behind.split_at_checked(16).ok_or_else(damaged)?;
        let body = body.strip_prefix(b"\n").ok_or_else(damaged)?;
        let body = String::from_utf8_lossy(body);
        if sum != format!("{:016x}", checksum(&body)).as_bytes() {
            return Err(damaged());
        }
        let stored: Stored =
            serde_json::from_str(&body).map_err(|error| wrong(&format!("stored: {error}")))?;
        let template =
            Template::stored(&stored.source, &stored.bos, &stored.eos, &stored.findings)?;
        let mut analyzed =
            AnalyzedTemplate::learnt(template, stored.ends, stored.learn_only, stored.turns);
        analyzed.response = stored.response;
        analyzed.response_fault = stored.response_fault.map(Error::invalid);
        let template = ChatTemplate::analyzed(analyzed, stored.prove, stored.special_tokens);
        let reader = |name: &str| {
            template
                .0
                .candidates
                .iter()
                .find(|reader| reader.name() == name)
                .cloned()
        };
        let unknown = || wrong("its reader is not one of this library");
        let tried = stored.tried.iter().map(|(name, cases, read_back)| {
            Ok(Tried {
                reader: reader(name).ok_or_else(unknown)?.name(),
                cases: *cases,
                read_back: *read_back,
            })
        });
        let choice = Choice {
            reader: reader(&stored.reader).ok_or_else(unknown)?,
            tried: tried.collect::<Result<_>>()?,
        };
        let _ = template.0.choice.set(choice);
        Ok(template)
    }
}

/// FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
