//! Reads calls outside of the format: in text behind it and, if the request asks for it, in content
//! and in reasoning.
//!
//! Such text has a description ([`dialects`], `text`), which runs on the same machine as a format.
//! A [`FallbackParser`] runs it and sends events to the same message builder as the format's
//! parser.

mod dialects;
mod origin;
mod parser;
mod text;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use crate::output::{Channel, is_of_name};
use crate::report::CallOrigin;
use chatparse_base::store::{Store, hash_of};
use chatparse_format::late::Want;
use chatparse_format::parts::Parts;
use chatparse_grammar::{self as grammar, Grammar, Letter};
use chatparse_message::{BareCalls, CallsInReasoning, Dialects, Leniency, NearlyJson, Tool};
use chatparse_peg::{self as peg, Arena, Expr, Program, lossy};
use dialects::{LateRows, Offer, Seen};
use serde::{Deserialize, Serialize};
use text::{Prefilter, Scope};

pub(crate) use dialects::name as dialect_name;
pub(crate) use parser::{End, FallbackParser};

/// Maximum memory of the programs that are kept for a request, in bytes. An output needs two or
/// three.
const PROGRAM_BYTES: usize = 8 << 20;

/// What a request and a format say of calls outside of the format.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRules {
    /// The tools that are offered. If empty, the parser searches for no calls; otherwise arguments
    /// are checked against their schemas.
    pub tools: Vec<Tool>,
    /// The keys of the name and of the arguments in the format's calls, if those are JSON objects:
    /// others may have them, too.
    pub call_keys: Option<[String; 2]>,
    /// Which calls are searched for, and where.
    pub leniency: Leniency,
    /// Texts that end the model's turn: where an output ends, and after calls, they are dropped.
    pub ends: Vec<String>,
}

/// What a parser needs to read calls outside of its format. Programs are compiled on first use.
#[derive(Debug)]
pub struct FallbackConfig {
    /// The format as it is compiled.
    format: Arc<Arena>,
    /// What builds all of it, if the format that is compiled lacks parts; and all of it, since it
    /// was first asked for.
    parts: Option<(Parts, OnceLock<Arc<Arena>>)>,
    pub rules: CallRules,
    /// By scope and by the dialects that they read.
    programs: Store<(Scope, Seen), Arc<Program>>,
    /// The tools' names.
    names: OnceLock<HashSet<String>>,
    /// For the text in front of the first call.
    prefilters: [OnceLock<Option<Arc<Prefilter>>>; Scope::COUNT],
    /// Whether calls of the format have a marker.
    marked: OnceLock<bool>,
}

impl FallbackConfig {
    /// The configuration for a format, which may lack parts, and a request.
    pub fn new(format: Arc<Arena>, parts: Option<Parts>, mut rules: CallRules) -> Self {
        rules.ends.retain(|end| !end.trim().is_empty());
        FallbackConfig {
            format,
            parts: parts.map(|parts| (parts, OnceLock::new())),
            rules,
            programs: Store::new(PROGRAM_BYTES),
            names: OnceLock::new(),
            prefilters: Default::default(),
            marked: OnceLock::new(),
        }
    }

    /// The format.
    pub fn format(&self) -> &Arc<Arena> {
        let Some((parts, whole)) = &self.parts else {
            return &self.format;
        };
        whole.get_or_init(|| Arc::new(parts.whole(Want::Whole)))
    }

    /// The grammar of the format, with schemas by this letter; `lazy`: of what follows a trigger.
    pub fn grammar(&self, lazy: bool, letter: Option<&'static Letter>) -> Grammar {
        let Some((parts, _)) = &self.parts else {
            return grammar::from_arena(&self.format, lazy, letter);
        };
        let linked = letter
            .is_none()
            .then(|| parts.grammar(&self.format, lazy))
            .flatten();
        linked.unwrap_or_else(|| grammar::from_arena(&parts.whole(Want::Grammar), lazy, letter))
    }

    /// The format as it is compiled: it may lack what calls have behind their heads.
    pub fn compiled(&self) -> &Arc<Arena> {
        &self.format
    }

    /// Whether arguments that are nearly JSON become JSON.
    pub fn mends(&self) -> bool {
        self.rules.leniency.nearly_json == NearlyJson::Mend
    }

