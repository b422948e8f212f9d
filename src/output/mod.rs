//! What a model wrote, as a message.
//!
//! ```text
//! Machine ──captures──▶ CaptureReader ──events──▶ MessageBuilder ──▶ message, deltas
//! ```
//!
//! A [`CaptureReader`] turns the regions that a format captures into [`Event`]s: text of the content, the name of a call, more of
//! its arguments. A [`MessageBuilder`] applies events in order. The format's parser and the fallback parser
//! ([`crate::fallback`]) are two sources of the same events, for one builder.
//!
//! **Going back.** A machine may take back captures. Whoever runs it makes a mark of the reader and of the builder at each
//! capture that the machine may come back to, and sets both back to it: at the cost of what is taken back, not of all that was
//! read. The message itself never shrinks. What was shown stays, and the events that come instead must show the same; if they
//! do not, the output has left the format.
//!
//! **Memory.** Text that stands in the output is not kept twice ([`piece_table`]).

mod arguments;
mod builder;
mod event;
mod literal;
mod parsed;
mod persistent_stack;
mod piece_table;
mod places;
mod reader;
mod report;
mod sources;

pub(crate) use builder::{BuilderMark, MessageBuilder};
pub(crate) use event::{CallFlags, Channel, Event, Sink, Text};
pub(crate) use parsed::Parsed;
pub(crate) use reader::{CaptureReader, ReaderMark};
pub(crate) use report::{CallRecord, first_unusual, report};
pub(crate) use sources::Sources;
