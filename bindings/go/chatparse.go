// Package chatparse renders the prompts of chat templates, and parses what the model answers, while it streams in, into reasoning,
// content and tool calls.
//
// A [Template] is made once for each model, [Params] once for each request, and a [Stream] takes the answer in pieces. They hold
// memory of the C library: Close gives it back, in any order, none needs another; what is not closed is freed some time after it
// becomes unreachable. Messages and deltas are plain Go values. Templates, params and segments may be in use by any number of
// goroutines at once, a stream or a matcher by one at a time.
//
// The C library is found with pkg-config.
package chatparse

/*
#cgo pkg-config: chatparse
#include <chatparse.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
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
	Partial   Outcome = C.CHAT_OUTCOME_PARTIAL   // It was cut off, is still coming, or stopped inside the reasoning.
	Recovered Outcome = C.CHAT_OUTCOME_RECOVERED // It broke the format; calls in other known formats are calls, all else is content.
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
	// The same within what an engine takes.
	ReportResponseTemplateVllm     Report = C.CHAT_REPORT_RESPONSE_TEMPLATE_VLLM
	ReportResponseTemplateVllmRust Report = C.CHAT_REPORT_RESPONSE_TEMPLATE_VLLM_RUST
	ReportResponseTemplateSglang   Report = C.CHAT_REPORT_RESPONSE_TEMPLATE_SGLANG
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
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_template_reader(t.handle, out, failed)
	})
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
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_template_report(t.handle, C.uint32_t(which), out, failed)
	})
}

// Params renders the prompt of a request, the JSON text of an OpenAI chat-completions body, and builds the parser of its output. options
// is a JSON object with options of the host, which win over the request's, so no client overrides them; {} where there is none to set.
func (t *Template) Params(request, options string) (*Params, error) {
	defer runtime.KeepAlive(t)
	p := &Params{}
	var failed *C.chat_error
	status := C.chat_params_from_template_with(
		t.handle, chars(request), length(request), chars(options), length(options), &p.handle, &failed)
	return owned(p, status, failed)
}

// ParamsFor makes the params of a prompt that the host has rendered: what its end leaves open, reasoning or a text, is read from it. Of
// the request, the JSON text of a body whose messages may be empty, the tools and the options count.
func (t *Template) ParamsFor(prompt, request string) (*Params, error) {
	defer runtime.KeepAlive(t)
	p := &Params{}
	var failed *C.chat_error
	status := C.chat_params_for_prompt(t.handle, chars(prompt), length(prompt), chars(request), length(request), &p.handle, &failed)
	return owned(p, status, failed)
}

// Segments finds whose text each byte of a request's prompt is. options is a JSON object with options of the host, such as
// {"for_training": true}; {} where there is none to set.
func (t *Template) Segments(request, options string) (*Segments, error) {
	defer runtime.KeepAlive(t)
	s := &Segments{}
	var failed *C.chat_error
	status := C.chat_segments_from_template(t.handle, chars(request), length(request), chars(options), length(options), &s.handle, &failed)
	return owned(s, status, failed)
}

// SegmentsBatch makes the segments of each request, on at most this many threads; 0: on as many as the machine runs at once. The
// options hold for all. The first request that fails is the error, with its index.
func (t *Template) SegmentsBatch(requests []string, options string, threads int) ([]*Segments, error) {
	defer runtime.KeepAlive(t)
	// C must not see a list of Go's texts: they are passed as one text of C's.
	joined := C.CString(strings.Join(requests, ""))
	defer C.free(unsafe.Pointer(joined))
	texts := make([]C.chat_str, len(requests))
	at := 0
	for i, request := range requests {
		texts[i] = C.chat_str{data: (*C.char)(unsafe.Add(unsafe.Pointer(joined), at)), len: length(request)}
		at += len(request)
	}
	handles := make([]*C.chat_segments, len(requests))
	var failed *C.chat_error
	status := C.chat_segments_batch(
		t.handle, first(texts), C.size_t(len(texts)), chars(options), length(options), C.size_t(threads), first(handles), &failed)
	all := make([]*Segments, len(requests))
	for i, handle := range handles {
		all[i], _ = owned(&Segments{handle}, C.CHAT_STATUS_OK, nil)
	}
	if status != C.CHAT_STATUS_OK {
		for _, made := range all {
			made.Close()
		}
		return nil, failure(failed)
	}
	return all, nil
}

// Origin says where a part of a prompt comes from. Take one that you do not know for OriginUnknown.
type Origin uint32

const (
	OriginTemplate Origin = C.CHAT_TEXT_ORIGIN_TEMPLATE // The template's own text, special tokens included.
	OriginMessage  Origin = C.CHAT_TEXT_ORIGIN_MESSAGE
	OriginTool     Origin = C.CHAT_TEXT_ORIGIN_TOOL
	OriginVariable Origin = C.CHAT_TEXT_ORIGIN_KWARG   // A template variable that the request sets, or its documents.
	OriginUnknown  Origin = C.CHAT_TEXT_ORIGIN_UNKNOWN // Never the template's text alone: treat it like a user's.
)

// Span is a range of bytes or characters.
type Span struct{ Begin, End int }

// Segment is a part of a prompt that comes from one place.
type Segment struct {
	Span   // Its bytes.
	Origin Origin
	Index  int    // Which message or tool of the request; 0 for others.
	Path   string // Of a message: the field, a JSON pointer. Of a variable: its name.
}

// Token says what a token of a prompt is.
type Token struct {
	Origin  Origin // Whose text it is; with a byte of a value it is never the template's.
	Message int    // Which message it comes from, or in whose turn it is; -1 for others.
	Sampled bool   // Whether a model wrote a byte of it.
}

// MaskParts are what of the models' text a mask holds, a sum.
type MaskParts uint32

const (
	MaskReasoning MaskParts = C.CHAT_MASK_REASONING
	MaskContent   MaskParts = C.CHAT_MASK_CONTENT
	MaskCalls     MaskParts = C.CHAT_MASK_CALLS
	MaskEnd       MaskParts = C.CHAT_MASK_END       // What ends a turn.
	MaskLastOnly  MaskParts = C.CHAT_MASK_LAST_ONLY // Of the last turn alone.
	MaskPrefill   MaskParts = C.CHAT_MASK_PREFILL   // What the prompt has already written of a turn.
	MaskSpace     MaskParts = C.CHAT_MASK_SPACE     // The white space behind the end of a turn.
	MaskAll                 = MaskReasoning | MaskContent | MaskCalls | MaskEnd
)

// Segments is a prompt with the origin of each of its bytes. A tokenizer should encode special tokens only where that is
// OriginTemplate: then no text of a user becomes one.
type Segments struct{ handle *C.chat_segments }

// Close frees the segments. Closing again is fine.
func (s *Segments) Close() error {
	C.chat_segments_free(s.handle)
	s.handle = nil
	return nil
}

// Prompt is what the template renders.
func (s *Segments) Prompt() string {
	defer runtime.KeepAlive(s)
	return text(C.chat_segments_view(s.handle).prompt)
}

// List is the segments in the order of the prompt. They cover it, and none is empty.
func (s *Segments) List() ([]Segment, error) {
	defer runtime.KeepAlive(s)
	all := C.chat_segments_view(s.handle).segments
	list := make([]Segment, all.len)
	for i, raw := range unsafe.Slice(all.data, all.len) {
		list[i] = Segment{Span{int(raw.begin), int(raw.end)}, Origin(raw.origin), int(raw.index), text(raw.path)}
	}
	return list, nil
}

// Mask is the bytes of the prompt that models wrote, for training.
func (s *Segments) Mask(parts MaskParts) []Span {
	defer runtime.KeepAlive(s)
	raw := make([]C.chat_span, C.chat_segments_mask(s.handle, C.uint32_t(parts), nil, 0))
	C.chat_segments_mask(s.handle, C.uint32_t(parts), first(raw), C.size_t(len(raw)))
	spans := make([]Span, len(raw))
	for i, span := range raw {
		spans[i] = Span{int(span.begin), int(span.end)}
	}
	return spans
}

// Tokens says what the tokens at these places of the prompt are. Places are in characters if inChars, as tokenizers of transformers
// give them, else in bytes. parts says what counts as sampled, as for [Segments.Mask].
func (s *Segments) Tokens(offsets []Span, parts MaskParts, inChars bool) ([]Token, error) {
	defer runtime.KeepAlive(s)
	places := make([]C.chat_span, len(offsets))
	for i, place := range offsets {
		places[i] = C.chat_span{begin: C.size_t(place.Begin), end: C.size_t(place.End)}
	}
	raw := make([]C.chat_segment_token, len(offsets))
	var failed *C.chat_error
	status := C.chat_segments_tokens(
		s.handle, C.uint32_t(parts), first(places), C.size_t(len(places)), C.bool(inChars), first(raw), &failed)
	if status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	tokens := make([]Token, len(raw))
	for i, label := range raw {
		// None is the largest number, which is -1 as an int.
		tokens[i] = Token{Origin(label.origin), int(label.message), bool(label.sampled)}
	}
	return tokens, nil
}

// Limit says what ran out in search of origins and turns; empty where nothing did. If something did, more is OriginUnknown than need
// be, or turns are missing in masks.
func (s *Segments) Limit() string {
	defer runtime.KeepAlive(s)
	return text(C.chat_segments_view(s.handle).limit)
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
	return text(C.chat_params_view(p.handle).prompt)
}

// JSON is all of the params: prompt, grammar and triggers, stops, preserved tokens. The C header lists the fields.
func (p *Params) JSON() (string, error) {
	defer runtime.KeepAlive(p)
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_params_json(p.handle, out, failed)
	})
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
	return int(C.chat_params_turn(p.handle).kept)
}

// Append is what to send behind these.
func (p *Params) Append() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_turn(p.handle).append)
}

// Rendered is the prompt as the template renders the whole conversation; another one where the request's option append is "always".
func (p *Params) Rendered() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_turn(p.handle).rendered)
}

// Rewrite says why the template writes anew what was sent, behind byte Kept unless the option append is "always"; empty where it does not.
func (p *Params) Rewrite() string {
	defer runtime.KeepAlive(p)
	return text(C.chat_params_turn(p.handle).words)
}

// Parser is what the output is parsed with, by itself.
func (p *Params) Parser() (*Parser, error) {
	defer runtime.KeepAlive(p)
	parser := &Parser{}
	var failed *C.chat_error
	status := C.chat_params_parser(p.handle, &parser.handle, &failed)
	return owned(parser, status, failed)
}

// Matcher says what may come next in the output, and what must, from its first byte on. Each call makes it anew; keep it, and clone it.
func (p *Params) Matcher() (*Matcher, error) {
	defer runtime.KeepAlive(p)
	m := &Matcher{}
	var failed *C.chat_error
	status := C.chat_params_matcher(p.handle, &m.handle, &failed)
	return owned(m, status, failed)
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

// ParserFromText is the parser of a text that [Parser.Text] has given, or of a description of a format (docs/formats.md).
func ParserFromText(source string) (*Parser, error) {
	p := &Parser{}
	var failed *C.chat_error
	status := C.chat_parser_from_json(chars(source), length(source), &p.handle, &failed)
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
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_parser_json(p.handle, out, failed)
	})
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
	var failed *C.chat_error
	if status := C.chat_stream_feed(s.handle, (*C.char)(unsafe.Pointer(first(piece))), C.size_t(len(piece)), &failed); status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	return s.deltas()
}

// Pending is the last bytes fed that are in no delta yet, and are not known to be markup either.
func (s *Stream) Pending() string {
	defer runtime.KeepAlive(s)
	return text(C.chat_stream_view(s.handle).pending)
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
	return uint64(C.chat_stream_view(s.handle).work)
}

// Chunk is the last deltas as the "delta" object of an OpenAI chunk, JSON text; {} where they add nothing.
func (s *Stream) Chunk() (string, error) {
	defer runtime.KeepAlive(s)
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_stream_chunk_json(s.handle, out, failed)
	})
}

// State says in what the output stands, JSON text: part ("reasoning", "content", "markup", "name", "key" or "value"), the number of the open
// call and its tool, a JSON pointer into its arguments, in_string, and left_at, the byte at which it has left the format.
func (s *Stream) State() (string, error) {
	defer runtime.KeepAlive(s)
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_stream_state_json(s.handle, out, failed)
	})
}

// Schema is the schema of the value at the pointer of State, JSON text: what the tool asks of it; "true" where it asks nothing, "false" where no
// value may be, "null" where no call is open or its tool is not known.
func (s *Stream) Schema() (string, error) {
	defer runtime.KeepAlive(s)
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_stream_schema_json(s.handle, out, failed)
	})
}

// Closing is what closes the output now, in the model's own words, JSON text: the text; whether it is complete behind that; the values that
// are missing, each with tool, pointer and begun; and the reason why it is not complete.
func (s *Stream) Closing() (string, error) {
	defer runtime.KeepAlive(s)
	return said(func(out *C.chat_str, failed **C.chat_error) C.chat_status {
		return C.chat_stream_close_json(s.handle, out, failed)
	})
}

// Grammar is what may follow what was fed, for an engine that begins here: all of the format, also where the request's grammar is lazy.
func (s *Stream) Grammar(dialect Dialect) (string, error) {
	defer runtime.KeepAlive(s)
	var handle *C.chat_grammar
	var failed *C.chat_error
	status := C.chat_stream_grammar(s.handle, C.uint32_t(dialect), &handle, &failed)
	return grammar(handle, status, failed)
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
	all := C.chat_stream_view(s.handle).deltas
	deltas := make([]Delta, all.len)
	for i, raw := range unsafe.Slice(all.data, all.len) {
		deltas[i] = Delta{DeltaKind(raw.kind), int(raw.call), text(raw.text), int(raw.span_begin), int(raw.span_end)}
	}
	return deltas, nil
}

// Dialect is a notation of grammars.
type Dialect uint32

const (
	GBNF          Dialect = C.CHAT_DIALECT_GBNF           // As llama.cpp writes it.
	PortableGBNF  Dialect = C.CHAT_DIALECT_PORTABLE_GBNF  // For all versions of llama.cpp, and for XGrammar.
	Lark          Dialect = C.CHAT_DIALECT_LARK           // For llguidance, XGrammar and vLLM.
	StructuralTag Dialect = C.CHAT_DIALECT_STRUCTURAL_TAG // XGrammar's structural tag, as JSON.
)

// Matcher is what may come next in an output, and what must. [Params.Matcher] makes that of a request.
type Matcher struct{ handle *C.chat_matcher }

// NewMatcher is the matcher of a grammar, which must be GBNF.
func NewMatcher(gbnf string) (*Matcher, error) {
	m := &Matcher{}
	var failed *C.chat_error
	status := C.chat_matcher_new(chars(gbnf), length(gbnf), &m.handle, &failed)
	return owned(m, status, failed)
}

// Close frees the matcher. Closing again is fine.
func (m *Matcher) Close() error {
	C.chat_matcher_free(m.handle)
	m.handle = nil
	return nil
}

// Feed goes on behind these bytes, cut anywhere, and tells how many of them are allowed; if those are not all, it stands in front of the
// first that is not.
func (m *Matcher) Feed(piece []byte) (int, error) {
	defer runtime.KeepAlive(m)
	var taken C.size_t
	var failed *C.chat_error
	status := C.chat_matcher_feed(m.handle, (*C.char)(unsafe.Pointer(first(piece))), C.size_t(len(piece)), &taken, &failed)
	if status != C.CHAT_STATUS_OK {
		return 0, failure(failed)
	}
	return int(taken), nil
}

// Can says whether all these bytes may come next.
func (m *Matcher) Can(piece []byte) bool {
	defer runtime.KeepAlive(m)
	return bool(C.chat_matcher_can(m.handle, (*C.char)(unsafe.Pointer(first(piece))), C.size_t(len(piece))))
}

// Allowed is the bytes that may come next, each once, in order.
func (m *Matcher) Allowed() ([]byte, error) {
	defer runtime.KeepAlive(m)
	var set C.chat_byte_set
	var failed *C.chat_error
	if status := C.chat_matcher_allowed(m.handle, &set, &failed); status != C.CHAT_STATUS_OK {
		return nil, failure(failed)
	}
	var allowed []byte
	for b := 0; b < 256; b++ {
		if set.words[b/64]>>(b%64)&1 != 0 {
			allowed = append(allowed, byte(b))
		}
	}
	return allowed, nil
}

// Forced is the longest text that must come next; empty where there is a choice, or where the output may end. It may end inside of a
// character.
func (m *Matcher) Forced() string {
	defer runtime.KeepAlive(m)
	forced := make([]byte, C.chat_matcher_forced(m.handle, nil, 0))
	C.chat_matcher_forced(m.handle, (*C.char)(unsafe.Pointer(first(forced))), C.size_t(len(forced)))
	return string(forced)
}

// MayEnd says whether the output may end here.
func (m *Matcher) MayEnd() bool {
	defer runtime.KeepAlive(m)
	return bool(C.chat_matcher_may_end(m.handle))
}

// Ended says whether the output must end here.
func (m *Matcher) Ended() bool {
	defer runtime.KeepAlive(m)
	return bool(C.chat_matcher_ended(m.handle))
}

// Grammar is what may follow what was fed, for an engine that begins there.
func (m *Matcher) Grammar(dialect Dialect) (string, error) {
	defer runtime.KeepAlive(m)
	var handle *C.chat_grammar
	var failed *C.chat_error
	status := C.chat_matcher_grammar(m.handle, C.uint32_t(dialect), &handle, &failed)
	return grammar(handle, status, failed)
}

// Clone is a second matcher at this place, to go back to; it is cheap.
func (m *Matcher) Clone() (*Matcher, error) {
	defer runtime.KeepAlive(m)
	clone := &Matcher{}
	var failed *C.chat_error
	status := C.chat_matcher_clone(m.handle, &clone.handle, &failed)
	return owned(clone, status, failed)
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
	fields := C.chat_message_view(handle)
	m := &Message{
		Outcome:   Outcome(fields.outcome),
		Content:   text(fields.content),
		Reasoning: text(fields.reasoning),
		ToolCalls: make([]ToolCall, fields.calls.len),
		JSON:      text(json),
	}
	for i, call := range unsafe.Slice(fields.calls.data, fields.calls.len) {
		m.ToolCalls[i] = ToolCall{ID: text(call.id), Name: text(call.name), Arguments: text(call.arguments)}
	}
	return m, nil
}

// grammar copies a grammar's text and frees the library's.
func grammar(handle *C.chat_grammar, status C.chat_status, failed *C.chat_error) (string, error) {
	if status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	defer C.chat_grammar_free(handle)
	return text(C.chat_grammar_view(handle).text), nil
}

// failure copies an error and frees the library's.
func failure(failed *C.chat_error) error {
	defer C.chat_error_free(failed)
	return &Error{Status(C.chat_error_status(failed)), text(C.chat_error_message(failed))}
}

// said is the text that a function of the library gives, or why there is none.
func said(ask func(out *C.chat_str, failed **C.chat_error) C.chat_status) (string, error) {
	var out C.chat_str
	var failed *C.chat_error
	if status := ask(&out, &failed); status != C.CHAT_STATUS_OK {
		return "", failure(failed)
	}
	return text(out), nil
}

// text copies a view while what it was asked of lives.
func text(view C.chat_str) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(view.data)), int(view.len)))
}

// chars is the text itself, for the time of a call: the library does not change it, and copies what it keeps.
func chars(text string) *C.char {
	return (*C.char)(unsafe.Pointer((*reflect.StringHeader)(unsafe.Pointer(&text)).Data))
}

// first is where a list begins; nil where it is empty.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func length(text string) C.size_t { return C.size_t(len(text)) }
