#!/usr/bin/env python3
"""The gold calls of BFCL v4, as each template writes them, under `Matcher`: how much of them is forced, and what is left behind each byte.

    gold.py BFCL.whl TEMPLATES... [--every N] [--cuts N] [--show N]    BFCL.whl: of the PyPI package bfcl-eval 2026.3.23; TEMPLATES: folders

A byte counts as forced where `forced` begins with it, and is contradicted where `forced` says something else. With --cuts, at so many places of each
output, XGrammar and llguidance read the grammar of the rest, and must take the rest, and of the rest with a character changed what the matcher
takes. Every Nth row is looked at. Calls that their tool's schema does not allow, or that have what it does not declare, are left out. Needs the Python package `chatparse`.
"""
import argparse
import collections
import json
import os
import statistics
import sys
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dialects
from chatparse import DeltaKind, Dialect, Error, Template

KINDS = ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"]
THOUGHT = "Medlar."
TYPES = {"dict": "object", "float": "number", "tuple": "array"}


def schema(value):
    """A schema of BFCL, with the names that JSON Schema has for types."""
    if isinstance(value, list):
        return [schema(each) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {key: schema(each) for key, each in value.items()}
    kind = fields.get("type")
    if kind == "any":
        del fields["type"]
    elif isinstance(kind, str):
        fields["type"] = TYPES.get(kind, kind)
    return fields


def first(value):
    """Of what a gold answer allows, the first: of its lists, and those of its members."""
    if isinstance(value, dict):
        allowed = {key: each if isinstance(each, list) else [each] for key, each in value.items()}
        return {key: first(each[0]) for key, each in allowed.items() if each and each[0] != ""}
    return [first(each) for each in value] if isinstance(value, list) else value


def ordered(value, schema):
    """A value with its members in the order of the schema, which grammars keep to. ValueError where one is not declared: no call may have it."""
    if isinstance(value, list):
        return [ordered(each, schema.get("items", {})) for each in value]
    known = schema.get("properties")
    if not isinstance(value, dict) or not known:
        return value
    return {key: ordered(value[key], known[key]) for key in sorted(value, key=list(known).index)}


def rows(wheel):
    with zipfile.ZipFile(wheel) as files:
        for kind in KINDS:
            read = lambda folder: [json.loads(line) for line in files.read(f"bfcl_eval/data/{folder}BFCL_v4_{kind}.json").decode().splitlines()]
            answers = {row["id"]: row["ground_truth"] for row in read("possible_answer/")}
            for row in read(""):
                name = lambda text: text.replace(".", "_")
                tools = [{"type": "function", "function": {**tool, "name": name(tool["name"]), "parameters": schema(tool["parameters"])}}
                         for tool in row["function"]]
                schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
                try:
                    calls = [(name(tool), ordered(first(arguments), schemas[name(tool)]))
                             for call in answers[row["id"]] for tool, arguments in call.items()]
                except ValueError:
                    continue
                yield {"messages": row["question"][0], "tools": tools, "tool_choice": "required", "parallel_tool_calls": len(calls) > 1}, calls


def written(template, request, calls, thought):
    """The params of a request, and how the template writes the calls; nothing where it does not, or they do not fit."""
    params = template.params(request)
    said = [{"type": "function", "id": f"abc{index:06}", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(calls)]
    turn = {"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": said}
    whole = template.params({**request, "messages": [*request["messages"], turn], "add_generation_prompt": False}).prompt
    if not whole.startswith(params.prompt):
        return None
    output = whole[len(params.prompt) :]
    made = params.parse(output).tool_calls
    fits = [call.name for call in made] == [name for name, _ in calls] and all(call.valid for call in made)
    return (params, output.encode()) if fits else None


def walk(params, output, count, begin):
    """Where all calls end, how many bytes up to there are forced, from `begin` on, and what is wrong."""
    matcher, stream, ended, sum_of = params.matcher(), params.stream(), 0, 0
    for place, byte in enumerate(output):
        # What is behind all calls, the end of the turn, is not the grammar's. Some calls end where something else begins.
        if matcher.may_end and (ended == count or not matcher.can(output[place : place + 1])):
            return place, sum_of, None
        forced = matcher.forced
        if forced and forced[0] != byte:
            return place, sum_of, "contradicted"
        if not matcher.feed(output[place : place + 1]):
            return place, sum_of, "refused"
        sum_of += bool(forced) and place >= begin
        ended += sum(delta.kind == DeltaKind.TOOL_END for delta in stream.feed(output[place : place + 1]))
    return len(output), sum_of, None if matcher.may_end else "not at an end"


def rests(params, output, cuts, engines):
    """Of a whole output: for each engine how often the grammar of the rest takes the rest, how often it takes one with a byte changed though
    that is not allowed, or does not though it is, and of how many."""
    begun = params.matcher()
    for at in sorted({cut * len(output) // cuts for cut in range(cuts)}):
        if output[at] & 0xC0 == 0x80:
            continue
        matcher = begun.copy()
        matcher.feed(output[:at])
        rest = output[at:].decode()
        place = len(rest) // 2
        other = rest[:place] + ("^" if rest[place] == "~" else "~") + rest[place + 1 :]
        changed = matcher.copy()
        allowed = changed.feed(other) == len(other.encode()) and changed.may_end
        for name, dialect in (("xgrammar", Dialect.PORTABLE_GBNF), ("llguidance", Dialect.LARK)):
            if name in engines:
                try:
                    loaded = engines[name].load(dialect.name.lower().replace("_", "-"), matcher.grammar(dialect).text)
                    taken, also = (engines[name].accepts(loaded, text) for text in (rest, other))
                except (RuntimeError, ValueError) as error:
                    print(f"{name} does not load the grammar behind {output[:at]!r}: {str(error).splitlines()[0]}")
                    taken, also = False, allowed
                yield name, taken, also and not allowed, allowed and not also


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("wheel")
    options.add_argument("templates", nargs="+")
    options.add_argument("--every", type=int, default=50)
    options.add_argument("--cuts", type=int, default=0)
    options.add_argument("--show", type=int, default=0)
    options = options.parse_args()
    cases = list(rows(options.wheel))[:: options.every]
    engines = dialects.engines() if options.cuts else {}
    shares, outputs, every = [], 0, 0
    faults, found_rests = collections.Counter(), {name: collections.Counter() for name in engines}
    for path in sorted(os.path.join(folder, name) for folder in options.templates for name in os.listdir(folder) if name.endswith(".jinja")):
        with open(path, encoding="utf-8", newline="") as file:
            template = Template(file.read(), bos="<BOS>", eos="<EOS>")
        bytes_of, forced_of = 0, 0
        for request, calls in cases:
            # Some templates write an empty thought in the prompt alone, or none in front of calls.
            for thinks, thought in ((True, ""), (False, ""), (True, THOUGHT)):
                try:
                    found = written(template, {**request, "enable_thinking": thinks}, calls, thought)
                except Error:
                    found = None
                if found:
                    break
            else:
                continue
            params, output = found
            begin = output.find(THOUGHT.encode()) + len(THOUGHT) if thought else 0
            end, forced, wrong = walk(params, output, len(calls), begin)
            outputs += 1
            bytes_of, forced_of = bytes_of + end - begin, forced_of + forced
            faults[wrong] += 1
            for name, taken, wide, narrow in rests(params, output[:end], options.cuts, engines) if options.cuts and not wrong else ():
                found_rests[name].update(rests=1, taken=taken, wide=wide, narrow=narrow)
                wrong = wrong or (f"{name}: the rest" if not taken or wide or narrow else None)
            if wrong and options.show > 0:
                options.show -= 1
                print(f"{os.path.basename(path)}: {wrong}: {output[:end]!r} | {output[end:]!r}")
        if bytes_of:
            shares.append((100 * forced_of / bytes_of, os.path.basename(path)))
            every += bytes_of
    (least, low), (most, high) = min(shares), max(shares)
    print(f"{len(shares)} templates, {outputs} outputs with calls, {every} bytes: forced are {statistics.median(share for share, _ in shares):.1f} % in the "
          f"median template, {least:.1f} % in {low}, {most:.1f} % in {high}; {faults['contradicted']} outputs contradict it, "
          f"{faults['refused']} have what it does not allow, {faults['not at an end']} have no end")
    for name, found in found_rests.items():
        print(f"{name}: {found['taken']} of {found['rests']} rests are taken; with a character changed {found['wide']} are taken that "
              f"may not be, and {found['narrow']} are not that may be")


if __name__ == "__main__":
    main()
