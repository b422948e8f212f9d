//! What must hold of the source as text. Each rule says what to do where it is broken.

mod style;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Which modules of its crate each module may name, where a crate has several rooms. Data flows
/// down the list; nothing calls back up. Between crates the manifests say it.
const IMPORTS: &[(&str, &str, &[&str])] = &[
    ("crates/base/src", "brackets", &[]),
    ("crates/base/src", "bytes", &[]),
    ("crates/base/src", "char_class", &[]),
    ("crates/base/src", "chars", &["bytes"]),
    ("crates/base/src", "decimal", &[]),
    ("crates/base/src", "names", &[]),
    ("crates/base/src", "error", &["names"]),
    ("crates/base/src", "find", &[]),
    ("crates/base/src", "json", &["error", "stack"]),
    ("crates/base/src", "json_string", &["find"]),
    ("crates/base/src", "limits", &[]),
    (
        "crates/base/src",
        "number",
        &["decimal", "error", "find", "json"],
    ),
    ("crates/base/src", "pointer", &[]),
    ("crates/base/src", "sort", &[]),
    ("crates/base/src", "stack", &["error"]),
    ("crates/base/src", "store", &[]),
    ("crates/learn/src", "analysis", &[]),
    ("crates/learn/src", "host", &[]),
    ("crates/learn/src", "prompt", &[]),
    ("crates/learn/src", "writing", &["analysis", "host"]),
    (
        "crates/learn/src",
        "model",
        &["analysis", "host", "prompt", "writing"],
    ),
    ("crates/stream/src", "delta", &[]),
    ("crates/stream/src", "report", &[]),
    ("crates/stream/src", "output", &["delta", "report"]),
    ("crates/stream/src", "fallback", &["report", "output"]),
    ("crates/stream/src", "ends", &[]),
    (
        "crates/stream/src",
        "parser",
        &["ends", "report", "fallback"],
    ),
    (
        "crates/stream/src",
        "stream",
        &["delta", "report", "output", "fallback", "parser"],
    ),
    ("crates/chat/src", "grammar", &[]),
    ("crates/chat/src", "format_cache", &["grammar"]),
    ("crates/chat/src", "texts", &[]),
    ("crates/chat/src", "messages", &[]),
    ("crates/chat/src", "reader", &["messages"]),
    ("crates/chat/src", "prompts", &["messages", "reader"]),
    ("crates/chat/src", "variables", &["reader"]),
    (
        "crates/chat/src",
        "segments",
        &["texts", "messages", "reader", "prompts"],
    ),
    ("crates/chat/src", "proof", &["texts", "reader", "prompts"]),
    (
        "crates/chat/src",
        "chat",
        &[
            "format_cache",
            "grammar",
            "reader",
            "prompts",
            "variables",
            "segments",
            "proof",
        ],
    ),
    (
        "crates/chat/src",
        "next",
        &["texts", "messages", "reader", "prompts", "proof", "chat"],
    ),
    (
        "crates/chat/src",
        "conversation",
        &["messages", "segments", "chat", "next"],
    ),
    ("crates/chat/src", "report", &["chat"]),
    ("src", "expr", &[]),
    ("src", "learnt", &[]),
    ("src", "matcher", &[]),
    ("src", "message", &[]),
    ("src", "response", &[]),
    ("src", "stream", &[]),
    (
        "src",
        "ffi",
        &[
            "builtin",
            "segments",
            "chat",
            "next",
            "conversation",
            "lint",
        ],
    ),
    // For tests: nothing of the library is below it.
    ("src", "internals", &["ffi"]),
];

