//! Finds the circles in what refers to what.

/// Groups of nodes that lead to each other, and nodes that lead to themselves (Tarjan's algorithm).
/// `edges`: by node, where it leads to. Visits what can be reached from `starts`.
pub fn find(edges: &[Vec<usize>], starts: impl IntoIterator<Item = usize>) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut index, mut low) = (vec![NEW; edges.len()], vec![NEW; edges.len()]);
    let mut waiting = vec![false; edges.len()];
    let (mut next, mut stack, mut found) = (0, Vec::new(), Vec::new());
    for start in starts {
        let mut path = Vec::new();
        if index[start] == NEW {
            path.push((start, edges[start].iter().rev()));
        }
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            if index[node] == NEW {
                (index[node], low[node], waiting[node]) = (next, next, true);
                next += 1;
                stack.push(node);
            }
            if let Some(&to) = rest.next() {
                match index[to] {
                    NEW => path.push((to, edges[to].iter().rev())),
                    seen if waiting[to] => low[node] = low[node].min(seen),
                    _ => {}
                }
                continue;
            }
            path.pop();
            if let Some((from, _)) = path.last() {
                low[*from] = low[*from].min(low[node]);
            }
            if low[node] == index[node] {
                let begin = stack.iter().rposition(|&other| other == node).unwrap_or(0);
                let mut group = stack.split_off(begin);
                group.iter().for_each(|&member| waiting[member] = false);
                group.sort_unstable();
                if group.len() > 1 || edges[node].contains(&node) {
                    found.push(group);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn circles_are_groups_and_loops_that_can_be_reached() {
        let edges = [vec![1], vec![2], vec![0, 3], vec![3, 4], vec![], vec![5]];
        assert_eq!(find(&edges, [0]), [vec![3], vec![0, 1, 2]]);
        assert_eq!(find(&edges, [4]), Vec::<Vec<usize>>::new());
        assert_eq!(find(&edges, 3..6), [vec![3], vec![5]]);
    }
}
