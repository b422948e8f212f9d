"""Whether a tokenizer goes with a template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._conversation import Conversation, Tokenizer
from ._template import Template

_TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}}]


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
    conversation = Conversation(template, tokenizer, tools=_TOOLS, options=options)
    return [TokenizerFinding(**found) for found in json.loads(conversation.check_json())]