#[test]
fn modules_import_only_what_lies_below_them() {
    let mut broken = Vec::new();
    for file in library_files() {
        let mut rows = IMPORTS
            .iter()
            .filter(|(root, ..)| *root == file.root)
            .peekable();
        if rows.peek().is_none() {
            continue;
        }
        let Some((.., allowed)) = rows.find(|(_, name, _)| *name == file.module) else {
            broken.push(format!(
                "{}: module `{}` has no row in IMPORTS",
                file.path, file.module
            ));
            continue;
        };
        for (number, line) in file.code() {
            for named in after(line, "crate::") {
                let is_module = named.starts_with(|c: char| c.is_lowercase());
                if named.is_empty() {
                    broken.push(format!(
                        "{}:{number}: one `use` for each module, please",
                        file.path
                    ));
                } else if is_module && named != file.module && !allowed.contains(&named) {
                    let module = &file.module;
                    broken.push(format!(
                        "{}:{number}: `{module}` must not use `crate::{named}`",
                        file.path
                    ));
                }
            }
        }
    }
    report(
        "imports go down the list IMPORTS in tests/tidy/main.rs",
        &broken,
    );
}

#[test]
fn only_the_c_boundary_is_unsafe() {
    let members = source_files()
        .into_iter()
        .filter(|file| file.path.ends_with("/src/lib.rs"));
    let open = members
        .filter(|file| !file.text.contains("#![forbid(unsafe_code)]"))
        .map(|file| file.path);
    let mut broken: Vec<String> = open.map(|path| format!("{path}: forbid it")).collect();
    for file in library_files()
        .iter()
        .filter(|file| file.root == "src" && file.module != "ffi")
    {
        let lines = file.code().filter(|(_, line)| has_word(line, "unsafe"));
        broken.extend(lines.map(|(number, _)| format!("{}:{number}", file.path)));
    }
    report("`unsafe` is for src/ffi only", &broken);
}

/// Files of a folder stand one above the other; a file and what is in the folder of its name do not
/// count.
#[test]
fn files_do_not_import_each_other() {
    let mut crates: BTreeMap<String, Vec<Source>> = BTreeMap::new();
    source_files()
        .into_iter()
        .for_each(|file| crates.entry(file.root.clone()).or_default().push(file));
    let circles: Vec<BTreeSet<String>> = crates
        .values()
        .flat_map(|files| Modules::of(files).circles())
        .map(|circle| circle.into_iter().map(str::to_owned).collect())
        .collect();
    let circles = circles
        .into_iter()
        .map(|files| files.into_iter().collect::<Vec<_>>().join(", "));
    let circles =
        circles.map(|names| format!("{names}: move what they share to one of them, or below all"));
    report(
        "files of a crate do not import each other in a circle",
        &circles.collect::<Vec<_>>(),
    );
}

#[test]
fn paths_are_found_as_rust_finds_them() {
    let source = |path: &str, text: &str| Source {
        root: "src".into(),
        path: path.into(),
        module: "".into(),
        text: text.into(),
    };
    let files = [
        source("src/lib.rs", "pub mod a;\npub mod b;"),
        source(
            "src/a/mod.rs",
            "mod one;\nmod two;\nmod three;\npub use three::{self as other, deep::Named, Third};",
        ),
        source(
            "src/a/one.rs",
            "use super::{\n    two::{Two, Deuce},\n    Third,\n};\n// use crate::b::B;",
        ),
        source("src/a/two.rs", "fn f() -> crate::b::B { super::one::g() }"),
        source(
            "src/a/three.rs",
            "use crate::a::Named;\n#[cfg(test)]\nmod tests {\n    use crate::a::one;\n}",
        ),
        source(
            "src/a/three/deep.rs",
            "use super::super::one::{*};\nuse std::one;",
        ),
        source("src/b.rs", "use crate::a::{Named, Own};"),
    ];
    let modules = Modules::of(&files);
    let imports: Vec<(&str, Vec<&str>)> = modules
        .imports
        .iter()
        .map(|(file, to)| (*file, to.iter().copied().collect()))
        .collect();
    let expected = [
        ("src/a/one.rs", vec!["src/a/three.rs", "src/a/two.rs"]),
        ("src/a/three/deep.rs", vec!["src/a/one.rs"]),
        ("src/a/two.rs", vec!["src/a/one.rs", "src/b.rs"]),
        ("src/b.rs", vec!["src/a/mod.rs", "src/a/three/deep.rs"]),
    ];
    assert_eq!(imports, expected);
    assert_eq!(
        modules.circles(),
        [BTreeSet::from([
            "src/a/one.rs",
            "src/a/two.rs",
            "src/a/three/deep.rs",
            "src/b.rs"
        ])]
        .into_iter()
        .collect()
    );
}

