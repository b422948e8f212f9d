//! Compares the renders of the prototype with the engine's, byte for byte.
use std::collections::BTreeMap;
use std::fs;

use chatparse_jinja::own::Own;
use chatparse_jinja::{Template, plain, prepare};
use chatparse_message::Request;

#[path = "../../../tests/segments/conversations.rs"]
mod conversations;

fn main() {
    let bodies = conversations::all();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut paths: Vec<_> = args
        .iter()
        .flat_map(|dir| match fs::read_dir(dir) {
            Ok(dir) => dir.filter_map(|e| Some(e.ok()?.path())).collect::<Vec<_>>(),
            Err(_) => vec![dir.into()],
        })
        .filter(|path| path.extension().is_some_and(|e| e == "jinja"))
        .collect();
    paths.sort();
    let mut shown = 0;
    for path in &paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = fs::read_to_string(path).unwrap();
        let template = match Template::new(&source, "<s>", "</s>") {
            Ok(template) => template,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let (own, own_plain) = match (Own::new(template.source()), Own::new(template.written())) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(error), _) | (_, Err(error)) => {
                println!("PARSE {name}: {error}");
                *counts.entry("not parsed").or_default() += 1;
                continue;
            }
        };
        *counts.entry("templates").or_default() += 1;
        let mut bad = 0;
        for (what, body) in &bodies {
            for is_plain in [false, true] {
                let options = serde_json::json!({"plain": is_plain});
                let Ok(request) = Request::from_json_with(body, &options) else {
                    continue;
                };
                let Ok(prepared) = prepare(&template, &request, true) else {
                    *counts.entry("not prepared").or_default() += 1;
                    continue;
                };
                let conversation = prepared.conversation;
                let engine = template.render(&conversation);
                let own = if is_plain { &own_plain } else { &own };
                let mine = own.render(&template, &conversation, false);
                let traced = own.render(&template, &conversation, true);
                let verdict = match (&engine, &mine, &traced) {
                    (Ok(a), Ok(b), Ok(c)) if *a == b.text && *a == c.text => "same",
                    (Err(_), Err(_), Err(_)) => "both fail",
                    (Ok(_), Ok(_), _) => "other bytes",
                    (Ok(_), Err(_), _) => "only ours fails",
                    (Err(_), _, _) => "only the engine fails",
                };
                *counts.entry(verdict).or_default() += 1;
                if !matches!(verdict, "same" | "both fail") {
                    bad += 1;
                    if bad <= 1 && shown < 60 {
                        shown += 1;
                        println!("{name}, {what}, plain {is_plain}: {verdict}");
                        match (&engine, &mine) {
                            (Ok(a), Ok(b)) => {
                                let at = a
                                    .bytes()
                                    .zip(b.text.bytes())
                                    .take_while(|(a, b)| a == b)
                                    .count();
                                let cut = |t: &str| {
                                    String::from_utf8_lossy(
                                        &t.as_bytes()
                                            [at.saturating_sub(30)..(at + 60).min(t.len())],
                                    )
                                    .into_owned()
                                };
                                println!("   engine {:?}\n   ours   {:?}", cut(a), cut(&b.text));
                            }
                            (Err(a), _) => println!("   engine {a}"),
                            (_, Err(b)) => println!("   ours {b}"),
                        }
                    }
                }
            }
        }
    }
    println!("{counts:?}");
    let _ = plain;
}
