"""Streams: deltas, bytes cut anywhere, drafts that are taken back, marked output, threads and memory."""

import asyncio
import contextlib
import copy
import gc
import pickle
import threading
from pathlib import Path

import chatparse
import pytest
from chatparse import DeltaKind, DiagnosticKind, Dialect, Outcome, Params, Parser, Stream, Template
from conftest import REQUEST

CALL = '<tool_call>{"name": "weather", "arguments": {}}</tool_call>'
THINKING = """{% for message in messages %}<|{{ message.role }}|>
{%- if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}{{ message.content }}<|end|>
{%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""
HI = {"messages": [{"role": "user", "content": "Hi"}]}


def test_message_with_a_call(params, pieces):
    stream = params.stream()
    assert stream.outcome == Outcome.PARTIAL
    deltas = list(stream.deltas(pieces))
    message = stream.message()
    assert (stream.outcome, message.outcome) == (Outcome.COMPLETE, Outcome.COMPLETE)
    (call,) = message.tool_calls
    assert (call.name, call.arguments) == ("weather", '{"city": "Oslo"}')
    assert "".join(delta.text for delta in deltas if delta.kind == DeltaKind.TOOL_ARGUMENTS) == call.arguments
    assert params.parse("".join(pieces)) == message
    assert hash(params.parse("".join(pieces))) == hash(message)
    assert params.parse("I will look. ") != message


def test_deltas_are_plain_values(params, pieces):
    deltas = list(params.stream().deltas(pieces))
    first = deltas[0]
    kind, call, text, begin, end = first
    assert type(first) is chatparse.Delta and first == chatparse.Delta(DeltaKind.REASONING, 0, "Rain? Let me", 7, 19)
    assert (kind, call, text, begin, end) == (first.kind, first.call, first.text, first.begin, first.end)
    assert kind is DeltaKind.REASONING
    assert pickle.loads(pickle.dumps(deltas)) == deltas
    assert repr(first).startswith("Delta(kind=<DeltaKind.REASONING: 1>, call=0, text='Rain? Let me'")


def test_calls_end_and_chunks_say_the_same(params, pieces):
    stream = params.stream()
    kinds, calls = [], {}
    for piece in pieces:
        kinds += [delta.kind for delta in stream.feed(piece)]
        for call in stream.chunk().get("tool_calls", []):
            for field, text in call["function"].items():
                calls[call["index"], field] = calls.get((call["index"], field), "") + text
    assert (kinds.count(DeltaKind.TOOL_END), kinds[-1]) == (1, DeltaKind.TOOL_END)
    assert calls == {(0, "name"): "weather", (0, "arguments"): '{"city": "Oslo"}'}
    stream.finish()
    assert stream.chunk() == {}
    assert DeltaKind(99) is DeltaKind.OTHER


def test_pieces_that_are_waited_for(params, pieces):
    async def written():
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    async def read():
        return [delta async for delta in params.stream().adeltas(written())]

    assert asyncio.run(read()) == list(params.stream().deltas(pieces))


def test_a_draft_is_taken_back(params):
    stream = params.stream()
    with pytest.raises(chatparse.InvalidArgumentError, match="checkpoint"):
        stream.rollback(0)
    stream.feed("I will")
    stream.checkpoint()
    stream.feed(" look." + CALL)
    withdrawn = [(delta.kind, delta.text) for delta in stream.rollback(len("I will look"))]
    assert withdrawn == [(DeltaKind.CALL_WITHDRAWN, "weather"), (DeltaKind.CONTENT_WITHDRAWN, ".")]
    with pytest.raises(chatparse.InvalidArgumentError):
        stream.rollback(-1)
    before = stream.work
    assert before > 0
    stream.feed(" up.")
    assert stream.work > before
    stream.set_budget(0, 0)
    list(stream.deltas([CALL]))
    message = stream.message()
    assert (message.outcome, message.tool_calls) == (Outcome.RECOVERED, ())
    assert message.content == "I will look up." + CALL
    assert [found.kind for found in message.diagnostics] == [DiagnosticKind.LIMIT]


def test_a_clone_goes_its_own_way(params):
    stream = params.stream()
    stream.feed("One")
    other = stream.clone()
    assert type(other) is Stream
    stream.feed(" more")
    other.feed(" less")
    assert (stream.message().content, other.message().content) == ("One more", "One less")


def test_a_parser_as_text(params, pieces):
    parser = params.parser()
    text = parser.text
    again = Parser(text)
    assert again.text == text
    stream = again.stream()
    list(stream.deltas(pieces))
    assert stream.message() == again.parse("".join(pieces), strict=True)
    assert pickle.loads(pickle.dumps(parser)).parse("".join(pieces)) == stream.message()
    with pytest.raises(chatparse.Error):
        Parser("{}")


def test_bytes_cut_inside_characters(params):
    output = "Blåbær \N{JAPANESE OGRE}\0!"
    stream = params.stream()
    deltas = list(stream.deltas(bytes([byte]) for byte in output.encode()))
    assert "".join(delta.text for delta in deltas) == output
    assert stream.message().content == output
    stream.reset()
    assert stream.feed(b"again")[0].text == "again"


@pytest.mark.parametrize("kind", [str, str.encode, lambda text: bytearray(text.encode()), lambda text: memoryview(text.encode())])
def test_kinds_of_text(params, pieces, kind):
    output = "".join(pieces)
    stream = params.stream()
    stream.feed(kind(output))
    stream.finish()
    assert stream.message() == params.parse(output) == params.parse(kind(output))
    for wrong in (None, 7, [65], "\ud800"):
        with pytest.raises((TypeError, UnicodeEncodeError)):
            params.stream().feed(wrong)
        with pytest.raises((TypeError, UnicodeEncodeError)):
            params.parse(wrong)


def test_cut_off(params, pieces):
    stream = params.stream()
    for piece in pieces[:-1]:
        stream.feed(piece)
    stream.finish(partial=True)
    message = stream.message()
    assert message.outcome == Outcome.PARTIAL
    assert message.tool_calls[0].arguments.startswith('{"city"') and not message.tool_calls[0].complete


def test_strict(params):
    stream = params.stream()
    stream.feed("<tool_call>no")
    with pytest.raises(chatparse.ParseError):
        stream.finish(strict=True)
    # Nothing is lost.
    assert stream.message().content == "<tool_call>no"


def test_marked_output():
    params = Template(THINKING).params(HI)
    stream = params.stream()
    with pytest.raises(chatparse.InvalidArgumentError):
        stream.feed_marked("x", [])
    stream.set_special_tokens(["<think>", "</think>"])
    output = "<think>Quote </think>, then go on.</think>Done."
    assert params.parse(output).reasoning == "Quote "
    end = output.rindex("</think>")
    deltas = stream.feed_marked(output, [(0, 7), [end, end + 8]]) + stream.finish()
    message = stream.message()
    assert (message.reasoning, message.content) == ("Quote </think>, then go on.", "Done.")
    assert "".join(delta.text for delta in deltas) == message.reasoning + message.content
    for wrong in ([(3, 1)], [(0, 99)], [(-1, 2)], [(0,)], [7], 7):
        with pytest.raises((ValueError, TypeError)):
            again = params.stream()
            again.set_special_tokens(("<think>",))
            again.feed_marked("<think>", wrong)
    with pytest.raises(TypeError):
        params.stream().set_special_tokens([b"<think>"])
    with pytest.raises(chatparse.InvalidArgumentError):
        params.stream().set_special_tokens([""])


def test_closed(template):
    params = template.params(REQUEST)
    with params.stream() as stream:
        del params, template
        assert stream.feed("Hi")[0].text == "Hi"
    stream.close()
    for use in (
        lambda: stream.feed(""), lambda: stream.feed_marked("", []), stream.finish, stream.message, stream.chunk, stream.reset, stream.checkpoint,
        stream.clone, lambda: stream.rollback(0), lambda: stream.set_budget(0, 0), lambda: stream.set_special_tokens(()), lambda: stream.work,
        lambda: stream.outcome,
    ):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_closed_by_its_own_spans(params):
    stream = params.stream()
    stream.set_special_tokens(["<x>"])

    def closes():
        stream.close()
        yield (0, 3)

    class Lies(list):
        def __len__(self):
            return 2**60 + 1

    with pytest.raises(chatparse.InvalidArgumentError):
        stream.feed_marked("<x>", closes())
    other = params.stream()
    other.set_special_tokens(["<x>"])
    # Python may believe it, and find no room; the stream goes on in any case.
    with contextlib.suppress(MemoryError):
        other.feed_marked("", Lies([(0, 0)]))
    other.feed("Hi")
    assert other.message().content == "Hi"


def test_without_a_maker():
    """What the classes' own functions would have made is missing: an error, and no crash."""
    for made in (object.__new__(Params), object.__new__(Template), object.__new__(Parser)):
        for name in dir(type(made)):
            if not name.startswith("_"):
                try:
                    value = getattr(made, name)
                    if callable(value):
                        value()
                except (chatparse.Error, TypeError, ValueError):
                    pass
    with pytest.raises(chatparse.InvalidArgumentError):
        object.__new__(Params).stream()


