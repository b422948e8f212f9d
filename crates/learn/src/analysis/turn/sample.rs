//! Makes the turns that a template is asked to render, and cuts them out of its renders.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::markup::first_marker;
use super::{
    Glue,
    ValueKind::{self, Array, Boolean, Integer, Null, Number, Object, Text},
};
use chatparse_base::find::{shared, shared_end};
use chatparse_base::limits::{PROBE_BYTES, TURN_BYTES};
use chatparse_jinja::{Conversation, Host, Marks, ReasoningIn, Template, blocks};
use chatparse_message::{REASONING, text_part, thinking_part};

/// The user's message.
pub const QUESTION: &str = "Vexing jumbles, gladly solved";
/// The user's message after a turn, if there is one.
const FURTHER: &str = "Wry jackdaws, what about them";
/// The assistant's reasoning.
pub const THOUGHT: &str = "Quorzle the vimp";
/// The assistant's content.
pub const REPLY: &str = "Blimzy trunfle";
/// A text with characters that a template may have to escape.
pub const SPECIAL: &str = "pebb\"l'u\\g <b> & {c}\nend";

/// The names in each object, the later one in the alphabet first.
pub const NAMES: [&str; 2] = ["zorbel", "nerpul"];

/// The names of the tools. No name is part of another one, or of any other word here.
const TOOLS: [&str; 4] = ["fnalphq", "gnbetuq", "hngammuq", "jndeltoq"];
/// The ids of the calls. Nine letters and digits, because some templates require that.
const IDS: [&str; 4] = ["idq000711", "idw000722", "ide000733", "idr000744"];

/// The names of the arguments for each of [`ValueKind::ALL`]. A sample uses them in order, so that
/// each occurs once.
const KEYS: [[&str; 6]; 7] = [
    ["qargo", "zwixo", "vumpo", "hyfto", "jolpu", "kexni"],
    ["uintra", "wintre", "yintri", "zintro", "xintru", "qintry"],
    ["unumra", "wnumre", "ynumri", "znumro", "xnumru", "qnumry"],
    ["uboora", "wboore", "yboori", "zbooro", "xbooru", "qboory"],
    ["unulra", "wnulre", "ynulri", "znulro", "xnulru", "qnulry"],
    ["uarrza", "warrze", "yarrzi", "zarrzo", "xarrzu", "qarrzy"],
    ["uobjza", "wobjze", "yobjzi", "zobjzo", "xobjzu", "qobjzy"],
];

/// An assistant's turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub thinks: bool,
    pub speaks: bool,
    pub calls: Vec<SampleCall>,
    /// Whether to check that the marks do not change the render, unless [`Sampler::is_plain`]: once
    /// for each kind of text at each place is enough.
    pub checked: bool,
}

impl Sample {
    /// A turn with reasoning, content and these calls.
    pub fn new(thinks: bool, speaks: bool, calls: Vec<SampleCall>) -> Sample {
        Sample {
            thinks,
            speaks,
            calls,
            checked: false,
        }
    }

    /// A turn of content alone.
    pub fn reply() -> Sample {
        Sample::new(false, true, Vec::new())
    }

    /// A turn of calls alone.
    pub fn of_calls(calls: Vec<SampleCall>) -> Sample {
        Sample::new(false, false, calls)
    }

    /// The same turn, whose marks are checked.
    pub fn checked(self) -> Sample {
        Sample {
            checked: true,
            ..self
        }
    }
}

/// A call of a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleCall {
    pub arguments: Vec<(&'static str, Value)>,
}

impl SampleCall {
    /// The name of the tool in a sample's call number `index`.
    pub fn name(index: usize) -> &'static str {
        TOOLS[index]
    }

    /// The id of a sample's call number `index`.
    pub fn id(template: &Template, index: usize) -> String {
        template.call_id(IDS[index], TOOLS[index], index)
    }

    /// The arguments as one object.
    pub fn object(&self) -> Value {
        self.arguments
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect::<Map<_, _>>()
            .into()
    }
}

/// Makes calls in which each argument name and value is unique.
#[derive(Default)]
pub struct Words {
    used: [usize; KEYS.len()],
}

