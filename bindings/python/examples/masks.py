#!/usr/bin/env python3
"""Labels for training on conversations: the tokens that models wrote, and -100 for all others.

    masks.py MODEL CONVERSATION.json

MODEL is what transformers' `AutoTokenizer.from_pretrained` takes, with a fast tokenizer and a chat template; it needs no `{% generation %}` blocks.
CONVERSATION.json has `messages` and perhaps `tools`.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from typing import Any

from chatparse import MaskPart, Template

IGNORED = -100


def labelled(tokenizer: Any, template: Template, conversation: dict[str, Any], parts: MaskPart = MaskPart.ALL) -> tuple[list[int], list[int]]:
    """The conversation's tokens as transformers renders it, and their labels."""
    found = template.segments({**conversation, "plain": True, "add_generation_prompt": False})
    text = found.prompt.decode()
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    # Masks count bytes, and offsets characters.
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    spans = found.mask(parts)
    begins = [span.begin for span in spans]
    labels = []
    for token, (begin, end) in zip(encoded["input_ids"], encoded["offset_mapping"]):
        span = bisect_right(begins, starts[begin]) - 1
        written = span >= 0 and starts[end] <= spans[span].end
        labels.append(token if written else IGNORED)
    return encoded["input_ids"], labels


def main() -> None:
    from transformers import AutoTokenizer

    _, model, file = sys.argv
    tokenizer = AutoTokenizer.from_pretrained(model)
    with open(file, encoding="utf-8") as conversation:
        ids, labels = labelled(tokenizer, Template.from_tokenizer(tokenizer), json.load(conversation))
    for token, label in zip(ids, labels):
        print("     " if label == IGNORED else "learn", repr(tokenizer.decode([token])))


if __name__ == "__main__":
    main()
