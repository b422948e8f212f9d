"""chatparse for Python: prompts from chat templates, and messages from what the model answers, as it streams in.

    with Template(source, eos="<|end|>") as template:          # once for each model
        params = template.params({"messages": [...]})          # once for each request
        with params.stream() as stream:
            for delta in stream.deltas(pieces):                # as the model writes
                print(delta.text, end="")
            print(stream.message().tool_calls)

Needs the shared library of chatparse where the system's loader finds it, or its path in the variable CHATPARSE_LIBRARY.

Templates, params and streams hold memory of the library. They give it back at the end of a `with`, at `close()`, or when they
are garbage; in any order, none needs another. Deltas and messages are plain values. A template and params may be in use by any
number of threads at once, a stream by one at a time.
"""

import enum
import json
import os
import sys
import weakref
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_size_t, c_uint32, c_uint64, c_void_p, string_at
from dataclasses import dataclass
from typing import Iterable, Iterator, List, Mapping, NamedTuple, Tuple, Union

__all__ = [
    "Delta", "DeltaKind", "Error", "Message", "Origin", "Outcome", "Params", "Parser", "Segment", "Segments", "Status", "Stream", "Template",
    "ToolCall", "version",
]


class Status(enum.IntEnum):
    """Why a call failed. A number that this version does not know counts as the first of its hundred."""

    INVALID_ARGUMENT = 100
    TEMPLATE = 200
    SCHEMA = 300
    LIMIT = 400
    PARSE = 500
    INTERNAL = 900

    @classmethod
    def _missing_(cls, value):
        known = value // 100 * 100
        return cls(known) if known in cls._value2member_map_ else cls.INTERNAL


class Error(Exception):
    """A call that failed: `status` says in which way, the text what is wrong and where."""

    def __init__(self, status: Status, message: str):
        super().__init__(message)
        self.status = status


class DeltaKind(enum.IntEnum):
    """Which part of the message a delta adds to or takes from. Pass over those whose name is OTHER: they are of a later version."""

    OTHER = 0
    REASONING = 1
    CONTENT = 2
    TOOL_NAME = 3
    TOOL_ID = 4
    TOOL_ARGUMENTS = 5
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

    @classmethod
    def _missing_(cls, value):
        return cls.OTHER


class Outcome(enum.IntEnum):
    """How an output related to the template's format."""

    COMPLETE = 1
    PARTIAL = 2
    RECOVERED = 3


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


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool. `id` is empty where the model's format has none."""

    id: str
    name: str
    arguments: str
    """JSON text, or a prefix of it where the output was cut off."""


@dataclass(frozen=True)
class Message:
    """What a model said."""

    outcome: Outcome
    content: str
    reasoning: str
    tool_calls: Tuple[ToolCall, ...]
    json: str
    """The whole as an OpenAI message, JSON text."""


class _Object:
    """Memory of the library, freed once: at the end of a `with`, at `close()`, or with the last reference."""

    def __init__(self, free, make, *arguments):
        handle = c_void_p()
        _call(make, *arguments, byref(handle))
        self._pointer = handle
        self._free = weakref.finalize(self, free, handle)

    @property
    def _handle(self) -> c_void_p:
        if not self._free.alive:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._pointer

    def close(self) -> None:
        """Gives the memory back. Doing so again is fine; any other use is a ValueError."""
        self._free()

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()


class Origin(enum.IntEnum):
    """Where a part of a prompt comes from. A number that this version does not know counts as UNKNOWN."""

    TEMPLATE = 1
    MESSAGE = 2
    TOOL = 3
    KWARG = 4
    UNKNOWN = 5

    @classmethod
    def _missing_(cls, value):
        return cls.UNKNOWN


class Segment(NamedTuple):
    """A part of a prompt that comes from one place."""

    begin: int
    """Where in the prompt, in bytes."""
    end: int
    origin: Origin
    index: int
    """Which message or tool, from 0."""
    path: str
    """The field of a message, as a JSON pointer; the name of a variable."""


