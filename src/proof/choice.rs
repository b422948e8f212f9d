//! Which of a template's candidates reads it.
//!
//! Rich messages first, in the way to think in which most is said. A candidate that reads all of them is taken, the earliest
//! such. Otherwise the one that reads most; and where several do, they read more: the same messages in the other ways to think,
//! then the simpler ones. What then reads as well as another loses to the earlier.
//!
//! Renders do not show all. A candidate that rests on knowledge of the model is believed as long as it loses no call.

use super::Proof;
use super::messages::Thinking;
use super::reading::Reading;
use super::turns::Exam;
use crate::reader::{Reader, Taught};

/// Who reads a template, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The reader.
    pub reader: Reader,
    /// All candidates in their order, with what they have read until the choice was clear; nothing where there was none to make.
    pub tried: Vec<Tried>,
}

/// What a candidate has read until the choice was clear.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tried {
    /// The candidate.
    pub reader: Reader,
    /// The messages that it was given.
    pub cases: usize,
    /// Those that came back.
    pub read_back: usize,
}

/// A candidate that is reading.
struct Candidate {
    reader: Reader,
    reading: Reading,
    /// Which messages it reads: those with its prompts.
    exam: usize,
    proof: Proof,
}

/// Which messages are read, one set after the other.
const ROUNDS: [fn(&mut Candidate, &mut Exam); 3] = [
    |candidate, exam| {
        for probe in rich(exam, true) {
            candidate.ask(exam, probe, &[Thinking::On]);
        }
    },
    |candidate, exam| {
        for probe in rich(exam, true) {
            candidate.ask(exam, probe, &[Thinking::Off, Thinking::Silent]);
            candidate.proof.ask_behind_common(exam, &mut candidate.reading, probe);
        }
    },
    |candidate, exam| {
        for probe in rich(exam, false) {
            candidate.ask(exam, probe, &Thinking::ALL);
            candidate.proof.ask_behind_common(exam, &mut candidate.reading, probe);
        }
    },
];

fn rich(exam: &Exam, rich: bool) -> Vec<usize> {
    (0..exam.probes().len()).filter(|&probe| exam.probes()[probe].rich == rich).collect()
}

impl Candidate {
    fn ask(&mut self, exam: &mut Exam, probe: usize, ways: &[Thinking]) {
        for &thinking in ways {
            self.proof.ask(exam, &mut self.reading, probe, thinking);
        }
    }

    /// What it has read: first what is in its format, then what came back at all, then what came at least not as another call.
    fn score(&self) -> [usize; 3] {
        let misread = self.proof.failures.iter().filter(|failure| failure.misreads_calls).count();
        [self.proof.read_back - self.proof.recovered, self.proof.read_back, self.proof.cases - misread]
    }

    /// Whether it has read all that there was, calls among it if there are any to read.
    fn is_perfect(&self, exam: &Exam) -> bool {
        let calls = exam.probes().iter().any(|probe| probe.calls() > 0);
        self.score()[0] == self.proof.cases && self.proof.cases > 0 && (self.proof.with_calls > 0 || !calls)
    }
}

/// The candidate that reads best, found with as few renders as can be.
pub(crate) fn choose(taught: &Taught, readers: &[Reader]) -> Choice {
    if let [only] = readers {
        return Choice { reader: *only, tried: Vec::new() };
    }
    // Prompts of learnt readers are the template's own.
    let mut exams: Vec<Exam> = Vec::new();
    let mut shared = None;
    let mut candidates: Vec<Candidate> = Vec::new();
    for &reader in readers {
        let exam = shared.filter(|_| reader.is_learnt()).unwrap_or_else(|| {
            exams.push(Exam::new(taught, reader));
            exams.len() - 1
        });
        shared = shared.or(reader.is_learnt().then_some(exam));
        candidates.push(Candidate { reader, reading: Reading::new(reader), exam, proof: Proof::default() });
    }
    let mut open: Vec<usize> = (0..candidates.len()).collect();
    for round in ROUNDS {
        let mut most = [0; 3];
        let mut taken = None;
        for &index in &open {
            let candidate = &mut candidates[index];
            let exam = &mut exams[candidate.exam];
            round(candidate, exam);
            let believed = candidate.reader.knows(taught) && candidate.proof.calls_come_back();
            if believed || candidate.score() > most && candidate.is_perfect(exam) {
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
        reader: *reader,
        cases: proof.cases,
        read_back: proof.read_back,
    });
    Choice { reader: readers[open[0]], tried: tried.collect() }
}
