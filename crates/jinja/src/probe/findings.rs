//! The findings of a template's trials. A finding is made on first use, and kept; all of them can
//! be stored.

use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::caps::{Form, Trials};
use crate::request::context::{OTHER_SWITCH, THINKS};
use crate::request::effort::{LADDER, Level};
use crate::request::{media, offered};
use crate::{Caps, NAMED_ID, ReasoningIn, Template};
use chatparse_base::limits::TRIALS_WORK;
use chatparse_message::ROLES;

/// A result, once it is found.
#[derive(Clone)]
pub struct Found<T>(OnceLock<T>);

impl<T> Found<T> {
    fn get(&self, find: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(find)
    }
}

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
    /// The texts that the template writes for media of each role.
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
    /// The trials for one finding: the work of other findings does not matter.
    fn trials(&self, caps: Caps) -> Trials<'_> {
        Trials {
            engine: self.own.engine().for_probes(TRIALS_WORK),
            source: self.source(),
            caps,
        }
    }

    /// The same, with the template's capabilities.
    fn trials_with_caps(&self) -> Trials<'_> {
        self.trials(self.caps().clone())
    }

    /// The template's capabilities. The first call determines them, with a few renders.
    pub fn caps(&self) -> &Caps {
        self.findings
            .caps
            .get(|| self.trials(Caps::default()).find())
    }

    /// Whether arguments of calls that are not JSON are rendered.
    pub(crate) fn shows_any_arguments(&self) -> bool {
        let shows = &self.findings.any_arguments;
        *shows.get(|| self.trials_with_caps().shows_any_arguments())
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
        let named = &self.findings.named_by_id;
        *named.get(|| self.trials_with_caps().named_by_id())
    }

    /// The texts that the template writes for media of this role.
    pub(crate) fn media(&self, role: &str) -> Option<&media::Shown> {
        let shown = &self.findings.media[index_of(role)?];
        Some(shown.get(|| media::shown(&self.trials_with_caps(), role)))
    }

    /// The namespace in which the template writes the names of calls, empty for none, and the text
    /// that it writes between another namespace and a name.
    pub(crate) fn namespaces(&self) -> &[String; 2] {
        let namespaces = &self.findings.namespaces;
        namespaces.get(|| offered::namespaces(&self.trials_with_caps()))
    }

    /// How the template treats each level of effort.
    pub(crate) fn levels(&self) -> &[Level; LADDER.len()] {
        self.findings
            .levels
            .get(|| self.trials(Caps::default()).levels())
    }

    /// Whether thinking is on by default, and [`OTHER_SWITCH`] turns it off.
    pub(crate) fn has_other_switch(&self) -> bool {
        *self.findings.other_switch.get(|| {
            self.has_word(OTHER_SWITCH)
                && !self.has_word(THINKS)
                && self.trials(Caps::default()).has_other_switch()
        })
    }

    /// Whether the name of a result is rendered.
    pub(crate) fn names_results(&self) -> bool {
        let names = &self.findings.names_results;
        *names.get(|| self.trials_with_caps().names_results())
    }

    /// Whether a conversation without tools and documents renders if both are none.
    pub(crate) fn takes_none(&self) -> bool {
        let takes = &self.findings.takes_none;
        *takes.get(|| self.trials(Caps::default()).takes_none())
    }

    /// Where the template reads reasoning.
    pub fn reasoning_in(&self) -> &ReasoningIn {
        let reasoning_in = &self.findings.reasoning_in;
        reasoning_in.get(|| ReasoningIn::of(&self.trials(Caps::default())))
    }

    /// How the content of this role may be given.
    pub(crate) fn form(&self, role: &str) -> Form {
        match index_of(role) {
            None => Form::Unknown,
            Some(index) => *self.findings.forms[index].get(|| self.trials_with_caps().form(role)),
        }
    }

    /// All findings, in the form that [`Template::stored`] takes.
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
