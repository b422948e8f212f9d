"""Formats of one's own, and trees."""

import asyncio
import json
import re
from pathlib import Path

import chatparse
import pytest
from chatparse import CallOrigin, DeltaKind, Expr, Match, Outcome, Parser, Tag, ValueKind, Verdict
from conftest import PIECES, REQUEST

OPEN = Expr.literal("[") + Expr.literal("weather").tag(Tag.TOOL_NAME) + "]"
CALL = OPEN.tag(Tag.TOOL_OPEN).atomic() + Expr.json().tag(Tag.TOOL_ARGUMENTS) + Expr.literal("[/weather]").tag(Tag.TOOL_CLOSE)
FORMAT = Expr.until("[weather]").tag(Tag.CONTENT) + CALL.optional() + Expr.end()
OUTPUT = 'I look. [weather]{"city": "Oslo"}[/weather]'


def test_a_format_parses_streams_and_constrains():
    parser = Parser.of(FORMAT)
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


def test_the_example_of_the_docstring():
    lines = [line[8:] for line in Expr.__doc__.splitlines() if line.startswith(" " * 8)]
    names = {"Expr": Expr, "Tag": Tag}
    exec("\n".join(lines), names)
    (call,) = Parser.of(names["format"]).parse(OUTPUT).tool_calls
    assert call.arguments == '{"city": "Oslo"}'


@pytest.mark.parametrize(
    ("expr", "good", "bad"),
    [
        (Expr.literal('a"\\'), 'a"\\', "a"),
        ("a" + Expr.literal("b") | "c", "ab", "ac"),
        ("a" | Expr.literal("b"), "b", "c"),
        (Expr.sequence("a", Expr.choice("b", "c")), "ac", "ad"),
        (Expr.choice("a") | "b" | "c", "c", "d"),
        (Expr.until("b", "c") + "b", "aab", "aac"),
        (Expr.until(), "all of it", None),
        (Expr.character("az", "_"), "_", "A"),
        (Expr.character("az", "äé", negated=True), "A", "ä"),
        (Expr.character(negated=True), "日", ""),
        (Expr.char_class(r"[^\x00-\x1F]"), "a", "\n"),
        (Expr.literal("x").repeat(2, 3), "xxx", "xxxx"),
        (Expr.literal("x").repeat(1), "xxxx", ""),
        (Expr.literal("'") + Expr.string_body("'") + "'", r"'a\'b'", "'a"),
        (Expr.start() + Expr.space() + "a", " a", "b"),
        (Expr.literal("a").ahead() + Expr.until(), "ab", "b"),
        (Expr.literal("a").ahead(negated=True) + Expr.until(), "b", "ab"),
        (Expr.value(ValueKind.PYTHON_DICT), "{'a': [True, None]}", "[1]"),
        (Expr.json({"type": "integer"}), "7", "}"),
        (("(" + (Expr.reference("r") | "x") + ")").rule("r"), "((x))", "((x)"),
        (Expr.until().with_schema("number", {"type": "integer"}, raw=True), "7", None),
        (Expr.char_class("[0-9]").repeat(1).with_gbnf("[0-9]+"), "42", "x"),
        ((Expr.until("b") + "b").excluding("b"), "ab", "ac"),
        (Expr.until().label("content"), "a", None),
        (Expr.calls(REQUEST, json.dumps({"edges": [["prompt", '<{"name": "', "call"], ["call", ">", "end"]],
                                         "calls": [{"pieces": ["name", {"glue": '", "arguments": '},
                                                               {"arguments": {"quoted": False}}],
                                                    "close": "}"}]}).encode()),
         '<{"name": "weather", "arguments": {"city": "Oslo"}}>', "<{}>"),
    ],
)
def test_each_expression(expr, good, bad):
    parser = Parser.of(expr + Expr.end())
    assert parser.tree(good).match == Match.MATCHED
    assert bad is None or parser.tree(bad).match == Match.FAILED
    assert parser.grammar().check(good) == Verdict.ALLOWED


