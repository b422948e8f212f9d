//! The prompt of a request: rendered, with changed messages where the template demands it, and with
//! where it leaves the message.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::messages::Messages;
use crate::reader::Reader;
use chatparse_base::find::shared;
use chatparse_base::{Error, ErrorKind, Result, sort};
use chatparse_format::{Begun, Opening, thought};
use chatparse_jinja::{
    Arranged, Fit, Prepared, Said, Template, cut, lost, offered, plain, prepare, resolve, whole,
};
use chatparse_learn::{PromptInput, prompt};
use chatparse_message::{Compat, Continuation, Media, Message, Request, Roles};

/// The prompt of a request, and its parts.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    pub prompt: String,
    /// Where it leaves the message.
    pub opening: Opening,
    /// The media in the prompt, in order.
    pub media: Vec<Media>,
    /// What was changed of the messages.
    pub notes: Vec<String>,
}

impl Reader {
    /// The prompt of a request, with changed messages where the template demands it and the request
    /// allows it. `opening`: also compute the opening of the assistant's turn.
    pub(crate) fn fitted(&self, request: &Request, opening: bool) -> Result<(Prompts, Fit)> {
        let template = self.template();
        if request.roles == Roles::AsSent || request.messages.is_empty() || request.plain.is_some()
        {
            let mut prompts = self.prompts(template, request, opening)?;
            if opening && request.plain.is_none() && request.output.compat == Compat::Off {
                let lost = self.lost(request, &prompts);
                prompts.notes = said_in_vain(lost.into_iter().map(Said::place));
            }
            return Ok((prompts, Fit::default()));
        }
        let mut error = None;
        let found = Arranged::find(template, request, |request| {
            // Only what the template says may change with the messages.
            let kind = error.as_ref().map(Error::kind);
            if kind.is_some_and(|kind| kind != ErrorKind::Template) {
                return None;
            }
            match self.prompts(template, request, opening) {
                Ok(prompts) => {
                    let lost = self.lost(request, &prompts);
                    Some((prompts, lost))
                }
                Err(found) => {
                    error.get_or_insert(found);
                    None
                }
            }
        });
        let Some(Arranged {
            made: mut prompts,
            fitted,
            lost,
        }) = found
        else {
            return Err(error.unwrap_or_else(|| {
                Error::new(ErrorKind::Internal, "a prompt that no render made")
            }));
        };
        prompts.notes = fitted.notes;
        let unseen = place_media(request, &mut prompts.media);
        let lost = lost.into_iter().map(Said::place).chain(unseen);
        prompts.notes.extend(said_in_vain(lost));
        Ok((prompts, fitted.fit))
    }

    /// The texts of a request that its prompt lacks.
    fn lost(&self, request: &Request, prompts: &Prompts) -> Vec<Said> {
        let template = self.template();
        lost(template, request, &prompts.prompt, |marked: &Request| {
            Some(self.prompts(template, marked, false).ok()?.prompt)
        })
    }

    /// The prompt of a request as it was sent. `template` renders it: the learnt template, or a
    /// variant of it for probes.
    pub(crate) fn prompts(
        &self,
        template: &Template,
        request: &Request,
        opening: bool,
    ) -> Result<Prompts> {
        let request = &*self.asked(template, request)?;
        if request.continuation != Continuation::None
            && (request.output.compat == Compat::Off || request.plain.is_some())
        {
            match self.whole(template, request, opening) {
                // What the template does not show of a message follows the generation prompt.
                Err(_) if request.plain.is_none() => {}
                whole => return whole,
            }
        }
        if request.plain.is_some() {
            return self.render(template, request, opening);
        }
        let (prepared, mut prompts) = self.prepared(template, request, opening)?;
        let (part, message) = (prepared.continuation, prepared.continued.as_ref());
        if self.own_prompt().is_some() {
            return Ok(self.begun(false, prompts, part, message));
        }
        let text = prompts.opening.text.clone();
        if let Some(message) = message.filter(|_| !request.force_pure_content) {
            let content = (part == Continuation::Content).then(|| message.text());
            let written =
                self.around()
                    .continued(&text, &message.reasoning_content, content.as_deref());
            prompts.prompt.push_str(&written);
            prompts.opening.prefill = written;
            prompts = self.begun(false, prompts, part, Some(message));
        }
        Ok(prompts)
    }

