//! The cases of `tests/cases`, each in one piece and cut in all other ways. The files are read as
//! the test runs; the README beside them says what is in them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::support::{check_streaming, shown};
use chatparse::{ChatTemplate, EndedBy, Error, Parser, Request, TemplateOptions, builtin};
use serde::Deserialize;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// How many threads a file's cases are shared by.
const PARTS: usize = 2;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    #[serde(skip)]
    name: String,
    template: Texts,
    templates: HashMap<String, Source>,
    groups: HashMap<String, Vec<String>>,
    ids: HashMap<String, String>,
    opened: HashMap<String, Vec<[String; 2]>>,
    tools: Object,
    request: Object,
    requests: HashMap<String, Object>,
    case: Vec<Case>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Source {
    source: String,
    bos: String,
    eos: String,
    learn_only: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Case {
    name: String,
    template: Option<Texts>,
    except: Vec<String>,
    request: Requests,
    api: Api,
    asks: Vec<[String; 2]>,
    refuses: Vec<[String; 2]>,
    writes: Vec<[String; 2]>,
    fails: Vec<[String; 2]>,
    error: Option<String>,
    notes: Option<Vec<String>>,
    prompt: Option<String>,
    output: Option<Texts>,
    ended_by: By,
    reasoning: String,
    content: Option<String>,
    calls: Vec<Object>,
    ids: Option<Vec<String>>,
    status: Option<String>,
    diagnostics: Option<Vec<String>>,
}

/// What ended an output.
#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Model,
    Limit,
}

/// The API that a body is of.
#[derive(Default, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Api {
    #[default]
    ChatCompletions,
    Responses,
    Messages,
}

impl Api {
    /// The body as chat completions have it.
    fn request(self, body: &Value) -> chatparse::Result<Value> {
        let api = match self {
            Api::ChatCompletions => chatparse::api::Api::ChatCompletions,
            Api::Responses => chatparse::api::Api::Responses,
            Api::Messages => chatparse::api::Api::Messages,
        };
        api.request(body)
    }
}

/// One text or several.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Default for Texts {
    fn default() -> Texts {
        Texts::Many(Vec::new())
    }
}

impl Texts {
    fn all(&self) -> &[String] {
        match self {
            Texts::One(text) => std::slice::from_ref(text),
            Texts::Many(texts) => texts,
        }
    }
}

/// Names of the file's requests, or the fields of one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Requests {
    Named(Texts),
    Given(Object),
}

impl Default for Requests {
    fn default() -> Requests {
        Requests::Given(Object::new())
    }
}

impl File {
    fn read(path: &Path) -> File {
        let text = fs::read_to_string(path).unwrap();
        let mut file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.name = path.file_name().unwrap().to_string_lossy().into_owned();
        file
    }

    /// The templates of these names and groups.
    fn named<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a String> {
        names.iter().flat_map(|name| match self.groups.get(name) {
            Some(group) => group.as_slice(),
            None => std::slice::from_ref(name),
        })
    }

    fn template(&self, name: &str) -> ChatTemplate {
        let Some(own) = self.templates.get(name) else {
            return ChatTemplate::builtin(name)
                .unwrap_or_else(|| panic!("{}: there is no template {name}", self.name));
        };
        let mut options = TemplateOptions::default();
        options.bos.clone_from(&own.bos);
        options.eos.clone_from(&own.eos);
        options.learn_only = own.learn_only;
        ChatTemplate::with_options(&own.source, &options).unwrap()
    }

    /// The requests of a case, as bodies.
    fn bodies(&self, case: &Case) -> Vec<Value> {
        let names = match &case.request {
            Requests::Given(fields) => return vec![self.body(fields)],
            Requests::Named(names) => names.all().iter(),
        };
        let body = |name: &String| match name.starts_with('{') {
            true => serde_json::from_str(name).unwrap(),
            false => self.body(&self.requests[name]),
        };
        names.map(body).collect()
    }

