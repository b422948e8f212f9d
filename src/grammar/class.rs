//! Classes of characters, spelled as GBNF.

use smol_str::{SmolStrBuilder, format_smolstr};

use super::rule::Rule;

/// One character of these ranges, or with `negated` any other.
pub(super) fn class(ranges: impl ExactSizeIterator<Item = (char, char)>, negated: bool) -> Rule {
    let mut out = SmolStrBuilder::new();
    out.push_str(if negated { "[^" } else { "[" });
    let last = ranges.len().saturating_sub(1);
    for (i, (low, high)) in ranges.enumerate() {
        if (low, high) == ('-', '-') && i == last {
            // At the end it is no range.
            out.push('-');
            continue;
        }
        push_class_char(&mut out, low);
        if high != low {
            out.push('-');
            push_class_char(&mut out, high);
        }
    }
    out.push(']');
    Rule::Class(out.finish())
}

/// One character of these, or with `negated` any other.
pub(super) fn one_of(negated: bool, chars: &[char]) -> Rule {
    class(chars.iter().map(|&c| (c, c)), negated)
}

/// As llama.cpp spells it: ASCII, whatever the character.
fn push_class_char(class: &mut SmolStrBuilder, c: char) {
    match (c, u32::from(c)) {
        (']' | '[' | '\\', _) => {
            class.push('\\');
            class.push(c);
        }
        ('\n', _) => class.push_str("\\n"),
        ('\r', _) => class.push_str("\\r"),
        ('\t', _) => class.push_str("\\t"),
        // They mean something in a class, and not all readers know an escape for them.
        ('^' | '-', code) => class.push_str(&format_smolstr!("\\x{code:02X}")),
        (' '..='~', _) => class.push(c),
        (_, code @ ..=0xFF) => class.push_str(&format_smolstr!("\\x{code:02X}")),
        (_, code @ ..=0xFFFF) => class.push_str(&format_smolstr!("\\u{code:04X}")),
        (_, code) => class.push_str(&format_smolstr!("\\U{code:08X}")),
    }
}

/// A character other than the delimiter, or an escape.
pub(super) fn string_character(delimiter: char) -> Rule {
    let escape = Rule::choice([
        Rule::class(format_smolstr!("[{delimiter}\\\\/bfnrt]")),
        Rule::sequence([Rule::literal("u"), Rule::class("[0-9a-fA-F]").times(4, Some(4))]),
    ]);
    let plain = Rule::class(format_smolstr!("[^{delimiter}\\\\]"));
    Rule::choice([plain, Rule::sequence([Rule::literal("\\"), escape.group()])]).group()
}
