#!/usr/bin/env python3
"""Conversations in token ids, with the vocabularies that packages have.

    ids.py --vocabularies FOLDER --templates FOLDER [--loops N] [--turns N] [--attacks N] [--beside N] [--speed] [--seed N] [--only TEXT]

FOLDER of vocabularies has a folder for each, with `tokenizer.json` (judges/run.py --get vocabularies); mistral-common brings its own. For each pair of a
template and a vocabulary:

- seams: the rules of docs/tokens.md, and the mask beside that of segments.
- loops: conversations of N turns with random outputs (thoughts, calls, other cuts into tokens, noise, cut off, without an end, taken back). No id that
  was sent or sampled changes, unless the template rewrites it and a reason is named; all ids decode to the text.
- attacks: prompts with markers in the texts and names of requests, as many special tokens as the same prompts with letters there; --beside: so many
  of them with transformers' `sanitize_control_tokens`.
- speed: what `extend` takes at 8 and at 128 turns, and 128 turns beside rendering and encoding each anew.

Needs the Python packages `chatparse` and `tokenizers`; skips with a word where they or the vocabularies are missing.
"""
import argparse
import json
import os
import random
import re
import sys
import time
from collections import Counter
from unicodedata import normalize

from safe_tokens import LETTERS, NOW, REQUEST, SKIPPED, places, put

