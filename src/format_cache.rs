//! Caches the compiled formats of a template by all that they depend on, because agents send the same tools again and again.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use chatparse_base::json::bytes;
use chatparse_base::limits::{CACHED_FORMATS, CACHED_FORMATS_BYTES, CACHED_PARTS_BYTES};
use chatparse_base::{ErrorKind, Result};
use chatparse_grammar::{self as grammar, Dialect, Fidelity, Grammar, Printed, Start};
use chatparse_learn::format::late::{Parts, Source, Want};
use chatparse_learn::format::{Constraint, Format, FormatSpec, Resolved, Tag, Writing, lower};
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

const NO_CALLS: &str = "the template writes no calls, or none with arguments, so no grammar can ask for one";
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
                if structured && (spec.options.grammar_style == GrammarStyle::Faithful || spec.call_or_response()) =>
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
        // Behind a call inside the reasoning, the end of the reasoning is not part of the answer.
        let thoughts = format.thinking.iter().flat_map(|thinking| &thinking.ends);
        let ends = [std::mem::take(&mut format.ends), format.additional_stops.clone()].concat();
        let closers = ends.iter().chain(thoughts).cloned().collect();
        let call_keys = format.call_keys.take();
        let rules = CallRules { tools, call_keys, leniency: spec.options.leniency, ends: closers };
        // A format grows with its tools.
        let parser =
            Parser::with_parts(output, parts, &spec.opening.prefill, rules).map_err(|error| match error.kind() {
                ErrorKind::Limit if !spec.tools().is_empty() => error.within("tools"),
                _ => error,
            })?;
        let parser = parser.ending(if spec.options.compat == Compat::Off { ends } else { Vec::new() });
        let (grammar, printed) = Default::default();
        Ok(CompiledFormat { format, parser, unheld, style: spec.options.grammar_style, grammar, printed })
    }

    /// The format of a request whose output is content alone.
    pub fn pure_content(spec: &FormatSpec, ends: Vec<String>) -> Result<CompiledFormat> {
        check_response(spec)?;
        let opening = spec.opening;
        let front = opening.begun_content().map(|text| opening.prefill.strip_suffix(text).unwrap_or_default());
        let format = Format { ends, ..Format::content_only(front.unwrap_or(opening.front())) };
        CompiledFormat::new((format, None), spec, Vec::new())
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

/// An error if a grammar cannot be made of the schema of the response.
fn check_response(spec: &FormatSpec) -> Result<()> {
    let style = spec.options.grammar_style;
    spec.response_schema().map(|schema| grammar::from_json_schema_as(schema, style)).transpose().map(drop)
}

/// Moves the matching entry to the front.
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
    key: PartKey,
    /// `None`: it depends on the other tools.
    part: Option<Arc<Program>>,
}

impl PartCache {
    /// The part of this number, of formats like this one.
    fn part(&self, format: &Arc<Resolved>, source: &dyn Source, number: u32) -> Option<Arc<Program>> {
        let (tool, call) = source.tool(number);
        let key = PartKey::new(format, tool, call);
        let alone = self.get(&key).unwrap_or_else(|| {
            self.compiled.fetch_add(1, Ordering::Relaxed);
            let compiled = |beside| peg::compile_part(&source.alone(number, beside)).ok();
            let alone = compiled(false).filter(|alone| compiled(true).as_ref() == Some(alone)).map(Arc::new);
            self.keep(CachedPart { key, part: alone.clone() });
            alone
        });
        alone.or_else(|| peg::compile_part(&source.build(Want::Part(number))).ok().map(Arc::new))
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<CachedPart>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &PartKey) -> Option<Option<Arc<Program>>> {
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
    fn bytes(&self) -> usize {
        let part = self.part.as_ref().map_or(0, |part| part.bytes() + part.late_bytes());
        size_of::<CachedPart>() + key_bytes(&self.key.format, std::slice::from_ref(&self.key.tool)) + part
    }
}

struct Cached {
    key: Arc<Resolved>,
    format: Arc<CompiledFormat>,
    /// Its memory use when it was added.
    bytes: usize,
}

impl Cached {
    fn new(key: Arc<Resolved>, format: Arc<CompiledFormat>) -> Cached {
        // The parser has tools of its own, which share their parameters with the key's.
        let of_parser = key.spec().tools().iter().map(without_parameters).sum::<usize>();
        let bytes = key_bytes(&key, &key.tools) + of_parser + format.parser.bytes();
        Cached { key, format, bytes }
    }

