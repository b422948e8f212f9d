//! chatparse learns how a language model writes from its chat template, and reads what it writes.
//!
//! ```text
//!  template text ──▶ template ──▶ analysis ──▶ format ──┬─▶ peg ──▶ captures ──▶ events ──▶ message, deltas
//!  (Jinja)           compiled     Layout       one      └─▶ grammar
//!                    once         (inert)      Expr
//! ```
//!
//! A [`ChatTemplate`] is compiled and analysed once. For each request it gives [`Params`]: the prompt, and a
//! [`Parser`]. A [`Stream`] takes the model's output in pieces of any size and says what each adds to the message;
//! it reads every byte once, takes nothing back unless it is asked to, and loses nothing.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod analysis;
pub mod api;
pub mod builtin;
mod char_class;
pub mod chat;
pub mod error;
mod fallback;
#[cfg(feature = "capi")]
pub mod ffi;
mod find;
pub mod format;
mod format_cache;
pub mod grammar;
mod json_string;
pub mod limits;
pub mod lint;
pub mod message;
pub mod next;
mod output;
pub mod parser;
pub mod peg;
pub mod proof;
pub mod reader;
pub mod segments;
pub mod stream;
pub mod template;

pub use chat::{ChatTemplate, Params, TemplateOptions};
pub use error::{Error, ErrorKind, Place, Result};
pub use message::{Delta, DeltaKind, GrammarStyle, Message, Request, Status, ToolCall};
pub use next::{Next, Session};
pub use parser::Parser;
pub use proof::Proof;
pub use reader::Reader;
pub use segments::{MaskParts, Origin, Segment, Segments};
pub use stream::Stream;

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
}