# A template, by its file or as its vocabulary has it; the vocabulary; the tokens that begin prompts and end turns.
PAIRS = [
    ("Qwen-Qwen3-0.6B", "qwen3", "", "<|im_end|>"),
    ("Qwen-Qwen2.5-7B-Instruct", "qwen3", "", "<|im_end|>"),
    ("Qwen-QwQ-32B", "qwen3", "", "<|im_end|>"),
    ("Qwen3-Coder", "qwen3", "", "<|im_end|>"),
    ("meta-llama-Llama-3.1-8B-Instruct", "llama3", "<|begin_of_text|>", "<|eot_id|>"),
    ("meta-llama-Llama-3.3-70B-Instruct", "llama3", "<|begin_of_text|>", "<|eot_id|>"),
    ("", "gemma3", "<bos>", "<end_of_turn>"),
    ("deepseek-ai-DeepSeek-V3.1", "deepseek_v3", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    ("llama-cpp-deepseek-r1", "deepseek_v3", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    ("mistralai-Mistral-Nemo-Instruct-2407", "tekken_240718", "<s>", "</s>"),
]
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {
    "type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}, "required": ["place"]}}}]
WORDS = ["rain", "Oslo", "the", "a", "is", "42", "\n", "\n\n", "  ", "é", "🌧", "它", "{\"a\": [1, 2]}", "def f(x):\n    return x", "don't", "<b>", "|", "Ünï", "\t"]
POOL = 60


def user(text):
    return {"role": "user", "content": text}


def words(chance, most=12):
    return (" " if chance.random() < 0.8 else "").join(chance.choice(WORDS) for _ in range(chance.randint(1, most))) or "Yes"


class Pair:
    """A template with a vocabulary."""

    def __init__(self, name, source, tokenizer, size, bos, eos, backend):
        from chatparse import Template

        self.name, self.source, self.tokenizer, self.size, self.bos, self.eos, self.backend = name, source, tokenizer, size, bos, eos, backend
        self.template = Template(source, bos=bos, eos=eos)
        self.special = tokenizer.special_tokens
        self.names = {id: text for text, id in self.special.items()}
        self.marker = re.compile("(" + "|".join(map(re.escape, sorted(self.special, key=len, reverse=True))) + ")")
        self.tools = TOOLS if self.template.capabilities()["supports_tools"] else None
        self.known, self.pool = {}, None

    def conversation(self, **options):
        from chatparse import Conversation

        return Conversation(self.template, self.tokenizer, tools=self.tools, options={"now": NOW}, **options)

    def decode(self, ids):
        known = self.known
        for id in ids:
            if id not in known:
                known[id] = self.names[id].encode() if id in self.names else self.tokenizer.token_bytes(id)
        return b"".join([known[id] for id in ids])

    def output(self, message):
        """What a model writes for a message, as the template has it."""
        asked = {"messages": [user("Hi")], "now": NOW, **({"tools": self.tools} if self.tools else {})}
        params = self.template.params(asked)
        whole = self.template.params({**asked, "messages": [user("Hi"), message], "add_generation_prompt": False}).prompt
        same = len(os.path.commonprefix([params.prompt, whole]))
        text, end = whole[same:], params.end_of_turn
        text = text.partition(end)[0] + end if end else text
        thought, start = message.get("reasoning_content"), params.thinking_start_tag
        is_open = start and start.strip() in params.prompt[same:]
        if is_open or start and thought and thought.strip() not in text:
            text = ("" if is_open else start) + f"{thought or 'Hm.'}\n{params.thinking_end_tags[0]}\n\n{text}"
        return text

    def message(self, chance):
        made = {"role": "assistant", "content": words(chance)}
        if chance.random() < 0.4:
            made["reasoning_content"] = words(chance, 20)
        if self.tools and chance.random() < 0.4:
            call = {"name": "look", "arguments": json.dumps({"place": words(chance, 4), "days": 3})}
            made = {**made, "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": call}]}
        return made

    def sampled(self, text, chance=None):
        """The ids of an output: those of the tokenizer, or of the text cut elsewhere."""
        ids = []
        for part in self.marker.split(text):
            if part in self.special:
                ids.append(self.special[part])
                continue
            while part:
                cut = len(part) if chance is None or chance.random() < 0.7 else chance.randint(1, len(part))
                ids += self.tokenizer.encode(part[:cut])
                part = part[cut:]
        return ids

    def random_output(self, chance):
        """Ids as a model may write them, and what is done to them."""
        if self.pool is None:
            self.pool = [self.output(self.message(chance)) for _ in range(POOL)]
        ids = self.sampled(chance.choice(self.pool), chance)
        at, kind = chance.randint(0, len(ids)), chance.random()
        if kind < 0.15:
            return ids[:at], "cut off"
        if kind < 0.25:
            return [*ids[:at], *(chance.randrange(self.size) for _ in range(chance.randint(1, 4))), *ids[at:]], "noise"
        if kind < 0.32:
            return [*ids[:at], *self.tokenizer.encode(chance.choice([*self.special][:40])), *ids[at:]], "a quoted marker"
        if kind < 0.36:
            return [*ids[:at], chance.choice([*self.special.values()][:40]), *ids[at:]], "a marker"
        if kind < 0.42 and ids[-1] in self.names:
            return ids[:-1], "no end"
        return ids, "whole"


def following(conversation, chance):
    """What may follow the output."""
    calls = conversation.message().get("tool_calls", [])
    if calls:
        return [{"role": "tool", "tool_call_id": call.get("id") or "call00001", "name": call["function"]["name"], "content": words(chance)} for call in calls]
    return [user(words(chance))]


def loop(pair, chance, turns, counts):
    """A conversation; what is wrong, if something is."""
    from chatparse import Error

    append = chance.choice(["always", "template"])
    conversation = pair.conversation(append=append)
    conversation.prompt_ids([user(words(chance))])
    for turn in range(turns):
        ids, kind = pair.random_output(chance)
        cut = chance.randint(0, len(ids))
        conversation.observe(ids[:cut])
        if chance.random() < 0.1:
            # A branch is taken back: what it had is as if it had never been.
            there = len(conversation.ids)
            conversation.observe(pair.tokenizer.encode(words(chance)))
            conversation.rewind(there)
        conversation.observe(ids[cut:])
        if chance.random() < 0.5:
            conversation.finish()
        before = conversation.ids
        if before[len(before) - len(ids):] != ids:
            return f"turn {turn}, {kind}: what was sampled is not what stands"
        try:
            kept, new, rewrite = conversation.extend(following(conversation, chance))
        except Error:
            # The template refuses it. Another output takes its place.
            counts["refused"] += 1
            if conversation.ids != before:
                return f"turn {turn}, {kind}: ids changed although extend failed"
            conversation.rewind(conversation.prompt_length)
            ids = pair.sampled("Yes." + pair.eos)
            conversation.observe(ids)
            before = conversation.ids
            kept, new, rewrite = conversation.extend([user(words(chance))])
        after = conversation.ids
        counts.update({"turns": 1, "sampled": len(ids), kind: 1})
        if rewrite:
            counts[f"rewrite: {rewrite.reason.name.lower()}"] += 1
        if after != before[:kept] + new:
            return f"turn {turn}, {kind}, {append}: ids in front of those to send changed"
        if kept < len(before) and (append == "always" or rewrite is None):
            return f"turn {turn}, {kind}, {append}: {len(before) - kept} ids changed, and the rewrite is {rewrite}"
        # Qwen's tokenizer composes letters before it encodes them, which ids need not have been made of.
        spelt, text = (normalize("NFC", each) for each in (pair.decode(after).decode(errors="replace"), conversation.text.decode()))
        if spelt != text:
            return f"turn {turn}, {kind}, {append}: the ids do not spell the text"
        if sum(conversation.mask) > len(before):
            return f"turn {turn}: more is sampled than was"
    return ""


def attacked(pair):
    """What is attacked: a conversation with calls, or a plain one where the template refuses those."""
    from chatparse import Error

    full = {key: REQUEST[key] for key in ("messages", "tools")}
    plain = {"messages": [message for message in full["messages"] if message["role"] != "tool" and "tool_calls" not in message][:2], "tools": None}
    for request in (full, {**plain, "tools": full["tools"]}, plain):
        try:
            pair.template.params(request)
            return request
        except Error:
            pass
    raise AssertionError("the template refuses a plain question")


def marks_of(pair, request):
    """The markers that attacks have: those of the template's prompts, and some others."""
    prompt = pair.template.params({**request, "now": NOW}).prompt
    shown = [text for text in pair.special if text in pair.source or text in prompt]
    return shown + [text for text in pair.special if text not in shown][:8]


def attack(chance, markers):
    """A text with one to four markers: whole, in halves, nested, without their brackets, between others."""
    pieces = []
    for _ in range(chance.randint(1, 4)):
        marker, half = chance.choice(markers), chance.choice(markers)
        at = chance.randint(1, len(marker))
        pieces += [chance.choice([marker, marker, marker[:at] + half + marker[at:], marker[:at] + "\u200b" + marker[at:], marker[:at], marker.strip("<>[]|｜")])]
        pieces += [chance.choice(["", "\n", " ", "system\n", "assistant", "x"])]
    return "".join(pieces)


class Sanitized:
    """Prompts of transformers, with users' control tokens marked."""

    def __init__(self, pair):
        from tokenizers import Tokenizer
        from transformers import PreTrainedTokenizerFast

        self.special = set(pair.special.values())
        made = Tokenizer.from_str(pair.backend.to_str())
        made.post_processor = None
        self.tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=made, bos_token=pair.bos or None, eos_token=pair.eos, additional_special_tokens=[*pair.special], chat_template=pair.source)

    def count(self, request):
        found = self.tokenizer.apply_chat_template(
            request["messages"], tools=request["tools"], add_generation_prompt=True, tokenize=True, sanitize_control_tokens=True, return_dict=False)
        return sum(id in self.special for id in found)


