// Outputs to messages: in one go, growing, by several threads.
#include "check.h"

#include "chat.h"
#include "fake.h"
#include "weather.h"

#include <thread>

static common_chat_params params_of(const std::string & name) {
    common_chat_templates_inputs inputs;
    inputs.messages.resize(1);
    inputs.messages[0].role    = "user";
    inputs.messages[0].content = "Hi";
    inputs.tools               = { weather };
    inputs.parallel_tool_calls = true;
    inputs.reasoning_format    = COMMON_REASONING_FORMAT_AUTO;
    return common_chat_templates_apply(common_chat_templates_init(nullptr, read_template(name)).get(), inputs);
}

static common_chat_parser_params parser_of(const common_chat_params & params) {
    common_chat_parser_params parser(params);
    CHECK(parser.format == params.format && chatparse_llama::text_of(parser.generation_prompt) == params.generation_prompt && parser.parser.empty());
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
    parser.parser = params.parser;
#else
    parser.parser.load(params.parser);
#endif
    return parser;
}

static common_chat_msg parse(const std::string & text, bool is_partial, const common_chat_parser_params & params) {
    return common_chat_parse(common_chat_input(text), is_partial, params);
}

// What each of the project's templates makes of texts like these matters less than that it is the same however they come.
static const char * const outputs[] = {
    "",
    "Hello, w\xC3\xB6rld!",
    "<think>\nhm\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
    "Hm</think>I look.<tool_call><function=weather>{\"city\": \"Oslo\"}</function></tool_call>",
    "Hm</think><tool_call><function=weather>{\"city\": \"Os",
    "<tool_call>\n<function=weather>\n<parameter=city>\nOslo \xF0\x9F\x8C\xA7\n</parameter>\n</function>\n</tool_call> and more",
    "a < b <tool",
};

static void growing(const std::string & name) {
    const auto parser = parser_of(params_of(name));
    for (const std::string text : outputs) {
        common_chat_msg before;
        common_chat_msg shown;
        for (size_t end = 0; end <= text.size(); end++) {
            const auto now = parse(text.substr(0, end), true, parser);
            // A copy has no memory of what was there before.
            const auto copy = parser;
            CHECK(parse(text.substr(0, end), true, copy) == now);
            CHECK(now.role == "assistant");
            for (const auto & diff : common_chat_msg_diff::compute_diffs(before, now)) {
                shown.reasoning_content += diff.reasoning_content_delta;
                shown.content += diff.content_delta;
                if (diff.tool_call_index != std::string::npos) {
                    shown.tool_calls.resize(std::max(shown.tool_calls.size(), diff.tool_call_index + 1));
                    auto & call = shown.tool_calls[diff.tool_call_index];
                    call.name   = diff.tool_call_delta.name.empty() ? call.name : diff.tool_call_delta.name;
                    call.id     = diff.tool_call_delta.id.empty() ? call.id : diff.tool_call_delta.id;
                    call.arguments += diff.tool_call_delta.arguments;
                }
            }
            before = now;
        }
        shown.role = "assistant";
        CHECK(shown == before);
        // Back to an earlier place, to another text, and to the same again.
        const auto half = parse(text.substr(0, text.size() / 2), true, parser);
        CHECK(half == parse(text.substr(0, text.size() / 2), true, parser));
        CHECK(parse("x" + text, true, parser) == parse("x" + text, true, common_chat_parser_params(parser)));
        CHECK(parse(text, true, parser) == before);
#ifndef CHATPARSE_STRICT
        const auto whole = parse(text, false, parser);
        // Without the memory of what was shown, half a call may be content.
        const auto fresh = common_chat_peg_parse(common_peg_arena(parser.parser), common_chat_input(text), false, parser);
        CHECK(whole == fresh || (whole.tool_calls.size() > fresh.tool_calls.size() && whole.content.size() < fresh.content.size()));
        common_chat_msg_diff::compute_diffs(before, whole);
#endif
    }
}

static void calls() {
    const auto params = params_of("tag-json");
    const auto parser = parser_of(params);
    const std::string text = "Hm</think>Wait.<tool_call><function=weather>{\"city\": \"Oslo\"}</function></tool_call>";
    const auto whole = parse(text, false, parser);
    CHECK(whole.reasoning_content == "Hm" && whole.content == "Wait." && whole.tool_calls.size() == 1 && whole.tool_calls[0].name == "weather");
    CHECK(whole.tool_calls[0].arguments == "{\"city\": \"Oslo\"}");

    // The opening of the reasoning once more, as llama.cpp reads it.
    const auto thinks = parser_of(params_of("deepseek-v3.2"));
    CHECK(parse("<think>Hm</think>", false, thinks).reasoning_content == "<think>Hm");

    // Cut off: what there is.
    const auto part = parse(text.substr(0, text.find("lo\"")), true, parser);
    CHECK(part.tool_calls.size() == 1 && part.tool_calls[0].arguments == "{\"city\": \"Os");

    // Bytes that are no text, and NUL.
    const auto odd = parse(std::string("</think>a\0b\xFF" "c", 13), false, parser);
    CHECK(odd.content == std::string("a\0b\xEF\xBF\xBD" "c", 7));
}

