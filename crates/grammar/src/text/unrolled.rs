//! A grammar whose groups and repetitions are rules: as llama.cpp checks it, and as texts are checked.

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
        let firsts: Vec<Vec<u32>> = self.rules.iter().map(|alternatives| firsts(alternatives, &empty)).collect();
        // 0: new, 1: on the path, 2: done.
        let mut state = vec![0_u8; self.rules.len()];
        for start in 0..self.rules.len() {
            let mut path = vec![(start, 0)];
            while let Some((rule, next)) = path.last_mut() {
                let rule = *rule;
                if *next == 0 && state[rule] == 2 {
                    path.pop();
                    continue;
                }
                state[rule] = 1;
                match firsts[rule].get(*next) {
                    Some(first) => {
                        *next += 1;
                        match state[*first as usize] {
                            0 => path.push((*first as usize, 0)),
                            1 => return true,
                            _ => {}
                        }
                    }
                    None => {
                        state[rule] = 2;
                        path.pop();
                    }
                }
            }
        }
        false
    }
}

/// The rules that an expression may begin with.
fn firsts(alternatives: &Alternatives, empty: &[bool]) -> Vec<u32> {
    let mut firsts = Vec::new();
    for alternative in alternatives {
        for symbol in alternative {
            let Symbol::Rule(rule) = symbol else { break };
            firsts.push(*rule);
            if !empty[*rule as usize] {
                break;
            }
        }
    }
    firsts
}
