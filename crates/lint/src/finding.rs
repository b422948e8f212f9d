//! What a template says that is not so: a finding, and the rule that it breaks.

use serde::Serialize;
use serde_json::Value;

use chatparse_base::Place;

/// A rule that a template breaks. Its id does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
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
    pub const ALL: [Rule; 5] = [
        Rule::HiddenCalls,
        Rule::ChangedName,
        Rule::UnreadCalls,
        Rule::UnknownToken,
        Rule::PrintedParts,
    ];

    /// A stable lower-case name, e.g. `hidden-calls`.
    pub fn id(self) -> &'static str {
        self.words().0
    }

    /// What breaking it does to users, as a sentence.
    pub fn effect(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Rule::HiddenCalls => (
                "hidden-calls",
                "The model sees results of calls that it never made: it calls again, or ignores the results.",
            ),
            Rule::ChangedName => (
                "changed-name",
                "The model sees calls of tools that the request does not offer, and calls them: the host refuses each such call.",
            ),
            Rule::UnreadCalls => (
                "unread-calls",
                "Users see each call of the model as text, and no tool runs.",
            ),
            Rule::UnknownToken => (
                "unknown-token",
                "The tokenizer splits it into several tokens: the model sees a text that it was not trained with, and an end \
                 marker that is split does not stop the engine.",
            ),
            Rule::PrintedParts => (
                "printed-parts",
                "If a client sends parts, and the host does not join them, the model sees a list of objects instead of the \
                 text.",
            ),
        }
    }
}

/// A part of a render that shows a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// Which render it is from, e.g. `history`.
    pub from: &'static str,
    /// The part.
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
    /// The token that is concerned; empty if it is the turn as a whole.
    pub subject: String,
    /// The places in the template's source where the subject is written; empty where it is not
    /// written as such.
    pub places: Vec<Place>,
    /// The renders that show it, two of them, or parts of one.
    pub shown: Vec<Shown>,
}

impl Finding {
    /// The finding as a JSON object: `rule`, `fault`, `message`, `subject`, `effect`; `places`,
    /// each with `line`, `column` and `excerpt`; and `shown`, each with `from` and `text`.
    pub fn to_json(&self) -> Value {
        let places = self.places.iter().map(
            |place| json!({"line": place.line, "column": place.column, "excerpt": place.excerpt}),
        );
        json!({
            "rule": self.rule.id(),
            "fault": self.is_fault,
            "message": self.message,
            "subject": self.subject,
            "effect": self.rule.effect(),
            "places": places.collect::<Value>(),
            "shown": self.shown,
        })
    }
}
