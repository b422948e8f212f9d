//! A template is learnt, writes turns, and they are read back.

use chatparse::chat::Constraint;
use chatparse::grammar::Recogniser;
use chatparse::{ChatTemplate, EndedBy, Message, Params, Request, Status, Stream, TemplateOptions};
use serde_json::{Value, json};

use crate::messages::{Kind, Said, id, said, tools, without_nulls};

/// A template, and what it can express.
#[derive(Clone, Copy)]
pub struct Shape {
    pub source: &'static str,
    /// What it ends each turn with.
    pub end: &'static str,
    /// Whether it shows reasoning.
    pub thinks: bool,
    /// Whether it shows the ids of calls.
    pub ids: bool,
    /// Whether nothing but the id tells the name of a call.
    pub named_ids: bool,
    /// The token that ends a turn.
    pub eos: &'static str,
    /// Whether arguments that are null are not written.
    pub drops_nulls: bool,
    /// What it writes so that nobody could read it back.
    pub lost: &'static [Kind],
    /// What grammars do not allow in texts though it can be read: signs that might end them.
    pub barred: &'static [Kind],
    /// Whether values are written as in Python, where grammars want JSON.
    pub python: bool,
    /// The variable `enable_thinking`.
    pub enable_thinking: bool,
}

impl Shape {
    pub const fn new(source: &'static str, end: &'static str) -> Shape {
        Shape {
            source,
            end,
            thinks: false,
            ids: false,
            named_ids: false,
            eos: "",
            drops_nulls: false,
            lost: &[],
            barred: &[],
            python: false,
            enable_thinking: true,
        }
    }

    pub const fn that_thinks(source: &'static str, end: &'static str) -> Shape {
        Shape {
            thinks: true,
            ..Shape::new(source, end)
        }
    }

    fn template(&self, learn_only: bool) -> ChatTemplate {
        let mut options = TemplateOptions::default();
        options.learn_only = learn_only;
        options.eos = self.eos.into();
        ChatTemplate::with_options(self.source, &options).expect("the template compiles")
    }

    fn id(&self, index: usize, name: &str) -> String {
        if self.named_ids {
            format!("functions.{name}:{index}")
        } else {
            id(index)
        }
    }

    fn body(&self, tool_choice: &str) -> Value {
        json!({
            "messages": [{"role": "user", "content": "Well, what now?"}],
            "parallel_tool_calls": true,
            "reasoning_format": "auto",
            "enable_thinking": self.enable_thinking,
            "tool_choice": tool_choice,
            "prose": true,
            "tools": tools(),
        })
    }

    fn params(&self, template: &ChatTemplate, tool_choice: &str) -> Params {
        params(template, &self.body(tool_choice))
    }

    /// The turns that it is asked for, each with the text behind the prompt.
    fn turns(&self, template: &ChatTemplate, prompt: &str, lost: &[Kind]) -> Vec<(Said, String)> {
        let turns = said(lost, self.thinks, template.caps().parallel_tool_calls).into_iter();
        turns
            .map(|said| (self.write(template, prompt, &said), said))
            .map(|(text, said)| (said, text))
            .collect()
    }

    /// The text of a turn behind the prompt, without its end.
    fn write(&self, template: &ChatTemplate, prompt: &str, said: &Said) -> String {
        let mut body = self.body("auto");
        let mut message = said.message();
        for (index, call) in message["tool_calls"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .enumerate()
        {
            call["id"] = self.id(index, said.calls[index].0).into();
        }
        body["messages"].as_array_mut().unwrap().push(message);
        body["add_generation_prompt"] = json!(false);
        let whole = params(template, &body).prompt;
        let output = whole
            .strip_prefix(prompt)
            .unwrap_or_else(|| panic!("{prompt:?} is not in front of {whole:?}"));
        output
            .strip_suffix(self.end)
            .unwrap_or_else(|| panic!("{output:?} does not end with {:?}", self.end))
            .to_owned()
    }

    /// What a turn is when it is read.
    fn expected(&self, said: &Said) -> Value {
        let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
            let id = if self.ids {
                self.id(index, name)
            } else {
                String::new()
            };
            let arguments = if self.drops_nulls {
                without_nulls(arguments)
            } else {
                arguments.clone()
            };
            json!({"name": name, "arguments": arguments, "id": id})
        };
        let calls: Vec<Value> = said.calls.iter().enumerate().map(call).collect();
        json!({"reasoning": said.reasoning.trim(), "content": said.content.trim(), "calls": calls})
    }

