//! Messages, tools and requests as plain data, with their JSON forms; and what a stream says:
//! deltas, a status, reports.

#[doc(inline)]
pub use chatparse_message::{
    Append, BareCalls, CallsInReasoning, Compat, Continuation, Dialects, Effort, GrammarStyle,
    IncompleteCalls, JsonSpacing, Leniency, MalformedArguments, Media, Message, NearlyJson,
    OpeningAgain, OutputOptions, Part, PlainConversation, ReasoningFormat, Request, RevealedTools,
    Roles, Tool, ToolCall, ToolChoice, UnknownTools, Written,
};
#[doc(inline)]
pub use chatparse_stream::{
    CallOrigin, CallReport, Delta, DeltaKind, Diagnostic, DiagnosticKind, OutputPart, PartKind,
    Report, Status, chunk_delta,
};

/// Numbers of any length in JSON texts. What 64 bits cannot hold is an object with one private name
/// in a [`Value`](serde_json::Value) that this library reads: [`write`](number::write) writes such
/// a value, for it is no JSON of others.
pub mod number {
    pub use chatparse_base::json::wrong;
    pub use chatparse_base::number::{read, write};
}
