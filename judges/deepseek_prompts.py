#!/usr/bin/env python3
"""Prompts and messages beside deepseek-recipe, the vendor's own layer for two models: the same bytes, the same messages?

    deepseek_prompts.py --bin target/release/chatparse --v4 TEMPLATE --v41 TEMPLATE [--requests N] [--show N] [--prompts PERCENT] [--messages PERCENT]

Makes N chat-completions requests for each model, renders each with the package and with `chatparse replay`, and counts where the bytes
differ. Then it lets the package render an answer behind each prompt, reads that text with both, in pieces, and compares reasoning,
content and calls. What differs on purpose is in DECIDED, and counted apart; all else is printed, grouped by what the request has. Needs deepseek-recipe 0.2.0, and skips with a word where it
is missing.
"""
import argparse
import collections
import json
import random
import re
import subprocess
import sys

VERSION = "0.2.0"
SKIPPED = 77
BOS, EOS = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
MODELS = {"v4": "DeepSeek-V4-Pro", "v41": "DeepSeek-V4.1-Flash"}
TEXTS = ["Hi", "What is the weather in Oslo?", "Zwei\nZeilen, größer.", '{"a": [1, "b"]}', "  blanks  ", "<b>1 < 2</b> & 😀", "a\n\nb\n"]
VALUES = ["Oslo", "a\nb", 'quoted "x"', "", 7, -1.5, True, None, [1, "b"], {"c": {"d": []}}]

# Where the package and the templates that come with the checkpoints differ: what is taken out of both texts, and why it may differ.
DECIDED = [
    ("the package puts a blank line in front of tools where no system text stands there", r"(?<=[>\n])\n\n(?=## Tools)"),
    ("a template writes an empty line into a call without arguments", r'(?<=">\n)\n(?=</｜DSML｜ ?invoke>)'),
]
# The package drops line breaks around reasoning; here every byte stays.
REASONING = "line breaks around reasoning"


def skip(why):
    print(f"deepseek_prompts: skipped: {why}")
    sys.exit(SKIPPED)


def tools(rng):
    kinds = [{"type": "string"}, {"type": "integer"}, {}, {"type": "object", "properties": {}}]
    def tool(name):
        names = rng.sample(["city", "days", "any", "deep"], rng.randint(0, 3))
        schema = {"type": "object", "properties": {name: rng.choice(kinds) for name in names}}
        if names:
            schema["required"] = names[:1]
        function = {"name": name, "description": rng.choice(["Finds it.", "Größe & \"mehr\""]), "parameters": schema}
        return {"type": "function", "function": function}
    return [tool(name) for name in rng.sample(["get_weather", "find", "send-mail"], rng.randint(1, 3))]


def arguments(rng):
    return {name: rng.choice(VALUES) for name in rng.sample(["city", "days", "any", "deep"], rng.randint(0, 3))}


def answer(rng, offered):
    message = {"role": "assistant", "content": rng.choice(TEXTS)}
    if rng.random() < 0.6:
        message["reasoning_content"] = rng.choice(TEXTS)
    if offered and rng.random() < 0.6:
        calls = [
            {"id": f"call{number}", "type": "function", "function": {
                "name": rng.choice(offered)["function"]["name"], "arguments": json.dumps(arguments(rng), ensure_ascii=False)}}
            for number in range(rng.randint(1, 3))]
        message["tool_calls"] = calls
        message["content"] = rng.choice(["", message["content"]])
    return message


def request(rng, model):
    body = {"model": model, "messages": []}
    if rng.random() < 0.5:
        body["messages"].append({"role": "system", "content": rng.choice(TEXTS)})
    offered = tools(rng) if rng.random() < 0.6 else []
    if offered:
        body["tools"] = offered
    for _ in range(rng.randint(0, 3)):
        body["messages"].append({"role": "user", "content": rng.choice(TEXTS)})
        said = answer(rng, offered)
        body["messages"].append(said)
        for call in said.get("tool_calls", []):
            body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": rng.choice(TEXTS)})
        if "tool_calls" in said and rng.random() < 0.7:
            body["messages"].append({"role": "assistant", "content": rng.choice(TEXTS)})
    if body["messages"] == [] or body["messages"][-1]["role"] not in ("user", "tool"):
        body["messages"].append({"role": "user", "content": rng.choice(TEXTS)})
    if rng.random() < 0.3:
        body["thinking"] = {"type": "disabled"}
    else:
        # Without one, the package takes a level of its own and the template none.
        body["reasoning_effort"] = rng.choice(["high", "max"])
    return body


class Recipe:
    """The package, for one model."""

    def __init__(self, package, name):
        self.package = package
        self.encoding = package.DeepseekV4Encoding() if name == "v4" else package.DeepseekV41Encoding()

    def prompt(self, body):
        converted = self.package.ChatCompletionRequest(body).convert(self.package.ConversionOptions())
        return self.encoding.render_conversation(converted.conversation).prompt

    def read(self, body, output):
        package, chunk = self.package, self.package.InferenceChunk
        converted = package.ChatCompletionRequest(body).convert(package.ConversionOptions())
        generator = package.ChatCompletionRequest.chunk_generator(converted, "a", body["model"])
        processor = package.StreamProcessor(generator, converted.parsing_options)
        response = package.ChatCompletionResponse("a", body["model"], 0, 0, 0)
        pieces = [chunk.ready()] + [chunk.text(output[at:at + 7]) for at in range(0, len(output), 7)]
        pieces.append(chunk.finish(package.InferenceFinishReason.Stop))
        for piece in pieces:
            for event in processor.push(piece):
                response.accumulate(event)
        for event in processor.finish():
            response.accumulate(event)
        return json.loads(response.to_json())["choices"][0]["message"]


