//! The rules: what the template's own text says in one place, against what it says in another.
//!
//! No rule knows a template. Markers pair by their shape and by what the source has; a format is what the history writes.

use std::collections::BTreeSet;

use super::finding::{Finding, Rule, Shown};
use super::marker::{Marker, closing, is_near, markers, opening, says_open};
use super::skeleton::{ANSWER, CALLS, SYSTEM, Skeleton, USER, VALUE};
use super::{BOS, Case, EOS, Outcome};
use crate::proof::{Exam, Thinking};
use chatparse_jinja::{SourceParts, place};

/// A finding, and edits that may mend it, likely ones first.
pub struct Suspect {
    pub finding: Finding,
    pub edits: Vec<Edit>,
}

/// An edit that may mend a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Other texts for texts: each at one place, or all of them.
    Replace(Vec<(String, String)>),
    /// A text that is missing, somewhere behind the other one.
    Insert { text: String, behind: String },
    /// A filter that changes the case of a text is too much.
    Unfilter,
}

/// What the rules look at.
pub struct Facts<'f> {
    /// The source as its author wrote it.
    pub source: &'f str,
    pub parts: &'f SourceParts,
    pub skeleton: Option<&'f Skeleton>,
    pub cases: &'f [Case],
    /// The special tokens of the model's vocabulary; empty where unknown.
    pub special: &'f [String],
    /// Whether the template takes tools.
    pub tools: bool,
}

/// All findings, in the order of the rules.
pub fn suspects(facts: &Facts, exam: &mut Exam) -> Vec<Suspect> {
    let mut all = Vec::new();
    if let Some(skeleton) = facts.skeleton {
        let asked = Thinking::ALL.map(|thinking| exam.asked(thinking));
        let openings = asked.iter().filter_map(|asked| asked.as_ref().as_ref().ok());
        let openings: Vec<String> = openings.map(|asked| asked.prompts.opening.clone()).collect();
        pairs(facts, skeleton, &openings, &mut all);
        ends(facts, skeleton, &openings, &mut all);
        instruction(facts, skeleton, &mut all);
    }
    brackets(facts, exam, &mut all);
    if !facts.cases.is_empty() {
        thought(facts, exam, &mut all);
        other_opening(facts, exam, &mut all);
        calls(facts, exam, &mut all);
    }
    unknown_tokens(facts, &mut all);
    all.sort_by_key(|suspect| suspect.finding.rule);
    all
}

