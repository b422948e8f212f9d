#!/usr/bin/env python3
"""The types of requests in the clients' own packages, beside the tables of docs/requests.md: has each field a row, and is it what the row says?

    sdk_fields.py --bin target/release/chatparse --templates FOLDER [--requests N] [--seed N] [--show N]

Fails for a type or a field that has no row. Then it makes N requests for each API from the types, and gives them to `chatparse replay`. It fails

- for an error that does not begin with the path of a field,
- where a request changes by a field that no model sees, is the host's, or has a note,
- and where no request changed by a field that is read. Each of those was there and was taken away in some requests; `NOT_ALONE` has the exceptions.

Needs openai 3.57.0 and anthropic 2.14.0, and skips with a word where one is missing.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import typing

SKIPPED = 77
GUIDE = os.path.join(os.path.dirname(__file__), "..", "docs", "requests.md")
KINDS = ["read", "host", "unseen", "noted", "refused"]
TEMPLATES = ["json-call.jinja", "qwen3-coder.jinja", "gpt-oss.jinja", "json-array-ids.jinja"]
# Shows all that a template can see.
ALL = "{{ messages | tojson }} {{ tools | tojson }} {{ reasoning_effort }} {{ enable_thinking }}{% if add_generation_prompt %} Go{% endif %}"
# JSON Schemas, and what is shown as it is.
OPAQUE = {"InputSchemaTyped"}

# Fields that are read, but change nothing by being there, and why.
NOT_ALONE = {
    "request.messages.refusal": "counts where there is no content",
}
# The blocks of Messages that only one of the two roles has.
OF_MODELS = {"thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "tool_search_tool_result",
             "fallback", "mcp_tool_listing"}
OF_USERS = {"image", "document", "search_result", "tool_result"}


def skip(why):
    print(f"sdk_fields: skipped: {why}")
    sys.exit(SKIPPED)


def tables():
    """By API and object: the kind of each field."""
    found, api = {}, None
    for line in open(GUIDE, encoding="utf-8"):
        if line.startswith("### "):
            api = line[4:].strip()
        if not line.startswith("| `") or line.count(" | ") != 5:
            continue
        names, *cells = line.strip().strip("|").split(" | ")
        row = {}
        for kind, cell in zip(KINDS, cells):
            # A reason follows the names that it is for.
            for part in re.split(r"\. (?=`|all others)", cell):
                listed = part.split(": ")[0]
                row |= {name: kind for name in re.findall(r"`(\w+)`", listed)}
                row |= {"*": kind} if "all others" in listed else {}
        for name in re.findall(r"`([\w.]+)`", names):
            found.setdefault(api, {})[name] = row
    return found


class Types:
    """The types of an API's requests, each at the row that it has in the table."""

    def __init__(self, api, rows, root, hints):
        self.api, self.rows, self.hints, self.missing = api, rows, hints, collections.Counter()
        self.walked = set()
        self.walk(root, "request")

    def row(self, parent, field, kind):
        kind = re.sub(r"(_\d+)+$", "", kind if isinstance(kind, str) else "")
        return next((name for name in (f"{field}.{kind}", kind, f"{parent}.{field}") if name in self.rows and name != ""), None)

    def kind(self, row, field):
        known, all_of = self.rows[row], self.rows["all"] if row != "request" else {}
        return known.get(field) or all_of.get(field) or known.get("*")

    def rows_of(self, kind, parent, field):
        """The rows of a dictionary's type at a field: one for each literal that its type may be."""
        literals = typing.get_args(self.hints(kind).get("type")) or [""]
        literals = [it for it in flat(literals) if isinstance(it, str)] or [""]
        return [(literal, self.row(parent, field, literal)) for literal in literals]

    def walk(self, kind, row):
        if (kind, row) in self.walked:
            return
        self.walked.add((kind, row))
        if "type" in self.rows[row] or row != "request" and "*" in self.rows[row] and self.rows[row]["*"] in ("host", "read") and len(self.rows[row]) == 1:
            return
        for field, inner in self.hints(kind).items():
            its = self.kind(row, field) or (self.kind("request", field) if row == "request" else None)
            if its is None and field != "type":
                self.missing[f"{self.api}: no row for the field {field} of {row} ({kind.__name__})"] += 1
            if its != "read" or field not in self.rows[row]:
                continue
            for child in dictionaries(inner):
                if child.__name__ in OPAQUE:
                    continue
                for literal, found in self.rows_of(child, row, field):
                    if found is None:
                        self.missing[f"{self.api}: no row for {literal or child.__name__} at {field} of {row}"] += 1
                    else:
                        self.walk(child, found)


def flat(args):
    for arg in args:
        yield from flat(typing.get_args(arg)) if typing.get_args(arg) else [arg]


def dictionaries(annotation):
    if is_typeddict(annotation):
        yield annotation
    else:
        for arg in typing.get_args(annotation):
            yield from dictionaries(arg)


