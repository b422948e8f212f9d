//! Tables on the screen and in `benches/RESULTS.md`, and a plot.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Collects Markdown and shows it as it comes.
#[derive(Default)]
pub struct Report(String);

impl Report {
    pub fn line(&mut self, line: &str) {
        println!("{line}");
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub fn head(&mut self, columns: &[&str]) {
        self.row(columns);
        let rule: Vec<&str> = columns
            .iter()
            .enumerate()
            .map(|(at, _)| if at == 0 { "---" } else { "---:" })
            .collect();
        self.row(&rule);
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    pub fn write(&self) {
        let path = folder().join("RESULTS.md");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let others = before.find(OTHERS).map_or("", |at| &before[at..]);
        write(&path, &format!("{}{others}", self.0));
    }
}

/// From here on the file has what other benchmarks measured, which stays.
const OTHERS: &str = "\n## Many tools\n";

/// `benches`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder in benches")
        .to_owned()
}

fn write(path: &Path, text: &str) {
    match std::fs::write(path, text) {
        Ok(()) => println!("wrote {}", path.display()),
        Err(error) => println!("{}: {error}", path.display()),
    }
}

/// A curve of a plot: its name, and points of size in bytes and time in milliseconds.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const COLOURS: &[&str] = &["#1b6ca8", "#d1495b", "#66a182", "#8d6a9f", "#edae49"];
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// Draws curves on logarithmic axes into `benches/<name>`.
pub fn plot(name: &str, title: &str, curves: &[Curve]) {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let range = |values: &dyn Fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = all().map(|point| values(point).log10()).collect();
        (
            values.iter().copied().fold(f64::MAX, f64::min),
            values.iter().copied().fold(f64::MIN, f64::max),
        )
    };
    let ((x0, x1), (y0, y1)) = (range(&|point| point.0), range(&|point| point.1));
    let (y0, y1) = (y0.floor(), y1.ceil());
    let x = |size: f64| LEFT + (size.log10() - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT);
    let y = |time: f64| HEIGHT - BOTTOM - (time.log10() - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>rect {{ fill: #fff }} text {{ fill: #222 }} @media (prefers-color-scheme: dark) {{ rect {{ fill: #16191d }} text {{ fill: #ddd }} \
         path {{ stroke: #444 }} }}</style>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{title}</text>\n"
    );
    for power in y0 as i32..=y1 as i32 {
        let at = y(10_f64.powi(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#ddd\"/>",
            WIDTH - RIGHT
        );
        let label = if power < 0 {
            format!("{:.*}", -power as usize, 10_f64.powi(power))
        } else {
            format!("{:.0}", 10_f64.powi(power))
        };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label} ms</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for size in (10..24)
        .map(|bit| f64::from(1 << bit))
        .filter(|size| size.log10() >= x0 - 0.01 && size.log10() <= x1 + 0.01)
    {
        let label = if size >= 1_048_576.0 {
            format!("{} MB", size / 1_048_576.0)
        } else {
            format!("{} KB", size / 1024.0)
        };
        let (at, base) = (x(size), HEIGHT - BOTTOM);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {base}v4\" stroke=\"#888\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\">{label}</text>",
            base + 18.0
        );
    }
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let points: Vec<String> = curve
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
    }
    // From the bottom up, each above those that stand where it would.
    let mut names: Vec<(f64, f64, &str, &str)> = (curves.iter().zip(COLOURS.iter().cycle()))
        .filter_map(|(curve, colour)| {
            curve
                .points
                .last()
                .map(|last| (x(last.0) + 6.0, y(last.1) + 4.0, &*curve.name, *colour))
        })
        .collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut placed: Vec<(f64, f64)> = Vec::new();
    for (left, mut base, name, colour) in names {
        while let Some((_, other)) = placed
            .iter()
            .find(|(x, y)| (x - left).abs() < 90.0 && (y - base).abs() < 14.0)
        {
            base = other - 14.0;
        }
        placed.push((left, base));
        let _ = writeln!(
            svg,
            "<text x=\"{left:.1}\" y=\"{base:.1}\" style=\"fill: {colour}\">{name}</text>"
        );
    }
    svg.push_str("</svg>\n");
    write(&folder().join(name), &svg);
}
