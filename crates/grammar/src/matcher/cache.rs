//! The sets of places in a grammar that an output can reach, found when they are needed.
//!
//! A place is a step, and what waits for its rule to end: a *return*, a set of steps of other
//! rules, each with what waits for its own. Rules that are entered at the same byte by several
//! others are entered once, for all of them, so a set of places holds all ways to read the output,
//! however many there are. Sets and returns are known by what is in them, not by the byte at which
//! they came up: the output's next item of a list, or character of a string, leads back to sets
//! that are known, and a byte is one look into a table. What ends with its rule enters the next one
//! without a return, so rules that go on in themselves do not nest.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use super::program::{Program, Step};
use chatparse_base::bytes::Bytes;
use chatparse_base::{Error, Result, limits};

/// A step, where in a character, and the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub at: u32,
    pub within: u32,
    pub back: u32,
}

/// A step to go on at, and its return.
pub type Waiter = (u32, u32);

/// The return of the whole grammar.
pub const ROOT: u32 = 0;
/// While a set is found: the return of a rule that is entered in it, by its number among those.
const FRESH: u32 = 1 << 31;
/// In the table: no text goes on so.
const DEAD: u32 = u32::MAX;

/// What may follow at a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Nothing.
    End,
    /// This byte.
    Byte(u8),
    /// One of several bytes, or also nothing.
    Choice,
}

#[derive(Clone, Copy)]
struct Set {
    begin: u32,
    len: u32,
    may_end: bool,
    only: Only,
    /// A byte whose next set is known; others are in the table.
    first: u8,
    next: Option<Next>,
}

/// A set that a byte leads to, or [`DEAD`], and the work of finding it.
type Next = (u32, u32);

#[derive(Default)]
pub struct Cache {
    places: Vec<Place>,
    sets: Vec<Set>,
    set_numbers: HashMap<u64, u32>,
    waiters: Vec<Waiter>,
    /// Where the waiters of each return are.
    returns: Vec<(u32, u32)>,
    return_numbers: HashMap<u64, u32>,
    /// Of rules that begin with themselves, which wait for themselves: by the places that led to
    /// them, and the rule.
    circles: HashMap<(Vec<Place>, u32), u32>,
    /// By set and byte.
    table: HashMap<u64, Next, BuildHasherDefault<Multiplied>>,
    hasher: RandomState,
    finder: Finder,
    /// Memory in bytes, about.
    used: usize,
}

/// For keys that this module numbers itself.
#[derive(Default)]
struct Multiplied(u64);

impl Hasher for Multiplied {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 32) as u64 ^ product as u64;
    }
}

/// A rule that is entered in the set that is being found.
struct Entered {
    rule: u32,
    waiters: Vec<Waiter>,
    back: Option<u32>,
}

#[derive(Default)]
struct Finder {
    open: Vec<Waiter>,
    seen: HashSet<Waiter>,
    entered: Vec<Entered>,
    /// By rule: its place in `entered`.
    numbers: HashMap<u32, u32>,
    led: Vec<Place>,
    found: Vec<Place>,
    may_end: bool,
    /// The work that is left for this set.
    left: usize,
}

impl Cache {
    /// With the set at the beginning of the grammar, which is the first one.
    pub fn new(program: &Program) -> Result<Cache> {
        let mut cache = Cache::default();
        cache.returns.push((0, 0));
        cache.finder.begin(limits::MATCHER_WORK);
        cache.finder.led.push(Place {
            at: program.root,
            within: 0,
            back: ROOT,
        });
        cache.find(program)?;
        Ok(cache)
    }

    /// The set after `byte`; `None`: the grammar does not allow it. Known ones cost what finding
    /// them did.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if that is more than what is left of the work.
    pub fn next(
        &mut self,
        program: &Program,
        set: u32,
        byte: u8,
        left: &mut usize,
    ) -> Result<Option<u32>> {
        let known = &self.sets[set as usize];
        let (next, work) = match known.next {
            Some(next) if known.first == byte => next,
            _ => match self.table.get(&(u64::from(set) << 8 | u64::from(byte))) {
                Some(next) => *next,
                None => self.new_next(program, set, byte, *left)?,
            },
        };
        *left = left.checked_sub(work as usize).ok_or_else(too_much)?;
        Ok((next != DEAD).then_some(next))
    }

