// chatparse.hpp, with exceptions.
#include "check.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <chatparse.hpp>

using chatparse::Delta;
using chatparse::Message;
using chatparse::Params;
using chatparse::Stream;
using chatparse::Template;

// What would dangle is a text of its own, or does not compile.
template <class T, class = void> struct GivesLists : std::false_type {};
template <class T> struct GivesLists<T, std::void_t<decltype(std::declval<T>().tool_calls())>> : std::true_type {};
static_assert(GivesLists<const Message &>::value && !GivesLists<Message>::value && !GivesLists<const Message>::value);
static_assert(std::is_same_v<decltype(std::declval<Message &>().content()), std::string_view>);
static_assert(std::is_same_v<decltype(std::declval<Message>().content()), std::string>);
static_assert(std::is_same_v<decltype(std::declval<const Message>().json()), std::string>);

static_assert(std::is_nothrow_move_constructible_v<Stream> && std::is_nothrow_move_assignable_v<Stream>);
static_assert(!std::is_copy_constructible_v<Stream> && !std::is_copy_assignable_v<Params>);
static_assert(std::is_nothrow_copy_constructible_v<chatparse::error>);
#ifdef __cpp_lib_concepts
static_assert(std::forward_iterator<chatparse::Deltas::iterator>);
#endif

static Params params(std::string_view options = "{}") { return Template::builtin("json-call").params(REQUEST, options); }

static Message message() { return params().parse(OUTPUT, CHAT_PARSE_STRICT); }

// The call throws an error of this status, whose text has this in it.
template <class F> static void throws(chat_status status, std::string_view part, F call) {
  try {
    call();
  } catch (const chatparse::error &error) {
    CHECK(error.status() == status && contains(error.message(), part) && error.what() == error.message());
    return;
  }
  CHECK(!"no error");
}

static void errors() {
  throws(CHAT_STATUS_TEMPLATE, "line", [] { Template::compile("a\n{% if %}"); });
  throws(CHAT_STATUS_INVALID_ARGUMENT, "chatml", [] { Template::builtin("no such"); });
  throws(CHAT_STATUS_INVALID_ARGUMENT, "plane", [] { params(R"({"plane": true})"); });
  throws(CHAT_STATUS_INVALID_ARGUMENT, "messages", [] { Template::builtin("chatml").segments("{}"); });
  throws(CHAT_STATUS_INVALID_ARGUMENT, "option", [] { Template::with_options("", R"({"no such": 1})"); });
  throws(CHAT_STATUS_SCHEMA, "#", [] { chatparse::Grammar::from_json_schema(R"({"type": "no such"})"); });
  throws(CHAT_STATUS_INVALID_ARGUMENT, "", [] { chatparse::Parser::from_json("no parser"); });
  throws(CHAT_STATUS_PARSE, "", [] { params().parse("<tool_call>?", CHAT_PARSE_STRICT); });

  // As one of the standard's; and copies stay when all else is gone.
  chatparse::error kept = [] {
    try {
      Template::builtin("no such");
    } catch (const std::runtime_error &error) {
      return dynamic_cast<const chatparse::error &>(error);
    }
    std::abort();
  }();
  const auto copy = kept;
  CHECK(copy.http_status() == 400 && contains(copy.body(CHAT_API_MESSAGES), "invalid_request_error"));
  CHECK(kept.message() == copy.message());
  CHECK(chatparse::status_name(CHAT_STATUS_SCHEMA) == "schema" && chatparse::version() == chat_version());
  CHECK(chatparse::delta_kind_name(CHAT_DELTA_KIND_TOOL_ID) == "tool_id");
  chatparse::check_version();
}

