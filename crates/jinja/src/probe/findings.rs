//! What trials show of a template. Each is found when it is first asked for, and kept; all of them
//! can be stored.

use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::caps::{self, Form};
use crate::env::Engine;
use crate::request::context::{OTHER_SWITCH, THINKS};
use crate::request::effort::{LADDER, Level};
use crate::request::{media, offered};
use crate::{Caps, NAMED_ID, ReasoningIn, Template};
use chatparse_base::limits::TRIALS_WORK;
use chatparse_message::ROLES;

/// A result, once it is found.
#[derive(Clone)]
pub struct Found<T>(OnceLock<T>);

impl<T> Default for Found<T> {
    fn default() -> Self {
        Found(OnceLock::new())
    }
}

impl<T: Serialize> Serialize for Found<T> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.get().serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Found<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        T::deserialize(from).map(|found| Found(found.into()))
    }
}

/// The results of the trials.
#[derive(Clone, Default, Deserialize, Serialize)]
pub struct Findings {
    caps: Found<Caps>,
    /// Whether arguments of calls that are not JSON are rendered.
    any_arguments: Found<bool>,
    /// Whether a call's id is rendered, and its name is not.
    named_by_id: Found<bool>,
    reasoning_in: Found<ReasoningIn>,
    /// How the content of each role may be given.
    forms: [Found<Form>; ROLES.len()],
    /// What the template writes for media of each role.
    media: [Found<media::Shown>; ROLES.len()],
    namespaces: Found<[String; 2]>,
    levels: Found<[Level; LADDER.len()]>,
    other_switch: Found<bool>,
    takes_none: Found<bool>,
    names_results: Found<bool>,
}

fn index_of(role: &str) -> Option<usize> {
    ROLES.iter().position(|known| *known == role)
}

impl Template {
    /// The engine of the trials for one finding: what others take does not matter.
    fn trials(&self) -> Engine {
        self.own.engine().for_probes(TRIALS_WORK)
    }

    /// The template's capabilities. The first call determines them, with a few renders.
    pub fn caps(&self) -> &Caps {
        self.findings
            .caps
            .0
            .get_or_init(|| caps::find(&self.trials(), self.source()))
    }

    /// Whether arguments of calls that are not JSON are rendered.
    pub(crate) fn shows_any_arguments(&self) -> bool {
        *self
            .findings
            .any_arguments
            .0
            .get_or_init(|| caps::shows_any_arguments(&self.trials(), self.caps()))
    }

    /// The id of a call of our own, of the form that the model's have. Where a template writes a
    /// call's id and not its name, the id has the name and the number of the call.
    pub fn call_id(&self, plain: &str, name: &str, index: usize) -> String {
        if self.is_named_by_id() {
            format!("{}{name}{}{index}", NAMED_ID[0], NAMED_ID[1])
        } else {
            plain.to_owned()
        }
    }

    fn is_named_by_id(&self) -> bool {
        *self
            .findings
            .named_by_id
            .0
            .get_or_init(|| caps::named_by_id(&self.trials(), self.caps()))
    }

    /// The texts that the template writes for media of this role.
    pub(crate) fn media(&self, role: &str) -> Option<&media::Shown> {
        let found = &self.findings.media[index_of(role)?];
        Some(
            found
                .0
                .get_or_init(|| media::shown(&self.trials(), self.source(), role, self.caps())),
        )
    }

    /// The namespace in which the template writes the names of calls, or nothing, and what it
    /// writes between another one and a name.
    pub(crate) fn namespaces(&self) -> &[String; 2] {
        self.findings.namespaces.0.get_or_init(|| {
            let trials = self.trials();
            offered::namespaces(self.source(), self.caps(), |message| {
                caps::prompt_with(&trials, message)
            })
        })
    }

    /// What the template does with each level of effort.
    pub(crate) fn levels(&self) -> &[Level; LADDER.len()] {
        self.findings
            .levels
            .0
            .get_or_init(|| caps::levels(&self.trials()))
    }

    /// Whether thinking is on by default, and [`OTHER_SWITCH`] turns it off.
    pub(crate) fn has_other_switch(&self) -> bool {
        *self.findings.other_switch.0.get_or_init(|| {
            self.has_word(OTHER_SWITCH)
                && !self.has_word(THINKS)
                && caps::has_other_switch(&self.trials())
        })
    }

    /// Whether the name of a result is rendered.
    pub(crate) fn names_results(&self) -> bool {
        *self
            .findings
            .names_results
            .0
            .get_or_init(|| caps::names_results(&self.trials(), self.caps()))
    }

    /// Whether a conversation without tools and documents renders if both are none.
    pub(crate) fn takes_none(&self) -> bool {
        *self
            .findings
            .takes_none
            .0
            .get_or_init(|| caps::takes_none(&self.trials()))
    }

    /// Where the template reads reasoning.
    pub fn reasoning_in(&self) -> &ReasoningIn {
        self.findings.reasoning_in.0.get_or_init(|| {
            let trials = self.trials();
            ReasoningIn::of(self.source(), |message: &Value| {
                caps::prompt_with(&trials, message)
            })
        })
    }

    /// How the content of this role may be given.
    pub(crate) fn form(&self, role: &str) -> Form {
        let Some(index) = index_of(role) else {
            return Form::Unknown;
        };
        *self.findings.forms[index]
            .0
            .get_or_init(|| Form::of(&self.trials(), role, self.caps()))
    }

    /// What trials show of it, all of it, as [`Template::stored`] takes it.
    pub fn findings(&self) -> Value {
        let kept = &self.findings;
        self.caps();
        self.shows_any_arguments();
        self.is_named_by_id();
        self.reasoning_in();
        for role in ROLES {
            self.form(role);
            self.media(role);
        }
        self.namespaces();
        self.levels();
        self.has_other_switch();
        self.takes_none();
        self.names_results();
        json!(kept)
    }
}