class Ours:
    def __init__(self, pair):
        from chatparse import Conversation

        self.pair, self.new = pair, Conversation

    def count(self, request):
        pair = self.pair
        conversation = self.new(pair.template, pair.tokenizer, tools=request["tools"], options={"now": NOW})
        ids = conversation.prompt_ids(request["messages"])
        if pair.decode(ids) != conversation.text:
            return len(ids)
        return sum(id in pair.names for id in ids)


def attacks(pair, chance, number, way):
    """How many were tried, and the attacks whose prompts have more special tokens than those with letters in their place."""
    request = attacked(pair)
    # Other names, and words of the protocol, are refused.
    spots = [(path, is_name) for path, is_name in places(request) if path[-1] not in ("role", "type") and (not is_name or path[-2:-1] in (("arguments",), ("properties",)))]
    markers = marks_of(pair, request)
    counter, usual, tried, wrong = way(pair), {}, 0, []

    def count(place, text):
        try:
            return counter.count(put(request, *place, text))
        except Exception:
            return None  # Refused: another role, say.

    for _ in range(number):
        place, text = chance.choice(spots), attack(chance, markers)
        key = repr(place)
        if key not in usual:
            usual[key] = count(place, LETTERS)
        found = None if usual[key] is None else count(place, text)
        tried += found is not None
        if found is not None and found > usual[key]:
            wrong.append((place, text))
    return tried, wrong


