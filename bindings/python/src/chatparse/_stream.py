"""Outputs as they stream in, and messages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from . import _native
from ._types import (
    CallOrigin, Delta, DeltaKind, Diagnostic, DiagnosticKind, Dialect, Outcome, Part, PartKind, Span, Text, ToolCall,
)

if TYPE_CHECKING:
    from ._grammar import Grammar


class Message(_native.Message):
    """What a model said. `Stream.message` and `Params.parse` make them. Immutable; threads may share them, and a copy is the same object.
    Another process gets `to_dict()` and `report()`, or the output and the parser."""

    __slots__ = ()

    def __copy__(self) -> Message:
        return self

    def __deepcopy__(self, memo: object) -> Message:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Message cannot be pickled: send to_dict() and report(), or the output and the Parser")

    @property
    def outcome(self) -> Outcome:
        """How the output related to the template's format."""
        return Outcome(self.get_outcome())

    @property
    def content(self) -> str:
        """What it says."""
        return self.get_content()

    @property
    def reasoning(self) -> str:
        """What the model thought; empty if the request keeps reasoning in the content."""
        return self.get_reasoning()

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that it calls."""
        return tuple(ToolCall(*each[:6], CallOrigin(each[6])) for each in self.get_tool_calls())

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is unusual, in the order of the output."""
        return tuple(Diagnostic(DiagnosticKind(each[0]), *each[1:]) for each in self.get_diagnostics())

    @property
    def parts(self) -> tuple[Part, ...]:
        """Stretches of reasoning and of text, and calls, in the order of the output."""
        return tuple(Part(PartKind(each[0]), *each[1:]) for each in self.get_parts())

    def spans(self, field: DeltaKind, call: int = 0) -> tuple[Span, ...]:
        """The bytes of the output that a field came from: REASONING, CONTENT, or TOOL_NAME, TOOL_ID, TOOL_ARGUMENTS of a call."""
        return tuple(Span(*span) for span in self.get_spans(field, call))

    def to_dict(self) -> dict[str, Any]:
        """The message as OpenAI has it: `role` and `content` always, `reasoning_content` and `tool_calls` where there are any."""
        message: dict[str, Any] = json.loads(self.json())
        return message

    def report(self) -> dict[str, Any]:
        """How well it all fitted, as plain values: `status`, `left_at`, `calls`, `diagnostics`."""
        report: dict[str, Any] = json.loads(self.report_json())
        return report

    @property
    def tree(self) -> dict[str, Any] | None:
        """Of a message of `Parser.tagged`, what matched: `outcome`, `end`, and `nodes` with their `rule` or `tag`, `begin`, `end`, `parent` and
        `partial`. `None` for others."""
        text = self.tree_json()
        tree: dict[str, Any] | None = json.loads(text) if text else None
        return tree

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self.json() == other.json() and self.report_json() == other.report_json()

    def __hash__(self) -> int:
        return hash(self.json())

    def __repr__(self) -> str:
        return f"<chatparse.Message {self.outcome.name} {self.json()}>"


class Stream(_native.Stream):
    """A parse in progress: pieces of the output in, what they add to the message out. Give it params or a parser.

    A stream's methods keep the interpreter's lock: from several threads, one call comes after another. A `with` frees the memory at its
    end; otherwise it is freed with the last reference.
    """

    __slots__ = ()

    def __new__(cls, by: _native.Params | _native.Parser) -> Stream:
        return cls.begin(by)

    def finish(self, *, partial: bool = False, strict: bool = False) -> list[Delta]:
        """Ends the output; returns what was held back, because it could have become a marker. `partial`: something cut the output off.
        `strict`: not to fit the format is a `ParseError`; the message is there all the same."""
        return self.end(flags(partial, strict))

    def deltas(self, pieces: Iterable[Text]) -> Iterator[Delta]:
        """Takes all pieces as they come, and the end; yields each delta as soon as it is known."""
        for piece in pieces:
            yield from self.feed(piece)
        yield from self.finish()

    async def adeltas(self, pieces: AsyncIterable[Text]) -> AsyncIterator[Delta]:
        """`deltas` of pieces that are waited for."""
        async for piece in pieces:
            for delta in self.feed(piece):
                yield delta
        for delta in self.finish():
            yield delta

    def set_special_tokens(self, tokens: Iterable[str]) -> None:
        """The texts of the model's special tokens, for `feed_marked`; before the first piece."""
        self.put_special_tokens(tuple(tokens))

    def chunk(self) -> dict[str, Any]:
        """The last deltas as the `delta` object of an OpenAI chunk; empty where they add nothing."""
        chunk: dict[str, Any] = json.loads(self.chunk_json())
        return chunk

    @property
    def pending(self) -> bytes:
        """The last bytes fed that are in no delta yet, and are not known to be markup either: what a host that stops parsing here still
        has to show."""
        return self.get_pending()

    def state(self) -> dict[str, Any]:
        """In what the output stands: `part` (reasoning, content, markup, name, key or value), the number of the open `call` and its `tool`,
        a JSON `pointer` into its arguments, `in_string`, and `left_at`, where it has left the format."""
        state: dict[str, Any] = json.loads(self.state_json())
        return state

    def schema(self) -> dict[str, Any] | bool | None:
        """The schema of the value at the pointer of `state`: what the tool asks of it, each `$ref` for it resolved; schemas that all hold in
        an `allOf`, alternatives in an `anyOf`. True where it asks nothing, False where no value may be, None where no call is open or its
        tool is not known."""
        schema: dict[str, Any] | bool | None = json.loads(self.schema_json())
        return schema

    def closing(self) -> dict[str, Any]:
        """What closes the output now, in the model's own words: `text`; whether it is `complete` behind that; the values that are `missing`,
        each with `tool`, `pointer` and `begun`; and the `reason` why it is not complete."""
        closing: dict[str, Any] = json.loads(self.close_json())
        return closing

    def grammar(self, dialect: Dialect) -> Grammar:
        """What may follow what was fed, for an engine that begins here: all of the format, also where the request's grammar is lazy."""
        from ._grammar import Grammar
        return Grammar.of_stream(self, dialect)

    def message(self) -> Message:
        """The message so far or, after the end, the message."""
        return Message.of_stream(self)

    @property
    def outcome(self) -> Outcome:
        """PARTIAL until the stream is finished."""
        return Outcome(self.get_outcome())

    def reset(self) -> None:
        """Back to the start of the output."""
        self.begin_again()

    def checkpoint(self) -> None:
        """Notes how the parse stands; `rollback` goes back to here, or to any later byte. There is one at a time."""
        self.put_checkpoint()

    def rollback(self, length: int) -> list[Delta]:
        """Takes back all output behind its first `length` bytes, and tells what that withdraws from the message."""
        return self.go_back(length)

    def set_budget(self, base: int, per_byte: int) -> None:
        """Bounds the work of the parse: `base`, and `per_byte` for each byte of output. What comes behind it is content."""
        self.put_budget(base, per_byte)

    @property
    def work(self) -> int:
        """What the parse has taken so far of its budget."""
        return self.get_work()

    def close(self) -> None:
        """Frees the memory. Doing so again is fine; any other use is a ValueError."""
        self.free_now()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def flags(partial: bool, strict: bool) -> int:
    """The library's flags of an output."""
    return (1 if partial else 0) | (2 if strict else 0)
