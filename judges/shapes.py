#!/usr/bin/env python3
"""The shapes of messages that clients of OpenAI's API send, beside transformers: who renders what they say?

    shapes.py --bin target/release/chatparse --templates FOLDER... [--max PERCENT] [--show N]

Renders each shape below with each template that shows tools, calls and results, by transformers' own code and by `chatparse replay`, and
prints a row of docs/requests.md for each: in how many templates it is refused, and in how many a text of the messages is not in the
prompt. Skips with a word where the Python package of `transformers_prompts.py`, or the templates, are missing.
"""
import argparse
import collections
import json
import os
import re
import sys

from transformers_prompts import BOS, EOS, NOW, expected, reference, replay

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def tool(name):
    properties = {"city": {"type": "string"}, "days": {"type": "integer"}}
    return {"type": "function", "function": {"name": name, "description": "D", "parameters": {"type": "object", "properties": properties, "required": ["city"]}}}


TOOLS = [tool("get_weather"), tool("find_hotel")]


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name="get_weather", arguments='{"city": "Qargone"}', id="call00001"):
    return {"type": "function", "id": id, "function": {"name": name, "arguments": arguments}}


def calls(*all, content="", **more):
    return said("assistant", content, tool_calls=list(all), **more)


def result(content="Qresone", id="call00001", **more):
    return said("tool", content, tool_call_id=id, **more)


def parts(*texts):
    return [{"type": "text", "text": each} for each in texts]


def shapes():
    """Name to messages and tools. Each text that counts begins with a Q."""
    user, more, system, developer = said("user", "Quserone"), said("user", "Qusertwo"), said("system", "Qsysone"), said("developer", "Qdevone")
    answer, last = said("assistant", "Qtextone"), said("assistant", "Qtexttwo")
    one, two = call(), call("find_hotel", '{"city": "Qargtwo"}', "call00002")
    second = result("Qrestwo", "call00002")
    long_id = "toolu_01A09q90qw90lq917835lq9"
    without_tools = {
        "user": [user],
        "system": [system, user],
        "turns": [user, answer, more],
        "`tool_calls: null`": [user, {**answer, "tool_calls": None}, more],
        "`tool_calls: []`": [user, {**answer, "tool_calls": []}, more],
        "a text part of the user": [said("user", parts("Quserone"))],
        "text parts of the user": [said("user", parts("Quserone", "Qusertwo"))],
        "a text part of the system": [said("system", parts("Qsysone")), user],
        "a text part of the assistant": [user, said("assistant", parts("Qtextone")), more],
        "developer": [developer, user],
        "system and developer": [system, developer, user],
        "two systems": [system, said("system", "Qsystwo"), user],
        "a later system": [user, answer, system, more],
        "a later developer": [user, answer, developer, more],
        "the system last": [user, system],
        "two users": [user, more],
        "two assistants": [user, answer, last, more],
        "the assistant first": [answer, user],
        "the assistant last": [user, answer],
        "an empty assistant": [user, said("assistant", ""), more],
        "an assistant, content null": [user, said("assistant", None), more],
        "only a system": [system],
        "reasoning": [user, {**answer, "reasoning_content": "So."}, more],
        "an image after a text": [said("user", [*parts("Quserone"), IMAGE])],
        "an image before a text": [said("user", [IMAGE, *parts("Quserone")])],
        "an image alone": [said("user", [IMAGE])],
        "names of persons": [{**user, "name": "ann"}, {**answer, "name": "bot"}, {**more, "name": "bob"}],
    }
    with_tools = {
        "user, tools": [user],
        "system, tools": [system, user],
        "developer, tools": [developer, user],
        "turns, tools": [system, user, answer, more],
        "a later system, tools": [system, user, answer, said("system", "Qsystwo"), more],
        "a call": [user, calls(one), result()],
        "a call, content null": [user, calls(one, content=None), result()],
        "a call, no content": [user, {"role": "assistant", "tool_calls": [one]}, result()],
        "a call beside a text": [user, calls(one, content="Qtextone"), result()],
        "a call, an answer": [user, calls(one), result(), last, more],
        "two calls": [user, calls(one, two), result(), second],
        "two calls, results in another order": [user, calls(one, two), second, result()],
        "two calls beside a text": [system, user, calls(one, two, content="Qtextone"), result(), second, last, more],
        "two steps": [user, calls(one), result(), calls(two), second],
        "arguments as an object": [user, calls(call(arguments={"city": "Qargone"})), result()],
        "arguments null": [user, calls(call(arguments=None)), result()],
        "arguments an empty text": [user, calls(call(arguments="")), result()],
        "long ids": [user, calls(call(id=long_id)), result(id=long_id)],
        "a result of JSON": [user, calls(one), result('{"sky": "Qresone", "t": 3}')],
        "an empty result": [user, calls(one), result("")],
        "a result with a name": [user, calls(one), result(name="get_weather")],
        "text parts of a result": [user, calls(one), result(parts("Qresone", "Qrestwo"))],
        "an image in a result": [user, calls(one), result([*parts("Qresone"), IMAGE])],
        "the user after a result": [user, calls(one), result(), more],
        "the system after a result": [user, calls(one), result(), system],
        "reasoning and a call": [user, calls(one, reasoning_content="So."), result()],
        "reasoning, a text and a call": [user, calls(one, content="Qtextone", reasoning_content="So."), result()],
    }
    all = {name: {"messages": messages} for name, messages in without_tools.items()}
    all.update({name: {"messages": messages, "tools": TOOLS} for name, messages in with_tools.items()})
    return {**all, "`tools: []`": {"messages": [system, user], "tools": []}}