@dataclass(frozen=True)
class Segments:
    """A prompt with the origin of each of its bytes. The segments cover it, in order; `mask` is what models wrote, in bytes."""

    prompt: bytes
    segments: Tuple[Segment, ...]
    mask: Tuple[Tuple[int, int], ...]


class Template(_Object):
    """A compiled chat template; make one for each model. `bos` and `eos` are the texts of the model's special tokens. With
    `learn_only` only what the template shows by itself counts; without `prove` the first way to read its model is taken."""

    def __init__(self, source: str, bos: str = "", eos: str = "", learn_only: bool = False, prove: bool = True):
        options = json.dumps({"bos": bos, "eos": eos, "learn_only": learn_only, "prove": prove})
        super().__init__(_free_template, _new_template, *_text(source), *_text(options))

    @classmethod
    def builtin(cls, name: str) -> "Template":
        """A template that the library brings along, such as `chatml`."""
        template = cls.__new__(cls)
        _Object.__init__(template, _free_template, _builtin_template, *_text(name))
        return template

    @property
    def source(self) -> str:
        """The text of the template as it is used."""
        return _template_source(self._handle).decode()

    def capabilities(self) -> Mapping[str, bool]:
        """What the template accepts: `supports_tools` and so on."""
        return json.loads(_fill(_template_caps, self._handle).decode())

    @property
    def reader(self) -> str:
        """What reads the model's output: `layout` or `turn`, or the name of a family of templates."""
        return _fill(_template_reader, self._handle).decode()

    def proof(self) -> Mapping:
        """How well what the template writes is read back: `cases`, `read_back`, `failures` and more; the C header lists it."""
        return json.loads(_fill(_template_proof, self._handle).decode())

    def params(self, request: Union[str, Mapping]) -> "Params":
        """Renders the prompt of a request: an OpenAI chat-completions body, as a dict or as JSON text."""
        return Params(self, request)

    def segments(self, request: Union[str, Mapping]) -> Segments:
        """The prompt of a request, and where each byte of it comes from."""
        text = request if isinstance(request, str) else json.dumps(request)
        with _Object(_free_segments, _new_segments, self._handle, *_text(text), None, 0) as owner:
            found, raw, all = owner._handle, _Segment(), []
            for index in range(_segment_count(found)):
                _call(_segment, found, index, byref(raw))
                all.append(Segment(raw.begin, raw.end, Origin(raw.origin), raw.index, raw.path.decode()))
            spans = (_Span * _mask(found, _ALL_PARTS, None, 0))()
            _mask(found, _ALL_PARTS, spans, len(spans))
            prompt = _segments_prompt(found)
            mask = tuple((span.begin, span.end) for span in spans)
            return Segments(string_at(prompt.data, prompt.len), tuple(all), mask)


