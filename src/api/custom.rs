//! Calls of custom tools. A model calls them as functions with one argument, a text; OpenAI's APIs return that text.

use std::collections::HashSet;

use serde_json::Value;

/// The names of the custom tools in an OpenAI request.
pub(super) fn names(request: &Value) -> HashSet<String> {
    let tools = request["tools"].as_array().into_iter().flatten().filter(|tool| tool["type"] == "custom");
    let names = tools.filter_map(|tool| tool["name"].as_str().or_else(|| tool["custom"]["name"].as_str()));
    names.map(str::to_owned).collect()
}

/// The text in a call's arguments; of a call that was cut off, the part that was written. Arguments of another shape are the
/// text themselves.
pub(super) fn input(arguments: &str) -> String {
    let read = |text: &str| Some(serde_json::from_str::<Value>(text).ok()?.get("input")?.as_str()?.to_owned());
    read(arguments).or_else(|| unfinished(arguments, read)).unwrap_or_else(|| arguments.to_owned())
}

/// The longest escape is a pair of surrogates: this many bytes may have to be removed before the string can be closed.
const ESCAPE: usize = 12;

fn unfinished(arguments: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    if "{\"input\":".starts_with(&arguments.replace(char::is_whitespace, "")) {
        return Some(String::new());
    }
    let ends = (arguments.len().saturating_sub(ESCAPE)..=arguments.len()).rev();
    ends.filter_map(|end| arguments.get(..end)).find_map(|text| read(&format!("{text}\"}}")))
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
