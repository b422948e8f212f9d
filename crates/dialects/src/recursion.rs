//! Turns right-recursive rules into loops.
//!
//! llguidance takes time for each round of a rule that ends with itself (`text ::= | [^<] text`),
//! and gives up after some hundred rounds; a loop is free. In a circle of rules that refer to each
//! other at their ends only, such as those for text up to a marker, one rule becomes a loop: a
//! round is a path through the other rules back to it. For this the others are written twice, with
//! the paths that lead back and with those that do not.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chatparse_grammar::text::{Node, Tree, circles};

/// The number of passes over the circles that remain among the rules of a circle: a marker that
/// begins again inside itself makes two.
const PASSES: usize = 3;

/// Writes right-recursive rules as loops. Returns the rules of circles that may be empty: free
/// text, which may match what follows it as well. A circle for which no parts are `left` stays as
/// it is.
pub fn into_loops(tree: &mut Tree, left: &mut usize) -> HashSet<usize> {
    let mut free = HashSet::new();
    let nullable = tree.nullable();
    for _ in 0..PASSES {
        let mut opened = false;
        // Each circle is rewritten by itself: what it allows stays the same, and rules outside of
        // it keep their numbers.
        for circle in circles(tree) {
            let circle: HashSet<usize> = circle.into_iter().collect();
            // The others are written twice, for that they are read and written.
            let weight = 4 * circle
                .iter()
                .map(|rule| tree.rules[*rule].weight())
                .sum::<usize>();
            if weight > *left
                || !circle
                    .iter()
                    .all(|rule| only_ends(&tree.rules[*rule], &circle))
            {
                continue;
            }
            *left -= weight;
            let own = tree.rules.len();
            open(tree, &circle);
            opened = true;
            let may_be_empty = circle
                .iter()
                .any(|rule| free.contains(rule) || nullable.get(*rule) == Some(&true));
            if circle.len() > 1 && may_be_empty {
                free.extend(circle.into_iter().chain(own..tree.rules.len()));
            }
        }
        if !opened {
            break;
        }
    }
    if let Cow::Owned(living) = tree.living() {
        *tree = living;
    }
    free
}

/// Groups of mutually recursive rules, and rules that refer to themselves.
pub fn circles(tree: &Tree) -> Vec<Vec<usize>> {
    let mut edges = vec![Vec::new(); tree.rules.len()];
    for (rule, body) in tree.rules.iter().enumerate() {
        body.references(&mut |to| edges[rule].push(to));
    }
    circles::find(&edges, tree.used())
}

/// Whether a part has rules of the circle at its ends only.
fn only_ends(node: &Node, circle: &HashSet<usize>) -> bool {
    match node {
        Node::Choice(branches) => branches.iter().all(|branch| only_ends(branch, circle)),
        Node::Sequence(parts) => {
            let last = parts.len().saturating_sub(1);
            parts[..last].iter().all(|part| !leads(part, circle))
                && parts[last..].iter().all(|part| only_ends(part, circle))
        }
        Node::Repeat(part, 0, Some(1)) => only_ends(part, circle),
        Node::Repeat(part, ..) => !leads(part, circle),
        Node::Text(_) | Node::Class(_) | Node::Rule(_) => true,
    }
}

fn leads(node: &Node, circle: &HashSet<usize>) -> bool {
    let mut leads = false;
    node.references(&mut |rule| leads |= circle.contains(&rule));
    leads
}

/// A body with other ends: `end` replaces rules of the circle, and ways without one stay if
/// `alone`.
fn with_ends(
    node: &Node,
    circle: &HashSet<usize>,
    end: &dyn Fn(usize) -> Node,
    alone: bool,
) -> Node {
    if !leads(node, circle) {
        return if alone { node.clone() } else { Node::NEVER };
    }
    let mut parts = node.parts().to_vec();
    match node {
        Node::Rule(rule) => end(*rule),
        Node::Sequence(_) => {
            // Only the last part leads to the circle.
            if let Some(last) = parts.last_mut() {
                *last = with_ends(last, circle, end, alone);
            }
            Node::sequence(parts)
        }
        _ => {
            for part in &mut parts {
                *part = with_ends(part, circle, end, alone);
            }
            // What may be left out may end without the circle.
            if alone && matches!(node, Node::Repeat(..)) {
                parts.insert(0, Node::EMPTY);
            }
            Node::choice(parts)
        }
    }
}

