//! The parsing machine against a naive matcher, and against itself under every way to cut the text.

use std::sync::Arc;

use chatparse::peg::{Arena, Builder, Capture, Expr, ExprId, Machine, Program, State, TagId, compile};
use proptest::prelude::*;

/// An expression as a tree, to be generated; built into an arena.
#[derive(Clone, Debug)]
enum Tree {
    Literal(String),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
    And(Box<Tree>),
    Not(Box<Tree>),
    Any,
    Space,
    OneOf(char, char),
    Body,
    Line,
    Until(Vec<String>),
    Tag(u16, Box<Tree>),
    Atomic(Box<Tree>),
    Json,
}

fn tree() -> impl Strategy<Value = Tree> {
    let marker = prop::sample::select(vec!["a", "ab", "<b>", "</b>", "é", "aab"]).prop_map(str::to_owned);
    let leaf = prop_oneof![
        marker.clone().prop_map(Tree::Literal),
        Just(Tree::Any),
        Just(Tree::Space),
        Just(Tree::OneOf('a', 'b')),
        Just(Tree::Body),
        Just(Tree::Line),
        Just(Tree::Json),
        prop::collection::vec(marker, 0..3).prop_map(Tree::Until),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Sequence),
            prop::collection::vec(inner, 1..4).prop_map(Tree::Choice),
            (boxed.clone(), 0u32..2, prop::option::of(1u32..4)).prop_map(|(t, min, max)| Tree::Repeat(t, min, max)),
            boxed.clone().prop_map(Tree::And),
            boxed.clone().prop_map(Tree::Not),
            (0u16..4, boxed.clone()).prop_map(|(tag, t)| Tree::Tag(tag, t)),
            boxed.prop_map(Tree::Atomic),
        ]
    })
}

fn build(p: &Builder, tree: &Tree) -> ExprId {
    match tree {
        Tree::Literal(text) => p.literal(text.as_str()),
        Tree::Sequence(all) => p.sequence(all.iter().map(|t| build(p, t)).collect::<Vec<_>>()),
        Tree::Choice(all) => p.choice(all.iter().map(|t| build(p, t)).collect::<Vec<_>>()),
        Tree::Repeat(t, min, max) => p.repeat(build(p, t), *min, *max),
        Tree::And(t) => p.and(build(p, t)),
        Tree::Not(t) => p.not(build(p, t)),
        Tree::Any => p.any(),
        Tree::Space => p.space(),
        Tree::OneOf(low, high) => p.one_of(&[(*low, *high)]),
        Tree::Body => p.string_body(b'"'),
        Tree::Line => p.string_line(b'"'),
        Tree::Until(markers) => p.until_any(markers.iter().map(String::as_str)),
        Tree::Tag(tag, t) => p.tag(TagId(*tag), build(p, t)),
        Tree::Atomic(t) => p.atomic(build(p, t)),
        Tree::Json => p.json(),
    }
}

fn arena(tree: &Tree) -> Arena {
    let p = Builder::new();
    let root = p.sequence([build(&p, tree), p.end()]);
    p.finish(root)
}

fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "b",
        "ab",
        "aab",
        "<b>",
        "</b>",
        "é",
        " ",
        "\"",
        "\\",
        "\\n",
        "\\u00e9",
        "{}",
        "[1,2]",
        "{\"a\": tr",
        "3.1",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|all| all.concat())
}

