//! Properties of every way in, on random cases. `CHATPARSE_CASES` says how many of each,
//! `CHATPARSE_SEED` where they start; a failing case prints its own seed, and is made as small as
//! it gets. The fuzz targets run the same cases.

mod cases;
#[path = "../support/seeds.rs"]
mod seeds;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestError, TestRunner};

use seeds::seeds;

/// Enough to find what breaks often; the rest is for longer runs.
const CASES: u64 = 300;

/// Runs `case` on random choices, each case from a seed of its own.
fn run(longest: usize, case: fn(&[u8])) {
    run_some(longest, CASES, case);
}

fn run_some(longest: usize, usual: u64, case: fn(&[u8])) {
    let seeds = seeds(usual);
    let mut slowest = (Duration::ZERO, seeds.start);
    for seed in seeds {
        let config = ProptestConfig {
            cases: 1,
            max_shrink_iters: 2_000,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(seed),
            ..ProptestConfig::default()
        };
        let started = Instant::now();
        let choices = prop::collection::vec(any::<u8>(), 0..longest);
        let result = TestRunner::new(config).run(&choices, |choices| {
            case(&choices);
            Ok(())
        });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(reason, choices)) => {
                panic!("CHATPARSE_SEED={seed} CHATPARSE_CASES=1\n{reason}\n{choices:?}")
            }
            Err(error) => panic!("CHATPARSE_SEED={seed} CHATPARSE_CASES=1: {error}"),
        }
        slowest = slowest.max((started.elapsed(), seed));
    }
    println!(
        "the slowest case has the seed {} and took {:?}",
        slowest.1, slowest.0
    );
}

#[test]
fn outputs() {
    run(200, cases::feed::case);
}

/// Learning what each template writes takes longer than its outputs do.
#[test]
fn outputs_of_templates_beside() {
    run_some(200, 100, cases::feed::case_beside);
}

#[test]
fn bodies() {
    run(120, cases::bodies::case);
}

/// Each takes up to seconds: the program runs more of them.
#[test]
fn operands() {
    run_some(200, 10, cases::operands::case);
}

#[test]
fn requests() {
    run(120, cases::request::case);
}

#[test]
fn schemas() {
    run(160, cases::schema::case);
}

#[test]
fn parsers() {
    run(120, cases::parser::case);
}

#[test]
fn templates() {
    run(60, cases::template::case);
}

#[test]
fn response_templates() {
    run(120, cases::response::case);
}
