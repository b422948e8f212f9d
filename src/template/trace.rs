//! What a trial render touches: values at paths of the context report here.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, PoisonError};

/// A way to treat a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Use {
    /// Looked at.
    Read,
    /// Indexed, iterated over or selected from.
    Index,
    /// Asked whether it is a string.
    IsString,
}

/// Which paths were treated how. A path is written like a JSON pointer, without escapes.
#[derive(Default)]
pub(super) struct Usage {
    seen: Mutex<HashSet<(String, Use)>>,
    /// The one path at which strings report, too.
    text_at: Option<String>,
}

impl Usage {
    /// Strings report only at `text_at`.
    pub(super) fn new(text_at: Option<&str>) -> Arc<Usage> {
        Arc::new(Usage { seen: Mutex::default(), text_at: text_at.map(str::to_owned) })
    }

    /// Whether the value at `path` was treated in the given way.
    pub(super) fn saw(&self, path: &str, how: Use) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).contains(&(path.to_owned(), how))
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

    /// For the value at `key` in this one.
    pub(super) fn child(&self, key: impl Display) -> Trace {
        Trace { usage: self.usage.clone(), path: format!("{}/{key}", self.path) }
    }

    /// Whether a string at this path reports.
    pub(super) fn watches_text(&self) -> bool {
        self.usage.text_at.as_deref() == Some(&self.path)
    }

    pub(super) fn read(&self) {
        self.report(Use::Read);
    }

    pub(super) fn index(&self) {
        self.report(Use::Index);
    }

    pub(super) fn asked_for_string(&self) {
        self.report(Use::IsString);
    }

    fn report(&self, how: Use) {
        self.usage.seen.lock().unwrap_or_else(PoisonError::into_inner).insert((self.path.clone(), how));
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}
