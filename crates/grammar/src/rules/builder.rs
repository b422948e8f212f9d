//! Collects rules under unique names, and the report on where they depart from their schemas.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use crate::rules::primitive::{self, Primitive};
use crate::rules::{Fidelity, Grammar, Rule, SIGN, SPACE, Section, SectionRule};
use crate::text::dead;
use crate::text::repetition::Reader;
use chatparse_base::Result;
use chatparse_peg::Spacing;

/// The name of a schema's rule, and the departures from the schema.
pub type Added = (SmolStr, Vec<Fidelity>);

/// Another way to write schemas as rules than the faithful one: by the letter of llama.cpp's texts.
#[derive(Debug)]
pub struct Letter {
    /// Adds the rules of a schema, whose references lead into another value. Takes the builder, the
    /// name of the schema's rule (`""`: the top), the schema and that value. Returns the actual
    /// name and the departures from the schema.
    pub add: fn(&mut Builder, &str, &Value, &Value) -> Result<Added>,
    /// The shared rules that differ from the faithful ones.
    pub primitives: &'static [Primitive],
}

/// Collects rules under unique names. An equal rule of the same name is shared.
#[derive(Clone, Debug)]
pub struct Builder {
    /// How schemas are written; `None`: faithfully.
    pub letter: Option<&'static Letter>,
    /// The white space in JSON.
    pub(crate) spacing: Spacing,
    rules: BTreeMap<SmolStr, Entry>,
    /// The texts of all rules, including removed ones.
    texts: String,
    /// By requested name: the rules that got a number appended.
    numbered: HashMap<SmolStr, Numbered>,
    /// Names in the order in which they were added, for [`Builder::undo`].
    journal: Vec<SmolStr>,
    report: Vec<Fidelity>,
    /// The rules of references, by document and pointer.
    pub references: HashMap<(u64, String), SmolStr>,
    /// The number of documents that were too deep to be compared with others.
    pub strange: u64,
}

/// A rule and the place of its text. A recursive rule is named before it has a body.
#[derive(Clone, Debug)]
struct Entry {
    rule: Rule,
    text: Option<Range<usize>>,
}

#[derive(Clone, Debug, Default)]
struct Numbered {
    next: u64,
    by_text: HashMap<String, SmolStr>,
}