def said(message):
    def call(call):
        function = call["function"]
        try:
            return function["name"], json.loads(function["arguments"])
        except ValueError:
            return function["name"], function["arguments"]
    return (message.get("reasoning_content") or "", message.get("content") or "", [call(c) for c in message.get("tool_calls") or []])


def replay(binary, scenarios):
    lines = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    answers = subprocess.run([*binary.split(), "replay"], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in answers.splitlines()]


def features(body):
    names = [name for name in ("tools", "thinking", "reasoning_effort") if name in body]
    names += ["history"] if any(m["role"] == "assistant" for m in body["messages"]) else []
    names += ["ends in tool"] if body["messages"][-1]["role"] == "tool" else []
    return ", ".join(names) or "plain"


def decided(ours, theirs):
    reasons = []
    for why, pattern in DECIDED:
        plain = re.sub(pattern, "", ours), re.sub(pattern, "", theirs)
        if plain != (ours, theirs):
            reasons.append(why)
        ours, theirs = plain
    return "; ".join(reasons) if ours == theirs else None


def first_difference(ours, theirs):
    at = next((at for at, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    return f"at {at}: ours {ours[max(0, at - 20):at + 40]!r}, theirs {theirs[max(0, at - 20):at + 40]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--v4", help="the template of DeepSeek V4")
    parser.add_argument("--v41", help="the template of DeepSeek V4.1")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--prompts", type=float, default=0, help="fail where fewer prompts are equal or decided, in percent")
    parser.add_argument("--messages", type=float, default=0, help="fail where fewer messages are equal or decided, in percent")
    args = parser.parse_args()
    try:
        import deepseek_recipe as package
    except ImportError as error:
        skip(error)
    if package.__version__ != VERSION:
        skip(f"deepseek-recipe {package.__version__}, not {VERSION}")
    failed = False
    for name, model in MODELS.items():
        template = getattr(args, name)
        if not template:
            continue
        rng, recipe = random.Random(7), Recipe(package, name)
        bodies, outputs, prompts = [], [], []
        refused = collections.Counter()
        while len(bodies) < args.requests:
            body = request(rng, model)
            try:
                prompt = recipe.prompt(body)
                whole = recipe.prompt({**body, "messages": [*body["messages"], answer(rng, body.get("tools"))]})
            except package.ConversionError as error:
                refused[json.loads(error.body)["error"]["message"]] += 1
                if refused.total() > 10 * args.requests:
                    sys.exit(f"deepseek_prompts: the package refuses the requests: {refused.most_common(3)}")
                continue
            bodies.append(body)
            prompts.append(prompt)
            # An answer's text stands behind the prompt, unless the answer changes what is in front of it.
            outputs.append(whole[len(prompt):].split(EOS)[0] if whole.startswith(prompt) else None)
        scenarios = [
            {"id": str(number), "template": template, "bos": BOS, "eos": EOS, "request": {**body, "reasoning_format": "auto"}, "outputs": [output or ""]}
            for number, (body, output) in enumerate(zip(bodies, outputs))]
        counts, shown, groups = collections.Counter(), 0, collections.Counter()
        for body, prompt, output, ours in zip(bodies, prompts, outputs, replay(args.bin, scenarios)):
            counts["requests"] += 1
            rendered = ours["params"]["prompt"] if "params" in ours else ""
            reason = None if rendered == prompt else decided(rendered, prompt)
            counts["prompts"] += rendered == prompt
            counts[f"prompt: {reason}"] += reason is not None
            kinds = []
            if rendered != prompt and reason is None:
                kinds.append(("prompt", ours.get("error") or first_difference(rendered, prompt)))
            if output is not None and "error" not in ours:
                counts["outputs"] += 1
                mine, theirs = said(ours["parses"][0]["message"]), said(recipe.read(body, output))
                counts["messages"] += mine == theirs
                if mine != theirs and (mine[0].strip("\n"), *mine[1:]) == (theirs[0].strip("\n"), *theirs[1:]):
                    counts[f"message: {REASONING}"] += 1
                elif mine != theirs:
                    kinds.append(("message", f"of {output!r}: ours {mine}, theirs {theirs}"))
            for kind, why in kinds:
                groups[f"{kind}: {features(body)}"] += 1
                if shown < args.show:
                    shown += 1
                    print(f"{name}: {kind}: {why}")
        for group, count in [*groups.most_common(), *((f"decided: {why}", count) for why, count in counts.items() if ": " in why and count)]:
            print(f"{name}: {count} × {group}")
        print(f"{name}: {counts['prompts']} prompts and {counts['messages']} messages are equal")
        for kind, of, least in [("prompts", "requests", args.prompts), ("messages", "outputs", args.messages)]:
            right = counts[kind] + sum(count for why, count in counts.items() if why.startswith(kind[:-1] + ": "))
            failed |= 100 * right < least * counts[of]
            print(f"{name}: {kind} that are equal, or differ as decided: {right} of {counts[of]}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
