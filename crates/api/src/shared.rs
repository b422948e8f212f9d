//! The common part of converting Responses and Messages requests to chat completions.

use serde_json::{Map, Value};

use chatparse_base::Result;
use chatparse_message::fields::{Fields, TextOrItems, ToolNames};
use chatparse_message::{ClientTool, OPTIONS, TOOL_REFERENCE, Table, text_part};

/// Fields with the same meaning in chat completions, in addition to this library's options.
const SAME: &[&str] = &[
    "model",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "user",
    "metadata",
    "service_tier",
];

/// The type of an object, which it must have.
pub fn kind_of<'a>(object: &Fields<'a>) -> Result<&'a str> {
    object.required_text("type")
}

/// The tool of a client that this one is by its type.
pub fn client_tool(tool: &Value) -> Option<&'static ClientTool> {
    ClientTool::of(&Fields::new(tool, "tool").ok()?).ok()?
}

/// The name of a tool in the form of chat completions; `None` if a server must run it.
pub fn name_of(tool: &Value) -> Option<&str> {
    match tool.get(tool["type"].as_str()?) {
        Some(inner) => inner["name"].as_str(),
        None => tool["name"].as_str().or(Some(client_tool(tool)?.name)),
    }
}

/// What introduces tools amid a conversation.
pub const FROM_HERE_ON: &str = "From here on, there are also these tools:";

/// Copies the fields with these names, if present.
pub fn taken(from: &Fields, names: &[&str]) -> Map<String, Value> {
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), from.get(name)?.clone())))
        .collect()
}

/// Sets a field of a chat-completions body, if there is a value.
pub fn put(chat: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    chat.extend(value.map(|value| (name.to_owned(), value.into())));
}

/// A body of chat completions in the making.
#[derive(Default)]
pub struct Chat {
    body: Map<String, Value>,
    pub messages: Vec<Value>,
    /// The current turn of the model.
    pub turn: Option<Turn>,
    /// The tools that messages bring, each in a list of its own if it has a namespace.
    found: Vec<Value>,
    /// The names of tools that may not be called any more.
    pub removed: Vec<String>,
    /// How much the model should think, and the form of its answer: the last that was said.
    pub effort: Option<String>,
    pub format: Option<Value>,
    pub notes: Vec<String>,
}

impl Chat {
    /// A body with those fields of `body` that mean the same there, and the notes that its table
    /// has for it. `most`: the field with the limit of tokens.
    pub fn of(body: &Fields, table: &Table, most: &str) -> Result<Chat> {
        let mut chat = Chat::default();
        table.check_body(body, &[OPTIONS], &mut chat.notes)?;
        for (name, ..) in &table.0[0].fields {
            table.check_at("request", name, body, &mut chat.notes)?;
        }
        chat.body = [SAME, OPTIONS]
            .into_iter()
            .flat_map(|names| taken(body, names))
            .collect();
        chat.put("max_completion_tokens", body.number(most)?);
        Ok(chat)
    }

    /// Notes why a field does not do what the client may expect.
    pub fn note(&mut self, of: &Fields, field: &str, why: &str) {
        self.notes.push(format!("{}: {why}", of.path(field)));
    }

    /// Whether the model may call a tool by itself, and now; if not, there is a note.
    pub fn is_callable(&mut self, tool: &Fields) -> Result<bool> {
        let callers = tool.get("allowed_callers").and_then(Value::as_array);
        let (field, why) = if callers.is_some_and(|callers| {
            !callers.is_empty() && callers.iter().all(|caller| caller != "direct")
        }) {
            (
                "allowed_callers",
                "programs would call it, and none runs here, so it is not offered",
            )
        } else if tool.flag("async", false)? {
            (
                "async",
                "calls have their results in the next request, so it is not offered",
            )
        } else if tool.text("type")? == Some("programmatic_tool_calling") {
            ("type", "no programs run here, so it is not offered")
        } else {
            return Ok(true);
        };
        self.note(tool, field, why);
        Ok(false)
    }

    /// Sets a field of the body, if there is a value.
    pub fn put(&mut self, name: &str, value: Option<impl Into<Value>>) {
        put(&mut self.body, name, value);
    }

    pub fn turn(&mut self) -> &mut Turn {
        self.turn.get_or_insert_default()
    }

    /// Ends the model's turn.
    pub fn close(&mut self) {
        self.messages.extend(self.turn.take().map(Turn::message));
    }

    pub fn say(&mut self, role: &str, content: impl Into<Value>) {
        self.close();
        self.messages
            .push(json!({"role": role, "content": content.into()}));
    }

    /// Adds the result of the call with this id.
    pub fn answer(&mut self, id: &str, content: Value) {
        self.close();
        self.messages
            .push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }

    /// Adds parts to the last message, which is new to the model; or, where the model has spoken, a
    /// message of the user. Templates move those of the system, and forget thoughts before those of
    /// the user.
    pub fn add_parts(&mut self, parts: Vec<Value>) {
        self.close();
        match self.messages.last_mut() {
            Some(last) if last["role"] == "tool" || last["role"] == "user" => {
                let mut all = match last["content"].take() {
                    Value::Array(all) => all,
                    Value::String(text) => vec![text_part(&text)],
                    _ => Vec::new(),
                };
                all.extend(parts);
                last["content"] = all.into();
            }
            _ => self.say("user", parts),
        }
    }

