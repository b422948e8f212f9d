"""The example server as agent frameworks see it: frameworks.py SERVER. pydantic-ai, openai-agents and LangChain run a loop of tools over each
API that they speak, whole and streamed: two calls at once, an image in a result, an answer by a schema, and a second turn."""

import asyncio
import base64
import os
import sys
import unittest

# Nothing but the server is asked.
os.environ |= {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false",
    "LOGFIRE_SEND_TO_LOGFIRE": "false", "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}

import agents
import langchain_anthropic
import langchain_core.messages
import langchain_openai
import openai
import openai.types.shared
import pydantic
import pydantic_ai
import pydantic_ai.models.anthropic
import pydantic_ai.models.openai
import pydantic_ai.providers.anthropic
import pydantic_ai.providers.openai

import markup
import prompts

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEMPLATES = ["json-call", "qwen3-coder", "gpt-oss", "deepseek-v3.2"]
STEPS = [("Reason-1", "", [("weather", {"city": "Oslo"}), ("clock", {"city": "Rome"})]), ("Reason-2", "A photo.", [("photo", {"city": "Oslo"})]),
    ("Reason-3", '{"city": "Oslo"}', [])]


class Place(pydantic.BaseModel):
    city: str


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}"


def clock(city: str) -> str:
    """The time in a city."""
    return f"Noon in {city}"


class Loops:
    template = ""
    # Whether the framework sends the reasoning back.
    reasons = True
    media = True

    def setUp(self):
        self.server = prompts.Server(sys.argv[1], self.template)
        self.write = markup.BUILTIN[self.template]
        self.v1 = f"{self.server.url}/v1"

    def tearDown(self):
        report = self.server.report()
        self.server.stop()
        self.assertEqual((report.errors, report.lost, report.lost_of_tools), ([], [], []))
        self.assertGreaterEqual(report.steps, 2)
        self.assertGreaterEqual(report.turns, 1)
        if self.reasons:
            self.assertEqual((report.breaks, report.unreasoned), ([], 0))
        if self.media:
            self.assertEqual(report.media[0], report.media[1])
            self.assertGreaterEqual(report.media[1], 2)

    def typed(self, steps):
        return "Do it. Type: " + "///".join(self.write(*step) for step in steps)


class PydanticAI(Loops):
    def model(self):
        return pydantic_ai.models.openai.OpenAIChatModel("m", provider=pydantic_ai.providers.openai.OpenAIProvider(self.v1, "-"))

    settings = {}

    def test_a_loop(self):
        agent = pydantic_ai.Agent(self.model(), output_type=pydantic_ai.NativeOutput(Place), instructions="Be good.", model_settings=self.settings)
        agent.tool_plain(weather)
        agent.tool_plain(clock)

        @agent.tool_plain
        def photo(city: str) -> list:
            """A photo of a city."""
            return [f"This is {city}", pydantic_ai.BinaryContent(data=base64.b64decode(PIXEL), media_type="image/png")]

        done = agent.run_sync(self.typed(STEPS))
        self.assertEqual(done.output, Place(city="Oslo"))
        thoughts = [part.content for message in done.all_messages() for part in message.parts if part.part_kind == "thinking"]
        self.assertEqual(thoughts, ["Reason-1", "Reason-2", "Reason-3"])

        async def events(context, stream):
            async for _ in stream:
                pass

        streamed = agent.run_sync(self.typed(STEPS), message_history=done.all_messages(), event_stream_handler=events)
        self.assertEqual(streamed.output, Place(city="Oslo"))


class PydanticAIResponses(PydanticAI):
    settings = {"openai_reasoning_summary": "auto", "openai_store": False}

    def model(self):
        return pydantic_ai.models.openai.OpenAIResponsesModel("gpt-5", provider=pydantic_ai.providers.openai.OpenAIProvider(self.v1, "-"))


class PydanticAIMessages(PydanticAI):
    settings = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}

    def model(self):
        provider = pydantic_ai.providers.anthropic.AnthropicProvider(api_key="-", base_url=self.server.url)
        return pydantic_ai.models.anthropic.AnthropicModel("claude-sonnet-4-5", provider=provider)