    /// A request as the template takes it, and its prompt. Where that has not all media, they are
    /// the host's marker.
    fn prepared(
        &self,
        template: &Template,
        request: &Request,
        opening: bool,
    ) -> Result<(Prepared, Prompts)> {
        let mut native = true;
        loop {
            let mut prepared = prepare(template, request, native)?;
            // A continued message follows the opening.
            let opening = opening || prepared.continued.is_some();
            let input = PromptInput {
                template,
                prepared: &prepared,
                request,
                opening,
            };
            let prompt = self.own_prompt().unwrap_or(prompt::plain)(&input)?;
            let is_shown =
                prepared.is_shown(&prompt.prompt) || request.output.compat != Compat::Off;
            if is_shown || !std::mem::take(&mut native) {
                let mut media = std::mem::take(&mut prepared.media);
                // All of them are the marker by now.
                if !is_shown && !prompt.prompt.contains(&request.media_marker) {
                    media.clear();
                }
                let prompts = Prompts {
                    prompt: prompt.prompt,
                    opening: Opening::of(&prompt.generation_prompt),
                    media,
                    ..Prompts::default()
                };
                return Ok((prepared, prompts));
            }
        }
    }

    fn render(&self, template: &Template, request: &Request, opening: bool) -> Result<Prompts> {
        let Some(given) = &request.plain else {
            return Ok(self.prepared(template, request, opening)?.1);
        };
        let (prompt, generation_prompt) = plain(template, request, given, opening)?;
        Ok(Prompts {
            prompt,
            opening: Opening::of(&generation_prompt),
            ..Prompts::default()
        })
    }

    /// A prompt that somebody else has rendered: its end shows the opening of the assistant's turn,
    /// and what that has of a message.
    pub(crate) fn given(&self, prompt: &str) -> Prompts {
        let turns = [true, false].map(|thinking| &self.writing(thinking).turn);
        let openings = turns.map(|turn| &*turn.opening);
        let endings = openings
            .iter()
            .filter(|opening| prompt.ends_with(**opening));
        let mut opening = *endings.max_by_key(|text| text.len()).unwrap_or(&"");
        let mut begun = None;
        let mut heads = openings.to_vec();
        heads.extend(turns.iter().map(|turn| &*turn.delimiters.assistant));
        let heads = heads.into_iter().map(str::trim);
        let heads = heads.filter(|head| !head.is_empty());
        let places = heads.filter_map(|head| Some((prompt.rfind(head)?, head)));
        let last = places.max_by_key(|(at, head)| (*at, std::cmp::Reverse(head.len())));
        if opening.is_empty()
            && let Some((mut at, head)) = last
        {
            // Each part of a message may begin so.
            while let Some(earlier) = prompt[..at].rfind(head) {
                if turns[0].goes_past_message(head, &prompt[earlier + head.len()..at]) {
                    break;
                }
                at = earlier;
            }
            let tail = &prompt[at..];
            let begins = openings.into_iter().filter(|text| tail.starts_with(text));
            let known = begins.max_by_key(|text| text.len());
            let known = known.filter(|text| !text.is_empty()).unwrap_or(head);
            let turn = turns
                .into_iter()
                .find(|turn| turn.opening == known)
                .unwrap_or(turns[0]);
            if !turn.goes_past_message(head, &tail[head.len()..]) {
                (opening, begun) = (tail, thought::begun(turn, self.layout(), tail, known));
            }
        }
        let opening = Opening {
            begun,
            ..Opening::of(opening)
        };
        Prompts {
            prompt: prompt.to_owned(),
            opening,
            ..Prompts::default()
        }
    }

    /// The prompt that ends where the template ends the text of the last message; an error if it
    /// does not show it.
    fn whole(&self, template: &Template, request: &Request, opening: bool) -> Result<Prompts> {
        let Prompts { prompt, media, .. } = self.render(template, &whole(request)?, false)?;
        let unseen =
            "continue_final_message: the template does not show the end of the last message";
        let mut prompts = Prompts {
            prompt: cut(prompt).ok_or_else(|| Error::invalid(unseen))?,
            media,
            ..Prompts::default()
        };
        if !opening {
            return Ok(prompts);
        }
        let prompt = &prompts.prompt;
        let mut earlier = request.clone();
        (earlier.continuation, earlier.add_generation_prompt) = (Continuation::None, true);
        let mut messages = Messages::take(&mut earlier);
        let last = messages.pop().unwrap_or_default();
        messages.put(&mut earlier);
        // If the earlier turns cannot be rendered alone, the beginning of this one is unknown.
        let begins = self
            .render(template, &earlier, true)
            .map_or(prompt.len(), |opened| {
                let earlier = opened.prompt.strip_suffix(&*opened.opening.prefill);
                shared(earlier.unwrap_or(&opened.prompt), prompt)
            });
        prompts.opening = Opening::of(&prompt[begins..]);
        let in_thought = resolve(request.continuation, Some(&last.with_reasoning_apart()))
            == Continuation::Reasoning;
        let part = if in_thought && request.plain.is_none() {
            Continuation::Reasoning
        } else {
            request.continuation
        };
        Ok(self.begun(!request.force_pure_content, prompts, part, Some(&last)))
    }

