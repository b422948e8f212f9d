//! What a trial render touches: values at watched paths of the context report here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A way to treat a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Looked at.
    Read,
    /// Indexed, iterated over or selected from.
    Index,
    /// Asked whether it is a string.
    IsString,
}

/// The ways to treat a value.
const USES: usize = 3;

/// Which of the watched paths were treated how. A path is written like a JSON pointer, without escapes.
pub(super) struct Usage {
    paths: &'static [&'static str],
    /// A bit for each path and [`Use`].
    seen: AtomicU32,
    /// The one path at which strings report, too.
    text_at: Option<&'static str>,
}

impl Usage {
    /// Watches `paths`, ten at most. Strings report only at `text_at`.
    pub(super) fn new(paths: &'static [&'static str], text_at: Option<&'static str>) -> Arc<Usage> {
        Arc::new(Usage { paths, seen: AtomicU32::new(0), text_at })
    }

    /// Whether the value at `path`, which must be watched, was treated in the given way.
    pub(super) fn saw(&self, path: &str, how: Use) -> bool {
        let bits = self.bit(how, |watched| watched == path);
        debug_assert!(bits != 0, "{path} is not watched");
        self.seen.load(Ordering::Relaxed) & bits != 0
    }

    fn report(&self, how: Use, is_it: impl Fn(&str) -> bool) {
        self.seen.fetch_or(self.bit(how, is_it), Ordering::Relaxed);
    }

    /// The bit for the path that is meant and `how`; 0 where that path is not watched.
    fn bit(&self, how: Use, is_it: impl Fn(&str) -> bool) -> u32 {
        let at = self.paths.iter().position(|path| is_it(path));
        at.map_or(0, |at| 1 << (at * USES + how as usize))
    }
}

/// One value's line to the [`Usage`] it reports to.
#[derive(Clone)]
pub(super) struct Trace {
    usage: Arc<Usage>,
    path: String,
}

impl Trace {
    /// For the root of the context.
    pub(super) fn root(usage: &Arc<Usage>) -> Trace {
        Trace { usage: usage.clone(), path: String::new() }
    }

    /// For the value at `key` in this one, if it or something in it is watched.
    pub(super) fn child(&self, key: &str) -> Option<Trace> {
        let watched = self.usage.paths.iter().any(|path| below(path, &self.path, key).is_some());
        watched.then(|| Trace { usage: self.usage.clone(), path: [&self.path, key].join("/") })
    }

    /// Whether a string at this path reports.
    pub(super) fn watches_text(&self) -> bool {
        self.usage.text_at == Some(&self.path)
    }

    /// The value at `key` in this one was looked at.
    pub(super) fn read_child(&self, key: &str) {
        self.usage.report(Use::Read, |path| below(path, &self.path, key) == Some(""));
    }

    pub(super) fn index(&self) {
        self.usage.report(Use::Index, |path| path == self.path);
    }

    pub(super) fn asked_for_string(&self) {
        self.usage.report(Use::IsString, |path| path == self.path);
    }
}

/// What of `path` comes after `parent` and `key`.
fn below<'p>(path: &'p str, parent: &str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(parent)?.strip_prefix('/')?.strip_prefix(key)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}
