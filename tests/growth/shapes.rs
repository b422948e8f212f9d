//! Outputs that somebody would write who wants their parse to cost more than it should. The first
//! ones were quadratic once.

use chatparse::{ChatTemplate, Params, Parser, Request};
use serde_json::{Value, json};

/// An output of any length.
pub struct Shape {
    pub name: &'static str,
    /// What it is an output of.
    pub template: &'static str,
    /// What its request has besides tools.
    pub asks: fn() -> Value,
    pub tools: usize,
    pub output: fn(usize) -> String,
}

/// Qwen3-Coder's way to write calls, by a model that does not reason: where its calls begin there
/// is a marker for each tool.
pub const WITHOUT_REASONING: &str = "Qwen3-Coder without reasoning";
const SOURCE: &str = "{%- for tool in tools or [] -%}{{- '\\n' + tool.function | tojson -}}{%- endfor -%}\
    {%- for message in messages -%}{{- '<|im_start|>' + message.role + '\\n' -}}{{- message.content or '' -}}\
    {%- for call in message.tool_calls or [] -%}{{- '<tool_call>\\n<function=' + call.function.name + '>\\n' -}}\
    {%- for name, value in call.function.arguments.items() -%}\
    {{- '<parameter=' + name + '>\\n' + value | string + '\\n</parameter>\\n' -}}{%- endfor -%}\
    {{- '</function>\\n</tool_call>' -}}{%- endfor -%}{{- '<|im_end|>\\n' -}}{%- endfor -%}\
    {%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

/// Calls as a list of Python's, without a marker.
pub const PYTHON_LIST: &str = "a list of Python's";
const LIST: &str = "{%- for message in messages -%}{{- '<|' + message.role + '|>' -}}{{- message.content or '' -}}\
    {%- if message.tool_calls -%}{{- '[' -}}{%- for call in message.tool_calls -%}{{- call.function.name + '(' -}}\
    {%- for name, value in call.function.arguments.items() -%}{{- name + '=' + value | tojson -}}\
    {{- ', ' if not loop.last -}}{%- endfor -%}{{- ')' -}}{{- ', ' if not loop.last -}}{%- endfor -%}{{- ']' -}}{%- endif -%}\
    {{- '<|end|>' -}}{%- endfor -%}{{- tools | tojson if tools -}}{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}";

impl Shape {
    /// The parser of its request.
    pub fn parser(&self) -> Parser {
        let template = match self.template {
            WITHOUT_REASONING => ChatTemplate::new(SOURCE, "", "<|im_end|>").ok(),
            PYTHON_LIST => ChatTemplate::new(LIST, "", "<|end|>").ok(),
            name => ChatTemplate::builtin(name),
        };
        params(&template.expect("a template"), self.tools, &(self.asks)())
            .expect("the request fits")
            .parser
    }
}

/// The parameters of a request with so many tools and these options; `None` if it does not fit the
/// template.
pub fn params(template: &ChatTemplate, tools: usize, options: &Value) -> Option<Params> {
    let tool = |name: String, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "parameters": parameters}})
    };
    let item = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let first = tool(
        "f".to_owned(),
        json!({"s": {"type": "string"}, "n": {"type": "integer"}, "items": {"type": "array", "items": item}, "any": {}}),
    );
    let others = (1..tools).map(|i| tool(format!("f{i}"), json!({"path": {"type": "string"}})));
    let tools: Vec<Value> = [first].into_iter().chain(others).collect();
    let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "now": 0, "tools": tools,
        "reasoning_format": "auto", "parallel_tool_calls": true});
    for (key, value) in options.as_object().expect("an object") {
        body[key] = value.clone();
    }
    let request = Request::from_json(&body).expect("a request");
    template.params(&request).ok()
}

fn nothing() -> Value {
    json!({})
}

/// What a call begins with.
const ARGUMENTS: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": ";

/// The same with an argument of any type.
const ANY: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"any\": ";

/// A value that is JSON, or nearly.
const fn in_arguments(name: &'static str, output: fn(usize) -> String) -> Shape {
    Shape {
        name,
        template: "json-call",
        asks: nothing,
        tools: 2,
        output,
    }
}

/// What makes an output of `tag-json-id` leave its format.
const OFF_FORMAT: &str = "[TOOL_CALLS]no ";
const CALL: &str =
    "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"text\", \"n\": 2}}</tool_call>\n";

const fn left(name: &'static str, output: fn(usize) -> String) -> Shape {
    Shape {
        name,
        template: "tag-json-id",
        asks: nothing,
        tools: 2,
        output,
    }
}

const ONE_ARGUMENT: &str = "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>text</arg_value>\n";

