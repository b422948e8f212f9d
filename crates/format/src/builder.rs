//! A builder for formats: expressions with their tags, and fragments that several formats share.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use chatparse_base::find::find_to_escape;
use chatparse_base::json_string;
use chatparse_base::store::fingerprint;
use chatparse_grammar::schema::{self, Types};
use chatparse_message::{JsonSpacing, NearlyJson, Tool, UnknownTools};
use serde_json::Value;
use smol_str::SmolStr;

use chatparse_peg::{Arena, Builder, Expr, ExprId, Notation, Parts, SchemaRef, Spacing};

use super::FormatSpec;
use super::coverage;
use super::late::{Late, rule_name};
use super::tag::Tag;
use chatparse_learn::Tolerances;
use chatparse_learn::analysis::turn::Glue;

/// A [`Builder`] with functions for the parts of a message.
#[derive(Default)]
pub struct FormatBuilder {
    builder: Builder,
    /// Other spellings of texts in markers: the template's, and the model's.
    spellings: Vec<(String, String)>,
    /// What the template writes before each tag of calls; empty: nothing.
    pub prefix: SmolStr,
    /// Texts are as the template writes them: where others may be values.
    pub exact: Cell<bool>,
    /// Names are written with XML entities.
    pub entities: bool,
    /// Texts in quotes have line breaks as they are, beside escapes.
    pub raw_lines: bool,
    /// A line break between tags may be spelled out: models write a backslash and an `n` there.
    pub spelled_breaks: bool,
    /// Grammars have no white space of JSON, not even where the template writes it.
    pub squeezes: bool,
    /// Grammars have the names of JSON in this order.
    pub sorts_names: bool,
    /// Grammars ask for no argument that may be null.
    pub leaves_out_null: bool,
    /// Grammars have no white space between arguments but the template's. llama.cpp's have.
    pub faithful: bool,
    /// Arguments may be nearly JSON, and members may be around them that calls of JSON have
    /// elsewhere.
    pub mends: bool,
    /// No offered name has a colon or a dot.
    pub plain_names: bool,
    /// The row of the table of dialects that calls belong to: it marks their names, and keeps their
    /// rules apart.
    pub dialect: Option<usize>,
    /// Texts of the template that are expressions already.
    texts: RefCell<HashMap<SmolStr, ExprId>>,
    /// The name of a rule that does not apply; empty: all do.
    pub without: &'static str,
    /// Which calls are built.
    pub late: Late,
    /// The tool of the call that is built, by its place.
    tool: Cell<Option<usize>>,
}

impl From<Builder> for FormatBuilder {
    fn from(builder: Builder) -> FormatBuilder {
        FormatBuilder {
            builder,
            ..FormatBuilder::default()
        }
    }
}

impl From<FormatBuilder> for Builder {
    fn from(parts: FormatBuilder) -> Builder {
        parts.builder
    }
}

impl Deref for FormatBuilder {
    type Target = Builder;

    fn deref(&self) -> &Builder {
        &self.builder
    }
}

impl FormatBuilder {
    /// Stands for any name. It cannot be a real name, because it ends with a noncharacter.
    pub const ANY: &str = "any\u{10FFFF}";

    /// A builder that adds to a format's expressions.
    pub fn extending(arena: Arena) -> Self {
        FormatBuilder {
            builder: Builder::extending(arena),
            ..FormatBuilder::default()
        }
    }

    /// A builder for a format of this request, of a model that deviates so.
    pub fn writing(tolerances: &Tolerances, spec: &FormatSpec) -> Self {
        let mends = spec.options.leniency.nearly_json == NearlyJson::Mend;
        let squeezes = spec.options.json_spacing == JsonSpacing::Compact;
        let plain_names = !spec
            .tools()
            .iter()
            .any(|tool| tool.name.contains([':', '.']));
        FormatBuilder {
            mends,
            squeezes,
            plain_names,
            spellings: tolerances.spellings.clone(),
            entities: tolerances.entities,
            without: tolerances.without,
            ..FormatBuilder::default()
        }
    }

