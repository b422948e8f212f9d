//! Caches the compiled formats of a template by all that they depend on, because agents send the same tools again and again.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::{Map, Value};

use chatparse_base::json::bytes;
use chatparse_base::limits::{CACHED_FORMATS, CACHED_FORMATS_BYTES, CACHED_PARTS_BYTES};
use chatparse_base::{ErrorKind, Result};
use chatparse_grammar::{self as grammar, Dialect, Fidelity, Grammar, Printed, Start};
use chatparse_learn::format::late::{Parts, Source, Want};
use chatparse_learn::format::{Constraint, Format, FormatSpec, Tag};
use chatparse_message::{Compat, GrammarStyle, Tool};
use chatparse_peg::{self as peg, Expr, Program};
use chatparse_stream::{CallRules, Parser};

/// A compiled format.
#[derive(Debug)]
pub(crate) struct CompiledFormat {
    /// The format without its expressions, which the parser holds.
    format: Format,
    pub parser: Parser,
    /// Why no grammar holds the calls of the tools that are offered.
    unheld: Option<&'static str>,
    style: GrammarStyle,
    grammar: OnceLock<Arc<Grammar>>,
    /// The grammar in each of [`Dialect::ALL`], or why it cannot be.
    printed: [OnceLock<Result<Printed>>; Dialect::ALL.len()],
}

const NO_CALLS: &str = "the template writes no calls, so no grammar can ask for one";
const NO_SCHEMA: &str = "llama.cpp has no grammar for the schema of a response with this template; \"grammar_style\": \"faithful\" asks for one";
const NO_MARKER: &str = "no text marks where a call begins, so no grammar holds the calls; \"tool_choice\": \"required\" asks for one that does";

impl Deref for CompiledFormat {
    type Target = Format;

    fn deref(&self) -> &Format {
        &self.format
    }
}

impl CompiledFormat {
    /// Compiles `format`. `tools`: the tools whose calls may also be read outside of the format.
    pub fn new(
        (mut format, parts): (Format, Option<Parts>),
        spec: &FormatSpec,
        tools: Vec<Tool>,
    ) -> Result<CompiledFormat> {
        let output = std::mem::take(&mut format.output);
        let is_name = |node: &Expr| matches!(node, Expr::Tag(tag, _) if *tag == Tag::ToolName.into());
        let writes_calls = output.nodes().iter().any(is_name);
        let structured = spec.response_schema().is_some();
        let held = match &mut format.constraint {
            // llama.cpp has no grammar for the schema of a response in some families.
            constraint @ (Constraint::Free | Constraint::Lazy(_))
                if structured && (spec.grammar_style == GrammarStyle::Faithful || spec.call_or_response()) =>
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
            _ if writes_calls => Some(NO_MARKER),
            _ => Some(NO_CALLS),
        };
        if !held {
            format.constraint = Constraint::Free;
        }
        // Behind a call inside the reasoning, the end of the reasoning is not part of the answer.
        let thoughts = format.thinking.iter().flat_map(|thinking| &thinking.ends);
        let ends = [std::mem::take(&mut format.ends), format.additional_stops.clone()].concat();
        let closers = ends.iter().chain(thoughts).cloned().collect();
        let call_keys = format.call_keys.take();
        let rules = CallRules { tools, call_keys, leniency: spec.leniency, ends: closers };
        // A format grows with its tools.
        let parser = Parser::with_parts(output, parts, spec.prefill, rules).map_err(|error| match error.kind() {
            ErrorKind::Limit if !spec.tools().is_empty() => error.within("tools"),
            _ => error,
        })?;
        let parser = parser.ending(if spec.compat == Compat::Off { ends } else { Vec::new() });
        let (grammar, printed) = Default::default();
        Ok(CompiledFormat { format, parser, unheld, style: spec.grammar_style, grammar, printed })
    }

    /// The grammar of the format; empty if nothing constrains the output. Built by the first call.
    pub fn grammar(&self) -> &Arc<Grammar> {
        self.grammar.get_or_init(|| {
            let grammar = match &self.format.constraint {
                Constraint::Free => Grammar::none(self.unheld),
                constraint => self.parser.grammar_in(constraint.is_lazy(), self.style),
            };
            for Fidelity { schema, pointer, message, .. } in &grammar.report {
                log::warn!("grammar: {schema}{pointer}: {message}");
            }
            Arc::new(grammar)
        })
    }

