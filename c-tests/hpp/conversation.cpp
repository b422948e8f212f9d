// Conversations of chatparse.hpp, where the library has that part: a tokenizer with a token for each byte, and a few markers.
#include "check.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <chatparse.hpp>

using chatparse::Conversation;
using chatparse::Template;
using chatparse::Tokenizer;

static constexpr std::string_view MARKERS[] = {"<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"};
static constexpr std::uint32_t END = 257;
static constexpr std::string_view USER = R"([{"role": "user", "content": "Hva er <|im_end|> 🌧?"}])";

// The ids of a text with its markers.
static std::vector<std::uint32_t> sampled(std::string_view text) {
  std::vector<std::uint32_t> ids;
  while (!text.empty()) {
    const auto marker = std::find_if(std::begin(MARKERS), std::end(MARKERS), [&](auto each) { return text.substr(0, each.size()) == each; });
    const bool found = marker != std::end(MARKERS);
    ids.push_back(found ? 256 + static_cast<std::uint32_t>(marker - MARKERS) : static_cast<unsigned char>(text[0]));
    text.remove_prefix(found ? marker->size() : 1);
  }
  return ids;
}

static std::vector<std::uint32_t> encode(std::string_view text) {
  std::vector<std::uint32_t> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

static std::optional<std::string> bytes_of(std::uint32_t id) {
  if (id > 255) return std::nullopt;
  return std::string(1, static_cast<char>(id));
}

static Tokenizer bytes() {
  Tokenizer tokenizer{encode, bytes_of, {}};
  for (const std::string_view marker : MARKERS)
    tokenizer.special_tokens.push_back({std::string(marker), 256 + static_cast<std::uint32_t>(tokenizer.special_tokens.size())});
  return tokenizer;
}

// Writes its answer, and knows what it was sent.
struct Engine {
  std::vector<std::uint32_t> answer, context;
  std::size_t written = 0;

  std::vector<std::uint32_t> encode(std::string_view text) const { return ::encode(text); }
  std::optional<std::string> bytes_of(std::uint32_t id) const { return ::bytes_of(id); }
  std::vector<chatparse::SpecialToken> special_tokens() const { return bytes().special_tokens; }
  void send(std::size_t kept, chatparse::Ids ids) {
    context.resize(kept);
    context.insert(context.end(), ids.begin(), ids.end());
  }
  std::uint32_t sample() {
    context.push_back(answer[written++]);
    return context.back();
  }
};

static std::string shown;
static void show(const chatparse::Deltas &deltas) {
  for (const auto &delta : deltas)
    if (delta.kind == CHAT_DELTA_KIND_CONTENT) shown += delta.text;
}

// docs/cpp.md has this function.
static void turns(const chatparse::Template &model, Engine &engine) {
  chatparse::Tokenizer tokenizer;
  tokenizer.encode = [&](std::string_view text) { return engine.encode(text); };
  tokenizer.token_bytes = [&](std::uint32_t id) { return engine.bytes_of(id); };
  tokenizer.special_tokens = engine.special_tokens();

  auto conversation = model.conversation(tokenizer);
  engine.send(0, conversation.prompt(R"([{"role": "user", "content": "Is it raining?"}])"));
  while (!conversation.ended()) show(conversation.observe({engine.sample()}));
  const auto next = conversation.extend(R"([{"role": "user", "content": "And in Oslo?"}])");
  engine.send(next.kept, next.ids);
}

static void documented() {
  Engine engine{sampled("No.<|im_end|>"), {}};
  turns(Template::builtin("chatml"), engine);
  CHECK(shown == "No.");
  CHECK(engine.context == sampled("<|im_start|>user\nIs it raining?<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>\n"
                                  "<|im_start|>user\nAnd in Oslo?<|im_end|>\n<|im_start|>assistant\n"));
}

// The call throws an error whose text has this in it.
template <class F> static void throws(std::string_view part, F call) {
  try {
    call();
  } catch (const chatparse::error &error) {
    CHECK(error.status() == CHAT_STATUS_INVALID_ARGUMENT && contains(error.message(), part));
    return;
  }
  CHECK(!"no error");
}

static void a_turn() {
  auto conversation = Template::builtin("json-call").conversation(bytes(), REQUEST, R"({"append": "always"})");
  throws("", [&] { conversation.observe({1}); });
  const auto prompt = conversation.prompt(USER);
  // What the user writes is no special token.
  std::size_t ends = 0;
  for (auto text = conversation.text(); contains(text, "<|im_end|>"); text.remove_prefix(text.find("<|im_end|>") + 1)) ends++;
  CHECK(std::count(prompt.begin(), prompt.end(), END) == static_cast<long>(ends) - 1 && prompt[prompt.size() - 1] == '\n');
  const std::size_t sent = prompt.size();

  std::vector<chatparse::Sampled> output;
  for (const std::uint32_t id : sampled(std::string(OUTPUT) + "<|im_end|>")) output.push_back({id, -static_cast<float>(output.size())});
  std::string arguments;
  for (const auto &delta : conversation.observe(output))
    if (delta.kind == CHAT_DELTA_KIND_TOOL_ARGUMENTS) arguments += delta.text;
  CHECK(arguments == R"({"a": 1})" && conversation.ended() && conversation.output() == std::string(OUTPUT) + "<|im_end|>");
  CHECK(conversation.finish().empty() && conversation.deltas().empty());
  CHECK(contains(conversation.message_json(), R"("name":"f")"));

  const auto tokens = conversation.tokens();
  CHECK(tokens.size() == sent + output.size() && !tokens[0].sampled && tokens[0].field == CHAT_FIELD_TEMPLATE);
  std::size_t values = 0;
  for (const auto &token : tokens) {
    if (token.argument != "a") continue;
    values++;
    CHECK(token.sampled && token.field == CHAT_FIELD_TOOL_ARGUMENTS && token.call == std::size_t{0});
  }
  CHECK(values > 0 && tokens[sent + 1].logprob == -1 && !tokens[sent].call);

  const auto next = conversation.extend(R"([{"role": "tool", "content": "2"}])");
  const auto mask = conversation.mask();
  CHECK(mask.size() == conversation.ids().size() && conversation.prompt_count() == mask.size() && !conversation.ended());
  CHECK(std::count(mask.begin(), mask.end(), 1) == static_cast<long>(output.size()) && mask[sent] == 1 && mask[sent - 1] == 0);
  CHECK(next.kept == sent + output.size() && !next.rewrite && next.ids.end() == conversation.ids().end() && !next.ids.empty());
}

static void forks() {
  auto conversation = Template::builtin("chatml").conversation(bytes());
  conversation.prompt(USER);
  conversation.observe(sampled("It rains in Os"));
  const std::size_t there = conversation.ids().size();
  Conversation other = conversation.clone();
  other.observe(sampled("lo."));
  conversation.observe(sampled("ter."));
  conversation.rewind(there);
  conversation.observe({'t', '.'});
  CHECK(other.output() == "It rains in Oslo." && conversation.output() == "It rains in Ost.");
  throws("length", [&] { conversation.rewind(0); });
  throws("", [&] { conversation.observe({300}); });
  CHECK(conversation.output() == "It rains in Ost." && contains(Conversation(conversation.clone()).text(), "Hva"));
  // One that is moved from is empty.
  const Conversation moved = std::move(other);
  CHECK(moved.ids().size() == there + 3 && !other && other.ids().empty() && other.mask().empty());
  throws("NULL", [&] { other.prompt(USER); });
}

static void a_rewrite() {
  const auto model = Template::compile(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content and loop.last %}<think>\n{{ m.reasoning_content }}\n"
      "</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
      {}, "<|im_end|>");
  auto conversation = model.conversation(bytes());
  const std::size_t sent = conversation.prompt(USER).size();
  conversation.observe(sampled("<think>\nSee.\n</think>\n\nYes.<|im_end|>"));
  const auto next = conversation.extend(USER);
  CHECK(next.rewrite && next.rewrite->token == sent && next.kept == sent && next.ids.data() == conversation.ids().data() + sent);
  CHECK(next.rewrite->reason == "reasoning" && !next.rewrite->words.empty() && next.rewrite->message == std::size_t{1});
  const auto mask = conversation.mask();
  CHECK(std::count(mask.begin(), mask.end(), 1) == 0);
}

