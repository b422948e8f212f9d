//! The template engine with our filters, tests, functions and methods, and without any others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::{fmt, io};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Object, ObjectRepr, Rest, Value, ValueOrKwargs};
use minijinja::{Environment, ErrorKind as EngineErrorKind, Output, State, UndefinedBehavior};

use crate::budget::{self, Meter};
use crate::builtins::args::{Args, Call};
use crate::builtins::functions::{FUNCTIONS, RAISED};
use crate::builtins::tests::TESTS;
use crate::builtins::{filters, list_filters, methods};
use crate::fault;
use crate::probe::labels::Labels;
use crate::python::memo::Memo;
use crate::python::pyobject::as_text;
use crate::python::scalar::{LABELS, labels, without_labels};
use crate::python::{grown, namespace, ops, pyrepr, strings};
use crate::reading::{self, Reads, charge_value};
use crate::request::context::Watch;
use crate::source::macros;
use crate::source::rewrite::expr::UNKNOWN;
use crate::source::rewrite::{self, Rewritten, excerpt, line_and_column, shortened};
use crate::source::texts::open_block;
use chatparse_base::limits::{
    PROBE_FUEL, PROBE_WORK, PROMPT_BYTES, RENDER_DEPTH, RENDER_FUEL, RENDER_WORK, SHALLOW_DEPTH,
    STEP_WORK,
};
use chatparse_base::{Error, ErrorKind, Place, Result, stack};

/// The Rust function of an operator.
type Operator = fn(&mut State, &[Value]) -> Made;

type Made = fault::Result<Value>;

/// Filters that only the source pass inserts.
const OPERATORS: &[(&str, Operator)] = &[
    ("op.absent", ops::absent),
    ("op.add", ops::add),
    ("op.assign", namespace::assign),
    ("op.attr", methods::attribute),
    ("op.cat", ops::concat),
    ("op.catch", macros::catch),
    ("op.dict", ops::dict),
    ("op.each", ops::each),
    ("op.generation", generation),
    ("op.grow", grown::grow),
    ("op.held", namespace::held),
    ("op.item", ops::item),
    ("op.list", ops::list),
    ("op.mod", ops::modulo),
    ("op.mul", ops::multiply),
    ("op.read", ops::read),
    ("op.sign", ops::sign),
    ("op.slice", ops::slice),
    ("op.spend", ops::spend),
    ("op.tuple", ops::tuple),
];

/// Filters that pass on or print their argument, so that its label is kept.
const PRINTING: &[&str] = &[
    "d",
    "default",
    "format",
    "join",
    "op.assign",
    "op.cat",
    "op.dict",
    "op.grow",
    "op.held",
    "op.list",
    "op.read",
    "op.tuple",
    "string",
    "tojson",
];

/// How a filter reads the texts that it is given.
fn reads(filter: &str) -> Reads {
    match filter {
        "d" | "default" | "first" | "last" => Reads::Nothing,
        "count" | "length" | "safe" | "string" | "trim" => Reads::Bytes,
        // Like the method of that name.
        _ => strings::reads(filter),
    }
}

/// The template's name in the engine. It has no file extension, because the engine would choose
/// escaping by it.
const NAME: &str = "template";

/// One of our functions, with its name, as an engine value.
#[derive(Debug)]
struct Function(&'static str, Call);

impl Object for Function {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State, args: &[Value]) -> Made {
        reading::touch(args.iter(), Reads::Bytes)?;
        (self.1)(state, &Args::new(args)?)
    }

    /// In Jinja, an attribute that a type does not have is a generic alias of it: a call makes the
    /// type. Some templates write `dict.from_keys(pairs)`.
    fn call_method(self: &Arc<Self>, state: &mut State, name: &str, args: &[Value]) -> Made {
        match self.0 {
            "dict" if name != "fromkeys" => self.call(state, args),
            _ => Err(minijinja::ErrorKind::UnknownMethod.into()),
        }
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<function {}>", self.0)
    }
}

