// Package chatparse renders the prompts of chat templates, and parses what the model answers, while it streams in, into reasoning,
// content and tool calls.
//
// A [Template] is made once for each model, [Params] once for each request, and a [Stream] takes the answer in pieces. They hold
// memory of the C library: Close gives it back, in any order, none needs another; what is not closed is freed some time after it
// becomes unreachable. Messages and deltas are plain Go values. Templates and params may be in use by any number of goroutines at
// once, a stream by one at a time.
//
// The C library is found with pkg-config.
package chatparse

/*
#cgo pkg-config: chatparse
#include <chatparse.h>
*/
import "C"

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"
)

// Status says why a call failed. Later versions of the library may know more; treat one that you do not know like the first of
// its hundred.
type Status uint32

const (
	StatusInvalidArgument Status = C.CHAT_STATUS_INVALID_ARGUMENT // The caller's input has the wrong shape.
	StatusTemplate        Status = C.CHAT_STATUS_TEMPLATE         // The template does not parse, or fails while it renders.
	StatusSchema          Status = C.CHAT_STATUS_SCHEMA           // A JSON schema cannot be used.
	StatusLimit           Status = C.CHAT_STATUS_LIMIT            // The input is too long, too deep or too costly.
	StatusParse           Status = C.CHAT_STATUS_PARSE            // With Strict only: the output does not fit the format.
	StatusInternal        Status = C.CHAT_STATUS_INTERNAL         // A defect of the library.
)

// String is the name of the status, such as "invalid_argument".
func (s Status) String() string { return C.GoString(C.chat_status_name(C.uint32_t(s))) }

// Error is what every failing call returns; get at it with [errors.As].
type Error struct {
	Status  Status
	Message string // What is wrong and where, for people.
}

func (e *Error) Error() string { return fmt.Sprintf("chatparse: %s: %s", e.Status, e.Message) }

// DeltaKind is the part of the message that a delta adds to or takes from. Later versions may have more: pass over what you do not know.
type DeltaKind uint32

const (
	Reasoning     DeltaKind = C.CHAT_DELTA_KIND_REASONING
	Content       DeltaKind = C.CHAT_DELTA_KIND_CONTENT
	ToolName      DeltaKind = C.CHAT_DELTA_KIND_TOOL_NAME      // All of the name: the first delta of each call.
	ToolID        DeltaKind = C.CHAT_DELTA_KIND_TOOL_ID        // All of the id; at most once a call.
	ToolArguments DeltaKind = C.CHAT_DELTA_KIND_TOOL_ARGUMENTS // A piece of JSON text.
	ToolEnd       DeltaKind = C.CHAT_DELTA_KIND_TOOL_END       // The call is whole; the text is empty.
)

// After [Stream.Rollback] only.
const (
	ReasoningWithdrawn     DeltaKind = C.CHAT_DELTA_KIND_REASONING_WITHDRAWN // The text is to be taken from the end.
	ContentWithdrawn       DeltaKind = C.CHAT_DELTA_KIND_CONTENT_WITHDRAWN
	CallWithdrawn          DeltaKind = C.CHAT_DELTA_KIND_CALL_WITHDRAWN // All of the last call; the text is its name.
	ToolIDWithdrawn        DeltaKind = C.CHAT_DELTA_KIND_TOOL_ID_WITHDRAWN
	ToolArgumentsWithdrawn DeltaKind = C.CHAT_DELTA_KIND_TOOL_ARGUMENTS_WITHDRAWN
	ToolEndWithdrawn       DeltaKind = C.CHAT_DELTA_KIND_TOOL_END_WITHDRAWN // The call is not whole any more.
)

// String is the name of the kind, such as "tool_arguments".
func (k DeltaKind) String() string { return C.GoString(C.chat_delta_kind_name(C.uint32_t(k))) }

// Delta is a text to append to the message or, after [Stream.Rollback], to take from it. All deltas of a stream, applied in order,
// are its message.
type Delta struct {
	Kind       DeltaKind
	Call       int // Which tool call, from 0.
	Text       string
	Begin, End int // Where in the output the text comes from, in bytes.
}

// Outcome says how an output related to the template's format.
type Outcome uint32

const (
	Complete  Outcome = C.CHAT_OUTCOME_COMPLETE  // The whole output matched.
	Partial   Outcome = C.CHAT_OUTCOME_PARTIAL   // It was cut off, or is still coming.
	Recovered Outcome = C.CHAT_OUTCOME_RECOVERED // It left the format; what fits nowhere is content.
)

// ToolCall is a call of a tool.
type ToolCall struct {
	ID        string // Empty where the model's format has none.
	Name      string
	Arguments string // JSON text, or a prefix of it where the output was cut off.
}