// What a tokenizer throws comes out of the call; what it has with it is freed.
static void broken_tokenizers() {
  struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto model = Template::builtin("chatml");
  const auto state = std::make_shared<bool>(true);
  auto tokenizer = bytes();
  tokenizer.encode = [state, plain = tokenizer.encode](std::string_view text) {
    if (*state) throw Broken(std::string(text));
    return plain(text);
  };
  {
    auto conversation = model.conversation(tokenizer);
    const auto fork = conversation.clone();
    std::string said;
    try {
      conversation.prompt(USER);
    } catch (const Broken &broken) {
      said = broken.what();
    }
    CHECK(contains(said, "user\n") && conversation.ids().empty());
    // An error of the library's is its own.
    throws("", [&] { conversation.observe({1}); });
    *state = false;
    CHECK(!conversation.prompt(USER).empty() && state.use_count() == 3);
  }
  throws("NULL", [&] { Template().conversation(tokenizer); });
  throws("JSON", [&] { model.conversation(tokenizer, "{"); });
  CHECK(state.use_count() == 2);
  tokenizer.encode = [](std::string_view) { return std::nullopt; };
  auto conversation = model.conversation(tokenizer);
  throws("encode", [&] { conversation.prompt(USER); });
  tokenizer.encode = nullptr;
  throws("encode", [&] { model.conversation(tokenizer); });
  CHECK(state.use_count() == 1);
}

int main() {
  documented();
  a_turn();
  forks();
  a_rewrite();
  broken_tokenizers();
  return 0;
}
