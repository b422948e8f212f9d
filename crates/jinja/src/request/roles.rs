//! Changes messages if the template raises on them as they were sent, or leaves out their texts:
//! [`Roles::Fit`].

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::said::{Said, is_system};
use crate::Template;
use chatparse_base::sort;
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

/// The ways with instructions. The way that rewrites least of the earlier prompts comes first.
const INSTRUCTIONS: [&[Change]; 3] = [
    &[Change::Lead, Change::Place],
    &[Change::Systems],
    &[Change::User],
];

/// The changes before and after [`INSTRUCTIONS`]. The change that alters least of the prompt comes
/// first.
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
    /// The changes: which message, and how.
    pub notes: Vec<String>,
    /// For each message: the messages as sent whose texts it has, and how many calls of the first
    /// of them precede its own. Empty if all are as sent.
    pub from: Vec<(Vec<usize>, usize)>,
}

/// The prompt of a request with changed messages, and the texts as sent that it lacks.
#[derive(Debug)]
pub struct Arranged<'r, T> {
    pub made: T,
    pub fitted: Fitted<'r>,
    pub lost: Vec<Said>,
}

/// A message, and the messages of the request that it has the texts of; none if it was put.
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

    fn note(&self, notes: &mut Vec<String>, change: &str) {
        notes.push(format!("{}: {change}", self.place()));
    }
}

impl<'r> Fitted<'r> {
    /// Renders the request.
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
        sort::sort(&mut lost);
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
    /// they may help, and then the changes that are not needed are left out: so there are, for each
    /// way with instructions, fewer renders than twice the changes. `None`: the template raises on
    /// all of it.
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
                let mut lost = best.iter().flat_map(|best| &best.lost);
                if !raises && !lost.any(|said| change.may_help(*said, sent)) {
                    continue;
                }
                let next = fit.with(*change).apply(template, sent);
                if next.notes == notes {
                    continue;
                }
                let (next_fit, next_notes) = (next.fit, next.notes.clone());
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
        let instructions = INSTRUCTIONS.into_iter().flatten();
        for change in BEFORE.iter().chain(instructions).chain(&AFTER).rev() {
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
        let instructs = INSTRUCTIONS.iter().any(|ways| ways.contains(&self));
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
    /// the changes depend on nothing but the roles, on who calls and on which ids are equal, so
    /// texts may be marked.
    pub fn apply<'r>(self, template: &Template, sent: &'r Request) -> Fitted<'r> {
        let mut answers = Vec::new();
        if self.has(Change::Results) {
            answers = find_answers(template, &sent.messages);
        }
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
        // No change may touch the message that is continued.
        let continued = match request.continuation {
            Continuation::None => None,
            _ => request.messages.pop(),
        };
        let messages = std::mem::take(&mut request.messages).into_iter();
        let turns = messages
            .enumerate()
            .map(|(index, message)| Turn::new(message, vec![index]));
        let mut turns = Turns {
            all: turns.collect(),
            notes,
            is_blank: self.has(Change::Blank),
        };
        // Calls and results come first: splitting makes turns that later changes join or answer.
        turns.order(&answers);
        if self.has(Change::Call) {
            turns.add_calls();
        }
        if self.has(Change::Split) {
            turns.split();
        }
        if self.has(Change::Apart) {
            turns.part_texts();
        }
        // Instructions come before joining, because moving them makes new neighbours.
        if self.has(Change::Systems) {
            turns.move_systems();
        }
        if self.has(Change::User) {
            turns.give_to_user(0);
        } else if self.has(Change::Place) {
            turns.give_to_user(turns.instructions());
        }
        if self.has(Change::Lead) {
            turns.join(|last, next| last.is_system() && next.is_system());
        }
        if self.has(Change::Join) || self.has(Change::JoinCalls) {
            let with_calls = self.has(Change::JoinCalls);
            turns.join(|last, next| {
                let joins = last.message.role == next.message.role && !next.is("tool");
                joins && (with_calls || !last.calls() && !next.calls())
            });
        }
        // Turns are put last, where the roles do not alternate even now.
        if self.has(Change::Answer) {
            turns.answer();
        }
        let first = turns.instructions();
        if self.has(Change::First) && !turns.all.get(first).is_some_and(|turn| turn.is("user")) {
            turns.put(first, "user");
        }
        let open = continued.is_none() && request.add_generation_prompt;
        if self.has(Change::Last)
            && open
            && let Some(last) = turns.all.last()
            && last.is("assistant")
            && !last.calls()
        {
            turns.put(turns.all.len(), "user");
        }
        let Turns { mut all, notes, .. } = turns;
        all.extend(continued.map(|message| Turn::new(message, vec![sent.messages.len() - 1])));
        let from;
        (request.messages, from) = all
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
    /// the template's ids have the names. Equal ids stay equal, and a result without an id gets
    /// that of the first call that waits for one.
    pub fn with_ids(self, template: &Template, sent: &Request, notes: &mut Vec<String>) -> Request {
        let mut request = sent.clone();
        if !self.has(Change::Ids) {
            return request;
        }
        let mut ids = Ids {
            template,
            used: HashSet::new(),
            new: HashMap::new(),
            count: 0,
            notes,
        };
        for message in &sent.messages {
            let calls = message.tool_calls.iter().map(|call| &call.id);
            let all = calls.chain([&message.tool_call_id]);
            ids.used.extend(all.filter(|id| has_form(id)).cloned());
        }
        let mut waiting = VecDeque::new();
        for (index, message) in request.messages.iter_mut().enumerate() {
            if !message.tool_calls.is_empty() {
                waiting.clear();
            }
            for (call_index, call) in message.tool_calls.iter_mut().enumerate() {
                let was_missing = call.id.is_empty();
                let place = format!("messages[{index}].tool_calls[{call_index}].id");
                ids.change(&mut call.id, &call.name, place);
                if was_missing {
                    waiting.push_back(call.id.clone());
                }
            }
            if message.role == "tool" {
                match waiting.pop_front() {
                    Some(id) if message.tool_call_id.is_empty() => message.tool_call_id = id,
                    _ => {
                        let place = format!("messages[{index}].tool_call_id");
                        ids.change(&mut message.tool_call_id, &message.name, place);
                    }
                }
            }
        }
        request
    }
}

