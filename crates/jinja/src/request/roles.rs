//! Messages as a template takes them, where it raises on them as they were sent, or leaves out what
//! they say: [`Roles::Fit`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::said::{Said, is_system};
use crate::Template;
use chatparse_message::{Continuation, Message, Part, Request, ToolCall};

/// A change of a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// Results are in the order of their calls, and have the calls' names.
    Results,
    /// Calls and results have ids of the form that templates demand.
    Ids,
    /// A turn of several calls becomes call, result, call, result.
    Split,
    /// A text beside calls is a message of its own before them.
    Apart,
    /// The instructions that begin the conversation are one.
    Lead,
    /// Later instructions are the user's.
    Place,
    /// All instructions are one, at the front.
    Systems,
    /// All instructions are the user's.
    User,
    /// Neighbours of one role without calls are one.
    Join,
    /// The user begins.
    First,
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

/// The ways with instructions: what rewrites least of what was sent before comes first.
const INSTRUCTIONS: [&[Change]; 3] = [
    &[Change::Lead, Change::Place],
    &[Change::Systems],
    &[Change::User],
];

/// The other changes, before those and after them, the cheapest first: what changes least of what
/// the model reads.
const BEFORE: [Change; 3] = [Change::Ids, Change::Split, Change::Apart];
const AFTER: [Change; 7] = [
    Change::Join,
    Change::First,
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
pub struct Fitted<'r> {
    pub request: Cow<'r, Request>,
    pub fit: Fit,
    /// What was changed: which message, and how.
    pub notes: Vec<String>,
    /// For each message, those as sent that it has the texts of, and how many calls of the first
    /// one precede its own; empty if all are as sent.
    from: Vec<(Vec<usize>, usize)>,
}

/// What was made of a request with changed messages, and the texts as sent that its prompt lacks.
#[derive(Debug)]
pub struct Arranged<'r, T> {
    pub made: T,
    pub fitted: Fitted<'r>,
    pub lost: Vec<Said>,
}

/// A message, and those of the request that it has the texts of; none if it was put.
struct Turn {
    message: Message,
    from: Vec<usize>,
    /// How many calls of the first one are in turns before.
    calls_before: usize,
}

impl Turn {
    fn new(message: Message, from: Vec<usize>) -> Turn {
        Turn {
            message,
            from,
            calls_before: 0,
        }
    }

    fn put(role: &str, text: &str) -> Turn {
        Turn::new(Message::new(role, text), Vec::new())
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
        match self.from.first() {
            Some(at) => format!("messages[{at}] ({role})"),
            None => format!("a turn that was put ({role})"),
        }
    }
}

impl<'r> Fitted<'r> {
    /// What `render` makes of it.
    fn made<T>(
        self,
        render: &mut impl FnMut(&Request) -> Option<(T, Vec<Said>)>,
    ) -> Option<Arranged<'r, T>> {
        let (made, lacks) = render(&self.request)?;
        let mut lost: Vec<Said> = Vec::new();
        for said in lacks {
            match said.message().and_then(|message| self.from.get(message)) {
                None => lost.push(said),
                Some((from, calls)) => lost.extend(from.iter().map(|sent| said.of(*sent, *calls))),
            }
        }
        lost.sort_unstable();
        lost.dedup();
        Some(Arranged {
            made,
            fitted: self,
            lost,
        })
    }
}

