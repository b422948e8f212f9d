//! The insides, for this crate's own tests, benchmarks and fuzz targets. No promise: any release
//! may change all of it.

/// Learning how a template writes.
pub mod analysis {
    pub use chatparse_learn::analysis::*;

    use chatparse_jinja::Template;

    /// What is learnt of a template's turns with thinking on.
    pub fn analyze(template: &Template) -> Layout {
        Layout::of(&turn::learn(&template.probing(), true))
    }
}

/// The C surface.
#[cfg(feature = "capi")]
pub mod ffi {
    pub use crate::ffi::*;
}

/// Formats, and the families of templates.
pub mod format {
    pub use chatparse_format::*;
    pub use chatparse_learn::{FAMILIES, Family, Prompt, PromptInput, Writing, family_of, prompt};

    /// A request's params as if there were no rule of this name.
    ///
    /// # Errors
    /// As [`crate::ChatTemplate::params`].
    pub fn params_without(
        template: &crate::ChatTemplate,
        request: &crate::Request,
        rule: &'static str,
    ) -> chatparse_base::Result<crate::Params> {
        template.params_without(request, rule)
    }

    /// The prompt of a family.
    ///
    /// # Errors
    /// What the template says.
    pub fn prompt_of(family: &Family, input: &PromptInput) -> chatparse_base::Result<Prompt> {
        family.prompt().unwrap_or(prompt::plain)(input)
    }
}

/// The rules of grammars, and the schemas that they come from.
pub mod grammar {
    pub use chatparse_grammar::{Builder, Rule, Undeclared, Walk, from_arena};
    pub use chatparse_llama::letter;

    /// Schemas as the library reads them.
    pub mod schema {
        pub use chatparse_grammar::schema::*;
    }
}

/// The brackets of markers.
pub mod brackets {
    pub use chatparse_base::brackets::is_marker;
}

/// Every bound.
pub mod limits {
    pub use chatparse_base::limits::*;
}

/// Expressions, programs and the machine.
pub mod peg {
    pub use chatparse_peg::*;

    /// The compiled format of a parser.
    pub fn program_of(parser: &chatparse_stream::Parser) -> &std::sync::Arc<Program> {
        parser.program()
    }
}

/// The fields of a request.
pub mod request {
    pub use chatparse_message::{CHAT, Kind, OPTIONS, Row, Table};

    /// What is known of the fields of each API.
    #[cfg(feature = "api")]
    pub fn tables() -> [(&'static str, &'static Table); 3] {
        use chatparse_api::fields::{MESSAGES, RESPONSES};
        [
            ("Chat completions", &CHAT),
            ("Responses", &RESPONSES),
            ("Messages", &MESSAGES),
        ]
    }
}

/// Templates as the engine has them.
pub mod template {
    pub use chatparse_jinja::*;
}
