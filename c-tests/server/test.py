"""The example server as the clients of OpenAI and Anthropic see it: test.py SERVER [OTHER], where the other one is that in C++. Each answer is
valid by the client's own models, the three APIs, streamed or not, say the same, and what they sent is in the prompts. A request says itself what the
model is to write, after "Type: ", in the markup of its template."""

import json
import sys
import unittest

import anthropic
import openai
import pydantic

import markup
import prompts

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
EMPTY = {"type": "object", "properties": {}}
TOOLS = {"weather": "The weather of a city", "time": "The time in a city"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEMPLATES = ["json-call", "qwen3-coder", "gpt-oss", "deepseek-v3.2"]

server, other = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""


class Place(pydantic.BaseModel):
    city: str


class Said:
    """An answer, in words that the APIs share."""

    def __init__(self, text, reasoning, calls, why, usage, back):
        self.text, self.reasoning, self.why, self.usage = text, reasoning, why, usage
        # Templates differ in the white space of JSON.
        self.calls = [(id, name, arguments.replace('": ', '":')) for id, name, arguments in calls]
        self.back = back  # what the client sends back of it

    def same(self):
        return (self.text, self.reasoning, [call[1:] for call in self.calls], self.why, self.usage)


class Chat:
    """OpenAI's chat completions."""

    def __init__(self, url):
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0, _strict_response_validation=True)

    user = staticmethod(lambda text: [{"role": "user", "content": text}])

    def image(self, text):
        url = {"url": f"data:image/png;base64,{PIXEL}"}
        return [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": url}]}]

    def results(self, results):
        return [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results]

    def seen(self, id, text):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        return [{"role": "tool", "tool_call_id": id, "content": [{"type": "text", "text": text}, image]}]

    def ask(self, said, stream, tools=False, limit=None, forced=None, schema=None, stop=None, parallel=True):
        fields = {}
        if tools:
            function = lambda name: {"name": name, "description": TOOLS[name], "parameters": SCHEMA}
            fields["tools"] = [{"type": "function", "function": function(name)} for name in TOOLS]
            fields["parallel_tool_calls"] = parallel
        if limit:
            fields["max_completion_tokens"] = limit
        if forced:
            fields["tool_choice"] = {"type": "function", "function": {"name": forced}}
        if schema:
            fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema, "strict": True}}
        if stop:
            fields["stop"] = stop
        create = self.client.chat.completions.create
        if not stream:
            body = create(model="m", messages=said, **fields)
            choice, usage = body.choices[0], body.usage
            message, why = choice.message, choice.finish_reason
        else:
            message, why, usage = self.stream(create(
                model="m", messages=said, stream=True, stream_options={"include_usage": True}, **fields))
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        reasoning = getattr(message, "reasoning_content", None) or ""
        why = {"stop": "end", "tool_calls": "calls", "length": "cut"}[why]
        back = message.model_dump(exclude_none=True) | {"content": message.content or ""}
        usage = (usage.prompt_tokens, usage.completion_tokens)
        return Said(message.content or "", reasoning, calls, why, usage, [back])

    def stream(self, chunks):
        texts, calls, why, usage, ids = {"content": "", "reasoning_content": ""}, [], None, None, set()
        for chunk in chunks:
            ids.add(chunk.id)
            usage = usage or chunk.usage
            for choice in chunk.choices:
                why = why or choice.finish_reason
                for name in texts:
                    texts[name] += getattr(choice.delta, name, None) or ""
                for part in choice.delta.tool_calls or []:
                    if part.index == len(calls):
                        calls.append({"id": part.id, "type": "function", "function": {"name": part.function.name, "arguments": ""}})
                    else:
                        assert part.id is None and part.function.name is None, part
                    calls[part.index]["function"]["arguments"] += part.function.arguments
        assert len(ids) == 1, ids
        message = {"role": "assistant", **texts, "tool_calls": calls or None}
        return openai.types.chat.ChatCompletionMessage.model_validate(message), why, usage


