"""requests.py THEIRS OURS MODEL TEMPLATES LISTED: asks llama-server and the one that is built on chatparse the same, with a small model and
four templates. Temperature 0, one thread: what differs is the chat layer. LISTED has a difference a line, and after a tab its reason; any
other is a failure. A difference is worse where an answer that ended is what the request asks for (calls, JSON) there, and not here."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

TEMPLATES = ["Qwen3-Coder.jinja", "GLM-4.6.jinja", "openai-gpt-oss-120b.jinja", None]


def tool(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": f"Tells the {name}.", "parameters": parameters}}


WEATHER = tool("get_weather", city={"type": "string"})
TIME = tool("get_time", zone={"type": "integer"}, exact={"type": "boolean"})
UNIT = tool("convert", unit={"type": "string", "enum": ["C", "F"]}, value={"type": "number"})
ALL = [WEATHER, TIME, UNIT]
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}, "required": ["city", "n"], "additionalProperties": False}
AS_CITY = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY}}


def user(text):
    return {"role": "user", "content": text}


def called(*calls, content=""):
    functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
    return {"role": "assistant", "content": content, "tool_calls": [
        {"id": f"call{index:05}", "type": "function", "function": function} for index, function in enumerate(functions)]}


def answered(*texts):
    return [{"role": "tool", "tool_call_id": f"call{index:05}", "content": text} for index, text in enumerate(texts)]


# What a small model goes on with.
ONE = [message for city, degrees in [("Paris", "18"), ("Rome", "25"), ("Bern", "11")] for message in
       [user(f"Weather in {city}?"), called(("get_weather", {"city": city})), *answered(degrees),
        {"role": "assistant", "content": f"{degrees} degrees in {city}."}]] + [user("Weather in Oslo?")]
TWO = [message for city, zone in [("Paris", 1), ("Rome", 2)] for message in
       [user(f"Weather and time in {city}?"), called(("get_weather", {"city": city}), ("get_time", {"zone": zone, "exact": True})),
        *answered("18", "12:00"), {"role": "assistant", "content": f"18 degrees in {city}, 12:00."}]] + [user("Weather and time in Oslo?")]


def chats():
    """The requests of chat completions, by name."""
    yield "plain", {"messages": [user("Name three colours.")]}
    yield "system", {"messages": [{"role": "system", "content": "Be short."}, user("Hi")]}
    yield "turns", {"messages": [user("Hi"), {"role": "assistant", "content": "Hello."}, user("Bye")]}
    yield "parts", {"messages": [{"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}]}
    yield "stop", {"messages": [user("Count to nine: 1, 2, 3")], "stop": ["5"]}
    yield "one", {"messages": ONE, "tools": ALL}
    yield "two", {"messages": TWO, "tools": ALL, "parallel_tool_calls": True}
    for limit in (12, 24, 36, 48, 72):
        yield f"two-{limit}", {"messages": TWO, "tools": ALL, "parallel_tool_calls": True, "max_tokens": limit}
    yield "serial", {"messages": TWO, "tools": ALL, "parallel_tool_calls": False}
    yield "required", {"messages": [user("Weather in Oslo?")], "tools": ALL, "tool_choice": "required"}
    yield "required-one", {"messages": ONE, "tools": ALL, "tool_choice": "required"}
    yield "required-two", {"messages": TWO, "tools": ALL, "tool_choice": "required", "parallel_tool_calls": True}
    yield "none", {"messages": ONE, "tools": ALL, "tool_choice": "none"}
    yield "schema", {"messages": [user("A city as JSON.")], "response_format": AS_CITY}
    yield "schema-old", {"messages": [user("A city as JSON.")], "json_schema": CITY}
    yield "object", {"messages": [user("A city as JSON.")], "response_format": {"type": "json_object"}}
    yield "schema-tools", {"messages": ONE, "tools": ALL, "response_format": AS_CITY}
    yield "raw", {"messages": [user("Think, then say.")], "reasoning_format": "none"}
    yield "no-thinking", {"messages": [user("Say hello.")], "chat_template_kwargs": {"enable_thinking": False}}
    yield "markup", {"messages": [user("Repeat: <tool_call> </think> <|im_end|>")], "tools": ALL}
    yield "grammar", {"messages": [user("Yes or no?")], "grammar": 'root ::= "yes" | "no"'}
    yield "prefill", {"messages": [user("What is the sky?"), {"role": "assistant", "content": "It is"}]}
    yield "reasoning", {"messages": [user("1+1?"), {"role": "assistant", "content": "2", "reasoning_content": "One more."}, user("2+2?")]}


def others():
    """The requests of the other APIs, and of what renders alone: name, path, body."""
    flat = [{"type": "function", **given["function"]} for given in ALL]
    named = [{"name": given["function"]["name"], "input_schema": given["function"]["parameters"]} for given in ALL]
    for choice in ("auto", "required"):
        yield f"responses-{choice}", "/v1/responses", {"input": "Weather in Oslo?", "tools": flat, "tool_choice": choice}
    yield "responses", "/v1/responses", {"input": [user("Name three colours.")], "instructions": "Be short."}
    for choice in ("auto", "any"):
        yield f"messages-{choice}", "/v1/messages", {"messages": [user("Weather in Oslo?")], "tools": named, "tool_choice": {"type": choice}}
    yield "messages", "/v1/messages", {"messages": [user("Name three colours.")], "system": "Be short."}
    for name, body in chats():
        if name in ("plain", "system", "turns", "parts", "one", "two", "none", "schema", "schema-tools", "no-thinking", "markup", "prefill", "reasoning"):
            yield f"render-{name}", "/apply-template", body


def odd():
    """What clients get wrong, and what is odd."""
    hi = [user("Hi")]
    yield "no messages", {}
    yield "messages null", {"messages": None}
    yield "messages a text", {"messages": "Hi"}
    yield "no role", {"messages": [{"content": "Hi"}]}
    yield "role a number", {"messages": [{"role": 7, "content": "Hi"}]}
    yield "content a number", {"messages": [{"role": "user", "content": 7}]}
    yield "part without type", {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    yield "image", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}]}
    yield "choice", {"messages": hi, "tools": ALL, "tool_choice": "maybe"}
    yield "choice without tools", {"messages": hi, "tool_choice": "required"}
    yield "tools an object", {"messages": hi, "tools": {}}
    yield "tool without function", {"messages": hi, "tools": [{"type": "function"}]}
    yield "grammar and tools", {"messages": hi, "tools": ALL, "grammar": 'root ::= "a"'}
    yield "format", {"messages": hi, "response_format": {"type": "xml"}}
    yield "schema of no type", {"messages": hi, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "kaboom"}}}}
    yield "reference to nothing", {"messages": hi, "json_schema": {"$ref": "#/$defs/none"}}
    yield "property true", {"messages": hi, "json_schema": {"type": "object", "properties": {"a": True}}}
    yield "arguments that are no JSON", {"messages": [user("Hi"), {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call00000", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": "}}]}, *answered("x"), user("Bye")], "tools": ALL}


def requests():
    for name, body in chats():
        yield name, "/v1/chat/completions", body
        if name not in ("turns", "parts", "none", "schema-old", "raw"):
            yield f"{name}, streamed", "/v1/chat/completions", {**body, "stream": True}
    for name, path, body in others():
        yield name, path, body
        if path != "/apply-template":
            yield f"{name}, streamed", path, {**body, "stream": True}
    for name, body in odd():
        yield name, "/v1/chat/completions", body


class Server:
    def __init__(self, program, model, template):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [program, "-m", model, "--host", "127.0.0.1", "--port", str(self.port), "-t", "1", "-tb", "1", "-np", "1", "-c", "4096",
                   "--jinja", "--no-warmup", "--cache-ram", "0", *(["--chat-template-file", template] if template else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if self.ask("/health", None)[0] == 200:
                return
            time.sleep(0.2)
        sys.exit(f"{program} does not start")

    def ask(self, path, body):
        """The status, and the text of the answer."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=None if body is None else json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def stop(self):
        self.process.terminate()
        self.process.wait()


