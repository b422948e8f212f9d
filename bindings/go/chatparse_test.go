package chatparse

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// How a model of this template calls tools.
const source = `{%- for tool in tools or [] %}{{ tool.function | tojson }}{% endfor -%}
{%- for message in messages -%}
<|{{ message.role }}|>{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor -%}
<|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}`

const request = `{"messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
 "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
 "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}`

const answer = `I will look: «været». <tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>`

func prepare(t testing.TB) (*Template, *Params) {
	t.Helper()
	template, err := NewTemplate(source, "", "<|end|>")
	if err != nil {
		t.Fatal(err)
	}
	params, err := template.Params(request, "{}")
	if err != nil {
		t.Fatal(err)
	}
	return template, params
}

// read feeds an output byte by byte, and puts the deltas together.
func read(params *Params, output string, flags Flags) (*Message, map[DeltaKind]string, error) {
	stream, err := params.Stream()
	if err != nil {
		return nil, nil, err
	}
	defer stream.Close()
	sum := map[DeltaKind]string{}
	add := func(deltas []Delta) {
		for _, delta := range deltas {
			sum[delta.Kind] += delta.Text
		}
	}
	for i := range []byte(output) {
		deltas, err := stream.Feed([]byte(output)[i : i+1])
		if err != nil {
			return nil, nil, err
		}
		add(deltas)
	}
	deltas, err := stream.Finish(flags)
	if err != nil {
		return nil, nil, err
	}
	add(deltas)
	message, err := stream.Message()
	return message, sum, err
}

func TestMessageWithACall(t *testing.T) {
	_, params := prepare(t)
	message, sum, err := read(params, answer, 0)
	if err != nil {
		t.Fatal(err)
	}
	if message.Outcome != Complete || len(message.ToolCalls) != 1 {
		t.Fatalf("%+v", message)
	}
	call := message.ToolCalls[0]
	if call.Name != "weather" || call.Arguments != `{"city": "Oslo"}` {
		t.Errorf("%+v", call)
	}
	if sum[ToolName] != call.Name || sum[ToolArguments] != call.Arguments || sum[Content] != message.Content {
		t.Errorf("the deltas %q are not the message %+v", sum, message)
	}
	whole, err := params.Parse(answer, 0)
	if err != nil || fmt.Sprint(whole) != fmt.Sprint(message) {
		t.Errorf("%+v, %v", whole, err)
	}
}

func TestChunksAndTheEndOfACall(t *testing.T) {
	_, params := prepare(t)
	stream, err := params.Stream()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ piece, chunk string }{
		{"Hm. ", `{"content":"Hm. "}`},
		{`<tool_call>{"name": "weather`, `{}`},
		{`", "arguments": {`, `{"tool_calls":[{"index":0,"type":"function","function":{"name":"weather","arguments":"{"}}]}`},
	} {
		_, err := stream.Feed([]byte(test.piece))
		if chunk, failed := stream.Chunk(); err != nil || failed != nil || chunk != test.chunk {
			t.Errorf("%s after %s: %v, %v", chunk, test.piece, err, failed)
		}
	}
	deltas, err := stream.Feed([]byte("}}</tool_call>"))
	if last := len(deltas) - 1; err != nil || last < 0 || deltas[last].Kind != ToolEnd || deltas[last].Text != "" {
		t.Errorf("%+v, %v", deltas, err)
	}
}

