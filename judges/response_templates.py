#!/usr/bin/env python3
"""Response templates beside transformers, which reads the same ones.

    response_templates.py --bin target/release/chatparse --packs PACK... --templates FOLDER... [--trl FOLDER] [--only TEXT]
        [--show N] [--min-exports PERCENT] [--min-same PERCENT] [--min-imports PERCENT]

Out: exports the response template of every template, lets transformers read every message of the packs with it, rendered by the template
itself, and compares with what chatparse reads: the texts without outer white space, the names and the arguments. A message that differs
or is an error, and whose field no limit in the export's report names, is silent, which fails.

In: the templates that TRL has by hand, each with the chat templates that TRL has for it. They render the same messages, and chatparse
reads the turns by the response template, whole and in pieces of 1, 3 and 7 bytes, without what ends the turn, where a host stops. The
result must be transformers', or the message itself where that loses something of it.

Needs the Python package of this version, and skips with a word where it, or a pack, is missing. TRL is read, not imported: it is found
beside transformers, or unpacked in a folder.
"""
import argparse
import collections
import concurrent.futures
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys

VERSION = "5.24.0"
SKIPPED = 77


def skip(why):
    print(f"response_templates: skipped: {why}")
    sys.exit(SKIPPED)


def arguments(value):
    """Arguments as JSON with sorted keys, whether they are an object or its text."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        pass
    return json.dumps(value, sort_keys=True)


def canon(message):
    """The parts that are compared, from either side."""
    calls = [call.get("function", call) for call in message.get("tool_calls") or []]
    texts = {name: (message.get(name) or "").strip() for name in ("content", "reasoning_content")}
    return {**texts, "tool_calls": [(call["name"], arguments(call["arguments"])) for call in calls]}


def replay(binary, scenarios):
    lines = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    done = subprocess.run([binary, "replay"], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def found(name, folders):
    return next((path for path in (os.path.join(folder, name) for folder in folders) if os.path.exists(path)), None)


def export(binary, path, scenario):
    """The template's export and its report: lines of field and message; or the error."""
    command = [binary, "export", "--response-template", path, "--bos", scenario["bos"], "--eos", scenario["eos"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    return json.loads(done.stdout), done.stderr


def read(parse_response, template, case, prompt):
    scenario = case["in"]
    try:
        message = parse_response(scenario["outputs"][0]["text"], template, prefix=prompt, tools=scenario["request"].get("tools"))
        return canon(message)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def exported(a, parse_response, cases):
    """Whether the exports are worse than they may be."""
    firsts = {case["in"]["template"]: case["in"] for case in cases}
    paths = {name: found(name, a.templates) for name in firsts}
    for case in cases:
        case["in"] = {**case["in"], "template": paths[case["in"]["template"]]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        exports = dict(zip(firsts, pool.map(lambda name: export(a.bin, paths[name], firsts[name]), firsts)))
        third = len(cases) // 3 + 1
        chunks = [[case["in"] for case in cases[at:at + third]] for at in range(0, len(cases), third)]
        results = [result for chunk in pool.map(lambda chunk: replay(a.bin, chunk), chunks) for result in chunk]

    ways = collections.defaultdict(lambda: True)
    per = collections.defaultdict(lambda: [0, 0])
    same = told = silent = shown = 0
    for case, result in zip(cases, results):
        name = os.path.basename(case["in"]["template"])
        template, report = exports[name]
        ways[case.get("format") or name] &= template is not None
        if template is None:
            continue
        ours = canon(result["parses"][0]["message"])
        theirs = read(parse_response, template, case, result["params"]["prompt"])
        good = ours == theirs
        same += good
        per[name][not good] += 1
        if good:
            continue
        fields = ["tool_calls"] if isinstance(theirs, str) else [field for field in ours if ours[field] != theirs[field]]
        limits = [line.split(": ")[1] for line in report.splitlines()]
        is_told = all(field in limits for field in fields)
        told += is_told
        silent += not is_told
        if shown < a.show:
            shown += 1
            print(f"--- {case['in']['id']} {'told' if is_told else 'SILENT'}\noutput: {case['in']['outputs'][0]['text']!r}\n"
                  f"prompt: {result['params']['prompt'][-80:]!r}\nours:   {ours}\ntheirs: {theirs}")
    for name, (template, report) in exports.items():
        if template is None:
            print(f"  {name}: {report.strip()}")
    for name, (good, off) in sorted(per.items()):
        if off:
            print(f"  {name:60s} {good:4d} same {off:4d} other")
    exist, total = sum(ways.values()), same + told + silent
    exist_share, same_share = 100 * exist / max(1, len(ways)), 100 * same / max(1, total)
    print(f"exports {exist} / {len(ways)} = {exist_share:.1f} %")
    print(f"messages {same} / {total} = {same_share:.1f} %, other and in the report {told}, silent {silent}")
    return silent > 0 or exist_share < a.min_exports or same_share < a.min_same


def of_trl(folder):
    """TRL's response templates by name, and the chat templates that go with them: pairs of a name and a text."""
    source = open(os.path.join(folder, "chat_template_utils.py"), encoding="utf-8").read()
    names = {"_SUPPORTS_PARSE_RESPONSE_TOOLS": True}
    exec(source[source.index("qwen3_template = {"):source.index("cohere_chat_template = (")], names)
    chosen = source[source.index("def add_response_schema"):]
    for condition, name in re.findall(r"if chat_template (?:==|in) (.*?):\n.*?template = (?:None|\w+), (\w+)\n", chosen, re.DOTALL):
        for chat in re.findall(r"(\w+)_chat_template", condition):
            text = open(os.path.join(folder, "chat_templates", chat + ".jinja"), encoding="utf-8").read()
            yield name, names[name], chat, text


def as_message(want):
    message = {"role": "assistant", "content": want["content"]}
    if want["reasoning_content"]:
        message |= {name: want["reasoning_content"] for name in ("reasoning_content", "thinking")}
    if want["tool_calls"]:
        message["tool_calls"] = [
            {"id": f"call{at:05}", "type": "function",
             "function": {"name": call["name"], "arguments": json.loads(call["arguments"])}}
            for at, call in enumerate(want["tool_calls"])]
    return message


def turns(binary, chat, wants, tools):
    """The turns of these messages: the scenario of the prompt, the prompt, the turn, and what the template may have of the message."""
    base = {"id": "turn", "template_source": chat, "bos": "", "eos": "", "plain": True, "outputs": []}
    asked = []
    for want in wants:
        for thinking in (True, False):
            request = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "add_generation_prompt": True, "now": 0,
                       "chat_template_kwargs": {"enable_thinking": thinking}}
            whole = {**request, "messages": request["messages"] + [as_message(want)], "add_generation_prompt": False}
            asked.append((want, {**base, "request": request}, {**base, "request": whole}))
    results = replay(binary, [scenario for _, *both in asked for scenario in both])
    known = set()
    for at, (want, scenario, _) in enumerate(asked):
        if any("params" not in result for result in results[2 * at:2 * at + 2]):
            continue
        prompt, whole = (result["params"]["prompt"] for result in results[2 * at:2 * at + 2])
        turn = whole[len(prompt):] if whole.startswith(prompt) else None
        if turn is None and prompt.rstrip().endswith("<think>") and not want["tool_calls"]:
            # The history leaves out the reasoning that the prompt begins.
            turn = f"{want['reasoning_content']}\n</think>\n\n{want['content']}"
        if turn is not None and (prompt, turn) not in known:
            known.add((prompt, turn))
            yield scenario, prompt, turn, canon(want)


def imported(a, parse_response, cases):
    """Whether what is read by TRL's response templates is worse than it may be."""
    found = importlib.util.find_spec("trl")
    folder = a.trl or (found and os.path.dirname(found.origin))
    if not folder:
        print("response_templates: skipped: imports: there is no TRL")
        return False
    wants = list({json.dumps(case["want"], sort_keys=True): case["want"] for case in cases}.values())
    tools = next(case["in"]["request"]["tools"] for case in cases if case["in"]["request"].get("tools"))
    same = better = other = shown = 0
    for name, template, chat_name, chat in of_trl(folder):
        close = template["fields"]["content"].get("close_pattern")
        asked = list(turns(a.bin, chat, wants, tools))
        scenarios = []
        for scenario, _, turn, _ in asked:
            ended = re.sub(f"(?:{close})\\Z", "", turn)
            outputs = [{"text": ended, "step": step} for step in (1, 3, 7)] + [{"text": ended}]
            request = {**scenario["request"], "reasoning_format": "auto"}
            scenarios.append({**scenario, "request": request, "response_template": template, "outputs": outputs, "timeline": True})
        counts = [0, 0, 0]
        for (_, prompt, turn, want), result in zip(asked, replay(a.bin, scenarios)):
            try:
                message = parse_response(turn, template, prefix=prompt, tools=tools)
                message.setdefault("reasoning_content", message.get("thinking"))
                theirs = canon(message)
            except (ValueError, KeyError) as error:
                theirs = str(error)
            for read in result.get("parses") or [result]:
                ours = canon(read["message"]) if "message" in read else read.get("error")
                kind = 0 if ours == theirs else 1 if ours == want else 2
                counts[kind] += 1
                if kind == 2 and shown < a.show:
                    shown += 1
                    print(f"--- {chat_name}, {name}\nprompt: {prompt[-80:]!r}\nturn:   {turn!r}\nours:   {ours}\ntheirs: {theirs}")
        if counts[2]:
            print(f"  {chat_name}, {name}: {counts[2]} other")
        same, better, other = same + counts[0], better + counts[1], other + counts[2]
    total = same + better + other
    share = 100 * (same + better) / max(1, total)
    print(f"imports {same + better} / {total} = {share:.1f} %: {same} as transformers, {better} whole where that loses something")
    return share < a.min_imports


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--packs", nargs="+", required=True)
    ap.add_argument("--templates", nargs="+", required=True)
    ap.add_argument("--trl", default="")
    ap.add_argument("--only", default="")
    ap.add_argument("--show", type=int, default=0)
    ap.add_argument("--min-exports", type=float, default=0)
    ap.add_argument("--min-same", type=float, default=0)
    ap.add_argument("--min-imports", type=float, default=0)
    a = ap.parse_args()
    try:
        import transformers
        from transformers.utils.chat_parsing import parse_response
    except ImportError:
        skip("there is no transformers with chat_parsing")
    if transformers.__version__ != VERSION:
        skip(f"transformers is {transformers.__version__}, not {VERSION}")
    if missing := [pack for pack in a.packs if not os.path.exists(pack)]:
        skip(f"there is no {missing[0]}")
    cases = [json.loads(line) for pack in a.packs for line in gzip.open(pack, "rt")]
    cases = [case for case in cases if a.only in case["in"]["id"]]
    worse = exported(a, parse_response, cases)
    sys.exit(imported(a, parse_response, cases) or worse)


if __name__ == "__main__":
    main()
