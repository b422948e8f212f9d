"""Formats of one's own: expressions, and trees of what they match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union, overload

from . import _native
from ._stream import Message, flags
from ._types import Json, Match, Tag, Text, ValueKind, json_text

Like = Union["Expr", str]
"""An expression; a text stands for itself."""

UNBOUNDED = 0xFFFFFFFF


class Expr:
    """A part of a format: an expression of a parsing expression grammar, whose tags say what becomes of the text. `Parser.of` makes a parser
    of it. Immutable; one expression may stand in several places.

        call = Expr.literal("[") + Expr.literal("weather").tag(Tag.TOOL_NAME) + "]"
        format = Expr.until("[weather]").tag(Tag.CONTENT) + (
            call.tag(Tag.TOOL_OPEN).atomic() + Expr.json().tag(Tag.TOOL_ARGUMENTS) + Expr.literal("[/weather]").tag(Tag.TOOL_CLOSE)
        ).optional() + Expr.end()

    `a + b` matches one behind the other; `a | b` tries one, then the other, and keeps the first that matches. What an alternative
    captures is streamed before it has matched: where two capture the same bytes differently, make them `atomic`.
    """

    __slots__ = ("_children", "_kind", "_numbers", "_texts")

    def __init__(self, kind: str, children: tuple[Expr, ...] = (), numbers: tuple[int, ...] = (), texts: tuple[str, ...] = ()) -> None:
        """The static methods make expressions."""
        self._kind, self._children, self._numbers, self._texts = kind, children, numbers, texts

    @staticmethod
    def literal(text: str) -> Expr:
        """Exactly this text, which may be empty."""
        return Expr("literal", texts=(text,))

    @staticmethod
    def until(*markers: str) -> Expr:
        """Text up to the first of the markers or up to the end of the output, without the marker. Without markers: all text."""
        return Expr("until", texts=markers)

    @staticmethod
    def character(*ranges: str, negated: bool = False) -> Expr:
        """One character in one of the ranges, each a character or two, such as `"az"`; or in none of them. Without ranges: any character,
        if `negated`."""
        if not all(1 <= len(each) <= 2 for each in ranges):
            raise ValueError("a range of characters is its first and its last")
        return Expr("character", numbers=(*(ord(end) for each in ranges for end in (each[0], each[-1])), int(negated)))

    @staticmethod
    def char_class(text: str) -> Expr:
        r"""One character of a class, e.g. `[a-z_]`, `[^"\\]`, `[\u4E00-\u9FFF]`."""
        return Expr("class", texts=(text,))

    @staticmethod
    def string_body(quote: str) -> Expr:
        """The inside of a quoted string up to `quote`, without it: text with JSON's escapes."""
        if len(quote) != 1 or not quote.isascii():
            raise ValueError("a quote is one character of ASCII")
        return Expr("string_body", numbers=(ord(quote),))

    @staticmethod
    def space() -> Expr:
        """All white space at this place, also none."""
        return Expr("space")

    @staticmethod
    def start() -> Expr:
        """Empty text at the start of the output, or of the prefill."""
        return Expr("start")

    @staticmethod
    def end() -> Expr:
        """Empty text at the end of the output. Text behind the match of a format without it becomes content."""
        return Expr("end")

    @staticmethod
    def sequence(*parts: Like) -> Expr:
        """All of the parts, in order; as `+`."""
        return Expr("sequence", tuple(map(_expr, parts)))

    @staticmethod
    def choice(*alternatives: Like) -> Expr:
        """The first alternative that matches; as `|`. Without any it never matches."""
        return Expr("choice", tuple(map(_expr, alternatives)))

    @staticmethod
    def json(schema: Json | bool | None = None, name: str = "") -> Expr:
        """A JSON value. Grammars hold it to the schema, in a rule of this name."""
        return Expr("json", texts=(name, _json({} if schema is None else schema)))

    @staticmethod
    def value(kind: ValueKind) -> Expr:
        """A value in a notation. A rule `json-string` among the `rules` of `Parser.of` replaces the strings of JSON."""
        return Expr("value", numbers=(kind,))

    @staticmethod
    def calls(request: Json, turn: Json) -> Expr:
        """The calls of a message, with their markers and tags, written as `turn` says, which is what `Template.layout` has as `turn`;
        only `calls` must be there. Of the request `tools`, `tool_choice` and `parallel_tool_calls` count."""
        return Expr("calls", texts=(_json(request), _json(turn)))

    @staticmethod
    def reference(name: str) -> Expr:
        """The rule of that name, which may stand around the reference or anywhere else in the format."""
        return Expr("reference", texts=(name,))

    def tag(self, tag: Tag) -> Expr:
        """The same, with a meaning: what becomes of the text."""
        return Expr("tag", (self,), (tag,))

    def label(self, name: str) -> Expr:
        """The same, with a name in the `Tree`. The name of a tag, such as `tool-name`, gives it that meaning as well."""
        return Expr("label", (self,), texts=(name,))

    def repeat(self, minimum: int = 0, maximum: int | None = None) -> Expr:
        """As often as possible, at least `minimum` and at most `maximum` times."""
        return Expr("repeat", (self,), (minimum, UNBOUNDED if maximum is None else maximum))

    def optional(self) -> Expr:
        """Once, or not at all."""
        return self.repeat(0, 1)

    def atomic(self) -> Expr:
        """The same, but the text of its tags shows only once all of it has matched."""
        return Expr("atomic", (self,))

    def ahead(self, *, negated: bool = False) -> Expr:
        """Empty text where this matches, or does not."""
        return Expr("lookahead", (self,), (int(negated),))

    def rule(self, name: str, *, trigger: bool = False) -> Expr:
        """The same as a rule, for `reference`, also from inside it. `trigger`: a lazy grammar may start here."""
        return Expr("rule", (self,), (int(trigger),), (name,))

    def with_schema(self, name: str, schema: Json | bool, *, raw: bool = False) -> Expr:
        """The same to parse; grammars have the schema instead, as the rule `name`. `raw`: strings are written without JSON's quotes."""
        return Expr("schema", (self,), (int(raw),), (name, _json(schema)))

    def with_gbnf(self, body: str) -> Expr:
        """The same to parse; grammars have `body` instead: what GBNF has right of `::=`."""
        return Expr("gbnf", (self,), texts=(body,))

    def excluding(self, *markers: str) -> Expr:
        """The same to parse, which must match up to and with the first of the markers; grammars have text that ends with the first."""
        return Expr("excluding", (self,), texts=markers)

    def __add__(self, other: Like) -> Expr:
        return Expr("sequence", (*self._parts("sequence"), *_expr(other)._parts("sequence")))

    def __radd__(self, other: str) -> Expr:
        return _expr(other) + self

    def __or__(self, other: Like) -> Expr:
        return Expr("choice", (*self._parts("choice"), *_expr(other)._parts("choice")))

    def __ror__(self, other: str) -> Expr:
        return _expr(other) | self

    def __repr__(self) -> str:
        return f"<chatparse.Expr {self._kind}>"

    def _parts(self, kind: str) -> tuple[Expr, ...]:
        return self._children if self._kind == kind else (self,)


