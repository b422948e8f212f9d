"""Templates, what they make of a request, and whose text a prompt is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from . import _native
from ._types import (
    Dialect, Json, MaskPart, Media, MessageDelimiter, Origin, Report, Rewrite, RewriteReason, Segment, Span, Text, Token, Trigger, TriggerKind, json_str,
    json_text,
)

if TYPE_CHECKING:
    from ._grammar import Grammar, Matcher
    from ._stream import Message, Stream


class Template(_native.Template):
    """A compiled chat template; make one for each model. What it shows of how its model writes is learnt from it once.

    `source` is Jinja, or the text of a `tokenizer_config.json` or `chat_template.json` that holds it; `name` is then which of several
    templates is meant. `bos` and `eos` are the texts of the model's special tokens; `ends` those of further tokens that end its output,
    which templates do not see. With `learn_only` only what the template shows by itself counts; without `prove` the first way to read its model is taken unproved. `response_template` says how the model's output
    is read, as transformers has it, in place of that of a `tokenizer_config.json`; `source` may then be empty.
    """

    __slots__ = ()

    def __new__(
        cls,
        source: str,
        *,
        bos: str = "",
        eos: str = "",
        ends: Iterable[str] = (),
        name: str | None = None,
        learn_only: bool = False,
        prove: bool = True,
        response_template: dict[str, Any] | None = None,
    ) -> Template:
        options: dict[str, Any] = {"bos": bos, "eos": eos, "ends": list(ends), "learn_only": learn_only, "prove": prove}
        options["response_template"] = response_template
        if name is not None:
            options["name"] = name
        return cls.compile(source, json.dumps(options))

    def __repr__(self) -> str:
        return f"<chatparse.Template read by {self.reader}>"

    @classmethod
    def builtin(cls, name: str) -> Template:
        """A template that the library brings along, such as `chatml`; `builtin_names()` lists them."""
        return cls.from_builtin(name)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Template:
        """Reads `to_bytes` of the same version of the library. Nothing is learnt anew."""
        return cls.load(stored)

    def to_bytes(self) -> bytes:
        """The template with what was learnt of it: a server that starts with many models reads them instead of learning. Other versions
        refuse the bytes, so keep the source, too."""
        return self.store()

    def __reduce__(self) -> tuple[Callable[[bytes], Template], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, **options: Any) -> Template:
        """The template of a tokenizer of transformers, with its special tokens. Options are those of the class."""
        return cls(tokenizer.get_chat_template(), bos=tokenizer.bos_token or "", eos=tokenizer.eos_token or "", **options)

    @property
    def source(self) -> str:
        """The text of the template as it is used."""
        return self.get_source()

    @property
    def reader(self) -> str:
        """What reads the model's output: `turn` for what was learnt, `response-template`, or the name of a family of templates."""
        return self.get_reader()

    def capabilities(self) -> dict[str, Any]:
        """What the template accepts: `supports_tools` and so on; and `reasoning_effort_levels`, those that it renders each in its own way."""
        return _loaded(self.report(Report.CAPS))

    def layout(self) -> dict[str, Any]:
        """What was learnt of how the model writes: `reasoning`, `content`, `tools` and more, each an object of markers and modes."""
        return _loaded(self.report(Report.LAYOUT))

    def proof(self) -> dict[str, Any]:
        """How well what the template writes is read back: `cases`, `read_back`, `failures` and more."""
        return _loaded(self.report(Report.PROOF))

    def lint(self) -> dict[str, Any]:
        """For authors of templates: is what is read back also rendered to the same bytes, and do prompts only grow? `faults` counts all
        faults, of `cases` and of `findings`, which lists what the template does to calls, parts and tokens, each with `rule`, `fault`, `message`,
        `subject`, `effect`, `places` and `shown`."""
        return _loaded(self.report(Report.LINT))

    def response_template(self) -> dict[str, Any]:
        """How outputs are read, as a `response_template` for transformers, and its `limits`: what may be read otherwise by it, and in which
        `field`. If no response template can say it, that is null, and there is an `error`."""
        return _loaded(self.report(Report.RESPONSE_TEMPLATE))

    def params_for(self, prompt: str, request: Json | None = None) -> Params:
        """The params of a prompt that the host has rendered itself: what its end leaves open, reasoning or a text that the message has already,
        is read from it. Of the request, an OpenAI chat-completions body, the tools and the options count; it may have no messages."""
        return Params.given(self, prompt, json_text({"messages": []} if request is None else request))

    def params(self, request: Json, options: Json | None = None) -> Params:
        """Renders the prompt of a request: an OpenAI chat-completions body. Options of the host (`reasoning_format`, `enable_thinking`,
        `chat_template_kwargs`, ...) stand in it, or beside it in `options`."""
        return Params.render(self, json_text(request), json_text({} if options is None else options))

    def segments(self, request: Json, options: Json | None = None) -> Segments:
        """The prompt of a request, and where each byte of it comes from."""
        return Segments.trace(self, json_text(request), json_text({} if options is None else options))

    def segments_batch(self, requests: Iterable[Json], options: Json | None = None, *, threads: int = 0) -> list[Segments]:
        """`segments` of each request, on at most this many threads, without the interpreter's lock; 0: on as many as the machine runs at
        once. The first request that fails raises its error, with its index."""
        texts = tuple(json_str(request) for request in requests)
        return Segments.trace_all(self, texts, json_text({} if options is None else options), threads)


