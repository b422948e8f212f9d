//! Caches the compiled formats of a template by all that they depend on, because agents send the
//! same tools again and again.

use std::sync::{Arc, OnceLock};

use crate::grammar::Dialect;
use chatparse_base::json::bytes;
use chatparse_base::limits::{CACHED_FORMATS, CACHED_FORMATS_BYTES, CACHED_PARTS_BYTES};
use chatparse_base::store::{Store, hash_of};
use chatparse_base::{ErrorKind, Result};
use chatparse_format::late::Want;
use chatparse_format::parts::{Part, PartKey, Parts, properties};
use chatparse_format::{Constraint, Format, FormatSpec, Resolved, Tag, lower};
use chatparse_grammar::{Fidelity, Grammar, Printed, Start, TextSections};
use chatparse_learn::Writing;
use chatparse_llama::from_json_schema_as;
use chatparse_message::{GrammarStyle, Tool};
use chatparse_peg::Expr;
use chatparse_stream::{CallRules, Parser};

/// A compiled format.
#[derive(Debug)]
pub(crate) struct CompiledFormat {
    /// The format without its expressions, which the parser holds.
    pub format: Format,
    pub parser: Parser,
    /// Why the output cannot be constrained to calls of the offered tools, for the report.
    unheld: Option<&'static str>,
    style: GrammarStyle,
    grammar: OnceLock<Arc<Grammar>>,
    /// The grammar in each of [`Dialect::ALL`], or why it cannot be.
    printed: [OnceLock<Result<Printed>>; Dialect::ALL.len()],
}

const NO_CALLS: &str =
    "the template writes no calls, or none with arguments, so no grammar can ask for one";
const NO_SCHEMA: &str = "llama.cpp has no grammar for the schema of a response with this template; \"grammar_style\": \"faithful\" asks for one";
const NO_MARKER: &str = "no text marks where a call begins, so no grammar holds the calls; \"tool_choice\": \"required\" asks for one that does";

impl CompiledFormat {
    /// Compiles `format`. `tools`: the tools whose calls may also be read outside of the format.
    pub fn new(
        (mut format, parts): (Format, Option<Parts>),
        spec: &FormatSpec,
        tools: Vec<Tool>,
    ) -> Result<CompiledFormat> {
        let output = std::mem::take(&mut format.output);
        let name = Tag::ToolName.into();
        let mut nodes = output.nodes().iter();
        let writes_calls = nodes.any(|node| matches!(node, Expr::Tag(tag, _) if *tag == name));
        let structured = spec.response_schema().is_some();
        let held = match &mut format.constraint {
            // llama.cpp has no grammar for the schema of a response in some families.
            constraint @ (Constraint::Free | Constraint::Lazy(_))
                if structured
                    && (spec.options.grammar_style == GrammarStyle::Faithful
                        || spec.call_or_response()) =>
            {
                *constraint = Constraint::Strict(constraint.triggers().to_vec());
                true
            }
            Constraint::Free => false,
            Constraint::Strict(_) => writes_calls || spec.response_object().is_some(),
            Constraint::Lazy(triggers) => {
                triggers.retain(|trigger| !trigger.value.trim().is_empty());
                !triggers.is_empty() && output.trigger_rules().next().is_some()
            }
        };
        let unheld = match spec.tools() {
            _ if held => None,
            _ if structured => Some(NO_SCHEMA),
            [] => None,
            _ if writes_calls && !spec.call_required() => Some(NO_MARKER),
            _ => Some(NO_CALLS),
        };
        if !held {
            format.constraint = Constraint::Free;
        }
        // After a call inside the reasoning, the end of the reasoning is not part of the answer.
        let thoughts = format.thinking.iter().flat_map(|thinking| &thinking.ends);
        let mut ends = std::mem::take(&mut format.ends);
        ends.extend_from_slice(&format.additional_stops);
        let rules = CallRules {
            tools,
            call_keys: format.call_keys.take(),
            leniency: spec.options.leniency,
            ends: ends.iter().chain(thoughts).cloned().collect(),
        };
        let parser = match Parser::with_parts(output, parts, &spec.opening.prefill, rules) {
            // A format grows with its tools.
            Err(error) if error.kind() == ErrorKind::Limit && !spec.tools().is_empty() => {
                return Err(error.within("tools"));
            }
            parser => parser?,
        };
        if !spec.is_own() {
            ends.clear();
        }
        Ok(CompiledFormat {
            format,
            parser: parser.ending(ends),
            unheld,
            style: spec.options.grammar_style,
            grammar: OnceLock::new(),
            printed: Default::default(),
        })
    }

