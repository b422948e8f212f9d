//! Records which values of the context a trial render accesses, at given paths.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use crate::fault::lock;

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

/// The recorded accesses, by path and kind. A path is written like a JSON pointer, without escapes.
#[derive(Debug)]
pub struct Usage {
    paths: &'static [&'static str],
    seen: Mutex<HashSet<(&'static str, Use)>>,
    /// The path at which accesses to strings are recorded as well.
    text_at: Option<&'static str>,
}

impl Usage {
    /// Records accesses at `paths`. Strings are recorded only at `text_at`, one of them.
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
        lock(&self.seen).contains(&(path, how))
    }
}

/// The link from a value to its [`Usage`]; by default to none, where nothing is recorded.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    usage: Option<Arc<Usage>>,
    path: String,
}

impl Trace {
    /// The link of the context.
    pub fn root(usage: &Arc<Usage>) -> Trace {
        Trace {
            usage: Some(usage.clone()),
            path: String::new(),
        }
    }

    /// Whether accesses are recorded.
    pub fn is_on(&self) -> bool {
        self.usage.is_some()
    }

    /// The link of the value at `key`; none if no path leads to it or into it.
    pub fn child(&self, key: impl Display) -> Trace {
        let Some(usage) = &self.usage else {
            return Trace::default();
        };
        let path = format!("{}/{key}", self.path);
        let paths = usage.paths.iter();
        let mut rests = paths.filter_map(|watched| watched.strip_prefix(&*path));
        let leads_on = rests.any(|rest| rest.is_empty() || rest.starts_with('/'));
        let usage = Some(usage.clone()).filter(|_| leads_on);
        Trace { usage, path }
    }

    /// Whether accesses to a string here are recorded.
    pub fn watches_text(&self) -> bool {
        let text_at = self.usage.as_ref().and_then(|usage| usage.text_at);
        text_at == Some(&*self.path)
    }

    /// Records that the value at `key` was read.
    pub fn read_child(&self, key: impl Display) {
        self.child(key).report(Use::Read);
    }

    pub fn index(&self) {
        self.report(Use::Index);
    }

    pub fn tested_for_string(&self) {
        self.report(Use::IsString);
    }

    fn report(&self, how: Use) {
        let Some(usage) = &self.usage else {
            return;
        };
        let watched = usage.paths.iter().find(|watched| **watched == self.path);
        lock(&usage.seen).extend(watched.map(|watched| (*watched, how)));
    }
}
