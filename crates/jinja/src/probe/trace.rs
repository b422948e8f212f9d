//! Records which values of the context a trial render accesses, at given paths.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kind of access to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read.
    Read,
    /// Indexed, iterated over or selected from.
    Index,
    /// Tested for being a string.
    IsString,
}

/// The number of kinds.
const USES: usize = 3;

/// The recorded accesses, by path and kind. A path is written like a JSON pointer, without escapes.
pub struct Usage {
    paths: &'static [&'static str],
    /// One bit for each path and [`Use`].
    seen: AtomicU32,
    /// The path at which accesses to strings are recorded as well.
    text_at: Option<&'static str>,
}

impl Usage {
    /// Records accesses at `paths`, ten at most. Strings are recorded only at `text_at`, one of them.
    pub fn new(paths: &'static [&'static str], text_at: Option<&'static str>) -> Arc<Usage> {
        Arc::new(Usage { paths, seen: AtomicU32::new(0), text_at })
    }

    /// Whether the value at `path`, one of the given paths, was accessed in this way.
    pub fn recorded(&self, path: &str, how: Use) -> bool {
        let at = self.paths.iter().position(|watched| *watched == path);
        debug_assert!(at.is_some(), "{path} is not watched");
        at.is_some_and(|at| self.seen.load(Ordering::Relaxed) & bit(at, how) != 0)
    }
}

/// The bit for the path at `index` and `how`.
fn bit(index: usize, how: Use) -> u32 {
    1 << (index * USES + how as usize)
}

/// The link from a value to its [`Usage`].
#[derive(Clone)]
pub struct Trace {
    usage: Arc<Usage>,
    /// The paths that lead to this value, one bit each.
    leading: u32,
    /// The length of such a path up to here.
    len: usize,
}

impl Trace {
    /// The link of the context.
    pub fn root(usage: &Arc<Usage>) -> Trace {
        Trace { usage: usage.clone(), leading: u32::MAX, len: 0 }
    }

    /// The paths that lead to this value: the index of each, and its rest.
    fn rests(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let paths = self.usage.paths.iter().enumerate().filter(|(at, _)| self.leading >> at & 1 == 1);
        paths.map(|(at, path)| (at, &path[self.len..]))
    }

    /// The link of the value at `key`, if a path leads to it or into it.
    pub fn child(&self, key: &str) -> Option<Trace> {
        let leads_on = self.rests().filter(|(_, rest)| behind(rest, key).is_some());
        let leading = leads_on.fold(0, |bits, (at, _)| bits | 1 << at);
        (leading != 0).then(|| Trace { usage: self.usage.clone(), leading, len: self.len + 1 + key.len() })
    }

    /// Whether accesses to a string here are recorded.
    pub fn watches_text(&self) -> bool {
        self.rests().any(|(at, rest)| rest.is_empty() && self.usage.text_at == Some(self.usage.paths[at]))
    }

    /// Records that the value at `key` was read.
    pub fn read_child(&self, key: &str) {
        self.report(Use::Read, |rest| behind(rest, key) == Some(""));
    }

    pub fn index(&self) {
        self.report(Use::Index, str::is_empty);
    }

    pub fn tested_for_string(&self) {
        self.report(Use::IsString, str::is_empty);
    }

    fn report(&self, how: Use, is_it: impl Fn(&str) -> bool) {
        if let Some((at, _)) = self.rests().find(|(_, rest)| is_it(rest)) {
            self.usage.seen.fetch_or(bit(at, how), Ordering::Relaxed);
        }
    }
}

/// The rest of `path` after `key`, if it begins with it.
fn behind<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix('/')?.strip_prefix(key)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.rests().map(|(at, _)| self.usage.paths[at])).finish()
    }
}
