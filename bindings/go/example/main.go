// The C example, in Go: a prompt, an answer as it streams in, and the message as a whole.
package main

import (
	"fmt"
	"log"

	chatparse "github.com/chatparse/chatparse/bindings/go"
)

// A template as a model vendor ships it. How this model writes reasoning and tool calls is learnt from the text.
const source = `{%- for tool in tools or [] -%}
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
`

// An OpenAI chat-completions body.
const request = `{"messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
 "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
 "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}`

// What the model writes, in pieces as they come.
var pieces = []string{
	`<think>Rain? Let me`, ` look.</think>One moment. <tool`,
	`_call>{"name": "wea`, `ther", "arguments": {"city"`, `: "Oslo"}}</tool_call>`,
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	template, err := chatparse.NewTemplate(source, "", "<|end|>")
	if err != nil {
		return err
	}
	defer template.Close()

	params, err := template.Params(request, "{}")
	if err != nil {
		return err
	}
	defer params.Close()
	fmt.Println(params.Prompt())

	stream, err := params.Stream()
	if err != nil {
		return err
	}
	defer stream.Close()
	for _, piece := range pieces {
		deltas, err := stream.Feed([]byte(piece))
		if err != nil {
			return err
		}
		show(deltas)
	}
	deltas, err := stream.Finish(0)
	if err != nil {
		return err
	}
	show(deltas)

	message, err := stream.Message()
	if err != nil {
		return err
	}
	fmt.Println(message.JSON)
	return nil
}

func show(deltas []chatparse.Delta) {
	for _, delta := range deltas {
		fmt.Printf("%s: %s\n", delta.Kind, delta.Text)
	}
}
