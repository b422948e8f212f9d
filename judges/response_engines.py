#!/usr/bin/env python3
"""Response templates for engines, which read the exports themselves.

    response_engines.py --bin target/release/chatparse --packs PACK... --templates FOLDER... --sources FOLDER [--only TEXT] [--show N]
        [--engine NAME...] [--min "NAME served=COUNT"]... [--min "NAME same=PERCENT"]...

Each template is exported for each engine. `served`: how many exports the engine takes for serving. Then the engine reads every message of
the packs, as the template renders it, and what it reads is compared with what chatparse reads. A message that differs, and whose field
no limit in the export's report names, is silent, which fails.

- `vllm`: `vllm/parser/response_template.py` of the source distribution, with its own reader; what it imports of the server is left out.
- `sglang`: `sglang/srt/parser/response_template.py` of the wheel: its reader of reasoning, and behind that its reader of calls.
- `vllm-rust`: the rules of vLLM's reader in Rust (no group that looks around, a text at the beginning of each border), and the reader in
  Python.

The sources are fetched into `--sources` once, without being installed. Where they cannot be had, that engine is skipped with a word.
"""
import argparse
import collections
import concurrent.futures
import glob
import gzip
import importlib
import importlib.util
import json
import os
import re._parser as sre_parse
import subprocess
import sys
import tarfile
import zipfile

from response_templates import arguments, canon, found, replay, skip
from stand_ins import Stand, StandIns

VLLM, SGLANG = "vllm==0.33.0", "sglang==0.5.23"
THINKING = ("thinking", "reasoning_content")


def stand_ins(package, folder, needed):
    """For all of a package but some of its modules and what lies in these."""
    own = lambda name: any(name == it or name.startswith(it + ".") for it in needed)
    return StandIns((package, "openai", "msgspec"), folder, own)


def fetched(requirement, folder, *options):
    """Where a distribution is unpacked; downloaded if it is not there."""
    place = os.path.join(folder, requirement.replace("==", "-"))
    if not os.path.exists(place + ".unpacked"):
        os.makedirs(folder, exist_ok=True)
        name = requirement.split("==")[0]
        files = lambda: [file for file in glob.glob(os.path.join(folder, name + "-*")) if file.endswith((".gz", ".whl"))]
        if not files():
            # A source distribution that is only unpacked need not be built, which pip insists on.
            tool = [os.path.join(os.path.dirname(sys.executable), "unearth")] if "--no-binary" in options else [sys.executable, "-m", "pip", "download", "--quiet"]
            to = ["--no-binary", requirement, f"--download={folder}"] if "--no-binary" in options else [*options, "-d", folder, requirement]
            try:
                done = subprocess.run(tool + to, capture_output=True, text=True)
            except OSError as error:
                done = subprocess.CompletedProcess(tool, 1, "", str(error))
            if done.returncode or not files():
                print(f"response_engines: skipped: {requirement} cannot be fetched: {done.stderr.strip()[-200:]}")
                return None
        for file in files():
            if file.endswith(".whl"):
                with zipfile.ZipFile(file) as archive:
                    archive.extractall(place, [it for it in archive.namelist() if it.startswith("sglang/srt/")])
            else:
                with tarfile.open(file) as archive:
                    # The parsers of the Python package are for bindings/python/tests/test_vllm.py, too.
                    parts = [f"/vllm/{part}/" for part in ("parser", "reasoning", "tool_parsers", "entrypoints", "utils")] + ["/rust/"]
                    wanted = [it for it in archive.getmembers() if any(part in it.name for part in parts)]
                    archive.extractall(place, wanted, filter="data")
        open(place + ".unpacked", "w").close()
    inner = glob.glob(os.path.join(place, "vllm-*"))
    return inner[0] if inner else place


class Vllm:
    def __init__(self, sources):
        self.folder = fetched(VLLM, sources, "--no-deps", "--no-binary")
        if self.folder:
            needed = ["vllm.parser.chat_parsing", "vllm.parser.response_template", "vllm.parser.response_template_grammar"]
            sys.meta_path.insert(0, stand_ins("vllm", self.folder, needed))
            self.its = importlib.import_module("vllm.parser.response_template")

    def serves(self, template):
        self.its.validate_response_template_for_serving(template)

    def read(self, template, text, prompt, tools):
        stream = self.its._ResponseStream(
            self.its._streaming_template(template), prefix=prompt, tools=tools or [], parse_reasoning=True, include_reasoning=True,
            parse_tools=True, new_tool_call_id=lambda _: "")
        delta = stream.feed(text, finished=True)
        got = {} if delta is None else vars(delta)
        calls = [{"name": call.function.name, "arguments": call.function.arguments} for call in got.get("tool_calls", [])]
        return {"content": got.get("content"), "reasoning_content": got.get("reasoning"), "tool_calls": calls}


