//! Records which values of the context a trial render accesses, at given paths.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::text::{From, MIXED, Text};

/// A kind of access to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// Read.
    Read,
    /// Indexed, iterated over or selected from.
    Index,
    /// Tested for being a string.
    IsString,
}

/// The origin of the text whose accesses are recorded.
pub const WATCHED: From = MIXED - 1;

thread_local! {
    /// How that text was accessed.
    static TEXT: Cell<[bool; 2]> = const { Cell::new([false; 2]) };
}

/// Notes an access to a text.
pub fn text(text: &Text, how: Use) {
    if !text.is_plain() && text.whole() == WATCHED {
        let mut seen = TEXT.get();
        seen[usize::from(how == Use::IsString)] = true;
        TEXT.set(seen);
    }
}

/// The recorded accesses, by path and kind. A path is written like a JSON pointer, without escapes.
#[derive(Debug)]
pub struct Usage {
    paths: &'static [&'static str],
    seen: Mutex<HashSet<(&'static str, Use)>>,
    /// The path of the string whose accesses are recorded as well.
    text_at: Option<&'static str>,
}

impl Usage {
    /// Records accesses at `paths`. Those to a string are recorded at `text_at` only, one of them.
    pub fn new(paths: &'static [&'static str], text_at: Option<&'static str>) -> Arc<Usage> {
        Arc::new(Usage {
            paths,
            seen: Mutex::default(),
            text_at,
        })
    }

    /// Whether the value at `path`, one of the given paths, was accessed in this way.
    pub fn recorded(&self, path: &str, how: Use) -> bool {
        debug_assert!(self.paths.contains(&path), "{path} is not watched");
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.contains(&(path, how))
    }

    fn note(&self, path: &str, how: Use) {
        if let Some(watched) = self.paths.iter().find(|watched| **watched == path) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert((watched, how));
        }
    }

    /// Records how this thread's render accessed the string.
    pub fn note_text(&self) {
        let [index, string] = TEXT.replace([false; 2]);
        for (is_seen, how) in [(index, Use::Index), (string, Use::IsString)] {
            if let (true, Some(path)) = (is_seen, self.text_at) {
                self.note(path, how);
            }
        }
    }
}

/// The link from a value to its [`Usage`]; by default to none, where nothing is recorded.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Arc<(Arc<Usage>, String)>>);

impl Trace {
    /// The link of the context.
    pub fn root(usage: &Arc<Usage>) -> Trace {
        Trace(Some(Arc::new((Arc::clone(usage), String::new()))))
    }

    /// Whether accesses are recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The link of the value at `key`; none if no path leads to it or into it.
    pub fn child(&self, key: &str) -> Trace {
        let Some((usage, path)) = self.0.as_deref() else {
            return Trace::default();
        };
        let path = format!("{path}/{key}");
        let mut rests = usage
            .paths
            .iter()
            .filter_map(|watched| watched.strip_prefix(&*path));
        let leads_on = rests.any(|rest| rest.is_empty() || rest.starts_with('/'));
        Trace(leads_on.then(|| Arc::new((Arc::clone(usage), path))))
    }

    /// The link of the item at `index`.
    pub fn item(&self, index: usize) -> Trace {
        match self.0 {
            Some(_) => self.child(&index.to_string()),
            None => Trace::default(),
        }
    }

    /// Whether accesses to a string here are recorded.
    pub fn watches_text(&self) -> bool {
        let found = self.0.as_deref();
        found.is_some_and(|(usage, path)| usage.text_at == Some(path))
    }

    /// Records that the value at `key` was read.
    pub fn read_child(&self, key: &str) {
        if self.0.is_some() {
            self.child(key).report(Use::Read);
        }
    }

    /// Records that the first `count` items were read.
    pub fn read_items(&self, count: usize) {
        if self.0.is_some() {
            (0..count).for_each(|index| self.item(index).report(Use::Read));
        }
    }

    /// Records an access by index or in a loop.
    pub fn index(&self) {
        self.report(Use::Index);
    }

    /// Records that it was read.
    pub fn read(&self) {
        self.report(Use::Read);
    }

    fn report(&self, how: Use) {
        if let Some((usage, path)) = self.0.as_deref() {
            usage.note(path, how);
        }
    }
}
