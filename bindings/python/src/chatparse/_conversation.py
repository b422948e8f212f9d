"""Conversations in token ids, and tokenizers for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar

from . import _native
from ._template import Template
from ._types import Delta, Field, Json, RewriteReason, json_text

_T = TypeVar("_T")


class Tokenizer(Protocol):
    """What a conversation asks of a tokenizer. `HfTokenizer`, `GgufTokenizer`, `TiktokenTokenizer` and
    `TekkenTokenizer` are ready-made."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The texts and ids of the tokens that the template writes as such: all that the tokenizer looks for in a text, whether it
        calls them special or not."""

    def encode(self, text: str, /) -> Sequence[int]:
        """The ids of a text in which nothing is a special token, with nothing in front of it or behind it."""

    def token_bytes(self, id: int, /) -> bytes:
        """The bytes that a token stands for."""


class Observed(NamedTuple):
    """What sampled ids add."""

    deltas: list[Delta]
    ended: bool
    """The output ends with a special token that ends it."""


class IdRewrite(NamedTuple):
    """What the template changes of what was sent."""

    token: int
    """The first token whose text it changes."""
    at: int
    """The first byte that it changes, in the text of all ids."""
    message: int | None
    """The index of the message at that byte; None for text of the template."""
    reason: RewriteReason
    words: str
    """The reason as a sentence."""


class Extended(NamedTuple):
    """What to send behind an output."""

    kept: int
    """How many of the ids so far stay: all, unless `rewrite` says why not."""
    ids: list[int]
    """What to send behind them."""
    rewrite: IdRewrite | None
    """What the template changes. With the option `append: always` all ids stay nevertheless."""


class IdToken(NamedTuple):
    """What is known of a token of a conversation."""

    end: int
    """Where its text ends, in bytes of the text of all ids."""
    field: Field
    sampled: bool
    call: int | None
    """Which call of its turn it is a part of."""
    argument: str | None
    """The argument of the call whose value it is."""
    logprob: float | None


class Conversation(_native.Conversation):
    """A conversation in token ids, for any template and tokenizer: what was sent or sampled is never encoded again.

        conversation = Conversation(template, HfTokenizer(tokenizer), tools=tools)
        ids = conversation.prompt_ids(messages)
        while ...:
            conversation.observe(engine.generate(ids))
            ids = [*ids, ...conversation.extend(results).ids]       # or conversation.ids

    `options` are those of a request (`chat_template_kwargs`, `enable_thinking`, `plain`, ...); with `append="always"` all ids stay where the template
    would change what was sent. One thread at a time: threads take a fork each. Rendering and parsing release the interpreter's lock.
    """

    __slots__ = ()

    def __new__(
        cls,
        template: Template,
        tokenizer: Tokenizer,
        *,
        tools: Sequence[Any] | None = None,
        append: str = "template",
        options: Json | None = None,
    ) -> Conversation:
        request: dict[str, Any] = {"messages": [], "append": append}
        if tools is not None:
            request["tools"] = list(tools)
        strips: Mapping[str, tuple[bool, bool]] = getattr(tokenizer, "strips", {})
        special = tuple((text, id, *strips.get(text, (False, False))) for text, id in tokenizer.special_tokens.items())
        texts = json.dumps(request), json_text({} if options is None else options)
        return cls.open(template, tokenizer.encode, tokenizer.token_bytes, special, *texts)

    def prompt_ids(self, messages: Sequence[Any]) -> list[int]:
        """Begins with these messages, and forgets what there was: the ids of the prompt. What messages say never becomes a special token."""
        return self.put_prompt(json.dumps(messages))

    def observe(self, ids: Iterable[int], logprobs: Iterable[float] | None = None) -> Observed:
        """Takes ids as they were sampled, and perhaps a log probability for each; what they add to the message."""
        return Observed(*self.take(ids, logprobs))

    def finish(self, *, partial: bool = False) -> Observed:
        """Ends the output, and gives what was held back because it could have become a marker; `extend` does so by itself. `partial`:
        something cut the output off."""
        return Observed(*self.end(1 if partial else 0))

    def extend(self, messages: Sequence[Any]) -> Extended:
        """The ids to send in order to go on with these messages: results of tools, or what the user says next."""
        kept, ids, found = self.go_on(json.dumps(messages))
        if found is None:
            return Extended(kept, ids, None)
        token, at, message, reason, words = found
        return Extended(kept, ids, IdRewrite(token, at, message, RewriteReason[reason.upper()], words))

    def rewind(self, length: int) -> None:
        """Takes back what was sampled behind the first `length` ids. To go back further than the last output, keep a fork."""
        self.go_back(length)

    @property
    def ids(self) -> list[int]:
        """All ids, sent and sampled."""
        return self.get_ids()

    @property
    def tokens(self) -> list[IdToken]:
        """What is known of each of them."""
        return [IdToken(token[0], Field(token[1]), *token[2:]) for token in self.get_tokens()]

    @property
    def mask(self) -> list[int]:
        """1 for each id that was sampled."""
        return [int(token[2]) for token in self.get_tokens()]

    @property
    def fields(self) -> list[tuple[Field, int | None, str | None]]:
        """Of each id: what it is a part of, of which call, of which argument."""
        return [(token.field, token.call, token.argument) for token in self.tokens]

    def logprobs(self, field: Field, call: int | None = None, argument: str | None = None) -> list[float | None]:
        """The log probabilities of the ids of a field, of one call or argument if that is said."""
        mine = (token for token in self.tokens if token.field == field)
        return [
            token.logprob for token in mine if call in (None, token.call) and argument in (None, token.argument)
        ]

    @property
    def prompt_length(self) -> int:
        """How many ids are in front of the last output."""
        return self.get_prompt_count()

    @property
    def text(self) -> bytes:
        """The text of all ids: what was sent, with the last output."""
        prompt, output = self.get_text()
        return prompt.encode() + output

    @property
    def output(self) -> bytes:
        """The bytes of the last output."""
        return self.get_text()[1]

    def message(self) -> dict[str, Any]:
        """The last output as a message, as OpenAI has it, as far as it goes."""
        message: dict[str, Any] = json.loads(self.message_json())
        return message

    def __copy__(self) -> Conversation:
        return self.fork()

    @staticmethod
    def batch(call: Callable[[Conversation], _T], conversations: Iterable[Conversation], *, threads: int = 0) -> list[_T]:
        """`call` of each conversation, in their order, on threads: `Conversation.batch(lambda c: c.extend(...), conversations)`."""
        with ThreadPoolExecutor(threads or None) as pool:
            return list(pool.map(call, conversations))


class HfTokenizer:
    """A tokenizer of the package `tokenizers`, or a fast one of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        from tokenizers import Tokenizer as Backend

        described = json.loads(getattr(tokenizer, "backend_tokenizer", tokenizer).to_str())
        described["post_processor"] = described["truncation"] = described["padding"] = None
        described["normalizer"] = _without_prefix(described.get("normalizer"))
        described["pre_tokenizer"] = _without_prefix(described.get("pre_tokenizer"))
        added, described["added_tokens"] = described.get("added_tokens") or [], []
        bare = Backend.from_str(json.dumps(described))

        def is_text(token: Any) -> bool:
            """Runs of white space, HTML: what plain text gives by itself is no marker, unless the tokenizer says so."""
            text: str = token["content"]
            return not token["special"] and (not text.strip() or bare.encode(text, add_special_tokens=False).ids == [token["id"]])

        markers = [token for token in added if not is_text(token)]
        described["added_tokens"] = [token for token in added if is_text(token)]
        self._plain = Backend.from_str(json.dumps(described)) if described["added_tokens"] else bare
        self.special_tokens: dict[str, int] = {token["content"]: token["id"] for token in markers}
        self.strips = {token["content"]: (token["lstrip"], token["rstrip"]) for token in markers}
        self._byte_level = "ByteLevel" in json.dumps(described.get("decoder"))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._plain.encode(text, add_special_tokens=False).ids
        return ids

    def token_bytes(self, id: int) -> bytes:
        token: str | None = self._plain.id_to_token(id)
        if token is None:
            raise ValueError(f"there is no token {id}")
        return _bytes_of(token, self._byte_level)


