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
#![deny(missing_docs)]

mod analysis;
pub mod api;
pub mod builtin;
mod char_class;
pub mod chat;
mod error;
pub mod expr;
mod fallback;
#[cfg(feature = "capi")]
mod ffi;
mod find;
mod format;
mod format_cache;
pub mod grammar;
#[cfg(feature = "internals")]
pub mod internals;
mod json_string;
pub mod learnt;
mod limits;
pub mod lint;
pub mod message;
pub mod next;
mod output;
mod parser;
mod peg;
pub mod proof;
mod reader;
pub mod segments;
pub mod stream;
mod template;

pub use chat::{ChatTemplate, Params, TemplateOptions};
pub use error::{Error, ErrorKind, Place, Result};
pub use learnt::Reader;
pub use message::{Delta, DeltaKind, GrammarStyle, Message, Request, Status, Tool, ToolCall};
pub use next::{Next, Session};
pub use parser::Parser;
pub use proof::Proof;
pub use segments::{MaskParts, Origin, Segment, Segments};
pub use stream::{Ended, Stream};

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
