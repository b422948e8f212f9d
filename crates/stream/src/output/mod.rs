//! Turns captures into a message.
//!
//! ```text
//! Machine ──captures──▶ CaptureReader ──events──▶ MessageBuilder ──▶ message, deltas
//! ```
//!
//! A [`CaptureReader`] turns the captured regions of a format into [`Event`]s: text of the content,
//! the name of a call, more of its arguments. A [`MessageBuilder`] applies events in order. The
//! format's parser and the fallback parser ([`crate::fallback`]) send the same events to one
//! builder.
//!
//! **Going back.** A machine may take back captures. Its owner marks reader and builder at each
//! capture that the machine may go back to, and resets both to that mark; the cost is linear in the
//! undone text. The message does not shrink: text that was shown stays, and the events that follow
//! must show the same. If they do not, the output has left the format.
//!
//! **Memory.** Text of the message that is in the output is not copied ([`piece_table`]).

mod arguments;
mod builder;
mod event;
mod incomplete;
mod json;
mod literal;
mod parsed;
mod persistent_stack;
mod piece_table;
mod places;
mod reader;
mod report;
mod sources;

pub(crate) use builder::{BuilderMark, MessageBuilder};
pub(crate) use event::{Channel, Event, Sink, Text};
pub(crate) use incomplete::settle;
pub use json::Json;
pub(crate) use parsed::{Parsed, is_of_name};
pub(crate) use reader::{CaptureReader, ReaderMark};
pub(crate) use report::{CallRecord, first_unusual, report};
pub(crate) use sources::Sources;
