"""What a stream's `feed` costs through Python: nanoseconds a piece, the loop around it included. `python bench.py`"""

import time

from chatparse import Template

TOOL = {"type": "function", "function": {"name": "write", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}}
REQUEST = {"messages": [{"role": "user", "content": "Hi"}], "tools": [TOOL]}
TEXT = "It is a truth universally acknowledged, that a reader of outputs wants them a word at a time. " * 100
OUTPUTS = {
    "content": TEXT,
    "a call": '<tool_call>\n{"name": "write", "arguments": {"text": "' + TEXT + '"}}\n</tool_call>',
}
ROUNDS = 20


def pieces_of(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def cost(pieces: list[str] | list[bytes]) -> tuple[float, float]:
    """The quickest of some rounds, and how many deltas a piece gives."""
    params = Template.builtin("json-call").params(REQUEST)
    best, deltas = float("inf"), 0
    for _ in range(ROUNDS):
        with params.stream() as stream:
            feed = stream.feed
            deltas = sum(len(feed(piece)) for piece in pieces)
            stream.reset()
            begin = time.perf_counter_ns()
            for piece in pieces:
                feed(piece)
            best = min(best, (time.perf_counter_ns() - begin) / len(pieces))
    return best, deltas / len(pieces)


def main() -> None:
    for name, text in OUTPUTS.items():
        for size in (4, 16, 64):
            pieces = pieces_of(text, size)
            as_str, deltas = cost(pieces)
            as_bytes, _ = cost([piece.encode() for piece in pieces])
            print(f"{name:8} {size:3} bytes a piece, {deltas:.2f} deltas: {as_str:5.0f} ns as str, {as_bytes:5.0f} ns as bytes")


if __name__ == "__main__":
    main()
