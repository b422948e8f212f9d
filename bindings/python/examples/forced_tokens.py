"""Which tokens of a text that must come next may be appended without asking the model: none may cross the end of the text."""

from bisect import bisect_right


class ForcedTokens:
    """Of a vocabulary: the bytes of its tokens, without special ones. `token_bytes.py` has them for tokenizers of transformers."""

    def __init__(self, vocabulary):
        self._sorted = sorted(set(vocabulary))

    def safe(self, tokens):
        """The first ones of the tokens of a forced text, as bytes, up to where a longer token could begin that reaches beyond its end."""
        rest = b"".join(tokens)
        for number, token in enumerate(tokens):
            behind = bisect_right(self._sorted, rest)
            if behind < len(self._sorted) and self._sorted[behind].startswith(rest):
                return tokens[:number]
            rest = rest[len(token):]
        return tokens
