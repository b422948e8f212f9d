//! Finds the texts of a conversation that its prompt lacks.
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
        for (index, tool) in request.tools.iter().enumerate() {
            if !tool.deferred {
                search.look(Said::Tool(index), &tool.name);
            }
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
        search.look(Said::Content(index), piece(&message.content));
        for part in message.parts.iter().filter(|part| part.kind == "text") {
            search.look(Said::Content(index), piece(&part.text));
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
    search.missing.dedup();
    let (mut lost, suspects): (Vec<Said>, Vec<Said>) = search
        .missing
        .into_iter()
        .partition(|said| matches!(said, Said::Reasoning(_)));
    if !suspects.is_empty()
        && let Some(marked) = render(&marked(request, &suspects))
    {
        for (index, said) in suspects.into_iter().enumerate() {
            if !marked.contains(&mark(index)) {
                lost.push(said);
            }
        }
    }
    chatparse_base::sort::sort(&mut lost);
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

/// The longest run of letters, digits, blanks and characters beyond ASCII near the end of a text,
/// or near its beginning.
fn piece(text: &str) -> &str {
    match longest_run(end(text, CHOSEN_IN)) {
        "" => longest_run(&text[..char_border_before(text, CHOSEN_IN)]),
        run => run,
    }
}

fn longest_run(text: &str) -> &str {
    let mut best = "";
    for run in text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != ' ') {
        let run = run.trim();
        if run.len() > best.len() {
            best = run;
        }
    }
    end(best, PIECE).trim_start()
}

/// The last characters of a text, at most so many bytes.
fn end(text: &str, bytes: usize) -> &str {
    &text[char_border_behind(text, text.len().saturating_sub(bytes))..]
}

/// The same of the JSON of arguments: in a value, because tools name the keys.
fn argument_piece(arguments: &str) -> &str {
    let mut texts = end(arguments, CHOSEN_IN).split('"').peekable();
    let mut longest = "";
    while let Some(text) = texts.next() {
        let is_key = texts
            .peek()
            .is_some_and(|next| next.trim_start().starts_with(':'));
        let run = piece(text);
        // A letter after a backslash is none of the value.
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
                let parts = message.parts.iter_mut().filter(|part| part.kind == "text");
                let texts = parts.map(|part| &mut part.text);
                for text in texts.chain([&mut message.content]) {
                    if !text.is_empty() {
                        text.clone_from(&mark);
                    }
                }
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