    /// A prompt that may have begun a message. `splits`: its content may begin with reasoning.
    fn begun(
        &self,
        splits: bool,
        mut prompts: Prompts,
        part: Continuation,
        message: Option<&Message>,
    ) -> Prompts {
        let Some(message) = message.filter(|_| part != Continuation::None) else {
            return prompts;
        };
        let apart = splits.then(|| self.thought_apart(message, part)).flatten();
        let (message, part) = apart
            .as_ref()
            .map_or((message, part), |(message, part)| (message, *part));
        let opening = &mut prompts.opening;
        opening.begun = Some(Begun::find(&opening.prefill, message, part));
        prompts
    }

    /// The request as the template gets it: with the tools that the model knows by now, and with
    /// the reasoning of a message that is continued apart from its content, where the template
    /// shows it so.
    pub(crate) fn asked<'r>(
        &self,
        template: &Template,
        request: &'r Request,
    ) -> Result<Cow<'r, Request>> {
        let request = offered(template, request)?;
        let splits = request.output.compat == Compat::Off && !request.force_pure_content;
        let last = request.messages.last().filter(|_| splits);
        let apart = last.and_then(|last| self.thought_apart(last, request.continuation));
        let Some((mut apart, part)) = apart else {
            return Ok(request);
        };
        let mut split = Request::clone(&request);
        split.continuation = part;
        let thought = !apart.reasoning_content.is_empty();
        let shown = self.ending_with(template, &mut split, apart.clone());
        if shown.is_none() {
            return Ok(request);
        }
        if thought {
            let mut without = split.clone();
            apart.reasoning_content.clear();
            if self.ending_with(template, &mut without, apart) == shown {
                return Ok(request);
            }
        }
        Ok(Cow::Owned(split))
    }

    /// Exchanges the last message of a request, and renders it up to the end of that message;
    /// `None` if the template does not show where it ends.
    fn ending_with(
        &self,
        template: &Template,
        request: &mut Request,
        last: Message,
    ) -> Option<String> {
        *request.messages.last_mut()? = last;
        Some(self.whole(template, request, false).ok()?.prompt)
    }

    /// The message with the reasoning apart that its content begins with, between the template's
    /// markers, and the part that goes on: reasoning that is not closed, unless the request says
    /// the content.
    fn thought_apart(
        &self,
        message: &Message,
        part: Continuation,
    ) -> Option<(Message, Continuation)> {
        let first = message.parts.first();
        let text = first.map_or(&message.content, |part| &part.text);
        let text = text.trim_start();
        let continues = matches!(part, Continuation::Auto | Continuation::Content)
            && message.role == "assistant";
        if !continues || text.is_empty() || !message.reasoning_content.is_empty() {
            return None;
        }
        let (thought, content) = thought::split(&self.writing(true).turn, self.layout(), text)?;
        let mut apart = message.clone();
        apart.reasoning_content = thought.to_owned();
        let text = match apart.parts.first_mut() {
            Some(part) => &mut part.text,
            None => &mut apart.content,
        };
        *text = content.unwrap_or_default().to_owned();
        match content {
            Some(_) => Some((apart, Continuation::Content)),
            None => Some((apart, Continuation::Reasoning)).filter(|_| part == Continuation::Auto),
        }
    }
}

/// Gives media the places that they have in the request. Returns the places of media that the
/// prompt lacks.
fn place_media(request: &Request, media: &mut [Media]) -> impl Iterator<Item = String> {
    let mut places = HashMap::new();
    for (index, message) in request.messages.iter().enumerate() {
        for (number, part) in message.parts.iter().enumerate() {
            if let Some(source) = &part.source {
                places.insert(Arc::as_ptr(source), (index, number));
            }
        }
    }
    for media in media {
        if let Some(place) = places.remove(&Arc::as_ptr(&media.source)) {
            (media.message, media.part) = place;
        }
    }
    let mut unseen: Vec<(usize, usize)> = places.into_values().collect();
    sort::sort(&mut unseen);
    let unseen = unseen.into_iter();
    unseen.map(|(message, part)| format!("messages[{message}].content[{part}]"))
}

/// A note for each of the first places that are not in the prompt, and one for all others.
fn said_in_vain(places: impl Iterator<Item = String>) -> Vec<String> {
    const NAMED: usize = 8;
    let mut notes: Vec<String> = places
        .map(|place| format!("{place}: not in the prompt"))
        .collect();
    if let Some(more @ 1..) = notes.len().checked_sub(NAMED) {
        notes.truncate(NAMED);
        notes.push(format!("messages: {more} more texts are not in the prompt"));
    }
    notes
}
