//! The place at which an output is, the text that would close it, and the grammar of its rest.
//!
//! When a host asks, a [`Matcher`] of the whole format is fed the output. A copy of the parse reads
//! the text with which the matcher closes the output. So the closing text is right by construction.
//! A value that it makes up, which only a model can choose, shows in the message.

use serde::Serialize;
use serde_json::Value;

use super::{Ended, Stream, parsed};
use crate::DeltaKind::ToolArguments;
use crate::output::Json;
use crate::report::{EndedBy, Status};
use chatparse_base::{Error, Result, limits};
use chatparse_format::Tag;
use chatparse_grammar::{Matcher, Notation, Printed, schema, valid};
use chatparse_message::{IncompleteCalls, ToolCall};
use chatparse_peg::incomplete_tail;

chatparse_base::names! {
    /// The part of an output that is open.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum OpenPart {
        /// Markers, punctuation and white space, of a call or between the parts of the message; and
        /// text that may yet become markup.
        Markup = "markup",
        /// Reasoning.
        Reasoning = "reasoning",
        /// Content.
        Content = "content",
        /// The name of a call.
        Name = "name",
        /// The name of an argument, or of a member of an object in one.
        Key = "key",
        /// A value among a call's arguments.
        Value = "value",
    }
}

/// The place at which an output is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamState {
    /// The part that is open.
    pub part: OpenPart,
    /// The call that is open and has a name: its number in the message.
    pub call: Option<usize>,
    /// The name of that call.
    pub tool: String,
    /// Where in its arguments, as a JSON pointer: the value, or the object or array whose next
    /// member or item comes. For its schema see [`Stream::schema`].
    pub pointer: String,
    /// Inside of a string of the arguments.
    pub in_string: bool,
    /// The byte of the output at which it has left the template's format: the rest is read as
    /// content, and as calls in other ways.
    pub left_at: Option<usize>,
}

/// The result of [`Stream::close`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Closing {
    /// A text that closes the open parts, as the model writes it. If the output is not complete
    /// after it, it goes as far as nothing has to be chosen: out of the reasoning, or up to the
    /// value that is missing.
    pub text: String,
    /// Whether the output is complete after the text, with the same values as before.
    pub complete: bool,
    /// The first 64 values that only the model can choose: required arguments, and arguments that
    /// have begun and are not whole.
    pub missing: Vec<Missing>,
    /// Why the output is not complete after the text, in one sentence; empty if it is.
    pub reason: String,
}

/// A value that is missing or not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Missing {
    /// The name of the call's tool; empty for content, which a schema asks for.
    pub tool: String,
    /// Where, as a JSON pointer. Where the name of an argument has begun, one that it may become.
    pub pointer: String,
    /// It has begun.
    pub begun: bool,
}

/// The grammar at a byte of the output.
#[derive(Clone)]
pub(super) struct Held {
    matcher: Matcher,
    /// The end of the bytes that were fed and that the grammar has.
    pub to: usize,
}

impl Stream {
    /// The place at which the output is. Costs as much as the arguments of the open call.
    ///
    /// ```
    /// use chatparse::{ChatTemplate, Request, Stream};
    /// use chatparse::stream::OpenPart;
    /// let template = ChatTemplate::builtin("json-call").unwrap();
    /// let body = r#"{"messages": [{"role": "user", "content": "Rain?"}], "tools": [{"type": "function",
    ///    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}"#;
    /// let params = template.params(&Request::from_text(body)?)?;
    /// let mut stream = Stream::new(&params.parser);
    /// let _ = stream.feed(b"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os");
    /// let state = stream.state();
    /// assert_eq!((state.part, &*state.tool, &*state.pointer, state.in_string), (OpenPart::Value, "weather", "/city", true));
    /// let closing = stream.close();
    /// assert_eq!(closing.text, "\"}}\n</tool_call>");
    /// assert!(closing.complete);
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    pub fn state(&self) -> StreamState {
        let Stream {
            at,
            written,
            output,
            ..
        } = self;
        let call = written.builder.open_call();
        let mut json = Json::default();
        if let Some((index, _)) = call {
            json.read(&written.builder.arguments_of(index, output), &mut |_, _| {});
        }
        StreamState {
            part: self.part(&json),
            call: call.map(|(index, _)| index),
            tool: call.map_or_else(String::new, |(_, name)| name.to_owned()),
            pointer: json.place().to_owned(),
            in_string: json.in_string,
            left_at: at.left.map(|left| left.saturating_sub(self.prefill())),
        }
    }

