#!/usr/bin/env python3
"""Plain prompts and masks beside transformers: for each template and conversation, the same bytes?

    transformers_prompts.py --bin target/release/chatparse --templates FOLDER... [--only TEXT] [--show N] [--max N]

Renders every template with every conversation below by transformers' own code and by `chatparse replay` with `plain`, and counts
where transformers renders and the bytes differ, or chatparse refuses; where the template has `{% generation %}` blocks, also where the
characters in them are others than in transformers' mask of the assistant's tokens. Then it renders the same requests prepared: each text of a
message that stands in transformers' prompt must stand in ours. Needs the Python package of this version, without PyTorch, and
skips with a word where it, or the templates, are missing.
"""
import argparse
import collections
import datetime
import itertools
import json
import logging
import os
import re
import subprocess
import sys

VERSION = "5.24.0"
SKIPPED = 77
NOW = 1785672000  # 2026-08-02 12:00:00 UTC
BOS, EOS = "<s>", "</s>"
GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")


def skip(why):
    print(f"transformers_prompts: skipped: {why}")
    sys.exit(SKIPPED)


def user(content="What is the weather in Oslo?"):
    return {"role": "user", "content": content}


def assistant(content="It is sunny.", **more):
    return {"role": "assistant", "content": content, **more}


def call(name="get_weather", arguments=None, number=1):
    arguments = {"city": "Oslo"} if arguments is None else arguments
    return {"id": f"call{number:05}", "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content='{"sky": "clear"}', number=1, name="get_weather"):
    return {"role": "tool", "tool_call_id": f"call{number:05}", "name": name, "content": content}


def tool(name="get_weather", properties=None, **more):
    properties = {"city": {"type": "string", "description": "A city."}} if properties is None else properties
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": parameters, **more}}


def text(*texts):
    return [{"type": "text", "text": each} for each in texts]


def conversations():
    """Name to request; what is not named in one is not defined in the template."""
    system = {"role": "system", "content": "Be brief."}
    tools = [tool(), tool("add", {"a": {"type": "integer"}, "b": {"type": "number", "enum": [1, 2.5]}})]
    odd = "Tabs\t, quotes \"'`, <b>&amp;</b>, back\\slash, 世界, 👩‍💻, nbsp\u00a0, \u2028, {{ braces }}, {% tag %}"
    plain = {
        "user": [user()],
        "system": [system, user()],
        "turns": [user(), assistant(), user("And Rome?")],
        "system-turns": [system, user(), assistant(), user("And Rome?")],
        "ends-with-assistant": [user(), assistant()],
        "ends-with-system": [user(), system],
        "empty-user": [user("")],
        "blank-user": [user("  \n ")],
        "spaces-around": [system, user("  Hi \n"), assistant(" yes \n\n"), user("\tmore ")],
        "odd-text": [user(odd), assistant(odd), user(odd)],
        "odd-system": [{"role": "system", "content": odd}, user()],
        "two-users": [user(), user("Please.")],
        "two-systems": [system, system, user()],
        "late-system": [user(), system, assistant(), user("Hm.")],
        "developer": [{"role": "developer", "content": "Be kind."}, user()],
        "unknown-role": [user(), {"role": "critic", "content": "Bad."}],
        "names": [{**user(), "name": "ann"}, assistant(name="bob"), user("Yes.")],
        "no-messages": [],
        "null-content": [user(), assistant(None), user("Hello?")],
        "missing-content": [user(), {"role": "assistant"}, user("Hello?")],
        "number-content": [user(42), assistant(1.5), user(True)],
        "parts": [user(text("One.", "Two."))],
        "parts-everywhere": [{"role": "system", "content": text("Be brief.")}, user(text("One.")), assistant(text("Two.")), user(text("Three."))],
        "parts-odd": [user(text(odd))],
        "image": [user([{"type": "image"}, *text("What is it?")])],
        "image-url": [user([*text("What is it?"), {"type": "image_url", "image_url": {"url": "x.png"}}])],
        "audio-video": [user([{"type": "audio", "audio": "x.wav"}, {"type": "video", "video": "x.mp4"}, *text("Tell.")])],
        "thinks": [user(), assistant(reasoning_content="Let me see."), user("And Rome?")],
        "thinks-last": [user(), assistant(reasoning_content="Let me see.")],
        "thinks-as-thinking": [user(), assistant(thinking="Let me see."), user("And Rome?")],
        "thinks-as-reasoning": [user(), assistant(reasoning="Let me see."), user("And Rome?")],
        "thinks-in-text": [user(), assistant("<think>\nHm.\n</think>\n\nSunny."), user("And Rome?")],
        "thinks-empty": [user(), assistant(reasoning_content=""), user("And Rome?")],
        "thinks-odd": [user(), assistant(reasoning_content=odd), user()],
        "foreign-fields": [{**user(), "id": 7, "meta": {"a": [1, None]}}, assistant(extra="x", weight=0), user()],
    }
    calling = {
        "tools": [user()],
        "tools-system": [system, user()],
        "call": [user(), assistant("", tool_calls=[call()])],
        "call-null": [user(), assistant(None, tool_calls=[call()]), result()],
        "call-result": [user(), assistant("", tool_calls=[call()]), result()],
        "call-beside-text": [user(), assistant("Let me look.", tool_calls=[call()]), result(), assistant("Clear."), user("Thanks.")],
        "calls": [user(), assistant("", tool_calls=[call(), call("add", {"a": 1, "b": 2.5}, 2)]), result(), result("3.5", 2, "add")],
        "steps": [user(), assistant("", tool_calls=[call()]), result(), assistant("", tool_calls=[call(number=2)]), result("rain", 2), assistant("Done."), user("Ok.")],
        "thinks-and-calls": [user(), assistant("", reasoning_content="Look it up.", tool_calls=[call()]), result(), assistant("Clear.", reasoning_content="Good."), user("Ok.")],
        "no-arguments": [user(), assistant("", tool_calls=[call("ping", {})]), result("pong", 1, "ping")],
        "text-arguments": [user(), assistant("", tool_calls=[call(arguments='{"city": "Oslo"}')]), result()],
        "deep-arguments": [user(), assistant("", tool_calls=[call(arguments={"a": [1, {"b": [None, True, -3.5e-7]}], "é": "世\n\"'", "e": {}, "l": []})]), result()],
        "big-numbers": [user(), assistant("", tool_calls=[call(arguments={"a": 12345678901234567890123, "b": 1e22, "c": 2**63, "d": 0.1})]), result()],
        "odd-result": [user(), assistant("", tool_calls=[call()]), result(odd)],
        "parts-result": [user(), assistant("", tool_calls=[call()]), result(text("clear", "sky"))],
        "object-result": [user(), assistant("", tool_calls=[call()]), result({"sky": "snow", "temp": -3.5})],
        "no-ids": [user(), assistant("", tool_calls=[{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}]), {"role": "tool", "content": "1"}],
        "bare-calls": [user(), assistant("", tool_calls=[{"name": "add", "arguments": {"a": 1}}]), {"role": "tool", "name": "add", "content": "1"}],
        "empty-calls": [user(), assistant("Hm.", tool_calls=[]), user("So?")],
    }
    requests = {name: {"messages": messages} for name, messages in plain.items()}
    requests.update({name: {"messages": messages, "tools": tools} for name, messages in calling.items()})
    one, more = plain["user"], plain["thinks"]
    requests.update({
        "empty-tools": {"messages": one, "tools": []},
        "bare-tools": {"messages": one, "tools": [tool()["function"]]},
        "strict-tools": {"messages": one, "tools": [tool(strict=True, **{"return": {"type": "string"}})]},
        "odd-tools": {"messages": one, "tools": [tool("f", {"x": {"type": ["string", "null"], "default": odd}, "y": {"anyOf": [{"type": "array", "items": {"type": "integer"}}]}})]},
        "documents": {"messages": one, "documents": [{"title": "A", "text": "Some text."}, {"title": odd, "text": odd}]},
        "thinking-on": {"messages": more, "chat_template_kwargs": {"enable_thinking": True}},
        "thinking-off": {"messages": more, "chat_template_kwargs": {"enable_thinking": False}},
        "thinking-off-tools": {"messages": calling["thinks-and-calls"], "tools": tools, "chat_template_kwargs": {"enable_thinking": False, "thinking": False}},
        "effort": {"messages": one, "chat_template_kwargs": {"reasoning_effort": "low", "builtin_tools": ["browser"]}},
        "keeps-thinking": {"messages": more, "chat_template_kwargs": {"preserve_thinking": True, "clear_thinking": False, "thinking": True}},
        "date": {"messages": one, "chat_template_kwargs": {"date_string": "1 Jan 2026"}},
        "no-opening": {"messages": plain["turns"], "add_generation_prompt": False},
        "no-opening-calls": {"messages": calling["steps"], "tools": tools, "add_generation_prompt": False},
        "continued": {"messages": [user(), assistant("It is")], "continue_final_message": True},
        "continued-blank": {"messages": [system, user(), assistant("It is ")], "continue_final_message": True},
        "continued-parts": {"messages": [user(), assistant(text("It", "is"))], "continue_final_message": True},
    })
    return requests


def expected(render, source, request):
    """What transformers renders, and the characters of its mask; or `None` where it raises."""
    try:
        continues = bool(request.get("continue_final_message"))
        tokens = {"bos_token": BOS, "eos_token": EOS}
        prompts, masks = render(
            conversations=[request["messages"]],
            tools=request.get("tools"),
            documents=request.get("documents"),
            chat_template=source,
            return_assistant_tokens_mask=bool(GENERATION.search(source)),
            continue_final_message=continues,
            add_generation_prompt=request.get("add_generation_prompt", True) and not continues,
            **{**tokens, **request.get("chat_template_kwargs", {})},
        )
        return prompts[0], masks[0] if masks else None
    except Exception:
        return None


def covered(spans):
    return {at for start, end in spans for at in range(start, end)}


def replay(binary, scenarios):
    lines = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    answers = subprocess.run([*binary.split(), "replay"], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in answers.splitlines()]


def texts(request):
    """The texts of the messages that a prompt must not lose."""
    for message in request["messages"]:
        parts = message.get("content")
        parts = [part.get("text") for part in parts] if isinstance(parts, list) else [parts]
        for each in [*parts, message.get("reasoning_content")]:
            if isinstance(each, str) and each.strip():
                yield each.strip()


def stands(text, prompt):
    """Whether a prompt shows a text, or what it says as JSON: a template may want a result as data."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    scalars = [str(each) for each in value.values()] if isinstance(value, dict) else []
    return text in prompt or bool(scalars) and all(each in prompt for each in scalars)


def on_openai_wire(request):
    """Whether it is a request that OpenAI's clients may send."""
    messages = request["messages"]
    contents = [message.get("content") for message in messages]
    if not messages or any(isinstance(content, (int, float, dict)) for content in contents):
        return False
    return all("function" in each for each in itertools.chain(request.get("tools", []), *(m.get("tool_calls", []) for m in messages)))


def reference(folders, only=""):
    """The templates of these folders whose name has this text, and transformers' own render with a fixed clock; skips without them."""
    logging.disable(logging.CRITICAL)
    os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
    try:
        import transformers
        from transformers.utils import chat_template_utils
    except ImportError as error:
        skip(f"without transformers: {error}")
    if transformers.__version__ != VERSION:
        skip(f"transformers is {transformers.__version__}, not {VERSION}")
    files = [os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in sorted(os.listdir(folder))]
    files = [name for name in files if name.endswith(".jinja") and only in name]
    if not files:
        skip("there are no templates")

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None)

    chat_template_utils.datetime = Clock
    return files, chat_template_utils.render_jinja_template


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--templates", nargs="+", required=True)
    ap.add_argument("--only", default="")
    ap.add_argument("--show", type=int, default=0)
    ap.add_argument("--max", type=int, help="fail where more prompts differ, are refused or lose a text")
    args = ap.parse_args()
    files, render = reference(args.templates, args.only)
    requests = conversations()
    counts, shown = collections.Counter(), 0
    for file in files:
        with open(file, encoding="utf-8", newline="") as opened:
            source = opened.read()
        renders = {name: expected(render, source, request) for name, request in requests.items()}
        renders = {name: each for name, each in renders.items() if each is not None}
        base = {"template": file, "bos": BOS, "eos": EOS}
        scenarios = [{**base, "id": name, "plain": plain, "want_segments": plain, "request": {**requests[name], "now": NOW}} for plain in (True, False) for name in renders]
        for scenario, answer in zip(scenarios, replay(args.bin, scenarios)):
            name, plain = scenario["id"], scenario["plain"]
            (want, mask), got = renders[name], answer.get("params", {}).get("prompt")
            if plain:
                verdict = "same" if got == want else "refused" if got is None else "differs"
                if verdict == "same" and mask is not None:
                    spans = [[len(got.encode()[:at].decode()) for at in span] for span in answer["mask"]]
                    # Of an answer that is continued, transformers' mask goes beyond the prompt.
                    mask = [[start, min(end, len(got))] for start, end in mask]
                    same = covered(spans) == covered(mask)
                    counts["masks: same" if same else "masks: differ"] += 1
                    if not same and shown < args.show:
                        shown += 1
                        print(f"--- {os.path.basename(file)} {name}: mask\n    transformers {mask}\n    chatparse    {spans}\n{got}")
            elif not on_openai_wire(requests[name]):
                continue
            else:
                lost = [] if got is None else [each for each in texts(requests[name]) if each in want and not stands(each, got)]
                verdict = "prepared: refused" if got is None else "prepared: lost" if lost else "prepared: whole"
            counts[verdict] += 1
            if verdict in ("differs", "refused", "prepared: lost", "prepared: refused") and shown < args.show:
                shown += 1
                print(f"--- {os.path.basename(file)} {name}: {verdict} {answer.get('error', '')}")
                if got is not None:
                    at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
                    print(f"    transformers {want[max(0, at - 60):at + 100]!r}\n    chatparse    {got[max(0, at - 60):at + 100]!r}")
    print(f"{len(files)} templates, {len(requests)} conversations; where transformers renders:")
    for verdict, count in sorted(counts.items()):
        print(f"{verdict:20}{count:8}")
    bad = counts["differs"] + counts["refused"] + counts["prepared: lost"] + counts["masks: differ"]
    print(f"{bad} are wrong")
    sys.exit(args.max is not None and bad > args.max)


if __name__ == "__main__":
    main()
