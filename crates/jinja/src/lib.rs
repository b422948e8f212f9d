//! Renders chat templates to prompts as llama.cpp and transformers do, within bounds
//! ([`Template`]). Nothing else of chatparse knows minijinja, which parses them.
//!
//! - **In:** the source of a template, and a request.
//! - **Out:** the prompt; what the template can do, found by trial.
//! - **Never:** it knows nothing of outputs, and no render outlives its budget.
//!
//! ```text
//! source ──read──▶ tree ──run──▶ prompt, whose texts know whose they are  (budget: what a render may use)
//! request ──request──▶ Conversation ──given──▶ values ▲
//!                                      probe: what a template accepts, by trial
//! ```
//!
//! ```
//! use chatparse_jinja::Template;
//! let template = Template::new("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}", "", "")?;
//! let request = chatparse_message::Request::from_text(r#"{"messages": [{"role": "user", "content": " Hi. "}]}"#)?;
//! let prepared = chatparse_jinja::prepare(&template, &request, true)?;
//! assert_eq!(template.render(&prepared.conversation)?, "<user>Hi.");
//! # Ok::<(), chatparse_jinja::Error>(())
//! ```
#![forbid(unsafe_code)]

#[macro_use]
extern crate chatparse_base;

mod budget;
mod calls;
mod engine;
mod fault;
mod given;
mod json;
mod memo;
mod ops;
mod probe;
mod python;
mod read;
mod request;
mod run;
mod source;
mod text;
mod tree;
mod value;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use chatparse_base::find::shared;
use chatparse_base::limits::{LEARNING_WORK, TEMPLATE_BYTES};
use chatparse_message::text_part;

pub use chatparse_base::{Error, ErrorKind, Result};
use engine::{Engine, Rendered, Way};
use probe::findings::Findings;
pub use probe::marks::Marks;
use request::context::{self, EFFORT, THINKS};
pub use request::continued::{cut, whole};
pub use request::effort::laddered;
pub use request::messages::Messages;
pub use request::offered::offered;
pub use request::plain::plain;
use request::prepare;
pub use request::prepare::{Prepared, ReasoningIn, blocks, prepare, resolve};
pub use request::roles::{Arranged, Fit};
pub use request::said::{Said, is_system, lost};
pub use request::tools::Tools;
pub use source::place;
pub use source::texts::{SourceParts, SourceText};
pub use text::{From, GENERATED, MIXED, Piece, TEMPLATE};

/// The capabilities of a template, found by trial renders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Caps {
    /// A message's content may be a string.
    pub string_content: bool,
    /// A message's content may be a list of typed parts.
    pub typed_content: bool,
    /// Tools are rendered.
    pub tools: bool,
    /// An assistant's calls are rendered.
    pub tool_calls: bool,
    /// More than one call in a message is rendered.
    pub parallel_tool_calls: bool,
    /// A system message is rendered.
    pub system_role: bool,
    /// Reasoning of earlier turns is rendered on request.
    pub preserve_reasoning: bool,
    /// The template reads a level of reasoning effort.
    pub reasoning_effort: bool,
    /// The levels of effort that the template renders each in its own way, from the lowest.
    pub reasoning_effort_levels: Vec<String>,
    /// A call's arguments must be an object and not JSON text.
    pub object_arguments: bool,
    /// The field of reasoning that an assistant message must have, even if it is empty.
    pub demanded_reasoning: Option<String>,
}

impl Caps {
    /// Whether content must be a list of parts.
    pub fn wants_parts(&self) -> bool {
        self.typed_content && !self.string_content
    }

    /// A text as content, in the form that the template takes.
    pub fn content(&self, text: &str) -> Value {
        if self.wants_parts() {
            [text_part(text)].into_iter().collect()
        } else {
            text.into()
        }
    }

    /// Arguments of a call, in the form that the template takes.
    pub(crate) fn arguments(&self, arguments: Value) -> Value {
        if self.object_arguments {
            arguments
        } else {
            arguments.to_string().into()
        }
    }

    /// Adds to a message the field that the template demands.
    pub fn complete(&self, message: &mut Value) {
        let (Some(field), Value::Object(fields)) = (&self.demanded_reasoning, message) else {
            return;
        };
        if fields.get("role").is_some_and(|role| role == "assistant") {
            fields
                .entry(&**field)
                .or_insert_with(|| Value::String(String::new()));
        }
    }

    /// Each capability that is there or not, with its name for hosts, e.g. `supports_tools`.
    pub fn named(&self) -> [(&'static str, bool); 9] {
        macro_rules! supported {
            ($($field:ident)*) => { [$((concat!("supports_", stringify!($field)), self.$field),)*] };
        }
        supported!(
            string_content typed_content tools tool_calls parallel_tool_calls system_role
            preserve_reasoning reasoning_effort object_arguments
        )
    }

    /// The capabilities as a JSON object: booleans, and `reasoning_effort_levels`, a list of
    /// strings.
    pub fn to_json(&self) -> Value {
        let mut all: Value = self.named().into_iter().collect();
        all["reasoning_effort_levels"] = json!(self.reasoning_effort_levels);
        all
    }
}

/// The host whose variables a template has besides the conversation's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Our variables, and those of transformers: without tools and documents, `tools` and
    /// `documents` are `none`, unless the template raises on that.
    Own,
    /// Those of llama.cpp, which leaves `tools` and `add_generation_prompt` undefined.
    LlamaCpp,
    /// Those that transformers always passes and the special tokens; the source is not patched, and
    /// a text that is added to one that is marked as safe is escaped.
    Transformers,
}

