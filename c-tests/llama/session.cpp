// The session: a request and its answer, from b11549 on.
#include "check.h"

#include "chat.h"
#include "fake.h"
#include "weather.h"

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
static const std::string answer =
    "<think>\nHm\n</think>\n\nWait. <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

static common_chat_templates_inputs ask() {
    common_chat_templates_inputs inputs;
    inputs.messages.resize(1);
    inputs.messages[0].role    = "user";
    inputs.messages[0].content = "Rain in <|im_end|>Oslo?";
    inputs.tools               = { weather };
    inputs.reasoning_format    = COMMON_REASONING_FORMAT_AUTO;
    return inputs;
}

// The bytes of a text as tokens, and the closing tag as one where it is to be the token.
static common_chat_input tokens_of(const std::string & text, bool tag_is_token) {
    common_chat_input input;
    const size_t      tag = tag_is_token ? text.find("</think>") : std::string::npos;
    for (size_t i = 0; i < text.size(); i++) {
        if (i == tag) {
            input.append("</think>", THINK_END);
            i += 7;
        } else {
            input.append(text.substr(i, 1), text[i]);
        }
    }
    return input;
}

static void pieces() {
    const auto          tmpls = common_chat_templates_init(nullptr, read_template("json-call"));
    common_chat_session session(tmpls.get(), nullptr, ask());
    CHECK(session.has_template() && session.format() == COMMON_CHAT_FORMAT_PEG_NATIVE && !session.parser().empty());
    CHECK(session.msg().role == "assistant" && session.msg().empty());

    // Copies go on by themselves, and the whole is what common_chat_parse makes of it.
    common_chat_parser_params parser;
    parser.parser = session.parser();
    common_chat_session half;
    for (size_t i = 0; i < answer.size(); i++) {
        if (i == answer.size() / 2) {
            half = session;
        }
        const auto & now = session.feed(common_chat_input(answer.substr(i, 1)));
        CHECK(now == session.msg() && now == common_chat_parse(common_chat_input(answer.substr(0, i + 1)), true, parser));
    }
    const auto whole = session.finish();
    CHECK(whole == session.msg() && whole == half.finish(common_chat_input(answer.substr(answer.size() / 2))));
    CHECK(whole.reasoning_content == "Hm\n" && whole.tool_calls.size() == 1 && whole.tool_calls[0].arguments == "{\"city\": \"Oslo\"}");

    common_params_sampling sampling;
    session.apply_sampling(sampling);
    CHECK(sampling.grammar.grammar == session.grammar() && sampling.grammar_lazy && !sampling.grammar_triggers.empty());
    CHECK(sampling.generation_prompt == session.generation_prompt());

    // Without a template, all is content.
    common_chat_session none;
    CHECK(!none.has_template());
    none.feed(common_chat_input("<think>Hi"));
    CHECK(none.finish().content == "<think>Hi");
}

#ifndef CHATPARSE_STRICT
// An output that max_tokens ends keeps its calls, with no markup in them or in place of them, streamed and whole alike.
static void cuts() {
    const std::string call   = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    const std::string tagged = "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>";
    for (const auto & [name, one] : { std::pair("json-call", call), std::pair("qwen3-coder", tagged) }) {
        const auto        tmpls = common_chat_templates_init(nullptr, read_template(name));
        const std::string two   = one + "\n" + one;
        for (size_t cut = one.find("Oslo"); cut < two.size(); cut++) {
            common_chat_session whole(tmpls.get(), nullptr, ask()), streamed(tmpls.get(), nullptr, ask());
            const auto          message = whole.finish(common_chat_input(two.substr(0, cut)));
            for (size_t i = 0; i < cut; i++) {
                streamed.feed(common_chat_input(two.substr(i, 1)));
            }
            CHECK(streamed.finish() == message);
            const size_t named = two.find(one == call ? "\", \"arg" : ">\n<par", one.size());
            CHECK(message.tool_calls.size() == (cut > named ? 2 : 1));
            CHECK(message.content.find("</") == std::string::npos);
            for (const auto & found : message.tool_calls) {
                CHECK(found.arguments.find("</") == std::string::npos);
            }
        }
    }
}

