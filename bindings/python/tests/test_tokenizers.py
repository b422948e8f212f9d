"""The package with tokenizers of transformers; skipped without it."""

import pytest
from chatparse import MaskPart, Template, assistant_masks

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

THINKING = """{% for message in messages %}<|{{ message.role }}|>
{%- if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}{{ message.content }}<|im_end|>
{%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""
MESSAGES = [
    {"role": "user", "content": "Hva er vêret, {}?"},
    {"role": "assistant", "content": "Grått. 🌧"},
    {"role": "user", "content": "Takk"},
    {"role": "assistant", "content": "Ver så god"},
]


@pytest.fixture
def tokenizer():
    """A token for each byte, one for each special token, and a template."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE({letter: at for at, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>"])
    fast.chat_template = Template.builtin("chatml").source
    return fast


def test_prompts_are_those_of_transformers(tokenizer):
    pytest.importorskip("jinja2")
    template = Template.from_tokenizer(tokenizer)
    theirs = tokenizer.apply_chat_template(MESSAGES[:3], tokenize=False, add_generation_prompt=True)
    assert template.params({"messages": MESSAGES[:3], "plain": True}).prompt == theirs


def test_labels(tokenizer):
    from masks import IGNORED, labelled

    ids, labels = labelled(tokenizer, {"messages": MESSAGES}, MaskPart.CONTENT)
    assert tokenizer.decode([label for label in labels if label != IGNORED]) == "Grått. 🌧Ver så god"
    assert "Takk" in tokenizer.decode(ids) and len(ids) == len(labels)
    ids, labels = labelled(tokenizer, {"messages": MESSAGES})
    assert tokenizer.eos_token_id in labels


TAGGED = """{% for message in messages %}<|{{ message.role }}|>{% if message.role == 'assistant' %}
{%- generation %}{{ message.content }}<|im_end|>
{% endgeneration %}{% else %}{{ message.content }}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}{{ note }}"""


def test_assistant_masks_are_those_of_transformers(tokenizer):
    pytest.importorskip("jinja2")
    tokenizer.chat_template = TAGGED
    options = {"return_dict": True, "return_assistant_tokens_mask": True}
    for conversations in (MESSAGES, [MESSAGES, MESSAGES[:2], MESSAGES[:1]]):
        theirs = tokenizer.apply_chat_template(conversations, note="Å", **options)
        ours = assistant_masks(tokenizer, conversations, note="Å")
        assert {name: ours[name] for name in theirs} == dict(theirs)
    assert 1 in ours["assistant_masks"][0] and 1 not in ours["assistant_masks"][2]
    # What models wrote is found also where the template does not tell. TRL's templates have more than that.
    tokenizer.chat_template = TAGGED.replace("generation %}", "if true %}").replace("endif true", "endif")
    found = assistant_masks(tokenizer, MESSAGES, note="Å", parts=MaskPart.ALL | MaskPart.SPACE)
    assert found["assistant_masks"] == ours["assistant_masks"][0]
    exact = assistant_masks(tokenizer, MESSAGES, note="Å")["assistant_masks"]
    assert sum(found["assistant_masks"]) - sum(exact) == 2


def test_what_ran_out_is_a_warning(tokenizer):
    letters = "".join(map(chr, [*range(0xA840, 0xA872), *range(0xA500, 0xA60C), *range(0xA000, 0xA100)]))
    with pytest.warns(UserWarning, match=r"conversations\[0\]"):
        # With a variable, labels tell whose text it is.
        encoded = assistant_masks(tokenizer, [{"role": "user", "content": letters}, *MESSAGES[1:]], note="Å")
    assert 1 not in encoded["assistant_masks"]


def test_special_tokens_of_an_output(tokenizer):
    """Which bytes of an output came from special tokens follows from its tokens."""
    tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
    params = Template(THINKING).params({"messages": MESSAGES[:1]})
    quoted = tokenizer.encode("<think>A thought ends with ", split_special_tokens=False)
    quoted += tokenizer.encode("</think>", split_special_tokens=True)
    output = quoted + tokenizer.encode(", so it ends.</think>Done.", split_special_tokens=False)
    stream = params.stream()
    stream.set_special_tokens(["<think>", "</think>"])
    for token in output:
        special = token in tokenizer.all_special_ids
        data = tokenizer.decode([token]).encode()
        stream.feed_marked(data, [(0, len(data))] if special else [])
    stream.finish()
    message = stream.message()
    assert (message.reasoning, message.content) == ("A thought ends with </think>, so it ends.", "Done.")


TEXT = "Grått. 🌧 \x00<0x0A>\n"


def test_bytes_of_byte_level_tokens(tokenizer):
    from token_bytes import TokenBytes

    ids = tokenizer.encode(TEXT)
    pieces = [TokenBytes(tokenizer).get(id) for id in [*ids, tokenizer.eos_token_id]]
    assert b"".join(pieces).decode() == TEXT + "<|im_end|>" and len(pieces[4]) == 1


def test_bytes_of_sentencepiece_tokens():
    from token_bytes import TokenBytes

    vocabulary = [("<unk>", 0.0), *[(f"<0x{byte:02X}>", -9.0) for byte in range(256)], *[(word, -1.0) for word in ("\u2581Gr", "tt", ".", "\u2581", "<", "0x0A", ">")]]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(vocabulary, 0, byte_fallback=True))
    made.normalizer = tokenizers.normalizers.Replace(" ", "\u2581")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", eos_token="</s>")
    pieces = [TokenBytes(fast).get(id) for id in [*fast.encode(" " + TEXT), fast.eos_token_id]]
    assert b"".join(pieces).decode() == " " + TEXT + "</s>" and b" Gr" in pieces
