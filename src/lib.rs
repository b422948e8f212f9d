//! chatparse learns a model's output format from its chat template, and parses what the model
//! writes.
//!
//! It is for authors of inference engines and servers. Each model family formats its reasoning and
//! its tool calls differently; the Jinja text that ships with the model shows how. From it come the
//! prompt, the parser of the output, and the grammar that constrains the sampler.
//!
//! ```
//! use chatparse::{ChatTemplate, DeltaKind, EndedBy, Request, Status};
//!
//! // Once for each model. ChatTemplate::new takes the template's text.
//! let template = ChatTemplate::builtin("json-call").unwrap();
//!
//! // Once for each request: the body of OpenAI's chat completions.
//! let request = Request::from_text(r#"{
//!     "messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
//!     "tools": [{"type": "function", "function": {"name": "weather", "parameters": {
//!         "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
//! }"#)?;
//! let params = template.params(&request)?; // params.prompt goes to the model, params.grammar() to the sampler
//!
//! // As the model writes, in pieces of any size.
//! let mut stream = params.stream();
//! let mut shown = Vec::new();
//! for piece in ["<think>\nI should look.</th", "ink>\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os", "lo\"}}\n</tool_call>"] {
//!     shown.extend(stream.feed(piece.as_bytes()).map(|delta| (delta.kind, delta.text.to_owned())));
//! }
//! assert_eq!(shown, [
//!     (DeltaKind::Reasoning, "I should look.".to_owned()),
//!     (DeltaKind::ToolName, "weather".to_owned()),
//!     (DeltaKind::ToolArguments, "{\"city\": \"Os".to_owned()),
//!     (DeltaKind::ToolArguments, "lo\"}".to_owned()),
//!     (DeltaKind::ToolEnd, String::new()),
//! ]);
//!
//! // At the end: the message, a status, and a report on each call.
//! let ended = stream.finish(EndedBy::Model);
//! assert_eq!(ended.status, Status::Complete);
//! assert_eq!(ended.message.tool_calls[0].arguments, r#"{"city": "Oslo"}"#);
//! assert!(ended.calls()[0].valid);
//! # Ok::<(), chatparse::Error>(())
//! ```
//!
//! A stream reads every byte once, takes nothing back unless you roll it back, and loses nothing:
//! an output that breaks its format is no error. Templates, requests and outputs are untrusted, and
//! all work on them is bounded.
//!
//! # Where to look
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`ChatTemplate`], [`TemplateOptions`] | a template: compiled and learnt once, shared by threads |
//! | [`Request`], [`Message`], [`Tool`]; [`message`] | a conversation, and all options of a request |
//! | [`Params`]; [`chat`] | what a request needs: prompt, parser, grammar, stops, tokens to keep |
//! | [`Stream`], [`Delta`], [`Ended`]; [`stream`] | an output as it streams in, what each piece adds, and the result |
//! | [`Parser`] | the same for a whole output; as text, for another process |
//! | [`grammar`] | grammars of JSON schemas, in the dialects of several engines; what a grammar allows |
//! | [`Matcher`]; [`matcher`] | what may come next in an output, and what must |
//! | [`Session`], [`Next`]; [`next`] | the next turn: what to append after an output |
//! | `Conversation`; `conversation`, if that feature is on | a conversation in token ids, for any tokenizer |
//! | [`Segments`], [`Origin`]; [`segments`] | the origin of each byte of a prompt; masks for training |
//! | [`api`] | requests and answers of chat completions, Responses and Messages |
//! | [`Proof`]; [`proof`], [`lint`](mod@lint), [`ReportKind`] | what a template accepts, what was learnt from it, whether its messages are read back |
//! | [`expr`] | formats of your own, from expressions |
//! | [`builtin`] | the built-in templates |
//! | [`Error`], [`ErrorKind`] | what can go wrong before there is an output |
//!
//! # Features
//!
//! On by default: `api`, `dialects` (grammars in other notations than GBNF), `next` and `segments`.
//! Leave them out for a smaller library. Off by default:
//!
//! * `conversation` adds conversations in token ids.
//! * `lint` adds the check for authors of templates, which the program has.
//! * `capi` exports the C functions of `include/chatparse.h`, for builds of the C library.
//! * `internals` adds a module for this crate's own tests and tools. No promise: any release may
//!   change all of it.
//!
//! Cargo unifies features over a program, and one of ours changes your code: `serde_json`'s
//! `preserve_order` is on, because prompts need it. Its maps keep the order of their members
//! instead of sorting them.
//!
//! # Compatibility
//!
//! Structs that are `#[non_exhaustive]` will grow: make one with its constructor or `default()`,
//! then change its fields. Kinds (of errors, deltas, diagnostics) and what only the library makes
//! may grow with a release 0.y, without that mark: end a `match` with `_`, a pattern with `..`.
#![deny(unsafe_code)]
#![deny(missing_docs)]

pub mod expr;
#[cfg(feature = "capi")]
// What only a part that is left out uses is not in the library, either.
#[cfg_attr(not(all(feature = "api", feature = "next")), allow(dead_code))]
mod ffi;
#[cfg(feature = "internals")]
pub mod internals;
#[doc(hidden)]
pub mod learnt;
pub mod matcher;
pub mod message;
pub mod response;
pub mod stream;

#[cfg(feature = "api")]
#[doc(inline)]
pub use chatparse_api as api;
#[doc(inline)]
pub use chatparse_base::{Error, ErrorKind, Place, Result};
#[cfg(feature = "conversation")]
#[doc(inline)]
pub use chatparse_chat::conversation;
#[cfg(feature = "next")]
#[doc(inline)]
pub use chatparse_chat::next;
#[cfg(feature = "segments")]
#[doc(inline)]
pub use chatparse_chat::segments;
#[doc(inline)]
pub use chatparse_chat::{ReportKind, chat, grammar, proof};
#[cfg(feature = "lint")]
#[doc(inline)]
pub use chatparse_lint as lint;
#[doc(inline)]
pub use chatparse_stream::{CallRules, Parser};
#[doc(inline)]
pub use chatparse_templates as builtin;

pub use chat::{ChatTemplate, Params, TemplateOptions};
pub use matcher::Matcher;
pub use message::{Delta, DeltaKind, GrammarStyle, Message, Request, Status, Tool, ToolCall};
#[cfg(feature = "next")]
pub use next::{Next, Session};
pub use proof::Proof;
#[cfg(feature = "segments")]
pub use segments::{MaskParts, Offsets, Origin, Segment, Segments, TokenLabel};
pub use stream::{Ended, EndedBy, Stream};

/// The examples of the README and the guides run as tests.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/server.md")]
    struct Server;
    #[doc = include_str!("../docs/outputs.md")]
    struct Outputs;
    #[doc = include_str!("../docs/sampler.md")]
    struct Sampler;
    #[doc = include_str!("../docs/tokens.md")]
    struct Tokens;
    #[doc = include_str!("../docs/formats.md")]
    struct Formats;
    #[doc = include_str!("../docs/new-model.md")]
    struct NewModel;
    #[doc = include_str!("../docs/faq.md")]
    struct Faq;
}
