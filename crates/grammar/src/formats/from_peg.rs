//! Turns a format's expressions into grammar rules, so that one description parses and constrains
//! the output.
//!
//! Rules stay rules, schemas replace the JSON that they annotate, text up to a marker becomes an
//! automaton with a rule for each state. Look aheads are dropped, because a grammar cannot express
//! them; so it may allow a little more than the parser does.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use crate::faithful::{Undeclared, Writing};
use crate::formats::automaton::{Automaton, Texts};
use crate::formats::escaped::Escaped;
use crate::formats::nullable::{Nullable, is_only_read, may_be_string, written};
use crate::rules::primitive::no_character;
use crate::rules::{
    Builder, Fidelity, FidelityKind, Grammar, Letter, Rule, SPACE, Section, class, clean, distinct,
    string_character,
};
use crate::schema;
use chatparse_base::limits;
use chatparse_base::store::{Store, fingerprint, hash_of};
use chatparse_peg::{Annotated, Arena, Expr, ExprId, Notation, Parts, SchemaRef, Spacing};

/// The grammar of a format, with schemas by this letter. `lazy`: the grammar of its trigger rules,
/// which begins at a trigger.
pub fn from_arena(arena: &Arena, lazy: bool, letter: Option<&'static Letter>) -> Grammar {
    let mut rules = Builder::with_letter(letter);
    rules.add_format(arena, lazy);
    rules.finish()
}

/// The faithful grammar of a format that is linked with rules of tools, each by the tool's place
/// and which of its rules it is. `name`: such a rule's name; `make`: makes all that the format
/// refers to. `None`: two rules of one name differ, or the rules are too many.
pub fn linked(
    arena: &Arena,
    lazy: bool,
    name: &dyn Fn(usize, u32) -> SmolStr,
    texts: &TextSections,
    make: impl FnOnce(BTreeSet<(usize, u32)>) -> Vec<Arc<Section>>,
) -> Option<Grammar> {
    let mut rules = Builder::new();
    let Lowered { links, needs, size } = rules.lower_format(arena, lazy, Some(name), texts);
    let mut sections = vec![Arc::new(Section {
        needs,
        ..rules.section(size)
    })];
    sections.extend(make(links));
    Grammar::of_sections(sections)
}

/// An expression that has a rule of this name.
pub struct SectionRoot {
    /// The rule's name, which others may refer to.
    pub name: SmolStr,
    /// The expression.
    pub expr: ExprId,
}

impl Section {
    /// The faithful rules of these expressions. `texts`: the rules of texts that were made so far.
    pub fn of_roots(arena: &Arena, roots: &[SectionRoot], texts: &TextSections) -> Section {
        let mut rules = Builder::new();
        let mark = rules.mark();
        rules.spacing = arena.spacing;
        let mut lowering = Lowering::new(arena, &mut rules, texts);
        for SectionRoot { name, expr } in roots {
            let name = lowering.rules.reserve(name);
            lowering.pending.push((name, *expr, What::All));
        }
        let size = lowering.fill_pending();
        let needs = lowering.needs;
        let names: Vec<SmolStr> = roots.iter().map(|root| clean(&root.name)).collect();
        rules.without_aliases(mark, &names);
        Section {
            needs,
            ..rules.section(size)
        }
    }
}

impl Builder {
    /// Adds the rules of a format: `root` for all of it, or with `lazy` for what may follow a
    /// trigger.
    pub fn add_format(&mut self, format: &Arena, lazy: bool) {
        self.lower_format(format, lazy, None, &TextSections::default());
    }

