//! What each template next to the repository writes for calls, as its model would, and the parser
//! that reads it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use chatparse::{ChatTemplate, EndedBy, Params, Request, Status};
use serde_json::{Value, json};

/// Folders of templates, next to the repository.
const FOLDERS: [&str; 2] = ["templates", "templates-wild"];

/// Longest end of a turn, in bytes.
const END: usize = 200;

/// A name, and arguments.
pub type Call = (String, Value);

/// An output with calls, which is read back whole.
pub struct Written {
    pub params: Params,
    pub output: String,
    /// What is called in it.
    pub calls: Vec<Call>,
    /// The bytes of each call, from where its opener begins to where the next one does.
    pub spans: Vec<Range<usize>>,
    /// The names of tools and arguments, and plain values, in order.
    pub values: Vec<Range<usize>>,
}

impl Written {
    /// Whether what stands there is no name and no value.
    pub fn is_markup(&self, at: usize) -> bool {
        self.spans.iter().any(|span| span.contains(&at))
            && !self.values.iter().any(|value| value.contains(&at))
    }

    /// Where the last call ends.
    pub fn end(&self) -> usize {
        self.spans.last().map_or(0, |span| span.end)
    }

    /// What stands in front of the first call's name.
    pub fn opener(&self) -> &str {
        &self.output[self.spans[0].start..self.values[0].start]
    }

    /// The calls as they are read, and the end.
    pub fn read(&self, output: &str) -> (Vec<Call>, chatparse::stream::Ended) {
        let ended = self.params.parser.read(output.as_bytes(), EndedBy::Model);
        (calls(&ended.message), ended)
    }
}

/// The calls of a message.
pub fn calls(message: &chatparse::Message) -> Vec<Call> {
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    message
        .tool_calls
        .iter()
        .map(|call| (call.name.clone(), value(&call.arguments)))
        .collect()
}

/// A template, and what it writes.
pub struct Loaded {
    /// Its file.
    pub name: String,
    pub template: ChatTemplate,
    /// `None` where it writes no calls, or none that are read back.
    pub written: Option<Written>,
}

/// All templates; none where they are not there.
pub fn all() -> &'static [Loaded] {
    static ALL: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
        let (files, next) = (files(), AtomicUsize::new(0));
        let loaded = Mutex::new(Vec::new());
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let one = load(path);
                        loaded.lock().expect("no thread panics").push(one);
                    }
                });
            }
        });
        let mut loaded = loaded.into_inner().expect("no thread panics");
        loaded.sort_by(|a: &Loaded, b| a.name.cmp(&b.name));
        loaded
    });
    if ALL.is_empty() {
        println!("skipped: no templates next to the repository");
    }
    &ALL
}

fn files() -> Vec<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let files = |folder: &str| {
        fs::read_dir(shared.join(folder))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let mut all: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| files(folder)).collect();
    all.retain(|path| path.extension().is_some_and(|end| end == "jinja"));
    all
}

fn load(path: &Path) -> Loaded {
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let source = fs::read_to_string(path).expect("the template is there");
    let template = ChatTemplate::new(&source, "<BOS>", "<EOS>").expect("the template compiles");
    let written = written(&template);
    Loaded {
        name,
        template,
        written,
    }
}

/// Tools on offer.
pub fn tool(name: &str, properties: &Value) -> Value {
    let parameters = json!({"type": "object", "properties": properties});
    json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
}

/// What can be called, less its calls: nothing of it occurs twice in an output.
fn tools() -> Value {
    let town = json!({"qk1town": {"type": "string"}, "qk2days": {"type": "integer"},
                      "qk3tags": {"type": "array", "items": {"type": "string"}}});
    json!([
        tool("get_weather", &town),
        tool("send_mail", &json!({"qk4body": {"type": "string"}}))
    ])
}

/// Calls of all tools, and the words of them.
fn plain() -> (Vec<Call>, Vec<Vec<&'static str>>) {
    let town = json!({"qk1town": "qz1a", "qk2days": 70431, "qk3tags": ["qz2b"]});
    let calls = vec![
        ("get_weather".to_owned(), town),
        ("send_mail".to_owned(), json!({"qk4body": "qz3c"})),
    ];
    let words = vec![
        vec![
            "get_weather",
            "qk1town",
            "qz1a",
            "qk2days",
            "70431",
            "qk3tags",
            "qz2b",
        ],
        vec!["send_mail", "qk4body", "qz3c"],
    ];
    (calls, words)
}

/// What the template writes for two calls, or for one, where it writes more of them in a way that
/// is not read.
pub fn written(template: &ChatTemplate) -> Option<Written> {
    let (calls, words) = plain();
    [2, 1].into_iter().find_map(|count| {
        let (params, output) = turn(template, &tools(), &calls[..count])?;
        let mut written = Written {
            params,
            output,
            calls: calls[..count].to_vec(),
            spans: Vec::new(),
            values: Vec::new(),
        };
        written.find(&words[..count])?;
        Some(written)
    })
}

