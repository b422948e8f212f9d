"""Whether a tokenizer goes with a template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._conversation import Conversation, Tokenizer
from ._template import Template
from ._types import TemplateError

_TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}}]
_CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "look", "arguments": '{"place": "Oslo"}'}}]}
_USER = {"role": "user", "content": "Hi"}
_RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "Rain"}
# A message of the model, and what follows, the smallest first.
_TURNS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"role": "assistant", "content": "Yes."}, _USER),
    ({"role": "assistant", "content": "Yes.\n"}, _USER),
    ({"role": "assistant", "content": "\nYes"}, _USER),
    ({"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."}, _USER),
    (_CALL, _RESULT),
    ({**_CALL, "reasoning_content": "Hm.", "content": "One moment."}, _RESULT),
]


class TokenizerFinding(NamedTuple):
    """Where a tokenizer and a template do not go together."""

    kind: str
    """`end` and `marker`: the end of the turn, or another marker, is no special token; what a model samples for it a user can write, too.
    `seam`: ids turn by turn are not those of the whole. `rewrite`: the template changes what was sent."""
    words: str
    """The same as a sentence."""
    messages: Sequence[Mapping[str, Any]]
    """The smallest conversation that shows it, of those that are tried; empty for markers."""
    token: int | None
    """The first token that differs, in the ids of that conversation."""


def check_tokenizer(template: Template, tokenizer: Tokenizer, *, options: Mapping[str, Any] | None = None) -> list[TokenizerFinding]:
    """What stands between a tokenizer and a template: markers that are no special tokens, turns at whose border ids differ from those of the
    whole conversation, histories that the template rewrites. Empty: ids turn by turn are those of each new render, of the turns that are
    tried and that the template does not refuse. `options` are those of a request, as a `Conversation` takes them.
    """
    return [*_markers(template, tokenizer), *_seams(template, tokenizer, {} if options is None else options)]


def _markers(template: Template, tokenizer: Tokenizer) -> Iterator[TokenizerFinding]:
    params = template.params({"messages": [_USER], "tools": _TOOLS})
    end = params.end_of_turn.strip()
    others = [params.thinking_start_tag, *params.thinking_end_tags, *params.preserved_tokens]
    for text in dict.fromkeys(text for text in (end, *map(str.strip, others)) if text):
        if text not in tokenizer.special_tokens:
            pieces = len(tokenizer.encode(text))
            words = f"{text!r} is no special token: plain text gives it as {pieces} token{'s' if pieces > 1 else ''}"
            yield TokenizerFinding("end" if text == end else "marker", words, [], None)


def _seams(template: Template, tokenizer: Tokenizer, options: Mapping[str, Any]) -> Iterator[TokenizerFinding]:
    found = set()
    for message, following in _TURNS:
        messages = [_USER, message, following]
        try:
            kind, words, token = _turn(template, tokenizer, options, messages)
        except TemplateError:
            continue  # A template without tools, say.
        if kind and kind not in found:
            found.add(kind)
            yield TokenizerFinding(kind, words, messages, token)


def _turn(
    template: Template, tokenizer: Tokenizer, options: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> tuple[str, str, int | None]:
    conversation, whole = (Conversation(template, tokenizer, tools=_TOOLS, options=dict(options)) for _ in range(2))
    conversation.prompt_ids(messages[:1])
    prompt = conversation.text.decode()
    params = template.params({**options, "messages": messages[:2], "tools": _TOOLS, "add_generation_prompt": False})
    if not params.prompt.startswith(prompt):
        return "", "", None  # The history of this turn begins otherwise, so nothing says what a model would have written.
    output = params.prompt[len(prompt) :]
    before, end, _ = output.partition(params.end_of_turn) if params.end_of_turn else (output, "", "")
    conversation.observe(_sampled(tokenizer, before + end))
    rewrite = conversation.extend(messages[2:]).rewrite
    if rewrite:
        return "rewrite", rewrite.words, rewrite.token
    ids, once = conversation.ids, whole.prompt_ids(messages)
    at = next((at for at, pair in enumerate(zip(ids, once)) if pair[0] != pair[1]), min(len(ids), len(once)))
    if ids == once:
        return "", "", None
    names = {id: text for text, id in tokenizer.special_tokens.items()}
    mine, theirs = (
        [names.get(id) or tokenizer.token_bytes(id).decode(errors="replace") for id in some[at : at + 2]] for some in (ids, once)
    )
    return "seam", f"turn by turn {mine} stands where the whole conversation has {theirs}", at


def _sampled(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text that a model writes."""
    special = tokenizer.special_tokens
    pattern = "|".join(map(re.escape, sorted(special, key=len, reverse=True))) or "(?!)"
    ids: list[int] = []
    for part in re.split(f"({pattern})", text):
        ids += [special[part]] if part in special else tokenizer.encode(part) if part else []
    return ids
