// A server of three APIs: OpenAI's chat completions and Responses, and Anthropic's Messages, streamed or not. The model is a fake that
// types what the last message of the user says behind "Type: ", and repeats what a tool answered; all else is as a server has it.
//
//   c++ -std=c++17 server.cpp -o server $(pkg-config --cflags --libs chatparse cpp-httplib) -pthread   (and nlohmann-json)
//   ./server [TEMPLATE]      one of the library's own templates; prints the port that it listens on
#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <chatparse.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

template <auto release> struct Release {
  template <class T> void operator()(T *handle) const { release(handle); }
};
using nlohmann::json;
using Send = std::function<void(std::string)>;
using Template = std::unique_ptr<chat_template, Release<chat_template_free>>;
using Params = std::unique_ptr<chat_params, Release<chat_params_free>>;
using Stream = std::unique_ptr<chat_stream, Release<chat_stream_free>>;
using Message = std::unique_ptr<chat_message, Release<chat_message_free>>;
using Answer = std::unique_ptr<chat_answer, Release<chat_answer_free>>;
using Error = std::unique_ptr<chat_error, Release<chat_error_free>>;

// Calls a function of the library, whose last argument is the error, and throws that.
template <class F, class... Args> void call(F function, Args... args) {
  chat_error *error = nullptr;
  if (function(args..., &error) != CHAT_STATUS_OK) throw Error(error);
}

// The same for a function that makes an object.
template <class Handle, class F, class... Args> Handle make(F function, Args... args) {
  typename Handle::pointer made = nullptr;
  call(function, args..., &made);
  return Handle(made);
}

std::string text(chat_str view) { return {view.data, view.len}; }

// What a model would write. Four bytes are a token.
struct Model {
  std::string output = "Hello.";
  json end = {{"reason", "stop"}};

  explicit Model(const json &request) {
    for (const auto &message : request["messages"]) {
      const json content = message.value("content", json());
      std::string said = content.is_string() ? content.get<std::string>() : "";
      for (const auto &part : content) said += part.is_object() ? part.value("text", "") : "";
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
  Answer answer;
  Params params;
  json request;

  Job(const chat_template *model, chat_api api, const std::string &body) {
    static thread_local std::mt19937_64 random{std::random_device{}()};
    const auto options = json{{"seed", random()}, {"created", std::time(nullptr)}}.dump();
    answer = make<Answer>(chat_answer_new, api, body.data(), body.size(), options.data(), options.size());
    const chat_str chat = chat_answer_request(answer.get());
    params = make<Params>(chat_params_from_template, model, chat.data, chat.len);
    request = json::parse(text(chat));
  }

  // Sends the events that a function makes, if there is somebody to send them to.
  template <class F, class... Args> void events(const Send &send, F function, Args... args) {
    if (!send) return;
    chat_str made;
    call(function, answer.get(), args...);
    call(chat_answer_sse, answer.get(), &made);
    if (made.len) send(text(made));
  }

  // Lets the model write, and returns the body.
  std::string run(const Send &send) {
    Model model(request);
    const auto tokens = chat_params_prompt(params.get()).len / 4;
    const auto stream = make<Stream>(chat_stream_new, params.get());
    events(send, chat_answer_begin, tokens);
    for (std::size_t at = 0; at < model.output.size(); at += 4) {
      const auto piece = model.output.substr(at, 4);
      call(chat_stream_feed, stream.get(), piece.data(), piece.size());
      events(send, chat_answer_deltas, stream.get());
    }
    call(chat_stream_finish, stream.get(), model.end["reason"] == "length" ? CHAT_PARSE_PARTIAL : 0);
    events(send, chat_answer_deltas, stream.get());
    const auto message = make<Message>(chat_stream_message, stream.get());
    model.end["usage"] = {{"input_tokens", tokens}, {"output_tokens", (model.output.size() + 3) / 4}};
    const auto end = model.end.dump();
    events(send, chat_answer_finish, message.get(), end.data(), end.size());
    chat_str body;
    call(chat_answer_body, answer.get(), message.get(), end.data(), end.size(), &body);
    return text(body);
  }
};

int main(int argc, char **argv) try {
  const std::string name = argc > 1 ? argv[1] : "json-call";
  const auto model = make<Template>(chat_template_builtin, name.data(), name.size());
  httplib::Server server;
  const auto serve = [&](const char *route, chat_api api) {
    server.Post(route, [&model, api](const httplib::Request &request, httplib::Response &response) {
      try {
        const auto job = std::make_shared<Job>(model.get(), api, request.body);
        if (!job->request.value("stream", false)) return response.set_content(job->run(nullptr), "application/json");
        response.set_chunked_content_provider("text/event-stream", [job](std::size_t, httplib::DataSink &sink) {
          const Send send = [&](const std::string &events) { sink.write(events.data(), events.size()); };
          try {
            job->run(send);
          } catch (const Error &error) {
            const chat_str why = chat_error_message(error.get());
            job->events(send, chat_answer_fail, 500, why.data, why.len);
          }
          sink.done();
          return true;
        });
      } catch (const Error &error) {
        response.status = static_cast<int>(chat_error_http_status(error.get()));
        response.set_content(text(chat_error_body(error.get(), api)), "application/json");
      }
    });
  };
  serve("/v1/chat/completions", CHAT_API_CHAT_COMPLETIONS);
  serve("/v1/responses", CHAT_API_RESPONSES);
  serve("/v1/messages", CHAT_API_MESSAGES);
  std::cout << server.bind_to_any_port("127.0.0.1") << std::endl;
  return server.listen_after_bind() ? 0 : 1;
} catch (const Error &error) {
  std::cerr << text(chat_error_message(error.get())) << "\n";
  return 1;
}