def usable(body, rng):
    """Makes names of tools different, chooses among them, and gives roles the blocks that they may have. Returns the body."""
    names = []

    def rename(tool):
        for inner in tool.get("tools", []) if tool.get("type") == "namespace" else []:
            rename(inner)
        at = next((tool[kind] for kind in ("function", "custom") if isinstance(tool.get(kind), dict)), tool)
        if "name" in at and tool.get("type") != "namespace":
            at["name"] += f"_{len(names)}"
            names.append(at["name"])

    for tool in body.get("tools", []):
        rename(tool)
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        for at in [choice, choice.get("function"), choice.get("custom")]:
            if isinstance(at, dict) and "name" in at and names:
                at["name"] = rng.choice(names)
        if not names or rng.random() < 0.5:
            del body["tool_choice"]
    for message in body.get("messages", []):
        message.setdefault("content", "Hello")
        blocks = message.get("content") if isinstance(message.get("content"), list) else []
        for index, block in enumerate(blocks):
            if block.get("type") in (OF_MODELS if message.get("role") == "user" else OF_USERS) and "image_url" not in block:
                blocks[index] = {"type": "text", "text": "Instead."}
    return body


def resolves(body, path):
    for key in path:
        if isinstance(body, list) and not (isinstance(key, int) and key < len(body)) or isinstance(body, dict) and key not in body:
            return False
        body = body[key]
    return True


class Maker:
    """Makes values of the types."""

    def __init__(self, types, rng):
        self.types, self.rng, self.count = types, rng, 0
        # The fields of the request at hand that may be taken away: their paths, and the rows that they are of.
        self.places = []

    def word(self, field):
        self.count += 1
        if field in ("name", "tool_name"):
            return self.rng.choice(["look", "send", "find", "wait"])
        if field in ("call_id", "tool_use_id", "tool_call_id"):
            return self.rng.choice(["call_a", "call_b"])
        if field in ("server_label", "server_name", "mcp_server_name", "namespace"):
            return self.rng.choice(["crm", "shop"])
        if field == "arguments":
            return json.dumps({"city": f"Oslo{self.count}"})
        return {"syntax": "regex", "definition": 'start: "a"', "data": "AAAA", "image_url": "data:image/png;base64,AAAA", "reasoning_effort": "low",
                "effort": "low", "allowed_callers": "direct", "pattern": "a"}.get(field, f"word{self.count}")

    def schema(self):
        self.count += 1
        return {"type": "object", "properties": {f"city{self.count}": {"type": "string"}}}

    def of(self, annotation, row, field, path, deep):
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if is_typeddict(annotation):
            return self.dictionary(annotation, row, field, path, deep)
        if origin is typing.Literal or str(origin) == "typing.Literal":
            return self.rng.choice(args)
        if origin is dict:
            return self.schema() if field in ("parameters", "input_schema", "schema") else {"city": f"Oslo{self.count}"}
        if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
            some = [arg for arg in args if arg is not type(None) and not hasattr(arg, "model_fields")]
            good = [arg for arg in some if not self.is_refused(arg, row, field)]
            return self.of(self.rng.choice(good if good and self.rng.random() < 0.97 else some), row, field, path, deep)
        if annotation is object:
            return {"query": self.word(field)}
        if annotation in (str, int, float, bool) or annotation is typing.Any or not args:
            made = {int: self.rng.randint(1, 9), float: self.rng.choice([0.5, 1.0]), bool: self.rng.random() < 0.5}
            return made.get(annotation, self.word(field))
        # Some list of the first argument.
        long = {"messages": (1, 5), "input": (1, 6), "tools": (0, 3), "content": (1, 3)}.get(field, (0, 2))
        return [self.of(args[0], row, field, [*path, index], deep + 1) for index in range(self.rng.randint(*long))]

    def is_refused(self, annotation, row, field):
        if not is_typeddict(annotation):
            return False
        rows = [found for _, found in self.types.rows_of(annotation, row, field)]
        return any(found and (self.types.rows[found].get("type") == "refused" or self.types.rows[found].get("*") == "host") for found in rows)

    def dictionary(self, annotation, parent, field, path, deep):
        hints = self.types.hints(annotation)
        made = {}
        if "type" in hints:
            made["type"] = self.of(hints["type"], parent, "type", [*path, "type"], deep)
        row = "request" if not path else self.types.row(parent, field, made.get("type"))
        for name, inner in hints.items():
            kind = self.types.kind(row, name) if row else None
            is_needed = name in needed(annotation)
            if name == "type" or kind == "refused" and self.rng.random() < 0.97 or name in ("plain", "for_training"):
                continue
            if is_needed or self.rng.random() < (0.5 if deep < 4 else 0.2):
                made[name] = self.of(inner, row or parent, name, [*path, name], deep + 1)
                if row and kind and name in self.types.rows[row] and path is not None:
                    self.places.append(([*path, name], row, name, kind))
        return made


