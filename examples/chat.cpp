// A chat with a tool, streamed: what the model writes is shown as it comes, its calls are run, and it continues after the results.
//
//   c++ -std=c++17 chat.cpp -o chat $(pkg-config --cflags --libs chatparse)
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <chatparse.hpp>

// An OpenAI chat-completions body.
static constexpr std::string_view request = R"({
  "messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
  "tools": [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
})";

// Replace this with a model: it yields what the model writes after `context`, piece by piece.
static std::vector<std::string_view> write(const std::string &context) {
  if (context.find("Rain, 7 degrees.") != context.npos) return {"Yes, it", " is raining."};
  return {"I will look.<tool", "_call>\n{\"name\": \"wea", "ther\", \"arguments\": {\"city\": \"Os", "lo\"}}\n</tool_call>"};
}

// Replace this with a tool: it returns the tool's answer, as the inside of a JSON string.
static std::string run(const chatparse::ToolCall &call) {
  std::cout << "[" << call.name << " " << call.arguments << "]\n";
  return "Rain, 7 degrees.";
}

static void show(const chatparse::Deltas &deltas) {
  for (const chatparse::Delta &delta : deltas)
    if (delta.kind == CHAT_DELTA_KIND_CONTENT) std::cout << delta.text << std::flush;
}

int main() try {
  // Once for each model. Template::compile takes the text of its template.
  const auto model = chatparse::Template::builtin("json-call");

  // Once for each request.
  auto params = model.params(request);
  std::string context(params.prompt());
  while (true) {
    // As the model writes.
    auto stream = params.stream();
    std::string output;
    for (const std::string_view piece : write(context)) {
      output += piece;
      show(stream.feed(piece));
    }
    show(stream.finish());
    std::cout << "\n";

    // The calls of the model. Which of them to run: docs/outputs.md.
    const auto message = stream.message();
    std::string results;
    for (const auto &call : message.tool_calls()) {
      const bool fine = call.complete && call.known && call.valid && call.origin != CHAT_ORIGIN_BARE;
      results += results.empty() ? "[" : ", ";
      results += R"({"role": "tool", "content": ")" + (fine ? run(call) : "This call cannot be run.") + "\"}";
    }
    if (results.empty()) return 0;

    // The next turn: the sent text stays valid up to a byte, mostly all of it; send the rest after that.
    params = params.next(output, results + "]");
    context.append(output).resize(params.kept());
    context += params.append();
  }
} catch (const chatparse::error &error) {
  std::cerr << chatparse::status_name(error.status()) << ": " << error.what() << "\n";
  return 1;
}