class Sglang:
    def __init__(self, sources):
        self.folder = fetched(SGLANG, sources, "--no-deps", "--only-binary", ":all:", "--python-version", "3.12")
        if self.folder:
            needed = ["sglang.srt.parser.chat_parsing", "sglang.srt.parser.response_template",
                      "sglang.srt.function_call.response_template_structural_tag"]
            sys.meta_path.insert(0, stand_ins("sglang", self.folder, needed))
            self.its = importlib.import_module("sglang.srt.parser.response_template")
            self.its.ToolStrictLevel = Stand()

    def serves(self, template):
        self.its.validate_response_template_for_serving(template)

    def read(self, template, text, prompt, tools):
        thoughts = self.its.ResponseTemplateReasoningDetector(response_template=template, prefix=prompt, tools=tools)
        told = thoughts.detect_and_parse(text)
        content, calls = told.normal_text, []
        if "tool_calls" in template["fields"]:
            reader = self.its.ResponseTemplateToolDetector(response_template=template, prefix=prompt, tools=tools)
            reader._get_tool_indices = lambda tools: {tool["function"]["name"]: at for at, tool in enumerate(tools)}
            got = reader.detect_and_parse(content, tools or [])
            content, calls = got.normal_text, [{"name": call.name, "arguments": call.parameters} for call in got.calls]
        return {"content": content, "reasoning_content": told.reasoning_text, "tool_calls": calls}


class VllmRust(Vllm):
    """Its rules, on top of the reader in Python."""

    def serves(self, template):
        super().serves(template)
        for name, field in template["fields"].items():
            for border in ("open_pattern", "close_pattern"):
                if border in field and (looks_around(field[border]) or not begins_with_text(field[border])):
                    raise ValueError(f"{name}.{border}: {field[border]}")
            tag = field.get("content_args", {}).get("tag_pattern", "")
            if tag.count("(?P<key>") > 1:
                raise ValueError(f"{name}: a name of two groups: {tag}")
            before, _, ahead = tag.partition("(?=")
            if looks_around(tag) and (looks_around(before) or "(" in ahead):
                raise ValueError(f"{name}: {tag}")


def looks_around(pattern):
    return any(sign in pattern for sign in ("(?=", "(?!", "(?<=", "(?<!", "(?P=", "(?(", "(?&", r"\Z"))


def begins_with_text(pattern):
    """Whether each match begins with one of some texts: a conservative reading of the extraction of literals."""
    tree = sre_parse.parse(pattern.replace(r"\z", r"\Z"))

    def begins(items):
        """Whether these items begin with a text, and whether they may be empty."""
        for kind, value in items:
            kind = str(kind)
            if kind == "LITERAL":
                return True, False
            if kind == "SUBPATTERN":
                text, empty = begins(value[3])
            elif kind == "BRANCH":
                ways = [begins(way) for way in value[1]]
                text, empty = all(text for text, _ in ways), any(empty for _, empty in ways)
            elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
                text, empty = begins(value[2])
                empty |= value[0] == 0
            elif kind == "IN":
                # A few characters are as many texts.
                text, empty = all(str(item[0]) == "LITERAL" for item in value) and len(value) <= 10, False
            else:
                return False, False
            if not text or not empty:
                return text, empty
        return True, True

    text, empty = begins(tree)
    return text and not empty


ENGINES = {"vllm": Vllm, "vllm-rust": VllmRust, "sglang": Sglang}


def export(binary, path, scenario, engine):
    command = [binary, "export", "--response-template", path, "--for", engine, "--bos", scenario["bos"], "--eos", scenario["eos"]]
    done = subprocess.run(command, capture_output=True, text=True)
    return (None, done.stderr) if done.returncode else (json.loads(done.stdout), done.stderr)


