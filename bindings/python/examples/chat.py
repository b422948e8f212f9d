"""The C example, in Python: a prompt, an answer as it streams in, and the message as a whole."""

from chatparse import Template

# A template as a model vendor ships it. How this model writes reasoning and tool calls is learnt from the text.
SOURCE = """\
{%- for tool in tools or [] -%}
Tool: {{ tool.function | tojson }}
{% endfor -%}
{%- for message in messages -%}
<|{{ message.role }}|>
{%- if message.reasoning_content -%}<think>{{ message.reasoning_content }}</think>{%- endif -%}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor -%}
<|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""

# An OpenAI chat-completions body.
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
REQUEST = {
    "messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": CITY}}],
}

# What the model writes, in pieces as they come.
PIECES = [
    "<think>Rain? Let me",
    " look.</think>One moment. <tool",
    '_call>{"name": "wea',
    'ther", "arguments": {"city"',
    ': "Oslo"}}</tool_call>',
]


def main() -> None:
    template = Template(SOURCE, eos="<|end|>")
    params = template.params(REQUEST)
    print(params.prompt)
    with params.stream() as stream:
        for delta in stream.deltas(PIECES):
            print(f"{delta.kind.name.lower()}: {delta.text}")
        print(stream.message().json())


if __name__ == "__main__":
    main()