class Params(_Object):
    """What one request needs: its prompt, what sampler and tokeniser must know, and the parser of the output."""

    def __init__(self, template: Template, request: Union[str, Mapping]):
        text = request if isinstance(request, str) else json.dumps(request)
        super().__init__(_free_params, _new_params, template._handle, *_text(text))

    @property
    def prompt(self) -> str:
        """What the model is given."""
        return _params_prompt(self._handle).decode()

    @property
    def generation_prompt(self) -> str:
        """The end of the prompt that is already the assistant's turn."""
        return _params_generation_prompt(self._handle).decode()

    def to_dict(self) -> Mapping:
        """All of the params: grammar and triggers, stops, preserved tokens. The C header lists the fields."""
        return json.loads(_fill(_params_json, self._handle).decode())

    def next(self, output: Union[str, bytes], messages: Union[str, list], *, learnt: bool = False) -> "Params":
        """Goes on behind an output with new messages, so that nothing that was sent is written anew: `append` of the new params is what to
        send. `learnt`: a short conversation may tell, where the template was found to write the same in long ones."""
        text = messages if isinstance(messages, str) else json.dumps(messages)
        params = Params.__new__(Params)
        _Object.__init__(params, _free_params, _params_continue, self._handle, *_text(output), *_text(text), int(learnt))
        return params

    @property
    def kept(self) -> int:
        """How many bytes of what was sent, prompt and output, stand in the prompt."""
        return _params_kept(self._handle)

    @property
    def append(self) -> str:
        """What to send behind these."""
        return _params_append(self._handle).decode()

    @property
    def rewrite(self) -> str:
        """Why the template writes anew what was sent behind byte `kept`; empty where it does not."""
        return _params_rewrite(self._handle).words.decode()

    def parser(self) -> "Parser":
        """What the output is parsed with, by itself."""
        return Parser._made(_params_parser, self._handle)

    def stream(self) -> "Stream":
        """A parse at the start of an output."""
        return Stream(self)

    def parse(self, output: Union[str, bytes], *, partial: bool = False, strict: bool = False) -> Message:
        """Parses an output that is there. `partial`: it is cut off. `strict`: not to fit the format is an error."""
        return _message(_parse, self._handle, *_text(output), _flags(partial, strict))


class Parser(_Object):
    """What an output is parsed with, without the rest of the params. As a text it can be kept, or sent to another process whose
    library has the same version."""

    def __init__(self, text: str):
        super().__init__(_free_parser, _parser_from_text, *_text(text))

    @classmethod
    def _made(cls, make, *arguments) -> "Parser":
        parser = cls.__new__(cls)
        _Object.__init__(parser, _free_parser, make, *arguments)
        return parser

    @property
    def text(self) -> str:
        """The text that `Parser` takes."""
        return _fill(_parser_text, self._handle).decode()

    def stream(self) -> "Stream":
        """A parse at the start of an output."""
        return Stream(self)

    def parse(self, output: Union[str, bytes], *, partial: bool = False, strict: bool = False) -> Message:
        """As `Params.parse`."""
        return _message(_parser_parse, self._handle, *_text(output), _flags(partial, strict))


class Stream(_Object):
    """A parse in progress: pieces of the output in, what they add to the message out."""

    def __init__(self, source: Union[Params, Parser]):
        make = _new_stream if isinstance(source, Params) else _stream_from_parser
        super().__init__(_free_stream, make, source._handle)

    def feed(self, piece: Union[str, bytes]) -> List[Delta]:
        """Takes the next piece; bytes may be cut anywhere, also inside a character."""
        _call(_feed, self._handle, *_text(piece))
        return self._last()

    def finish(self, *, partial: bool = False, strict: bool = False) -> List[Delta]:
        """Ends the output. `partial`: something cut it off. `strict`: not to fit the format is an error."""
        _call(_finish, self._handle, _flags(partial, strict))
        return self._last()

    def deltas(self, pieces: Iterable[Union[str, bytes]]) -> Iterator[Delta]:
        """Takes all pieces as they come, and the end; yields each delta as soon as it is known."""
        for piece in pieces:
            yield from self.feed(piece)
        yield from self.finish()

    def chunk(self) -> Mapping:
        """The last deltas as the `delta` object of an OpenAI chunk; empty where they add nothing."""
        return json.loads(_fill(_chunk, self._handle).decode())

    def message(self) -> Message:
        """The message so far or, after the end, the message."""
        return _message(_stream_message, self._handle)

    def reset(self) -> None:
        """Back to the start of the output."""
        _call(_reset, self._handle)

    def checkpoint(self) -> None:
        """Notes how the parse stands; `rollback` goes back to here, or to any later byte. There is one at a time."""
        _call(_checkpoint, self._handle)

    def rollback(self, length: int) -> List[Delta]:
        """Takes back all output behind its first `length` bytes, and tells what that withdraws from the message."""
        _call(_rollback, self._handle, length)
        return self._last()

    def set_budget(self, base: int, per_byte: int) -> None:
        """Bounds the work of the parse: `base`, and `per_byte` for each byte of output. What comes behind it is content."""
        _call(_set_budget, self._handle, base, per_byte)

    @property
    def work(self) -> int:
        """What the parse has taken so far of its budget."""
        return _work(self._handle)

    def _last(self) -> List[Delta]:
        deltas = []
        raw = _Delta()
        for index in range(_delta_count(self._handle)):
            _call(_delta, self._handle, index, byref(raw))
            deltas.append(Delta(DeltaKind(raw.kind), raw.call, raw.text.decode(), raw.span_begin, raw.span_end))
        return deltas