/// The text of a `{% generation %}` block.
fn generation(state: &mut State, args: &[Value]) -> Made {
    let text = args.first().cloned().unwrap_or_default();
    Ok(match labels(state) {
        Some(labels) => labels.block(&pyrepr::text(&text)).into(),
        None => text,
    })
}

/// The source of a template, for errors.
#[derive(Debug, Default)]
struct Origin {
    source: String,
    /// As in [`Rewritten`].
    tags: Vec<(usize, usize)>,
}

impl Origin {
    /// The start of the tag with the error.
    fn tag(&self, error: &minijinja::Error) -> Option<usize> {
        let at = error.range()?.start;
        let tags = self.tags.partition_point(|(begin, _)| *begin <= at);
        self.tags[..tags].last().map(|(_, tag)| *tag)
    }
}

/// The template engine with one compiled template.
#[derive(Clone)]
pub struct Engine {
    env: Environment<'static>,
    origin: Arc<Origin>,
    /// As in [`Rewritten`].
    pub opens_last: bool,
    /// The JSON of tools that it wrote; `None` for probes, whose tools do not come again.
    pub memo: Option<Arc<Memo>>,
    /// The work that probes may take; `None` for other renders.
    learning: Option<Arc<Learning>>,
    /// Why there is no template to render.
    pub fault: Option<Error>,
}

/// The work that is left for all renders of probes: none after one that reached a limit.
struct Learning(AtomicU64);

/// A prompt; how much of it was written when the template first asked whether to open a turn, and
/// whether it did not ask again; `None` if it did not.
pub type Rendered = Result<(String, Option<(usize, bool)>)>;

impl Engine {
    /// An engine whose renders fail.
    pub fn failing(fault: Error) -> Engine {
        Engine {
            env: empty(),
            origin: Arc::default(),
            opens_last: false,
            memo: None,
            learning: None,
            fault: Some(fault),
        }
    }

    /// This engine with the limits for short probes. `work`: the work that all of them together may
    /// take.
    pub fn for_probes(&self, work: u64) -> Engine {
        let mut env = self.env.clone();
        env.set_fuel(Some(PROBE_FUEL));
        Engine {
            env,
            memo: None,
            learning: Some(Arc::new(Learning(work.into()))),
            ..self.clone()
        }
    }

    /// Turns on labels for blocks.
    pub fn show_labels(&mut self, labels: &Labels) {
        self.env.add_global(LABELS, Value::from_object(*labels));
    }

    /// Renders the template, on the caller's stack where that will do. The context is made anew for
    /// each try, because a template may change its values.
    pub fn render(&self, context: impl Fn(Arc<Watch>) -> Result<Value> + Sync) -> Rendered {
        match self.render_once(&context) {
            Err(error) if is_too_deep(error.message()) => stack::deep(|| {
                let mut deep = self.clone();
                deep.env.set_recursion_limit(RENDER_DEPTH);
                deep.render_once(&context)
            }),
            rendered => rendered,
        }
    }

    fn render_once(&self, context: impl Fn(Arc<Watch>) -> Result<Value>) -> Rendered {
        let prompt = Prompt::default();
        let watch = Arc::clone(&prompt.watch);
        let text = self.write(context(Arc::clone(&watch))?, prompt)?;
        Ok((text, watch.read_at()))
    }

    /// Renders a short probe.
    pub fn try_with(&self, context: Value) -> Result<String> {
        self.write(context, Prompt::default())
    }

    fn write(&self, context: Value, mut prompt: Prompt) -> Result<String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let learning = self.learning.as_ref();
        let max_work = learning.map_or(Ok(RENDER_WORK), |learning| learning.next())?;
        let meter = Meter::start(max_work);
        let rendered = self.run(context, &mut prompt, &meter);
        if let Some(learning) = learning {
            // The render is tried again with a deeper stack.
            let again = self.env.recursion_limit() < RENDER_DEPTH;
            learning.spend(&rendered, budget::spent(), again);
        }
        rendered?;
        String::from_utf8(prompt.text)
            .map_err(|_| Error::new(ErrorKind::Internal, "a rendered prompt is not UTF-8"))
    }

    /// Writes the prompt. Returns the number of steps.
    fn run(&self, context: Value, prompt: &mut Prompt, meter: &Meter) -> Result<u64> {
        let template = self.env.get_template(NAME);
        let rendered = template.and_then(|template| {
            let rendered = template.render_captured_to(context, prompt);
            match (meter.check(), rendered) {
                (_, Err(error)) if error.kind() == EngineErrorKind::OutOfFuel => Err(error),
                // The excess may have led to another error.
                (Err(excess), _) => Err(excess),
                (Ok(()), captured) => Ok(captured?.state().fuel_levels()),
            }
        });
        match rendered {
            Ok(steps) => Ok(steps.map_or(0, |(steps, _)| steps)),
            Err(error) => Err(failure(&error, &self.origin)),
        }
    }
}

