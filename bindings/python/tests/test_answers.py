"""Answers as servers send them."""

import json
import pickle

import chatparse
import pytest
from chatparse import Answer, Api, Event, Parser, Template
from conftest import PIECES, REQUEST

MESSAGES = {
    "model": "m",
    "max_tokens": 99,
    "messages": REQUEST["messages"],
    "tools": [{"name": "weather", "input_schema": REQUEST["tools"][0]["function"]["parameters"]}],
}
RESPONSES = {"model": "m", "input": "Hi", "tools": [{"type": "function", **REQUEST["tools"][0]["function"]}]}
BODIES = {Api.CHAT_COMPLETIONS: {**REQUEST, "stream_options": {"include_usage": True}}, Api.RESPONSES: RESPONSES, Api.MESSAGES: MESSAGES}
USAGE = {"input_tokens": 5, "output_tokens": 7}


def streamed(answer, template):
    """All events of an answer, what `sse` says of them, and the message."""
    events, sse = [], ""
    with template.params(answer.request).stream() as stream:
        events += answer.begin(5)
        sse += answer.sse()
        for piece in (*PIECES, None):
            stream.finish() if piece is None else stream.feed(piece)
            events += answer.deltas(stream)
            sse += answer.sse()
        message = stream.message()
        events += answer.finish(message, usage=USAGE)
        return events, sse + answer.sse(), message


@pytest.mark.parametrize("api", Api)
def test_a_streamed_answer_and_its_body(api, template):
    answer = Answer(api, BODIES[api], id="a1", created=7)
    events, sse, message = streamed(answer, template)
    assert all(type(event) is Event for event in events)
    assert sse == "".join((f"event: {name}\n" if name else "") + f"data: {data}\n\n" for name, data in events)
    assert [json.loads(event.data) for event in events if event.data != "[DONE]"]
    body = json.loads(answer.body(message, usage=USAGE))
    assert body["id"] == "a1" and "Oslo" in json.dumps(body)
    other = Answer(api, json.dumps(BODIES[api]), id="a1", created=7)
    assert json.loads(other.body(message, usage=USAGE)) == body
    with pytest.raises(chatparse.InvalidArgumentError):
        answer.begin()


def test_what_each_api_says(template):
    events, _, message = streamed(Answer(Api.CHAT_COMPLETIONS, BODIES[Api.CHAT_COMPLETIONS], seed=1, choice=2), template)
    assert events[-1] == Event("", "[DONE]")
    assert json.loads(events[0].data)["choices"][0]["index"] == 2
    assert json.loads(events[-2].data)["usage"]["completion_tokens"] == 7
    events, _, _ = streamed(Answer(Api.RESPONSES, RESPONSES), template)
    assert (events[0].name, events[-1].name) == ("response.created", "response.completed")
    answer = Answer(Api.MESSAGES, MESSAGES, model="other", call_id_prefix="toolu_")
    events, _, _ = streamed(answer, template)
    assert (events[0].name, events[-1].name) == ("message_start", "message_stop")
    assert json.loads(events[0].data)["message"]["usage"]["input_tokens"] == 5
    body = json.loads(answer.body(message, reason="length"))
    assert (body["model"], body["stop_reason"]) == ("other", "max_tokens")
    assert body["content"][-1]["id"].startswith("toolu_")
    body = json.loads(answer.body(template.params(REQUEST).parse("Hi"), stop_sequence="."))
    assert (body["stop_reason"], body["stop_sequence"]) == ("stop_sequence", ".")


def test_an_answer_that_breaks_off():
    answer = Answer(Api.MESSAGES, MESSAGES)
    answer.begin()
    assert [event.name for event in answer.ping()] == ["ping"]
    (event,) = answer.fail(529, "too busy")
    assert (event.name, json.loads(event.data)["error"]["type"]) == ("error", "overloaded_error")
    chat = Answer(Api.CHAT_COMPLETIONS, REQUEST)
    chat.begin()
    assert chat.ping() == [] and chat.sse() == ""
    with pytest.raises(chatparse.InvalidArgumentError, match="http_status"):
        chat.fail(200, "fine")


def test_an_answer_refuses_what_is_wrong(template):
    with pytest.raises(chatparse.InvalidArgumentError, match=r"input\[0\]") as raised:
        Answer(Api.RESPONSES, {"input": [{"type": "none"}]})
    assert (raised.value.http_status, json.loads(raised.value.body(Api.RESPONSES))["error"]["param"]) == (400, "input[0].type")
    answer = Answer(Api.RESPONSES, RESPONSES)
    stream = template.params(answer.request).stream()
    with pytest.raises(chatparse.InvalidArgumentError):
        answer.deltas(stream)
    answer.begin()
    message = stream.message()
    with pytest.raises(chatparse.InvalidArgumentError, match="reason"):
        answer.finish(message, reason="because")
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        answer.deltas(stream)
    with pytest.raises(TypeError):
        answer.deltas("Hi")


def test_errors_as_a_server_sends_them():
    with pytest.raises(chatparse.InvalidArgumentError) as raised:
        Template.builtin("chatml").params({"messages": [{"role": "user"}, 7]})
    error = pickle.loads(pickle.dumps(raised.value))
    for each in (raised.value, error):
        assert (str(each), each.http_status) == (str(raised.value), 400)
        assert json.loads(each.body(Api.CHAT_COMPLETIONS))["error"]["param"] == "messages[1]"
        assert json.loads(each.body(Api.MESSAGES)) == {"type": "error", "error": {"type": "invalid_request_error", "message": str(each)}}
    with pytest.raises(chatparse.ParseError) as strict:
        Parser({"format": {"root": "end"}}).parse("Hi", strict=True)
    assert strict.value.http_status == 500
    assert chatparse.Error("mine").body(Api.MESSAGES) == ""