// An output that does not fit.
static void misfits() {
    const auto        parser = parser_of(params_of("tag-json"));
    const std::string text   = "</think>Hi<tool_call><function=unknown>{}</function></tool_call>";
    parse(text, true, parser);
#ifdef CHATPARSE_STRICT
    THROWS(std::runtime_error, "does not match the expected peg-native format", parse(text, false, parser));
#else
    const auto unknown = parse(text, false, parser);
    CHECK(unknown.content == "Hi" && unknown.tool_calls.size() == 1 && unknown.tool_calls[0].name == "unknown");
    const auto behind = parse("</think><tool_call><function=weather>{}</function></tool_call> and more", false, parser);
    CHECK(behind.tool_calls.size() == 1 && behind.content.find("and more") != std::string::npos);
#endif
    // Reasoning without an end is whole for llama.cpp.
    CHECK(parse("Hm", false, parser).reasoning_content == "Hm");
    // And the next answer is parsed as if nothing had been.
    CHECK(parse("</think>Hi", false, parser).content == "Hi");
}

#ifndef CHATPARSE_STRICT
// A client must not get half a call with the arguments `{`, and nothing may be lost.
static void half_calls() {
    const auto parser = parser_of(params_of("json-call"));
    const std::string good = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    const std::string bad  = "<tool_call>\n{\"name\": \"weather\", \"arguments\": oops}\n</tool_call>";
    const int warnings = logged(GGML_LOG_LEVEL_WARN);
    const auto alone = parse("Wait. " + bad, false, parser);
    CHECK(alone.tool_calls.empty() && alone.content == "Wait. " + bad);
    CHECK(logged(GGML_LOG_LEVEL_WARN) > warnings);
    const auto broken = parse("Wait. " + bad + " So: \xFF" + good, false, parser);
    CHECK(broken.tool_calls.size() == 1 && broken.tool_calls[0].arguments == "{\"city\": \"Oslo\"}");
    CHECK(broken.content.find("oops") != std::string::npos && broken.content.find("So: \xEF\xBF\xBD") != std::string::npos);

    // What a client has seen stays.
    const auto shown = parse("Wait. " + bad, true, parser);
    const auto ended = parse("Wait. " + bad, false, parser);
    CHECK(shown.tool_calls.size() == 1 && ended.tool_calls.size() == 1 && ended.tool_calls[0].arguments == "oops");
    common_chat_msg_diff::compute_diffs(shown, ended);

    // Cut off within the format: as in llama.cpp.
    const int warned = logged(GGML_LOG_LEVEL_WARN), debugged = logged(GGML_LOG_LEVEL_DEBUG);
    const auto cut = parse(good.substr(0, good.find("lo\"")), false, parser);
    CHECK(cut.tool_calls.size() == 1 && cut.tool_calls[0].arguments == "{\"city\": \"Os");
    CHECK(logged(GGML_LOG_LEVEL_WARN) == warned && logged(GGML_LOG_LEVEL_DEBUG) > debugged);
}

// Calls that are not in the format are reported.
static void other_ways() {
    const auto parser   = parser_of(params_of("tag-json"));
    const int  warnings = logged(GGML_LOG_LEVEL_WARN);
    const auto bare     = parse("</think>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}", false, parser);
    CHECK(bare.tool_calls.size() == 1 && logged(GGML_LOG_LEVEL_WARN) > warnings);
}
#endif

static void by_itself() {
    common_chat_parser_params plain;
    CHECK(plain.parser.empty() && parse("<think>Hi", false, plain).content == "<think>Hi");
    THROWS(std::invalid_argument, "", plain.parser.load("no parser"));
    CHECK(plain.parser.empty());

    // What the prompt has begun is in the message from the start.
    common_chat_templates_inputs inputs;
    inputs.messages.resize(2);
    inputs.messages[0].role       = "user";
    inputs.messages[0].content    = "Hi";
    inputs.messages[1].role       = "assistant";
    inputs.messages[1].content    = "Hello,";
    inputs.continue_final_message = COMMON_CHAT_CONTINUATION_CONTENT;
    const auto chatml             = common_chat_templates_init(nullptr, "chatml");
    const auto continued          = parser_of(common_chat_templates_apply(chatml.get(), inputs));
    CHECK(parse("", true, continued).content == "Hello,");
    CHECK(parse(" you", false, continued).content == "Hello, you");
}

// Templates are shared by requests, and params by whoever likes.
static void threads() {
    const auto        tmpls  = common_chat_templates_init(nullptr, read_template("tag-json"));
    const auto        shared = parser_of(params_of("tag-json"));
    const std::string text   = outputs[2];
    const auto        expected = parse(text, true, common_chat_parser_params(shared));
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++) {
        all.emplace_back([&] {
            common_chat_templates_inputs inputs;
            inputs.messages.resize(1);
            inputs.messages[0].role = "user";
            inputs.tools            = { weather };
            CHECK(!chatparse_llama::text_of(common_chat_templates_apply(tmpls.get(), inputs).prompt).empty());
            const auto own = shared;
            for (size_t end = 0; end <= text.size(); end++) {
                CHECK(parse(text.substr(0, end), true, shared) == parse(text.substr(0, end), true, own));
            }
            CHECK(parse(text, true, shared) == expected);
        });
    }
    for (auto & thread : all) {
        thread.join();
    }
}

void test_parse() {
    for (const char * name : { "tag-json", "qwen3-coder", "json-bare", "gpt-oss", "tag-arguments" }) {
        growing(name);
    }
    calls();
    misfits();
#ifndef CHATPARSE_STRICT
    half_calls();
    other_ways();
#endif
    by_itself();
    threads();
}