    /// See [`crate::Params::grammar_as`]. Printed by the first call.
    pub fn grammar_as(&self, dialect: Dialect) -> &Result<Printed> {
        self.printed[dialect as usize].get_or_init(|| match &self.format.constraint {
            Constraint::Lazy(triggers) if dialect == Dialect::StructuralTagOld => {
                grammar::print_old_tag(self.parser.format(), triggers)
            }
            Constraint::Lazy(triggers) => self.grammar().print_output(dialect, Start::AtTrigger(triggers)),
            Constraint::Free | Constraint::Strict(_) => {
                self.grammar().print_output(dialect, Start::AfterPrefix(self.parser.prefill()))
            }
        })
    }

    /// Approximate memory use in bytes of what was built on first use so far.
    fn late_bytes(&self) -> usize {
        let printed = self.printed.iter().filter_map(|one| Some(one.get()?.as_ref().ok()?.text.len()));
        let printed: usize = printed.sum();
        self.grammar.get().map_or(0, |grammar| grammar.text.len()) + printed + self.parser.late_bytes()
    }
}

/// An entry of those that are kept, which becomes the one that was used last.
fn used<T>(kept: &mut VecDeque<T>, is_wanted: impl Fn(&T) -> bool) -> Option<&T> {
    let found = kept.iter().position(is_wanted).and_then(|at| kept.remove(at))?;
    kept.push_front(found);
    kept.front()
}

/// A template's last formats, and the compiled parts of calls that these share, the most recently used first. Threads may share it. It is
/// locked only to look and to keep: threads that need the same at the same time each compile it.
#[derive(Default)]
pub(crate) struct FormatCache {
    formats: Mutex<VecDeque<Cached>>,
    parts: Arc<PartCache>,
}

/// Compiled parts of calls of tools alone. A part that is the same beside another tool is used in
/// each list with its tool.
#[derive(Default)]
struct PartCache {
    kept: Mutex<VecDeque<CachedPart>>,
    compiled: AtomicUsize,
}

struct CachedPart {
    key: CacheKey<'static>,
    /// `None`: it depends on the other tools.
    part: Option<Arc<Program>>,
    /// The memory use of the key.
    key_bytes: usize,
}

impl PartCache {
    /// The part of this number, for what has these options.
    fn part(&self, options: &CacheKey, source: &dyn Source, number: u32) -> Option<Arc<Program>> {
        let (tool, call) = source.tool(number);
        let key = options.with_part(tool, call);
        let alone = self.get(&key).unwrap_or_else(|| {
            self.compiled.fetch_add(1, Ordering::Relaxed);
            let compiled = |beside| peg::compile_part(&source.alone(number, beside)).ok();
            let alone = compiled(false).filter(|alone| compiled(true).as_ref() == Some(alone)).map(Arc::new);
            self.keep(CachedPart::new(key, alone.clone()));
            alone
        });
        alone.or_else(|| peg::compile_part(&source.build(Want::Part(number))).ok().map(Arc::new))
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<CachedPart>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &CacheKey) -> Option<Option<Arc<Program>>> {
        used(&mut self.locked(), |one| one.key == *key).map(|found| found.part.clone())
    }

    fn keep(&self, new: CachedPart) {
        let mut kept = self.locked();
        kept.retain(|one| one.key != new.key);
        kept.push_front(new);
        let mut sum = 0;
        kept.retain(|one| {
            sum += one.bytes();
            sum <= CACHED_PARTS_BYTES
        });
    }

    fn bytes(&self) -> usize {
        self.locked().iter().map(CachedPart::bytes).sum()
    }
}

impl CachedPart {
    fn new(key: CacheKey<'static>, part: Option<Arc<Program>>) -> CachedPart {
        CachedPart { key_bytes: key.bytes(), key, part }
    }

    fn bytes(&self) -> usize {
        let part = self.part.as_ref().map_or(0, |part| part.bytes() + part.late_bytes());
        size_of::<CachedPart>() + self.key_bytes + part
    }
}

struct Cached {
    key: CacheKey<'static>,
    format: Arc<CompiledFormat>,
    /// Its memory use when it was added.
    bytes: usize,
}

impl Cached {
    fn new(key: CacheKey<'static>, format: Arc<CompiledFormat>, spec: &FormatSpec) -> Cached {
        // The parser has tools of its own, which share their parameters with the key's.
        let of_parser = spec.tools().iter().map(without_parameters).sum::<usize>();
        let bytes = key.bytes() + bytes(spec.json_schema) + of_parser + format.parser.bytes();
        Cached { key, format, bytes }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.format.late_bytes()
    }
}

