//! Computes the first bytes of expressions, so that a choice need not enter an alternative that the
//! next byte rules out.
//!
//! For a byte outside of the set, the expression fails or matches nothing after looking at that
//! byte only, or at the character that it begins. So skipping the expression changes neither the
//! match nor how far the machine looked.

use super::check::Checked;
use super::expr::{Arena, CharSet, Expr, ExprId};
use chatparse_base::bytes::Bytes;
use chatparse_base::limits;

/// How an expression begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct First {
    /// The first bytes for which the outcome is open. The other fields describe the outcome for all
    /// other bytes.
    pub bytes: Bytes,
    /// True: it matches nothing. False: it fails.
    pub passes: bool,
    /// It needs a byte to decide, and waits for it.
    pub looks: bool,
    /// It needs the whole character that the byte begins.
    pub wide: bool,
}

impl First {
    /// Any byte may lead to any outcome.
    const UNKNOWN: First = First {
        bytes: Bytes::ALL,
        passes: true,
        looks: false,
        wide: false,
    };
    /// Matches nothing, without looking at a byte.
    const EMPTY: First = First {
        bytes: Bytes::NONE,
        passes: true,
        looks: false,
        wide: false,
    };
    /// Fails without looking at a byte.
    const FAIL: First = First {
        passes: false,
        ..First::EMPTY
    };

    /// The first byte of a text.
    pub fn of_literal(text: &str) -> First {
        text.bytes().next().map_or(First::EMPTY, |head| {
            First::looking(Bytes::byte(head), false)
        })
    }

    fn looking(bytes: Bytes, passes: bool) -> First {
        First {
            bytes,
            passes,
            looks: true,
            wide: false,
        }
    }

    fn of_characters(bytes: Bytes) -> First {
        First {
            wide: true,
            ..First::looking(bytes, false)
        }
    }

    /// A choice between two expressions.
    pub fn or(self, other: First) -> First {
        First {
            bytes: self.bytes.or(other.bytes),
            passes: self.passes | other.passes,
            looks: self.looks,
            wide: self.wide | (!self.passes & other.wide),
        }
    }

    /// A repetition.
    fn rounds(self, min: u32) -> First {
        First {
            looks: true,
            passes: min == 0,
            ..self
        }
    }

    /// A sequence of two expressions.
    fn then(self, next: First) -> First {
        if !self.passes {
            return self;
        }
        First {
            bytes: self.bytes.or(next.bytes),
            passes: next.passes,
            looks: self.looks | (self == First::EMPTY && next.looks),
            wide: self.wide | next.wide,
        }
    }

    /// The first bytes for which the expression is entered.
    pub fn enters(&self) -> Bytes {
        if self.passes { Bytes::ALL } else { self.bytes }
    }

    /// The first bytes for which the expression must be tried after another alternative failed.
    /// Includes the bytes for which it looks at more than that byte.
    pub fn tries(&self) -> Bytes {
        if self.wide {
            self.enters().or(Bytes::WIDE)
        } else {
            self.enters()
        }
    }
}

/// The first bytes of the characters of a set. May include others above ASCII.
fn heads(set: &CharSet) -> Bytes {
    let ranges = set.ranges.iter().filter(|(low, high)| low <= high);
    let all: Bytes = ranges.map(|&(low, high)| Bytes::heads(low, high)).collect();
    if set.negated {
        all.negated().or(Bytes::WIDE)
    } else {
        all
    }
}

/// Computes the first bytes of expressions, once for each.
pub struct Firsts<'a> {
    arena: &'a Arena,
    checked: &'a Checked,
    /// By expression.
    known: Vec<Option<First>>,
}

impl<'a> Firsts<'a> {
    pub fn new(arena: &'a Arena, checked: &'a Checked) -> Self {
        Firsts {
            arena,
            checked,
            known: vec![None; arena.len()],
        }
    }

    /// How an expression begins.
    pub fn of(&mut self, id: ExprId) -> First {
        self.below(id, 0)
    }

