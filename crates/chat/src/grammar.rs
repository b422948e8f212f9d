//! Grammars for constrained sampling, from JSON schemas and formats, as GBNF; their triggers; and
//! checks of texts against grammars and of values against schemas.

use chatparse_base::Result;
use chatparse_grammar::Notation;
use chatparse_grammar::text::Tree;
#[doc(inline)]
pub use chatparse_grammar::{
    Fidelity, FidelityKind, Grammar, Printed, Recogniser, Start, Trigger, TriggerKind,
    from_json_schema, valid,
};
#[doc(inline)]
pub use chatparse_llama::from_json_schema_as;

chatparse_base::names! {
    /// A notation for grammars.
    #[repr(u32)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Dialect {
        /// GBNF as llama.cpp writes it.
        Gbnf(1) = "gbnf",
        /// GBNF for all versions of llama.cpp and for XGrammar.
        PortableGbnf(2) = "portable-gbnf",
        /// Lark for llguidance, XGrammar and vLLM.
        Lark(3) = "lark",
        /// XGrammar's structural tag, as JSON: `{"type": "structural_tag", "format": ...}`.
        StructuralTag(4) = "structural-tag",
    }
}

impl Notation for Dialect {
    fn name(self) -> &'static str {
        self.name()
    }

    fn is_gbnf(self) -> bool {
        self == Dialect::Gbnf
    }

    fn excludes_words(self) -> bool {
        self == Dialect::StructuralTag
    }

    #[cfg(feature = "dialects")]
    fn print(self, tree: Tree, words: Option<&[String]>) -> Result<String> {
        Ok(match self {
            Dialect::Lark => chatparse_dialects::lark(tree)?,
            Dialect::StructuralTag => chatparse_dialects::structural_tag(tree, words),
            Dialect::Gbnf | Dialect::PortableGbnf => chatparse_dialects::portable_gbnf(&tree),
        })
    }

    #[cfg(not(feature = "dialects"))]
    fn print(self, _: Tree, _: Option<&[String]>) -> Result<String> {
        Err(chatparse_base::Error::invalid(format!(
            "{}: the library was built without its part `dialects`",
            self.name()
        )))
    }
}