impl FormatCache {
    /// Returns the cached format for `spec`, or compiles the one that `make` returns.
    pub fn get_or_make(
        &self,
        spec: &FormatSpec,
        make: impl FnOnce() -> Result<(Format, Option<Parts>)>,
    ) -> Result<Arc<CompiledFormat>> {
        let compile = |made| CompiledFormat::new(made, spec, spec.tools().to_vec()).map(Arc::new);
        // A prefilled message hardly occurs twice.
        if spec.begun.is_some() {
            return compile(make()?);
        }
        let key = CacheKey::of(spec);
        if let Some(format) = self.get(&key) {
            return Ok(format);
        }
        let (format, mut parts) = make()?;
        if let Some(parts) = &mut parts {
            // The cached format holds this, and the cache the format.
            let (shared, source) = (Arc::downgrade(&self.parts), Arc::clone(&parts.source));
            let (options, alone) =
                (CacheKey::of(&FormatSpec { offered: &[], ..*spec }).kept(), Arc::clone(&parts.compile));
            parts.compile = Arc::new(move |number| match shared.upgrade() {
                Some(shared) => shared.part(&options, &*source, number),
                None => alone(number),
            });
        }
        let format = compile((format, parts))?;
        self.keep(Cached::new(key.kept(), Arc::clone(&format), spec));
        Ok(format)
    }

    /// How many parts were compiled, and how many are kept.
    #[cfg(test)]
    pub fn parts(&self) -> [usize; 2] {
        [self.parts.compiled.load(Ordering::Relaxed), self.parts.locked().len()]
    }

    fn cached(&self) -> MutexGuard<'_, VecDeque<Cached>> {
        self.formats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &CacheKey) -> Option<Arc<CompiledFormat>> {
        used(&mut self.cached(), |one| one.key == *key).map(|found| Arc::clone(&found.format))
    }

    /// Adds an entry, unless it is too large, and drops the least recently used ones as needed.
    fn keep(&self, new: Cached) {
        let of_parts = self.parts.bytes();
        let mut cached = self.cached();
        // Another thread may have added the same entry meanwhile.
        cached.retain(|one| one.key != new.key);
        cached.push_front(new);
        let (mut count, mut sum) = (0, of_parts);
        // All entries are measured again, because grammars may have been built since.
        cached.retain(|one| {
            let bytes = one.bytes();
            if of_parts + bytes > CACHED_FORMATS_BYTES {
                return false;
            }
            count += 1;
            sum += bytes;
            count <= CACHED_FORMATS && sum <= CACHED_FORMATS_BYTES
        });
    }
}

impl fmt::Debug for FormatCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} formats", self.cached().len())
    }
}

/// All that a format depends on: the tools, and the rest of a [`FormatSpec`] as bytes. JSON is compared as it is written, because grammars
/// depend on the order of members and the sign of zero.
struct CacheKey<'t> {
    options: Vec<u8>,
    tools: Cow<'t, [Tool]>,
}

impl<'t> CacheKey<'t> {
    /// Names each field, so that a new one cannot be forgotten.
    fn of(spec: &FormatSpec<'t>) -> CacheKey<'t> {
        let FormatSpec {
            // A cache belongs to one template.
            source: _,
            opening,
            prefill,
            // A begun message is not kept.
            begun: _,
            offered,
            tool_choice,
            parallel_tool_calls,
            prose,
            json_spacing,
            reasoning_format,
            enable_thinking,
            json_schema,
            leniency,
            grammar_style,
            compat,
            variables,
        } = *spec;
        let mut options = vec![tool_choice as u8, reasoning_format as u8];
        options.extend([parallel_tool_calls, prose, enable_thinking].map(u8::from));
        options.extend([grammar_style as u8, json_spacing as u8, compat as u8]);
        serde_json::to_writer(&mut options, &leniency).expect("it can be written");
        let schema = if json_schema.is_null() { String::new() } else { json_schema.to_string() };
        for text in [opening, prefill, variables, &schema] {
            options.extend(text.len().to_le_bytes());
            options.extend(text.as_bytes());
        }
        CacheKey { options, tools: offered.into() }
    }

    fn kept(self) -> CacheKey<'static> {
        CacheKey { options: self.options, tools: self.tools.into_owned().into() }
    }

    /// The key of a tool's part, if this is the one of its format without tools. Parts have no descriptions.
    fn with_part(&self, tool: &Tool, call: u32) -> CacheKey<'static> {
        let mut options = self.options.clone();
        options.extend(call.to_le_bytes());
        let mut own = Tool::default();
        (own.name, own.parameters) = (tool.name.clone(), Arc::clone(&tool.parameters));
        CacheKey { options, tools: vec![own].into() }
    }

    /// Approximate memory use in bytes, with the parameters that the key holds.
    fn bytes(&self) -> usize {
        let tools = self.tools.iter().map(|tool| without_parameters(tool) + bytes(&tool.parameters));
        self.options.len() + tools.sum::<usize>()
    }
}

