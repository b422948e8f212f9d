//! Long outputs as templates write them: what a message adds to the prompt.

use std::fs;
use std::path::Path;

use chatparse::{ChatTemplate, EndedBy, Parser, Request, Status, builtin};
use serde_json::{Map, Value, json};

/// The built-in templates, and those of real models where they lie beside the repository.
pub fn templates() -> Vec<(String, ChatTemplate)> {
    let compile = |source: &str, bos: &str, eos: &str| {
        ChatTemplate::new(source, bos, eos).expect("it compiles")
    };
    let mut all: Vec<_> = builtin::BUILTINS
        .iter()
        .map(|builtin| {
            (
                builtin.name.to_owned(),
                compile(builtin.source, builtin.bos, builtin.eos),
            )
        })
        .collect();
    for folder in ["templates", "templates-wild"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../shared")
            .join(folder);
        let Ok(files) = fs::read_dir(&path) else {
            println!("skipped: there is no folder {}", path.display());
            continue;
        };
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        for file in files {
            let source = fs::read_to_string(&file).expect("the template is text");
            let name = file.file_name().expect("a name").to_string_lossy();
            all.push((format!("{folder}/{name}"), compile(&source, "<s>", "</s>")));
        }
    }
    all
}

/// What there is much of in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Calls,
    Items,
    Arguments,
    Content,
    Reasoning,
    /// Calls of one tool after the other.
    Tools,
}

/// Those with the same request for messages of every length.
pub const FAMILIES: [Family; 5] = [
    Family::Calls,
    Family::Items,
    Family::Arguments,
    Family::Content,
    Family::Reasoning,
];

/// Words with what formats quote or look at.
fn prose(n: usize) -> String {
    (0..n)
        .map(|i| format!("Line {i}: let \"total\" < 3; // a \\ b\n"))
        .collect()
}

fn tool(name: &str, properties: &Value) -> Value {
    let parameters = json!({"type": "object", "properties": properties});
    json!({"type": "function", "function": {"name": name, "description": "A tool", "parameters": parameters}})
}

fn argument(index: usize) -> (String, Value, Value) {
    let name = format!("argument_{index}");
    // Of each second one, too, half are texts.
    if (index / 2).is_multiple_of(2) {
        (name, json!({"type": "string"}), json!("some text"))
    } else {
        (name, json!({"type": "integer"}), json!(index))
    }
}

/// Arguments that a tool with many of them has.
pub const PROPERTIES: usize = 200;

/// The tool that is called, with so many arguments.
fn called(family: Family, properties: usize) -> Value {
    match family {
        Family::Calls => tool(
            "look_up",
            &json!({"key": {"type": "string"}, "line": {"type": "integer"}}),
        ),
        Family::Items => {
            let item = json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}});
            tool(
                "look_up",
                &json!({"items": {"type": "array", "items": item}}),
            )
        }
        Family::Arguments => {
            let properties = (0..properties)
                .map(argument)
                .map(|(name, schema, _)| (name, schema));
            tool("look_up", &Value::Object(properties.collect::<Map<_, _>>()))
        }
        Family::Content | Family::Reasoning | Family::Tools => tool("look_up", &json!({})),
    }
}

/// `declared`: how many tools or arguments there are to choose from.
fn message(family: Family, thought: &str, n: usize, declared: usize) -> Value {
    let call_of = |name: &str, index: usize, arguments: Value| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"id": format!("call{index:05}"), "type": "function", "function": function})
    };
    let call = |index: usize, arguments: Value| call_of("look_up", index, arguments);
    let calls: Vec<Value> = match family {
        Family::Calls => (0..n)
            .map(|i| call(i, json!({"key": format!("key {i}"), "line": i})))
            .collect(),
        Family::Items => {
            let items: Vec<_> = (0..n)
                .map(|i| json!({"id": i, "name": format!("name {i}")}))
                .collect();
            vec![call(0, json!({"items": items}))]
        }
        // Evenly among those of the tool: where they stand may count.
        Family::Arguments => {
            let arguments = (0..n)
                .map(|i| argument(i * declared / n))
                .map(|(name, _, value)| (name, value));
            vec![call(0, Value::Object(arguments.collect()))]
        }
        Family::Tools => {
            let name = |i: usize| format!("look_at_{}", i * declared / n);
            (0..n)
                .map(|i| call_of(&name(i), i, json!({"path": format!("path {i}")})))
                .collect()
        }
        Family::Content => {
            return json!({"role": "assistant", "reasoning_content": thought, "content": prose(n)});
        }
        Family::Reasoning => {
            return json!({"role": "assistant", "reasoning_content": prose(n), "content": "Done."});
        }
    };
    json!({"role": "assistant", "reasoning_content": thought, "content": "", "tool_calls": calls})
}