static void moved_from() {
  Params from = params();
  const std::string_view prompt = from.prompt();
  Params to = std::move(from);
  CHECK(to && to.prompt().data() == prompt.data());
  // NOLINTBEGIN(bugprone-use-after-move): that is the test.
  CHECK(!from && from.get() == nullptr && from.prompt().empty() && from.media().empty() && from.kept() == 0);
  throws(CHAT_STATUS_INVALID_ARGUMENT, "NULL", [&] { from.stream(); });
  from = std::move(to);
  CHECK(from.prompt() == prompt && !to);

  // Lists and views look into the object, wherever it is.
  Stream stream = from.stream();
  const auto deltas = stream.feed("Hello");
  Stream other = std::move(stream);
  CHECK(deltas.size() == 1 && deltas[0].text == "Hello" && other.deltas().size() == 1);
  CHECK(stream.deltas().empty() && stream.outcome() == CHAT_OUTCOME_NONE && stream.work() == 0);
  throws(CHAT_STATUS_INVALID_ARGUMENT, "NULL", [&] { stream.feed("x"); });
  throws(CHAT_STATUS_INVALID_ARGUMENT, "NULL", [&] { stream.clone(); });
  // NOLINTEND

  Message none;
  CHECK(!none && none.content().empty() && none.tool_calls().begin() == none.tool_calls().end());
  CHECK(chatparse::Segments().mask(CHAT_MASK_CONTENT).empty() && chatparse::Segments().empty());

  // To C and back.
  chat_stream *lent = other.release();
  CHECK(!other && chat_stream_view(lent)->deltas.len == 1);
  other = Stream(lent);
  CHECK(other.feed("!").size() == 1);
}

static void texts() {
  // Views stay as long as their object, whatever else goes.
  Message said;
  std::string_view content, json;
  {
    const auto made = params();
    Stream stream = made.stream();
    stream.feed(OUTPUT);
    stream.finish();
    said = stream.message();
    content = said.content();
    json = said.json();
  }
  CHECK(content == "See." && contains(json, "\"reasoning_content\":\"Hm.\"") && json == said.json());

  // Of a temporary, what is returned is a text of its own.
  const auto reasoning = message().reasoning();
  const auto report = message().report_json();
  CHECK(reasoning == "Hm." && contains(report, "complete"));
  CHECK(contains(params().json(), "generation_prompt") && !Template::builtin("chatml").source().empty());

  // Empty ones, with a pointer and without, and NUL.
  const auto empty = Template::compile("{# #}");
  CHECK(empty.source() == "{# #}");
  throws(CHAT_STATUS_INVALID_ARGUMENT, "", [&] { empty.params({}); });
  Stream stream = params().stream();
  CHECK(stream.feed({}).empty() && stream.feed("").empty());
  CHECK(stream.feed(std::string_view("a\0b", 3))[0].text.size() == 3);
  CHECK(params().parse({}).content().empty());
}

static void lists() {
  const auto said = message();
  const auto calls = said.tool_calls();
  CHECK(calls.size() == 1 && calls[0].name == "f" && calls[0].arguments == "{\"a\": 1}" && calls[0].id.empty());
  CHECK(calls[0].complete && calls[0].known && calls[0].valid && calls[0].origin == CHAT_ORIGIN_FORMAT);
  const std::vector<chatparse::Part> parts(said.parts().begin(), said.parts().end());
  CHECK(parts.size() == 3 && parts[0].text == "Hm." && parts[1].text == "See." && parts[2].kind == CHAT_PART_KIND_CALL);
  const auto spans = said.spans(CHAT_DELTA_KIND_TOOL_ARGUMENTS, 0);
  CHECK(spans.size() == 1 && OUTPUT.substr(spans[0].begin, spans[0].end - spans[0].begin) == calls[0].arguments);
  CHECK(said.spans(CHAT_DELTA_KIND_TOOL_NAME, 9).empty() && said.diagnostics().empty());

  const auto odd = params().parse("<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>");
  CHECK(odd.diagnostics().size() == 1 && !odd.tool_calls()[0].known);
  for (const auto &diagnostic : odd.diagnostics())
    CHECK(diagnostic.kind == CHAT_DIAGNOSTIC_KIND_UNKNOWN_TOOL && diagnostic.call == std::size_t{0} && !diagnostic.message.empty());

  const auto made = params();
  CHECK(std::count(made.thinking_end_tags().begin(), made.thinking_end_tags().end(), "</think>") <= 1);
  CHECK(made.end_of_turn() == "<|im_end|>");
  CHECK(made.supports_thinking() && contains(made.thinking_start_tag(), "<think>") && made.thinking_end_tags().size() == 1);
  CHECK(!made.message_delimiters().empty() && contains(made.message_delimiters()[0].text, "<|im_start|>"));
  CHECK(made.grammar_lazy() && contains(made.grammar_triggers()[0].value, "tool_call"));
  CHECK(contains(*made.preserved_tokens().begin(), "<") && made.additional_stops().empty() && made.media().empty());
  for (const std::string_view name : Template::builtin_names()) CHECK(Template::builtin(name));
  CHECK(!Template::builtin_names().empty());
}

