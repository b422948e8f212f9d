//! A long output in small pieces, and at once.

use crate::cases::{CASES, Case, Place};
use crate::measure::{Ratio, Times, in_turn, short};
use crate::parsers::{self, CHUNK, Run};
use crate::report::{Curve, Report, plot};
use chatparse::EndedBy;

const KB: usize = 1 << 10;
/// The sizes of the tables.
const SIZES: [usize; 2] = [32 * KB, 256 * KB];
const ROUNDS: usize = 15;
/// A peer whose run of 32 KB takes longer than this, in microseconds, is run once at 256 KB.
const PATIENCE: f64 = 50_000.0;

/// A system, and how to run a case on it.
struct System {
    name: &'static str,
    run: Run,
}

fn systems(case: &Case) -> Vec<System> {
    let mut systems = vec![System {
        name: "chatparse",
        run: parsers::chatparse(parsers::ours(case).1),
    }];
    systems.extend(parsers::dynamo(case).map(|run| System {
        name: "dynamo-parsers-v2",
        run,
    }));
    let smg = if case.place == Place::Reasoning {
        "reasoning-parser"
    } else {
        "tool-parser"
    };
    systems.extend(parsers::smg(case).map(|run| System { name: smg, run }));
    #[cfg(feature = "llama")]
    systems.extend(llama(case).map(|run| System {
        name: "llama.cpp",
        run,
    }));
    systems
}

#[cfg(feature = "llama")]
fn llama(case: &Case) -> Option<Run> {
    let params = llama_params(case)?;
    Some(Box::new(move |output| params.stream(output, CHUNK, 0)))
}

#[cfg(feature = "llama")]
fn llama_params(case: &Case) -> Option<crate::llama::Params> {
    let builtin = chatparse::builtin::find(case.template)?;
    let template = crate::llama::Template::new(builtin.source, builtin.bos, builtin.eos)?;
    let mut params = template.apply(&crate::llama::Request::new(&case.request().to_string())?)?;
    params.ready().then_some(params)
}

fn time(systems: &[&System], output: &str, rounds: usize) -> Vec<Times> {
    let mut bodies: Vec<Box<dyn FnMut() + '_>> = systems
        .iter()
        .map(|system| Box::new(|| drop((system.run)(output))) as Box<dyn FnMut()>)
        .collect();
    let mut bodies: Vec<&mut dyn FnMut()> = bodies
        .iter_mut()
        .map(|body| body.as_mut() as &mut dyn FnMut())
        .collect();
    in_turn(rounds, &mut bodies)
}

pub fn report(report: &mut Report) {
    report.line(&format!("## Streaming: pieces of {CHUNK} bytes\n"));
    report.line("Median time of the rounds; in brackets how many times chatparse's time that is, as the median of the rounds' ratios");
    report
        .line("with the 10th and 90th percentile. Results are checked to be equal; a system that differs is marked.\n");
    report.head(&[
        "output",
        "system",
        "32 KB",
        "ratio",
        "256 KB",
        "ratio",
        "deltas at 32 KB",
    ]);
    for case in CASES {
        table(report, case);
    }
    report.line("\n\\* run once.\n");
    flatness(report);
    curves(report);
    one_shot(report);
}

fn table(report: &mut Report, case: &Case) {
    let systems = systems(case);
    let (small, large) = (case.output(SIZES[0]), case.output(SIZES[1]));
    let first = time(&systems.iter().collect::<Vec<_>>(), &small, 1);
    // The slow ones in fewer rounds: they take seconds each.
    let slow: Vec<bool> = first
        .iter()
        .map(|times| times.median() > PATIENCE)
        .collect();
    let quick = |quick: bool| -> Vec<usize> {
        (0..systems.len())
            .filter(|&at| at == 0 || slow[at] != quick)
            .collect()
    };
    let mut measured: Vec<Option<(Times, Times)>> = vec![None; systems.len()];
    let mut large_times: Vec<Option<(Times, Times)>> = vec![None; systems.len()];
    for (indices, rounds, at_large) in [(quick(true), ROUNDS, true), (quick(false), 3, false)] {
        let group: Vec<&System> = indices.iter().map(|&at| &systems[at]).collect();
        let times = time(&group, &small, rounds);
        for (at, times_of) in indices.iter().zip(&times) {
            if *at != 0 || measured[0].is_none() {
                measured[*at] = Some((times_of.clone(), times[0].clone()));
            }
        }
        if at_large {
            let times = time(&group, &large, rounds);
            for (at, times_of) in indices.iter().zip(&times) {
                large_times[*at] = Some((times_of.clone(), times[0].clone()));
            }
        }
    }
    for (at, system) in systems.iter().enumerate() {
        let parsed = (system.run)(&small);
        let checked = parsed
            .as_ref()
            .ok_or("it fails".to_owned())
            .and_then(|parsed| case.check(SIZES[0], parsed));
        let Some((times, ours)) = &measured[at] else {
            continue;
        };
        let ms = |time: f64| format!("{} ms", short(time / 1e3));
        let (large, large_ratio) = match &large_times[at] {
            Some((times, ours)) => (ms(times.median()), Ratio::of(times, ours).to_string()),
            None => {
                let once = time(&[&systems[0], system], &large, 1);
                let ratio = once[1].median() / once[0].median();
                (
                    format!("{} \\*", ms(once[1].median())),
                    format!("× {} \\*", short(ratio)),
                )
            }
        };
        let ratio = |text: String| if at == 0 { String::new() } else { text };
        let name = match checked {
            Ok(()) => system.name.to_owned(),
            Err(trouble) => format!("{} (differs: {trouble})", system.name),
        };
        let deltas = parsed.map_or(0, |parsed| parsed.deltas).to_string();
        let deltas = deltas.as_str();
        let (small, small_ratio) = (
            ms(times.median()),
            ratio(Ratio::of(times, ours).to_string()),
        );
        report.row(&[
            case.name,
            &name,
            &small,
            &small_ratio,
            &large,
            &ratio(large_ratio),
            deltas,
        ]);
    }
}

