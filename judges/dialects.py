#!/usr/bin/env python3
"""Grammars as XGrammar and llguidance read them: does each text of a dialect load there, and judge as our GBNF does?

    dialects.py --bin target/release/chatparse --shared ../shared [--every N] [--kind schemas|formats] [--show N] [--min PCT]

Takes the schemas of parity/instances.jsonl.gz with their instances, and the requests of parity/scenarios.jsonl.gz, and those of the built-in
templates, with their outputs. Each engine runs over a vocabulary of the 256 bytes. A case counts as right in a dialect where the
engine loads it and agrees about all of its texts with `accepts` of `chatparse replay`. Needs Python packages of these versions, and
skips with a word where they, or ../shared, are missing. XGrammar wants PyTorch for masks only, which nobody asks for here.
"""
import argparse
import collections
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import time
import types

VERSIONS = {"xgrammar": "0.2.8", "llguidance": "1.9.1"}
EOS = 256
VOCABULARY = [bytes([byte]) for byte in range(256)] + [b"<eos>"]


class Stub(type):
    """Stands for a class or function of a package that is only imported."""

    def __getattr__(cls, name):
        return cls

    def __call__(cls, *args, **kwargs):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class StubModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(name, (object,), {})


def skip(why):
    print(f"dialects: skipped: {why}")
    sys.exit(77)


class XGrammar:
    def __init__(self, vocabulary=VOCABULARY):
        # Without the one, the other would ask for it.
        if "torch" not in sys.modules and not importlib.util.find_spec("torch"):
            for module in ("torch", "transformers"):
                sys.modules[module] = StubModule(module)
        import xgrammar

        self.xg = xgrammar
        info = xgrammar.TokenizerInfo(vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[EOS])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        read = xgrammar.Grammar
        self.readers = {
            "portable-gbnf": read.from_ebnf,
            "lark": read.from_lark,
            "structural-tag": read.from_structural_tag,
        }

    def load(self, dialect, text):
        return self.compiler.compile_grammar(self.readers[dialect](text))

    def accepts(self, loaded, text):
        matcher = self.xg.GrammarMatcher(loaded)
        return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.accept_token(EOS)


class LLGuidance:
    def __init__(self, vocabulary=VOCABULARY):
        import llguidance

        class Tokenizer:
            eos_token_id, bos_token_id, tokens, special_token_ids = EOS, None, vocabulary, [EOS]

            def __call__(self, text):
                return list(text.encode() if isinstance(text, str) else text)

        self.Matcher = llguidance.LLMatcher
        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokenizer()), slices=[])
        self.readers = {"lark": None}

    def load(self, _, text):
        matcher = self.Matcher(self.tokenizer, text, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def accepts(self, loaded, text):
        matcher, tokens = loaded.deep_copy(), list(text.encode())
        taken = matcher.try_consume_tokens(tokens)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return taken == len(tokens) and matcher.is_accepting()


def engines():
    found = {}
    for name, make in (("xgrammar", XGrammar), ("llguidance", LLGuidance)):
        try:
            import importlib.metadata

            version = importlib.metadata.version(name)
            if version != VERSIONS[name]:
                print(f"dialects: {name} is {version}, not {VERSIONS[name]}")
            found[name] = make()
        except ImportError as error:
            print(f"dialects: without {name}: {error}")
    return found or skip("neither xgrammar nor llguidance is there")


def rows(path, every):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["in"] for number, line in enumerate(file) if number % every == 0]


REQUESTS = {
    "auto": {},
    "required": {"tool_choice": "required"},
    "parallel": {"parallel_tool_calls": True},
    "thinking": {"enable_thinking": True, "parallel_tool_calls": True, "tool_choice": "required"},
}


def builtin(binary):
    """Requests to the built-in templates; what they write themselves is no text that is at hand."""
    names = subprocess.run([binary, "templates"], capture_output=True, text=True, check=True).stdout.split("\n")
    tool = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": name, "parameters": tool}} for name in ("get_weather", "get")]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "templates")
    for name in (line.split()[0] for line in names if line.strip()):
        path = os.path.join(root, name + ".jinja")
        for kind, fields in REQUESTS.items():
            request = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "reasoning_format": "auto", **fields}
            if os.path.exists(path):
                yield {"id": f"builtin/{name}/{kind}", "template": path, "request": request, "outputs": ["Hello", ""]}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--shared", required=True)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--kind", choices=["schemas", "formats"])
    options.add_argument("--llama", action="store_true", help="llama.cpp's rules of schemas instead of faithful ones")
    options.add_argument("--only", default="")
    options.add_argument("--show", type=int, default=0)
    options.add_argument("--seconds", type=float, default=60, help="for one case in one engine and dialect")
    options.add_argument("--min", type=float, default=0, help="fail where the share of a dialect is lower")
    options = options.parse_args()
    parity = os.path.join(options.shared, "parity")
    if not os.path.isdir(parity):
        skip(f"there is no {parity}")
    at_hand = engines()
    binary = os.path.abspath(options.bin)
    cases = []
    if options.kind != "formats":
        cases += rows(os.path.join(parity, "instances.jsonl.gz"), options.every)
    if options.kind != "schemas":
        cases += rows(os.path.join(parity, "scenarios.jsonl.gz"), options.every) + list(builtin(binary))
    cases = [dict(case, dialects=True, timeline=False, faithful=not options.llama) for case in cases if options.only in case["id"]]
    lines = "\n".join(json.dumps(case) for case in cases)
    folder = os.path.join(options.shared, "templates")
    replay = subprocess.run([binary, "replay"], input=lines, capture_output=True, text=True, cwd=folder, check=True)
    total, right, outcomes = collections.Counter(), collections.Counter(), collections.Counter()
    spent = collections.Counter()
    for case, line in zip(cases, replay.stdout.splitlines()):
        answer = json.loads(line)
        if "dialects" not in answer:
            continue
        kind = "schemas" if "schema" in case else "formats"
        texts = case.get("texts") or [text if isinstance(text, str) else text["text"] for text in case.get("outputs", [])]
        for dialect, printed in answer["dialects"].items():
            if dialect == "gbnf" or printed.get("text") == "":
                continue
            outcomes[kind, dialect, "refused" if "error" in printed else "reported" if printed["report"] else "as it is"] += 1
            for name, engine in at_hand.items():
                if dialect not in engine.readers or "error" in printed:
                    continue
                wrong, start = "", time.time()
                try:
                    loaded = engine.load(dialect, printed["text"])
                    for text, expected in zip(texts, answer["accepts"]):
                        if expected is not None and engine.accepts(loaded, text) != expected:
                            wrong = f"{'refuses' if expected else 'accepts'} {text!r}"
                            break
                        if time.time() - start > options.seconds:
                            wrong = "takes too long"
                            break
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}"
                spent[kind, dialect, name] += time.time() - start
                total[kind, dialect, name] += 1
                right[kind, dialect, name] += not wrong
                if wrong and options.show > 0:
                    options.show -= 1
                    print(f"--- {case['id']}: {dialect} in {name}: {wrong[:400]}")
    for key in sorted(outcomes):
        print(f"{key[0]:8} {key[1]:20} {key[2]:12} {outcomes[key]}")
    low = False
    for key in sorted(total):
        share = 100 * right[key] / total[key]
        low |= share < options.min
        print(f"{key[0]:8} {key[1]:20} {key[2]:12} {right[key]}/{total[key]} {share:5.1f} %  {spent[key]:.1f} s")
    sys.exit(low)


if __name__ == "__main__":
    main()