    /// Approximate memory use in bytes of the programs compiled so far.
    pub fn bytes(&self) -> usize {
        let prefilters = self
            .prefilters
            .iter()
            .filter_map(|cell| cell.get()?.as_ref());
        self.programs
            .measure(|_, program| program.bytes() + program.late_bytes());
        let whole = self
            .parts
            .as_ref()
            .and_then(|(_, whole)| whole.get())
            .map(|whole| whole.bytes());
        let programs = self.programs.size().1;
        prefilters
            .map(|prefilter| prefilter.bytes())
            .chain(whole)
            .sum::<usize>()
            + programs
    }

    /// The program for calls in `scope`, of dialects with markers those that were seen; `None` if
    /// there are no calls to search for, or too many tools.
    fn program(self: &Arc<Self>, scope: Scope, seen: Seen) -> Option<Arc<Program>> {
        if self.rules.tools.is_empty() {
            return None;
        }
        let hash = hash_of((scope, seen));
        if let Some(program) = self.programs.get(hash, |known| *known == (scope, seen)) {
            return Some(program);
        }
        let (count, widest) = self
            .parts
            .as_ref()
            .map_or((0, 0), |(parts, _)| (parts.count, parts.widest));
        let mut late = LateRows {
            count,
            widest,
            rows: Vec::new(),
        };
        let text = text::text_with_calls(self, scope, seen, &mut late);
        // The configuration keeps the program.
        let config = Arc::downgrade(self);
        let program = peg::compile_late(&text, late.count, late.widest, move |number| {
            let config = config.upgrade()?;
            match &config.parts {
                Some((parts, _)) if number < parts.count => parts.program(number),
                _ => late
                    .program(number, config.offer(), config.mends())
                    .map(Arc::new),
            }
        });
        let program = Arc::new(program.ok()?);
        self.programs
            .keep(hash, (scope, seen), Arc::clone(&program), program.bytes());
        Some(program)
    }

