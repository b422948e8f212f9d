"""Grammars for samplers."""

from __future__ import annotations

from . import _native
from ._types import Dialect, Fidelity, FidelityKind, GrammarStyle, Json, Verdict, json_text


class Grammar(_native.Grammar):
    """A grammar, and where it is not exactly what its schemas ask for. `Params.grammar` has that of a request. Immutable; threads may
    share it."""

    __slots__ = ()

    @classmethod
    def from_schema(cls, schema: Json, style: GrammarStyle = GrammarStyle.FAITHFUL) -> Grammar:
        """The grammar of the JSON values that a schema allows."""
        return cls.of_schema(json_text(schema), style)

    @property
    def text(self) -> str:
        """GBNF, or what the dialect has; empty where nothing is constrained."""
        return self.get_text()

    def __str__(self) -> str:
        return self.text

    @property
    def report(self) -> tuple[Fidelity, ...]:
        """Where it departs from its schemas; of one in a dialect, what the dialect cannot say."""
        return tuple(Fidelity(FidelityKind(each[0]), *each[1:]) for each in self.get_report())

    def to(self, dialect: Dialect) -> Grammar:
        """The same grammar in another dialect."""
        return Grammar.in_dialect(self, dialect)

    def check(self, text: str) -> Verdict:
        """What the grammar, which must be GBNF, says of a text. For tests of grammars: each call reads the grammar anew."""
        return Verdict(self.check_text(self.text, text))


class Matcher(_native.Matcher):
    """What may come next in an output, and what must. `Params.matcher` has that of a request, at the output's first byte. Has one user at
    a time; copies are cheap, and may be used by other threads."""

    __slots__ = ()

    @classmethod
    def from_grammar(cls, gbnf: str) -> Matcher:
        """The matcher of a grammar, which must be GBNF."""
        return cls.of_grammar(gbnf)

    def feed(self, output: bytes | str) -> int:
        """Goes on behind these bytes. Returns how many of them are allowed; if those are not all, it stands in front of the first that is
        not."""
        return self.take(output)

    def can(self, output: bytes | str) -> bool:
        """Whether all these bytes may come next."""
        return self.allows(output)

    @property
    def allowed(self) -> bytes:
        """The bytes that may come next, each once, in order."""
        return self.get_allowed()

    @property
    def forced(self) -> bytes:
        """The longest text that must come next; empty where there is a choice, or where the output may end."""
        return self.get_forced()

    @property
    def may_end(self) -> bool:
        """Whether the output may end here."""
        return self.get_ends() > 0

    @property
    def ended(self) -> bool:
        """Whether the output must end here."""
        return self.get_ends() > 1

    def grammar(self, dialect: Dialect) -> Grammar:
        """What may follow what was fed, for an engine that begins there."""
        return Grammar.of_matcher(self, dialect)

    def copy(self) -> Matcher:
        """A copy at this place, to go back to."""
        return Matcher.of_matcher(self)


class GrammarBuilder(_native.GrammarBuilder):
    """Puts a grammar together. Each function that adds a rule returns the rule's actual name: refer to it by that. `root` is where the
    grammar starts."""

    __slots__ = ()

    def __new__(cls, style: GrammarStyle = GrammarStyle.FAITHFUL) -> GrammarBuilder:
        return cls.begin(style)

    def add_rule(self, name: str, body: str) -> str:
        """Adds a rule; `body` is what GBNF has right of `::=`."""
        return self.put_rule(name, body)

    def add_literal(self, name: str, text: str) -> str:
        """Adds a rule for exactly this text."""
        return self.put_literal(name, text)

    def add_schema(self, name: str, schema: Json) -> str:
        """Adds the rules of a JSON schema."""
        return self.put_schema(name, json_text(schema))

    def add_parser(self, parser: _native.Parser, *, lazy: bool = False) -> None:
        """Adds the rules of what a parser reads. The one that stands for all of it is `root`."""
        self.put_parser(parser, lazy)

    def build(self) -> Grammar:
        """The grammar of all that was added so far."""
        return Grammar.of_builder(self)
