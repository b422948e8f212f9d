#!/usr/bin/env python3
"""Engines write under the grammars of requests: is what they write read, and does it hold to the tools' schemas?

    constrained.py --bin target/release/chatparse --templates templates ../shared/templates [--every N] [--per N] [--show N] [--min PCT]
                   [--model FILE.gguf [--max-cost 1.1]]

For each template, a request that requires a call of one of two tools. llguidance and XGrammar, each by the dialect of theirs, say which tokens may
follow; random logits decide. Tokens are the bytes, and the texts of the grammar itself, so that a random text comes to an end. An output that ends
must be `complete`, with a call, and all calls must fit their tool's schema. One that is cut off must not be `recovered`, and what is whole of it must
fit. Where no token may follow, that is a dead end. Ends with 77 where neither engine is there.

With --model, llama.cpp samples with that model instead, under the GBNF of --requests N requests. The time in which its sampler finds the tokens that
may follow is set against the time under llama.cpp's own grammar for the same request, as `replay` has it without `faithful`: for the same text, while
both take it. Only what is cut off in its reasoning may have no call.
"""
import argparse
import collections
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dialects

TOOLS = {
    "get_weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "days"],
    },
    "send_mail": {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}},
            "urgent": {"type": "boolean"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "meta": {"type": "object", "properties": {"tag": {"type": "string"}, "level": {"type": "number"}}, "required": ["tag"]},
        },
        "required": ["to"],
    },
}
REQUEST = {
    "messages": [{"role": "user", "content": "Weather in Oslo for 3 days, then mail it."}],
    "tools": [{"type": "function", "function": {"name": name, "description": name, "parameters": schema}} for name, schema in TOOLS.items()],
    "tool_choice": "required",
    "reasoning_format": "auto",
    "now": 1787400000,
}
KINDS = {"required": {"enable_thinking": False}, "thinking": {"enable_thinking": True}}
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list, "object": dict}


