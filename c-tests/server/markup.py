"""How models of some templates write a turn: its reasoning, its text, and its calls, each a name and the arguments."""

import json


def in_json(reasoning, text, calls):
    reasoning = f"<think>\n{reasoning}</think>\n\n" if reasoning else ""
    calls = [f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {json.dumps(arguments)}}}\n</tool_call>' for name, arguments in calls]
    return reasoning + text + "\n".join(calls)


def in_dsml(reasoning, text, calls):
    kind = lambda value: "true" if isinstance(value, str) else "false"
    parameter = lambda name, value: f'<｜DSML｜parameter name="{name}" string="{kind(value)}">{as_text(value)}</｜DSML｜parameter>\n'
    parameters = lambda arguments: "".join(parameter(*entry) for entry in arguments.items())
    calls = "".join(f'<｜DSML｜invoke name="{name}">\n{parameters(arguments)}</｜DSML｜invoke>\n' for name, arguments in calls)
    calls = f"\n\n<｜DSML｜function_calls>\n{calls}</｜DSML｜function_calls>" if calls else ""
    return f"{reasoning}</think>{text}{calls}"


def tagged(reasoning, text, calls):
    parameters = lambda arguments: "".join(f"<parameter={name}>\n{as_text(value)}\n</parameter>\n" for name, value in arguments.items())
    calls = "\n".join(f"<tool_call>\n<function={name}>\n{parameters(arguments)}</function>\n</tool_call>" for name, arguments in calls)
    return f"{reasoning}</think>\n\n{text}{calls}"


def pairs(reasoning, text, calls):
    pair = lambda name, value: f"<arg_key>{name}</arg_key>\n<arg_value>{as_text(value)}</arg_value>\n"
    calls = [f"<tool_call>{name}\n" + "".join(pair(*entry) for entry in arguments.items()) + "</tool_call>" for name, arguments in calls]
    return f"<think>{reasoning}</think>\n{text}{''.join(calls)}"


def harmony(reasoning, text, calls):
    messages = [f"<|channel|>analysis<|message|>{reasoning}<|end|>"]
    if calls and text:
        messages.append(f"<|start|>assistant<|channel|>commentary<|message|>{text}<|end|>")
    for name, arguments in calls:
        name = name if name.startswith("functions.") else f"functions.{name}"
        messages.append(f"<|start|>assistant to={name}<|channel|>commentary json<|message|>{json.dumps(arguments)}<|call|>")
    if not calls:
        messages.append(f"<|start|>assistant<|channel|>final<|message|>{text}")
    return "".join(messages)


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def published_tags(reasoning, text, calls):
    """Qwen3-Coder does not reason."""
    text = f"{text}\n\n" if text and calls else text
    # As Jinja prints them.
    calls = [(name, {key: value if isinstance(value, (list, dict)) else str(value) for key, value in arguments.items()}) for name, arguments in calls]
    return text + tagged("", "", calls).removeprefix("</think>\n\n")


def published_pairs(reasoning, text, calls):
    """GLM-4.6 begins each part on a line of its own."""
    text = f"\n{text}" if text else ""
    calls = "".join("\n" + pairs("", "", [call]).removeprefix("<think></think>\n") for call in calls)
    return f"\n<think>{reasoning}</think>{text}{calls}"


BUILTIN = {"json-call": in_json, "qwen3-coder": tagged, "tag-arguments": pairs, "gpt-oss": harmony, "deepseek-v3.2": in_dsml}
PUBLISHED = {"Qwen3-Coder": published_tags, "GLM-4.6": published_pairs, "openai-gpt-oss-120b": harmony}