    #[cold]
    fn new_next(&mut self, program: &Program, set: u32, byte: u8, left: usize) -> Result<Next> {
        self.finder.begin(left);
        let Set { begin, len, .. } = self.sets[set as usize];
        for place in &self.places[begin as usize..][..len as usize] {
            let Place { at, within, back } = *place;
            let next = match program.step(at) {
                Step::Byte(own) if own == byte => 0,
                Step::Class(class) => {
                    let class = &program.classes[class as usize];
                    match class.after(within, byte) {
                        Some(next) => next,
                        None => continue,
                    }
                }
                _ => continue,
            };
            self.finder.led.push(Place {
                at: at + u32::from(next == 0),
                within: next,
                back,
            });
        }
        let next = if self.finder.led.is_empty() {
            DEAD
        } else {
            self.find(program)?
        };
        let next = (next, (left - self.finder.left) as u32);
        let known = &mut self.sets[set as usize];
        if known.next.is_none() {
            (known.first, known.next) = (byte, Some(next));
        } else {
            self.table
                .insert(u64::from(set) << 8 | u64::from(byte), next);
            self.used += 24;
        }
        Ok(next)
    }

    /// The set that the places in `finder.led` lead to.
    fn find(&mut self, program: &Program) -> Result<u32> {
        let mut finder = std::mem::take(&mut self.finder);
        let found = finder
            .follow(self, program)
            .and_then(|()| self.settle(&mut finder))
            .map(|()| {
                finder.found.sort_unstable();
                finder.found.dedup();
                self.set_of(&finder.found, finder.may_end, program)
            });
        self.finder = finder;
        found
    }

    /// Gives numbers to the returns of the rules that were entered, and to what refers to them. A
    /// return of known ones is known by its waiters. What is left then waits for itself.
    fn settle(&mut self, finder: &mut Finder) -> Result<()> {
        let known = |entered: &[Entered], back: u32| match back & FRESH {
            0 => Some(back),
            _ => entered[(back ^ FRESH) as usize].back,
        };
        let mut left = finder.entered.len();
        loop {
            let before = left;
            for number in 0..finder.entered.len() {
                if finder.entered[number].back.is_some() {
                    continue;
                }
                finder.spend(finder.entered[number].waiters.len())?;
                let entered = &finder.entered;
                let waiters = entered[number].waiters.iter();
                let waiters: Option<Vec<Waiter>> = waiters
                    .map(|(at, back)| Some((*at, known(entered, *back)?)))
                    .collect();
                if let Some(mut waiters) = waiters {
                    waiters.sort_unstable();
                    finder.entered[number].back = Some(self.return_of(&waiters));
                    left -= 1;
                }
            }
            if left == 0 || left == before {
                break;
            }
        }
        let circle: Vec<usize> = (0..finder.entered.len())
            .filter(|at| finder.entered[*at].back.is_none())
            .collect();
        let mut fresh = Vec::new();
        for &number in &circle {
            let key = (finder.led.clone(), finder.entered[number].rule);
            self.used += 64 + size_of_val(&*finder.led);
            let next = self.returns.len() as u32;
            let back = *self.circles.entry(key).or_insert(next);
            if back == next {
                self.returns.push((0, 0));
                fresh.push(number);
            }
            finder.entered[number].back = Some(back);
        }
        for number in fresh {
            let begin = self.waiters.len() as u32;
            let waiters = finder.entered[number].waiters.iter();
            self.waiters.extend(
                waiters.filter_map(|(at, back)| Some((*at, known(&finder.entered, *back)?))),
            );
            let len = self.waiters.len() as u32 - begin;
            let back = finder.entered[number].back.unwrap_or(ROOT);
            self.returns[back as usize] = (begin, len);
            self.used += 8 + 8 * len as usize;
        }
        for place in &mut finder.found {
            place.back = known(&finder.entered, place.back).unwrap_or(ROOT);
        }
        Ok(())
    }