    fn body(&self, fields: &Object) -> Value {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}]});
        body["tools"] = self.tools.keys().map(|name| json!(name)).collect();
        for (name, value) in self.request.iter().chain(fields) {
            body[name] = value.clone();
        }
        for tool in body["tools"].as_array_mut().unwrap() {
            if let Some(name) = tool.as_str() {
                let function = json!({"name": name, "parameters": self.tools[name]});
                *tool = json!({"type": "function", "function": function});
            }
        }
        body
    }

    /// The ids of a case's calls.
    fn ids(&self, template: &str, case: &Case) -> Vec<String> {
        if let Some(ids) = &case.ids {
            return ids.clone();
        }
        let pattern = self.ids.get(template).map_or("", String::as_str);
        let mut ids = Vec::new();
        for (index, name) in case.calls.iter().flat_map(Object::keys).enumerate() {
            let id = pattern.replace("{index}", &index.to_string());
            ids.push(id.replace("{name}", name));
        }
        ids
    }

    /// What the template writes for a case's message, with and without its end token.
    fn written(
        &self,
        name: &str,
        template: &ChatTemplate,
        body: &Value,
        case: &Case,
    ) -> Vec<String> {
        let before = prompt(template, body);
        let mut said = body.clone();
        said["messages"].as_array_mut().unwrap().push(case.said());
        said["add_generation_prompt"] = json!(false);
        let all = prompt(template, &said);
        let mut opened = self.opened.get(name).into_iter().flatten();
        let opened =
            opened.find(|[opening, _]| case.reasoning.is_empty() && before.ends_with(opening));
        let [opening, closing] =
            opened.map_or(["", ""], |[opening, closing]| [&**opening, closing]);
        let written = before
            .strip_suffix(opening)
            .and_then(|before| all.strip_prefix(before));
        let written = written
            .unwrap_or_else(|| panic!("{}, {name}: {before:?} does not begin {all:?}", self.name));
        let whole = format!("{closing}{written}");
        let eos = builtin::find(name).map_or("", |builtin| builtin.eos);
        let bare = whole
            .trim_end_matches('\n')
            .strip_suffix(eos)
            .map(str::to_owned);
        [whole].into_iter().chain(bare).collect()
    }

    /// What is wrong with one part of the cases, every [`PARTS`]th.
    fn run(&self, part: usize) -> Vec<String> {
        let (mut wrong, mut templates) = (Vec::new(), HashMap::new());
        for case in self.case.iter().skip(part).step_by(PARTS) {
            let names = case.template.as_ref().unwrap_or(&self.template).all();
            let except: Vec<&String> = self.named(&case.except).collect();
            let (mut found, mut run) = (Vec::new(), false);
            for body in self.bodies(case) {
                for [source, prompt] in &case.writes {
                    run = true;
                    found.extend(unlike(source, &said(source, &body), Ok(prompt)));
                }
                for [source, error] in &case.fails {
                    run = true;
                    found.extend(unlike(source, &said(source, &body), Err(error)));
                }
            }
            for [body, chat] in &case.asks {
                run = true;
                let chat: Value = serde_json::from_str(chat).unwrap();
                let said = case.api.request(&serde_json::from_str(body).unwrap());
                if said.as_ref() != Ok(&chat) {
                    found.push(format!("{body}\n  {chat}\n  {said:?}"));
                }
            }
            for name in self.named(names).filter(|name| !except.contains(name)) {
                let template = &*templates.entry(name).or_insert_with(|| self.template(name));
                for [body, error] in &case.refuses {
                    run = true;
                    let asked = case.api.request(&serde_json::from_str(body).unwrap());
                    let request = asked.and_then(|chat| Request::from_json(&chat));
                    let said = request.and_then(|request| template.params(&request));
                    let said = said.map(|params| params.prompt);
                    found.extend(unlike(body, &said.map_err(told), Err(error)));
                }
                let all = Some(self.bodies(case)).filter(|_| case.is_asked());
                for body in all.into_iter().flatten() {
                    found.extend(self.try_case(case, name, template, &body));
                    run = true;
                }
            }
            if !run || case.name.is_empty() {
                found.push("there is no name, no template or no request".to_owned());
            }
            let place = |found| format!("{}, {}: {found}", self.name, case.name);
            wrong.extend(found.into_iter().map(place));
        }
        wrong
    }

    /// What is wrong with what a template makes of one of a case's requests.
    fn try_case(
        &self,
        case: &Case,
        name: &str,
        template: &ChatTemplate,
        body: &Value,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let request = Request::from_json(body);
        let asked = request.and_then(|request| {
            let params = template.params(&request)?;
            if template.prompt(&request)? != params.prompt {
                wrong.push(format!("{name}: the prompt is another one in the params"));
            }
            Ok(params)
        });
        let params = match (asked.map_err(told), &case.error) {
            (Ok(params), None) => params,
            (Err(told), Some(error)) if told.contains(error) => return wrong,
            (asked, _) => {
                let said = asked.map(|params| params.prompt);
                return vec![format!("{name} makes of {body} {said:?}")];
            }
        };
        let prompt = &params.prompt;
        if case
            .notes
            .as_ref()
            .is_some_and(|notes| *notes != params.notes)
        {
            wrong.push(format!("{name} notes {:?}", params.notes));
        }
        if case
            .prompt
            .as_ref()
            .is_some_and(|expected| expected != prompt)
        {
            wrong.push(format!("{name} writes {prompt:?}"));
        }
        let (outputs, stored) = match &case.output {
            Some(outputs) => {
                let stored = Parser::from_text(&params.parser.to_text()).unwrap();
                (outputs.all().to_vec(), stored)
            }
            None if !case.has_message() => return wrong,
            // `each_template` has the law of what stored parsers read of it.
            None => (
                self.written(name, template, body, case),
                params.parser.clone(),
            ),
        };
        for output in outputs {
            let found = case.check([&params.parser, &stored], &output, &self.ids(name, case));
            let place = |found| format!("{name} reads {output:?}\n  {found}");
            wrong.extend(found.into_iter().map(place));
        }
        wrong
    }
}

