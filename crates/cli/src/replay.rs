//! `replay`: reads scenarios as JSON lines, and prints their answers as JSON lines.

use chatparse_judge::Judge;

use crate::failure::Outcome;
use crate::input;
use crate::screen::Screen;

/// Answer recorded scenarios, one JSON object a line
///
/// Reads scenarios from standard input, one JSON object per line, and prints a
/// JSON line for each. A scenario describes the work of a server: render this
/// request with this template, and parse these outputs. Two versions or programs
/// can be compared by replaying the same scenarios.
///
/// A scenario has `id`, `template` (a file) or `template_source`, `bos`, `eos`
/// and `request`, and may have
///
///   outputs            texts, or objects with `text`, `partial`, `step` and
///                      `special`, the spans that came from special tokens
///   special_tokens     their texts: if given, bytes outside of these spans are
///                      text
///   timeline           false: without the deltas of each step of an output
///   strict             true: an output that does not match the template's format
///                      is an error
///   want_caps          true: the template's capabilities
///   learn_only         true: use no knowledge of families of templates
///   response_template  a response template that the outputs are read by
///   plain              true: the template gets the request unchanged
///   api                "responses" or "messages", if the request is of that API
///   defaults           "library": what the request does not say has the
///                      library's default, not llama.cpp's
///   faithful           true: the grammar holds what the schemas say, and
///                      `params.report` says where not
///   want_segments      true: the origin of each byte of the prompt, and what
///                      want_mask gives
///   want_mask          true: in `mask` the bytes of the prompt that models wrote
///
/// The answer has the `id` and `params`, and `parses` with a message, its status
/// and what each step of the output added to it; or `error`. A scenario with a
/// JSON `schema` instead of a template is answered with its `grammar`. With
/// `dialects: true` the answer has the grammar in all `dialects`, each with
/// `text` and `report`, or `error`. `accepts` lists whether the grammar allows
/// each of the `texts`, or of the outputs (null if a pattern decides where it
/// starts).
#[derive(clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit status: 0 all lines were answered, 1 standard input cannot be read, 2 wrong usage

Examples:
  chatparse replay < scenarios.jsonl > results.jsonl"
)]
pub struct Replay {}

pub fn run(screen: &mut Screen) -> Outcome {
    let mut judge = Judge::default();
    input::lines("-".as_ref(), |line| {
        if !line.trim().is_empty() {
            writeln!(screen, "{}", judge.answer(line));
            screen.flush()?;
        }
        Ok(())
    })
}
