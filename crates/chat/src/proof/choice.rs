//! Chooses a template's reader among the candidates.
//!
//! The candidates read rich messages first, with the thinking that renders most. The earliest
//! candidate that reads all of them is chosen. Otherwise it is the one that reads most; if several
//! do, they read more: the same messages with other thinking, then the simpler messages. On a tie
//! the earlier one is chosen.
//!
//! A family whose templates render histories otherwise than the model writes says so. Then their
//! renders prove nothing, and it is chosen. So is one that describes turns as they were learnt, or
//! adds to that: it reads what the template writes, and more.

use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;

use super::Proof;
use super::messages::Thinking;
use super::reading::RoundTrip;
use super::turns::ProbeSet;
use crate::reader::Reader;

/// A template's reader, and the results of the candidates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Choice {
    pub(crate) reader: Arc<Reader>,
    /// All candidates in order, with what they had read when the choice was made; empty if nothing
    /// had to be read for it.
    pub tried: Vec<Tried>,
}

/// What a candidate had read when the choice was made.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Tried {
    /// The candidate's name.
    pub reader: &'static str,
    /// The number of messages that it was tested on.
    pub cases: usize,
    /// The number of messages that were read back.
    pub read_back: usize,
}

/// A candidate and its results.
struct Candidate {
    reading: RoundTrip,
    proof: Proof,
}

impl Candidate {
    /// Reads one of the sets of messages, of which each round is one.
    fn read(&mut self, round: usize) {
        let probes = Rc::clone(&self.reading.probes);
        for (probe, message) in probes.probes().iter().enumerate() {
            let ways: &[Thinking] = match (round, message.rich) {
                (0, true) => &[Thinking::On],
                (1, true) => &[Thinking::Off, Thinking::Silent],
                (2, false) => &Thinking::ALL,
                _ => continue,
            };
            ways.iter()
                .for_each(|way| self.proof.ask(&mut self.reading, probe, *way));
            if round > 0 {
                self.proof.ask_behind_common(&mut self.reading, probe);
            }
        }
    }

    /// The score: messages in its format, then messages read back at all, then messages not misread
    /// as other calls.
    fn score(&self) -> [usize; 3] {
        let proof = &self.proof;
        let failures = proof.failures.iter();
        let misread = failures.filter(|failure| failure.misreads_calls).count();
        [
            proof.read_back - proof.recovered,
            proof.read_back,
            proof.cases - misread,
        ]
    }

    /// Whether it has read everything, including calls if there are any.
    fn is_perfect(&self) -> bool {
        let mut probes = self.reading.probes.probes().iter();
        self.score()[0] == self.proof.cases
            && self.proof.cases > 0
            && (self.proof.with_calls > 0 || probes.all(|probe| probe.calls() == 0))
    }
}

/// Chooses the candidate that reads best, with as few renders as possible.
pub(crate) fn choose(readers: &[Arc<Reader>]) -> Choice {
    let known = match readers {
        [only] => Some(only),
        [first, learnt, ..] => {
            let misled = readers.iter().find(|reader| reader.history_misleads());
            misled.or_else(|| Some(first).filter(|first| first.adds_to(learnt)))
        }
        [] => None,
    };
    if let Some(known) = known {
        return Choice {
            reader: Arc::clone(known),
            tried: Vec::new(),
        };
    }
    // Learnt readers share the template's own prompts.
    let mut shared: Option<Rc<ProbeSet>> = None;
    let mut candidates: Vec<Candidate> = Vec::new();
    for reader in readers {
        let own = shared.clone().filter(|_| reader.is_learnt());
        let probes = own.unwrap_or_else(|| ProbeSet::new(reader));
        if reader.is_learnt() {
            shared = Some(Rc::clone(&probes));
        }
        candidates.push(Candidate {
            reading: RoundTrip::new(reader, probes),
            proof: Proof::default(),
        });
    }
    let mut open: Vec<usize> = (0..candidates.len()).collect();
    for round in 0..3 {
        let mut most = [0; 3];
        let mut taken = None;
        for &index in &open {
            let candidate = &mut candidates[index];
            candidate.read(round);
            if candidate.score() > most && candidate.is_perfect() {
                taken = Some(index);
                break;
            }
            most = most.max(candidate.score());
        }
        match taken {
            Some(index) => open = vec![index],
            None => open.retain(|&index| candidates[index].score() == most),
        }
        if open.len() == 1 {
            break;
        }
    }
    let mut tried = Vec::new();
    for (reader, Candidate { proof, .. }) in readers.iter().zip(candidates) {
        tried.push(Tried {
            reader: reader.name(),
            cases: proof.cases,
            read_back: proof.read_back,
        });
    }
    Choice {
        reader: Arc::clone(&readers[open[0]]),
        tried,
    }
}