    /// What is offered to call; only offered tools.
    fn offer(&self) -> Offer<'_> {
        Offer {
            tools: &self.rules.tools,
            keys: self.rules.call_keys.as_ref(),
            unknown: false,
        }
    }

    /// Whether a tool of this name is offered.
    fn offers(&self, name: &str) -> bool {
        let all = || {
            self.rules
                .tools
                .iter()
                .map(|tool| tool.name.clone())
                .collect()
        };
        self.names.get_or_init(all).contains(name)
    }

    /// What searches for the first call in `scope`; `None` if there are no calls to search for.
    fn prefilter(&self, scope: Scope) -> Option<Arc<Prefilter>> {
        let make = || (!self.rules.tools.is_empty()).then(|| Arc::new(Prefilter::new(self, scope)));
        self.prefilters[scope as usize].get_or_init(make).clone()
    }

    /// The origin of a call outside of the format. `dialect`: its row of the table, `None` for the
    /// format's own way to write calls.
    ///
    /// A call in the format's own way counts as one of the format if it has a marker; without one
    /// it is a bare JSON object like any other. A bare call directly inside a tag or special tokens
    /// has a separate row, because that wrapper marks it. Fences and brackets do not mark calls,
    /// because models also put quotations into them.
    fn origin(&self, dialect: Option<u16>) -> CallOrigin {
        match dialect.and_then(dialects::is_bare) {
            Some(false) => CallOrigin::Dialect,
            None if self.is_marked() => CallOrigin::Format,
            _ => CallOrigin::Bare,
        }
    }

    fn is_marked(&self) -> bool {
        *self
            .marked
            .get_or_init(|| origin::is_marked(&self.format, &self.rules.tools))
    }

    /// Builds what outputs may need in regions of the format and behind it.
    pub fn warm(self: &Arc<Self>) {
        let scopes = [
            self.scope_of(Channel::Content, true, false),
            self.scope_of(Channel::Content, false, false),
            self.scope_of(Channel::Reasoning, false, false),
            self.scope_behind(false, false, false),
            self.scope_behind(false, true, false),
            self.scope_behind(true, false, false),
        ];
        for scope in scopes.into_iter().flatten() {
            self.prefilter(scope)
                .iter()
                .for_each(|prefilter| prefilter.warm());
            self.program(scope, Seen::default())
                .iter()
                .for_each(|program| program.warm());
        }
    }

    /// What is searched for in a region of the format, if the request asks for that. `begins`: only
    /// reasoning precedes the region. `called`: a call precedes it, so the text may go on with one.
    fn scope_of(&self, channel: Channel, begins: bool, called: bool) -> Option<Scope> {
        let Leniency {
            dialects,
            bare_calls,
            calls_in_reasoning,
            ..
        } = self.rules.leniency;
        match (channel, dialects, calls_in_reasoning) {
            // Where it is not all calls, it is looked at again.
            (Channel::Content, Dialects::Always | Dialects::Tail, _)
                if begins && bare_calls == BareCalls::Whole =>
            {
                Some(Scope::Whole)
            }
            (Channel::Content, Dialects::Always, _) => Some(Scope::Anywhere),
            (Channel::Content, Dialects::Recover | Dialects::Tail, _) if called => {
                Some(Scope::Anywhere)
            }
            (Channel::Content, Dialects::Tail, _) => Some(Scope::AtEnd),
            (Channel::Content, Dialects::Recover, _) if begins && bare_calls != BareCalls::Off => {
                Some(Scope::Whole)
            }
            (Channel::Reasoning, _, CallsInReasoning::Always) => Some(Scope::Anywhere),
            (Channel::Reasoning, _, CallsInReasoning::AtEnd) => Some(Scope::AtEnd),
            _ => None,
        }
    }

    /// Whether a text of the format begins with this one, which is not empty, and does not end in
    /// the name of a tool.
    pub fn is_half_marker(&self, text: &str) -> bool {
        let word = text
            .trim_end_matches(|c: char| c.is_ascii() && is_of_name(c as u8))
            .len();
        let begins = |expr: &Expr| match expr {
            Expr::Marker(marker) | Expr::Literal(marker)
                if marker.trim_start().starts_with(text) =>
            {
                let marker = &marker.trim_start()[word..];
                !self.offers(&marker[..marker.bytes().take_while(|byte| is_of_name(*byte)).count()])
            }
            _ => false,
        };
        !text.is_empty() && self.format.nodes().iter().any(begins)
    }

    /// A parser for calls in a region of the format that begins at `at`; `None` if the request does
    /// not ask for one. `begins`: only reasoning precedes the region; `called`: a call does.
    pub fn in_region(
        self: &Arc<Self>,
        channel: Channel,
        begins: bool,
        called: bool,
        at: usize,
    ) -> Option<FallbackParser> {
        FallbackParser::new(
            Arc::clone(self),
            channel,
            self.scope_of(channel, begins, called)?,
            at,
        )
    }

    /// What is searched for in text that left the format, if the request asks for that. `in_call`:
    /// a call was interrupted there; `called`: a call precedes; `wrapped`: in a wrapper.
    fn scope_behind(&self, in_call: bool, called: bool, wrapped: bool) -> Option<Scope> {
        match (in_call, called) {
            (true, _) => Some(Scope::InCall),
            _ if self.rules.leniency.dialects == Dialects::Off => None,
            (false, true) if wrapped => Some(Scope::BehindWrapped),
            (false, true) => Some(Scope::BehindCall),
            (false, false) => Some(Scope::Anywhere),
        }
    }

    /// A parser for calls in text that left the format at `at`; `None` if the request does not ask
    /// for one. `in_call`: a call was interrupted there. `before`: the markup in front of each call
    /// that precedes.
    pub fn behind_format<'a>(
        self: &Arc<Self>,
        at: usize,
        in_call: bool,
        before: impl Iterator<Item = &'a [u8]>,
    ) -> Option<FallbackParser> {
        let mut before = before.peekable();
        let called = before.peek().is_some();
        // Where calls have a marker, the markup is theirs, and a wrapper is text.
        let wrapped = !self.is_marked() && before.any(|markup| text::has_wrapper(&lossy(markup)));
        FallbackParser::new(
            Arc::clone(self),
            Channel::Content,
            self.scope_behind(in_call, called, wrapped)?,
            at,
        )
    }
}