    /// The format of a request whose output is content alone.
    pub fn pure_content(spec: &FormatSpec, ends: Vec<String>) -> Result<CompiledFormat> {
        check_response(spec)?;
        let opening = spec.opening;
        let front = match opening.begun_content() {
            Some(text) => opening.prefill.strip_suffix(text).unwrap_or_default(),
            None => opening.front(),
        };
        let format = Format {
            ends,
            ..Format::content_only(front)
        };
        CompiledFormat::new((format, None), spec, Vec::new())
    }

    /// The grammar of the format; empty if nothing constrains the output. Built by the first call.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.grammar.get_or_init(|| {
            let grammar = match &self.format.constraint {
                Constraint::Free => Grammar::none(self.unheld),
                constraint => self.parser.grammar_in(constraint.is_lazy(), self.style),
            };
            for Fidelity {
                schema,
                pointer,
                message,
                ..
            } in &grammar.report
            {
                log::warn!("grammar: {schema}{pointer}: {message}");
            }
            Arc::new(grammar)
        })
    }

    /// See [`crate::Params::grammar_as`]. Printed by the first call.
    pub fn grammar_as(&self, dialect: Dialect) -> &Result<Printed> {
        self.printed[dialect as usize - 1]
            .get_or_init(|| self.grammar().print_output(dialect, self.start()))
    }

    /// Where the grammar begins in the output.
    pub fn start(&self) -> Start<'_> {
        match &self.format.constraint {
            Constraint::Lazy(triggers) => Start::AtTrigger(triggers),
            Constraint::Free | Constraint::Strict(_) => Start::AfterPrefix(self.parser.prefill()),
        }
    }

    /// Approximate memory use in bytes of what was built on first use so far.
    fn late_bytes(&self) -> usize {
        let mut bytes = self.parser.late_bytes();
        if let Some(grammar) = self.grammar.get() {
            bytes += grammar.text.len();
        }
        for printed in &self.printed {
            if let Some(Ok(printed)) = printed.get() {
                bytes += printed.text.len();
            }
        }
        bytes
    }
}

/// An error if a grammar cannot be made of the schema of the response.
fn check_response(spec: &FormatSpec) -> Result<()> {
    if let Some(schema) = spec.response_schema() {
        from_json_schema_as(schema, spec.options.grammar_style)?;
    }
    Ok(())
}

/// A template's last formats, and the parts of single tools that formats share.
#[derive(Debug)]
pub(crate) struct FormatCache {
    /// Formats, each with the bytes that do not grow with its use.
    formats: Store<Arc<Resolved>, (Arc<CompiledFormat>, usize)>,
    parts: Arc<Store<PartKey, Part>>,
    texts: Arc<TextSections>,
}

impl Default for FormatCache {
    fn default() -> Self {
        FormatCache {
            formats: Store::new(CACHED_FORMATS_BYTES),
            parts: Store::new(CACHED_PARTS_BYTES).into(),
            texts: Arc::default(),
        }
    }
}

