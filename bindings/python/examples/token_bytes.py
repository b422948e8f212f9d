"""The bytes of a model's tokens, one by one, for `Stream.feed`: a token may end inside of a character, and then decoding it loses bytes."""


def byte_alphabet():
    """What each character of a byte-level vocabulary stands for: what prints stands for itself, all other bytes for characters behind U+0100."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(0x100 + at): byte for at, byte in enumerate(others)}


class TokenBytes:
    """The bytes of each token of a tokenizer of transformers. `get(id)` gives those of special tokens, too."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._added = {id: str(token) for id, token in tokenizer.added_tokens_decoder.items()}
        self._alphabet = byte_alphabet()
        # Vocabularies of SentencePiece have a token for each byte, and write a space as U+2581.
        self._pieces = tokenizer.convert_tokens_to_ids("<0x0A>") not in (None, tokenizer.unk_token_id)

    def get(self, id):
        if id in self._added:
            return self._added[id].encode()
        token = self._tokenizer.convert_ids_to_tokens(id)
        if not self._pieces:
            return bytes(self._alphabet[letter] for letter in token)
        if len(token) == 6 and token.startswith("<0x"):
            return bytes([int(token[3:5], 16)])
        return token.replace("\u2581", " ").encode()
