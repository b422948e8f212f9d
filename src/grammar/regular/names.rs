//! Names that are none of some others.

use super::write::{Spelling, literal, must_escape};
use crate::char_class::{self, Spelling as ClassSpelling};
use crate::grammar::builder::Builder;
use crate::grammar::rule::{Rule, spelled};

/// How far into names the rule looks. What begins like one for so long is left out.
const DEPTH: usize = 64;

/// The inside of a JSON string that is none of `names`, which are sorted. A character that must be escaped, or is for no reason, stands
/// only behind one by which the name differs from all of them. It is text at once: names have many characters.
pub(in crate::grammar) fn none_of(builder: &mut Builder, names: &[&str]) -> Rule {
    let any = builder.share("char");
    let mut text = String::new();
    rest(names, 0, DEPTH, &any, &mut text);
    Rule::Gbnf(text.into())
}

/// What may follow behind the first `at` bytes, which all of `names` have.
fn rest(names: &[&str], at: usize, depth: usize, any: &str, out: &mut String) {
    let (is_name, longer) = match names {
        [first, rest @ ..] if first.len() == at => (true, rest),
        all => (false, all),
    };
    let next = |name: &&str| name[at..].chars().next().unwrap_or_default();
    let groups = || longer.chunk_by(|one, other| next(one) == next(other));
    let known = groups().map(|group| (next(&group[0]), next(&group[0])));
    let other = char_class::spelled(must_escape().into_iter().chain(known), true, ClassSpelling::Ascii);
    // An empty branch, as engines count what a `?` repeats.
    out.extend([if is_name { "(" } else { "(\"\" | " }, &other, " ", any, "*"]);
    for group in groups().filter(|_| depth > 0) {
        let c = next(&group[0]);
        out.extend([" | \"", &spelled(&literal(c, Spelling::JsonString)), "\" "]);
        rest(group, at + c.len_utf8(), depth - 1, any, out);
    }
    out.push(')');
}