def put(builder: _native.ExprBuilder, roots: Iterable[Like]) -> int:
    """Adds expressions and all that they are made of; the number of the last."""
    waiting = [_expr(root) for root in roots][::-1]
    last, numbers = waiting[0], dict[Expr, int]()
    # As deep as it may be: no function that calls itself.
    while waiting:
        expr = waiting[-1]
        missing = [child for child in expr._children if child not in numbers]
        waiting.extend(reversed(missing))
        if missing or waiting.pop() in numbers:
            continue
        if expr._kind == "character":
            numbers[expr] = builder.put_character(expr._numbers[:-1], bool(expr._numbers[-1]))
        else:
            numbers[expr] = builder.put(expr._kind, expr._texts, (*(numbers[child] for child in expr._children), *expr._numbers))
    return numbers[last]


class Node(NamedTuple):
    """A rule, tag or label that matched."""

    name: str
    """Of the rule, tag (`content`, `tool-name`, ...) or label."""
    is_rule: bool
    begin: int
    """Where in the text, in bytes."""
    end: int
    parent: int | None
    """The number of the node around it, which is lower than its own."""
    partial: bool
    """The text ended inside of it."""


class Tree(Sequence[Node]):
    """What a text is made of: its nodes, in the order of their first bytes, the outer before the inner. `Parser.tree` makes them.
    Immutable."""

    __slots__ = ("_nodes", "_text", "_tree")

    def __init__(self, parser: _native.Parser, text: Text, begin: int, partial: bool) -> None:
        self._text = text.encode() if isinstance(text, str) else bytes(text)
        self._tree: _native.Tree = _native.Tree.of_parser(parser, self._text, begin, flags(partial, False))
        self._nodes = tuple(
            Node(rule or tag, bool(rule), first, last, None if parent == number else parent, cut)
            for number, (rule, tag, first, last, parent, cut) in enumerate(self._tree.get_nodes())
        )

    @property
    def match(self) -> Match:
        """How the text relates to the format."""
        return Match(self._tree.get_outcome())

    @property
    def end(self) -> int:
        """Where the match ends, in bytes; of a text that does not match, how far it could have matched."""
        return self._tree.get_end()

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self._text[node.begin : node.end].decode(errors="replace")

    def find(self, name: str) -> Iterator[Node]:
        """The nodes of this name."""
        return (node for node in self._nodes if node.name == name)

    def message(self) -> Message:
        """The message of the tagged text alone. Of a text that does not match it is a `ParseError`."""
        return Message.of_tree(self._tree)

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        return self._nodes[index]

    def __repr__(self) -> str:
        return f"<chatparse.Tree {self.match.name}, {len(self)} nodes>"


def _expr(like: Like) -> Expr:
    if isinstance(like, Expr):
        return like
    if isinstance(like, str):
        return Expr.literal(like)
    raise TypeError(f"an expression or a text is expected, not {type(like).__name__}")


def _json(value: Mapping[str, Any] | str | bytes | bool) -> str:
    text = json_text(value)
    return text if isinstance(text, str) else text.decode()
