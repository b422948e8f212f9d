"""`chatparse.vllm` under vLLM's own classes, from its source distribution: what they import of torch and the engine is left out. Skipped
where there is none: `CHATPARSE_VLLM` names the folder that has the package `vllm`, and the packages pydantic and openai must be there."""

import collections
import gzip
import importlib
import json
import os
import sys
import types
from itertools import count
from pathlib import Path

import pytest
from chatparse import Dialect, Error, Template

FOLDER = Path(os.environ.get("CHATPARSE_VLLM", ""))
if not (FOLDER / "vllm/tool_parsers/abstract_tool_parser.py").exists():
    pytest.skip(f"there is no vLLM in {FOLDER} (CHATPARSE_VLLM)", allow_module_level=True)
pytest.importorskip("pydantic")
pytest.importorskip("openai")

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "judges"))
from stand_ins import Stand, StandIns  # noqa: E402

# What is vLLM's own here; all else of it, and of what is not installed, is a stand-in.
OWN = """vllm.parser.abstract_parser vllm.parser.parser_manager vllm.parser.utils vllm.parser.engine.adapters
    vllm.reasoning vllm.reasoning.abs_reasoning_parsers
    vllm.tool_parsers vllm.tool_parsers.abstract_tool_parser vllm.tool_parsers.tool_strict_level
    vllm.entrypoints.generate.base.protocol vllm.entrypoints.openai.chat_completion.protocol vllm.entrypoints.serve.engine.protocol
    vllm.utils.collection_utils vllm.utils.import_utils""".split()


@pytest.fixture(scope="module")
def vllm():
    """What is used of vLLM, with the plugin loaded as a server does."""
    before = dict(sys.modules)
    sys.meta_path.insert(0, StandIns(("vllm", "torch", "xgrammar", "msgspec", "prometheus_client"), FOLDER, OWN.__contains__))
    try:
        importlib.import_module("vllm.envs").VLLM_MAX_STOP_STRINGS = 16
        importlib.import_module("vllm.parser.response_template").response_template_parser_cls = lambda _: None
        numbers = count()
        importlib.import_module("vllm.utils").random_uuid = lambda: "1"
        importlib.import_module("vllm.logger").init_logger = lambda _: Stand()
        importlib.import_module("vllm.renderers.chat_utils").make_tool_call_id = lambda *_, **__: f"made-{next(numbers)}"
        plugin = importlib.import_module("vllm.utils.import_utils").import_plugin("chatparse.vllm")
        assert plugin.ChatparseToolParser
        manager = importlib.import_module("vllm.parser.parser_manager").ParserManager
        request = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol").ChatCompletionRequest
        delta = importlib.import_module("vllm.entrypoints.generate.base.protocol").DeltaMessage
        yield types.SimpleNamespace(manager=manager, request=request, delta=delta, plugin=plugin)
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if not isinstance(finder, StandIns)]
        for name in set(sys.modules) - set(before):
            del sys.modules[name]


class Tokenizer:
    """A token for each character."""

    bos_token = ""

    def __init__(self, source, eos):
        self.chat_template, self.eos_token = source, eos

    def encode(self, text, **_):
        return list(map(ord, text))

    def decode(self, ids, **_):
        return "".join(map(chr, ids))

    def get_vocab(self):
        return {}


TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
}
PROMPT = "<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n"
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
OUTPUT = f"<think>\nI look.\n</think>\n\nLet me see. {CALL}"
MESSAGE = {"reasoning": "I look.\n", "content": "Let me see. ", "calls": [("weather", {"city": "Oslo"})]}