fn flatness(report: &mut Report) {
    let first: Vec<Vec<Times>> = CASES.iter().map(by_length).collect();
    // An allocator of glibc that has seen a large block go keeps what is freed after it. Before
    // that it may give each long output's memory back, and the system's work on fresh pages counts
    // for long outputs and not for short ones.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 * KB * KB)));
    report.line("### Time of a piece, by the length of the output\n");
    report.line("In memory that the process has used before; the last column: where the allocator gives memory back in between, and the");
    report.line("system's work on fresh pages comes on top for long outputs.\n");
    report.head(&[
        "output",
        "1 KB",
        "32 KB",
        "1 MB",
        "4 MB",
        "4 MB to 32 KB",
        "in fresh memory",
    ]);
    for (case, first) in CASES.iter().zip(&first) {
        let each = by_length(case);
        let mut cells = vec![case.name.to_owned()];
        cells.extend(
            each.iter()
                .map(|times| format!("{:.0} ns", times.median() * 1e3)),
        );
        cells.extend([&each, first].map(|each| Ratio::of(&each[3], &each[1]).to_string()));
        report.row(&cells);
    }
    report.line("");
}

/// The time of a piece in outputs of four lengths.
fn by_length(case: &Case) -> Vec<Times> {
    let run = parsers::chatparse(parsers::ours(case).1);
    let outputs = [KB, 32 * KB, KB * KB, 4 * KB * KB].map(|size| case.output(size));
    // As many bytes in each round.
    let repeats = outputs
        .each_ref()
        .map(|output| (outputs[3].len() / output.len()).min(32));
    let mut bodies: Vec<Box<dyn FnMut() + '_>> = (0..outputs.len())
        .map(|at| {
            let (run, output, repeats) = (&run, &outputs[at], repeats[at]);
            Box::new(move || (0..repeats).for_each(|_| drop(run(output)))) as Box<dyn FnMut()>
        })
        .collect();
    let mut bodies: Vec<&mut dyn FnMut()> = bodies
        .iter_mut()
        .map(|body| body.as_mut() as &mut dyn FnMut())
        .collect();
    let times = in_turn(7, &mut bodies).into_iter().enumerate();
    let each = times.map(|(at, times)| {
        let pieces = (outputs[at].len().div_ceil(CHUNK) * repeats[at]) as f64;
        Times(times.0.into_iter().map(|time| time / pieces).collect())
    });
    each.collect()
}

fn curves(report: &mut Report) {
    let case = &CASES[0];
    let curves = systems(case).into_iter().map(|system| {
        let mut points = Vec::new();
        for size in (10..=22).map(|bit| 1_usize << bit) {
            let time = time(&[&system], &case.output(size), 3)[0].median();
            points.push((size as f64, time / 1e3));
            if time > 10.0 * PATIENCE {
                break;
            }
        }
        Curve {
            name: system.name.to_owned(),
            points,
        }
    });
    plot(
        "streaming.svg",
        "A tagged call, streamed in pieces of 4 bytes: total time by length",
        &curves.collect::<Vec<_>>(),
    );
    report.line("![Total time by length of the output](streaming.svg)\n");
}

#[cfg(not(feature = "llama"))]
fn one_shot(_: &mut Report) {}

#[cfg(feature = "llama")]
fn one_shot(report: &mut Report) {
    report.line("### All at once: 33 KB\n");
    report.head(&["output", "chatparse", "llama.cpp", "ratio"]);
    for case in CASES {
        let (ours, output) = (parsers::ours(case).1, case.output(33 * KB));
        let Some(theirs) = llama_params(case) else {
            continue;
        };
        let times = in_turn(
            51,
            &mut [
                &mut || drop(ours.parser.parse(output.as_bytes(), EndedBy::Model)),
                &mut || drop(theirs.parse(&output)),
            ],
        );
        let us = |at: usize| format!("{} µs", short(times[at].median()));
        report.row(&[
            case.name,
            &us(0),
            &us(1),
            &Ratio::of(&times[1], &times[0]).to_string(),
        ]);
    }
    report.line("");
}
