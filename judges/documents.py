#!/usr/bin/env python3
"""readme.py CLONE [DOCUMENT...]: does what documents tell their readers to type, in the folder CLONE.

Of each document, in order:
- a block `sh`: runs each line.
- a block `console`: runs each line that begins with "$ "; lines behind it are what it prints, where there are any.
- a block below a line that ends in "`name`:", where the name has an extension and no such file is there: is that file.
Rust's blocks run with `cargo test --doc`. docs/packaging.md and docs/platforms.md, which take long, have scripts of their own.
Commands of a language are skipped where it is missing, and once one of them ends with 77: something that it needs is missing.
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

DOCUMENTS = ["README.md", *(f"docs/{name}.md" for name in ("c", "cpp", "faq", "new-model", "lint", "response-templates")),
             *(f"bindings/{name}/README.md" for name in ("python", "javascript", "go", "zig", "swift"))]
# Commands that are not run: it is part of them.
LEFT_OUT = [".ci/test.sh"]
# Programs of a language, which may be missing, by the words of its commands.
LANGUAGES = [("node", "npm", "tsc"), ("go",), ("zig",), ("swift",)]
WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
REQUEST = {"messages": [{"role": "user", "content": "Is it raining in Oslo?"}], "tools": [{"type": "function", "function": WEATHER}]}
CALL = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
ANSWER = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
# What a reader has: a template, a request, an output of the model, a server's answer, a schema, and a server.
FILES = {
    "request.json": json.dumps(REQUEST),
    "answers.jsonl": json.dumps({"request": REQUEST, "response": ANSWER}) + "\n",
    "output.txt": '<think>\nI should look.\n</think>\n\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    "schema.json": '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
    "/usr/local/bin/llm-server": "#!/bin/sh\ncat output.txt\n",
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(text):
    """Language, text, and the last line above, of each block."""
    for found in BLOCK.finditer(text):
        above = text[: found.start()].rstrip().rsplit("\n", 1)[-1]
        yield found[1], found[2], above


def commands(block):
    """Each command of a console block, with what is written below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def gguf(strings):
    """A model's metadata, as GGUF has them, and no weights."""
    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(strings))
    return head + b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in strings.items())


class Reader:
    def __init__(self, clone):
        self.clone, self.printed, self.ran = clone, "", 0
        self.missing = {language for language in LANGUAGES if not shutil.which(language[0])}

    def run(self, command):
        if command.split()[0] in LEFT_OUT:
            return False
        words = re.split(r"[\s/]+", command)
        language = next((language for language in LANGUAGES if any(word in words for word in language)), None)
        if language in self.missing:
            print(f"  SKIP: no {language[0]}, or not all that it needs: {command.strip()}", flush=True)
            return False
        print(f"  $ {command.strip()}", flush=True)
        began = time.monotonic()
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.clone, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode == 77 and language:
            print(f"{done.stdout}{done.stderr}  SKIP: {command.strip()}", flush=True)
            self.missing.add(language)
            return False
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}\nFAILED ({done.returncode}): {command}")
        took = time.monotonic() - began
        if took > 5:
            print(f"    {took:.0f} s")
        self.printed, self.ran = done.stdout, self.ran + 1
        return True

    def expect(self, printed):
        # Blanks at the ends of lines are not visible.
        def visible(text):
            return [line.rstrip() for line in text.strip().splitlines()]
        if visible(self.printed)[-len(visible(printed)):] != visible(printed):
            sys.exit(f"It prints\n{self.printed}\nand not\n{printed}")

    def file(self, name, text):
        path = self.clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def document(self, name):
        print(name, flush=True)
        text = (self.clone / name).read_text()
        files = {}
        for language, block, above in blocks(text):
            if (named := re.search(r"`([\w./-]+\.\w+)`:$", above)) and not (self.clone / named[1]).exists():
                files[named[1]] = block
        for path, block in files.items():
            self.file(path, block)
        for language, block, above in blocks(text):
            if language == "sh":
                for command in block.splitlines():
                    self.run(command)
            elif language == "console":
                for command, printed in commands(block):
                    if self.run(command) and printed.strip():
                        self.expect(printed)


def main():
    reader = Reader(pathlib.Path(sys.argv[1]))
    for name, text in FILES.items():
        reader.file(name, text)
    pathlib.Path("/usr/local/bin/llm-server").chmod(0o755)
    model = next(iter(sorted((reader.clone / "templates").glob("json-call*"))))
    for name in ["model.jinja", "old.jinja", "new.jinja", "models/one.jinja"]:
        reader.file(name, model.read_text())
    (reader.clone / "model.gguf").write_bytes(gguf({"tokenizer.chat_template": model.read_text()}))
    reader.file("tokenizer_config.json", json.dumps({"chat_template": model.read_text(), "eos_token": "<|im_end|>"}))
    for name in sys.argv[2:] or DOCUMENTS:
        reader.document(name)
    print(f"{reader.ran} commands passed")


main()
