#!/usr/bin/env python3
"""Labels for training on conversations: the tokens that models wrote, and -100 for all others.

    masks.py MODEL CONVERSATION.json

MODEL is what transformers' `AutoTokenizer.from_pretrained` takes, with a fast tokenizer and a chat template; it needs no `{% generation %}` blocks.
CONVERSATION.json has `messages` and perhaps `tools`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from chatparse import MaskPart, assistant_masks

IGNORED = -100


def labelled(tokenizer: Any, conversation: dict[str, Any], parts: MaskPart = MaskPart.ALL) -> tuple[list[int], list[int]]:
    """The conversation's tokens as transformers renders it, and their labels."""
    encoded = assistant_masks(tokenizer, conversation["messages"], tools=conversation.get("tools"), parts=parts)
    tokens = encoded["input_ids"]
    return tokens, [token if written else IGNORED for token, written in zip(tokens, encoded["assistant_masks"])]


def main() -> None:
    from transformers import AutoTokenizer

    _, model, file = sys.argv
    tokenizer = AutoTokenizer.from_pretrained(model)
    with open(file, encoding="utf-8") as conversation:
        ids, labels = labelled(tokenizer, json.load(conversation))
    for token, label in zip(ids, labels):
        print("     " if label == IGNORED else "learn", repr(tokenizer.decode([token])))


if __name__ == "__main__":
    main()
