"""Values that go in and come out: numbers of the library as enums, what is listed as tuples, and errors."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Union

Text = Union[str, bytes, bytearray, memoryview]
"""What a model writes: bytes may be cut inside a character."""

Json = Union[str, bytes, Mapping[str, Any]]
"""A JSON object, such as the body of a request: a mapping, or its text."""


class _Named(enum.IntEnum):
    """Numbers that print their names."""

    __str__ = enum.Enum.__str__


class Api(_Named):
    """An API of servers."""

    CHAT_COMPLETIONS = 1
    """OpenAI's chat completions (`/v1/chat/completions`)."""
    RESPONSES = 2
    """OpenAI's Responses (`/v1/responses`)."""
    MESSAGES = 3
    """Anthropic's Messages (`/v1/messages`)."""


class Error(Exception):
    """A call that failed; the text says what is wrong and where. `kind` says in which way; there is a class for each."""

    kind = "error"
    http_status = 500
    """What a server answers with: 400 where the client's input is at fault."""
    _bodies: tuple[str, ...] = ()

    def body(self, api: Api) -> str:
        """The body of a server's answer, JSON text; empty for an error that the library did not raise."""
        return self._bodies[api - 1] if self._bodies else ""


class InvalidArgumentError(Error, ValueError):
    """The caller's input has the wrong shape: a request without messages, a field of another type, an unknown name."""

    kind = "invalid_argument"


class TemplateError(Error):
    """The template does not parse, raises an error, or fails while it renders."""

    kind = "template"


class SchemaError(Error):
    """A JSON schema cannot be used."""

    kind = "schema"


class LimitError(Error):
    """The input is too long, too deep or too costly."""

    kind = "limit"


class ParseError(Error):
    """Where `strict` was asked for: the output does not fit the template's format."""

    kind = "parse"


class InternalError(Error):
    """A defect of the library."""

    kind = "internal"


ERRORS: dict[int, type[Error]] = {
    100: InvalidArgumentError,
    200: TemplateError,
    300: SchemaError,
    400: LimitError,
    500: ParseError,
    900: InternalError,
}


class _Numbers(_Named):
    """Numbers to which later versions of the library may add some: one that is not known is OTHER."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.__members__.get("OTHER")


class DeltaKind(_Numbers):
    """Which part of the message a delta adds to or takes from. Pass over OTHER."""

    OTHER = 0
    REASONING = 1
    CONTENT = 2
    TOOL_NAME = 3
    """All of the name: the first delta of each call."""
    TOOL_ID = 4
    """All of the id; at most once a call."""
    TOOL_ARGUMENTS = 5
    """A piece of JSON text."""
    TOOL_END = 6
    """The call is whole; the text is empty."""
    REASONING_WITHDRAWN = 101
    """After `Stream.rollback` only, as all that follow: the text is to be taken from the end."""
    CONTENT_WITHDRAWN = 102
    CALL_WITHDRAWN = 103
    """All of the last call; the text is its name."""
    TOOL_ID_WITHDRAWN = 104
    TOOL_ARGUMENTS_WITHDRAWN = 105
    TOOL_END_WITHDRAWN = 106
    """The call is not whole any more; the text is empty."""


class Outcome(_Named):
    """How an output related to the template's format."""

    COMPLETE = 1
    PARTIAL = 2
    """It is cut off, or still coming."""
    RECOVERED = 3
    """It left the format; what fits nowhere is content."""


class CallOrigin(_Numbers):
    """How a call was marked as one. A BARE one may be quoted text that only reads like a call."""

    OTHER = 0
    FORMAT = 1
    DIALECT = 2
    BARE = 3


class Origin(_Named):
    """Where a part of a prompt comes from. A number that this version does not know counts as UNKNOWN."""

    TEMPLATE = 1
    MESSAGE = 2
    TOOL = 3
    KWARG = 4
    UNKNOWN = 5

    @classmethod
    def _missing_(cls, value: object) -> Origin:
        return cls.UNKNOWN


