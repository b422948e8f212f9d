//! Marked output, with the built-in templates; with others see `tests/each_template/`.

#[path = "../each_template/marked.rs"]
mod each;
#[path = "../each_template/written.rs"]
#[allow(
    dead_code,
    reason = "the templates next to the repository need the rest"
)]
mod written;

use std::sync::LazyLock;

use chatparse::stream::{Ended, SpecialTokens};
use chatparse::{ChatTemplate, EndedBy, ErrorKind, Params, Request, Stream, builtin};
use proptest::prelude::*;
use written::Written;

/// Outputs that quote tokens, for all built-in templates together.
const OUTPUTS: usize = 1000;

/// How many of them are read otherwise without marks.
const CONFUSED: usize = 80;

/// What the built-in templates write.
static WRITTEN: LazyLock<Vec<(&str, Written)>> = LazyLock::new(|| {
    let written = |name| Some((name, written::written(&ChatTemplate::builtin(name)?)?));
    builtin::names().filter_map(written).collect()
});

#[test]
fn what_is_marked_as_text_is_text() {
    let (mut wrong, mut looked, mut confused) = (Vec::new(), 0, 0);
    for (name, written) in WRITTEN.iter() {
        let (found, count, otherwise) = each::check(written, usize::MAX);
        wrong.extend(found.into_iter().map(|found| format!("{name}: {found}")));
        looked += count;
        confused += otherwise;
    }
    println!("{looked} outputs, {confused} of which are read otherwise without marks");
    assert!(
        wrong.is_empty(),
        "{} of {looked} outputs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        looked >= OUTPUTS && confused >= CONFUSED,
        "only {looked} outputs, {confused} of which need marks"
    );
}

/// A piece of an output, and whether it came as a special token.
type Piece = (String, bool);

/// Outputs of all kinds: what a template writes, of which some tokens are spelt out, and more of
/// both in between.
fn pieces() -> impl Strategy<Value = (usize, Vec<Piece>)> {
    let inserted = prop::collection::vec(
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            0..3,
        ),
        0..6,
    );
    let spelt = prop::collection::vec(prop::bool::weighted(0.2), 64);
    (0..WRITTEN.len(), inserted, spelt).prop_map(|(index, inserted, spelt)| {
        let written = &WRITTEN[index].1;
        let tokens = each::tokens(written);
        let (mut pieces, mut from) = (Vec::new(), 0);
        for (at, span) in each::occurrences(&written.output, &tokens)
            .into_iter()
            .enumerate()
        {
            pieces.push((written.output[from..span.start].to_owned(), false));
            pieces.push((
                written.output[span.clone()].to_owned(),
                !spelt[at % spelt.len()],
            ));
            from = span.end;
        }
        pieces.push((written.output[from..].to_owned(), false));
        for (place, what, kind) in inserted {
            let token = tokens[what.index(tokens.len())];
            let text = if kind == 2 {
                token[..token.chars().next().map_or(0, char::len_utf8)].repeat(2)
            } else {
                token.to_owned()
            };
            pieces.insert(place.index(pieces.len() + 1), (text, kind == 0));
        }
        (index, pieces)
    })
}

/// The pieces as one text, with the spans that came from special tokens.
fn whole(pieces: &[Piece]) -> (String, Vec<std::ops::Range<usize>>) {
    let (mut text, mut spans) = (String::new(), Vec::new());
    for (piece, special) in pieces {
        let from = text.len();
        text.push_str(piece);
        if *special {
            spans.push(from..text.len());
        }
    }
    (text, spans)
}

/// Stands for the first character of what is no token. As `<` and `[`, it is one byte, and cannot
/// be in a name.
const STAND_IN: &str = "\u{7f}";

/// The same output where nothing looks like a token that is none. `ended`: nor like half of one at
/// the end.
fn disguised(pieces: &[Piece], tokens: &[&str], ended: bool) -> Vec<Piece> {
    let mut runs: Vec<Piece> = Vec::new();
    for (piece, special) in pieces {
        match runs.last_mut() {
            Some((run, false)) if !special => run.push_str(piece),
            _ => runs.push((piece.clone(), *special)),
        }
    }
    for (run, _) in runs.iter_mut().filter(|(_, special)| !special) {
        let starts = (0..run.len()).filter(|at| {
            run.is_char_boundary(*at) && tokens.iter().any(|token| run[*at..].starts_with(token))
        });
        for at in starts.collect::<Vec<_>>().into_iter().rev() {
            run.replace_range(at..=at, STAND_IN);
        }
    }
    if let Some((run, false)) = runs.last_mut().filter(|_| ended) {
        let half = |at: &usize| {
            run.is_char_boundary(*at) && tokens.iter().any(|token| token.starts_with(&run[*at..]))
        };
        if let Some(at) = (0..run.len()).find(half) {
            run.replace_range(at..=at, STAND_IN);
        }
    }
    runs
}

/// The part of an output from `from` on, up to `to`, with its spans.
fn feed(
    stream: &mut Stream,
    (text, spans): &(String, Vec<std::ops::Range<usize>>),
    from: usize,
    to: usize,
) {
    let within = spans
        .iter()
        .map(|span| span.start.clamp(from, to) - from..span.end.clamp(from, to) - from);
    let within: Vec<_> = within.collect();
    drop(
        stream
            .feed_marked(&text.as_bytes()[from..to], &within)
            .expect("the spans are right"),
    );
}

