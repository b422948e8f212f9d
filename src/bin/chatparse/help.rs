//! The help texts, made from the tables of the commands.

use std::io::{self, Write};

use crate::args::{COMMON, Command, Count, Opt};
use crate::screen::Screen;
use crate::text::wrapped;

/// A description of the program, for the general help and the manual page.
pub const ABOUT: &str = "chatparse learns how a language model writes from its chat template, renders prompts with it, and reads \
                         what the model writes.";

/// Notes for all commands.
pub const NOTES: &str = "\
Without a command it shows all of this once on an example.

TEMPLATE is a Jinja file, a tokenizer_config.json or chat_template.json with a template in it, or the name of a built-in \
template. REQUEST is the JSON body of a chat-completions request. `-` stands for standard input.

Lines are as wide as the terminal, or as wide as COLUMNS.";

/// The exit statuses.
pub const EXIT: &str = "0 success, 1 failure, 2 wrong usage, 3 an output that --fail-on names";

pub const EXAMPLES: &[&str] = &[
    "chatparse",
    "chatparse inspect json-call",
    "chatparse parse json-call request.json output.txt",
    "chatparse help parse",
];

/// The general help.
pub fn general(commands: &[&Command], screen: &mut Screen) -> io::Result<()> {
    paragraphs(ABOUT, screen)?;
    writeln!(screen, "\nusage: chatparse [--color WHEN] COMMAND ...\n")?;
    let rows: Vec<(String, &str)> = commands.iter().map(|command| (synopsis(command), command.about)).collect();
    table(&rows, screen)?;
    writeln!(screen)?;
    paragraphs(NOTES, screen)?;
    writeln!(screen, "\noptions:")?;
    let mut rows: Vec<(String, &str)> = COMMON.iter().map(|option| (option_name(option), option.about)).collect();
    rows.push(("--version".to_owned(), "the version; also -V"));
    table(&rows, screen)?;
    writeln!(screen)?;
    paragraphs(&format!("exit status: {EXIT}."), screen)?;
    examples(EXAMPLES, screen)
}

/// The help of one command.
pub fn of(command: &Command, screen: &mut Screen) -> io::Result<()> {
    for line in usage(command) {
        writeln!(screen, "{line}")?;
    }
    writeln!(screen)?;
    paragraphs(command.text, screen)?;
    if !command.words.is_empty() {
        writeln!(screen, "\narguments:")?;
        let rows: Vec<_> = command.words.iter().map(|word| (word.name.to_owned(), word.about)).collect();
        table(&rows, screen)?;
    }
    writeln!(screen, "\noptions:")?;
    let rows: Vec<_> = command.options().map(|option| (option_name(option), option.about)).collect();
    table(&rows, screen)?;
    writeln!(screen)?;
    paragraphs(&format!("exit status: {}.", command.exit), screen)?;
    examples(command.examples, screen)
}

/// The forms of a command line, one per line.
pub fn usage(command: &Command) -> Vec<String> {
    match command.usage {
        [] => vec![format!(
            "chatparse {}",
            synopsis(command).replacen(command.name, &format!("{} [OPTIONS]", command.name), 1)
        )],
        lines => lines.iter().map(|line| format!("chatparse {} {line}", command.name)).collect(),
    }
}

/// A command with its words.
fn synopsis(command: &Command) -> String {
    let words = command.words.iter().map(|word| match word.count {
        Count::Once => format!(" {}", word.name),
        Count::Maybe => format!(" [{}]", word.name),
        Count::Many => format!(" {}...", word.name),
    });
    [command.name.to_owned()].into_iter().chain(words).collect()
}

/// An option with the name of its value.
pub fn option_name(option: &Opt) -> String {
    match option.value {
        Some((value, _)) => format!("{} {value}", option.name),
        None => option.name.to_owned(),
    }
}

fn examples(lines: &[&str], screen: &mut Screen) -> io::Result<()> {
    writeln!(screen, "\nexamples:")?;
    lines.iter().try_for_each(|line| writeln!(screen, "  {line}"))
}

/// The rows of a paragraph that is a table: names and descriptions, separated by two spaces.
pub fn rows(paragraph: &str) -> Option<Vec<(String, &str)>> {
    let rows = paragraph.lines().map(|line| {
        let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
        Some((name.to_owned(), about.trim_start()))
    });
    rows.collect()
}

/// Paragraphs, wrapped; one that begins with two spaces is a table.
fn paragraphs(text: &str, screen: &mut Screen) -> io::Result<()> {
    for (index, paragraph) in text.split("\n\n").enumerate() {
        if index > 0 {
            writeln!(screen)?;
        }
        match rows(paragraph) {
            Some(rows) => table(&rows, screen)?,
            None => wrapped(paragraph, screen.width()).iter().try_for_each(|line| writeln!(screen, "{line}"))?,
        }
    }
    Ok(())
}

/// Prints names, and descriptions wrapped in a column.
pub fn table(rows: &[(String, &str)], screen: &mut Screen) -> io::Result<()> {
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let margin = (widest + 4).min(screen.width() / 2);
    for (name, about) in rows {
        let mut lines = wrapped(about, screen.width() - margin).into_iter();
        // A name that is too long gets a separate line.
        if name.len() + 4 > margin {
            writeln!(screen, "  {name}")?;
        } else {
            writeln!(screen, "  {name:width$}{}", lines.next().unwrap_or_default(), width = margin - 2)?;
        }
        lines.try_for_each(|line| writeln!(screen, "{:margin$}{line}", ""))?;
    }
    Ok(())
}