impl<'r, T> Arranged<'r, T> {
    /// Finds the fewest changes with which the prompt lacks the fewest texts. `render` makes it,
    /// and says which texts it lacks; `None` if the template raises. Changes are added as long as
    /// they may help, and then those are left out that are not needed: so there are, for each way
    /// with instructions, fewer renders than twice the changes. `None`: the template raises on all
    /// of it.
    pub fn find(
        template: &Template,
        sent: &'r Request,
        mut render: impl FnMut(&Request) -> Option<(T, Vec<Said>)>,
    ) -> Option<Arranged<'r, T>> {
        let base = Fit::default().with(Change::Results).apply(template, sent);
        let (base_fit, base_notes) = (base.fit, base.notes.clone());
        let mut best = base.made(&mut render);
        let raises_as_sent = best.is_none();
        for instructions in INSTRUCTIONS {
            if best.as_ref().is_some_and(|best| best.lost.is_empty()) {
                break;
            }
            let (mut fit, mut notes, mut raises) = (base_fit, base_notes.clone(), raises_as_sent);
            for change in BEFORE.iter().chain(instructions).chain(&AFTER) {
                let lost = best.as_ref().map_or(&[][..], |best| &best.lost);
                if !raises && !lost.iter().any(|said| change.may_help(*said, sent)) {
                    continue;
                }
                let next = fit.with(*change).apply(template, sent);
                let (next_fit, next_notes) = (next.fit, next.notes.clone());
                if next_notes == notes {
                    continue;
                }
                let made = next.made(&mut render);
                if made.is_none() && !raises_as_sent && BEFORE.contains(change) {
                    continue;
                }
                (fit, notes, raises) = (next_fit, next_notes, made.is_none());
                best = match (made, best) {
                    (Some(made), Some(best)) if made.lost.len() >= best.lost.len() => Some(best),
                    (made, best) => made.or(best),
                };
            }
        }
        let mut best = best?;
        for change in BEFORE
            .iter()
            .chain(INSTRUCTIONS.into_iter().flatten())
            .chain(&AFTER)
            .rev()
        {
            if !best.fitted.fit.has(*change) {
                continue;
            }
            let less = best.fitted.fit.without(*change).apply(template, sent);
            if less.notes != best.fitted.notes
                && let Some(less) = less.made(&mut render)
                && less.lost.len() <= best.lost.len()
            {
                best = less;
            }
        }
        Some(best)
    }
}

impl Change {
    fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Whether a prompt that lacks this may have it with the change.
    fn may_help(self, lost: Said, sent: &Request) -> bool {
        let instructs = matches!(
            self,
            Change::Lead | Change::Place | Change::Systems | Change::User
        );
        match lost {
            Said::Tool(_) => instructs,
            Said::Reasoning(_) => false,
            Said::Call(..) => self == Change::Split,
            Said::Content(message) => match &sent.messages[message] {
                message if is_system(message) => instructs || self == Change::Join,
                message if !message.tool_calls.is_empty() => self == Change::Apart,
                message if message.role == "tool" => matches!(self, Change::Split | Change::Call),
                _ => self == Change::Join,
            },
        }
    }
}

impl Fit {
    fn has(self, change: Change) -> bool {
        self.0 & change.bit() != 0
    }

    fn with(self, change: Change) -> Fit {
        Fit(self.0 | change.bit())
    }

    fn without(self, change: Change) -> Fit {
        Fit(self.0 & !change.bit())
    }

    /// Whether instructions go to the front.
    pub fn moves_systems(self) -> bool {
        self.has(Change::Systems)
    }

    /// The same without new ids.
    pub fn without_ids(self) -> Fit {
        self.without(Change::Ids)
    }

