//! A template that was read, and its renders within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use crate::budget::{self, Meter};
use crate::fault::{Fault, Kind};
use crate::given::{Sources, Variables};
use crate::memo::Memo;
use crate::probe::trace::{Trace, Usage};
use crate::read;
use crate::run::{Asked, Run};
use crate::source::{place, shortened, tag_start};
use crate::text::Piece;
use crate::tree::Tree;
use crate::value;
use chatparse_base::limits::{PROBE_WORK, RENDER_DEPTH, RENDER_WORK, SHALLOW_DEPTH};
use chatparse_base::{Error, ErrorKind, Result, stack};

/// A template that was read.
#[derive(Clone)]
pub struct Engine {
    template: Arc<Read>,
    /// The JSON of tools that it wrote; `None` for probes, whose tools do not come again.
    pub memo: Option<Arc<Memo>>,
    /// The work that probes may take; `None` for other renders.
    learning: Option<Arc<Learning>>,
}

struct Read {
    source: String,
    tree: Result<Tree>,
    opens_last: bool,
}

/// The work that is left for all renders of probes: none after one that reached a limit.
struct Learning(AtomicU64);

/// How a render is made.
#[derive(Clone, Copy, Default)]
pub struct Way<'u> {
    /// As transformers renders.
    pub is_plain: bool,
    /// Each value has a number.
    pub is_traced: bool,
    /// The time, in Unix seconds.
    pub now: Option<i64>,
    /// What records the accesses of a trial.
    pub trial: Option<&'u Arc<Usage>>,
}

/// A prompt.
pub struct Rendered {
    pub text: String,
    /// The stretches that have origins.
    pub pieces: Vec<Piece>,
    pub sources: Sources,
    asked: Asked,
}

impl Rendered {
    /// How much was written when the template first asked whether to open a turn; `None` if it did
    /// not.
    pub fn asked_at(&self) -> Option<usize> {
        (self.asked.reads > 0).then_some(self.asked.at)
    }
}

impl Engine {
    /// Reads a source. Recurses as deeply as it nests.
    pub fn new(source: &str) -> Engine {
        let tree = stack::deep(|| read::read(source));
        let opens_last = tree.as_ref().is_ok_and(|tree| tree.opens_last());
        Engine {
            template: Arc::new(Read {
                source: source.to_owned(),
                tree,
                opens_last,
            }),
            memo: Some(Arc::default()),
            learning: None,
        }
    }

    /// Why there is no template to render.
    pub fn fault(&self) -> Option<&Error> {
        self.template.tree.as_ref().err()
    }

    /// This engine with the limits for short probes. `work`: the work that all of them together may
    /// take.
    pub fn for_probes(&self, work: u64) -> Engine {
        Engine {
            memo: None,
            learning: Some(Arc::new(Learning(work.into()))),
            ..self.clone()
        }
    }

    /// Whether what a prompt has from the first question on is the opening of a turn, and nothing
    /// else.
    pub fn opens_last(&self, rendered: &Rendered) -> bool {
        self.template.opens_last && rendered.asked.reads == 1 && rendered.asked.is_last
    }

    /// Renders the template, on the caller's stack where that will do. The variables are made anew
    /// for each try, because a template may change their values.
    pub fn render(
        &self,
        way: Way,
        variables: impl Fn(&Tree) -> Variables + Sync,
    ) -> Result<Rendered> {
        match self.render_once(way, &variables, SHALLOW_DEPTH) {
            Err((Kind::Depth, _)) => {
                let deep = || {
                    let rendered = self.render_once(way, &variables, RENDER_DEPTH);
                    rendered.map_err(|(_, error)| error)
                };
                stack::deep(deep)
            }
            rendered => rendered.map_err(|(_, error)| error),
        }
    }

    fn render_once(
        &self,
        way: Way,
        variables: impl Fn(&Tree) -> Variables,
        depth: usize,
    ) -> std::result::Result<Rendered, (Kind, Error)> {
        let Read { source, tree, .. } = &*self.template;
        let tree = tree
            .as_ref()
            .map_err(|error| (Kind::Invalid, error.clone()))?;
        let learning = self.learning.as_ref();
        let max_work = learning.map_or(Ok(RENDER_WORK), |learning| learning.next());
        let _meter = Meter::start(max_work.map_err(|error| (Kind::Limit, error))?, depth);
        let (given, sources) = variables(tree);
        let mut run = Run::new(tree, given, way.is_traced);
        run.is_plain = way.is_plain;
        run.now = way.now;
        if let Some(usage) = way.trial {
            run.trace = Trace::root(usage);
        }
        let result = run.run();
        if let Some(usage) = way.trial {
            usage.note_text();
        }
        if let Some(learning) = learning {
            let kind = result.as_ref().err().map(Fault::kind);
            learning.spend(kind, budget::spent());
        }
        let (text, pieces) = std::mem::take(&mut run.out).parts();
        let rendered = result.map(|()| Rendered {
            text,
            pieces,
            sources,
            asked: run.asked,
        });
        let rendered = rendered.map_err(|fault| (fault.kind(), failure(&fault, source, run.at)));
        value::clear();
        rendered
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

    /// Counts a render that took this work. One that nests too deeply is tried again.
    fn spend(&self, failed: Option<Kind>, work: u64) {
        let used = match failed {
            Some(Kind::Limit) => u64::MAX,
            _ => work,
        };
        let relaxed = Memory::Relaxed;
        let _ = self
            .0
            .fetch_update(relaxed, relaxed, |left| Some(left.saturating_sub(used)));
    }
}

/// The maximum length of an error's text: a template may raise one with any value in it.
const ERROR_CHARS: usize = 4_000;

/// The error of a fault in the statement at `at`. One that the template raised itself is used as it
/// is.
fn failure(fault: &Fault, source: &str, at: Option<usize>) -> Error {
    let kind = match fault.kind() {
        Kind::Raised | Kind::Invalid => ErrorKind::Template,
        Kind::Limit | Kind::Depth => ErrorKind::Limit,
    };
    let mut what = shortened(fault.what(), ERROR_CHARS);
    if fault.kind() == Kind::Invalid {
        what.insert_str(0, "invalid operation: ");
    }
    let Some(at) = at else {
        return Error::new(kind, format!("template: {what}"));
    };
    let place = place(source, tag_start(source, at));
    let more = match fault.kind() {
        Kind::Raised => String::new(),
        _ => format!(" (at `{}`)", place.excerpt),
    };
    Error::in_template(kind, place, &what, &more)
}
