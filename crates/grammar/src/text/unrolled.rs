//! A grammar whose groups and repetitions are rules: as llama.cpp checks it, and as texts are checked.

use crate::text::circles;
use chatparse_base::chars::Chars;

/// A grammar with its groups and repetitions unrolled into rules.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The alternatives of each rule.
    pub rules: Vec<Vec<Vec<Symbol>>>,
    pub classes: Vec<Chars>,
    pub root: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A character of this class.
    Char(u32),
    /// This rule.
    Rule(u32),
}

pub(crate) type Alternatives = Vec<Vec<Symbol>>;

impl Rules {
    /// As llama.cpp sees it: a rule does not count as nullable if its alternatives consist only of nullable rules. So it
    /// accepts `("a"? "b"?)*`, which its own grammars contain.
    pub fn has_left_recursion(&self) -> bool {
        let empty: Vec<bool> = self.rules.iter().map(|alternatives| alternatives.iter().any(Vec::is_empty)).collect();
        let firsts: Vec<Vec<usize>> = self.rules.iter().map(|alternatives| firsts(alternatives, &empty)).collect();
        !circles::find(&firsts, 0..firsts.len()).is_empty()
    }
}

/// The rules that an expression may begin with.
fn firsts(alternatives: &Alternatives, empty: &[bool]) -> Vec<usize> {
    let mut firsts = Vec::new();
    for alternative in alternatives {
        for symbol in alternative {
            let Symbol::Rule(rule) = symbol else { break };
            firsts.push(*rule as usize);
            if !empty[*rule as usize] {
                break;
            }
        }
    }
    firsts
}