impl Written {
    /// Finds where all of the words stand, each once; `None` where they do not.
    fn find(&mut self, words: &[Vec<&str>]) -> Option<()> {
        let mut ends = Vec::new();
        for words in words {
            let from = self.values.len();
            for word in words {
                let at = self.output.find(word)?;
                self.values.push(at..at + word.len());
            }
            self.values[from..].sort_by_key(|value| value.start);
            ends.push(self.values[from].start..self.values.last()?.end);
        }
        let content = "Let me see.";
        let last = ends.last()?.end;
        // Some write it behind the calls.
        let end = self.output[last..]
            .find(content)
            .map_or(self.output.len(), |at| last + at);
        // The calls begin where the text does that is in front of the first.
        let begin = self.output[..ends[0].start]
            .rfind(content)
            .map_or(0, |at| at + content.len());
        let begin = if begin == 0 {
            behind_thought(&self.output[..ends[0].start])
        } else {
            begin
        };
        let borders = ends
            .windows(2)
            .map(|pair| border(&self.output, pair[0].end, pair[1].start));
        let borders: Vec<usize> = [begin].into_iter().chain(borders).chain([end]).collect();
        self.spans = borders.windows(2).map(|pair| pair[0]..pair[1]).collect();
        Some(())
    }
}

/// Where the thought ends that may be in front.
fn behind_thought(before: &str) -> usize {
    ["</think>", "[/THINK]"]
        .iter()
        .filter_map(|end| before.rfind(end).map(|at| at + end.len()))
        .max()
        .unwrap_or(0)
}

/// Where between two calls the second one's opener begins: as long an end of what is in front of it
/// as is in front of the first, or, where that is nothing, what is in front of its name.
fn border(output: &str, end: usize, name: usize) -> usize {
    let between = &output[end..name];
    let last = between.char_indices().filter(|&(at, _)| {
        let (opener, earlier) = (&between[at..], &output[..end]);
        opener.starts_with(['<', '[', '{', '\n', ' '])
            && !opener.trim().is_empty()
            && earlier.contains(opener)
    });
    end + last.map(|(at, _)| at).next().unwrap_or(between.len())
}

/// What the template writes for these calls, less the end of the turn, and what reads it: `None`
/// where it does not read it back.
pub fn turn(template: &ChatTemplate, tools: &Value, calls: &[Call]) -> Option<(Params, String)> {
    turn_of(
        template,
        &json!({"tools": tools}),
        &["Let me see.", ""],
        calls,
    )
}

/// The same with these fields in the request, and one of these texts in front.
pub fn turn_of(
    template: &ChatTemplate,
    fields: &Value,
    contents: &[&str],
    calls: &[Call],
) -> Option<(Params, String)> {
    let ways = [(true, ""), (false, ""), (true, "Medlar.")];
    let all = ways
        .into_iter()
        .flat_map(|way| contents.iter().map(move |content| (way, *content)));
    all.into_iter().find_map(|((thinks, thought), content)| {
        let mut body = json!({
            "messages": [{"role": "user", "content": "Well?"}],
            "parallel_tool_calls": true,
            "reasoning_format": "auto",
            "enable_thinking": thinks,
            "roles": "as_sent",
            "now": 0,
        });
        body.as_object_mut()?.extend(fields.as_object()?.clone());
        let params = |body: &Value| template.params(&Request::from_json(body).expect("it has the right shape")).ok();
        let asked = params(&body)?;
        let said = calls.iter().enumerate().map(|(index, (name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"type": "function", "id": format!("abc{index:06}"), "function": function})
        });
        let said: Vec<Value> = said.collect();
        let rendered = |message: Value| {
            let mut body = body.clone();
            body["messages"].as_array_mut()?.push(message);
            body["add_generation_prompt"] = json!(false);
            Some(params(&body)?.prompt)
        };
        let message = |content: &str| json!({"role": "assistant", "content": content, "reasoning_content": thought});
        let mut calling = message(content);
        calling["tool_calls"] = json!(said);
        let whole = rendered(calling)?;
        let output = whole.strip_prefix(asked.prompt.as_str())?;
        // What ends all turns.
        let other = rendered(message("Quince"))?;
        let shared = output.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
        let from = output.len().saturating_sub(END);
        let ends = (from..=output.len()).filter(|&at| output.is_char_boundary(at));
        let read = |end: &usize| {
            let ended = asked.parser.read(&output.as_bytes()[..*end], EndedBy::Model);
            ended.status == Status::Complete && self::calls(&ended.message) == calls
        };
        let before = |end: &usize| *end <= output.len() - shared;
        let end = ends.clone().filter(before).rev().find(read).or_else(|| ends.clone().find(read))?;
        let output = output[..end].to_owned();
        Some((asked, output))
    })
}