class Responses:
    """OpenAI's Responses."""

    def __init__(self, url):
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0, _strict_response_validation=True)

    user = staticmethod(lambda text: [{"role": "user", "content": text}])

    def image(self, text):
        image = {"type": "input_image", "detail": "low", "image_url": f"data:image/png;base64,{PIXEL}"}
        return [{"role": "user", "content": [{"type": "input_text", "text": text}, image]}]

    def results(self, results):
        return [{"type": "function_call_output", "call_id": id, "output": text} for id, text in results]

    def seen(self, id, text):
        image = {"type": "input_image", "detail": "low", "image_url": f"data:image/png;base64,{PIXEL}"}
        return [{"type": "function_call_output", "call_id": id, "output": [{"type": "input_text", "text": text}, image]}]

    def ask(self, said, stream, tools=False, limit=None, forced=None, schema=None, stop=None, parallel=True):
        fields = {}
        if tools:
            function = lambda name: {"name": name, "description": TOOLS[name], "parameters": SCHEMA, "strict": True}
            fields["tools"] = [{"type": "function", **function(name)} for name in TOOLS]
            fields["parallel_tool_calls"] = parallel
        if limit:
            fields["max_output_tokens"] = limit
        if forced:
            fields["tool_choice"] = {"type": "function", "name": forced}
        if schema:
            fields["text"] = {"format": {"type": "json_schema", "name": "place", "schema": schema, "strict": True}}
        if stream:
            body = self.stream(self.client.responses.create(model="m", input=said, stream=True, **fields))
        else:
            body = self.client.responses.create(model="m", input=said, **fields)
        items = lambda kind: [item for item in body.output if item.type == kind]
        reasoning = "".join(part.text for item in items("reasoning") for part in item.content)
        calls = [(call.call_id, call.name, call.arguments) for call in items("function_call")]
        details = body.incomplete_details
        why = "cut" if details and details.reason == "max_output_tokens" else "calls" if calls else "end"
        assert body.status == ("incomplete" if why == "cut" else "completed"), body.status
        back = [item.model_dump(exclude_none=True) for item in body.output]
        usage = (body.usage.input_tokens, body.usage.output_tokens)
        return Said(body.output_text, reasoning, calls, why, usage, back)

    def stream(self, events):
        texts, done, last = {}, {}, None
        for number, event in enumerate(events):
            assert event.sequence_number == number
            if event.type.endswith(".delta") and "summary" not in event.type:
                texts[event.output_index] = texts.get(event.output_index, "") + event.delta
            if event.type == "response.output_item.done":
                done[event.output_index] = event.item
                text = event.item.arguments if event.item.type == "function_call" else event.item.content[0].text
                assert text == texts.get(event.output_index, ""), event
            last = event
        assert last.type in ("response.completed", "response.incomplete"), last.type
        assert last.response.output == [done[index] for index in range(len(done))]
        return last.response


