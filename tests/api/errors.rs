//! Errors: in the shape of each API, and of answers that are put together wrongly.

use chatparse::api::{Answer, Api, Finish, Reason, http_status};
use chatparse::{Error, ErrorKind, Stream};
use serde_json::{Value, json};

use crate::{APIS, builtin, data, options, stop, usage};

#[test]
fn bodies_of_errors() {
    let said = "messages[2].content: missing";
    let of_openai = |kind: &str, param: Value| json!({"error": {"message": said, "type": kind, "param": param, "code": null}});
    let expected = of_openai("invalid_request_error", json!("messages[2].content"));
    assert_eq!(Api::ChatCompletions.error_body(400, said), expected);
    assert_eq!(Api::Responses.error_body(422, said), expected);
    let expected =
        json!({"type": "error", "error": {"type": "api_error", "message": "Out of memory: sorry"}});
    assert_eq!(
        Api::Messages.error_body(507, "Out of memory: sorry"),
        expected
    );
    assert_eq!(
        Api::Messages.error_body(429, "")["error"]["type"],
        "rate_limit_error"
    );
    assert_eq!(
        Api::Responses.error_body(500, "Out of memory: sorry")["error"]["param"],
        Value::Null
    );
}

#[test]
fn http_codes_of_errors() {
    let of = |kind| http_status(&Error::new(kind, ""));
    use ErrorKind::{Internal, InvalidArgument, Limit, Parse, Schema, Template};
    assert_eq!([InvalidArgument, Schema, Limit, Template].map(of), [400; 4]);
    assert_eq!([Parse, Internal].map(of), [500; 2]);
}

#[test]
fn an_answer_that_breaks_off_says_so() {
    let failed = APIS.map(|api| {
        let mut answer = Answer::new(api, options());
        assert!(
            answer.fail(503, "no more").is_err(),
            "there is a body for that"
        );
        answer.begin(5).unwrap();
        let events = answer.fail(503, "no more").unwrap();
        assert!(answer.fail(503, "no more").is_err());
        (events.last().unwrap().name, data(&events[0]))
    });
    assert_eq!(
        failed[0],
        ("", Api::ChatCompletions.error_body(503, "no more"))
    );
    assert_eq!(
        (failed[1].0, &failed[1].1["sequence_number"]),
        ("response.failed", &json!(2))
    );
    assert_eq!(
        failed[1].1["response"]["error"],
        json!({"code": "server_error", "message": "no more"})
    );
    assert_eq!(
        failed[2],
        ("error", Api::Messages.error_body(503, "no more"))
    );
}

#[test]
fn the_calls_of_an_answer_have_an_order() {
    let params = builtin("json-call");
    let mut stream = Stream::new(&params.parser);
    let said = |result: chatparse::Result<Vec<_>>| result.unwrap_err().message().to_owned();
    for api in APIS {
        let mut answer = Answer::new(api, options());
        assert_eq!(
            said(answer.deltas(stream.feed(b"Hi"))),
            "answer: it has not begun"
        );
        assert_eq!(
            said(answer.finish(&stream.so_far(), &stop())),
            "answer: it has not begun"
        );
        answer.begin(5).unwrap();
        assert_eq!(said(answer.begin(5)), "answer: it has begun");
        answer.finish(&stream.so_far(), &stop()).unwrap();
        assert_eq!(
            said(answer.deltas(stream.feed(b"Hi"))),
            "answer: it is finished"
        );
    }
}

#[test]
fn deltas_that_do_not_follow_are_refused() {
    let params = builtin("json-call");
    let mut stream = Stream::new(&params.parser);
    stream.checkpoint();
    let _ = stream.feed(b"Hello you");
    let mut answer = Answer::new(Api::Messages, options());
    answer.begin(5).unwrap();
    answer.deltas(stream.deltas()).unwrap();
    let error = answer.deltas(stream.rollback(0).unwrap()).unwrap_err();
    assert!(
        error
            .message()
            .contains("content_withdrawn removes text after a rollback"),
        "{error}"
    );

    let _ = stream.feed(b"<tool_call>\n{\"name\": \"get_all\", \"arguments\": {");
    let mut answer = Answer::new(Api::Messages, options());
    answer.begin(5).unwrap();
    let error = answer.deltas(stream.feed(b"\"a\": 1")).unwrap_err();
    assert!(error.message().contains("at call 0"), "{error}");
}

#[test]
fn how_an_answer_ended_is_read_from_json() {
    let read = |json: Value| Finish::from_json(&json);
    assert_eq!(read(json!({})).unwrap(), Finish::default());
    let counted =
        json!({"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3, "reasoning_tokens": 4});
    let finish = read(json!({"reason": "length", "usage": counted})).unwrap();
    assert_eq!(finish, Finish::new(Reason::Length, Some(usage(1, 2, 3, 4))));
    let stopped = Reason::StopSequence("x".into());
    assert_eq!(
        read(json!({"reason": "stop", "stop_sequence": "x"}))
            .unwrap()
            .reason,
        stopped
    );
    for (json, message) in [
        (json!(3), "end: must be an object, not a number"),
        (
            json!({"reason": "end"}),
            "end.reason: must be \"stop\" or \"length\", not \"end\"",
        ),
        (
            json!({"usage": {"input_tokens": -1}}),
            "end.usage.input_tokens: must be a whole number, not a number",
        ),
    ] {
        assert_eq!(read(json).unwrap_err().message(), message);
    }
}
