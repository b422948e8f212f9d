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

    /// Ended with `code` and a message that says each of `parts`, on one line that names the
    /// program.
    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(
            self.stderr.starts_with("chatparse: ") && self.stderr.ends_with('\n'),
            "{self:?}"
        );
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "{part:?} is not in {:?}",
                self.stderr
            );
        }
        self.stdout
    }
}

fn start(args: &[&str], variables: &[(&str, &str)]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chatparse"));
    command
        .args(args)
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .envs(variables.iter().copied());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all output is UTF-8");
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn run_with(args: &[&str], stdin: &[u8]) -> Run {
    let mut child = start(args, &[]);
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that does not read its input is free to end before; one that answers much must
        // be read meanwhile.
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
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_tour_shows_template_message_slip_and_grammar() {
    let shown = run(&[]).succeeded();
    for part in [
        "<call {{ call.function.name }}>",
        "reasoning  <think>‹reasoning›</think>",
        "call       <call ‹name›>(<arg ‹key›>‹value›</arg>)*</call>(…)*",
        "call 1     get_weather {\"city\":\"Oslo\"}\nstatus     complete\n",
        "call 1     get_weather {\"city\": \"Oslo\"}\nstatus     recovered\n",
        "root ::= ",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    assert!(shown.lines().count() <= 40, "{shown}");
    for columns in [40, 80, 100] {
        let shown = finish(start(&[], &[("COLUMNS", &columns.to_string())])).succeeded();
        for line in shown.lines() {
            assert!(line.chars().count() <= columns, "{line:?} is too long");
            assert_eq!(line, line.trim_end(), "{line:?} ends in white space");
        }
    }
}

#[test]
fn nothing_is_coloured_off_a_terminal() {
    let request = file("colour.json", WEATHER.as_bytes());
    let output = file("colour.txt", OUTPUT.as_bytes());
    for args in [
        &[][..],
        &["inspect", "json-call"],
        &["parse", "json-call", &request, &output],
        &["templates"],
    ] {
        for variables in [&[][..], &[("NO_COLOR", "1")], &[("TERM", "xterm-256color")]] {
            let run = finish(start(args, variables));
            assert!(!run.succeeded().contains('\x1b'), "{args:?} {variables:?}");
        }
    }
}

const COMMANDS: &[&str] = &[
    "render",
    "inspect",
    "lint",
    "diff",
    "parse",
    "audit",
    "grammar",
    "board",
    "export",
    "replay",
    "templates",
    "completions",
    "man",
    "help",
];

#[test]
fn lines_are_as_wide_as_columns_says() {
    for columns in [60, 90, 120] {
        let help = finish(start(
            &["inspect", "--help"],
            &[("COLUMNS", &columns.to_string())],
        ))
        .succeeded();
        let text = help
            .lines()
            .take_while(|line| !line.starts_with("Exit status"));
        let widest = text.map(|line| line.chars().count()).max().unwrap();
        assert!(
            widest <= columns && widest > columns - 10,
            "{columns}: {help}"
        );
    }
    let wide = finish(start(&["templates"], &[("COLUMNS", "nonsense")])).succeeded();
    assert_eq!(wide, run(&["templates"]).succeeded());
}

#[test]
fn colours_are_as_asked() {
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        finish(start(args, variables)).succeeded().contains('\x1b')
    };
    assert!(coloured(
        &["templates", "--color", "always"],
        &[("NO_COLOR", "1")]
    ));
    assert!(coloured(&["--color=always", "templates"], &[]));
    assert!(coloured(&["--color", "always"], &[]), "the tour");
    assert!(!coloured(&["templates", "--color", "never"], &[]));
    assert!(!coloured(&["templates", "--color", "auto"], &[]));
    run(&["templates", "--color", "sometimes"]).failed(2, &["auto, always, never", "'sometimes'"]);
}

#[test]
fn what_was_meant_is_named() {
    let request = file("meant.json", WEATHER.as_bytes());
    run(&["inspet"]).failed(2, &["'inspet'", "'inspect'"]);
    run(&["--verson"]).failed(2, &["'--verson'", "'--version'"]);
    run(&["help", "prase"]).failed(2, &["'prase'"]);
    run(&["parse", "--jsn", "chatml", &request]).failed(2, &["'--jsn'", "'--json'"]);
    run(&["render", "qwen3", &request]).failed(1, &["\"qwen3\"", "did you mean qwen3-coder?"]);
    run(&["templates", "gema-4"]).failed(1, &["did you mean gemma-4?"]);
    run(&["grammar", "--dialect", "larc"]).failed(2, &["'lark'"]);
    run(&["completions", "zhs"]).failed(2, &["'zhs'", "bash", "fish", "zsh"]);
    run(&[&request]).failed(2, &["did you mean chatparse inspect "]);
    for (args, text) in [
        (&["frobnicate"][..], "command"),
        (&["render", "frobnicate"], "template"),
    ] {
        let run = run(args);
        assert!(
            run.stderr.contains(text) && run.stderr.len() < 200,
            "{run:?}"
        );
        assert!(!run.stderr.contains("did you mean"), "{run:?}");
    }
}

#[test]
fn completions_and_the_manual_pages_are_those_that_are_installed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("share");
    assert_eq!(
        run(&["man", "--share", folder.to_str().unwrap()]).succeeded(),
        ""
    );
    let printed_as = |args: &[&str], installed: &str| {
        let printed = run(args).succeeded();
        assert_eq!(
            std::fs::read_to_string(folder.join(installed))
                .ok()
                .as_ref(),
            Some(&printed),
            "{args:?}"
        );
        printed
    };
    let mut printed = vec![
        printed_as(
            &["completions", "bash"],
            "bash-completion/completions/chatparse",
        ),
        printed_as(&["completions", "zsh"], "zsh/site-functions/_chatparse"),
        printed_as(
            &["completions", "fish"],
            "fish/vendor_completions.d/chatparse.fish",
        ),
    ];
    let page = printed_as(&["man"], "man/man1/chatparse.1");
    let pages = COMMANDS.iter().filter(|command| **command != "help");
    let pages = pages.map(|command| {
        printed_as(
            &["man", command],
            &format!("man/man1/chatparse-{command}.1"),
        )
    });
    printed.push(page + &pages.collect::<String>());
    for printed in printed {
        for part in [COMMANDS, &["learn-only", "fail-on", "color", "dialect"]].concat() {
            assert!(
                printed.replace("\\-", "-").contains(part),
                "{part} is not in {printed}"
            );
        }
    }
    run(&["man", "frobnicate"]).failed(2, &["frobnicate"]);
}

#[test]
fn bash_completes() {
    let script = file(
        "completions.bash",
        run(&["completions", "bash"]).succeeded().as_bytes(),
    );
    let complete = |words: &[&str]| {
        let [.., before, current] = words else {
            panic!("a program and a word of its own")
        };
        let line = format!(
            "source {script} 2>/dev/null; COMP_WORDS=({}) COMP_CWORD={} && _chatparse chatparse '{current}' '{before}' 2>/dev/null; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words
                .iter()
                .map(|word| format!("'{word}'"))
                .collect::<Vec<_>>()
                .join(" "),
            words.len() - 1,
        );
        let output = Command::new("bash")
            .args(["-c", &line])
            .output()
            .expect("there is bash");
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(complete(&["chatparse", "ins"]), ["inspect"]);
    assert_eq!(complete(&["chatparse", "parse", "--st"]), ["--strict"]);
    assert_eq!(
        complete(&["chatparse", "grammar", "--dialect", "l"]),
        ["lark"]
    );
    assert_eq!(complete(&["chatparse", "lint", "--color", "n"]), ["never"]);
}

#[test]
fn help_and_version() {
    let help = run(&["--help"]).succeeded();
    assert_eq!(run(&["help"]).succeeded(), help);
    assert!(run(&["-h"]).succeeded().contains("Usage: chatparse"));
    assert_eq!(
        run(&["--version"]).succeeded(),
        format!("chatparse {}\n", env!("CARGO_PKG_VERSION"))
    );
    for command in COMMANDS {
        assert!(
            help.contains(&format!("\n  {command}")),
            "{command} is in the help"
        );
    }
    for command in COMMANDS.iter().filter(|command| **command != "help") {
        let text = run(&[command, "--help"]).succeeded();
        assert!(
            text.contains(&format!("Usage: chatparse {command}")),
            "{text}"
        );
        assert_eq!(run(&["help", command]).succeeded(), text);
        assert!(
            text.contains("--color <WHEN>") && text.contains("\nExit status: 0 "),
            "{text}"
        );
        let (said, _) = text.split_once("\nExamples:\n").expect("examples");
        assert!(
            said.lines().all(|line| line.chars().count() <= 90),
            "{text}"
        );
    }
}

#[test]
fn wrong_usage_is_2() {
    let request = file("usage.json", WEATHER.as_bytes());
    run(&["frobnicate"]).failed(2, &["'frobnicate'", "--help"]);
    run(&["render", "chatml", &request, "--bos", "a", "--bos=b"])
        .failed(2, &["'--bos <TEXT>' cannot be used multiple times"]);
    run(&["inspect", "chatml", "--json", "--json"])
        .failed(2, &["'--json' cannot be used multiple times"]);
    run(&["lint"]).failed(2, &["not provided", "<PLACE>"]);
    run(&["lint", "-", "-"]).failed(2, &["standard input"]);
    run(&["lint", "chatml", "--json", "--sarif"]).failed(2, &["--json", "--sarif"]);
    run(&["--frob"]).failed(2, &["--frob"]);
    run(&["render"]).failed(
        2,
        &["not provided", "<TEMPLATE>", "chatparse render", "--help"],
    );
    run(&["parse", "chatml"]).failed(2, &["not provided", "<REQUEST>"]);
    run(&["inspect", "chatml", "--colour"])
        .failed(2, &["'--colour'", "chatparse inspect", "--help"]);
    run(&["inspect", "chatml", "--json=yes"]).failed(2, &["'yes'", "'--json'"]);
    run(&["render", "chatml", &request, "--bos"])
        .failed(2, &["a value is required for '--bos <TEXT>'"]);
    run(&["templates", "a", "b"]).failed(2, &["unexpected", "b"]);
    run(&["replay", "file"]).failed(2, &["unexpected", "file"]);
    run(&["parse", "chatml", "-", "-"]).failed(2, &["standard input"]);
    run(&["audit", "-"]).failed(2, &["standard input"]);
    run(&["parse", "chatml", "-"]).failed(2, &["standard input"]);
    run(&["parse", "chatml", &request, "--json", "--events"]).failed(2, &["--json", "--events"]);
}

#[test]
fn bad_input_is_1_and_named() {
    let request = file("bad-request.json", WEATHER.as_bytes());
    let binary = file("binary", b"{{ 'a' }}\xff\xfe");
    let broken = file("broken.jinja", b"line\n{% for %}");
    let raising = file("raising.jinja", b"{{ raise_exception('only cats') }}");
    run(&["render", "no/such.jinja", &request])
        .failed(1, &["no/such.jinja", "built-in", "chatparse templates"]);
    run(&["render", "chatml", "no/such.json"]).failed(1, &["no/such.json"]);
    run(&["render", &binary, &request]).failed(1, &["binary", "UTF-8", "byte 9"]);
    run(&["render", "chatml", &binary]).failed(1, &["binary", "UTF-8"]);
    run(&["render", &broken, &request]).failed(1, &["broken.jinja:2:1: ", "\n  2 | {% for %}\n"]);
    run(&["render", &raising, &request]).failed(1, &["raising.jinja", "only cats"]);
    run(&["parse", &raising, &request]).failed(1, &["raising.jinja"]);
    run(&["inspect", env!("CARGO_MANIFEST_DIR")]).failed(1, &["cannot read"]);
    run_with(&["render", "chatml"], b"nonsense").failed(1, &["standard input", "JSON"]);
    run_with(&["render", "chatml"], b"").failed(1, &["standard input"]);
    run_with(&["render", "chatml", "-"], br#"{"messages": 1}"#)
        .failed(1, &["standard input", "messages"]);
    run_with(&["render", "chatml"], "[".repeat(100_000).as_bytes()).failed(1, &["standard input"]);
    run(&["templates", "nope"]).failed(1, &["nope"]);
}

/// The file that is wrong, where in it, and what to do.
#[test]
fn errors_show_the_place_and_a_way_on() {
    let request = file("place.json", WEATHER.as_bytes());
    let filter = file(
        "filter.jinja",
        b"{% for m in messages %}\n  {{ m.content | frobnicate }}\n{% endfor %}",
    );
    let place =
        "filter.jinja:2:3: filter frobnicate is unknown\n  2 | {{ m.content | frobnicate }}\n";
    let early = file("early.json", b"{\"messages\": [\n");
    run(&["render", "chatml", &early])
        .failed(1, &["early.json:1:15: not JSON", "  1 | {\"messages\": ["]);
    for args in [&["render", &filter, &request][..], &["inspect", &filter]] {
        run(args).failed(1, &[place]);
    }
    let config = file(
        "inside.json",
        json!({"chat_template": "a\n{% for %}"})
            .to_string()
            .as_bytes(),
    );
    run(&["inspect", &config]).failed(1, &["inside.json: chat_template:2:1: "]);

    let slip = file(
        "slip.json",
        "{\"messages\": [\n {\"role\": \"é\",, \"content\": 1}]}".as_bytes(),
    );
    run(&["render", "chatml", &slip]).failed(
        1,
        &[
            "slip.json:2:16: not JSON: key must be a string",
            "\n  2 |  {\"role\": \"é\",, \"content\": 1}]}\n    |               ^\n",
        ],
    );
    run(&["render", "chatml", &filter])
        .failed(1, &["filter.jinja:1:2: ", "hint: ", "TEMPLATE comes first"]);
    run(&["render", &request, &request]).failed(
        1,
        &["without a chat_template", "hint: ", "TEMPLATE comes first"],
    );
    run_with(&["grammar"], b"{\"a\": }").failed(1, &["standard input:1:7: not JSON"]);

    let bare = file("model/tokenizer_config.json", b"{\"bos_token\": \"<s>\"}");
    run(&["inspect", &bare]).failed(
        1,
        &["without a chat_template", "hint: ", "a file of its own"],
    );
    let cut = file(
        "cut/tokenizer_config.json",
        b"{\"chat_template\": \"{{ a }}\",\n\"eos",
    );
    for place in [&cut, cut.trim_end_matches("tokenizer_config.json")] {
        run(&["inspect", place]).failed(1, &["tokenizer_config.json:2:5: not JSON: it ends in a"]);
    }
    let beside = file("cut/chat_template.jinja", b"{{ a }}");
    run(&["inspect", &beside]).failed(1, &["tokenizer_config.json:2:5: not JSON: it ends in a"]);
    // The folder of a checkpoint is its template; another one is none.
    let folder = Path::new(&bare).parent().unwrap();
    run(&["inspect", folder.to_str().unwrap()]).failed(1, &["without a chat_template"]);
    run(&["inspect", &no_templates()]).failed(1, &["it is a directory"]);
    let beside = file("model/chat_template.jinja", b"{{ messages[0].content }}");
    run(&["inspect", &bare]).failed(
        1,
        &[
            "hint: there is a template beside it: ",
            "chat_template.jinja",
        ],
    );
    std::fs::remove_file(beside).unwrap();
    let model = file("model.gguf", b"GGUF\x03\0\0\0\xff\xff");
    run(&["inspect", &model]).failed(1, &["model.gguf: the file is cut off, after \"GGUF\""]);
}

#[cfg(unix)]
#[test]
fn endless_files_are_read_to_the_limit() {
    run(&["inspect", "/dev/zero"]).failed(1, &["/dev/zero", "longer than", "limit"]);
    run(&["render", "chatml", "/dev/zero"]).failed(1, &["/dev/zero", "longer than", "limit"]);
}

#[test]
fn render_tells_whose_text_it_is() {
    let body = br#"{"messages": [{"role": "user", "content": "Hi <b>"}]}"#;
    let printed = run_with(&["render", "chatml", "--segments"], body).succeeded();
    let lines: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let texts: String = lines
        .iter()
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, run_with(&["render", "chatml"], body).succeeded());
    let user = lines.iter().find(|line| line["from"] == "message").unwrap();
    assert_eq!(
        (&user["message"], &user["field"], &user["text"]),
        (&0.into(), &"content".into(), &"Hi <b>".into())
    );
}

#[test]
fn render_tells_what_each_tool_takes() {
    let printed = run_with(&["render", "tag-json", "--tools"], WEATHER.as_bytes()).succeeded();
    let prompt = run_with(&["render", "tag-json"], WEATHER.as_bytes()).succeeded();
    let rows = printed.lines().map(|line| {
        line.trim()
            .splitn(3, ' ')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    let rows: Vec<(usize, String)> = rows
        .map(|row| (row[0].parse().unwrap(), row.last().unwrap().clone()))
        .collect();
    let names = ["get_weather", "all tools", "the prompt"];
    assert!(
        rows.iter()
            .zip(names)
            .all(|((_, row), name)| row.ends_with(name)),
        "{printed}"
    );
    assert!(
        rows[0].0 > 60 && rows[0].0 == rows[1].0 && rows[2].0 == prompt.len(),
        "{printed}"
    );
}

#[test]
fn render_prints_exact_bytes() {
    let template = file(
        "plain.jinja",
        "{{ bos_token }}{% for m in messages %}{{ m.content }}\n\né{% endfor %}{{ eos_token }}"
            .as_bytes(),
    );
    let body = r#"{"messages": [{"role": "user", "content": "a\tb"}]}"#;
    let request = file("plain.json", body.as_bytes());
    assert_eq!(
        run(&["render", &template, &request]).succeeded(),
        "a\tb\n\né"
    );
    assert_eq!(
        run_with(&["render", &template], body.as_bytes()).succeeded(),
        "a\tb\n\né"
    );
    assert_eq!(
        run_with(&["render", &template, "-"], body.as_bytes()).succeeded(),
        "a\tb\n\né"
    );
    assert_eq!(
        run(&[
            "render",
            "--bos",
            "<s>",
            &template,
            "--eos=</s>",
            "--",
            &request
        ])
        .succeeded(),
        "<s>a\tb\n\né</s>"
    );
    // The template may come from standard input instead.
    assert_eq!(
        run_with(&["render", "-", &request], b"{{ messages[0].content }}").succeeded(),
        "a\tb"
    );
    assert_eq!(
        run(&["render", "chatml", &request]).succeeded(),
        "<|im_start|>user\na\tb<|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn render_plain() {
    let template = file(
        "shows-all.jinja",
        b"{{ messages }}{{ tools }}{{ enable_thinking is defined }}",
    );
    let request = br#"{"messages": [{"role": 1}], "dialects": "off"}"#;
    assert_eq!(
        run_with(&["render", "--plain", &template], request).succeeded(),
        "[{'role': 1}]NoneFalse"
    );
    let config = json!({"bos_token": {"content": "<s>"}, "chat_template": [
        {"name": "default", "template": "{{ bos_token }}"}, {"name": "rag", "template": "rag"}]});
    let config = file("tokenizer_config.json", config.to_string().as_bytes());
    let request = br#"{"messages": []}"#;
    assert_eq!(run_with(&["render", &config], request).succeeded(), "<s>");
    assert_eq!(
        run_with(&["render", &config, "--name", "rag"], request).succeeded(),
        "rag"
    );
    run_with(&["render", &config, "--name", "tools"], request)
        .failed(1, &["tokenizer_config.json", "default, rag"]);
}

#[test]
fn render_params() {
    let request = file("params.json", WEATHER.as_bytes());
    let params = json_of(&run(&["render", "json-call", &request, "--params"]).succeeded());
    assert_eq!(params["generation_prompt"], "<|im_start|>assistant\n");
    assert_eq!(
        params["grammar_triggers"],
        json!([{"type": "word", "value": "<tool_call>\n"}])
    );
    assert!(params["prompt"].as_str().unwrap().contains("get_weather"));
}

#[test]
fn inspect_shows_caps_and_evidence() {
    let short = run(&["inspect", "tag-invoke"]).succeeded();
    assert!(
        short.lines().count() < 12 && short.contains("  call       <"),
        "{short}"
    );
    assert!(short.contains("(<parameter name=\"‹key›\">"), "{short}");
    let shown = run(&["inspect", "json-call", "--evidence"]).succeeded();
    for part in [
        "  tool calls                yes\n",
        "a reply without / with reasoning",
        "    +       ",
        "    before  …",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    assert!(
        shown
            .lines()
            .all(|line| line.chars().count() <= 80 && line == line.trim_end()),
        "{shown}"
    );
    let learnt = json_of(&run(&["inspect", "json-call", "--json"]).succeeded());
    assert_eq!(learnt["caps"]["supports_tool_calls"], true);
    assert_eq!(learnt["layout"]["tools"]["format"], "json_native");
    assert!(
        learnt["evidence"]
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["field"] == "reasoning")
    );
    // What shows no message is no chat template.
    for (name, text, why) in [
        ("empty.jinja", "", "is empty"),
        ("plain.txt", "Hello.\n", "renders none of the 9 messages"),
    ] {
        run(&["inspect", &file(name, text.as_bytes())]).failed(1, &[name, why]);
    }
    // Tokens that nobody gave are named.
    let tokens = file(
        "tokens.jinja",
        b"{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}",
    );
    assert!(
        run(&["inspect", &tokens])
            .succeeded()
            .contains("bos_token is used, and empty: give it with --bos\n")
    );
    assert!(
        !run(&["inspect", &tokens, "--bos", "<s>"])
            .succeeded()
            .contains("bos_token")
    );
}

#[test]
fn inspect_says_who_reads_and_how_well() {
    let reads = |shown: &str, parts: &[&str]| {
        for part in parts {
            assert!(shown.contains(part), "{part:?} is not in\n{shown}");
        }
        assert!(
            shown
                .lines()
                .take_while(|line| !line.is_empty())
                .all(|line| line.chars().count() <= 80 && line == line.trim_end()),
            "{shown}"
        );
    };
    let back = "  read back  78 of 78\n";
    reads(
        &run(&["inspect", "wrapped-content", "--evidence"]).succeeded(),
        &["  reader     the learnt turn\n", back, "how it writes\n"],
    );
    let shown = run(&["inspect", "kimi-k2", "--evidence"]).succeeded();
    reads(
        &shown,
        &[
            "  reader     kimi-k2, a known family of templates\n",
            back,
            "(not used)\n",
        ],
    );
    assert!(!shown.contains("how it writes"), "{shown}");
    let shown = run(&["inspect", "gpt-oss", "--learn-only", "--evidence"]).succeeded();
    reads(
        &shown,
        &[
            "  reader     the learnt turn\n",
            "how it writes\n",
            "  prompt → content   ",
        ],
    );

    let json = json_of(&run(&["inspect", "kimi-k2", "--json"]).succeeded());
    assert_eq!(
        (&json["reader"], &json["proof"]["read_back"]),
        (&json!("kimi-k2"), &json["proof"]["cases"])
    );
    assert_eq!(json["tried"][0]["reader"], "kimi-k2");

    // What cannot be rendered cannot be used.
    let refusing = file("refusing.jinja", b"{{ raise_exception('not today') }}");
    for options in [
        &["inspect", &refusing][..],
        &["inspect", &refusing, "--json"],
    ] {
        run(options).failed(1, &["refuses all 9 messages", "not today"]);
    }
}

#[test]
fn parse_shows_the_message_part_by_part() {
    let request = file("live.json", WEATHER.as_bytes());
    let expected = "reasoning  Hm,\n           look.\ncontent    Wait.\n\
                    call 1     get_weather {\"city\": \"Oslo\"}\nstatus     complete\n";
    assert_eq!(
        run_with(&["parse", "json-call", &request], OUTPUT.as_bytes()).succeeded(),
        expected
    );
    let output = file("live.txt", OUTPUT.as_bytes());
    assert_eq!(
        run(&["parse", "json-call", &request, &output]).succeeded(),
        expected
    );
    assert_eq!(
        run_with(&["parse", "json-call", "-", &output], WEATHER.as_bytes()).succeeded(),
        expected
    );
    let hostile = run_with(&["parse", "chatml", &request], b"\x1b[31mred\xff\r").succeeded();
    assert_eq!(
        hostile,
        "content    \\u{1b}[31mred\u{fffd}\\r\nstatus     complete\n"
    );
}

#[test]
fn parse_shows_ids() {
    let request = file("ids.json", WEATHER.as_bytes());
    let output = "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}, \"id\": \"abcdef001\"}]";
    let shown = run_with(&["parse", "json-array-ids", &request], output.as_bytes()).succeeded();
    assert_eq!(
        shown,
        "call 1     get_weather {\"city\": \"Oslo\"} [abcdef001]\nstatus     complete\n"
    );
    // This one comes behind the brace that opens the arguments.
    let output = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>\
                  {\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>";
    let shown = run_with(&["parse", "kimi-k2", &request], output.as_bytes()).succeeded();
    assert_eq!(
        shown,
        "call 1     get_weather [functions.get_weather:0] {\"city\": \"Oslo\"}\nstatus     complete\n"
    );
}

#[test]
fn parse_json_and_partial() {
    let request = file("message.json", WEATHER.as_bytes());
    let parse = |output: &str, more: &[&str]| {
        let args = [&["parse", "json-call", &request, "--json"], more].concat();
        json_of(&run_with(&args, output.as_bytes()).succeeded())
    };
    let call = |arguments: &str| json!([{"type": "function", "function": {"name": "get_weather", "arguments": arguments}}]);
    let message = |calls: Value| json!({"role": "assistant", "content": "Wait.", "reasoning_content": "Hm,\nlook.", "tool_calls": calls});
    let calls =
        |good: bool| json!([{"complete": good, "known": true, "valid": good, "origin": "format"}]);
    let whole = parse(OUTPUT, &[]);
    let said = message(call("{\"city\": \"Oslo\"}"));
    let clean = json!({"message": said, "status": "complete", "left_at": null, "calls": calls(true), "diagnostics": []});
    assert_eq!(whole, clean);
    let cut = parse(&OUTPUT[..OUTPUT.len() - 18], &["--partial"]);
    assert_eq!(cut["message"], message(call("{\"city\": \"Os")));
    assert_eq!(
        (&cut["status"], &cut["calls"]),
        (&json!("partial"), &calls(false))
    );
    assert_eq!(cut["diagnostics"][0]["kind"], "unfinished_call");
}

#[test]
fn parse_fails_on_what_is_named() {
    let request = file("fail-on.json", WEATHER.as_bytes());
    let parse = |output: &str, list: &str| {
        run_with(
            &["parse", "json-call", &request, "--fail-on", list],
            output.as_bytes(),
        )
    };
    let cut = &OUTPUT[..OUTPUT.len() - 18];
    let all = "partial,recovered,calls";
    parse(OUTPUT, all).succeeded();
    let shown =
        parse(cut, "recovered, partial").failed(3, &["standard input: the output is partial"]);
    assert!(
        shown.contains("\nstatus     partial\n"),
        "the message is shown all the same: {shown}"
    );
    parse(cut, "calls").failed(3, &["call 1 is not complete"]);
    parse(cut, "recovered").succeeded();
    parse(&OUTPUT.replace("get_weather", "get_rain"), "calls")
        .failed(3, &["call 1 is of no tool that the request offers"]);
    parse(&OUTPUT.replace("\"Oslo\"", "7"), "calls").failed(3, &["call 1 has arguments"]);
    let strict = |more: &[&str]| {
        run_with(
            &[&["parse", "json-call", &request, "--strict"], more].concat(),
            cut.as_bytes(),
        )
    };
    strict(&[]).failed(1, &["ends where the template's format does not"]);
    strict(&["--partial"]).succeeded();
    parse(OUTPUT, "partail").failed(2, &["'partail'", "'partial'"]);
}

#[test]
fn parse_events_make_up_the_message() {
    let request = file("events.json", WEATHER.as_bytes());
    let shown = run_with(
        &["parse", "json-call", &request, "--events"],
        OUTPUT.as_bytes(),
    )
    .succeeded();
    let mut lines: Vec<Value> = shown.lines().map(json_of).collect();
    assert_eq!(lines.pop().unwrap()["status"], "complete");
    let text = |kind: &str| {
        let events = lines.iter().filter(|event| event["kind"] == kind);
        events
            .map(|event| event["text"].as_str().unwrap())
            .collect::<String>()
    };
    assert_eq!(text("reasoning"), "Hm,\nlook.");
    assert_eq!(text("content"), "Wait.");
    assert_eq!(text("tool_name"), "get_weather");
    assert_eq!(text("tool_arguments"), "{\"city\": \"Oslo\"}");
    let content = lines
        .iter()
        .find(|event| event["kind"] == "content")
        .unwrap();
    let span: Vec<usize> = serde_json::from_value(content["span"].clone()).unwrap();
    assert_eq!(&OUTPUT[span[0]..span[1]], "Wait.");
    assert_eq!(content["call"], 0);
}

#[test]
fn parse_strict_refuses_what_does_not_fit() {
    let request = file("strict.json", WEATHER.as_bytes());
    let bad = "Well.<tool_call>\n{\"name\": \"get_wealth\"}\n</tool_call>";
    run_with(
        &["parse", "json-call", &request, "--strict"],
        OUTPUT.as_bytes(),
    )
    .succeeded();
    let shown = run_with(
        &["parse", "json-call", &request, "--strict"],
        bad.as_bytes(),
    )
    .failed(1, &["byte"]);
    assert!(
        shown.starts_with("content    Well."),
        "what came first is shown: {shown}"
    );
    let none = run_with(
        &["parse", "json-call", &request, "--strict", "--json"],
        bad.as_bytes(),
    )
    .failed(1, &["byte"]);
    assert_eq!(none, "");
    let lenient =
        json_of(&run_with(&["parse", "json-call", &request, "--json"], bad.as_bytes()).succeeded());
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

/// Doubles the content of all messages.
const STUTTERING: &str = "{%- for m in messages -%}{{- m.role ~ ': ' ~ m.content ~ m.content ~ '\\n' -}}{%- endfor -%}\
                          {%- if add_generation_prompt -%}{{- 'assistant: ' -}}{%- endif -%}";

#[test]
fn lint_shows_what_breaks_a_law() {
    let shown = run(&["lint", "json-call"]).succeeded();
    for part in [
        "json-call\n",
        "  note        opens: The prompt ends with text that the history does not have",
        "  holds       shown, absent, agrees, read,",
        "\npassed\n",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    assert_eq!(run(&["verify", "json-call"]).succeeded(), shown);
    let report = json_of(&run(&["lint", "json-call", "--json"]).succeeded());
    assert_eq!(
        (
            &report["faults"],
            &report["template"],
            &report["laws"]["read"]
        ),
        (&json!(0), &json!("json-call"), &json!("holds"))
    );
    let mut cases = report["cases"].as_array().unwrap().iter();
    let calls = cases.find(|case| case["probe"] == "one call").unwrap();
    assert_eq!(
        (&calls["thinking"], &calls["outcome"], &calls["fault"]),
        (&json!("off"), &json!("no_turn"), &json!(false))
    );
    assert!(calls["at"].as_u64().unwrap() > 0, "{calls}");

    let shown = run(&["lint", &file("stuttering.jinja", STUTTERING.as_bytes())])
        .failed(1, &["stuttering.jinja breaks: ", "read"]);
    for part in [
        "  fault       read: Another message is read than was written; it differs in\n              content (9 of 9 messages: all).\n",
        "    so        Users see calls or reasoning as text, or a tool gets other",
        "    expected  {\"content\":\"Quince\"",
        "    got       {\"content\":\"QuinceQuince\"",
        "\nfailed: ",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    // One cause is reported once.
    assert_eq!(shown.matches("  fault       read: ").count(), 1, "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    run(&["lint", "no-such-template"]).failed(2, &["no-such-template"]);
    let plain = run(&["lint", &file("plain.txt", b"Hello.\n")]).failed(1, &["breaks: shown"]);
    assert!(plain.contains("shown: messages[0].content (user) is not in the prompt."));
}

#[test]
fn lint_takes_many_templates() {
    let stuttering = file("stutter.jinja", STUTTERING.as_bytes());
    let raising = file(
        "raises.jinja",
        b"{% for m in messages %}{{ m.content }}\n{{ m.content | frobnicate }}{% endfor %}",
    );
    let broken = file("broken too.jinja", b"line\n{% for %}");
    let shown = run(&["lint", "chatml", &stuttering]).failed(1, &["1 of 2 templates fail"]);
    assert!(
        shown.ends_with("\n2 templates: 1 passed, 1 failed\n"),
        "{shown}"
    );
    let shown = run(&["lint", "chatml", &broken, &stuttering])
        .failed(2, &["1 of 3 templates cannot be read"]);
    assert!(
        shown.ends_with("\n3 templates: 1 passed, 1 failed, 1 cannot be read\n"),
        "{shown}"
    );
    assert!(
        shown.contains("cannot be read: ") && shown.contains("broken too.jinja:2:1: "),
        "{shown}"
    );
    let shown = run(&["lint", &raising]).failed(1, &["breaks: read"]);
    for part in [
        "The template raises an error: filter frobnicate is unknown\n              (9 of 9 messages: all)",
        "in line   2\n",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }

    let objects = run(&["lint", "chatml", &stuttering, "--json"]).failed(1, &["1 of 2"]);
    let objects: Vec<Value> = serde_json::Deserializer::from_str(&objects)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(objects[0]["faults"], 0);
    assert_ne!(objects[1]["faults"], 0);
    assert_eq!(objects[1]["template"], stuttering);
}

#[test]
fn the_board_has_a_row_for_each_template() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("board");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("a<b>.jinja"),
        "{% for m in messages %}{{ m.content }}",
    )
    .unwrap();
    std::fs::write(folder.join("no_template.txt"), "").unwrap();
    let folder = folder.to_str().unwrap();
    let page = run(&["board", "json-call", folder]).succeeded();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("<tr><th"))
        .collect();
    assert_eq!(rows.len(), 2, "{page}");
    assert!(
        rows[0].contains("a&lt;b&gt;") && rows[0].contains("cannot be read: "),
        "{}",
        rows[0]
    );
    assert!(
        rows[1].contains("<summary>json-call</summary>"),
        "{}",
        rows[1]
    );
    for part in [
        "<td class=\"number\" data-rank=\"1000\">52 of 52</td>",
        "<td class=\"holds\" data-rank=\"2\">✓</td>",
        "2 templates, 1 without a fault",
        "kept, of templates",
    ] {
        assert!(page.contains(part), "{part:?} is not in\n{page}");
    }
    // A cell opens to its finding.
    let page = run(&["board", &file("stuttered.jinja", STUTTERING.as_bytes())]).succeeded();
    let cell = "<td class=\"fault\" data-rank=\"0\"><details><summary>fault</summary><pre>Another message is read";
    assert!(page.contains(cell), "{page}");
    let table = run(&["board", "--markdown", "json-call"]).succeeded();
    let columns = table.lines().map(|line| line.matches(" | ").count());
    assert_eq!(Vec::from_iter(columns), [4, 4, 4], "{table}");
    // Templates that more people use weigh more.
    let downloads = file(
        "downloads.tsv",
        b"# name\tdownloads\na<b>.jinja\t1\njson-call\t3000\n",
    );
    let page = run(&["board", "--downloads", &downloads, "json-call", folder]).succeeded();
    assert!(
        page.contains("kept, by downloads") && page.contains(">3000</td>"),
        "{page}"
    );
    run(&["board", &no_templates()]).failed(1, &["there is no template in it"]);
}

/// A folder without a template.
fn no_templates() -> String {
    let file = file("no templates/notes.txt", b"None.");
    let folder = Path::new(&file).parent().expect("a folder");
    folder.to_str().expect("a path in UTF-8").to_owned()
}

/// The metadata of a model in GGUF: strings by their keys, and special tokens.
fn gguf(template: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let pair =
        |key: &str, kind: u32, value: &[u8]| [&text(key)[..], &kind.to_le_bytes(), value].concat();
    let list = |kind: u32, elements: &[Vec<u8>]| {
        [
            &kind.to_le_bytes()[..],
            &(elements.len() as u64).to_le_bytes(),
            &elements.concat(),
        ]
        .concat()
    };
    let tokens = ["<|user|>", "<|end|>", "<|assistant|>"].map(text);
    let pairs = [
        pair("general.name", 8, &text("A model")),
        pair("tokenizer.ggml.tokens", 9, &list(8, &tokens)),
        pair(
            "tokenizer.ggml.token_type",
            9,
            &list(5, &[3u32; 3].map(|kind| kind.to_le_bytes().to_vec())),
        ),
        pair("tokenizer.ggml.eos_token_id", 4, &1u32.to_le_bytes()),
        pair("tokenizer.chat_template", 8, &text(template)),
    ];
    let head = [
        &b"GGUF"[..],
        &3u32.to_le_bytes(),
        &0u64.to_le_bytes(),
        &(pairs.len() as u64).to_le_bytes(),
    ];
    // The weights follow, and are not read.
    [head.concat(), pairs.concat(), vec![0; 1 << 20]].concat()
}

/// A request.
const HI: &str = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#;

const TURNS: &str = "{%- for m in messages -%}{{- '<|' ~ m.role ~ '|>' ~ m.content ~ '<|end|>' -}}{%- endfor -%}\
                     {%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}";

#[test]
fn templates_are_read_from_models() {
    let model = file("model.gguf", &gguf(TURNS));
    let prompt = run(&["render", &model, &file("hi.json", HI.as_bytes())]).succeeded();
    assert_eq!(prompt, "<|user|>Hi<|end|><|assistant|>");
    let report = json_of(&run(&["verify", &model, "--json"]).succeeded());
    assert_eq!(report["laws"]["vocabulary"], "holds", "{report:#}");
    let other = file("other.gguf", &gguf(&TURNS.replace("<|end|>", "<|stop|>")));
    run(&["verify", &other]).failed(1, &["breaks: vocabulary"]);
    run(&["verify", &file("short.gguf", &gguf(TURNS)[..60])]).failed(2, &["short.gguf"]);

    // A checkpoint, and a folder with it.
    file("checkpoints/one/chat_template.jinja", TURNS.as_bytes());
    let tokens = json!({"7": {"content": "<|user|>"}, "8": {"content": "<|end|>"}, "9": {"content": "<|assistant|>"}});
    let config = json!({"eos_token": "<|end|>", "added_tokens_decoder": tokens});
    let config = file(
        "checkpoints/one/tokenizer_config.json",
        config.to_string().as_bytes(),
    );
    let folder = std::path::Path::new(&config).parent().unwrap();
    let one = folder.to_str().unwrap();
    let report = json_of(&run(&["verify", one, "--json"]).succeeded());
    assert_eq!(
        (&report["laws"]["vocabulary"], &report["template"]),
        (&json!("holds"), &json!(one))
    );
    let all = run(&["verify", folder.parent().unwrap().to_str().unwrap()]).succeeded();
    assert!(all.starts_with(&format!("{one}\n")), "{all}");
    // A generation_config.json names other end tokens.
    let generation = json!({"eos_token_id": [7, 9]}).to_string();
    file(
        "checkpoints/one/generation_config.json",
        generation.as_bytes(),
    );
    let config = json!({"eos_token": "<|user|>", "added_tokens_decoder": tokens}).to_string();
    file("checkpoints/one/tokenizer_config.json", config.as_bytes());
    let shown = run(&["verify", one]).succeeded();
    assert!(
        shown.contains("Turns end with <|end|>, and the model's end tokens are"),
        "{shown}"
    );
}

#[test]
fn diff_says_what_a_change_changes() {
    let old = file("old.jinja", TURNS.as_bytes());
    let new = file("new.jinja", TURNS.replace("<|end|>", "</s>").as_bytes());
    let silent = TURNS.replace("in messages", "in messages if m.role != 'system'");
    let silent = file("silent.jinja", silent.as_bytes());
    assert_eq!(run(&["diff", &old, &old]).succeeded(), "no difference\n");
    let shown = run(&["diff", &old, &new]).succeeded();
    for part in [
        "  prompt      A text of the template differs.\n    request   user",
        "    old       <|end|>\n    new       </s>\n",
        "\nprompts differ: what is cached of earlier turns is lost where they do\n",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let shown = run(&["diff", &old, &silent]).succeeded();
    for part in [
        "  lost        worse: messages[0].content is not in the new prompt.\n    request   system, user; ",
        "  law         worse: shown: holds → fault.",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let changes = json_of(&run(&["diff", &silent, &old, "--json"]).succeeded());
    assert_eq!(
        (&changes[0]["kind"], &changes[0]["better"]),
        (&json!("lost"), &json!(true))
    );
    run(&["diff", &old]).failed(2, &["<NEW>"]);
    run(&["diff", &old, "no-such-template"]).failed(1, &["no-such-template"]);
}

#[test]
fn lint_counts_findings() {
    let source = "{%- for m in messages -%}<|open|>{{ m.role }}:\n{{- m.content }}{%- for c in m.tool_calls or [] -%}\
                  {%- endfor -%}<|close|>\n{%- endfor -%}{%- if add_generation_prompt -%}<|open|>assistant:\n{%- endif -%}\n";
    let faulty = file("faulty.jinja", source.as_bytes());
    let report = json_of(&run(&["lint", &faulty, "--json"]).failed(1, &["breaks: "]));
    let findings = report["findings"].as_array().unwrap();
    let faults = findings
        .iter()
        .filter(|found| found["fault"] == true)
        .count();
    assert!(faults > 0 && report["faults"] == faults, "{report:#}");
    run(&["lint", &faulty, "--fix"]).failed(2, &["unexpected argument '--fix'"]);
}

#[test]
fn lint_knows_the_vocabulary_beside_a_template() {
    let source = "{%- for m in messages -%}<|open|>{{ m.role }}:{{ m.content }}<|close|>{%- endfor -%}\
                  {%- if add_generation_prompt -%}<|open|>assistant:{%- endif -%}";
    let template = file("vocabulary/chat_template.jinja", source.as_bytes());
    let config = |last: &str| {
        let tokens = json!({"7": {"content": "<|open|>"}, "8": {"content": last}});
        file(
            "vocabulary/tokenizer_config.json",
            json!({"added_tokens_decoder": tokens})
                .to_string()
                .as_bytes(),
        )
    };
    config("<|close|>");
    run(&["lint", &template]).succeeded();
    config("<|closed|>");
    let shown = run(&["lint", &template]).failed(1, &["breaks: vocabulary"]);
    assert!(
        shown.contains("The template writes <|close|>, and the"),
        "{shown}"
    );
    // Only beside a template of that name.
    run(&["lint", &file("vocabulary/other.jinja", source.as_bytes())]).succeeded();
}

#[test]
fn lint_writes_sarif() {
    let raising = file(
        "sarif.jinja",
        b"{% for m in messages %}{{ m.content }}\n{{ m.content | frobnicate }}{% endfor %}",
    );
    let broken = file("sarif broken.jinja", b"line\n{% for %}");
    let log =
        json_of(&run(&["lint", "json-call", &raising, &broken, "--sarif"]).failed(2, &["1 of 3"]));
    assert_eq!(
        (&log["version"], &log["runs"][0]["tool"]["driver"]["name"]),
        (&json!("2.1.0"), &json!("chatparse"))
    );
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    for result in results {
        assert!(
            rules.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
        assert!(
            result["message"]["text"].is_string()
                && result["locations"][0]["physicalLocation"].is_object(),
            "{result}"
        );
    }
    let of = |end: &str| {
        let uri = |result: &&Value| {
            let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            uri.as_str().unwrap().ends_with(end)
        };
        results.iter().filter(uri).collect::<Vec<_>>()
    };
    assert!(
        of("builtin:json-call")
            .iter()
            .all(|result| result["level"] == "note")
    );
    let raised = of("/sarif.jinja");
    let refused = raised
        .iter()
        .find(|result| result["level"] == "error")
        .expect("an error");
    assert_eq!(refused["ruleId"], "read");
    let region = &refused["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region, &json!({"startLine": 2, "startColumn": 1}));
    let [unusable] = of("sarif%20broken.jinja")[..] else {
        panic!("{log}")
    };
    assert_eq!(unusable["ruleId"], "unusable");
}

#[test]
fn templates_lists_and_prints() {
    let list = run(&["templates"]).succeeded();
    for name in chatparse::builtin::names() {
        assert!(
            list.lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{name} is not in\n{list}"
        );
        assert_eq!(
            run(&["templates", name]).succeeded(),
            chatparse::builtin::find(name).unwrap().source
        );
    }
    assert!(
        list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
}

#[test]
fn audit_names_line_kind_and_place() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": 7}"}});
    let line = |finish: &str| {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        json!({"request": json_of(WEATHER), "response": {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}})
    };
    let sound = file(
        "sound.jsonl",
        line("tool_calls")
            .to_string()
            .replace("7}", "\\\"Oslo\\\"}")
            .as_bytes(),
    );
    assert_eq!(
        run(&["audit", "json-call", &sound]).succeeded(),
        "answers: 1; no findings\n"
    );
    let lines = format!("{}\n\n{}\n", line("tool_calls"), line("stop"));
    let shown = run_with(&["audit", "json-call"], lines.as_bytes())
        .failed(1, &["standard input: findings: 3"]);
    let schema = "  not-schema        call 0: the arguments: \"/city\" must be a string, not a\n                    number\n";
    let finish = "  wrong-finish      the finish is \"stop\", though there are calls\n";
    let all = "answers: 2; not-schema: 2, wrong-finish: 1\n";
    assert_eq!(
        shown,
        format!("line 1\n{schema}line 3\n{schema}{finish}{all}")
    );
    let found = run_with(&["audit", "json-call", "--json"], lines.as_bytes()).failed(1, &[]);
    let first = json!({"line": 1, "kind": "not-schema", "choice": 0, "call": 0, "event": null,
        "message": "the arguments: \"/city\" must be a string, not a number"});
    assert_eq!(json_of(found.lines().next().unwrap()), first);
    // Lines that cannot be read, and a template.
    let lines = "[1]\nx\n{\"request\": {\"messages\": []}}\n{\"request\": {\"tools\": 1}, \"events\": []}\n";
    let shown = run_with(&["audit", "json-call", "-"], lines.as_bytes())
        .failed(2, &["lines that cannot be read: 4"]);
    for part in [
        "line 1 cannot be read: not an object",
        "line 2 ",
        "line 3 ",
        "line 4 cannot be read: request: messages",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    run(&["audit", "jso-call", &sound]).failed(2, &["did you mean json-call"]);
    run(&["audit", "json-call", "no/such.jsonl"]).failed(2, &["no/such.jsonl"]);
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
    assert_eq!(
        (
            &answers[0]["id"],
            &answers[0]["parses"][0]["message"]["content"]
        ),
        (&json!("one"), &json!("Wait."))
    );
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
    let input: String = input
        .iter()
        .map(|scenario| format!("{scenario}\n"))
        .collect();
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    let answers: Vec<Value> = answers.lines().map(json_of).collect();
    let message = |index: usize| &answers[index]["parses"][0]["message"];
    assert_eq!(
        (&message(0)["reasoning_content"], &message(0)["content"]),
        (&json!("Is </think> it?\n"), &json!("Yes."))
    );
    assert_eq!(message(1)["content"], text);
    assert!(
        answers[2]["error"]
            .as_str()
            .unwrap()
            .starts_with("spans: number 1"),
        "{}",
        answers[2]
    );
    assert!(
        answers[3]["error"]
            .as_str()
            .unwrap()
            .starts_with("special: "),
        "{}",
        answers[3]
    );
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
    let input = [false, true, false]
        .map(|learn_only| scenario(learn_only).to_string())
        .join("\n");
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    let known = answers
        .lines()
        .map(|line| json_of(line)["params"]["format"] == "peg-gemma4");
    assert_eq!(known.collect::<Vec<_>>(), [true, false, true]);
}

/// What llama.cpp answered over our own templates. The C tests hold the C library to the same file,
/// field by field; where its messages are others is listed in parity.txt.
#[test]
fn replay_answers_as_llama_cpp_did() {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let read = |path: &str| {
        std::fs::read_to_string(here.join(path)).expect("the recorded answers are there")
    };
    let (recorded, listed) = (read("corpus/parity.jsonl"), read("corpus/parity.txt"));
    let rows: Vec<Value> = recorded.lines().map(json_of).collect();
    let input: String = rows
        .iter()
        .map(|row| format!("{}\n", scenario_in(&here.join("templates"), &row["in"])))
        .collect();
    let answers = run_with(&["replay"], input.as_bytes()).succeeded();
    assert_eq!(answers.lines().count(), rows.len());
    let mut others = Vec::new();
    for (row, answer) in rows.iter().zip(answers.lines().map(json_of)) {
        let (id, out) = (row["in"]["id"].as_str().unwrap(), &row["out"]);
        assert_eq!(answer["id"], id);
        assert_eq!(
            answer["error"].is_string(),
            out["error"].is_string(),
            "{id}: {answer}"
        );
        for field in [
            "prompt",
            "format",
            "grammar_triggers",
            "additional_stops",
            "message_delimiters",
        ] {
            assert_eq!(
                answer["params"][field], out["params"][field],
                "{id}: {field}"
            );
        }
        for (number, parse) in out["parses"].as_array().into_iter().flatten().enumerate() {
            let message = &answer["parses"][number]["message"];
            if parse["message"].is_object()
                && with_values(message) != with_values(&parse["message"])
            {
                others.push(format!("{id}#{number}"));
            }
        }
    }
    let known: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("message: "))
        .collect();
    assert_eq!(others, known);
}

/// The message, with arguments as values where they are JSON.
fn with_values(message: &Value) -> Value {
    let mut message = message.clone();
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        let value = call["arguments"]
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
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
    let body =
        json!({"messages": [{"role": "user", "content": "word ".repeat(200_000)}]}).to_string();
    let request = file("long.json", body.as_bytes());
    for args in [
        &["render", "chatml", &request][..],
        &["parse", "chatml", &request, "--events", &request],
    ] {
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
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command
        .arg("templates")
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));
}

#[test]
fn grammar_prints_and_checks() {
    let schema = br#"{"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}, "required": ["n"]}"#;
    let faithful = run_with(&["grammar"], schema);
    assert_eq!(faithful.code, Some(0), "{faithful:?}");
    assert!(
        faithful
            .stderr
            .starts_with("chatparse: narrowed: #/properties: "),
        "{faithful:?}"
    );
    let printed = run_with(&["grammar", "--llama"], schema);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert_eq!(
        printed.stderr,
        "chatparse: widened: #/properties/n/multipleOf: not followed by the grammar\n"
    );
    assert!(
        printed
            .stdout
            .contains("root ::= \"{\" space n-kv space \"}\"\n"),
        "{}",
        printed.stdout
    );

    let file = file("n.gbnf", printed.stdout.as_bytes());
    let usable = run_with(&["grammar", "--check", &file], b"").succeeded();
    assert_eq!(usable, "the grammar can be used\n");
    let allowed = run_with(&["grammar", "--check", &file, "-"], b"{\"n\": 4}").succeeded();
    assert_eq!(allowed, "the grammar allows the text\n");
    run_with(&["grammar", "--check", &file, "-"], b"{\"n\": x}")
        .failed(1, &["from byte 6 on", "x}"]);
    run_with(&["grammar", "--check", &file, "-"], b"{\"n\": 4").failed(1, &["expects more"]);

    let lark = run_with(&["grammar", "--dialect", "lark"], br#"{"type": "boolean"}"#).succeeded();
    assert_eq!(lark, "start: ROOT\nROOT: /true|false/\n");
    run_with(&["grammar", "--dialect", "yacc"], b"{}").failed(2, &["'yacc'", "portable-gbnf"]);
    run_with(&["grammar", "--check", "--dialect", "lark", &file], b"").failed(2, &["--check"]);
    run_with(&["grammar"], br#"{"type": "banana"}"#).failed(1, &["standard input", "#", "banana"]);
    run_with(&["grammar"], b"{").failed(1, &["standard input", "it ends in an object"]);
    run_with(&["grammar", "--check", "-"], b"root ::= *")
        .failed(1, &["line 1", "nothing to repeat"]);
    run_with(&["grammar", "--check"], b"").failed(2, &["not provided", "GRAMMAR"]);
    run_with(&["grammar", "--check", "-", "-"], b"").failed(2, &["one thing only"]);
    run_with(&["grammar", "a", "b"], b"").failed(2, &["--check"]);
}
