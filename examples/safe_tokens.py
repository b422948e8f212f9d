#!/usr/bin/env python3
"""Tokens of a prompt in which no text of a user becomes a special token.

    safe_tokens.py TOKENIZER.json TEMPLATE.jinja REQUEST.json

The template's own text goes to the tokenizer as it is; what comes from messages, tools and variables goes without special tokens. Needs the
Python packages `tokenizers` and `chatparse` (bindings/python).
"""
import json
import sys

from chatparse import Origin, Segments, Template


def encode(tokenizer, found: Segments) -> list[int]:
    """The prompt's tokens. `tokenizer` is a `tokenizers.Tokenizer`."""
    ids: list[int] = []
    # Neighbours of one kind go together, so that words are not cut where one field ends and another begins.
    stretches: list[tuple[bool, int, int]] = []
    for segment in found.segments:
        is_template = segment.origin == Origin.TEMPLATE
        if stretches and stretches[-1][0] == is_template:
            stretches[-1] = (is_template, stretches[-1][1], segment.end)
        else:
            stretches.append((is_template, segment.begin, segment.end))
    for is_template, begin, end in stretches:
        tokenizer.encode_special_tokens = not is_template
        ids += tokenizer.encode(found.prompt[begin:end].decode(), add_special_tokens=False).ids
    return ids


def main() -> None:
    from tokenizers import Tokenizer

    _, tokenizer_file, template_file, request_file = sys.argv
    with open(template_file, encoding="utf-8", newline="") as file:
        template = Template(file.read())
    with open(request_file, encoding="utf-8") as file:
        found = template.segments(json.load(file))
    tokenizer = Tokenizer.from_file(tokenizer_file)
    for number in encode(tokenizer, found):
        print(number, repr(tokenizer.decode([number], skip_special_tokens=False)))


if __name__ == "__main__":
    main()
