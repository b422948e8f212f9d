//! Rules for single characters of a class.

use smol_str::format_smolstr;

use crate::rules::Rule;
use chatparse_base::char_class::{Spelling, spelled};

/// One ASCII character of these ranges, or with `negated` any character outside of them.
pub fn class(ranges: impl Iterator<Item = (char, char)>, negated: bool) -> Rule {
    Rule::Class(spelled(ranges, negated, Spelling::Ascii))
}

/// A character other than the delimiter and these, or an escape.
pub fn string_character(delimiter: char, others: &str) -> Rule {
    let escape = Rule::choice([
        Rule::class(format_smolstr!("[{delimiter}\\\\/bfnrt]")),
        Rule::sequence([
            Rule::literal("u"),
            Rule::class("[0-9a-fA-F]").times(4, Some(4)),
        ]),
    ]);
    let plain = Rule::class(format_smolstr!("[^{delimiter}{others}\\\\]"));
    Rule::choice([plain, Rule::sequence([Rule::literal("\\"), escape.group()])]).group()
}
