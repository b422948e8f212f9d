//! What trials show of a template. Each is found when it is first asked for, and kept; all of them can be stored.

use std::sync::OnceLock;

use serde_json::{Value, from_value};

use super::caps::{self, Form, LEVELS, ROLES};
use crate::env::Engine;
use crate::request::context::{OTHER_SWITCH, THINKS};
use crate::request::effort::{LADDER, Level};
use crate::request::{media, offered};
use crate::{Caps, NAMED_ID, ReasoningIn, Template};
use chatparse_base::limits::TRIALS_WORK;
use chatparse_base::{Error, Result};
use chatparse_message::REASONING;

/// The results of the trials.
#[derive(Clone, Default)]
pub(crate) struct Findings {
    caps: OnceLock<Caps>,
    /// Whether arguments of calls that are not JSON are rendered.
    any_arguments: OnceLock<bool>,
    /// Whether a call's id is rendered, and its name is not.
    named_by_id: OnceLock<bool>,
    reasoning_in: OnceLock<ReasoningIn>,
    /// How the content of each role may be given.
    forms: [OnceLock<Form>; ROLES.len()],
    /// What the template writes for media of each role.
    media: [OnceLock<media::Shown>; ROLES.len()],
    namespaces: OnceLock<[String; 2]>,
    levels: OnceLock<[Level; LADDER.len()]>,
    other_switch: OnceLock<bool>,
    takes_none: OnceLock<bool>,
    names_results: OnceLock<bool>,
}

/// The place of a part of the content, where a field's name may stand.
const PART: &str = "a part";

impl Template {
    /// The engine of the trials for one finding: what others take does not matter.
    fn trials(&self) -> Engine {
        self.own.engine().for_probes(TRIALS_WORK)
    }

    /// The template's capabilities. The first call determines them, with a few renders.
    pub fn caps(&self) -> &Caps {
        self.findings.caps.get_or_init(|| caps::find(&self.trials(), self.source()))
    }

    /// Whether arguments of calls that are not JSON are rendered.
    pub(crate) fn shows_any_arguments(&self) -> bool {
        *self.findings.any_arguments.get_or_init(|| caps::shows_any_arguments(&self.trials(), self.caps()))
    }

    /// The id of a call of our own, of the form that the model's have. Where a template writes a call's id and not its name, the
    /// id has the name and the number of the call.
    pub fn call_id(&self, plain: &str, name: &str, index: usize) -> String {
        if self.is_named_by_id() { format!("{}{name}{}{index}", NAMED_ID[0], NAMED_ID[1]) } else { plain.to_owned() }
    }

    fn is_named_by_id(&self) -> bool {
        *self.findings.named_by_id.get_or_init(|| caps::named_by_id(&self.trials(), self.caps()))
    }

    /// The texts that the template writes for media of this role.
    pub(crate) fn media(&self, role: &str) -> Option<&media::Shown> {
        let (_, found) = ROLES.iter().zip(&self.findings.media).find(|(known, _)| **known == role)?;
        Some(found.get_or_init(|| media::shown(&self.trials(), self.source(), role, self.caps())))
    }

    /// The namespace in which the template writes the names of calls, or nothing, and what it writes between another one and a name.
    pub(crate) fn namespaces(&self) -> &[String; 2] {
        self.findings.namespaces.get_or_init(|| {
            let trials = self.trials();
            let prompt = |message: &Value| caps::prompt_with(&trials, message);
            offered::namespaces(self.source(), self.caps(), prompt)
        })
    }

    /// What the template does with each level of effort.
    pub(crate) fn levels(&self) -> &[Level; LADDER.len()] {
        self.findings.levels.get_or_init(|| caps::levels(&self.trials()))
    }

    /// Whether thinking is on by default, and [`OTHER_SWITCH`] turns it off.
    pub(crate) fn has_other_switch(&self) -> bool {
        let names = || self.has_word(OTHER_SWITCH) && !self.has_word(THINKS);
        *self.findings.other_switch.get_or_init(|| names() && caps::has_other_switch(&self.trials()))
    }

    /// Whether the name of a result is rendered.
    pub(crate) fn names_results(&self) -> bool {
        *self.findings.names_results.get_or_init(|| caps::names_results(&self.trials(), self.caps()))
    }

