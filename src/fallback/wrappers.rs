//! What models put around calls: fences, brackets, tags, special tokens. It goes with the calls that it holds, and is no content.

use crate::format::FormatBuilder;
use crate::peg::ExprId;

/// What wrappers begin with.
pub(super) const STARTS: [&str; 4] = ["```", "<", "[", "<｜"];

/// The longest name in a tag or a special token.
const NAME: u32 = 40;

/// One or more calls, in wrappers one inside the other: as many as models write.
pub(super) fn wrapped(p: &FormatBuilder, call: ExprId) -> ExprId {
    let next = p.sequence([p.space(), p.one_of(&[(',', ','), (';', ';')]), p.space(), call]);
    let calls = p.rule("calls-in-a-row", p.sequence([call, p.many(next)]));
    let once = p.rule("wrapped-once", around(p, calls));
    p.choice([around(p, once), calls])
}

/// A wrapper with `inner` in it, or that alone.
fn around(p: &FormatBuilder, inner: ExprId) -> ExprId {
    let within = |open: ExprId, close: ExprId| {
        p.sequence([open, p.space(), inner, p.optional(p.sequence([p.space(), close]))])
    };
    let fence = p.exact("```");
    let language = p.repeat(p.one_of(&[('a', 'z'), ('_', '_')]), 0, Some(NAME));
    p.choice([
        within(p.sequence([fence, language]), fence),
        within(special(p), special(p)),
        within(tag(p, "<"), tag(p, "</")),
        within(p.exact("["), p.exact("]")),
        inner,
    ])
}

/// What stands behind calls and closes what nobody has opened, or ends the turn. `ends`: how the turn ends.
pub(super) fn behind(p: &FormatBuilder, ends: &[String]) -> ExprId {
    let ends = ends.iter().map(|end| p.literal(end.trim()));
    let any = p.choice([special(p), tag(p, "</")].into_iter().chain(ends).collect::<Vec<_>>());
    p.many(p.sequence([p.space(), any]))
}

/// `<|name|>` or `[NAME]`.
fn special(p: &FormatBuilder) -> ExprId {
    let name = |ranges| p.repeat(p.one_of(ranges), 2, Some(NAME));
    let any = name(&[('a', 'z'), ('A', 'Z'), ('_', '_'), ('▁', '▁'), ('0', '9')]);
    let upper = p.sequence([p.exact("["), p.optional(p.exact("/")), name(&[('A', 'Z'), ('_', '_')]), p.exact("]")]);
    let between = |left: &str, right: &str| p.sequence([p.exact(left), p.optional(p.exact("/")), any, p.exact(right)]);
    p.choice([between("<|", "|>"), between("<｜", "｜>"), upper])
}

/// A tag of one word.
fn tag(p: &FormatBuilder, open: &str) -> ExprId {
    let name = p.repeat(p.one_of(&[('a', 'z'), ('A', 'Z'), ('_', '_'), (':', ':')]), 1, Some(NAME));
    p.sequence([p.exact(open), name, p.exact(">")])
}
