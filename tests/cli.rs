//! The program: what each command prints, and how it fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

const WEATHER: &str = r#"{
    "messages": [{"role": "user", "content": "Rain?"}],
    "reasoning_format": "auto",
    "parallel_tool_calls": true,
    "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
}"#;

const OUTPUT: &str = "<think>\nHm,\nlook.</think>\n\nWait.\
                      <tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

/// What a run of the program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    #[track_caller]
    fn succeeded(self) -> String {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// Ended with `code` and a message that says each of `parts`, on one line that names the program.
    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.starts_with("chatparse: ") && self.stderr.ends_with('\n'), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {:?}", self.stderr);
        }
        self.stdout
    }
}

fn start(args: &[&str], variables: &[(&str, &str)]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chatparse"));
    command.args(args).env_remove("NO_COLOR").envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all output is UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn run_with(args: &[&str], stdin: &[u8]) -> Run {
    let mut child = start(args, &[]);
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that does not read its input is free to end before; one that answers much must be read meanwhile.
        scope.spawn(move || drop(pipe.write_all(stdin)));
        finish(child)
    })
}

fn run(args: &[&str]) -> Run {
    run_with(args, b"")
}

/// A file for one test.
fn file(name: &str, bytes: &[u8]) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_demo_shows_prompt_layout_pieces_and_message() {
    let shown = run(&[]).succeeded();
    for part in ["<|im_start|>user", "tools.format", "reasoning  I· sh·oul·d", "get_weather", "The message (complete)"]
    {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line:?} is too long");
        assert_eq!(line, line.trim_end(), "{line:?} ends in white space");
    }
}

#[test]
fn nothing_is_coloured_off_a_terminal() {
    let request = file("colour.json", WEATHER.as_bytes());
    let output = file("colour.txt", OUTPUT.as_bytes());
    for args in [&[][..], &["inspect", "json-call"], &["parse", "json-call", &request, &output], &["templates"]] {
        for variables in [&[][..], &[("NO_COLOR", "1")], &[("TERM", "xterm-256color")]] {
            let run = finish(start(args, variables));
            assert!(!run.succeeded().contains('\x1b'), "{args:?} {variables:?}");
        }
    }
}