class Params(_native.Params):
    """What one request needs: its prompt, what sampler and tokenizer must know, and the parser of the output. `Template.params` and
    `next` make them. Immutable; threads may share them, and a copy is the same object. Another process gets `to_dict()` and the
    parser, which can be pickled."""

    __slots__ = ()

    def __copy__(self) -> Params:
        return self

    def __deepcopy__(self, memo: object) -> Params:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("Params cannot be pickled: send to_dict() and the parser, or the request")

    def __repr__(self) -> str:
        return f"<chatparse.Params format={self.format!r}, a prompt of {len(self.prompt)} characters>"

    @property
    def prompt(self) -> str:
        """What the model is given."""
        return self.get_prompt()

    @property
    def generation_prompt(self) -> str:
        """The end of the prompt that is already the assistant's turn."""
        return self.get_generation_prompt()

    @property
    def format(self) -> str:
        """The name of the way the output is parsed in, for logs."""
        return self.get_format()

    @property
    def preserved_tokens(self) -> tuple[str, ...]:
        """Texts that the tokenizer must keep as single tokens and the detokenizer must print."""
        return tuple(self.get_preserved_tokens())

    @property
    def additional_stops(self) -> tuple[str, ...]:
        """Texts that end the output besides the end-of-turn token."""
        return tuple(self.get_additional_stops())

    @property
    def end_of_turn(self) -> str:
        """What the template writes to end the assistant's turn; empty where nothing does, or where that is unknown. If it is no token that
        ends the output anyway, it is a stop, too."""
        return self.get_end_of_turn()

    @property
    def supports_thinking(self) -> bool:
        """Whether the template knows reasoning."""
        return self.get_supports_thinking()

    @property
    def thinking_start_tag(self) -> str:
        """What opens reasoning; empty where nothing does."""
        return self.get_thinking_start_tag()

    @property
    def thinking_end_tags(self) -> tuple[str, ...]:
        """What closes reasoning: any of them does."""
        return tuple(self.get_thinking_end_tags())

    @property
    def message_delimiters(self) -> tuple[MessageDelimiter, ...]:
        """Texts that the turns of each role begin with in a prompt."""
        return tuple(MessageDelimiter(*each) for each in self.get_message_delimiters())

    @property
    def media(self) -> tuple[Media, ...]:
        """The media that the prompt wants, in its order."""
        return tuple(Media(each[0], each[1], json.loads(each[2]), *each[3:]) for each in self.get_medias())

    def grammar(self, dialect: Dialect | None = None) -> Grammar:
        """What the sampler should hold the output to; its text is empty where nothing constrains the output. In a dialect other than GBNF it is
        for an engine that sees nothing but the output: it applies from the first byte on, whatever `grammar_lazy` says. In GBNF, if
        not lazy, it is in force from the beginning of `generation_prompt`, which the sampler accepts first, as in llama.cpp."""
        from ._grammar import Grammar

        return Grammar.of_params(self, dialect or 0)

    def matcher(self) -> Matcher:
        """What may come next in the output, and what must. Each call makes it anew; keep it, and copy it."""
        from ._grammar import Matcher

        return Matcher.of_params(self)

    @property
    def grammar_lazy(self) -> bool:
        """Whether the grammar applies from the first trigger on only. Where not, it describes the generation prompt together with the
        output."""
        return self.get_grammar_lazy()

    @property
    def grammar_triggers(self) -> tuple[Trigger, ...]:
        """What makes a lazy grammar start."""
        return tuple(Trigger(TriggerKind(kind), value) for kind, value in self.get_grammar_triggers())

    def to_dict(self) -> dict[str, Any]:
        """All of the params as plain values: prompt, grammar and triggers, stops, preserved tokens."""
        return _loaded(self.json())

    def next(self, output: Text, messages: Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | bytes) -> Params:
        """The next turn: goes on behind an output with new messages, so that nothing that was sent is written anew. `append` of the new
        params is what to send behind what stands. `messages`: a list, or a body with `messages` and what else is new, e.g. `tools`."""
        return Params.continued(self, output, json_text(messages))

    def follow(
        self, output: Text, body: Mapping[str, Any] | str | bytes, options: Mapping[str, Any] | str | bytes | None = None
    ) -> tuple[Params, int | None]:
        """The next turn from a whole body, such as servers get each turn, and the index of its first new message. Where the body does
        not go on from what was sent, there is none, the params are the body's alone, `rewrite` has the reason REQUEST, and the `notes` of
        `to_dict` name what differs."""
        return Params.followed(self, output, json_text(body), json_text(options or {}))

    @property
    def kept(self) -> int:
        """How many bytes of what was sent before `next`, prompt and output, stand in the prompt."""
        return self.get_kept()

    @property
    def append(self) -> str:
        """What to send behind these."""
        return self.get_append()

    @property
    def rendered(self) -> str:
        """The prompt as the template renders the whole conversation; another one where the request says `append: always`."""
        return self.get_rendered()

    @property
    def rewrite(self) -> Rewrite | None:
        """Why the template writes anew what was sent, behind byte `kept` unless the request says `append: always`; None where it does not."""
        reason, words, message = self.get_rewrite()
        return Rewrite(RewriteReason(reason), words, message) if reason else None

    def parser(self) -> Parser:
        """What the output is parsed with, by itself."""
        return Parser.of_params(self)

    def stream(self) -> Stream:
        """A parse at the start of an output."""
        return _stream(self)

    def parse(self, output: Text, *, partial: bool = False, strict: bool = False) -> Message:
        """Parses an output that is there. `partial`: it is cut off. `strict`: not to fit the format is a `ParseError`."""
        return _message(self, output, partial, strict)


