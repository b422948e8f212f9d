//! [`Parser`]: a compiled format with the text that the prompt has begun, also as text.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ends::Ends;
use crate::fallback::{CallRules, FallbackConfig};
use crate::report::EndedBy;
use chatparse_base::{Error, Result, json, number};
use chatparse_format::parts::Parts;
use chatparse_format::{Tag, written};
use chatparse_grammar::{Grammar, Matcher, Start};
use chatparse_message::GrammarStyle;
use chatparse_peg::{
    self as peg, Arena, Budget, Outcome, Program, Region, TagId, Tree, TreeParser,
};

/// A compiled format, and the part of the model's turn that the prompt contains. Immutable and
/// cheap to clone; threads may share it.
#[derive(Clone, Debug)]
pub struct Parser {
    program: Arc<Program>,
    prefill: Arc<str>,
    pub(crate) fallback: Arc<FallbackConfig>,
    pub(crate) ends: Arc<Ends>,
    /// Compiled on first use, because few callers need trees.
    trees: Arc<OnceLock<TreeParser>>,
    /// Built on first use, because few hosts ask for the rest of an output.
    matcher: Arc<OnceLock<Matcher>>,
}

/// The JSON form of a parser.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// The version of this form. Descriptions have none.
    #[serde(default = "version")]
    chatparse_parser: u32,
    #[serde(default)]
    prefill: String,
    format: Value,
    #[serde(default)]
    rules: CallRules,
    #[serde(default)]
    ending: Vec<String>,
}

const VERSION: u32 = 1;

fn version() -> u32 {
    VERSION
}

impl Parser {
    /// Compiles a format. `prefill`: the part of the model's turn that the prompt contains; it is
    /// parsed before the output.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if the format refers to a missing rule or is
    /// left-recursive, [`crate::ErrorKind::Limit`] if it is too deep or too long.
    pub fn new(format: Arena, prefill: &str) -> Result<Self> {
        Parser::with_rules(format, prefill, CallRules::default())
    }

    /// Like [`Parser::new`], for a format whose calls are of the rules' tools: depending on their
    /// `leniency`, calls are also read outside of the format, and arguments are checked against the
    /// tools' schemas.
    ///
    /// # Errors
    /// As [`Parser::new`].
    pub fn with_rules(format: Arena, prefill: &str, rules: CallRules) -> Result<Self> {
        Parser::with_parts(format, None, prefill, rules)
    }

    /// The same parser for outputs that end with one of these texts, which is no part of the
    /// message where nothing follows.
    #[must_use]
    pub fn ending(mut self, ends: Vec<String>) -> Self {
        self.ends = Arc::new(Ends::new(ends));
        self
    }

    /// Like [`Parser::with_rules`], of a format that may lack parts, which are built where an
    /// output has them.
    ///
    /// # Errors
    /// As [`Parser::new`].
    #[doc(hidden)]
    pub fn with_parts(
        format: Arena,
        parts: Option<Parts>,
        prefill: &str,
        rules: CallRules,
    ) -> Result<Self> {
        let program = Arc::new(match &parts {
            None => peg::compile(&format)?,
            Some(parts) => {
                let of = parts.clone();
                peg::compile_late(&format, parts.count, parts.widest, move |part| {
                    of.program(part)
                })?
            }
        });
        let ends = Arc::new(Ends::new(rules.ends.clone()));
        let fallback = Arc::new(FallbackConfig::new(Arc::new(format), parts, rules));
        Ok(Parser {
            program,
            prefill: prefill.into(),
            fallback,
            ends,
            trees: Arc::default(),
            matcher: Arc::default(),
        })
    }

    /// The compiled format. It reads the prefill, too.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Builds the parts that streams otherwise build when an output first needs them, e.g. the
    /// parser of calls outside of the format: some milliseconds. Call it while the model reads the
    /// prompt. The parser of another format's calls is built when an output has their first marker.
    pub fn warm(&self) {
        self.program.warm();
        self.fallback.warm();
    }

    /// The default budget of a stream.
    pub fn budget(&self) -> Budget {
        self.program.budget()
    }

    /// The part of the model's turn that the prompt contains.
    pub fn prefill(&self) -> &str {
        &self.prefill
    }

    /// Approximate memory use in bytes, without the schemas, which are shared.
    pub fn bytes(&self) -> usize {
        self.fallback.compiled().bytes() + self.program.bytes() + self.prefill.len()
    }