#[test]
fn help_and_version() {
    let help = run(&["--help"]).succeeded();
    assert_eq!(run(&["-h"]).succeeded(), help);
    assert_eq!(run(&["--version"]).succeeded(), format!("chatparse {}\n", env!("CARGO_PKG_VERSION")));
    for command in ["render", "inspect", "lint", "parse", "grammar", "replay", "templates"] {
        assert!(help.contains(&format!("\n  {command}")), "{command} is in the help");
        let text = run(&[command, "--help"]).succeeded();
        assert!(text.starts_with(&format!("chatparse {command}")) && text.contains("\nexample"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
    }
}

#[test]
fn wrong_usage_is_2() {
    let request = file("usage.json", WEATHER.as_bytes());
    run(&["frobnicate"]).failed(2, &["frobnicate", "render", "chatparse --help"]);
    run(&["--frob"]).failed(2, &["--frob"]);
    run(&["render"]).failed(2, &["TEMPLATE is missing", "chatparse render --help"]);
    run(&["parse", "chatml"]).failed(2, &["REQUEST is missing"]);
    run(&["inspect", "chatml", "--colour"]).failed(2, &["no option --colour", "chatparse inspect --help"]);
    run(&["inspect", "chatml", "--json=yes"]).failed(2, &["--json takes no value"]);
    run(&["render", "chatml", &request, "--bos"]).failed(2, &["--bos needs a value"]);
    run(&["templates", "a", "b"]).failed(2, &["unexpected", "b"]);
    run(&["replay", "file"]).failed(2, &["unexpected", "file"]);
    run(&["parse", "chatml", "-", "-"]).failed(2, &["standard input"]);
    run(&["parse", "chatml", "-"]).failed(2, &["standard input"]);
    run(&["parse", "chatml", &request, "--json", "--events"]).failed(2, &["--json", "--events"]);
}

#[test]
fn bad_input_is_1_and_named() {
    let request = file("bad-request.json", WEATHER.as_bytes());
    let binary = file("binary", b"{{ 'a' }}\xff\xfe");
    let broken = file("broken.jinja", b"line\n{% for %}");
    let raising = file("raising.jinja", b"{{ raise_exception('only cats') }}");
    run(&["render", "no/such.jinja", &request]).failed(1, &["no/such.jinja", "built-in", "json-call"]);
    run(&["render", "chatml", "no/such.json"]).failed(1, &["no/such.json"]);
    run(&["render", &binary, &request]).failed(1, &["binary", "UTF-8", "byte 9"]);
    run(&["render", "chatml", &binary]).failed(1, &["binary", "UTF-8"]);
    run(&["render", &broken, &request]).failed(1, &["broken.jinja", "line 2"]);
    run(&["render", &raising, &request]).failed(1, &["raising.jinja", "only cats"]);
    run(&["parse", &raising, &request]).failed(1, &["raising.jinja"]);
    run(&["inspect", env!("CARGO_MANIFEST_DIR")]).failed(1, &["cannot read"]);
    run_with(&["render", "chatml"], b"nonsense").failed(1, &["standard input", "JSON"]);
    run_with(&["render", "chatml"], b"").failed(1, &["standard input"]);
    run_with(&["render", "chatml", "-"], br#"{"messages": 1}"#).failed(1, &["standard input", "messages"]);
    run_with(&["render", "chatml"], "[".repeat(100_000).as_bytes()).failed(1, &["standard input"]);
    run(&["templates", "nope"]).failed(1, &["nope"]);
}

#[test]
fn render_tells_whose_text_it_is() {
    let body = br#"{"messages": [{"role": "user", "content": "Hi <b>"}]}"#;
    let printed = run_with(&["render", "chatml", "--segments"], body).succeeded();
    let lines: Vec<serde_json::Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: String = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, run_with(&["render", "chatml"], body).succeeded());
    let user = lines.iter().find(|line| line["from"] == "message").unwrap();
    assert_eq!((&user["message"], &user["field"], &user["text"]), (&0.into(), &"content".into(), &"Hi <b>".into()));
}

#[test]
fn render_prints_exact_bytes() {
    let template = file(
        "plain.jinja",
        "{{ bos_token }}{% for m in messages %}{{ m.content }}\n\né{% endfor %}{{ eos_token }}".as_bytes(),
    );
    let body = r#"{"messages": [{"role": "user", "content": "a\tb"}]}"#;
    let request = file("plain.json", body.as_bytes());
    assert_eq!(run(&["render", &template, &request]).succeeded(), "a\tb\n\né");
    assert_eq!(run_with(&["render", &template], body.as_bytes()).succeeded(), "a\tb\n\né");
    assert_eq!(run_with(&["render", &template, "-"], body.as_bytes()).succeeded(), "a\tb\n\né");
    assert_eq!(
        run(&["render", "--bos", "<s>", &template, "--eos=</s>", "--", &request]).succeeded(),
        "<s>a\tb\n\né</s>"
    );
    // The template may come from standard input instead.
    assert_eq!(run_with(&["render", "-", &request], b"{{ messages[0].content }}").succeeded(), "a\tb");
    assert_eq!(
        run(&["render", "chatml", &request]).succeeded(),
        "<|im_start|>user\na\tb<|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn render_plain() {
    let template = file("shows-all.jinja", b"{{ messages }}{{ tools }}{{ enable_thinking is defined }}");
    let request = br#"{"messages": [{"role": 1}], "dialects": "off"}"#;
    assert_eq!(run_with(&["render", "--plain", &template], request).succeeded(), "[{'role': 1}]NoneFalse");
    let config = json!({"bos_token": {"content": "<s>"}, "chat_template": [
        {"name": "default", "template": "{{ bos_token }}"}, {"name": "rag", "template": "rag"}]});
    let config = file("tokenizer_config.json", config.to_string().as_bytes());
    let request = br#"{"messages": []}"#;
    assert_eq!(run_with(&["render", &config], request).succeeded(), "<s>");
    assert_eq!(run_with(&["render", &config, "--name", "rag"], request).succeeded(), "rag");
    run_with(&["render", &config, "--name", "tools"], request).failed(1, &["tokenizer_config.json", "default, rag"]);
}

#[test]
fn render_params() {
    let request = file("params.json", WEATHER.as_bytes());
    let params = json_of(&run(&["render", "json-call", &request, "--params"]).succeeded());
    assert_eq!(params["generation_prompt"], "<|im_start|>assistant\n");
    assert_eq!(params["grammar_triggers"], json!([{"type": "word", "value": "<tool_call>\n"}]));
    assert!(params["prompt"].as_str().unwrap().contains("get_weather"));
}

#[test]
fn inspect_shows_caps_layout_and_evidence() {
    let shown = run(&["inspect", "json-call"]).succeeded();
    for part in [
        "  tool calls                yes\n",
        "  tools.per_call_start  <tool_call>\\n\n",
        "a reply without / with reasoning",
        "    +       ",
        "    before  …",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80 && line == line.trim_end()), "{shown}");
    let learnt = json_of(&run(&["inspect", "json-call", "--json"]).succeeded());
    assert_eq!(learnt["caps"]["supports_tool_calls"], true);
    assert_eq!(learnt["layout"]["tools"]["format"], "json_native");
    assert!(learnt["evidence"].as_array().unwrap().iter().any(|item| item["field"] == "reasoning.start"));
    // A template that shows nothing is no failure.
    run(&["inspect", &file("empty.jinja", b"")]).succeeded();
}

#[test]
fn inspect_says_who_reads_and_how_well() {
    let reads = |shown: &str, parts: &[&str]| {
        for part in parts {
            assert!(shown.contains(part), "{part:?} is not in\n{shown}");
        }
        let mut lines = shown.lines().skip_while(|line| *line != "how it is read").take_while(|line| !line.is_empty());
        assert!(lines.all(|line| line.chars().count() <= 80 && line == line.trim_end()), "{shown}");
    };
    let back = "  read back  66 of 66\n";
    reads(
        &run(&["inspect", "wrapped-content"]).succeeded(),
        &["  reader     the learnt layout\n", back, "how it writes\n"],
    );
    let shown = run(&["inspect", "kimi-k2"]).succeeded();
    reads(&shown, &["  reader     kimi-k2, a known family of templates\n", back, "(not used)\n"]);
    assert!(!shown.contains("how it writes"), "{shown}");
    let shown = run(&["inspect", "gpt-oss", "--learn-only"]).succeeded();
    reads(&shown, &["  reader     the learnt turn\n", "how it writes\n", "  prompt → content   "]);

    let json = json_of(&run(&["inspect", "kimi-k2", "--json"]).succeeded());
    assert_eq!((&json["reader"], &json["proof"]["read_back"]), (&json!("kimi-k2"), &json["proof"]["cases"]));
    assert_eq!(json["tried"][0]["reader"], "kimi-k2");

    // What cannot be rendered cannot be used.
    let refusing = file("refusing.jinja", b"{{ raise_exception('not today') }}");
    for options in [&["inspect", &refusing][..], &["inspect", &refusing, "--json"]] {
        run(options).failed(1, &["refuses all 9 messages", "not today"]);
    }
}

#[test]
fn parse_shows_the_message_part_by_part() {
    let request = file("live.json", WEATHER.as_bytes());
    let expected = "reasoning  Hm,\n           look.\ncontent    Wait.\n\
                    call 1     get_weather {\"city\": \"Oslo\"}\nstatus     complete\n";
    assert_eq!(run_with(&["parse", "json-call", &request], OUTPUT.as_bytes()).succeeded(), expected);
    let output = file("live.txt", OUTPUT.as_bytes());
    assert_eq!(run(&["parse", "json-call", &request, &output]).succeeded(), expected);
    assert_eq!(run_with(&["parse", "json-call", "-", &output], WEATHER.as_bytes()).succeeded(), expected);
    let hostile = run_with(&["parse", "chatml", &request], b"\x1b[31mred\xff\r").succeeded();
    assert_eq!(hostile, "content    \\u{1b}[31mred\u{fffd}\\r\nstatus     complete\n");
}

#[test]
fn parse_shows_ids() {
    let request = file("ids.json", WEATHER.as_bytes());
    let output =
        "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": \"abcdef001\"}]";
    let shown = run_with(&["parse", "json-array-ids", &request], output.as_bytes()).succeeded();
    assert_eq!(shown, "call 1     get_weather {\"city\": \"Oslo\"} [abcdef001]\nstatus     complete\n");
}

#[test]
fn parse_json_and_partial() {
    let request = file("message.json", WEATHER.as_bytes());
    let parse = |output: &str, more: &[&str]| {
        let args = [&["parse", "json-call", &request, "--json"], more].concat();
        json_of(&run_with(&args, output.as_bytes()).succeeded())
    };
    let call =
        |arguments: &str| json!([{"type": "function", "function": {"name": "get_weather", "arguments": arguments}}]);
    let message = |calls: Value| json!({"role": "assistant", "content": "Wait.", "reasoning_content": "Hm,\nlook.", "tool_calls": calls});
    let calls = |good: bool| json!([{"complete": good, "known": true, "valid": good, "origin": "format"}]);
    let whole = parse(OUTPUT, &[]);
    let said = message(call("{\"city\": \"Oslo\"}"));
    let clean =
        json!({"message": said, "status": "complete", "left_at": null, "calls": calls(true), "diagnostics": []});
    assert_eq!(whole, clean);
    let cut = parse(&OUTPUT[..OUTPUT.len() - 18], &["--partial"]);
    assert_eq!(cut["message"], message(call("{\"city\": \"Os")));
    assert_eq!((&cut["status"], &cut["calls"]), (&json!("partial"), &calls(false)));
    assert_eq!(cut["diagnostics"][0]["kind"], "unfinished_call");
}

#[test]
fn parse_events_make_up_the_message() {
    let request = file("events.json", WEATHER.as_bytes());
    let shown = run_with(&["parse", "json-call", &request, "--events"], OUTPUT.as_bytes()).succeeded();
    let mut lines: Vec<Value> = shown.lines().map(json_of).collect();
    assert_eq!(lines.pop().unwrap()["status"], "complete");
    let text = |kind: &str| {
        let events = lines.iter().filter(|event| event["kind"] == kind);
        events.map(|event| event["text"].as_str().unwrap()).collect::<String>()
    };
    assert_eq!(text("reasoning"), "Hm,\nlook.");
    assert_eq!(text("content"), "Wait.");
    assert_eq!(text("tool_name"), "get_weather");
    assert_eq!(text("tool_arguments"), "{\"city\": \"Oslo\"}");
    let content = lines.iter().find(|event| event["kind"] == "content").unwrap();
    let span: Vec<usize> = serde_json::from_value(content["span"].clone()).unwrap();
    assert_eq!(&OUTPUT[span[0]..span[1]], "Wait.");
    assert_eq!(content["call"], 0);
}

#[test]
fn parse_strict_refuses_what_does_not_fit() {
    let request = file("strict.json", WEATHER.as_bytes());
    let bad = "Well.<tool_call>\n{\"name\": \"get_wealth\"}\n</tool_call>";
    run_with(&["parse", "json-call", &request, "--strict"], OUTPUT.as_bytes()).succeeded();
    let shown = run_with(&["parse", "json-call", &request, "--strict"], bad.as_bytes()).failed(1, &["byte"]);
    assert!(shown.starts_with("content    Well."), "what came first is shown: {shown}");
    let none = run_with(&["parse", "json-call", &request, "--strict", "--json"], bad.as_bytes()).failed(1, &["byte"]);
    assert_eq!(none, "");
    let lenient = json_of(&run_with(&["parse", "json-call", &request, "--json"], bad.as_bytes()).succeeded());
    assert_eq!(lenient["status"], "recovered");
    assert!(lenient["left_at"].is_u64(), "{lenient}");
}

#[test]
fn parse_shows_pieces_as_they_come() {
    use std::io::Read;
    let request = file("pieces.json", WEATHER.as_bytes());
    let mut child = start(&["parse", "json-call", &request], &[]);
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = [0; 64];
    for (piece, expected) in [("Hel", "content    Hel"), ("lo", "lo"), ("!", "!")] {
        stdin.write_all(piece.as_bytes()).unwrap();
        stdin.flush().unwrap();
        let size = stdout.read(&mut shown).unwrap();
        assert_eq!(std::str::from_utf8(&shown[..size]), Ok(expected));
    }
    drop(stdin);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "\nstatus     complete\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn lint_says_what_is_not_read_back() {
    let shown = run(&["lint", "json-call"]).succeeded();
    assert!(shown.contains("\nparallel calls                   no turn (off), survives\n"), "{shown}");
    let report = json_of(&run(&["lint", "json-call", "--json"]).succeeded());
    assert_eq!(report["faults"], 0);
    let calls = report["cases"].as_array().unwrap().iter().find(|case| case["probe"] == "one call").unwrap();
    assert_eq!((&calls["thinking"], &calls["outcome"]), (&json!("off"), &json!("no_turn")));
    assert!(calls["at"].as_u64().unwrap() > 0, "{calls}");

    let stuttering = "{%- for m in messages -%}{{- m.role ~ ': ' ~ m.content ~ m.content ~ '\\n' -}}{%- endfor -%}\
                    {%- if add_generation_prompt -%}{{- 'assistant: ' -}}{%- endif -%}";
    let shown = run(&["lint", &file("stuttering.jinja", stuttering.as_bytes())]).failed(1, &["9 of 9 messages"]);
    for part in
        ["\ncontent in unicode   lost\n", "content (off): lost", "{\"content\":\"Quince\"", "differs at  byte 64\n"]
    {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    run(&["lint", "no-such-template"]).failed(2, &["no-such-template"]);
}

#[test]
fn templates_lists_and_prints() {
    let list = run(&["templates"]).succeeded();
    for name in chatparse::builtin::names() {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} is not in\n{list}");
        assert_eq!(run(&["templates", name]).succeeded(), chatparse::builtin::find(name).unwrap().source);
    }
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
}

#[test]
fn replay_answers_each_line() {
    let scenario = json!({
        "id": "one",
        "template_source": chatparse::builtin::find("json-call").unwrap().source,
        "request": json_of(WEATHER),
        "outputs": [OUTPUT],
    });
    let input = format!("{scenario}\n\nnonsense\n{}\n", json!({"id": 2}));
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    let answers: Vec<Value> = answers.lines().map(json_of).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!((&answers[0]["id"], &answers[0]["parses"][0]["message"]["content"]), (&json!("one"), &json!("Wait.")));
    assert!(answers[1]["error"].is_string());
    assert!(answers[2]["id"] == 2 && answers[2]["error"].is_string());
}

#[test]
fn replay_knows_special_tokens() {
    let text = "<think>\nIs </think> it?\n</think>\n\nYes.";
    let scenario = |output: Value| {
        json!({
            "template_source": chatparse::builtin::find("json-call").unwrap().source,
            "request": {"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto"},
            "special_tokens": ["<think>", "</think>"],
            "outputs": [output],
        })
    };
    let input = [
        scenario(json!({"text": text, "special": [[0, 7], [24, 32]], "step": 3})),
        scenario(json!({"text": text})),
        scenario(json!({"text": text, "special": [[0, 7], [5, 9]]})),
        scenario(json!({"text": text, "special": [[0]]})),
    ];
    let input: String = input.iter().map(|scenario| format!("{scenario}\n")).collect();
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    let answers: Vec<Value> = answers.lines().map(json_of).collect();
    let message = |index: usize| &answers[index]["parses"][0]["message"];
    assert_eq!(
        (&message(0)["reasoning_content"], &message(0)["content"]),
        (&json!("Is </think> it?\n"), &json!("Yes."))
    );
    assert_eq!(message(1)["content"], text);
    assert!(answers[2]["error"].as_str().unwrap().starts_with("spans: number 1"), "{}", answers[2]);
    assert!(answers[3]["error"].as_str().unwrap().starts_with("special: "), "{}", answers[3]);
}

/// The same template, twice in one run: each way of taking it is kept by itself.
#[test]
fn replay_tells_learnt_from_known() {
    let scenario = |learn_only: bool| {
        json!({
            "id": learn_only,
            "template_source": chatparse::builtin::find("gemma-4").unwrap().source,
            "learn_only": learn_only,
            "request": json_of(WEATHER),
            "outputs": ["Hello"],
        })
    };
    let input = [false, true, false].map(|learn_only| scenario(learn_only).to_string()).join("\n");
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    let known = answers.lines().map(|line| json_of(line)["params"]["format"] == "peg-gemma4");
    assert_eq!(known.collect::<Vec<_>>(), [true, false, true]);
}

/// What llama.cpp answered over our own templates. The C tests hold the C library to the same file, field by field; where its
/// messages are others is listed in parity.txt.
#[test]
fn replay_answers_as_llama_cpp_did() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(here.join(path)).expect("the recorded answers are there");
    let (recorded, listed) = (read("c-tests/parity.jsonl"), read("c-tests/parity.txt"));
    let rows: Vec<Value> = recorded.lines().map(json_of).collect();
    let input: String =
        rows.iter().map(|row| format!("{}\n", scenario_in(&here.join("templates"), &row["in"]))).collect();
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    assert_eq!(answers.lines().count(), rows.len());
    let mut others = Vec::new();
    for (row, answer) in rows.iter().zip(answers.lines().map(json_of)) {
        let (id, out) = (row["in"]["id"].as_str().unwrap(), &row["out"]);
        assert_eq!(answer["id"], id);
        assert_eq!(answer["error"].is_string(), out["error"].is_string(), "{id}: {answer}");
        for field in ["prompt", "format", "grammar_triggers", "additional_stops", "message_delimiters"] {
            assert_eq!(answer["params"][field], out["params"][field], "{id}: {field}");
        }
        for (number, parse) in out["parses"].as_array().into_iter().flatten().enumerate() {
            let message = &answer["parses"][number]["message"];
            if parse["message"].is_object() && with_values(message) != with_values(&parse["message"]) {
                others.push(format!("{id}#{number}"));
            }
        }
    }
    let known: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("message: ")).collect();
    assert_eq!(others, known);
}