impl Learning {
    /// The work that the next render may take.
    fn next(&self) -> Result<u64> {
        match self.0.load(Memory::Relaxed) {
            0 => Err(Error::limit(
                "template: the renders that it is learnt from take too much work",
            )),
            left => Ok(left.min(PROBE_WORK)),
        }
    }

    /// Counts a render that took this work besides its steps. `again`: one that nests too deeply is
    /// no end yet.
    fn spend(&self, rendered: &Result<u64>, work: u64, again: bool) {
        let used = match rendered {
            Ok(steps) => steps.saturating_mul(STEP_WORK).saturating_add(work),
            Err(error)
                if error.kind() == ErrorKind::Limit && !(again && is_too_deep(error.message())) =>
            {
                u64::MAX
            }
            // The number of steps is not known.
            Err(_) => (PROBE_FUEL / 16 * STEP_WORK).saturating_add(work),
        };
        let relaxed = Memory::Relaxed;
        let _ = self
            .0
            .fetch_update(relaxed, relaxed, |left| Some(left.saturating_sub(used)));
    }
}

/// Compiles the rewritten `source`.
pub fn compile(rewritten: Rewritten, source: &str) -> Result<Engine> {
    let origin = Origin {
        source: source.to_owned(),
        tags: rewritten.tags,
    };
    let mut env = empty();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build();
    let added = syntax.and_then(|syntax| {
        env.set_syntax(syntax);
        env.add_template_owned(NAME, rewritten.text)
    });
    added.map_err(|error| failure(&error, &origin))?;
    // The engine would run the tag that the pass did not rewrite, and nothing would count it.
    match rewritten.unread {
        Some(error) => Err(error),
        None => Ok(Engine {
            env,
            origin: Arc::new(origin),
            opens_last: rewritten.opens_last,
            memo: Some(Arc::default()),
            learning: None,
            fault: None,
        }),
    }
}

/// The engine without a template. Each template has its own, because a shared static one would look
/// like a leak to hosts.
fn empty() -> Environment<'static> {
    let mut env = Environment::empty();
    // Errors know their place without debug mode, which would copy the variables into each.
    env.set_debug(false);
    env.set_undefined_behavior(UndefinedBehavior::Chainable);
    env.set_fuel(Some(RENDER_FUEL));
    env.set_recursion_limit(SHALLOW_DEPTH);
    env.set_formatter(format);
    env.set_unknown_method_callback(methods::call);
    for &(name, code) in filters::FILTERS.iter().chain(list_filters::FILTERS) {
        let (prints, reads) = (PRINTING.contains(&name), reads(name));
        env.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            reading::touch(args.iter(), reads)?;
            let args = if prints {
                args.into()
            } else {
                without_labels(&args)
            };
            let result = code(state, &Args::new(&args)?)?;
            if reads != Reads::Nothing {
                charge_value(&result)?;
            }
            Ok::<_, minijinja::Error>(result)
        });
    }
    for &(name, code) in OPERATORS {
        let prints = PRINTING.contains(&name);
        env.add_filter(name, move |state: &mut State, args: &[Value]| {
            // Together with a text, a sum or remainder is text.
            let mut texts = args.iter().map(as_text);
            let prints = match name {
                "op.add" => texts.any(|text| text.is_some()),
                "op.mod" => texts.next().flatten().is_some(),
                _ => prints,
            };
            if prints {
                code(state, args)
            } else {
                code(state, &without_labels(args))
            }
        });
    }
    for (names, code) in TESTS {
        for name in *names {
            env.add_test(*name, move |_: &State, args: &[Value]| {
                code(&without_labels(args))
            });
        }
    }
    for &(name, code) in FUNCTIONS {
        env.add_global(name, Value::from_object(Function(name, code)));
    }
    env
}