fn marked_stream(params: &Params, tokens: &[&str]) -> Stream {
    let mut stream = Stream::new(&params.parser);
    stream
        .set_special_tokens(&SpecialTokens::new(tokens).expect("they are few"))
        .expect("nothing was fed");
    stream
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading it is reading the same with other words in place of tokens that are none; however it
    /// is cut, and whatever was fed in between and taken back.
    #[test]
    fn what_is_marked_as_text_is_never_a_marker(
        (index, pieces) in pieces(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        draft in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4), back in any::<prop::sample::Index>(),
        cut_off in any::<bool>(),
    ) {
        let written = &WRITTEN[index].1;
        let tokens = each::tokens(written);
        prop_assume!(tokens.iter().all(|token| token.starts_with(['<', '['])));
        let output = whole(&pieces);
        let length = output.0.len();
        let at_once = {
            let mut stream = marked_stream(&written.params, &tokens);
            feed(&mut stream, &output, 0, length);
            stream.finish(EndedBy::limit_if(cut_off))
        };
        let plain = whole(&disguised(&pieces, &tokens, !cut_off)).0;
        let expected = written.params.parser.read(plain.as_bytes(), EndedBy::limit_if(cut_off));
        let said = |ended: &Ended| {
            let message = &ended.message;
            let calls = message.tool_calls.iter().flat_map(|call| [&call.name, &call.id, &call.arguments]);
            let all = [&message.reasoning_content, &message.content].into_iter().chain(calls);
            let all = all.map(|text| text.replace(STAND_IN, "<").replace('[', "<"));
            (ended.status, all.collect::<Vec<_>>())
        };
        prop_assert_eq!(said(&at_once), said(&expected));

        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(length + 1)).chain([0, length]).collect();
        cuts.sort_unstable();
        let mut stream = marked_stream(&written.params, &tokens);
        let mut at = 0;
        for to in cuts {
            stream.checkpoint();
            feed(&mut stream, &output, at, to);
            for (what, special) in &draft {
                feed(&mut stream, &whole(&[(tokens[what.index(tokens.len())].to_owned(), *special)]), 0, 1);
            }
            drop(stream.finish(EndedBy::limit_if(cut_off)));
            let kept = at + back.index(to - at + 1);
            drop(stream.rollback(kept).expect("it is behind the checkpoint"));
            feed(&mut stream, &output, kept, to);
            at = to;
        }
        prop_assert_eq!(stream.finish(EndedBy::limit_if(cut_off)), at_once);
    }
}

fn stream() -> Stream {
    let request =
        r#"{"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "auto"}"#;
    let request = Request::from_text(request).expect("a request");
    let template = ChatTemplate::builtin("json-call").expect("it is built in");
    Stream::new(&template.params(&request).expect("it fits").parser)
}

#[test]
fn spans_are_in_order_and_within_the_bytes() {
    let mut stream = stream();
    let refused = |stream: &mut Stream, spans: &[std::ops::Range<usize>]| {
        stream
            .feed_marked(b"abc", spans)
            .map(drop)
            .map_err(|error| (error.kind(), error.to_string()))
    };
    let (kind, message) = refused(&mut stream, &[]).unwrap_err();
    assert_eq!(
        (kind, &*message),
        (
            ErrorKind::InvalidArgument,
            "stream: no special tokens are set"
        )
    );
    let tokens = SpecialTokens::new(&["</think>"]).expect("it is short");
    stream.set_special_tokens(&tokens).expect("nothing was fed");
    for (spans, number) in [
        ([0..1, 1..4], 1),
        ([1..2, 0..1], 1),
        ([0..2, 1..3], 1),
        ([4..4, 4..4], 0),
    ] {
        let (kind, message) = refused(&mut stream, &spans).unwrap_err();
        assert!(
            kind == ErrorKind::InvalidArgument && message.contains(&format!("number {number},")),
            "{message}"
        );
    }
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = 2..1;
    assert!(refused(&mut stream, &[reversed, 3..3]).is_err());
    refused(&mut stream, &[0..0, 0..1, 1..3, 3..3]).expect("they are in order");
    assert!(
        stream.set_special_tokens(&tokens).is_err(),
        "output was fed"
    );
    assert_eq!(stream.finish(EndedBy::Model).message.content, "abc");
    stream.reset();
    drop(
        stream
            .feed_marked(b"<think>a </think> b", &[0..3, 3..7])
            .expect("the tokens outlast a reset"),
    );
    drop(stream.feed_marked(b"</thi", &[]).expect("it goes on"));
    assert_eq!(
        stream.message().reasoning_content,
        "a </think> b",
        "what may become a token waits"
    );
    assert_eq!(
        stream.finish(EndedBy::Model).message.reasoning_content,
        "a </think> b</thi"
    );
}

#[test]
fn what_is_not_marked_counts_as_ever() {
    let mut stream = stream();
    stream
        .set_special_tokens(&SpecialTokens::new(&["<think>", "</think>"]).expect("they are short"))
        .expect("it is new");
    drop(stream.feed(b"<think>a"));
    drop(stream.feed_marked(b"</think>b<", &[]).expect("it is right"));
    drop(stream.feed(b"</think>c"));
    let message = stream.finish(EndedBy::Model).message;
    assert_eq!(
        (&*message.reasoning_content, &*message.content),
        ("a</think>b<", "c")
    );
}
