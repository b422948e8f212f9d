//! Built-in templates by name: one for each way to write calls and reasoning, and one for each
//! family of templates with a dedicated format, under the family's name; GPT-OSS's format has two
//! dialects. Callers without a template, the demo and the tests use them.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// A built-in template.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Its text.
    pub source: &'static str,
    /// The text of the token that begins a prompt.
    pub bos: &'static str,
    /// The text of the token that ends a turn.
    pub eos: &'static str,
}

macro_rules! builtins {
    ($($name:literal, $bos:literal, $eos:literal, $about:literal;)*) => {
        &[$(Builtin {
            name: $name,
            about: $about,
            source: include_str!(concat!("../", $name, ".jinja")),
            bos: $bos,
            eos: $eos,
        }),*]
    };
}

/// All built-in templates.
pub const BUILTINS: &[Builtin] = builtins! {
    "chatml", "", "<|im_end|>", "content only";
    "json-call", "", "<|im_end|>", "JSON calls, each between tags; <think> reasoning that can be switched off";
    "json-nested", "", "<|end|>", "a JSON array of calls with ids and a nested function; reasoning opened by the prompt";
    "json-array-ids", "<s>", "</s>", "a JSON array of calls with ids after one token; reasoning between square tags";
    "json-name-key", "", "<|end_of_turn|>", "a JSON array of calls whose keys are the functions' names";
    "json-bare", "<|begin|>", "<|end_of_turn|>", "one call as bare JSON";
    "tag-json", "", "<|end|>", "the name in a tag, the arguments as JSON; reasoning that begins with the turn";
    "tag-json-id", "<s>", "</s>", "name, id and JSON arguments, each after a token";
    "tag-arguments", "", "<|end|>", "arguments as pairs of tags; <think> reasoning that can be switched off";
    "tag-invoke", "", "<|end|>", "names as attributes of tags; reasoning opened by the prompt";
    "tag-parameters", "", "<|im_end|>", "names in tags, values on lines of their own; reasoning only before calls";
    "wrapped-content", "", "<|end|>", "content between tags, too; a JSON array of calls";
    "ministral-3", "<s>", "</s>", "name and JSON arguments after tokens; reasoning as a part of the content";
    "llm-jp-harmony", "<s>", "<|return|>", "gpt-oss with spaces after special tokens; several calls";
    "gpt-oss", "", "<|return|>", "messages on channels: reasoning, text before calls, calls, the answer";
    "harmony-xml", "", "<|end|>", "gpt-oss's messages; the arguments of a call in tags";
    "muse-glimmer", "", "<|eot|>", "messages to recipients: reasoning to itself, calls as tags";
    "muse-spark", "", "<|eot|>", "muse-glimmer with text before calls as a message of its own kind";
    "functionary-v3.2", "", "<|eot_id|>", "text and calls after >>> and a recipient";
    "kimi-k2", "", "<|im_end|>", "a section of calls whose ids hold the names";
    "kimi-k3", "", "<|end_of_msg|>", "sections, calls and arguments in tags with attributes";
    "ling-3", "", "<|role_end|>", "arguments as pairs of tags; reasoning opened by the prompt";
    "cohere2-moe", "", "<|END_OF_TURN_TOKEN|>", "reasoning, text and JSON calls, each between markers";
    "lfm2", "", "<|im_end|>", "calls as a Python list";
    "gigachat-3", "", "<|message_sep|>\n\n", "one call, as a message of its own";
    "minimax-m3", "", "[e~[", "MiniMax-M3: every tag after a token, objects and arrays as elements; reasoning now and then";
    "deepseek-v3.2", "", "<｜end▁of▁sentence｜>", "DeepSeek V3.2: tags with a token in their names; reasoning opened by the prompt";
    "gemma-4", "", "<turn|>", "Gemma 4: arguments in a notation of their own; reasoning in a channel";
    "minicpm5", "", "<|im_end|>", "MiniCPM5: names as attributes, texts in CDATA sections; reasoning opened by the prompt";
    "qwen3-coder", "", "<|im_end|>", "Qwen3-Coder: names in tags, values on lines of their own; reasoning opened by the prompt";
    "deepseek-r1", "", "<｜end▁of▁sentence｜>", "DeepSeek R1: a section of calls, their arguments in code blocks";
    "deepseek-v3.1", "", "<｜end▁of▁sentence｜>", "DeepSeek V3.1: a section of calls, name and JSON arguments between tokens";
    "deepseek-v4", "", "<｜end▁of▁sentence｜>", "DeepSeek V4: tags with a token in their names";
    "deepseek-v4.1", "", "<｜end▁of▁sentence｜>", "DeepSeek V4.1: tags with a token and a space in their names";
    "hy-3", "", "<｜hy_eos:opensource｜>", "Hy3: tags that end in a word of their own; arguments as pairs of them";
    "seed-oss", "", "<seed:eos>", "Seed-OSS: names in tags, in a section of its own";
    "solar-open", "", "<|end|>", "Solar Open: id, name and JSON arguments, each after a token";
    "k2-horizon", "", "<|ifm|end_of_turn|>", "K2 Horizon: tags with a prefix; arguments as pairs of them";
    "apertus", "", "<|assistant_end|>", "Apertus: a JSON array between tokens, whose keys are the functions' names";
    "inkling", "", "<|content_model_end_sampling|>", "Inkling: messages with a token for their kind, and a call's name in front of it";
    "functionary-v2", "", "<|stop|>", "Functionary 2: messages with author, recipient and content after tokens";
    "minicpm3", "", "<|im_end|>", "MiniCPM3: calls as lines of Python, in a code block between tokens";
};

/// The built-in template with this name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

/// The names of the built-in templates.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|builtin| builtin.name)
}
