//! Generates random texts that a grammar allows.

use crate::matcher::recogniser::Recogniser;
use crate::text::{Node, Tree};
use chatparse_base::chars::Chars;

/// A generator of random texts of a grammar; the same seed gives the same texts.
#[derive(Debug)]
pub struct Walk<'g> {
    tree: &'g Tree,
    /// By rule: the characters and rules of its shortest text; `None` if it has none.
    costs: Vec<Option<u64>>,
    state: u64,
}

impl<'g> Walk<'g> {
    /// A generator for the grammar of `recogniser`.
    pub fn new(recogniser: &'g Recogniser, seed: u64) -> Self {
        let tree = &recogniser.tree;
        Walk {
            tree,
            costs: costs(tree),
            state: seed,
        }
    }

    /// Generates a text. From about `size` characters on it takes the shortest way to an end.
    /// `None` if the grammar allows no text.
    pub fn text(&mut self, size: usize) -> Option<String> {
        self.costs[self.tree.root]?;
        let (mut text, mut steps) = (String::new(), 0);
        let mut stack = vec![&self.tree.rules[self.tree.root]];
        while let Some(node) = stack.pop() {
            steps += 1;
            let open = text.len() < size && steps < 10 * size;
            match node {
                Node::Text(own) => text.push_str(own),
                Node::Class(class) => text.push(self.character(class)?),
                Node::Rule(rule) => stack.push(&self.tree.rules[*rule]),
                Node::Sequence(parts) => stack.extend(parts.iter().rev()),
                Node::Choice(branches) => stack.push(self.branch(branches, open)?),
                Node::Repeat(part, min, max) => {
                    let goes_on = open && cost(part, &self.costs).is_some();
                    let mut times = *min;
                    while goes_on && max.is_none_or(|max| times < max) && self.below(2) > 0 {
                        times += 1;
                    }
                    stack.extend((0..times).map(|_| &**part));
                }
            }
        }
        Some(text)
    }

    fn branch(&mut self, branches: &'g [Node], open: bool) -> Option<&'g Node> {
        let ends = branches
            .iter()
            .filter_map(|branch| Some((branch, cost(branch, &self.costs)?)));
        let ends: Vec<(&Node, u64)> = ends.collect();
        let shortest = ends.iter().min_by_key(|(_, cost)| *cost)?;
        let chosen = if open {
            ends[self.below(ends.len() as u64) as usize]
        } else {
            *shortest
        };
        Some(chosen.0)
    }

    fn character(&mut self, class: &Chars) -> Option<char> {
        const UNUSUAL: &[char] = &['é', '中', '😀', '\u{7f}', '\n', '\t', '\u{1}', '\\', '"'];
        for _ in 0..16 {
            let c = match class.ranges().len() as u64 {
                // All but a few characters are seldom meant one as much as the other.
                count if count > 0 && !class.has(char::MAX) => {
                    let (low, high) = class.ranges()[self.below(count) as usize];
                    let offset = self.below(u64::from(high - low) + 1);
                    char::from_u32(low + offset as u32)
                }
                _ if self.below(8) == 0 => Some(UNUSUAL[self.below(UNUSUAL.len() as u64) as usize]),
                _ => char::from_u32(32 + self.below(95) as u32),
            };
            if let Some(c) = c.filter(|c| class.has(*c)) {
                return Some(c);
            }
        }
        class
            .ranges()
            .first()
            .and_then(|(low, _)| char::from_u32(*low))
    }

    /// A number below `bound`, by splitmix64.
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// The characters and rules of a node's shortest text, by those of the rules.
fn cost(node: &Node, rules: &[Option<u64>]) -> Option<u64> {
    match node {
        Node::Text(text) => Some(text.len() as u64),
        Node::Class(_) => Some(1),
        Node::Rule(rule) => rules[*rule].map(|cost| cost.saturating_add(1)),
        Node::Sequence(parts) => parts.iter().try_fold(0, |sum: u64, part| {
            Some(sum.saturating_add(cost(part, rules)?))
        }),
        Node::Choice(branches) => branches
            .iter()
            .filter_map(|branch| cost(branch, rules))
            .min(),
        Node::Repeat(_, 0, _) => Some(0),
        Node::Repeat(part, min, _) => Some(cost(part, rules)?.saturating_mul(*min)),
    }
}

fn costs(tree: &Tree) -> Vec<Option<u64>> {
    let mut costs = vec![None; tree.rules.len()];
    loop {
        let mut changed = false;
        for (number, rule) in tree.rules.iter().enumerate().rev() {
            let new = cost(rule, &costs);
            changed |= new != costs[number];
            costs[number] = new;
        }
        if !changed {
            return costs;
        }
    }
}
