//! `board`: a page, or a table, with what is known of each of many templates.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use chatparse::chat::Constraint;
use chatparse::lint::{self, Report};
use chatparse::next::{Kind as TurnKind, Preserved};
use chatparse::{ChatTemplate, Request};
use serde_json::{Value, json};

use crate::causes::causes;
use crate::failure::Outcome;
use crate::input::{self, Reading, TemplateWord};
use crate::linted::{Linted, faulty};
use crate::screen::Screen;
use crate::text::{escaped, tamed};

/// Print a page about many templates
///
/// Prints one HTML page, which loads nothing. For each template it shows the reader, the format,
/// how many messages are read back, whether the next turn appends or rewrites, whether the origin
/// of each byte is known, where the grammar of calls begins, how exact a response template is, and
/// what lint finds. The rows can be sorted and searched. In a directory, all files that end in
/// .jinja are templates.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 success, 1 a directory cannot be read, 2 wrong usage

Examples:
  chatparse board templates/ > board.html
  chatparse board --markdown templates/*.jinja"
)]
pub struct Board {
    /// A template, or a directory of templates
    #[arg(value_name = "TEMPLATE", required = true, value_parser = TemplateWord, hide_possible_values = true)]
    templates: Vec<OsString>,
    /// Print a table in Markdown instead
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    reading: Reading,
}

/// What the columns are called.
const COLUMNS: [&str; 9] = [
    "template",
    "read by",
    COUNTS,
    "tool step",
    "user turn",
    "whose text",
    "grammar starts",
    "response template",
    "faults",
];

/// The column that holds numbers.
const COUNTS: &str = "messages that come back";

const PAGE: &str = include_str!("board.html");

/// One template.
struct Row {
    name: String,
    /// How the parts of a turn are written, and what `lint` found, as lines.
    written: String,
    found: String,
    /// Of the other columns; the only one of a template that cannot be read.
    cells: Vec<Cell>,
}

struct Cell {
    text: String,
    /// What rows are sorted by.
    rank: usize,
    class: &'static str,
}

impl Cell {
    fn new(text: impl Into<String>, rank: usize) -> Self {
        Cell {
            text: text.into(),
            rank,
            class: "",
        }
    }

    fn bad(text: impl Into<String>, rank: usize) -> Self {
        Cell {
            class: "bad",
            ..Cell::new(text, rank)
        }
    }
}

impl Board {
    pub fn run(self, screen: &mut Screen) -> Outcome {
        input::check_stdin(self.templates.iter().map(OsString::as_os_str))?;
        let mut words = Vec::new();
        for word in &self.templates {
            match Path::new(word).is_dir() {
                true => words.extend(templates_in(word)?),
                false => words.push(word.to_owned()),
            }
        }
        let mut rows = rows(&words, &self.reading)?;
        rows.sort_by_cached_key(|row| (row.name.to_lowercase(), row.name.clone()));
        match self.markdown {
            true => markdown(&rows, screen),
            false => screen.print(page(&rows)),
        }
        Ok(())
    }
}

fn templates_in(folder: &OsStr) -> Outcome<Vec<OsString>> {
    let entries = fs::read_dir(folder).map_err(|error| input::unreadable(folder, &error))?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "jinja") && path.is_file() {
            found.push(path.into());
        }
    }
    match found.is_empty() {
        true => Err(input::unusable(folder, "no file in it ends in .jinja")),
        false => Ok(found),
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
    let path = Path::new(word);
    let stem = path
        .file_stem()
        .filter(|_| path.extension().is_some_and(|end| end == "jinja"));
    let name = stem.map_or_else(
        || input::name(word),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let source = input::source(word)?;
    let template = match input::compile(&source, reading, Value::Null) {
        Ok(template) => template,
        Err(error) => {
            let message = format!("cannot be read: {}", error.reason());
            return Ok(Row {
                name,
                written: String::new(),
                found: String::new(),
                cells: vec![Cell::bad(message, 0)],
            });
        }
    };
    let linted = Linted {
        name: name.clone(),
        found: Ok(lint::lint(&template)),
        tokenizer: None,
    };
    let turn = template.turn(true).written();
    let written = turn
        .iter()
        .map(|(part, text)| format!("{part:10} {}\n", escaped(text)))
        .collect();
    let report = linted.found.as_ref().ok();
    let cells = report.map_or_else(Vec::new, |report| cells(&template, report, linted.fault()));
    let lost = report.iter().flat_map(|report| {
        let faults = causes(report).into_iter().filter(|cause| cause.is_fault);
        faults.map(|cause| {
            format!(
                "{}: {} ({})\n",
                cause.name.replace('_', " "),
                cause.meaning,
                cause.messages(report)
            )
        })
    });
    let found = report.iter().flat_map(|report| faulty(report));
    let found = found.map(|found| {
        format!(
            "{}: {} {}\n",
            found.rule.id(),
            found.message,
            found.rule.effect()
        )
    });
    Ok(Row {
        name,
        written,
        found: found.chain(lost).collect(),
        cells,
    })
}

fn cells(template: &ChatTemplate, report: &Report, fault: Option<String>) -> Vec<Cell> {
    let proof = template.proof();
    let reader = if template.reader() == "turn" {
        "learnt"
    } else {
        template.reader()
    };
    let share = (1000 * proof.read_back)
        .checked_div(proof.cases)
        .unwrap_or(0);
    let back = format!("{} of {}", proof.read_back, proof.cases);
    let whose = match report.untraced.as_ref().map(Vec::len) {
        Some(0) => Cell::new("known", 0),
        Some(count) => Cell::bad(format!("unknown in {count} places"), count),
        None => Cell::bad("no prompt", usize::MAX),
    };
    vec![
        Cell::new(reader, 0),
        if proof.is_whole() {
            Cell::new(back, share)
        } else {
            Cell::bad(back, share)
        },
        next(report, TurnKind::ToolStep),
        next(report, TurnKind::UserTurn),
        whose,
        grammar(template),
        match template.response_template() {
            Ok(written) if written.limits.is_empty() => Cell::new("exact", 0),
            Ok(written) => {
                let fields: BTreeSet<&str> =
                    written.limits.iter().map(|limit| limit.field).collect();
                let fields: Vec<&str> = fields.into_iter().collect();
                Cell::new(format!("but for {}", fields.join(", ")), fields.len())
            }
            Err(_) => Cell::bad("none", usize::MAX),
        },
        fault.map_or_else(
            || Cell::new("none", 0),
            |fault| Cell::bad(fault, report.fault_count()),
        ),
    ]
}

/// Whether prompts only grow, without reasoning in the conversation and with it.
fn next(report: &Report, kind: TurnKind) -> Cell {
    let said = |preserved: &Preserved| match preserved {
        Preserved::Yes => ("appends".to_owned(), 0),
        Preserved::Omitted(part) => (format!("no {part}"), 1),
        Preserved::No(_) => ("rewrites".to_owned(), 2),
        Preserved::Refused(_) => ("refused".to_owned(), 3),
    };
    let mut ways = report
        .next
        .iter()
        .filter(|next| next.kind == kind)
        .map(|next| said(&next.preserved));
    match (ways.next(), ways.next()) {
        (Some((off, rank)), Some((on, other))) if off != on && on != "no reasoning" => {
            Cell::new(format!("{off}; with reasoning {on}"), 4 * rank + other)
        }
        (Some((said, rank)), _) => Cell::new(said, 5 * rank),
        (None, _) => Cell::new("", 0),
    }
}

/// Where the grammar of a request with a tool starts.
fn grammar(template: &ChatTemplate) -> Cell {
    let tool = json!({"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}});
    // The time is fixed, so that the page is the same on each day.
    let body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": [tool], "now": 0});
    match Request::from_json(&body)
        .and_then(|request| template.params(&request))
        .map(|params| params.constraint)
    {
        Ok(Constraint::Lazy(triggers)) => {
            let texts: Vec<String> = triggers
                .iter()
                .map(|trigger| escaped(&trigger.value))
                .collect();
            Cell::new(format!("at {}", texts.join(" or ")), 0)
        }
        Ok(Constraint::Strict(_)) => Cell::new("at once", 1),
        Ok(Constraint::Free) => Cell::new("never", 2),
        Err(error) => Cell::bad(error.reason(), 3),
    }
}

fn markdown(rows: &[Row], screen: &mut Screen) {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    writeln!(screen, "{}", line(&COLUMNS.map(str::to_owned)));
    writeln!(
        screen,
        "{}",
        line(&COLUMNS.map(|name| if name == COUNTS { "---:" } else { "---" }.to_owned()))
    );
    for row in rows {
        let cells = row
            .cells
            .iter()
            .map(|cell| tamed(&cell.text).replace('|', "\\|"));
        let mut cells: Vec<String> = std::iter::once(row.name.clone()).chain(cells).collect();
        cells.resize(COLUMNS.len(), String::new());
        writeln!(screen, "{}", line(&cells));
    }
}

fn page(rows: &[Row]) -> String {
    let (mut heads, mut body) = (String::new(), String::new());
    for name in COLUMNS {
        let class = if name == COUNTS {
            " class=\"number\""
        } else {
            ""
        };
        let _ = write!(
            heads,
            "<th{class} aria-sort=\"none\"><button type=\"button\">{name}</button></th>"
        );
    }
    for row in rows {
        let _ = write!(
            body,
            "<tr><th scope=\"row\">{}</th>",
            opened(&row.name, &row.written)
        );
        let span = if row.cells.len() == 1 {
            format!(" colspan=\"{}\"", COLUMNS.len() - 1)
        } else {
            String::new()
        };
        for (column, Cell { text, rank, class }) in row.cells.iter().enumerate() {
            let shown = opened(
                text,
                if column == COLUMNS.len() - 2 {
                    &row.found
                } else {
                    ""
                },
            );
            let _ = write!(
                body,
                "<td class=\"{class}\" data-rank=\"{rank}\"{span}>{shown}</td>"
            );
        }
        body.push_str("</tr>\n");
    }
    let whole = rows
        .iter()
        .filter(|row| row.cells.last().is_some_and(|cell| cell.class.is_empty()))
        .count();
    let count = format!("{} templates, {whole} without a finding", rows.len());
    // The rows last: they may hold a name of these.
    PAGE.replace("{{count}}", &count)
        .replace("{{heads}}", &heads)
        .replace("{{rows}}", &body)
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
