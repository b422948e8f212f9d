//! The parsing machine against a naive matcher, and against itself under every way to cut the text.

use std::sync::Arc;

use chatparse::internals::peg::{
    Arena, Builder, Capture, Expr, ExprId, Machine, Program, State, TagId, compile,
};
use proptest::prelude::*;

/// An expression as a tree, to be generated; built into an arena.
#[derive(Clone, Debug)]
enum Tree {
    Empty,
    Start,
    End,
    Literal(String),
    Sequence(Vec<Tree>),
    Choice(Vec<Tree>),
    Repeat(Box<Tree>, u32, Option<u32>),
    Unordered(Vec<Tree>, Vec<Tree>),
    And(Box<Tree>),
    Not(Box<Tree>),
    Any,
    Space,
    /// A range, and whether it is all but these.
    OneOf(char, char, bool),
    Body,
    Line,
    Until(Vec<String>),
    Tag(u16, Box<Tree>),
    Atomic(Box<Tree>),
    Json,
}

fn tree() -> impl Strategy<Value = Tree> {
    let marker = prop::sample::select(vec!["a", "ab", "<b>", "</b>", "é", "èa", "€", "aab"])
        .prop_map(str::to_owned);
    let range = prop::sample::select(vec![
        ('a', 'b'),
        ('b', '<'),
        (' ', 'b'),
        ('à', 'é'),
        ('a', 'é'),
        ('€', '😀'),
    ]);
    let leaf = prop_oneof![
        4 => marker.clone().prop_map(Tree::Literal),
        1 => prop::sample::select(vec![Tree::Empty, Tree::Start, Tree::End]),
        1 => Just(Tree::Any),
        1 => Just(Tree::Space),
        2 => (range, any::<bool>()).prop_map(|((low, high), negated)| Tree::OneOf(low, high, negated)),
        1 => Just(Tree::Body),
        1 => Just(Tree::Line),
        1 => Just(Tree::Json),
        1 => prop::collection::vec(marker, 0..6).prop_map(Tree::Until),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let some = |from| prop::collection::vec(inner.clone(), from..5);
        prop_oneof![
            4 => some(1).prop_map(Tree::Sequence),
            5 => some(0).prop_map(Tree::Choice),
            2 => (boxed.clone(), 0u32..3, prop::option::of(2u32..4)).prop_map(|(t, min, max)| Tree::Repeat(t, min, max)),
            1 => boxed.clone().prop_map(|t| Tree::Repeat(t, 0, Some(1))),
            1 => (some(0), some(0)).prop_map(|(required, optional)| Tree::Unordered(required, optional)),
            1 => boxed.clone().prop_map(Tree::And),
            1 => boxed.clone().prop_map(Tree::Not),
            3 => (0u16..4, boxed.clone()).prop_map(|(tag, t)| Tree::Tag(tag, t)),
            1 => boxed.prop_map(Tree::Atomic),
        ]
    })
}

/// One of the literals.
const NAME: &str = "aab";

/// `name`: stands for the literal [`NAME`].
fn build(p: &Builder, tree: &Tree, name: &str) -> ExprId {
    match tree {
        Tree::Empty => p.empty(),
        Tree::Start => p.start(),
        Tree::End => p.end(),
        Tree::Literal(text) if text == NAME => p.literal(name),
        Tree::Literal(text) => p.literal(text.as_str()),
        Tree::Sequence(all) => p.sequence(build_all(p, all, name)),
        Tree::Choice(all) => p.choice(build_all(p, all, name)),
        Tree::Unordered(required, optional) => {
            p.unordered(build_all(p, required, name), build_all(p, optional, name))
        }
        Tree::Repeat(t, min, max) => p.repeat(build(p, t, name), *min, *max),
        Tree::And(t) => p.and(build(p, t, name)),
        Tree::Not(t) => p.not(build(p, t, name)),
        Tree::Any => p.any(),
        Tree::Space => p.space(),
        Tree::OneOf(low, high, false) => p.one_of(&[(*low, *high)]),
        Tree::OneOf(low, high, true) => p.none_of(&[(*low, *high)]),
        Tree::Body => p.string_body(b'"'),
        Tree::Line => p.string_line(b'"'),
        Tree::Until(markers) => p.until_any(markers.iter().map(String::as_str)),
        Tree::Tag(tag, t) => p.tag(TagId(*tag), build(p, t, name)),
        Tree::Atomic(t) => p.atomic(build(p, t, name)),
        Tree::Json => p.json(),
    }
}