// Message is what a model said.
type Message struct {
	Outcome   Outcome
	Content   string
	Reasoning string
	ToolCalls []ToolCall
	JSON      string // The whole as an OpenAI message.
}

// Flags of an output; 0 for one that the model has ended.
type Flags uint32

const (
	Cut    Flags = C.CHAT_PARSE_PARTIAL // The output is cut off, or more is to come.
	Strict Flags = C.CHAT_PARSE_STRICT  // Not to fit the format is an error.
)

// Report is a report about a template, JSON text. The C header lists the fields of each.
type Report uint32

const (
	ReportCaps   Report = C.CHAT_REPORT_CAPS   // What the template accepts.
	ReportTurn   Report = C.CHAT_REPORT_TURN   // What was learnt of an assistant's turn.
	ReportLayout Report = C.CHAT_REPORT_LAYOUT // The same by llama.cpp's names.
	ReportProof  Report = C.CHAT_REPORT_PROOF  // The proof with what is not read back, and why.
	ReportLint   Report = C.CHAT_REPORT_LINT   // For authors of templates.

	// How outputs are read, as a response template for other programs.
	ReportResponseTemplate Report = C.CHAT_REPORT_RESPONSE_TEMPLATE
)

// Template is a compiled chat template.
type Template struct{ handle *C.chat_template }

// NewTemplate compiles a template. bos and eos are the texts of the model's special tokens; empty where it has none.
func NewTemplate(source, bos, eos string) (*Template, error) {
	t := &Template{}
	var failed *C.chat_error
	status := C.chat_template_new(chars(source), length(source), chars(bos), length(bos), chars(eos), length(eos), &t.handle, &failed)
	return owned(t, status, failed)
}

// NewTemplateWithOptions compiles a template that is to be taken in a certain way: options is a JSON object such as
// {"eos": "</s>", "learn_only": true}. The C header lists the fields.
func NewTemplateWithOptions(source, options string) (*Template, error) {
	t := &Template{}
	var failed *C.chat_error
	status := C.chat_template_with_options(chars(source), length(source), chars(options), length(options), &t.handle, &failed)
	return owned(t, status, failed)
}

// Builtin is a template that the library brings along, such as "chatml".
func Builtin(name string) (*Template, error) {
	t := &Template{}
	var failed *C.chat_error
	status := C.chat_template_builtin(chars(name), length(name), &t.handle, &failed)
	return owned(t, status, failed)
}

// Close frees the template; what was made from it stays valid. Closing again is fine.
func (t *Template) Close() error {
	C.chat_template_free(t.handle)
	t.handle = nil
	return nil
}

// Reader is what reads the model's output: "turn", "response-template", or the name of a family of templates.
func (t *Template) Reader() (string, error) {
	defer runtime.KeepAlive(t)
	var out C.chat_str
	var failed *C.chat_error
	if status := C.chat_template_reader(t.handle, &out, &failed); status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	return text(out), nil
}

// Proof says how many messages that the template writes are read back, and of how many.
func (t *Template) Proof() (readBack, cases int, err error) {
	defer runtime.KeepAlive(t)
	var read, all C.size_t
	var failed *C.chat_error
	if status := C.chat_template_proof(t.handle, &read, &all, &failed); status != C.CHAT_STATUS_OK {
		return 0, 0, failure(failed)
	}
	return int(read), int(all), nil
}

// Report makes a report about the template, once.
func (t *Template) Report(which Report) (string, error) {
	defer runtime.KeepAlive(t)
	var out C.chat_str
	var failed *C.chat_error
	if status := C.chat_template_report(t.handle, C.uint32_t(which), &out, &failed); status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	return text(out), nil
}

// Params renders the prompt of a request, the JSON text of an OpenAI chat-completions body, and builds the parser of its output.
func (t *Template) Params(request string) (*Params, error) {
	defer runtime.KeepAlive(t)
	p := &Params{}
	var failed *C.chat_error
	status := C.chat_params_from_template(t.handle, chars(request), length(request), &p.handle, &failed)
	return owned(p, status, failed)
}

// Params is what one request needs.
type Params struct{ handle *C.chat_params }

// Close frees the params; streams that were made from them stay valid. Closing again is fine.
func (p *Params) Close() error {
	C.chat_params_free(p.handle)
	p.handle = nil
	return nil
}

// Prompt is what the model is given.
func (p *Params) Prompt() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_prompt(p.handle))
}

// JSON is all of the params: prompt, grammar and triggers, stops, preserved tokens. The C header lists the fields.
func (p *Params) JSON() (string, error) {
	defer runtime.KeepAlive(p)
	var out C.chat_str
	var failed *C.chat_error
	if status := C.chat_params_json(p.handle, &out, &failed); status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	return text(out), nil
}