    /// The part that is open; `json`: the arguments of the open call.
    fn part(&self, json: &Json) -> OpenPart {
        let left = self.at.left.is_some();
        let region = if left { None } else { self.at.format.region() };
        let calls = self.written.builder.open_call().is_some();
        match region {
            // A call in another way than the format's may be in either.
            Some(Tag::Reasoning) if !calls => OpenPart::Reasoning,
            Some(Tag::Content | Tag::Answer) if !calls => OpenPart::Content,
            Some(Tag::ToolName) => OpenPart::Name,
            Some(Tag::ArgName | Tag::Key) => OpenPart::Key,
            _ if json.in_string && json.at_name => OpenPart::Key,
            _ if json.in_value => OpenPart::Value,
            None if !calls && left => OpenPart::Content,
            _ => OpenPart::Markup,
        }
    }

    /// The tool's schema of the value at the pointer of [`Stream::state`], by [`valid::schema_at`];
    /// before a member or an item, of the object or array. `None` if no call is open, or its tool
    /// is not known. A host can sample by type, `enum` or `pattern`.
    pub fn schema(&self) -> Option<Value> {
        let StreamState {
            tool,
            pointer,
            call,
            ..
        } = self.state();
        let tool = self
            .parser
            .fallback
            .rules
            .tools
            .iter()
            .find(|known| call.is_some() && known.name == tool)?;
        Some(valid::schema_at(
            &schema::parameters(&tool.parameters),
            &pointer,
        ))
    }

    /// The grammar of the rest of the output, for an engine that begins here: all of the
    /// format, also where the request's grammar is lazy. For the request's own constraint see
    /// [`Matcher::grammar`]. The first call builds what it needs; the next ones cost as much as the
    /// output that came since, and the grammar.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the output is nothing that the grammar allows, and
    /// as [`Matcher::grammar`].
    pub fn grammar(&mut self, dialect: impl Notation) -> Result<Printed> {
        self.hold()?;
        self.matcher_here()?.grammar(dialect)
    }

