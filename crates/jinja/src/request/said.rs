//! Whether a prompt has what its conversation says.
//!
//! A piece of each text is looked for, in characters that no template changes. Where one is
//! missing, the text may be written another way: a render with marked texts decides.

use memchr::memmem;

use crate::Template;
use chatparse_base::find::{char_border_before, char_border_behind};
use chatparse_message::{Continuation, Message, Request};

/// Whether it is an instruction of the host.
pub fn is_system(message: &Message) -> bool {
    matches!(&*message.role, "system" | "developer")
}

/// A text of a conversation, by the index of its message or tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    /// The name of a tool.
    Tool(usize),
    Reasoning(usize),
    Content(usize),
    /// The arguments of a call, by its index in the message.
    Call(usize, usize),
}

impl Said {
    /// Its field.
    pub fn place(self) -> String {
        match self {
            Said::Tool(tool) => format!("tools[{tool}].function.name"),
            Said::Reasoning(message) => format!("messages[{message}].reasoning_content"),
            Said::Content(message) => format!("messages[{message}].content"),
            Said::Call(message, call) => {
                format!("messages[{message}].tool_calls[{call}].function.arguments")
            }
        }
    }

    /// The index of its message.
    pub fn message(self) -> Option<usize> {
        match self {
            Said::Tool(_) => None,
            Said::Reasoning(message) | Said::Content(message) | Said::Call(message, _) => {
                Some(message)
            }
        }
    }

    /// The same of another message, of which these calls come first.
    pub(crate) fn of(self, message: usize, calls: usize) -> Said {
        match self {
            Said::Tool(_) => self,
            Said::Reasoning(_) => Said::Reasoning(message),
            Said::Content(_) => Said::Content(message),
            Said::Call(_, call) => Said::Call(message, calls + call),
        }
    }
}

/// The texts of a request that its prompt lacks. `render`: the prompt of another request.
pub fn lost(
    template: &Template,
    request: &Request,
    prompt: &str,
    render: impl FnOnce(&Request) -> Option<String>,
) -> Vec<Said> {
    let mut search = Search {
        prompt,
        at: 0,
        work: SEARCHES * prompt.len().max(1),
        thought: None,
        missing: Vec::new(),
    };
    if template.caps().tools {
        for (index, tool) in request
            .tools
            .iter()
            .enumerate()
            .filter(|(_, tool)| !tool.deferred)
        {
            search.look(Said::Tool(index), &tool.name);
        }
        search.at = 0;
    }
    let continued = usize::from(request.continuation != Continuation::None);
    let shown = request.messages.len().saturating_sub(continued);
    for (index, message) in request.messages[..shown].iter().enumerate() {
        if is_system(message) {
            search.at = 0;
        }
        search.think(Said::Reasoning(index), piece(&message.reasoning_content));
        let parts = message
            .parts
            .iter()
            .filter(|part| part.kind == "text")
            .map(|part| &part.text);
        for text in [&message.content].into_iter().chain(parts) {
            search.look(Said::Content(index), piece(text));
        }
        for (call_index, call) in message.tool_calls.iter().enumerate() {
            let said = Said::Call(index, call_index);
            match call_index == 0 || template.caps().parallel_tool_calls {
                true => search.look(said, argument_piece(&call.arguments)),
                // Its text elsewhere proves nothing.
                false => search.missing.push(said),
            }
        }
    }
    search.end_thought(prompt.len());
    let Search { mut missing, .. } = search;
    missing.dedup();
    let (thoughts, suspects): (Vec<Said>, Vec<Said>) = missing
        .into_iter()
        .partition(|said| matches!(said, Said::Reasoning(_)));
    let mut lost = thoughts;
    if !suspects.is_empty()
        && let Some(marked) = render(&marked(request, &suspects))
    {
        let suspects = suspects.into_iter().enumerate();
        lost.extend(
            suspects
                .filter(|(index, _)| !marked.contains(&mark(*index)))
                .map(|(_, said)| said),
        );
    }
    lost.sort_unstable();
    lost
}

/// How often a prompt is searched as a whole, at most. Further texts count as found.
const SEARCHES: usize = 64;

/// The search for the texts of a conversation, which mostly are in its order.
struct Search<'a> {
    prompt: &'a str,
    /// Where the last one ends.
    at: usize,
    /// The bytes that may still be searched.
    work: usize,
    /// Reasoning, a piece of it, and where it may begin: it ends before the next text.
    thought: Option<(Said, &'a str, usize)>,
    missing: Vec<Said>,
}

