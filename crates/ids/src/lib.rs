//! Conversations in token ids: ids in, ids out, and nothing that was sent or sampled is encoded
//! again.
//!
//! - **In:** the ids that a model sampled, and the texts that a template writes.
//! - **Out:** the ids to send, and the field of each id.
//! - **Never:** it encodes nothing twice that was sent or sampled.
//!
//! ```text
//! messages ─▶ Turns ──text, and which bytes are the template's──▶ Vocabulary ──ids──▶ Conversation ─▶ host
//! host ──sampled ids──▶ Conversation ──bytes, marked──▶ Stream ─▶ deltas, fields
//! ```
//!
//! - `tokenizer`: the host's [`Tokenizer`]; a text with marks to ids.
//! - `turns`: the questions to a template, [`Opens`] and [`Turns`]. The façade answers them:
//!   `ChatTemplate::conversation`.
//! - `field`: the field of the message that a sampled token became.
//! - `conversation`: the ids, with a [`Token`] for each.
//! - `check`: whether a tokenizer fits a template.
//!
//! This crate knows no templates and no tokenizers.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod check;
mod conversation;
mod field;
mod tokenizer;
mod turns;

pub use check::{Finding, FindingKind};
pub use conversation::{Conversation, Extended, Moved, Observed, OwnDelta, Token};
pub use field::{Field, FieldKind};
pub use tokenizer::{SpecialToken, Tokenizer};
pub use turns::{Changed, Opens, Step, Turns};