/// The input of one render.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// An array of OpenAI messages, prepared for the template.
    pub messages: Messages,
    /// The tools, prepared for the template.
    pub tools: Tools,
    /// The template variable `enable_thinking`.
    pub enable_thinking: bool,
    /// Whether the prompt ends with the opening of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Whose variables the template has.
    pub host: Host,
    /// Further template variables. They replace all others except `add_generation_prompt`.
    pub extra: Map<String, Value>,
    /// Unix seconds, UTC. Without it, a template that reads the date fails.
    pub now: Option<i64>,
}

/// A prompt with the origins of its stretches.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The prompt.
    pub text: String,
    /// Its stretches, in order; what follows the last one is the template's.
    pub pieces: Vec<Piece>,
    /// The values by their numbers in [`Piece::from`], from 1: a pointer into the conversation,
    /// whose first step is the variable, and whether it is the name of a member.
    pub sources: Vec<(String, bool)>,
}

/// The texts before the name and before the number in an id that has both, as models write it.
pub const NAMED_ID: [&str; 2] = ["functions.", ":"];

/// A template, its special tokens, and the findings of its trials. Immutable; threads may share it.
#[derive(Clone)]
pub struct Template {
    own: Arc<Source>,
    /// The source without the patches for known faults, if it has such.
    unpatched: Option<Arc<Source>>,
    bos: String,
    eos: String,
    ways: prepare::Ways,
    findings: Findings,
    /// The variables that the template is learnt under.
    variables: Arc<Map<String, Value>>,
    /// The renders of a template that traces them, each with its conversation.
    log: Option<Arc<Mutex<Vec<(Conversation, Traced)>>>>,
    /// All names and numbers of the source.
    words: OnceLock<Arc<HashSet<String>>>,
}

/// A text, and its engine, which is made on first use.
struct Source {
    text: String,
    engine: OnceLock<Engine>,
}

impl Source {
    fn new(text: String) -> Arc<Source> {
        Arc::new(Source {
            text,
            engine: OnceLock::new(),
        })
    }

    fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| Engine::new(&self.text))
    }
}