// Parse reads an output that is there.
func (p *Params) Parse(output string, flags Flags) (*Message, error) {
	defer runtime.KeepAlive(p)
	var handle *C.chat_message
	var failed *C.chat_error
	status := C.chat_parse_partial(p.handle, chars(output), length(output), C.uint32_t(flags), &handle, &failed)
	return message(handle, status, failed)
}

// Next goes on behind an output with new messages, the JSON text of an array, so that nothing that was sent is written anew: Append of
// the new params is what to send behind the first Kept bytes.
func (p *Params) Next(output, messages string) (*Params, error) {
	defer runtime.KeepAlive(p)
	next := &Params{}
	var failed *C.chat_error
	status := C.chat_params_continue(p.handle, chars(output), length(output), chars(messages), length(messages), 0, &next.handle, &failed)
	return owned(next, status, failed)
}

// Kept is how many bytes of what was sent before Next, prompt and output, stand in the prompt.
func (p *Params) Kept() int {
	defer runtime.KeepAlive(p)
	return int(C.chat_params_kept(p.handle))
}

// Append is what to send behind these.
func (p *Params) Append() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_append(p.handle))
}

// Rendered is the prompt as the template renders the whole conversation; another one where the request's option append is "always".
func (p *Params) Rendered() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_rendered(p.handle))
}

// Rewrite says why the template writes anew what was sent, behind byte Kept unless the option append is "always"; empty where it does not.
func (p *Params) Rewrite() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_rewrite(p.handle).words)
}

// Parser is what the output is parsed with, by itself.
func (p *Params) Parser() (*Parser, error) {
	defer runtime.KeepAlive(p)
	parser := &Parser{}
	var failed *C.chat_error
	status := C.chat_params_parser(p.handle, &parser.handle, &failed)
	return owned(parser, status, failed)
}

// Stream is a parser at the start of an output.
func (p *Params) Stream() (*Stream, error) {
	defer runtime.KeepAlive(p)
	s := &Stream{}
	var failed *C.chat_error
	status := C.chat_stream_new(p.handle, &s.handle, &failed)
	return owned(s, status, failed)
}

// Parser is what an output is parsed with, without the rest of the params. As a text it can be kept, or sent to another process
// whose library has the same version.
type Parser struct{ handle *C.chat_parser }

// ParserFromText is the parser of a text that [Parser.Text] has given.
func ParserFromText(source string) (*Parser, error) {
	p := &Parser{}
	var failed *C.chat_error
	status := C.chat_parser_from_text(chars(source), length(source), &p.handle, &failed)
	return owned(p, status, failed)
}

// Close frees the parser; streams that were made from it stay valid. Closing again is fine.
func (p *Parser) Close() error {
	C.chat_parser_free(p.handle)
	p.handle = nil
	return nil
}

// Text is what [ParserFromText] takes.
func (p *Parser) Text() (string, error) {
	defer runtime.KeepAlive(p)
	var out C.chat_str
	var failed *C.chat_error
	if status := C.chat_parser_text(p.handle, &out, &failed); status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	return text(out), nil
}

// Parse reads an output that is there.
func (p *Parser) Parse(output string, flags Flags) (*Message, error) {
	defer runtime.KeepAlive(p)
	var handle *C.chat_message
	var failed *C.chat_error
	status := C.chat_parser_parse(p.handle, chars(output), length(output), C.uint32_t(flags), &handle, &failed)
	return message(handle, status, failed)
}

// Stream is a parse at the start of an output.
func (p *Parser) Stream() (*Stream, error) {
	defer runtime.KeepAlive(p)
	s := &Stream{}
	var failed *C.chat_error
	status := C.chat_stream_from_parser(p.handle, &s.handle, &failed)
	return owned(s, status, failed)
}

// Stream is a parse in progress.
type Stream struct{ handle *C.chat_stream }

// Close frees the stream. Closing again is fine.
func (s *Stream) Close() error {
	C.chat_stream_free(s.handle)
	s.handle = nil
	return nil
}

// Feed takes the next piece of the output, cut anywhere, and tells what it adds to the message.
func (s *Stream) Feed(piece []byte) ([]Delta, error) {
	defer runtime.KeepAlive(s)
	var first *C.char
	if len(piece) > 0 {
		first = (*C.char)(unsafe.Pointer(&piece[0]))
	}
	var failed *C.chat_error
	if status := C.chat_stream_feed(s.handle, first, C.size_t(len(piece)), &failed); status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	return s.deltas()
}

// Finish ends the output; what was held back, because it could have become a marker, is in the deltas.
func (s *Stream) Finish(flags Flags) ([]Delta, error) {
	defer runtime.KeepAlive(s)
	var failed *C.chat_error
	if status := C.chat_stream_finish(s.handle, C.uint32_t(flags), &failed); status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	return s.deltas()
}