impl Facts<'_> {
    fn suspect(
        &self,
        rule: Rule,
        subject: &str,
        message: String,
        shown: [(&'static str, String); 2],
        edits: Vec<Edit>,
    ) -> Suspect {
        let stem = subject.strip_suffix('>').filter(|stem| !stem.is_empty()).unwrap_or(subject);
        let texts = self.parts.texts.iter();
        let places = texts.flat_map(|text| text.text.match_indices(stem).map(move |(at, _)| text.bytes(at..at).start));
        let places = match subject.is_empty() {
            true => Vec::new(),
            false => places.map(|at| place(self.source, at)).collect(),
        };
        let shown = shown.into_iter().map(|(from, text)| Shown { from, text }).collect();
        Suspect { finding: Finding { rule, message, subject: subject.to_owned(), places, shown, patch: None }, edits }
    }

    /// Whether the template has a marker of this kind, whatever its attributes.
    fn has(&self, kind: &str) -> bool {
        let stem = kind.strip_suffix('>').unwrap_or(kind);
        let names = |text: &str| {
            text.match_indices(stem)
                .any(|(at, _)| !text[at + stem.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        self.parts.texts.iter().any(|text| names(&text.text))
            || self.skeleton.is_some_and(|skeleton| names(&skeleton.text))
    }
}

/// Markers of the history that do not pair.
fn pairs(facts: &Facts, skeleton: &Skeleton, openings: &[String], all: &mut Vec<Suspect>) {
    let (Some(user), Some(answer)) = (skeleton.extent(USER), skeleton.extent(ANSWER)) else { return };
    let Some(next) = skeleton.extent(ANSWER + 1) else { return };
    let found = markers(&skeleton.text[..next.start]);
    // What opens the user's message stands right in front of it.
    let header = found.partition_point(|marker| marker.bytes.end <= user.start);
    let is_paired = |marker: &Marker| closing(&marker.kind).iter().any(|closing| facts.has(closing));
    let of_header = |last: &&Marker| is_paired(last) && !skeleton.text[last.bytes.end..user.start].contains("\n\n");
    let mut open: Vec<&Marker> = found[..header].last().into_iter().filter(of_header).collect();
    let mut unclosed: Vec<&Marker> = Vec::new();
    let turn_of_calls = skeleton.extent(CALLS);
    let behind_user = &found[header..];
    let in_calls = |marker: &&Marker| {
        turn_of_calls.as_ref().is_some_and(|calls| marker.bytes.start > user.end && marker.bytes.start <= calls.end)
    };
    let closes_tags = facts.parts.texts.iter().any(|text| text.text.contains("</"));
    let of_answer: Vec<Marker> = skeleton.before(ANSWER).into_iter().flat_map(markers).collect();
    let heads: Vec<Marker> = openings.iter().flat_map(|opening| markers(opening)).collect();
    let is_of_calls = |marker: &&Marker| {
        let closes = opening(&marker.kind).iter().any(|opening| facts.has(opening));
        in_calls(marker) && !closes && !of_answer.iter().chain(&heads).any(|other| other.kind == marker.kind)
    };
    let first_of_calls = behind_user.iter().find(is_of_calls).map(|marker| marker.bytes.clone());
    for marker in behind_user {
        if marker.is_closing()
            || !open.is_empty() && closes(&open, marker).is_some()
            || opening(&marker.kind).iter().any(|open| facts.has(open))
        {
            match closes(&open, marker) {
                Some(at) => unclosed.extend(open.drain(at..).skip(1)),
                // A turn may begin inside of a pair, as with reasoning that is never opened.
                None if turn_of_calls.as_ref().is_some_and(|calls| {
                    (calls.start..marker.bytes.start).len()
                        == VALUE.len_utf8() + white(&skeleton.text[calls.start + VALUE.len_utf8()..])
                }) => {}
                None if marker.is_closing() && !opening(&marker.kind).iter().any(|open| facts.has(open)) => {
                    let near: Vec<String> = unclosed
                        .iter()
                        .chain(&open)
                        .flat_map(|open| closing(&open.kind))
                        .filter(|closing| is_near(closing, &marker.kind))
                        .collect();
                    let mut edits: Vec<Edit> =
                        near.iter().map(|near| Edit::Replace(vec![(marker.kind.clone(), near.clone())])).collect();
                    edits.extend(
                        opening(&marker.kind)
                            .into_iter()
                            .take(1)
                            .map(|opening| Edit::Insert { text: opening, behind: String::new() }),
                    );
                    let message = format!("{} closes in the history, and nothing opens it.", marker.kind);
                    let known =
                        format!("no {} in the source", opening(&marker.kind).first().map_or("", String::as_str));
                    let shown = [("history", skeleton.shown(marker.bytes.clone())), ("source", known)];
                    all.push(facts.suspect(Rule::UnopenedMarker, &marker.kind, message, shown, edits));
                }
                None => {}
            }
            continue;
        }
        let paired = is_paired(marker);
        let is_tag = !marker.kind.contains(['|', '｜']) && marker.kind.starts_with('<');
        // A tag that ends one call and begins the next.
        let twice = !paired && is_tag && in_calls(&marker) && {
            let same: Vec<&Marker> =
                behind_user.iter().filter(in_calls).filter(|other| other.kind == marker.kind).collect();
            let meet = |pair: &[&Marker]| !skeleton.text[pair[0].bytes.end..pair[1].bytes.start].contains(VALUE);
            same.len() > skeleton.calls && same.windows(2).any(meet)
        };
        // A tag that begins the calls, where the template closes others.
        let begins = !paired && is_tag && closes_tags && first_of_calls.as_ref() == Some(&marker.bytes);
        let named = !paired && says_open(&marker.kind) && first_of_calls.as_ref() == Some(&marker.bytes);
        if paired || twice || begins || named {
            open.push(marker);
        }
    }
    // The next question's opening, and what stands behind the last answer.
    unclosed.extend(open.iter().filter(|marker| marker.bytes.start < answer.end));
    unclosed.sort_by_key(|marker| marker.bytes.start);
    let mut told = BTreeSet::new();
    for marker in unclosed {
        // A turn may have another end, as where a call is written.
        let same = found.iter().find(|other| other.kind == marker.kind && other.bytes.start > marker.bytes.start);
        let until = same.map_or(next.start, |same| same.bytes.start);
        if found.iter().any(|end| {
            (marker.bytes.end..until).contains(&end.bytes.start)
                && is_end(facts, end)
                && !end.is_closing()
                && opening(&end.kind).iter().all(|opening| !facts.has(opening))
        }) {
            continue;
        }
        if !told.insert(marker.kind.clone()) {
            continue;
        }
        let known = closing(&marker.kind).into_iter().find(|closing| facts.has(closing)).or_else(|| {
            let all = closing(&marker.kind);
            if says_open(&marker.kind) { all.into_iter().next_back() } else { all.into_iter().next() }
        });
        let Some(closer) = known else { continue };
        let again =
            found.iter().filter(|other| other.kind == marker.kind && other.bytes.start > marker.bytes.start).count()
                > 0;
        let message = match again {
            true => format!(
                "{} opens in the history and is not closed: behind it comes {} again.",
                marker.kind, marker.kind
            ),
            false => format!("{} opens in the history and is not closed.", marker.kind),
        };
        let mut edits = Vec::new();
        // A closer with a slip in it.
        for other in &found {
            let unknown = !opening(&other.kind).iter().any(|open| facts.has(open))
                && closing(&other.kind).iter().all(|close| !facts.has(close));
            let edit = Edit::Replace(vec![(skeleton.text[other.bytes.clone()].to_owned(), closer.clone())]);
            if other.bytes.start > marker.bytes.start
                && unknown
                && is_near(&other.kind, &closer)
                && !edits.contains(&edit)
            {
                edits.push(edit);
            }
        }
        let opener = &skeleton.text[marker.bytes.clone()];
        let heads = openings.iter().any(|opening| markers(opening).iter().any(|other| other.kind == marker.kind));
        if again && !heads && !opener.contains(VALUE) {
            edits.push(Edit::Replace(vec![(opener.to_owned(), closer.clone())]));
        }
        edits.extend(
            spaced(skeleton, marker, &closer)
                .into_iter()
                .map(|text| Edit::Insert { text, behind: stem(opener).to_owned() }),
        );
        let paired = facts.parts.texts.iter().find(|text| text.text.contains(&*closer));
        let elsewhere = match paired {
            Some(text) => around(&text.text, text.text.find(&*closer).unwrap_or(0)),
            None => format!("no {closer} in the source"),
        };
        let shown = [("history", skeleton.shown(marker.bytes.clone())), ("source", elsewhere)];
        all.push(facts.suspect(Rule::UnclosedMarker, &marker.kind, message, shown, edits));
    }
}

/// The last open marker that this one closes.
fn closes(open: &[&Marker], marker: &Marker) -> Option<usize> {
    open.iter().rposition(|open| closing(&open.kind).contains(&marker.kind))
}

/// The white space at the start of a text, in bytes.
fn white(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// A marker up to its first value.
fn stem(marker: &str) -> &str {
    marker.split(VALUE).next().unwrap_or(marker)
}

/// The closer with the white space that the instruction has around it, or the opener in the history.
fn spaced(skeleton: &Skeleton, opener: &Marker, closer: &str) -> Vec<String> {
    let text = &skeleton.text;
    let mut all = Vec::new();
    let found: Vec<Marker> = markers(text).into_iter().filter(|marker| marker.kind == closer).collect();
    for marker in &found {
        let (before, behind) = (&text[..marker.bytes.start], &text[marker.bytes.end..]);
        let lead = &before[before.trim_end().len()..];
        let trail = if behind.starts_with('\n') { "\n" } else { "" };
        for trail in [trail, ""] {
            let spaced = format!("{lead}{closer}{trail}");
            if !all.contains(&spaced) {
                all.push(spaced);
            }
        }
    }
    let behind = &text[opener.bytes.end..];
    let lead = &behind[..behind.len() - behind.trim_start().len()];
    let mirrored = format!("{lead}{closer}");
    if !all.contains(&mirrored) {
        all.push(mirrored);
    }
    all.sort_by_key(String::len);
    all.reverse();
    all.truncate(3);
    all
}

/// Brackets in a turn with calls whose values have none.
fn brackets(facts: &Facts, exam: &mut Exam, all: &mut Vec<Suspect>) {
    let Some(probe) = (0..exam.probes().len()).find(|&probe| exam.probes()[probe].calls() == 1) else { return };
    let case = exam.case(probe, Thinking::Off);
    let Ok(case) = &*case else { return };
    let Some(begin) = case.begin.filter(|_| !case.mute) else { return };
    let mut turn = case.rendered[begin..].to_owned();
    for marker in markers(&turn).into_iter().rev() {
        turn.replace_range(marker.bytes, "");
    }
    for (open, close) in [('{', '}'), ('[', ']'), ('(', ')')] {
        // Brackets of markers do not count.
        let beside =
            |at: usize| open == '[' && (turn[..at].ends_with(['<', '>']) || turn[at + 1..].starts_with(['<', '>']));
        let count = |c: char| turn.match_indices(c).filter(|(at, _)| !beside(*at)).count();
        let (opened, closed) = (count(open), count(close));
        if opened == closed || opened == 0 {
            continue;
        }
        let missing = if opened > closed { close } else { open };
        let message = format!("A call of the history has {opened} times {open} and {closed} times {close}.");
        let edits = vec![Edit::Insert { text: missing.to_string(), behind: String::new() }];
        let only = turn.chars().filter(|c| [open, close].contains(c)).collect();
        let mut suspect = facts.suspect(
            Rule::UnbalancedBracket,
            "",
            message,
            [("history", turn.clone()), ("its brackets", only)],
            edits,
        );
        suspect.finding.subject = missing.to_string();
        all.push(suspect);
    }
}

/// Messages without the end that others have.
fn ends(facts: &Facts, skeleton: &Skeleton, openings: &[String], all: &mut Vec<Suspect>) {
    let (Some(before_user), Some(behind_user)) = (skeleton.before(USER), skeleton.behind(USER)) else { return };
    let (Some(behind_calls), Some(before_answer)) = (skeleton.behind(CALLS), skeleton.before(ANSWER)) else { return };
    let Some(behind_answer) = skeleton.behind(ANSWER) else { return };
    let has = |text: &str, kind: &str| markers(text).iter().any(|marker| marker.kind == kind);
    let opens = |kind: &str| openings.iter().any(|opening| has(opening, kind));
    // What stands right in front of a question opens it.
    let heads = |kind: &str| markers(before_user).last().is_some_and(|last| last.kind == kind);
    let first = |text: &str, wanted: &dyn Fn(&Marker) -> bool| {
        let marker = markers(text).into_iter().find(|marker| !marker.is_closing() && wanted(marker))?;
        Some((tail(text, &marker), marker.kind))
    };
    let mut tell = |who: &str, (text, kind): (String, String), message: usize| {
        let missing = skeleton.extent(message).map_or(String::new(), |extent| skeleton.shown(extent));
        let other = skeleton.text.find(&*kind).map_or(String::new(), |at| skeleton.shown(at..at + kind.len()));
        let edits = [text, kind.clone()].map(|text| Edit::Insert { text, behind: String::new() });
        let message = format!("Messages end with {kind}, and {who} does not.");
        all.push(facts.suspect(
            Rule::MissingEnd,
            &kind,
            message,
            [("history", missing), ("elsewhere", other)],
            edits.into(),
        ));
    };
    // The system message and the question end with it: it stands between the two, behind any instruction.
    let begins = openings.iter().flat_map(|opening| markers(opening)).next();
    let opened =
        begins.as_ref().and_then(|begins| markers(behind_user).into_iter().find(|marker| marker.kind == begins.kind));
    let of_question = &behind_user[..opened.map_or(behind_user.len(), |opened| opened.bytes.start)];
    let of_system = &markers(before_user)[markers(before_user).len().saturating_sub(4)..];
    let in_system = |kind: &str| of_system.iter().any(|marker| marker.kind == kind);
    let shared = first(of_question, &|marker| !opens(&marker.kind) && !heads(&marker.kind) && in_system(&marker.kind));
    // A turn with calls ends with it, and it is of no pair.
    let alone =
        |marker: &Marker| is_end(facts, marker) && opening(&marker.kind).iter().all(|opening| !facts.has(opening));
    let of_calls =
        first(behind_calls, &alone).filter(|_| !markers(behind_answer).iter().any(|marker| is_end(facts, marker)));
    if let Some(end) = shared.or(of_calls)
        && !has(behind_answer, &end.1)
    {
        return tell("an answer", end, ANSWER);
    }
    // What closes a pair inside of the answer ends no message.
    let inside = |marker: &Marker| {
        let opening = opening(&marker.kind);
        opening.iter().any(|opening| facts.has(opening)) && !opening.iter().any(|opening| has(before_user, opening))
    };
    let Some(end) = first(behind_answer, &|marker| !heads(&marker.kind) && !inside(marker)) else { return };
    if has(before_user, &end.1) && !has(behind_user, &end.1) {
        tell("a question", end.clone(), USER);
    }
    // Where what opens the question is in front of it.
    let headed = markers(behind_answer).last().is_some_and(|last| last.kind != end.1 && heads(&last.kind));
    if headed && has(of_question, &end.1) && !has(before_user, &end.1) && !opens(&end.1) {
        tell("a system message", end.clone(), SYSTEM);
    }
    // Behind the results a new turn begins, so the one before has ended.
    let anew = begins.is_some_and(|begins| has(before_answer, &begins.kind));
    let opens_pair = |kind: &str| closing(kind).iter().any(|closing| facts.has(closing));
    let ends = |marker: &Marker| has(behind_answer, &marker.kind) && !heads(&marker.kind) && !opens_pair(&marker.kind);
    let ended = markers(behind_calls).iter().any(|marker| alone(marker) || ends(marker));
    let is_known = has(before_user, &end.1) || has(behind_user, &end.1) || end.1 == EOS;
    if anew && is_known && !ended {
        tell("a turn with calls", end, CALLS);
    }
}

/// A marker with the line break behind it.
fn tail(glue: &str, marker: &Marker) -> String {
    let behind = &glue[marker.bytes.end..];
    format!("{}{}", &glue[marker.bytes.clone()], if behind.starts_with('\n') { "\n" } else { "" })
}

/// Whether a marker ends something by itself, and opens nothing that closes.
fn is_end(facts: &Facts, marker: &Marker) -> bool {
    let kind = marker.kind.to_lowercase();
    let mut words = kind.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let only = words.clone().count() == 1;
    let says = words.any(|word| {
        matches!(word, "end" | "eot" | "eom" | "eos" | "s") || only && matches!(word, "call" | "calls" | "return")
    });
    says && closing(&marker.kind).iter().all(|closing| !facts.has(closing))
}

/// What the instruction says of calls, against the calls of the history.
fn instruction(facts: &Facts, skeleton: &Skeleton, all: &mut Vec<Suspect>) {
    let (Some(user), Some(calls)) = (skeleton.extent(USER), skeleton.extent(CALLS)) else { return };
    let told = &skeleton.text[..user.start];
    let history = &skeleton.text[user.start..];
    let calls_end = calls.end + skeleton.behind(CALLS).map_or(0, str::len);
    let of_calls = &skeleton.text[user.end..calls_end];
    let results = calls.end - user.end;
    let kinds = |text: &str| markers(text).into_iter().map(|marker| marker.kind).collect::<Vec<String>>();
    let (in_history, in_told) = (kinds(history), kinds(told));
    let of_answer: Vec<String> =
        skeleton.before(ANSWER).into_iter().chain(skeleton.behind(ANSWER)).flat_map(kinds).collect();
    let mut in_calls = kinds(&of_calls[..results]);
    // Behind the last value, only what closes.
    let closers = kinds(&of_calls[results..]).into_iter();
    in_calls.extend(
        closers.filter(|kind| opening(kind).iter().any(|opening| in_calls.contains(opening))).collect::<Vec<_>>(),
    );
    in_calls.retain(|kind| !of_answer.contains(kind));
    let mut marked = markers(told);
    marked.retain(|marker| ![BOS, EOS].contains(&&*marker.kind));
    let show = |marker: &Marker| skeleton.shown(marker.bytes.clone());
    let show_calls = || ("history", skeleton.shown(calls.clone()));
    let text_of = |marker: &Marker| {
        let text = &told[marker.bytes.clone()];
        if text == marker.kind { text.to_owned() } else { marker.kind.trim_end_matches('>').to_owned() }
    };
    let as_text = |marker: &Marker, kind: &str| match told[marker.bytes.clone()] == *marker.kind {
        true => kind.to_owned(),
        false => kind.trim_end_matches('>').to_owned(),
    };
    let unknown = |marker: &&Marker| !in_history.contains(&marker.kind);
    let other_than = |kind: &str, marker: &Marker, pairs: Vec<(String, String)>| {
        let message = format!("The instruction says {}, and the history writes {kind}.", marker.kind);
        let shown = [("instruction", show(marker)), show_calls()];
        facts.suspect(Rule::OtherInstruction, &marker.kind, message, shown, vec![Edit::Replace(pairs)])
    };
    let mut reported: Vec<String> = Vec::new();
    // A slip, or another marker where the history has its own.
    for marker in marked.iter().filter(unknown) {
        let partner = |kind: &String| {
            closing(kind)
                .iter()
                .chain(&opening(kind))
                .any(|other| in_told.contains(other) && in_history.contains(other))
        };
        let missing: Vec<&String> = in_calls.iter().filter(|kind| !in_told.contains(kind)).collect();
        let near = missing.iter().find(|kind| is_near(kind, &marker.kind));
        // The partner of a marker that stands there, if this one is of no pair.
        let lonely = closing(&marker.kind).iter().chain(&opening(&marker.kind)).all(|other| !in_told.contains(other));
        let shape = |kind: &str| (kind.starts_with("</"), kind.contains(['|', '｜']), kind.starts_with('['));
        let placed = |kind: &String| match closing(kind).iter().find(|closing| in_told.contains(closing)) {
            // The closer stands behind it, and nothing else opens there.
            Some(closer) => told[marker.bytes.end..].find(&**closer).is_some_and(|at| {
                !told[marker.bytes.end..][..at].contains(['\n', '<']) || in_calls.first() == Some(kind)
            }),
            None => marker.is_closing(),
        };
        let half =
            missing.iter().find(|kind| partner(kind) && lonely && shape(kind) == shape(&marker.kind) && placed(kind));
        if let Some(kind) = near.or(half)
            && !reported.contains(&marker.kind)
        {
            reported.push(marker.kind.clone());
            let mut pairs = vec![(text_of(marker), as_text(marker, kind))];
            // The partners with the same slip.
            for (from, to) in closing(&marker.kind).into_iter().zip(closing(kind)) {
                if in_told.contains(&from) && !in_history.contains(&from) && in_history.contains(&to) {
                    reported.push(from.clone());
                    pairs.push((from, to));
                }
            }
            all.push(other_than(kind, marker, pairs));
        }
    }
    // Another pair around an example.
    let outer = in_calls.iter().find(|kind| closing(kind).iter().any(|closing| in_calls.contains(closing)));
    if let Some(outer) = outer.filter(|outer| !in_told.contains(outer)) {
        let keys = keys(of_calls);
        for marker in marked.iter().filter(unknown) {
            let Some(closer) = marked.iter().rev().find(|other| {
                closing(&marker.kind).contains(&other.kind) && unknown(other) && other.bytes.start > marker.bytes.end
            }) else {
                continue;
            };
            let inside = &told[marker.bytes.end..closer.bytes.start];
            let shows = kinds(inside).iter().any(|kind| in_calls.contains(kind))
                || !keys.is_empty()
                    && keys.iter().all(|key| inside.contains(&format!("\"{key}\"")))
                    && !inside.contains(VALUE);
            let Some(end) = closing(outer).into_iter().find(|end| in_calls.contains(end)) else { continue };
            if shows && !reported.contains(&marker.kind) {
                reported.push(marker.kind.clone());
                let pairs = vec![(text_of(marker), as_text(marker, outer)), (closer.kind.clone(), end)];
                all.push(other_than(outer, marker, pairs));
            }
        }
    }
    // An example that does not end as the history does.
    let mut open: Vec<(&Marker, bool)> = Vec::new();
    for marker in marked.iter().filter(|marker| in_calls.contains(&marker.kind)) {
        let opens: Vec<&Marker> = open.iter().map(|(marker, _)| *marker).collect();
        match closes(&opens, marker) {
            Some(at) => open.truncate(at),
            None if closing(&marker.kind).iter().any(|closing| in_calls.contains(closing)) => {
                // In prose, a marker may be named alone.
                let in_prose = told[..marker.bytes.start].ends_with([' ', '`', '"', '\'', '“', '('])
                    || told[marker.bytes.end..].starts_with([' ', '`', '"', '\'', '”', ',', '.', ')']);
                open.push((marker, in_prose));
            }
            None => {}
        }
    }
    for (marker, _) in open.iter().filter(|(_, in_prose)| !in_prose) {
        if reported.contains(&marker.kind) {
            continue;
        }
        let Some(closer) = closing(&marker.kind).into_iter().find(|closing| in_calls.contains(closing)) else {
            continue;
        };
        let again = marked.iter().any(|other| other.kind == marker.kind && other.bytes.start > marker.bytes.start);
        if !again
            && !in_told.contains(&closer)
            && open.len() == 1
            && !told[marker.bytes.end..].contains(&in_calls[0])
            && !in_told.iter().any(|kind| kind.starts_with("</") && in_calls.contains(kind))
        {
            continue;
        }
        reported.push(marker.kind.clone());
        let message = format!("The example in the instruction does not close {}, and the history does.", marker.kind);
        let mut edits = vec![Edit::Replace(vec![(text_of(marker), closer.clone())])];
        edits.extend(
            spaced(skeleton, marker, &closer).into_iter().map(|text| Edit::Insert { text, behind: text_of(marker) }),
        );
        all.push(facts.suspect(
            Rule::OtherInstruction,
            &marker.kind,
            message,
            [("instruction", show(marker)), show_calls()],
            edits,
        ));
    }
    other_keys(facts, skeleton, told, of_calls, all);
    listed(facts, skeleton, told, of_calls, all);
}

/// The keys of JSON objects that the template writes by itself.
fn keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let parts: Vec<&str> = text.split('"').collect();
    for pair in parts.windows(2).skip(1) {
        let (key, behind) = (pair[0], pair[1]);
        let named = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if named
            && behind.trim_start().starts_with(':')
            && !matches!(key, "place" | "days")
            && !keys.iter().any(|known| known == key)
        {
            keys.push(key.to_owned());
        }
    }
    keys
}

/// An example object of the instruction that has other keys than the calls.
fn other_keys(facts: &Facts, skeleton: &Skeleton, told: &str, of_calls: &str, all: &mut Vec<Suspect>) {
    let of_history = keys(of_calls);
    if of_history.len() < 2 {
        return;
    }
    // Objects of one line, without values of the request.
    for line in told.lines().filter(|line| line.contains('{') && !line.contains(VALUE)) {
        let shown = keys(line);
        let known = of_history.iter().filter(|key| shown.contains(key)).count();
        let mut missing = of_history.iter().filter(|key| !shown.contains(key));
        let mut other = shown.iter().filter(|key| !of_history.contains(key));
        let (Some(missing), Some(other), None, true) = (missing.next(), other.next(), missing.next(), known > 0) else {
            continue;
        };
        if line.contains("\"properties\"") || line.contains("\"type\"") {
            continue;
        }
        let message =
            format!("The instruction names the key \"{other}\", and the calls of the history have \"{missing}\".");
        let at = skeleton.text.find(line).unwrap_or(0);
        let shown = [("instruction", skeleton.shown(at..at + line.len())), ("history", of_calls.replace(VALUE, "…"))];
        let edits = vec![Edit::Replace(vec![(format!("\"{other}\""), format!("\"{missing}\""))])];
        all.push(facts.suspect(Rule::OtherInstruction, &format!("\"{other}\""), message, shown, edits));
        return;
    }
}

/// An instruction that shows calls in a list, `[f(x=1)]`, and calls that are in none.
fn listed(facts: &Facts, skeleton: &Skeleton, told: &str, of_calls: &str, all: &mut Vec<Suspect>) {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let example = told.match_indices('[').find(|(at, _)| {
        let name = &told[at + 1..];
        let behind = name.trim_start_matches(word);
        let argument = behind.strip_prefix('(').map(|inside| inside.trim_start_matches(word));
        behind.len() < name.len() && argument.is_some_and(|argument| argument.starts_with('='))
    });
    let Some((at, _)) = example else { return };
    if !of_calls.contains(&format!("[{VALUE}(")) {
        let message = "The instruction shows calls in a list, as in [f(x=1)], and the history writes them otherwise.";
        let shown = [("instruction", skeleton.shown(at..at + 1)), ("history", of_calls.replace(VALUE, "…"))];
        let mut suspect = facts.suspect(Rule::OtherInstruction, "", message.to_owned(), shown, Vec::new());
        suspect.finding.subject = "[".into();
        all.push(suspect);
    }
}

/// A thought that the prompt opens, and that no turn shows.
fn thought(facts: &Facts, exam: &mut Exam, all: &mut Vec<Suspect>) {
    let (asked, case) = (exam.asked(Thinking::On), exam.case(0, Thinking::On));
    let (Ok(asked), Ok(case)) = (&*asked, &*case) else { return };
    let opening = &asked.prompts.opening;
    let Some(last) = markers(opening).pop().filter(|last| opening[last.bytes.end..].trim().is_empty()) else { return };
    let closers: Vec<String> = closing(&last.kind).into_iter().filter(|closing| facts.has(closing)).collect();
    let shows = case.omitted != Some("reasoning");
    let opens_all = [Thinking::On, Thinking::Off].map(|thinking| exam.asked(thinking));
    let forced = opens_all
        .iter()
        .all(|asked| asked.as_ref().as_ref().is_ok_and(|asked| asked.prompts.opening.trim_end().ends_with(&last.kind)));
    if shows || closers.is_empty() || case.rendered.contains(&last.kind) || !forced && case.begin.is_some() {
        return;
    }
    let turn = case.rendered.len() - case.rendered.len().min(opening.len() + 200);
    let border = (turn..case.rendered.len()).find(|at| case.rendered.is_char_boundary(*at)).unwrap_or(0);
    if closers.iter().any(|closer| case.rendered[border..].contains(&**closer)) {
        return;
    }
    let message = format!("The prompt ends with {}, and a turn with a thought shows none in the history.", last.kind);
    let shown = [("prompt", opening.clone()), ("history", case.rendered[border..].to_owned())];
    all.push(facts.suspect(Rule::UnseenThought, &last.kind, message, shown, Vec::new()));
}

/// A prompt that ends otherwise than turns of the history begin, by a slip.
fn other_opening(facts: &Facts, exam: &mut Exam, all: &mut Vec<Suspect>) {
    let begins = |exam: &mut Exam, thinking| matches!(&*exam.case(0, thinking), Ok(case) if case.begin.is_some());
    if Thinking::ALL.into_iter().any(|thinking| begins(exam, thinking)) {
        return;
    }
    for thinking in Thinking::ALL {
        let (asked, case) = (exam.asked(thinking), exam.case(0, thinking));
        let (Ok(asked), Ok(case)) = (&*asked, &*case) else { continue };
        let (prompt, rendered) = (&asked.prompts.prompt.prompt, &case.rendered);
        let shared = prompt.bytes().zip(rendered.bytes()).take_while(|(a, b)| a == b).count();
        let from = (0..=shared)
            .rev()
            .find(|&at| prompt.is_char_boundary(at) && prompt[at..].starts_with(['<', '[']))
            .unwrap_or(0);
        // The prompt's end, and as much of the turn.
        let expected = &prompt[from..];
        let (Some(got), false) = (rendered.get(from..), expected.len() > 200) else { continue };
        let mut lengths: Vec<usize> = (expected.len().saturating_sub(3)..=expected.len() + 3).collect();
        let same_end =
            |len: &usize| got.get(..*len).is_some_and(|got| got.chars().next_back() == expected.chars().next_back());
        lengths.sort_by_key(|len| !same_end(len));
        for len in lengths {
            let Some(got) = got.get(..len).filter(|got| is_near(got, expected)) else { continue };
            if closing(expected.trim()).contains(&got.trim().to_owned()) {
                continue;
            }
            let message = format!("The prompt ends with {expected:?}, and turns of the history begin with {got:?}.");
            let shown = [
                ("prompt", expected.to_owned()),
                ("history", rendered[from..].chars().take(expected.len() + 40).collect()),
            ];
            let (wrong, right) = slip(expected, got);
            let edits = vec![
                Edit::Replace(vec![(expected.to_owned(), got.to_owned())]),
                Edit::Replace(vec![(wrong.to_owned(), right.to_owned())]),
            ];
            let mut suspect = facts.suspect(Rule::OtherOpening, "", message, shown, edits);
            suspect.finding.subject = wrong.to_owned();
            match all.iter_mut().find(|other| other.finding.rule == Rule::OtherOpening) {
                Some(other) => other.edits.extend(suspect.edits),
                None => all.push(suspect),
            }
        }
    }
}

/// The words in which two texts differ.
fn slip<'t>(a: &'t str, b: &'t str) -> (&'t str, &'t str) {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '|' | '<' | '>' | '/' | '｜' | '▁');
    let before = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let before = (0..=before).rev().find(|&at| a.is_char_boundary(at) && b.is_char_boundary(at)).unwrap_or(0);
    let start = before - a[..before].chars().rev().take_while(|c| word(*c)).map(char::len_utf8).sum::<usize>();
    let end = |text: &str| text[before..].find(|c| !word(c)).map_or(text.len(), |at| before + at);
    (&a[start..end(a)], &b[start..end(b)])
}

/// Calls that do not show, or not as they are.
fn calls(facts: &Facts, exam: &mut Exam, all: &mut Vec<Suspect>) {
    let calls: Vec<usize> = (0..exam.probes().len()).filter(|&probe| exam.probes()[probe].calls() > 0).collect();
    let names: Vec<&str> = calls.iter().map(|&probe| exam.probes()[probe].name).collect();
    let cases: Vec<&Case> = facts.cases.iter().filter(|case| names.contains(&case.probe)).collect();
    if !facts.tools {
        return;
    }
    let refused = cases.iter().filter(|case| matches!(case.outcome, Outcome::Refused(_))).count();
    if refused > 0 && refused == cases.len() || exam.asked(Thinking::On).is_err() {
        return;
    }
    if cases.iter().all(|case| matches!(case.outcome, Outcome::Omitted("calls") | Outcome::Refused(_))) {
        let prompt = exam
            .asked(Thinking::On)
            .as_ref()
            .as_ref()
            .map_or(String::new(), |asked| asked.prompts.prompt.prompt.clone());
        let turn = exam.case(calls.first().copied().unwrap_or(0), Thinking::On);
        let turn = turn.as_ref().as_ref().map_or(String::new(), |case| case.rendered.clone());
        let end =
            |text: String| text.chars().rev().take(160).collect::<Vec<char>>().into_iter().rev().collect::<String>();
        let shown = [("prompt", end(prompt)), ("history", end(turn))];
        let message = "The template takes tools, and shows nothing of a call in the history.".to_owned();
        all.push(facts.suspect(Rule::HiddenCalls, "", message, shown, Vec::new()));
        return;
    }
    // A name in another case.
    for &probe in &calls {
        let case = exam.case(probe, Thinking::Off);
        let Ok(case) = &*case else { continue };
        let Some(begin) = case.begin else { continue };
        let turn = &case.rendered[begin..];
        let changed = case
            .whole
            .tool_calls
            .iter()
            .find(|call| !turn.contains(&call.name) && turn.to_lowercase().contains(&call.name.to_lowercase()));
        if let Some(call) = changed {
            let message = format!("The call of {} is written under a name in another case.", call.name);
            let shown = [("request", call.name.clone()), ("history", turn.to_owned())];
            all.push(facts.suspect(Rule::ChangedName, "", message, shown, vec![Edit::Unfilter]));
            return;
        }
    }
    let back = cases.iter().any(|case| {
        matches!(
            case.outcome,
            Outcome::Survives | Outcome::Spaced(_) | Outcome::Rewritten(_) | Outcome::Omitted("content" | "reasoning")
        )
    });
    let lost = cases.iter().find(|case| matches!(case.outcome, Outcome::Lost { .. }));
    if let (false, Some(lost)) = (back, lost)
        && let Outcome::Lost { got, .. } = &lost.outcome
    {
        let message = "The template takes tools, and no call that it writes is read back.".to_owned();
        let shown = [("history", lost.turn.clone()), ("read as", got.clone())];
        all.push(facts.suspect(Rule::UnreadCalls, "", message, shown, Vec::new()));
    }
}

/// Special tokens that the vocabulary does not have.
fn unknown_tokens(facts: &Facts, all: &mut Vec<Suspect>) {
    if facts.special.is_empty() {
        return;
    }
    let mut told = BTreeSet::new();
    for text in &facts.parts.texts {
        for marker in markers(&text.text) {
            let token = &text.text[marker.bytes.clone()];
            let barred = ["<|", "<｜"].iter().any(|open| token.starts_with(open))
                || ["|>", "｜>"].iter().any(|close| token.ends_with(close));
            if !barred
                || token.contains(['=', ' '])
                || facts.special.iter().any(|known| known == token)
                || !told.insert(token.to_owned())
            {
                continue;
            }
            let near: Vec<&String> = facts.special.iter().filter(|known| is_near(known, token)).collect();
            let message = format!("The template writes {token}, and the vocabulary does not have it.");
            let known = near.first().map_or_else(
                || format!("{} special tokens, none like it", facts.special.len()),
                |near| (*near).clone(),
            );
            let shown = [("template", around(&text.text, marker.bytes.start)), ("vocabulary", known)];
            let edits = near.iter().map(|near| Edit::Replace(vec![(token.to_owned(), (*near).clone())])).collect();
            all.push(facts.suspect(Rule::UnknownToken, token, message, shown, edits));
        }
    }
}

/// A text around a place.
fn around(text: &str, at: usize) -> String {
    const CHARS: usize = 40;
    let before: Vec<char> = text[..at].chars().rev().take(CHARS).collect();
    before.into_iter().rev().chain(text[at..].chars().take(CHARS)).collect()
}