/// Collects the output, up to its limit.
struct Prompt {
    text: Vec<u8>,
    watch: Arc<Watch>,
}

impl Default for Prompt {
    /// Reserves space for a short prompt.
    fn default() -> Self {
        Prompt {
            text: Vec::with_capacity(2048),
            watch: Arc::default(),
        }
    }
}

impl io::Write for Prompt {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.text.len() + text.len() > PROMPT_BYTES || budget::scan(text.len()).is_err() {
            return Err(io::Error::other("the prompt is too long"));
        }
        self.text.extend_from_slice(text);
        self.watch.wrote(self.text.len());
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the value of `{{ value }}`.
fn format(out: &mut Output, _: &mut State, value: &Value) -> fault::Result<()> {
    let text = pyrepr::text(value);
    budget::charge_output(text.len())?;
    Ok(out.write_str(&text)?)
}

/// The maximum length of an error's text: a template may raise one with any value in it.
const ERROR_CHARS: usize = 4_000;

/// Whether an error is that a render nests too deeply; the engine has no other sign of it.
fn is_too_deep(error: &str) -> bool {
    error.contains("recursion limit")
}

/// Converts the engine's error: adds the line, and the column of the tag if it is on that line. An
/// error that the template raised itself is used as it is.
fn failure(error: &minijinja::Error, origin: &Origin) -> Error {
    use EngineErrorKind::{OutOfFuel, UnknownFilter, UnknownTest, WriteFailure};
    let (source, tag, detail) = (&*origin.source, origin.tag(error), error.detail());
    let kind = match error.kind() {
        OutOfFuel | WriteFailure => ErrorKind::Limit,
        _ if detail.is_some_and(is_too_deep) => ErrorKind::Limit,
        _ => ErrorKind::Template,
    };
    let raised = detail.and_then(|detail| detail.strip_prefix(RAISED));
    let what = match (error.kind(), detail, raised) {
        (WriteFailure, ..) => format!("the prompt is longer than {PROMPT_BYTES} bytes"),
        (OutOfFuel, None, _) => format!("the render takes more than {RENDER_FUEL} steps"),
        (kind, None, _) => kind.to_string(),
        (.., Some(raised)) => raised.to_owned(),
        (OutOfFuel, Some(detail), _) => detail.to_owned(),
        // The detail names the kind of the error.
        (UnknownFilter | UnknownTest, Some(detail), _) => detail.replacen(UNKNOWN, "", 1),
        (kind, Some(detail), _) => format!("{kind}: {detail}"),
    };
    let mut what = shortened(&what, ERROR_CHARS);
    // Which block has no end.
    let up_to = match detail {
        Some(detail) if detail.starts_with("unexpected end of input") => Some(source.len()),
        Some(detail) if detail.starts_with("unknown statement end") => tag,
        _ => None,
    };
    if let Some((name, at)) = up_to.and_then(|to| open_block(&source[..to])) {
        let (line, _) = line_and_column(source, at);
        what += &format!("; the innermost open block is {name}, in line {line}");
    }
    let Some(line) = error.line() else {
        return Error::new(kind, format!("template: {what}"));
    };
    let tag_place = tag.map(|tag| rewrite::place(source, tag));
    let place = match tag_place.filter(|place| place.line == line) {
        Some(place) => place,
        None => Place {
            line,
            column: None,
            excerpt: excerpt(
                source
                    .lines()
                    .nth(line.saturating_sub(1))
                    .unwrap_or_default(),
            ),
        },
    };
    let more = match raised {
        None if !place.excerpt.is_empty() => format!(" (at `{}`)", place.excerpt),
        _ => String::new(),
    };
    Error::in_template(kind, place, &what, &more)
}
