//! Rows of values such that each pair of values stands together in one of them.

/// A row has for each option the number of its value; 0 is the default.
pub type Picked = Vec<usize>;

/// Whether two values may stand together, each an option and its value.
type Allowed<'a> = &'a dyn Fn((usize, usize), (usize, usize)) -> bool;

/// So many random rows, the same in each run. Two of three options have their default.
pub fn random(counts: &[usize], allowed: Allowed, rows: usize) -> Vec<Picked> {
    let mut state = 1_u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut row = || {
        let mut row = vec![0; counts.len()];
        for option in 0..counts.len() {
            let value = if below(3) == 0 {
                below(counts[option])
            } else {
                0
            };
            let fits = (0..option).all(|other| allowed((option, value), (other, row[other])));
            row[option] = if fits { value } else { 0 };
        }
        row
    };
    (0..rows).map(|_| row()).collect()
}

/// Covers all pairs: greedily, and the same in each run. `counts`: how many values each option has.
pub fn pairs(counts: &[usize], allowed: Allowed) -> Vec<Picked> {
    let mut open: Vec<[(usize, usize); 2]> = Vec::new();
    for a in 0..counts.len() {
        for b in a + 1..counts.len() {
            let both = (0..counts[a]).flat_map(|x| (0..counts[b]).map(move |y| [(a, x), (b, y)]));
            open.extend(both.filter(|pair| allowed(pair[0], pair[1])));
        }
    }
    let mut rows = Vec::new();
    while let Some(first) = open.first().copied() {
        let mut row: Vec<Option<usize>> = vec![None; counts.len()];
        first
            .iter()
            .for_each(|(option, value)| row[*option] = Some(*value));
        for option in 0..counts.len() {
            if row[option].is_some() {
                continue;
            }
            let fits = |value: &usize| {
                row.iter().enumerate().all(|(other, set)| {
                    set.is_none_or(|set| allowed((option, *value), (other, set)))
                })
            };
            let gain = |value: usize| {
                let new = |[a, b]: &&[(usize, usize); 2]| {
                    let has = |(other, set): (usize, usize)| row[other] == Some(set);
                    *a == (option, value) && has(*b) || *b == (option, value) && has(*a)
                };
                open.iter().filter(new).count()
            };
            // Of equal ones the first, the default.
            let best = (0..counts[option])
                .filter(fits)
                .max_by_key(|value| (gain(*value), std::cmp::Reverse(*value)));
            row[option] = Some(best.unwrap_or(0));
        }
        let row: Picked = row.into_iter().map(|value| value.unwrap_or(0)).collect();
        open.retain(|pair| !pair.iter().all(|(option, value)| row[*option] == *value));
        rows.push(row);
    }
    rows
}