static void segments() {
  const auto model = Template::builtin("json-call");
  const auto segments = model.segments(REQUEST);
  const std::string_view prompt = segments.prompt();
  CHECK(prompt == model.params(REQUEST).prompt() && segments.size() > 2);
  std::string all, user;
  for (const auto &segment : segments) {
    const auto text = prompt.substr(segment.span.begin, segment.span.end - segment.span.begin);
    all += text;
    if (segment.origin == CHAT_TEXT_ORIGIN_MESSAGE && segment.path == "/content") user += text;
  }
  CHECK(all == prompt && user == "Hi <|im_end|>" && segments[0].origin == CHAT_TEXT_ORIGIN_TEMPLATE);

  const auto trained = model.segments(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bc"}]})");
  const auto mask = trained.mask(CHAT_MASK_CONTENT);
  CHECK(mask.size() == 1 && trained.prompt().substr(mask[0].begin, mask[0].end - mask[0].begin) == "bc");
  const auto labels = trained.tokens(CHAT_MASK_CONTENT, {{0, 1}, {mask[0].begin, mask[0].end}}, true);
  CHECK(!labels[0].sampled && labels[1].sampled && labels[1].message == 1 && trained.limit().empty());

  const std::string_view both[] = {REQUEST, R"({"messages": [{"role": "user", "content": "a"}]})"};
  const auto batch = model.segments_batch(both, R"({"for_training": true})", 2);
  CHECK(batch.size() == 2 && contains(batch[0].prompt(), "Hi <|im_end|>") && contains(batch[1].prompt(), "a<|im_end|>"));
  throws(CHAT_STATUS_INVALID_ARGUMENT, "requests[1]", [&] { model.segments_batch(std::vector<std::string_view>{REQUEST, "{}"}); });
  CHECK(model.segments_batch(std::vector<std::string>()).empty());
}

// A client that gets deltas.
struct Client {
  std::string content;

  void take(const chatparse::Deltas &deltas) {
    for (const Delta &delta : deltas) {
      if (delta.kind == CHAT_DELTA_KIND_CONTENT) content += delta.text;
      if (delta.kind != CHAT_DELTA_KIND_CONTENT_WITHDRAWN) continue;
      CHECK(content.size() >= delta.text.size() && delta.span.begin == 6 && delta.span.end == 16);
      content.resize(content.size() - delta.text.size());
    }
  }
};

static void rolled_back() {
  Stream stream = params().stream();
  Client client;
  throws(CHAT_STATUS_INVALID_ARGUMENT, "checkpoint", [&] { stream.rollback(0); });
  client.take(stream.feed("Hello "));
  stream.checkpoint();
  client.take(stream.feed("wor"));
  const Stream draft = stream.clone();
  client.take(stream.feed("ld, bye"));
  client.take(stream.rollback(6));
  throws(CHAT_STATUS_INVALID_ARGUMENT, "", [&] { stream.rollback(99); });
  client.take(stream.feed("there"));
  client.take(stream.finish());
  CHECK(client.content == "Hello there" && stream.message().content() == client.content);
  CHECK(draft.message().content() == "Hello wor" && draft.deltas().size() == 1 && stream.work() > 0);
  stream.reset();
  CHECK(stream.deltas().empty() && stream.message().content().empty());
}

// Whatever is thrown in the middle of a stream, by us or by others, all is freed.
static void thrown_in_the_middle() {
  struct Stop {};
  std::string seen;
  try {
    const auto made = params();
    Stream stream = made.stream();
    stream.feed("Let me see. <tool_call>\n{\"name\": \"f\", \"argu");
    const Message so_far = stream.message();
    for (const auto &delta : stream.feed("ments\": {\"a\": ")) {
      seen += delta.text;
      throw Stop();
    }
  } catch (const Stop &) {
  }
  CHECK(seen == "{\"a\":");

  // What failed has changed nothing but what the manual says.
  Stream stream = params().stream();
  stream.feed("<tool_call>?");
  throws(CHAT_STATUS_PARSE, "", [&] { stream.finish(CHAT_PARSE_STRICT); });
  CHECK(stream.outcome() == CHAT_OUTCOME_RECOVERED && contains(stream.message().content(), "?"));
  throws(CHAT_STATUS_INVALID_ARGUMENT, "finished", [&] { stream.feed("x"); });
  CHECK(stream.message().content() == "<tool_call>?");
}

