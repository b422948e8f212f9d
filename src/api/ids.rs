//! Ids that the library makes: the same for the same answer, unlike those of others.

use std::hash::{DefaultHasher, Hash, Hasher};

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// How many letters and digits a made id has. Mistral's templates refuse any other number.
const LENGTH: usize = 9;

/// Where the ids of one answer come from.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    answer: DefaultHasher,
}

impl Ids {
    pub fn new(answer: &str, seed: u64, choice: u64) -> Ids {
        // Its keys are fixed, so the same is always the same.
        let mut hasher = DefaultHasher::new();
        (answer, seed, choice).hash(&mut hasher);
        Ids { answer: hasher }
    }

    /// Id number `index` of those that begin with `prefix`.
    pub fn id(&self, prefix: &str, index: usize) -> String {
        let mut hasher = self.answer.clone();
        index.hash(&mut hasher);
        let mut rest = hasher.finish();
        let mut id = String::with_capacity(prefix.len() + LENGTH);
        id.push_str(prefix);
        for _ in 0..LENGTH {
            id.push(LETTERS[(rest % 62) as usize].into());
            rest /= 62;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_by_answer_seed_choice_and_number() {
        let mut seen = HashSet::new();
        for answer in ["", "a", "b"] {
            for (seed, choice) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let ids = Ids::new(answer, seed, choice);
                assert!((0..1000).all(|index| seen.insert(ids.id("", index))));
                assert_eq!(ids.id("c", 7), Ids::new(answer, seed, choice).id("c", 7));
            }
        }
        assert!(seen.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    }
}
