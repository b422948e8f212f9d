// The C example, in Swift: a prompt, an answer as it streams in, and the message as a whole.
import Chatparse

// A template as a model vendor ships it. How this model writes a tool call is learnt from the text.
let source = """
  {%- for tool in tools or [] -%}
  Tool: {{ tool.function | tojson }}
  {% endfor -%}
  {%- for message in messages -%}
  <|{{ message.role }}|>{{ message.content or '' }}
  {%- for call in message.tool_calls or [] -%}
  <tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
  {%- endfor -%}
  <|end|>
  {%- endfor -%}
  {%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
  """

// An OpenAI chat-completions body.
let request = """
  {"messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
   "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
   "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}
  """

// What the model writes, in pieces as they come.
let pieces = ["I will look. <tool", "_call>{\"name\": \"wea", "ther\", \"arguments\": {\"city\"", ": \"Oslo\"}}</tool_call>"]

func show(_ deltas: [Delta]) {
  for delta in deltas { print("part \(delta.kind), call \(delta.call): \(delta.text)") }
}

let params = try Params(Template(source, eos: "<|end|>"), request: request)
print(params.prompt)
let stream = try Chatparse.Stream(params)
for piece in pieces { show(try stream.feed(piece)) }
show(try stream.finish())
print(try stream.messageJSON())