const fn tags(name: &'static str, output: fn(usize) -> String) -> Shape {
    Shape {
        name,
        template: "tag-arguments",
        asks: nothing,
        tools: 2,
        output,
    }
}

pub const SHAPES: &[Shape] = &[
    left("calls behind the format", |n| {
        OFF_FORMAT.to_owned() + &CALL.repeat(n)
    }),
    Shape {
        name: "LFM2, texts in single quotes",
        template: "lfm2",
        asks: nothing,
        tools: 2,
        output: |n| {
            let calls: Vec<_> = (0..n).map(|i| format!("f(s='text {i}')")).collect();
            format!("<|tool_call_start|>[{}]<|tool_call_end|>", calls.join(", "))
        },
    },
    Shape {
        name: "a list of unknown calls in front of one that is offered",
        template: PYTHON_LIST,
        asks: nothing,
        tools: 2,
        output: |n| format!("[{}f(n=1)]", "g(s='text', n=[1, 2]), ".repeat(n)),
    },
    Shape {
        name: "a list of unknown calls without any other",
        template: PYTHON_LIST,
        asks: nothing,
        tools: 2,
        output: |n| format!("[{}g(s=", "g(s='text', n=[1, 2]), ".repeat(n)),
    },
    Shape {
        name: "a list of such lists",
        template: PYTHON_LIST,
        asks: nothing,
        tools: 2,
        output: |n| format!("[f(n=1)]{}", "[g(s='text'), ".repeat(n)),
    },
    Shape {
        name: "text in the wrapper of a call that the format has lost",
        template: "qwen3-coder",
        asks: nothing,
        tools: 2,
        output: |n| {
            format!(
                "<tool_call>\n<function=f>\n</function> {}",
                "junk </tool </tool_call ".repeat(n)
            )
        },
    },
    tags("line breaks that are spelled out", |n| {
        format!(
            "<tool_call>f{}",
            "\\n<arg_key>s</arg_key>\\n<arg_value>a\\n</arg_value>".repeat(n)
        )
    }),
    tags("ends of arguments that nothing has begun", |n| {
        format!("<tool_call>f\n{}", "</arg_value>".repeat(n))
    }),
    tags("the same behind each call", |n| {
        format!("{ONE_ARGUMENT}</arg_value></arg_value>").repeat(n)
    }),
    tags("calls that nothing ends", |n| ONE_ARGUMENT.repeat(n)),
    tags("names that nothing begins", |n| {
        format!("<tool_call>f\n{}", "s</arg_key>\n".repeat(n))
    }),
    Shape {
        name: "MiniMax-M3, items as JSON",
        template: "minimax-m3",
        asks: nothing,
        tools: 2,
        output: |n| {
            let tag = |name: &str| format!("]<]minimax[>[<{name}>");
            let items = format!("{}{{\"a\":1}}{}", tag("item"), tag("/item")).repeat(n);
            let open = [tag("tool_call"), tag("invoke name=\"f\""), tag("items")].concat();
            [
                open,
                items,
                tag("/items"),
                tag("/invoke"),
                tag("/tool_call"),
            ]
            .concat()
        },
    },
    Shape {
        name: "calls at the end of reasoning that has no end",
        template: "json-call",
        asks: || json!({"calls_in_reasoning": "at_end"}),
        tools: 2,
        output: |n| format!("<think>\n{}and a word</think>\n\nDone.", CALL.repeat(n)),
    },
    left("text behind a broken call", |n| {
        format!(
            "{OFF_FORMAT}<tool_call>{{\"name\": \"f\", \"arguments\": {{\"s\": oops {}",
            "a b ".repeat(16 * n)
        )
    }),
    Shape {
        name: "<f<f<f of 100 tools",
        template: WITHOUT_REASONING,
        asks: nothing,
        tools: 100,
        output: |n| "<f".repeat(16 * n),
    },
    left("heads of calls", |n| {
        OFF_FORMAT.to_owned() + &"<tool_call>{\"name\": \"f\", \"argum".repeat(n)
    }),
    left("calls that break off", |n| {
        OFF_FORMAT.to_owned()
            + &"<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": oops".repeat(n)
    }),
    left("calls of tags that break off", |n| {
        OFF_FORMAT.to_owned() + &"<function=f><parameter=s>x<parameter=n>?".repeat(n)
    }),
    left("openings of calls", |n| {
        OFF_FORMAT.to_owned() + &"<tool_call>".repeat(n)
    }),
    left("braces", |n| OFF_FORMAT.to_owned() + &"{".repeat(16 * n)),
    left("objects that are no calls", |n| {
        OFF_FORMAT.to_owned() + &"{\"name\": \"g\", \"arguments\": {}} ".repeat(n)
    }),
    left("halves of markers", |n| {
        OFF_FORMAT.to_owned() + &"<tool_ca<|channel<｜tool▁ca".repeat(n)
    }),
    left("arguments in arguments", |n| {
        OFF_FORMAT.to_owned() + &"{\"arguments\": ".repeat(n)
    }),
    left("arguments in arguments, closed", |n| {
        format!(
            "{OFF_FORMAT}{}{{}}{}",
            "{\"arguments\": ".repeat(n),
            "}".repeat(n)
        )
    }),
    left("arguments before a name that is none", |n| {
        format!(
            "{OFF_FORMAT}{}{{}}{}",
            "{\"arguments\": ".repeat(n),
            ", \"name\": 1}".repeat(n)
        )
    }),
    left("a string without an end", |n| {
        format!(
            "{OFF_FORMAT}<tool_call>{{\"name\": \"f\", \"arguments\": {{\"s\": \"{}",
            "words \\n".repeat(4 * n)
        )
    }),
    left("strings without an end", |n| {
        OFF_FORMAT.to_owned()
            + &"<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"x\n".repeat(n)
    }),
    left("arguments first, with a string without an end", |n| {
        format!("{OFF_FORMAT}{}", "{\"arguments\": {\"s\": \"".repeat(n))
    }),
    left("white space behind the format", |n| {
        format!("{OFF_FORMAT}{}.", " \n".repeat(16 * n))
    }),
    left("white space between calls", |n| {
        OFF_FORMAT.to_owned() + &format!("{CALL}{}", " ".repeat(40)).repeat(n)
    }),
    left("white space in calls", |n| {
        OFF_FORMAT.to_owned()
            + &format!("<tool_call>{}{{\"name\"{}x", " ".repeat(40), " ".repeat(40)).repeat(n)
    }),
    left("arrays in arrays", |n| {
        format!(
            "{OFF_FORMAT}<tool_call>{{\"name\": \"f\", \"arguments\": {{\"s\": {}",
            "[".repeat(8 * n)
        )
    }),
    left("blocks of R1 without an end", |n| {
        OFF_FORMAT.to_owned() + &"function<f>\n```json\n{\"s\": ".repeat(n)
    }),
    left("headers of harmony", |n| {
        OFF_FORMAT.to_owned() + &"<|start|>assistant<|channel|>analysis??? to=functions.".repeat(n)
    }),
    Shape {
        name: "thoughts and calls of GPT-OSS by turns",
        template: "gpt-oss",
        asks: nothing,
        tools: 2,
        output: |n| {
            let call = "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{\"s\": \"x\"}<|call|>";
            let thought = "<|channel|>analysis<|message|>x<|end|>";
            format!(
                "{thought}{}",
                format!("{call}<|start|>assistant{thought}").repeat(n)
            )
        },
    },
    Shape {
        name: "a call in the format, JSON arrays in arrays",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| {
            format!(
                "<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"s\": {}",
                "[".repeat(8 * n)
            )
        },
    },
    Shape {
        name: "the same, closed",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| {
            let value = "[".repeat(4 * n) + &"]".repeat(4 * n);
            format!(
                "<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"s\": {value}}}}}\n</tool_call>"
            )
        },
    },
    Shape {
        name: "dialects everywhere, heads of calls in content",
        template: "tag-json-id",
        asks: || json!({"dialects": "always", "calls_in_reasoning": "always"}),
        tools: 2,
        output: |n| format!("Text {}{}", "<tool_call> ".repeat(n), CALL.repeat(n)),
    },
    Shape {
        name: "markers of many dialects, and names in front of them",
        template: "tag-json-id",
        asks: || json!({"dialects": "always"}),
        tools: 50,
        output: |n| {
            let all = "to=f<|message|> f<|content_invoke_tool_json|>x<|message|>all\n<|content|><|recipient|><|open|>call tool=\"\
                       </think><seed:tool_call><｜DSML｜tool_calls><|tool_call_start|>```python<function name=\"f ";
            all.repeat(n)
        },
    },
    Shape {
        name: "what closes thoughts in content",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| "</think> <think>\n\n </think> x ".repeat(2 * n),
    },
    Shape {
        name: "empty thoughts in front of a call",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| format!("{}{CALL}", "<think>\n\n</think>\n".repeat(n)),
    },
    Shape {
        name: "brackets and wrappers in front of a call",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| format!("{}{CALL}", "```json\n[ <tool_calls>\n".repeat(n)),
    },
    Shape {
        name: "wrappers in front of calls, by turns",
        template: "tag-parameters",
        asks: nothing,
        tools: 2,
        output: |n| {
            "<tool_calls>\n<tool_call>\n<function=f>\n<parameter=s>\ntext\n</parameter>\n</function>\n</tool_call>\n"
                .repeat(n)
        },
    },
    Shape {
        name: "ids behind the objects of calls",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| {
            "<tool_call>\n{\"function\": {\"name\": \"f\", \"arguments\": {\"s\": \"text\"}}, \"id\": \"call00001\"}\n</tool_call>\n".repeat(n)
        },
    },
    Shape {
        name: "openers of calls behind a call",
        template: "json-bare",
        asks: || json!({"dialects": "always"}),
        tools: 2,
        output: |n| format!("{CALL}{}", "<tool_call> <|call|> assistant ".repeat(n)),
    },
    Shape {
        name: "calls in reasoning, each with a word",
        template: "json-call",
        asks: || json!({"calls_in_reasoning": "at_end"}),
        tools: 2,
        output: |n| {
            format!(
                "<think>\n{}</think>\n\nDone.",
                format!("{CALL}and ").repeat(n)
            )
        },
    },
    Shape {
        name: "calls quoted in reasoning, with no end",
        template: "qwen3-coder",
        asks: nothing,
        tools: 2,
        output: |n| {
            "<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n</function>\n</tool_call> or ".repeat(n)
        },
    },
    Shape {
        name: "markers of calls and names of tools in reasoning",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| {
            format!(
                "<think>\n{}</think>\n\nDone.",
                "use `<tool_call>` for f, or {\"name\": ".repeat(n)
            )
        },
    },
    in_arguments("lists in lists", |n| format!("{ANY}{}", "[".repeat(n))),
    in_arguments("objects in objects", |n| {
        format!("{ANY}{}", "{\"k\": ".repeat(n))
    }),
    in_arguments("a long name with many items", |n| {
        format!("{ANY}{{\"{}\": [{}", "k".repeat(8 * n), "1,".repeat(4 * n))
    }),
    in_arguments("white space behind a comma", |n| {
        format!("{ARGUMENTS}[1,{}2]", " \n".repeat(16 * n))
    }),
    in_arguments("comments", |n| {
        format!("{ARGUMENTS}[1{}]", " /* , */ // ]\n".repeat(n))
    }),
    in_arguments("commas behind last items", |n| {
        format!("{ARGUMENTS}{}{}", "[1, ".repeat(n), ",]".repeat(n))
    }),
    in_arguments("a comment without an end", |n| {
        format!("{ARGUMENTS}[1, /* {}", "* /".repeat(8 * n))
    }),
    in_arguments("line breaks in single quotes", |n| {
        format!("{ARGUMENTS}'{}'", "a\n\\d\"".repeat(4 * n))
    }),
    in_arguments("a backslash in front of all", |n| {
        format!("{ARGUMENTS}\"{}\"", "\\d\\u00".repeat(4 * n))
    }),
    Shape {
        name: "heads of calls in reasoning",
        template: "json-call",
        asks: || json!({"calls_in_reasoning": "at_end"}),
        tools: 2,
        output: |n| {
            format!(
                "<think>\n{}",
                "<tool_call>{\"name\": \"f\", \"arguments\": ".repeat(n)
            )
        },
    },
    Shape {
        name: "white space around everything",
        template: "json-call",
        asks: nothing,
        tools: 2,
        output: |n| {
            let gap = " \n".repeat(8 * n);
            format!("<think>{gap}x{gap}</think>{gap}y{gap}<tool_call>{gap}{{\"name\": \"f\"{gap},")
        },
    },
    Shape {
        name: "LFM2, printed texts",
        template: "lfm2",
        asks: nothing,
        tools: 2,
        output: |n| {
            format!(
                "<|tool_call_start|>[f(s='a\n{}",
                "', n= '), f( ']".repeat(n)
            )
        },
    },
    Shape {
        name: "LFM2, quotes in a list",
        template: "lfm2",
        asks: nothing,
        tools: 2,
        output: |n| {
            format!(
                "<|tool_call_start|>[f(items=['{}",
                "a' \n b', 'it's".repeat(n)
            )
        },
    },
    Shape {
        name: "LFM2, white space behind a quote",
        template: "lfm2",
        asks: nothing,
        tools: 2,
        output: |n| format!("<|tool_call_start|>[f(items=['a'{}b'", " ".repeat(16 * n)),
    },
    Shape {
        name: "ends of arguments",
        template: "qwen3-coder",
        asks: nothing,
        tools: 2,
        output: |n| {
            format!(
                "</think>\n<tool_call>\n<function=f>\n<parameter=s>\n{}",
                "\n</parameter> \n </parameter".repeat(n)
            )
        },
    },
];