impl FormatCache {
    /// Returns the cached format for `spec`, or compiles it. `ends`: the texts that an output may
    /// end with.
    pub fn get_or_make(
        &self,
        writing: &Arc<Writing>,
        spec: &FormatSpec,
        ends: impl FnOnce() -> Vec<String>,
    ) -> Result<Arc<CompiledFormat>> {
        let tools = spec
            .offered
            .iter()
            .map(|tool| (&tool.name, tool.description.len(), properties(tool)));
        // Writings that the variables of requests tell apart mostly end calls in their own ways.
        let calls = writing.turn.calls.iter().map(|form| form.close.head());
        let hash = hash_of((
            spec.options,
            spec.opening,
            calls.collect::<Vec<_>>(),
            tools.collect::<Vec<_>>(),
        ));
        let known = self.formats.get(hash, |key| {
            key.serves(writing, spec) && key.tools == spec.offered
        });
        if let Some((known, _)) = known {
            return Ok(known);
        }
        check_response(spec)?;
        let key = Arc::new(Resolved::new(writing, spec));
        let mut format = lower(writing, spec, Want::Linked);
        format.ends = ends();
        // A prefilled message hardly occurs twice.
        let keeps = spec.opening.begun.is_none();
        let parts = format.parts.map(|size| {
            let (kept, texts) = if keeps {
                (Arc::downgrade(&self.parts), Arc::clone(&self.texts))
            } else {
                Default::default()
            };
            Parts::new(size, &key, kept, texts)
        });
        let format = Arc::new(CompiledFormat::new(
            (format, parts),
            spec,
            spec.tools().to_vec(),
        )?);
        if keeps {
            // All are measured again, because grammars may have been built since.
            self.formats
                .measure(|_, (format, fixed)| weight(*fixed, format));
            // The parser has tools of its own, which share their parameters with the key's.
            let spec = key.spec();
            let of_parser: usize = spec.tools().iter().map(without_parameters).sum();
            let fixed = key_bytes(&key) + of_parser + format.parser.bytes();
            let bytes = weight(fixed, &format);
            self.formats
                .keep(hash, key, (Arc::clone(&format), fixed), bytes);
        }
        Ok(format)
    }
}

#[cfg(test)]
impl FormatCache {
    /// How much is kept of single tools.
    pub fn parts(&self) -> usize {
        self.parts.size().0
    }
}

/// What a format takes of the cache in bytes: so much at least that they are few, because all are
/// measured often.
fn weight(fixed: usize, format: &CompiledFormat) -> usize {
    (fixed + format.late_bytes()).max(CACHED_FORMATS_BYTES / CACHED_FORMATS)
}

/// Approximate memory use of a key in bytes, with the parameters of the tools.
fn key_bytes(key: &Resolved) -> usize {
    let opening = key.opening.text.len() + key.opening.prefill.len();
    let tools = key.tools.iter();
    let tools = tools.map(|tool| without_parameters(tool) + bytes(&tool.parameters));
    size_of::<Resolved>() + opening + bytes(&key.options.json_schema) + tools.sum::<usize>()
}

/// Approximate memory use of a tool in bytes, except for its parameters.
fn without_parameters(tool: &Tool) -> usize {
    size_of::<Tool>() + tool.name.len() + tool.description.len()
}

#[cfg(test)]
mod tests {

    use chatparse_stream::EndedBy;

    use super::*;
    use chatparse_format::Opening;
    use chatparse_message::{
        Compat, Dialects, JsonSpacing, OutputOptions, ReasoningFormat, ToolChoice, Written,
    };

    /// Makes a format of content for these tools.
    fn make(
        cache: &FormatCache,
        tools: &[Tool],
        options: &OutputOptions,
        opening: &Opening,
    ) -> Arc<CompiledFormat> {
        let spec = FormatSpec {
            options,
            opening,
            offered: tools,
        };
        cache.get_or_make(&Arc::default(), &spec, Vec::new).unwrap()
    }

    fn make_for(cache: &FormatCache, tools: &[Tool]) -> Arc<CompiledFormat> {
        make(
            cache,
            tools,
            &OutputOptions::default(),
            &Opening::of("<|assistant|>"),
        )
    }