impl Words {
    /// A call with one argument of each of these kinds.
    pub fn call(&mut self, kinds: &[ValueKind]) -> SampleCall {
        SampleCall {
            arguments: kinds.iter().map(|kind| self.argument(*kind)).collect(),
        }
    }

    /// The same, with [`SPECIAL`] as the first argument.
    pub fn special(&mut self, kinds: &[ValueKind]) -> SampleCall {
        let mut call = self.call(kinds);
        call.arguments[0].1 = SPECIAL.into();
        call
    }

    /// The next argument of a kind.
    pub fn argument(&mut self, kind: ValueKind) -> (&'static str, Value) {
        let (keys, used) = (KEYS[kind as usize], &mut self.used[kind as usize]);
        let index = *used;
        *used += 1;
        let key = keys[index % keys.len()];
        let number = 71_303 + 1_117 * index as u64;
        let value = match kind {
            Text => json!(
                [
                    "pebblug", "cobaltuv", "marblop", "granitof", "violetub", "orchidav"
                ][index % 6]
            ),
            Integer => json!(number),
            Number => json!(number as f64 + 0.0625),
            Boolean => json!(index.is_multiple_of(2)),
            Null => Value::Null,
            Array => json!([format!("peachup{index}"), format!("grapeum{index}")]),
            Object => {
                json!({(NAMES[0]): format!("lemonar{index}"), (NAMES[1]): number + 500})
            }
        };
        (key, value)
    }
}

/// The tools in the request, which templates write into each prompt: few, small, and simple enough
/// for every template that describes them.
pub fn tools() -> Value {
    let mut properties = Map::new();
    for (kind, keys) in ValueKind::ALL.into_iter().zip(KEYS) {
        let name = match kind {
            Text | Null => "string",
            _ => kind.name(),
        };
        let mut schema = json!({"type": name});
        match kind {
            Array => schema["items"] = json!({"type": "string"}),
            Object => schema["properties"] = json!({}),
            _ => {}
        }
        schema["description"] = json!("One");
        properties.insert(keys[0].to_owned(), schema);
    }
    let parameters = json!({"type": "object", "properties": properties, "required": []});
    json!([{"type": "function", "function": {"name": TOOLS[0], "description": "Does", "parameters": parameters}}])
}

/// A call as a message has it, with the name and the id of a sample's call number `index`.
pub fn call_json(template: &Template, index: usize, arguments: Value) -> Value {
    let function = json!({"name": SampleCall::name(index), "arguments": arguments});
    json!({"type": "function", "function": function, "id": SampleCall::id(template, index)})
}

/// Renders a conversation; `None` if the template rejects it or writes too much.
pub fn render(
    template: &Template,
    messages: Value,
    tools: &Arc<Value>,
    enable_thinking: bool,
    add_generation_prompt: bool,
) -> Option<String> {
    let conversation = Conversation {
        host: Host::Own,
        messages: messages.into(),
        tools: Arc::clone(tools).into(),
        enable_thinking,
        add_generation_prompt,
        extra: template.variables().clone(),
        now: Some(0),
    };
    template
        .render(&conversation)
        .ok()
        .filter(|text| text.len() <= PROBE_BYTES)
}

/// Renders turns with one template, with thinking on or off.
#[derive(Clone)]
pub struct Sampler<'t> {
    pub template: &'t Template,
    pub marks: Marks,
    pub thinking: bool,
    tools: Arc<Value>,
    /// The conversation so far, the prompt, and what the prompt adds: the opening of the
    /// assistant's turn.
    pub bare: String,
    pub prompt: String,
    pub opening: String,
    /// What the template writes after any conversation that asks for no answer.
    tail: String,
    /// What opens a further question after the turn, if a turn shows its calls only before
    /// one.
    pub further: Option<String>,
    /// `None` if the template shows no reasoning.
    reasoning: Option<ReasoningIn>,
    writes_calls: bool,
    /// Whether the marks change nothing in a turn with every kind of text.
    is_plain: OnceCell<bool>,
    /// What was rendered so far.
    seen: RefCell<Vec<(Sample, Option<Rc<str>>)>>,
}