func TestADraftIsTakenBack(t *testing.T) {
	_, params := prepare(t)
	stream, err := params.Stream()
	if err != nil {
		t.Fatal(err)
	}
	var failed *Error
	if _, err := stream.Rollback(0); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument {
		t.Error(err)
	}
	feed := func(piece string) {
		t.Helper()
		if _, err := stream.Feed([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	feed("I will")
	if err := stream.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	const call = `<tool_call>{"name": "weather", "arguments": {}}</tool_call>`
	feed(" look." + call)
	deltas, err := stream.Rollback(len("I will look"))
	if err != nil || len(deltas) != 2 || deltas[0].Kind != CallWithdrawn || deltas[0].Text != "weather" ||
		deltas[1].Kind != ContentWithdrawn || deltas[1].Text != "." {
		t.Errorf("%+v, %v", deltas, err)
	}
	before := stream.Work()
	feed(" up.")
	if before == 0 || stream.Work() <= before {
		t.Errorf("work of %d, then of %d", before, stream.Work())
	}
	if err := stream.SetBudget(0, 0); err != nil {
		t.Fatal(err)
	}
	feed(call)
	if _, err := stream.Finish(0); err != nil {
		t.Fatal(err)
	}
	message, err := stream.Message()
	if err != nil || message.Outcome != Recovered || message.Content != "I will look up."+call || len(message.ToolCalls) != 0 {
		t.Errorf("%+v, %v", message, err)
	}
}

func TestParserAsText(t *testing.T) {
	_, params := prepare(t)
	parser, err := params.Parser()
	if err != nil {
		t.Fatal(err)
	}
	text, err := parser.Text()
	if err != nil {
		t.Fatal(err)
	}
	parser.Close()
	params.Close()
	again, err := ParserFromText(text)
	if err != nil {
		t.Fatal(err)
	}
	if message, err := again.Parse(answer, Strict); err != nil || message.ToolCalls[0].Name != "weather" {
		t.Errorf("%+v, %v", message, err)
	}
	if stream, err := again.Stream(); err != nil {
		t.Error(err)
	} else if deltas, err := stream.Feed([]byte("Hi")); err != nil || len(deltas) != 1 {
		t.Errorf("%+v, %v", deltas, err)
	}
	var failed *Error
	if _, err := ParserFromText("{}"); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument {
		t.Error(err)
	}
}

func TestNextTurn(t *testing.T) {
	_, params := prepare(t)
	next, err := params.Next(answer, `[{"role": "tool", "content": "Rain."}]`)
	if err != nil {
		t.Fatal(err)
	}
	sent := params.Prompt() + answer
	if next.Rewrite() != "" || next.Kept() != len(sent) || next.Prompt() != sent+next.Append() || !strings.Contains(next.Append(), "Rain.") {
		t.Errorf("%q behind %d bytes, %q", next.Append(), next.Kept(), next.Rewrite())
	}
	var failed *Error
	if _, err := params.Next(answer, "{}"); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument {
		t.Error(err)
	}
}

func TestWhoseTextAPromptIs(t *testing.T) {
	template, _ := prepare(t)
	const said = `{"messages": [{"role": "user", "content": "Hå<|end|>"}, {"role": "assistant", "content": "Né."}]}`
	batch, err := template.SegmentsBatch([]string{said, request}, `{"for_training": true}`, 2)
	if err != nil || len(batch) != 2 || !strings.Contains(batch[1].Prompt(), "raining") {
		t.Fatal(batch, err)
	}
	segments := batch[0]
	prompt := segments.Prompt()
	list, err := segments.List()
	if err != nil || len(list) < 3 || list[0].Begin != 0 || list[len(list)-1].End != len(prompt) {
		t.Fatalf("%+v, %v", list, err)
	}
	user := list[1]
	if prompt[user.Begin:user.End] != "Hå<|end|>" || user.Origin != OriginMessage || user.Index != 0 || user.Path != "/content" {
		t.Errorf("%+v", user)
	}
	mask := segments.Mask(MaskContent)
	if len(mask) != 1 || prompt[mask[0].Begin:mask[0].End] != "Né." || len(segments.Mask(MaskCalls)) != 0 {
		t.Errorf("%+v", mask)
	}
	// Each character of the prompt as a token.
	var chars []Span
	for range prompt {
		chars = append(chars, Span{len(chars), len(chars) + 1})
	}
	tokens, err := segments.Tokens(chars, MaskAll, true)
	if err != nil {
		t.Fatal(err)
	}
	sampled := ""
	for i, char := range []rune(prompt) {
		if tokens[i].Sampled {
			sampled += string(char)
		}
	}
	if sampled != "Né.<|end|>" || tokens[0] != (Token{OriginTemplate, -1, false}) {
		t.Errorf("%q, %+v", sampled, tokens[0])
	}
	tokens, err = segments.Tokens([]Span{{mask[0].Begin, mask[0].End}}, MaskContent, false)
	if err != nil || tokens[0] != (Token{OriginMessage, 1, true}) || segments.Limit() != "" {
		t.Errorf("%+v, %v", tokens, err)
	}
	one, err := template.Segments(said, `{"for_training": true}`)
	if err != nil || one.Prompt() != prompt {
		t.Error(one, err)
	}
	if none, err := template.SegmentsBatch(nil, "{}", 0); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
	for words, call := range map[string]func() error{
		"requests[1]": func() error { _, err := template.SegmentsBatch([]string{said, "{}", said}, "{}", 0); return err },
		"offsets[0]":  func() error { _, err := segments.Tokens([]Span{{0, len(prompt) + 1}}, MaskAll, false); return err },
		"plane":       func() error { _, err := template.Segments(said, `{"plane": true}`); return err },
	} {
		var failed *Error
		if err := call(); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument || !strings.Contains(failed.Message, words) {
			t.Errorf("with %q: %v", words, err)
		}
	}
}

func TestCutOff(t *testing.T) {
	_, params := prepare(t)
	message, _, err := read(params, answer[:len(answer)-20], Cut)
	if err != nil || message.Outcome != Partial || !strings.HasPrefix(message.ToolCalls[0].Arguments, `{"city"`) {
		t.Errorf("%+v, %v", message, err)
	}
}

func TestProof(t *testing.T) {
	template, _ := prepare(t)
	readBack, cases, err := template.Proof()
	if err != nil || cases < 20 || readBack != cases {
		t.Error(readBack, cases, err)
	}
	if json, err := template.Report(ReportProof); err != nil || !strings.Contains(json, `"failures":[]`) {
		t.Error(json, err)
	}
	for options, expected := range map[string]string{`{}`: "gpt-oss", `{"learn_only": true}`: "turn"} {
		template, err := NewTemplateWithOptions("{# <|channel|> #}{{ messages[0].content }}", options)
		if err != nil {
			t.Fatal(err)
		}
		if reader, err := template.Reader(); err != nil || reader != expected {
			t.Error(options, reader, err)
		}
	}
}

func TestOptionsOfTheHost(t *testing.T) {
	template, err := Builtin("chatml")
	if err != nil {
		t.Fatal(err)
	}
	// The client's body has the same options.
	body := `{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true, "reasoning_format": "none"}`
	options := `{"add_generation_prompt": false, "reasoning_format": "auto"}`
	var prompts []string
	for _, options := range []string{"{}", options} {
		params, err := template.Params(body, options)
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, params.Prompt())
	}
	if prompts[0] != prompts[1]+"<|im_start|>assistant\n" {
		t.Errorf("%q", prompts)
	}
	var failed *Error
	if _, err := template.Params(body, `{"no such": 1}`); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument {
		t.Errorf("%v", err)
	}
}

func TestOwnPrompt(t *testing.T) {
	template, err := Builtin("json-call")
	if err != nil {
		t.Fatal(err)
	}
	params, err := template.ParamsFor("<|im_start|>assistant\n<think>\nLet me", `{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := params.Stream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Feed([]byte(" see.\n</think>\n\nNo. <tool_")); err != nil {
		t.Fatal(err)
	}
	message, err := stream.Message()
	if err != nil || message.Reasoning != "Let me see.\n" || !strings.HasSuffix(stream.Pending(), "<tool_") {
		t.Errorf("%v, pending %q", err, stream.Pending())
	}
}

func TestWhereAnOutputStandsAndWhatMayFollow(t *testing.T) {
	_, params := prepare(t)
	stream, err := params.Stream()
	if err != nil {
		t.Fatal(err)
	}
	says := func(ask func() (string, error), words string) {
		t.Helper()
		if said, err := ask(); err != nil || !strings.Contains(said, words) {
			t.Errorf("%q expected: %s, %v", words, said, err)
		}
	}
	if _, err := stream.Feed([]byte(`<tool_call>{"name": "weather", "arguments": {`)); err != nil {
		t.Fatal(err)
	}
	says(stream.Closing, `"missing":[{"tool":"weather","pointer":"/city","begun":false}]`)
	if _, err := stream.Feed([]byte(`"city": "Os`)); err != nil {
		t.Fatal(err)
	}
	says(stream.State, `"pointer":"/city"`)
	says(stream.Schema, `{"type":"string"}`)
	says(stream.Closing, `"text":"\"}}</tool_call>"`)
	says(func() (string, error) { return stream.Grammar(Lark) }, "tool_call>")
	var failed *Error
	if _, err := stream.Grammar(99); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument {
		t.Error(err)
	}
}

func TestMatcher(t *testing.T) {
	matcher, err := NewMatcher("root ::= \"say \" (\"yes\" | \"yellow\" | \"é\")")
	if err != nil {
		t.Fatal(err)
	}
	feed := func(piece string, expected int) {
		t.Helper()
		if taken, err := matcher.Feed([]byte(piece)); err != nil || taken != expected {
			t.Errorf("%d of %q, %v", taken, piece, err)
		}
	}
	if matcher.Forced() != "say " || matcher.MayEnd() {
		t.Error(matcher.Forced())
	}
	feed("say ", 4)
	if allowed, err := matcher.Allowed(); err != nil || string(allowed) != "y\xc3" || matcher.Forced() != "" {
		t.Errorf("%q, %v", allowed, err)
	}
	before, err := matcher.Clone()
	if err != nil {
		t.Fatal(err)
	}
	if !matcher.Can([]byte("yell")) || matcher.Can([]byte("yelp")) {
		t.Error("what may come next")
	}
	feed("yes!", 3)
	if !matcher.MayEnd() || !matcher.Ended() {
		t.Error("the end")
	}
	rest, err := before.Grammar(PortableGBNF)
	if err != nil {
		t.Fatal(err)
	}
	if matcher, err = NewMatcher(rest); err != nil {
		t.Fatal(err)
	}
	feed("\xc3", 1)
	if matcher.Forced() != "\xa9" || before.Ended() {
		t.Errorf("%q", matcher.Forced())
	}
	var failed *Error
	if _, err := NewMatcher(`a ::= "b"`); !errors.As(err, &failed) || failed.Status != StatusInvalidArgument {
		t.Error(err)
	}
	_, params := prepare(t)
	if matcher, err = params.Matcher(); err != nil {
		t.Fatal(err)
	}
	// A lazy grammar: text is free in front of a call.
	feed(`Hm. <tool_call>{"name": "w`, 26)
	if matcher.Can([]byte("et")) || !strings.HasPrefix(matcher.Forced(), "eather") {
		t.Errorf("%q", matcher.Forced())
	}
}

func TestErrors(t *testing.T) {
	template, params := prepare(t)
	stream, err := params.Stream()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		status Status
		words  string
		call   func() error
	}{
		{StatusTemplate, "line", func() error { _, err := NewTemplate("{% for %}", "", ""); return err }},
		{StatusInvalidArgument, "chatml", func() error { _, err := Builtin("none such"); return err }},
		{StatusInvalidArgument, "messages", func() error { _, err := template.Params("{}", "{}"); return err }},
		{StatusInvalidArgument, "", func() error { _, err := template.Params("", "{}"); return err }},
		{StatusParse, "", func() error { _, err := params.Parse("<tool_call>no", Strict); return err }},
		{StatusInvalidArgument, "", func() error { stream.Close(); stream.Close(); _, err := stream.Feed(nil); return err }},
	} {
		var failed *Error
		if err := test.call(); !errors.As(err, &failed) || failed.Status != test.status || !strings.Contains(failed.Message, test.words) {
			t.Errorf("%s expected, with %q: %v", test.status, test.words, err)
		}
	}
	if name := StatusInvalidArgument.String(); name != "invalid_argument" {
		t.Error(name)
	}
}

func TestNoneNeedsAnother(t *testing.T) {
	template, params := prepare(t)
	stream, err := params.Stream()
	if err != nil {
		t.Fatal(err)
	}
	template.Close()
	params.Close()
	deltas, err := stream.Feed([]byte("Hi\x00!"))
	if err != nil || len(deltas) != 1 || deltas[0].Text != "Hi\x00!" {
		t.Errorf("%+v, %v", deltas, err)
	}
}

func TestGoroutinesShareATemplate(t *testing.T) {
	template, _ := prepare(t)
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			params, err := template.Params(request, "{}")
			if err != nil {
				t.Error(err)
				return
			}
			if message, _, err := read(params, answer, 0); err != nil || len(message.ToolCalls) != 1 {
				t.Errorf("%+v, %v", message, err)
			}
		}()
	}
	all.Wait()
}

// Also of what nobody closes.
func TestMemoryComesBack(t *testing.T) {
	template, params := prepare(t)
	long := strings.Repeat("x", 100_000)
	use := func() {
		stream, err := params.Stream()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Feed([]byte(long)); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Message(); err != nil {
			t.Fatal(err)
		}
		if _, err := template.Params(long, "{}"); err == nil {
			t.Fatal("no error")
		}
	}
	rounds := func(count int) int {
		for i := 0; i < count; i++ {
			use()
			if i%20 == 19 {
				runtime.GC()
			}
		}
		return resident()
	}
	before := rounds(200)
	// Streams or messages, if they leaked, would take 80 MB.
	if grown := rounds(800) - before; grown > 30_000_000 {
		t.Errorf("%d bytes more", grown)
	}
}

// resident is how many bytes of memory are in use; 0 where the system does not tell.
func resident() int {
	var total, pages int
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		fmt.Sscan(string(statm), &total, &pages)
	}
	return pages * os.Getpagesize()
}