/// What a PEG means, said once more as a recursive function over text that is whole.
fn naive(arena: &Arena, id: ExprId, text: &[u8], at: usize, log: &mut Vec<Capture>) -> Option<usize> {
    let character = |at: usize| std::str::from_utf8(&text[at..]).unwrap().chars().next();
    match arena.get(id) {
        Expr::Empty => Some(at),
        Expr::Start => (at == 0).then_some(at),
        Expr::End => (at == text.len()).then_some(at),
        Expr::Literal(literal) => text[at..].starts_with(literal.as_bytes()).then_some(at + literal.len()),
        Expr::Sequence(all) => all.iter().try_fold(at, |at, &child| naive(arena, child, text, at, log)),
        Expr::Choice(all) => all.iter().find_map(|&child| attempt(arena, child, text, at, log)),
        Expr::Repeat(child, min, max) => {
            let (mut at, mut count) = (at, 0);
            while max.is_none_or(|max| count < max) && at < text.len() {
                let mark = log.len();
                match attempt(arena, *child, text, at, log) {
                    Some(end) if end > at => (at, count) = (end, count + 1),
                    _ => {
                        log.truncate(mark);
                        break;
                    }
                }
            }
            (count >= *min).then_some(at)
        }
        Expr::Unordered(..) => unreachable!("not generated"),
        Expr::And(child) => {
            let mark = log.len();
            let found = naive(arena, *child, text, at, log);
            log.truncate(mark);
            found.map(|_| at)
        }
        Expr::Not(child) => {
            let mark = log.len();
            let found = naive(arena, *child, text, at, log);
            log.truncate(mark);
            found.is_none().then_some(at)
        }
        Expr::Any => character(at).map(|c| at + c.len_utf8()),
        Expr::Char(set) => character(at).filter(|&c| set.contains(c)).map(|c| at + c.len_utf8()),
        Expr::Space => Some(at + text[at..].iter().take_while(|b| matches!(b, b' ' | 9..=13)).count()),
        node @ (Expr::StringBody(delimiter) | Expr::StringLine(delimiter)) => {
            let mut at = at;
            loop {
                match *text.get(at)? {
                    byte if byte == *delimiter => return Some(at),
                    b'\n' if matches!(node, Expr::StringLine(_)) => return Some(at),
                    b'\\' => {
                        at += match *text.get(at + 1)? {
                            b'u' => {
                                let digits = text.get(at + 2..at + 6)?;
                                digits.iter().all(u8::is_ascii_hexdigit).then_some(6)?
                            }
                            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                            _ => return None,
                        }
                    }
                    _ => at += 1,
                }
            }
        }
        Expr::Until(markers) => {
            let found = (at..text.len()).find(|&i| markers.iter().any(|m| text[i..].starts_with(m.as_bytes())));
            Some(found.unwrap_or(text.len()))
        }
        Expr::Tag(tag, child) => {
            log.push(Capture { tag: *tag, pos: at, opens: true });
            let end = naive(arena, *child, text, at, log)?;
            log.push(Capture { tag: *tag, pos: end, opens: false });
            Some(end)
        }
        Expr::Atomic(child)
        | Expr::Tolerated(child)
        | Expr::Rule { child, .. }
        | Expr::Excluding(child, _)
        | Expr::Gbnf(child, _) => naive(arena, *child, text, at, log),
        Expr::Schema(value) => naive(arena, value.child, text, at, log),
        Expr::Ref(name) => naive(arena, arena.rule_named(name).unwrap(), text, at, log),
    }
}

fn attempt(arena: &Arena, id: ExprId, text: &[u8], at: usize, log: &mut Vec<Capture>) -> Option<usize> {
    let mark = log.len();
    let found = naive(arena, id, text, at, log);
    if found.is_none() {
        log.truncate(mark);
    }
    found
}

/// A machine that has read the pieces, and its output.
fn machine(program: &Arc<Program>, pieces: &[&[u8]]) -> (Machine, Vec<u8>) {
    let mut machine = Machine::new(Arc::clone(program), 0);
    let mut output = Vec::new();
    machine.feed(&output);
    for piece in pieces {
        output.extend_from_slice(piece);
        machine.feed(&output);
    }
    (machine, output)
}

type Shown = (State, Vec<Capture>, usize);

fn shown(machine: &Machine) -> Shown {
    let visible = machine.visible();
    (machine.state(), visible.from(0).to_vec(), visible.reach)
}

