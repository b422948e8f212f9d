//! A stack whose copy costs nothing: both share the entries.

use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct PersistentStack<T>(Option<Arc<(T, PersistentStack<T>)>>);

impl<T> Default for PersistentStack<T> {
    fn default() -> Self {
        PersistentStack(None)
    }
}

impl<T: Copy> PersistentStack<T> {
    pub fn push(&mut self, value: T) {
        let below = std::mem::take(self);
        self.0 = Some(Arc::new((value, below)));
    }

    pub fn pop(&mut self) -> Option<T> {
        let top = self.0.take()?;
        self.0.clone_from(&top.1.0);
        Some(top.0)
    }

    pub fn last(&self) -> Option<&T> {
        self.0.as_ref().map(|top| &top.0)
    }

    /// Sets the top entry; there must be one.
    pub fn set_last(&mut self, value: T) {
        self.pop();
        self.push(value);
    }
}

impl<T> Drop for PersistentStack<T> {
    /// Drops entry by entry: they may be too many for a recursion.
    fn drop(&mut self) {
        let mut top = self.0.take();
        while let Some((_, mut below)) = top.and_then(Arc::into_inner) {
            top = below.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_come_back_to() {
        let mut stack = PersistentStack::default();
        let shown = |stack: &PersistentStack<u32>| {
            let mut copy = stack.clone();
            let mut values = Vec::new();
            while let Some(&value) = copy.last() {
                values.push(value);
                copy.pop();
            }
            values
        };
        stack.push(1);
        stack.push(2);
        let first = stack.clone();
        stack.set_last(3);
        stack.push(4);
        let second = stack.clone();
        stack.pop();
        stack.pop();
        stack.set_last(5);
        assert_eq!(shown(&stack), [5]);
        stack = second;
        assert_eq!(shown(&stack), [4, 3, 1]);
        stack = PersistentStack::default();
        stack.push(6);
        assert_eq!(shown(&stack), [6]);
        stack = first;
        assert_eq!(shown(&stack), [2, 1]);
    }

    #[test]
    fn many_entries_are_dropped() {
        let mut stack = PersistentStack::default();
        (0..1_000_000).for_each(|entry| stack.push(entry));
        let half = stack.clone();
        drop(stack);
        assert_eq!(half.last(), Some(&999_999));
    }
}