    fn bytes(&self) -> usize {
        self.bytes + self.format.late_bytes()
    }
}

impl FormatCache {
    /// Returns the cached format for `spec`, or compiles it. `ends`: the texts that an output may end with.
    pub fn get_or_make(
        &self,
        writing: &Arc<Writing>,
        spec: &FormatSpec,
        ends: impl FnOnce() -> Vec<String>,
    ) -> Result<Arc<CompiledFormat>> {
        let known = |one: &Cached| one.key.serves(writing, spec) && one.key.tools == spec.offered;
        if let Some(found) = used(&mut self.cached(), known) {
            return Ok(Arc::clone(&found.format));
        }
        check_response(spec)?;
        let key = Arc::new(Resolved::new(writing, spec));
        let mut format = lower(writing, spec, Want::Late);
        format.ends = ends();
        // A prefilled message hardly occurs twice.
        let keeps = spec.opening.begun.is_none();
        let parts = format.parts.map(|(count, widest)| {
            let mut parts = Parts::new(count, widest, Arc::clone(&key) as Arc<dyn Source>);
            if keeps {
                // Weak, because a cached format owns this closure, and the cache the format.
                let (shared, source) = (Arc::downgrade(&self.parts), Arc::clone(&key));
                let without_tools = Arc::new(Resolved { tools: Vec::new(), ..Resolved::clone(&key) });
                let alone = Arc::clone(&parts.compile);
                parts.compile = Arc::new(move |number| match shared.upgrade() {
                    Some(shared) => shared.part(&without_tools, &*source, number),
                    None => alone(number),
                });
            }
            parts
        });
        let format = Arc::new(CompiledFormat::new((format, parts), spec, spec.tools().to_vec())?);
        if keeps {
            self.keep(Cached::new(key, Arc::clone(&format)));
        }
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

/// What a part of a tool's calls is kept by: parts have no descriptions.
struct PartKey {
    /// The format's, without its tools.
    format: Arc<Resolved>,
    tool: Tool,
    call: u32,
}

impl PartKey {
    fn new(format: &Arc<Resolved>, tool: &Tool, call: u32) -> PartKey {
        let mut own = Tool::default();
        (own.name, own.parameters) = (tool.name.clone(), Arc::clone(&tool.parameters));
        PartKey { format: Arc::clone(format), tool: own, call }
    }
}

impl PartialEq for PartKey {
    fn eq(&self, other: &PartKey) -> bool {
        let same = || self.format.serves(&other.format.writing, &other.format.spec());
        self.call == other.call && self.tool == other.tool && (Arc::ptr_eq(&self.format, &other.format) || same())
    }
}

/// Approximate memory use of a key in bytes, with the parameters of the tools.
fn key_bytes(format: &Resolved, tools: &[Tool]) -> usize {
    let opening = format.opening.text.len() + format.opening.prefill.len();
    let tools = tools.iter().map(|tool| without_parameters(tool) + bytes(&tool.parameters));
    size_of::<Resolved>() + opening + bytes(&format.options.json_schema) + tools.sum::<usize>()
}

/// Approximate memory use of a tool in bytes, but for its parameters.
fn without_parameters(tool: &Tool) -> usize {
    size_of::<Tool>() + tool.name.len() + tool.description.len()
}

#[cfg(test)]
mod tests {

    use super::*;
    use chatparse_learn::format::Opening;
    use chatparse_message::{Dialects, JsonSpacing, OutputOptions, ReasoningFormat, ToolChoice, Written};

    /// Makes a format of content for these tools.
    fn make(cache: &FormatCache, tools: &[Tool], options: &OutputOptions, opening: &Opening) -> Arc<CompiledFormat> {
        let spec = FormatSpec { options, opening, offered: tools };
        cache.get_or_make(&Arc::default(), &spec, Vec::new).unwrap()
    }

    fn make_for(cache: &FormatCache, tools: &[Tool]) -> Arc<CompiledFormat> {
        make(cache, tools, &OutputOptions::default(), &Opening::of("<|assistant|>"))
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
        // Each use keeps the first one in the cache.
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
        for opening in [Opening::default(), Opening { text: String::new(), ..opening }] {
            differs(make(&cache, &tools, &OutputOptions::default(), &opening));
        }
        for offered in others.iter().map(|tools| &tools[..]).chain([&[][..]]) {
            differs(make_for(&cache, offered));
        }
    }

    #[test]
    fn those_go_that_were_not_used_for_the_longest_time() {
        let cache = FormatCache::default();
        let sets: Vec<[Tool; 1]> = (0..=CACHED_FORMATS).map(|index| [tool(&index.to_string(), "{}")]).collect();
        let make = |tools: &[Tool]| make_for(&cache, tools);
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
        for list in 0..10_000_usize {
            let bytes = if list % 500 < 20 { CACHED_FORMATS_BYTES / 30 } else { list % 1_000 };
            let tools = [described(&list.to_string(), &"d".repeat(bytes), "{}")];
            make_for(&cache, &tools);
            let cached = cache.cached();
            let held: usize = cached.iter().map(Cached::bytes).sum();
            assert!(held <= CACHED_FORMATS_BYTES && cached.len() <= CACHED_FORMATS, "{held} bytes");
        }
    }

    #[test]
    fn as_many_go_as_need_be_for_one_that_is_large_and_none_for_one_that_is_too_large() {
        let cache = FormatCache::default();
        let large = |name: &str, bytes: usize| [described(name, &"d".repeat(bytes), "{}")];
        let make = |tools: &[Tool]| make_for(&cache, tools);
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
        let mut options = OutputOptions::default();
        options.leniency.dialects = Dialects::Always;
        let made = make(&cache, &[tool("a", "{}")], &options, &Opening::of("<|assistant|>"));
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
            let opening = Opening::of(&"x".repeat(at % 7_000 + 2_000));
            let spec = FormatSpec { options: &OutputOptions::default(), opening: &opening, offered: &[] };
            let format = Arc::new(Resolved::new(&Arc::default(), &spec));
            parts.keep(CachedPart { key: PartKey::new(&format, &tool("a", "{}"), 0), part: Some(Arc::default()) });
            assert!(parts.bytes() <= CACHED_PARTS_BYTES);
        }
        assert!(parts.locked().len() > 100);
    }
}
