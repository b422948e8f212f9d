"""The cases of tests/cases: each output in one piece, byte by byte and in pieces of seven."""

import json
import sys
from functools import cache
from pathlib import Path

import pytest
from chatparse import Answer, Api, Error, Outcome, Template

pytest.importorskip("tomllib")
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "cases"))
from expand import all_lines  # noqa: E402


@cache
def template_of(own: str, name: str) -> Template:
    return Template(**json.loads(own)) if own else Template.builtin(name)


def value(arguments):
    """Arguments are values where they are JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def request_of(line):
    return line["request"] if "request" in line else Answer(Api[line["api"].upper()], line["body"]).request


def said(message):
    calls = [(call.name, value(call.arguments), call.id) for call in message.tool_calls]
    return message.outcome, message.reasoning, message.content, calls


@pytest.mark.parametrize("line", [pytest.param(line, id=f"{line['file']}: {line['name']} ({line['template']})") for line in all_lines()])
def test_case(line):
    own = json.dumps(line["own"]) if "own" in line else ""
    if "error" in line:
        with pytest.raises(Error) as failed:
            template_of(own, line["template"]).params(request_of(line))
        assert line["error"] in f"{failed.value.kind}: {failed.value}"
        return
    if "chat" in line:
        assert json.loads(request_of(line)) == line["chat"]
        return
    template = template_of(own, line["template"])
    params = template.params(line["request"])
    assert line.get("prompt", params.prompt) == params.prompt
    assert line.get("notes") in (None, params.to_dict().get("notes"))
    if "output" not in line:
        return
    output = line["output"].encode()
    if "after" in line:
        before, after = params.prompt, template.params(line["after"]).prompt
        opening, closing = next((pair for pair in line["opened"] if before.endswith(pair[0])), ("", ""))
        before = before.removesuffix(opening)
        assert after.startswith(before)
        output = (closing + after[len(before) :]).encode()
    calls = [(call["name"], value(call["arguments"]), call["id"]) for call in line["calls"]]
    expected = Outcome[line["status"].upper()], line["reasoning"], line["content"], calls
    for size in (len(output) or 1, 1, 7):
        stream = params.stream()
        for at in range(0, len(output), size):
            stream.feed(output[at : at + size])
        stream.finish(partial=line["limit"])
        message = stream.message()
        assert said(message) == expected
        if "diagnostics" in line:
            assert [found.kind.name.lower() for found in message.diagnostics] == line["diagnostics"]