class Served:
    """The parsers of requests, made by vLLM's own manager."""

    def __init__(self, vllm, source, reasoning="chatparse", tool="chatparse", eos="<|im_end|>"):
        self.vllm, self.tokenizer, self.template = vllm, Tokenizer(source, eos), Template(source, eos=eos) if isinstance(source, str) else None
        self.cls = vllm.manager.get_parser(
            tool_parser_name=tool, reasoning_parser_name=reasoning, enable_auto_tools=True, tokenizer=self.tokenizer
        )

    def request(self, **fields):
        body = {"model": "m", "messages": [{"role": "user", "content": "Rain?"}], "tools": [TOOL], **fields}
        return self.vllm.request(**{name: value for name, value in body.items() if value is not None})

    def parser(self, request, **kwargs):
        return self.cls(self.tokenizer, request.tools, chat_template_kwargs=kwargs)

    def whole(self, output, prompt=PROMPT, request=None, **kwargs):
        request = request or self.request()
        parser = self.parser(request, **kwargs)
        parser.set_prompt_token_ids(self.tokenizer.encode(prompt))
        reasoning, content, calls = parser.parse(output, request, enable_auto_tools=True)
        return message(reasoning, content, [(call.name, call.arguments) for call in calls or []])

    def streamed(self, output, step=1, prompt=PROMPT, request=None, **kwargs):
        request = request or self.request()
        parser = self.parser(request, **kwargs)
        reasoning, content, calls = "", "", []
        for at in range(0, len(output), step):
            piece, last = output[at : at + step], at + step >= len(output)
            delta = parser.parse_delta(piece, self.tokenizer.encode(piece), request, self.tokenizer.encode(prompt), finished=last)
            if delta:
                reasoning, content = reasoning + (delta.reasoning or ""), content + (delta.content or "")
                for call in delta.tool_calls:
                    if call.function.name:
                        assert call.index == len(calls) and call.id and call.type == "function"
                        calls.append([call.function.name, ""])
                    assert call.index == len(calls) - 1
                    calls[-1][1] += call.function.arguments or ""
        return message(reasoning, content, calls)


def message(reasoning, content, calls):
    """What was told, with arguments as values."""

    def value(text):
        try:
            return json.loads(text)
        except ValueError:
            return text

    return {"reasoning": reasoning or "", "content": content or "", "calls": [(name, value(text)) for name, text in calls]}


@pytest.fixture
def served(vllm):
    return Served(vllm, Template.builtin("json-call").source)


def test_whole_and_streamed(served):
    assert served.whole(OUTPUT) == MESSAGE
    for step in (1, 2, 3, 7, 1000):
        assert served.streamed(OUTPUT, step) == MESSAGE



def test_what_the_prompt_leaves_open(served):
    open_prompt = PROMPT + "<think>\nSo"
    rest = OUTPUT.removeprefix("<think>\nI")
    expected = {**MESSAGE, "reasoning": " look.\n"}
    assert served.whole(rest, open_prompt) == expected == served.streamed(rest, 2, open_prompt)
    parser = served.parser(served.request())
    ended = lambda prompt: parser.is_reasoning_end(served.tokenizer.encode(prompt))  # noqa: E731
    assert [ended(PROMPT), ended(open_prompt), ended(PROMPT + "<think>\n\n</think>\n\n")] == [False, False, True]
    assert served.streamed("No.", 1, PROMPT + "<think>\n\n</think>\n\n") == message("", "No.", [])


def test_requests_that_hide_what_was_read(served):
    # As vLLM's own engines do it: a call that nobody wanted is not shown.
    none = served.request(tool_choice="none")
    assert served.whole(OUTPUT, request=none) == {**MESSAGE, "calls": []} == served.streamed(OUTPUT, 2, request=none)
    assert served.streamed(OUTPUT, 3, request=served.request(include_reasoning=False)) == {**MESSAGE, "reasoning": ""}
    forced = served.request(tool_choice="required")
    assert served.whole(OUTPUT, request=forced) == MESSAGE == served.streamed(OUTPUT, 4, request=forced)


def test_ids_of_calls(vllm):
    served = Served(vllm, Template.builtin("kimi-k2").source)
    output = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
        '{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    request = served.request()
    prompt = served.tokenizer.encode("<|im_assistant|>assistant<|im_middle|>")
    delta = served.parser(request).parse_delta(output, [], request, prompt, finished=True)
    assert delta.tool_calls[0].id == "functions.weather:0"
    assert served.parser(request).parse(output, request, enable_auto_tools=True)[2][0].id == "functions.weather:0"


