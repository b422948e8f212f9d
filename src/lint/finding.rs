//! What a template says that is not so: a finding, and the rule that it breaks.

use serde_json::Value;

use chatparse_base::Place;

/// A rule that a template breaks. Its id does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A marker opens in the history and is not closed.
    UnclosedMarker,
    /// A marker closes in the history and was not opened.
    UnopenedMarker,
    /// The template's brackets in a call do not match.
    UnbalancedBracket,
    /// Messages end with a marker, and one kind of messages has no end.
    MissingEnd,
    /// The instruction to the model shows another format than the history.
    OtherInstruction,
    /// The prompt opens a thought, and the history shows none.
    UnseenThought,
    /// The prompt opens the turn in another way than the history.
    OtherOpening,
    /// The template takes tools, and shows nothing of a call.
    HiddenCalls,
    /// The template writes names of tools in another case.
    ChangedName,
    /// The template takes tools, and none of the calls that it writes is read back.
    UnreadCalls,
    /// The template writes a special token that the vocabulary does not have.
    UnknownToken,
    /// The template writes the parts of one role as texts, and those of another as data.
    PrintedParts,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 12] = [
        Rule::UnclosedMarker,
        Rule::UnopenedMarker,
        Rule::UnbalancedBracket,
        Rule::MissingEnd,
        Rule::OtherInstruction,
        Rule::UnseenThought,
        Rule::OtherOpening,
        Rule::HiddenCalls,
        Rule::ChangedName,
        Rule::UnreadCalls,
        Rule::UnknownToken,
        Rule::PrintedParts,
    ];

    /// A stable lower-case name, e.g. `unclosed-marker`.
    pub fn id(self) -> &'static str {
        match self {
            Rule::UnclosedMarker => "unclosed-marker",
            Rule::UnopenedMarker => "unopened-marker",
            Rule::UnbalancedBracket => "unbalanced-bracket",
            Rule::MissingEnd => "missing-end",
            Rule::OtherInstruction => "other-instruction",
            Rule::UnseenThought => "unseen-thought",
            Rule::OtherOpening => "other-opening",
            Rule::HiddenCalls => "hidden-calls",
            Rule::ChangedName => "changed-name",
            Rule::UnreadCalls => "unread-calls",
            Rule::UnknownToken => "unknown-token",
            Rule::PrintedParts => "printed-parts",
        }
    }

    /// What breaking it does to users, as a sentence.
    pub fn effect(self) -> &'static str {
        match self {
            Rule::UnclosedMarker | Rule::UnopenedMarker => {
                "A model that was trained with the pair writes both markers, which breaks the learnt format; a model that follows \
                 the history never closes the marker."
            }
            Rule::UnbalancedBracket => {
                "The model sees calls that are not valid in their notation, and learns to write such calls."
            }
            Rule::MissingEnd => {
                "The model sees turns that do not end, so it may not stop, and may write the next message itself."
            }
            Rule::OtherInstruction => {
                "The model is told one format and shown another: it may write either, and only one is read as a call."
            }
            Rule::UnseenThought => {
                "The model thinks in each turn, but sees turns without thoughts: each next prompt rewrites earlier text, and \
                 the history does not show the format of thoughts."
            }
            Rule::OtherOpening => {
                "The prompt opens a turn as no turn of the history is opened, so the model answers worse, and each next prompt \
                 must be processed again."
            }
            Rule::HiddenCalls => {
                "The model sees results of calls that it never made: it calls again, or ignores the results."
            }
            Rule::ChangedName => {
                "The model sees calls of tools that the request does not offer, and calls them: the host refuses each such call."
            }
            Rule::UnreadCalls => "Users see each call of the model as text, and no tool runs.",
            Rule::UnknownToken => {
                "The tokenizer splits it into several tokens: the model sees a text that it was not trained with, and an end \
                 marker that is split does not stop the engine."
            }
            Rule::PrintedParts => {
                "If a client sends parts, and the host does not join them, the model sees a list of objects instead of the \
                 text."
            }
        }
    }
}

/// A part of a render that shows a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shown {
    /// Which render it is from, e.g. `history`.
    pub from: &'static str,
    /// The part; each value of the request in it may be `…`.
    pub text: String,
}

/// A place where a template says what is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// Whether it is a fault; otherwise a note: what is said may be meant.
    pub is_fault: bool,
    /// What is wrong, as a sentence.
    pub message: String,
    /// The marker or word that is concerned; empty if it is the turn as a whole.
    pub subject: String,
    /// The places in the template's source where the subject is written; empty where it is not written as such.
    pub places: Vec<Place>,
    /// The renders that show it, two of them, or parts of one.
    pub shown: Vec<Shown>,
}

impl Finding {
    /// The finding as a JSON object: `rule`, `fault`, `message`, `subject`, `effect`; `places`, each with `line`, `column` and
    /// `excerpt`; and `shown`, each with `from` and `text`.
    pub fn to_json(&self) -> Value {
        let places = self
            .places
            .iter()
            .map(|place| json!({"line": place.line, "column": place.column, "excerpt": place.excerpt}));
        let shown = self.shown.iter().map(|shown| json!({"from": shown.from, "text": shown.text}));
        json!({
            "rule": self.rule.id(),
            "fault": self.is_fault,
            "message": self.message,
            "subject": self.subject,
            "effect": self.rule.effect(),
            "places": places.collect::<Vec<_>>(),
            "shown": shown.collect::<Vec<_>>(),
        })
    }
}