    /// The same. `name`: names the rules that the format is linked with; then the rules of texts
    /// are not added.
    fn lower_format(
        &mut self,
        format: &Arena,
        lazy: bool,
        name: Option<LinkName>,
        texts: &TextSections,
    ) -> Lowered {
        let spacing = if self.is_faithful() {
            format.spacing
        } else {
            Spacing::Free
        };
        let (before, mark, is_new) = (
            std::mem::replace(&mut self.spacing, spacing),
            self.mark(),
            self.is_new(),
        );
        let mut lowering = Lowering::new(format, self, texts);
        (lowering.link_name, lowering.is_section) = (name, name.is_some());
        let root = match (lazy, format.root()) {
            (true, _) => {
                let triggers = format.trigger_rules();
                Rule::Choice(
                    triggers
                        .map(|name| lowering.reference(name, What::All))
                        .collect(),
                )
            }
            (false, Some(root)) => lowering.lower(root),
            (false, None) => Rule::Empty,
        };
        lowering.rules.add_rule("root", body_of(root));
        let size = lowering.fill_pending();
        let Lowering {
            links,
            needs,
            verbatim,
            ..
        } = lowering;
        // What somebody has written by hand may name any rule.
        if self.is_faithful() && !verbatim && is_new {
            self.without_aliases(mark, &["root".into()]);
        }
        self.spacing = before;
        Lowered { links, needs, size }
    }
}

/// What the rules of a format refer to, and their size.
struct Lowered {
    /// The tools' rules that it is linked with.
    links: BTreeSet<(usize, u32)>,
    /// The rules of texts.
    needs: Vec<Arc<Section>>,
    size: usize,
}

/// The rules of texts, by all that they depend on: the markers that end one, what else is not in
/// it, and how it ends. Faithful formats that are linked share them.
#[derive(Debug)]
pub struct TextSections(Store<TextKey, Arc<Section>>);

type TextKey = ([Vec<SmolStr>; 2], Text);

impl Default for TextSections {
    fn default() -> Self {
        TextSections(Store::new(limits::CACHED_TEXTS_BYTES))
    }
}

/// The name of a rule of a tool.
type LinkName<'n> = &'n dyn Fn(usize, u32) -> SmolStr;

/// The variant of an expression that a rule is for. Its number: the fewest characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    /// The whole expression.
    All = 0,
    /// The expression without the empty text.
    Some = 1,
}

/// The variants of text with markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Text {
    /// Text without a marker, possibly empty.
    Any,
    /// Text without a marker, at least one character.
    Some,
    /// Text that ends with the first marker.
    Closed,
}

impl Text {
    fn name(self) -> &'static str {
        match self {
            Text::Any => "u",
            Text::Some => "s",
            Text::Closed => "c",
        }
    }
}

struct Lowering<'a, 'n> {
    arena: &'a Arena,
    rules: &'n mut Builder,
    /// Names the rules that are linked.
    link_name: Option<LinkName<'n>>,
    /// Those of them that the rules refer to.
    links: BTreeSet<(usize, u32)>,
    /// The grammar's names for the arena's rules.
    names: HashMap<(&'a SmolStr, What), SmolStr>,
    /// Rules that have a name but no body yet.
    pending: Vec<(SmolStr, ExprId, What)>,
    nullable: Nullable<'a>,
    /// The current nesting of expressions.
    depth: usize,
    /// Rules for text with markers: those of other formats, and those of this one.
    texts: &'n TextSections,
    known_texts: HashMap<TextKey, Arc<Section>>,
    /// Those of them that the rules refer to.
    needs: Vec<Arc<Section>>,
    /// The rules are a section, which has the rules of texts beside it.
    is_section: bool,
    /// Rules for schemas.
    schemas: HashMap<ExprId, Rule>,
    escaped: Escaped,
    /// The rule that is being written, for the report.
    rule: SmolStr,
    /// The number of unordered groups in that rule so far.
    orders: usize,
    /// A part is GBNF by the format's author.
    verbatim: bool,
    /// The number of parts that may still be written. Optional parts are written twice on each
    /// level.
    left: usize,
}

impl<'a, 'n> Lowering<'a, 'n> {
    fn new(arena: &'a Arena, rules: &'n mut Builder, texts: &'n TextSections) -> Self {
        let (links, names, pending, known_texts, needs, schemas, escaped) = Default::default();
        Lowering {
            arena,
            rules,
            link_name: None,
            links,
            names,
            pending,
            nullable: Nullable::new(arena),
            depth: 0,
            texts,
            known_texts,
            needs,
            is_section: true,
            schemas,
            escaped,
            orders: 0,
            verbatim: false,
            rule: "root".into(),
            left: limits::FORMAT_GRAMMAR_PARTS,
        }
    }