/// Approximate memory use of a tool in bytes, but for its parameters.
fn without_parameters(tool: &Tool) -> usize {
    size_of::<Tool>() + tool.name.len() + tool.description.len()
}

impl PartialEq<CacheKey<'_>> for CacheKey<'_> {
    fn eq(&self, other: &CacheKey) -> bool {
        let tools = || self.tools.iter().zip(&*other.tools);
        self.options == other.options && self.tools.len() == other.tools.len() && tools().all(|(a, b)| same_tool(a, b))
    }
}

/// Tools of a list that is sent again have the same parameters in memory, if the template read the request.
fn same_tool(a: &Tool, b: &Tool) -> bool {
    (&a.name, &a.description, &a.namespace, a.deferred) == (&b.name, &b.description, &b.namespace, b.deferred)
        && (Arc::ptr_eq(&a.parameters, &b.parameters) || same_json(&a.parameters, &b.parameters))
        && same_members(&a.more, &b.more)
}

fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.to_string() == b.to_string(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(a, b)),
        (Value::Object(a), Value::Object(b)) => same_members(a, b),
        _ => a == b,
    }
}

fn same_members(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    let same = |((name, a), (other, b)): ((&String, &Value), (&String, &Value))| name == other && same_json(a, b);
    a.len() == b.len() && a.iter().zip(b).all(same)
}

#[cfg(test)]
mod tests {

    use super::*;
    use chatparse_learn::format::Begun;
    use chatparse_message::{Dialects, Leniency, ReasoningFormat, ToolChoice};

    fn spec<'a>(tools: &'a [Tool], schema: &'a Value) -> FormatSpec<'a> {
        FormatSpec {
            source: "",
            opening: "<|assistant|>",
            prefill: "<|assistant|>",
            begun: None,
            offered: tools,
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: false,
            prose: false,
            json_spacing: Default::default(),
            reasoning_format: ReasoningFormat::Auto,
            enable_thinking: true,
            json_schema: schema,
            leniency: Leniency::default(),
            grammar_style: GrammarStyle::default(),
            compat: Compat::default(),
            variables: "",
        }
    }

    fn described(name: &str, description: &str, parameters: &str) -> Tool {
        Tool::new(name, description, serde_json::from_str(parameters).unwrap())
    }

    fn lenient(dialects: Dialects) -> Leniency {
        let mut leniency = Leniency::default();
        leniency.dialects = dialects;
        leniency
    }

    fn tool(name: &str, parameters: &str) -> Tool {
        described(name, "", parameters)
    }

    fn format() -> Result<(Format, Option<Parts>)> {
        Ok((Format::content_only("<|assistant|>"), None))
    }