    /// The text that closes the open parts, in the model's own words: the end of the reasoning with
    /// the template's text after it; a string, its containers, the call and its section. No value
    /// is made up. Costs as much as the output.
    ///
    /// With [`Stream::state`]: end a budget for thinking where `part` is [`OpenPart::Reasoning`],
    /// and continue after `text`; finish a call that a limit has cut.
    pub fn close(&mut self) -> Closing {
        let held = self.hold();
        if let Some(at) = self.at.left {
            let at = at.saturating_sub(self.prefill());
            return Closing::refused(&format!(
                "the output has left the template's format at byte {at}"
            ));
        }
        let given = self.with(&[], EndedBy::Limit);
        let matcher = match held.and_then(|()| self.matcher_here()) {
            Ok(matcher) => matcher,
            // The token that ends a turn is in few grammars.
            Err(_) if !given.ends_in_call() && self.completed(b"").is_some() => {
                return Closing::of(String::new());
            }
            Err(error) => return Closing::refused(error.message()),
        };
        // Text that must come next is not made up.
        let forced = matcher.forced().len();
        let mut found: Option<(String, Vec<Missing>, Ended, Known<'_>)> = None;
        // One that is no text ends a character, which only the model can choose.
        for text in matcher.closings().into_iter().flat_map(String::from_utf8) {
            let Some(whole) = self.completed(text.as_bytes()) else {
                continue;
            };
            if text.is_empty() {
                return Closing::of(text);
            }
            let forced = forced.min(text.len());
            let length = self.written_length() + forced;
            let before = Known {
                given: &given.message.tool_calls,
                ended: self.with(&text.as_bytes()[..forced], EndedBy::Limit),
                length,
            };
            match before.made_up(&whole, &text.as_bytes()[forced..]) {
                None => return Closing::of(text),
                Some(missing) if found.is_none() => found = Some((text, missing, whole, before)),
                Some(_) => {}
            }
        }
        let Some((text, missing, whole, before)) = found else {
            return Closing::refused(match incomplete_tail(&self.output) {
                0 => "no text is found that the format may end with",
                _ => "the output ends inside of a character, which only the model can choose",
            });
        };
        let forced = forced.min(text.len());
        let reason = reason(&missing, &before.ended, &whole);
        // Up to where nothing is made up.
        let text = text.as_bytes();
        let fits = |to: &usize| {
            before
                .made_up(&self.with(&text[..*to], EndedBy::Limit), &text[forced..])
                .is_none()
        };
        let end = last_that(forced, text.len(), fits);
        let thinks = |to: &usize| {
            self.with(&text[..*to], EndedBy::Limit)
                .exit
                .reasoning
                .is_some()
        };
        let out = if thinks(&0) && !thinks(&end) {
            last_that(0, end, thinks) + 1
        } else {
            end
        };
        // From choice to choice, with the text that must follow each: no further than out of the
        // reasoning, and into no name that the model chooses.
        let (mut matcher, mut walked, mut at) = (matcher, Walked::of(self), 0);
        let (mut next, mut fed) = (forced, 0);
        while next <= end {
            let _ = matcher.feed(&text[fed..next]);
            walked.feed(&text[fed..next]);
            (at, fed) = (next, next + 1);
            if at >= out || walked.is_chosen(&missing) {
                break;
            }
            let _ = matcher.feed(&text[at..fed]);
            walked.feed(&text[at..fed]);
            if walked.is_chosen(&missing) {
                break;
            }
            next = fed + matcher.forced().len();
        }
        Closing {
            text: String::from_utf8_lossy(&text[..at]).into_owned(),
            complete: false,
            missing,
            reason,
        }
    }

    fn written_length(&self) -> usize {
        self.output.len() - self.prefill()
    }

    /// Brings the grammar to the end of the output.
    fn hold(&mut self) -> Result<()> {
        let (prefill, ready) = (self.prefill(), self.ready());
        let mut held = match self.held.take() {
            Some(held) => held,
            None => match self.parser.matcher() {
                Ok(matcher) => Box::new(Held {
                    matcher,
                    to: prefill,
                }),
                Err(_) => return Ok(()),
            },
        };
        let more = parsed(&self.marks, &self.output[..ready])
            .seen
            .get(held.to..)
            .unwrap_or_default();
        let taken = held.matcher.feed(more);
        held.to += *taken.as_ref().unwrap_or(&0);
        self.held = Some(held);
        taken.map(|_| ())
    }

    /// The grammar after the output.
    fn matcher_here(&self) -> Result<Matcher> {
        let Some(held) = &self.held else {
            return self.parser.matcher();
        };
        let (mut matcher, ready) = (held.matcher.clone(), self.ready());
        // Bytes that may become a token count as text here.
        let at = if held.to < ready {
            held.to
        } else {
            ready + matcher.feed(&self.output[ready..])?
        };
        if at < self.output.len() {
            let at = at.saturating_sub(self.prefill());
            return Err(Error::invalid(format!(
                "the grammar does not allow the output from byte {at} on"
            )));
        }
        Ok(matcher)
    }

    /// The output with more after it, if the format is complete then.
    fn completed(&self, more: &[u8]) -> Option<Ended> {
        Some(self.with(more, EndedBy::Model)).filter(|whole| whole.status == Status::Complete)
    }

    /// How the output ends with more after it.
    fn with(&self, more: &[u8], by: EndedBy) -> Ended {
        let mut stream = self.clone();
        stream.written.builder.turn_off_deltas();
        let _ = stream.feed(more);
        let status = stream.end(by);
        stream.ended(status, IncompleteCalls::Keep)
    }
}

impl StreamState {
    /// As one JSON object, with the fields' names.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

impl Closing {
    /// As one JSON object, with the fields' names.
    pub fn to_json(&self) -> Value {
        json!(self)
    }

    fn of(text: String) -> Closing {
        Closing {
            text,
            complete: true,
            ..Closing::default()
        }
    }

    fn refused(reason: &str) -> Closing {
        Closing {
            reason: reason.to_owned(),
            ..Closing::default()
        }
    }
}

/// An output with the text that must follow it, and their length.
struct Known<'a> {
    /// The calls of the output itself.
    given: &'a [ToolCall],
    ended: Ended,
    length: usize,
}

impl Known<'_> {
    /// The values that a longer output adds to the known ones: an empty list if it adds a call or a
    /// text. `None` if it adds only ends. `more`: its text after this one.
    fn made_up(&self, whole: &Ended, more: &[u8]) -> Option<Vec<Missing>> {
        use crate::DeltaKind::{Content, Reasoning};
        let (before, after) = (&self.ended.message, &whole.message);
        let names = before.tool_calls.iter().map(|call| &call.name);
        if !names.eq(after.tool_calls.iter().map(|call| &call.name)) {
            return Some(Vec::new());
        }
        let mut missing = Vec::new();
        for (index, (before, after)) in before.tool_calls.iter().zip(&after.tool_calls).enumerate()
        {
            let given = self.given.get(index).map_or("", |call| &call.arguments);
            missing.extend(lacks(
                &after.name,
                given,
                &before.arguments,
                &after.arguments,
            ));
        }
        for kind in [Content, Reasoning] {
            let mut added = whole
                .spans(kind, 0)
                .iter()
                .filter(|span| span.end > self.length);
            let is_blank = added.all(|span| {
                let from = span.start.saturating_sub(self.length);
                let text = more.get(from..span.end - self.length);
                text.is_some_and(|text| text.trim_ascii().is_empty())
            });
            if is_blank {
                continue;
            }
            let json = kind == Content && before.content.trim_start().starts_with(['{', '[', '"']);
            if !json {
                return Some(Vec::new());
            }
            missing.extend(lacks("", &before.content, &before.content, &after.content));
        }
        Some(missing).filter(|missing| !missing.is_empty())
    }
}