/// A state to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    rules: usize,
    report: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl Builder {
    /// A builder with the rule `space`, for the blanks between the parts of a JSON value.
    pub fn new() -> Self {
        Builder::with_letter(None)
    }

    /// Like [`Builder::new`], for schemas by this letter.
    pub fn with_letter(letter: Option<&'static Letter>) -> Self {
        let mut builder = Builder {
            letter,
            spacing: Spacing::Free,
            rules: BTreeMap::new(),
            texts: String::with_capacity(2048),
            numbered: HashMap::new(),
            journal: Vec::new(),
            report: Vec::new(),
            references: HashMap::new(),
            strange: 0,
        };
        builder.add(SPACE, primitive::space());
        builder
    }

    /// Whether nothing was added.
    pub fn is_new(&self) -> bool {
        self.journal.len() == 1 && self.report.is_empty()
    }

    /// Adds a rule and returns its actual name: characters that names cannot have become dashes, a
    /// dash is appended to the reserved names of shared rules, and a number if another rule has the
    /// name. `""` is `root`, the top.
    pub fn add_rule(&mut self, name: impl Into<SmolStr>, body: Rule) -> SmolStr {
        let name = name.into();
        let name = if name.is_empty() {
            "root".into()
        } else {
            clean(&name)
        };
        if name != "root" && self.is_reserved(&name) {
            self.add(&format_smolstr!("{name}-"), body)
        } else {
            self.add(&name, body)
        }
    }

    /// Whether schemas are written faithfully.
    pub(crate) fn is_faithful(&self) -> bool {
        self.letter.is_none()
    }

    /// The shared rule of this name.
    pub(crate) fn primitive(&self, name: &str) -> Option<&'static Primitive> {
        let own = self.letter.map(|letter| letter.primitives);
        primitive::find(name, own.unwrap_or(primitive::FAITHFUL))
    }

    /// Whether the name is reserved for a shared rule or the top.
    pub fn is_reserved(&self, name: &str) -> bool {
        name == "root" || self.primitive(name).is_some()
    }

    /// Whether there is a rule of exactly this name.
    pub fn has_rule(&self, name: &str) -> bool {
        self.rules.contains_key(name)
    }

    /// Notes that the grammar departs from a schema.
    pub fn note(&mut self, entry: Fidelity) {
        self.report.push(entry);
    }

    /// Returns the grammar. llama.cpp's reader accepts it, whatever the bounds of repetitions.
    pub fn finish(self) -> Grammar {
        let section = self.section(0);
        let text = section
            .rules
            .iter()
            .flat_map(|rule| [&*rule.name, SIGN, section.text(rule), "\n"])
            .collect();
        Grammar {
            text,
            report: section.report.clone(),
            sections: vec![Arc::new(section)],
        }
    }

    /// Returns the rules, which have this many parts.
    pub(crate) fn section(mut self, size: usize) -> Section {
        while self.fit() {}
        let is_spaced = self.rules.iter().any(|(name, entry)| {
            name != SPACE && self.text(entry).is_some_and(|text| text.contains(SPACE))
        });
        if self.is_faithful() && !is_spaced {
            self.rules.remove(SPACE);
        }
        let Builder {
            rules,
            texts,
            report,
            ..
        } = self;
        let rules = rules
            .into_iter()
            .map(|(name, Entry { rule, text })| SectionRule {
                name,
                rule,
                text: text.unwrap_or_default(),
            });
        Section {
            rules: rules.collect(),
            texts,
            report,
            size,
            ..Section::default()
        }
    }

    /// Returns the grammar so far, for rules written by hand.
    ///
    /// # Errors
    /// If llama.cpp's reader would reject it: [`crate::ErrorKind::InvalidArgument`] if `root` is
    /// missing, or a rule refers to a missing rule or is left-recursive;
    /// [`crate::ErrorKind::Limit`].
    pub fn build(&self) -> Result<Grammar> {
        let grammar = self.clone().finish();
        grammar.tree()?;
        Ok(grammar)
    }

    /// Moves groups that repeat too often for their size into rules. Returns whether there were
    /// any. A move changes the order in which names are read, and so the sizes of other groups.
    fn fit(&mut self) -> bool {
        let mut reader = Reader::default();
        let names: Vec<SmolStr> = self.rules.keys().cloned().collect();
        let mut any = false;
        for name in names {
            let Some(entry) = self.rules.get_mut(&name) else {
                continue;
            };
            let mut rule = std::mem::replace(&mut entry.rule, Rule::Empty);
            let mut hoisted = false;
            reader.read(&name, &mut rule, &mut |body| {
                hoisted = true;
                self.add(&format_smolstr!("{name}-part"), body)
            });
            any |= hoisted;
            if hoisted {
                self.fill(&name, rule);
            } else if let Some(entry) = self.rules.get_mut(&name) {
                entry.rule = rule;
            }
        }
        any
    }

    /// Like [`Builder::add_rule`], but the name may be that of a shared rule.
    pub fn add(&mut self, name: &str, rule: Rule) -> SmolStr {
        let name = clean(name);
        let rule = self.settled(rule);
        let text = self.write(&rule);
        let name = self.name_for(name, &text);
        if self.rules.contains_key(&name) {
            self.texts.truncate(text.start);
        } else {
            self.journal.push(name.clone());
            self.rules.insert(
                name.clone(),
                Entry {
                    rule,
                    text: Some(text),
                },
            );
        }
        name
    }

    /// The name of the rule with this text, if it exists, or a free name for it.
    fn name_for(&mut self, name: SmolStr, text: &Range<usize>) -> SmolStr {
        let text = &self.texts[text.clone()];
        match self.rules.get(&name) {
            Some(entry) if self.text(entry) != Some(text) => {}
            _ => return name,
        }
        let known = self.numbered.get(&name);
        if let Some(same) = known.and_then(|numbered| numbered.by_text.get(text))
            && let Some(entry) = self.rules.get(same)
            && self.text(entry) == Some(text)
        {
            return same.clone();
        }
        let mut next = known.map_or(0, |numbered| numbered.next);
        let (number, is_new) = loop {
            let candidate = format_smolstr!("{name}{next}");
            match self.rules.get(&candidate) {
                None => break (candidate, true),
                Some(entry) if self.text(entry) == Some(text) => break (candidate, false),
                Some(_) => next += 1,
            }
        };
        let text = text.to_owned();
        let numbered = self.numbered.entry(name).or_default();
        numbered.next = next;
        if is_new {
            numbered.by_text.insert(text, number.clone());
        }
        number
    }

    /// Reserves a free name like `name`, for a rule that [`Builder::fill`] adds.
    pub fn reserve(&mut self, name: &str) -> SmolStr {
        // A host may pass a name without a usable character.
        let name = if name.is_empty() {
            "rule".into()
        } else {
            clean(name)
        };
        let mut free = name.clone();
        let mut number = 0_u64;
        while self.rules.contains_key(&free) {
            free = format_smolstr!("{name}{number}");
            number += 1;
        }
        self.rules.insert(
            free.clone(),
            Entry {
                rule: Rule::Empty,
                text: None,
            },
        );
        self.journal.push(free.clone());
        free
    }

    /// Adds the body of a reserved name.
    pub fn fill(&mut self, reserved: &SmolStr, rule: Rule) {
        let rule = self.settled(rule);
        let text = Some(self.write(&rule));
        self.rules.insert(reserved.clone(), Entry { rule, text });
    }

    fn settled(&self, rule: Rule) -> Rule {
        settled(if self.is_faithful() {
            rule.spaced(self.spacing)
        } else {
            rule
        })
    }

    /// Appends the text of a rule to the texts.
    fn write(&mut self, rule: &Rule) -> Range<usize> {
        let start = self.texts.len();
        rule.write(&mut self.texts);
        start..self.texts.len()
    }

    fn text(&self, entry: &Entry) -> Option<&str> {
        entry.text.clone().map(|text| &self.texts[text])
    }

    /// The length of all rules that were ever added, in bytes.
    pub fn bytes(&self) -> usize {
        self.texts.len()
    }

    /// The current state, for [`Builder::undo`].
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            rules: self.journal.len(),
            report: self.report.len(),
        }
    }

    /// Removes the rules since a mark that match no text, and what needs them. Returns their names.
    pub(crate) fn remove_dead(&mut self, mark: Mark) -> HashSet<SmolStr> {
        let names = self.journal[mark.rules..].to_vec();
        let dead = dead::find(
            names
                .iter()
                .filter_map(|name| Some((name, self.body(name)?))),
        );
        if dead.is_empty() {
            return dead;
        }
        for name in &names {
            let Some(entry) = self.rules.remove(name).filter(|_| !dead.contains(name)) else {
                continue;
            };
            if let Some(rule) = dead::without(entry.rule, &dead) {
                self.fill(name, rule);
            }
        }
        dead
    }

    /// The body of a rule.
    pub(crate) fn body(&self, name: &str) -> Option<&Rule> {
        self.rules.get(name).map(|entry| &entry.rule)
    }

    /// Whether all rules of a section are new, or equal to those of their names.
    pub(crate) fn takes(&self, section: &Section) -> bool {
        section
            .rules
            .iter()
            .all(|rule| match self.rules.get(&rule.name) {
                Some(entry) => self.text(entry) == Some(section.text(rule)),
                None => true,
            })
    }

    /// Adds the rules of a section that it takes.
    pub(crate) fn import(&mut self, section: &Section) {
        for rule in section.rules.iter().filter(|rule| rule.name != SPACE) {
            self.add(&rule.name, rule.rule.clone());
        }
    }

    /// Removes the rules since a mark that only name another rule, except `kept`. The remaining
    /// rules refer to the other rule directly.
    pub(crate) fn without_aliases(&mut self, mark: Mark, kept: &[SmolStr]) {
        /// The rule that a name leads to. All names on the way lead there directly afterwards.
        fn end(aliases: &mut HashMap<SmolStr, SmolStr>, name: &SmolStr) -> SmolStr {
            let (mut at, mut way) = (name, Vec::new());
            while let Some(next) = aliases.get(at) {
                way.push(at.clone());
                at = next;
            }
            let at = at.clone();
            aliases.extend(way.into_iter().map(|name| (name, at.clone())));
            at
        }
        let names = self.journal[mark.rules..].to_vec();
        let mut aliases: HashMap<SmolStr, SmolStr> = HashMap::new();
        for name in names.iter().filter(|name| !kept.contains(name)) {
            let Some(Rule::Reference(to)) = self.body(name) else {
                continue;
            };
            let to = end(&mut aliases, to);
            // A circle of names is left alone.
            if to != *name {
                aliases.insert(name.clone(), to);
            }
        }
        names.iter().for_each(|name| drop(end(&mut aliases, name)));
        if aliases.is_empty() {
            return;
        }
        for name in &names {
            let Some(entry) = self.rules.get_mut(name) else {
                continue;
            };
            if aliases.contains_key(name) {
                self.rules.remove(name);
            } else if entry.rule.rename(&aliases) {
                let rule = std::mem::replace(&mut entry.rule, Rule::Empty);
                self.fill(name, rule);
            }
        }
        self.references
            .retain(|_, name| self.rules.contains_key(name));
    }

    /// Removes all that was added since a mark.
    pub(crate) fn undo(&mut self, mark: Mark) {
        for name in self.journal.drain(mark.rules..) {
            self.rules.remove(&name);
        }
        self.references
            .retain(|_, name| self.rules.contains_key(name));
        self.report.truncate(mark.report);
    }
}

