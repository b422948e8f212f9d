"""Answers as servers send them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _native
from ._types import Api, Json, json_text


class Event(NamedTuple):
    """An event of a streamed answer."""

    name: str
    """E.g. `response.output_text.delta`; empty in chat completions."""
    data: str
    """JSON text on one line; `[DONE]` at the end of chat completions."""


class Answer(_native.Answer):
    """The answer to a client's request in the form of an API. `request` is the client's body; give `Answer.request` to `Template.params`.

        answer = Answer(Api.MESSAGES, body)
        params = template.params(answer.request)
        send(answer.begin(input_tokens))
        with params.stream() as stream:
            for piece in pieces:
                stream.feed(piece)
                send(answer.deltas(stream))
            stream.finish()
            send(answer.deltas(stream))
            send(answer.finish(stream.message(), usage={"output_tokens": 9}))

    Each call gives its events; `sse` has the same as text. For an answer that is not streamed, `body` replaces all of them. What the library
    makes up itself, such as the ids of calls, depends on `id` and `seed` alone, not on a clock or chance: give each answer another.
    """

    __slots__ = ()

    def __new__(
        cls,
        api: Api,
        request: Json,
        *,
        id: str | None = None,
        model: str | None = None,
        created: int | None = None,
        seed: int | None = None,
        call_id_prefix: str | None = None,
        choice: int | None = None,
        omit_request: bool | None = None,
    ) -> Answer:
        """`model` is the request's if it is left out, `created` counts Unix seconds, `choice` is the `index` in chat completions. With
        `omit_request`, Responses repeats neither the tools nor the instructions of the request."""
        options = {
            "id": id,
            "model": model,
            "created": created,
            "seed": seed,
            "call_id_prefix": call_id_prefix,
            "choice": choice,
            "omit_request": omit_request,
        }
        return cls.of_request(api, json_text(request), _given(options))

    @property
    def request(self) -> str:
        """The request as a chat-completions body, JSON text."""
        return self.get_request()

    def begin(self, input_tokens: int = 0) -> list[Event]:
        """The first events. `input_tokens` is the length of the prompt; only Messages sends it at the start."""
        return _events(self.put_begin(input_tokens))

    @property
    def stopped(self) -> str:
        """The client's stop text (`stop`, `stop_sequences`) that has ended the content, or nothing. The model need not write on."""
        return self.get_stopped()

    def token(self, begin: int, end: int, entry: Mapping[str, Any]) -> None:
        """Takes the log probability of a token, before the deltas of its text: the bytes `begin` to `end` of the output, and the object that
        the API has in `logprobs.content`."""
        self.put_token(begin, end, json.dumps(entry))

    def deltas(self, stream: _native.Stream) -> list[Event]:
        """The events of what the stream's last `feed` or `finish` added, maybe none. Call it once after each."""
        return _events(self.put_deltas(stream))

    def finish(
        self, message: _native.Message, *, reason: str = "stop", stop_sequence: str | None = None, usage: Mapping[str, int] | None = None
    ) -> list[Event]:
        """The last events. `message` is the stream's, after its end. `reason`: the model ended its turn (`stop`), or a limit cut it off
        (`length`). `stop_sequence`: the client's text that the model wrote. `usage`: the numbers `input_tokens`, `output_tokens`,
        `cached_tokens`, `reasoning_tokens`."""
        return _events(self.put_finish(message, _end(reason, stop_sequence, usage)))

    def fail(self, http_status: int, reason: str) -> list[Event]:
        """The last events of an answer that the server breaks off, with the code that it would have sent at the start."""
        return _events(self.put_failure(http_status, reason))

    def ping(self) -> list[Event]:
        """An event that keeps the connection open; none where the API has no such event."""
        return _events(self.put_ping())

    def sse(self) -> str:
        """The events of the last call as a server sends them (`text/event-stream`)."""
        return self.sse_text()

    def body(
        self, message: _native.Message, *, reason: str = "stop", stop_sequence: str | None = None, usage: Mapping[str, int] | None = None
    ) -> str:
        """The whole answer as one JSON body. Arguments are those of `finish`."""
        return self.body_json(message, _end(reason, stop_sequence, usage))


def _events(pairs: list[tuple[str, str]]) -> list[Event]:
    return [Event(*pair) for pair in pairs]


def _end(reason: str, stop_sequence: str | None, usage: Mapping[str, int] | None) -> str:
    return _given({"reason": reason, "stop_sequence": stop_sequence, "usage": None if usage is None else dict(usage)})


def _given(fields: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in fields.items() if value is not None})