    /// Adds the bodies of all rules that have a name. Returns the rules' size.
    fn fill_pending(&mut self) -> usize {
        while let Some((name, id, what)) = self.pending.pop() {
            (self.rule, self.orders) = (name.clone(), 0);
            let body = match what {
                What::All => self.lower(id),
                What::Some => match self.lower_some(id) {
                    Rule::Empty => no_character(),
                    body => body,
                },
            };
            self.rules.fill(&name, body_of(body));
        }
        std::mem::take(&mut self.escaped).add(self.rules);
        if self.left == 0 {
            let message = "the format is too large for a grammar; any text is allowed for the rest";
            self.rules
                .note(Fidelity::new("", "#", FidelityKind::Widened, message));
        }
        limits::FORMAT_GRAMMAR_PARTS - self.left
    }

    /// Subtracts parts from the budget. Returns whether it was sufficient.
    fn spend(&mut self, parts: usize) -> bool {
        self.left = self.left.saturating_sub(parts);
        self.left > 0
    }

    fn lower(&mut self, id: ExprId) -> Rule {
        self.lower_as(id, What::All)
    }

    /// Lowers an expression without the empty text.
    fn lower_some(&mut self, id: ExprId) -> Rule {
        self.lower_as(id, What::Some)
    }

    fn lower_as(&mut self, id: ExprId, what: What) -> Rule {
        if !self.spend(1) {
            return Rule::class(".").repeat(what as u64, None);
        }
        if what == What::Some && !self.nullable.is_nullable(id) {
            return self.lower(id);
        }
        self.depth += 1;
        let rule = self.text_of(id, what).unwrap_or_else(|| match what {
            What::All => self.all_of(id),
            What::Some => self.some_of(id),
        });
        self.depth -= 1;
        rule
    }

    /// Text of which the expression says how it ends.
    fn text_of(&mut self, id: ExprId, what: What) -> Option<Rule> {
        let character = match self.arena.get(id) {
            Expr::StringBody(delimiter) => string_character(char::from(*delimiter), ""),
            Expr::StringLine(delimiter) => string_character(char::from(*delimiter), "\\n"),
            Expr::Until(markers) | Expr::UntilMarker(markers) if markers.is_empty() => {
                Rule::class(".")
            }
            Expr::Until(markers) | Expr::UntilMarker(markers) => {
                let kind = match what {
                    What::All => Text::Any,
                    What::Some => Text::Some,
                };
                return Some(self.text([markers, &[]], kind));
            }
            _ => return None,
        };
        Some(character.repeat(what as u64, None))
    }