#[test]
fn versions_agree() {
    let header = read("include/chatparse.h");
    let number = |name: &str| {
        let line = header
            .lines()
            .find_map(|line| line.strip_prefix(&format!("#define CHAT_VERSION_{name} ")));
        line.unwrap_or_else(|| panic!("include/chatparse.h has no CHAT_VERSION_{name}"))
            .to_owned()
    };
    let cmake = read("cmake/chatparse-config-version.cmake");
    let cmake = cmake.lines().find_map(|line| {
        line.strip_prefix("set(PACKAGE_VERSION \"")?
            .strip_suffix("\")")
    });
    let package = env!("CARGO_PKG_VERSION");
    assert_eq!(
        format!(
            "{}.{}.{}",
            number("MAJOR"),
            number("MINOR"),
            number("PATCH")
        ),
        package,
        "src/ffi/version.rs (then .ci/header.sh --write) and Cargo.toml"
    );
    assert_eq!(
        cmake,
        Some(package),
        "cmake/chatparse-config-version.cmake and Cargo.toml"
    );
    let npm = read("bindings/javascript/package.json");
    assert!(
        npm.contains(&format!("\"version\": \"{package}\"")),
        "bindings/javascript/package.json and Cargo.toml"
    );
    let zig = read("bindings/zig/build.zig.zon");
    assert!(
        zig.contains(&format!(".version = \"{package}\",")),
        "bindings/zig/build.zig.zon and Cargo.toml"
    );
    assert!(
        read("CHANGELOG.md").contains(&format!("## {package}")),
        "CHANGELOG.md has no section for {package}"
    );
}

#[test]
fn layouts_of_structs_are_fixed() {
    let fixed = read("c-tests/header_layout.c");
    let headers = [
        "include/chatparse.h",
        "include/chatparse/unstable.h",
        "include/chatparse/server.h",
    ]
    .map(read)
    .join("");
    let structs: Vec<&str> = headers
        .lines()
        .filter_map(|line| line.strip_prefix("} ")?.strip_suffix(';'))
        .collect();
    assert!(
        structs.contains(&"chat_str") && structs.contains(&"chat_event"),
        "the headers' structs are not found"
    );
    let missing: Vec<String> = structs
        .iter()
        .filter(|name| {
            !fixed.contains(&format!("sizeof({name})"))
                && !fixed.contains(&format!("SIZE({name}, "))
        })
        .map(|name| format!("{name}: c-tests/header_layout.c"))
        .collect();
    report(
        "each struct of the C headers has its size and its members' positions checked",
        &missing,
    );
}

#[test]
fn the_c_and_cpp_examples_are_those_that_are_compiled() {
    let example = read("c-tests/example.c");
    assert!(
        read("docs/c.md").contains(&format!("```c\n{example}```\n")),
        "docs/c.md must hold c-tests/example.c, unchanged, between ```c and ```"
    );
    let in_comment: String = example
        .lines()
        .map(|line| format!(" *     {line}").trim_end().to_owned() + "\n")
        .collect();
    assert!(
        read("include/chatparse.h").contains(&in_comment),
        "the comment in cbindgen.toml must hold c-tests/example.c, each line after ` *     ` (then .ci/header.sh --write)"
    );
    assert!(
        read("docs/cpp.md").contains(&format!("```cpp\n{}```\n", read("examples/chat.cpp"))),
        "docs/cpp.md must hold examples/chat.cpp, unchanged, between ```cpp and ```"
    );
    let (test, document) = (read("c-tests/hpp/conversation.cpp"), read("docs/cpp.md"));
    let turns = document
        .split("```cpp\nstatic void turns")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    assert!(
        turns.is_some_and(|turns| test.contains(&format!("static void turns{turns}"))),
        "docs/cpp.md must hold the function `turns` of c-tests/hpp/conversation.cpp, unchanged"
    );
}

