//! Content as parts: where one role's texts are written so, those of another are not written as data.

use super::*;
use chatparse_jinja::ROLES;
use chatparse_message::Request;

const TEXT: &str = "Quince";
/// The part with it in the notations of Python and JSON.
const DATA: [&str; 3] = ["'text': 'Quince", "\"text\": \"Quince", "\"text\":\"Quince"];

/// Roles whose parts show in the template language's own notation.
pub fn parts(facts: &Facts, all: &mut Vec<Finding>) {
    let prompt = |role: &str, content: serde_json::Value| {
        let message = json!({"role": role, "content": content, "tool_call_id": "call00001", "name": "note"});
        let call = json!({"type": "function", "id": "call00001", "function": {"name": "note", "arguments": {}}});
        let user = json!({"role": "user", "content": "Well?"});
        let messages = match role {
            "system" => json!([message, user]),
            "user" => json!([message]),
            "assistant" => json!([user, message, user]),
            _ => json!([user, {"role": "assistant", "content": "", "tool_calls": [call]}, message]),
        };
        let request = Request::from_json(&json!({"messages": messages, "plain": true, "now": 0})).ok()?;
        facts.template.prompt(&request).ok().filter(|prompt| prompt.contains(TEXT))
    };
    let as_data = |prompt: &String| DATA.iter().any(|data| prompt.contains(data));
    let shown = ROLES.into_iter().filter_map(|role| {
        prompt(role, json!(TEXT))?;
        Some((role, prompt(role, json!([{"type": "text", "text": TEXT}]))?))
    });
    let (data, texts): (Vec<_>, Vec<_>) = shown.partition(|(_, prompt)| as_data(prompt));
    let ([(role, printed), ..], [(other, text), ..]) = (&*data, &*texts) else { return };
    let roles: Vec<&str> = data.iter().map(|(role, _)| *role).collect();
    let message = format!("Parts of the role {other} are written as texts, and those of {} as data.", roles.join(", "));
    let of = |prompt: &String| around(prompt, prompt.find(TEXT).unwrap_or_default());
    let shown = [(*role, of(printed)), (*other, of(text))];
    let mut finding = facts.finding(Rule::PrintedParts, "", message, shown);
    // Hosts may send texts only.
    finding.is_fault = false;
    all.push(finding);
}