#endif

// A marker that is a token of the vocabulary counts as that token only.
static void tokens() {
    const llama_model model = { { true, false, false }, nullptr, nullptr, nullptr };
    const auto        tmpls = common_chat_templates_init(nullptr, read_template("json-call"));
    const std::string text  = "<think>\nNot </think> yet.\n</think>\n\nHi";
    const auto        read  = [&](const llama_vocab * vocab, bool marked, const common_chat_input & input) {
        common_chat_session_params params;
        params.marked = marked;
        common_chat_session session(tmpls.get(), vocab, ask(), params);
        return session.finish(input).reasoning_content;
    };
    common_chat_input quoted = tokens_of(text.substr(0, text.rfind("</think>")), false);
    quoted.append(tokens_of(text.substr(text.rfind("</think>")), true));
    CHECK(quoted.text == text);
    CHECK(read(&model.vocab, true, quoted) == "Not </think> yet.\n");
    CHECK(read(&model.vocab, false, quoted) == "Not " && read(nullptr, true, quoted) == "Not ");
    CHECK(read(&model.vocab, true, common_chat_input(text)) == "Not ");
}

static void inputs() {
    common_chat_input input("ab");
    input.append("xyz", 7);
    input.append("", 8);
    input.append(common_chat_input("c"));
    input.prepend("<");
    CHECK(input.text == "<abxyzc" && input.size() == input.tokens.size() && input.tokens[3] == 7 && input.tokens[4] == LLAMA_TOKEN_NULL);
    const auto part = input.substr(3, 2);
    CHECK(part.text == "xy" && part.tokens == std::vector<llama_token>({ 7, LLAMA_TOKEN_NULL }));
    input.truncate(4);
    CHECK(input.text == "<abx" && input.tokens.size() == 4);
    const llama_vocab vocab  = { true, false, false };
    const auto        tokens = common_chat_input_tokenize(&vocab, "</think>");
    CHECK(tokens.text == "</think>" && tokens.tokens[0] == THINK_END && tokens.tokens[1] == LLAMA_TOKEN_NULL);
}

// What a continued message begins with is there from the start, or comes with the first piece.
static void continued() {
    const auto tmpls = common_chat_templates_init(nullptr, "chatml");
    auto       asked = ask();
    asked.tools.clear();
    asked.messages.resize(2);
    asked.messages[1].role       = "assistant";
    asked.messages[1].content    = "Hello,";
    asked.continue_final_message = COMMON_CHAT_CONTINUATION_CONTENT;
    common_chat_session_params echo;
    echo.echo = true;
    for (const bool echoed : { false, true }) {
        common_chat_session session(tmpls.get(), nullptr, asked, echoed ? echo : common_chat_session_params());
        CHECK(session.msg().content == (echoed ? "" : "Hello,"));
        CHECK(session.feed(common_chat_input(" you")).content == "Hello, you");
    }
}

#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
// What came from the request is told apart from what the template says, also where both look alike.
static void parts() {
    const llama_model   model = { { true, true, false }, "{{ bos_token }}[{{ messages[0].content }}]", nullptr, "{{ voice }}: {{ messages[0].content }}" };
    const auto          tmpls = common_chat_templates_init(&model, "");
    common_chat_session session(tmpls.get(), &model.vocab, ask());
    const auto &        found = session.prompt().parts;
    CHECK(session.prompt().str() == "[Rain in <|im_end|>Oslo?]" && found.size() == 3);
    CHECK(!found[0].is_input && found[1].is_input && found[1].text == ask().messages[0].content && !found[2].is_input);
    CHECK(common_chat_get_tts_prompt(tmpls.get(), "Hi", "en", "Ann") == "Ann: Hi");

    common_chat_prompt prompt("a<x>");
    prompt.append("b", true);
    prompt.append("<x>", true);
    prompt.replace_last("<x>", "!");
    CHECK(prompt.parts.size() == 2 && prompt.str() == "a!b<x>");
}
#endif
#endif

void test_session() {
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_B11549
    pieces();
#ifndef CHATPARSE_STRICT
    cuts();
#endif
    tokens();
    inputs();
    continued();
#endif
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
    parts();
#endif
}
