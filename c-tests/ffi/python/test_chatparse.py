"""What the example does not show: errors, objects that are closed, bytes cut anywhere, and that memory comes back."""

import threading
import unittest

import chatparse
from chatparse import DeltaKind, Outcome, Params, Parser, Status, Template
from example import PIECES, REQUEST, SOURCE

HI = {"messages": [{"role": "user", "content": "Hi"}]}


def resident() -> int:
    """Bytes of memory in use; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096
    except OSError:
        return 0


class Chatparse(unittest.TestCase):
    def setUp(self):
        self.template = Template(SOURCE, eos="<|end|>")
        self.params = self.template.params(REQUEST)

    def test_message_with_a_call(self):
        stream = self.params.stream()
        deltas = list(stream.deltas(PIECES))
        message = stream.message()
        self.assertEqual(message.outcome, Outcome.COMPLETE)
        (call,) = message.tool_calls
        self.assertEqual((call.name, call.arguments), ("weather", '{"city": "Oslo"}'))
        arguments = "".join(delta.text for delta in deltas if delta.kind == DeltaKind.TOOL_ARGUMENTS)
        self.assertEqual(arguments, call.arguments)
        self.assertEqual(self.params.parse("".join(PIECES)), message)

    def test_next_turn(self):
        output = "".join(PIECES)
        for learnt in (False, True):
            following = self.params.next(output, [{"role": "tool", "content": "Rain."}], learnt=learnt)
            self.assertEqual((following.kept, following.rewrite), (len((self.params.prompt + output).encode()), ""))
            self.assertEqual(following.prompt, self.params.prompt + output + following.append)
            self.assertIn("Rain.", following.append)
            self.assertEqual(following.parse("It rains.").content, "It rains.")
        with self.assertRaises(chatparse.Error):
            self.params.next(output, [7])

    def test_proof(self):
        self.assertEqual(self.template.reader, "layout")
        proof = self.template.proof()
        self.assertTrue(proof["cases"] == proof["read_back"] > 20 and not proof["failures"], proof)
        family = Template.builtin("gpt-oss")
        for options, reader in (({}, "gpt-oss"), ({"prove": False}, "gpt-oss"), ({"learn_only": True}, "turn")):
            self.assertEqual(Template(family.source, **options).reader, reader)
        self.assertTrue(Template(family.source, learn_only=True, prove=False).proof()["failures"])

    def test_calls_end_and_chunks_say_the_same(self):
        stream = self.params.stream()
        kinds, calls = [], {}
        for piece in PIECES:
            kinds += [delta.kind for delta in stream.feed(piece)]
            for call in stream.chunk().get("tool_calls", []):
                for field, text in call["function"].items():
                    calls[call["index"], field] = calls.get((call["index"], field), "") + text
        self.assertEqual((kinds.count(DeltaKind.TOOL_END), kinds[-1]), (1, DeltaKind.TOOL_END))
        self.assertEqual(calls, {(0, "name"): "weather", (0, "arguments"): '{"city": "Oslo"}'})
        stream.finish()
        self.assertEqual(stream.chunk(), {})
        self.assertEqual(DeltaKind(99), DeltaKind.OTHER)

    def test_a_draft_is_taken_back(self):
        stream = self.params.stream()
        with self.assertRaises(chatparse.Error):
            stream.rollback(0)
        stream.feed("I will")
        stream.checkpoint()
        call = '<tool_call>{"name": "weather", "arguments": {}}</tool_call>'
        stream.feed(" look." + call)
        withdrawn = [(delta.kind, delta.text) for delta in stream.rollback(len("I will look"))]
        self.assertEqual(withdrawn, [(DeltaKind.CALL_WITHDRAWN, "weather"), (DeltaKind.CONTENT_WITHDRAWN, ".")])
        before = stream.work
        self.assertGreater(before, 0)
        stream.feed(" up.")
        self.assertGreater(stream.work, before)
        stream.set_budget(0, 0)
        list(stream.deltas([call]))
        message = stream.message()
        self.assertEqual((message.outcome, message.tool_calls), (Outcome.RECOVERED, ()))
        self.assertEqual(message.content, "I will look up." + call)

    def test_a_parser_as_text(self):
        with self.params.parser() as parser:
            text = parser.text
        self.params.close()
        again = Parser(text)
        self.assertEqual(again.text, text)
        stream = again.stream()
        list(stream.deltas(PIECES))
        self.assertEqual(stream.message(), again.parse("".join(PIECES), strict=True))
        with self.assertRaises(chatparse.Error):
            Parser("{}")

    def test_bytes_cut_inside_characters(self):
        output = "Blåbær \N{JAPANESE OGRE}\0!"
        stream = self.params.stream()
        deltas = list(stream.deltas(bytes([byte]) for byte in output.encode()))
        self.assertEqual("".join(delta.text for delta in deltas), output)
        self.assertEqual(stream.message().content, output)
        stream.reset()
        self.assertEqual(stream.feed(b"again")[0].text, "again")

    def test_cut_off(self):
        stream = self.params.stream()
        for piece in PIECES[:-1]:
            stream.feed(piece)
        stream.finish(partial=True)
        message = stream.message()
        self.assertEqual(message.outcome, Outcome.PARTIAL)
        self.assertTrue(message.tool_calls[0].arguments.startswith('{"city"'))

    def test_errors(self):
        cases = [
            (Status.TEMPLATE, "line", lambda: Template("{% for %}")),
            (Status.INVALID_ARGUMENT, "chatml", lambda: Template.builtin("none such")),
            (Status.INVALID_ARGUMENT, "messages", lambda: self.template.params({})),
            (Status.PARSE, "", lambda: self.params.parse("<tool_call>no", strict=True)),
        ]
        for status, words, call in cases:
            with self.assertRaises(chatparse.Error) as caught:
                call()
            self.assertEqual(caught.exception.status, status)
            self.assertIn(words, str(caught.exception))
        self.assertEqual((Status(250), Status(1000)), (Status.TEMPLATE, Status.INTERNAL))

    def test_closed(self):
        self.template.close()
        self.template.close()
        with self.assertRaises(ValueError):
            self.template.params(HI)
        # None needs another.
        with self.params.stream() as stream:
            self.params.close()
            self.assertEqual(stream.feed("Hi")[0].text, "Hi")

    def test_views_of_the_whole(self):
        template = Template.builtin("chatml")
        self.assertIn("supports_tools", template.capabilities())
        self.assertIn("messages", template.source)
        params = Params(template, HI)
        self.assertEqual(params.to_dict()["prompt"], params.prompt)
        self.assertTrue(params.prompt.endswith(params.generation_prompt))
        self.assertRegex(chatparse.version(), r"^0\.1\.")

    def test_threads_share_a_template(self):
        messages = []

        def answer():
            stream = self.template.params(REQUEST).stream()
            list(stream.deltas(PIECES))
            messages.append(stream.message())

        threads = [threading.Thread(target=answer) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(messages, messages[:1] * 8)

    def test_memory_comes_back(self):
        def use():
            stream = self.params.stream()
            stream.feed("x" * 100_000)
            stream.message()
            with self.assertRaises(chatparse.Error):
                self.template.params({"messages": "x" * 100_000})

        for _ in range(50):
            use()
        before = resident()
        for _ in range(500):
            use()
        # Any of the three, if it leaked, would take 50 MB.
        self.assertLess(resident() - before, 20_000_000)


if __name__ == "__main__":
    unittest.main()
