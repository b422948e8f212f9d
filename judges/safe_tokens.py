#!/usr/bin/env python3
"""Whether a text of a user becomes a control token: by segments, and beside them by transformers' `sanitize_control_tokens`.

    safe_tokens.py [--templates FOLDER...] [--per N] [--seed N] [--show N]

For each template a byte-level tokenizer is made in which the template's markers are special tokens: those of its source, and those that its prompts have. Then each
text and name of a request gets them in turn: whole, in halves, one inside of the other, and without their brackets. A prompt is wrong if it has more
special tokens than the same prompt with letters in their place, or, by segments, if its tokens do not spell it. Needs the Python packages `tokenizers` and `chatparse`,
and `transformers` for the figure beside; skips with a word where one is missing.
"""
import argparse
import copy
import importlib.util
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
MARKER = re.compile(r"<[|｜/]?[^<>{}\s'\"]{1,40}>|\[/?[A-Z_]{3,30}\]")
LETTERS = "weather"
REQUEST = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "content": "I look.", "reasoning_content": "A tool.", "tool_calls": [
            {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}}]},
        {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"sky\": \"grey\"}"},
        {"role": "user", "content": "And Rome?"},
    ],
    "tools": [{"type": "function", "function": {"name": "get_weather", "description": "Tells it.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "A city", "enum": ["Oslo"]}}, "required": ["city"]}}}],
    "chat_template_kwargs": {"note": "A note"},
}
NOW = 1785672000
# A template reads what the model itself wrote, and writes its parts anew.
MODELS = ("content", "reasoning_content")


def places(value, path=()):
    """Where a text or a name stands: its path, and whether it is a name."""
    if isinstance(value, str):
        yield path, False
    elif isinstance(value, (list, dict)):
        is_models = isinstance(value, dict) and value.get("role") == "assistant"
        for key in range(len(value)) if isinstance(value, list) else list(value):
            if not (is_models and key in MODELS):
                yield from places(value[key], (*path, key))
            if isinstance(key, str):
                yield (*path, key), True


def put(request, path, is_name, text):
    """The request with a text behind the one at this place."""
    request = copy.deepcopy(request)
    *way, last = path
    at = request
    for key in way:
        at = at[key]
    if is_name:
        pairs = [(key + text if key == last else key, value) for key, value in at.items()]
        at.clear()
        at.update(pairs)
    else:
        at[last] += text
    return request


def attacks(markers):
    for marker in markers:
        half = len(marker) // 2
        yield from (marker, f"x{marker}y", marker[:half], marker[half:], marker[:half] + marker + marker[half:], marker.strip("<>[]|｜"))


def load_example():
    """`encode` of the example, which has this file's name."""
    where = importlib.util.spec_from_file_location("example", os.path.join(HERE, os.pardir, "examples", "safe_tokens.py"))
    example = importlib.util.module_from_spec(where)
    where.loader.exec_module(example)
    return example.encode


def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(["the weather in a city is told by a tool"] * 3, trainer)
    return made.to_str()


class Segments:
    """Prompts of this library, with tokens by the example."""

    def __init__(self, source, made, _markers):
        from chatparse import Template

        self.template, self.made, self.encode = Template(source, bos="<s>", eos="</s>"), made, load_example()

    def ids(self, request):
        found = self.template.segments({**request, "now": NOW})
        ids = self.encode(self.made, found)
        if self.made.decode(ids, skip_special_tokens=False).encode() != found.prompt:
            raise AssertionError("the tokens do not spell the prompt")
        return ids

    def prompt(self):
        return self.template.segments({**REQUEST, "now": NOW}).prompt.decode()


class Marked:
    """Prompts of transformers, with users' control tokens marked."""

    def __init__(self, source, made, markers):
        from transformers import PreTrainedTokenizerFast

        self.tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=made, bos_token="<s>", eos_token="</s>", additional_special_tokens=markers, chat_template=source)

    def ids(self, request):
        more = request.get("chat_template_kwargs", {})
        if len(more) != 1:
            raise ValueError("not of this request")
        found = self.tokenizer.apply_chat_template(
            request["messages"], tools=request["tools"], add_generation_prompt=True, tokenize=True, sanitize_control_tokens=True, return_dict=False, **more)
        return found if isinstance(found, list) else found["input_ids"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--templates", nargs="*", default=[])
    ap.add_argument("--per", type=int, default=12)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--show", type=int, default=5)
    args = ap.parse_args()
    try:
        import chatparse  # noqa: F401
        from tokenizers import AddedToken, Tokenizer
    except ImportError as error:
        print(f"safe_tokens: skipped: {error}")
        sys.exit(SKIPPED)
    ways = {"segments": Segments}
    if importlib.util.find_spec("transformers"):
        ways["transformers"] = Marked
    base, chance = tokenizer(), random.Random(args.seed)
    files = [os.path.join(folder, name) for folder in args.templates for name in sorted(os.listdir(folder)) if name.endswith(".jinja")]
    tried, wrong, bad, seen = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0), {way: set() for way in ways}, 0
    for path in files or [os.path.join(HERE, os.pardir, "templates", "chatml.jinja")]:
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        try:
            prompt = Segments(source, None, None).prompt()
        except chatparse.Error:
            prompt = ""
        # Where the template refuses this conversation, nothing is tried.
        markers = sorted({each for text in (source, prompt) for each in MARKER.findall(text)} | {"<s>", "</s>"}) if prompt else []
        made = Tokenizer.from_str(base)
        made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in markers])
        special = {made.token_to_id(text) for text in markers}
        cases = [(place, attack) for place in places(REQUEST) for attack in attacks(markers)]
        chosen = chance.sample(cases, min(args.per, len(cases)))
        for name, way in ways.items() if markers else ():
            try:
                read = way(source, Tokenizer.from_str(made.to_str()), markers)
            except Exception:
                continue

            def count(place, text):
                try:
                    return sum(each in special for each in read.ids(put(REQUEST, *place, text)))
                except AssertionError:
                    return len(prompt)
                except Exception:
                    return None

            usual = {}
            for place, attack in chosen:
                if place not in usual:
                    usual[place] = count(place, LETTERS)
                found = None if usual[place] is None else count(place, attack)
                if found is None:
                    continue
                tried[name] += 1
                if found > usual[place]:
                    wrong[name] += 1
                    bad[name].add(path)
                    if name == "segments" and (seen := seen + 1) <= args.show:
                        print(f"{os.path.basename(path)}: {attack!r} at {place}: {found} special tokens for {usual[place]}")
    for name in ways:
        print(f"{name}: {tried[name]} prompts, {wrong[name]} with a control token of a user's text, in {len(bad[name])} templates")
    if wrong["segments"] or not tried["segments"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