impl<'a> Search<'a> {
    fn look(&mut self, said: Said, piece: &str) {
        if piece.is_empty() || self.work == 0 {
            return;
        }
        let (earlier, rest) = self.prompt.as_bytes().split_at(self.at);
        if let Some(found) = memmem::find(rest, piece.as_bytes()) {
            self.end_thought(self.at + found);
            self.work = self.work.saturating_sub(found);
            self.at += found + piece.len();
            return;
        }
        // Also an empty prompt is searched a bounded number of times.
        self.work = self.work.saturating_sub(self.prompt.len().max(1));
        if memmem::find(earlier, piece.as_bytes()).is_none() {
            self.missing.push(said);
        }
    }

    fn think(&mut self, said: Said, piece: &'a str) {
        self.end_thought(self.prompt.len());
        self.thought = (!piece.is_empty()).then_some((said, piece, self.at));
    }

    /// Looks for the reasoning before the text that begins here.
    fn end_thought(&mut self, next: usize) {
        let Some((said, piece, from)) = self.thought.take() else {
            return;
        };
        if from > next || self.work == 0 {
            return;
        }
        self.work = self.work.saturating_sub(next - from);
        if memmem::find(&self.prompt.as_bytes()[from..next], piece.as_bytes()).is_none() {
            self.missing.push(said);
        }
    }
}

/// The bytes of a text in which a piece is chosen.
const CHOSEN_IN: usize = 32;

/// The longest piece that is looked for, in bytes.
const PIECE: usize = 24;

/// The longest run of letters, digits, blanks and what is not ASCII near the end of a text, or near
/// its beginning.
fn piece(text: &str) -> &str {
    fn longest(text: &str) -> &str {
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ' || !byte.is_ascii();
        let (mut best, mut from) = ("", 0);
        for (at, byte) in text.bytes().enumerate().chain([(text.len(), b'"')]) {
            if !is_inside(byte) {
                let run = text[from..at].trim();
                best = if run.len() > best.len() { run } else { best };
                from = at + 1;
            }
        }
        best[char_border_behind(best, best.len().saturating_sub(PIECE))..].trim_start()
    }
    let tail = &text[char_border_behind(text, text.len().saturating_sub(CHOSEN_IN))..];
    match longest(tail) {
        "" => longest(&text[..char_border_before(text, CHOSEN_IN)]),
        run => run,
    }
}

/// The same of the JSON of arguments: in a value, because tools name the keys.
fn argument_piece(arguments: &str) -> &str {
    let tail =
        &arguments[char_border_behind(arguments, arguments.len().saturating_sub(CHOSEN_IN))..];
    let texts: Vec<&str> = tail.split('"').collect();
    let mut longest = "";
    for (index, text) in texts.iter().enumerate() {
        let is_key = texts
            .get(index + 1)
            .is_some_and(|next| next.trim_start().starts_with(':'));
        let run = piece(text);
        // What follows a backslash is no letter of the value.
        if run.len() > longest.len() && !is_key && !text.contains('\\') {
            longest = run;
        }
    }
    longest
}

/// The text that is rendered in place of the suspect of this index.
fn mark(index: usize) -> String {
    format!("MARKED{index}TEXT")
}

/// The request with a mark in place of each suspect.
fn marked(request: &Request, suspects: &[Said]) -> Request {
    let mut marked = request.clone();
    for (index, said) in suspects.iter().enumerate() {
        let mark = mark(index);
        match *said {
            Said::Tool(tool) => marked.tools[tool].name = mark,
            Said::Reasoning(message) => marked.messages[message].reasoning_content = mark,
            Said::Content(message) => {
                let message = &mut marked.messages[message];
                let parts = message
                    .parts
                    .iter_mut()
                    .filter(|part| part.kind == "text")
                    .map(|part| &mut part.text);
                let texts = [&mut message.content]
                    .into_iter()
                    .chain(parts)
                    .filter(|text| !text.is_empty());
                texts.for_each(|text| text.clone_from(&mark));
            }
            Said::Call(message, call) => {
                marked.messages[message].tool_calls[call].arguments =
                    json!({"marked": mark}).to_string();
            }
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_has_letters_that_no_template_changes() {
        assert_eq!(piece("a \"long text\" & more\n"), "long text");
        assert_eq!(piece("…!"), "…");
        assert_eq!(piece("(;)"), "");
        assert_eq!(argument_piece(r#"{"a_long_key": "Oslo", "b": 3}"#), "Oslo");
        assert_eq!(argument_piece(r#"{"a": "x\ny z", "city": "Rome"}"#), "Rome");
        assert_eq!(argument_piece("{}"), "");
    }
}
