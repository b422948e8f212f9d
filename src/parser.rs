//! What output is parsed with.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::fallback::FallbackConfig;
use crate::grammar::{self, Grammar};
use crate::message::{GrammarStyle, Leniency, Tool};
use crate::peg::{self, Arena, Budget, Program, TagId, Tree, TreeParser};

/// A compiled format, and the text that the prompt has already put in the model's mouth. Immutable and cheap to clone; shared
/// by threads.
#[derive(Clone, Debug)]
pub struct Parser {
    program: Arc<Program>,
    prefill: Arc<str>,
    fallback: Arc<FallbackConfig>,
    /// For trees, which few ask for.
    trees: Arc<OnceLock<TreeParser>>,
}

/// A parser as text.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// Which way of writing this is.
    chatparse_parser: u32,
    prefill: String,
    format: Value,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    leniency: Leniency,
    #[serde(default)]
    ends: Vec<String>,
}

const VERSION: u32 = 1;

impl Parser {
    /// Compiles a format. `prefill` is what of the model's turn the prompt holds already: it is parsed as if the model had
    /// written it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for a format that refers to a rule it does not have or that begins with itself,
    /// [`crate::ErrorKind::Limit`] for one that is too deep or too long.
    pub fn new(format: Arena, prefill: &str) -> Result<Self> {
        Parser::with_tools(format, prefill, Vec::new(), Leniency::default(), Vec::new())
    }

    /// The same for a format in which these tools may be called: their calls are also read where the format has none, as far
    /// as `leniency` says, and reported where they are not what the tools ask for. `ends`: the texts that end the model's turn,
    /// such as the end-of-sequence token; behind calls they are no content.
    ///
    /// # Errors
    /// As [`Parser::new`].
    pub fn with_tools(
        format: Arena,
        prefill: &str,
        tools: Vec<Tool>,
        leniency: Leniency,
        ends: Vec<String>,
    ) -> Result<Self> {
        let program = Arc::new(peg::compile(&format)?);
        let fallback = Arc::new(FallbackConfig::new(Arc::new(format), tools, leniency, ends));
        Ok(Parser { program, prefill: prefill.into(), fallback, trees: Arc::default() })
    }

    /// The compiled format. It reads the prefill, too.
    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What a parse may take unless the host sets another budget for its stream.
    pub fn budget(&self) -> Budget {
        self.program.budget()
    }

    /// What reads calls outside the format.
    pub(crate) fn fallback(&self) -> &Arc<FallbackConfig> {
        &self.fallback
    }

    /// What of the model's turn the prompt holds already.
    pub fn prefill(&self) -> &str {
        &self.prefill
    }

    /// About what it takes in memory, less the schemas, which it shares with others.
    pub(crate) fn bytes(&self) -> usize {
        self.fallback.format().bytes() + self.program.bytes() + self.prefill.len()
    }

    /// The same of what is made when somebody needs it, as far as it is there.
    pub(crate) fn late_bytes(&self) -> usize {
        self.fallback.bytes() + self.trees.get().map_or(0, TreeParser::bytes)
    }

    /// The format itself.
    pub fn format(&self) -> &Arena {
        self.fallback.format()
    }

    /// The text behind a tag that is a label of the format.
    pub fn label(&self, tag: TagId) -> Option<&str> {
        self.format().label(tag)
    }

    /// What `text` is made of from byte `from` on; it begins with the prefill. `cut`: it was cut off.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] where `from` lies behind the text, [`crate::ErrorKind::Limit`] for a format with too many
    /// rules.
    pub fn tree(&self, text: &[u8], from: usize, cut: bool) -> Result<Tree> {
        let trees = match self.trees.get() {
            Some(trees) => trees,
            None => {
                let trees = TreeParser::new(self.format())?;
                self.trees.get_or_init(|| trees)
            }
        };
        trees.parse(text, from, cut)
    }

    /// The grammar of what it parses, as GBNF. `lazy`: of what may follow a trigger only, that is of the trigger rules;
    /// otherwise of the prefill together with the output.
    pub fn grammar(&self, lazy: bool) -> Grammar {
        self.grammar_in(lazy, GrammarStyle::default())
    }

    /// [`Parser::grammar`] with schemas in the given style.
    pub fn grammar_in(&self, lazy: bool, style: GrammarStyle) -> Grammar {
        grammar::from_arena(self.fallback.format(), lazy, style)
    }

    /// The parser as a text that [`Parser::from_text`] reads, in another process, too, if its library has the same version.
    pub fn to_text(&self) -> String {
        let stored = Stored {
            chatparse_parser: VERSION,
            prefill: self.prefill.as_ref().to_owned(),
            format: self.fallback.format().to_json(),
            tools: self.fallback.tools.clone(),
            leniency: self.fallback.leniency,
            ends: self.fallback.ends.clone(),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads a parser that [`Parser::to_text`] wrote.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] for text of another shape or version; and as [`Parser::new`].
    pub fn from_text(text: &str) -> Result<Self> {
        let stored: Stored =
            serde_json::from_str(text).map_err(|error| Error::invalid(format!("parser: not one: {error}")))?;
        if stored.chatparse_parser != VERSION {
            let found = stored.chatparse_parser;
            return Err(Error::invalid(format!("parser: written in way {found}, this version reads way {VERSION}")));
        }
        let format = Arena::from_json(stored.format)?;
        Parser::with_tools(format, &stored.prefill, stored.tools, stored.leniency, stored.ends)
    }
}