    /// Approximate memory use in bytes of the parts that were compiled on first use so far.
    pub fn late_bytes(&self) -> usize {
        self.program.late_bytes()
            + self.fallback.bytes()
            + self.trees.get().map_or(0, TreeParser::bytes)
    }

    /// The format's expressions.
    pub fn format(&self) -> &Arena {
        self.fallback.format()
    }

    /// The label of a tag, if it has one.
    pub fn label(&self, tag: TagId) -> Option<&str> {
        self.fallback.compiled().label(tag)
    }

    /// Parses `text` to a tree from byte `from` on; the text begins with the prefill.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] if `from` is after the end,
    /// [`crate::ErrorKind::Limit`] if the format has too many rules.
    pub fn tree(&self, text: &[u8], from: usize, by: EndedBy) -> Result<Tree> {
        let trees = match self.trees.get() {
            Some(trees) => trees,
            None => {
                let trees = TreeParser::new(self.format())?;
                self.trees.get_or_init(|| trees)
            }
        };
        trees.parse(text, from, by == EndedBy::Limit)
    }

    /// [`Parser::tree`] as JSON: `outcome`, `end` and `nodes` with the names of rules, tags and
    /// labels.
    ///
    /// # Errors
    /// As [`Parser::tree`].
    pub fn tree_json(&self, text: &[u8], from: usize, by: EndedBy) -> Result<Value> {
        let tree = self.tree(text, from, by)?;
        let nodes = tree.nodes.iter().map(|node| {
            let (kind, name) = match &node.region {
                Region::Rule(name) => ("rule", Some(name.as_str())),
                Region::Tag(tag) => ("tag", Tag::from_id(*tag).map(Tag::name).or_else(|| self.label(*tag))),
            };
            let mut json =
                json!({"begin": node.begin, "end": node.end, "parent": node.parent, "partial": node.partial});
            json[kind] = name.unwrap_or_default().into();
            json
        });
        let outcome = match tree.outcome {
            Outcome::Matched => "matched",
            Outcome::Partial => "partial",
            Outcome::Failed => "failed",
        };
        Ok(json!({"outcome": outcome, "end": tree.end, "nodes": nodes.collect::<Vec<_>>()}))
    }

    /// The grammar of the texts that the parser accepts, as GBNF. With `lazy`, the grammar of the
    /// trigger rules, which begins at a trigger; otherwise that of the prefill and the output
    /// together.
    pub fn grammar(&self, lazy: bool) -> Grammar {
        self.grammar_in(lazy, GrammarStyle::default())
    }

    /// Like [`Parser::grammar`], with schemas in this style.
    pub fn grammar_in(&self, lazy: bool, style: GrammarStyle) -> Grammar {
        self.fallback.grammar(lazy, chatparse_llama::letter(style))
    }

    /// The grammar of the output, as a machine at its first byte: all that the format is, also
    /// where a request's grammar is lazy. Built by the first call.
    ///
    /// # Errors
    /// As [`Grammar::matcher`].
    pub fn matcher(&self) -> Result<Matcher> {
        if let Some(matcher) = self.matcher.get() {
            return Ok(matcher.clone());
        }
        let matcher = self
            .grammar(false)
            .matcher(Start::AfterPrefix(&self.prefill))?;
        Ok(self.matcher.get_or_init(|| matcher).clone())
    }

    /// The parser as a text for [`Parser::from_text`], also in another process with the same
    /// library version.
    pub fn to_text(&self) -> String {
        let stored = Stored {
            chatparse_parser: VERSION,
            prefill: self.prefill.as_ref().to_owned(),
            format: self.fallback.format().to_json(),
            rules: self.fallback.rules.clone(),
            ending: self.ends.told.clone(),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads the text of [`Parser::to_text`], or a description of a format (docs/formats.md). The
    /// text is checked, so it may come from anywhere.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for text of another shape or version; otherwise as
    /// [`Parser::new`].
    pub fn from_text(text: &str) -> Result<Self> {
        let stored: Stored =
            number::read(text).map_err(|error| json::wrong("not a parser", &error))?;
        if stored.chatparse_parser != VERSION {
            let found = stored.chatparse_parser;
            return Err(Error::invalid(format!(
                "parser: the text has version {found}, this library reads version {VERSION}"
            )));
        }
        let format = written::from_json(stored.format)?;
        Ok(Parser::with_rules(format, &stored.prefill, stored.rules)?.ending(stored.ending))
    }
}