class Messages:
    """Anthropic's Messages."""

    def __init__(self, url):
        self.client = anthropic.Anthropic(base_url=url, api_key="-", max_retries=0, _strict_response_validation=True)

    user = staticmethod(lambda text: [{"role": "user", "content": text}])

    def image(self, text):
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        return [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": text}]}]

    def results(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]
        return [{"role": "user", "content": blocks}]

    def seen(self, id, text):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
        return self.results([(id, [{"type": "text", "text": text}, image])])

    def ask(self, said, stream, tools=False, limit=None, forced=None, schema=None, stop=None, parallel=True):
        fields = {"max_tokens": limit or 4096}
        if tools:
            fields["tools"] = [{"name": name, "description": TOOLS[name], "input_schema": SCHEMA} for name in TOOLS]
            fields["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": not parallel}
        if forced:
            fields["tool_choice"] = {"type": "tool", "name": forced}
        if schema:
            fields["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if stop:
            fields["stop_sequences"] = stop
        if stream:
            with self.client.messages.stream(model="m", messages=said, **fields) as events:
                body = events.get_final_message()
        else:
            body = self.client.messages.create(model="m", messages=said, **fields)
        blocks = lambda kind: [block for block in body.content if block.type == kind]
        text = "".join(block.text for block in blocks("text"))
        reasoning = "".join(block.thinking for block in blocks("thinking"))
        calls = [(call.id, call.name, json.dumps(call.input)) for call in blocks("tool_use")]
        why = {"end_turn": "end", "tool_use": "calls", "max_tokens": "cut", "stop_sequence": "end"}[body.stop_reason]
        assert (body.stop_sequence is not None) == (body.stop_reason == "stop_sequence")
        back = [{"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in body.content]}]
        usage = (body.usage.input_tokens, body.usage.output_tokens)
        return Said(text, reasoning, calls, why, usage, back)


class Answers:
    """What holds with each template."""

    template = ""

    @classmethod
    def setUpClass(cls):
        cls.server = prompts.Server(server, cls.template)
        cls.write = staticmethod(markup.BUILTIN[cls.template])
        cls.apis = [Chat(cls.server.url), Responses(cls.server.url), Messages(cls.server.url)]

    @classmethod
    def tearDownClass(cls):
        report = cls.server.report()
        cls.server.stop()
        assert not report.lost, report.lost
        assert not report.lost_of_tools, report.lost_of_tools
        assert not report.breaks, report.breaks
        assert report.steps and not report.unreasoned
        assert report.media[0] == report.media[1] > 0, report.media

    def typed(self, *steps):
        """What makes the model write these turns: reasoning, text and calls."""
        return "Type: " + "///".join(self.write(*step) for step in steps)

    def call(self, name, arguments):
        return self.typed(("Reason-1", "", [(name, arguments)]), ("Reason-2", "The end.", []))

    def everywhere(self, ask):
        """What each API answers, streamed and not: the same, but for ids."""
        answers = [(api, ask(api, stream)) for api in self.apis for stream in (False, True)]
        for api, said in answers:
            with self.subTest(api=type(api).__name__):
                self.assertEqual(said.same()[:4], answers[0][1].same()[:4])
                self.assertGreater(min(said.usage), 0)
        return answers[0][1]

    def test_chat(self):
        typed = self.typed(("Reason-1", "Grüße, 😀!", []))
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream))
        self.assertEqual((said.text, said.reasoning, said.calls, said.why), ("Grüße, 😀!", "Reason-1", [], "end"))

    def test_a_tool(self):
        typed = self.typed(("Reason-1", "I look.", [("weather", {"city": "Oslo"})]))
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, tools=True))
        self.assertEqual((said.text, said.reasoning, said.why), ("I look.", "Reason-1", "calls"))
        self.assertEqual([part[1:] for part in said.calls], [("weather", '{"city":"Oslo"}')])

    def test_a_loop_of_parallel_calls(self):
        two = [("weather", {"city": "Oslo"}), ("time", {"city": "Rome"})]
        typed = self.typed(("Reason-1", "", two), ("Reason-2", "Again.", two), ("Reason-3", "The end.", []))
        seen = set()

        def ask(api, stream):
            said = api.user(typed)
            for number in range(2):
                answer = api.ask(said, stream, tools=True)
                self.assertEqual([name for _, name, _ in answer.calls], ["weather", "time"])
                # No id is like another, of this answer or of those before.
                for id, _, _ in answer.calls:
                    self.assertNotIn(id, seen)
                    seen.add(id)
                results = [(id, f"{name} is {number} on {type(api).__name__}") for id, name, _ in answer.calls]
                # They may come in any order.
                said = said + answer.back + api.results(results[::-1] if number else results)
            last = api.ask(said, stream, tools=True)
            # And with a new turn, too.
            said = said + last.back + api.user(self.typed(("Reason-4", "Good.", [])))
            self.assertEqual(api.ask(said, stream, tools=True).text, "Good.")
            return last

        self.assertEqual(self.everywhere(ask).text, "The end.")
        self.assertEqual(len(seen), 24)

    def test_one_call_at_a_time(self):
        typed = self.call("time", {"city": "Rome"})
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, tools=True, parallel=False))
        self.assertEqual(len(said.calls), 1)

    def test_a_forced_tool(self):
        typed = self.call("time", {"city": "Rome"})
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, tools=True, forced="time"))
        self.assertEqual([name for _, name, _ in said.calls], ["time"])

    def test_a_schema(self):
        typed = self.typed(("Reason-1", '{"city": "Oslo"}', []))
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, schema=SCHEMA))
        self.assertEqual(json.loads(said.text), {"city": "Oslo"})

    def test_a_schema_after_a_tool(self):
        typed = self.typed(("Reason-1", "", [("weather", {"city": "Oslo"})]), ("Reason-2", '{"city": "Oslo"}', []))

        def ask(api, stream):
            first = api.ask(api.user(typed), stream, tools=True, schema=SCHEMA)
            said = api.user(typed) + first.back + api.results([(first.calls[0][0], "Rain")])
            return api.ask(said, stream, tools=True, schema=SCHEMA)

        said = self.everywhere(ask)
        self.assertEqual((json.loads(said.text), said.why), ({"city": "Oslo"}, "end"))

    def test_a_schema_of_a_class(self):
        chat, responses, messages = (api.client for api in self.apis)
        said = [{"role": "user", "content": self.typed(("Reason-1", '{"city": "Oslo"}', []))}]
        parsed = chat.chat.completions.parse(model="m", messages=said, response_format=Place)
        self.assertEqual(parsed.choices[0].message.parsed, Place(city="Oslo"))
        parsed = responses.responses.parse(model="m", input=said, text_format=Place)
        self.assertEqual(parsed.output_parsed, Place(city="Oslo"))
        parsed = messages.messages.parse(model="m", max_tokens=99, messages=said, output_format=Place)
        self.assertEqual(parsed.parsed_output, Place(city="Oslo"))

    def test_an_image(self):
        typed = self.typed(("Reason-1", "A dot.", []))
        said = self.everywhere(lambda api, stream: api.ask(api.image(typed), stream))
        self.assertEqual(said.text, "A dot.")

    def test_an_image_in_a_result(self):
        typed = self.call("weather", {"city": "Oslo"})

        def ask(api, stream):
            first = api.ask(api.user(typed), stream, tools=True)
            return api.ask(api.user(typed) + first.back + api.seen(first.calls[0][0], "Clouds"), stream, tools=True)

        self.assertEqual(self.everywhere(ask).text, "The end.")

    def limit(self, step, after):
        """Tokens to a few bytes after this text, of a step that is typed."""
        output = self.write(*step)
        return len(output[:output.index(after) + len(after)].encode()) // 4 + 2

    def test_text_that_is_cut_off(self):
        step = ("Reason-1", "First 1234567890", [])
        said = self.everywhere(lambda api, stream: api.ask(api.user(self.typed(step)), stream, limit=self.limit(step, "First")))
        self.assertEqual(said.why, "cut")
        self.assertTrue("First 1234567890".startswith(said.text) and len(said.text) < 14, said.text)

    def test_a_call_that_is_cut_off(self):
        city = "Llanfairpwllgwyngyll"
        step = ("Reason-1", "", [("weather", {"city": city})])
        for api in self.apis:
            for stream in (False, True):
                with self.subTest(api=type(api).__name__, stream=stream):
                    said = api.ask(api.user(self.typed(step)), stream, tools=True, limit=self.limit(step, "Llan"))
                    self.assertEqual((said.why, said.calls[0][1]), ("cut", "weather"))
                    arguments = said.calls[0][2]
                    self.assertTrue(('{"city":"' + city).startswith(arguments.removesuffix('"}')) and "Llan" in arguments, arguments)
                    # An input is closed where it ends.
                    self.assertEqual(arguments.endswith('"}'), isinstance(api, Messages))

    def test_a_stop_sequence(self):
        chat, _, messages = self.apis
        for stream in (False, True):
            for api in (chat, messages):
                said = api.ask(api.user(self.typed(("Reason-1 ###", "One. ### Two.", []))), stream, stop=["###"])
                self.assertEqual((said.text, said.reasoning, said.why), ("One. ", "Reason-1 ###", "end"))
                # A call may have the text.
                said = api.ask(api.user(self.call("weather", {"city": "###"})), stream, stop=["###"], tools=True)
                self.assertEqual((said.calls[0][2], said.why), ('{"city":"###"}', "calls"))

    def test_choices(self):
        create = self.apis[0].client.chat.completions.create
        said = [{"role": "user", "content": self.typed(("Reason-1", "Two.", [("time", {"city": "Rome"})]))}]
        tools = [{"type": "function", "function": {"name": "time", "description": TOOLS["time"], "parameters": SCHEMA}}]
        body = create(model="m", messages=said, tools=tools, n=3)
        self.assertEqual([choice.index for choice in body.choices], [0, 1, 2])
        self.assertEqual({choice.message.content for choice in body.choices}, {"Two."})
        ids = {choice.message.tool_calls[0].id for choice in body.choices}
        chunks = list(create(model="m", messages=said, tools=tools, n=3, stream=True, stream_options={"include_usage": True}))
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        choices = [choice for chunk in chunks for choice in chunk.choices]
        self.assertEqual(sorted(choice.index for choice in choices if choice.finish_reason), [0, 1, 2])
        ids |= {part.id for choice in choices for part in choice.delta.tool_calls or [] if part.id}
        self.assertEqual(len(ids), 6)
        self.assertEqual([chunk.usage.completion_tokens for chunk in chunks if chunk.usage], [body.usage.completion_tokens])

    def test_log_probabilities(self):
        chat, responses, _ = (api.client for api in self.apis)
        typed = self.typed(("Reason-1", "Some words, and more.", []))
        said = [{"role": "user", "content": typed}]
        fields = {"model": "m", "messages": said, "logprobs": True, "top_logprobs": 2}
        tokens = chat.chat.completions.create(**fields).choices[0].logprobs.content
        chunks = chat.chat.completions.create(**fields, stream=True)
        streamed = [token for chunk in chunks for choice in chunk.choices if choice.logprobs for token in choice.logprobs.content]
        item = responses.responses.create(model="m", input=said, include=["message.output_text.logprobs"], top_logprobs=2).output[-1]
        for tokens in (tokens, streamed, item.content[0].logprobs):
            # A token may be shared with the markup.
            self.assertIn("Some words, and more.", "".join(token.token for token in tokens))
            self.assertNotIn("Reason", "".join(token.token for token in tokens))

    def test_the_clients_own_streams(self):
        chat, responses, _ = (api.client for api in self.apis)
        said = [{"role": "user", "content": self.typed(("Reason-1", "I look.", [("weather", {"city": "Oslo"})]))}]
        functions = [{"name": name, "description": TOOLS[name], "parameters": SCHEMA, "strict": True} for name in TOOLS]
        tools = [{"type": "function", "function": function} for function in functions]
        with chat.chat.completions.stream(model="m", messages=said, tools=tools) as events:
            kinds = {event.type for event in events}
            message = events.get_final_completion().choices[0].message
        self.assertTrue({"content.delta", "content.done", "tool_calls.function.arguments.done"} <= kinds, kinds)
        self.assertEqual((message.content, json.loads(message.tool_calls[0].function.arguments)), ("I look.", {"city": "Oslo"}))
        tools = [{"type": "function", **function} for function in functions]
        with responses.responses.stream(model="m", input=said, tools=tools) as events:
            list(events)
            body = events.get_final_response()
        self.assertEqual((body.output_text, json.loads(body.output[-1].arguments)), ("I look.", {"city": "Oslo"}))

    def test_thinking_that_is_signed(self):
        messages = self.apis[2].client.messages
        typed = self.call("weather", {"city": "Oslo"})
        fields = {"model": "m", "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "weather", "description": TOOLS["weather"], "input_schema": SCHEMA}]}
        said = [{"role": "user", "content": typed}]
        with messages.stream(messages=said, **fields) as events:
            kinds = [event.type for event in events]
            streamed = events.get_final_message()
        self.assertIn("signature", kinds)
        for body in (messages.create(messages=said, **fields), streamed):
            block = body.content[0]
            self.assertEqual((block.type, block.thinking), ("thinking", "Reason-1"))
            self.assertTrue(block.signature)
            back = [{"role": "assistant", "content": body.content}, {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": body.content[-1].id, "content": "Rain"}]}]
            self.assertEqual(messages.create(messages=said + back, **fields).content[0].thinking, "Reason-2")

    def test_thinking_that_is_sealed(self):
        responses = self.apis[1].client.responses
        typed = self.call("weather", {"city": "Oslo"})
        fields = {"model": "m", "store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
            "tools": [{"type": "function", "name": "weather", "description": TOOLS["weather"], "parameters": SCHEMA, "strict": True}]}
        said = [{"role": "user", "content": typed}]
        with responses.stream(input=said, **fields) as events:
            kinds = {event.type for event in events}
            streamed = events.get_final_response()
        self.assertTrue({"response.reasoning_summary_text.delta", "response.reasoning_summary_part.done"} <= kinds, kinds)
        for body in (responses.create(input=said, **fields), streamed):
            item, call = body.output
            self.assertEqual("".join(part.text for part in item.summary), "Reason-1")
            self.assertTrue(item.encrypted_content)
            # Some clients send no more of it.
            back = [{"type": "reasoning", "summary": [], "encrypted_content": item.encrypted_content}, call.model_dump(exclude_none=True),
                {"type": "function_call_output", "call_id": call.call_id, "output": "Rain"}]
            self.assertEqual(responses.create(input=said + back, **fields).output_text, "The end.")

    def test_a_refusal_in_the_history(self):
        chat, responses, _ = self.apis
        typed = self.typed(("Reason-1", "Well.", []))
        asked = {"role": "user", "content": "Something bad"}
        refusal = {"type": "refusal", "refusal": "That I refuse."}
        for content in ({"content": None, "refusal": "That I refuse."}, {"content": [refusal]}):
            self.assertEqual(chat.ask([asked, {"role": "assistant", **content}, *chat.user(typed)], False).text, "Well.")
        item = {"type": "message", "role": "assistant", "id": "a", "status": "completed", "content": [refusal]}
        self.assertEqual(responses.ask([asked, item, *responses.user(typed)], False).text, "Well.")

    def test_a_custom_tool(self):
        chat, responses, _ = (api.client for api in self.apis)
        said = [{"role": "user", "content": self.call("shell", {"input": "ls -l"})}]
        body = chat.chat.completions.create(model="m", messages=said, tools=[{"type": "custom", "custom": {"name": "shell"}}])
        call = body.choices[0].message.tool_calls[0]
        self.assertEqual((call.type, call.custom.name, call.custom.input), ("custom", "shell", "ls -l"))
        tools = [{"type": "custom", "name": "shell"}]
        body = responses.responses.create(model="m", input=said, tools=tools)
        call = body.output[-1]
        self.assertEqual((call.type, call.name, call.input), ("custom_tool_call", "shell", "ls -l"))
        back = [item.model_dump(exclude_none=True) for item in body.output]
        back.append({"type": "custom_tool_call_output", "call_id": call.call_id, "output": "a"})
        kinds = [event.type for event in responses.responses.create(model="m", input=said, tools=tools, stream=True)]
        self.assertIn("response.custom_tool_call_input.done", kinds)
        body = responses.responses.create(model="m", input=said + back, tools=tools)
        self.assertEqual(body.output_text, "The end.")

    def test_a_tool_of_a_namespace(self):
        chat, responses, messages = (api.client for api in self.apis)
        function = {"type": "function", "function": {"name": "look", "namespace": "crm", "parameters": EMPTY}}
        user = [{"role": "user", "content": self.call("crm.look", {"a": 1})}]
        call = chat.chat.completions.create(model="m", messages=user, tools=[function]).choices[0].message.tool_calls[0].function
        self.assertEqual((call.name, call.model_extra["namespace"]), ("look", "crm"))
        inner = [{"type": "function", "name": "look", "parameters": EMPTY}]
        tools = [{"type": "namespace", "name": "crm", "description": "Customers.", "tools": inner}]
        body = responses.responses.create(model="m", input=user, tools=tools)
        item = body.output[-1]
        self.assertEqual((item.name, item.namespace), ("look", "crm"))
        events = responses.responses.create(model="m", input=user, tools=tools, stream=True)
        done = [event.item for event in events if event.type == "response.output_item.done"]
        self.assertEqual((done[-1].name, done[-1].namespace), ("look", "crm"))
        back = [item.model_dump(exclude_none=True) for item in body.output]
        back.append({"type": "function_call_output", "call_id": item.call_id, "output": "Two"})
        self.assertEqual(responses.responses.create(model="m", input=user + back, tools=tools).output_text, "The end.")
        extra = {"tools": [{"name": "look", "namespace": "crm", "input_schema": EMPTY}]}
        block = messages.messages.create(model="m", max_tokens=99, messages=user, extra_body=extra).content[-1]
        self.assertEqual((block.name, block.model_extra["namespace"]), ("look", "crm"))

    def test_a_patch(self):
        responses = self.apis[1].client
        said = [{"role": "user", "content": self.call("apply_patch", {"type": "delete_file", "path": "x"})}]
        tools = [{"type": "apply_patch"}]
        body = responses.responses.create(model="m", input=said, tools=tools)
        item = body.output[-1]
        self.assertEqual((item.type, item.operation.type, item.operation.path), ("apply_patch_call", "delete_file", "x"))
        back = [item.model_dump(exclude_none=True) for item in body.output]
        back.append({"type": "apply_patch_call_output", "call_id": item.call_id, "status": "completed"})
        body = responses.responses.create(model="m", input=said + back, tools=tools)
        self.assertEqual(body.output_text, "The end.")

    def test_tools_that_are_found(self):
        responses, messages = self.apis[1].client, self.apis[2].client
        steps = [("Reason-2", "", [("lazy", {})]), ("Reason-3", "The end.", [])]
        lazy = {"type": "function", "name": "lazy", "description": "Rests.", "parameters": EMPTY, "defer_loading": True}
        search = {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": EMPTY}
        said = [{"role": "user", "content": self.typed(("Reason-1", "", [("tool_search", {})]), *steps)}]
        for tools in ([lazy], None):
            output = responses.responses.create(model="m", input=said, tools=[search]).output
            call = output[-1]
            self.assertEqual(call.type, "tool_search_call" if tools else "function_call")
            result = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": tools}
            result = result if tools else {"type": "function_call_output", "output": "Rested"}
            said += [*(item.model_dump(exclude_none=True) for item in output), {"call_id": call.call_id, **result}]
        self.assertEqual(responses.responses.create(model="m", input=said, tools=[search]).output_text, "The end.")
        tools = [{"name": "find", "input_schema": EMPTY}, {"name": "lazy", "description": "Rests.", "input_schema": EMPTY, "defer_loading": True}]
        said = [{"role": "user", "content": self.typed(("Reason-1", "", [("find", {})]), *steps)}]
        for content in ([{"type": "tool_reference", "tool_name": "lazy"}], "Nothing"):
            body = messages.messages.create(model="m", max_tokens=99, messages=said, extra_body={"tools": tools})
            result = {"type": "tool_result", "tool_use_id": body.content[-1].id, "content": content}
            said += [{"role": "assistant", "content": body.content}, {"role": "user", "content": [result]}]
        body = messages.messages.create(model="m", max_tokens=99, messages=said, extra_body={"tools": tools})
        self.assertEqual(body.content[-1].text, "The end.")

    def test_errors(self):
        chat, responses, messages = self.apis
        asked, extra = chat.user("Hi"), lambda **fields: {"extra_body": fields}
        for ask, name in [
            (lambda: chat.ask([{"role": "user", "content": [{"type": "smell"}]}], False), "messages[0].content[0].type"),
            (lambda: responses.client.responses.create(model="m", input="Hi", previous_response_id="r"), "previous_response_id"),
            (lambda: responses.ask([{"type": "item_reference", "id": "i"}], False), "input[0].type"),
            (lambda: chat.client.chat.completions.create(model="m", messages=asked, **extra(reasoning_fromat="none")), "reasoning_fromat"),
            (lambda: messages.ask([{"role": "user", "content": [{"type": "smell"}]}], True), "messages[0].content[0].type"),
        ]:
            with self.assertRaises((openai.BadRequestError, anthropic.BadRequestError)) as caught:
                ask()
            body = caught.exception.body
            self.assertIn(f"{name}: ", json.dumps(body))
            self.assertEqual(body.get("error", body)["type"], "invalid_request_error")
            if isinstance(caught.exception, openai.BadRequestError):
                self.assertEqual(body["param"], name)
        # The host of a tool that servers run is told, and the client is answered.
        self.assertEqual(responses.client.responses.create(model="m", input="Hi", tools=[{"type": "web_search"}]).status, "completed")


class OneTemplate(unittest.TestCase):
    def ask(self, template, typed, ask):
        started = prompts.Server(server, template)
        try:
            for api in (Chat(started.url), Responses(started.url), Messages(started.url)):
                ask(api, api.user(typed))
        finally:
            started.stop()

    def test_an_id_behind_the_arguments_changes_nothing(self):
        def ask(api, said):
            first = api.ask(said, True, tools=True)
            id = first.calls[0][0]
            self.assertEqual((len(id), id.isalnum()), (9, True))
            self.assertNotEqual(id, "late12345")
            back = said + first.back + api.results([(id, "noon")])
            self.assertEqual(api.ask(back, True, tools=True).text, "The end.")

        self.ask("json-array-ids", 'Type: [TOOL_CALLS][{"name": "time", "arguments": {"city": "Rome"}, "id": "late12345"}]///The end.', ask)

    def test_the_model_goes_on_with_what_the_client_wrote(self):
        def ask(api, said):
            if isinstance(api, Messages):
                said = said + [{"role": "assistant", "content": "The best answer is ("}]
                for stream in (False, True):
                    self.assertEqual(api.ask(said, stream).text, "A), for sure.")

        self.ask("json-call", "Type: ///A), for sure.", ask)

    @unittest.skipUnless(other, "it is not built")
    def test_the_example_in_cpp(self):
        started = prompts.Server(other, "json-call")
        try:
            for api in (Chat(started.url), Responses(started.url), Messages(started.url)):
                for stream in (False, True):
                    said = api.ask(api.user("Type: " + markup.in_json("Why", "", [("time", {"city": "Rome"})])), stream, tools=True)
                    self.assertEqual((said.reasoning, said.calls[0][1:], said.why), ("Why", ("time", '{"city":"Rome"}'), "calls"))
        finally:
            started.stop()


for template in TEMPLATES:
    name = "Answers of " + template
    globals()[name] = type(name, (Answers, unittest.TestCase), {"template": template})

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--quiet"])
