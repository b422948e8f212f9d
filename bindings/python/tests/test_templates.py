"""Templates, params, segments, grammars, and errors."""

import json
import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import chatparse
import pytest
from chatparse import (
    CallOrigin, DeltaKind, Dialect, FidelityKind, Grammar, GrammarBuilder, GrammarStyle, InvalidArgumentError, MaskPart, Matcher, Origin, PartKind,
    RewriteReason, Template, TriggerKind, Verdict,
)
from conftest import PIECES, REQUEST, SOURCE

HI = {"messages": [{"role": "user", "content": "Hi"}]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


def test_the_quick_start_of_the_readme(capsys):
    readme = Path(__file__).resolve().parents[1] / "README.md"
    text = readme.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.+?)```", text, re.DOTALL)[1]
    prints = re.search(r"```console\n(?:\$ [^\n]*\n)+(.+?)```", text, re.DOTALL)[1]
    exec(compile(code, str(readme), "exec"), {})
    assert capsys.readouterr().out == prints


def test_the_example(capsys):
    import chat

    chat.main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2] == "tool_end: "
    assert json.loads(printed[-1])["tool_calls"][0]["function"]["name"] == "weather"


def test_views_of_the_whole():
    assert "chatml" in Template.builtin_names()
    template = Template.builtin("chatml")
    assert template.capabilities()["supports_system_role"] is True
    assert "messages" in template.source
    params = template.params(HI)
    assert params.to_dict()["prompt"] == params.prompt
    assert params.prompt.endswith(params.generation_prompt) and params.generation_prompt
    assert template.params(json.dumps(HI)).prompt == template.params(json.dumps(HI).encode()).prompt == params.prompt
    assert re.match(r"0\.1\.", chatparse.version()) and chatparse.__version__ == chatparse.version()


def test_a_template_as_bytes(template):
    stored = template.to_bytes()
    for again in (Template.from_bytes(stored), pickle.loads(pickle.dumps(template))):
        assert (again.source, again.reader, again.to_bytes()) == (template.source, template.reader, stored)
        assert again.params(REQUEST).to_dict() == template.params(REQUEST).to_dict()
    for wrong in (b"", stored[:-1], template.source.encode()):
        with pytest.raises(InvalidArgumentError):
            Template.from_bytes(wrong)


def test_what_is_printed_says_what_it_is(template):
    params = template.params(HI)
    assert str(params.parse("Hi").outcome) == "Outcome.COMPLETE" and str(chatparse.Dialect.LARK) == "Dialect.LARK"
    assert repr(template) == "<chatparse.Template read by turn>" and repr(params).startswith("<chatparse.Params format='")
    with pytest.raises(chatparse.InvalidArgumentError, match="the name of a file"):
        Template("model.jinja")


def test_what_was_learnt_and_proved(template):
    assert template.reader == "turn"
    assert template.layout()["tools"]["format"] == "json_native"
    proof = template.proof()
    assert proof["cases"] == proof["read_back"] > 20 and not proof["failures"]
    lint = template.lint()
    assert lint["faults"] == 0 and lint["cases"][0]["outcome"] == "survives" and lint["laws"]["read"] == "holds"
    family = Template.builtin("gpt-oss")
    for options, reader in (({}, "gpt-oss"), ({"prove": False}, "gpt-oss"), ({"learn_only": True}, "turn")):
        assert Template(family.source, **options).reader == reader
    assert not Template(family.source, learn_only=True, prove=False).proof()["failures"]


def test_response_templates():
    written = Template.builtin("json-call").response_template()
    assert written["response_template"]["fields"]["tool_calls"]["open"] == "<tool_call>" and not written["limits"]
    several = Template(Template.builtin("json-call").source, eos="<|im_end|>", ends=["<|halt|>"]).response_template()
    assert "<|halt|>" in json.dumps(several)
    assert Template("", response_template=written["response_template"]).reader == "response-template"
    with pytest.raises(chatparse.InvalidArgumentError, match=r"response_template\.version"):
        Template("", response_template={"version": 2})


def test_where_a_template_comes_from():
    config = {"bos_token": "<s>", "chat_template": [{"name": "default", "template": "a{{ bos_token }}"}, {"name": "tools", "template": "b"}]}
    assert Template(json.dumps(config)).params(HI).prompt == "a<s>"
    assert Template(json.dumps(config), name="tools").params(HI).prompt == "b"
    tokenizer = SimpleNamespace(get_chat_template=lambda: SOURCE + "{{ eos_token }}", bos_token=None, eos_token="<|end|>")
    assert Template.from_tokenizer(tokenizer).params(HI).prompt.endswith("<|end|>")


def test_what_sampler_and_tokenizer_must_know(params):
    assert params.grammar_lazy and params.grammar_triggers[0] == (TriggerKind.WORD, "<tool_call>")
    everything = params.to_dict()
    assert list(params.preserved_tokens) == everything["preserved_tokens"]
    assert list(params.additional_stops) == everything["additional_stops"]
    assert (params.format, params.supports_thinking) == (everything["format"], everything["supports_thinking"])
    params.warm()
    assert params.end_of_turn == everything["end_of_turn"] != ""
    assert (params.thinking_start_tag, list(params.thinking_end_tags)) == (everything["thinking_start_tag"], everything["thinking_end_tags"])
    assert [tuple(each) for each in params.message_delimiters] == [
        (each["role"], each["delimiter"]) for each in everything["message_delimiters"]
    ]


def test_options_and_media():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    request = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Look: "}, image]}]}
    params = Template.builtin("chatml").params(request, {"media_marker": "<here>"})
    assert "<here>" in params.prompt
    assert params.media == (chatparse.Media("image", "<here>", image, 0, 1, False),)
    with pytest.raises(chatparse.InvalidArgumentError, match="media_marke"):
        Template.builtin("chatml").params(request, {"media_marke": "x"})


def test_next_turn(params):
    output = "".join(PIECES)
    assert (params.kept, params.append, params.rewrite) == (0, params.prompt, None)
    following = params.next(output, [{"role": "tool", "content": "Rain."}])
    assert (following.kept, following.rewrite) == (len((params.prompt + output).encode()), None)
    assert following.prompt == params.prompt + output + following.append
    assert "Rain." in following.append
    assert following.parse("It rains.").content == "It rains."
    with pytest.raises(chatparse.Error):
        params.next(output, [7])


def test_a_body_that_goes_on():
    params = Template.builtin("chatml").params(HI)
    said = [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {}}]}, {"role": "assistant", "content": "Hello"}]
    new = [{"role": "user", "content": "Bye"}]
    following, first = params.follow("Hello", {"messages": said + new}, {"now": 0})
    assert first == 2 and following.rewrite is None
    assert following.append == params.next("Hello", new).append == params.next("Hello", {"messages": new}).append
    other, first = params.follow("Hello", {"messages": new + said})
    assert first is None and other.prompt == Template.builtin("chatml").params({"messages": new + said}).prompt
    assert (other.rewrite.reason, other.rewrite.message) == (RewriteReason.REQUEST, 0)
    assert any(note.startswith("messages[0].content: ") for note in other.to_dict()["notes"])
    with pytest.raises(chatparse.Error):
        params.follow("Hello", {"messages": 7})


def test_a_turn_that_is_written_anew():
    source = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[{{ messages | length }}][assistant]"
    following = Template(source).params(HI).next("Hello", [{"role": "user", "content": "Bye"}])
    assert following.rewrite.reason == RewriteReason.CHANGED and following.rewrite.message is None
    assert following.rewrite.words and following.kept < len(following.prompt)
    assert RewriteReason(99) is RewriteReason.CHANGED
    kept = Template(source).params(HI, {"append": "always"}).next("Hello", [{"role": "user", "content": "Bye"}])
    assert kept.rewrite == following.rewrite and kept.rendered == following.prompt
    assert kept.prompt == "[user]Hi[1][assistant]Hello" + kept.append


def test_messages():
    params = Template.builtin("json-call").params(REQUEST)
    output = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    message = params.parse(output)
    (call,) = message.tool_calls
    assert (call.complete, call.known, call.valid, call.origin) == (True, True, True, CallOrigin.FORMAT)
    assert message.to_dict()["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert [part.kind for part in message.parts] == [PartKind.CONTENT, PartKind.CALL]
    (span,) = message.spans(DeltaKind.TOOL_NAME)
    assert output[span.begin : span.end] == "weather"
    assert message.spans(DeltaKind.TOOL_NAME, 7) == () == message.spans(DeltaKind.TOOL_NAME, -1)
    assert message.report()["status"] == "complete" and message.reasoning == ""
    invented = params.parse('<tool_call>\n{"name": "fly", "arguments": {}}\n</tool_call>')
    assert not invented.tool_calls[0].known
    assert [(found.kind.name, found.call) for found in invented.diagnostics if found.call is not None] == [("UNKNOWN_TOOL", 0)]
    assert "RECOVERED" in repr(invented)


def test_segments_and_masks():
    request = {
        "messages": [
            {"role": "user", "content": "Hå<|im_end|>"}, {"role": "assistant", "content": "One."},
            {"role": "user", "content": "b"}, {"role": "assistant", "content": "Two."},
        ],
        "add_generation_prompt": False,
    }
    template = Template.builtin("chatml")
    found = template.segments(request)
    assert found.prompt.decode() == template.params(request).prompt
    assert found.segments[0].begin == 0 and found.segments[-1].end == len(found.prompt)
    assert all(one.end == two.begin for one, two in zip(found.segments, found.segments[1:]))
    (mine,) = [each for each in found.segments if (each.origin, each.index) == (Origin.MESSAGE, 0)]
    assert (found.prompt[mine.begin : mine.end].decode(), mine.path) == ("Hå<|im_end|>", "/content")

    def texts(*parts, **options):
        return [found.prompt[span.begin : span.end].decode() for span in found.mask(*parts, **options)]

    assert texts(MaskPart.CONTENT) == ["One.", "Two."]
    assert texts(MaskPart.CONTENT, last_only=True) == ["Two."]
    assert "".join(texts()).startswith("One.<|im_end|>")
    assert texts(MaskPart.CALLS) == []
    with pytest.raises(chatparse.InvalidArgumentError, match="messages"):
        template.segments({})


def test_tokens_and_batches():
    said = [{"role": "user", "content": "Hå"}, {"role": "assistant", "content": "Né"}]
    template = Template.builtin("chatml")
    (found, other) = template.segments_batch([{"messages": said}, json.dumps({"messages": said[:1]})], {"for_training": True}, threads=2)
    text = found.prompt.decode()
    assert text.endswith("Né<|im_end|>\n") and other.prompt.decode() == text[: len(other.prompt.decode())]
    labels = found.tokens([(at, at + 1) for at in range(len(text))])
    assert "".join(c for c, label in zip(text, labels) if label.sampled) == "Né<|im_end|>"
    assert "".join(c for c, label in zip(text, labels) if label.origin != Origin.TEMPLATE) == "HåNé"
    assert [label.message for label in labels if label.sampled] == [1] * 12
    assert found.tokens([(0, len(found.prompt))], in_bytes=True) == [(Origin.MESSAGE, 0, True)]
    assert found.limit == "" and found.tokens([]) == []
    for wrong in ([(0, len(text) + 1)], [(-1, 2)]):
        with pytest.raises(chatparse.InvalidArgumentError, match=r"offsets\[0\]"):
            found.tokens(wrong)
    with pytest.raises(TypeError):
        found.tokens([3])
    with pytest.raises(chatparse.InvalidArgumentError, match=r"requests\[1\]"):
        template.segments_batch([{"messages": said}, {}, {}])


def test_grammars_of_a_request(params):
    grammar = params.grammar()
    call = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    assert grammar.check(call) == Verdict.ALLOWED
    assert (grammar.check(call[:-3]), grammar.check("no")) == (Verdict.PREFIX, Verdict.REFUSED)
    assert str(grammar) == grammar.text == params.to_dict()["grammar"]
    lark = params.grammar(Dialect.LARK)
    assert "start:" in lark.text and lark.report == ()
    assert json.loads(params.grammar(Dialect.STRUCTURAL_TAG).text)["type"] == "structural_tag"
    assert params.parser().grammar(lazy=True).check(call) == Verdict.ALLOWED
    assert Template.builtin("chatml").params(HI).grammar().text == ""


def test_the_next_bytes():
    matcher = Matcher.from_grammar('root ::= "say " ("yes" | "yellow" | "\\u00e9")')
    assert (matcher.forced, matcher.allowed, matcher.may_end) == (b"say ", b"s", False)
    assert matcher.feed("say ") == 4 and matcher.allowed == b"y\xc3" and matcher.forced == b""
    before = matcher.copy()
    assert matcher.can(b"yell") and not matcher.can("yelp")
    assert matcher.feed(b"yes!") == 3 and matcher.may_end and matcher.ended
    assert before.feed("yell") == 4 and before.forced == b"ow" and not before.ended
    with pytest.raises(InvalidArgumentError, match="root"):
        Matcher.from_grammar("a ::= \"b\"")
    free = Template.builtin("chatml").params(HI).matcher()
    assert free.can("anything") and free.may_end
    rest = Matcher.from_grammar(before.grammar(Dialect.PORTABLE_GBNF).text)
    assert rest.forced == b"ow"


def test_tokens_that_must_come():
    from forced_tokens import ForcedTokens

    forced = ForcedTokens([b'"', b'":', b'": "', b' "', b' "O', b"city", b"cit", b"<x"])
    assert forced.safe([b'"', b"city", b'":']) == [b'"', b"city"]
    assert forced.safe([b'"', b"city", b'":', b' "']) == [b'"', b"city", b'":']
    assert forced.safe([b"city", b"<x"]) == [b"city", b"<x"]


def test_grammars_of_schemas():
    grammar = Grammar.from_schema(CITY)
    assert grammar.check('{"city": "Oslo"}') == Verdict.ALLOWED
    assert grammar.check('{"town"') == Verdict.REFUSED
    assert "start:" in grammar.to(Dialect.LARK).text
    assert Grammar.from_schema(CITY, GrammarStyle.LLAMA_CPP).text != grammar.text
    (place,) = Grammar.from_schema({"type": "array", "uniqueItems": True}).report
    assert place.kind == FidelityKind.WIDENED and place.pointer.startswith("#")
    with pytest.raises(chatparse.SchemaError):
        Grammar.from_schema({"$ref": "#/nowhere"})
    assert chatparse.schema_allows_string('{"type": ["string", "null"]}') and not chatparse.schema_allows_string('{"type": "null"}')


def test_a_grammar_is_put_together(params):
    builder = GrammarBuilder()
    city = builder.add_schema("city", {"enum": ["Oslo"]})
    quoted = builder.add_literal("end", 'say "bye"')
    assert builder.add_rule("root", f"{city} {quoted}") == "root"
    assert builder.build().check('"Oslo"say "bye"') == Verdict.ALLOWED
    with pytest.raises(chatparse.InvalidArgumentError):
        builder.add_rule("wrong", '"')
    whole = GrammarBuilder(GrammarStyle.LLAMA_CPP)
    whole.add_parser(params.parser(), lazy=True)
    assert whole.build().text


def test_own_prompt():
    template = Template.builtin("json-call")
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    params = template.params_for("<|im_start|>assistant\n<think>\nLet me", {"messages": [], "tools": [tool]})
    stream = chatparse.Stream(params)
    stream.feed(" see.\n</think>\n\nNo. <tool_")
    assert stream.pending.endswith(b"<tool_") and stream.message().reasoning == "Let me see.\n"
    for report in (chatparse.Report.RESPONSE_TEMPLATE_VLLM, chatparse.Report.RESPONSE_TEMPLATE_SGLANG):
        assert '"thinking"' in template.report(report)


def test_errors(template, params):
    cases = [
        (chatparse.TemplateError, "template", "line", lambda: Template("{% for %}")),
        (chatparse.InvalidArgumentError, "invalid_argument", "chatml", lambda: Template.builtin("none such")),
        (chatparse.InvalidArgumentError, "invalid_argument", "messages", lambda: template.params({})),
        (chatparse.LimitError, "limit", "1048576", lambda: Template("x" * 2_000_000)),
        (chatparse.ParseError, "parse", "format", lambda: params.parse("<tool_call>no", strict=True)),
    ]
    for kind, name, words, call in cases:
        with pytest.raises(kind, match=words) as caught:
            call()
        assert caught.value.kind == name and isinstance(caught.value, chatparse.Error)
    # The caller's mistakes are also what Python calls them.
    with pytest.raises(ValueError):
        template.params("not JSON")
    for call in (lambda: Template(7), lambda: template.params(object()), lambda: chatparse.Stream(7), lambda: template.segments(None)):
        with pytest.raises((TypeError, ValueError)):
            call()
