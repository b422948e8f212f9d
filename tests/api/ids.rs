//! Ids of calls: those of the model, those that are made, and those that come too late.

use chatparse::EndedBy;
use chatparse::api::{Answer, AnswerOptions, Api};
use serde_json::{Value, json};

use crate::client::put_together;
use crate::{APIS, builtin, options, stop, streamed, with};

fn ids(api: Api, body: &Value) -> Vec<String> {
    let (items, name) = match api {
        Api::ChatCompletions => (&body["choices"][0]["message"]["tool_calls"], "id"),
        Api::Responses => (&body["output"], "call_id"),
        Api::Messages => (&body["content"], "id"),
        other => panic!("{other:?}"),
    };
    let ids = items
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item[name].as_str());
    ids.map(str::to_owned).collect()
}

/// The ids of a streamed answer, the same in its events and its body, in pieces of any size.
fn streamed_ids(template: &str, output: &str, options: &AnswerOptions) -> Vec<String> {
    let params = builtin(template);
    let mut all = Vec::new();
    for api in APIS {
        for piece in [1, 3, output.len()] {
            let mut answer = Answer::new(api, options.clone());
            let (events, ended) = streamed(&mut answer, &params, output.as_bytes(), piece, &stop());
            let seen = ids(api, &put_together(api, &events));
            assert_eq!(seen, ids(api, &answer.body(&ended, &stop())));
            all.push(seen);
        }
    }
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_call_has_the_id_that_the_model_wrote_in_front_of_its_arguments() {
    let output = "Why</think>\n<tool_calls>[{\"id\": \"x1\", \"function\": {\"name\": \"get_all\", \"arguments\": {}}}]</tool_calls>";
    assert_eq!(streamed_ids("json-nested", output, &options()), ["x1"]);
    assert_eq!(
        streamed_ids(
            "tag-json-id",
            "[TOOL_CALLS]get_all[CALL_ID]x2[ARGS]{}",
            &options()
        ),
        ["x2"]
    );
}

#[test]
fn an_id_behind_the_arguments_is_too_late_for_a_stream() {
    let output = "[TOOL_CALLS][{\"name\": \"get_all\", \"arguments\": {}, \"id\": \"late12345\"}]";
    let made = streamed_ids("json-array-ids", output, &options());
    assert_ne!(made, ["late12345"]);
    // Nobody has seen another, where nothing was streamed.
    let ended = builtin("json-array-ids")
        .parser
        .read(output.as_bytes(), EndedBy::Model);
    for api in APIS {
        assert_eq!(
            ids(api, &Answer::new(api, options()).body(&ended, &stop())),
            ["late12345"]
        );
    }
}

#[test]
fn made_ids_are_those_of_the_answer() {
    let output =
        "<tool_call>\n{\"name\": \"get_all\", \"arguments\": {}}\n</tool_call>\n".repeat(2);
    let made = |options: &AnswerOptions| streamed_ids("json-call", &output, options);
    let one = made(&options());
    assert_eq!(one, made(&options()));
    assert_ne!(one[0], one[1]);
    assert!(
        one.iter()
            .all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    );
    for other in [
        with(|options| options.id = "answer-2".into()),
        with(|options| options.seed = 1),
        with(|options| options.choice = 1),
    ] {
        assert!(made(&other).iter().all(|id| !one.contains(id)));
    }
    let prefixed = made(&with(|options| options.call_id_prefix = "call_".into()));
    assert_eq!(
        prefixed,
        one.iter()
            .map(|id| format!("call_{id}"))
            .collect::<Vec<_>>()
    );
}

#[test]
fn an_id_that_comes_twice_is_of_the_first_call() {
    let call = "{\"id\": \"x1\", \"function\": {\"name\": \"get_all\", \"arguments\": {}}}";
    let ids = streamed_ids(
        "json-nested",
        &format!("</think>\n<tool_calls>[{call}, {call}]</tool_calls>"),
        &options(),
    );
    assert!(
        ids.len() == 2 && ids[0] == "x1" && ids[1] != "x1",
        "{ids:?}"
    );
}

#[test]
fn an_answer_without_an_id_has_one_of_its_seed() {
    let id = |api, seed| {
        let mut options = AnswerOptions::default();
        options.seed = seed;
        let answer = Answer::new(api, options);
        let ended = builtin("chatml").parser.read(b"Hi", EndedBy::Model);
        answer.body(&ended, &stop())["id"].clone()
    };
    for (api, prefix) in APIS.into_iter().zip(["chatcmpl-", "resp_", "msg_"]) {
        assert!(id(api, 1).as_str().unwrap().starts_with(prefix));
        assert_eq!(id(api, 1), id(api, 1));
        assert_ne!(id(api, 1), id(api, 2));
    }
}

#[test]
fn options_and_ends_are_read_from_json() {
    let json = json!({"id": "a", "model": "m", "created": 3, "seed": u64::MAX, "call_id_prefix": "c", "choice": 1,  "other": []});
    let options = AnswerOptions::from_json(&json).unwrap();
    assert_eq!(
        (options.id.as_str(), options.seed, options.choice),
        ("a", u64::MAX, 1)
    );
    assert_eq!(
        (
            options.model.as_str(),
            options.created,
            options.call_id_prefix.as_str()
        ),
        ("m", 3, "c")
    );
    let error = AnswerOptions::from_json(&json!({"seed": -1})).unwrap_err();
    assert_eq!(
        error.message(),
        "options.seed: must be a whole number, not a number"
    );
}