    /// Adds a tool that is not the request's, in its namespace. `defers`: the model does not see it
    /// until a message reveals it. Returns its name; `None` if a server must run it.
    pub fn bring(
        &mut self,
        mut tool: Value,
        namespace: Option<Map<String, Value>>,
        defers: bool,
    ) -> Option<String> {
        let name = name_of(&tool).map(str::to_owned);
        if defers && name.is_some() {
            tool["defer_loading"] = true.into();
        }
        self.found.push(match namespace {
            Some(mut alone) => {
                alone.insert("tools".to_owned(), json!([tool]));
                alone.into()
            }
            None => tool,
        });
        name
    }

    /// Adds the tools of an MCP server, which the model may call from the beginning: a server lists
    /// them before it asks the model.
    pub fn server_tools(&mut self, list: &Fields, server: &str) -> Result<()> {
        let server = list.required_text(server)?;
        for tool in &list.items("tools")? {
            tool.required_text("name")?;
            let mut function = taken(tool, &["name", "description"]);
            put(&mut function, "namespace", Some(server));
            self.found.push(with_schema(function, tool)?);
        }
        Ok(())
    }

    /// Notes that the client asks for a compaction, with the field that asks.
    pub fn compact(&mut self, asked: impl Into<Value>, of: &Fields, field: &str) {
        self.put("compaction", Some(asked));
        self.note(of, field, "the host makes the compaction");
    }

    /// The tools of the request and those that messages bring, which it need not list.
    pub fn all_tools(&mut self, mut tools: Vec<Value>, names: &mut ToolNames) -> Vec<Value> {
        tools.extend(self.found.drain(..).filter(|tool| names.read_found(tool)));
        tools
    }

    /// The body. `tools`: all of them.
    pub fn finish(mut self, tools: Vec<Value>, parallel: bool, choice: Option<Value>) -> Value {
        self.close();
        let mut body = self.body;
        match self.effort.as_deref() {
            Some("none") => drop(body.entry("enable_thinking").or_insert(false.into())),
            effort => put(&mut body, "reasoning_effort", effort),
        }
        if !tools.is_empty() {
            put(&mut body, "tools", Some(tools));
            put(&mut body, "parallel_tool_calls", Some(parallel));
        }
        put(&mut body, "tool_choice", choice);
        put(&mut body, "response_format", self.format);
        put(&mut body, "messages", Some(self.messages));
        put(
            &mut body,
            "notes",
            Some(self.notes).filter(|notes| !notes.is_empty()),
        );
        body.into()
    }
}

/// The name of a tool in a namespace, as references have it.
pub fn full_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}.{name}"),
        None => name.to_owned(),
    }
}

/// A function that may be called.
pub fn function(function: impl Into<Value>) -> Value {
    json!({"type": "function", "function": function.into()})
}

/// A function with the schema that a tool has in Messages.
pub fn with_schema(mut function: Map<String, Value>, tool: &Fields) -> Result<Value> {
    let schema = tool.required("input_schema")?.clone();
    put(&mut function, "parameters", Some(schema));
    Ok(self::function(function))
}

/// What reveals the tool of this name.
pub fn reference(name: &str) -> Value {
    json!({"type": TOOL_REFERENCE, "name": name})
}

/// A text, or the texts of parts of these kinds.
pub fn text(item: &Fields, name: &str, kinds: &[&str], between: &str) -> Result<String> {
    let parts = match item.text_or_items(name)? {
        TextOrItems::Text(text) => return Ok(text.to_owned()),
        TextOrItems::Items(parts) => parts,
    };
    let texts = parts.iter().map(|part| match kind_of(part)? {
        kind if !kinds.contains(&kind) => {
            Err(part.unknown("type", &format!("\"{}\"", kinds.join("\" or \""))))
        }
        "refusal" => part.required_text("refusal"),
        _ => part.required_text("text"),
    });
    Ok(texts.collect::<Result<Vec<_>>>()?.join(between))
}

/// The field of a call of this kind for what the model has written.
pub fn field_of(kind: &str) -> &'static str {
    if kind == "custom" {
        "input"
    } else {
        "arguments"
    }
}

/// What the model says between two results of tools.
#[derive(Default)]
pub struct Turn {
    pub reasoning: String,
    pub content: Option<String>,
    /// The channel of the content, where a format has some.
    pub phase: Option<String>,
    pub calls: Vec<Value>,
}

impl Turn {
    /// Adds a call of this `kind`: `function` or `custom`.
    pub fn call(&mut self, kind: &str, id: &str, name: &str, said: &str, namespace: Option<&str>) {
        let field = field_of(kind);
        let mut called = json!({"name": name, field: said});
        if let Some(namespace) = namespace {
            called["namespace"] = namespace.into();
        }
        self.calls
            .push(json!({"type": kind, "id": id, kind: called}));
    }

    pub fn message(self) -> Value {
        let content = self.content.unwrap_or_default();
        let mut message = json!({"role": "assistant", "content": content});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = self.reasoning.into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        } else if let Some(phase) = self.phase {
            message["phase"] = phase.into();
        }
        message
    }
}