class OpenAIAgents(Loops):
    settings = {}
    media = False  # Chat completions of this framework lose images in results.

    def model(self, client):
        return agents.OpenAIChatCompletionsModel("m", client, should_replay_reasoning_content=lambda context: True)

    def test_a_loop(self):
        @agents.function_tool
        def photo(city: str):
            """A photo of a city."""
            return [agents.ToolOutputText(text=f"This is {city}"), agents.ToolOutputImage(image_url=f"data:image/png;base64,{PIXEL}")]

        agents.set_tracing_disabled(True)

        async def run():
            async with openai.AsyncOpenAI(base_url=self.v1, api_key="-", max_retries=0) as client:
                agent = agents.Agent("a", instructions="Be good.", model=self.model(client), output_type=Place,
                    tools=[agents.function_tool(weather), agents.function_tool(clock), photo], model_settings=agents.ModelSettings(**self.settings))
                done = await agents.Runner.run(agent, self.typed(STEPS))
                self.assertEqual(done.final_output, Place(city="Oslo"))
                again = agents.Runner.run_streamed(agent, done.to_input_list() + [{"role": "user", "content": self.typed(STEPS)}])
                async for _ in again.stream_events():
                    pass
                self.assertEqual(again.final_output, Place(city="Oslo"))

        asyncio.run(run())


class OpenAIAgentsResponses(OpenAIAgents):
    media = True
    settings = {"store": False, "response_include": ["reasoning.encrypted_content"],
        "reasoning": openai.types.shared.Reasoning(effort="medium", summary="auto")}

    def model(self, client):
        return agents.OpenAIResponsesModel("m", client)


class LangChain(Loops):
    reasons = False  # Chat completions of this framework do not know reasoning.

    def model(self):
        return langchain_openai.ChatOpenAI(model="m", base_url=self.v1, api_key="-", max_retries=0)

    tools = {"method": "json_schema"}

    def image(self):
        return {"type": "image", "base64": PIXEL, "mime_type": "image/png"}

    def test_a_loop(self):
        model = self.model().bind_tools([weather, clock, photo])
        said = [langchain_core.messages.SystemMessage("Be good.")]
        for streamed in (False, True):
            said.append(langchain_core.messages.HumanMessage(self.typed([*STEPS[:2], ("Reason-3", "The end.", [])])))
            while True:
                if streamed:
                    answer = None
                    for chunk in model.stream(said):
                        answer = chunk if answer is None else answer + chunk
                else:
                    answer = model.invoke(said)
                said.append(answer)
                if not answer.tool_calls:
                    break
                for call in answer.tool_calls:
                    results = {"weather": weather, "clock": clock, "photo": lambda city: [{"type": "text", "text": city}, self.image()]}
                    result = results[call["name"]](**call["args"])
                    said.append(langchain_core.messages.ToolMessage(result, tool_call_id=call["id"]))
            self.assertEqual(answer.text, "The end.")
        structured = self.model().with_structured_output(Place, method="json_schema")
        self.assertEqual(structured.invoke(self.typed([("Reason-1", '{"city": "Oslo"}', [])])), Place(city="Oslo"))


class LangChainResponses(LangChain):
    reasons = True

    def model(self):
        return langchain_openai.ChatOpenAI(model="m", base_url=self.v1, api_key="-", max_retries=0, use_responses_api=True, store=False,
            reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"], output_version="responses/v1")


class LangChainMessages(LangChain):
    reasons = True

    def model(self):
        return langchain_anthropic.ChatAnthropic(model="claude-sonnet-4-5", base_url=self.server.url, api_key="-", max_retries=0, max_tokens=4096)


def photo(city: str) -> str:
    """A photo of a city."""


KINDS = (PydanticAI, PydanticAIResponses, PydanticAIMessages, OpenAIAgents, OpenAIAgentsResponses, LangChain, LangChainResponses, LangChainMessages)
for kind in KINDS:
    for template in TEMPLATES:
        name = f"{kind.__name__} on {template}"
        globals()[name] = type(name, (kind, unittest.TestCase), {"template": template})

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--quiet", *sys.argv[2:]], warnings="ignore")