    fn all_of(&mut self, id: ExprId) -> Rule {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Literal(text) | Expr::Marker(text) | Expr::Written(_, text)
                if text.is_empty() =>
            {
                Rule::Empty
            }
            Expr::Literal(text) | Expr::Marker(text) | Expr::Written(_, text) => {
                Rule::Literal(text.clone())
            }
            Expr::Named { part, rule, .. } => match self.link_name {
                Some(name) => {
                    self.links.insert((*part as usize, *rule));
                    Rule::Reference(clean(&name(*part as usize, *rule)))
                }
                None => Rule::Empty,
            },
            Expr::Sequence(children) => {
                let parts = children.iter().map(|&child| self.lower(child)).collect();
                sequence(parts)
            }
            Expr::Choice(children) => {
                let mut branches: Vec<Rule> = written(arena, children)
                    .into_iter()
                    .map(|child| self.lower(child))
                    .collect();
                if self.rules.is_faithful() {
                    distinct(&mut branches);
                }
                if branches.len() == 1 {
                    branches.swap_remove(0)
                } else {
                    Rule::Choice(branches)
                }
            }
            Expr::Repeat(child, min, max) => {
                // Some readers reject a repetition of a part that may be empty.
                let once = *max == Some(1);
                match if once {
                    self.lower(*child)
                } else {
                    self.lower_some(*child)
                } {
                    Rule::Empty => Rule::Empty,
                    child => repeat(child, *min, *max),
                }
            }
            Expr::Any => Rule::class("."),
            Expr::Space => Rule::reference("space"),
            Expr::Char(set) => class(set.ranges.iter().copied(), set.negated),
            Expr::Excluding(_, markers) => {
                let [markers, others] = &**markers;
                let faithful = self.rules.is_faithful();
                self.text([markers, if faithful { others } else { &[] }], Text::Closed)
            }
            Expr::Gbnf(child, text) => self.gbnf(text, *child),
            Expr::Unordered(_, parts) => self.unordered(parts),
            Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => {
                self.lower(*child)
            }
            Expr::Ref(name) => self.reference(name, What::All),
            Expr::Schema(value) if self.is_child(value) => self.lower(value.child),
            Expr::Schema(value) if self.is_unfollowed(value) => {
                self.note_unfollowed(value);
                self.lower(value.child)
            }
            Expr::Schema(value) => {
                let known = self.schemas.get(&id).cloned();
                let rule = known.unwrap_or_else(|| self.schema(value));
                self.schemas.insert(id, rule.clone());
                rule
            }
            // Look aheads, and what only the parser reads.
            _ => Rule::Empty,
        }
    }

    /// Like `lower_some`, for expressions that may be empty.
    fn some_of(&mut self, id: ExprId) -> Rule {
        let arena = self.arena;
        match arena.get(id) {
            Expr::Choice(children) => {
                let branches = written(arena, children);
                choice(
                    branches
                        .into_iter()
                        .map(|child| self.lower_some(child))
                        .collect(),
                )
            }
            Expr::Sequence(children) => {
                // One branch for each part that may be the first non-empty one.
                let firsts = (0..children.len()).map(|first| {
                    let rest = children[first + 1..].iter();
                    let mut parts = vec![self.lower_some(children[first])];
                    if parts[0] != Rule::Empty {
                        parts.extend(rest.map(|&child| self.lower(child)).collect::<Vec<_>>());
                    }
                    sequence(parts)
                });
                choice(firsts.collect())
            }
            Expr::Repeat(child, _, max) => {
                let (first, more) = (
                    self.lower_some(*child),
                    max.map(|max| u64::from(max.saturating_sub(1))),
                );
                match first {
                    Rule::Empty => Rule::Empty,
                    first if !self.spend(parts(&first)) => first,
                    first => sequence(vec![first.clone(), item(first).repeat(0, more)]),
                }
            }
            // It may be empty if all of its required parts may be.
            Expr::Unordered(_, parts) => {
                let parts = parts.required.iter().chain(&parts.optional);
                match choice(parts.map(|&part| self.lower_some(part)).collect()) {
                    Rule::Empty => Rule::Empty,
                    parts => item(parts).repeat(1, None),
                }
            }
            Expr::Space => choice(vec![
                Rule::literal(" "),
                Rule::class("[\\n]").repeat(1, Some(2)),
            ]),
            Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => {
                self.lower_some(*child)
            }
            Expr::Ref(name) if self.depth > limits::LOWERING_DEPTH => {
                self.reference(name, What::Some)
            }
            Expr::Ref(name) => arena
                .rule_named(name)
                .map_or(Rule::Empty, |rule| self.lower_some(rule)),
            Expr::Schema(value) => self.lower_some(value.child),
            _ => Rule::Empty,
        }
    }

    fn reference(&mut self, name: &'a SmolStr, what: What) -> Rule {
        if let Some(known) = self.names.get(&(name, what)) {
            return Rule::Reference(known.clone());
        }
        let rule = self
            .arena
            .rule_named(name)
            .filter(|&rule| !is_only_read(self.arena, rule));
        let Some(rule) = rule else { return Rule::Empty };
        let reserved = match what {
            What::All => self.rules.reserve(name),
            What::Some => self.rules.reserve(&format_smolstr!("some-{name}")),
        };
        self.names.insert((name, what), reserved.clone());
        self.pending.push((reserved.clone(), rule, what));
        Rule::Reference(reserved)
    }