def without(body, path):
    body = json.loads(json.dumps(body))
    at = body
    for key in path[:-1]:
        at = at[key]
    at.pop(path[-1], None)
    return body


def replay(program, scenarios):
    """The answers to the scenarios, in order."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    done = subprocess.run([program, "replay"], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def said(answer):
    """What a request comes to, but for its notes."""
    if "error" in answer:
        return answer["error"]
    return {name: value for name, value in answer["params"].items() if name != "notes"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="target/release/chatparse")
    parser.add_argument("--templates", default="templates")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--refusals", type=int, default=0, help="print as many errors of requests, with their counts")
    args = parser.parse_args()
    known, failures = tables(), []
    hints = lambda kind: {name: stripped(inner) for name, inner in typing_extensions.get_type_hints(kind).items()}
    for name, root in ROOTS:
        api = name.split(",")[0]
        types = Types(name, known[api], root, hints)
        failures += sorted(types.missing)
        print(f"{name}: types {len({kind for kind, _ in types.walked})}, without a row {len(types.missing)}")
        maker = Maker(types, random.Random(args.seed))
        scenarios, places = [], []
        while len(places) < args.requests:
            maker.places = []
            body = maker.dictionary(root, "", "", [], 0)
            body = usable(body, maker.rng) | {"hosted_tools": "keep"}
            if api == "Responses":
                body.setdefault("input", "Hello")
            maker.places = [place for place in maker.places if resolves(body, place[0])]
            one = len(places) % (len(TEMPLATES) + 1)
            template = {"template": os.path.join(args.templates, TEMPLATES[one])} if one < len(TEMPLATES) else {"template_source": ALL}
            scenario = template | {"api": api.lower(), "defaults": "library"}
            place = maker.rng.sample(maker.places, min(3, len(maker.places)))
            scenarios += [scenario | {"request": body}] + [scenario | {"request": without(body, path)} for path, *_ in place]
            places.append(place)
        answers = iter(replay(args.bin, scenarios))
        asked = iter(scenarios)
        errors, changed, tried = collections.Counter(), collections.Counter(), collections.Counter()
        fine, refusals = 0, collections.Counter()
        for place in places:
            whole, body = next(answers), next(asked)["request"]
            fine += "error" not in whole
            refusals[re.sub(r"\[?\d+\]?", "", whole.get("error", ""))[-110:]] += 1
            for answer, (path, row, field, kind) in [(whole, (None, None, None, None))] + [(next(answers), it) for it in place]:
                if path is not None:
                    next(asked)
                error = answer.get("error")
                if error and not re.match(r"[a-z_]+(\[\d+\]|\.[A-Za-z_]+)*: ", error):
                    errors[re.sub(r"\d+", "N", error)] += 1
                if path is None or "error" in whole:
                    continue
                differs = said(answer) != said(whole)
                if kind == "read":
                    tried[row, field] += 1
                    changed[row, field] += differs
                elif differs:
                    failures.append(f"{name}: {row}.{field} is {kind}, and changes what comes of {json.dumps(body)[:300]}")
        failures += [f"{name}: names no field, {count} times: {error}" for error, count in errors.most_common()]
        idle = [place for place in tried if not changed[place] and tried[place] > 9 and ".".join(place) not in NOT_ALONE]
        failures += [f"{name}: {row}.{field} is read, and changes nothing in {tried[row, field]} requests" for row, field in sorted(idle)]
        print(f"{name}: requests {args.requests}, converted and rendered {fine}; fields that are read and were tried {len(tried)}, change nothing {len(idle)}")
        for refusal, count in refusals.most_common(args.refusals):
            print(f"  {count:5} {refusal}")
    for failure in failures[: args.show]:
        print("FAIL", failure)
    print(f"failures: {len(failures)}")
    sys.exit(bool(failures))


def needed(kind):
    """The fields that a dictionary must have."""
    given = typing_extensions.get_type_hints(kind, include_extras=True)
    return {name for name, inner in given.items() if str(typing.get_origin(inner)).endswith(".Required")}


def stripped(annotation):
    """The annotation without Required and NotRequired."""
    while str(typing.get_origin(annotation)).rsplit(".", 1)[-1] in ("Required", "NotRequired", "Annotated"):
        annotation = typing.get_args(annotation)[0]
    return annotation


try:
    import typing_extensions
    from anthropic.types import message_create_params as messages
    from anthropic.types.beta import message_create_params as beta
    from openai.types.chat import completion_create_params as chat
    from openai.types.responses import response_create_params as responses
    from typing_extensions import is_typeddict
except ImportError as missing:
    skip(missing)
ROOTS = [
    ("Chat completions", chat.CompletionCreateParamsStreaming),
    ("Responses", responses.ResponseCreateParamsStreaming),
    ("Messages", messages.MessageCreateParamsStreaming),
    ("Messages, beta", beta.MessageCreateParamsStreaming),
]

if __name__ == "__main__":
    main()