/// What README says in numbers stands in the files that CI and the benches write.
#[test]
fn figures_of_the_readme_are_those_of_the_files() {
    let readme = read("README.md");
    let table = read("docs/templates.md");
    let rows = table
        .lines()
        .map(|line| line.split(" | ").collect::<Vec<_>>());
    let rows: Vec<(&str, usize, usize)> = rows
        .filter_map(|row| {
            let (read, of) = row.get(2)?.split_once(" of ")?;
            Some((row[1], read.parse().ok()?, of.parse().ok()?))
        })
        .collect();
    let learnt = rows
        .iter()
        .filter(|(reader, ..)| *reader == "learnt")
        .count();
    let thousands = |number: usize| format!("{},{:03}", number / 1000, number % 1000);
    let [read_back, cases] = [
        rows.iter().map(|row| row.1).sum(),
        rows.iter().map(|row| row.2).sum(),
    ]
    .map(thousands);
    let mut stated = vec![
        format!("{learnt} of our {} test templates", rows.len()),
        format!("the other {} show", rows.len() - learnt),
        format!("[{read_back} of {cases} messages]"),
    ];
    stated.retain(|text| !readme.contains(text));
    let results = read("benches/RESULTS.md");
    let rows = readme
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(" | × "));
    let cells = rows.flat_map(|line| line.split(" | ").nth(2));
    stated.extend(
        cells
            .filter(|cell| !results.contains(&format!("| {cell} |")))
            .map(str::to_owned),
    );
    report(
        "the figures of README.md are those of docs/templates.md and benches/RESULTS.md",
        &stated,
    );
}

/// One vocabulary: the glossary says what each thing is called in each language, and it is called
/// so.
#[test]
fn names_are_those_of_the_glossary() {
    let of = |folder: &str, extension: &str| -> String {
        let files = fs::read_dir(root().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|found| found == extension));
        files
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    };
    let rust: String = source_files().into_iter().map(|file| file.text).collect();
    let languages = [
        ("Rust", rust),
        (
            "C",
            ["include/chatparse.h", "include/chatparse/server.h"]
                .map(read)
                .join(""),
        ),
        (
            "C++",
            ["include/chatparse.hpp", "include/chatparse/values.hpp"]
                .map(read)
                .join(""),
        ),
        ("Python", of("bindings/python/src/chatparse", "py")),
        ("JavaScript", of("bindings/javascript/src", "js")),
        ("Go", read("bindings/go/chatparse.go")),
        ("Zig", read("bindings/zig/chatparse.zig")),
        ("Swift", of("bindings/swift/Sources/Chatparse", "swift")),
    ];
    let glossary = read("docs/glossary.md");
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let mut rows = glossary
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(cells)
        .skip_while(|row| row.len() < 9);
    let head = rows.next().expect("docs/glossary.md has a table of names");
    assert_eq!(
        head[1..],
        languages
            .each_ref()
            .map(|(language, _)| language.to_string())
    );
    let rows: Vec<Vec<String>> = rows.filter(|row| row[0] != "---").collect();
    assert!(rows.len() > 15, "the table of names is not found");
    let mut broken = Vec::new();
    for row in &rows {
        for ((language, text), cell) in languages.iter().zip(&row[1..]) {
            let name = cell.trim_matches('`');
            if name != "-" && !has_word(text, name) {
                broken.push(format!("{}: {language} has no `{name}`", row[0]));
            }
        }
    }
    report("names are those of docs/glossary.md", &broken);
}

