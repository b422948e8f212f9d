//! Generates random texts that a grammar allows.

use crate::matcher::recogniser::Recogniser;
use crate::text::unrolled::{Rules, Symbol};
use chatparse_base::chars::Chars;

/// A generator of random texts of a grammar; the same seed gives the same texts.
#[derive(Debug)]
pub struct Walk<'g> {
    rules: &'g Rules,
    /// By alternative: the minimum number of steps to its end; `None` if it has none.
    costs: Vec<Vec<Option<u64>>>,
    state: u64,
}

impl<'g> Walk<'g> {
    /// A generator for the grammar of `recogniser`.
    pub fn new(recogniser: &'g Recogniser, seed: u64) -> Self {
        let rules = &recogniser.rules;
        Walk { rules, costs: costs(rules), state: seed }
    }

    /// Generates a text. From about `size` characters on it takes the shortest way to an end. `None` if the grammar allows
    /// no text.
    pub fn text(&mut self, size: usize) -> Option<String> {
        let mut text = String::new();
        let mut steps = 0;
        let mut stack = vec![Symbol::Rule(self.rules.root)];
        while let Some(symbol) = stack.pop() {
            match symbol {
                Symbol::Char(class) => text.push(self.character(&self.rules.classes[class as usize])?),
                Symbol::Rule(rule) => {
                    steps += 1;
                    let open = text.len() < size && steps < 10 * size;
                    let alternative = self.alternative(rule as usize, open)?;
                    stack.extend(self.rules.rules[rule as usize][alternative].iter().rev());
                }
            }
        }
        Some(text)
    }

    fn alternative(&mut self, rule: usize, open: bool) -> Option<usize> {
        let ends = self.costs[rule].iter().enumerate().filter_map(|(i, cost)| Some((i, (*cost)?)));
        if !open {
            return ends.min_by_key(|(_, cost)| *cost).map(|(i, _)| i);
        }
        let ends: Vec<usize> = ends.map(|(i, _)| i).collect();
        if ends.is_empty() { None } else { Some(ends[self.below(ends.len() as u64) as usize]) }
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
        class.ranges().first().and_then(|(low, _)| char::from_u32(*low))
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

/// The minimum number of steps to an end for each alternative, as in Dijkstra's algorithm.
fn costs(rules: &Rules) -> Vec<Vec<Option<u64>>> {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    let possible: Vec<bool> = rules.classes.iter().map(|class| !class.is_empty()).collect();
    let mut best: Vec<Option<u64>> = vec![None; rules.rules.len()];
    let mut costs: Vec<Vec<Option<u64>>> = Vec::with_capacity(rules.rules.len());
    // For each alternative: the cost of its known parts, and the number of parts that are not known yet.
    let mut open: Vec<Vec<(u64, usize)>> = Vec::with_capacity(rules.rules.len());
    let mut users: Vec<Vec<(usize, usize)>> = vec![Vec::new(); rules.rules.len()];
    let mut queue = BinaryHeap::new();
    for (rule, alternatives) in rules.rules.iter().enumerate() {
        costs.push(vec![None; alternatives.len()]);
        open.push(Vec::with_capacity(alternatives.len()));
        for (i, alternative) in alternatives.iter().enumerate() {
            let (mut cost, mut unknown) = (1, 0);
            for symbol in alternative {
                match symbol {
                    Symbol::Char(class) if possible[*class as usize] => cost += 1,
                    // Such an alternative has no end.
                    Symbol::Char(_) => unknown += 1,
                    Symbol::Rule(used) => {
                        users[*used as usize].push((rule, i));
                        unknown += 1;
                    }
                }
            }
            open[rule].push((cost, unknown));
            if unknown == 0 {
                costs[rule][i] = Some(cost);
                queue.push(Reverse((cost, rule)));
            }
        }
    }
    while let Some(Reverse((cost, rule))) = queue.pop() {
        if best[rule].is_some() {
            continue;
        }
        best[rule] = Some(cost);
        for (user, i) in std::mem::take(&mut users[rule]) {
            let (sum, unknown) = &mut open[user][i];
            *sum = sum.saturating_add(cost);
            *unknown -= 1;
            if *unknown == 0 {
                costs[user][i] = Some(*sum);
                queue.push(Reverse((*sum, user)));
            }
        }
    }
    costs
}