    fn set_of(&mut self, places: &[Place], may_end: bool, program: &Program) -> u32 {
        let mut hash = self.hasher.hash_one((places, may_end));
        while let Some(&number) = self.set_numbers.get(&hash) {
            let set = &self.sets[number as usize];
            if set.may_end == may_end && self.places_of(number) == places {
                return number;
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.sets.len() as u32;
        self.set_numbers.insert(hash, number);
        let begin = self.places.len() as u32;
        self.places.extend_from_slice(places);
        let only = only(places, may_end, program);
        self.sets.push(Set {
            begin,
            len: places.len() as u32,
            may_end,
            only,
            first: 0,
            next: None,
        });
        self.used += size_of::<Set>() + size_of_val(places) + 24;
        number
    }

    fn return_of(&mut self, waiters: &[Waiter]) -> u32 {
        let mut hash = self.hasher.hash_one(waiters);
        while let Some(&number) = self.return_numbers.get(&hash) {
            if self.waiters_of(number) == waiters {
                return number;
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.returns.len() as u32;
        self.return_numbers.insert(hash, number);
        self.returns
            .push((self.waiters.len() as u32, waiters.len() as u32));
        self.waiters.extend_from_slice(waiters);
        self.used += 8 + size_of_val(waiters) + 24;
        number
    }

    pub fn places_of(&self, set: u32) -> &[Place] {
        let Set { begin, len, .. } = self.sets[set as usize];
        &self.places[begin as usize..][..len as usize]
    }

    pub fn waiters_of(&self, back: u32) -> &[Waiter] {
        let (begin, len) = self.returns[back as usize];
        &self.waiters[begin as usize..][..len as usize]
    }

    pub fn may_end(&self, set: u32) -> bool {
        self.sets[set as usize].may_end
    }

    pub fn only(&self, set: u32) -> Only {
        self.sets[set as usize].only
    }

    /// The bytes that may follow.
    pub fn allowed(&self, program: &Program, set: u32) -> Bytes {
        self.places_of(set)
            .iter()
            .map(|place| bytes_of(place, program))
            .collect()
    }

    pub fn is_full(&self) -> bool {
        self.used > limits::MATCHER_BYTES
    }

    pub fn used(&self) -> usize {
        self.used
    }

    /// The returns of a set, and the returns of their waiters; the outermost first.
    pub fn returns_of(&self, set: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([ROOT]);
        let mut open: Vec<u32> = self.places_of(set).iter().map(|place| place.back).collect();
        while let Some(back) = open.pop() {
            if found.insert(back) {
                open.extend(self.waiters_of(back).iter().map(|waiter| waiter.1));
            }
        }
        found
    }

    /// A cache that knows only what `set` needs, and the set in it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if that is more than half of what a cache may hold: it would soon be
    /// full again.
    pub fn only_with(&self, program: &Program, set: u32) -> Result<(Cache, u32)> {
        // Numbers keep their order, so what is sorted stays so.
        let needed = self.returns_of(set);
        let numbers: HashMap<u32, u32> = needed.iter().copied().zip(0..).collect();
        let mut cache = Cache::default();
        for &back in &needed {
            let waiters = self
                .waiters_of(back)
                .iter()
                .map(|(at, back)| (*at, numbers[back]))
                .collect::<Vec<_>>();
            let number = cache.returns.len() as u32;
            let begin = cache.waiters.len() as u32;
            cache.returns.push((begin, waiters.len() as u32));
            cache.used += 32 + size_of_val(&*waiters);
            let hash = cache.hasher.hash_one(&*waiters);
            cache.waiters.extend(waiters);
            // Without a number where two hashes are one, it is only not known again.
            cache.return_numbers.entry(hash).or_insert(number);
        }
        let places = self.places_of(set).iter();
        let places: Vec<Place> = places
            .map(|place| Place {
                back: numbers[&place.back],
                ..*place
            })
            .collect();
        let set = cache.set_of(&places, self.may_end(set), program);
        if cache.used > limits::MATCHER_BYTES / 2 {
            let message = format!(
                "matcher: what is open takes more than {} bytes",
                limits::MATCHER_BYTES / 2
            );
            return Err(Error::limit(message));
        }
        Ok((cache, set))
    }
}

fn bytes_of(place: &Place, program: &Program) -> Bytes {
    match program.step(place.at) {
        Step::Byte(byte) => Bytes::byte(byte),
        Step::Class(class) => program.classes[class as usize].next(place.within),
        _ => Bytes::NONE,
    }
}

fn only(places: &[Place], may_end: bool, program: &Program) -> Only {
    let mut all = Bytes::NONE;
    for place in places {
        all = all.or(bytes_of(place, program));
        if may_end || all.words().map(u64::count_ones).iter().sum::<u32>() > 1 {
            return Only::Choice;
        }
    }
    let words = all.words();
    match words.iter().position(|word| *word != 0) {
        Some(at) => Only::Byte((64 * at) as u8 + words[at].trailing_zeros() as u8),
        None => Only::End,
    }
}

fn too_much() -> Error {
    let (once, each) = (limits::MATCHER_WORK, limits::MATCHER_BYTE_WORK);
    let message = format!(
        "matcher: the text can be read in too many ways: it takes more than {once} steps and {each} for each byte"
    );
    Error::limit(message)
}

impl Finder {
    fn begin(&mut self, left: usize) {
        self.open.clear();
        self.seen.clear();
        self.entered.clear();
        self.numbers.clear();
        self.led.clear();
        self.found.clear();
        (self.may_end, self.left) = (false, left);
    }

    fn spend(&mut self, work: usize) -> Result<()> {
        self.left = self.left.checked_sub(work).ok_or_else(too_much)?;
        Ok(())
    }

    /// Follows all steps that take no byte.
    fn follow(&mut self, cache: &Cache, program: &Program) -> Result<()> {
        for number in 0..self.led.len() {
            let place = self.led[number];
            if place.within != 0 {
                self.found.push(place);
                continue;
            }
            self.open.push((place.at, place.back));
            while let Some((at, back)) = self.open.pop() {
                self.spend(1)?;
                self.one(at, back, cache, program)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, at: u32, back: u32, cache: &Cache, program: &Program) -> Result<()> {
        let step = program.step(at);
        if let Step::Byte(_) | Step::Class(_) = step {
            self.found.push(Place {
                at,
                within: 0,
                back,
            });
            return Ok(());
        }
        if !self.seen.insert((at, back)) {
            return Ok(());
        }
        match step {
            Step::Split(other) => self.open.extend([(other, back), (at + 1, back)]),
            Step::Jump(to) => self.open.push((to, back)),
            Step::Tail(rule) => self.open.push((program.begin(rule), back)),
            Step::Call(rule) => {
                let behind = program.landing(at + 1);
                if program.step(behind) == Step::End {
                    self.open.push((program.begin(rule), back));
                    return Ok(());
                }
                let next = self.entered.len() as u32;
                let number = *self.numbers.entry(rule).or_insert(next);
                if number == next {
                    self.entered.push(Entered {
                        rule,
                        waiters: Vec::new(),
                        back: None,
                    });
                    self.open.push((program.begin(rule), FRESH | number));
                }
                self.entered[number as usize].waiters.push((behind, back));
                if program.is_nullable(rule) {
                    self.open.push((behind, back));
                }
            }
            // A rule that was entered here and is empty: whoever waits for it has gone on.
            Step::End if back & FRESH != 0 => {}
            Step::End if back == ROOT => self.may_end = true,
            Step::End => {
                let waiters = cache.waiters_of(back);
                self.spend(waiters.len())?;
                self.open.extend_from_slice(waiters);
            }
            Step::Never | Step::Byte(_) | Step::Class(_) => {}
        }
        Ok(())
    }
}