impl<'t> Sampler<'t> {
    /// Returns `None` if the template rejects the question, or if marks change its renders.
    pub fn new(template: &'t Template, thinking: bool) -> Option<Sampler<'t>> {
        let mut sampler = Sampler {
            template,
            marks: Marks::unused_in(template.source())?,
            thinking,
            tools: Arc::new(tools()),
            bare: String::new(),
            prompt: String::new(),
            opening: String::new(),
            tail: String::new(),
            further: None,
            reasoning: None,
            writes_calls: template.source().contains("tool_calls"),
            is_plain: OnceCell::new(),
            seen: RefCell::default(),
        };
        sampler.bare = sampler.render(Vec::new(), false)?;
        sampler.prompt = sampler.render(Vec::new(), true)?;
        sampler.tail = sampler.ends_unasked().unwrap_or_default();
        sampler
            .bare
            .truncate(sampler.bare.len() - sampler.tail.len());
        // The opening follows the question. If the prompt is not an addition to it, the opening is
        // unknown.
        sampler.opening = sampler
            .prompt
            .strip_prefix(&*sampler.bare)
            .unwrap_or_default()
            .to_owned();
        sampler.reasoning = Some(template.reasoning_in().clone());
        if !sampler.shows_reasoning() {
            sampler.seen.take();
            sampler.reasoning = None;
        }
        sampler.further = sampler.opens_further();
        if sampler.further.is_some() {
            sampler.seen.take();
        }
        // A switch for this answer alone is none of the turn's.
        let turn = sampler.behind(&Sample::reply());
        let reply = sampler.marks.mark(REPLY);
        if let Some((head, _)) = turn.as_deref().and_then(|turn| turn.split_once(&*reply))
            && !head.trim().is_empty()
            && let Some(at) = sampler.opening.rfind(head)
            && !sampler.opening[..at].trim().is_empty()
        {
            sampler.opening.drain(..at);
        }
        Some(sampler)
    }

    /// What ends a conversation that asks for no answer, and neither prompts nor messages of the
    /// history.
    fn ends_unasked(&self) -> Option<String> {
        let [bare, prompt] = [&self.bare, &self.prompt].map(|text| Glue::from(&**text));
        let tail = &self.bare[Glue::common_start([&bare, &prompt]).head().len()..];
        if tail.trim().is_empty() || tail.contains(QUESTION) {
            return None;
        }
        let reply = self.plain(&Sample::reply())?;
        let in_history = self.history(REPLY)?.contains(&format!("{REPLY}{tail}"));
        (reply.ends_with(tail) && !in_history).then(|| tail.to_owned())
    }

    /// What opens a further question, if turns show their calls only before one.
    fn opens_further(&self) -> Option<String> {
        if !self.writes_calls || self.shows_calls() {
            return None;
        }
        let (reply, mark) = (Sample::reply(), self.marks.mark(REPLY));
        let (last, followed) = (
            self.behind(&reply)?,
            self.before_question("").behind(&reply)?,
        );
        let end = last.split_once(&*mark)?.1;
        let opens = followed.split_once(&*mark)?.1.strip_prefix(end)?;
        let shows = self.before_question(opens).shows_calls();
        shows.then(|| opens.to_owned())
    }

    fn shows_calls(&self) -> bool {
        let turn = self.behind(&Sample::of_calls(vec![SampleCall::default()]));
        turn.is_some_and(|turn| turn.contains(SampleCall::name(0)))
    }

    /// A sampler that renders turns before a further question with this opening.
    fn before_question(&self, opens: &str) -> Self {
        Sampler {
            further: Some(opens.to_owned()),
            seen: RefCell::default(),
            ..self.clone()
        }
    }

    fn shows_reasoning(&self) -> bool {
        let call = vec![SampleCall::default()];
        let samples = [
            Sample::new(true, true, Vec::new()),
            Sample::new(true, false, call),
        ];
        let mut turns = samples.iter().filter_map(|sample| self.behind(sample));
        turns.any(|turn| {
            // A template that prints the list of parts itself shows the keys of the parts.
            let prints_parts = turn.contains("'thinking'") || turn.contains("\"thinking\"");
            turn.contains(THOUGHT) && !prints_parts
        })
    }

    /// Whether the marks change nothing in a turn with every kind of text.
    fn is_plain(&self) -> bool {
        *self.is_plain.get_or_init(|| {
            let kinds = [Text, Array, Object];
            let calls = if self.writes_calls {
                vec![Words::default().special(&kinds)]
            } else {
                Vec::new()
            };
            let all = Sample::new(self.reasoning.is_some(), true, calls);
            self.is_same(&all, self.marked(&all).as_deref())
        })
    }

    /// Whether the marks change nothing in this render of a sample.
    fn is_same(&self, sample: &Sample, marked: Option<&str>) -> bool {
        self.plain(sample)
            .is_some_and(|plain| marked.is_some_and(|marked| self.marks.strip(marked) == plain))
    }

    /// The turn with marked values, from the end of the prompt on. Returns `None` if the template
    /// rejects it, writes it elsewhere, or writes it differently because of the marks.
    pub fn turn(&self, sample: &Sample) -> Option<String> {
        let behind = self.behind(sample)?;
        if let Some(turn) = behind.strip_prefix(&*self.opening) {
            return Some(turn.to_owned());
        }
        // A prompt may open more than the history has.
        let shared = Glue::common_start([&Glue::from(&*behind), &Glue::from(&*self.opening)])
            .head()
            .len();
        // If the prompt closes the reasoning at once, no reasoning follows.
        let rest = self.opening[shared..].trim();
        if sample.thinks && !rest.is_empty() {
            let after = behind.split_once(&self.marks.mark(THOUGHT));
            let closes = after.is_some_and(|(_, after)| after.trim_start().starts_with(rest));
            if closes || first_marker(rest).is_some() {
                return None;
            }
        }
        Some(behind[shared..].to_owned())
    }

    /// The same from the end of the conversation on, with what the history has of the prompt's
    /// opening.
    pub fn behind(&self, sample: &Sample) -> Option<Rc<str>> {
        // What a template does not write is not asked for.
        if sample.thinks && self.reasoning.is_none()
            || !sample.calls.is_empty() && !self.writes_calls
        {
            return None;
        }
        if let Some((known, turn)) = self.seen.borrow().iter().find(|(known, _)| {
            let Sample {
                thinks,
                speaks,
                calls,
                ..
            } = known;
            (*thinks, *speaks, calls) == (sample.thinks, sample.speaks, &sample.calls)
        }) && (known.checked == sample.checked
            || turn.is_some() && (known.checked || self.is_plain()))
        {
            return turn.clone();
        }
        let turn = self.render_turn(sample).map(Rc::from);
        self.seen.borrow_mut().push((sample.clone(), turn.clone()));
        turn
    }

    fn render_turn(&self, sample: &Sample) -> Option<String> {
        let marked = self.marked(sample)?;
        if sample.checked && !self.is_plain() && !self.is_same(sample, Some(&marked)) {
            return None;
        }
        let marked = self.marks.unescaped(&marked);
        let behind = marked.strip_prefix(&*self.bare);
        // A template may write the tools before the last message, so that what precedes the
        // question differs. The render may end with the white space that the conversation so far
        // ends with.
        let (before, white_space) = self.bare.split_at(self.bare.trim_end().len());
        let behind = behind
            .or_else(|| {
                let (_, behind) = self.bare.rsplit_once(QUESTION)?;
                marked.rsplit_once(QUESTION)?.1.strip_prefix(behind)
            })
            .or_else(|| marked.strip_prefix(before)?.strip_suffix(white_space))
            .or_else(|| self.in_front_of_instruction(&marked))?;
        (behind.len() <= TURN_BYTES).then(|| behind.to_owned())
    }

    /// The turn in a render that has an instruction after the last message, as the conversation so
    /// far has it.
    fn in_front_of_instruction<'r>(&self, marked: &'r str) -> Option<&'r str> {
        let ahead = shared(&self.bare, marked);
        let behind = shared_end(&self.bare, marked);
        let first = self
            .bare
            .len()
            .checked_sub(behind)
            .filter(|first| *first <= ahead)?;
        let opens = marked
            .get(first..)?
            .match_indices(&*self.opening)
            .map(|(at, _)| first + at);
        let start = opens
            .take_while(|at| *at <= ahead)
            .last()
            .filter(|_| !self.opening.is_empty())?;
        marked.get(start..marked.len() - (self.bare.len() - start))
    }

    /// The conversation with this turn, without marks.
    pub fn plain(&self, sample: &Sample) -> Option<String> {
        self.render(vec![self.message(sample, false)], false)
    }

    fn marked(&self, sample: &Sample) -> Option<String> {
        self.render(vec![self.message(sample, true)], false)
    }

    /// A conversation without tools and with thinking on, of these messages; the first is the
    /// user's.
    pub fn dialogue(&self, texts: &[&str]) -> Option<String> {
        let roles = ["user", "assistant"].iter().cycle();
        let messages = roles.zip(texts).map(|(role, text)| self.said(role, text));
        render(
            self.template,
            messages.collect(),
            &Arc::default(),
            true,
            false,
        )
    }

    /// A message of plain text.
    fn said(&self, role: &str, text: &str) -> Value {
        json!({"role": role, "content": self.template.caps().content(text)})
    }

    /// The prompt with thinking switched the other way.
    pub fn switched_prompt(&self) -> Option<String> {
        Sampler {
            thinking: !self.thinking,
            ..self.clone()
        }
        .render(Vec::new(), true)
    }

    /// A conversation with an assistant's message that has this content, and a further question.
    pub fn history(&self, content: &str) -> Option<String> {
        self.render(
            vec![self.said("assistant", content), self.said("user", QUESTION)],
            false,
        )
    }

    fn render(&self, mut messages: Vec<Value>, add_generation_prompt: bool) -> Option<String> {
        let further = self.further.as_ref().filter(|_| messages.len() == 1);
        messages.insert(0, self.said("user", QUESTION));
        messages.extend(further.map(|_| self.said("user", FURTHER)));
        let mut text = render(
            self.template,
            messages.into(),
            &self.tools,
            self.thinking,
            add_generation_prompt,
        )?;
        if let Some(opens) = further {
            text.truncate(text.rfind(FURTHER)?);
            text.truncate(text.strip_suffix(&**opens)?.len());
        } else if !add_generation_prompt && text.ends_with(&*self.tail) {
            text.truncate(text.len() - self.tail.len());
        }
        Some(text)
    }

    fn message(&self, sample: &Sample, marked: bool) -> Value {
        let caps = self.template.caps();
        let [thought, reply] = [THOUGHT, REPLY].map(|text| match marked {
            true => self.marks.mark(text),
            false => text.to_owned(),
        });
        let content = if sample.speaks { &*reply } else { "" };
        let reasoning = self.reasoning.as_ref().filter(|_| sample.thinks);
        let in_part = reasoning == Some(&ReasoningIn::Part);
        let content = match reasoning {
            _ if in_part || caps.wants_parts() => {
                let mut parts = Vec::new();
                if in_part {
                    parts.push(thinking_part(&thought));
                }
                if sample.speaks || !in_part {
                    parts.push(text_part(content));
                }
                parts.into()
            }
            Some(ReasoningIn::Blocks) => blocks(&thought, content),
            _ => json!(content),
        };
        let mut message = json!({"role": "assistant", "content": content});
        match reasoning {
            Some(ReasoningIn::Usual) => message[REASONING[0]] = thought.into(),
            Some(ReasoningIn::Field(name)) => message[&**name] = thought.into(),
            _ => {}
        }
        if !sample.calls.is_empty() {
            let calls = sample.calls.iter().enumerate().map(|(index, call)| {
                let mut arguments = call.object();
                if marked {
                    arguments = self.marks.mark_all(&arguments);
                }
                if !caps.object_arguments {
                    arguments = arguments.to_string().into();
                }
                call_json(self.template, index, arguments)
            });
            message["tool_calls"] = calls.collect();
        }
        caps.complete(&mut message);
        message
    }
}