class MaskPart(enum.IntFlag):
    """What of the models' text a mask is to hold."""

    REASONING = 1
    CONTENT = 2
    CALLS = 4
    END = 8
    """What ends a turn."""
    ALL = 15
    PREFILL = 32
    """What the prompt has already written of a turn, such as the opening of its reasoning."""
    SPACE = 64
    """The white space behind the end of a turn."""


class PartKind(_Numbers):
    """What a part of an output is. Pass over OTHER."""

    OTHER = 0
    REASONING = 1
    CONTENT = 2
    CALL = 3


class DiagnosticKind(_Numbers):
    """What a diagnostic tells. OTHER is a remark."""

    OTHER = 0
    LEFT_FORMAT = 1
    DIALECT = 2
    CALL_IN_REASONING = 3
    UNFINISHED_CALL = 4
    UNKNOWN_TOOL = 5
    INVALID_ARGUMENTS = 6
    DUPLICATE_ARGUMENT = 7
    LIMIT = 8
    UNFINISHED_REASONING = 9
    MENDED_ARGUMENTS = 10


class RewriteReason(_Named):
    """Why a template writes anew what was sent. A number that this version does not know counts as CHANGED."""

    REASONING = 1
    """The reasoning of an earlier turn is left out."""
    OPENING = 2
    """The turn opens otherwise than the prompt opened it."""
    MOVED = 3
    """What was sent comes further on."""
    CHANGED = 4
    """Other text stands there."""
    OUTPUT = 5
    """The template does not write the turn as the model did."""
    REQUEST = 6
    """The request of `follow` does not go on from what was sent."""

    @classmethod
    def _missing_(cls, value: object) -> RewriteReason:
        return cls.CHANGED


class Dialect(_Named):
    """A notation of grammars."""

    GBNF = 1
    """As llama.cpp writes it."""
    PORTABLE_GBNF = 2
    """That llama.cpp of every version reads, and XGrammar."""
    LARK = 3
    """As llguidance reads it, and XGrammar and vLLM."""
    STRUCTURAL_TAG = 4
    """XGrammar's structural tag, as JSON."""


class Report(_Named):
    """What `Template.report` tells, as JSON text."""

    CAPS = 1
    """What the template accepts."""
    TURN = 2
    """What was learnt of an assistant's turn."""
    LAYOUT = 3
    """The same by llama.cpp's names."""
    PROOF = 4
    """How well what the template writes is read back."""
    LINT = 5
    """For authors of templates."""
    RESPONSE_TEMPLATE = 6
    """How outputs are read, as a response template for other programs."""
    RESPONSE_TEMPLATE_VLLM = 7
    """The same within what vLLM's server in Python takes."""
    RESPONSE_TEMPLATE_VLLM_RUST = 8
    """The same within what vLLM's server in Rust takes."""
    RESPONSE_TEMPLATE_SGLANG = 9
    """The same within what SGLang takes."""


class GrammarStyle(_Named):
    """How schemas become rules."""

    FAITHFUL = 1
    """What the schema allows, as nearly as a grammar can."""
    LLAMA_CPP = 2
    """The text that llama.cpp makes of the schema."""


class Verdict(_Named):
    """What a grammar says of a text."""

    ALLOWED = 1
    PREFIX = 2
    """Some longer text that begins so is allowed."""
    REFUSED = 3


class FidelityKind(_Numbers):
    """How a grammar departs from a schema."""

    OTHER = 0
    WIDENED = 1
    """It allows more."""
    REFUSED = 2
    """The part could not be used, and something else stands for it."""
    NARROWED = 3
    """It allows less."""


class TriggerKind(_Named):
    """How the value of a trigger is read."""

    WORD = 1
    PATTERN = 2
    """A regular expression (ECMAScript) that is searched for in the output."""


class Delta(NamedTuple):
    """A text to append to the message or, after `Stream.rollback`, to take from it. All deltas of a stream, applied in order, are
    its message."""

    kind: DeltaKind
    call: int
    """Which tool call, from 0."""
    text: str
    begin: int
    """Where in the output the text comes from, in bytes."""
    end: int


