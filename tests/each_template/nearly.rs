//! Arguments as models spoil JSON: they are read as what is meant, in any pieces, and what is shown
//! of them is JSON.

use chatparse::Stream;
use chatparse::message::DiagnosticKind;
use chatparse::stream::Ended;
use serde_json::{Deserializer, Value};

use super::shown;
use super::written::{Written, calls};

/// What is wrong, and how many outputs were looked at.
pub fn check(written: &Written) -> (Vec<String>, usize) {
    let Some(object) = object(written) else {
        return (Vec::new(), 0);
    };
    let text = &written.output[object.clone()];
    let spoilt = |from: &str, to: &str| text.replace(from, to);
    let last = |more: &str| format!("{}{more}}}", &text[..text.len() - 1]);
    let with = |town: Value| {
        let mut arguments = written.calls[0].1.clone();
        arguments["qk1town"] = town;
        arguments
    };
    let town = |town: &str| with(town.into());
    let same = || town("qz1a");
    let all = [
        (spoilt("qz1a", "qz\n1a"), town("qz\n1a")),
        (spoilt("qz1a", "qz\t 1a \r\n"), town("qz\t 1a \r\n")),
        (spoilt("qz1a", "qz\\d1a"), town("qz\\d1a")),
        (last(","), same()),
        (last(" , // no more,}\n"), same()),
        (
            spoilt("\"qk1town\":", "/* { */ \"qk1town\": /* \" */"),
            same(),
        ),
        (spoilt("\"", "'"), same()),
        (spoilt("\"qz1a\"", "'q\"1a'"), town("q\"1a")),
        (spoilt("\"qz1a\"", "None"), with(Value::Null)),
        (spoilt("\"qz1a\"", "'it's qz'"), town("it's qz")),
    ];
    let wrong = all.iter().filter_map(|(spoilt, meant)| {
        let output = format!(
            "{}{spoilt}{}",
            &written.output[..object.start],
            &written.output[object.end..]
        );
        look(written, &output, meant)
            .err()
            .map(|why| format!("{why}\n  {output:?}"))
    });
    (wrong.collect(), all.len())
}

/// What no rule mends. The argument is a number, so some formats have it as a text.
const UNMENDED: [&str; 8] = [
    "Nope",
    "NaN",
    "Fals",
    "[Nonesuch]",
    "[North, None]",
    "[7, x]",
    "[7 , /x]",
    "{\"a\": it's}",
];

/// What is not mended comes back as it was written, in any pieces.
pub fn check_unmended(written: &Written) -> (Vec<String>, usize) {
    let wrong = UNMENDED.iter().filter_map(|word| {
        let output = written.output.replace("70431", word);
        let ended = match in_pieces(written, &output) {
            Ok(ended) => ended,
            Err(why) => return Some(why),
        };
        let message = &ended.message;
        let arguments: String = message
            .tool_calls
            .iter()
            .map(|call| &*call.arguments)
            .collect();
        let as_text = serde_json::to_string(word).unwrap();
        let texts = [&message.content, &arguments];
        let is_there = texts
            .iter()
            .any(|text| text.contains(word) || text.contains(as_text.trim_matches('"')));
        (!is_there).then(|| format!("{word} is not in {message:?}\n  {output:?}"))
    });
    (wrong.collect(), UNMENDED.len())
}

/// Where the arguments of the first call are as one JSON object.
fn object(written: &Written) -> Option<std::ops::Range<usize>> {
    let key = written.output.find("\"qk1town\"")?;
    let from = written.output[..key].rfind('{')?;
    let mut values = Deserializer::from_str(&written.output[from..]).into_iter::<Value>();
    let is_whole = values.next()?.ok()? == written.calls[0].1;
    is_whole.then(|| from..from + values.byte_offset())
}

/// How an output ends, in whatever pieces it comes.
fn in_pieces(written: &Written, output: &str) -> Result<Ended, String> {
    let stream = || Stream::new(&written.params.parser);
    let (_, ended) = shown::feed(stream(), output.as_bytes().chunks(1), false)?;
    let (_, whole) = shown::feed(stream(), [output.as_bytes()].into_iter(), false)?;
    let (_, sevens) = shown::feed(stream(), output.as_bytes().chunks(7), false)?;
    match ended == whole && ended == sevens {
        true => Ok(ended),
        false => Err(format!(
            "in pieces {ended:?}\n  as a whole {whole:?}\n  in sevens {sevens:?}"
        )),
    }
}

fn look(written: &Written, output: &str, meant: &Value) -> Result<(), String> {
    let ended = in_pieces(written, output)?;
    let mut wanted = written.calls.clone();
    wanted[0].1 = meant.clone();
    if calls(&ended.message) != wanted || !ended.calls()[0].complete {
        return Err(format!("read as {ended:?}"));
    }
    let says = ended
        .diagnostics()
        .iter()
        .any(|found| found.kind == DiagnosticKind::MendedArguments);
    if says {
        Ok(())
    } else {
        Err(format!("nothing says what was mended: {ended:?}"))
    }
}
