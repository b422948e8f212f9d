#!/usr/bin/env python3
"""What drafting saves with a real model: forced text of a call as tokens that are never sampled. See docs/sampler.md, "Draft what must come".

    drafted.py MODEL.gguf [--per N] [--formats NAME...] [--show]     MODEL: as judges/run.py --get model gives it

llama.cpp, by its C API in the package xllamacpp, writes one required call for each of 10 built-in formats and 20 requests, each time twice behind the
same prompt: every token sampled, and with `forced` drafted by the rule of docs/tokens.md, in one forward pass with the token in front of it.
Sampling takes the likeliest token that the matcher can take. A call has at most 120 tokens; `valid` are those that both ways end in time and
fit their tool. One thread; times are the processor's, without the prompt's: of the forward passes, and of all. Needs the Python packages
`chatparse` and `xllamacpp`.
"""
import argparse
import ctypes
import os
import sys
import time

import numpy
import xllamacpp
from chatparse import Template

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "bindings", "python", "examples"))
from forced_tokens import ForcedTokens

FORMATS = ["json-call", "json-array-ids", "json-bare", "tag-parameters", "tag-arguments", "seed-oss", "kimi-k2", "deepseek-v3.1", "lfm2", "gemma-4"]
UNIT = {"enum": ["celsius", "fahrenheit"]}
TOOLS = {
    "get_forecast": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9}, "unit": UNIT},
    "send_mail": {"to": {"type": "array", "items": {"type": "string"}, "maxItems": 3}, "subject": {"type": "string"}, "urgent": {"type": "boolean"}},
    "convert_currency": {"amount": {"type": "number"}, "from_currency": {"enum": ["EUR", "USD", "NOK"]}, "to_currency": {"enum": ["EUR", "USD", "NOK"]}},
    "book_table": {"restaurant": {"type": "string"}, "date": {"type": "string", "format": "date"}, "persons": {"type": "integer", "minimum": 1, "maximum": 20}},
}
CITIES = [("Oslo", 3), ("Rome", 2), ("Lima", 5), ("Kyoto", 7), ("Cairo", 4)]
MAILS = [("ann", "the train is late"), ("bob", "lunch is at noon"), ("eve", "the server is down"), ("jon", "we won"), ("kim", "the report is done")]
SUMS = [("20 EUR", "USD"), ("7.5 USD", "NOK"), ("300 NOK", "EUR"), ("99 EUR", "NOK"), ("1000 USD", "EUR")]
TABLES = [(2, "Luigi", "2026-05-01"), (4, "Sakura", "2026-06-12"), (6, "Noma", "2026-07-03"), (3, "Chez Anne", "2026-08-20"), (8, "El Toro", "2026-09-09")]
# What is asked for each tool, in the order of TOOLS.
PROMPTS = [
    [f"What will the weather be in {city} in the next {days} days?" for city, days in CITIES],
    [f"Write to {name}@example.com that {what}." for name, what in MAILS],
    [f"How much are {amount} in {to}?" for amount, to in SUMS],
    [f"A table for {count} at {place} on {date}, please." for count, place, date in TABLES],
]
# The tokens of a call at most, those of a context, and the one that begins a prompt.
LONGEST, CONTEXT, BEGIN = 120, 4096, 2


class Opaque(ctypes.Structure):
    """Parameters that go from one function of llama.cpp to another; larger than they are. They begin with `n_ctx`."""

    _fields_ = [("first", ctypes.c_uint32), ("rest", ctypes.c_byte * 2044)]


class Batch(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("tokens", ctypes.c_void_p), ("others", ctypes.c_void_p * 5)]


class Llama:
    def __init__(self, model):
        self.llama = llama = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
        pointer, number, text = ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p
        for name, result, *arguments in (
            ("log_set", None, pointer, pointer),
            ("model_default_params", Opaque),
            ("context_default_params", Opaque),
            ("model_load_from_file", pointer, text, Opaque),
            ("init_from_model", pointer, pointer, Opaque),
            ("model_get_vocab", pointer, pointer),
            ("set_n_threads", None, pointer, number, number),
            ("get_memory", pointer, pointer),
            ("memory_seq_rm", ctypes.c_bool, pointer, number, number, number),
            ("vocab_n_tokens", number, pointer),
            ("vocab_get_attr", number, pointer, number),
            ("token_to_piece", number, pointer, number, text, number, number, ctypes.c_bool),
            ("tokenize", number, pointer, text, number, ctypes.POINTER(number), number, ctypes.c_bool, ctypes.c_bool),
            ("batch_get_one", Batch, ctypes.POINTER(number), number),
            ("decode", number, pointer, Batch),
            ("get_logits_ith", ctypes.POINTER(ctypes.c_float), pointer, number),
        ):
            function = getattr(llama, f"llama_{name}")
            function.restype, function.argtypes = result, arguments
        self.quiet = ctypes.CFUNCTYPE(None, number, text, pointer)(lambda *_: None)
        llama.llama_log_set(ctypes.cast(self.quiet, pointer), None)
        loaded = llama.llama_model_load_from_file(model.encode(), llama.llama_model_default_params())
        params = llama.llama_context_default_params()
        params.first = CONTEXT
        self.context = llama.llama_init_from_model(loaded, params)
        llama.llama_set_n_threads(self.context, 1, 1)
        self.vocabulary = llama.llama_model_get_vocab(loaded)
        self.bytes = [self.piece(token) for token in range(llama.llama_vocab_n_tokens(self.vocabulary))]
        # The first byte of each token; 256 for special ones, which write nothing.
        self.begins = numpy.array([piece[0] if piece else 256 for piece in self.bytes])

    def piece(self, token):
        # Unknown, control and unused ones are no text.
        if self.llama.llama_vocab_get_attr(self.vocabulary, token) & 0b1011:
            return b""
        text = ctypes.create_string_buffer(256)
        length = self.llama.llama_token_to_piece(self.vocabulary, token, text, len(text), 0, False)
        return text.raw[: max(0, length)]

    def tokens(self, text):
        found = (ctypes.c_int32 * (len(text) + 8))()
        return found[: self.llama.llama_tokenize(self.vocabulary, text, len(text), found, len(found), False, False)]

    def forget(self, length):
        assert self.llama.llama_memory_seq_rm(self.llama.llama_get_memory(self.context), 0, length, -1)

    def logits(self, tokens):
        """Those behind all tokens, by one forward pass; and how long it took."""
        began = time.thread_time()
        for begin in range(0, len(tokens), 512):
            part = (ctypes.c_int32 * len(tokens[begin : begin + 512]))(*tokens[begin : begin + 512])
            assert self.llama.llama_decode(self.context, self.llama.llama_batch_get_one(part, len(part))) == 0
        found = numpy.ctypeslib.as_array(self.llama.llama_get_logits_ith(self.context, -1), (len(self.bytes),))
        return found, time.thread_time() - began