struct Source {
    /// The crate's folder of sources, e.g. `src`.
    root: String,
    /// From the project's root on.
    path: String,
    /// The folder or file right below `root`.
    module: String,
    text: String,
}

impl Source {
    /// Lines with their numbers, less comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().zip(1..);
        lines.map(|(line, number)| {
            (
                number,
                line.find("//").map_or(line, |comment| &line[..comment]),
            )
        })
    }
}

/// A path in the code from `crate` on, one name a step.
type ModulePath<'a> = Vec<&'a str>;

/// Which files the code of each names. A file, what contains it and what it contains count as one.
struct Modules<'a> {
    imports: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Modules<'a> {
    fn of(files: &'a [Source]) -> Self {
        let files: BTreeMap<ModulePath, &Source> = files
            .iter()
            .map(|file| (module_path(&file.path), file))
            .collect();
        let mut brought = BTreeMap::new();
        let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let named: Vec<_> = files
            .iter()
            .map(|(module, file)| (module, named_in(file, module, &files)))
            .collect();
        for (module, named) in &named {
            let by_use = named.iter().filter(|named| named.by_use);
            brought.extend(
                by_use.map(|named| (([*module, &[named.name][..]].concat()), named.path.clone())),
            );
        }
        for (module, named) in &named {
            for Named { path, .. } in named {
                let to = leads_to(path.clone(), &files, &brought);
                if !to.starts_with(module) && !module.starts_with(&to) {
                    imports
                        .entry(&files[*module].path)
                        .or_default()
                        .insert(&files[&to].path);
                }
            }
        }
        Modules { imports }
    }

    /// Files that lead to each other.
    fn circles(&self) -> BTreeSet<BTreeSet<&'a str>> {
        let reached = |file: &'a str| {
            let mut reached = BTreeSet::new();
            let mut open = vec![file];
            while let Some(next) = open.pop() {
                open.extend(
                    self.imports
                        .get(next)
                        .into_iter()
                        .flatten()
                        .filter(|to| reached.insert(**to)),
                );
            }
            reached
        };
        let reached: BTreeMap<&str, BTreeSet<&str>> = self
            .imports
            .keys()
            .map(|file| (*file, reached(file)))
            .collect();
        let back = |from: &str, to: &str| {
            reached
                .get(to)
                .is_some_and(|reached| reached.contains(from))
        };
        let circle = |(file, to): (&&str, &BTreeSet<&'a str>)| {
            to.iter().copied().filter(|to| back(file, to)).collect()
        };
        reached
            .iter()
            .map(circle)
            .filter(|circle: &BTreeSet<&str>| !circle.is_empty())
            .collect()
    }
}

fn module_path(file: &str) -> ModulePath<'_> {
    let path = file
        .rfind("src/")
        .map_or(file, |at| &file[at + 4..])
        .trim_end_matches(".rs");
    ["crate"]
        .into_iter()
        .chain(
            path.split('/')
                .filter(|step| !matches!(*step, "lib" | "main" | "mod")),
        )
        .collect()
}

/// A path that some code names.
struct Named<'a> {
    path: ModulePath<'a>,
    /// What the code calls it.
    name: &'a str,
    by_use: bool,
}