/// Turns the rule that others of the circle refer to most into a loop.
fn open(tree: &mut Tree, circle: &HashSet<usize>) {
    let mut references: HashMap<usize, usize> = HashMap::new();
    for &rule in circle {
        tree.rules[rule].references(&mut |to| *references.entry(to).or_default() += 1);
    }
    let hub = circle
        .iter()
        .max_by_key(|rule| (references.get(*rule), std::cmp::Reverse(**rule)));
    let Some(&hub) = hub else { return };
    let mut others: Vec<usize> = circle.iter().copied().filter(|&rule| rule != hub).collect();
    others.sort_unstable();
    let (mut back, mut rest) = (HashMap::new(), HashMap::new());
    for &rule in &others {
        let name = tree.names[rule].clone();
        back.insert(rule, tree.add(format!("{name}-on"), Node::NEVER));
        rest.insert(rule, tree.add(format!("{name}-end"), Node::NEVER));
    }
    let home = |rule: usize| back.get(&rule).map_or(Node::EMPTY, |to| Node::Rule(*to));
    let away = |rule: usize| rest.get(&rule).map_or(Node::NEVER, |to| Node::Rule(*to));
    for &rule in &others {
        tree.rules[back[&rule]] = with_ends(&tree.rules[rule], circle, &home, false);
        tree.rules[rest[&rule]] = with_ends(&tree.rules[rule], circle, &away, true);
        let by_hub = Node::sequence([Node::Rule(back[&rule]), Node::Rule(hub)]);
        tree.rules[rule] = Node::choice([by_hub, Node::Rule(rest[&rule])]);
    }
    // Any text of the hub is rounds back to it, then an end that does not lead back; for the others
    // the same holds with the first round begun at them.
    let rounds = with_ends(&tree.rules[hub], circle, &home, false);
    let last = with_ends(&tree.rules[hub], circle, &away, true);
    tree.rules[hub] = Node::sequence([rounds.repeat(0, None), last]);
}

#[cfg(test)]
mod tests {
    use super::super::portable;
    use super::*;
    use chatparse_grammar::Recogniser;
    use chatparse_grammar::text::gbnf::tree as read;

    fn with_loops(text: &str) -> String {
        let mut tree = read(text).unwrap();
        into_loops(&mut tree, &mut 100_000);
        portable::print(&tree)
    }

    #[test]
    fn rules_that_end_with_themselves_become_loops() {
        assert_eq!(
            with_loops("root ::= \"a\" root | \"b\""),
            "root ::= \"a\"* \"b\"\n"
        );
        assert_eq!(
            with_loops("root ::= \"a\" (\"b\" root)?"),
            "root ::= \"ab\"* \"a\"\n"
        );
        let kept = "root ::= \"a\" root \"b\" | \"c\"\n";
        assert_eq!(with_loops(kept), kept);
    }

    #[test]
    fn text_up_to_a_marker_stays_what_it_was() {
        let text = "root ::= a \"<ab>\"\na ::= | [^<] a | \"<\" b\nb ::= | \"<\" b | \"a\" c | [^<a] a\nc ::= | \"<\" b | \"b\" d | [^<b] a\nd ::= | \"<\" b | [^<>] a";
        let (before, after) = (
            Recogniser::new(text).unwrap(),
            Recogniser::new(&with_loops(text)).unwrap(),
        );
        assert!(
            circles(&{
                let mut tree = read(text).unwrap();
                into_loops(&mut tree, &mut 100_000);
                tree
            })
            .is_empty()
        );
        for text in [
            "<ab>",
            "x<ab>",
            "<<a<ab>",
            "<ab><ab>",
            "<a<b>",
            "x<abx<ab>",
            "<",
            "",
            "<a",
        ] {
            assert_eq!(before.accepts(text), after.accepts(text), "{text}");
        }
    }
}