/// A body whose line does not end in `::=` or `|`: a reader would continue such a line with the
/// next one.
fn settled(rule: Rule) -> Rule {
    match rule {
        Rule::Empty => Rule::literal(""),
        Rule::Choice(branches) if branches.iter().all(|branch| *branch == Rule::Empty) => {
            Rule::literal("")
        }
        Rule::Choice(mut branches) if branches[1..].contains(&Rule::Empty) => {
            branches.retain(|branch| *branch != Rule::Empty);
            branches.insert(0, Rule::Empty);
            Rule::Choice(branches)
        }
        rule => rule,
    }
}

/// Replaces each run of characters other than letters, digits and dashes by one dash.
pub fn clean(name: &str) -> SmolStr {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.chars().all(fits) {
        return name.into();
    }
    let mut out = String::with_capacity(name.len());
    let mut replaced = false;
    for c in name.chars() {
        if fits(c) {
            out.push(c);
        } else if !replaced {
            out.push('-');
        }
        replaced = !fits(c);
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Pad;

    #[test]
    fn names() {
        let mut builder = Builder::new();
        let body = |text: &str| Rule::literal(text);
        let names = [
            ("get weather!?x", "1", "get-weather-x"),
            ("get weather!?x", "1", "get-weather-x"),
            ("get-weather-x", "2", "get-weather-x0"),
            ("get-weather-x", "3", "get-weather-x1"),
            ("get-weather-x", "2", "get-weather-x0"),
            ("string", "1", "string-"),
            ("root", "1", "root"),
            ("root", "2", "root0"),
            ("space", "1", "space0"),
            ("ü", "1", "-"),
            ("", "1", "root"),
        ];
        assert_eq!(
            settled(Rule::choice([body("1"), Rule::Empty])).to_string(),
            "| \"1\""
        );
        for (name, text, expected) in names {
            assert_eq!(builder.add_rule(name, body(text)), expected);
        }
        let mark = builder.mark();
        assert_eq!(builder.reserve("a"), "a");
        assert_eq!(builder.reserve("a"), "a0");
        assert_eq!(builder.add_rule("a", body("1")), "a1");
        builder.undo(mark);
        assert_eq!(builder.add_rule("a", body("1")), "a");
        let text = builder.finish().text;
        assert!(
            text.starts_with("- ::= \"1\"\na ::= \"1\"\nget-weather-x ::= \"1\"\n"),
            "{text}"
        );
        assert!(text.contains("space0 ::= \"1\"\n"), "{text}");
    }

    #[test]
    fn a_grammar_of_hand_written_rules_is_one_that_can_be_used() {
        let refusal = |builder: &Builder| builder.build().unwrap_err().message().to_owned();
        let mut builder = Builder::new();
        builder.add_rule("list", Rule::gbnf(r#"item ("," list)?"#).unwrap());
        builder.add_rule("item", Rule::literal("x"));
        assert!(refusal(&builder).contains("no rule \"root\""));
        builder.add_rule("", Rule::reference("list").padded(Pad::None).optional());
        let grammar = builder.build().unwrap();
        assert!(
            grammar
                .text
                .contains("list ::= item (\",\" list)?\nroot ::= list?\n"),
            "{}",
            grammar.text
        );
        builder
            .add_schema("s", &json!({"pattern": "^\\p{L}"}))
            .unwrap();
        assert_eq!(
            (builder.build().unwrap().report.len(), grammar.report.len()),
            (1, 0)
        );
        assert_eq!(builder.build().unwrap(), builder.clone().finish());
        builder.add_rule("late", Rule::gbnf("list | missing").unwrap());
        assert!(refusal(&builder).contains("\"missing\""));
        builder.add_rule("missing", Rule::gbnf("missing | \"\"").unwrap());
        assert!(refusal(&builder).contains("begins with itself"));
    }
}