def likeliest(llama, logits, matcher):
    """The likeliest token that the matcher can take."""
    first = numpy.zeros(257, dtype=bool)
    first[list(matcher.allowed)] = True
    logits = numpy.where(first[llama.begins], logits, -numpy.inf)
    while True:
        token = int(numpy.argmax(logits))
        assert logits[token] > -numpy.inf, "nothing may follow"
        if matcher.can(llama.bytes[token]):
            return token
        logits[token] = -numpy.inf


def call(llama, logits, matcher, vocabulary):
    """The call behind a prompt: its bytes; the tokens, how many of them were drafted, the forward passes and their time, and the time of all."""
    began, text, new = time.thread_time(), b"", []
    tokens = drafted = passes = 0
    spent = 0.0

    def take(more):
        nonlocal text, tokens
        written = b"".join(llama.bytes[token] for token in more)
        assert matcher.feed(written) == len(written)
        text, tokens = text + written, tokens + len(more)
        new.extend(more)

    while not matcher.may_end and tokens < LONGEST:
        if vocabulary and (forced := matcher.forced):
            draft = llama.tokens(forced)
            pieces = [llama.bytes[token] for token in draft]
            # SentencePiece takes U+2581 for a space.
            safe = len(vocabulary.safe(pieces)) if b"".join(pieces) == forced else 0
            take(draft[:safe])
            drafted += safe
            if matcher.may_end:
                break
        if new:
            logits, seconds = llama.logits(new)
            passes, spent = passes + 1, spent + seconds
            new.clear()
        take([likeliest(llama, logits, matcher)])
    return text, tokens, drafted, passes, spent, time.thread_time() - began


def requests(count):
    """Requests for a call, each with the tool that it is for and another, behind a turn that shows a call; `count` for each tool."""
    function = {"name": "get_time", "arguments": {"city": "Paris", "seconds": False}}
    shown = [
        {"role": "user", "content": "What time is it in Paris?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call00001", "name": "get_time", "content": "12:30"},
        {"role": "assistant", "content": "It is half past twelve."},
    ]
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": members, "required": list(members)}}}
             for name, members in TOOLS.items()]
    for index, prompts in enumerate(PROMPTS):
        for prompt in prompts[:count]:
            yield {"messages": [*shown, {"role": "user", "content": prompt}], "tools": [tools[index], tools[index - 1]],
                   "tool_choice": "required", "parallel_tool_calls": False, "enable_thinking": False}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model")
    options.add_argument("--per", type=int, default=5, help="requests for each of the four tools")
    options.add_argument("--formats", nargs="*", default=FORMATS)
    options.add_argument("--show", action="store_true")
    options = options.parse_args()
    llama = Llama(options.model)
    vocabulary = ForcedTokens(piece for piece in llama.bytes if piece)
    print(f"{'':17} {'':11} | {'all tokens sampled':27} | what is forced drafted")
    print(f"{'format':17} calls valid | tokens passes  pass s  all s | tokens drafted passes  pass s  all s | same text")
    total = numpy.zeros(13)
    for name in options.formats:
        template, sums = Template.builtin(name), numpy.zeros(13)
        for request in requests(options.per):
            params = template.params(request)
            sent = [BEGIN, *llama.tokens(params.prompt.encode())]
            llama.forget(0)
            logits, texts, figures = llama.logits(sent)[0].copy(), [], []
            for words in (None, vocabulary):
                llama.forget(len(sent))
                text, *counted = call(llama, logits, params.matcher(), words)
                texts.append(text)
                figures += counted
            if options.show:
                print(*texts, sep="\n")
            calls = [params.parse(text, partial=True).tool_calls for text in texts]
            valid = all(len(made) == 1 and made[0].valid for made in calls)
            sums += [1, valid, *figures, texts[0] == texts[1]]
        total += sums
        show(name, sums)
    show("all", total)


def show(name, sums):
    calls, valid, tokens, _, passes, spent, every, tokens_2, drafted, passes_2, spent_2, every_2, same = sums
    print(f"{name:17} {calls:5.0f} {valid:5.0f} | {tokens:6.0f} {passes:6.0f} {spent:7.1f} {every:6.1f} | "
          f"{tokens_2:6.0f} {drafted:7.0f} {passes_2:6.0f} {spent_2:7.1f} {every_2:6.1f} | {same:.0f}", flush=True)


if __name__ == "__main__":
    main()
