//! The result of a parse: the message, its status, and the report on it.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::delta::DeltaKind;
use crate::fallback::{self, FallbackConfig};
use crate::output::{self, CallRecord, MessageBuilder, Sources};
use crate::report::{
    CallReport, Diagnostic, DiagnosticKind, EndedBy, OutputPart, PartKind, Report, Status,
};
use chatparse_base::{Error, ErrorKind, Result};
use chatparse_message::{IncompleteCalls, Message};

/// The result of a parse.
#[derive(Clone)]
#[non_exhaustive]
pub struct Ended {
    /// The message: all deltas put together.
    pub message: Message,
    /// Whether the output matched the format.
    pub status: Status,
    /// The first byte of the output that the format does not have; `None` if the status is not
    /// [`Status::Recovered`]. A call in another format or of an unknown tool counts, also if the
    /// format continues after it. [`DiagnosticKind::LeftFormat`] is the byte from which on the
    /// format was given up.
    pub left_at: Option<usize>,
    records: Vec<CallRecord>,
    sources: Sources,
    /// How many bytes the output has, and how many of its texts no field of the message has.
    length: usize,
    uncovered: usize,
    structure: OnceLock<Vec<Range<usize>>>,
    pub(super) exit: FormatExit,
    /// The calls without an end that are not calls of the message, as the request asks.
    settled: Vec<Range<usize>>,
    config: Arc<FallbackConfig>,
    report: OnceLock<Report>,
}

/// Why the output does not fit the format to its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FormatExit {
    /// The output after the format.
    pub format: Option<Range<usize>>,
    /// The output after the byte at which the parser's budget was used up.
    pub limit: Option<Range<usize>>,
    /// The reasoning that the output ends with.
    pub reasoning: Option<Range<usize>>,
}

impl Ended {
    pub(super) fn new(
        builder: &MessageBuilder,
        output: &[u8],
        config: Arc<FallbackConfig>,
        status: Status,
        incomplete: IncompleteCalls,
        exit: FormatExit,
    ) -> Self {
        let mut records: Vec<CallRecord> = builder.calls().collect();
        let behind = [&exit.format, &exit.limit]
            .into_iter()
            .flatten()
            .map(|left| left.start);
        let left_at = behind
            .chain(output::first_unusual(&records, status == Status::Complete))
            .min();
        let status = match left_at {
            Some(_) => Status::Recovered,
            None if exit.reasoning.is_some() => Status::Partial,
            None => status,
        };
        let prefill = builder.prefill;
        let (mut message, mut places) = (builder.message(output), builder.places());
        let settled = output::settle(
            incomplete,
            &mut message,
            &mut records,
            &mut places,
            output,
            prefill,
        );
        Ended {
            sources: Sources::new(&places, prefill, &message, output),
            message,
            status,
            left_at,
            records,
            length: output.len().saturating_sub(prefill),
            uncovered: builder.at.uncovered,
            structure: OnceLock::new(),
            exit,
            settled,
            config,
            report: OnceLock::new(),
        }
    }

    /// The parts of the output in order: reasoning, text and calls.
    pub fn parts(&self) -> &[OutputPart] {
        &self.sources.parts
    }

    /// The bytes of the output that a field of the message came from, in the order of its text: of
    /// [`DeltaKind::Reasoning`] or [`DeltaKind::Content`] (`call` is 0), or of a call's name, id or
    /// arguments. The ranges are disjoint and not adjacent, and exclude markup. Text that is not in
    /// the output, such as an added closing brace or text from the prompt, has no range. Empty for
    /// other kinds and for a missing call. The name may be a part of the id.
    pub fn spans(&self, kind: DeltaKind, call: usize) -> &[Range<usize>] {
        self.sources.spans(kind, call)
    }

    /// The bytes of the output that no field has, in order: markers, white space and the other
    /// texts with which the format surrounds its parts, the end of the turn, and, of an output that
    /// was cut off, the bytes that waited at its end. Together with the [`Ended::spans`] of all
    /// fields they are the whole output, without the calls that [`IncompleteCalls`] takes out. The
    /// first call computes it.
    pub fn structure(&self) -> &[Range<usize>] {
        self.structure
            .get_or_init(|| self.sources.structure(self.length, &self.settled))
    }

    /// How many bytes of texts got lost: 0. Anything else is a defect of a format, and tests assert
    /// that there is none.
    #[doc(hidden)]
    pub fn uncovered(&self) -> usize {
        self.uncovered
    }

