//! What a template's model may write: calls as the template writes them, and outputs that options
//! read in one way or another.

use chatparse::{ChatTemplate, Params};
use serde_json::json;

use super::table::{ANSWER, THOUGHT, base, tools};
use super::written::{Call, turn_of};

pub struct Outputs {
    pub all: Vec<String>,
    /// What opens reasoning where the prompt does not, and what closes it; `None` if the template
    /// has none.
    pub thought: Option<(String, String)>,
    /// Whether calls are written and read back.
    pub calls: bool,
}

/// The calls that are asked for.
pub fn calls() -> Vec<Call> {
    vec![
        (
            "get_weather".to_owned(),
            json!({"qk1town": "qz1a", "qk2days": 70431}),
        ),
        ("send_mail".to_owned(), json!({"qk4body": "qz3c"})),
    ]
}

pub fn of(template: &ChatTemplate) -> Outputs {
    let mut body = base();
    tools(&mut body);
    let tools = json!({"tools": body["tools"]});
    let calls = calls();
    let written = |count: usize| turn_of(template, &tools, &["Let me see.", ""], &calls[..count]);
    let own = written(1);
    let request = chatparse::Request::from_json(&body).unwrap();
    let params = template.params(&request).ok();
    let thought = params.as_ref().and_then(|params| {
        let thinking = params.thinking.as_ref()?;
        let start = thinking.start.trim();
        let end = thinking
            .ends
            .iter()
            .map(|end| end.trim())
            .find(|end| !end.is_empty())?;
        let opened = params
            .generation_prompt
            .rfind(start)
            .filter(|_| !start.is_empty());
        let open = if opened.is_some() { "" } else { start };
        Some((open.to_owned(), end.to_owned()))
    });
    let foreign = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"qk1town\": \"Oslo\"}}\n</tool_call>";
    let other = "<function=get_weather>\n<parameter=qk1town>\nOslo\n</parameter>\n</function>";
    let bare = "{\"name\": \"get_weather\", \"arguments\": {\"qk1town\": \"Oslo\"}}";
    let mut all: Vec<String> = [
        "It rains.",
        ANSWER,
        bare,
        &format!("I see.\n{bare}"),
        &format!("I see.\n{foreign}"),
        foreign,
        &format!("I see.\n{other}"),
    ]
    .map(str::to_owned)
    .into();
    if let Some((_, output)) = &own {
        let call = output.trim();
        all.push(output.clone());
        all.push(output.replace("get_weather", "get_wether"));
        all.push(output.replace("qz1a", "qz1\na"));
        all.push(
            output
                .replace("70431}", "70431,}")
                .replace("\"qz1a\"", "'qz1a'"),
        );
        // The keys of another format.
        all.push(
            output
                .find("70431")
                .map_or(String::new(), |at| output[..at + 3].to_owned()),
        );
        all.push(format!("{output}{foreign}"));
        if let Some((open, end)) = &thought {
            let bare = call.rsplit(end.as_str()).next().unwrap_or(call).trim();
            all.push(format!("{open}I should look.\n{bare}"));
            all.push(format!(
                "{open}I could write {bare} here.{end}\n\nIt rains."
            ));
        }
    }
    all.extend(written(2).map(|(_, output)| output));
    if let Some((open, end)) = &thought {
        all.push(format!("{open}I know.{end}\n\nIt rains."));
        all.push(format!("{open}I know.{end}\n\n{ANSWER}"));
        let start = params
            .and_then(|params| Some(params.thinking?.start))
            .unwrap_or_default();
        all.push(format!("{open}{start}I know.{end}\n\nIt rains."));
    }
    all.retain(|output| !output.is_empty());
    Outputs {
        all,
        thought,
        calls: own.is_some(),
    }
}

impl Outputs {
    /// Whether the model of these params may reason.
    pub fn thinks(&self, params: &Params) -> bool {
        self.thought.is_some() && self.markers(params).is_some()
    }

    /// What opens reasoning where the prompt does not, and what closes it.
    pub fn markers(&self, params: &Params) -> Option<(String, String)> {
        let thinking = params.thinking.as_ref()?;
        let start = thinking.start.trim();
        let end = thinking
            .ends
            .iter()
            .map(|end| end.trim())
            .find(|end| !end.is_empty())?;
        let prompt = &*params.generation_prompt;
        if prompt.ends_with(THOUGHT) {
            return Some((String::new(), end.to_owned()));
        }
        let opened = prompt.rfind(start).filter(|_| !start.is_empty());
        // What the prompt has closed is closed.
        match (opened, prompt.rfind(end)) {
            (Some(open), close) if close.is_none_or(|close| close < open) => {
                Some((String::new(), end.to_owned()))
            }
            (None, None) if !start.is_empty() => Some((start.to_owned(), end.to_owned())),
            _ => None,
        }
    }
}
