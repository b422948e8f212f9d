//! Rules for names other than given ones.

use super::write::{Spelling, characters, literal};
use crate::rules::builder::Builder;
use crate::rules::rule::{Rule, spelled};
use chatparse_base::char_class::{self, Spelling as ClassSpelling};
use chatparse_base::chars::Chars;
use smol_str::SmolStr;

/// The number of bytes of a name that the rule compares. Names that are equal for so long are excluded.
const DEPTH: usize = 64;

/// The inside of a JSON string that is not in `names`, which are sorted. A character that need not be escaped is escaped only behind the
/// one by which the name differs from all of them. Written as text directly, because names have many characters.
pub(crate) fn none_of(builder: &mut Builder, names: &[&str]) -> Rule {
    let any = builder.share("char");
    let mut text = String::new();
    rest(builder, names, 0, DEPTH, &any, &mut text);
    Rule::Gbnf(text.into())
}

/// What may follow the first `at` bytes, which all of `names` share.
fn rest(builder: &mut Builder, names: &[&str], at: usize, depth: usize, any: &str, out: &mut String) {
    let (is_name, longer) = match names {
        [first, rest @ ..] if first.len() == at => (true, rest),
        all => (false, all),
    };
    let next = |name: &&str| name[at..].chars().next().unwrap_or_default();
    let groups = || longer.chunk_by(|one, other| next(one) == next(other));
    let known: Vec<_> = groups().map(|group| (next(&group[0]), next(&group[0]))).collect();
    let escaped = Chars::of(Spelling::JsonString.must_escape()).without(&Chars::of(known.iter().copied()));
    let other =
        char_class::spelled(Spelling::JsonString.must_escape().into_iter().chain(known), true, ClassSpelling::Ascii);
    // An empty branch instead of `?`, because engines count what a `?` repeats.
    out.extend([if is_name { "(" } else { "(| " }, &other, " ", any, "*"]);
    if !escaped.is_empty() {
        let escaped = characters(builder, &escaped, Spelling::JsonString);
        out.extend([" | ", &builder.add(&SmolStr::new_static("char-escaped"), escaped), " ", any, "*"]);
    }
    for group in groups().filter(|_| depth > 0) {
        let c = next(&group[0]);
        out.extend([" | \"", &spelled(&literal(c, Spelling::JsonString)), "\" "]);
        rest(builder, group, at + c.len_utf8(), depth - 1, any, out);
    }
    out.push(')');
}