    /// Whether a conversation without tools and documents renders if both are none.
    pub(crate) fn takes_none(&self) -> bool {
        *self.findings.takes_none.get_or_init(|| caps::takes_none(&self.trials()))
    }

    /// Where the template reads reasoning.
    pub fn reasoning_in(&self) -> ReasoningIn {
        *self.findings.reasoning_in.get_or_init(|| {
            let trials = self.trials();
            ReasoningIn::of(self.source(), |message: &Value| caps::prompt_with(&trials, message))
        })
    }

    /// How the content of this role may be given.
    pub(crate) fn form(&self, role: &str) -> Form {
        let known = ROLES.iter().zip(&self.findings.forms).find(|(known, _)| **known == role);
        known.map_or(Form::Unknown, |(_, form)| *form.get_or_init(|| Form::of(&self.trials(), role, self.caps())))
    }

    /// What trials show of it, all of it, as [`Template::stored`] takes it.
    pub fn findings(&self) -> Value {
        let reasoning_in = match self.reasoning_in() {
            ReasoningIn::Usual => None,
            ReasoningIn::Field(field) => Some(field),
            ReasoningIn::Part => Some(PART),
        };
        json!({
            "caps": self.caps().to_json(),
            "demanded_reasoning": self.caps().demanded_reasoning,
            "any_arguments": self.shows_any_arguments(),
            "named_by_id": self.is_named_by_id(),
            "reasoning_in": reasoning_in,
            "forms": ROLES.map(|role| self.form(role)),
            "media": ROLES.map(|role| self.media(role)),
            "namespaces": self.namespaces(),
            "levels": self.levels(),
            "other_switch": self.has_other_switch(),
            "takes_none": self.takes_none(),
            "names_results": self.names_results(),
        })
    }
}

impl Findings {
    /// Reads [`Template::findings`].
    pub(crate) fn from_json(found: &Value) -> Result<Findings> {
        Findings::read(found).ok_or_else(|| Error::invalid("template: what is stored of its trials cannot be read"))
    }

    fn read(found: &Value) -> Option<Findings> {
        let field = |value: &Value| REASONING.into_iter().find(|field| value == field);
        let yes = |value: &Value| value.as_bool();
        let caps = &found["caps"];
        let cap = |name: &str| yes(&caps[name]);
        let shown = caps["reasoning_effort_levels"].as_array()?.iter();
        let caps = Caps {
            string_content: cap("supports_string_content")?,
            typed_content: cap("supports_typed_content")?,
            tools: cap("supports_tools")?,
            tool_calls: cap("supports_tool_calls")?,
            parallel_tool_calls: cap("supports_parallel_tool_calls")?,
            system_role: cap("supports_system_role")?,
            preserve_reasoning: cap("supports_preserve_reasoning")?,
            reasoning_effort: cap("supports_reasoning_effort")?,
            reasoning_effort_levels: shown
                .map(|level| LEVELS.iter().copied().find(|known| level == known))
                .collect::<Option<_>>()?,
            object_arguments: cap("supports_object_arguments")?,
            demanded_reasoning: field(&found["demanded_reasoning"]),
        };
        let reasoning_in = match &found["reasoning_in"] {
            Value::Null => ReasoningIn::Usual,
            part if part == PART => ReasoningIn::Part,
            name => ReasoningIn::Field(field(name)?),
        };
        Some(Findings {
            caps: caps.into(),
            any_arguments: yes(&found["any_arguments"])?.into(),
            named_by_id: yes(&found["named_by_id"])?.into(),
            reasoning_in: reasoning_in.into(),
            forms: from_value::<[Form; ROLES.len()]>(found["forms"].clone()).ok()?.map(OnceLock::from),
            media: from_value::<[media::Shown; ROLES.len()]>(found["media"].clone()).ok()?.map(OnceLock::from),
            namespaces: from_value::<[String; 2]>(found["namespaces"].clone()).ok()?.into(),
            levels: from_value::<[Level; LADDER.len()]>(found["levels"].clone()).ok()?.into(),
            other_switch: yes(&found["other_switch"])?.into(),
            takes_none: yes(&found["takes_none"])?.into(),
            names_results: yes(&found["names_results"])?.into(),
        })
    }
}
