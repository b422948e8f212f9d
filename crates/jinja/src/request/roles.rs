//! Messages as a template demands them, where it raises on them as they were sent: [`Roles::Fit`].

use std::collections::{HashMap, HashSet, VecDeque};

use crate::Template;
use chatparse_base::Result;
use chatparse_message::{Continuation, Message, Part, Request, ToolCall};

/// A change of a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// Calls and results have ids of the form that templates demand.
    Ids,
    /// The messages of `system` and `developer` are one, at the front.
    Systems,
    /// Neighbours of one role without calls are one.
    Join,
    /// The user begins.
    User,
    /// The user has the last word.
    Last,
    /// The assistant answers results and calls before the user goes on.
    Answer,
    /// Turns that are put have a blank, because some templates refuse empty ones.
    Blank,
    /// Neighbours with calls are one, too.
    JoinCalls,
    /// A result without a call gets one.
    Call,
}

/// All of them, the cheapest first: what changes least of what the model reads.
const CHANGES: [Change; 9] = [
    Change::Ids,
    Change::Systems,
    Change::Join,
    Change::User,
    Change::Last,
    Change::Answer,
    Change::Blank,
    Change::JoinCalls,
    Change::Call,
];

/// The changes with which a template renders a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit(u16);

/// A request with changed messages.
#[derive(Debug)]
pub struct Fitted {
    pub request: Request,
    pub fit: Fit,
    /// What was changed: which message, and how.
    pub notes: Vec<String>,
    /// The messages as sent whose texts were joined or moved, in order.
    moved: Vec<usize>,
}

/// A message, and those of the request that it has the texts of; none if it was put.
struct Turn {
    message: Message,
    from: Vec<usize>,
}

impl Turn {
    fn put(role: &str, text: &str) -> Turn {
        Turn { message: Message::new(role, text), from: Vec::new() }
    }

    fn is(&self, role: &str) -> bool {
        self.message.role == role
    }

    fn is_system(&self) -> bool {
        is_system(&self.message)
    }

    fn calls(&self) -> bool {
        !self.message.tool_calls.is_empty()
    }

    /// The message in notes.
    fn place(&self) -> String {
        let role = &self.message.role;
        self.from
            .first()
            .map_or_else(|| format!("a turn that was put ({role})"), |at| format!("messages[{at}] ({role})"))
    }
}

/// Whether it is an instruction of the host.
pub fn is_system(message: &Message) -> bool {
    matches!(&*message.role, "system" | "developer")
}

impl Fitted {
    /// Finds the fewest changes with which `render` makes a prompt that has all texts that they move. Changes are added until there is
    /// one, and then those are left out that are not needed: so there are fewer renders than twice the changes. `None` if there is none.
    pub fn find<T>(
        template: &Template,
        request: &Request,
        prompt: impl Fn(&T) -> &str,
        mut render: impl FnMut(&Request) -> Result<T>,
    ) -> Option<(T, Fitted)> {
        let mut made = |fitted: &Fitted| {
            let made = render(&fitted.request).ok();
            made.filter(|made| fitted.is_whole(request, prompt(made)))
        };
        let (mut fitted, mut found) = (Fit::default().apply(template, request), None);
        for change in CHANGES {
            let next = Fit(fitted.fit.0 | change.bit()).apply(template, request);
            if found.is_none() && next.notes != fitted.notes {
                found = made(&next);
                fitted = next;
            }
        }
        let mut found = found?;
        let last = CHANGES.iter().rposition(|change| fitted.fit.has(*change)).unwrap_or_default();
        for change in CHANGES[..last].iter().rev() {
            let less = Fit(fitted.fit.0 & !change.bit()).apply(template, request);
            if less.notes != fitted.notes
                && let Some(better) = made(&less)
            {
                (found, fitted) = (better, less);
            }
        }
        Some((found, fitted))
    }

    /// Whether the prompt has the texts that were joined or moved: instructions in their order, and the others in theirs.
    fn is_whole(&self, sent: &Request, prompt: &str) -> bool {
        let moved = || self.moved.iter().map(|index| &sent.messages[*index]);
        [true, false].into_iter().all(|systems| {
            let mut rest = prompt;
            let texts = moved().filter(|message| is_system(message) == systems).flat_map(|message| {
                let parts = message.parts.iter().filter(|part| part.kind == "text").map(|part| &part.text);
                [&message.content].into_iter().chain(parts).map(|text| text.trim())
            });
            texts.into_iter().all(|text| match rest.split_once(text) {
                Some((_, behind)) => {
                    rest = if text.is_empty() { rest } else { behind };
                    true
                }
                None => false,
            })
        })
    }
}