def version() -> str:
    """The version of the library."""
    return _version().decode()


# The C functions. Texts are views into a handle: decode() copies them while it lives.


class _Str(Structure):
    _fields_ = [("data", c_void_p), ("len", c_size_t)]

    def decode(self) -> str:
        return string_at(self.data, self.len).decode("utf-8")


class _Delta(Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("call", c_size_t),
        ("text", _Str),
        ("span_begin", c_size_t),
        ("span_end", c_size_t),
    ]


class _Segment(Structure):
    _fields_ = [("begin", c_size_t), ("end", c_size_t), ("origin", c_uint32), ("index", c_size_t), ("path", _Str)]


class _Span(Structure):
    _fields_ = [("begin", c_size_t), ("end", c_size_t)]


class _Rewrite(Structure):
    _fields_ = [("reason", c_uint32), ("words", _Str), ("message", c_size_t)]


# The number is that of the ABI; see SONAME in the README.
_NAMES = {"darwin": "libchatparse.0.1.dylib", "win32": "chatparse.dll"}
_library = CDLL(os.environ.get("CHATPARSE_LIBRARY") or _NAMES.get(sys.platform, "libchatparse.so.0.1"))


def _function(name, *arguments, returns=None):
    function = getattr(_library, "chat_" + name)
    function.argtypes, function.restype = arguments, returns
    return function


def _fallible(name, *arguments):
    return _function(name, *arguments, POINTER(c_void_p), returns=c_uint32)


_TEXT = (c_char_p, c_size_t)
_OUT = POINTER(c_void_p)

_version = _function("version", returns=c_char_p)
_error_message = _function("error_message", c_void_p, returns=_Str)
_free_error = _function("error_free", c_void_p)

_new_template = _fallible("template_with_options", *_TEXT, *_TEXT, _OUT)
_builtin_template = _fallible("template_builtin", *_TEXT, _OUT)
_template_source = _function("template_source", c_void_p, returns=_Str)
_template_caps = _fallible("template_caps_json", c_void_p, POINTER(_Str))
_template_reader = _fallible("template_reader", c_void_p, POINTER(_Str))
_template_proof = _fallible("template_proof_json", c_void_p, POINTER(_Str))
_free_template = _function("template_free", c_void_p)

_new_params = _fallible("params_from_template", c_void_p, *_TEXT, _OUT)
_params_prompt = _function("params_prompt", c_void_p, returns=_Str)
_params_generation_prompt = _function("params_generation_prompt", c_void_p, returns=_Str)
_params_json = _fallible("params_json", c_void_p, POINTER(_Str))
_params_continue = _fallible("params_continue", c_void_p, *_TEXT, *_TEXT, c_uint32, _OUT)
_params_kept = _function("params_kept", c_void_p, returns=c_size_t)
_params_append = _function("params_append", c_void_p, returns=_Str)
_params_rewrite = _function("params_rewrite", c_void_p, returns=_Rewrite)
_free_params = _function("params_free", c_void_p)
_parse = _fallible("parse_partial", c_void_p, *_TEXT, c_uint32, _OUT)

