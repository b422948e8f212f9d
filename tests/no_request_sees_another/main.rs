//! No request sees another: what a template answers does not depend on what it was asked before, in
//! which order, on how many threads, and whether it was stored meanwhile.

mod hostile;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use chatparse::{ChatTemplate, EndedBy, Error, builtin};
use serde_json::{Value, json};

/// Tools with the same texts in all requests, so many that their calls are compiled late.
fn tools(count: usize) -> Value {
    let tool = |index: usize| {
        let x = json!({"type": "string", "description": "A \"text\" & <more>", "enum": ["ü", "b"]});
        let parameters = json!({"type": "object", "required": ["x"], "properties": {"x": x, "y": {"type": "integer"}}});
        let function =
            json!({"name": format!("f{index}"), "description": "Says.", "parameters": parameters});
        json!({"type": "function", "function": function})
    };
    (0..count).map(tool).collect()
}

/// Requests that have tools, variables and the beginnings of texts in common.
fn bodies() -> Vec<String> {
    let user = |text: &str| json!({"role": "user", "content": text});
    let called = |arguments: &str| {
        let call = json!({"id": "call00001", "type": "function", "function": {"name": "f0", "arguments": arguments}});
        json!([user("Well?"), {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call00001", "name": "f0", "content": "SECRET-OF-B"}])
    };
    let parts = json!([{"type": "text", "text": "Look"}]);
    let bodies = [
        json!({"messages": [user("SECRET-OF-A")], "tools": tools(1)}),
        json!({"messages": [user("hello")], "tools": tools(1)}),
        json!({"messages": called("{\"x\": \"b\"}"), "tools": tools(9), "parallel_tool_calls": true}),
        json!({"messages": [user("<|assistant|>hello")], "tools": tools(10), "enable_thinking": false}),
        json!({"messages": [user("One"), {"role": "assistant", "content": "Two"}, user("hello")],
            "tools": tools(2), "tool_choice": "required"}),
        json!({"messages": [user("hello")], "chat_template_kwargs": {"way": "a", "level": 3, "custom": "x"}}),
        json!({"messages": called("no JSON"), "tools": tools(2), "malformed_arguments": "empty",
            "chat_template_kwargs": {"way": "a long one", "level": 70, "custom": "y"}}),
        json!({"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "So"}],
            "continue_final_message": true}),
        json!({"messages": [user("hello")], "tools": tools(1), "plain": true, "add_generation_prompt": false}),
        json!({"messages": [{"role": "system", "content": "Be."}, user("hello")], "tools": tools(3),
            "add_generation_prompt": false, "chat_template_kwargs": {"range": 7, "dict": "x", "level": 20000}}),
    ];
    let with_time = |mut body: Value| {
        body["now"] = json!(0);
        body.to_string()
    };
    bodies.into_iter().map(with_time).collect()
}

/// Outputs that some of the templates' models write.
const OUTPUTS: [&str; 3] = [
    "<tool_call>\n{\"name\": \"f1\", \"arguments\": {\"x\": \"b\"}}\n</tool_call>",
    "<think>\nHm.\n</think>\n\n<tool_call>f8<arg_key>x</arg_key><arg_value>b</arg_value></tool_call>",
    "\nf8({\"x\": \"b\"})",
];

/// All that a template says of a request.
fn answer(template: &ChatTemplate, body: &str) -> String {
    let said = |error: Error| format!("{:?}: {error}", error.kind());
    let request = template
        .request(body, "{}")
        .expect("all bodies are requests");
    let prompt = template.prompt(&request).unwrap_or_else(said);
    let segments = template
        .segments(&request)
        .map_or_else(said, |segments| format!("{segments:?}"));
    let params = template.params(&request).map_or_else(said, |params| {
        let read = OUTPUTS.map(|output| {
            let read = params.parser.read(output.as_bytes(), EndedBy::Model);
            format!("{:?} {:?}", read.status, read.message)
        });
        format!(
            "{}\n{}\n{}",
            params.to_json(),
            params.parser.to_text(),
            read.join("\n")
        )
    });
    [prompt, params, segments].join("\n")
}

/// Where two answers part.
fn difference(answer: &str, alone: &str) -> String {
    let at = answer
        .bytes()
        .zip(alone.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let around = |text: &str| {
        String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(40)..text.len().min(at + 80)])
            .into_owned()
    };
    format!("{:?} instead of {:?}", around(answer), around(alone))
}

/// What a template answers otherwise than `alone`, the answers of templates that were asked nothing
/// else.
fn differing(
    name: &str,
    made: impl Fn() -> ChatTemplate,
    bodies: &[String],
    (alone, stored_alone): (&[String], &[u8]),
) -> Vec<String> {
    let wrong = Mutex::new(Vec::new());
    let ask = |template: &ChatTemplate, way: &str, index: usize| {
        let answer = answer(template, &bodies[index]);
        if answer != alone[index] {
            let difference = difference(&answer, &alone[index]);
            wrong
                .lock()
                .unwrap()
                .push(format!("{name}, {way}, request {index}: {difference}"));
        }
    };
    let count = bodies.len();
    let [template, other] = [made(), made()];
    for round in ["first", "again"] {
        (0..count).for_each(|index| ask(&template, round, index));
    }
    (0..count)
        .rev()
        .for_each(|index| ask(&other, "backwards", index));
    let bytes = template.to_bytes();
    if bytes != stored_alone {
        wrong
            .lock()
            .unwrap()
            .push(format!("{name}: its bytes are others"));
    }
    match ChatTemplate::from_bytes(&bytes) {
        Ok(stored) => (0..2 * count).for_each(|index| ask(&stored, "stored", index * 7 % count)),
        Err(error) => wrong.lock().unwrap().push(format!("{name}: {error}")),
    }
    let shared = made();
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (shared, ask) = (&shared, &ask);
            threads.spawn(move || {
                (0..count).for_each(|index| ask(shared, "on threads", (index + 3 * thread) % count))
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// Checks templates, on two threads. `whole`: each answer alone is of a template that is learnt for
/// it, not of a stored one.
fn check(templates: &[(String, String)], whole: bool) -> usize {
    let (bodies, next, looked, wrong) = (
        bodies(),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        Mutex::new(Vec::new()),
    );
    let look = |name: &str, source: &str| {
        let Ok(template) = ChatTemplate::new(source, "<s>", "</s>") else {
            return;
        };
        let stored = template.to_bytes();
        let learnt = || ChatTemplate::new(source, "<s>", "</s>").expect("it compiles");
        let loaded = || ChatTemplate::from_bytes(&stored).expect("it was stored");
        let made = || if whole { learnt() } else { loaded() };
        let alone: Vec<String> = bodies.iter().map(|body| answer(&made(), body)).collect();
        wrong
            .lock()
            .unwrap()
            .extend(differing(name, learnt, &bodies, (&alone, &stored)));
        looked.fetch_add(1, Ordering::Relaxed);
    };
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while let Some((name, source)) = templates.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    look(name, source);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} answers see another request:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    looked.into_inner()
}

/// Templates next to the repository.
fn beside() -> Vec<(String, String)> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folders =
        ["templates", "templates-wild", "templates-hub"].map(|folder| shared.join(folder));
    let files = folders
        .iter()
        .filter_map(|folder| folder.read_dir().ok())
        .flatten();
    let mut files: Vec<PathBuf> = files
        .map(|file| file.expect("a folder can be read").path())
        .collect();
    files.sort();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jinja"));
    let read = |file: &PathBuf| {
        (
            file.display().to_string(),
            std::fs::read_to_string(file).expect("a template is text"),
        )
    };
    files.iter().map(read).collect()
}

#[test]
fn no_request_to_a_hostile_template_sees_another() {
    let looked = check(&hostile::all(), true);
    println!("{looked} hostile templates");
    assert!(looked >= 75, "only {looked} compile");
}

#[test]
fn no_request_to_a_template_sees_another() {
    let own = builtin::BUILTINS
        .iter()
        .map(|own| (own.name.to_owned(), own.source.to_owned()));
    let (own, mut all): (Vec<_>, _) = (own.collect(), beside());
    if all.is_empty() {
        println!("skipped: no templates next to the repository");
    }
    if cfg!(debug_assertions) && std::env::var_os("CHATPARSE_ALL").is_none() {
        println!("This build tries every twelfth template; with CHATPARSE_ALL it tries all.");
        all = all.into_iter().step_by(12).collect();
    }
    all.extend(own);
    println!("{} templates", check(&all, false));
}
