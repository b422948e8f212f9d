"""Tool and reasoning parser for vLLM, learnt from the model's chat template; written for vLLM 0.33.

    vllm serve MODEL --enable-auto-tool-choice --tool-parser-plugin chatparse.vllm --tool-call-parser chatparse \\
        --reasoning-parser-plugin chatparse.vllm --reasoning-parser chatparse

`CHATPARSE_CHAT_TEMPLATE` names the file of the template, for a server with `--chat-template`; else it is the tokenizer's.
With `CHATPARSE_VLLM_GRAMMAR=1`, requests with tools are sampled under the grammar of the model's own format.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation, FunctionCall, ToolCall
from vllm.reasoning.abs_reasoning_parsers import ReasoningParser, ReasoningParserManager
from vllm.renderers.chat_utils import make_tool_call_id
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager

from ._stream import Stream
from ._template import Params, Template
from ._types import DeltaKind, Dialect


class Reader:
    """What one output is read with, by both parsers of a request."""

    def __init__(self, tokenizer: Any, kwargs: dict[str, Any]) -> None:
        self.tokenizer, self.template = tokenizer, template(tokenizer)
        self.kwargs = {name: value for name, value in kwargs.items() if value is not None}
        self.prompt, self.tools, self.reasoning = "", list[Any](), True
        # Whether our tool parser gets what the reasoning parser is given: all of the output.
        self.joined = False
        self.stream: Stream | None = None

    def text(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def params(self, **options: Any) -> Params:
        how = {"reasoning_format": "auto" if self.reasoning else "none", "chat_template_kwargs": self.kwargs, "tools": self.tools}
        return self.template.params_for(self.prompt, {"messages": [], **how, **options})

    def begin(self, prompt: Sequence[int]) -> Reader:
        """Takes the prompt as vLLM has rendered it."""
        self.stream, self.prompt = None, self.text(prompt)
        return self

    def feed(self, text: str, finished: bool = False) -> DeltaMessage | None:
        """Takes the next text, or the end; what vLLM sends for it, or nothing where that adds nothing."""
        self.stream = self.stream or begun(self.params())
        self.stream.finish() if finished else self.stream.feed(text)
        chunk = self.stream.chunk()
        for call in (calls := chunk.get("tool_calls", [])):
            # The id of a call goes with its name, or is made then.
            id = call.pop("id", None)
            if "name" in call.get("function", {}):
                call["id"] = id or make_tool_call_id()
        calls = [call for call in calls if "function" in call]
        told = {"reasoning": chunk.get("reasoning_content"), "content": chunk.get("content"), "tool_calls": calls}
        return DeltaMessage(**told) if any(told.values()) else None

    def whole(self, output: str) -> list[str | None]:
        """The reasoning and the content of an output that is there."""
        self.stream = None
        told = [each for each in (self.feed(output), self.feed("", finished=True)) if each]
        return ["".join(getattr(each, field) or "" for each in told) or None for field in ("reasoning", "content")]


class Tokens:
    """An output as tokens, of which the last may be taken back: `length` of them are certain, counted from where the caller counts."""

    def __init__(self, reader: Reader, prompt: Sequence[int], length: int) -> None:
        params = reader.begin(prompt).params()
        self.reader, self.closers, self.stream = reader, params.thinking_end_tags, begun(params)
        self.length, self.bytes = length, 0
        # How many tokens have reasoning, the end of the text, and the kind of the last delta.
        self.count, self.tail, self.last = 0, "", DeltaKind.REASONING

    def feed(self, ids: Sequence[int]) -> int:
        """Goes on behind these; how many bytes they have."""
        size = 0
        for text in (self.reader.text([id]) for id in ids):
            if kinds := [delta.kind for delta in self.stream.feed(text)]:
                self.last = kinds[-1]
            # Text that may yet be a marker is in no delta. In a call the state would cost as much as its arguments.
            held = not kinds and self.last == DeltaKind.REASONING and self.stream.state()["part"] == "reasoning"
            self.count += held or DeltaKind.REASONING in kinds
            size, self.tail = size + len(text.encode()), (self.tail + text)[-256:]
        return size

    def certain(self, ids: Sequence[int], length: int) -> None:
        self.bytes, self.length = self.bytes + self.feed(ids[self.length : length]), length
        self.stream.checkpoint()

    def ended_behind(self, draft: Sequence[int]) -> bool:
        """Whether reasoning has ended behind what is certain and these."""
        kept = self.count, self.tail, self.last
        self.feed(draft)
        ended = (part := self.stream.state()["part"]) != "reasoning" and (part != "markup" or self.count > 0 or self.tail.endswith(self.closers))
        self.stream.rollback(self.bytes)
        self.count, self.tail, self.last = kept
        return ended


# The reader of the reasoning parser that was made last. vLLM makes the tool parser of the same request right behind it, and tells
# the prompt to the first alone.
_made = threading.local()


class ChatparseReasoningParser(ReasoningParser):  # type: ignore[misc]
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self.kwargs = kwargs.get("chat_template_kwargs") or {}
        self.reader = _made.reader = Reader(self.model_tokenizer, self.kwargs)
        self.ended, self.prompt = False, list[int]()
        self.gate: Tokens | None = None
        self.counter: Tokens | None = None

    reasoning_start_str = property(lambda self: self.reader.params().thinking_start_tag or None)
    reasoning_end_str = property(lambda self: next(iter(self.reader.params().thinking_end_tags), None))

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        self.prompt, self.counter = list(prompt_token_ids), None
        self.reader.begin(self.prompt)

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        params = Reader(self.model_tokenizer, self.kwargs).begin(input_ids).params()
        begins = params.generation_prompt.rfind(params.thinking_start_tag)
        return not params.supports_thinking or any(params.generation_prompt.rfind(end) > begins for end in params.thinking_end_tags)

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        certain = len(input_ids) - len(draft := list(delta_ids))
        if self.gate is None or certain < self.gate.length:
            self.gate = Tokens(Reader(self.model_tokenizer, self.kwargs), input_ids[:certain], certain)
        self.gate.certain(input_ids, certain)
        return self.gate.ended_behind(draft)

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        tokens = Tokens(Reader(self.model_tokenizer, self.kwargs), [], 0)
        ends = [at + 1 for at, id in enumerate(input_ids) if tokens.feed([id]) and tokens.tail.endswith(tokens.closers)]
        return input_ids[ends[-1] :] if ends else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        if self.counter is None or len(token_ids) < self.counter.length:
            self.counter = Tokens(Reader(self.model_tokenizer, self.kwargs), self.prompt, 0)
        self.counter.certain(token_ids, len(token_ids))
        return self.counter.count

    def adjust_request(self, request: Any) -> Any:
        request.skip_special_tokens = False
        return request

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        reasoning, content = self.reader.whole(model_output)
        return reasoning, content

    def extract_reasoning_streaming(self, previous_text: str, current_text: str, delta_text: str, *_: Any) -> DeltaMessage | None:
        told = DeltaMessage(content=delta_text) if self.reader.joined else self.reader.feed(delta_text)
        self.ended = self.reader.joined or bool(told and told.content)
        return told

    def has_engine_confirmed_reasoning_end(self) -> bool:
        return self.ended

    def finish_streaming(self) -> DeltaMessage | None:
        return None if self.reader.joined else self.reader.feed("", finished=True)


class ChatparseToolParser(ToolParser):  # type: ignore[misc]
    engine_based_streaming = True
    # Calls come in the model's own format, whatever the choice.
    supports_required_and_named = False

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        super().__init__(tokenizer, tools)
        made = vars(_made).pop("reader", None)
        joined = made is not None and made.tokenizer is tokenizer
        self.reader = made if joined else Reader(tokenizer, {})
        self.reader.joined, self.reader.tools = joined, [as_tool(tool) for tool in tools or ()]

    # Set by vLLM where there is no reasoning parser: reasoning is content then.
    skip_reasoning_parsing = property(lambda self: not self.reader.reasoning, lambda self, skip: setattr(self.reader, "reasoning", not skip))

    def adjust_request(self, request: Any) -> Any:
        request.skip_special_tokens = False
        choice, format = request.tool_choice, getattr(request, "response_format", None) or getattr(request, "text", None)
        # The grammar begins where the prompt ends, which the reasoning parser alone is told.
        wanted = os.environ.get("CHATPARSE_VLLM_GRAMMAR") == "1" and self.reader.joined and self.reader.tools and choice != "none"
        if not wanted or (choice in ("auto", None) and (request.structured_outputs or format)):
            return request
        choice = choice or "auto" if isinstance(choice, (str, type(None))) else as_tool(choice)
        params = self.reader.params(tool_choice=choice, parallel_tool_calls=request.parallel_tool_calls is not False)
        if grammar := params.grammar(Dialect.LARK).text:
            request.structured_outputs = StructuredOutputsParams(grammar=grammar)
            # It has the reasoning in it, so it holds from the first token on.
            request._grammar_from_parser = True
            if format:
                setattr(request, "response_format" if hasattr(request, "response_format") else "text", None)
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        # Joined, the reasoning parser has read it all, and this is the content.
        content = model_output if self.reader.joined and self.reader.stream else self.reader.whole(model_output)[1]
        read = self.reader.stream.message().tool_calls if self.reader.stream else ()
        functions = [(call.id, FunctionCall(name=call.name, arguments=call.arguments)) for call in read]
        calls = [ToolCall(id=id or make_tool_call_id(), function=function) for id, function in functions]
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=content or None)

    def extract_tool_calls_streaming(self, previous_text: str, current_text: str, delta_text: str, *_: Any) -> DeltaMessage | None:
        return self.reader.feed(delta_text)

    def finish_streaming(self) -> DeltaMessage | None:
        return self.reader.feed("", finished=True)


def begun(params: Params) -> Stream:
    """A stream behind what the prompt has of the message, which is no part of the answer."""
    stream = params.stream()
    stream.feed("")
    return stream


compiled = functools.lru_cache(maxsize=8)(lambda source, bos, eos: Template(source, bos=bos, eos=eos))
read = functools.cache(lambda path: Path(path).read_text(encoding="utf-8"))


def template(tokenizer: Any) -> Template:
    found = read(os.environ["CHATPARSE_CHAT_TEMPLATE"]) if "CHATPARSE_CHAT_TEMPLATE" in os.environ else tokenizer.chat_template
    if isinstance(found, dict):
        found = found.get("tool_use") or found.get("default")
    if not found:
        raise ValueError("chatparse: the tokenizer has no chat template; name a file in CHATPARSE_CHAT_TEMPLATE")
    return compiled(found, tokenizer.bos_token or "", tokenizer.eos_token or "")


def as_tool(tool: Any) -> dict[str, Any]:
    """A tool, or the choice of one, as chat completions have it; Responses have its fields flat."""
    known: dict[str, Any] = tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True)
    return known if "function" in known else {"type": "function", "function": {name: known[name] for name in known if name != "type"}}


ReasoningParserManager.register_module("chatparse", module=ChatparseReasoningParser)
ToolParserManager.register_module("chatparse", module=ChatparseToolParser)