def test_rules_that_only_references_mention():
    name = Expr.char_class("[a-z]").repeat(1).rule("name")
    parser = Parser.of("<" + Expr.reference("name") + ">", prefill="<", rules=["unused", name, name])
    assert parser.tree("<abc>").match == Match.MATCHED
    assert "name ::=" in parser.grammar().text
    lazy = Parser.of(Expr.until("<") + ("<" + Expr.until()).rule("mark", trigger=True)).grammar(lazy=True)
    assert (lazy.check("<a"), lazy.check("a<")) == (Verdict.ALLOWED, Verdict.REFUSED)


def test_what_is_no_format():
    with pytest.raises(chatparse.InvalidArgumentError, match="nowhere"):
        Parser.of(Expr.reference("nowhere"))
    with pytest.raises(chatparse.InvalidArgumentError, match="chat_expr_json"):
        Parser.of(Expr.json("{") + Expr.end())
    with pytest.raises(chatparse.InvalidArgumentError, match="empty"):
        Parser.of(Expr.until(""))
    for wrong, error in (
        (lambda: Parser.of(7), TypeError),
        (lambda: Expr.end() + 7, TypeError),
        (lambda: Expr.character("abc"), ValueError),
        (lambda: Expr.string_body("«"), ValueError),
        (lambda: Parser.of(Expr.literal("\ud800")), UnicodeError),
        (lambda: Parser.of(Expr.literal("a").repeat(-1)), OverflowError),
        (lambda: Parser.of(Expr.literal("a").repeat(0, 1 << 32)), OverflowError),
        (lambda: Parser.of(Expr.literal("a").tag("content")), TypeError),
        (lambda: Parser.of(Expr("no such")), ValueError),
    ):
        with pytest.raises(error):
            wrong()
    assert repr(Expr.end()) == "<chatparse.Expr end>"


def test_a_format_as_deep_and_as_long_as_it_may_be():
    deep = Expr.end()
    for _ in range(100_000):
        deep = deep.atomic()
    with pytest.raises(chatparse.LimitError):
        Parser.of(deep)
    long = Expr.sequence(*["ab"] * 5_000)
    assert Parser.of(long).tree("ab" * 5_000).match == Match.MATCHED
    twice = Expr.literal("a")
    for _ in range(10):
        twice = twice.atomic() + twice.atomic()
    assert Parser.of(twice).tree("a" * 1024).match == Match.MATCHED


def test_a_tree():
    tree = Parser.of(("é" + FORMAT.label("all")).rule("turn")).tree("é" + OUTPUT)
    assert (tree.match, tree.end, len(tree)) == (Match.MATCHED, len(OUTPUT) + 2, 10)
    root, everything = tree[0], tree[1]
    assert (root.name, root.is_rule, root.begin, root.parent, root.partial) == ("turn", True, 0, None, False)
    assert (everything.name, everything.is_rule, everything.begin, everything.parent) == ("all", False, 2, 0)
    assert [tree.text(node) for node in tree.find("tool-name")] == ["weather"]
    assert [node.name for node in tree[2:] if not node.is_rule] == ["content", "tool-open", "tool-name", "tool-args", "tool-close"]
    assert tree[tree[4].parent].name == "tool-open"
    assert [tree.text(node) for node in tree.find("json-value")] == ['{"city": "Oslo"}', '"Oslo"']
    assert tree.message().tool_calls[0].name == "weather"
    assert repr(tree) == "<chatparse.Tree MATCHED, 10 nodes>"


def test_trees_of_what_is_cut_off_or_no_match():
    parser = Parser.of(FORMAT)
    cut = parser.tree(OUTPUT[:30].encode(), partial=True)
    assert (cut.match, cut.end, [node.partial for node in cut if not node.is_rule]) == (Match.PARTIAL, 30, [False, False, False, True])
    assert cut.message().outcome == Outcome.PARTIAL
    wrong = parser.tree("[weather]x")
    assert (wrong.match, list(wrong), wrong.end) == (Match.FAILED, [], 9)
    with pytest.raises(chatparse.ParseError):
        wrong.message()
    for begin in (99, -1):
        with pytest.raises(chatparse.InvalidArgumentError):
            parser.tree("abc", begin=begin)
    assert parser.tree("xx" + OUTPUT, begin=2)[0].begin == 2
    bytes_of = parser.tree(bytearray(b"Hi \xff"))
    assert (bytes_of.match, bytes_of.text(bytes_of[0])) == (Match.MATCHED, "Hi \ufffd")
