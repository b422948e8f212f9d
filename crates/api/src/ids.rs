//! Generates ids: reproducible for an answer, and different between answers.

use std::hash::{DefaultHasher, Hash, Hasher};

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The number of letters and digits in a generated id. Mistral's templates reject any other number.
const LENGTH: usize = 9;

/// The source of an answer's ids.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    answer: DefaultHasher,
}

impl Ids {
    pub fn new(answer: &str, seed: u64, choice: u64) -> Ids {
        // Its keys are fixed, so that ids are reproducible.
        let mut hasher = DefaultHasher::new();
        (answer, seed, choice).hash(&mut hasher);
        Ids { answer: hasher }
    }

    /// The id with number `index` and this prefix.
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
        assert!(
            seen.iter()
                .all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        );
    }
}