    fn below(&mut self, id: ExprId, depth: usize) -> First {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Empty => First::EMPTY,
            Expr::Start | Expr::Late(_) => First::UNKNOWN,
            Expr::End => First::looking(Bytes::default(), false),
            Expr::Literal(text) if text == Expr::NAME => First::looking(Expr::in_names(), false),
            Expr::Marker(text) if text == Expr::NAME => {
                First::looking(Bytes::SPACE.or(Expr::in_names()), false)
            }
            Expr::Literal(text) => First::of_literal(text),
            Expr::Any => First::of_characters(Bytes::range(0, 0xF4)),
            Expr::Char(set) => First::of_characters(heads(set)),
            Expr::Space => First::looking(Bytes::SPACE, true),
            Expr::Marker(text) => match text.trim().bytes().next() {
                Some(head) => First::looking(Bytes::SPACE.or(Bytes::byte(head)), false),
                None => text
                    .bytes()
                    .next()
                    .map_or(First::EMPTY, |_| First::looking(Bytes::SPACE, true)),
            },
            Expr::StringBody(_) | Expr::StringLine(_) | Expr::Until(_) | Expr::UntilMarker(_) => {
                First::looking(Bytes::ALL, true)
            }
            _ if depth > limits::EXPR_DEPTH => First::UNKNOWN,
            Expr::Repeat(_, _, Some(0)) => First::EMPTY,
            Expr::Repeat(child, min, _) => self.below(*child, depth + 1).rounds(*min),
            Expr::Not(child) => {
                let first = self.below(*child, depth + 1);
                First {
                    passes: !first.passes,
                    ..first
                }
            }
            Expr::Sequence(_) | Expr::Choice(_) | Expr::Ref(_) => self.remembered(id, depth + 1),
            // Others have one child.
            other => self.any(other.children(), depth + 1),
        }
    }

    fn remembered(&mut self, id: ExprId, depth: usize) -> First {
        if let Some(first) = self.known[id.index()] {
            return first;
        }
        let first = self.inner(id, depth);
        self.known[id.index()] = Some(first);
        first
    }

    fn inner(&mut self, id: ExprId, depth: usize) -> First {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Sequence(children) => {
                let mut first = First::EMPTY;
                for &child in children {
                    if !first.passes || first.bytes == Bytes::ALL {
                        break;
                    }
                    first = first.then(self.below(child, depth));
                }
                first
            }
            Expr::Choice(children) => self.any(children.iter().copied(), depth),
            _ => self.below(self.checked.target(id), depth),
        }
    }

    fn any(&mut self, children: impl Iterator<Item = ExprId>, depth: usize) -> First {
        let mut firsts = children.map(|child| self.below(child, depth));
        let Some(first) = firsts.next() else {
            return First::FAIL;
        };
        firsts.fold(first, First::or)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, TagId, check};
    use super::*;

    /// The bytes, and letters for the fields that are set.
    fn first(build: impl Fn(&Builder) -> ExprId) -> (String, String) {
        let p = Builder::new();
        let root = build(&p);
        let arena = p.finish(root);
        let checked = check::check(&arena).unwrap();
        let First {
            bytes,
            passes,
            looks,
            wide,
        } = Firsts::new(&arena, &checked).of(root);
        let letters = [(passes, 'p'), (looks, 'l'), (wide, 'w')];
        (
            ranges(bytes),
            letters
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, letter)| letter)
                .collect(),
        )
    }

    fn ranges(bytes: Bytes) -> String {
        let all: Vec<u8> = (0..=u8::MAX).filter(|&byte| bytes.contains(byte)).collect();
        let runs = all
            .chunk_by(|low, high| low + 1 == *high)
            .map(|run| match run {
                [low, .., high] => format!("{}-{}", low.escape_ascii(), high.escape_ascii()),
                run => run.escape_ascii().to_string(),
            });
        format!("[{}]", runs.collect::<String>())
    }

    #[test]
    fn what_each_expression_begins_with() {
        let is = |build: &dyn Fn(&Builder) -> ExprId, bytes: &str, letters: &str| {
            assert_eq!(first(build), (bytes.to_owned(), letters.to_owned()));
        };
        let all = ranges(Bytes::ALL);
        is(&|p| p.empty(), "[]", "p");
        is(&|p| p.literal(""), "[]", "p");
        is(&|p| p.start(), &all, "p");
        is(&|p| p.end(), "[]", "l");
        is(&|p| p.literal("<a>"), "[<]", "l");
        is(&|p| p.space(), r"[\t-\r ]", "pl");
        is(&|p| p.until("a"), &all, "pl");
        is(&|p| p.string_body(b'"'), &all, "pl");
        is(&|p| p.any(), r"[\x00-\xf4]", "lw");
        is(&|p| p.one_of(&[('a', 'c'), ('x', 'x')]), "[a-cx]", "lw");
        is(&|p| p.one_of(&[('à', 'ü')]), r"[\xc3]", "lw");
        is(
            &|p| p.none_of(&[('\0', '/'), ('0', '€')]),
            r"[\x80-\xff]",
            "lw",
        );
        is(&|p| p.choice([]), "[]", "");
        is(
            &|p| p.choice([p.literal("a"), p.one_of(&[('b', 'b')])]),
            "[a-b]",
            "lw",
        );
        // An alternative after an empty one is never tried.
        is(
            &|p| p.choice([p.literal("a"), p.empty(), p.any()]),
            r"[\x00-\xf4]",
            "pl",
        );
        is(&|p| p.choice([p.empty(), p.literal("a")]), "[a]", "p");
        is(
            &|p| p.sequence([p.empty(), p.space(), p.literal("a"), p.literal("b")]),
            r"[\t-\r a]",
            "l",
        );
        is(&|p| p.sequence([p.start(), p.literal("a")]), &all, "p");
        is(&|p| p.optional(p.literal("a")), "[a]", "pl");
        is(&|p| p.some(p.space()), r"[\t-\r ]", "l");
        is(&|p| p.repeat(p.literal("a"), 0, Some(0)), "[]", "p");
        is(
            &|p| p.unordered(vec![p.literal("a")], vec![p.literal("b")]),
            "[a-b]",
            "pl",
        );
        is(&|p| p.and(p.literal("a")), "[a]", "l");
        is(
            &|p| p.sequence([p.not(p.literal("a")), p.literal("b")]),
            "[a-b]",
            "l",
        );
        is(
            &|p| p.sequence([p.not(p.space()), p.literal("b")]),
            r"[\t-\r ]",
            "l",
        );
        is(
            &|p| p.tag(TagId(1), p.atomic(p.tolerated(p.literal("a")))),
            "[a]",
            "l",
        );
        is(&|p| p.json(), r#"[\"-0-9[fnt{]"#, "lw");
    }

    #[test]
    fn sets_of_bytes() {
        for (low, high) in [(0, 0), (0, 255), (63, 64), (5, 130), (128, 191), (255, 255)] {
            let bytes = Bytes::range(low, high);
            assert!(
                (0..=255).all(|byte| bytes.contains(byte) == (low..=high).contains(&byte)),
                "{low}-{high}"
            );
        }
        assert_eq!(Bytes::byte(b'z'), Bytes::range(b'z', b'z'));
    }
}