fn build_all(p: &Builder, trees: &[Tree], name: &str) -> Vec<ExprId> {
    trees.iter().map(|tree| build(p, tree, name)).collect()
}

fn arena(tree: &Tree) -> Arena {
    let p = Builder::new();
    let root = p.sequence([build(&p, tree, NAME), p.end()]);
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
        "èa",
        "€",
        "😀",
        "<",
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
fn naive(
    arena: &Arena,
    id: ExprId,
    text: &[u8],
    at: usize,
    log: &mut Vec<Capture>,
) -> Option<usize> {
    let character = |at: usize| std::str::from_utf8(&text[at..]).unwrap().chars().next();
    match arena.get(id) {
        Expr::Empty => Some(at),
        Expr::Start => (at == 0).then_some(at),
        Expr::End => (at == text.len()).then_some(at),
        Expr::Literal(literal) => text[at..]
            .starts_with(literal.as_bytes())
            .then_some(at + literal.len()),
        Expr::Sequence(all) => all
            .iter()
            .try_fold(at, |at, &child| naive(arena, child, text, at, log)),
        Expr::Choice(all) => all
            .iter()
            .find_map(|&child| attempt(arena, child, text, at, log)),
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
        Expr::Char(set) => character(at)
            .filter(|&c| set.contains(c))
            .map(|c| at + c.len_utf8()),
        Expr::Space => Some(
            at + text[at..]
                .iter()
                .take_while(|b| matches!(b, b' ' | 9..=13))
                .count(),
        ),
        node @ (Expr::StringBody(delimiter) | Expr::StringLine(delimiter)) => {
            let mut at = at;
            loop {
                match *text.get(at)? {
                    byte if byte == *delimiter => return Some(at),
                    b'\n' if matches!(node, Expr::StringLine(_)) => return Some(at),
                    b'\\' => {
                        at += match *text.get(at + 1)? {
                            b'u' => {
                                let digits = &text[at + 2..text.len().min(at + 6)];
                                if !digits.iter().all(u8::is_ascii_hexdigit) {
                                    return Some(at);
                                }
                                (digits.len() == 4).then_some(6)?
                            }
                            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                            _ => return Some(at),
                        }
                    }
                    _ => at += 1,
                }
            }
        }
        Expr::Marker(_) | Expr::UntilMarker(_) => unreachable!("only formats have markers"),
        Expr::Until(markers) => {
            let found = (at..text.len())
                .find(|&i| markers.iter().any(|m| text[i..].starts_with(m.as_bytes())));
            Some(found.unwrap_or(text.len()))
        }
        Expr::Tag(tag, child) => {
            log.push(Capture {
                tag: *tag,
                pos: at,
                opens: true,
            });
            let end = naive(arena, *child, text, at, log)?;
            log.push(Capture {
                tag: *tag,
                pos: end,
                opens: false,
            });
            Some(end)
        }
        Expr::Atomic(child)
        | Expr::Tolerated(child)
        | Expr::Rule { child, .. }
        | Expr::Unordered(child, _)
        | Expr::Excluding(child, _)
        | Expr::Gbnf(child, _)
        | Expr::Written(child, _) => naive(arena, *child, text, at, log),
        Expr::Schema(value) => naive(arena, value.child, text, at, log),
        Expr::Ref(name) => naive(arena, arena.rule_named(name).unwrap(), text, at, log),
        Expr::Late(_) | Expr::Named { .. } => unreachable!("all is built at once"),
    }
}

fn attempt(
    arena: &Arena,
    id: ExprId,
    text: &[u8],
    at: usize,
    log: &mut Vec<Capture>,
) -> Option<usize> {
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
    (machine.state(), visible.from(0).to_vec(), visible.end)
}

fn cut<'a>(text: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts
        .iter()
        .map(|cut| cut % (text.len() + 1))
        .chain([0, text.len()])
        .collect();
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
    fn expressions_with_names_are_rules(tree in tree(), text in text()) {
        let names = ["a", "aab", "ab", "b", "aa", "ba", "1", "bb", "aabb", "c"];
        let program = |named: bool| {
            let p = Builder::new();
            let common = named.then(|| build(&p, &tree, Expr::NAME));
            let rules = names.map(|name| match common {
                Some(common) => p.named(common, name, 0, 0),
                None => p.rule(name, build(&p, &tree, name)),
            });
            let root = p.sequence([p.many(p.choice(rules)), p.end()]);
            Arc::new(compile(&p.finish(root)).unwrap())
        };
        let [named, plain] = [true, false].map(|named| {
            let (mut machine, output) = machine(&program(named), &[text.as_bytes()]);
            (machine.finish(&output, 0, 0), shown(&machine))
        });
        prop_assert_eq!(named.0, plain.0);
        if named.0 {
            prop_assert_eq!(named.1, plain.1);
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
                prop_assert_eq!(pieced.furthest(), batch.furthest());
                if let Some(fits) = batch.furthest().checked_sub(1) {
                    prop_assert_ne!(machine(&program, &[&bytes[..fits]]).0.state(), State::Failed);
                }
                let (fails, _) = machine(&program, &[&bytes[..batch.furthest()]]);
                prop_assert_eq!(fails.state(), State::Failed);
                break;
            }
            prop_assert_eq!(shown(&pieced), shown(&batch));
        }
    }

    #[test]
    fn byte_by_byte_is_as_good_as_whole(tree in tree(), text in text()) {
        let program = Arc::new(compile(&arena(&tree)).unwrap());
        let (mut batch, output) = machine(&program, &[text.as_bytes()]);
        let (mut pieced, _) = machine(&program, &text.as_bytes().chunks(1).collect::<Vec<_>>());
        prop_assert_eq!((pieced.furthest(), pieced.work()), (batch.furthest(), batch.work()));
        let ends: [fn(&mut Machine, &[u8]) -> bool; 2] =
            [|machine, output| machine.clone().finish(output, 0, 0), |machine, output| machine.cut(output)];
        for end in ends {
            prop_assert_eq!(end(&mut pieced, &output), end(&mut batch, &output));
            prop_assert_eq!(pieced.state(), batch.state());
            if pieced.state() != State::Failed {
                prop_assert_eq!(shown(&pieced), shown(&batch));
            }
        }
    }

    #[test]
    fn what_has_shown_stands_however_the_bytes_were_cut(tree in tree(), text in text(), cuts in prop::collection::vec(0usize..64, 0..8)) {
        let program = Arc::new(compile(&arena(&tree)).unwrap());
        let bytes = text.as_bytes();
        let mut batch = Machine::committed(Arc::clone(&program), 0);
        batch.feed(bytes);
        let mut pieced = Machine::committed(program, 0);
        let mut before: Vec<Capture> = Vec::new();
        let mut length = 0;
        for piece in cut(bytes, &cuts) {
            length += piece.len();
            pieced.feed(&bytes[..length]);
            if pieced.state() != State::Failed {
                prop_assert!(pieced.visible().from(0).starts_with(&before), "{:?}", before);
                before = pieced.visible().from(0).to_vec();
            }
        }
        prop_assert_eq!(pieced.state(), batch.state());
        prop_assert_eq!(pieced.furthest(), batch.furthest());
        if pieced.state() != State::Failed {
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
    assert!(
        compile(&dangling)
            .unwrap_err()
            .message()
            .contains("nowhere")
    );

    let p = Builder::new();
    let itself = p.rule("a", p.sequence([p.space(), p.reference("a")]));
    assert!(
        compile(&p.finish(itself))
            .unwrap_err()
            .message()
            .contains("left recursion")
    );

    let p = Builder::new();
    let mut deep = p.literal("x");
    for _ in 0..100_000 {
        deep = p.atomic(deep);
    }
    assert_eq!(
        compile(&p.finish(deep)).unwrap_err().kind(),
        chatparse::ErrorKind::Limit
    );
}

#[test]
fn bottomless_nesting_reaches_the_limit() {
    let p = Builder::new();
    let program = Arc::new(compile(&p.finish(p.sequence([p.json(), p.end()]))).unwrap());
    let mut machine = Machine::new(program, 0);
    assert_eq!(machine.feed(&b"[".repeat(1 << 20)), State::Limit);
}