/// The ids of calls in a prompt.
struct Ids<'t> {
    template: &'t Template,
    used: HashSet<String>,
    /// The new id of an id as sent.
    new: HashMap<String, String>,
    count: usize,
    notes: &'t mut Vec<String>,
}

impl Ids<'_> {
    /// Changes the id of a call of the tool `name`, unless it has the form that the template needs.
    fn change(&mut self, id: &mut String, name: &str, place: String) {
        if let Some(new) = self.new.get(id) {
            id.clone_from(new);
            return;
        }
        if has_form(id) && has_form(&self.template.call_id("call00000", name, 0)) {
            return;
        }
        let new = self.next(name);
        self.notes
            .push(format!("{place}: {id:?} is {new:?} in the prompt"));
        let sent = std::mem::replace(id, new.clone());
        if !sent.is_empty() {
            self.new.insert(sent, new);
        }
    }

    /// The next id that no call has.
    fn next(&mut self, name: &str) -> String {
        loop {
            let plain = format!("call{:05}", self.count);
            let id = self.template.call_id(&plain, name, self.count);
            self.count += 1;
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Whether an id has nine letters and digits.
fn has_form(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A result of a run whose ids match one call each of the turn before.
struct Answer<'m> {
    index: usize,
    /// The index that it has in the order of the calls.
    place: usize,
    /// The name of its call, if the result has none and the template shows it.
    name: Option<&'m str>,
}

fn find_answers<'m>(template: &Template, messages: &'m [Message]) -> Vec<Answer<'m>> {
    let mut answers = Vec::new();
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut called: Option<&[ToolCall]> = None;
    let mut start = 0;
    while let Some(message) = messages.get(start) {
        let results = messages[start..].iter();
        let run = results.take_while(|message| message.role == "tool").count();
        if run == 0 {
            let all = &message.tool_calls;
            calls = all
                .iter()
                .enumerate()
                .map(|(index, call)| (&*call.id, index))
                .collect();
            // Of two calls of one id, or one without, a result may be of either.
            let is_clear = calls.len() == all.len() && !calls.contains_key("");
            called = is_clear.then_some(all);
            start += 1;
            continue;
        }
        let mut matched: Vec<(usize, usize)> = Vec::new();
        for (index, result) in messages.iter().enumerate().skip(start).take(run) {
            let call = calls.get(&*result.tool_call_id);
            matched.extend(call.map(|call| (*call, index)));
        }
        sort::sort(&mut matched);
        let is_one_each =
            matched.len() == run && matched.windows(2).all(|pair| pair[0].0 != pair[1].0);
        if let Some(called) = called.filter(|_| is_one_each) {
            for (place, (call, index)) in (start..).zip(matched) {
                let is_named = !messages[index].name.is_empty() || !template.names_results();
                let name = (!is_named).then_some(&*called[call].name);
                answers.push(Answer { index, place, name });
            }
        }
        start += run;
    }
    answers
}