    /// All of these, in order; nothing stands for a part that is missing.
    pub fn sequence(&self, parts: impl IntoIterator<Item = impl Into<Option<ExprId>>>) -> ExprId {
        self.builder
            .sequence(parts.into_iter().filter_map(Into::into))
    }

    /// The first of these that matches, of those that are there.
    pub fn choice(&self, ways: impl IntoIterator<Item = impl Into<Option<ExprId>>>) -> ExprId {
        self.builder.choice(ways.into_iter().filter_map(Into::into))
    }

    /// Never matches.
    pub fn never(&self) -> ExprId {
        self.builder.choice([])
    }

    /// A name of a rule, apart from those of the format and of other dialects.
    fn rule_name(&self, name: SmolStr) -> SmolStr {
        self.dialect
            .map_or(name.clone(), |row| format!("dialect-{row}-{name}").into())
    }

    /// White space. A grammar with fixed spacing has none here.
    pub fn space(&self) -> ExprId {
        let space = self.builder.space();
        if self.spacing() == Spacing::Free {
            space
        } else {
            self.tolerated(space)
        }
    }

    /// White space, and the child.
    pub fn after_space(&self, child: ExprId) -> ExprId {
        self.sequence([self.space(), child])
    }

    /// Looks ahead to the child, after white space.
    pub fn ahead(&self, child: ExprId) -> ExprId {
        self.and(self.after_space(child))
    }

    /// One of these characters.
    pub fn signs(&self, signs: &str) -> ExprId {
        let signs: Vec<_> = signs.chars().map(|sign| (sign, sign)).collect();
        self.one_of(&signs)
    }

    /// A character that is none of these.
    pub fn no_sign(&self, signs: impl IntoIterator<Item = char>) -> ExprId {
        let signs: Vec<_> = signs.into_iter().map(|sign| (sign, sign)).collect();
        self.none_of(&signs)
    }

    /// The first of these that matches; `None` where there are none.
    pub fn any_way(&self, ways: impl IntoIterator<Item = ExprId>) -> Option<ExprId> {
        let ways: Vec<ExprId> = ways.into_iter().collect();
        (!ways.is_empty()).then(|| self.choice(ways))
    }

    /// White space around arguments, which a text that is not in quotes would have in it.
    pub fn blank(&self) -> ExprId {
        if self.faithful {
            self.stray_space()
        } else {
            self.space()
        }
    }

    /// White space that models add.
    pub fn stray_space(&self) -> ExprId {
        self.tolerated(self.builder.space())
    }

    /// What `make` makes for a parser to read; nothing in a format for a grammar.
    pub fn parsed(&self, make: impl FnOnce() -> ExprId) -> ExprId {
        if self.late.is_of_grammar() {
            self.empty()
        } else {
            make()
        }
    }

    /// The child; where `only` is set, no grammar has it.
    pub fn only_read(&self, only: bool, child: ExprId) -> ExprId {
        if only { self.tolerated(child) } else { child }
    }

    /// A quote of JSON or Python.
    pub fn quote(&self) -> ExprId {
        self.signs("\"'")
    }

    /// White space in JSON that the template writes like this.
    pub fn space_as(&self, written: &str) -> ExprId {
        self.fixed(self.builder.space(), written, "")
    }

    /// The child, which a grammar with fixed spacing has as the template writes it, or squeezed.
    pub fn fixed(&self, child: ExprId, written: &str, compact: &str) -> ExprId {
        match self.spacing() {
            Spacing::Free => child,
            Spacing::Fixed { .. } => self
                .builder
                .written(child, if self.squeezes { compact } else { written }),
        }
    }

    /// [`Builder::rule`], with the row's name for it.
    pub fn rule(&self, name: impl Into<SmolStr>, child: ExprId) -> ExprId {
        self.builder.rule(self.rule_name(name.into()), child)
    }

    /// [`Builder::trigger_rule`]; in a row of dialects, which no grammar has, a rule.
    pub fn trigger_rule(&self, name: impl Into<SmolStr>, child: ExprId) -> ExprId {
        match self.dialect {
            None => self.builder.trigger_rule(name, child),
            Some(_) => self.rule(name, child),
        }
    }

