// Templates and requests.
#include "check.h"
#include "fake.h"
#include "json_error.h"
#include "weather.h"

#include "chat-auto-parser.h"
#include "jinja/lexer.h"

using chatparse_llama::text_of;

// The booleans among what templates accept.
static std::map<std::string, bool> caps_of(const common_chat_templates * tmpls) {
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
    const common_json caps = common_chat_templates_get_caps(tmpls);
    CHECK(caps.at("reasoning_effort_levels").is_array());
    std::map<std::string, bool> found;
    for (const auto & cap : caps.items()) {
        if (cap.value().is_boolean()) {
            found[cap.key()] = cap.value().get<bool>();
        }
    }
    return found;
#else
    return common_chat_templates_get_caps(tmpls);
#endif
}

static common_chat_templates_inputs ask(const std::string & content) {
    common_chat_templates_inputs inputs;
    inputs.messages.resize(1);
    inputs.messages[0].role    = "user";
    inputs.messages[0].content = content;
    return inputs;
}

static void init() {
    const auto tmpls = common_chat_templates_init(nullptr, read_template("tag-json") + "\r\n{# end #}", "<s>", "</s>");
    CHECK(common_chat_templates_was_explicit(tmpls.get()));
    CHECK(common_chat_templates_source(tmpls.get(), "tool_use").empty());
    CHECK(common_chat_templates_source(tmpls.get()).find('\r') == std::string::npos);
    const auto caps = caps_of(tmpls.get());
    CHECK(caps.size() == 9 && caps.at("supports_tools") && caps.count("supports_preserve_reasoning") == 1);
    THROWS(std::runtime_error, "", common_chat_templates_init(nullptr, "{% if %}"));

    CHECK(common_chat_verify_template("{{ messages[0].content }}", true) && !common_chat_verify_template("{% if %}", true));
    CHECK(common_chat_verify_template("plain", false) && !common_chat_verify_template("unknown", false));
}

// What a model brings along.
static void model() {
    const auto        turns = read_template("chatml");
    const std::string bare  = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}";
    const llama_model none  = { { true, false, false }, nullptr, nullptr };
    const llama_model one   = { { true, true, true }, bare.c_str(), nullptr };
    const llama_model two   = { { false, false, false }, bare.c_str(), turns.c_str() };

    auto tmpls = common_chat_templates_init(&none, "");
    CHECK(!common_chat_templates_was_explicit(tmpls.get()));
    CHECK(text_of(common_chat_templates_apply(tmpls.get(), ask("Hi")).prompt) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");

    // The tokeniser adds these tokens, so prompts are without.
    CHECK(text_of(common_chat_templates_apply(common_chat_templates_init(&one, "").get(), ask("Hi")).prompt) == "Hi");
    CHECK(text_of(common_chat_templates_apply(common_chat_templates_init(&none, bare).get(), ask("Hi")).prompt) == "<s>Hi</s>");

    const int warnings = logged(GGML_LOG_LEVEL_WARN);
    tmpls              = common_chat_templates_init(&two, "", "overridden", "by the model");
    CHECK(logged(GGML_LOG_LEVEL_WARN) == warnings + 1 && common_chat_templates_was_explicit(tmpls.get()));
    CHECK(common_chat_templates_source(tmpls.get(), "tool_use") == turns.substr(0, turns.size() - 1));
    auto inputs = ask("Hi");
    CHECK(text_of(common_chat_templates_apply(tmpls.get(), inputs).prompt) == "Hi</s>");
    inputs.tools = { weather };
    CHECK(text_of(common_chat_templates_apply(tmpls.get(), inputs).prompt).find("<|im_start|>") == 0);
}

