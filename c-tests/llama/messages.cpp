// Messages and what goes with them, without a template.
#include "check.h"

#include "json_error.h"

static common_chat_msg message(const std::string & role, const std::string & content) {
    common_chat_msg msg;
    msg.role    = role;
    msg.content = content;
    return msg;
}

// The order of members and the numbers are part of what programs are written against.
static void shapes() {
    const common_chat_tool_call        call      = { "name", "arguments", "id" };
    const common_chat_msg_content_part part      = { "type", "text" };
    const common_chat_tool             tool      = { "name", "description", "parameters" };
    const common_chat_msg_span         span      = { COMMON_CHAT_ROLE_USER, 1, 2 };
    const common_chat_msg_delimiter    delimiter = { COMMON_CHAT_ROLE_TOOL, "text", { 1, 2 } };
    const common_chat_msg msg = { "role", "content", { part }, { call }, "reasoning_content", "tool_name", "tool_call_id" };
    CHECK(msg.tool_calls[0].arguments == "arguments" && msg.content_parts[0].text == "text" && msg.tool_call_id == "tool_call_id");
    CHECK(msg.reasoning_content == "reasoning_content" && msg.tool_name == "tool_name");
    CHECK(tool.parameters == "parameters" && span.len == 2 && delimiter.tokens.size() == 2);

    static_assert(COMMON_CHAT_ROLE_UNKNOWN == 0 && COMMON_CHAT_ROLE_SYSTEM == 1 && COMMON_CHAT_ROLE_ASSISTANT == 2 &&
                      COMMON_CHAT_ROLE_USER == 3 && COMMON_CHAT_ROLE_TOOL == 4,
                  "numbers");
    static_assert(COMMON_CHAT_FORMAT_CONTENT_ONLY == 0 && COMMON_CHAT_FORMAT_PEG_SIMPLE == 1 && COMMON_CHAT_FORMAT_PEG_NATIVE == 2 &&
                      COMMON_CHAT_FORMAT_PEG_GEMMA4 == 3 && COMMON_CHAT_FORMAT_PEG_MINIMAX_M3 == 4 && COMMON_CHAT_FORMAT_COUNT == 5,
                  "they travel as numbers");
    static_assert(COMMON_CHAT_TOOL_CHOICE_AUTO == 0 && COMMON_CHAT_TOOL_CHOICE_REQUIRED == 1 && COMMON_CHAT_TOOL_CHOICE_NONE == 2,
                  "numbers");
    static_assert(COMMON_CHAT_CONTINUATION_NONE == 0 && COMMON_CHAT_CONTINUATION_AUTO == 1 &&
                      COMMON_CHAT_CONTINUATION_REASONING == 2 && COMMON_CHAT_CONTINUATION_CONTENT == 3,
                  "numbers");
    static_assert(std::is_copy_assignable<common_chat_parser_params>::value, "tasks copy them");
}

static void names() {
    for (auto role : { COMMON_CHAT_ROLE_SYSTEM, COMMON_CHAT_ROLE_ASSISTANT, COMMON_CHAT_ROLE_USER, COMMON_CHAT_ROLE_TOOL }) {
        CHECK(common_chat_role_from_string(common_chat_role_to_string(role)) == role);
    }
    CHECK(common_chat_role_from_string("") == COMMON_CHAT_ROLE_UNKNOWN);
    CHECK(std::string(common_chat_role_to_string(COMMON_CHAT_ROLE_UNKNOWN)).empty());
    CHECK(std::string(common_chat_format_name(COMMON_CHAT_FORMAT_PEG_MINIMAX_M3)) == "peg-minimax-m3");
    CHECK(common_reasoning_format_from_name("deepseek-legacy") == COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY);
    CHECK(std::string(common_reasoning_format_name(COMMON_REASONING_FORMAT_AUTO)) == "auto");
    CHECK(common_chat_tool_choice_parse_oaicompat("required") == COMMON_CHAT_TOOL_CHOICE_REQUIRED);
    THROWS(std::runtime_error, "loud", common_reasoning_format_from_name("loud"));
    THROWS(std::invalid_argument, "any", common_chat_tool_choice_parse_oaicompat("any"));
}

