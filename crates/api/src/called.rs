//! How the tools of a request are called in its API: custom tools by their text, tools of a
//! namespace by their own name.

use std::collections::HashMap;

use serde_json::Value;

use super::Api;
use super::messages::object;
use super::shared::client_tool;

/// How an API shows the calls of a tool.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// Its name without the namespace.
    pub name: String,
    pub namespace: String,
    /// It is called by a text.
    pub custom: bool,
    /// The item of Responses, and its field for the arguments, if it is a tool that the API knows.
    pub client: Option<(&'static str, &'static str)>,
}

impl Called {
    /// Whether the model calls it by this name. Templates write different signs after a namespace.
    fn is_called(&self, name: &str) -> bool {
        name.strip_prefix(&*self.namespace)
            .and_then(|rest| rest.strip_suffix(&*self.name))
            .is_some_and(|sign| !sign.is_empty() && !sign.contains(char::is_alphanumeric))
    }

    /// Names the namespace in a call, if there is one.
    pub fn set_namespace(&self, call: &mut Value) {
        if !self.namespace.is_empty() {
            call["namespace"] = self.namespace.as_str().into();
        }
    }
}

/// The tools of a request whose calls are not those of a function by its name.
#[derive(Clone, Debug, Default)]
pub struct Special {
    named: HashMap<String, Called>,
    spaced: Vec<Called>,
}

impl Special {
    pub fn of(api: Api, request: &Value) -> Special {
        let mut special = Special::default();
        special.add_all(api, request);
        if api == Api::Responses {
            for item in listed(&request["input"]) {
                if item["type"] == "tool_search_output" || item["type"] == "additional_tools" {
                    special.add_all(api, item);
                }
            }
        }
        special
    }

    fn add_all(&mut self, api: Api, list: &Value) {
        for tool in listed(&list["tools"]) {
            if tool["type"] != "namespace" {
                self.add(api, tool, "");
                continue;
            }
            for inner in listed(&tool["tools"]) {
                self.add(api, inner, tool["name"].as_str().unwrap_or_default());
            }
        }
    }

    fn add(&mut self, api: Api, tool: &Value, inside: &str) {
        let kind = tool["type"].as_str().unwrap_or_default();
        let function = tool.get(kind).unwrap_or(tool);
        let client = client_tool(tool).filter(|_| api == Api::Responses);
        let name = function["name"]
            .as_str()
            .or(client.map(|client| client.name))
            .unwrap_or_default();
        let own = function["namespace"]
            .as_str()
            .or_else(|| tool["namespace"].as_str());
        let called = Called {
            name: name.to_owned(),
            namespace: own.unwrap_or(inside).to_owned(),
            custom: kind == "custom" && api != Api::Messages,
            client: client.and_then(|client| client.item),
        };
        if !called.namespace.is_empty() {
            self.spaced.push(called);
        } else {
            self.named.insert(called.name.clone(), called);
        }
    }

    /// How a call of the tool that the model names so is shown.
    pub fn called(&self, name: &str) -> Called {
        let spaced = &self.spaced;
        let known = self.named.get(name);
        let known = known.or_else(|| spaced.iter().find(|tool| tool.is_called(name)));
        // The namespace may be the one that the template writes before all names.
        let known = known.or_else(|| spaced.iter().find(|tool| tool.name == name));
        known.cloned().unwrap_or_else(|| Called {
            name: name.to_owned(),
            ..Called::default()
        })
    }
}

fn listed(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The text in a call's arguments; of a call that was cut off, the part that was written. Arguments
/// of another shape are the text themselves.
pub fn input(arguments: &str) -> String {
    if "{\"input\":".starts_with(&arguments.replace(char::is_whitespace, "")) {
        return String::new();
    }
    object(arguments)
        .get("input")
        .and_then(Value::as_str)
        .unwrap_or(arguments)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_there_as_far_as_it_came() {
        let whole = r#"{"input": "a \"b\"\n\ud83d\ude00 é"}"#;
        let text = "a \"b\"\n😀 é";
        assert_eq!(input(whole), text);
        for end in (0..whole.len()).filter_map(|end| whole.get(..end)) {
            let input = input(end);
            assert!(text.starts_with(&input), "{end}: {input}");
        }
        assert_eq!(input(r#"{"input": "a \"b\"\n\ud83d\ude"#), "a \"b\"\n");
    }

    #[test]
    fn arguments_of_another_shape_are_the_text() {
        for text in ["[1]", "{\"a\": 1}", "ls -l", "{\"input\": 7}"] {
            assert_eq!(input(text), text);
        }
    }
}