def seams(pair):
    """The rules that do not hold, by name."""
    end, say = pair.eos, pair.sampled

    def begun(append, template=None):
        conversation = pair.conversation(append=append)
        conversation.prompt_ids([user("How is it?")])
        return conversation

    def thought():
        """What closes reasoning that the prompt has opened."""
        return pair.output({"role": "assistant", "content": "Yes"}).partition("Yes")[0]

    # Half a character.
    half = pair.tokenizer.encode("\U00012345")
    if len(half) > 1:
        for append in ("always", "template"):
            conversation = begun(append)
            conversation.observe([*say(thought() + "Yes."), half[0]])
            before = conversation.ids
            kept, new, rewrite = conversation.extend([user("And?")])
            text = pair.decode(conversation.ids)
            if append == "always" and not (kept == len(before) and conversation.ids == before + new):
                yield "half a character, always"
            if append == "template" and not (rewrite and kept < len(before) and text == conversation.text):
                yield "half a character, template"
    # Several ends, and none.
    from chatparse import Conversation, Template

    other = next(text for text in pair.special if text not in pair.source and text not in (pair.bos, end))
    several = Template(pair.source, bos=pair.bos, eos=end, ends=[other])
    for token in (end, other):
        conversation = Conversation(several, pair.tokenizer, append="always")
        conversation.prompt_ids([user("How is it?")])
        observed = conversation.observe(say(thought() + "Yes." + token))
        before = conversation.ids
        kept, new, _ = conversation.extend([user("And?")])
        if not observed.ended or kept != len(before) or new and new[0] in (pair.special[end], pair.special[other]):
            yield f"several ends: {token}"
    conversation = begun("always")
    conversation.observe(say(thought() + "Yes."))
    before = conversation.ids
    kept, new, _ = conversation.extend([user("And?")])
    if kept != len(before) or not pair.decode(new).decode().startswith(end) or any(conversation.mask[kept:]):
        yield "an output without its end"
    # White space, which templates trim.
    conversation = begun("always")
    ids = say(thought() + "Yes.  \n\n" + end)
    conversation.observe(ids)
    before = conversation.ids
    kept, new, _ = conversation.extend([user("And?")])
    if conversation.ids[: len(before)] != before or end in pair.decode(new).decode().partition("And?")[0]:
        yield "white space"
    # Thoughts.
    params = pair.template.params({"messages": [user("Hi")], "now": NOW})
    if params.thinking_end_tags and params.thinking_start_tag in pair.special:
        for append in ("always", "template"):
            conversation = begun(append)
            conversation.observe(say(pair.output({"role": "assistant", "reasoning_content": "I see.", "content": "Yes."})))
            before = conversation.ids
            kept, new, rewrite = conversation.extend([user("And?")])
            if append == "always" and kept != len(before) or append == "template" and kept < len(before) and rewrite is None:
                yield f"thoughts, {append}"
            if append == "template" and pair.decode(conversation.ids) != conversation.text:
                yield "thoughts: the ids do not spell the text"
    yield from masks(pair)


def masks(pair):
    """Where the mask is not that of segments, for turns as the template writes them."""
    conversation = pair.conversation()
    messages = [user("How is it?")]
    conversation.prompt_ids(messages)
    for text in ("Rain.", "And more rain.", "Sun."):
        message = {"role": "assistant", "content": text}
        conversation.observe(pair.sampled(pair.output(message)))
        if conversation.extend([user("And?")]).rewrite:
            return  # What was sampled is no longer there.
        messages += [message, user("And?")]
    found = pair.template.segments({"messages": messages, "now": NOW, **({"tools": pair.tools} if pair.tools else {})})
    if found.prompt != conversation.text:
        yield "masks: the text is not that of the whole conversation"
        return
    ends = [0] + [token.end for token in conversation.tokens]
    labels = found.tokens(list(zip(ends, ends[1:])), in_bytes=True)
    if [int(label.sampled) for label in labels] != conversation.mask:
        yield "the mask is not that of segments"


def speed(pair, turns=128):
    """Seconds of `extend` at 8 and at the last turn, the best of three; of all turns, and of as many rendered and encoded anew."""
    text = "Message {0} tells of the weather, of a hill, and of what is behind it, at some length. " * 2
    thought = pair.output({"role": "assistant", "content": "Yes"}).partition("Yes")[0]
    best, whole, anew = {8: 1e9, turns: 1e9}, 1e9, 1e9
    for _ in range(3):
        conversation, total = pair.conversation(append="always"), 0.0
        conversation.prompt_ids([user("Hi")])
        for turn in range(1, turns + 1):
            ids = pair.sampled(thought + text.format(turn) + pair.eos)
            new = [user(text.format(-turn))]
            begin = time.thread_time()
            conversation.observe(ids)
            middle = time.thread_time()
            conversation.extend(new)
            end = time.thread_time()
            total += end - begin
            if turn in best:
                best[turn] = min(best[turn], end - middle)
        whole = min(whole, total)
        messages, total = [user("Hi")], 0.0
        for turn in range(1, turns + 1):
            messages += [{"role": "assistant", "content": text.format(turn)}, user(text.format(-turn))]
            request = {"messages": messages, "now": NOW, **({"tools": pair.tools} if pair.tools else {})}
            begin = time.thread_time()
            prompt = pair.template.params(request).prompt
            pair.backend.encode(prompt, add_special_tokens=False)
            total += time.thread_time() - begin
        anew = min(anew, total)
    return best[8], best[turns], whole, anew