def test_threads_share_a_template(template, pieces):
    messages = []

    def answer():
        stream = template.params(REQUEST).stream()
        list(stream.deltas(pieces))
        messages.append(stream.message())

    run(answer)
    assert messages == messages[:1] * 8


def test_threads_meet_in_a_stream(params):
    """One call comes after another: nothing is lost, in whatever order."""
    stream = params.stream()

    def feed():
        for _ in range(500):
            stream.feed("x")

    run(feed)
    assert stream.message().content == "x" * 8 * 500


def run(work):
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident() -> int:
    """Bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not tell how much memory is in use")
def test_memory_comes_back(template, params):
    def use():
        stream = params.stream()
        stream.set_special_tokens(["<tool_call>"])
        stream.feed("x" * 100_000)
        stream.feed_marked(bytearray(100_000), [(0, 1)])
        stream.message().to_dict()
        params.parse(memoryview(b"y" * 100_000))
        Parser(params.parser().text)
        with pytest.raises(chatparse.Error):
            template.params({"messages": "x" * 100_000})

    for _ in range(50):
        use()
    gc.collect()
    before = resident()
    for _ in range(300):
        use()
    # Any of these, if it leaked, would take 30 MB.
    assert resident() - before < 20_000_000


def test_what_is_immutable_is_its_own_copy_and_says_what_to_send(params: Params) -> None:
    message = params.parse("Hi")
    for each, other in ((message, "to_dict"), (params, "parser")):
        assert copy.copy(each) is each and copy.deepcopy([each])[0] is each
        with pytest.raises(TypeError, match=other):
            pickle.dumps(each)
    assert pickle.loads(pickle.dumps(params.parser())).parse("Hi") == message


def test_where_an_output_stands_and_what_closes_it():
    parameters = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    request = {"messages": [{"role": "user", "content": "Rain?"}], "tools": tools}
    stream = chatparse.Template.builtin("json-call").params(request).stream()
    stream.feed("<think>\nWhere is it")
    assert stream.state()["part"] == "reasoning" and stream.schema() is None
    closing = stream.closing()
    assert closing["complete"] and closing["text"].strip() == "</think>"
    stream.feed(closing["text"] + '<tool_call>\n{"name": "weather", "arguments": {"city": "Os')
    state = stream.state()
    assert (state["part"], state["tool"], state["pointer"], state["in_string"]) == ("value", "weather", "/city", True)
    assert stream.schema() == {"type": "string"}
    closing = stream.closing()
    assert closing["missing"] == [{"tool": "weather", "pointer": "/days", "begun": False}] and "/days" in closing["reason"]
    assert "days" in stream.grammar(Dialect.LARK).text
    stream.feed(closing["text"] + "2")
    assert stream.closing() == {"text": "}}\n</tool_call>", "complete": True, "missing": [], "reason": ""}
