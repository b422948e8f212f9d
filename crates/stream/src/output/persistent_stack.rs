//! A stack that can be reset to an earlier state at any time.

/// Entries are linked to the one below, so an entry that a mark may need stays in place when it is popped.
#[derive(Clone, Debug)]
pub(super) struct PersistentStack<T> {
    entries: Vec<(T, usize)>,
    /// The number of the top entry, from 1; 0 if the stack is empty.
    top: usize,
    /// Entries up to this number must not be overwritten.
    kept: usize,
}

/// A state of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackMark {
    top: usize,
    entries: usize,
}

impl<T> Default for PersistentStack<T> {
    fn default() -> Self {
        PersistentStack { entries: Vec::new(), top: 0, kept: 0 }
    }
}

impl<T: Copy> PersistentStack<T> {
    pub fn push(&mut self, value: T) {
        self.entries.push((value, self.top));
        self.top = self.entries.len();
    }

    pub fn pop(&mut self) -> Option<T> {
        let &(value, below) = self.entries.get(self.top.checked_sub(1)?)?;
        self.top = below;
        self.entries.truncate(below.max(self.kept));
        Some(value)
    }

    pub fn clear(&mut self) {
        self.top = 0;
        self.entries.truncate(self.kept);
    }

    pub fn last(&self) -> Option<&T> {
        self.entries.get(self.top.checked_sub(1)?).map(|(value, _)| value)
    }

    /// Sets the top entry; there must be one.
    pub fn set_last(&mut self, value: T) {
        if self.top > self.kept {
            self.entries[self.top - 1].0 = value;
        } else {
            self.pop();
            self.push(value);
        }
    }

    pub fn mark(&self) -> StackMark {
        StackMark { top: self.top, entries: self.entries.len() }
    }

    /// Resets the stack. Marks that were made since are invalid.
    pub fn restore(&mut self, mark: StackMark) {
        self.top = mark.top;
        self.entries.truncate(mark.entries);
        self.keep(Some(mark));
    }

    /// Only this mark and earlier ones are still needed.
    pub fn keep(&mut self, last: Option<StackMark>) {
        self.kept = last.map_or(0, |mark| mark.entries);
        self.entries.truncate(self.top.max(self.kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_come_back_to() {
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
        let first = stack.mark();
        stack.keep(Some(first));
        stack.set_last(3);
        stack.push(4);
        let second = stack.mark();
        stack.keep(Some(second));
        stack.pop();
        stack.pop();
        stack.set_last(5);
        assert_eq!(shown(&stack), [5]);
        stack.restore(second);
        assert_eq!(shown(&stack), [4, 3, 1]);
        stack.clear();
        stack.push(6);
        stack.restore(first);
        assert_eq!(shown(&stack), [2, 1]);
        stack.keep(None);
        stack.pop();
        assert_eq!((shown(&stack), stack.entries.len()), (vec![1], 1), "what no mark needs is gone");
    }
}