def load(folder, templates, only):
    from chatparse import HfTokenizer, TekkenTokenizer
    from tokenizers import Tokenizer

    made = {}
    for name, vocabulary, bos, eos in PAIRS:
        if only not in f"{name} {vocabulary}":
            continue
        base = next((os.path.join(folder, vocabulary, way) for way in ("models", "") if os.path.isdir(os.path.join(folder, vocabulary, way))), "")
        if vocabulary not in made:
            try:
                if vocabulary.startswith("tekken"):
                    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
                    import mistral_common

                    tekken = Tekkenizer.from_file(os.path.join(os.path.dirname(mistral_common.__file__), "data", vocabulary + ".json"))
                    made[vocabulary] = TekkenTokenizer(tekken), tekken.n_words, None
                else:
                    backend = Tokenizer.from_file(os.path.join(base, "tokenizer.json"))
                    made[vocabulary] = HfTokenizer(backend), backend.get_vocab_size(with_added_tokens=False), backend
            except Exception as error:
                print(f"ids: {vocabulary} is left out: {error}")
                made[vocabulary] = None
        if not made[vocabulary]:
            continue
        if name:
            with open(os.path.join(templates, name + ".jinja"), encoding="utf-8", newline="") as file:
                source = file.read()
        else:
            with open(os.path.join(base, "tokenizer_config.json"), encoding="utf-8") as file:
                source = json.load(file)["chat_template"]
        tokenizer, size, backend = made[vocabulary]
        yield Pair(f"{name or 'its own'} with {vocabulary}", source, tokenizer, size, bos, eos, backend)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--vocabularies", required=True)
    ap.add_argument("--templates", required=True)
    ap.add_argument("--loops", type=int, default=0)
    ap.add_argument("--turns", type=int, default=32)
    ap.add_argument("--attacks", type=int, default=0)
    ap.add_argument("--beside", type=int, default=0)
    ap.add_argument("--speed", action="store_true")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only", default="")
    args = ap.parse_args()
    try:
        pairs = list(load(args.vocabularies, args.templates, args.only))
    except ImportError as error:
        print(f"ids: skipped: {error}")
        sys.exit(SKIPPED)
    if not pairs:
        print("ids: skipped: there are no vocabularies")
        sys.exit(SKIPPED)
    wrong, all_counts, all_attacks = 0, Counter(), Counter()
    for pair in pairs:
        for rule in seams(pair):
            wrong += 1
            print(f"{pair.name}: {rule}")
        counts = Counter()
        for number in range(args.loops // len(pairs)):
            fault = loop(pair, random.Random(f"{args.seed} {number}"), args.turns, counts)
            counts["loops"] += 1
            if fault:
                wrong += 1
                print(f"{pair.name}: loop {number}: {fault}", flush=True)
        all_counts += counts
        if counts:
            print(f"{pair.name}: {dict(counts)}", flush=True)
        for name, way, number in (("attacks", Ours, args.attacks), ("with transformers", Sanitized, args.beside)):
            if not number or way is Sanitized and not pair.backend:
                continue
            tried, found = attacks(pair, random.Random(args.seed), number // len(pairs), way)
            all_attacks.update({name: tried, name + ", wrong": len(found)})
            wrong += len(found) if way is Ours else 0
            print(f"{pair.name}: {tried} {name}, {len(found)} with a control token of a user's text {found[:2]}", flush=True)
        if args.speed and pair.backend:
            early, late, whole, anew = speed(pair)
            print(f"{pair.name}: extend {early * 1e3:.2f} ms at 8 turns, {late * 1e3:.2f} at 128: {late / early:.2f} ×; 128 turns {anew / whole:.1f} × as fast as anew", flush=True)
    print(f"{len(pairs)} pairs: {wrong} faults; {dict(all_counts)}; {dict(all_attacks)}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
