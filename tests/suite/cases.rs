//! The cases of `tests/cases`, each in one piece and cut in all other ways. The files are read as
//! the test runs; the README beside them says what is in them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::support::{check_streaming, shown};
use chatparse::{ChatTemplate, EndedBy, Parser, Request, TemplateOptions, builtin};
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
    prompt: Option<String>,
    output: Option<Texts>,
    ended_by: Option<String>,
    reasoning: String,
    content: Option<String>,
    calls: Vec<Object>,
    ids: Option<Vec<String>>,
    status: Option<String>,
    diagnostics: Option<Vec<String>>,
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
        options.eos.clone_from(&own.eos);
        options.learn_only = own.learn_only;
        ChatTemplate::with_options(&own.source, &options).unwrap()
    }

    /// The requests of a case, as bodies.
    fn bodies(&self, case: &Case) -> Vec<Value> {
        let fields: Vec<&Object> = match &case.request {
            Requests::Given(fields) => vec![fields],
            Requests::Named(names) => names
                .all()
                .iter()
                .map(|name| &self.requests[name])
                .collect(),
        };
        fields.into_iter().map(|fields| self.body(fields)).collect()
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
        let pattern = self.ids.get(template).map_or("", String::as_str);
        let names = case.calls.iter().flat_map(Object::keys).enumerate();
        case.ids.clone().unwrap_or_else(|| {
            names
                .map(|(index, name)| {
                    pattern
                        .replace("{index}", &index.to_string())
                        .replace("{name}", name)
                })
                .collect()
        })
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
            for name in self.named(names).filter(|name| !except.contains(name)) {
                let template = &*templates.entry(name).or_insert_with(|| self.template(name));
                for body in self.bodies(case) {
                    let params = template
                        .params(&Request::from_json(&body).unwrap())
                        .unwrap();
                    let is_prompt = |prompt: &String| *prompt == params.prompt;
                    if !case.prompt.as_ref().is_none_or(is_prompt) {
                        let found = &params.prompt;
                        wrong.push(format!(
                            "{}, {}: {name} writes {found:?}",
                            self.name, case.name
                        ));
                    }
                    let outputs = match &case.output {
                        Some(outputs) => outputs.all().to_vec(),
                        None => self.written(name, template, &body, case),
                    };
                    // Of what templates write, `each_template` has the law.
                    let stored = match &case.output {
                        Some(_) => Parser::from_text(&params.parser.to_text()).unwrap(),
                        None => params.parser.clone(),
                    };
                    for output in outputs {
                        let parsers = [&params.parser, &stored];
                        let found = case.check(parsers, &output, &self.ids(name, case));
                        wrong.extend(found.iter().map(|found| {
                            format!(
                                "{}, {}: {name} reads {output:?}\n  {found}",
                                self.name, case.name
                            )
                        }));
                    }
                }
            }
        }
        wrong
    }
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
    /// The message as a template takes it.
    fn said(&self) -> Value {
        let calls = self
            .calls
            .iter()
            .flatten()
            .enumerate()
            .map(|(index, (name, arguments))| {
                let function = json!({"name": name, "arguments": text(arguments)});
                json!({"type": "function", "id": format!("abcdef{index:03}"), "function": function})
            });
        let content = self.content.as_deref().unwrap_or_default();
        let mut message = json!({"role": "assistant", "content": content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = calls.collect();
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
        let by = EndedBy::limit_if(self.ended_by.as_deref() == Some("limit"));
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

    /// What is wrong with what a parser, and the same as it was stored, read of an output.
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
        let written = case.output.unwrap_or_default();
        outputs.extend(
            written
                .all()
                .iter()
                .map(|output| (case.name.clone(), output.clone())),
        );
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