# Reasoning, content, calls and the end of turns.
_ALL_PARTS = 15
_new_segments = _fallible("segments_from_template", c_void_p, *_TEXT, *_TEXT, _OUT)
_segments_prompt = _function("segments_prompt", c_void_p, returns=_Str)
_segment_count = _function("segments_count", c_void_p, returns=c_size_t)
_segment = _fallible("segments_at", c_void_p, c_size_t, POINTER(_Segment))
_mask = _function("segments_mask", c_void_p, c_uint32, POINTER(_Span), c_size_t, returns=c_size_t)
_free_segments = _function("segments_free", c_void_p)

_params_parser = _fallible("params_parser", c_void_p, _OUT)
_parser_from_text = _fallible("parser_from_text", *_TEXT, _OUT)
_parser_text = _fallible("parser_text", c_void_p, POINTER(_Str))
_parser_parse = _fallible("parser_parse", c_void_p, *_TEXT, c_uint32, _OUT)
_free_parser = _function("parser_free", c_void_p)

_stream_from_parser = _fallible("stream_from_parser", c_void_p, _OUT)
_chunk = _fallible("stream_chunk_json", c_void_p, POINTER(_Str))
_new_stream = _fallible("stream_new", c_void_p, _OUT)
_feed = _fallible("stream_feed", c_void_p, *_TEXT)
_finish = _fallible("stream_finish", c_void_p, c_uint32)
_reset = _fallible("stream_reset", c_void_p)
_checkpoint = _fallible("stream_checkpoint", c_void_p)
_rollback = _fallible("stream_rollback", c_void_p, c_size_t)
_set_budget = _fallible("stream_set_budget", c_void_p, c_uint64, c_uint64)
_work = _function("stream_work", c_void_p, returns=c_uint64)
_delta_count = _function("stream_delta_count", c_void_p, returns=c_size_t)
_delta = _fallible("stream_delta", c_void_p, c_size_t, POINTER(_Delta))
_stream_message = _fallible("stream_message", c_void_p, _OUT)
_free_stream = _function("stream_free", c_void_p)

_message_outcome = _function("message_outcome", c_void_p, returns=c_uint32)
_message_content = _function("message_content", c_void_p, returns=_Str)
_message_reasoning = _function("message_reasoning", c_void_p, returns=_Str)
_message_json = _fallible("message_json", c_void_p, POINTER(_Str))
_call_count = _function("message_tool_call_count", c_void_p, returns=c_size_t)
_call_id = _function("message_tool_call_id", c_void_p, c_size_t, returns=_Str)
_call_name = _function("message_tool_call_name", c_void_p, c_size_t, returns=_Str)
_call_arguments = _function("message_tool_call_arguments", c_void_p, c_size_t, returns=_Str)
_free_message = _function("message_free", c_void_p)


def _call(function, *arguments) -> None:
    """Calls a function that can fail, and raises what it says."""
    error = c_void_p()
    status = function(*arguments, byref(error))
    if status != 0:
        try:
            raise Error(Status(status), _error_message(error).decode())
        finally:
            _free_error(error)


def _fill(function, handle) -> _Str:
    """The view that a function fills in; valid as long as the handle."""
    out = _Str()
    _call(function, handle, byref(out))
    return out


def _text(text: Union[str, bytes]) -> Tuple[bytes, int]:
    data = text.encode("utf-8") if isinstance(text, str) else bytes(text)
    return data, len(data)


def _flags(partial: bool, strict: bool) -> int:
    return (1 if partial else 0) | (2 if strict else 0)


def _message(function, *arguments) -> Message:
    """Copies the message that a function makes."""
    with _Object(_free_message, function, *arguments) as owner:
        message = owner._handle
        calls = tuple(
            ToolCall(
                _call_id(message, index).decode(),
                _call_name(message, index).decode(),
                _call_arguments(message, index).decode(),
            )
            for index in range(_call_count(message))
        )
        return Message(
            Outcome(_message_outcome(message)),
            _message_content(message).decode(),
            _message_reasoning(message).decode(),
            calls,
            _fill(_message_json, message).decode(),
        )
