//! Marked output: where the host says what came as a special token, what is only quoted is text, in
//! the reasoning, in the content and in the arguments of a call.

use std::ops::Range;

use chatparse::stream::{Ended, SpecialTokens};
use chatparse::{EndedBy, Message, Params, Status, Stream};

use super::written::Written;

/// Tokens that a vocabulary has besides those that the template writes.
const OTHERS: [&str; 9] = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|call|>",
    "<|im_end|>",
];

/// What is wrong, how many outputs were looked at, and how many of them are read otherwise where
/// nobody says what came as a token.
pub fn check(written: &Written, most: usize) -> (Vec<String>, usize, usize) {
    let Written { params, output, .. } = written;
    let tokens = tokens(written);
    let special = SpecialTokens::new(&tokens).expect("they are few");
    let opener = written.opener();
    let own = output[written.spans[0].clone()].trim();
    // Also the last of the opener's markers, which alone makes a call where those before it are
    // missing.
    let last = opener.rfind(['<', '[']).map_or(opener, |at| &opener[at..]);
    let is_marked = tokens.iter().any(|token| last.contains(token));
    let end = params
        .thinking
        .as_ref()
        .and_then(|thinking| thinking.ends.first())
        .map_or("</think>", |end| &**end);
    let calls = [own.to_owned(), format!("{end}\n\n{own}")];
    let calls = calls.into_iter().filter(|_| is_marked);
    let others = [
        "<|start|>assistant<|channel|>analysis<|message|>Hm",
        "</thi</think>",
    ];
    let quotes = tokens
        .iter()
        .copied()
        .chain(others)
        .map(str::to_owned)
        .chain(calls);
    let quotes: Vec<String> = quotes.map(|quote| format!("so {quote} it is")).collect();
    let stride = (3 * quotes.len()).div_ceil(most).max(1);
    let looked = quotes
        .iter()
        .flat_map(|quote| (0..3).map(move |place| (quote, place)))
        .step_by(stride);
    let (mut wrong, mut count, mut confused) = (Vec::new(), 0, 0);
    for (quote, place) in looked {
        let plain = "Quince";
        let read = |text: &str| {
            let (before, behind, fits) = around(written, place, text)?;
            let whole = format!("{before}{text}{behind}");
            let mut spans = occurrences(&before, &tokens);
            let from = before.len() + text.len();
            spans.extend(
                occurrences(&behind, &tokens)
                    .into_iter()
                    .map(|span| from + span.start..from + span.end),
            );
            Some((feed(params, &special, &whole, &spans), whole, fits))
        };
        // As far as it is read with other text there.
        let Some((Ok(expected), _, true)) = read(plain) else {
            continue;
        };
        if expected.status != Status::Complete || !said(&expected.message).contains(plain) {
            continue;
        }
        let Some((found, whole, true)) = read(quote) else {
            continue;
        };
        count += 1;
        let right = |ended: &Ended| {
            ended.status == Status::Complete
                && said(&ended.message) == said(&expected.message).replace(plain, quote)
        };
        confused += usize::from(!right(
            &params.parser.read(whole.as_bytes(), EndedBy::Model),
        ));
        match found {
            Ok(ended) if right(&ended) => {}
            found => wrong.push(format!("{whole:?}\n  is read as {found:?}")),
        }
    }
    (wrong, count, confused)
}