    /// The request with these changes. A message that is continued stays as it is. Except for ids,
    /// what is done depends on nothing but the roles, on who calls and on which ids are equal, so
    /// texts may be marked.
    pub fn apply<'r>(self, template: &Template, sent: &'r Request) -> Fitted<'r> {
        let answers = if self.has(Change::Results) {
            answers(template, &sent.messages)
        } else {
            Vec::new()
        };
        let is_ordered = answers
            .iter()
            .all(|answer| answer.index == answer.place && answer.name.is_none());
        if self.without(Change::Results) == Fit::default() && is_ordered {
            return Fitted {
                request: Cow::Borrowed(sent),
                fit: Fit::default(),
                notes: Vec::new(),
                from: Vec::new(),
            };
        }
        let mut notes = Vec::new();
        let mut request = self.with_ids(template, sent, &mut notes);
        let continued = match request.continuation {
            Continuation::None => None,
            _ => request.messages.pop(),
        };
        let messages = std::mem::take(&mut request.messages)
            .into_iter()
            .enumerate();
        let mut turns: Vec<Turn> = messages
            .map(|(index, message)| Turn::new(message, vec![index]))
            .collect();
        turns = in_order(turns, &answers, &mut notes);
        if self.has(Change::Call) {
            turns = with_calls(turns, &mut notes);
        }
        if self.has(Change::Split) {
            turns = split(turns, &mut notes);
        }
        if self.has(Change::Apart) {
            turns = apart(turns, &mut notes);
        }
        if self.has(Change::Systems) {
            let (systems, rest): (Vec<Turn>, Vec<Turn>) =
                turns.into_iter().partition(Turn::is_system);
            for (_, turn) in systems
                .iter()
                .enumerate()
                .filter(|(at, turn)| turn.from[0] != *at)
            {
                notes.push(format!("{}: moved to the front", turn.place()));
            }
            turns = joined(systems, |_, _| true, &mut notes);
            turns.extend(rest);
        }
        let leading = turns.iter().take_while(|turn| turn.is_system()).count();
        if self.has(Change::Place) || self.has(Change::User) {
            let later = if self.has(Change::User) { 0 } else { leading };
            for turn in turns[later..].iter_mut().filter(|turn| turn.is_system()) {
                notes.push(format!("{}: is the user's in the prompt", turn.place()));
                "user".clone_into(&mut turn.message.role);
            }
        }
        if self.has(Change::Lead) {
            turns = joined(
                turns,
                |last, next| last.is_system() && next.is_system(),
                &mut notes,
            );
        }
        if self.has(Change::Join) || self.has(Change::JoinCalls) {
            let with_calls = self.has(Change::JoinCalls);
            let alike = |last: &Turn, next: &Turn| {
                let joins = last.message.role == next.message.role && !next.is("tool");
                joins && (with_calls || !last.calls() && !next.calls())
            };
            turns = joined(turns, alike, &mut notes);
        }
        let blank = self.has(Change::Blank);
        let (text, is) = if blank {
            (" ", "a blank")
        } else {
            ("", "an empty")
        };
        let mut put = |turns: &mut Vec<Turn>, at: usize, role: &str| {
            let (side, other) = if at < turns.len() {
                ("in front of", at)
            } else {
                ("behind", at.saturating_sub(1))
            };
            let place = turns
                .get(other)
                .map_or_else(String::new, |turn| format!("{side} {}: ", turn.place()));
            notes.push(format!("{place}{is} turn of the {role} was put"));
            turns.insert(at, Turn::put(role, text));
        };
        if self.has(Change::Answer) {
            let mut answered: Vec<Turn> = Vec::with_capacity(turns.len());
            for turn in turns {
                let waits = answered
                    .last()
                    .is_some_and(|last| last.is("tool") || last.calls());
                let (goes_on, place) = (turn.is("user") && waits, answered.len());
                answered.push(turn);
                if goes_on {
                    put(&mut answered, place, "assistant");
                }
            }
            turns = answered;
        }
        let first = turns
            .iter()
            .position(|turn| !turn.is_system())
            .unwrap_or(turns.len());
        if self.has(Change::First) && !turns.get(first).is_some_and(|turn| turn.is("user")) {
            put(&mut turns, first, "user");
        }
        let open = continued.is_none() && request.add_generation_prompt;
        if self.has(Change::Last)
            && open
            && turns
                .last()
                .is_some_and(|last| last.is("assistant") && !last.calls())
        {
            let end = turns.len();
            put(&mut turns, end, "user");
        }
        turns.extend(continued.map(|message| Turn::new(message, vec![sent.messages.len() - 1])));
        let from;
        (request.messages, from) = turns
            .into_iter()
            .map(|turn| (turn.message, (turn.from, turn.calls_before)))
            .unzip();
        Fitted {
            request: Cow::Owned(request),
            fit: self,
            notes,
            from,
        }
    }

    /// The request with ids of nine letters and digits, or with the names of tools in them where
    /// the template's have. Equal ids stay equal, and a result without an id gets that of the first
    /// call that waits for one.
    pub fn with_ids(self, template: &Template, sent: &Request, notes: &mut Vec<String>) -> Request {
        let mut request = sent.clone();
        if !self.has(Change::Ids) {
            return request;
        }
        let has_form =
            |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let all = sent.messages.iter().flat_map(|message| {
            message
                .tool_calls
                .iter()
                .map(|call| &*call.id)
                .chain([&*message.tool_call_id])
        });
        let mut used: HashSet<String> = all.filter(|id| has_form(id)).map(str::to_owned).collect();
        let (mut count, mut known) = (0, HashMap::new());
        let mut new_id = |name: &str| loop {
            let id = template.call_id(&format!("call{count:05}"), name, count);
            count += 1;
            if used.insert(id.clone()) {
                return id;
            }
        };
        let mut change = |id: &mut String, name: &str, place: String| {
            let new = match known.get(&*id) {
                Some(new) => String::clone(new),
                None if has_form(id) && has_form(&template.call_id("call00000", name, 0)) => return,
                None => {
                    let new = new_id(name);
                    notes.push(format!("{place}: {id:?} is {new:?} in the prompt"));
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
                change(
                    &mut call.id,
                    &call.name,
                    format!("messages[{index}].tool_calls[{call_index}].id"),
                );
                if was_missing {
                    waiting.push_back(call.id.clone());
                }
            }
            if message.role == "tool" {
                match waiting
                    .pop_front()
                    .filter(|_| message.tool_call_id.is_empty())
                {
                    Some(id) => message.tool_call_id = id,
                    None => change(
                        &mut message.tool_call_id,
                        &message.name,
                        format!("messages[{index}].tool_call_id"),
                    ),
                }
            }
        }
        request
    }
}