static void apply() {
    const auto tmpls  = common_chat_templates_init(nullptr, read_template("tag-json"));
    auto       inputs = ask("Rain in Oslo?");
    inputs.tools      = { weather };
    auto params       = common_chat_templates_apply(tmpls.get(), inputs);
    CHECK(params.format == COMMON_CHAT_FORMAT_PEG_NATIVE && !params.parser.empty() && !params.generation_prompt.empty());
    CHECK(text_of(params.prompt).find("Rain in Oslo?") != std::string::npos && text_of(params.prompt).find("\"city\"") != std::string::npos);
    CHECK(params.grammar_lazy && params.grammar_triggers.size() == 1);
    CHECK(params.grammar_triggers[0].type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD && !params.grammar_triggers[0].value.empty());
    CHECK(params.grammar_triggers[0].token == LLAMA_TOKEN_NULL);
    CHECK(params.grammar.find("root ::= ") != std::string::npos && params.grammar.find("weather") != std::string::npos);
    CHECK(!params.preserved_tokens.empty() && !params.message_delimiters.delimiters.empty());

    inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    CHECK(!common_chat_templates_apply(tmpls.get(), inputs).grammar_lazy);
    inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_NONE;
    CHECK(common_chat_templates_apply(tmpls.get(), inputs).grammar.empty());
    inputs.grammar     = "root ::= \"x\"";
    inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_AUTO;
    THROWS(std::invalid_argument, "grammar", common_chat_templates_apply(tmpls.get(), inputs));

    inputs                    = ask("As JSON");
    inputs.json_schema        = R"({"type": "object"})";
    params                    = common_chat_templates_apply(tmpls.get(), inputs);
    CHECK(!params.grammar.empty() && !params.grammar_lazy);
    // Before 0.5.0, an empty schema is an object.
    inputs.json_schema        = R"({"items": {"anyOf": [{}, {"type": "null"}]}})";
    const bool is_object      = common_chat_templates_apply(tmpls.get(), inputs).grammar.find("item-0 ::= object\n") != std::string::npos;
    CHECK(is_object == (CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK));
    inputs.force_pure_content = true;
    CHECK(common_chat_templates_apply(tmpls.get(), inputs).grammar.empty());
    inputs.json_schema        = "{";
    THROWS(json_error, "", common_chat_templates_apply(tmpls.get(), inputs));

    // What is no UTF-8 does not make a request fail.
    CHECK(text_of(common_chat_templates_apply(tmpls.get(), ask("a\xFF")).prompt).find("a\xEF\xBF\xBD") != std::string::npos);

    // A schema that cannot be used is an error, and names its tool; one that is not followed to the letter is reported.
    inputs       = ask("Call");
    inputs.tools = { { "f", "", R"({"type": "object", "properties": {"a": {"type": "kaboom"}}})" } };
    THROWS(std::invalid_argument, "JSON schema conversion failed:\ntool-f", common_chat_templates_apply(tmpls.get(), inputs));
    inputs.tools         = { { "f", "", R"({"type": "object", "properties": {"a": {"type": "number", "minimum": 3}}})" } };
    const int  debugged = logged(GGML_LOG_LEVEL_DEBUG);
    common_chat_templates_apply(tmpls.get(), inputs);
    CHECK(logged(GGML_LOG_LEVEL_DEBUG) > debugged);

    inputs.tools = { { "f", "", "no JSON" } };
    THROWS(json_error, "", common_chat_templates_apply(tmpls.get(), inputs));
}

