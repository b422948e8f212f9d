//! Messages, tools and requests as plain data, with their JSON forms; and what a stream says: deltas, a status, reports.

#[doc(inline)]
pub use chatparse_message::{
    Append, BareCalls, CallsInReasoning, Compat, Continuation, Dialects, GrammarStyle, IncompleteCalls, Leniency,
    MalformedArguments, Media, Message, OpeningAgain, Part, PlainConversation, ReasoningFormat, Request, RevealedTools,
    Tool, ToolCall, ToolChoice, UnknownTools,
};
#[doc(inline)]
pub use chatparse_stream::{
    CallOrigin, CallReport, Delta, DeltaKind, Diagnostic, DiagnosticKind, OutputPart, PartKind, Report, Status,
    chunk_delta,
};
