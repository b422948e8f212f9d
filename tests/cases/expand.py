#!/usr/bin/env python3
"""expand.py: the cases of the files beside it as lines of JSON, one for each template, request and output of a case. README.md says
what is in the files; c-tests/cases.c and bindings/python/tests/test_cases.py say what they do with a line."""

import json
import sys
import tomllib
from pathlib import Path

MESSAGES = [{"role": "user", "content": "Hi"}]


def many(value):
    return value if isinstance(value, list) else [value]


def named(file, names):
    """The templates of these names and groups."""
    return [name for given in many(names) for name in file.get("groups", {}).get(given, [given])]


def body(file, fields):
    tools = file.get("tools", {})
    body = {"messages": MESSAGES, "tools": list(tools), **file.get("request", {}), **fields}
    offered = ({"type": "function", "function": {"name": tool, "parameters": tools[tool]}} if isinstance(tool, str) else tool for tool in body["tools"])
    return {**body, "tools": list(offered)}


def calls(file, case, template):
    """Name, arguments as text, and id of each call."""
    pairs = [pair for call in case.get("calls", []) for pair in call.items()]
    pattern = file.get("ids", {}).get(template, "")
    ids = case.get("ids", [pattern.replace("{index}", str(index)).replace("{name}", name) for index, (name, _) in enumerate(pairs)])
    return [
        {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given, ensure_ascii=False), "id": id}
        for (name, given), id in zip(pairs, ids, strict=True)
    ]


def said(case, calls):
    """The message as a template takes it."""
    message = {"role": "assistant", "content": case.get("content", "")}
    if "reasoning" in case:
        message["reasoning_content"] = case["reasoning"]
    if calls:
        functions = ({"name": call["name"], "arguments": call["arguments"]} for call in calls)
        message["tool_calls"] = [{"type": "function", "id": f"abcdef{index:03}", "function": function} for index, function in enumerate(functions)]
    return message


def bodies(file, case):
    for fields in many(case.get("request", {})):
        if isinstance(fields, str) and fields.startswith("{"):
            yield json.loads(fields)
        else:
            yield body(file, file["requests"][fields] if isinstance(fields, str) else fields)


def lines(path):
    file = tomllib.loads(path.read_text(encoding="utf-8"))
    for case in file["case"]:
        of = {"file": path.name, "name": case["name"], "api": case.get("api", "chat_completions")}
        for asked, chat in case.get("asks", []):
            yield {**of, "template": "chatml", "body": json.loads(asked), "chat": json.loads(chat)}
        for request in bodies(file, case):
            for key, says in (("writes", "prompt"), ("fails", "error")):
                for source, expected in case.get(key, []):
                    own = {"source": source, "bos": "<s>", "eos": "</s>"}
                    yield {"file": path.name, "name": case["name"], "template": source, "own": own, "request": request, says: expected}
        except_ = named(file, case.get("except", []))
        for template in named(file, case.get("template", file.get("template", []))):
            if template in except_:
                continue
            for asked, error in case.get("refuses", []):
                yield {**of, "template": template, "body": json.loads(asked), "error": error}
            if {"asks", "refuses", "writes", "fails"} & case.keys():
                continue
            line = {"file": path.name, "name": case["name"], "template": template}
            line |= {"own": file["templates"][template]} if template in file.get("templates", {}) else {}
            line |= {"reasoning": case.get("reasoning", ""), "calls": calls(file, case, template)}
            line |= {"limit": case.get("ended_by") == "limit", "status": case.get("status", "complete")}
            line |= {key: case[key] for key in ("prompt", "diagnostics", "notes", "error") if key in case}
            for request in bodies(file, case):
                line["request"] = request
                if not {"output", "content", "reasoning", "calls"} & case.keys():
                    yield {**line}
                    continue
                if "output" not in case:
                    line["after"] = {**request, "messages": [*request["messages"], said(case, line["calls"])], "add_generation_prompt": False}
                    line["opened"] = [] if line["reasoning"] else file.get("opened", {}).get(template, [])
                for output in many(case.get("output", "")):
                    content = case.get("content", "" if {"reasoning", "calls"} & case.keys() else output)
                    yield {**line, "content": content, "output": output}


def all_lines():
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        yield from lines(path)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for line in all_lines():
        print(json.dumps(line, ensure_ascii=False))