    /// [`Builder::reference`], with the row's name for it.
    pub fn reference(&self, name: impl Into<SmolStr>) -> ExprId {
        self.builder.reference(self.rule_name(name.into()))
    }

    /// [`Builder::is_defined`], with the row's name for it.
    pub fn is_defined(&self, name: &str) -> bool {
        self.builder.is_defined(&self.rule_name(name.into()))
    }

    /// A part of a call: what `make` makes, if it makes anything, or the part's number.
    pub fn late(&self, make: impl FnOnce() -> Option<ExprId>) -> Option<ExprId> {
        let Some(number) = self.tool.get().and_then(|tool| self.late.part(tool)) else {
            return make();
        };
        if self.late.is_linked() {
            return Some(self.builder.late(number));
        }
        let made = make();
        self.late.note(number, made.unwrap_or_else(|| self.never()));
        made
    }

    /// Returns the arena with this root, and leaves the builder empty.
    pub fn finish(&self, root: ExprId) -> Arena {
        let arena = self.builder.finish(root);
        debug_assert_eq!(
            coverage::uncovered(&arena),
            None,
            "text that is in no field of the message"
        );
        arena
    }

    /// A name as the model writes it.
    pub fn written<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.entities && name.contains(['&', '"']) {
            name.replace('&', "&amp;").replace('"', "&quot;").into()
        } else {
            name.into()
        }
    }

    /// The expression that `make` turns a text of the template into. It is made once for each text,
    /// so `make` does the same for all.
    pub fn once(&self, text: &str, make: impl FnOnce() -> ExprId) -> ExprId {
        if let Some(known) = self.texts.borrow().get(text) {
            return *known;
        }
        let made = make();
        self.texts.borrow_mut().insert(text.into(), made);
        made
    }

    /// A rule for what several places have in common, which `key` names: the program has it once.
    pub fn shared(&self, key: &str, make: impl FnOnce() -> ExprId) -> ExprId {
        // No text of a template begins so.
        self.once(&format!("\0{key}"), || {
            let mut name = format!("shared-{:x}", fingerprint([key]) >> 32);
            while self.is_defined(&name) {
                name.push('x');
            }
            self.rule(name, make())
        })
    }

    /// What `make` makes of texts as the template writes them, if `exact` or around it.
    pub fn exactly<T>(&self, exact: bool, make: impl FnOnce() -> T) -> T {
        let before = self.exact.replace(exact || self.exact.get());
        let made = make();
        self.exact.set(before);
        made
    }

    /// The first marker of a glue, with what is before each tag.
    pub fn first_tag<'g>(&self, glue: &'g Glue) -> Option<&'g str> {
        let prefix = &*self.prefix;
        if prefix.is_empty() {
            return glue.first_marker();
        }
        let open = &glue.head()[glue.head().find(prefix)?..];
        let next = open
            .match_indices(prefix)
            .nth(1)
            .map_or(open.len(), |(next, _)| next);
        Some(open[..next].trim_end())
    }

    /// A marker in its other spellings.
    pub fn variants(&self, text: &str) -> impl Iterator<Item = String> {
        let spellings = self
            .spellings
            .iter()
            .filter(move |(own, _)| text.contains(&**own));
        spellings.map(move |(own, other)| text.replace(&**own, other))
    }

    /// These markers, and their other spellings; each once.
    pub fn spelled(&self, markers: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let mut all: Vec<String> = markers.into_iter().map(Into::into).collect();
        let other: Vec<String> = all
            .iter()
            .flat_map(|marker| self.variants(marker))
            .collect();
        all.extend(other);
        let mut known = HashSet::new();
        all.retain(|marker| known.insert(marker.clone()));
        all
    }

    /// One of these markers.
    pub fn any_of<S: Into<SmolStr>>(&self, markers: impl IntoIterator<Item = S>) -> ExprId {
        self.choice(markers.into_iter().map(|marker| self.marker(marker)))
    }

    /// Text of the reasoning.
    pub fn reasoning(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Reasoning, child)
    }

    /// Text of the content.
    pub fn content(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Content, child)
    }

    /// Content that the format marks as the answer: no text in it is a call.
    pub fn answer(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Answer, child)
    }

    /// A region whose captures are hidden until it is complete.
    pub fn whole(&self, tag: Tag, child: ExprId) -> ExprId {
        self.atomic(self.tag(tag, child))
    }

    /// The beginning of a call.
    pub fn tool_open(&self, child: ExprId) -> ExprId {
        let open = self.whole(Tag::ToolOpen, child);
        self.sequence([
            Some(open),
            self.dialect
                .map(|row| self.tag(Tag::dialect(row), self.empty())),
        ])
    }

    /// The end of a call.
    pub fn tool_close(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ToolClose, child)
    }

    /// One of these tools' names, as `one` writes it. The longest come first: a name may begin with
    /// another.
    pub fn one_of_tools(&self, tools: &[Tool], one: impl Fn(&str) -> ExprId) -> ExprId {
        let names = longest_first(tools.iter().map(|tool| tool.name.as_str()));
        self.choice(names.into_iter().map(one))
    }

    /// Any name of a call.
    pub fn any_tool_name(&self) -> ExprId {
        self.whole(Tag::ToolName, self.any_without(NOT_IN_NAMES))
    }

    /// The characters that end a name, of a tool or an argument: these, or the end of the attribute
    /// that it is in.
    fn name_ends_at(&self, not_in: &'static [(char, char)]) -> &'static [(char, char)] {
        if self.entities { QUOTE } else { not_in }
    }

    /// Any name in which these characters cannot be. One of them must follow, or the name may
    /// continue.
    fn any_without(&self, not_in: &'static [(char, char)]) -> ExprId {
        let ends = self.name_ends_at(not_in);
        self.sequence([self.some(self.none_of(ends)), self.and(self.one_of(ends))])
    }

    /// One of these names, whole.
    fn whole_name<'n>(
        &self,
        names: impl Iterator<Item = Cow<'n, str>>,
        not_in: &'static [(char, char)],
    ) -> ExprId {
        let names = longest_first(names)
            .into_iter()
            .map(|name| self.literal(name));
        let longer = self.none_of(self.name_ends_at(not_in));
        self.sequence([self.choice(names), self.not(longer)])
    }

    /// A name of any tool that is not in the request.
    pub fn other_name(&self) -> ExprId {
        self.some(self.none_of(NOT_IN_NAMES))
    }

    /// Looks ahead to a character that cannot be in a tool's name.
    pub fn name_ends(&self) -> ExprId {
        self.and(self.one_of(NOT_IN_NAMES))
    }

    /// A call's id.
    pub fn tool_id(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ToolId, child)
    }

    /// A call's arguments as one JSON object.
    pub fn tool_args(&self, child: ExprId) -> ExprId {
        self.tag(Tag::ToolArgs, child)
    }

    /// An argument's name; any name for [`FormatBuilder::ANY`], or any name except those that a
    /// rule excludes.
    pub fn arg_name(&self, name: &str) -> ExprId {
        let name = match name.strip_prefix(FormatBuilder::ANY) {
            None => self.literal(self.written(name)),
            Some("") => self.any_without(NOT_IN_ARG_NAMES),
            Some(_) => self.sequence([
                self.not(self.listed_name(name)),
                self.any_without(NOT_IN_ARG_NAMES),
            ]),
        };
        self.whole(Tag::ArgName, name)
    }

    /// The names that an [`FormatBuilder::any_name_but`] excludes.
    pub fn listed_name(&self, any: &str) -> ExprId {
        match any.strip_prefix(FormatBuilder::ANY) {
            None | Some("") => self.never(),
            Some(listed) => self.reference(listed),
        }
    }

    /// Stands for any argument's name except these. The rule of this name holds them.
    pub fn any_name_but(&self, rule: &str, names: &[&str]) -> String {
        if names.is_empty() {
            return FormatBuilder::ANY.to_owned();
        }
        if !self.is_defined(rule) {
            self.rule(
                rule,
                self.whole_name(
                    names.iter().map(|name| self.written(name)),
                    NOT_IN_ARG_NAMES,
                ),
            );
        }
        format!("{}{rule}", FormatBuilder::ANY)
    }

    /// Whether `name` stands for more than one name.
    pub fn is_any(name: &str) -> bool {
        name.starts_with(FormatBuilder::ANY)
    }

    /// An argument's value, written as JSON or as a Python literal.
    pub fn arg_json(&self, child: ExprId) -> ExprId {
        self.tag(Tag::ArgJson, child)
    }

    /// Members with this between them, each with whether it is required, and members of any other
    /// name.
    pub fn listed(
        &self,
        known: Vec<(ExprId, bool)>,
        any: Option<ExprId>,
        between: ExprId,
    ) -> ExprId {
        let item = self.choice(known.iter().map(|(member, _)| *member).chain(any));
        let all = self.sequence([item, self.many(self.sequence([between, item]))]);
        let required = by_need(&known, true).collect();
        let optional = by_need(&known, false).chain(any).collect();
        self.parts(
            all,
            Parts {
                required,
                optional,
                between: Some(between),
            },
        )
    }

    /// The same without anything between them, each as `one` makes it; `any` is as it is.
    pub fn in_any_order(
        &self,
        known: Vec<(ExprId, bool)>,
        any: Option<ExprId>,
        one: impl Fn(ExprId) -> ExprId,
    ) -> ExprId {
        let known: Vec<_> = known
            .into_iter()
            .map(|(member, need)| (one(member), need))
            .collect();
        self.unordered(by_need(&known, true), by_need(&known, false).chain(any))
    }

    /// An argument's value, written as raw text.
    pub fn arg_text(&self, child: ExprId) -> ExprId {
        self.tag(Tag::ArgText, child)
    }

    /// Null before what closes the value: the word `null` or `None`, or nothing if it may be
    /// `empty`. `bare`: no text can be there without quotes, so `none` is no text.
    pub fn null(&self, empty: bool, bare: bool, close: ExprId) -> ExprId {
        let mut words = vec![self.literal("null"), self.literal("None")];
        words.extend(bare.then(|| self.literal("none")));
        words.extend(empty.then(|| self.empty()));
        let null = self.whole(Tag::ArgNull, self.choice(words));
        self.atomic(self.sequence([null, close]))
    }

    /// The end of an argument's value.
    pub fn arg_close(&self, child: ExprId) -> ExprId {
        self.whole(Tag::ArgClose, child)
    }

    /// The name of an object's member. It is visible while it is read.
    pub fn key(&self, child: ExprId) -> ExprId {
        self.tag(Tag::Key, child)
    }

    /// The schema of a tool's arguments.
    pub fn parameters(&self, tool: &Tool) -> Arc<Value> {
        let mut schema = schema::parameters(&tool.parameters);
        if self.sorts_names {
            Arc::make_mut(&mut schema).sort_all_objects();
        }
        schema
    }

    /// A call's arguments as a JSON object with the schema of the tool's parameters.
    pub fn json_args(&self, tool: &Tool) -> ExprId {
        let schema = self.parameters(tool);
        let object = self.json_object(&tool.name, &self.containers(&schema));
        let object = self.argument(
            object,
            format!("tool-{}-schema", tool.name),
            schema,
            Notation::Json,
        );
        self.quoted_or(self.tool_args(object))
    }

    /// The names of parameters, as JSON, that may be an array or object, and no text.
    fn containers(&self, parameters: &Arc<Value>) -> Vec<String> {
        let mut known: BTreeMap<String, Types> = BTreeMap::new();
        let root = SchemaRef::from(Arc::clone(parameters));
        for (place, _) in schema::places(&root, true).iter().filter(|_| self.mends) {
            for (name, member, _) in schema::members(place.get()) {
                let types = known
                    .entry(Value::from(name).to_string())
                    .or_insert(Types::NONE);
                *types = types.or(schema::types(member, parameters));
            }
        }
        known.retain(|_, types| is_container(*types));
        known.into_keys().collect()
    }

    /// The text of an array or object as a JSON string.
    pub fn json_text(&self) -> ExprId {
        let rest = self.sequence([self.string_body(b'"'), self.literal("\"")]);
        let begins = self.sequence([self.literal("\""), self.signs("[{"), rest]);
        let text = self.tag(Tag::JsonText, self.sequence([self.literal("\""), rest]));
        self.tolerated(self.sequence([self.and(begins), text]))
    }

    /// More text after `run`, a text up to what `stop` may begin with: runs go on while it does
    /// not match.
    pub fn more_text(&self, stop: ExprId, run: ExprId) -> ExprId {
        self.many(self.sequence([self.not(stop), self.any(), run]))
    }

    /// A call's arguments as the text of a JSON object in a JSON string.
    pub fn quoted_args(&self) -> ExprId {
        // Any other string is a value that broke.
        let begins = self.and(self.sequence([self.marker("\""), self.literal("{")]));
        let text = self.tag(Tag::QuotedToolArgs, self.string_body(b'"'));
        self.sequence([begins, self.marker("\""), text, self.marker("\"")])
    }

    /// A call's arguments as any JSON object.
    pub fn any_json_args(&self) -> ExprId {
        self.quoted_or(self.tool_args(self.json_object("", &[])))
    }

    /// An object, or `null` for an empty one. Other values do not match, because they would be
    /// lost. `containers`: members of the tool that may be arrays or objects, and no texts.
    fn json_object(&self, tool: &str, containers: &[String]) -> ExprId {
        let value = match (self.mends, containers) {
            (true, []) => self.nearly_json(Tag::ArgText.into(), ""),
            (true, keys) => {
                let name = self.choice(keys.iter().map(|key| self.literal(&**key)));
                let text = self.spaced([name, self.literal(":"), self.json_text()]);
                self.nearly_object(
                    Tag::ArgText.into(),
                    &format!("tool-{tool}-object"),
                    self.tolerated(text),
                )
            }
            (false, _) => self.json(),
        };
        let object = self.sequence([self.and(self.literal("{")), value]);
        self.choice([object, self.literal("null")])
    }

    /// Any value, as JSON or Python's, or nearly so: [`Builder::python`]. `closer`: the tag after
    /// it, or nothing.
    pub fn python(&self, closer: &str) -> ExprId {
        match self.mends {
            // A string alone ends at its quote, as what follows the value is not known here.
            // No grammar has what is only nearly JSON.
            true if !self.late.is_of_grammar() => self.choice([
                self.python_string(),
                self.nearly_json(Tag::ArgText.into(), closer),
            ]),
            _ => self.builder.python(),
        }
    }

    /// A word between JSON's quotes, or Python's where JSON may be nearly that.
    pub fn json_word(&self, word: &str) -> ExprId {
        let single = self.mends.then(|| self.literal(format!("'{word}'")));
        self.choice([Some(self.literal(format!("\"{word}\""))), single])
    }

    /// A key, a colon and a value, with white space around the colon.
    pub fn json_member(&self, key: &str, value: ExprId) -> ExprId {
        self.spaced([self.json_word(key), self.literal(":"), value])
    }

    /// An id between Python's quotes.
    pub fn single_quoted_id(&self) -> ExprId {
        self.sequence([
            self.literal("'"),
            self.tool_id(self.until_marker(["'"])),
            self.literal("'"),
        ])
    }

    /// A member of a call that is a JSON object, which says no more than that: its type, its
    /// number, or its id, unless it has one already. `known`: what the call has itself; `again`:
    /// the id, too.
    fn other_member(&self, known: &str, again: bool) -> ExprId {
        const IDS: [&str; 3] = ["id", "call_id", "tool_call_id"];
        let is_new = |key: &&str| !known.contains(&format!("\"{key}\""));
        let number = coverage::number(self);
        let id = if IDS.iter().all(is_new) {
            let id = self.tool_id(self.string_body(b'"'));
            let quoted = self.sequence([self.literal("\""), id, self.literal("\"")]);
            self.choice([quoted, self.single_quoted_id(), self.tool_id(number)])
        } else {
            let name = [self.quote(), coverage::name(self), self.quote()];
            self.choice([self.sequence(name), number])
        };
        let kinds = ["function", "tool_call", "tool_use"].map(|kind| self.json_word(kind));
        let ids = IDS
            .iter()
            .filter(|key| again || is_new(key))
            .map(|key| (*key, id));
        let others = [("type", self.choice(kinds)), ("index", number)];
        let others = others.into_iter().filter(|(key, _)| is_new(key));
        self.choice(
            ids.chain(others)
                .map(|(key, value)| self.json_member(key, value)),
        )
    }

    /// Such members before others, with their commas, at least one.
    pub fn other_members(&self, known: &str, again: bool) -> ExprId {
        let member = self.other_member(known, again);
        self.some(self.sequence([member, self.space(), self.literal(","), self.space()]))
    }

    /// [`FormatBuilder::other_members`] before all others, or the call is the member
    /// `function` of an object with such members.
    pub fn members_in_front(&self, known: &str, again: bool) -> ExprId {
        self.shared(&format!("members in front {again} {known}"), || {
            let all = self.other_members(known, again);
            let key = self.sequence([
                self.json_member("function", self.literal("{")),
                self.space(),
            ]);
            self.choice([
                self.sequence([all, self.optional(self.sequence([key, self.optional(all)]))]),
                self.sequence([key, self.optional(all)]),
            ])
        })
    }

    /// Such members after the others.
    pub fn members_behind(&self, known: &str) -> ExprId {
        self.shared(&format!("members behind {known}"), || {
            let last = self.spaced([self.literal(","), self.and(self.literal("}"))]);
            let member = self.sequence([
                self.literal(","),
                self.space(),
                self.other_member(known, true),
                self.space(),
            ]);
            self.sequence([self.many(member), self.optional(last)])
        })
    }

    /// What ends an object whose member was a call: its other members, and its brace.
    pub fn outer_end(&self) -> ExprId {
        self.sequence([self.space(), self.members_behind(""), self.literal("}")])
    }

    /// A call of one of these tools, with a rule for each.
    pub fn known_tool(&self, tools: &[Tool], call: &dyn Fn(&Tool) -> ExprId) -> ExprId {
        let (number, mut common) = (self.late.rule(), None);
        let calls = tools.iter().enumerate().map(|(place, tool)| {
            let name = &*tool.name;
            let late = if !self.late.is_part(place, name) {
                None
            } else if self.late.is_named(name) {
                let any = Tool::new(Expr::NAME, "", Value::Null);
                let make = || self.call_at(place, &any, call);
                common = common.or_else(|| self.late.unless_full(place, make));
                common
            } else {
                self.late
                    .unless_full(place, || self.call_at(place, tool, call))
            };
            let call = late.unwrap_or_else(|| self.call_at(place, tool, call));
            if self.late.is_of_grammar() {
                self.late.note(number, call);
            }
            if self.late.is_linked() && !name.is_empty() {
                self.builder.named(call, name, place as u32, number)
            } else {
                self.rule(rule_name(name, number), call)
            }
        });
        self.choice(calls)
    }

    /// A call whose parts belong to the tool at this place.
    fn call_at(&self, place: usize, tool: &Tool, call: &dyn Fn(&Tool) -> ExprId) -> ExprId {
        self.tool.set(Some(place));
        let call = call(tool);
        self.tool.set(None);
        call
    }

    /// Like `known_tool`, and also calls of tools that are not offered, unless these are to be
    /// content. For formats that mark their calls.
    pub fn any_tool(&self, spec: &FormatSpec, call: &dyn Fn(&Tool) -> ExprId) -> ExprId {
        self.choice([
            Some(self.known_tool(spec.tools(), call)),
            self.unknown_tool(spec, call),
        ])
    }

    /// Calls of tools that are not offered, unless these are to be content.
    pub fn unknown_tool(
        &self,
        spec: &FormatSpec,
        call: &dyn Fn(&Tool) -> ExprId,
    ) -> Option<ExprId> {
        let tools = spec.tools();
        if spec.options.leniency.unknown_tools == UnknownTools::Content || self.late.is_of_grammar()
        {
            return None;
        }
        let escaped = tools.iter().filter_map(|tool| escaped(&tool.name));
        let names = tools
            .iter()
            .map(|tool| self.written(&tool.name))
            .chain(escaped.map(Cow::Owned));
        let known_name = self.whole_name(names, NOT_IN_NAMES);
        self.rule(
            UNKNOWN_NAME,
            self.sequence([self.not(known_name), self.any_without(NOT_IN_NAMES)]),
        );
        let any = Tool::new(FormatBuilder::ANY, "", Value::Null);
        Some(self.tolerated(call(&any)))
    }

    /// From here on, the format's calls are of offered tools only.
    pub fn without_unknown_tools(&self) {
        if self.is_defined(UNKNOWN_NAME) {
            self.rule(UNKNOWN_NAME, self.never());
        }
    }

    /// The text between two members or items.
    pub fn separator(&self, child: ExprId) -> ExprId {
        self.whole(Tag::Separator, child)
    }

    /// The text in front is markup, even if the output leaves the format directly after it.
    pub fn markup_ends(&self) -> ExprId {
        self.tag(Tag::Markup, self.empty())
    }

    /// The characters of a text, each optional.
    pub fn each_optional(&self, text: &str) -> ExprId {
        let chars = text.chars();
        self.sequence(chars.map(|c| self.optional(self.marker(c.encode_utf8(&mut [0; 4])))))
    }

    /// A response that is one JSON value, bare or in a code block, which only a `fenced` grammar
    /// has.
    pub fn response(&self, schema: &Value, fenced: bool) -> ExprId {
        let value = self.rule("response-format", self.response_value(schema));
        let block = self.spaced([self.marker("```json"), value, self.marker("```")]);
        self.sequence([
            self.space(),
            self.choice([self.only_read(!fenced, block), value]),
            self.space(),
        ])
    }

    /// The value of such a response.
    pub fn response_value(&self, schema: &Value) -> ExprId {
        self.content(self.schema(
            self.json(),
            "response-format-schema",
            schema.clone(),
            Notation::Json,
        ))
    }

    /// Sequence with white space between the parts.
    pub fn spaced(&self, parts: impl IntoIterator<Item = ExprId>) -> ExprId {
        let spaced = parts.into_iter().flat_map(|part| [self.space(), part]);
        self.sequence(spaced.skip(1))
    }
}

