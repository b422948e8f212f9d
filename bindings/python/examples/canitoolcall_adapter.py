"""chatparse in the conformance suite canitoolcall (a package of that name): its outputs of real models, read by this library.

    canitoolcall run --engine canitoolcall_adapter:ChatparseAdapter --python PYTHON --env CHATPARSE_TEMPLATES=FOLDER

PYTHON is an interpreter that has chatparse and this file among its packages. FOLDER has chat templates named `org-model.jinja` or
`model.jinja`; without one, a model's tokenizer has it. Outputs are cut where tokens end if transformers has the model's tokenizer at
hand, and between characters otherwise.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from canitoolcall.adapters.base import Adapter, ReplayInput, Support, ToolSpec, trusts_remote_code
from canitoolcall.results import ParsedToolCall, ParseResult, StreamAccumulator
from chatparse import Params, Template

TEMPLATES = os.environ.get("CHATPARSE_TEMPLATES", "")


@functools.lru_cache(maxsize=None)
def tokenizer(model: str, revision: str | None) -> Any:
    """The model's tokenizer, or `None` where there is none at hand."""
    try:
        from transformers import AutoTokenizer

        trusted = trusts_remote_code(model, revision)
        return AutoTokenizer.from_pretrained(
            model, revision=revision, trust_remote_code=trusted, local_files_only=True
        )
    except (ImportError, OSError, ValueError):
        return None


@functools.lru_cache(maxsize=None)
def template(model: str, revision: str | None) -> Template | None:
    """The model's chat template."""
    for name in (model.replace("/", "-"), model.rpartition("/")[2]):
        file = Path(TEMPLATES, f"{name}.jinja")
        if TEMPLATES and file.is_file():
            return Template(file.read_text(encoding="utf-8"))
    known = tokenizer(model, revision)
    return Template.from_tokenizer(known) if known is not None and known.chat_template else None


class ChatparseAdapter(Adapter):
    """Reads outputs with the format of the model's chat template, as a server would that asks for no half calls."""

    name = "chatparse"
    pinned_version = "0.1.0"
    supports_text_deltas = True

    def version(self) -> str:
        return importlib.metadata.version("chatparse")

    def supports(self, family: str, model: str) -> Support:
        known = template(model, None) is not None
        return Support(known, None if known else f"no chat template of {model} at hand")

    def parser_config(self, raw: ReplayInput) -> dict[str, Any]:
        found = template(raw.model, raw.revision)
        tokens = tokenizer(raw.model, raw.revision) is not None
        return {"reader": found.reader if found else None, "units": "tokens" if tokens else "characters"}

    def units(self, raw: ReplayInput) -> list[int]:
        known = tokenizer(raw.model, raw.revision)
        if known is None:
            return [ord(character) for character in raw.text]
        return list(raw.token_ids or known.encode(raw.text, add_special_tokens=False))

    def special_token_ids(self, raw: ReplayInput) -> Collection[int] | None:
        known = tokenizer(raw.model, raw.revision)
        return None if known is None else known.all_special_ids

    def parse(self, raw: ReplayInput, tools: Sequence[ToolSpec]) -> ParseResult:
        message = params(raw, tools).parse(raw.text, partial=raw.truncated)
        calls = tuple(ParsedToolCall(call.name, call.arguments) for call in message.tool_calls)
        return ParseResult(message.content or None, message.reasoning or None, calls)

    def parse_stream(self, raw: ReplayInput, chunks: Sequence[Sequence[int]], tools: Sequence[ToolSpec]) -> ParseResult:
        known = tokenizer(raw.model, raw.revision)
        texts = ("".join(map(chr, chunk)) for chunk in chunks) if known is None else decoded(known, chunks)
        return self.parse_stream_text(raw, list(texts), tools)

    def parse_stream_text(self, raw: ReplayInput, deltas: Sequence[str], tools: Sequence[ToolSpec]) -> ParseResult:
        client = StreamAccumulator()
        with params(raw, tools).stream() as stream:
            for text in deltas:
                stream.feed(text)
                client.add_openai_delta(stream.chunk())
            stream.finish(partial=raw.truncated)
            client.add_openai_delta(stream.chunk())
        return client.result()


def params(raw: ReplayInput, tools: Sequence[ToolSpec]) -> Params:
    """The request whose answer the output is."""
    found = template(raw.model, raw.revision)
    assert found is not None, raw.model
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "incomplete_calls": "drop"}
    if tools:
        body["tools"] = list(tools)
    if raw.thinking is not None:
        body |= {"enable_thinking": raw.thinking, "chat_template_kwargs": {"thinking": raw.thinking}}
    return found.params(body, {"reasoning_format": "auto"})


def decoded(known: Any, chunks: Sequence[Sequence[int]]) -> Iterator[str]:
    """The text that each group of tokens adds. A character whose tokens are in two groups comes with the second."""
    ids: list[int] = []
    shown = ""
    for chunk in chunks:
        ids += chunk
        text = known.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            yield text[len(shown) :]
            shown = text
    yield known.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)[len(shown) :]