def test_one_of_the_two(vllm, served):
    source = served.tokenizer.chat_template
    # Without a reasoning parser, reasoning is content, as everywhere in vLLM.
    tools = Served(vllm, source, reasoning=None)
    expected = {"reasoning": "", "content": OUTPUT.removesuffix(CALL), "calls": MESSAGE["calls"]}
    assert tools.whole(OUTPUT) == expected == tools.streamed(OUTPUT, 3)
    # Without a tool parser, or with another, what comes behind the reasoning is left as it is.
    expected = {**MESSAGE, "content": f"Let me see. {CALL}", "calls": []}
    thoughts = Served(vllm, source, tool=None)
    assert thoughts.whole(OUTPUT) == expected == thoughts.streamed(OUTPUT, 3)
    other = type("Other", (importlib.import_module("vllm.tool_parsers").ToolParser,), {
        "extract_tool_calls": lambda self, text, request: types.SimpleNamespace(tools_called=False, content=text),
        "extract_tool_calls_streaming": lambda self, _before, _now, delta, *_: thoughts.vllm.delta(content=delta),
    })
    importlib.import_module("vllm.tool_parsers").ToolParserManager.register_module("other", module=other)
    mixed = Served(vllm, source, tool="other")
    assert mixed.whole(OUTPUT) == expected == mixed.streamed(OUTPUT, 3)
    # A reasoning parser of others hands on what it leaves over.
    thinks = type("Thinks", (importlib.import_module("vllm.reasoning").ReasoningParser,), {
        "extract_reasoning": lambda self, text, request: tuple(text.removeprefix("<think>").split("</think>")),
    })
    importlib.import_module("vllm.reasoning").ReasoningParserManager.register_module("thinks", module=thinks)
    got = Served(vllm, source, reasoning="thinks").whole(OUTPUT)
    assert got["calls"] == MESSAGE["calls"] and got["content"].strip() == "Let me see."


def test_where_reasoning_ends_in_tokens(served):
    encode, parser = served.tokenizer.encode, served.parser(served.request())
    prompt, output = encode(PROMPT), encode(OUTPUT)
    end = OUTPUT.index("</think>") + len("</think>")
    known = parser.reasoning_parser
    assert [known.is_reasoning_end_streaming(prompt + output[:at], output[at - 1 : at]) for at in range(1, 60)] == [at >= end for at in range(1, 60)]
    # Drafts, of which some are taken back.
    known = served.parser(served.request()).reasoning_parser
    for at in range(0, 60, 3):
        for draft in (list(range(97, 105)), output[at : at + 5], output[at : at + 2], []):
            text = OUTPUT[:at] + "".join(map(chr, draft))
            assert known.is_reasoning_end_streaming(prompt + output[:at] + draft, draft) == ("</think>" in text or not text.startswith("<think>"[: len(text)]))
    parser.set_prompt_token_ids(prompt)
    assert parser.count_reasoning_tokens(output[:20]) <= parser.count_reasoning_tokens(output)
    assert len("I look.\n") <= parser.count_reasoning_tokens(output) <= len("\nI look.\n</think>")
    assert known.extract_content_ids(output) == output[end:]
    assert (known.reasoning_start_str.strip(), known.reasoning_end_str.strip()) == ("<think>", "</think>")


def test_a_piece_costs_the_same_wherever_it_stands(served, monkeypatch):
    Reader = served.vllm.plugin.Reader
    fed, decoded = [], []
    feed, decode = Reader.feed, Tokenizer.decode
    monkeypatch.setattr(Reader, "feed", lambda self, text, *rest, **more: (fed.append(len(text)), feed(self, text, *rest, **more))[1])
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids, **more: (decoded.append(len(ids)), decode(self, ids, **more))[1])
    output = "<think>" + "I think. " * 200 + "</think>" + "I say. " * 200 + CALL
    assert served.streamed(output)["calls"] == MESSAGE["calls"] and sum(fed) == len(output)
    assert sum(decoded) < 10 * len(PROMPT)
    decoded.clear()
    known, prompt = served.parser(served.request()).reasoning_parser, served.tokenizer.encode(PROMPT)
    ids = [*prompt, *served.tokenizer.encode(output)]
    for at in range(len(prompt) + 1, len(ids)):
        known.is_reasoning_end_streaming(ids[:at], ids[at - 1 : at])
    assert sum(decoded) < 2 * len(output) + 10 * len(PROMPT)