/// How what was said is not as expected, whole or, of an error, in part.
fn unlike(
    of: &str,
    said: &Result<String, String>,
    expected: Result<&String, &String>,
) -> Option<String> {
    let alike = match (said, expected) {
        (Ok(said), Ok(whole)) => said == whole,
        (Err(said), Err(part)) => said.contains(part),
        _ => false,
    };
    (!alike).then(|| format!("{of}\n  {expected:?}\n  {said:?}"))
}

/// What an error says, after its kind.
fn told(error: Error) -> String {
    format!("{}: {error}", error.kind().name())
}

/// What a template writes for a request, or its error.
fn said(source: &str, body: &Value) -> Result<String, String> {
    let template = ChatTemplate::new(source, "<s>", "</s>").map_err(told)?;
    let request = Request::from_json(body).map_err(told)?;
    template.prompt(&request).map_err(told)
}

fn prompt(template: &ChatTemplate, body: &Value) -> String {
    template.prompt(&Request::from_json(body).unwrap()).unwrap()
}

/// The arguments of a call as their JSON text, or as the text that is none.
fn text(arguments: &Value) -> String {
    arguments
        .as_str()
        .map_or_else(|| arguments.to_string(), str::to_owned)
}

impl Case {
    /// Whether the case has one request, and no list of pairs.
    fn is_asked(&self) -> bool {
        let pairs = [&self.asks, &self.refuses, &self.writes, &self.fails];
        pairs.iter().all(|pairs| pairs.is_empty())
    }

    fn has_message(&self) -> bool {
        self.content.is_some() || !self.reasoning.is_empty() || !self.calls.is_empty()
    }