    /// Whether the child stands for the value, with less than the schema says.
    fn is_unfollowed(&self, value: &Annotated) -> bool {
        let llama = !self.rules.is_faithful();
        matches!(
            value.notation,
            Notation::Parts | Notation::PerhapsLeftOut | Notation::PerhapsMore
        ) || llama && value.notation == Notation::Escaped
    }

    /// Notes what the child does not hold to.
    fn note_unfollowed(&mut self, value: &Annotated) {
        match value.notation {
            Notation::PerhapsLeftOut => {
                self.note_widened(value, "", "may be missing, as the template leaves out null")
            }
            Notation::PerhapsMore => self.note_widened(
                value,
                "",
                "its text may have what the template writes an undeclared argument with",
            ),
            _ => {
                let keywords = value.schema.get().as_object();
                for key in keywords.into_iter().flat_map(|keywords| keywords.keys()) {
                    let is_left_out = match value.notation {
                        Notation::Parts => NOT_OF_PARTS.contains(&&**key),
                        _ => !schema::SAY_NOTHING.contains(&&**key),
                    };
                    if is_left_out {
                        let message =
                            "not followed in the way in which the format writes the value";
                        self.note_widened(value, &format!("/{key}"), message);
                    }
                }
            }
        }
    }

    fn note_widened(&mut self, value: &Annotated, place: &str, message: &str) {
        let pointer = format!("#{}{place}", value.schema.pointer);
        let note = Fidelity::new(&value.name, pointer, FidelityKind::Widened, message);
        self.rules.note(note);
    }

    /// Whether the child stands for the value. llama.cpp's grammars have no notation but JSON.
    fn is_child(&self, value: &Annotated) -> bool {
        match value.notation {
            Notation::JsonOrChild => may_be_string(&value.schema),
            Notation::Text | Notation::Quoted(_) | Notation::Printed => !self.rules.is_faithful(),
            _ => false,
        }
    }

