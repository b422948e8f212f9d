//! The tools of a request as a template takes them: names with their namespaces, and deferred tools
//! once they are revealed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::probe::caps::reads_field;
use crate::{Caps, Template};
use chatparse_base::{Error, Result, number};
use chatparse_message::{Request, RevealedTools, TOOL_REFERENCE, Tool, ToolChoice};

/// What stands between a namespace and a name where the template says nothing of it.
const BETWEEN: &str = ".";

/// The namespace and the name of the tool in the trial call.
const TRIED: [&str; 2] = ["NAMESPACE_MARKER", "NAME_MARKER"];

/// Finds out in which namespace the template writes the names of calls, if in one, and what it
/// writes between another and a name. `prompt` renders a conversation that ends with an assistant
/// message.
pub fn namespaces(
    source: &str,
    caps: &Caps,
    prompt: impl Fn(&Value) -> Option<String>,
) -> [String; 2] {
    let [namespace, name] = TRIED;
    let function =
        json!({"name": name, "namespace": namespace, "arguments": caps.arguments(json!({}))});
    let call = json!({"id": "call00001", "type": "function", "namespace": namespace, "function": function});
    let mut message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    caps.complete(&mut message);
    let prompt = prompt(&message).unwrap_or_default();
    let before = prompt.split_once(name).map_or("", |(before, _)| before);
    let between = before.split_once(namespace).map(|(_, between)| between);
    let between = between.filter(|between| {
        !between.is_empty() && !between.contains('\n') && reads_field(source, "namespace")
    });
    let own = before
        .strip_suffix(BETWEEN)
        .filter(|_| between.is_none())
        .map_or("", |before| {
            before
                .rsplit(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
                .next()
                .unwrap_or_default()
        });
    [own.to_owned(), between.unwrap_or(BETWEEN).to_owned()]
}

/// The request with the names that the model reads and writes, and the tools that it knows by now:
/// in `tools` those that the template lists, in `allowed_tools` those that may be called.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] where a message reveals a tool that is not there, where
/// two tools have one name, and where a tool must be called that is not revealed.
pub fn offered<'r>(template: &Template, request: &'r Request) -> Result<Cow<'r, Request>> {
    let as_it_is = request
        .tools
        .iter()
        .all(|tool| !tool.deferred && tool.namespace.is_empty())
        && request.messages.iter().all(|message| {
            message
                .tool_calls
                .iter()
                .all(|call| call.namespace.is_empty())
                && message.parts.iter().all(|part| part.kind != TOOL_REFERENCE)
        });
    if as_it_is || request.plain.is_some() {
        return Ok(Cow::Borrowed(request));
    }
    let mut request = request.clone();
    let by_name = join_names(template, &mut request)?;
    let revealed = reveal(&mut request, &by_name, template.ways.knows_deferred)?;
    let names: HashSet<&str> = revealed.iter().map(|tool| &*tool.name).collect();
    let is_known = |tool: &Tool| !tool.deferred || names.contains(&*tool.name);
    if let (ToolChoice::Required, Some([tool])) =
        (request.output.tool_choice, request.allowed_tools.as_deref())
        && !is_known(tool)
    {
        let why = format!(
            "tool_choice: the tool {:?} is deferred, and no message reveals it",
            tool.name
        );
        return Err(Error::invalid(why));
    }
    let mut callable = request
        .allowed_tools
        .take()
        .unwrap_or_else(|| request.tools.clone());
    callable.retain(is_known);
    callable.iter_mut().for_each(|tool| tool.deferred = false);
    request.allowed_tools = Some(callable);
    if !template.ways.knows_deferred {
        request.tools.retain(|tool| !tool.deferred);
        if request.revealed_tools == RevealedTools::Listed {
            request.tools.extend(revealed);
        }
    }
    Ok(Cow::Owned(request))
}

impl Template {
    /// The name that the model reads and writes for a tool.
    pub fn joined_name(&self, namespace: &str, name: &str) -> String {
        match self.namespaces() {
            _ if namespace.is_empty() => name.to_owned(),
            [own, _] if own == namespace => name.to_owned(),
            [_, between] => [namespace, between, name].concat(),
        }
    }
}

/// Joins all names, and returns the index of the tool by the names that a message may reveal it by:
/// the joined one, and those of the request.
fn join_names(template: &Template, request: &mut Request) -> Result<HashMap<String, usize>> {
    let join = |namespace: &mut String, name: &mut String| {
        *name = template.joined_name(&std::mem::take(namespace), name);
    };
    let mut by_name = HashMap::new();
    for (index, tool) in request.tools.iter().enumerate() {
        by_name.entry(tool.name.clone()).or_insert(index);
        by_name
            .entry(format!("{}{BETWEEN}{}", tool.namespace, tool.name))
            .or_insert(index);
    }
    for tool in request
        .tools
        .iter_mut()
        .chain(request.allowed_tools.iter_mut().flatten())
    {
        join(&mut tool.namespace, &mut tool.name);
    }
    for call in request
        .messages
        .iter_mut()
        .flat_map(|message| &mut message.tool_calls)
    {
        join(&mut call.namespace, &mut call.name);
    }
    let mut names = HashSet::new();
    if let Some(twice) = request.tools.iter().find(|tool| !names.insert(&tool.name)) {
        return Err(Error::invalid(format!(
            "tools: with its namespace, there is another tool {:?}",
            twice.name
        )));
    }
    by_name.extend(
        request
            .tools
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.name.clone(), index)),
    );
    Ok(by_name)
}

/// Shows what messages reveal, and returns the tools that were deferred, in order.
fn reveal(
    request: &mut Request,
    by_name: &HashMap<String, usize>,
    template_knows: bool,
) -> Result<Vec<Tool>> {
    let mut revealed = Vec::new();
    let mut known = HashSet::new();
    for (index, message) in request.messages.iter_mut().enumerate() {
        // Templates look for references in results that have nothing else.
        let is_all = message.parts.iter().all(|part| part.kind == TOOL_REFERENCE);
        let template_knows = template_knows && message.role == "tool" && is_all;
        for (part_index, part) in message
            .parts
            .iter_mut()
            .enumerate()
            .filter(|(_, part)| part.kind == TOOL_REFERENCE)
        {
            let Some(tool) = by_name.get(&part.text).map(|index| &request.tools[*index]) else {
                let place = format!("messages[{index}].content[{part_index}]");
                return Err(Error::invalid(format!(
                    "{place}: there is no tool {:?}",
                    part.text
                )));
            };
            let is_new = tool.deferred && known.insert(tool.name.clone());
            let mut shown = tool.clone();
            shown.deferred = false;
            tool.name.clone_into(&mut part.text);
            if !template_knows {
                "text".clone_into(&mut part.kind);
            }
            if is_new && !template_knows && request.revealed_tools == RevealedTools::Inline {
                part.text = number::write(&shown.to_json());
            }
            if is_new {
                revealed.push(shown);
            }
        }
    }
    Ok(revealed)
}
