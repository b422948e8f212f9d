//! Names that are none of some others.

use super::write::{Spelling, literal, must_escape};
use crate::char_class::{self, Spelling as ClassSpelling};
use crate::grammar::builder::Builder;
use crate::grammar::rule::Rule;

/// How far into names the rule looks. What begins like one for so long is left out.
const DEPTH: usize = 64;

/// The inside of a JSON string that is none of `names`, which are sorted. A character that must be escaped, or is for no reason, stands
/// only behind one by which the name differs from all of them.
pub(in crate::grammar) fn none_of(builder: &mut Builder, names: &[&str]) -> Rule {
    let any = Rule::Reference(builder.share("char")).repeat(0, None);
    rest(names, 0, DEPTH, &any)
}

/// What may follow behind the first `at` bytes, which all of `names` have.
fn rest(names: &[&str], at: usize, depth: usize, any: &Rule) -> Rule {
    let (is_name, longer) = match names {
        [first, rest @ ..] if first.len() == at => (true, rest),
        all => (false, all),
    };
    let next = |name: &&str| name[at..].chars().next().unwrap_or_default();
    let mut branches = Vec::new();
    let mut known = Vec::new();
    for group in longer.chunk_by(|one, other| next(one) == next(other)) {
        let c = next(&group[0]);
        known.push((c, c));
        if depth > 0 {
            let more = rest(group, at + c.len_utf8(), depth - 1, any);
            branches.push(Rule::sequence([Rule::Literal(literal(c, Spelling::JsonString)), more]));
        }
    }
    let other = char_class::spelled(must_escape().into_iter().chain(known), true, ClassSpelling::Ascii);
    branches.insert(0, Rule::sequence([Rule::Class(other), any.clone()]));
    let rule = Rule::Choice(branches).group();
    if is_name { rule } else { rule.optional() }
}
