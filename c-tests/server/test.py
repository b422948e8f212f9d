"""The example server as the clients of OpenAI and Anthropic see it: test.py SERVER. Each answer is valid by the client's own models,
and the three APIs, streamed or not, say the same. A request says itself what the model is to write, behind "Type: "."""

import json
import subprocess
import sys
import unittest

import anthropic
import openai
import pydantic

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOLS = {"weather": "The weather of a city", "time": "The time in a city"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

server = sys.argv[1]


class Place(pydantic.BaseModel):
    city: str


def start(template):
    process = subprocess.Popen([server, template], stdout=subprocess.PIPE, text=True)
    port = process.stdout.readline().strip()
    if not port:
        sys.exit("the server does not start")
    return process, f"http://127.0.0.1:{port}"


class Said:
    """An answer, in words that the APIs share."""

    def __init__(self, text, reasoning, calls, why, usage, back):
        self.text, self.reasoning, self.calls, self.why, self.usage = text, reasoning, calls, why, usage
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
            if event.type.endswith(".delta"):
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


def call(name, city):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {{"city": "{city}"}}}}\n</tool_call>'


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process, url = start("json-call")
        cls.apis = [Chat(url), Responses(url), Messages(url)]

    @classmethod
    def tearDownClass(cls):
        cls.process.kill()
        cls.process.wait()
        cls.process.stdout.close()

    def everywhere(self, ask):
        """What each API answers, streamed and not: the same, but for ids."""
        answers = [(api, ask(api, stream)) for api in self.apis for stream in (False, True)]
        for api, said in answers:
            with self.subTest(api=type(api).__name__):
                self.assertEqual(said.same()[:4], answers[0][1].same()[:4])
                self.assertGreater(min(said.usage), 0)
        return answers[0][1]

    def test_chat(self):
        said = self.everywhere(lambda api, stream: api.ask(api.user("Type: Grüße, 😀!"), stream))
        self.assertEqual((said.text, said.reasoning, said.calls, said.why), ("Grüße, 😀!", "", [], "end"))

    def test_reasoning(self):
        said = self.everywhere(lambda api, stream: api.ask(api.user("Type: <think>\nWhy?</think>\n\nSo."), stream))
        self.assertEqual((said.text, said.reasoning), ("So.", "Why?"))

    def test_a_tool(self):
        typed = f"Type: I look. {call('weather', 'Oslo')}"
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, tools=True))
        self.assertEqual((said.text, said.why), ("I look. ", "calls"))
        self.assertEqual([part[1:] for part in said.calls], [("weather", '{"city": "Oslo"}')])

    def test_parallel_calls_and_a_second_turn(self):
        typed = f"Type: <think>\nTwo.</think>\n\n{call('weather', 'Oslo')}\n{call('time', 'Rome')}"
        seen = set()

        def ask(api, stream):
            said = api.user(typed)
            first = api.ask(said, stream, tools=True)
            self.assertEqual([name for _, name, _ in first.calls], ["weather", "time"])
            # No id is like another, of this answer or of those before.
            for id, _, _ in first.calls:
                self.assertNotIn(id, seen)
                seen.add(id)
            results = [(id, f"{name} 7") for id, name, _ in first.calls]
            return api.ask(said + first.back + api.results(results), stream, tools=True)

        self.assertEqual(self.everywhere(ask).text, "The tool says: time 7")
        self.assertEqual(len(seen), 12)

    def test_one_call_at_a_time(self):
        typed = f"Type: {call('time', 'Rome')}"
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, tools=True, parallel=False))
        self.assertEqual(len(said.calls), 1)

    def test_a_forced_tool(self):
        typed = f"Type: {call('time', 'Rome')}"
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, tools=True, forced="time"))
        self.assertEqual([name for _, name, _ in said.calls], ["time"])

    def test_a_schema(self):
        typed = 'Type: {"city": "Oslo"}'
        said = self.everywhere(lambda api, stream: api.ask(api.user(typed), stream, schema=SCHEMA))
        self.assertEqual(json.loads(said.text), {"city": "Oslo"})

    def test_a_schema_of_a_class(self):
        chat, responses, messages = (api.client for api in self.apis)
        said = [{"role": "user", "content": 'Type: {"city": "Oslo"}'}]
        parsed = chat.chat.completions.parse(model="m", messages=said, response_format=Place)
        self.assertEqual(parsed.choices[0].message.parsed, Place(city="Oslo"))
        parsed = responses.responses.parse(model="m", input=said, text_format=Place)
        self.assertEqual(parsed.output_parsed, Place(city="Oslo"))
        parsed = messages.messages.parse(model="m", max_tokens=99, messages=said, output_format=Place)
        self.assertEqual(parsed.parsed_output, Place(city="Oslo"))

    def test_an_image(self):
        said = self.everywhere(lambda api, stream: api.ask(api.image("Type: A dot."), stream))
        self.assertEqual(said.text, "A dot.")

    def test_text_that_is_cut_off(self):
        said = self.everywhere(lambda api, stream: api.ask(api.user("Type: 123456789"), stream, limit=2))
        self.assertEqual((said.text, said.why), ("12345678", "cut"))

    def test_a_call_that_is_cut_off(self):
        typed = f"Type: {call('weather', 'Llanfairpwllgwyngyll')}"
        for api in self.apis:
            for stream in (False, True):
                with self.subTest(api=type(api).__name__, stream=stream):
                    said = api.ask(api.user(typed), stream, tools=True, limit=18)
                    self.assertEqual((said.why, said.calls[0][1]), ("cut", "weather"))
                    # An input is closed where it ends.
                    expected = '{"city": "Llanfairpwllgwyng"}' if isinstance(api, Messages) else '{"city": "Llanfairpwllgwyng'
                    self.assertEqual(said.calls[0][2], expected)

    def test_a_stop_sequence(self):
        chat, _, messages = self.apis
        for stream in (False, True):
            for api in (chat, messages):
                said = api.ask(api.user("Type: One. ### Two."), stream, stop=["###"])
                self.assertEqual((said.text, said.why), ("One. ", "end"))

    def test_the_clients_own_streams(self):
        chat, responses, _ = (api.client for api in self.apis)
        said = [{"role": "user", "content": f"Type: I look. {call('weather', 'Oslo')}"}]
        functions = [{"name": name, "description": TOOLS[name], "parameters": SCHEMA, "strict": True} for name in TOOLS]
        tools = [{"type": "function", "function": function} for function in functions]
        with chat.chat.completions.stream(model="m", messages=said, tools=tools) as events:
            kinds = {event.type for event in events}
            message = events.get_final_completion().choices[0].message
        self.assertTrue({"content.delta", "content.done", "tool_calls.function.arguments.done"} <= kinds, kinds)
        self.assertEqual((message.content, message.tool_calls[0].function.arguments), ("I look. ", '{"city": "Oslo"}'))
        tools = [{"type": "function", **function} for function in functions]
        with responses.responses.stream(model="m", input=said, tools=tools) as events:
            list(events)
            body = events.get_final_response()
        self.assertEqual((body.output_text, body.output[1].arguments), ("I look. ", '{"city": "Oslo"}'))

    def test_the_model_goes_on_with_what_the_client_wrote(self):
        messages = self.apis[2]
        said = messages.user("Type: A), for sure.") + [{"role": "assistant", "content": "The best answer is ("}]
        for stream in (False, True):
            self.assertEqual(messages.ask(said, stream).text, "A), for sure.")

    def test_a_custom_tool(self):
        chat, responses, _ = (api.client for api in self.apis)
        said = [{"role": "user", "content": 'Type: <tool_call>\n{"name": "shell", "arguments": {"input": "ls -l"}}\n</tool_call>'}]
        body = chat.chat.completions.create(model="m", messages=said, tools=[{"type": "custom", "custom": {"name": "shell"}}])
        call = body.choices[0].message.tool_calls[0]
        self.assertEqual((call.type, call.custom.name, call.custom.input), ("custom", "shell", "ls -l"))
        tools = [{"type": "custom", "name": "shell"}]
        body = responses.responses.create(model="m", input=said, tools=tools)
        call = body.output[0]
        self.assertEqual((call.type, call.name, call.input), ("custom_tool_call", "shell", "ls -l"))
        back = [call.model_dump(exclude_none=True), {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "a"}]
        kinds = [event.type for event in responses.responses.create(model="m", input=said, tools=tools, stream=True)]
        self.assertIn("response.custom_tool_call_input.done", kinds)
        body = responses.responses.create(model="m", input=said + back, tools=tools)
        self.assertEqual(body.output_text, "The tool says: a")

    def test_a_tool_of_a_namespace(self):
        said = 'Type: <tool_call>\n{"name": "crm.look", "arguments": {"a": 1}}\n</tool_call>'
        chat, responses, messages = (api.client for api in self.apis)
        schema = {"type": "object", "properties": {}}
        function = {"type": "function", "function": {"name": "look", "namespace": "crm", "parameters": schema}}
        user = [{"role": "user", "content": said}]
        call = chat.chat.completions.create(model="m", messages=user, tools=[function]).choices[0].message.tool_calls[0].function
        self.assertEqual((call.name, call.model_extra["namespace"]), ("look", "crm"))
        tools = [{"type": "namespace", "name": "crm", "description": "Customers.", "tools": [{"type": "function", "name": "look", "parameters": schema}]}]
        item = responses.responses.create(model="m", input=user, tools=tools).output[0]
        self.assertEqual((item.name, item.namespace), ("look", "crm"))
        events = responses.responses.create(model="m", input=user, tools=tools, stream=True)
        done = [event.item for event in events if event.type == "response.output_item.done"]
        self.assertEqual((done[0].name, done[0].namespace), ("look", "crm"))
        extra = {"tools": [{"name": "look", "namespace": "crm", "input_schema": schema}]}
        block = messages.messages.create(model="m", max_tokens=99, messages=user, extra_body=extra).content[0]
        self.assertEqual((block.name, block.model_extra["namespace"]), ("look", "crm"))

    def test_a_patch(self):
        responses = self.apis[1].client
        said = 'Type: <tool_call>\n{"name": "apply_patch", "arguments": {"type": "delete_file", "path": "x"}}\n</tool_call>'
        tools = [{"type": "apply_patch"}]
        item = responses.responses.create(model="m", input=said, tools=tools).output[0]
        self.assertEqual((item.type, item.operation.type, item.operation.path), ("apply_patch_call", "delete_file", "x"))
        back = [{"role": "user", "content": said}, item.model_dump(exclude_none=True),
            {"type": "apply_patch_call_output", "call_id": item.call_id, "status": "completed"}]
        body = responses.responses.create(model="m", input=back, tools=tools)
        self.assertEqual(body.output_text, "The tool says: completed")

    def test_tools_that_are_found(self):
        responses, messages = self.apis[1].client, self.apis[2].client
        schema = {"type": "object", "properties": {}}
        lazy = {"type": "function", "name": "lazy", "parameters": schema, "defer_loading": True}
        search = {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": schema}
        found = [{"role": "user", "content": "Hi"},
            {"type": "tool_search_call", "call_id": "a", "execution": "client", "status": "completed", "arguments": {}},
            {"type": "tool_search_output", "call_id": "a", "execution": "client", "status": "completed", "tools": [lazy]}]
        body = responses.responses.create(model="m", input=found, tools=[search])
        self.assertIn("lazy", body.output_text)
        said = [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "tool_reference", "tool_name": "g"}]}]}]
        tools = [{"name": "f", "input_schema": schema}, {"name": "g", "input_schema": schema, "defer_loading": True}]
        body = messages.messages.create(model="m", max_tokens=99, messages=said, extra_body={"tools": tools})
        self.assertEqual(body.content[0].text, "The tool says: g")

    def test_errors(self):
        chat, responses, messages = self.apis
        for ask, name in [
            (lambda: chat.ask([{"role": "user", "content": [{"type": "smell"}]}], False), "messages[0].content[0].type"),
            (lambda: responses.client.responses.create(model="m", input="Hi", previous_response_id="r"), "previous_response_id"),
            (lambda: responses.ask([{"type": "item_reference", "id": "i"}], False), "input[0].type"),
            (lambda: responses.client.responses.create(model="m", input="Hi", tools=[{"type": "web_search"}]), "tools[0].type"),
            (lambda: chat.client.chat.completions.create(
                model="m", messages=chat.user("Hi"), extra_body={"reasoning_fromat": "none"}), "reasoning_fromat"),
            (lambda: messages.ask([{"role": "user", "content": [{"type": "smell"}]}], True), "messages[0].content[0].type"),
        ]:
            with self.assertRaises((openai.BadRequestError, anthropic.BadRequestError)) as caught:
                ask()
            body = caught.exception.body
            self.assertIn(f"{name}: ", json.dumps(body))
            self.assertEqual(body.get("error", body)["type"], "invalid_request_error")
            if isinstance(caught.exception, openai.BadRequestError):
                self.assertEqual(body["param"], name)


class LateIds(unittest.TestCase):
    def test_an_id_behind_the_arguments_changes_nothing(self):
        process, url = start("json-array-ids")
        try:
            typed = 'Type: [TOOL_CALLS][{"name": "time", "arguments": {"city": "Rome"}, "id": "late12345"}]'
            for api in (Chat(url), Responses(url), Messages(url)):
                said = api.user(typed)
                first = api.ask(said, True, tools=True)
                id = first.calls[0][0]
                self.assertEqual((len(id), id.isalnum()), (9, True))
                self.assertNotEqual(id, "late12345")
                back = said + first.back + api.results([(id, "noon")])
                self.assertEqual(api.ask(back, True, tools=True).text, "The tool says: noon")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--verbose"])