static void special_tokens() {
  const std::vector<std::string> tokens = {"<think>", "</think>"};
  Stream stream = params().stream();
  throws(CHAT_STATUS_INVALID_ARGUMENT, "special", [&] { stream.feed_marked("a", {}); });
  stream.set_special_tokens(tokens);
  CHECK(stream.feed_marked({}, std::vector<chatparse::Span>()).empty());
  const std::string_view output = "<think>\nA </think> of text.</think>Then";
  const std::array<chatparse::Span, 2> spans{{{0, 7}, {27, 35}}};
  stream.feed_marked(output, spans);
  stream.finish();
  CHECK(contains(stream.message().reasoning(), "A </think> of text.") && contains(stream.message().content(), "Then"));
  stream.reset();
  stream.set_special_tokens({"<think>", "</think>"});
  stream.set_budget(1000000, 100);
  stream.feed_marked("<think>", {{0, 7}});
  CHECK(stream.feed("So").size() == 1 && contains(stream.chunk_json(), "So"));
  CHECK(contains(stream.state_json(), "\"part\":\"reasoning\"") && stream.schema_json() == "null");
}

static void formats() {
  const auto model = Template::builtin("json-call");
  const auto proof = model.proof();
  CHECK(proof.cases > 0 && proof.read_back == proof.cases && contains(model.report(CHAT_REPORT_PROOF), "read_back"));
  CHECK(contains(model.report(CHAT_REPORT_LAYOUT), "format") && contains(model.report(CHAT_REPORT_LINT), "faults"));
  CHECK(!model.reader().empty() && contains(model.report(CHAT_REPORT_CAPS), "supports_tools"));

  const auto made = params();
  const auto parser = chatparse::Parser::from_json(made.parser().json());
  CHECK(parser.parse(OUTPUT).content() == "See.");
  CHECK(contains(parser.grammar(true).text(), "root ::="));
  CHECK(contains(made.grammar(CHAT_DIALECT_LARK).text(), "start") && !made.format().empty());
  CHECK(contains(made.grammar().as(CHAT_DIALECT_PORTABLE_GBNF).text(), "root"));
  Stream stream = parser.stream();
  stream.feed(OUTPUT);
  stream.finish(CHAT_PARSE_STRICT);

  auto builder = chatparse::GrammarBuilder::create();
  builder.set_style(CHAT_GRAMMAR_STYLE_FAITHFUL);
  const std::string city = builder.add_schema("city", R"({"enum": ["Oslo"]})");
  const std::string open = builder.add_literal("open", "<a>");
  builder.add_rule("root", open + " " + city);
  const auto grammar = builder.build();
  CHECK(chatparse::Grammar::check(grammar.text(), "<a>\"Oslo\"") == CHAT_GRAMMAR_VERDICT_ALLOWED);
  auto matcher = chatparse::Matcher::from_grammar(grammar.text());
  CHECK(matcher.forced() == "<a>\"Oslo\"" && matcher.can("<a>") && !matcher.can("<b>"));
  const auto copy = matcher.clone();
  CHECK(matcher.feed("<a>\"Os\"") == 6 && matcher.forced() == "lo\"" && matcher.allowed().words[1] == std::uint64_t{1} << ('l' - 64));
  CHECK(matcher.feed("lo\"") == 3 && matcher.ended() && matcher.may_end() && !copy.may_end());
  CHECK(made.matcher().feed("") == 0);
  const auto wide = chatparse::Grammar::from_json_schema(R"({"type": "array", "uniqueItems": true})");
  for (const auto &place : wide.report()) CHECK(place.kind == CHAT_FIDELITY_KIND_WIDENED && contains(place.pointer, "#"));
  CHECK(wide.report().size() == 1 && chatparse::schema_allows_string(R"({"type": "string"})"));
}

