//! Runs the tests of crates from the registry with their parsers and ours beside each other: each
//! stream that a test feeds goes to both. The test is told what theirs says, so it goes on as its
//! authors meant it.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The tests, and how they are built.
pub struct Theirs<'a> {
    /// The folder of our package, with `tests/twin/mod.rs`: it stands for the crate that the tests
    /// name.
    pub package: &'a str,
    /// The target folder of its tests.
    pub target: &'a str,
    /// The name of the crate that the tests name.
    pub name: &'a str,
    /// Crates, and those of their test files that create parsers.
    pub files: &'a [(&'a str, &'a [&'a str])],
    /// What the tests and the twin depend on, as in a manifest.
    pub dependencies: &'a str,
}

/// The folder of the templates that lie beside the project.
pub fn templates(package: &str) -> PathBuf {
    Path::new(package).join("../../../shared")
}

/// A line for each stream: the parser, what it was told, the input, what theirs says and what ours
/// says. `None`: something that is needed is not there, as a line on standard error says.
pub fn streams(theirs: &Theirs<'_>) -> Option<Vec<Value>> {
    if !templates(theirs.package).join("templates").is_dir() {
        eprintln!("The templates do not lie beside the project: skipped.");
        return None;
    }
    let project = Path::new(theirs.target).join(theirs.name);
    std::fs::create_dir_all(&project).unwrap();
    let log = project.join("streams.jsonl");
    let _ = std::fs::remove_file(&log);

    let twin = Path::new(theirs.package).join("tests/twin/mod.rs");
    let mut source = format!(
        "#![allow(unexpected_cfgs)]\nextern crate self as {};\n#[path = {twin:?}]\nmod twin;\npub use twin::*;\n",
        theirs.name
    );
    for (name, files) in theirs.files {
        let tests = sources(theirs.package, name)?.join("tests");
        for file in *files {
            let path = tests.join(file).with_extension("rs");
            if !path.is_file() {
                eprintln!(
                    "{} is not in the sources of {name}: skipped.",
                    path.display()
                );
                return None;
            }
            source += &format!(
                "#[cfg(test)]\n#[path = {path:?}]\nmod {}_{file};\n",
                name.replace('-', "_")
            );
        }
    }
    let manifest = format!(
        "[package]\nname = {:?}\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[dependencies]\n{}\n\n[profile.dev]\ndebug = false\n\n[workspace]\n",
        theirs.name.replace('_', "-") + "-tests",
        theirs.dependencies
    );
    std::fs::write(project.join("lib.rs"), source).unwrap();
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    let lock = Path::new(theirs.package).join("Cargo.lock");
    std::fs::copy(lock, project.join("Cargo.lock")).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    // What Cargo tells this test of its package would have crates compiled anew.
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
    {
        cargo.env_remove(name);
    }
    let ran = cargo
        .args(["test", "--lib", "--quiet", "--offline", "--manifest-path"])
        .arg(project.join("Cargo.toml"))
        .env(
            "CARGO_TARGET_DIR",
            Path::new(theirs.target).parent().unwrap(),
        )
        .env("CHATPARSE_STREAMS", &log)
        .env("CHATPARSE_TEMPLATES", templates(theirs.package))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    // A test may fail for want of a file that is not in the crate.
    let (_, result) = said
        .rsplit_once("test result: ")
        .unwrap_or_else(|| panic!("{said}"));
    println!("Of {}, its own tests: {result}", theirs.name);
    let lines = std::fs::read_to_string(&log).unwrap();
    Some(
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// The folder of a crate's sources, where it has been downloaded.
fn sources(package: &str, name: &str) -> Option<PathBuf> {
    let manifest = Path::new(package).join("Cargo.toml");
    let told = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--offline",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let found = told["packages"]
        .as_array()?
        .iter()
        .find(|package| package["name"] == name)?;
    Some(
        Path::new(found["manifest_path"].as_str()?)
            .parent()?
            .to_owned(),
    )
}

/// Why ours reads streams otherwise than theirs, how many at most, and whether it is the cause for
/// a stream. The first that fits counts.
pub struct Cause(pub &'static str, pub usize, pub fn(&Value) -> bool);

/// Prints how many streams are read the same, and why not the others. At least so many must be the
/// same; each difference must have a cause, and nothing may depend on where a stream is cut.
pub fn judge(streams: &[Value], least: usize, causes: &[Cause]) {
    let key = |stream: &Value| {
        ["parser", "given", "input", "theirs"].map(|name| stream[name].to_string())
    };
    let mut ours = BTreeMap::new();
    for stream in streams {
        let first = ours.entry(key(stream)).or_insert(stream);
        assert_eq!(
            first["ours"], stream["ours"],
            "it depends on the cuts: {}",
            stream["input"]
        );
    }
    let different: Vec<&Value> = ours
        .values()
        .filter(|stream| stream["ours"] != stream["theirs"])
        .copied()
        .collect();
    let same = ours.len() - different.len();
    println!("{same} of {} streams are read as by theirs.", ours.len());
    let mut counts = vec![0; causes.len()];
    for stream in different {
        match causes.iter().position(|cause| cause.2(stream)) {
            Some(cause) => counts[cause] += 1,
            None => panic!("a difference without a cause: {stream:#}"),
        }
    }
    for (Cause(why, ..), count) in causes.iter().zip(&counts) {
        println!("{count:>5}  {why}");
    }
    assert!(same >= least, "at least {least} were read the same");
    for (Cause(why, most, _), count) in causes.iter().zip(counts) {
        assert!(count <= *most, "{why}: {count} are more than {most}");
    }
}
