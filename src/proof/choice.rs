//! Chooses a template's reader among the candidates.
//!
//! The candidates read rich messages first, with the thinking that renders most. The earliest candidate that reads all of
//! them is chosen. Otherwise it is the one that reads most; if several do, they read more: the same messages with other
//! thinking, then the simpler messages. On a tie the earlier one is chosen.
//!
//! A family whose templates render histories otherwise than the model writes says so. Then their renders prove nothing, and it
//! is chosen. So is one that describes turns as they were learnt, or adds to that: it reads what the template writes, and more.

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
    /// All candidates in order, with what they had read when the choice was made; empty if nothing had to be read for it.
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
    reader: Arc<Reader>,
    reading: RoundTrip,
    /// The index of the messages rendered with its prompts.
    probes: usize,
    proof: Proof,
}

/// The sets of messages that are read, one after the other.
const ROUNDS: [fn(&mut Candidate, &mut ProbeSet); 3] = [
    |candidate, probes| {
        for probe in rich(probes, true) {
            candidate.ask(probes, probe, &[Thinking::On]);
        }
    },
    |candidate, probes| {
        for probe in rich(probes, true) {
            candidate.ask(probes, probe, &[Thinking::Off, Thinking::Silent]);
            candidate.proof.ask_behind_common(probes, &mut candidate.reading, probe);
        }
    },
    |candidate, probes| {
        for probe in rich(probes, false) {
            candidate.ask(probes, probe, &Thinking::ALL);
            candidate.proof.ask_behind_common(probes, &mut candidate.reading, probe);
        }
    },
];

fn rich(probes: &ProbeSet, rich: bool) -> Vec<usize> {
    (0..probes.probes().len()).filter(|&probe| probes.probes()[probe].rich == rich).collect()
}

impl Candidate {
    fn ask(&mut self, probes: &mut ProbeSet, probe: usize, ways: &[Thinking]) {
        for &thinking in ways {
            self.proof.ask(probes, &mut self.reading, probe, thinking);
        }
    }

    /// The score: messages in its format, then messages read back at all, then messages not misread as other calls.
    fn score(&self) -> [usize; 3] {
        let misread = self.proof.failures.iter().filter(|failure| failure.misreads_calls).count();
        [self.proof.read_back - self.proof.recovered, self.proof.read_back, self.proof.cases - misread]
    }

    /// Whether it has read everything, including calls if there are any.
    fn is_perfect(&self, probes: &ProbeSet) -> bool {
        let calls = probes.probes().iter().any(|probe| probe.calls() > 0);
        self.score()[0] == self.proof.cases && self.proof.cases > 0 && (self.proof.with_calls > 0 || !calls)
    }
}

/// Chooses the candidate that reads best, with as few renders as possible.
pub(crate) fn choose(readers: &[Arc<Reader>]) -> Choice {
    if let [only] = readers {
        return Choice { reader: Arc::clone(only), tried: Vec::new() };
    }
    if let Some(known) = readers.iter().find(|reader| reader.history_misleads()) {
        return Choice { reader: Arc::clone(known), tried: Vec::new() };
    }
    if let [first, learnt, ..] = readers
        && first.adds_to(learnt)
    {
        return Choice { reader: Arc::clone(first), tried: Vec::new() };
    }
    // Learnt readers share the template's own prompts.
    let mut exams: Vec<ProbeSet> = Vec::new();
    let mut shared = None;
    let mut candidates: Vec<Candidate> = Vec::new();
    for reader in readers {
        let probes = shared.filter(|_| reader.is_learnt()).unwrap_or_else(|| {
            exams.push(ProbeSet::new(reader));
            exams.len() - 1
        });
        shared = shared.or(reader.is_learnt().then_some(probes));
        let (reader, reading) = (Arc::clone(reader), RoundTrip::new(reader));
        candidates.push(Candidate { reader, reading, probes, proof: Proof::default() });
    }
    let mut open: Vec<usize> = (0..candidates.len()).collect();
    for round in ROUNDS {
        let mut most = [0; 3];
        let mut taken = None;
        for &index in &open {
            let candidate = &mut candidates[index];
            let probes = &mut exams[candidate.probes];
            round(candidate, probes);
            if candidate.score() > most && candidate.is_perfect(probes) {
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
    let tried = candidates.iter().map(|Candidate { reader, proof, .. }| Tried {
        reader: reader.name(),
        cases: proof.cases,
        read_back: proof.read_back,
    });
    Choice { reader: Arc::clone(&readers[open[0]]), tried: tried.collect() }
}