/// The message, with arguments as values where they are JSON.
fn with_values(message: &Value) -> Value {
    let mut message = message.clone();
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        let value = call["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
        call["arguments"] = value.unwrap_or(call["arguments"].take());
    }
    message
}

fn scenario_in(templates: &Path, scenario: &Value) -> Value {
    let mut scenario = scenario.clone();
    if let Some(name) = scenario["template"].as_str() {
        scenario["template"] = templates.join(name).to_str().unwrap().into();
    }
    scenario
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let body = json!({"messages": [{"role": "user", "content": "word ".repeat(200_000)}]}).to_string();
    let request = file("long.json", body.as_bytes());
    for args in [&["render", "chatml", &request][..], &["parse", "chatml", &request, "--events", &request]] {
        let mut child = start(args, &[]);
        drop(child.stdin.take());
        drop(child.stdout.take());
        let run = finish(child);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chatparse"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.arg("templates").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));
}

#[test]
fn grammar_prints_and_checks() {
    let schema = br#"{"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}, "required": ["n"]}"#;
    let faithful = run_with(&["grammar"], schema);
    assert_eq!(faithful.code, Some(0), "{faithful:?}");
    assert!(faithful.stderr.starts_with("chatparse: narrowed: #/properties: "), "{faithful:?}");
    let printed = run_with(&["grammar", "--llama"], schema);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert_eq!(printed.stderr, "chatparse: widened: #/properties/n/multipleOf: not followed by the grammar\n");
    assert!(printed.stdout.contains("root ::= \"{\" space n-kv space \"}\"\n"), "{}", printed.stdout);

    let file = file("n.gbnf", printed.stdout.as_bytes());
    let usable = run_with(&["grammar", "--check", &file], b"").succeeded();
    assert_eq!(usable, "the grammar can be used\n");
    let allowed = run_with(&["grammar", "--check", &file, "-"], b"{\"n\": 4}").succeeded();
    assert_eq!(allowed, "the grammar allows the text\n");
    run_with(&["grammar", "--check", &file, "-"], b"{\"n\": x}").failed(1, &["from byte 6 on", "x}"]);
    run_with(&["grammar", "--check", &file, "-"], b"{\"n\": 4").failed(1, &["wants more"]);

    let lark = run_with(&["grammar", "--dialect", "lark"], br#"{"type": "boolean"}"#).succeeded();
    assert_eq!(lark, "start: ROOT\nROOT: /true|false/\n");
    run_with(&["grammar", "--dialect", "bnf"], b"{}").failed(2, &["\"bnf\"", "portable-gbnf"]);
    run_with(&["grammar", "--check", "--dialect", "lark", &file], b"").failed(2, &["--check"]);
    run_with(&["grammar"], br#"{"type": "banana"}"#).failed(1, &["standard input", "#", "banana"]);
    run_with(&["grammar"], b"{").failed(1, &["standard input", "EOF"]);
    run_with(&["grammar", "--check", "-"], b"root ::= *").failed(1, &["line 1", "nothing to repeat"]);
    run_with(&["grammar", "--check"], b"").failed(2, &["GRAMMAR is missing"]);
    run_with(&["grammar", "--check", "-", "-"], b"").failed(2, &["one thing only"]);
    run_with(&["grammar", "a", "b"], b"").failed(2, &["--check"]);
}