class Field(_Named):
    """What a token of a conversation is a part of."""

    TEMPLATE = 1
    """Sent: the template's own text."""
    VALUE = 2
    """Sent: text of a message, a tool or a variable."""
    MARKUP = 3
    """Sampled: what no field has, such as markers, and the end of the turn."""
    REASONING = 4
    CONTENT = 5
    TOOL_NAME = 6
    TOOL_ID = 7
    TOOL_ARGUMENTS = 8

    @classmethod
    def _missing_(cls, value: object) -> Field:
        return cls.MARKUP


class Span(NamedTuple):
    """Bytes of an output or a prompt."""

    begin: int
    end: int


class ToolCall(NamedTuple):
    """A call of a tool. One that is complete, known and valid may be run if its origin is FORMAT or, most likely, DIALECT."""

    id: str
    """Empty where the model's format has none."""
    name: str
    arguments: str
    """JSON text, or a prefix of it where the output was cut off."""
    complete: bool
    """Its end was there."""
    known: bool
    """The request offers the tool."""
    valid: bool
    """It is complete, and its arguments are a JSON object that does not certainly violate the tool's schema."""
    origin: CallOrigin


class Diagnostic(NamedTuple):
    """Something about an output that a host, or somebody who reads its logs, may want to know."""

    kind: DiagnosticKind
    call: int | None
    """Which tool call it is about, from 0."""
    begin: int
    """The bytes of the output that it is about."""
    end: int
    message: str


class Part(NamedTuple):
    """A stretch of the output that became one kind of thing."""

    kind: PartKind
    call: int
    """Which tool call, from 0; 0 for text."""
    text: str
    """Empty for a call."""
    begin: int
    """Where in the output, in bytes."""
    end: int


class Segment(NamedTuple):
    """A part of a prompt that comes from one place."""

    begin: int
    """Where in the prompt, in bytes."""
    end: int
    origin: Origin
    index: int  # type: ignore[assignment] # tuples have a function of this name
    """Which message or tool, from 0."""
    path: str
    """The field of a message, as a JSON pointer; the name of a variable."""


class Token(NamedTuple):
    """What a token of a prompt is."""

    origin: Origin
    """Whose text it is. TEMPLATE is scaffold, all else the body of something. A token with a byte of a value is never the template's."""
    message: int | None
    """Which message it comes from, or in whose turn it is."""
    sampled: bool
    """Whether a model wrote a byte of it."""


class Media(NamedTuple):
    """A piece of media that a prompt wants."""

    kind: str
    """`image`, `audio`, `video` or `file`."""
    text: str
    """What stands in the prompt for it."""
    source: dict[str, Any]
    """The part of the request."""
    message: int
    """Which message of the request, from 0."""
    part: int
    """Which part of its content, from 0."""
    native: bool
    """The template wrote `text`; otherwise it is the option `media_marker`."""


class Trigger(NamedTuple):
    """What makes a lazy grammar start."""

    kind: TriggerKind
    value: str


class MessageDelimiter(NamedTuple):
    """A text that the turns of a role begin with in a prompt."""

    role: str
    text: str


class Rewrite(NamedTuple):
    """What a template writes anew."""

    reason: RewriteReason
    words: str
    """The reason in words."""
    message: int | None
    """The message that stands where the first byte is another one, from 0; none where the template's own words do."""


class Fidelity(NamedTuple):
    """A place of a schema that a grammar does not follow to the letter."""

    kind: FidelityKind
    schema: str
    """The rule or tool that the schema was added as; empty for a grammar's only schema."""
    pointer: str
    message: str
    """What stands there instead."""


def json_str(value: Any) -> str:
    """The same as str."""
    text = json_text(value)
    return text.decode() if isinstance(text, bytes) else text


def json_text(value: Any) -> str | bytes:
    """A JSON value as text; text is taken for JSON already."""
    return value if isinstance(value, (str, bytes)) else json.dumps(value)