    /// Whether the output ends inside of a call, whatever [`IncompleteCalls`] makes of it.
    pub fn ends_in_call(&self) -> bool {
        let last = self.parts().last();
        if let Some(last) = last.filter(|last| last.kind == PartKind::Call)
            && self
                .records
                .get(last.call)
                .is_some_and(|call| !call.complete)
        {
            return true;
        }
        self.settled
            .last()
            .is_some_and(|span| last.is_none_or(|part| part.span.end <= span.end))
    }

    /// A report on each call of the message. The first access to a report checks the arguments
    /// against the schema.
    pub fn calls(&self) -> &[CallReport] {
        &self.report().calls
    }

    /// The faults of a call, in one sentence for the model: the tool, the place as a JSON
    /// pointer, and the rule. `None` for a call that is valid, and if the call does not exist.
    /// `ChatTemplate::retry` has the grammar of a second try.
    pub fn retry(&self, call: usize) -> Option<String> {
        let name = &self.message.tool_calls.get(call)?.name;
        let report = self
            .calls()
            .get(call)
            .filter(|report| !report.valid || !report.known)?;
        let kind = if report.known {
            DiagnosticKind::InvalidArguments
        } else {
            DiagnosticKind::UnknownTool
        };
        let of_call = self.diagnostics().iter().filter(|found| {
            let is_told = found.kind == kind || found.kind == DiagnosticKind::UnfinishedCall;
            is_told && found.call == Some(call)
        });
        let wrong: Vec<&str> = of_call.map(|found| &*found.message).collect();
        Some(format!(
            "The call of {name:?} is not valid: {}.",
            wrong.join("; ")
        ))
    }

    /// The fields by which two results are compared.
    fn parsed(&self) -> impl PartialEq {
        (
            &self.message,
            self.status,
            self.left_at,
            &self.records,
            &self.sources,
            &self.exit,
        )
    }

    /// Diagnostics in the order of the output, for logs.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report().diagnostics
    }

    fn report(&self) -> &Report {
        self.report.get_or_init(|| {
            use DiagnosticKind::{LeftFormat, Limit, UnfinishedCall, UnfinishedReasoning};
            let exit = &self.exit;
            let mut found = Vec::new();
            for (kind, spans, message) in [
                (
                    LeftFormat,
                    exit.format.as_slice(),
                    "the output does not fit the template's format from here on",
                ),
                (
                    Limit,
                    exit.limit.as_slice(),
                    "the parser's budget is used up: from here on the output is content",
                ),
                (
                    UnfinishedReasoning,
                    exit.reasoning.as_slice(),
                    "the reasoning has no end",
                ),
                (
                    UnfinishedCall,
                    &self.settled,
                    match self.config.rules.leniency.incomplete_calls {
                        IncompleteCalls::Content => "a call that has no end is content",
                        _ => "a call that has no end is not in the message",
                    },
                ),
            ] {
                found.extend(spans.iter().map(|span| Diagnostic {
                    kind,
                    call: None,
                    span: span.clone(),
                    message: message.to_owned(),
                }));
            }
            output::report(
                &self.message,
                &self.records,
                &self.config.rules.tools,
                found,
                fallback::dialect_name,
            )
        })
    }

    /// The error of a strict caller. `by`: as it was passed to [`super::Stream::finish`].
    ///
    /// # Errors
    /// [`crate::ErrorKind::Parse`] for an output that left the format, or, if it was not cut off,
    /// ends where the format does not.
    pub fn strict(&self, by: EndedBy) -> Result<()> {
        let message = match self.status {
            Status::Recovered => {
                let at = self.left_at.unwrap_or(0);
                format!("the model's output does not match the template's format from byte {at} on")
            }
            Status::Partial if by == EndedBy::Model => {
                "the model's output ends where the template's format does not".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Parse, message))
    }

    /// The report as one JSON object: `status`, `left_at`, `calls` and `diagnostics`, with the
    /// fields' names. The C library and the program print it.
    pub fn report_json(&self) -> Value {
        let (status, left_at) = (self.status, self.left_at);
        json!({"status": status, "left_at": left_at, "calls": self.calls(), "diagnostics": self.diagnostics()})
    }
}

impl PartialEq for Ended {
    /// The report is derived from the other fields.
    fn eq(&self, other: &Self) -> bool {
        self.parsed() == other.parsed()
    }
}

/// Shows the result of the parse, and nothing that is made on request.
impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended")
            .field("message", &self.message)
            .field("status", &self.status)
            .field("left_at", &self.left_at)
            .field("report", self.report())
            .field("sources", &self.sources)
            .finish()
    }
}
