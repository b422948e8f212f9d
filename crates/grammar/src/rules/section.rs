//! Rules that are made together: those of a grammar, or those of one tool that grammars are linked
//! with.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::rules::{Fidelity, FidelityKind, Rule};
use crate::text::gbnf;
use crate::text::{Node, Tree};
use chatparse_base::{Result, limits};

/// Rules, and where they depart from their schemas.
#[derive(Debug, Default)]
pub struct Section {
    /// Sorted by name.
    pub(crate) rules: Vec<SectionRule>,
    /// Their texts.
    pub(crate) texts: String,
    pub(crate) report: Vec<Fidelity>,
    /// The number of parts of the rules.
    pub(crate) size: usize,
    /// The name of the first rule, of those of a text.
    pub(crate) first: SmolStr,
    /// The rules of texts that these refer to, which other sections need, too.
    pub(crate) needs: Vec<Arc<Section>>,
}

#[derive(Debug)]
pub struct SectionRule {
    pub name: SmolStr,
    pub rule: Rule,
    /// Its text.
    pub text: Range<usize>,
}

/// What is between a rule's name and its body.
pub const SIGN: &str = " ::= ";

impl Section {
    /// The body of a rule as GBNF.
    pub(crate) fn text(&self, rule: &SectionRule) -> &str {
        &self.texts[rule.text.clone()]
    }

    /// Approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        let mut bytes = size_of::<Section>() + self.texts.len();
        bytes += self.rules.len() * size_of::<SectionRule>() + self.size * size_of::<Rule>();
        for note in &self.report {
            bytes += size_of::<Fidelity>() + note.pointer.len() + note.message.len();
        }
        for section in &self.needs {
            bytes += section.bytes();
        }
        bytes
    }
}

/// A finished grammar.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    /// The rules as GBNF, one per line, sorted by name. Those of many tools come after all others,
    /// tool by tool. What is printed are the rules themselves: another text is a grammar of its
    /// own, see [`Grammar::written`].
    pub text: String,
    /// Where the grammar departs from the schemas.
    pub report: Vec<Fidelity>,
    /// The rules; empty if the text is a host's.
    pub(crate) sections: Vec<Arc<Section>>,
}

impl PartialEq for Grammar {
    fn eq(&self, other: &Grammar) -> bool {
        self.text == other.text && self.report == other.report
    }
}

impl Grammar {
    /// A grammar that a host has written.
    pub fn written(text: impl Into<String>) -> Grammar {
        Grammar {
            text: text.into(),
            ..Grammar::default()
        }
    }

    /// No grammar; `why`: what a request that may expect one is told.
    pub fn none(why: Option<&str>) -> Grammar {
        let mut grammar = Grammar::default();
        if let Some(why) = why {
            let note = Fidelity::new("", "#", FidelityKind::Widened, why);
            grammar.report.push(note);
        }
        grammar
    }

    /// Its rules as a tree. Only a host's text is read.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if llama.cpp would reject its text;
    /// [`crate::ErrorKind::Limit`].
    pub(crate) fn tree(&self) -> Result<Tree> {
        if self.sections.is_empty() {
            return gbnf::tree(&self.text);
        }
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let (mut names, mut rules) = (Vec::new(), Vec::new());
        for SectionRule { name, rule, .. } in self.sections.iter().flat_map(|one| &one.rules) {
            // Several sections may have the same rule.
            if let Entry::Vacant(entry) = numbers.entry(name) {
                entry.insert(names.len());
                names.push(name.clone());
                rules.push(rule);
            }
        }
        let number = |name: &str| {
            numbers
                .get(name)
                .copied()
                .ok_or_else(|| gbnf::undefined(name))
        };
        let rules: Result<Vec<Node>> = rules.into_iter().map(|rule| rule.node(&number)).collect();
        Tree::of(names, rules?)
    }

    /// The same grammar, without its text where the rules are known.
    pub(crate) fn without_text(&self) -> Grammar {
        let text = if self.sections.is_empty() {
            self.text.clone()
        } else {
            String::new()
        };
        Grammar {
            text,
            report: Vec::new(),
            sections: self.sections.clone(),
        }
    }

    /// The grammar of these rules, of which several sections may have the same. `None` if two rules
    /// of one name differ, or there are too many.
    pub(crate) fn of_sections(sections: Vec<Arc<Section>>) -> Option<Grammar> {
        if sections.iter().map(|section| section.size).sum::<usize>() > limits::FORMAT_GRAMMAR_PARTS
        {
            return None;
        }
        let mut all: Vec<Arc<Section>> = Vec::with_capacity(sections.len() + 8);
        let mut texts: HashSet<*const Section> = HashSet::new();
        for section in sections {
            for text in &section.needs {
                if texts.insert(Arc::as_ptr(text)) {
                    all.push(Arc::clone(text));
                }
            }
            all.push(section);
        }
        let sections = all;
        let most = sections
            .iter()
            .map(|section| section.texts.len() + 64 * section.rules.len())
            .sum();
        let (mut text, mut report) = (String::with_capacity(most), Vec::new());
        let mut known: HashMap<&str, &str> =
            HashMap::with_capacity(sections.iter().map(|one| one.rules.len()).sum());
        for section in &sections {
            for rule in &section.rules {
                let body = section.text(rule);
                match known.entry(&rule.name) {
                    Entry::Vacant(place) => {
                        place.insert(body);
                        text.extend([&*rule.name, SIGN, body, "\n"]);
                    }
                    Entry::Occupied(place) if *place.get() == body => {}
                    Entry::Occupied(_) => return None,
                }
            }
            report.extend_from_slice(&section.report);
        }
        drop(known);
        Some(Grammar {
            text,
            report,
            sections,
        })
    }
}
