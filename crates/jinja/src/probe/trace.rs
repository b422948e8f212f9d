//! Records which values of the context a trial render accesses, at given paths.

use std::sync::{Arc, Mutex};

use crate::fault::lock;

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

/// The recorded accesses, by path and kind. A path is written like a JSON pointer, without escapes.
#[derive(Debug)]
pub struct Usage {
    paths: &'static [&'static str],
    seen: Mutex<Vec<(&'static str, Use)>>,
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

/// The link from a value to its [`Usage`].
#[derive(Clone, Debug)]
pub struct Trace {
    usage: Arc<Usage>,
    path: String,
}

impl Trace {
    /// The link of the context.
    pub fn root(usage: &Arc<Usage>) -> Trace {
        Trace {
            usage: usage.clone(),
            path: String::new(),
        }
    }

    fn path_of(&self, key: &str) -> String {
        format!("{}/{key}", self.path)
    }

    /// The link of the value at `key`, if a path leads to it or into it.
    pub fn child(&self, key: &str) -> Option<Trace> {
        let path = self.path_of(key);
        let mut rests = self
            .usage
            .paths
            .iter()
            .filter_map(|watched| watched.strip_prefix(&*path));
        let leads_on = rests.any(|rest| rest.is_empty() || rest.starts_with('/'));
        leads_on.then(|| Trace {
            usage: self.usage.clone(),
            path,
        })
    }

    /// Whether accesses to a string here are recorded.
    pub fn watches_text(&self) -> bool {
        self.usage.text_at == Some(&*self.path)
    }

    /// Records that the value at `key` was read.
    pub fn read_child(&self, key: &str) {
        self.report(Use::Read, &self.path_of(key));
    }

    pub fn index(&self) {
        self.report(Use::Index, &self.path);
    }

    pub fn tested_for_string(&self) {
        self.report(Use::IsString, &self.path);
    }

    fn report(&self, how: Use, path: &str) {
        let Some(watched) = self.usage.paths.iter().find(|watched| **watched == path) else {
            return;
        };
        let mut seen = lock(&self.usage.seen);
        if !seen.contains(&(watched, how)) {
            seen.push((watched, how));
        }
    }
}