    /// All that is wrong with how the turns are read.
    pub fn misread(&self, learn_only: bool) -> Vec<String> {
        let template = self.template(learn_only);
        let params = self.params(&template, "auto");
        let mut wrong = Vec::new();
        for (said, output) in self.turns(&template, &params.prompt, self.lost) {
            let (message, status) = read(&params, output.as_bytes(), output.len().max(1));
            let (bytewise, bytewise_status) = read(&params, output.as_bytes(), 1);
            if message != self.expected(&said) || status != Status::Complete {
                let expected = self.expected(&said);
                wrong.push(format!(
                    "{output:?}\n  is read as {message}, {status:?}\n  it is       {expected}"
                ));
            }
            // Some models spell the end out behind calls.
            let end = if said.calls.is_empty() { "" } else { self.end };
            let whole = format!("{output}{end}");
            let (ended, ended_status) = read(&params, whole.as_bytes(), whole.len());
            if ended != message || ended_status != status {
                wrong.push(format!(
                    "{whole:?}\n  with its end {ended}, {ended_status:?}\n  without      {message}"
                ));
            }
            if bytewise != message || bytewise_status != status {
                wrong.push(format!(
                    "{output:?}\n  at once {message}, {status:?}\n  by byte {bytewise}, {bytewise_status:?}"
                ));
            }
        }
        wrong
    }

    /// What is wrong with how one call is read and allowed that is written so, and with its end.
    pub fn refuses(&self, call: &str, learn_only: bool) -> Vec<String> {
        let template = self.template(learn_only);
        let [auto, required] = ["auto", "required"].map(|choice| self.params(&template, choice));
        let mut wrong = Vec::new();
        for size in [1, call.len()] {
            let (message, status) = read(&auto, call.as_bytes(), size);
            if message["calls"][0]["arguments"] != json!({"title": "Tea"})
                || status != Status::Complete
            {
                wrong.push(format!("{call:?}\n  is read as {message}, {status:?}"));
            }
        }
        if !ends(
            &recogniser(&required),
            &format!("{}{call}", required.generation_prompt),
        ) {
            wrong.push(format!("the grammar refuses {call:?}"));
        }
        wrong
    }

    /// What is wrong with how a thought that `source` never shows is read and allowed, in front of
    /// an answer and of a call.
    pub fn unshown(&self, thought: &str, close: &str, call: &str, learn_only: bool) -> Vec<String> {
        let template = self.template(learn_only);
        let [auto, required] = ["auto", "required"].map(|choice| self.params(&template, choice));
        let mut wrong = Vec::new();
        let ends = auto.thinking.as_ref().map(|thinking| thinking.ends.clone());
        if ends.as_deref() != Some(&[close.to_owned()]) {
            wrong.push(format!("{:?} is not closed by {close:?}", auto.thinking));
        }
        let called = json!([{"name": "plan", "arguments": {"title": "Tea"}, "id": ""}]);
        for (rest, content, calls) in [("So.", "So.", json!([])), (call, "", called)] {
            let output = format!("{thought}{rest}");
            let expected = json!({"reasoning": "Hm.", "content": content, "calls": calls});
            for size in [1, output.len()] {
                let (message, status) = read(&auto, output.as_bytes(), size);
                if message != expected || status != Status::Complete {
                    wrong.push(format!("{output:?}\n  is read as {message}, {status:?}"));
                }
            }
        }
        if !recogniser(&required).accepts(&format!("{}{thought}{call}", required.generation_prompt))
        {
            wrong.push(format!("the grammar refuses {thought:?} and {call:?}"));
        }
        wrong
    }

    /// What is made of calls with arguments that nobody can learn to read: anything but the text as
    /// it is.
    pub fn invented(&self, learn_only: bool) -> Vec<String> {
        let template = self.template(learn_only);
        let params = self.params(&template, "auto");
        let mut wrong = Vec::new();
        let turns = self.turns(&template, &params.prompt, self.lost).into_iter();
        // One without arguments may be read.
        for (_, output) in
            turns.filter(|(said, _)| said.calls.iter().all(|(name, _)| *name == "plan"))
        {
            for size in [1, output.len()] {
                let (message, status) = read(&params, output.as_bytes(), size);
                if message["calls"] != json!([]) || message["content"] != output.trim() {
                    wrong.push(format!("{output:?}\n  is read as {message}, {status:?}"));
                }
            }
        }
        wrong
    }