static void openai() {
    const auto     body = common_json::parse(R"([
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": null, "reasoning_content": "hm",
         "tool_calls": [{"type": "function", "id": "7", "function": {"name": "f", "arguments": {"x": 1}}}]},
        {"role": "tool", "content": "done", "name": "f", "tool_call_id": "7"}
    ])");
    const auto parsed = common_chat_msgs_parse_oaicompat(body);
    CHECK(parsed.size() == 3 && parsed[0].content_parts.size() == 2 && parsed[0].render_content("+") == "a+b");
    CHECK(parsed[1].tool_calls[0] == common_chat_tool_call{ "f", "{\"x\":1}", "7" } && parsed[1].reasoning_content == "hm");
    CHECK(parsed[2].tool_name == "f" && parsed[2].tool_call_id == "7" && !parsed[2].empty());
    CHECK(common_chat_msgs_parse_oaicompat(common_chat_msgs_to_json_oaicompat(parsed)) == parsed);
    CHECK(common_chat_msgs_to_json_oaicompat({ parsed[1] }).dump() ==
          R"([{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[)"
          R"({"type":"function","function":{"name":"f","arguments":"{\"x\":1}"},"id":"7"}]}])");
    CHECK(parsed[0].to_json_oaicompat(true).at("content") == "a\nb");

    common_chat_msg media = message("user", "");
    media.content_parts   = { { "text", "see" }, { "media_marker", "<media>" }, { "text", "this" } };
    CHECK(media.contains_media() && media.to_json_oaicompat().at("content") == "see<media>this");
    media.content = "both";
    THROWS(std::runtime_error, "content_parts", media.to_json_oaicompat());
    THROWS(std::runtime_error, "content_parts", media.render_content());

    for (const char * wrong : { R"({})", R"([1])", R"([{"content": ""}])", R"([{"role": "user"}])", R"([{"role": "user", "content": 1}])",
                                R"([{"role": "user", "content": [{"type": "image_url"}]}])",
                                R"([{"role": "user", "tool_calls": [{"type": "tool"}]}])",
                                R"([{"role": "user", "tool_calls": [{"type": "function", "function": {"name": "f"}}]}])" }) {
        THROWS(std::runtime_error, "Failed to parse messages: ", common_chat_msgs_parse_oaicompat(common_json::parse(wrong)));
    }
    CHECK(common_chat_msgs_parse_oaicompat(common_json::parse(R"([{"role": "assistant", "tool_calls": []}])"))[0].empty());

    const auto tools = common_chat_tools_parse_oaicompat(
        common_json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])"));
    CHECK(tools.size() == 1 && tools[0].name == "f" && tools[0].description.empty() && tools[0].parameters == R"({"type":"object"})");
    CHECK(common_chat_tools_to_json_oaicompat(tools).dump() ==
          R"([{"type":"function","function":{"name":"f","description":"","parameters":{"type":"object"}}}])");
    CHECK(common_chat_tools_parse_oaicompat(common_json()).empty() && common_chat_tools_to_json_oaicompat({}).is_null());
    THROWS(std::runtime_error, "Failed to parse tools: ", common_chat_tools_parse_oaicompat(common_json::parse("[{}]")));
    THROWS(json_error, "", common_chat_tools_to_json_oaicompat({ { "f", "", "" } }));
    CHECK(common_chat_tool_parameters(common_json::parse(R"({"parameters": {}})")).dump() == R"({"type":"object","properties":{}})");
    CHECK(common_chat_tool_parameters(common_json::parse(R"({"parameters": {"a": 1}})")).dump() == R"({"a":1})");

    CHECK(common_chat_continuation_parse(common_json(true)) == COMMON_CHAT_CONTINUATION_AUTO);
    CHECK(common_chat_continuation_parse(common_json("content")) == COMMON_CHAT_CONTINUATION_CONTENT);
    CHECK(common_chat_continuation_parse(common_json("reasoning_content")) == COMMON_CHAT_CONTINUATION_REASONING);
    CHECK(common_chat_continuation_parse(common_json(1)) == COMMON_CHAT_CONTINUATION_NONE);
}