impl Change {
    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl Fit {
    fn has(self, change: Change) -> bool {
        self.0 & change.bit() != 0
    }

    /// Whether instructions go to the front.
    pub fn moves_systems(self) -> bool {
        self.has(Change::Systems)
    }

    /// The same without new ids.
    pub fn without_ids(self) -> Fit {
        Fit(self.0 & !Change::Ids.bit())
    }

    /// The request with these changes. A message that is continued stays as it is. But for ids, what is done depends on nothing but the
    /// roles and on who calls, so texts may be marked.
    pub fn apply(self, template: &Template, sent: &Request) -> Fitted {
        let (mut notes, mut moved) = (Vec::new(), Vec::new());
        let mut request = self.with_ids(template, sent, &mut notes);
        let mut continued = match request.continuation {
            Continuation::None => None,
            _ => request.messages.pop(),
        };
        let messages = std::mem::take(&mut request.messages).into_iter().enumerate();
        let mut turns: Vec<Turn> = messages.map(|(index, message)| Turn { message, from: vec![index] }).collect();
        if self.has(Change::Call) {
            turns = with_calls(turns, &mut notes);
        }
        if self.has(Change::Systems) {
            let (systems, rest): (Vec<Turn>, Vec<Turn>) = turns.into_iter().partition(Turn::is_system);
            let strays = |at: usize, turn: &Turn| turn.from[0] != at;
            for (_, turn) in systems.iter().enumerate().filter(|(at, turn)| strays(*at, turn)) {
                notes.push(format!("{}: moved to the front", turn.place()));
                moved.extend(&turn.from);
            }
            turns = joined(systems, |_, _| true, &mut notes, &mut moved);
            turns.extend(rest);
        }
        if self.has(Change::Join) || self.has(Change::JoinCalls) {
            let with_calls = self.has(Change::JoinCalls);
            let alike = |last: &Turn, next: &Turn| {
                let joins = last.message.role == next.message.role && !next.is("tool");
                joins && (with_calls || !last.calls() && !next.calls())
            };
            turns = joined(turns, alike, &mut notes, &mut moved);
        }
        let blank = self.has(Change::Blank);
        let (text, is) = if blank { (" ", "a blank") } else { ("", "an empty") };
        let mut put = |turns: &mut Vec<Turn>, at: usize, role: &str| {
            let (side, other) = if at < turns.len() { ("in front of", at) } else { ("behind", at.saturating_sub(1)) };
            let place = turns.get(other).map_or_else(String::new, |turn| format!("{side} {}: ", turn.place()));
            notes.push(format!("{place}{is} turn of the {role} was put"));
            turns.insert(at, Turn::put(role, text));
        };
        if self.has(Change::Answer) {
            let (mut answered, before) = (Vec::with_capacity(turns.len()), turns);
            for turn in before {
                let waits = answered.last().is_some_and(|last: &Turn| last.is("tool") || last.calls());
                let (goes_on, place) = (turn.is("user") && waits, answered.len());
                answered.push(turn);
                if goes_on {
                    put(&mut answered, place, "assistant");
                }
            }
            turns = answered;
        }
        let first = turns.iter().position(|turn| !turn.is_system()).unwrap_or(turns.len());
        if self.has(Change::User) && !turns.get(first).is_some_and(|turn| turn.is("user")) {
            put(&mut turns, first, "user");
        }
        let open = continued.is_none() && request.add_generation_prompt;
        if self.has(Change::Last) && open && turns.last().is_some_and(|last| last.is("assistant") && !last.calls()) {
            let end = turns.len();
            put(&mut turns, end, "user");
        }
        moved.sort_unstable();
        moved.dedup();
        request.messages = turns.into_iter().map(|turn| turn.message).chain(continued.take()).collect();
        Fitted { request, fit: self, notes, moved }
    }

    /// The request with ids of nine letters and digits, or with the names of tools in them where the template's have. Equal ids stay
    /// equal, and a result without an id gets that of the first call that waits for one.
    pub fn with_ids(self, template: &Template, sent: &Request, notes: &mut Vec<String>) -> Request {
        let mut request = sent.clone();
        if !self.has(Change::Ids) {
            return request;
        }
        let has_form = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let all = sent
            .messages
            .iter()
            .flat_map(|message| message.tool_calls.iter().map(|call| &*call.id).chain([&*message.tool_call_id]));
        let mut used: HashSet<String> = all.filter(|id| has_form(id)).map(str::to_owned).collect();
        let (mut count, mut known) = (0, HashMap::new());
        let mut new_id = |name: &str| loop {
            let id = template.call_id(&format!("call{count:05}"), name, count);
            count += 1;
            if used.insert(id.clone()) {
                return id;
            }
        };
        let mut change = |id: &mut String, name: &str, place: &dyn Fn() -> String| {
            let new = match known.get(&*id) {
                Some(new) => String::clone(new),
                None if has_form(id) && has_form(&template.call_id("call00000", name, 0)) => return,
                None => {
                    let new = new_id(name);
                    notes.push(format!("{}: {id:?} is {new:?} in the prompt", place()));
                    if !id.is_empty() {
                        known.insert(id.clone(), new.clone());
                    }
                    new
                }
            };
            *id = new;
        };
        let mut waiting = VecDeque::new();
        for (index, message) in request.messages.iter_mut().enumerate() {
            if !message.tool_calls.is_empty() {
                waiting.clear();
            }
            for (call_index, call) in message.tool_calls.iter_mut().enumerate() {
                let was_missing = call.id.is_empty();
                let place = || format!("messages[{index}].tool_calls[{call_index}].id");
                change(&mut call.id, &call.name, &place);
                if was_missing {
                    waiting.push_back(call.id.clone());
                }
            }
            if message.role == "tool" {
                match waiting.pop_front().filter(|_| message.tool_call_id.is_empty()) {
                    Some(id) => message.tool_call_id = id,
                    None => {
                        let place = || format!("messages[{index}].tool_call_id");
                        change(&mut message.tool_call_id, &message.name, &place);
                    }
                }
            }
        }
        request
    }
}

/// Calls in front of results that follow none: hosts cut histories.
fn with_calls(turns: Vec<Turn>, notes: &mut Vec<String>) -> Vec<Turn> {
    let mut called: Vec<Turn> = Vec::with_capacity(turns.len());
    for turn in turns {
        let follows = called.last().is_some_and(|last| last.calls() || last.is("tool"));
        if turn.is("tool") && !follows {
            notes.push(format!("in front of {}: a call without arguments was put", turn.place()));
            let Message { name, tool_call_id, .. } = &turn.message;
            let name = if name.is_empty() { "tool" } else { name };
            let mut call = Turn::put("assistant", "");
            call.message.tool_calls.push(ToolCall::new(name, "{}", tool_call_id));
            called.push(call);
        }
        called.push(turn);
    }
    called
}

/// Joins neighbours that are alike.
fn joined(
    turns: Vec<Turn>,
    alike: impl Fn(&Turn, &Turn) -> bool,
    notes: &mut Vec<String>,
    moved: &mut Vec<usize>,
) -> Vec<Turn> {
    let mut all: Vec<Turn> = Vec::with_capacity(turns.len());
    for next in turns {
        match all.last_mut().filter(|last| alike(last, &next)) {
            Some(last) => {
                notes.push(format!("{}: joined to {}", next.place(), last.place()));
                moved.extend(last.from.iter().take(1).chain(&next.from));
                join(&mut last.message, next.message);
                last.from.extend(next.from);
            }
            None => all.push(next),
        }
    }
    all
}

/// Adds what `next` says to a message, behind a blank line.
fn join(message: &mut Message, next: Message) {
    let is_text = |message: &Message| message.parts.iter().all(|part| part.kind == "text");
    if is_text(message) && is_text(&next) {
        if !message.parts.is_empty() {
            message.content = message.text();
            message.parts.clear();
        }
        add(&mut message.content, &next.text());
    } else {
        let parts = |message: &mut Message| match std::mem::take(&mut message.parts) {
            parts if parts.is_empty() && !message.content.is_empty() => {
                let mut part = Part::default();
                (part.kind, part.text) = ("text".to_owned(), std::mem::take(&mut message.content));
                vec![part]
            }
            parts => parts,
        };
        let (mut next, mut all) = (next.clone(), parts(message));
        let mut more = parts(&mut next).into_iter().peekable();
        if let (Some(last), Some(_)) = (all.last_mut().filter(|part| part.kind == "text"), more.peek())
            && let Some(part) = more.next_if(|part| part.kind == "text")
        {
            add(&mut last.text, &part.text);
        }
        all.extend(more);
        message.parts = all;
    }
    add(&mut message.reasoning_content, &next.reasoning_content);
    message.tool_calls.extend(next.tool_calls);
    if message.name != next.name {
        message.name.clear();
    }
    for (field, value) in next.more {
        message.more.entry(field).or_insert(value);
    }
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}