// Checkpoint notes how the parse stands; [Stream.Rollback] goes back to here, or to any later byte. There is one at a time.
func (s *Stream) Checkpoint() error {
	defer runtime.KeepAlive(s)
	var failed *C.chat_error
	if status := C.chat_stream_checkpoint(s.handle, &failed); status != C.CHAT_STATUS_OK {
		return failure(failed)
	}
	return nil
}

// Rollback takes back all output behind its first length bytes, and tells what that withdraws from the message.
func (s *Stream) Rollback(length int) ([]Delta, error) {
	defer runtime.KeepAlive(s)
	var failed *C.chat_error
	if status := C.chat_stream_rollback(s.handle, C.size_t(length), &failed); status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	return s.deltas()
}

// SetBudget bounds the work of the parse: base, and perByte for each byte of output. What comes behind it is content.
func (s *Stream) SetBudget(base, perByte uint64) error {
	defer runtime.KeepAlive(s)
	var failed *C.chat_error
	if status := C.chat_stream_set_budget(s.handle, C.uint64_t(base), C.uint64_t(perByte), &failed); status != C.CHAT_STATUS_OK {
		return failure(failed)
	}
	return nil
}

// Work is what the parse has taken so far of its budget.
func (s *Stream) Work() uint64 {
	defer runtime.KeepAlive(s)
	return uint64(C.chat_stream_work(s.handle))
}

// Chunk is the last deltas as the "delta" object of an OpenAI chunk, JSON text; {} where they add nothing.
func (s *Stream) Chunk() (string, error) {
	defer runtime.KeepAlive(s)
	var out C.chat_str
	var failed *C.chat_error
	if status := C.chat_stream_chunk_json(s.handle, &out, &failed); status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	return text(out), nil
}

// Message is the message so far or, after Finish, the message.
func (s *Stream) Message() (*Message, error) {
	defer runtime.KeepAlive(s)
	var handle *C.chat_message
	var failed *C.chat_error
	status := C.chat_stream_message(s.handle, &handle, &failed)
	return message(handle, status, failed)
}

func (s *Stream) deltas() ([]Delta, error) {
	deltas := make([]Delta, C.chat_stream_delta_count(s.handle))
	for i := range deltas {
		var raw C.chat_delta
		var failed *C.chat_error
		if status := C.chat_stream_delta(s.handle, C.size_t(i), &raw, &failed); status != C.CHAT_STATUS_OK {
			return nil, failure(failed)
		}
		deltas[i] = Delta{DeltaKind(raw.kind), int(raw.call), text(raw.text), int(raw.span_begin), int(raw.span_end)}
	}
	return deltas, nil
}

// owned hands out what a call has made, to be freed at the latest when it is unreachable, or says why it has made nothing.
func owned[T interface{ Close() error }](object T, status C.chat_status, failed *C.chat_error) (T, error) {
	if status != C.CHAT_STATUS_OK {
		var none T
		return none, failure(failed)
	}
	runtime.SetFinalizer(object, func(object T) { object.Close() })
	return object, nil
}

// message copies a message and frees the library's.
func message(handle *C.chat_message, status C.chat_status, failed *C.chat_error) (*Message, error) {
	if status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	defer C.chat_message_free(handle)
	var json C.chat_str
	if status := C.chat_message_json(handle, &json, &failed); status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	m := &Message{
		Outcome:   Outcome(C.chat_message_outcome(handle)),
		Content:   text(C.chat_message_content(handle)),
		Reasoning: text(C.chat_message_reasoning(handle)),
		ToolCalls: make([]ToolCall, C.chat_message_tool_call_count(handle)),
		JSON:      text(json),
	}
	for i := range m.ToolCalls {
		m.ToolCalls[i] = ToolCall{
			ID:        text(C.chat_message_tool_call_id(handle, C.size_t(i))),
			Name:      text(C.chat_message_tool_call_name(handle, C.size_t(i))),
			Arguments: text(C.chat_message_tool_call_arguments(handle, C.size_t(i))),
		}
	}
	return m, nil
}

// failure copies an error and frees the library's.
func failure(failed *C.chat_error) error {
	defer C.chat_error_free(failed)
	return &Error{Status(C.chat_error_status(failed)), text(C.chat_error_message(failed))}
}

// text copies a view while what it was asked of lives.
func text(view C.chat_str) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(view.data)), int(view.len)))
}

// chars is the text itself, for the time of a call: the library does not change it, and copies what it keeps.
func chars(text string) *C.char {
	return (*C.char)(unsafe.Pointer((*reflect.StringHeader)(unsafe.Pointer(&text)).Data))
}

func length(text string) C.size_t { return C.size_t(len(text)) }