impl Template {
    /// Compiles `source`. `bos` and `eos` are the texts of the special tokens; empty if the model
    /// has none.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] where the source is too long, [`ErrorKind::Template`] with the line
    /// where it does not parse.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Template> {
        let template = Template::uncompiled(source, bos, eos, Findings::default())?;
        let fault = template.own.engine().fault().cloned();
        fault.map_or(Ok(template), Err)
    }

    /// A template that was stored, with its findings. Its first render compiles it, and fails if it
    /// does not parse.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the source is too long, [`ErrorKind::InvalidArgument`] if `findings`
    /// do not come from [`Template::findings`].
    pub fn stored(source: &str, bos: &str, eos: &str, findings: &Value) -> Result<Template> {
        match Findings::deserialize(findings) {
            Ok(findings) => Template::uncompiled(source, bos, eos, findings),
            Err(error) => {
                let what = "what is stored of its trials cannot be read";
                Err(Error::invalid(format!("template: {what}: {error}")))
            }
        }
    }

    fn uncompiled(source: &str, bos: &str, eos: &str, findings: Findings) -> Result<Template> {
        let bytes = source.len();
        if bytes > TEMPLATE_BYTES {
            let why = format!("the template has {bytes} bytes, more than {TEMPLATE_BYTES}");
            return Err(Error::limit(why));
        }
        let whole = source::normalize(source);
        let patched = source::patched(&whole);
        let unpatched = patched.is_some().then(|| Source::new(whole.clone()));
        let own = Source::new(patched.unwrap_or(whole));
        Ok(Template {
            ways: prepare::Ways::of(&own.text),
            own,
            unpatched,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
            findings,
            variables: Arc::default(),
            log: None,
            words: OnceLock::new(),
        })
    }

    /// The same template with the limits for short probes, for each and for all of them. After a
    /// probe that reaches a limit, all others fail.
    pub fn probing(&self) -> Template {
        Template {
            own: Arc::new(Source {
                text: self.own.text.clone(),
                engine: self.own.engine().for_probes(LEARNING_WORK).into(),
            }),
            ..self.clone()
        }
    }

    /// The same template, learnt under these variables.
    pub fn under(&self, variables: Map<String, Value>) -> Template {
        Template {
            variables: Arc::new(variables),
            ..self.clone()
        }
    }

    /// The variables that it is learnt under.
    pub fn variables(&self) -> &Map<String, Value> {
        &self.variables
    }

    /// Whether the source may read this variable of a request, under any of its names, and does not
    /// get its value elsewhere.
    pub fn reads(&self, name: &str) -> bool {
        const OWN: [&str; 6] = [
            "enable_thinking",
            "messages",
            "tools",
            "bos_token",
            "eos_token",
            "add_generation_prompt",
        ];
        let names = if name == EFFORT[0] {
            &EFFORT[..]
        } else {
            &[name]
        };
        !OWN.contains(&name) && names.iter().any(|name| self.has_word(name))
    }

    /// Whether the source has this name or number.
    pub fn has_word(&self, word: &str) -> bool {
        let words = self.words.get_or_init(|| {
            let text = &self.own.text;
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            Arc::new(words.map(str::to_owned).collect())
        });
        words.contains(word)
    }

    /// Whether the source has this text in quotes.
    pub fn has_literal(&self, literal: &str) -> bool {
        let text = &self.own.text;
        ["'", "\""]
            .iter()
            .any(|quote| text.contains(&[quote, literal, quote].concat()))
    }

    /// The template's text: with line feeds only, without the last one, and with the patches for
    /// known faults.
    pub fn source(&self) -> &str {
        &self.own.text
    }

    /// The template's text without the patches: the author's.
    pub fn written(&self) -> &str {
        &self.unpatched.as_ref().unwrap_or(&self.own).text
    }

    /// Whether the source names `enable_thinking`.
    pub fn knows_thinking_switch(&self) -> bool {
        self.own.text.contains(THINKS)
    }

    /// The text of the token that begins a prompt.
    pub fn bos(&self) -> &str {
        &self.bos
    }

    /// The text of the token that ends a turn.
    pub fn eos(&self) -> &str {
        &self.eos
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] with the line where the template raises or fails,
    /// [`ErrorKind::Limit`] where it takes too many steps, recurses too deeply or builds too much
    /// text.
    pub fn render(&self, conversation: &Conversation) -> Result<String> {
        Ok(self.rendered(conversation)?.text)
    }

    /// The same template, which keeps the origins of what it renders.
    pub fn tracing(&self) -> Template {
        Template {
            log: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// The renders since [`Template::tracing`], with what they were of.
    pub fn take_traced(&self) -> Vec<(Conversation, Traced)> {
        let log = self.log.as_ref().map(|log| log.lock());
        let log = log.map(|log| std::mem::take(&mut *log.unwrap_or_else(PoisonError::into_inner)));
        log.unwrap_or_default()
    }

    fn rendered(&self, conversation: &Conversation) -> Result<Rendered> {
        let is_traced = self.log.is_some();
        let engine = self.engine(conversation);
        let takes_none = conversation.host == Host::Own && self.takes_none();
        let way = Way {
            is_plain: conversation.host == Host::Transformers,
            is_traced,
            now: conversation.now,
            trial: None,
        };
        let rendered = engine.render(way, |tree| {
            let memo = engine.memo.as_deref();
            context::conversation(tree, self, conversation, takes_none, memo, is_traced)
        })?;
        if let Some(log) = &self.log {
            let traced = Traced {
                text: rendered.text.clone(),
                pieces: rendered.pieces.clone(),
                sources: rendered.sources.paths.clone(),
            };
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.push((conversation.clone(), traced));
        }
        Ok(rendered)
    }

    fn engine(&self, conversation: &Conversation) -> &Engine {
        self.unpatched
            .as_ref()
            .filter(|_| conversation.host == Host::Transformers)
            .unwrap_or(&self.own)
            .engine()
    }

    /// Renders a conversation, and returns the prompt and the generation prompt: the end of the
    /// render with it, after the common prefix with the render without it. Both are equal up to
    /// where the template first asks which one it is. Where it writes nothing else from there on,
    /// one render is enough.
    ///
    /// Errors: as [`Template::render`].
    pub fn render_with_generation_prompt(
        &self,
        conversation: &Conversation,
    ) -> Result<(String, String)> {
        let rendered = self.rendered(conversation)?;
        let Some(same) = rendered.asked_at() else {
            return Ok((rendered.text, String::new()));
        };
        let asks = conversation.add_generation_prompt;
        // A variable of the request may have the value of the other prompt.
        let opens_last = self.engine(conversation).opens_last(&rendered)
            && !conversation.extra.contains_key(tree::ASKS);
        let prompt = rendered.text;
        if asks
            && opens_last
            && let Some(opening) = prompt.get(same..).map(str::to_owned)
        {
            return Ok((prompt, opening));
        }
        let other = self.render(&Conversation {
            add_generation_prompt: !asks,
            ..conversation.clone()
        });
        let opening = match other {
            Ok(without) if asks => &prompt[shared(&without, &prompt)..],
            Ok(ref with) => &with[shared(&prompt, with)..],
            Err(error) if asks => return Err(error),
            // A prompt that asks for no answer needs no opening of one.
            Err(_) => "",
        };
        let opening = opening.to_owned();
        Ok((prompt, opening))
    }
}

/// Unix seconds. `None` in WebAssembly without a system clock, where asking for one would abort.
pub fn system_clock() -> Option<i64> {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return None;
    }
    Some(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() as i64),
    )
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("source", &self.own.text)
            .finish_non_exhaustive()
    }
}
