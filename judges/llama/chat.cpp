// llama.cpp's test-chat, which goes on after a difference, and prints a line for each: the test, and where in it. With an argument it also
// writes how each cut of each output with calls is read, whole and byte by byte, to this file.
#include "chat.h"

#include "json.h"

#include <fstream>
#include <functional>
#include <iostream>
#include <map>

struct peg_test_case;

// Each output of the test comes here: a lambda fits better than the std::function of the test's own.
template <class Init> static void test_peg_parser(common_chat_templates * tmpls, Init && init, bool debug);

#define main upstream_main
#include "test-chat.cpp"
#undef main

extern std::string last_logged[];

static std::ofstream              cuts;
static std::map<std::string, int> outputs;  // of each template, so far

static void differs(const std::string & where, const std::exception & error) {
    std::string what = error.what();
    if (what == "Test failed") {
        what = last_logged[GGML_LOG_LEVEL_ERROR];
    }
    std::cerr << where << ": " << what << std::endl;
    // The rest is texts of outputs.
    std::cout << "test-chat\t" << where << ": " << what.substr(0, what.find_first_of("\n:,")) << std::endl;
}

static json as_json(const common_chat_msg & message) {
    json calls = json::array();
    for (const auto & call : message.tool_calls) {
        calls.push_back(json::array({ call.name, call.arguments }));
    }
    return json::array({ message.content, message.reasoning_content, calls });
}

// One array for each cut: the message of the session that was fed bytes, and of one that got all at once.
static void write_cuts(common_chat_templates * tmpls, const peg_test_case & asked, const std::string & where) {
    common_chat_templates_inputs inputs = asked.params;
    if (inputs.messages.empty()) {
        inputs.messages = { message_user };
    }
    const common_chat_session fresh(tmpls, nullptr, inputs);
    common_chat_session       streamed = fresh;
    for (size_t cut = 1; cut <= asked.input.size(); cut++) {
        streamed.feed(common_chat_input(asked.input.substr(cut - 1, 1)));
        if (cut < asked.input.size() && (asked.input[cut] & 0xC0) == 0x80) {
            continue;  // inside of a character
        }
        common_chat_session ended = streamed, whole = fresh;
        cuts << json::array({ where, asked.input.substr(0, cut), as_json(ended.finish()),
                              as_json(whole.finish(common_chat_input(asked.input.substr(0, cut)))) }).dump() << "\n";
    }
}

template <class Init> static void test_peg_parser(common_chat_templates * tmpls, Init && init, bool debug) {
    const std::function<void(peg_test_case &)> asked = init;
    // The test has logged "[path]" with colours, and the output.
    const std::string & logged = last_logged[GGML_LOG_LEVEL_INFO];
    const size_t        begin  = logged.find('/', logged.find("models/") + 7) + 1;
    const std::string   path   = logged.substr(begin, logged.find(']', begin) - begin);
    const std::string   where  = path + " " + std::to_string(++outputs[path]);
    peg_test_case       test;
    asked(test);
    try {
        if (cuts.is_open() && !test.is_partial && !test.expect.tool_calls.empty()) {
            write_cuts(tmpls, test, where);
        }
        test_peg_parser(tmpls, asked, debug);
    } catch (const std::exception & error) {
        differs(where, error);
    }
}

int main(int argc, char ** argv) {
    if (argc > 1) {
        cuts.open(argv[1]);
    }
    int functions = 1;
#define RUN(function)                    \
    try {                                \
        functions++;                     \
        function();                      \
    } catch (const std::exception & e) { \
        differs(#function, e);           \
    }
#include "functions.h"
    test_template_output_peg_parsers(false);
    int sum = 0;
    for (const auto & [path, count] : outputs) {
        sum += count;
    }
    std::cout << "test-chat\t" << functions << " functions, " << sum << " outputs" << std::endl;
}
