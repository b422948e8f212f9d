//! Sorting with one sort for all kinds of items. The standard library's is compiled anew for each,
//! at up to 10 KB; here a few hundred bytes. For lists that are sorted once a request or less.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Sorts by the items' keys, which are computed once each; equal ones stay in their order.
pub fn by_key<T, K: Ord>(items: &mut [T], key: impl FnMut(&T) -> K) {
    let keys: Vec<K> = items.iter().map(key).collect();
    arrange(items, order(keys.len(), &mut |a, b| keys[a].cmp(&keys[b])));
}

/// Sorts by a comparison; equal items stay in their order.
pub fn by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    arrange(
        items,
        order(items.len(), &mut |a, b| compare(&items[a], &items[b])),
    );
}

/// Sorts by the items' own order.
pub fn sort<T: Ord>(items: &mut [T]) {
    by(items, T::cmp);
}

/// The set of the items, which are inserted one by one: collecting them would sort them.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// The places of the items, in order.
#[inline(never)]
fn order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Moves each item to where `order` names its place.
fn arrange<T>(items: &mut [T], mut order: Vec<usize>) {
    for start in 0..items.len() {
        let mut to = start;
        // Once around the circle of places that begins here; a place that is done names itself.
        loop {
            let from = std::mem::replace(&mut order[to], to);
            if from == start {
                break;
            }
            items.swap(to, from);
            to = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_are_in_the_order_of_the_standard_sort(items: Vec<(u8, u16)>) {
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let mut sorted = items.clone();
            super::by_key(&mut sorted, |item| item.0);
            prop_assert_eq!(&sorted, &expected);
            expected.sort_by(|a, b| b.cmp(a));
            super::by(&mut sorted, |a, b| b.cmp(a));
            prop_assert_eq!(&sorted, &expected);
            expected.sort();
            super::sort(&mut sorted);
            prop_assert_eq!(sorted, expected);
        }
    }
}