    /// All that is wrong with the grammars: they must load and accept what the template writes.
    pub fn refused(&self, learn_only: bool) -> Vec<String> {
        let template = self.template(learn_only);
        let [auto, required] = ["auto", "required"].map(|choice| self.params(&template, choice));
        let mut wrong = Vec::new();
        if !matches!(required.constraint, Constraint::Strict(_)) {
            return vec![format!(
                "a call that must be is not asked for: {:?}",
                required.constraint
            )];
        }
        let strict = recogniser(&required);
        let lazy = matches!(auto.constraint, Constraint::Lazy(_)).then(|| recogniser(&auto));
        for (said, output) in
            self.turns(&template, &auto.prompt, &[self.lost, self.barred].concat())
        {
            let is_json = !self.python
                || !["True", "False", "None", "'"]
                    .iter()
                    .any(|word| output.contains(word));
            if said.calls.is_empty() || !said.is_ordered() || !is_json {
                continue;
            }
            let whole = format!("{}{output}", required.generation_prompt);
            if !ends(&strict, &whole) {
                let reach = strict.reach(&whole).unwrap();
                wrong.push(format!(
                    "the strict grammar refuses {:?}, then {:?}",
                    &whole[..reach],
                    &whole[reach..]
                ));
            }
            let Some(lazy) = &lazy else { continue };
            let found = auto
                .constraint
                .triggers()
                .iter()
                .filter_map(|trigger| output.find(&trigger.value))
                .min();
            match found {
                None => wrong.push(format!(
                    "{output:?} has none of {:?}",
                    auto.constraint.triggers()
                )),
                Some(at) if !ends(lazy, &output[at..]) => {
                    let reach = at + lazy.reach(&output[at..]).unwrap();
                    wrong.push(format!(
                        "the lazy grammar refuses {:?}, then {:?}",
                        &output[at..reach],
                        &output[reach..]
                    ));
                }
                Some(_) => {}
            }
        }
        wrong
    }

    /// Markers that no template writes: words of what it was asked to write, and what does not come
    /// in any turn.
    pub fn made_up(&self, learn_only: bool) -> Vec<String> {
        let template = self.template(learn_only);
        let mut wrong = Vec::new();
        for choice in ["auto", "required", "none"] {
            let params = self.params(&template, choice);
            let turns = self.turns(&template, &params.prompt, self.lost);
            let stands = |marker: &str| {
                params.prompt.contains(marker)
                    || turns.iter().any(|(_, text)| text.contains(marker))
                    || self.end.contains(marker)
            };
            let thinking = params
                .thinking
                .iter()
                .flat_map(|thinking| thinking.ends.iter().chain([&thinking.start]));
            let triggers = params
                .constraint
                .triggers()
                .iter()
                .map(|trigger| &trigger.value);
            let tokens = params
                .preserved_tokens
                .iter()
                .chain(&params.additional_stops);
            for marker in thinking.chain(triggers).chain(tokens) {
                if PROBES.iter().any(|probe| marker.contains(probe)) || !stands(marker) {
                    wrong.push(format!("{marker:?}, {choice}"));
                }
            }
        }
        wrong
    }
}

/// Words that templates are asked to write while they are learnt.
const PROBES: [&str; 14] = [
    "Quorzle",
    "vimp",
    "Blimzy",
    "trunfle",
    "fnalphq",
    "gnbetuq",
    "hngammuq",
    "idq000711",
    "idw000722",
    "qargo",
    "zwixo",
    "pebb",
    "cobalt",
    "71303",
];

fn params(template: &ChatTemplate, body: &Value) -> Params {
    let request = Request::from_json(body).unwrap_or_else(|error| panic!("{error}"));
    template
        .params(&request)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn recogniser(params: &Params) -> Recogniser {
    let grammar = params.grammar();
    Recogniser::new(&grammar.text).unwrap_or_else(|error| panic!("{error}\n{}", grammar.text))
}

/// Whether the grammar allows the text; white space that a turn ends with is as good as its end.
fn ends(grammar: &Recogniser, text: &str) -> bool {
    grammar.accepts(text) || grammar.accepts(text.trim_end())
}

/// Reads an output in pieces of `size` bytes.
fn read(params: &Params, output: &[u8], size: usize) -> (Value, Status) {
    let mut stream = Stream::new(&params.parser);
    for piece in output.chunks(size) {
        let _ = stream.feed(piece);
    }
    let ended = stream.finish(EndedBy::Model);
    (shown(&ended.message), ended.status)
}

fn shown(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments =
            serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        json!({"name": call.name, "arguments": arguments, "id": call.id})
    });
    let calls: Vec<Value> = calls.collect();
    json!({"reasoning": message.reasoning_content.trim(), "content": message.content.trim(), "calls": calls})
}
