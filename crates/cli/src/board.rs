//! `board`: a page, or a table, with the verdicts on many templates.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use chatparse::ChatTemplate;
use chatparse::lint::{self, Finding, Law, Report, Verdict};
use serde_json::Value;

use crate::failure::Outcome;
use crate::input::{self, Reading};
use crate::screen::Screen;
use crate::text::{escaped, tamed};

/// Print a page about many templates
///
/// Prints one HTML page, which loads nothing: a row for each template, and a column for each law
/// of chatparse lint. A cell with a finding opens the request that shows it. The rows can be sorted
/// and searched. The last row is the share of templates that keep each law, by downloads if they
/// are known.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 success, 1 a place cannot be read, 2 wrong usage

Examples:
  chatparse board templates/ > board.html
  chatparse board --downloads downloads.tsv templates/ > board.html
  chatparse board --markdown templates/*.jinja"
)]
pub struct Board {
    /// A template, or a folder of templates, GGUF files or checkpoints
    #[arg(value_name = "PLACE", required = true, value_hint = clap::ValueHint::AnyPath)]
    places: Vec<OsString>,
    /// Print a table in Markdown instead
    #[arg(long)]
    markdown: bool,
    /// A table with the name of a template's file first and its downloads last, separated by tabs
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    downloads: Option<OsString>,
    #[command(flatten)]
    reading: Reading,
}

const PAGE: &str = include_str!("board.html");

/// One template.
struct Row {
    name: String,
    /// `None` if they are not known.
    downloads: Option<u64>,
    /// The error of a template that cannot be read.
    found: Result<Read, String>,
}

/// A template that can be read.
struct Read {
    /// How the parts of a turn are written, as lines.
    written: String,
    reader: &'static str,
    /// The number of messages that are read back, and of all that count.
    back: [usize; 2],
    report: Report,
}

impl Board {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        input::check_stdin(self.places.iter().map(OsString::as_os_str))?;
        let mut downloads = HashMap::new();
        if let Some(file) = &self.downloads {
            for line in input::text(file)?.lines() {
                let name = line.split('\t').next().unwrap_or_default();
                let count = line.rsplit('\t').next().unwrap_or_default();
                if let Ok(count) = count.trim().parse::<u64>() {
                    downloads.insert(stem(name.as_ref()), count);
                }
            }
        }
        let mut rows = rows(&input::places(&self.places)?, &self.reading)?;
        for row in &mut rows {
            row.downloads = downloads.get(&row.name).copied();
        }
        rows.sort_by_cached_key(|row| (row.name.to_lowercase(), row.name.clone()));
        if self.markdown {
            markdown(&rows, screen)
        } else {
            screen.print(page(&rows))
        }
        Ok(())
    }
}

/// The name of a template's file without its ending.
fn stem(word: &OsStr) -> String {
    let path = Path::new(word);
    match path.file_stem() {
        Some(stem) if input::is_template(path) => stem.to_string_lossy().into_owned(),
        _ => input::name(word),
    }
}

/// The rows, made by as many threads as there are cores.
fn rows(words: &[OsString], reading: &Reading) -> Outcome<Vec<Row>> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(word) = words.get(next.fetch_add(1, Relaxed)) {
                    let row = row(word, reading);
                    if let Ok(mut rows) = rows.lock() {
                        rows.push(row);
                    }
                }
            });
        }
    });
    rows.into_inner().unwrap_or_default().into_iter().collect()
}

fn row(word: &OsStr, reading: &Reading) -> Outcome<Row> {
    let source = input::source(word)?;
    let found = match input::compile(&source, reading, Value::Null) {
        Ok(template) => Ok(read(&template)),
        Err(error) => Err(format!("cannot be read: {}", error.reason())),
    };
    Ok(Row {
        name: stem(word),
        downloads: None,
        found,
    })
}

fn read(template: &ChatTemplate) -> Read {
    let proof = template.proof();
    let mut written = String::new();
    for (part, text) in template.turn(true).written() {
        let _ = writeln!(written, "{part:10} {}", escaped(&text));
    }
    Read {
        written,
        reader: match template.reader() {
            "turn" => "learnt",
            family => family,
        },
        back: [proof.read_back, proof.cases],
        report: lint::lint(template),
    }
}

fn markdown(rows: &[Row], screen: &mut Screen) {
    const COLUMNS: [&str; 5] = [
        "template",
        "read by",
        "messages that come back",
        "faults",
        "notes",
    ];
    writeln!(screen, "| {} |", COLUMNS.join(" | "));
    writeln!(screen, "| --- | --- | ---: | --- | --- |");
    for row in rows {
        let mut cells = vec![row.name.clone()];
        match &row.found {
            Err(error) => cells.push(error.clone()),
            Ok(read) => {
                let [back, all] = read.back;
                let laws = [Verdict::Fault, Verdict::Note].map(|verdict| read.report.laws(verdict));
                let back = format!("{back} of {all}");
                cells.extend([read.reader.into(), back]);
                cells.extend(laws);
            }
        }
        cells.resize(COLUMNS.len(), String::new());
        let cells = cells.iter().map(|cell| tamed(cell).replace('|', "\\|"));
        writeln!(screen, "| {} |", Vec::from_iter(cells).join(" | "));
    }
}

fn page(rows: &[Row]) -> String {
    let mut heads = String::new();
    for name in ["template", "downloads", "read by", "come back"] {
        head(&mut heads, name, "");
    }
    for law in Law::ALL {
        head(&mut heads, law.name(), law.sentence());
    }
    let mut body = String::new();
    for row in rows {
        let downloads = row
            .downloads
            .map_or(String::new(), |count| count.to_string());
        let written = row.found.as_ref().map_or("", |read| &read.written);
        let name = opened(&row.name, written);
        let _ = write!(body, "<tr><th scope=\"row\">{name}</th>");
        cell(&mut body, "number", row.downloads.unwrap_or(0), &downloads);
        match &row.found {
            Ok(read) => cells(read, &mut body),
            Err(error) => {
                let span = 2 + Law::ALL.len();
                let _ = write!(
                    body,
                    "<td class=\"fault\" colspan=\"{span}\">{}</td>",
                    html(error)
                );
            }
        }
        body.push_str("</tr>\n");
    }
    let mut laws = String::new();
    for law in Law::ALL {
        let _ = write!(
            laws,
            "<dt>{law}</dt><dd>{} {}</dd>",
            law.sentence(),
            law.effect()
        );
    }
    let sound = rows.iter().filter(|row| {
        let report = row.found.as_ref().ok().map(|read| &read.report);
        report.is_some_and(|report| report.faulty().next().is_none())
    });
    let count = format!(
        "{} templates, {} without a fault",
        rows.len(),
        sound.count()
    );
    // The rows last: they may hold a name of these.
    PAGE.replace("{{count}}", &count)
        .replace("{{laws}}", &laws)
        .replace("{{heads}}", &heads)
        .replace("{{totals}}", &totals(rows))
        .replace("{{rows}}", &body)
}

fn head(heads: &mut String, name: &str, title: &str) {
    let _ = write!(
        heads,
        "<th title=\"{title}\" aria-sort=\"none\"><button type=\"button\">{name}</button></th>"
    );
}

/// A cell, and the number by which rows are sorted.
fn cell(body: &mut String, class: &str, rank: u64, text: &str) {
    let _ = write!(
        body,
        "<td class=\"{class}\" data-rank=\"{rank}\">{text}</td>"
    );
}

/// The cells of the reader and of each law, which open to their findings.
fn cells(read: &Read, body: &mut String) {
    let [back, all] = read.back;
    cell(body, "", 0, read.reader);
    let share = (1000 * back).checked_div(all).unwrap_or(0);
    cell(body, "number", share as u64, &format!("{back} of {all}"));
    for law in Law::ALL {
        let verdict = read.report.verdict(law);
        let mut more = String::new();
        for finding in read
            .report
            .findings
            .iter()
            .filter(|finding| finding.law == law)
        {
            proof(finding, &mut more);
        }
        let (class, word) = match verdict {
            Verdict::Fault => ("fault", "fault"),
            // What a law costs in time is another colour than what it may cost in meaning.
            Verdict::Note if law == Law::Grows => ("cost", "costs"),
            Verdict::Note => ("note", "note"),
            Verdict::Holds => ("holds", "✓"),
            Verdict::NotAsked => ("none", "–"),
        };
        cell(body, class, verdict as u64, &opened(word, &more));
    }
}

/// A finding with its request and both texts, as lines.
fn proof(finding: &Finding, more: &mut String) {
    let _ = writeln!(more, "{}", finding.message);
    if !finding.request.is_null() {
        let _ = writeln!(more, "request   {}", crate::lint::brief(&finding.request));
    }
    for shown in &finding.shown {
        let _ = writeln!(more, "{:9} {}", shown.from, escaped(&shown.text));
    }
}

/// The share of templates that keep each law, of those that it was asked about; by downloads, if
/// any are known.
fn totals(rows: &[Row]) -> String {
    let is_weighted = rows.iter().any(|row| row.downloads.is_some());
    let by = if is_weighted {
        "by downloads"
    } else {
        "of templates"
    };
    let mut cells = format!("<th scope=\"row\">kept, {by}</th><td></td><td></td><td></td>");
    for law in Law::ALL {
        let (mut kept, mut all) = (0, 0);
        for row in rows {
            let Ok(read) = &row.found else { continue };
            let weight = if is_weighted {
                row.downloads.unwrap_or(0)
            } else {
                1
            };
            let verdict = read.report.verdict(law);
            all += if verdict == Verdict::NotAsked {
                0
            } else {
                weight
            };
            kept += if verdict == Verdict::Holds { weight } else { 0 };
        }
        let share = (100 * kept)
            .checked_div(all)
            .map_or("–".into(), |share| format!("{share} %"));
        let _ = write!(cells, "<td class=\"number\">{share}</td>");
    }
    cells
}

/// A text that opens to more of it, if there is more.
fn opened(text: &str, more: &str) -> String {
    match (html(text), more) {
        (text, "") => text,
        (text, more) => format!(
            "<details><summary>{text}</summary><pre>{}</pre></details>",
            html(more)
        ),
    }
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