fn cut<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).chain([0, text.len()]).collect();
    at.sort_unstable();
    at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whole_text_is_matched_as_peg_says(tree in tree(), text in text()) {
        let arena = arena(&tree);
        let mut log = Vec::new();
        let expected = naive(&arena, arena.root().unwrap(), text.as_bytes(), 0, &mut log);
        let program = Arc::new(compile(&arena).unwrap());
        let (mut machine, output) = machine(&program, &[text.as_bytes()]);
        let matched = machine.finish(&output, 0, 0);
        prop_assert_eq!(matched, expected.is_some());
        if matched {
            prop_assert_eq!(shown(&machine).1, log);
        }
    }

    #[test]
    fn what_shows_is_a_function_of_the_bytes(tree in tree(), text in text(), cuts in prop::collection::vec(0usize..64, 0..8)) {
        let program = Arc::new(compile(&arena(&tree)).unwrap());
        let bytes = text.as_bytes();
        let pieces = cut(bytes, &cuts);
        let mut pieced = Machine::new(Arc::clone(&program), 0);
        let mut length = 0;
        for piece in &pieces {
            length += piece.len();
            pieced.feed(&bytes[..length]);
            let (batch, _) = machine(&program, &[&bytes[..length]]);
            prop_assert_eq!(pieced.state(), batch.state());
            if pieced.state() == State::Failed {
                prop_assert_eq!(pieced.examined(), batch.examined());
                let (fits, _) = machine(&program, &[&bytes[..batch.examined() - 1]]);
                prop_assert_ne!(fits.state(), State::Failed);
                let (fails, _) = machine(&program, &[&bytes[..batch.examined()]]);
                prop_assert_eq!(fails.state(), State::Failed);
                break;
            }
            prop_assert_eq!(shown(&pieced), shown(&batch));
        }
    }

    #[test]
    fn any_bytes_do(tree in tree(), bytes in prop::collection::vec(any::<u8>(), 0..64), cuts in prop::collection::vec(0usize..64, 0..8)) {
        let program = Arc::new(compile(&arena(&tree)).unwrap());
        let (mut pieced, _) = machine(&program, &cut(&bytes, &cuts));
        let (mut batch, _) = machine(&program, &[&bytes]);
        prop_assert_eq!((pieced.state(), pieced.work()), (batch.state(), batch.work()));
        prop_assert_eq!(pieced.finish(&bytes, 0, 0), batch.finish(&bytes, 0, 0));
        prop_assert_eq!(pieced.cut(&bytes), batch.cut(&bytes));
    }
}

#[test]
fn an_arena_that_cannot_run_is_refused() {
    let p = Builder::new();
    let dangling = p.finish(p.reference("nowhere"));
    assert!(compile(&dangling).unwrap_err().message().contains("nowhere"));

    let p = Builder::new();
    let itself = p.rule("a", p.sequence([p.space(), p.reference("a")]));
    assert!(compile(&p.finish(itself)).unwrap_err().message().contains("left recursion"));

    let p = Builder::new();
    let mut deep = p.literal("x");
    for _ in 0..100_000 {
        deep = p.atomic(deep);
    }
    assert_eq!(compile(&p.finish(deep)).unwrap_err().kind(), chatparse::ErrorKind::Limit);
}

#[test]
fn bottomless_nesting_reaches_the_limit() {
    let p = Builder::new();
    let program = Arc::new(compile(&p.finish(p.sequence([p.json(), p.end()]))).unwrap());
    let mut machine = Machine::new(program, 0);
    assert_eq!(machine.feed(&b"[".repeat(1 << 20)), State::Limit);
}

#[test]
fn a_listing_names_every_instruction() {
    let p = Builder::new();
    let program = compile(&p.finish(p.sequence([p.until("<b>"), p.some(p.literal("x")), p.end()]))).unwrap();
    let listing = program.to_string();
    for word in ["Until [\"<b>\"]", "Literal \"x\"", "RepeatNext 1..∞", "End", "Accept"] {
        assert!(listing.contains(word), "{word} in\n{listing}");
    }
}