class Parser(_native.Parser):
    """What an output is parsed with, without the rest of the params. As a text it can be kept, pickled, or sent to another process whose
    library has the same version. Or it is of a format of one's own, described as a dict or a text, which docs/formats.md explains."""

    __slots__ = ()

    def __new__(cls, text: Json) -> Parser:
        return cls.from_json(json_text(text))

    @property
    def text(self) -> str:
        """The text that the class takes."""
        return self.get_json()

    def __reduce__(self) -> tuple[type[Parser], tuple[str]]:
        return type(self), (self.text,)

    def grammar(self, *, lazy: bool = False) -> Grammar:
        """What the parser reads. `lazy`: of what may follow a trigger only."""
        from ._grammar import Grammar

        return Grammar.of_parser(self, lazy)

    def stream(self) -> Stream:
        """A parse at the start of an output."""
        return _stream(self)

    def parse(self, output: Text, *, partial: bool = False, strict: bool = False) -> Message:
        """As `Params.parse`."""
        return _message(self, output, partial, strict)

    def tagged(self, text: Text, *, begin: int = 0, partial: bool = False) -> Message:
        """The message of the tagged parts of a text alone, from byte `begin` on; its `tree` has all that matched. It is the whole text of
        the format, with the prefill. `partial`: it is cut off."""
        from ._stream import Message, flags

        return Message.of_tags(self, text, begin, flags(partial, False))


class Segments(_native.Segments):
    """A prompt with the origin of each of its bytes. `Template.segments` makes them. Positions are those of bytes."""

    __slots__ = ()

    @property
    def prompt(self) -> bytes:
        """The prompt, as UTF-8."""
        return self.get_prompt()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """They cover the prompt, in order."""
        return tuple(Segment(begin, end, Origin(origin), index, path) for begin, end, origin, index, path in self.all())

    @property
    def limit(self) -> str:
        """What ran out in search of origins and turns; empty where nothing did. If something did, more is UNKNOWN than need be, or turns
        are missing in masks."""
        return self.get_limit()

    def tokens(
        self, offsets: Iterable[tuple[int, int]], parts: MaskPart = MaskPart.ALL, *, last_only: bool = False, in_bytes: bool = False
    ) -> list[Token]:
        """What the tokens at these places of the prompt are. Places are in characters, as the `offset_mapping` of a tokenizer of
        transformers has them, or in bytes. `parts` and `last_only` say what counts as sampled, as for `mask`."""
        labels = self.get_tokens(offsets, parts | (16 if last_only else 0), not in_bytes)
        return [Token(Origin(origin), message, sampled) for origin, message, sampled in labels]

    def mask(self, parts: MaskPart = MaskPart.ALL, *, last_only: bool = False) -> tuple[Span, ...]:
        """The bytes that models wrote, for training. `last_only`: in the last turn alone. Where the template has `{% generation %}`
        blocks, just these count."""
        return tuple(Span(*span) for span in self.get_mask(parts | (16 if last_only else 0)))


def _loaded(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _stream(by: Params | Parser) -> Stream:
    from ._stream import Stream

    return Stream(by)


def _message(by: Params | Parser, output: Text, partial: bool, strict: bool) -> Message:
    from ._stream import Message, flags

    return Message.parse(by, output, flags(partial, strict))
