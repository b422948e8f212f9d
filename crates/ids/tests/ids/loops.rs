//! Long conversations with random outputs: nothing that was sent or sampled changes, and all ids
//! are the text.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use chatparse::ChatTemplate;
use serde_json::{Value, json};

use super::{assert_decodes, opened, options, sampled, templates, user};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// What the template's model writes, and what comes next.
fn written(template: &ChatTemplate, dice: &mut Dice, turn: usize) -> Option<(String, Vec<Value>)> {
    let mut message = json!({"role": "assistant", "content": ""});
    let mut new = vec![user(["And then?", "Thanks 🌧", "  ok\n"][dice.roll(3)])];
    if dice.roll(2) == 0 {
        message["reasoning_content"] = json!(format!("Plum {turn}: I see."));
    }
    if dice.roll(3) > 0 {
        let id = format!("call{turn:05}");
        let arguments = json!({"place": format!("Oslo {turn}"), "days": turn}).to_string();
        message["tool_calls"] = json!([{"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}}]);
        new = vec![
            json!({"role": "tool", "name": "look", "tool_call_id": id, "content": format!("Rain {turn}")}),
        ];
    } else {
        message["content"] = json!(format!("It rains {turn}, as é says."));
    }
    let mut request = options("template");
    request.messages = vec![chatparse::Message::new("user", "How is it?")];
    let prompt = template.prompt(&request).ok()?;
    request
        .messages
        .push(chatparse::Message::from_json(&message).ok()?);
    request.add_generation_prompt = false;
    let whole = template.prompt(&request).ok()?;
    let turn = whole.strip_prefix(prompt.as_str())?.trim_end();
    Some((turn.to_owned(), new))
}

#[test]
fn no_id_changes_and_each_rewrite_is_named() {
    let (mut turns, mut reasons) = (0, BTreeMap::<&str, usize>::new());
    for (number, (name, template, toy)) in templates().into_iter().enumerate() {
        for append in ["template", "always"] {
            let mut dice = Dice(number as u64 + 7);
            let Ok(mut conversation) = template.conversation(toy.clone(), options(append)) else {
                continue;
            };
            if conversation
                .prompt_ids(&json!([user("How is it?")]))
                .is_err()
            {
                continue;
            }
            for turn in 0..12 {
                let Some((text, new)) = written(&template, &mut dice, turn) else {
                    continue;
                };
                let mut ids = sampled(&toy, &text);
                if dice.roll(4) == 0 {
                    ids.truncate(dice.roll(ids.len() + 1));
                }
                for piece in ids.chunks(1 + dice.roll(5)) {
                    conversation.observe(piece).unwrap();
                }
                let (before, mask) = (
                    conversation.ids().to_vec(),
                    conversation.mask().collect::<Vec<_>>(),
                );
                let sent = [conversation.prompt().as_bytes(), conversation.output()].concat();
                let Ok(next) = conversation.extend(&json!(new)) else {
                    break;
                };
                assert_eq!(
                    conversation.ids()[..next.kept],
                    before[..next.kept],
                    "{name}"
                );
                assert_eq!(conversation.ids()[next.kept..], next.ids, "{name}");
                assert!(
                    conversation
                        .mask()
                        .take(next.kept)
                        .eq(mask[..next.kept].iter().copied())
                );
                match &next.rewrite {
                    None => assert_eq!(next.kept, before.len(), "{name}"),
                    Some(rewrite) => {
                        assert!(
                            rewrite.token <= before.len() && rewrite.why.at <= sent.len(),
                            "{name}: {rewrite:?}"
                        );
                        assert!(
                            append == "always" || next.kept <= rewrite.token,
                            "{name}: {rewrite:?}"
                        );
                        *reasons.entry(rewrite.why.reason).or_default() += 1;
                    }
                }
                if append == "always" {
                    assert_eq!(next.kept, before.len(), "{name}");
                }
                if std::str::from_utf8(&sent).is_ok() {
                    assert_decodes(&conversation);
                }
                turns += 1;
            }
        }
    }
    println!("{turns} turns; rewrites: {reasons:?}");
    assert!(turns > 200 && !reasons.is_empty(), "{turns} {reasons:?}");
}

#[test]
fn a_turn_costs_as_much_late_as_early() {
    let (mut conversation, toy) = opened("json-call", "always");
    let mut costs = Vec::new();
    for turn in 0..40 {
        conversation
            .observe(&sampled(&toy, &format!("It rains {:02}.<|im_end|>", turn)))
            .unwrap();
        let before = toy.encoded.load(Ordering::Relaxed);
        conversation.extend(&json!([user("And then?")])).unwrap();
        costs.push(toy.encoded.load(Ordering::Relaxed) - before);
    }
    assert_eq!(costs[0], costs[39]);
    assert_decodes(&conversation);
}
