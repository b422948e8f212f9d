//! `man`: prints the manual page, made from the tables of the commands.

use std::io::Write as _;

use crate::COMMANDS;
use crate::args::{Args, COMMON, Command, Opt};
use crate::help;

pub const COMMAND: Command = Command {
    name: "man",
    about: "print the manual page",
    usage: &[],
    text: "Prints the manual page: the help of all commands, for man. Packages install it.",
    words: &[],
    options: &[],
    exit: "0 success, 1 failure, 2 wrong usage",
    examples: &["chatparse man > ~/.local/share/man/man1/chatparse.1", "chatparse man | man -l -"],
    run: |_: &Args, screen| Ok(screen.write_all(page().as_bytes())?),
};

/// The environment variables for colours and widths.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "if set and not empty, turns colours off, unless --color is given"),
    ("TERM", "a terminal called dumb gets no colours"),
    ("COLUMNS", "the width of lines; by default the terminal's"),
];

fn page() -> String {
    let mut page =
        Page(format!(".TH CHATPARSE 1 \"\" \"chatparse {}\" \"User Commands\"\n", env!("CARGO_PKG_VERSION")));
    page.section("NAME");
    page.line("chatparse - prompts from chat templates, and messages from what models write");
    page.section("SYNOPSIS");
    page.line("chatparse [--color WHEN] COMMAND ...");
    page.section("DESCRIPTION");
    page.paragraphs(&format!("{}\n\n{}", help::ABOUT, help::NOTES));
    page.section("OPTIONS");
    page.options(COMMON.iter());
    page.item("--version", "the version; also -V");
    page.section("COMMANDS");
    for command in COMMANDS {
        page.0 += &format!(".SS {}\n", command.name);
        page.as_it_is(&help::usage(command));
        page.0 += ".PP\n";
        page.paragraphs(command.text);
        for word in command.words {
            page.item(word.name, word.about);
        }
        page.options(command.options.iter().copied().flatten());
        page.0 += ".PP\n";
        page.line(&format!("Exit status: {}.", command.exit));
        page.0 += ".PP\n";
        page.as_it_is(command.examples);
    }
    page.section("EXIT STATUS");
    page.line(help::EXIT);
    page.section("ENVIRONMENT");
    for (name, about) in ENVIRONMENT {
        page.item(name, about);
    }
    page.section("EXAMPLES");
    page.as_it_is(help::EXAMPLES);
    page.0
}

/// A page in the roff of man(7).
struct Page(String);

impl Page {
    fn section(&mut self, title: &str) {
        self.0 += &format!(".SH {title}\n");
    }

    /// Running text.
    fn line(&mut self, text: &str) {
        // A dot or an apostrophe at the beginning of a line would be a request.
        let guard = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
        self.0 += &format!("{guard}{}\n", text.replace('\\', "\\e").replace('-', "\\-"));
    }

    /// Lines that are not filled.
    fn as_it_is(&mut self, lines: &[impl AsRef<str>]) {
        self.0 += ".RS 4\n.nf\n";
        lines.iter().for_each(|line| self.line(line.as_ref()));
        self.0 += ".fi\n.RE\n";
    }

    fn paragraphs(&mut self, text: &str) {
        for (index, paragraph) in text.split("\n\n").enumerate() {
            if index > 0 {
                self.0 += ".PP\n";
            }
            match help::rows(paragraph) {
                Some(rows) => rows.iter().for_each(|(name, about)| self.item(name, about)),
                None => self.line(&paragraph.split_whitespace().collect::<Vec<_>>().join(" ")),
            }
        }
    }

    fn item(&mut self, name: &str, about: &str) {
        self.0 += ".TP\n";
        self.line(name);
        self.line(about);
    }

    fn options<'a>(&mut self, options: impl Iterator<Item = &'a Opt>) {
        options.for_each(|option| self.item(&help::option_name(option), option.about));
    }
}