def test_grammars_where_the_host_wants_them(served, monkeypatch):
    def adjusted(**fields):
        request = served.request(**fields)
        parser = served.parser(request)
        parser.set_prompt_token_ids(served.tokenizer.encode(PROMPT + "<think>\n"))
        return parser.adjust_request(request)

    left = adjusted(tool_choice="required")
    assert left.structured_outputs is None and left.skip_special_tokens is False and not left._grammar_from_parser
    monkeypatch.setenv("CHATPARSE_VLLM_GRAMMAR", "1")
    named = {"type": "function", "function": {"name": "weather"}}
    for choice in ("auto", "required", named):
        request = adjusted(tool_choice=choice, parallel_tool_calls=False)
        body = {"messages": [], "tools": [TOOL], "tool_choice": choice, "parallel_tool_calls": False, "reasoning_format": "auto"}
        params = served.template.params_for(PROMPT + "<think>\n", body)
        assert request.structured_outputs.grammar == params.grammar(Dialect.LARK).text != "" and request._grammar_from_parser
    assert adjusted(tool_choice="none").structured_outputs is None
    assert adjusted(tools=None).structured_outputs is None
    # What the client asks for stays, unless a call is forced.
    object = {"type": "json_object"}
    assert adjusted(response_format=object).structured_outputs is None
    forced = adjusted(response_format=object, tool_choice="required")
    assert forced.structured_outputs.grammar and forced.response_format is None


def test_templates(vllm, tmp_path, monkeypatch):
    named = {"default": "{{ none }}", "tool_use": Template.builtin("json-call").source}
    assert Served(vllm, named).whole(OUTPUT) == MESSAGE
    with pytest.raises(TypeError, match="no chat template"):
        Served(vllm, None)
    path = tmp_path / "template.jinja"
    path.write_text(named["tool_use"])
    monkeypatch.setenv("CHATPARSE_CHAT_TEMPLATE", str(path))
    assert Served(vllm, None).whole(OUTPUT) == MESSAGE


def test_tools_of_responses(vllm):
    flat = {"type": "function", "name": "weather", "parameters": {}}
    assert vllm.plugin.as_tool(flat) == {"type": "function", "function": {"name": "weather", "parameters": {}}}
    assert vllm.plugin.as_tool(TOOL) == TOOL


SHARED = Path(os.environ.get("CHATPARSE_SHARED", "../shared"))


def test_streams_of_vllms_own_tests(vllm, capsys):
    """What vLLM's parsers are tested with, for formats whose template lies here: as many are right as where chatparse reads by itself."""
    if not (SHARED / "peers/run.py").exists():
        pytest.skip(f"there are no tests of others in {SHARED} (CHATPARSE_SHARED)")
    sys.path.insert(0, str(SHARED / "peers"))
    import run

    lines = (line for pack in sorted((SHARED / "peers").glob("cases*.jsonl.gz")) for line in gzip.open(pack, "rt"))
    cases = [case for case in map(json.loads, lines) if case["source"]["repo"] == "vllm-project/vllm"]
    served, right, worse = {}, collections.Counter(), []
    for case in cases:
        path = next(SHARED.glob(f"*/{case['template']}"), None) or SHARED / "peers/templates" / case["template"]
        key = (case["template"], case["format"])
        if key not in served:
            served[key] = Served(vllm, path.read_text(), eos=run.EOS.get(case["format"], ""))
        mine, body = served[key], run.request(case)
        try:
            params = mine.template.params(body)
        except Error:
            continue
        alone = params.parse(case["output"], partial=not case.get("ended", True))
        told = {
            "alone": message(alone.reasoning, alone.content, [(call.name, call.arguments) for call in alone.tool_calls]),
            "whole": mine.whole(case["output"], params.prompt, mine.request(tools=case.get("tools") or None), **kwargs(body)),
            "streamed": mine.streamed(case["output"], 1, params.prompt, mine.request(tools=case.get("tools") or None), **kwargs(body)),
        }
        fits = {how: fit(case, each) for how, each in told.items()}
        right.update(how for how in fits if fits[how])
        if not (fits["whole"] and fits["streamed"]) and fits["alone"]:
            worse.append((case, told))
    with capsys.disabled():
        print(f"\nof {len(cases)} streams of vLLM's tests right: {dict(right)}")
    # vLLM does not tell parsers that an output was cut off.
    assert [each for each in worse if each[0].get("ended", True)] == [] and len(worse) < 5


def kwargs(body):
    """What vLLM gives a template besides messages and tools."""
    return {**body.get("chat_template_kwargs", {}), **({"enable_thinking": body["enable_thinking"]} if "enable_thinking" in body else {})}


def fit(case, told):
    """Whether it is what vLLM's test asserts."""
    import run

    calls = [{"name": name, "arguments": json.dumps(value) if not isinstance(value, str) else value} for name, value in told["calls"]]
    return not run.diff(case, {"tool_calls": calls, "content": told["content"], "reasoning_content": told["reasoning"]})
