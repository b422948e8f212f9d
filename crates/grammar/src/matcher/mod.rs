//! What may come next: a grammar as a machine that is fed bytes.
//!
//! `program` writes the tree of rules, from which all dialects are printed, as steps; `cache`
//! follows them, for all ways to read an output at once, and keeps what it found; `rest` says what
//! is left from a place on; `recogniser` checks whole texts.

mod cache;
mod program;
pub mod recogniser;
mod rest;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::rules::Grammar;
use crate::text::Tree;
use cache::{Cache, Only};
use chatparse_base::bytes::Bytes;
use chatparse_base::{Result, limits};
use program::Program;

/// A grammar at a place of an output: what may come next, and what must.
///
/// A byte costs the same wherever it is, and little where the output has been in the same state
/// before. Clones are cheap: keep one as a checkpoint to go back to. They share what they have
/// found out, behind a lock that is held for one call.
///
/// An output may be cut anywhere, also inside of a character.
#[derive(Clone)]
pub struct Matcher {
    program: Arc<Program>,
    source: Arc<Source>,
    cache: Arc<Mutex<Cache>>,
    at: Way,
}

/// The set that an output has reached, and the work that is left for the next bytes.
#[derive(Clone, Copy)]
struct Way {
    set: u32,
    left: usize,
}

/// What a matcher was made of.
#[derive(Default)]
pub struct Source {
    /// Without rules, any output is allowed.
    pub grammar: Grammar,
    /// The text before a lazy one; see `output::behind`.
    pub free: Option<Grammar>,
    /// The costs of its steps, once they are needed.
    costs: OnceLock<Vec<u32>>,
}

impl Source {
    pub fn new(grammar: &Grammar, free: Option<Grammar>) -> Source {
        Source {
            grammar: grammar.without_text(),
            free,
            costs: OnceLock::new(),
        }
    }
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet(Bytes);

impl ByteSet {
    /// Whether the byte is in it.
    pub fn has(&self, byte: u8) -> bool {
        self.0.contains(byte)
    }

    /// Its bytes, in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    /// As bits: byte `b` is bit `b % 64` of word `b / 64`.
    pub fn words(&self) -> [u64; 4] {
        self.0.words()
    }
}

impl Matcher {
    /// Of the tree of a source, at its beginning.
    pub(crate) fn of(tree: &Tree, source: Source) -> Result<Matcher> {
        let program = Program::of(tree)?;
        let cache = Mutex::new(Cache::new(&program)?);
        Ok(Matcher {
            program: Arc::new(program),
            source: Arc::new(source),
            cache: Arc::new(cache),
            at: Way {
                set: 0,
                left: limits::MATCHER_WORK,
            },
        })
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// The grammar of what may follow. `tree`: of the source.
    pub(crate) fn rest(&self, tree: &Tree) -> Result<Tree> {
        rest::rest(tree, &self.cache(), self.at.set)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on by one byte if the grammar allows it; with an own cache once the shared one is full.
    #[inline]
    fn step(
        &self,
        at: &mut Way,
        byte: u8,
        shared: &mut Cache,
        own: &mut Option<Cache>,
    ) -> Result<bool> {
        let cache = own.as_mut().unwrap_or(shared);
        let mut left = (at.left + limits::MATCHER_BYTE_WORK).min(limits::MATCHER_WORK);
        let Some(mut set) = cache.next(&self.program, at.set, byte, &mut left)? else {
            return Ok(false);
        };
        if cache.is_full() {
            let (fresh, next) = cache.only_with(&self.program, set)?;
            (*own, set) = (Some(fresh), next);
        }
        *at = Way { set, left };
        Ok(true)
    }

    /// Where the bytes lead to, and how many of them the grammar allows; a cache of its own, if the
    /// shared one became full.
    fn run(&self, bytes: &[u8]) -> Result<(Way, usize, Option<Cache>)> {
        let (mut at, mut own, mut shared) = (self.at, None, self.cache());
        for (taken, byte) in bytes.iter().enumerate() {
            if !self.step(&mut at, *byte, &mut shared, &mut own)? {
                return Ok((at, taken, own));
            }
        }
        Ok((at, bytes.len(), own))
    }

    /// Goes on after these bytes of the output. Returns how many of them the grammar allows; if it
    /// does not allow all, the matcher stops before the first other byte.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] where the text can be read in too many ways, or where too much
    /// is open; the matcher is unchanged.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize> {
        let (at, taken, own) = self.run(bytes)?;
        self.at = at;
        if let Some(own) = own {
            self.cache = Arc::new(Mutex::new(own));
        }
        Ok(taken)
    }

    /// Whether all these bytes may come next. Where [`Matcher::feed`] would fail they may not.
    pub fn can(&self, bytes: &[u8]) -> bool {
        self.run(bytes)
            .is_ok_and(|(_, taken, _)| taken == bytes.len())
    }

    /// The bytes that may come next.
    pub fn allowed(&self) -> ByteSet {
        ByteSet(self.cache().allowed(&self.program, self.at.set))
    }

    /// The longest text that must come next, up to 64 KB; empty where there is a choice, or where
    /// the output may end. It ends where [`Matcher::feed`] would fail.
    pub fn forced(&self) -> Vec<u8> {
        let (mut at, mut own, mut shared, mut text) = (self.at, None, self.cache(), Vec::new());
        while let Only::Byte(byte) = own.as_ref().unwrap_or(&*shared).only(at.set)
            && text.len() < limits::FORCED_BYTES
            && let Ok(true) = self.step(&mut at, byte, &mut shared, &mut own)
        {
            text.push(byte);
        }
        text
    }

    /// Texts after which the output may end, for up to eight ways to read it: those with the
    /// fewest characters that are free, and of those the shortest, come first. They close what is
    /// open; what only a model can know, such as the value of an argument that must be there, is
    /// something that fits. Each has less than 64 KB.
    ///
    /// ```
    /// use chatparse::grammar::{self, Start};
    /// let schema = serde_json::json!({"type": "array", "items": {"type": "string"}});
    /// let mut matcher = grammar::from_json_schema(&schema)?.matcher(Start::AfterPrefix(""))?;
    /// matcher.feed(br#"["a", "b"#)?;
    /// assert_eq!(matcher.closings()[0], br#""]"#);
    /// # Ok::<(), chatparse::Error>(())
    /// ```
    pub fn closings(&self) -> Vec<Vec<u8>> {
        let costs = self.source.costs.get_or_init(|| rest::costs(&self.program));
        rest::closings(&self.program, costs, &self.cache(), self.at.set)
    }

    /// Whether the output may end here.
    pub fn may_end(&self) -> bool {
        self.cache().may_end(self.at.set)
    }

    /// Whether the output must end here.
    pub fn ended(&self) -> bool {
        let cache = self.cache();
        cache.may_end(self.at.set) && cache.only(self.at.set) == Only::End
    }

    /// The memory in bytes, about, of this matcher and its clones.
    pub fn bytes(&self) -> usize {
        self.program.bytes() + self.cache().used()
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher")
            .field("forced", &self.forced().escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}