    fn described(name: &str, description: &str, parameters: &str) -> Tool {
        Tool::new(name, description, serde_json::from_str(parameters).unwrap())
    }

    fn tool(name: &str, parameters: &str) -> Tool {
        described(name, "", parameters)
    }

    #[test]
    fn only_equal_specs_share_a_format() {
        let cache = FormatCache::default();
        let tools = [tool("a", r#"{"x": 1, "y": 0.0}"#)];
        let others = [
            [tool("b", r#"{"x": 1, "y": 0.0}"#)],
            [tool("a", r#"{"y": 0.0, "x": 1}"#)],
            [tool("a", r#"{"x": 1, "y": -0.0}"#)],
            [tool("a", r#"{"x": 1.0, "y": 0.0}"#)],
            [described("a", "d", r#"{"x": 1, "y": 0.0}"#)],
        ];
        let found = make_for(&cache, &tools);
        assert!(Arc::ptr_eq(&found, &make_for(&cache, &tools.clone())));
        let changes: [fn(&mut OutputOptions); 10] = [
            |options| options.grammar_style = GrammarStyle::LlamaCpp,
            |options| options.tool_choice = ToolChoice::Required,
            |options| options.parallel_tool_calls = false,
            |options| options.prose = true,
            |options| options.json_spacing = JsonSpacing::Compact,
            |options| options.reasoning_format = ReasoningFormat::None,
            |options| options.enable_thinking = false,
            |options| options.json_schema = Written(json!({"type": "object"})),
            |options| options.compat = Compat::LlamaCpp,
            |options| options.leniency.dialects = Dialects::Off,
        ];
        let differs = |other: Arc<CompiledFormat>| {
            assert!(!Arc::ptr_eq(&found, &other));
            assert!(Arc::ptr_eq(&found, &make_for(&cache, &tools)));
        };
        let opening = Opening::of("<|assistant|>");
        for change in changes {
            let mut options = OutputOptions::default();
            change(&mut options);
            differs(make(&cache, &tools, &options, &opening));
        }
        for opening in [
            Opening::default(),
            Opening {
                text: String::new(),
                ..opening
            },
        ] {
            differs(make(&cache, &tools, &OutputOptions::default(), &opening));
        }
        for offered in others.iter().map(|tools| &tools[..]).chain([&[][..]]) {
            // Some of them have the place of the first one.
            assert!(!Arc::ptr_eq(&found, &make_for(&cache, offered)));
        }
    }

    #[test]
    fn ten_thousand_lists_of_tools_take_no_more_than_the_bound() {
        let cache = FormatCache::default();
        for list in 0..10_000_usize {
            let bytes = if list % 500 < 20 {
                CACHED_FORMATS_BYTES / 30
            } else {
                list % 1_000
            };
            let tools = [described(&list.to_string(), &"d".repeat(bytes), "{}")];
            make_for(&cache, &tools);
            let (count, bytes) = cache.formats.size();
            assert!(
                bytes <= CACHED_FORMATS_BYTES && count <= CACHED_FORMATS,
                "{bytes} bytes"
            );
        }
    }

    #[test]
    fn what_is_made_later_counts() {
        let cache = FormatCache::default();
        let mut options = OutputOptions::default();
        options.leniency.dialects = Dialects::Always;
        let made = make(
            &cache,
            &[tool("a", "{}")],
            &options,
            &Opening::of("<|assistant|>"),
        );
        let bytes = || made.late_bytes();
        let at_first = bytes();
        let text = "x".repeat(1_000);
        made.grammar.set(Arc::new(Grammar::written(text))).unwrap();
        assert_eq!(bytes(), at_first + 1_000);
        made.parser.tree(b"", 0, EndedBy::Limit).unwrap();
        let with_tree = bytes();
        assert!(with_tree > at_first + 1_000);
        made.parser.parse(b"Hello", EndedBy::Model);
        assert!(bytes() > with_tree);
    }
}