    /// The markers that end a text, what else is not in it, and whether the markers are part of it.
    fn ends(&self, id: ExprId) -> ([&'a [SmolStr]; 2], bool) {
        match self.arena.get(id) {
            Expr::Until(markers) | Expr::UntilMarker(markers) => ([markers, &[]], false),
            Expr::Excluding(_, markers) => ([&markers[0], &markers[1]], true),
            Expr::Tag(_, child) | Expr::Atomic(child) | Expr::Rule { child, .. } => {
                self.ends(*child)
            }
            Expr::Sequence(children) => {
                let first = children.first().map(|first| self.ends(*first));
                first.unwrap_or_default()
            }
            Expr::Ref(name) => {
                let rule = self.arena.rule_named(name);
                rule.map(|rule| self.ends(rule)).unwrap_or_default()
            }
            _ => Default::default(),
        }
    }

    /// A schema that cannot be used is reported and replaced by any JSON; other schemas are not
    /// affected.
    fn schema(&mut self, value: &Annotated) -> Rule {
        let Annotated {
            name,
            schema: SchemaRef { document, pointer },
            child,
            argument,
            ..
        } = value;
        let undeclared = if *argument {
            Undeclared::LeftOut
        } else {
            Undeclared::Allowed
        };
        let found = document.pointer(pointer).unwrap_or(&Value::Null);
        // llama.cpp takes `true` below the top only.
        if *found == Value::Bool(true) && !self.rules.is_faithful() {
            return self.rules.shared("value");
        }
        let mut writing = Writing {
            notation: value.notation,
            ..Writing::JSON
        };
        if value.notation == Notation::Text {
            (writing.ends, writing.closed) = self.ends(*child);
            writing.any = self.lower(*child);
        }
        let added = match value.notation {
            Notation::Escaped => self.escaped.schema(self.rules, name, |plain| {
                plain.add_values(name, found, document, undeclared, &Writing::JSON)
            }),
            _ => self
                .rules
                .add_values(name, found, document, undeclared, &writing)
                .map(Rule::Reference),
        };
        match added {
            Ok(rule) => rule,
            Err(error) => {
                let pointer = format!("#{pointer}");
                self.rules.note(Fidelity::new(
                    name,
                    pointer,
                    FidelityKind::Refused,
                    error.message(),
                ));
                self.lower(*child)
            }
        }
    }

    /// GBNF from the format's author. If it is invalid, it is reported and the child is used.
    fn gbnf(&mut self, text: &str, child: ExprId) -> Rule {
        self.verbatim = true;
        match Rule::gbnf(text) {
            _ if text.is_empty() => Rule::Empty,
            Ok(rule) if text.contains('|') => rule.group(),
            Ok(rule) => rule,
            Err(error) => {
                self.rules.note(Fidelity::new(
                    text,
                    "#",
                    FidelityKind::Refused,
                    error.message(),
                ));
                self.lower(child)
            }
        }
    }

    /// Text up to markers, without `others` in it.
    fn text(&mut self, ends: [&'a [SmolStr]; 2], kind: Text) -> Rule {
        if ends[0].iter().any(SmolStr::is_empty) {
            return Rule::Empty;
        }
        let section = self.text_section(ends, kind);
        for need in section.needs.iter().chain([&section]) {
            if self.needs.iter().all(|known| known.first != need.first) {
                // Rules that come later then have other names.
                if !self.is_section {
                    self.rules.import(need);
                }
                self.needs.push(Arc::clone(need));
            }
        }
        Rule::Reference(section.first.clone())
    }

    /// The rules of such a text. In a section they are a function of the text alone: where another
    /// rule has the name of one, the whole format is lowered, where the next name is taken.
    fn text_section(&mut self, ends: [&'a [SmolStr]; 2], kind: Text) -> Arc<Section> {
        let key = (ends.map(<[SmolStr]>::to_vec), kind);
        let hash = hash_of(&key);
        // The store may have dropped one of this format, which needs the same name again.
        let known = self.known_texts.get(&key).map(Arc::clone);
        if let Some(known) = known.or_else(|| self.texts.0.get(hash, |known| *known == key)) {
            self.known_texts.insert(key, Arc::clone(&known));
            return known;
        }
        let mut salt = 0;
        let section = loop {
            let section = self.named_text(ends, kind, salt);
            if self.is_section || self.rules.takes(&section) {
                break Arc::new(section);
            }
            salt += 1;
        };
        let texts = ends.into_iter().flatten();
        let texts: usize = texts.map(|text| size_of::<SmolStr>() + text.len()).sum();
        self.known_texts.insert(key.clone(), Arc::clone(&section));
        self.texts
            .0
            .keep(hash, key, Arc::clone(&section), section.bytes() + texts);
        section
    }

    /// The rules of such a text, named by a hash of it and of `salt`.
    fn named_text(&mut self, ends: [&'a [SmolStr]; 2], kind: Text, salt: u32) -> Section {
        let [markers, others] = ends;
        let texts = ends.into_iter().flatten().map(SmolStr::as_str);
        let counts = format!("{} {salt}", markers.len());
        let number = fingerprint(texts.chain([&*counts])) % 36_u64.pow(3);
        // With a dash, so that no word is a name.
        let start = format_smolstr!("{}-{}", kind.name(), in_base_36(number));
        let (mut rules, mut needs) = (Builder::with_letter(self.rules.letter), Vec::new());
        let closed = kind == Text::Closed;
        // What closes a section of character data is nowhere in it.
        let is_data = closed
            && markers
                .iter()
                .all(|marker| self.first_tag(marker) == DATA_END);
        let short: Vec<&str> = markers
            .iter()
            .map(|marker| {
                if closed {
                    marker
                } else {
                    self.first_tag(marker)
                }
            })
            .collect();
        let more: Vec<&str> = others.iter().map(SmolStr::as_str).collect();
        let texts = Texts::new(Automaton::new(&short, &more), closed);
        if is_data || kind == Text::Some {
            let any = self.text_section(ends, Text::Any);
            let refers = Rule::Reference(any.first.clone());
            let body = if is_data {
                let ends = choice(markers.iter().cloned().map(Rule::Literal).collect());
                sequence(vec![refers, ends])
            } else {
                texts.without_empty(refers)
            };
            rules.add(&start, body);
            needs.push(any);
        } else {
            texts.add(&mut rules, &start);
        }
        Section {
            first: start,
            needs,
            ..rules.section(0)
        }
    }

    /// The beginning of a marker that the text before the marker may not have. A model that writes
    /// the tag with which a marker begins means the marker, so the grammar need not follow how it
    /// goes on.
    fn first_tag<'m>(&self, marker: &'m str) -> &'m str {
        match marker.find('>') {
            _ if !self.rules.is_faithful() => marker,
            Some(end) if marker.starts_with('<') || marker.starts_with(DATA_END) => &marker[..=end],
            _ => marker,
        }
    }

    fn unordered(&mut self, all: &Parts) -> Rule {
        let required: Vec<Rule> = all.required.iter().map(|&id| self.lower(id)).collect();
        let mut optional: Vec<Rule> = all.optional.iter().map(|&id| self.lower_some(id)).collect();
        optional.retain(|part| *part != Rule::Empty);
        let between = all.between.map(|between| self.lower(between));
        if required.is_empty() && optional.is_empty() {
            return Rule::Empty;
        }
        if required.is_empty() {
            let any = item(Rule::Choice(optional));
            return match between {
                Some(between) => sequence(vec![
                    any.clone(),
                    item(sequence(vec![between, any])).repeat(0, None),
                ]),
                None => any.repeat(0, None),
            };
        }
        let between = between.unwrap_or(Rule::Empty);
        if required.len() > limits::ANY_ORDER_PARTS {
            return self.in_order(required, &optional, between);
        }
        if !self.spend(required.iter().chain(&optional).map(parts).sum::<usize>() << required.len())
        {
            return Rule::class(".").repeat(0, None);
        }
        // A rule for each set of required parts that are still missing, indexed by the set's bits;
        // the empty set comes first. With a separator, each rule follows a part, and the last
        // set has another rule for the beginning.
        let order = match self.orders {
            0 => self.rule.clone(),
            number => format_smolstr!("{}-o{number}", self.rule),
        };
        self.orders += 1;
        let all_missing = (1_usize << required.len()) - 1;
        let reserved = all_missing + usize::from(!optional.is_empty() || between == Rule::Empty);
        let mut sets = Vec::with_capacity(reserved);
        for missing in 0..reserved {
            sets.push(match missing {
                0 if optional.is_empty() => Rule::Empty,
                _ => Rule::Reference(self.rules.reserve(&format_smolstr!("{order}-{missing}"))),
            });
        }
        let mut more = choice(optional.clone());
        if optional.len() > 1 {
            more = self.rules.refer(&format_smolstr!("{order}-more"), more);
        }
        let branches = |missing: usize| {
            let bits = required
                .iter()
                .enumerate()
                .filter(|(bit, _)| missing & 1 << bit != 0);
            let to = bits.map(|(bit, part)| (part, missing & !(1 << bit)));
            let to = to.chain((more != Rule::Empty).then_some((&more, missing)));
            choice(
                to.map(|(part, left)| sequence(vec![part.clone(), sets[left].clone()]))
                    .collect(),
            )
        };
        let again = reserved > all_missing;
        let first = match &between {
            Rule::Empty => sets[all_missing].clone(),
            _ if again => self
                .rules
                .refer(&format_smolstr!("{order}-all"), branches(all_missing)),
            _ => branches(all_missing),
        };
        for (missing, name) in sets.iter().enumerate() {
            let Rule::Reference(name) = name else {
                continue;
            };
            let next = match &between {
                Rule::Empty => branches(missing),
                between if missing == all_missing => sequence(vec![between.clone(), first.clone()]),
                between => sequence(vec![between.clone(), branches(missing)]),
            };
            let all = if missing == 0 {
                Rule::choice([Rule::Empty, next])
            } else {
                next
            };
            self.rules.fill(name, body_of(all));
        }
        first
    }

    /// Many required parts: a rule for each subset would be too many. llama.cpp's grammars count
    /// them.
    fn in_order(&mut self, required: Vec<Rule>, optional: &[Rule], between: Rule) -> Rule {
        if !self.rules.is_faithful() {
            let all: Vec<Rule> = required.iter().chain(optional).cloned().collect();
            let (least, most) = (required.len() as u64, all.len() as u64);
            return item(Rule::choice(all)).repeat(least, Some(most));
        }
        let message = "many required members are written in the order of their schema";
        self.rules.note(Fidelity::new(
            &self.rule,
            "#/required",
            FidelityKind::Narrowed,
            message,
        ));
        let (mut before, mut after) = (Rule::Empty, Rule::Empty);
        if !optional.is_empty() {
            let any = item(choice(optional.to_vec()));
            before = item(sequence(vec![any.clone(), between.clone()])).repeat(0, None);
            after = item(sequence(vec![between.clone(), any])).repeat(0, None);
        }
        let mut all = vec![before];
        for (index, part) in required.into_iter().enumerate() {
            all.extend((index > 0).then(|| between.clone()));
            all.extend([part, after.clone()]);
        }
        sequence(all)
    }
}

/// The end of a section of character data in XML.
const DATA_END: &str = "]]>";

/// Keywords of objects and arrays that are not followed where their parts are written one by one.
const NOT_OF_PARTS: [&str; 23] = [
    "$ref",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "if",
    "maxItems",
    "maxProperties",
    "minItems",
    "minProperties",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "additionalItems",
];

/// A number in digits and letters.
fn in_base_36(mut number: u64) -> String {
    let mut digits = String::new();
    while number > 0 || digits.is_empty() {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    digits
}

/// The number of parts of a rule.
fn parts(rule: &Rule) -> usize {
    1 + match rule {
        Rule::Sequence(rules) | Rule::Choice(rules) => rules.iter().map(parts).sum(),
        Rule::Group(rule, _) | Rule::Repeat(rule, _) => parts(rule),
        _ => 0,
    }
}

/// A choice without the empty branches.
fn choice(mut branches: Vec<Rule>) -> Rule {
    branches.retain(|branch| *branch != Rule::Empty);
    distinct(&mut branches);
    Rule::one_of_several(branches).unwrap_or(Rule::Empty)
}

/// The rule as a body, of which a choice needs no parentheses.
fn body_of(rule: Rule) -> Rule {
    if !matches!(rule, Rule::Choice(_)) {
        return rule;
    }
    let mut branches = Vec::new();
    flatten(rule, &mut branches);
    Rule::Choice(branches)
}

/// The alternatives of a rule.
fn flatten(rule: Rule, into: &mut Vec<Rule>) {
    match rule {
        Rule::Choice(branches) => branches
            .into_iter()
            .for_each(|branch| flatten(branch, into)),
        other => into.push(other),
    }
}

/// A sequence without the empty parts, with choices in parentheses.
fn sequence(parts: Vec<Rule>) -> Rule {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Rule::Empty => {}
            Rule::Sequence(inner) => flat.extend(inner),
            // White space is one run, however many parts of the format allow it.
            space if space == Rule::reference(SPACE) && flat.last() == Some(&space) => {}
            other => flat.push(other.into_part()),
        }
    }
    Rule::joined(flat)
}

/// The rule as one item that can be repeated.
fn item(rule: Rule) -> Rule {
    match rule {
        rule @ (Rule::Sequence(_)
        | Rule::Choice(_)
        | Rule::Repeat(..)
        | Rule::Gbnf(_)
        | Rule::Empty) => rule.group(),
        rule => rule,
    }
}

/// Repeats a rule.
fn repeat(rule: Rule, min: u32, max: Option<u32>) -> Rule {
    match (min, max) {
        (1, Some(1)) => rule,
        (min, Some(max)) if min == max => item(rule).times(u64::from(min), Some(u64::from(max))),
        _ => item(rule).repeat(u64::from(min), max.map(u64::from)),
    }
}