    #[test]
    fn only_equal_specs_share_a_format() {
        let cache = FormatCache::default();
        let (null, schema) = (Value::Null, json!({"type": "object"}));
        let tools = [tool("a", r#"{"x": 1, "y": 0.0}"#)];
        let others = [
            [tool("b", r#"{"x": 1, "y": 0.0}"#)],
            [tool("a", r#"{"y": 0.0, "x": 1}"#)],
            [tool("a", r#"{"x": 1, "y": -0.0}"#)],
            [tool("a", r#"{"x": 1.0, "y": 0.0}"#)],
            [described("a", "d", r#"{"x": 1, "y": 0.0}"#)],
        ];
        let first = spec(&tools, &null);
        let found = cache.get_or_make(&first, format).unwrap();
        let again = tools.clone();
        assert!(Arc::ptr_eq(&found, &cache.get_or_make(&spec(&again, &null), format).unwrap()));
        let different = [
            FormatSpec { opening: "", prefill: "", ..first },
            FormatSpec { opening: "", ..first },
            FormatSpec {
                prefill: "<|assistant|>Yes",
                begun: Some(Begun { reasoning: None, content: Some(13) }),
                ..first
            },
            FormatSpec { offered: &[], ..first },
            FormatSpec { grammar_style: GrammarStyle::LlamaCpp, ..first },
            FormatSpec { tool_choice: ToolChoice::Required, ..first },
            FormatSpec { parallel_tool_calls: true, ..first },
            FormatSpec { prose: true, ..first },
            FormatSpec { json_spacing: chatparse_message::JsonSpacing::Compact, ..first },
            FormatSpec { reasoning_format: ReasoningFormat::None, ..first },
            FormatSpec { enable_thinking: false, ..first },
            FormatSpec { json_schema: &schema, ..first },
            FormatSpec { compat: Compat::LlamaCpp, ..first },
            FormatSpec { variables: "{}", ..first },
            FormatSpec { leniency: lenient(Dialects::Off), ..first },
        ];
        for spec in different.into_iter().chain(others.iter().map(|tools| FormatSpec { offered: tools, ..first })) {
            assert!(!Arc::ptr_eq(&found, &cache.get_or_make(&spec, format).unwrap()), "{spec:?}");
            assert!(Arc::ptr_eq(&found, &cache.get_or_make(&first, format).unwrap()));
        }
    }

    #[test]
    fn those_go_that_were_not_used_for_the_longest_time() {
        let cache = FormatCache::default();
        let null = Value::Null;
        let sets: Vec<[Tool; 1]> = (0..=CACHED_FORMATS).map(|index| [tool(&index.to_string(), "{}")]).collect();
        let make = |tools| cache.get_or_make(&spec(tools, &null), format).unwrap();
        let first = make(&sets[0]);
        let second = make(&sets[1]);
        assert!(Arc::ptr_eq(&first, &make(&sets[0])));
        sets[2..].iter().for_each(|tools| drop(make(tools)));
        assert_eq!(cache.cached().len(), CACHED_FORMATS);
        assert!(Arc::ptr_eq(&first, &make(&sets[0])));
        assert!(!Arc::ptr_eq(&second, &make(&sets[1])));
    }

    #[test]
    fn ten_thousand_lists_of_tools_take_no_more_than_the_bound() {
        let cache = FormatCache::default();
        let null = Value::Null;
        for list in 0..10_000_usize {
            let bytes = if list % 500 < 20 { CACHED_FORMATS_BYTES / 30 } else { list % 1_000 };
            let tools = [described(&list.to_string(), &"d".repeat(bytes), "{}")];
            cache.get_or_make(&spec(&tools, &null), format).unwrap();
            let cached = cache.cached();
            let held: usize = cached.iter().map(Cached::bytes).sum();
            assert!(held <= CACHED_FORMATS_BYTES && cached.len() <= CACHED_FORMATS, "{held} bytes");
        }
    }

    #[test]
    fn as_many_go_as_need_be_for_one_that_is_large_and_none_for_one_that_is_too_large() {
        let cache = FormatCache::default();
        let null = Value::Null;
        let large = |name: &str, bytes: usize| [described(name, &"d".repeat(bytes), "{}")];
        let make = |tools: &[Tool]| cache.get_or_make(&spec(tools, &null), format).unwrap();
        // A description is kept twice: with the tool, and in the key.
        let thirds = ["a", "b", "c"].map(|name| large(name, CACHED_FORMATS_BYTES / 6 - 10_000));
        let [first, second, third] = thirds.each_ref().map(|tools| make(tools));
        make(&large("d", CACHED_FORMATS_BYTES));
        assert_eq!(cache.cached().len(), 3);
        assert!(Arc::ptr_eq(&first, &make(&thirds[0])));
        let half = large("e", CACHED_FORMATS_BYTES / 4);
        let fourth = make(&half);
        assert_eq!(cache.cached().len(), 2);
        assert!(Arc::ptr_eq(&first, &make(&thirds[0])) && Arc::ptr_eq(&fourth, &make(&half)));
        assert!(!Arc::ptr_eq(&second, &make(&thirds[1])) && !Arc::ptr_eq(&third, &make(&thirds[2])));
    }

    #[test]
    fn what_is_made_later_counts() {
        let cache = FormatCache::default();
        let (null, tools) = (Value::Null, [tool("a", "{}")]);
        let spec = FormatSpec { leniency: lenient(Dialects::Always), ..spec(&tools, &null) };
        let made = cache.get_or_make(&spec, format).unwrap();
        let bytes = || cache.cached()[0].bytes();
        let at_first = bytes();
        let text = "x".repeat(1_000);
        made.grammar.set(Arc::new(Grammar { text, ..Grammar::default() })).unwrap();
        assert_eq!(bytes(), at_first + 1_000);
        made.parser.tree(b"", 0, true).unwrap();
        let with_tree = bytes();
        assert!(with_tree > at_first + 1_000);
        made.parser.parse(b"Hello", false, false).unwrap();
        assert!(bytes() > with_tree);
    }
    #[test]
    fn parts_take_no_more_than_their_bound() {
        let parts = PartCache::default();
        for at in 0..1_000_usize {
            let key = CacheKey { options: at.to_le_bytes().repeat(at % 7_000 + 2_000), tools: Cow::default() };
            parts.keep(CachedPart::new(key, Some(Arc::default())));
            assert!(parts.bytes() <= CACHED_PARTS_BYTES);
        }
        assert!(parts.locked().len() > 100);
    }
}
