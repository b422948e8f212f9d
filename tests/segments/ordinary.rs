//! What is learnt of ordinary conversations says the same as labels.

use chatparse::{ChatTemplate, Request, Segments};
use serde_json::{Value, json};

use super::{conversations, each, sum};

/// The segments with a variable that no template knows: they are found by labels.
fn labelled(template: &ChatTemplate, body: &Value) -> Option<Segments> {
    let mut body = body.clone();
    body["chat_template_kwargs"]["a variable of mine"] = json!(true);
    template.segments(&Request::from_json(&body).unwrap()).ok()
}

fn bodies() -> Vec<Value> {
    let lasting = |count: usize| -> Value {
        let role = |index: usize| if index.is_multiple_of(2) { "user" } else { "assistant" };
        (0..count)
            .map(|index| json!({"role": role(index), "content": format!("This is text {index}.\n\nOr so.")}))
            .collect()
    };
    let histories = [2, 3, 9].map(|count| json!({"messages": lasting(count), "now": 1_785_672_000}));
    let plain = conversations::all().into_iter().filter(|(name, _)| name.ends_with(", bare")).map(|(_, body)| body);
    let with = |body: Value, name: &str, value: Value| {
        let mut body = body;
        body[name] = value;
        body
    };
    let all = histories.into_iter().chain(plain).flat_map(|body| {
        let asking = with(body.clone(), "add_generation_prompt", json!(false));
        let quick = with(body.clone(), "enable_thinking", json!(false));
        let switched = with(body.clone(), "chat_template_kwargs", json!({"enable_thinking": false}));
        [switched, with(body.clone(), "for_training", json!(true)), body, asking, quick]
    });
    all.collect()
}

#[test]
fn what_is_learnt_says_the_same_as_labels() {
    let bodies = bodies();
    let seen = each(|template, seen| {
        for body in &bodies {
            let request = Request::from_json(body).unwrap();
            let Ok(found) = template.segments(&request) else { continue };
            seen.prompts += 1;
            if labelled(template, body).as_ref() != Some(&found) {
                seen.wrong.push(body.to_string());
            }
        }
    });
    let wrong: Vec<_> =
        seen.iter().flat_map(|(name, seen)| seen.wrong.iter().map(move |body| format!("{name}: {body}"))).collect();
    assert!(sum(&seen, |seen| seen.prompts) > bodies.len());
    assert_eq!(wrong, Vec::<String>::new());
}