static void own_formats() {
  const auto parser = chatparse::Parser::from_json(R"({"format": {"root": {"sequence": [
    {"tag": ["content", {"until": ["[weather]"]}]},
    {"repeat": [{"rule": {"name": "call", "trigger": true, "child": {"sequence": [
      {"atomic": {"tag": ["tool-open", {"sequence": [{"literal": "["}, {"tag": ["tool-name", {"literal": "weather"}]}, {"literal": "]"}]}]}},
      {"tag": ["tool-args", {"schema": {"name": "arguments", "child": "json", "schema": {"document": {"type": "object"}}}}]},
      {"tag": ["tool-close", {"literal": "[/weather]"}]}]}}}, 0, null]},
    "end"]}}})");
  const std::string_view output = R"(See.[weather]{"city": "Oslo"}[/weather])";
  const Message read = parser.parse(output, CHAT_PARSE_STRICT);
  CHECK(read.content() == "See." && read.tool_calls()[0].name == "weather");
  CHECK(contains(parser.grammar(false).text(), "call ::="));
  const Message made = parser.tagged(output);
  CHECK(made.tool_calls().size() == 1 && contains(made.tree_json(), R"("outcome":"matched")"));
  CHECK(contains(parser.tagged(output).tree_json(), R"("tag":"content")") && read.tree_json().empty());
  throws(CHAT_STATUS_INVALID_ARGUMENT, "no such", [] { chatparse::Parser::from_json(R"({"format": {"root": {"ref": "no such"}}})"); });
}

static void next_turn() {
  const auto first = params();
  const std::string sent = std::string(first.prompt()) + std::string(OUTPUT);
  const auto next = first.next(OUTPUT, R"([{"role": "tool", "content": "2"}])");
  CHECK(next.kept() == sent.size() && sent + std::string(next.append()) == next.prompt());
  CHECK(next.rewrite().reason == CHAT_REASON_NONE && !next.rewrite().message);
  CHECK(first.kept() == 0 && first.append() == first.prompt());

  // A template that leaves earlier answers out.
  const auto model = Template::compile("{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}{% endif %}{% endfor %}<a>");
  const auto begun = model.params(R"({"messages": [{"role": "user", "content": "Hi"}]})");
  const auto anew = begun.next("Hello", R"([{"role": "user", "content": "Bye"}])");
  CHECK(anew.rewrite().reason != CHAT_REASON_NONE && !anew.rewrite().words.empty());
  CHECK(anew.kept() < begun.prompt().size() + 5 && anew.prompt() == "<u>Hi<u>Bye<a>");
  const auto kept = model.params(R"({"messages": [{"role": "user", "content": "Hi"}]})", R"({"append": "always"})")
                        .next("Hello", R"([{"role": "user", "content": "Bye"}])");
  CHECK(kept.prompt() == "<u>Hi<a>Hello<u>Bye<a>" && kept.rendered() == anew.prompt());
}

static void own_prompt() {
  const auto params = Template::builtin("json-call").params_for(
      "<|im_start|>assistant\n<think>\nLet me",
      R"({"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]})");
  auto stream = params.stream();
  stream.feed(" see.\n</think>\n\nNo. <tool_");
  CHECK(contains(stream.pending(), "<tool_") && stream.message().reasoning() == "Let me see.\n");
}

static void answers() {
  auto answer = chatparse::Answer::create(
      CHAT_API_MESSAGES, R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]})", R"({"seed": 1})");
  auto stream = Template::builtin("chatml").params(answer.request()).stream();
  const auto begun = answer.begin(3);
  CHECK(begun.size() > 0 && (*begun.begin()).name == "message_start" && contains(begun[0].data, "message_start"));
  stream.feed("Hello");
  CHECK(!answer.deltas(stream).empty() && contains(answer.sse(), "Hello"));
  stream.finish();
  answer.deltas(stream);
  CHECK(answer.ping().size() == 1);
  CHECK(!answer.finish(stream.message(), R"({"reason": "stop"})").empty() && contains(answer.events()[0].data, "content_block_stop"));
  CHECK(contains(answer.body(stream.message()), "Hello"));
  throws(CHAT_STATUS_INVALID_ARGUMENT, "", [&] { answer.fail(500, "too late"); });
}

int main() {
  errors();
  moved_from();
  texts();
  lists();
  segments();
  rolled_back();
  thrown_in_the_middle();
  special_tokens();
  formats();
  own_formats();
  next_turn();
  own_prompt();
  answers();
  returning();
  return 0;
}