class GgufTokenizer:
    """The vocabulary of a GGUF file as `gguf.GGUFReader` has it. `encode` is the engine's: llama.cpp's `llama_tokenize` without `add_special` and
    without `parse_special`."""

    def __init__(self, reader: Any, encode: Callable[[str], Sequence[int]]) -> None:
        def field(name: str) -> Any:
            found = reader.get_field(f"tokenizer.ggml.{name}")
            if found is None:
                raise ValueError(f"the file has no tokenizer.ggml.{name}")
            return found.contents()

        self.encode = encode
        self._tokens: list[str] = field("tokens")
        kinds: list[int] = field("token_type")
        # Control tokens, and those that were added: what is white space there is text.
        markers = [id for id, kind in enumerate(kinds) if kind == 3 or kind == 4 and self._tokens[id].strip()]
        self.special_tokens: dict[str, int] = {self._tokens[id]: id for id in markers}
        self._byte_level = field("model") == "gpt2"

    def __len__(self) -> int:
        return len(self._tokens)

    def token_bytes(self, id: int) -> bytes:
        return _bytes_of(self._tokens[id], self._byte_level)


def _bytes_of(token: str, byte_level: bool) -> bytes:
    """What an entry of a vocabulary stands for."""
    if byte_level:
        return b"".join(_BYTES.get(letter) or letter.encode() for letter in token)
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace("\u2581", " ").encode()


def _without_prefix(part: Any) -> Any:
    """A normalizer or pre-tokenizer that puts no space in front of a text."""
    if isinstance(part, list):
        return [each for each in map(_without_prefix, part) if each is not None]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "Prepend":
        return None
    changed = {name: _without_prefix(value) if name in ("normalizers", "pretokenizers") else value for name, value in part.items()}
    if "add_prefix_space" in changed:
        changed["add_prefix_space"] = False
    if "prepend_scheme" in changed:
        changed["prepend_scheme"] = "never"
    return changed


def _letters() -> dict[str, bytes]:
    """The letters that byte-level vocabularies write bytes with."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = (byte for byte in range(256) if byte not in shown)
    letters = {chr(byte): bytes([byte]) for byte in shown}
    letters.update({chr(0x100 + number): bytes([byte]) for number, byte in enumerate(hidden)})
    return letters


_BYTES = _letters()


class TiktokenTokenizer:
    """An encoding of the package `tiktoken`."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding
        self.special_tokens: dict[str, int] = {text: encoding.encode_single_token(text) for text in encoding.special_tokens_set}

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._encoding.encode_ordinary(text)
        return ids

    def token_bytes(self, id: int) -> bytes:
        data: bytes = self._encoding.decode_single_token_bytes(id)
        return data


class TekkenTokenizer:
    """A `Tekkenizer` of the package `mistral-common`."""

    def __init__(self, tekken: Any) -> None:
        self._tekken = tekken
        count: int = tekken.num_special_tokens
        self.special_tokens: dict[str, int] = {tekken.id_to_piece(id): id for id in range(count)}

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tekken.encode(text, bos=False, eos=False)
        return ids

    def token_bytes(self, id: int) -> bytes:
        data: bytes = self._tekken.id_to_byte_piece(id)
        return data