/// A result of a run whose ids match one call each of the turn before.
struct Answer<'m> {
    index: usize,
    /// The index that it has in the order of the calls.
    place: usize,
    /// The name of its call, if it has none and the template shows it.
    name: Option<&'m str>,
}

fn answers<'m>(template: &Template, messages: &'m [Message]) -> Vec<Answer<'m>> {
    let mut all = Vec::new();
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut caller = None;
    let mut at = 0;
    while at < messages.len() {
        let run = messages[at..]
            .iter()
            .take_while(|message| message.role == "tool")
            .count();
        if run == 0 {
            let called = &messages[at].tool_calls;
            calls = called
                .iter()
                .enumerate()
                .map(|(index, call)| (&*call.id, index))
                .collect();
            // Of two calls of one id, or one without, a result may be of either.
            let is_clear = calls.len() == called.len() && !calls.contains_key("");
            caller = Some(&messages[at]).filter(|_| is_clear);
            at += 1;
            continue;
        }
        let results = &messages[at..at + run];
        let mut matched: Vec<(usize, usize)> = Vec::new();
        for (index, result) in results.iter().enumerate() {
            matched.extend(calls.get(&*result.tool_call_id).map(|call| (*call, index)));
        }
        matched.sort_unstable();
        let is_one_each =
            matched.len() == run && matched.windows(2).all(|pair| pair[0].0 != pair[1].0);
        if let Some(caller) = caller.filter(|_| is_one_each) {
            all.extend(
                matched
                    .into_iter()
                    .enumerate()
                    .map(|(place, (call, index))| Answer {
                        index: at + index,
                        place: at + place,
                        name: Some(&*caller.tool_calls[call].name)
                            .filter(|_| results[index].name.is_empty() && template.names_results()),
                    }),
            );
        }
        at += run;
    }
    all
}

/// Results in the order of their calls, with the calls' names.
fn in_order(mut turns: Vec<Turn>, answers: &[Answer], notes: &mut Vec<String>) -> Vec<Turn> {
    let mut places: Vec<usize> = (0..turns.len()).collect();
    for Answer { index, place, name } in answers {
        // A result that is continued is none of the turns.
        let Some(turn) = turns.get_mut(*index) else {
            continue;
        };
        if let Some(name) = name {
            (*name).clone_into(&mut turn.message.name);
        }
        if index != place {
            notes.push(format!(
                "{}: in the order of the calls in the prompt",
                turn.place()
            ));
        }
        places[*index] = *place;
    }
    let mut placed: Vec<(usize, Turn)> = places.into_iter().zip(turns).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, turn)| turn).collect()
}

