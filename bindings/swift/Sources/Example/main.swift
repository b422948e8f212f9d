// The C example, in Swift: a prompt, an answer as it streams in, and the message as a whole.
import Chatparse

// A template as a model vendor ships it. How this model writes reasoning and tool calls is learnt from the text.
let source = """
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

// An OpenAI chat-completions body.
let request: JSON = [
  "messages": [["role": "user", "content": "Is it raining in Oslo?"]],
  "tools": [
    [
      "type": "function",
      "function": [
        "name": "weather",
        "parameters": [
          "type": "object", "properties": ["city": ["type": "string"]], "required": ["city"],
        ],
      ],
    ]
  ],
]

// What the model writes, in pieces as they come.
let pieces = AsyncStream { model in
  for piece in [
    "<think>Rain? Let me", " look.</think>One moment. <tool",
    #"_call>{"name": "wea"#, #"ther", "arguments": {"city""#, #": "Oslo"}}</tool_call>"#,
  ] { model.yield(piece) }
  model.finish()
}

let params = try Template(source, eos: "<|end|>").params(request)
print(params.prompt)
let stream = try params.stream()
for try await delta in stream.deltas(pieces) { print("\(delta.kind): \(delta.text)") }
print(try stream.message().json())