def fits(value, schema):
    """Whether a value fits, as far as the schemas above go."""
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    kind = schema.get("type")
    if kind and not (isinstance(value, TYPES[kind]) and (kind == "boolean") == isinstance(value, bool)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        return False
    if isinstance(value, list):
        return all(fits(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return set(schema.get("required", [])) <= set(value) and all(fits(value[key], known[key]) for key in value if key in known)
    return True


def wrong(output, parsed):
    """What is wrong with how an output was read, or nothing."""
    message, ended = parsed.get("message"), not output["partial"]
    if message is None:
        return f"an error: {parsed.get('error')}"
    calls = message.get("tool_calls", [])
    if parsed["status"] == "recovered" or ended and parsed["status"] != "complete":
        return parsed["status"]
    if not calls and (ended or message["content"].strip()):
        return "no call"
    for call in calls if ended else calls[:-1]:
        try:
            arguments = json.loads(call["arguments"])
        except ValueError:
            return "arguments that are no JSON"
        if call["name"] not in TOOLS or not fits(arguments, TOOLS[call["name"]]):
            return f"a call that does not fit: {call['name']}({call['arguments']})"
    return None


def vocabulary(gbnf):
    """The bytes, the end, and texts of a grammar, whole and in halves."""
    texts = {bytes(text, "utf-8").decode("unicode_escape").encode("latin-1", "ignore") for text in re.findall(r'"((?:[^"\\]|\\.)*)"', gbnf)}
    texts |= {text[: len(text) // 2] for text in texts} | {b"celsius", b"Oslo", b'"Oslo"', b"3", b"true", b"null"}
    return dialects.VOCABULARY + sorted(text for text in texts if 1 < len(text) < 80 or text == b"3")


class Writer:
    """Writes with random logits what an engine allows."""

    def __init__(self, name, text, tokens):
        import numpy

        self.numpy, self.name, self.tokens = numpy, name, tokens
        self.engine = (dialects.XGrammar if name == "xgrammar" else dialects.LLGuidance)(tokens)
        self.loaded = self.engine.load(DIALECT[name], text)

    def write(self, rng, limit):
        """A text, and how it ended: whole, cut off, or nothing could follow."""
        numpy, tokens, out = self.numpy, self.tokens, b""
        if self.name == "xgrammar":
            matcher = self.engine.xg.GrammarMatcher(self.loaded)
            mask = numpy.zeros((1, (len(tokens) + 31) // 32), dtype=numpy.int32)
        else:
            matcher = self.loaded.deep_copy()
        weights = numpy.array([2.5 if len(token) > 1 else 0 for token in tokens])
        weights[dialects.EOS] = 6
        for _ in range(limit):
            if self.name == "xgrammar":
                mask[:] = -1
                matcher.fill_next_token_bitmask(mask)
                bits = mask.view(numpy.uint8)
            else:
                bits = numpy.frombuffer(matcher.compute_bitmask(), dtype=numpy.uint8)
                if matcher.is_error():
                    return out, "an error"
            allowed = numpy.unpackbits(bits.reshape(-1), bitorder="little")[: len(tokens)].astype(bool)
            if not allowed.any():
                return out, "a dead end"
            # The largest of logits with Gumbel's noise is a sample of their distribution.
            logits = weights + rng.normal(size=len(tokens)) + rng.gumbel(size=len(tokens))
            token = int(numpy.argmax(numpy.where(allowed, logits, -numpy.inf)))
            if token == dialects.EOS:
                return out, "end"
            if not (matcher.accept_token(token) if self.name == "xgrammar" else matcher.consume_token(token)):
                return out, "a token that the mask has is refused"
            out += tokens[token]
        return out, "cut off"


DIALECT = {"xgrammar": "portable-gbnf", "llguidance": "lark"}


def replay(binary, cases):
    lines = "\n".join(map(json.dumps, cases))
    done = subprocess.run([binary, "replay"], input=lines, capture_output=True, text=True, check=True, env=dict(os.environ, TZ="UTC"))
    return [json.loads(line) for line in done.stdout.strip("\n").split("\n")]


def cases(options):
    paths = [os.path.abspath(os.path.join(folder, name)) for folder in options.templates for name in sorted(os.listdir(folder))]
    paths = [path for path in paths if path.endswith(".jinja") and options.only in path][:: options.every]
    for path in paths:
        for kind in options.kinds.split(","):
            scenario = {"id": f"{os.path.basename(path)} {kind}", "template": path, "bos": "<BOS>", "eos": "<EOS>", "timeline": False}
            yield dict(scenario, defaults="library", faithful=True, dialects=not options.model, request=dict(REQUEST, **KINDS[kind]))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--templates", nargs="+", required=True)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--per", type=int, default=2, help="outputs for each template, kind of request and engine")
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--tokens", type=int, default=250)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="")
    options.add_argument("--show", type=int, default=0)
    options.add_argument("--model", help="a model for llama.cpp, as judges/run.py --get model gives it")
    options.add_argument("--requests", type=int, default=40, help="how many the model gets")
    options.add_argument("--timed", type=int, default=40, help="for how many tokens of an output time is taken")
    options.add_argument("--max-cost", type=float, default=float("inf"), help="fail where a token under our grammar costs more of llama.cpp's")
    options.add_argument("--min", type=float, default=0, help="fail where fewer are right, in percent")
    options = options.parse_args()
    binary = options.bin = os.path.abspath(options.bin)
    options.templates = [folder for folder in options.templates if os.path.isdir(folder)]
    scenarios = list(cases(options))
    asked = zip(scenarios, replay(binary, scenarios))
    # A template without a way to write calls constrains nothing.
    asked = [(scenario, answer) for scenario, answer in asked if answer.get("params", {}).get("grammar")]
    written = with_model(asked, options) if options.model else with_engines(asked, options)
    again = [dict(scenario, dialects=False, outputs=[output]) for _, scenario, output, _ in written]
    total, right, ended = collections.Counter(), collections.Counter(), collections.Counter()
    for (engine, scenario, output, fault), answer in zip(written, replay(binary, again)):
        fault = fault or wrong(output, answer["parses"][0])
        total[engine] += 1
        right[engine] += not fault
        ended[engine] += not output["partial"]
        if fault and options.show > 0:
            options.show -= 1
            print(f"--- {engine}, {scenario['id']}: {fault}\n{output['text']!r}")
    for engine in sorted(total):
        share = 100 * right[engine] / total[engine]
        print(f"{engine:12} {right[engine]}/{total[engine]} right, {share:.2f} %; {ended[engine]} came to an end")
    sys.exit(any(100 * right[engine] / total[engine] < options.min for engine in total))


def with_model(asked, options):
    import llama_model

    # One request of a template, all over the list: with reasoning and without in turn.
    of = collections.defaultdict(list)
    for one in asked:
        of[one[0]["template"]].append(one)
    of = list(of.values())
    asked = [of[number * len(of) // options.requests] for number in range(min(options.requests, len(of)))]
    asked = [kinds[number % len(kinds)] for number, kinds in enumerate(asked)]
    own = [{name: value for name, value in scenario.items() if name not in ("defaults", "faithful")} for scenario, _ in asked]
    theirs = [answer["params"] for answer in replay(options.bin, own)]
    return llama_model.sampled(asked, theirs, options)


def with_engines(asked, options):
    if not any(map(importlib.util.find_spec, ("xgrammar", "llguidance"))):
        print("constrained: skipped: neither xgrammar nor llguidance is there")
        sys.exit(77)
    written, spent, engines = [], collections.Counter(), dialects.engines()
    for number, (scenario, answer) in enumerate(asked):
        for name in engines:
            start, printed = time.time(), answer["dialects"][DIALECT[name]]
            try:
                writer = Writer(name, printed["text"], vocabulary(answer["params"]["grammar"]))
            except Exception as error:
                written.append((name, scenario, {"text": "", "partial": True}, f"{printed.get('error', '')} {error}"[:400]))
                continue
            for index in range(options.per):
                rng = writer.numpy.random.default_rng([options.seed, number, index])
                text, end = writer.write(rng, options.tokens)
                output = {"text": text.decode(errors="ignore"), "partial": end != "end"}
                written.append((name, scenario, output, None if end in ("end", "cut off") else end))
            spent[name] += time.time() - start
    print(f"{len(asked)} requests; " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in spent.items()))
    return written


if __name__ == "__main__":
    main()