/// Each call of a turn as a turn of its own, before its result: the next one, if it has the call's
/// id or one of them has none.
fn split(turns: Vec<Turn>, notes: &mut Vec<String>) -> Vec<Turn> {
    let mut all: Vec<Turn> = Vec::with_capacity(turns.len());
    let mut rest = turns.into_iter().peekable();
    while let Some(mut turn) = rest.next() {
        if turn.message.tool_calls.len() < 2 {
            all.push(turn);
            continue;
        }
        let mut results = VecDeque::new();
        while let Some(result) = rest.next_if(|next| next.is("tool")) {
            results.push_back(result);
        }
        let calls = std::mem::take(&mut turn.message.tool_calls);
        for (index, call) in calls.into_iter().enumerate() {
            let mut own = match index {
                0 => Turn::new(turn.message.clone(), turn.from.clone()),
                _ => Turn {
                    from: turn.from.clone(),
                    calls_before: index,
                    ..Turn::put("assistant", "")
                },
            };
            if index > 0 {
                notes.push(format!(
                    "{}: call {index} is a turn of its own in the prompt",
                    turn.place()
                ));
            }
            let answers = |result: &Turn| {
                let id = &result.message.tool_call_id;
                id.is_empty() || call.id.is_empty() || *id == call.id
            };
            let result = if results.front().is_some_and(answers) {
                results.pop_front()
            } else {
                None
            };
            own.message.tool_calls.push(call);
            all.push(own);
            all.extend(result);
        }
        all.extend(results);
    }
    all
}

/// Each text beside calls as a message of its own before them.
fn apart(turns: Vec<Turn>, notes: &mut Vec<String>) -> Vec<Turn> {
    let mut all: Vec<Turn> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        let message = &mut turn.message;
        let says = !message.content.is_empty() || !message.parts.is_empty();
        if says && !message.tool_calls.is_empty() {
            let mut said = Message::new(&message.role, std::mem::take(&mut message.content));
            said.parts = std::mem::take(&mut message.parts);
            all.push(Turn::new(said, turn.from.clone()));
            notes.push(format!(
                "{}: its text is a message of its own in the prompt",
                turn.place()
            ));
        }
        all.push(turn);
    }
    all
}

/// Calls in front of results that follow none: hosts cut histories.
fn with_calls(turns: Vec<Turn>, notes: &mut Vec<String>) -> Vec<Turn> {
    let mut called: Vec<Turn> = Vec::with_capacity(turns.len());
    for turn in turns {
        let follows = called
            .last()
            .is_some_and(|last| last.calls() || last.is("tool"));
        if turn.is("tool") && !follows {
            notes.push(format!(
                "in front of {}: a call without arguments was put",
                turn.place()
            ));
            let Message {
                name, tool_call_id, ..
            } = &turn.message;
            let name = if name.is_empty() { "tool" } else { name };
            let mut call = Turn::put("assistant", "");
            call.message
                .tool_calls
                .push(ToolCall::new(name, "{}", tool_call_id));
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
) -> Vec<Turn> {
    let mut all: Vec<Turn> = Vec::with_capacity(turns.len());
    for next in turns {
        match all.last_mut().filter(|last| alike(last, &next)) {
            Some(last) => {
                notes.push(format!("{}: joined to {}", next.place(), last.place()));
                join(&mut last.message, next.message);
                last.from.extend(next.from);
            }
            None => all.push(next),
        }
    }
    all
}

/// Adds what `next` says to a message, behind a blank line.
fn join(message: &mut Message, mut next: Message) {
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
        let mut all = parts(message);
        let mut more = parts(&mut next).into_iter().peekable();
        if let Some(last) = all.last_mut().filter(|part| part.kind == "text")
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
