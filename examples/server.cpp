// A server of three APIs: OpenAI's chat completions and Responses, and Anthropic's Messages, streamed or not. The model is a fake that
// types what the last message of the user says after "Type: ", and repeats what a tool answered; the rest is as in a real server.
//
//   c++ -std=c++17 server.cpp -o server $(pkg-config --cflags --libs chatparse cpp-httplib) -pthread   (and nlohmann-json)
//   ./server [TEMPLATE]      a file, or the name of a built-in template; prints the port that it listens on
#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <chatparse.hpp>
#include <httplib.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using Send = std::function<void(const std::string &)>;

// What a model would write. Four bytes are a token.
struct Model {
  std::string output = "Hello.";
  json end = {{"reason", "stop"}};

  explicit Model(const json &request) {
    for (const auto &message : request["messages"]) {
      const json content = message.value("content", json());
      std::string said = content.is_string() ? content.get<std::string>() : "";
      for (const auto &part : content) {
        // A part that reveals a tool has its name.
        if (part.is_object()) said += part.value("text", part.value("type", "") == "tool_reference" ? part.value("name", "") : "");
      }
      const auto typed = said.find("Type: ");
      if (message["role"] == "user") output = typed == said.npos ? "Hello." : said.substr(typed + 6);
      if (message["role"] == "tool") output = "The tool says: " + said;
    }
    for (const std::string stop : request.value("stop", json::array())) {
      const auto at = output.find(stop);
      if (at == output.npos) continue;
      output.resize(at);
      end["stop_sequence"] = stop;
    }
    const auto limit = 4 * request.value("max_completion_tokens", request.value("max_tokens", std::size_t{4096}));
    if (output.size() > limit) end = {{"reason", "length"}};
    output.resize(std::min(output.size(), limit));
  }
};

struct Job {
  chatparse::Answer answer;
  chatparse::Params params;
  json request;

  Job(const chatparse::Template &model, chat_api api, const std::string &body) {
    static thread_local std::mt19937_64 random{std::random_device{}()};
    const auto options = json{{"seed", random()}, {"created", std::time(nullptr)}}.dump();
    answer = chatparse::Answer::create(api, body, options);
    params = model.params(answer.request());
    request = json::parse(answer.request());
  }

  // Lets the model write, and returns the body. Events go to `send`, if there is somebody to send them to.
  std::string run(const Send &send) {
    const auto events = [&](const chatparse::Events &made) {
      if (!made.empty()) send(answer.sse());
    };
    Model model(request);
    const auto tokens = params.prompt().size() / 4;
    auto stream = params.stream();
    if (send) events(answer.begin(tokens));
    for (std::size_t at = 0; at < model.output.size(); at += 4) {
      stream.feed(std::string_view(model.output).substr(at, 4));
      if (send) events(answer.deltas(stream));
    }
    stream.finish(model.end["reason"] == "length" ? CHAT_PARSE_PARTIAL : 0);
    if (send) events(answer.deltas(stream));
    const auto message = stream.message();
    model.end["usage"] = {{"input_tokens", tokens}, {"output_tokens", (model.output.size() + 3) / 4}};
    const auto end = model.end.dump();
    if (send) events(answer.finish(message, end));
    return answer.body(message, end);
  }
};

int main(int argc, char **argv) try {
  const std::string name = argc > 1 ? argv[1] : "json-call";
  std::ifstream file(name);
  const std::string source(std::istreambuf_iterator<char>(file), {});
  const auto model = file.is_open() ? chatparse::Template::compile(source) : chatparse::Template::builtin(name);
  httplib::Server server;
  const auto serve = [&](const char *route, chat_api api) {
    server.Post(route, [&model, api](const httplib::Request &request, httplib::Response &response) {
      try {
        const auto job = std::make_shared<Job>(model, api, request.body);
        if (!job->request.value("stream", false)) return response.set_content(job->run(nullptr), "application/json");
        response.set_chunked_content_provider("text/event-stream", [job](std::size_t, httplib::DataSink &sink) {
          const Send send = [&](const std::string &events) { sink.write(events.data(), events.size()); };
          try {
            job->run(send);
          } catch (const chatparse::error &error) {
            job->answer.fail(500, error.message());
            send(job->answer.sse());
          }
          sink.done();
          return true;
        });
      } catch (const chatparse::error &error) {
        response.status = static_cast<int>(error.http_status());
        response.set_content(error.body(api), "application/json");
      }
    });
  };
  serve("/v1/chat/completions", CHAT_API_CHAT_COMPLETIONS);
  serve("/v1/responses", CHAT_API_RESPONSES);
  serve("/v1/messages", CHAT_API_MESSAGES);
  std::cout << server.bind_to_any_port("127.0.0.1") << std::endl;
  return server.listen_after_bind() ? 0 : 1;
} catch (const chatparse::error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
