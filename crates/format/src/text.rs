//! The content of a turn: text up to what ends it, and what that is.

use crate::rules::calls::members_before_name;
use crate::rules::thought::LATE_THOUGHT;
use crate::rules::turn::{CONTENT, CONTENT_OPEN, LATE_TEXT, TEXT_AGAIN};

use super::calls::{learnt as calls, order};
use super::coverage;
use super::glue::{any_space, as_written, heads, is_strong, split_space};
use super::learnt::UNLISTED_FRONT;
use super::sites::Writer;
use super::wrappers;
use chatparse_base::brackets;
use chatparse_learn::analysis::turn::{
    CallPiece, Glue,
    SlotKind::{Call, Content, End, Prompt, Reasoning},
};
use chatparse_peg::ExprId;

impl Writer<'_> {
    /// The markers that end a text before calls.
    pub fn marks_of_calls(&self) -> &[String] {
        self.marks_of_calls.get_or_init(|| {
            self.marks_of(|glue| !self.has_thought(glue) && !self.begins_turn(glue))
        })
    }

    /// The markers of those calls whose glue in front is `such`.
    fn marks_of(&self, such: impl Fn(&Glue) -> bool) -> Vec<String> {
        let named = self.turn.calls_begin_with_names();
        let marker = self.marker().trim();
        let glues = self.openings().iter().filter(|glue| such(glue));
        let marks = glues.flat_map(|glue| {
            match glue.head().find(marker) {
                // What is between the marker and the name may differ.
                Some(at) if !(named && self.p.prefix.is_empty() || marker.is_empty()) => {
                    heads(&glue.up_to(at + marker.len()))
                }
                // Text may begin as a call does.
                _ if named && is_strong(glue) && self.begins_content(glue) => {
                    let names = self
                        .spec
                        .tools()
                        .iter()
                        .map(|tool| glue.and(&Glue::from(&*tool.name)));
                    names.flat_map(|call| heads(&call)).collect()
                }
                _ => calls::heads(self.turn, glue, self.spec),
            }
        });
        self.p.spelled(marks)
    }

    /// What opens the content of a turn.
    pub fn before_content(&self) -> impl Iterator<Item = &Glue> {
        self.turn.glues([Prompt, Reasoning], Content)
    }

    /// Whether what is before content begins with this glue.
    fn begins_content(&self, glue: &Glue) -> bool {
        let start = glue.head().trim_start();
        !start.is_empty() && self.before_content().any(|glue| glue.begins_with(start))
    }

    /// What calls without the markers around all calls have before their names, and those markers:
    /// other white space may be after them.
    pub fn marks_of_bare_calls(&self) -> Vec<String> {
        let Some(open) = self.bare_open() else {
            return Vec::new();
        };
        let outer = self
            .before_first_call()
            .iter()
            .filter_map(|glue| self.p.first_tag(glue));
        self.p.spelled(
            outer
                .chain(self.family_of_markers())
                .chain([open.head()])
                .flat_map(|mark| {
                    [mark, mark.strip_prefix(&*self.p.prefix).unwrap_or(mark)].map(str::to_owned)
                }),
        )
    }

    /// Text up to calls or one of `ends`.
    pub fn text(&self, ends: Vec<String>) -> ExprId {
        self.text_up_to([self.marks_of_calls(), &ends].concat())
    }

    fn text_up_to(&self, stops: Vec<String>) -> ExprId {
        let p = self.p;
        let (opens, cut) = self.opening_at_end();
        if self.bare_open().is_none() {
            return self.plain_text(&stops, opens, cut);
        }
        let freely = self.spec.is_own();
        // A token that nobody writes is none.
        let marked = brackets::begins_token(self.call_open.head().trim_start())
            || freely && !p.prefix.is_empty();
        let alone = p.only_read(true, p.and(self.announced_call()));
        if !self.tolerances.bare_calls && !marked {
            // After other text, a text that looks like a call is a part of that.
            return p.choice([alone, self.plain_text(&stops, opens, cut)]);
        }
        // The white space before the call is the template's.
        let glues = self.before_first_call();
        let freely = self.tolerances.bare_calls || freely;
        let others = ["", "\n", " "].into_iter().take(if freely { 2 } else { 3 });
        let spaces =
            chatparse_base::sort::set(glues.iter().map(|glue| split_space(glue).0).chain(others));
        let mut marks = stops.clone();
        for mark in self.marks_of_bare_calls() {
            marks.extend(spaces.iter().map(|space| [space, &*mark].concat()));
        }
        let text = if freely {
            let call = self.announced_call();
            let stop = p.choice([call, p.any_of(&stops), cut]);
            wrappers::text_before_calls(
                p,
                &marks,
                stop,
                self.spec.extract_reasoning().then_some(call),
            )
        } else {
            let apart = p.and(p.one_of(&[('\t', '\r'), (' ', ' ')]));
            let call = p.sequence([apart, self.announced_call()]);
            let stop = p.choice([call, p.any_of(&stops), cut]);
            let more = [p.not(stop), p.any(), p.until_marker(&stops)];
            let run = p.until_marker(&marks);
            p.content(p.sequence([run, p.optional(p.sequence(more))]))
        };
        let text = p.only_read(true, text);
        // A grammar has no mark of such a call in the text. llama.cpp's have.
        let written = if self.spec.is_faithful() {
            marks
        } else {
            stops
        };
        p.choice([alone, text, p.content(p.until_marker(written))])
    }

    /// Text up to one of `stops`. `opens` and `cut`: the opening of calls at the end of the output.
    fn plain_text(&self, stops: &[String], opens: Vec<String>, cut: ExprId) -> ExprId {
        let (p, marks) = (self.p, self.marks_of_calls());
        let mut at_once = self.marks_of(|glue| self.has_thought(glue));
        if self.callable {
            at_once.extend(calls::unannounced_heads(self.turn));
        }
        let mut ways = Vec::new();
        if !at_once.is_empty() {
            ways.push(p.only_read(true, p.and(p.any_of(&at_once))));
        }
        ways.extend(p.ways(CONTENT, |way| way(p, marks)));
        let words: Vec<String> = stops.iter().filter_map(|mark| first_word(mark)).collect();
        let freely = self.spec.is_own();
        if (freely || !words.is_empty()) && !marks.is_empty() {
            let (sections, unmarked) = self.section_without_marker();
            let (headers, header) = self.up_to_header();
            let calls = p.any_of(marks.iter().map(|mark| mark.trim_start()));
            let texts = [stops, &opens, &sections, &headers, &words].concat();
            let stop = p.choice([p.any_of(stops), cut, unmarked, header]);
            let text = wrappers::text_before_calls(
                p,
                &texts,
                stop,
                self.spec.extract_reasoning().then_some(calls),
            );
            ways.push(p.only_read(true, text));
        }
        ways.push(p.content(p.until_marker(stops)));
        p.choice(ways)
    }

    /// Calls with their members in another order, up to the name.
    fn other_orders(&self) -> Vec<ExprId> {
        let p = self.p;
        let mut ways = Vec::new();
        for (open, turn) in order::others(self.turn, &self.call_open, &self.wrapper_close) {
            for outer in self.outers().flatten() {
                let mut parts = vec![p.glue(&outer.and(&open).trim_start())];
                for piece in turn.calls.iter().take(1).flat_map(|form| &form.pieces) {
                    parts.push(match piece {
                        CallPiece::Glue(text) => p.glue(text),
                        CallPiece::Id => p.string_body(b'"'),
                        CallPiece::Name => break,
                        _ => return ways,
                    });
                }
                ways.push(p.sequence(parts.into_iter().chain([self.named_call()])));
            }
        }
        ways
    }

    /// What opens calls, where the output ends after or inside of it: the markers that it begins
    /// with, and all of it. Such an output was cut off.
    fn opening_at_end(&self) -> (Vec<String>, ExprId) {
        let p = self.p;
        let read = self.spec.is_own();
        let opens = self
            .openings()
            .iter()
            .filter(|glue| read && is_strong(glue) && glue.is_literal())
            .filter_map(|glue| {
                let first = glue.marker_spans().into_iter().next()?;
                let (open, rest) = (
                    glue.head()[..first.end].trim_start(),
                    &glue.head()[first.end..],
                );
                if !brackets::is_marker(open) {
                    return None;
                }
                let rest = p.each_optional(rest);
                Some((open.to_owned(), p.sequence([p.marker(open), rest])))
            });
        let (opens, ways): (Vec<_>, Vec<_>) = opens.unzip();
        (opens, p.spaced([p.choice(ways), p.end()]))
    }

    /// The marker around all calls, where a call without its own marker follows.
    fn section_without_marker(&self) -> (Vec<String>, ExprId) {
        let p = self.p;
        let inner = self
            .turn
            .marker_in_calls(&self.call_open)
            .filter(|_| self.callable);
        let sections: Vec<String> = inner
            .iter()
            .flat_map(|_| self.outers().flatten())
            .filter_map(|outer| outer.first_marker().map(str::to_owned))
            .collect();
        let head = coverage::any_word(p);
        let unmarked = p.spaced([p.any_of(&sections), head, p.any_of(inner)]);
        (sections, unmarked)
    }

    /// What ends messages before others, where each part of a turn is one.
    fn message_ends(&self) -> Vec<Glue> {
        let opening = self.turn.opening.trim();
        let ends = self
            .turn
            .edges
            .iter()
            .filter_map(|edge| Some(edge.glue.up_to(edge.glue.head().find(opening)?)));
        ends.filter(is_strong).collect()
    }

    /// The end of a message, which may be missing, and one of these beginnings of another.
    pub fn next_message(&self, begins: impl IntoIterator<Item = ExprId>) -> Option<ExprId> {
        let (p, ends) = (self.p, self.message_ends());
        let end = p.optional(p.choice(ends.iter().map(|end| p.glue(end))));
        (!ends.is_empty()).then(|| p.sequence([end, p.choice(begins)]))
    }

    /// What opens content in messages of their own.
    fn message_openings(&self) -> impl Iterator<Item = ExprId> {
        let opens = self.turn.glues([Reasoning], Content);
        let opening = self.turn.opening.trim();
        let opens = opens.filter(move |open| is_strong(open) && open.begins_with(opening));
        opens.map(|open| self.content_open(open))
    }

    /// More content, in a message of its own.
    pub fn message(&self, text: ExprId) -> Option<ExprId> {
        Some(
            self.p
                .sequence([self.next_message(self.message_openings())?, text]),
        )
    }

    /// What ends a text because another message begins: the texts that this begins with, and up to
    /// its header.
    fn up_to_header(&self) -> (Vec<String>, ExprId) {
        let (p, opening) = (self.p, self.turn.opening.trim());
        let ends = self.message_ends();
        let texts = ends.iter().flat_map(heads).chain([opening.to_owned()]);
        let mut begins: Vec<ExprId> = self.message_openings().collect();
        begins.extend(self.reasoning_again());
        if let Some(marker) = calls::announced(self.turn)
            .as_ref()
            .and_then(Glue::first_marker)
        {
            let calls = self.before_first_call().iter().map(Glue::trim_start);
            let word = coverage::any_word(p);
            let calls = calls.filter(|call| call.head().starts_with(opening));
            begins.extend(calls.map(|call| p.sequence([p.glue(&call), word, p.marker(marker)])));
        }
        // A thought that is content has its markers.
        let apart = self.spec.is_own() && (self.thought.is_none() || self.reads_thoughts());
        let next = self.next_message(begins).filter(|_| apart);
        next.map_or_else(|| (Vec::new(), p.never()), |next| (texts.collect(), next))
    }

    /// What opens content, unless it is what opens calls: they may differ after white space alone.
    fn content_open(&self, open: &Glue) -> ExprId {
        let (p, start) = (self.p, open.core());
        let calls = self.openings().iter().map(Glue::trim_start);
        let calls = calls
            .filter(|call| !start.is_empty() && call.head().starts_with(start) && is_strong(call));
        let calls = p
            .any_way(calls.map(|call| p.glue(&call)))
            .map(|call| p.not(p.after_space(call)));
        p.sequence([
            calls,
            Some(p.or(p.glue(open), CONTENT_OPEN, |way| way(self, open))),
        ])
    }

    /// The markers that end the last text of a turn.
    pub fn marks_of_end(&self) -> Vec<String> {
        let closes: Vec<String> = self.turn.glues([Content], End).flat_map(heads).collect();
        // Content that has a closer may lack it before the end of the turn, as far as that is no
        // token of its own.
        let (turn, _) = self.turn.end.before_last_marker();
        let turn = Some(&turn).filter(|turn| !closes.is_empty() && is_strong(turn));
        let spelled = self.tolerances.spelled_end.then_some(&self.turn.end);
        let ends: Vec<String> = turn.into_iter().chain(spelled).flat_map(heads).collect();
        [closes, ends].concat()
    }

    pub fn content(&self) -> ExprId {
        let p = self.p;
        let begun = self.spec.opening.begun_content().is_some();
        if self.thought.is_some() && !self.reads_thoughts() && !begun {
            // The marker of content is none of the content's, whatever reasoning is in front.
            let end = self.thought.map_or("", |thought| thought.close.core());
            let marked: Vec<&Glue> = self
                .before_content()
                .filter(|glue| is_strong(glue) && !glue.head().contains(end))
                .collect();
            // As in llama.cpp, one that begins a message of its own is.
            let opening = self.opening.trim();
            let apart =
                !opening.is_empty() && marked.iter().any(|glue| glue.head().contains(opening));
            if marked.is_empty() || apart {
                return self.text(Vec::new());
            }
            let ends = marked
                .iter()
                .flat_map(|glue| heads(glue))
                .chain(self.marks_of_calls().to_vec());
            let before = p.content(p.until_marker(ends));
            let marker = p.choice(marked.iter().map(|open| p.glue(open)));
            return p.sequence([
                before,
                p.optional(p.sequence([marker, self.text(self.marks_of_end())])),
            ]);
        }
        let (stops, mut ends) = (self.marks_of_calls(), self.marks_of_end());
        ends.extend(self.section().map(|section| section.concat()));
        let late = self.thought.filter(|thought| {
            (self.tolerances.late_thoughts || thought.is_special()) && self.spec.extract_reasoning()
        });
        ends.extend(
            late.into_iter()
                .flat_map(|thought| [&thought.start, thought.close.core()].map(str::to_owned)),
        );
        let marked = !self.tolerances.calls_from.is_empty()
            || self.before_first_call().iter().all(is_strong);
        let text = match stops.is_empty() || marked {
            true => self.text(ends.clone()),
            false => {
                // An answer that is such a call from its first byte.
                let mut alone: Vec<ExprId> = Vec::new();
                alone.extend(
                    members_before_name(p, self.turn, &self.call_open).filter(|_| self.callable),
                );
                let opens: Vec<Glue> = self
                    .before_first_call()
                    .iter()
                    .map(Glue::trim_start)
                    .filter(|_| !begun)
                    .collect();
                if self.callable && self.turn.calls_begin_with_names() {
                    let named = opens.iter().filter(|open| {
                        open.head()
                            .trim_start_matches('[')
                            .trim_start()
                            .starts_with('{')
                    });
                    alone.extend(
                        named.map(|open| p.sequence([as_written(p, open), self.named_call()])),
                    );
                }
                // Or such a list, which begins with what is not offered.
                if p.is_defined(UNLISTED_FRONT) {
                    for open in &opens {
                        let bracket = p.optional(p.literal("["));
                        let front = p.reference(UNLISTED_FRONT);
                        alone.push(p.sequence([p.glue(open), bracket, front]));
                    }
                }
                if self.callable && !begun {
                    alone.extend(self.other_orders());
                }
                let text = wrappers::text_before(p, stops, &ends, self.spec.extract_reasoning());
                let alone = alone
                    .into_iter()
                    .map(|opened| p.only_read(true, p.ahead(opened)));
                p.choice(alone.chain([text]))
            }
        };
        let text = late.map_or(text, |thought| {
            let again = self.reasoning_again();
            let block = again
                .map(|again| p.sequence([again, self.thought_and_close(thought, Some(again))]));
            let close = p.ways(LATE_THOUGHT, |way| way(self, thought));
            let last = p.rather(text, LATE_TEXT, |way| way(self, &ends));
            let more = p.many(p.sequence([p.choice(block.into_iter().chain(close)), last]));
            // As the template writes it, or as models do that have learnt it elsewhere.
            p.sequence([text, p.only_read(!self.turn.has_late_thoughts(), more)])
        });
        // Text after a marker of its own ends at another one, or as the template writes calls after
        // text.
        let own = self.marks_of(|glue| {
            let mut after_text = self.turn.glues([Content], Call);
            is_strong(glue) || after_text.any(|other| other == glue)
        });
        let marked_text = if own.is_empty() || own == stops {
            text
        } else {
            self.text_up_to([own, ends].concat())
        };
        let (blank, marked): (Vec<&Glue>, Vec<&Glue>) = self
            .turn
            .glues(self.begin(), Content)
            .partition(|glue| glue.is_blank());
        if begun {
            return if marked.is_empty() { text } else { marked_text };
        }
        let more = p.between(TEXT_AGAIN, |way| way(self, marked_text));
        let mut ways: Vec<ExprId> = marked
            .iter()
            .map(|open| p.sequence([self.content_open(open), marked_text, more]))
            .collect();
        let mut spaces: Vec<&str> = blank.into_iter().map(Glue::head).collect();
        spaces.dedup();
        if spaces.is_empty() {
            ways.extend([p.only_read(true, text), p.empty()])
        } else {
            ways.push(p.sequence([any_space(p, &spaces), text]))
        }
        ways.push(self.nothing());
        p.choice(ways)
    }

    /// Text up to the end of the turn or one of `marks`.
    pub fn last_text(&self, marks: Vec<String>) -> ExprId {
        let p = self.p;
        let text = p.until_marker(
            self.marks_of_end()
                .into_iter()
                .chain(heads(&self.turn.end))
                .chain(marks),
        );
        // What the request does not allow is no call.
        let is_text = self.tolerances.allowed_calls && !self.spec.parallel();
        let text = if is_text {
            p.answer(text)
        } else {
            p.content(text)
        };
        p.sequence([text, self.close(Content)])
    }
}

/// The first word of a text of several, with the white space before it: between them other white
/// space may be.
fn first_word(text: &str) -> Option<String> {
    let core = text.trim_start();
    let word = core.trim_end().find(char::is_whitespace)?;
    Some(text[..text.len() - core.len() + word].into())
}
