//! What may follow at a set of places: the shortest of it, and all of it, as a grammar.
//!
//! Both go along the places and what waits for them, so they cost what is open, not what was
//! written.

use std::collections::HashMap;

use super::cache::{Cache, Place, ROOT, Waiter};
use super::program::{Program, Step};
use crate::text::{Node, Tree};
use chatparse_base::{Error, Result, limits};

/// What a step costs on the way to an end: a character that is free costs more than any text that
/// is not, and a step that takes no byte something, so that no way goes in circles.
const FREE: u32 = 1 << 16;
const BYTE: u32 = 1 << 4;
/// No way, or one that is too long.
const NONE: u32 = u32::MAX;

/// By step: the least cost of what is left of its rule.
pub fn costs(program: &Program) -> Vec<u32> {
    let mut costs = vec![NONE; program.len()];
    // Most grammars define a rule after its calls, so few sweeps will do.
    for _ in 0..limits::MATCHER_SWEEPS {
        let mut changed = false;
        for at in (0..program.len() as u32).rev() {
            let cost = cost_of(program, &costs, at);
            changed |= cost < costs[at as usize];
            costs[at as usize] = cost;
        }
        if !changed {
            break;
        }
    }
    costs
}

fn cost_of(program: &Program, costs: &[u32], at: u32) -> u32 {
    let cost = |at: u32| costs[at as usize];
    let found = match program.step(at) {
        Step::Byte(_) => cost(at + 1).saturating_add(BYTE),
        Step::Class(_) => cost(at + 1).saturating_add(FREE),
        Step::Split(other) => cost(at + 1).min(cost(other)).saturating_add(1),
        Step::Jump(to) => cost(to).saturating_add(1),
        Step::Call(rule) => cost(program.begin(rule))
            .saturating_add(cost(at + 1))
            .saturating_add(1),
        Step::Tail(rule) => cost(program.begin(rule)).saturating_add(1),
        Step::End => 0,
        Step::Never => NONE,
    };
    // A way that was found earlier stays.
    found.min(cost(at))
}

/// Texts that end the output after a set, one for each place of the set with the least costs. Texts
/// that are too long are left out.
pub fn closings(program: &Program, costs: &[u32], cache: &Cache, set: u32) -> Vec<Vec<u8>> {
    // By return: the cost after its rule, and the waiter with that cost.
    let mut ends: HashMap<u32, (u32, Waiter)> = HashMap::from([(ROOT, (0, (0, ROOT)))]);
    let returns = cache.returns_of(set);
    // Those of rules that wait for themselves are found out in more than one round.
    for _ in 0..limits::MATCHER_SWEEPS {
        let mut changed = false;
        for &back in returns.iter().filter(|back| **back != ROOT) {
            let waiters = cache.waiters_of(back).iter();
            let best = waiters
                .filter_map(|waiter| Some((end(costs, &ends, waiter.0, waiter.1)?, *waiter)))
                .min();
            if let Some(best) =
                best.filter(|best| ends.get(&back).is_none_or(|known| best.0 < known.0))
            {
                changed |= ends.insert(back, best).is_none_or(|known| best.0 < known.0);
            }
        }
        if !changed {
            break;
        }
    }
    let places = cache.places_of(set).iter();
    let mut places: Vec<(u32, Place)> = places
        .filter_map(|place| Some((end(costs, &ends, place.at, place.back)?, *place)))
        .collect();
    places.sort_unstable();
    let mut texts: Vec<Vec<u8>> = cache.may_end(set).then(Vec::new).into_iter().collect();
    for (_, place) in places {
        if texts.len() == limits::MATCHER_CLOSINGS {
            break;
        }
        let text = closing(program, costs, &ends, place).filter(|text| !texts.contains(text));
        texts.extend(text);
    }
    texts
}

/// The text with the least cost that ends the output after a place.
fn closing(
    program: &Program,
    costs: &[u32],
    ends: &HashMap<u32, (u32, Waiter)>,
    Place {
        mut at,
        within,
        mut back,
    }: Place,
) -> Option<Vec<u8>> {
    let (mut text, mut open) = (Vec::new(), Vec::new());
    if let (Step::Class(class), true) = (program.step(at), within > 0) {
        program.classes[class as usize].finish(within, &mut text);
        at += 1;
    }
    while text.len() < limits::FORCED_BYTES {
        at = match program.step(at) {
            Step::Byte(byte) => {
                text.push(byte);
                at + 1
            }
            Step::Class(class) => {
                program.classes[class as usize].finish(0, &mut text);
                at + 1
            }
            Step::Split(other) if costs[other as usize] < costs[at as usize + 1] => other,
            Step::Split(_) => at + 1,
            Step::Jump(to) => to,
            Step::Call(rule) => {
                open.push(at + 1);
                program.begin(rule)
            }
            Step::Tail(rule) => program.begin(rule),
            Step::End => match open.pop() {
                Some(behind) => behind,
                None if back == ROOT => return Some(text),
                None => {
                    let (_, (next, outer)) = ends.get(&back)?;
                    back = *outer;
                    *next
                }
            },
            Step::Never => return None,
        };
    }
    None
}

/// What it costs to end at this step, with this return.
fn end(costs: &[u32], ends: &HashMap<u32, (u32, Waiter)>, at: u32, back: u32) -> Option<u32> {
    let (own, (behind, _)) = (costs[at as usize], ends.get(&back)?);
    own.checked_add(behind.saturating_add(1))
        .filter(|cost| *cost < NONE)
}

/// The grammar of what may follow at a set. `tree` is the one that the program was made of.
///
/// # Errors
/// [`chatparse_base::ErrorKind::InvalidArgument`] inside of a character.
pub fn rest(tree: &Tree, cache: &Cache, set: u32) -> Result<Tree> {
    let tree = tree.living();
    let returns = cache.returns_of(set);
    let waiting = returns
        .iter()
        .flat_map(|back| cache.waiters_of(*back))
        .map(|waiter| waiter.0);
    let rests = Program::rests(
        &tree,
        cache
            .places_of(set)
            .iter()
            .map(|place| place.at)
            .chain(waiting),
    )?;
    let inside = || Error::invalid("matcher: a grammar cannot begin inside a character");
    let mut left = Tree::clone(&tree);
    let outer = returns.into_iter().filter(|back| *back != ROOT);
    let rules: HashMap<u32, usize> = outer
        .map(|back| (back, left.add("rest", Node::EMPTY)))
        .collect();
    let followed = |at: u32, back: u32| {
        let behind = rules.get(&back).map(|rule| Node::Rule(*rule));
        let rest = rests[&at].clone().ok_or_else(inside)?;
        Ok(Node::sequence([rest].into_iter().chain(behind)))
    };
    for (back, rule) in &rules {
        let waiters = cache
            .waiters_of(*back)
            .iter()
            .map(|(at, back)| followed(*at, *back));
        left.rules[*rule] = Node::choice(waiters.collect::<Result<Vec<_>>>()?);
    }
    let places = cache.places_of(set).iter().map(|place| match place.within {
        0 => followed(place.at, place.back),
        _ => Err(inside()),
    });
    let end = cache.may_end(set).then_some(Ok(Node::EMPTY));
    let root = Node::choice(places.chain(end).collect::<Result<Vec<_>>>()?);
    left.root = left.add("root", root);
    Ok(left)
}