/// A copy of a parse that continues. It reads each byte of the open call's arguments once.
struct Walked {
    stream: Stream,
    call: Option<usize>,
    json: Json,
}

impl Walked {
    fn of(stream: &Stream) -> Walked {
        let mut walked = Walked {
            stream: stream.clone(),
            call: None,
            json: Json::default(),
        };
        // The deltas of the prompt are among the arguments.
        walked.feed(&[]);
        walked
    }

    fn feed(&mut self, text: &[u8]) {
        drop(self.stream.feed(text));
        let Stream {
            written, output, ..
        } = &self.stream;
        let call = written.builder.open_call().map(|(call, _)| call);
        if call != self.call {
            (self.call, self.json) = (call, Json::default());
            let arguments = call.map(|call| written.builder.arguments_of(call, output));
            self.json
                .read(&arguments.unwrap_or_default(), &mut |_, _| {});
        } else if let Some(call) = call {
            for delta in written
                .builder
                .deltas()
                .filter(|delta| (delta.kind, delta.call) == (ToolArguments, call))
            {
                self.json.read(delta.text, &mut |_, _| {});
            }
        }
    }

    /// Whether it is in a name, or in a value that is missing.
    fn is_chosen(&self, missing: &[Missing]) -> bool {
        let tool = self
            .stream
            .written
            .builder
            .open_call()
            .map_or("", |(_, name)| name);
        match self.stream.part(&self.json) {
            OpenPart::Name | OpenPart::Key => true,
            OpenPart::Value => missing
                .iter()
                .any(|one| !one.begun && one.tool == tool && one.pointer == self.json.place()),
            _ => false,
        }
    }
}

/// The first values that JSON text adds to its beginning `before`. A value that is not in `given`
/// counts as known if it is whole.
fn lacks(tool: &str, given: &str, before: &str, after: &str) -> Vec<Missing> {
    let (mut begun, mut known) = (0_usize, Vec::new());
    Json::default().read_all(given, &mut |_, _| begun += 1);
    Json::default().read_all(before, &mut |_, value| known.push(value.to_owned()));
    let mut known = known.into_iter();
    let mut missing: Vec<Missing> = Vec::new();
    // The depth of the last missing value: the values inside of it are not named.
    let mut outer = usize::MAX;
    Json::default().read_all(after, &mut |json, value| {
        let is_given = begun > 0;
        begun = begun.saturating_sub(1);
        let is_known = known
            .next()
            .is_some_and(|known| known == value || is_given && format!("{known}\"") == value);
        let depth = json.open.len();
        let inside = depth > outer;
        if !inside {
            outer = usize::MAX;
        }
        // The object of all arguments is no value of its own.
        if is_known
            || inside
            || depth == 0 && value == "{"
            || missing.len() == limits::MISSING_VALUES
        {
            return;
        }
        outer = if is_given { usize::MAX } else { depth };
        missing.push(Missing {
            tool: tool.to_owned(),
            pointer: json.pointer.clone(),
            begun: is_given,
        });
    });
    missing
}

fn reason(missing: &[Missing], before: &Ended, whole: &Ended) -> String {
    match missing {
        [] if whole.message.tool_calls.len() > before.message.tool_calls.len() => {
            "a call must follow, and its name is not known".to_owned()
        }
        [] => "a text must follow".to_owned(),
        [first, ..] => {
            let begun = listed(missing, true);
            let absent = listed(missing, false);
            let what = match (begun.is_empty(), absent.is_empty()) {
                (true, _) => format!("lacks {absent}"),
                (false, true) => format!("has begun {begun}, which is not whole"),
                (false, false) => {
                    format!("has begun {begun}, which is not whole, and lacks {absent}")
                }
            };
            match &*first.tool {
                "" => format!("the response {what}"),
                tool => format!("the call of {tool:?} {what}"),
            }
        }
    }
}

/// The places of the values that have begun, or of the other values.
fn listed(missing: &[Missing], begun: bool) -> String {
    let places = missing.iter().filter(|one| one.begun == begun);
    let places: Vec<String> = places.map(|one| format!("{:?}", one.pointer)).collect();
    places.join(", ")
}

/// The last number in a range for which something holds, which holds for the first and from some
/// number on not any more.
fn last_that(from: usize, to: usize, holds: impl Fn(&usize) -> bool) -> usize {
    let (mut low, mut high) = (from, to);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(&middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}
