"""Formats of one's own, and trees."""

import asyncio
import re
from pathlib import Path

import chatparse
import pytest
from chatparse import CallOrigin, DeltaKind, Outcome, Parser, Verdict
from conftest import PIECES, REQUEST

OPEN = {"sequence": [{"literal": "["}, {"tag": ["tool-name", {"literal": "weather"}]}, {"literal": "]"}]}
CALL = {"sequence": [{"atomic": {"tag": ["tool-open", OPEN]}}, {"tag": ["tool-args", "json"]}, {"tag": ["tool-close", {"literal": "[/weather]"}]}]}
FORMAT = {"sequence": [{"tag": ["content", {"until": ["[weather]"]}]}, {"repeat": [CALL, 0, 1]}, "end"]}
OUTPUT = 'I look. [weather]{"city": "Oslo"}[/weather]'


def parser_of(root, **more):
    return Parser({"format": {"root": root}, **more})


def test_a_format_parses_streams_and_constrains():
    parser = parser_of(FORMAT)
    message = parser.parse(OUTPUT)
    (call,) = message.tool_calls
    assert (message.outcome, message.content) == (Outcome.COMPLETE, "I look. ")
    assert (call.name, call.arguments, call.complete, call.origin) == ("weather", '{"city": "Oslo"}', True, CallOrigin.FORMAT)
    deltas = list(parser.stream().deltas(OUTPUT))
    assert "".join(delta.text for delta in deltas if delta.kind == DeltaKind.TOOL_ARGUMENTS) == call.arguments
    assert parser.parse("[weather]x").outcome == Outcome.RECOVERED
    grammar = parser.grammar()
    assert (grammar.check(OUTPUT), grammar.check("[weather]x")) == (Verdict.ALLOWED, Verdict.REFUSED)
    assert Parser(parser.text).parse(OUTPUT) == message
    assert message.tree is None


def test_the_examples_of_the_readme(capsys, template):
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    awaited, answer, own = re.findall(r"```python\n(.+?)```", readme, re.DOTALL)[1:4]

    class Engine:
        async def generate(self, prompt):
            for piece in PIECES:
                yield piece

    names = {}
    exec(awaited, names)
    message = asyncio.run(names["show"](Engine(), template.params(REQUEST)))
    assert message.tool_calls and message.reasoning in capsys.readouterr().out
    sent = []
    body = {"max_tokens": 9, "messages": REQUEST["messages"], "tools": [{"name": "weather", "input_schema": {}}]}
    exec(answer, {"template": template, "body": body, "pieces": PIECES, "send": sent.append})
    assert "".join(sent).startswith("event: message_start") and "tool_use" in "".join(sent)
    exec(own, {})
    assert "tool-name 9 16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("root", "good", "bad"),
    [
        ({"sequence": [{"literal": "a"}, {"choice": [{"literal": "b"}, {"literal": "c"}]}]}, "ac", "ad"),
        ({"char": r"[^\x00-\x1F]"}, "日", "\n"),
        ({"schema": {"name": "n", "child": "json", "schema": {"document": {"type": "integer"}}}}, "7", "}"),
        ("python_dict", "{'a': [True, None]}", "[1]"),
        (
            {"calls": {"request": REQUEST, "turn": {"edges": [["prompt", '<{"name": "', "call"], ["call", ">", "end"]],
                                                    "calls": [{"pieces": ["name", {"glue": '", "arguments": '},
                                                                          {"arguments": {"quoted": False}}],
                                                               "close": "}"}]}}},
            '<{"name": "weather", "arguments": {"city": "Oslo"}}>',
            "<{}>",
        ),
    ],
)
def test_kinds_of_nodes(root, good, bad):
    parser = parser_of({"sequence": [root, "end"]})
    assert [parser.tagged(text).tree["outcome"] for text in (good, bad)] == ["matched", "failed"]
    assert parser.grammar().check(good) == Verdict.ALLOWED


def test_prefill_and_triggers():
    parser = parser_of({"sequence": [{"literal": "<"}, {"tag": ["content", {"until": []}]}]}, prefill="<")
    assert parser.parse("a").content == "a"
    mark = {"rule": {"name": "mark", "trigger": True, "child": {"sequence": [{"literal": "<"}, {"until": []}]}}}
    lazy = parser_of({"sequence": [{"until": ["<"]}, mark]}).grammar(lazy=True)
    assert (lazy.check("<a"), lazy.check("a<")) == (Verdict.ALLOWED, Verdict.REFUSED)


def test_what_is_no_format():
    for wrong, says in (({"ref": "nowhere"}, "nowhere"), ("nothing", "nothing"), ({"char": "[z-a]"}, "z-a"), ({"until": 7}, "array")):
        with pytest.raises(chatparse.InvalidArgumentError, match=says):
            parser_of(wrong)
    with pytest.raises(chatparse.InvalidArgumentError, match="not a parser"):
        Parser("{}")
    with pytest.raises(chatparse.LimitError):
        Parser({"format": {"root": 1000, "nodes": ["end", *({"atomic": below} for below in range(1000))]}})


def test_a_tree():
    text = "é" + OUTPUT
    message = parser_of({"rule": {"name": "turn", "child": {"sequence": [{"literal": "é"}, {"tag": ["all", FORMAT]}]}}}).tagged(text)
    tree = message.tree
    assert (tree["outcome"], tree["end"], len(tree["nodes"])) == ("matched", len(OUTPUT) + 2, 10)
    root, everything = tree["nodes"][:2]
    assert root == {"rule": "turn", "begin": 0, "end": len(OUTPUT) + 2, "parent": None, "partial": False}
    assert everything == {"tag": "all", "begin": 2, "end": len(OUTPUT) + 2, "parent": 0, "partial": False}
    tags = [node["tag"] for node in tree["nodes"][2:] if "tag" in node]
    assert tags == ["content", "tool-open", "tool-name", "tool-args", "tool-close"]
    assert message.tool_calls[0].name == "weather"


def test_trees_of_what_is_cut_off_or_no_match():
    parser = parser_of(FORMAT)
    cut = parser.tagged(OUTPUT[:30].encode(), partial=True)
    assert (cut.tree["outcome"], cut.tree["end"], cut.tree["nodes"][-1]["partial"]) == ("partial", 30, True)
    assert cut.outcome == Outcome.PARTIAL
    wrong = parser.tagged("[weather]x")
    assert (wrong.tree, wrong.outcome) == ({"outcome": "failed", "end": 9, "nodes": []}, Outcome.RECOVERED)
    for begin in (99, -1):
        with pytest.raises(chatparse.InvalidArgumentError):
            parser.tagged("abc", begin=begin)
    assert parser.tagged("xx" + OUTPUT, begin=2).tree["nodes"][0]["begin"] == 2
    assert parser.tagged(bytearray(b"Hi \xff")).content == "Hi \ufffd"