def lost(request, prompt):
    return [text for text in set(re.findall(r"Q[a-z]+", json.dumps(request["messages"]))) if text not in prompt]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--templates", nargs="+", required=True)
    ap.add_argument("--show", type=int, default=0)
    ap.add_argument("--max", type=float, help="fail where chatparse refuses or loses more, in percent, or a text without a note")
    args = ap.parse_args()
    files, render = reference(args.templates)
    requests, counts, templates, silent = shapes(), {}, 0, 0
    for file in files:
        with open(file, encoding="utf-8", newline="") as opened:
            source = opened.read()
        scenarios = [{"template": file, "bos": BOS, "eos": EOS, "id": name, "defaults": "library", "request": {**request, "now": NOW}} for name, request in requests.items()]
        made = {answer["id"]: answer.get("params") for answer in replay(args.bin, scenarios)}
        if any(made[name] is None or text not in made[name]["prompt"] for name, text in (("a call", "Qargone"), ("a call", "Qresone"), ("user, tools", "find_hotel"))):
            continue
        templates += 1
        for name, request in requests.items():
            theirs = expected(render, source, request)
            row = counts.setdefault(name, collections.Counter())
            row["refused there"] += theirs is None
            row["lost there"] += theirs is not None and bool(lost(request, theirs[0]))
            row["refused"] += made[name] is None
            gone = lost(request, made[name]["prompt"]) if made[name] else []
            row["lost"] += bool(gone)
            unsaid = bool(gone) and not any(note.startswith("messages") for note in made[name]["notes"])
            silent += unsaid
            if (made[name] is None or gone) and args.show > 0:
                args.show -= 1
                print(f"--- {os.path.basename(file)} {name}: {gone or 'refused'}{' without a note' if unsaid else ''}")
    columns = ["refused there", "lost there", "refused", "lost"]
    print(f"{templates} templates. transformers: refused, a text lost; chatparse: refused, a text lost")
    for name, row in counts.items():
        print(f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |")
    sums = [sum(row[column] for row in counts.values()) for column in columns]
    share = [100 * each / max(1, templates * len(counts)) for each in sums]
    print("| all | " + " | ".join(f"{each:.1f} %" for each in share) + " |")
    print(f"{sums[2] + sums[3]} of {templates * len(counts)} are refused or lose a text, {silent} of them without a note")
    sys.exit(args.max is not None and (share[2] + share[3] > args.max or silent > 0))


if __name__ == "__main__":
    main()