/// The special tokens that the template writes, and others.
pub fn tokens(written: &Written) -> Vec<&str> {
    let Written { params, output, .. } = written;
    let mut texts = vec![params.generation_prompt.as_str(), output];
    texts.extend(
        params
            .thinking
            .iter()
            .flat_map(|thinking| thinking.ends.iter().chain([&thinking.start]))
            .map(|tag| &**tag),
    );
    let values: Vec<&str> = written
        .values
        .iter()
        .map(|value| &output[value.clone()])
        .collect();
    let mut tokens: Vec<&str> = texts
        .into_iter()
        .flat_map(tokens_in)
        .chain(OTHERS)
        .collect();
    tokens.retain(|token| !values.iter().any(|value| token.contains(value)));
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

/// All of a message as one text.
fn said(message: &Message) -> String {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments: serde_json::Value =
            serde_json::from_str(&call.arguments).unwrap_or_default();
        let arguments = arguments.as_object().into_iter().flatten();
        let arguments: Vec<String> = arguments
            .map(|(name, value)| {
                format!(
                    "{name}: {}",
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                )
            })
            .collect();
        format!("{}({})", call.name, arguments.join(", "))
    });
    let calls: Vec<String> = calls.collect();
    format!(
        "{}\n---\n{}\n---\n{}",
        message.reasoning_content,
        message.content,
        calls.join("\n")
    )
}

/// The output around a text in the reasoning, in the content or in an argument, and whether the
/// text may stand there as it is.
fn around(written: &Written, place: usize, text: &str) -> Option<(String, String, bool)> {
    let Written { params, output, .. } = written;
    match place {
        0 => {
            let thinking = params.thinking.as_ref()?;
            let end = thinking.ends.first()?;
            let opened = params.generation_prompt.contains(thinking.start.trim());
            let start = if opened {
                String::new()
            } else {
                thinking.start.to_string()
            };
            Some((start, format!("{end}\n\nThe answer is 4."), true))
        }
        1 => {
            let (before, behind) = output.split_once("Let me see.")?;
            Some((before.to_owned(), behind.to_owned(), true))
        }
        _ => {
            let (before, behind) = output.split_once("qz1a")?;
            Some((
                before.to_owned(),
                behind.to_owned(),
                !text.contains(['"', '\\', '\n', '\'']),
            ))
        }
    }
}

/// What looks like a special token in a text.
fn tokens_in(text: &str) -> impl Iterator<Item = &str> {
    let token = |(at, _): (usize, char)| {
        let rest = &text[at..];
        let close = if rest.starts_with('<') { '>' } else { ']' };
        let end = 1 + rest.find(close)?;
        let inner = &rest[1..end - 1];
        let words = if close == ']' {
            inner
                .chars()
                .all(|c| c.is_ascii_uppercase() || c == '_' || c == '/')
        } else {
            !inner.contains(['<', '=', ' ', '\n'])
        };
        (words && inner.len() > 1).then(|| &rest[..end])
    };
    text.char_indices()
        .filter(|(_, c)| matches!(c, '<' | '['))
        .filter_map(token)
}

/// Where tokens stand in a text, the longest at each place.
pub fn occurrences(text: &str, tokens: &[&str]) -> Vec<Range<usize>> {
    let (mut spans, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let here = tokens
            .iter()
            .filter(|token| text.as_bytes()[at..].starts_with(token.as_bytes()))
            .map(|token| token.len());
        let length = here.max().unwrap_or(0);
        if length > 0 {
            spans.push(at..at + length);
        }
        at += length.max(1);
    }
    spans
}

/// The same in pieces of every kind, which make no difference.
fn feed(
    params: &Params,
    special: &SpecialTokens,
    output: &str,
    spans: &[Range<usize>],
) -> Result<Ended, String> {
    let read = |size: usize| -> Result<Ended, String> {
        let mut stream = Stream::new(&params.parser);
        stream
            .set_special_tokens(special)
            .map_err(|error| error.to_string())?;
        for from in (0..output.len()).step_by(size) {
            let to = output.len().min(from + size);
            let within = spans
                .iter()
                .map(|span| span.start.clamp(from, to) - from..span.end.clamp(from, to) - from);
            let within: Vec<_> = within.collect();
            let fed = stream.feed_marked(&output.as_bytes()[from..to], &within);
            fed.map(drop).map_err(|error| error.to_string())?;
        }
        Ok(stream.finish(EndedBy::Model))
    };
    let whole = read(output.len())?;
    for size in [1, 3, 7] {
        let pieces = read(size)?;
        if pieces != whole {
            return Err(format!("in pieces of {size} {pieces:?}, at once {whole:?}"));
        }
    }
    Ok(whole)
}