/// The paths inside the crate that a file names, less those of its tests.
fn named_in<'a>(
    file: &'a Source,
    module: &[&'a str],
    files: &BTreeMap<ModulePath<'a>, &Source>,
) -> Vec<Named<'a>> {
    let mut words = Vec::new();
    for (_, line) in file
        .code()
        .take_while(|(_, line)| !line.contains("#[cfg(test)]"))
    {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let length = match c {
                _ if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                _ if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            words.extend(Some(&rest[..length]).filter(|word| !word.trim().is_empty()));
            rest = &rest[length..];
        }
    }
    let mut named = Vec::new();
    for at in 0..words.len() {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let by_use = before == "use";
        let inside =
            matches!(words[at], "crate" | "self" | "super") && words.get(at + 1) == Some(&"::");
        if before == "::" || !by_use && !inside {
            continue;
        }
        let mut found = Vec::new();
        take_tree(&words, at, &[], &mut found);
        for (path, name) in found {
            let mut absolute = module.to_vec();
            let mut steps = &path[..];
            match path[0] {
                "crate" => absolute.truncate(1),
                "self" | "super" => {}
                child if files.contains_key(&[module, &[child]].concat()) => {}
                _ => continue,
            }
            while let ["crate" | "self" | "super", rest @ ..] = steps {
                if steps[0] == "super" {
                    absolute.pop();
                }
                steps = rest;
            }
            absolute.extend(steps.iter().filter(|step| **step != "self"));
            named.push(Named {
                path: absolute,
                name,
                by_use,
            });
        }
    }
    named
}

/// Takes the tree of paths at `at`, such as `a::{b, c::*, d as e}`, and returns where it ends.
fn take_tree<'a>(
    words: &[&'a str],
    mut at: usize,
    before: &[&'a str],
    found: &mut Vec<(Vec<&'a str>, &'a str)>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match words.get(at).copied().unwrap_or("") {
            "{" => {
                while !matches!(words.get(at).copied(), None | Some("}")) {
                    at = take_tree(words, at + 1, &path, found);
                }
                return at + 1;
            }
            word if word.starts_with(is_word) => {
                path.push(word);
                at += 1;
                if words.get(at) == Some(&"::") {
                    at += 1;
                    continue;
                }
                let name = if words.get(at) == Some(&"as") {
                    words[at + 1]
                } else {
                    word
                };
                found.push((path, name));
            }
            _ if path.is_empty() => {}
            // `*`, or the generics of a call.
            _ => found.push((path, "*")),
        }
        while !matches!(words.get(at).copied(), None | Some("," | "}" | ";")) {
            at += 1;
        }
        return at;
    }
}

/// The module with a file of its own that a path leads into. `brought`: where names that a module
/// uses come from.
fn leads_to<'a>(
    mut path: ModulePath<'a>,
    files: &BTreeMap<ModulePath<'a>, &Source>,
    brought: &BTreeMap<ModulePath<'a>, ModulePath<'a>>,
) -> ModulePath<'a> {
    let own = |path: &[&str]| {
        (1..=path.len())
            .rev()
            .find(|length| files.contains_key(&path[..*length]))
            .unwrap_or(1)
    };
    // What is brought may have been brought there.
    for _ in 0..4 {
        let named = path.len().min(own(&path) + 1);
        let Some(target) = brought.get(&path[..named]).filter(|_| named > own(&path)) else {
            break;
        };
        path = target.iter().chain(&path[named..]).copied().collect();
    }
    path.truncate(own(&path));
    path
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn source_files() -> Vec<Source> {
    let mut paths = BTreeSet::new();
    collect(&root().join("src"), &mut paths);
    for member in fs::read_dir(root().join("crates")).unwrap() {
        collect(&member.unwrap().path().join("src"), &mut paths);
    }
    assert!(paths.len() > 200, "the sources were not found");
    let source = |path: PathBuf| {
        let path = path
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let end = path.find("src/").unwrap() + "src".len();
        let module = path[end + 1..]
            .split('/')
            .next()
            .unwrap()
            .trim_end_matches(".rs")
            .to_owned();
        Source {
            text: read(&path),
            root: path[..end].to_owned(),
            path,
            module,
        }
    };
    paths.into_iter().map(source).collect()
}

