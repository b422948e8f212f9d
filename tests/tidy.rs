//! What must hold of the source as text. Each rule says what to do where it is broken.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which modules of the crate each module may name. Data flows down the list; nothing calls back up.
const IMPORTS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("limits", &[]),
    ("builtin", &[]),
    ("char_class", &[]),
    ("find", &[]),
    ("json_string", &["find"]),
    ("message", &["error", "limits"]),
    ("peg", &["error", "limits", "char_class", "find", "json_string"]),
    ("template", &["error", "limits", "json_string", "message"]),
    ("analysis", &["error", "limits", "message", "template"]),
    ("grammar", &["error", "limits", "char_class", "json_string", "peg"]),
    ("format", &["error", "limits", "json_string", "message", "template", "analysis", "peg", "grammar"]),
    ("output", &["limits", "json_string", "message", "peg", "grammar", "format"]),
    ("fallback", &["message", "peg", "grammar", "format", "output"]),
    ("parser", &["error", "message", "peg", "grammar", "fallback"]),
    ("stream", &["error", "message", "peg", "output", "fallback", "parser"]),
    ("plan", &["error", "limits", "message", "grammar", "format", "parser"]),
    ("chat", &["error", "limits", "builtin", "message", "template", "analysis", "grammar", "format", "parser", "plan"]),
    ("lint", &["error", "message", "stream", "chat"]),
    ("ffi", &["error", "builtin", "message", "peg", "grammar", "format", "parser", "stream", "chat"]),
];

/// Words that belong to one module.
const OWNED: &[(&str, &str)] =
    &[("unsafe", "ffi"), ("minijinja", "template"), ("chrono", "template"), ("regex_lite", "grammar")];

/// A file that is longer does more than one thing.
const MAX_LINES: usize = 500;

#[test]
fn modules_import_only_what_lies_below_them() {
    let mut broken = Vec::new();
    for file in library_files() {
        let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == file.module) else {
            broken.push(format!("{}: module `{}` has no row in IMPORTS", file.path, file.module));
            continue;
        };
        for (number, line) in file.code() {
            for named in after(line, "crate::") {
                if named.is_empty() {
                    broken.push(format!("{}:{number}: one `use` for each module, please", file.path));
                } else if named != file.module && !allowed.contains(&named) {
                    let module = &file.module;
                    broken.push(format!("{}:{number}: `{module}` must not use `crate::{named}`", file.path));
                }
            }
        }
    }
    report("imports go down the list IMPORTS in tests/tidy.rs", &broken);
}

#[test]
fn some_things_are_one_modules_business() {
    let mut broken = Vec::new();
    for file in library_files() {
        for (number, line) in file.code() {
            for (word, owner) in OWNED.iter().filter(|(word, owner)| *owner != file.module && has_word(line, word)) {
                broken.push(format!("{}:{number}: `{word}` is for src/{owner} only", file.path));
            }
        }
    }
    report("each thing of OWNED in tests/tidy.rs stays in its module", &broken);
}

#[test]
fn files_are_short() {
    let long = source_files().into_iter().filter(|file| file.text.lines().count() > MAX_LINES);
    let broken: Vec<String> =
        long.map(|file| format!("{}: {} lines; cut it by topic", file.path, file.text.lines().count())).collect();
    report(&format!("no file of src has more than {MAX_LINES} lines"), &broken);
}

#[test]
fn versions_agree() {
    let header = read("include/chatparse.h");
    let number = |name: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define CHAT_VERSION_{name} ")));
        line.unwrap_or_else(|| panic!("include/chatparse.h has no CHAT_VERSION_{name}")).to_owned()
    };
    let cmake = read("cmake/chatparse-config-version.cmake");
    let cmake = cmake.lines().find_map(|line| line.strip_prefix("set(PACKAGE_VERSION \"")?.strip_suffix("\")"));
    let package = env!("CARGO_PKG_VERSION");
    assert_eq!(
        format!("{}.{}.{}", number("MAJOR"), number("MINOR"), number("PATCH")),
        package,
        "src/ffi/version.rs (then .ci/header.sh --write) and Cargo.toml"
    );
    assert_eq!(cmake, Some(package), "cmake/chatparse-config-version.cmake and Cargo.toml");
    assert!(read("CHANGELOG.md").contains(&format!("## {package}")), "CHANGELOG.md has no section for {package}");
}

#[test]
fn the_c_example_is_the_one_that_is_compiled() {
    let example = read("c-tests/example.c");
    assert!(
        read("README.md").contains(&format!("```c\n{example}```\n")),
        "README.md must hold c-tests/example.c, unchanged, between ```c and ```"
    );
    let in_comment: String =
        example.lines().map(|line| format!(" *     {line}").trim_end().to_owned() + "\n").collect();
    assert!(
        read("include/chatparse.h").contains(&in_comment),
        "the comment in cbindgen.toml must hold c-tests/example.c, each line after ` *     ` (then .ci/header.sh --write)"
    );
}

struct Source {
    /// From the project's root on.
    path: String,
    /// The folder or file right below src.
    module: String,
    text: String,
}

impl Source {
    /// Lines with their numbers, less comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().zip(1..);
        lines.map(|(line, number)| (number, line.find("//").map_or(line, |comment| &line[..comment])))
    }
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
    assert!(paths.len() > 20, "src was not found");
    let source = |path: PathBuf| {
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let module = path.split('/').nth(1).unwrap().trim_end_matches(".rs").to_owned();
        Source { text: read(&path), path, module }
    };
    paths.into_iter().map(source).collect()
}

/// Without lib.rs, which lists the modules, and the binary, which is another crate.
fn library_files() -> Vec<Source> {
    source_files().into_iter().filter(|file| file.module != "lib" && file.module != "bin").collect()
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
    let rests = line.match_indices(prefix).map(|(at, _)| &line[at + prefix.len()..]);
    rests.map(|rest| &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]).collect()
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word))
}

fn report(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "the rule: {rule}. Broken by:\n  {}\n", broken.join("\n  "));
}
