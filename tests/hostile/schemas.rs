//! Schemas that grow: keywords, sizes and nesting by chance, in every dialect, through the program, with bounds on its memory
//! and its processor time. It ends with a grammar or an error, and never otherwise. `CHATPARSE_CASES` says how many, and
//! `CHATPARSE_SEED` where they start.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};
use std::{env, fs};

use chatparse::grammar::Dialect;
use serde_json::{Value, json};

/// Kilobytes, and seconds for unoptimized code on a busy machine.
const MEMORY: usize = 1_536 << 10;
const SECONDS: usize = 60;

/// Small numbers that look random (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// Mostly small, and now and then very large.
    fn size(&mut self) -> usize {
        let most = [4, 40, 400, 4_000, 20_000][self.below(5)];
        1 + self.below(most)
    }
}

/// A keyword whose value grows with `n`; what it has inside is `inner`.
fn grown(chance: &mut Chance, n: usize, inner: &Value) -> Value {
    let list = |each: &dyn Fn(usize) -> Value| (0..n).map(each).collect::<Value>();
    let map = |each: &dyn Fn(usize) -> Value| (0..n).map(|i| (format!("p{i}"), each(i))).collect::<Value>();
    let names = || list(&|i| json!(format!("p{i}")));
    match chance.below(24) {
        0 => json!({"enum": list(&|i| json!(format!("v{i}")))}),
        1 => json!({"enum": list(&|i| json!(i))}),
        2 => json!({"enum": list(&|i| json!({"a": i, "b": [i]}))}),
        3 => json!({"const": "x\n".repeat(n)}),
        4 => json!({"type": "array", "prefixItems": list(&|i| json!({"type": "integer", "minimum": i}))}),
        5 => json!({"type": "array", "prefixItems": list(&|_| inner.clone()), "minItems": n / 2}),
        6 => json!({"type": "object", "properties": map(&|_| inner.clone())}),
        7 => {
            json!({"type": "object", "properties": map(&|i| json!({"const": i})), "required": names(), "additionalProperties": false})
        }
        8 => {
            json!({"anyOf": list(&|i| json!({"properties": {format!("a{i}"): inner}, "required": [format!("a{i}")]}))})
        }
        9 => json!({"oneOf": list(&|i| json!({"properties": {"k": {"const": i}, "v": {"$ref": "#"}}}))}),
        10 => json!({"allOf": list(&|i| json!({"properties": {format!("a{}", i % 7): inner}}))}),
        11 => json!({"allOf": list(&|i| json!({"anyOf": [{"minimum": i}, {"maximum": i}]}))}),
        12 => json!({"type": "string", "pattern": format!("^((a{{1,{n}}}){{1,60}}b?){{1,60}}$")}),
        13 => json!({"allOf": list(&|i| json!({"type": "string", "pattern": format!("^(.*{i}){{9}}.*$")}))}),
        14 => json!({"type": "string", "pattern": format!("^{}$", "[a-f]?".repeat(n)), "minLength": n / 2}),
        15 => json!({"type": "number", "multipleOf": 1.0 / n as f64, "minimum": 1, "maximum": 1e300}),
        16 => json!({"type": "string", "not": {"enum": list(&|i| json!(format!("v{i}")))}}),
        17 => json!({"type": "object", "patternProperties": map(&|_| inner.clone()), "minProperties": n}),
        18 => {
            json!({"type": "object", "properties": map(&|_| inner.clone()), "maxProperties": n / 2, "propertyNames": {"maxLength": 4}})
        }
        19 => json!({"type": "array", "items": inner, "minItems": n, "maxItems": 2 * n, "uniqueItems": true}),
        20 => {
            json!({"$defs": map(&|i| json!({"items": {"$ref": format!("#/$defs/p{}", i + 1)}})), "$ref": "#/$defs/p0"})
        }
        21 => json!({"allOf": [{"enum": names()}, {"enum": names()}], "maxLength": 5}),
        22 => json!({"type": "string", "minLength": n, "maxLength": 1_000 * n, "format": "date-time"}),
        _ => json!({"type": "object", "required": names(), "additionalProperties": inner}),
    }
}

fn schema(seed: u64) -> Value {
    let mut chance = Chance(seed);
    let mut schema = json!({"type": "string"});
    for _ in 0..=chance.below(3) {
        // What is inside is written out as often as there are places for it.
        let room = 300_000 / schema.to_string().len().max(10);
        let n = chance.size().min(room.max(2));
        schema = grown(&mut chance, n, &schema);
    }
    schema
}

/// The exit code of the program, or what else became of it.
fn run(schema: &str, arguments: &[&str]) -> Result<i32, String> {
    let bounds = format!("ulimit -v {MEMORY}; ulimit -t {SECONDS}; exec \"$@\"");
    let mut program = Command::new("sh");
    program.args(["-c", &bounds, "sh", env!("CARGO_BIN_EXE_chatparse"), "grammar", "-"]).args(arguments);
    let mut program = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    program.stdin.take().unwrap().write_all(schema.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    output.status.code().ok_or_else(|| format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn schemas_that_grow_end_with_a_grammar_or_an_error() {
    let number = |name: &str, default| env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let first: u64 = number("CHATPARSE_SEED", 1);
    let mut wrong = Vec::new();
    for seed in first..first + number("CHATPARSE_CASES", 12) {
        let schema = schema(seed).to_string();
        let dialects = Dialect::ALL.map(|dialect| vec!["--dialect", dialect.name()]);
        for arguments in dialects.into_iter().chain([vec!["--llama"]]) {
            match run(&schema, &arguments) {
                Ok(0..=2) => {}
                other => {
                    let file = env::temp_dir().join(format!("chatparse-hostile-{seed}.json"));
                    fs::write(&file, &schema).unwrap();
                    wrong.push(format!("CHATPARSE_SEED={seed} CHATPARSE_CASES=1 {arguments:?}: {other:?}, {file:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