/// Where a machine has no linker of a distribution's, a script takes that of the compiler, and does
/// not end.
#[test]
#[cfg(unix)]
fn scripts_go_on_where_there_is_no_linker() {
    let script =
        ". .ci/compiler.sh; compgen() { return 1; }; linker=$(wasm_linker); echo \"<$linker>\"";
    let out = std::process::Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(root())
        .output();
    let Ok(out) = out else {
        return eprintln!("skipped: no bash");
    };
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "<>\n",
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// Learning and lowering ask no text for its shape: `base::brackets` alone says what a marker may
/// be made of, and tolerances, families and llama.cpp's own ways know markers.
#[test]
fn markers_are_known_by_their_text() {
    const KNOW: &[&str] = &[
        "learn/src/analysis/around.rs",
        // A text that learning sends through templates.
        "learn/src/analysis/turn/sample.rs",
        "learn/src/model/",
        // The characters of names.
        "format/src/builder.rs",
        "format/src/channels.rs",
        "format/src/harmony.rs",
        "format/src/host.rs",
        "format/src/rules/",
        "format/src/wrappers.rs",
    ];
    let mut broken = Vec::new();
    for file in library_files() {
        let room = file.path.strip_prefix("crates/").unwrap_or_default();
        let asked = room.starts_with("learn/") || room.starts_with("format/");
        if !asked || KNOW.iter().any(|known| room.starts_with(known)) {
            continue;
        }
        let untested = file.text.split("#[cfg(test)]").next().unwrap();
        for (line, number) in untested.lines().zip(1..) {
            let code = line
                .split("//")
                .next()
                .unwrap()
                .replace("\\\"", "")
                .replace("'\"'", "");
            let texts = code.split('"').skip(1).step_by(2);
            let signs = ["'<'", "'>'", "'｜'"]
                .into_iter()
                .filter(|sign| code.contains(sign));
            if texts
                .chain(signs)
                .any(|text| text.contains(['<', '>', '⟦', '｜']))
            {
                broken.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    report(
        "ask `base::brackets` or the learnt text, or move what knows a marker to a tolerance",
        &broken,
    );
}

/// What models write otherwise than their templates is a row of one table, so that each has a name,
/// and a case that needs it.
#[test]
fn deviations_are_rules() {
    let mut broken = Vec::new();
    for file in library_files() {
        let room = file.path.strip_prefix("crates/format/src/");
        if room.is_none_or(|room| ["rules/table.rs", "builder.rs"].contains(&room)) {
            continue;
        }
        let lines = file
            .text
            .lines()
            .zip(1..)
            .filter(|(line, _)| line.contains("tolerated("));
        broken
            .extend(lines.map(|(line, number)| format!("{}:{number}: {}", file.path, line.trim())));
    }
    report(
        "a way beside the template's is a row of a site in crates/format/src/rules",
        &broken,
    );
}

/// Knowledge of templates has a reason, or it goes.
#[test]
fn families_say_why_they_stay() {
    let families = library_files()
        .into_iter()
        .filter(|file| file.path.starts_with("crates/learn/src/model/"));
    let silent: Vec<_> = families
        .filter(|file| !file.text.contains("Not learnt, because "))
        .filter(|file| {
            !["mod.rs", "patches.rs"]
                .iter()
                .any(|row| file.path.ends_with(row))
        })
        .map(|file| file.path)
        .collect();
    assert!(
        silent.is_empty(),
        "what do the renders of these families hide? {silent:?}"
    );
}

/// Each package has at most as much code as `tests/budgets.txt` says, in characters without white
/// space, comments and tests.
#[test]
fn packages_keep_to_their_budgets() {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    for file in source_files()
        .into_iter()
        .filter(|file| !file.path.ends_with("/tests.rs"))
    {
        let package = file
            .root
            .strip_suffix("/src")
            .unwrap_or(&file.root)
            .to_owned();
        *sizes.entry(package).or_default() += code_size(&file.text);
    }
    let budgets = budgets(&read(BUDGETS));
    let mut over = Vec::new();
    for (package, size) in sizes {
        match budgets.get(&package) {
            Some(&budget) if size <= budget => {}
            budget => over.push(format!("{package}: {size} of {budget:?}")),
        }
    }
    report(
        "a package does not outgrow its budget in tests/budgets.txt: what is added is paid for",
        &over,
    );
}

/// A commit that raises a package's budget lowers others by as much. Needs the commit before.
#[test]
fn budgets_only_fall() {
    let before = std::process::Command::new("git")
        .args(["show", &format!("HEAD^:{BUDGETS}")])
        .current_dir(root())
        .output();
    let Some(before) = before.ok().filter(|before| before.status.success()) else {
        return eprintln!("skipped: no commit before this one has budgets");
    };
    let before: usize = budgets(&String::from_utf8_lossy(&before.stdout))
        .values()
        .sum();
    let now: usize = budgets(&read(BUDGETS)).values().sum();
    assert!(
        now <= before,
        "the budgets of all packages are {now} together, and were {before}"
    );
}

#[test]
fn comments_blanks_and_tests_are_no_code() {
    let text = "// a\nfn f() { \"// b {\"; r#\"/* \"}\"# }\n/* c */\n#[cfg(test)]\nmod tests { fn g() { '}' } }\nstruct S;\n";
    assert_eq!(
        code_size(text),
        "fnf(){\"//b{\";r#\"/*\"}\"#}structS;".len()
    );
}

const BUDGETS: &str = "tests/budgets.txt";

/// The packages and their budgets: a line each.
fn budgets(text: &str) -> BTreeMap<String, usize> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(package, budget)| (package.to_owned(), budget.trim().parse().expect(package)))
        .collect()
}

/// Characters without white space, comments and modules of tests.
fn code_size(text: &str) -> usize {
    bare(text).chars().filter(|c| !c.is_whitespace()).count()
}

/// The code without comments and modules of tests.
fn bare(text: &str) -> String {
    const LITERAL: &str =
        r###"b?r##".*?"##|b?r#".*?"#|b?r".*?"|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\\n])'"###;
    static TOKEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"(?s)//[^\n]*|/\*.*?\*/|{LITERAL}")).unwrap());
    static BRACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"(?s){LITERAL}|[{{}}]")).unwrap());
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"#\[cfg\((?:all\()?test[^\]]*\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*[{;]")
            .unwrap()
    });
    let code = TOKEN.replace_all(text, |token: &Captures| match token[0].starts_with('/') {
        true => String::new(),
        false => token[0].to_owned(),
    });
    let (mut kept, mut at) = (String::new(), 0);
    while let Some(tests) = TESTS.find_at(&code, at) {
        kept += &code[at..tests.start()];
        at = tests.end();
        let mut depth = usize::from(tests.as_str().ends_with('{'));
        while let Some(brace) = BRACE.find_at(&code, at).filter(|_| depth > 0) {
            depth = match brace.as_str() {
                "{" => depth + 1,
                "}" => depth - 1,
                _ => depth,
            };
            at = brace.end();
        }
    }
    kept + &code[at..]
}

/// Without lib.rs, which lists the modules, and without files of tests.
fn library_files() -> Vec<Source> {
    let mut files = source_files();
    files.retain(|file| file.module != "lib" && !is_of_tests(&file.path));
    files
}

/// Whether the module of a file is declared for tests alone.
fn is_of_tests(path: &str) -> bool {
    let Some(folder) = path.strip_suffix("/tests.rs") else {
        return false;
    };
    let parent = fs::read_to_string(root().join(folder).join("mod.rs"));
    parent.is_ok_and(|text| text.contains("#[cfg(test)]\nmod tests;"))
}

fn collect(folder: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.insert(path);
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name after each `prefix` in the line; empty where none follows.
fn after<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let rests = line
        .match_indices(prefix)
        .map(|(at, _)| &line[at + prefix.len()..]);
    rests
        .map(|rest| &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())])
        .collect()
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word)
    })
}

fn report(rule: &str, broken: &[String]) {
    assert!(
        broken.is_empty(),
        "the rule: {rule}. Broken by:\n  {}\n",
        broken.join("\n  ")
    );
}