/// The turns of a request while they are changed.
struct Turns {
    all: Vec<Turn>,
    notes: Vec<String>,
    /// Turns that are put have a blank.
    is_blank: bool,
}

impl Turns {
    fn take(&mut self) -> std::vec::IntoIter<Turn> {
        std::mem::take(&mut self.all).into_iter()
    }

    /// The number of instructions that begin the conversation.
    fn instructions(&self) -> usize {
        self.all.iter().take_while(|turn| turn.is_system()).count()
    }

    /// Puts a turn before the turn at `at`, or at the end.
    fn put(&mut self, at: usize, role: &str) {
        let (side, neighbour) = match self.all.get(at) {
            None => ("behind", self.all.last()),
            next => ("in front of", next),
        };
        let place = neighbour.map_or_else(String::new, |turn| format!("{side} {}: ", turn.place()));
        let (text, is) = match self.is_blank {
            true => (" ", "a blank"),
            false => ("", "an empty"),
        };
        self.notes
            .push(format!("{place}{is} turn of the {role} was put"));
        self.all.insert(at, Turn::put(role, text));
    }

    /// Puts results in the order of their calls, and gives them the calls' names.
    fn order(&mut self, answers: &[Answer]) {
        let mut places: Vec<usize> = (0..self.all.len()).collect();
        for Answer { index, place, name } in answers {
            // A result that is continued is none of the turns.
            let Some(turn) = self.all.get_mut(*index) else {
                continue;
            };
            if let Some(name) = name {
                (*name).clone_into(&mut turn.message.name);
            }
            if index != place {
                turn.note(&mut self.notes, "in the order of the calls in the prompt");
            }
            places[*index] = *place;
        }
        let mut places = places.into_iter();
        sort::by_key(&mut self.all, |_| places.next());
    }

    /// Moves instructions to the front, and joins them.
    fn move_systems(&mut self) {
        let (systems, others): (Vec<Turn>, Vec<Turn>) = self.take().partition(Turn::is_system);
        for (index, turn) in systems.iter().enumerate() {
            if turn.from[0] != index {
                turn.note(&mut self.notes, "moved to the front");
            }
        }
        self.all = systems;
        self.join(|_, _| true);
        self.all.extend(others);
    }

    /// Makes the instructions from `first` on the user's.
    fn give_to_user(&mut self, first: usize) {
        for turn in self.all[first..].iter_mut().filter(|turn| turn.is_system()) {
            turn.note(&mut self.notes, "is the user's in the prompt");
            "user".clone_into(&mut turn.message.role);
        }
    }

    /// Whether the turns so far end with calls or results.
    fn is_in_calls(&self) -> bool {
        let last = self.all.last();
        last.is_some_and(|last| last.calls() || last.is("tool"))
    }

    /// Puts an answer before each turn of the user that follows calls or results.
    fn answer(&mut self) {
        for turn in self.take() {
            let (goes_on, place) = (turn.is("user") && self.is_in_calls(), self.all.len());
            self.all.push(turn);
            if goes_on {
                self.put(place, "assistant");
            }
        }
    }