def judged(a, name, engine, cases, results):
    """How many exports the engine serves, the share of messages that are the same, and whether some are silent."""
    firsts = {path: {"bos": "", "eos": ""} for folder in a.templates for path in sorted(glob.glob(os.path.join(folder, "*.jinja")))
              if a.only in path}
    firsts |= {case["in"]["template"]: case["in"] for case in cases}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        exports = dict(zip(firsts, pool.map(lambda path: export(a.bin, path, firsts[path], name), firsts)))
    served, refused = set(), {}
    for path, (template, report) in exports.items():
        try:
            if template is None:
                raise ValueError(report)
            engine.serves(template)
            served.add(path)
        except Exception as error:
            refused[path] = error
    counts, per, shown = collections.Counter(), collections.defaultdict(collections.Counter), 0
    for case, result in zip(cases, results):
        path = case["in"]["template"]
        if path not in served:
            continue
        template, report = exports[path]
        ours = canon(result["parses"][0]["message"])
        output, prompt = case["in"]["outputs"][0]["text"], result["params"]["prompt"]
        if not result["params"]["generation_prompt"]:
            # A template that opens each next turn unasked does so after the recorded output.
            shared = os.path.commonprefix([output[::-1], prompt[::-1]])[::-1]
            output = output.removesuffix(shared[shared.find("<"):] if "<" in shared else "\0")
        try:
            theirs = canon(engine.read(template, output, prompt, case["in"]["request"].get("tools")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            theirs = f"{type(error).__name__}: {error}"
        fields = ["tool_calls"] if isinstance(theirs, str) else [field for field in ours if ours[field] != theirs[field]]
        limits = [line.split(": ")[1] for line in report.splitlines()]
        kind = "same" if not fields else "told" if all(field in limits for field in fields) else "silent"
        counts[kind] += 1
        per[path][kind] += 1
        if fields and shown < a.show:
            shown += 1
            print(f"--- {name} {case['in']['id']} {kind}\noutput: {case['in']['outputs'][0]['text']!r}\n"
                  f"prompt: {result['params']['prompt'][-80:]!r}\nours:   {ours}\ntheirs: {theirs}")
    for path, error in refused.items():
        print(f"  {name}: {os.path.basename(path)}: not served: {str(error).strip()[:200]}")
    for path, count in sorted(per.items()):
        if count["same"] < sum(count.values()):
            print(f"  {name}: {os.path.basename(path):56s} {dict(count)}")
    share = 100 * counts["same"] / max(1, sum(counts.values()))
    print(f"{name}: served {len(served)} of {len(exports)} exports; messages {counts['same']} / {sum(counts.values())} = {share:.1f} %, "
          f"other and in the report {counts['told']}, silent {counts['silent']}")
    return len(served), share, counts["silent"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--packs", nargs="+", required=True)
    ap.add_argument("--templates", nargs="+", required=True)
    ap.add_argument("--sources", required=True)
    ap.add_argument("--engine", nargs="+", default=list(ENGINES), choices=ENGINES)
    ap.add_argument("--only", default="")
    ap.add_argument("--show", type=int, default=0)
    ap.add_argument("--min", action="append", default=[], help="NAME served=COUNT, NAME same=PERCENT")
    a = ap.parse_args()
    if importlib.util.find_spec("regex") is None:
        skip("there is no regex")
    if missing := [pack for pack in a.packs if not os.path.exists(pack)]:
        skip(f"there is no {missing[0]}")
    cases = [json.loads(line) for pack in a.packs for line in gzip.open(pack, "rt")]
    cases = [case for case in cases if a.only in case["in"]["id"]]
    for case in cases:
        case["in"] = {**case["in"], "template": found(case["in"]["template"], a.templates)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        third = len(cases) // 3 + 1
        chunks = [[case["in"] for case in cases[at:at + third]] for at in range(0, len(cases), third)]
        results = [result for chunk in pool.map(lambda chunk: replay(a.bin, chunk), chunks) for result in chunk]
    floors = dict(floor.split("=") for floor in a.min)
    worse = False
    for name in a.engine:
        engine = ENGINES[name](a.sources)
        if engine.folder:
            served, share, silent = judged(a, name, engine, cases, results)
            worse |= silent > 0 or served < int(floors.get(f"{name} served", 0)) or share < float(floors.get(f"{name} same", 0))
    sys.exit(worse)


if __name__ == "__main__":
    main()
