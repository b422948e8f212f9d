//! The tools of a request as a template takes them: names with their namespaces, and deferred tools
//! once they are revealed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::Template;
use crate::probe::caps::{Trials, reads_field};
use chatparse_base::{Error, Result, number};
use chatparse_message::{Request, RevealedTools, TOOL_REFERENCE, Tool, ToolChoice};

/// The text between a namespace and a name, if the template shows no other.
const BETWEEN: &str = ".";

/// The namespace and the name of the tool in the trial call.
const TRIED: [&str; 2] = ["NAMESPACE_MARKER", "NAME_MARKER"];

/// Finds the namespace in which the template writes the names of calls, empty for none, and the
/// text that it writes between another namespace and a name.
pub fn namespaces(trials: &Trials) -> [String; 2] {
    let [namespace, name] = TRIED;
    let arguments = trials.caps.arguments(json!({}));
    let function = json!({"name": name, "namespace": namespace, "arguments": arguments});
    let call = json!({"id": "call00001", "type": "function", "namespace": namespace, "function": function});
    let mut message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    trials.caps.complete(&mut message);
    let prompt = trials.prompt_with(&message).unwrap_or_default();
    let (before, _) = prompt.split_once(name).unwrap_or_default();
    if let Some((_, between)) = before.split_once(namespace)
        && !between.is_empty()
        && !between.contains('\n')
        && reads_field(trials.source, "namespace")
    {
        return ["", between].map(str::to_owned);
    }
    let before = before.strip_suffix(BETWEEN).unwrap_or_default();
    let own = before
        .rsplit(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
        .next();
    [own.unwrap_or_default(), BETWEEN].map(str::to_owned)
}

/// The request with the names that the model reads and writes, and the tools that it knows by now:
/// in `tools` the tools that the template lists, in `allowed_tools` the tools that may be called.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] if a message reveals a tool that does not exist, two tools
/// have one name, or a tool must be called that no message reveals.
pub fn offered<'r>(template: &Template, request: &'r Request) -> Result<Cow<'r, Request>> {
    let mut calls = request
        .messages
        .iter()
        .flat_map(|message| &message.tool_calls);
    let mut parts = request.messages.iter().flat_map(|message| &message.parts);
    let as_it_is = request
        .tools
        .iter()
        .all(|tool| !tool.deferred && tool.namespace.is_empty())
        && calls.all(|call| call.namespace.is_empty())
        && parts.all(|part| part.kind != TOOL_REFERENCE);
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
        let name = &tool.name;
        let why = "is deferred, and no message reveals it";
        return Err(Error::invalid(format!(
            "tool_choice: the tool {name:?} {why}"
        )));
    }
    let callable = request
        .allowed_tools
        .get_or_insert_with(|| request.tools.clone());
    callable.retain(is_known);
    callable.iter_mut().for_each(|tool| tool.deferred = false);
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
/// the joined name, and the names in the request.
fn join_names(template: &Template, request: &mut Request) -> Result<HashMap<String, usize>> {
    let mut by_name = HashMap::new();
    for (index, tool) in request.tools.iter().enumerate() {
        let joined = [&tool.namespace, BETWEEN, &tool.name].concat();
        for name in [tool.name.clone(), joined] {
            by_name.entry(name).or_insert(index);
        }
    }
    let allowed = request.allowed_tools.iter_mut().flatten();
    for tool in request.tools.iter_mut().chain(allowed) {
        tool.name = template.joined_name(&std::mem::take(&mut tool.namespace), &tool.name);
    }
    for message in &mut request.messages {
        for call in &mut message.tool_calls {
            call.name = template.joined_name(&std::mem::take(&mut call.namespace), &call.name);
        }
    }
    let mut names = HashSet::new();
    for (index, tool) in request.tools.iter().enumerate() {
        let name = &tool.name;
        if !names.insert(name) {
            let why = "with its namespace, there is another tool";
            return Err(Error::invalid(format!("tools: {why} {name:?}")));
        }
        by_name.insert(name.clone(), index);
    }
    Ok(by_name)
}

/// Shows the tools that messages reveal, and returns the deferred ones among them, in order.
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
        for (part_index, part) in message.parts.iter_mut().enumerate() {
            if part.kind != TOOL_REFERENCE {
                continue;
            }
            let Some(tool) = by_name.get(&part.text).map(|index| &request.tools[*index]) else {
                let (place, name) = (
                    format!("messages[{index}].content[{part_index}]"),
                    &part.text,
                );
                return Err(Error::invalid(format!(
                    "{place}: there is no tool {name:?}"
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