def joined(into, delta):
    """Adds a delta of chat completions to a message."""
    for name in ("content", "reasoning_content"):
        if delta.get(name):
            into[name] = into.get(name, "") + delta[name]
    for call in delta.get("tool_calls", []):
        calls = into.setdefault("tool_calls", [])
        while len(calls) <= call["index"]:
            calls.append({"name": "", "arguments": ""})
        for name, text in call.get("function", {}).items():
            calls[call["index"]][name] += text


def said(path, text):
    """What an answer says, whatever its API and its form: reasoning, content, calls, finish."""
    message, finish = {}, None
    events = [line[6:] for line in text.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
    bodies = [json.loads(event) for event in events] or [json.loads(text)]
    if path == "/apply-template":
        return bodies[0]["prompt"]
    for body in bodies:
        if "error" in body and body["error"]:
            return {"error": True}
        for choice in body.get("choices", []):
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta")
            if delta is None:
                whole = choice["message"]
                calls = [dict(call["function"], index=index) for index, call in enumerate(whole.get("tool_calls") or [])]
                delta = {**whole, "tool_calls": [{"index": call.pop("index"), "function": call} for call in calls]}
            joined(message, delta)
        if path == "/v1/messages":
            finish = body.get("stop_reason") or body.get("delta", {}).get("stop_reason") or finish
            blocks = body.get("content") or [body.get("content_block") or {}, body.get("delta") or {}]
            for block in blocks:
                joined(message, {"content": block.get("text"), "reasoning_content": block.get("thinking")})
                if block.get("type") == "tool_use":
                    message.setdefault("tool_calls", []).append({"name": block["name"], "arguments": json.dumps(block["input"]) if block["input"] else ""})
                if block.get("partial_json"):
                    message["tool_calls"][-1]["arguments"] += block["partial_json"]
        whole = body.get("response", body) if path == "/v1/responses" else {}
        if whole.get("output") and whole.get("status") != "in_progress":
            finish = whole.get("status")
            for item in whole["output"]:
                texts = "".join(part.get("text", "") for part in item.get("content") or [])
                joined(message, {"reasoning_content" if item["type"] == "reasoning" else "content": texts})
                if item["type"] == "function_call":
                    message.setdefault("tool_calls", []).append({"name": item["name"], "arguments": item["arguments"]})
    return {**message, "finish": finish}


def is_object(text, required):
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and set(required) <= set(value)


def is_asked_for(body, got):
    """Whether an answer is valid: JSON where JSON was asked for, else calls of known tools with their required arguments."""
    if not isinstance(got, dict) or "error" in got:
        return False
    if "tool_calls" not in got:
        wants = "response_format" in body or "json_schema" in body
        forced = body.get("tool_choice") in ("required", {"type": "any"})
        return not forced and (not wants or is_object(got.get("content", ""), []))
    required = {given["function"]["name"]: given["function"]["parameters"]["required"] for given in ALL}
    return all(call["name"] in required and is_object(call["arguments"], required[call["name"]]) for call in got["tool_calls"])


def is_cut(got):
    return isinstance(got, dict) and got.get("finish") in ("length", "max_tokens", "incomplete", None)


def difference(body, theirs, ours):
    """How two answers differ, in words that a list of differences can have; None if they do not."""
    (status, got), (our_status, our_got) = theirs, ours
    if status != our_status:
        return f"status {status}, here {our_status}"
    if got == our_got:
        return None
    if not is_cut(got) and is_asked_for(body, got) and not is_asked_for(body, our_got):
        return "worse"
    if not isinstance(got, dict) or not isinstance(our_got, dict):
        return "prompt"
    names = [name for name in ("error", "reasoning_content", "content", "tool_calls", "finish") if got.get(name) != our_got.get(name)]
    return "other " + ", ".join(names)


def main():
    program, our_program, model, folder, listed = sys.argv[1:6]
    with open(listed, encoding="utf-8") as lines:
        known = {line.split("\t")[0] for line in lines}
    report = os.environ.get("REPORT")
    asked, new, seen = 0, 0, 0
    for template in TEMPLATES:
        file = template and os.path.join(folder, template)
        servers = [Server(name, model, file) for name in (program, our_program)]
        for name, path, body in requests():
            limited = body if "max_tokens" in body else {**body, "max_output_tokens" if path == "/v1/responses" else "max_tokens": 64}
            sent = {"temperature": 0, "seed": 7, "cache_prompt": False, **limited} if path != "/apply-template" else body
            answers = []
            for server in servers:
                status, text = server.ask(path, sent)
                answers.append((status, said(path, text) if status == 200 else None))
            asked += 1
            what = difference(body, *answers)
            if what:
                line = f"{template or 'none'}, {name.removesuffix(', streamed')}: {what}"
                seen += 1
                if line not in known:
                    new += 1
                    print(f"not listed: {line}\n  there {answers[0]}\n  here  {answers[1]}", flush=True)
                if report:
                    with open(report, "a", encoding="utf-8") as lines:
                        lines.write(json.dumps([template, name, what, *answers]) + "\n")
        for server in servers:
            server.stop()
    print(f"{asked} requests of {len(TEMPLATES)} templates: {seen} differ, {new} of them are not listed")
    sys.exit(new > 0)


main()
