//! Times of several systems at the same work, taken in turn, so that a busy machine slows all
//! alike. What counts is the time that the processor spends on this thread: who waits for a
//! processor, works on nothing.

use cpu_time::ThreadTime;

/// One system's times, a round each, in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Times(pub Vec<f64>);

impl Times {
    pub fn median(&self) -> f64 {
        quantile(self.0.clone(), 0.5)
    }
}

/// Runs each body once a round.
pub fn in_turn(rounds: usize, bodies: &mut [&mut dyn FnMut()]) -> Vec<Times> {
    let mut times = vec![Times::default(); bodies.len()];
    for _ in 0..rounds {
        for (body, times) in bodies.iter_mut().zip(&mut times) {
            let start = ThreadTime::now();
            body();
            times.0.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    times
}

/// How many times longer `other` took than `ours`: the median of the rounds' ratios, and the tenth
/// and ninetieth percentile.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Ratio {
    pub fn of(other: &Times, ours: &Times) -> Ratio {
        let ratios: Vec<f64> = other
            .0
            .iter()
            .zip(&ours.0)
            .map(|(other, ours)| other / ours)
            .collect();
        Ratio {
            median: quantile(ratios.clone(), 0.5),
            low: quantile(ratios.clone(), 0.1),
            high: quantile(ratios, 0.9),
        }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "× {} ({}–{})",
            short(self.median),
            short(self.low),
            short(self.high)
        )
    }
}

/// Three digits, more where the number is larger.
pub fn short(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// The value below which that share of all values lies.
pub fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (share * values.len().saturating_sub(1) as f64).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}