/// The members that are required, or the others.
fn by_need(known: &[(ExprId, bool)], need: bool) -> impl Iterator<Item = ExprId> {
    let own = known.iter().filter(move |(_, required)| *required == need);
    own.map(|(member, _)| *member)
}

/// Names, of which one may begin with another.
fn longest_first<N: AsRef<str>>(names: impl Iterator<Item = N>) -> Vec<N> {
    let mut names: Vec<N> = names.collect();
    chatparse_base::sort::by_key(&mut names, |name| std::cmp::Reverse(name.as_ref().len()));
    names
}

/// A name as JSON has it inside of a string, if that is another text.
pub fn escaped(name: &str) -> Option<String> {
    find_to_escape(name.as_bytes())?;
    let mut inside = String::new();
    json_string::push_quoted(name, &mut inside);
    Some(inside)
}

/// The rule for a name that no known tool has.
pub(super) const UNKNOWN_NAME: &str = "unknown-tool-name";

/// What ends an attribute.
const QUOTE: &[(char, char)] = &[('"', '"')];

/// Characters that end a tool's name: white space, and those of ASCII that the APIs allow in no
/// name.
const NOT_IN_NAMES: &[(char, char)] = &[
    ('\0', ','),
    ('/', '/'),
    (':', '@'),
    ('[', '^'),
    ('`', '`'),
    ('{', '\u{a0}'),
];

/// Characters that end an argument's name, for which the APIs have no rule: white space, quotes,
/// brackets and markup.
const NOT_IN_ARG_NAMES: &[(char, char)] = &[
    ('\0', ' '),
    ('"', '"'),
    ('\'', ')'),
    (',', ','),
    (':', ':'),
    ('<', '>'),
    ('[', ']'),
    ('`', '`'),
    ('{', '}'),
    ('\u{7f}', '\u{a0}'),
];

/// Whether values of these types may be arrays or objects, and no texts.
pub fn is_container(types: Types) -> bool {
    !types.has(Types::STRING) && (types.has(Types::ARRAY) || types.has(Types::OBJECT))
}
