//! What follows from what, as far as it follows: which rules of a grammar may be empty, which ones
//! match a text at all. Each condition is looked at once for each of its parts, so the cost is
//! linear, whatever order the rules have.

/// A statement, by number.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    Always,
    Number(usize),
}

/// Statements of which some follow from others.
#[derive(Debug)]
pub struct Fixpoint {
    rules: usize,
    /// By statement: how many of what it follows from do not hold yet.
    missing: Vec<usize>,
    /// By statement: what needs it.
    users: Vec<Vec<usize>>,
}

impl Fixpoint {
    /// So many statements, one for each rule; [`Fixpoint::follows`] says what they follow from.
    pub fn of_rules(count: usize) -> Fixpoint {
        Fixpoint {
            rules: count,
            missing: vec![1; count],
            users: vec![Vec::new(); count],
        }
    }

    /// A statement that holds where all of these do.
    pub fn all(&mut self, facts: impl IntoIterator<Item = Fact>) -> Fact {
        let own = self.missing.len();
        let mut missing = 0;
        for fact in facts {
            if let Fact::Number(number) = fact {
                self.users[number].push(own);
                missing += 1;
            }
        }
        if missing > 0 {
            self.add(missing)
        } else {
            Fact::Always
        }
    }

    /// A statement that holds where any of these does.
    pub fn any(&mut self, facts: impl IntoIterator<Item = Fact>) -> Fact {
        let own = self.missing.len();
        let mut always = false;
        for fact in facts {
            match fact {
                Fact::Always => always = true,
                Fact::Number(number) => self.users[number].push(own),
            }
        }
        let any = self.add(usize::from(!always));
        if always { Fact::Always } else { any }
    }

    /// A statement that never holds.
    pub fn never(&mut self) -> Fact {
        self.add(1)
    }

    /// The rule's statement follows from this fact.
    pub fn follows(&mut self, rule: usize, from: Fact) {
        match from {
            Fact::Always => self.missing[rule] = 0,
            Fact::Number(number) => self.users[number].push(rule),
        }
    }

    fn add(&mut self, missing: usize) -> Fact {
        self.missing.push(missing);
        self.users.push(Vec::new());
        Fact::Number(self.missing.len() - 1)
    }

    /// By rule: whether its statement holds.
    pub fn solve(mut self) -> Vec<bool> {
        let mut open: Vec<usize> = (0..self.rules)
            .filter(|&rule| self.missing[rule] == 0)
            .collect();
        while let Some(holding) = open.pop() {
            for user in std::mem::take(&mut self.users[holding]) {
                // One of several ways is enough.
                if self.missing[user] > 0 {
                    self.missing[user] -= 1;
                    open.extend((self.missing[user] == 0).then_some(user));
                }
            }
        }
        self.missing[..self.rules]
            .iter()
            .map(|missing| *missing == 0)
            .collect()
    }
}
