"""The example server, and what its log says about each request: whether all its texts are in the prompt, and whether a prompt goes on from an
earlier one and its output."""

import json
import os
import re
import subprocess
import tempfile

# What says how a request is answered, or whose it is: no text for the model.
NOT_SHOWN = {"id", "type", "role", "cache_control", "signature", "encrypted_content", "call_id", "tool_call_id", "tool_use_id", "status", "data",
    "media_type", "image_url", "source", "annotations", "logprobs", "phase", "detail", "format", "execution", "namespace"}


def texts(value, path=""):
    """What the model should see of the messages of a body, with the path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from texts(item, f"{path}[{at}]")
    elif isinstance(value, dict):
        if value.get("type") == "additional_tools":
            value = {"tools": value["tools"]}
        for name, item in value.items():
            if name == "arguments" and isinstance(item, str):
                item = json.loads(item or "{}")
            if name == "tools":
                yield from (entry for tool in item for entry in descriptions(tool, f"{path}.tools"))
            elif name not in NOT_SHOWN:
                yield from texts(item, f"{path}.{name}")


def descriptions(value, path):
    """The names and descriptions of a tool, and those inside its schema. A deferred tool is not shown before it is found."""
    if isinstance(value, list):
        for item in value:
            yield from descriptions(item, path)
    elif isinstance(value, dict) and not value.get("defer_loading"):
        for name, item in value.items():
            if name in ("name", "description") and isinstance(item, str):
                yield f"{path}.{name}", item
            elif name not in ("format", "enum", "default"):
                yield from descriptions(item, f"{path}.{name}")


def is_shown(text, prompt):
    """Whether the prompt has the text, trimmed as templates do, or as JSON has it."""
    forms = [form for part in (text, text.strip()) for form in (part, json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1])]
    return any(form in prompt for form in forms)


def read(log):
    if not os.path.exists(log):
        return []
    with open(log) as lines:
        return [json.loads(line) for line in lines]


def last_of(log):
    return read(log)[-1]["body"]


def conversation(body):
    said = body.get("messages") or body.get("input") or []
    return said if isinstance(said, list) else [{"role": "user", "content": said}]


def ends_with_result(body):
    last = conversation(body)[-1]
    if last.get("role") == "tool" or last.get("type", "").endswith("_output"):
        return True
    content = last.get("content")
    return isinstance(content, list) and any(isinstance(part, dict) and part.get("type") == "tool_result" for part in content)


class Server:
    def __init__(self, program, template, log=None):
        self.temporary = tempfile.NamedTemporaryFile()
        self.log = log or self.temporary.name
        self.process = subprocess.Popen([program, template, "0", self.log], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = self.process.stdout.readline().strip()
        if not port:
            raise SystemExit("the server does not start")
        self.url = f"http://127.0.0.1:{port}"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.temporary.close()

    def report(self):
        return Report(read(self.log))


class Report:
    """What the requests of a run became."""

    def __init__(self, lines):
        self.requests = len(lines)
        self.errors = [line["read"]["error"] for line in lines if "error" in line["read"]]
        self.lost = []  # texts of the conversation without a note, with the path
        self.lost_of_tools = []
        self.noted = 0
        self.steps = self.steps_go_on = 0  # requests that end with results
        self.turns = self.turns_go_on = 0  # requests with a new turn of the user
        self.unreasoned = 0  # steps without the reasoning that the model wrote in the last one
        self.breaks = []
        self.media = [0, 0]  # sent, and in prompts
        lines = [line for line in lines if "prompt" in line["read"]]
        for at, line in enumerate(lines):
            self.look_for_texts(line)
            self.look_back(line, lines[:at])

    def look_for_texts(self, line):
        body, prompt, notes = line["body"], line["read"]["prompt"], line["read"]["notes"]
        bare = self.without_scripts(line)
        shown = {name: body[name] for name in ("system", "instructions", "messages", "input", "tools") if name in body}
        found = [(path, text) for path, text in texts(shown) if text.strip() and not is_shown(text, prompt if "Type: " in text else bare)]
        missing = [entry for entry in found if ".tools." not in entry[0]]
        told = sum("not in the prompt" in note or "dropped" in note for note in notes)
        self.noted += min(told, len(missing))
        self.lost += missing[told:]
        self.lost_of_tools += [entry for entry in found if ".tools." in entry[0]]
        self.media[0] += len(re.findall(r'"type": "(?:image|input_image|image_url)"', json.dumps(conversation(body))))
        self.media[1] += line["read"]["media"]

    def look_back(self, line, before):
        body, prompt = line["body"], line["read"]["prompt"]
        # Agents ask for titles between, without tools.
        is_earlier = lambda old: bool(old.get("tools")) == bool(body.get("tools")) and len(conversation(old)) < len(conversation(body))
        last = [old for old in before if is_earlier(old["body"])][-1:]
        expected = [old["read"]["prompt"] + old["read"]["output"] for old in last]
        goes_on = any(prompt.startswith(text) for text in expected)
        if ends_with_result(body):
            self.steps += 1
            self.steps_go_on += goes_on
            bare = self.without_scripts(line)
            written = {reason for old in last for reason in re.findall(r"Reason-\d+", old["read"]["output"])}
            self.unreasoned += any(reason not in bare for reason in written)
            if not goes_on and expected:
                self.breaks.append(self.difference(expected[0], prompt))
        elif any(item.get("role") == "assistant" for item in conversation(body)):
            self.turns += 1
            self.turns_go_on += goes_on

    @staticmethod
    def scripts(body):
        return [text.strip() for _, text in texts(conversation(body)) if "Type: " in text]

    def without_scripts(self, line):
        """The prompt without what the model is told to write: that is not yet what it wrote."""
        prompt = line["read"]["prompt"]
        for script in self.scripts(line["body"]):
            prompt = prompt.replace(script, "")
        return prompt

    @staticmethod
    def difference(expected, prompt):
        at = len(os.path.commonprefix([expected, prompt]))
        return at, expected[max(0, at - 40):at + 80], prompt[max(0, at - 40):at + 80]
