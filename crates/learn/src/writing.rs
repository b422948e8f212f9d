//! How a model writes an assistant's turn, as plain data: the one description that formats are made
//! of.

use std::sync::Arc;

use serde::Deserialize;

use crate::analysis::turn::TurnFormat;
use crate::analysis::{Around, Layout};
use crate::host::Host;

/// How a model writes an assistant's turn, with thinking on or off. Made of what was learnt of a
/// template, with a family's row or without, or of a response template; the format is lowered from
/// it alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// The parts of a turn, and the text between them.
    pub turn: TurnFormat,
    /// The turn with thinking on, by llama.cpp's names.
    pub layout: Arc<Layout>,
    /// How the model deviates from the turn.
    pub tolerances: Tolerances,
    /// What hosts are told otherwise than the turn says.
    pub host: Option<&'static Host>,
    /// The turn is a list of messages on channels, in this dialect.
    pub harmony: Option<Dialect>,
}

impl Writing {
    /// As a template writes turns.
    pub fn learnt(turn: TurnFormat) -> Writing {
        let tolerances = Tolerances {
            late_thoughts: turn.has_late_thoughts(),
            ..Tolerances::default()
        };
        Writing {
            layout: Layout::of(&turn).into(),
            turn,
            tolerances,
            ..Writing::default()
        }
    }

    /// The same without a rule of this name.
    pub fn without(&self, rule: &'static str) -> Writing {
        Writing {
            tolerances: Tolerances {
                without: rule,
                ..self.tolerances.clone()
            },
            ..self.clone()
        }
    }

    /// What is around the reasoning of a message that is continued, where a family says it.
    pub fn around(&self) -> Option<Around> {
        let continued = self.host.and_then(|host| host.continued.as_ref());
        continued
            .map(|[opening, start, end]| Around::new(opening, start, end))
            .or_else(|| {
                self.host?
                    .thinking
                    .as_ref()?
                    .is_empty()
                    .then(Around::default)
            })
    }
}

/// The model family that writes messages on channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// No spaces. The model sometimes writes two headers, or calls a tool that it was not given.
    GptOss,
    /// A space after every special token.
    LlmJp,
}

/// How a model deviates from what its template writes, where not all models do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tolerances {
    /// llama.cpp reads calls in reasoning at once. They count from the name of an offered tool on,
    /// because reasoning may also mention their markers.
    pub calls_in_reasoning: bool,
    /// Other spellings of texts in markers: the template's, and the model's.
    pub spellings: Vec<(String, String)>,
    /// A grammar constrains from this text on, where that is not the learnt marker of calls. Calls
    /// without it are not of the family.
    pub calls_from: String,
    /// A call may begin with the marker of its own where the markers around all calls are expected.
    pub bare_calls: bool,
    /// Names are written with XML entities.
    pub entities: bool,
    /// Only calls of offered tools, as many as the request allows, are calls. From the first other
    /// one on, all is text, as in llama.cpp.
    pub allowed_calls: bool,
    /// A grammar allows further calls whatever the request says, as llama.cpp's does.
    pub further_calls: bool,
    /// The model writes the end of the turn as plain text, which does not stop the generation.
    pub spelled_end: bool,
    /// The model may also reason after content.
    pub late_thoughts: bool,
    /// Reasoning that is not separated is content without its markers, as in llama.cpp.
    pub bare_thoughts: bool,
    /// llama.cpp's grammar has no code block around a structured response.
    pub bare_response: bool,
    /// Nothing is between two thoughts of a turn.
    pub joins_thoughts: bool,
    /// The texts of the tokens that end the model's output, as far as they are told.
    #[serde(skip)]
    pub ends: Vec<String>,
    /// The name of a rule that does not apply, for who asks what it reads; empty: all do.
    #[serde(skip)]
    pub without: &'static str,
}
