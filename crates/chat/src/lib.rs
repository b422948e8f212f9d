//! Templates: a request in, a prompt and a parser out.
//!
//! - **In:** the source of a template, a request, and the outputs of a session.
//! - **Out:** [`Params`], the next turn, the origin of each byte, proofs of what was learnt.
//! - **Never:** it reads no output itself, and no request changes another's answer.
//!
//! - `chat`: a template, compiled and learnt once, and the params of a request.
//! - `reader`: who may read a template's model; `proof` chooses among them by what is read back.
//! - `variables`: what is learnt under a request's variables.
//! - `prompts`: the prompt of a request; `format_cache`: its compiled format.
//! - `grammar`: the notations of grammars.
//! - `segments`: the origin of each byte of a prompt. A feature.
//! - `next`: what to append after an output. A feature.
//! - `conversation`: sessions and segments as conversations in token ids ask for them. A feature.
//! - `report`: what is known of a template, as JSON.
//! - `messages`, `texts`: messages in either form; words and markers in rendered texts.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// What only a part that is left out uses is not in the library, either.
#![cfg_attr(
    not(all(feature = "next", feature = "segments")),
    allow(dead_code, unused_imports)
)]

#[macro_use]
extern crate chatparse_base;

pub mod chat;
#[cfg(feature = "conversation")]
pub mod conversation;
mod format_cache;
pub mod grammar;
mod messages;
#[cfg(feature = "next")]
pub mod next;
mod prompts;
pub mod proof;
mod reader;
mod report;
#[cfg(feature = "segments")]
pub mod segments;
mod texts;
mod variables;

#[doc(no_inline)]
pub use chatparse_base::ErrorKind;

pub use chat::{ChatTemplate, Params, TemplateOptions};
pub use report::ReportKind;