static void diffs() {
    using diff = common_chat_msg_diff;
    common_chat_msg before, now;
    CHECK(diff::compute_diffs(before, now).empty());
    now.reasoning_content = "hm";
    now.content           = "Hi";
    now.tool_calls        = { { "f", "{", "" }, { "g", "", "2" } };
    auto all              = diff::compute_diffs(before, now);
    CHECK(all.size() == 4 && all[0].reasoning_content_delta == "hm" && all[1].content_delta == "Hi");
    CHECK(all[2].tool_call_index == 0 && all[2].tool_call_delta == now.tool_calls[0] && all[3].tool_call_delta == now.tool_calls[1]);

    before                      = now;
    now.content                 = "Hi!";
    now.tool_calls[1].arguments = "{}";
    all                         = diff::compute_diffs(before, now);
    CHECK(all.size() == 2 && all[0].content_delta == "!" && all[0].tool_call_index == std::string::npos);
    CHECK(all[1].tool_call_index == 1 && all[1].tool_call_delta == common_chat_tool_call{ "", "{}", "" });

    CHECK(diff::compute_diffs(now, before)[0].content_delta.empty());
    common_chat_msg other = now;
    other.content         = "Ho";
    THROWS(std::runtime_error, "Invalid diff", diff::compute_diffs(now, other));
    other = now;
    other.tool_calls.pop_back();
    THROWS(std::runtime_error, "Invalid diff", diff::compute_diffs(now, other));
    other                    = now;
    other.tool_calls[1].name = "h";
    THROWS(std::runtime_error, "Invalid diff", diff::compute_diffs(now, other));

    std::vector<std::string> ids;
    int                      made     = 0;
    const auto               generate = [&] { return "made-" + std::to_string(made++); };
    now.set_tool_call_ids(ids, generate);
    CHECK(now.tool_calls[0].id == "made-0" && now.tool_calls[1].id == "2" && made == 1);
    before.set_tool_call_ids(ids, generate);
    CHECK(before.tool_calls[0].id == "made-0" && made == 1);
}

static void delimiters() {
    common_chat_msg_delimiters marks = { { COMMON_CHAT_ROLE_USER, "<u>" }, { COMMON_CHAT_ROLE_ASSISTANT, "<a>" } };
    marks.tokenize(nullptr);
    const std::string  text  = "bos<u>one<a>two<u>";
    const llama_tokens tokens(text.begin(), text.end());
    const auto         spans = marks.split(tokens);
    CHECK(spans.spans.size() == 3 && spans.spans[1].role == COMMON_CHAT_ROLE_ASSISTANT && spans.spans[1].valid());
    CHECK(spans.spans[0].pos == 3 && spans.spans[0].len == 6 && spans.spans[2].pos == 15 && spans.spans[2].len == 3);
    CHECK(spans.is_user_start(3) && !spans.is_user_start(9) && spans.last_user_message_pos() == 15);
    CHECK(marks.split(tokens, { { 9, 3 } }).spans.size() == 2);
    CHECK(marks.split({}).spans.empty() && common_chat_msg_spans().last_user_message_pos() == -1);

#if CHATPARSE_LLAMA < CHATPARSE_LLAMA_B11549
    const auto again = common_chat_msg_delimiters_parse(marks.to_json());
    CHECK(again.delimiters.size() == 2 && again.delimiters[1].role == COMMON_CHAT_ROLE_ASSISTANT);
    CHECK(again.delimiters[0].delimiter == "<u>" && again.delimiters[0].tokens.empty());
    CHECK(common_chat_msg_delimiters_parse(common_json("no")).delimiters.empty());
    CHECK(common_chat_msg_delimiters_parse(common_json::parse("[1, {}]")).delimiters.size() == 1);
#endif
}

void test_messages() {
    shapes();
    names();
    openai();
    diffs();
    delimiters();
}
