//! Rules for names other than given ones.

use super::write::{Spelling, characters, literal};
use crate::rules::{Builder, Rule, spelled};
use chatparse_base::char_class::{self, Spelling as ClassSpelling};
use chatparse_base::chars::Chars;
use smol_str::SmolStr;

/// The number of bytes of a name that the rule compares. Names that are equal for so long are
/// excluded.
const DEPTH: usize = 64;

/// The inside of a JSON string that is not in `names`, which are sorted. A character that need not
/// be escaped is escaped only after the one by which the name differs from all of them. Written as
/// text directly, because names have many characters.
pub fn none_of(builder: &mut Builder, names: &[&str]) -> Rule {
    let escapes = Chars::of(Spelling::JsonString.must_escape());
    let any = builder.share("char");
    let mut writer = Writer {
        escaped: escaped(builder, &escapes),
        builder,
        escapes,
        any,
        out: String::new(),
    };
    writer.rest(names, 0, DEPTH);
    Rule::Gbnf(writer.out.into())
}

struct Writer<'b> {
    builder: &'b mut Builder,
    /// Characters that must be escaped, and the rule for them.
    escapes: Chars,
    escaped: SmolStr,
    /// The rule for any character.
    any: SmolStr,
    out: String,
}

impl Writer<'_> {
    /// What may follow the first `at` bytes, which all of `names` share.
    fn rest(&mut self, names: &[&str], at: usize, depth: usize) {
        let (is_name, longer) = match names {
            [first, rest @ ..] if first.len() == at => (true, rest),
            all => (false, all),
        };
        let next = |name: &&str| name[at..].chars().next().unwrap_or_default();
        let groups = || longer.chunk_by(|one, other| next(one) == next(other));
        let known: Vec<_> = groups()
            .map(|group| (next(&group[0]), next(&group[0])))
            .collect();
        let begins = Spelling::JsonString
            .must_escape()
            .into_iter()
            .chain(known.iter().copied());
        let other = char_class::spelled(begins, true, ClassSpelling::Ascii);
        // An empty branch instead of `?`, because engines count what a `?` repeats.
        self.out.extend([
            if is_name { "(" } else { "(| " },
            &other,
            " ",
            &self.any,
            "*",
        ]);
        let others = match known.iter().any(|(c, _)| self.escapes.has(*c)) {
            true => self.escapes.without(&Chars::of(known)),
            false => self.escapes.clone(),
        };
        if !others.is_empty() {
            let same = others == self.escapes;
            let rule = if same {
                self.escaped.clone()
            } else {
                escaped(self.builder, &others)
            };
            self.out.extend([" | ", &*rule, " ", &self.any, "*"]);
        }
        for group in groups().filter(|_| depth > 0) {
            let c = next(&group[0]);
            self.out
                .extend([" | \"", &spelled(&literal(c, Spelling::JsonString)), "\" "]);
            self.rest(group, at + c.len_utf8(), depth - 1);
        }
        self.out.push(')');
    }
}

/// The rule for these characters, escaped.
fn escaped(builder: &mut Builder, chars: &Chars) -> SmolStr {
    let body = characters(builder, chars, Spelling::JsonString);
    builder.add("char-escaped", body)
}