    /// The message as a template takes it.
    fn said(&self) -> Value {
        let content = self.content.as_deref().unwrap_or_default();
        let mut message = json!({"role": "assistant", "content": content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        let mut calls = Vec::new();
        for (index, (name, arguments)) in self.calls.iter().flatten().enumerate() {
            let function = json!({"name": name, "arguments": text(arguments)});
            let id = format!("abcdef{index:03}");
            calls.push(json!({"type": "function", "id": id, "function": function}));
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        message
    }

    /// What is to be read of an output.
    fn expected(&self, output: &str, ids: &[String]) -> Value {
        let mut calls = Vec::new();
        for ((name, arguments), id) in self.calls.iter().flatten().zip(ids) {
            let arguments = text(arguments);
            let value = serde_json::from_str(&arguments).unwrap_or_else(|_| json!(arguments));
            calls.push(json!({"name": name, "arguments": value, "id": id}));
        }
        let is_text = self.reasoning.is_empty() && calls.is_empty();
        let content = self.content.as_deref();
        let content = content.unwrap_or(if is_text { output } else { "" });
        let mut expected = json!({"reasoning": self.reasoning, "content": content, "calls": calls});
        expected["status"] = json!(self.status());
        if let Some(kinds) = &self.diagnostics {
            expected["diagnostics"] = json!(kinds);
        }
        expected
    }

    fn status(&self) -> &str {
        self.status.as_deref().unwrap_or("complete")
    }

    /// What a parser reads of an output, as far as the case tells it.
    fn read(&self, parser: &Parser, output: &str) -> Value {
        let by = EndedBy::limit_if(self.ended_by == By::Limit);
        let ended = parser.read(output.as_bytes(), by);
        let mut read = shown(&ended.message);
        read["status"] = json!(ended.status.name());
        if self.diagnostics.is_some() {
            let report = ended.report_json();
            let found = report["diagnostics"].as_array().unwrap().iter();
            read["diagnostics"] = found.map(|found| found["kind"].clone()).collect();
        }
        read
    }

    /// What is wrong with what a parser, and the same as it was stored, reads of an output.
    fn check(&self, parsers: [&Parser; 2], output: &str, ids: &[String]) -> Vec<String> {
        let expected = self.expected(output, ids);
        let [read, stored] = parsers.map(|parser| self.read(parser, output));
        let is_complete = self.status() == "complete";
        let mut wrong = check_streaming(parsers[0], output.as_bytes(), is_complete);
        if read != expected {
            wrong.push(format!("expected {expected}\n       got {read}"));
        }
        if read != stored {
            wrong.push(format!("stored, the parser reads {stored}"));
        }
        wrong
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// The outputs of a file, each with the name of its case.
pub fn outputs(file: &str) -> Vec<(String, String)> {
    let mut outputs = Vec::new();
    for case in File::read(&folder().join(file)).case {
        for output in case.output.unwrap_or_default().all() {
            outputs.push((case.name.clone(), output.clone()));
        }
    }
    outputs
}

#[test]
fn each_output_is_read_as_its_case_says() {
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            for part in 0..PARTS {
                let path = path.clone();
                runs.push(thread::spawn(move || File::read(&path).run(part)));
            }
        }
    }
    assert!(!runs.is_empty(), "there are no cases");
    let wrong: Vec<String> = runs
        .into_iter()
        .flat_map(|run| run.join().unwrap())
        .collect();
    assert!(
        wrong.is_empty(),
        "{} failures:\n\n{}\n",
        wrong.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn each_built_in_template_writes_the_messages() {
    let file = File::read(&folder().join("written.toml"));
    let missing: Vec<&str> = builtin::names()
        .filter(|name| !file.template.all().iter().any(|it| it == name))
        .collect();
    assert!(missing.is_empty(), "not in written.toml: {missing:?}");
}