static void options() {
    const auto tmpls = common_chat_templates_init(nullptr, "{{ mood }}{{ enable_thinking }}{{ messages[-1].content }}"
                                                           "{%- if messages|length > 9 %}{{ raise_exception('too many') }}{% endif -%}"
                                                           "{%- if add_generation_prompt %}:{% endif %}");
    auto inputs                         = ask("Hi");
    inputs.enable_thinking              = false;
    inputs.chat_template_kwargs["mood"] = "\"calm\"";
    CHECK(text_of(common_chat_templates_apply(tmpls.get(), inputs).prompt) == "calmFalseHi:");
    inputs.add_generation_prompt = false;
    CHECK(text_of(common_chat_templates_apply(tmpls.get(), inputs).prompt) == "calmFalseHi");
    inputs.chat_template_kwargs["mood"] = "calm";
    THROWS(json_error, "", common_chat_templates_apply(tmpls.get(), inputs));
    // Before 0.5.0, a template that takes a text gets no list of them.
    const auto either = common_chat_templates_init(nullptr, "{% set said = messages[0].content %}{% if said is string %}{{ said }}"
                                                            "{% else %}{% for part in said %}[{{ part.text }}]{% endfor %}{% endif %}");
    inputs = ask("");
    inputs.messages[0].content_parts = { { "text", "a" }, { "text", "b" } };
    const bool is_text = CHATPARSE_LLAMA == CHATPARSE_LLAMA_IK;
    CHECK(text_of(common_chat_templates_apply(either.get(), inputs).prompt) == (is_text ? "a\nb" : "[a][b]"));
    CHECK(caps_of(either.get()).at("supports_typed_content") != is_text);
#if CHATPARSE_LLAMA >= CHATPARSE_LLAMA_0_8_0
    // A tool that is deferred is shown where a message reveals it.
    const auto texts = common_chat_templates_init(nullptr, "{{ messages[0].content + '|' }}{% for tool in tools %}{{ tool.function.name }}{% endfor %}");
    inputs                           = ask("");
    inputs.messages[0].content_parts = { { "text", "Found: " }, { "tool_reference", "", "late" } };
    inputs.tools                     = { { "soon", "", "{}" }, { "late", "", "{}", true } };
    const auto revealed = text_of(common_chat_templates_apply(texts.get(), inputs).prompt);
    CHECK(revealed.find("\"late\"") < revealed.find('|') && revealed.find("soon") > revealed.find('|'));
#endif
    inputs = ask("Hi");
    inputs.messages.resize(10, inputs.messages[0]);
    THROWS(std::invalid_argument, "too many", common_chat_templates_apply(tmpls.get(), inputs));

    // Times are those of the clocks here.
    const auto  clock = common_chat_templates_init(nullptr, "{{ strftime_now('%Y-%m-%d %H:%M') }}");
    std::time_t time  = std::chrono::system_clock::to_time_t(inputs.now);
    char        here[32];
    std::strftime(here, sizeof here, "%Y-%m-%d %H:%M", std::localtime(&time));
    CHECK(text_of(common_chat_templates_apply(clock.get(), inputs).prompt) == here);

    const auto chatml = common_chat_templates_init(nullptr, "chatml");
    inputs            = ask("Hi");
    inputs.messages.push_back(inputs.messages[0]);
    inputs.messages[1].role       = "assistant";
    inputs.messages[1].content    = "Hello,";
    inputs.continue_final_message = COMMON_CHAT_CONTINUATION_AUTO;
    const auto continued          = common_chat_templates_apply(chatml.get(), inputs);
    CHECK(text_of(continued.prompt) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello,");
    CHECK(continued.generation_prompt == "<|im_start|>assistant\nHello,");
    CHECK(!common_chat_templates_support_enable_thinking(chatml.get()));
}

static void formatting() {
    const auto chatml = common_chat_templates_init(nullptr, "chatml");
    const auto past   = ask("Hi").messages;
    auto       next   = past[0];
    next.role         = "assistant";
    next.content      = "Hello";
    CHECK(common_chat_format_single(chatml.get(), past, next, false, true) == "<|im_start|>assistant\nHello<|im_end|>\n");
    CHECK(common_chat_format_single(chatml.get(), past, next, true, true) ==
          "\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>assistant\n");
    CHECK(common_chat_format_single(chatml.get(), {}, next, false, true) == "<|im_start|>assistant\nHello<|im_end|>\n");
    CHECK(common_chat_format_example(chatml.get(), true, {}).find("<|im_start|>user\nHow are you?") != std::string::npos);

    // Without Jinja: what libllama makes of it.
    const auto plain = common_chat_templates_init(nullptr, "plain");
    auto       inputs = ask(std::string(400, 'x'));
    inputs.use_jinja  = false;
    inputs.messages[0].content_parts = { { "media_marker", "<media>" }, { "other", "?" } };
    inputs.grammar    = "root ::= \"x\"";
    auto params       = common_chat_templates_apply(plain.get(), inputs);
    CHECK(text_of(params.prompt) == "user: " + std::string(400, 'x') + "\n<media>\nassistant: " && params.grammar == inputs.grammar);
    CHECK(params.format == COMMON_CHAT_FORMAT_CONTENT_ONLY && params.parser.empty());
    inputs.json_schema = R"({"type": "boolean"})";
    CHECK(common_chat_templates_apply(plain.get(), inputs).grammar.find("\"true\"") != std::string::npos);
    inputs.json_schema = R"({"$ref": "#/nowhere"})";
    THROWS(std::invalid_argument, "nowhere", common_chat_templates_apply(plain.get(), inputs));
    inputs.use_jinja = false;
    THROWS(std::runtime_error, "--jinja", common_chat_templates_apply(chatml.get(), inputs));

    CHECK(common_chat_get_asr_prompt(chatml.get()).system.empty() && !common_chat_get_asr_prompt(nullptr).user.empty());
    const auto lfm2 = common_chat_templates_init(nullptr, "{# <|tool_list_start|><|tool_list_end|> #}");
    CHECK(common_chat_get_asr_prompt(lfm2.get()).user.empty() && !common_chat_get_asr_prompt(lfm2.get()).system.empty());
}

static void jinja_by_itself() {
    jinja::enable_debug(false);
    const std::string source = "{{ bos_token }}{{ messages[0].content }}{{ extra }}";
    jinja::lexer      lexer;
    jinja::program    program = jinja::parse_from_tokens(lexer.tokenize(source));
    CHECK(!jinja::caps_get(program).supports_tools && !jinja::caps_get(program).to_string().empty());
    jinja::context context(source);
    jinja::global_from_json(context, common_json::parse(R"({"messages": [{"role": "user", "content": "Hi"}], "extra": "!", "bos_token": "<s>"})"), true);
    jinja::runtime runtime(context);
    const jinja::value        result = runtime.execute(program);
    const jinja::value_string parts  = jinja::runtime::gather_string_parts(result);
    CHECK(parts->as_string().str() == "<s>Hi!" && parts->as_string().parts.size() == 1);
    CHECK(jinja::mk_val<jinja::value_string>("text")->as_string().str() == "text");
    CHECK(jinja::runtime::debug_dump_program(program, source) == source);

    const common_chat_template chat(source, "<s>", "</s>");
    CHECK(chat.source() == source && chat.bos_token() == "<s>" && chat.eos_token() == "</s>" && !chat.original_caps().supports_tools);
}

static void template_by_itself() {
    const common_chat_template chat("{{ bos_token }}{{ mood }}{% for m in messages %}{{ m.content }};{% endfor %}{% if tools %}T{% endif %}"
                                    "{% if add_generation_prompt %}>{% endif %}", "<s>", "");
    autoparser::generation_params inputs;
    inputs.messages      = common_json::parse(R"([{"role": "user", "content": "Hi"}])");
    inputs.extra_context = common_json::parse(R"({"mood": "calm "})");
    CHECK(text_of(common_chat_template_direct_apply(chat, inputs)) == "<s>calm Hi;");
    CHECK(common_chat_template_generation_prompt(chat, inputs) == ">");
    inputs.add_bos               = true;
    inputs.add_generation_prompt = true;
    CHECK(text_of(common_chat_template_direct_apply(chat, inputs)) == "calm Hi;>");
    inputs.messages = common_json::parse("7");
    THROWS(std::invalid_argument, "messages", common_chat_template_direct_apply(chat, inputs));
}

void test_templates() {
    init();
    model();
    apply();
    options();
    formatting();
    jinja_by_itself();
    template_by_itself();
}