/// A request for messages of a family, with so many tools.
pub struct Asked<'a> {
    template: &'a ChatTemplate,
    family: Family,
    declared: usize,
    thought: &'static str,
    body: Value,
    prompt: String,
    pub parser: Parser,
    /// What a template writes behind a message: the end of the turn, which is no part of the
    /// output.
    ending: String,
}

impl<'a> Asked<'a> {
    /// `None` where the template cannot render such messages behind its prompt.
    pub fn new(template: &'a ChatTemplate, family: Family, tools: usize) -> Option<Self> {
        Asked::declaring(template, family, tools, PROPERTIES)
    }

    /// With so many arguments to choose from, or tools that are called.
    pub fn declaring(
        template: &'a ChatTemplate,
        family: Family,
        tools: usize,
        declared: usize,
    ) -> Option<Self> {
        let others = (0..if family == Family::Tools { declared } else { tools - 1 }).map(|index| {
            let properties =
                json!({"path": {"type": "string"}, "depth": {"type": "integer"}, "all": {"type": "boolean"}});
            tool(&format!("look_at_{index}"), &properties)
        });
        let tools: Vec<Value> = others.chain([called(family, declared)]).collect();
        // Some open the reasoning with the prompt.
        [(false, ""), (true, ""), (true, "Well.")].into_iter().find_map(|(thinking, thought)| {
            let body = json!({"messages": [{"role": "user", "content": "Look it up."}], "now": 0, "tools": tools,
                "reasoning_format": "auto", "parallel_tool_calls": true, "enable_thinking": thinking});
            let params = template.params(&Request::from_json(&body).expect("a request")).ok()?;
            let mut asked = Asked {
                template,
                family,
                declared,
                thought,
                body,
                prompt: params.prompt,
                parser: params.parser,
                ending: String::new(),
            };
            let short = asked.output(2)?;
            let fits = |end: &usize| {
                let (message, status) = asked.parser.parse(&short.as_bytes()[..*end], EndedBy::Model);
                let said = match family {
                    Family::Content => message.content.trim() == prose(2).trim(),
                    Family::Reasoning => message.reasoning_content.trim() == prose(2).trim(),
                    Family::Calls | Family::Tools => message.tool_calls.len() == 2,
                    Family::Items | Family::Arguments => message.tool_calls.len() == 1,
                };
                said && status == Status::Complete
            };
            let ends = short.char_indices().map(|(at, _)| at).rev().take(80).chain([short.len()]);
            let end = ends.filter(fits).max()?;
            asked.ending = short[end..].to_owned();
            Some(asked)
        })
    }

    /// The output for a message with `n` of what the family has many of.
    pub fn output(&self, n: usize) -> Option<String> {
        let mut body = self.body.clone();
        body["messages"]
            .as_array_mut()
            .expect("a list")
            .push(message(self.family, self.thought, n, self.declared));
        body["add_generation_prompt"] = json!(false);
        let whole = self
            .template
            .prompt(&Request::from_json(&body).expect("a request"))
            .ok()?;
        let output = whole.strip_prefix(&self.prompt)?;
        Some(
            output
                .strip_suffix(&self.ending)
                .unwrap_or(output)
                .to_owned(),
        )
    }
}