    /// Makes each call of a turn a turn of its own, before its result: the next one, if it has the
    /// call's id or one of them has none.
    fn split(&mut self) {
        let mut rest = self.take().peekable();
        while let Some(mut turn) = rest.next() {
            if turn.message.tool_calls.len() < 2 {
                self.all.push(turn);
                continue;
            }
            let mut results = VecDeque::new();
            while let Some(result) = rest.next_if(|next| next.is("tool")) {
                results.push_back(result);
            }
            let calls = std::mem::take(&mut turn.message.tool_calls);
            for (index, call) in calls.into_iter().enumerate() {
                let mut own = Turn {
                    from: turn.from.clone(),
                    calls_before: index,
                    ..Turn::put("assistant", "")
                };
                if index == 0 {
                    own.message = turn.message.clone();
                } else {
                    let what = format!("call {index} is a turn of its own in the prompt");
                    turn.note(&mut self.notes, &what);
                }
                let id = results
                    .front()
                    .map(|result: &Turn| &result.message.tool_call_id);
                let is_answered =
                    id.is_some_and(|id| id.is_empty() || call.id.is_empty() || *id == call.id);
                own.message.tool_calls.push(call);
                self.all.push(own);
                if is_answered {
                    self.all.extend(results.pop_front());
                }
            }
            self.all.extend(results);
        }
    }

    /// Makes each text beside calls a message of its own before them.
    fn part_texts(&mut self) {
        for mut turn in self.take() {
            let message = &mut turn.message;
            let says = !message.content.is_empty() || !message.parts.is_empty();
            if says && !message.tool_calls.is_empty() {
                let mut text = Message::new(&message.role, std::mem::take(&mut message.content));
                text.parts = std::mem::take(&mut message.parts);
                self.all.push(Turn::new(text, turn.from.clone()));
                turn.note(
                    &mut self.notes,
                    "its text is a message of its own in the prompt",
                );
            }
            self.all.push(turn);
        }
    }

    /// Puts calls before results that follow none: hosts cut histories.
    fn add_calls(&mut self) {
        for turn in self.take() {
            if turn.is("tool") && !self.is_in_calls() {
                let place = turn.place();
                self.notes.push(format!(
                    "in front of {place}: a call without arguments was put"
                ));
                let Message {
                    name, tool_call_id, ..
                } = &turn.message;
                let name = if name.is_empty() { "tool" } else { name };
                let mut call = Turn::put("assistant", "");
                call.message.tool_calls = vec![ToolCall::new(name, "{}", tool_call_id)];
                self.all.push(call);
            }
            self.all.push(turn);
        }
    }

    /// Joins neighbours that are alike.
    fn join(&mut self, alike: impl Fn(&Turn, &Turn) -> bool) {
        for next in self.take() {
            match self.all.last_mut().filter(|last| alike(last, &next)) {
                Some(last) => {
                    next.note(&mut self.notes, &format!("joined to {}", last.place()));
                    join(&mut last.message, next.message);
                    last.from.extend(next.from);
                }
                None => self.all.push(next),
            }
        }
    }
}

/// Adds the texts and calls of `next` to a message, after a blank line.
fn join(message: &mut Message, mut next: Message) {
    if is_text(message) && is_text(&next) {
        if !message.parts.is_empty() {
            message.content = message.text();
            message.parts.clear();
        }
        add(&mut message.content, &next.text());
    } else {
        message.parts = take_parts(message);
        let mut more = take_parts(&mut next).into_iter().peekable();
        if let Some(last) = message.parts.last_mut().filter(|part| part.kind == "text")
            && let Some(part) = more.next_if(|part| part.kind == "text")
        {
            add(&mut last.text, &part.text);
        }
        message.parts.extend(more);
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

fn is_text(message: &Message) -> bool {
    message.parts.iter().all(|part| part.kind == "text")
}

/// Takes the content of a message as parts.
fn take_parts(message: &mut Message) -> Vec<Part> {
    let mut parts = std::mem::take(&mut message.parts);
    if parts.is_empty() && !message.content.is_empty() {
        let mut part = Part::default();
        (part.kind, part.text) = ("text".to_owned(), std::mem::take(&mut message.content));
        parts.push(part);
    }
    parts
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}
