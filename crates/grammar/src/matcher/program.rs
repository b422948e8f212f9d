//! A grammar's tree as instructions over bytes.

use std::collections::HashMap;

use crate::text::{Node, Tree};
use chatparse_base::bytes::Bytes;
use chatparse_base::chars::Chars;
use chatparse_base::{Error, Result};

/// One step of a rule. Most steps lead to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This byte.
    Byte(u8),
    /// A character of this class.
    Class(u32),
    /// The next step, or that one.
    Split(u32),
    Jump(u32),
    /// This rule, and then the next step.
    Call(u32),
    /// This rule as the end of its own: nothing has to come back.
    Tail(u32),
    /// The end of a rule.
    End,
    /// Nothing matches.
    Never,
}

/// A step in four bytes: a tenth of a grammar's text is not worth a tree, and 200 tools have 300 KB
/// of it.
#[derive(Clone, Copy)]
struct Packed(u32);

const ROOM: u32 = 1 << 29;

impl Packed {
    fn of(step: Step) -> Packed {
        let (kind, value) = match step {
            Step::Byte(byte) => (0, u32::from(byte)),
            Step::Class(class) => (1, class),
            Step::Split(to) => (2, to),
            Step::Jump(to) => (3, to),
            Step::Call(rule) => (4, rule),
            Step::Tail(rule) => (5, rule),
            Step::End => (6, 0),
            Step::Never => (7, 0),
        };
        Packed(kind << 29 | value)
    }

    fn step(self) -> Step {
        let value = self.0 & (ROOM - 1);
        match self.0 >> 29 {
            0 => Step::Byte(value as u8),
            1 => Step::Class(value),
            2 => Step::Split(value),
            3 => Step::Jump(value),
            4 => Step::Call(value),
            5 => Step::Tail(value),
            6 => Step::End,
            _ => Step::Never,
        }
    }
}

pub struct Program {
    steps: Vec<Packed>,
    /// By rule: its first step, and whether it may be empty.
    rules: Vec<(u32, bool)>,
    pub classes: Vec<Class>,
    pub root: u32,
}

impl Program {
    /// All rules match some text then, so each way that is open leads to an end.
    pub fn of(tree: &Tree) -> Result<Program> {
        let mut program = Writer::written(&tree.living(), HashMap::new())?.program;
        program.steps.shrink_to_fit();
        Ok(program)
    }

    pub fn step(&self, at: u32) -> Step {
        self.steps[at as usize].step()
    }

    /// The first step from `at` on that is no jump.
    pub fn landing(&self, mut at: u32) -> u32 {
        while let Step::Jump(to) = self.step(at) {
            at = to;
        }
        at
    }

    pub fn begin(&self, rule: u32) -> u32 {
        self.rules[rule as usize].0
    }

    pub fn is_nullable(&self, rule: u32) -> bool {
        self.rules[rule as usize].1
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// By step: what is left of its rule from there on, where a byte, a class or a rule may begin.
    /// Of a living tree.
    pub fn rests(
        tree: &Tree,
        steps: impl IntoIterator<Item = u32>,
    ) -> Result<HashMap<u32, Option<Node>>> {
        Ok(Writer::written(tree, steps.into_iter().map(|at| (at, None)).collect())?.rests)
    }

    /// Its memory in bytes.
    pub fn bytes(&self) -> usize {
        let classes: usize = self
            .classes
            .iter()
            .map(|class| size_of::<Class>() + 8 * class.chars.ranges().len())
            .sum();
        4 * self.steps.len() + 8 * self.rules.len() + classes
    }
}

struct Writer<'t> {
    program: Program,
    nullable: Vec<bool>,
    known: HashMap<&'t Chars, u32>,
    /// Repeated parts that are rules here, so that their steps are written once.
    parts: Vec<(usize, &'t Node)>,
    /// What follows in the rule that is being written, the last first: parts, and how often they
    /// come.
    behind: Vec<(&'t [Node], u64, Option<u64>)>,
    /// See [`Program::rests`].
    rests: HashMap<u32, Option<Node>>,
}

impl<'t> Writer<'t> {
    fn written(tree: &'t Tree, rests: HashMap<u32, Option<Node>>) -> Result<Writer<'t>> {
        let nullable = tree.nullable();
        let rules = nullable.iter().map(|nullable| (0, *nullable)).collect();
        let program = Program {
            steps: Vec::new(),
            rules,
            classes: Vec::new(),
            root: 0,
        };
        let (known, parts, behind) = Default::default();
        let mut writer = Writer {
            program,
            nullable,
            known,
            parts,
            behind,
            rests,
        };
        for rule in tree.used() {
            writer.rule(rule, &tree.rules[rule])?;
        }
        let mut done = 0;
        while let Some(part) = writer.parts.get(done) {
            done += 1;
            let (rule, part) = *part;
            writer.rule(rule, part)?;
        }
        writer.program.root = writer.program.rules[tree.root].0;
        Ok(writer)
    }

    fn rule(&mut self, rule: usize, body: &'t Node) -> Result<()> {
        self.program.rules[rule].0 = self.here();
        self.write(body, true)
    }

    fn here(&self) -> u32 {
        self.program.steps.len() as u32
    }

    fn push(&mut self, step: Step) -> Result<u32> {
        let at = self.here();
        if at >= ROOM - 1 {
            return Err(Error::limit(format!(
                "matcher: a grammar of more than {ROOM} steps"
            )));
        }
        self.program.steps.push(Packed::of(step));
        Ok(at)
    }

    fn set(&mut self, at: u32, step: Step) {
        self.program.steps[at as usize] = Packed::of(step);
    }

    /// Notes the rest of the rule from the next step on, if the caller asks for it: `own`, and the
    /// parts after it.
    fn note(&mut self, own: impl FnOnce() -> Node) {
        let at = self.here();
        if let Some(rest @ None) = self.rests.get_mut(&at) {
            let behind = self.behind.iter().rev();
            let behind = behind
                .map(|(parts, min, max)| Node::sequence(parts.iter().cloned()).repeat(*min, *max));
            *rest = Some(Node::sequence([own()].into_iter().chain(behind)));
        }
    }

    /// Writes a part that is followed by others, so many times.
    fn write_before(
        &mut self,
        part: &'t Node,
        last: bool,
        behind: (&'t [Node], u64, Option<u64>),
    ) -> Result<()> {
        self.behind.push(behind);
        self.write(part, last)?;
        self.behind.pop();
        Ok(())
    }

    /// Writes the steps of a part; `last`: its rule ends after it. Nests as deep as the tree.
    fn write(&mut self, node: &'t Node, last: bool) -> Result<()> {
        self.note(|| node.clone());
        match node {
            Node::Text(text) => {
                for (at, byte) in text.bytes().enumerate() {
                    if text.is_char_boundary(at) {
                        self.note(|| Node::Text(text[at..].to_owned()));
                    }
                    self.push(Step::Byte(byte))?;
                }
            }
            Node::Class(chars) => {
                let class = self.class(chars);
                self.push(Step::Class(class))?;
            }
            Node::Rule(rule) => {
                self.push(if last {
                    Step::Tail(*rule as u32)
                } else {
                    Step::Call(*rule as u32)
                })?;
                return Ok(());
            }
            Node::Sequence(parts) if parts.is_empty() => {}
            Node::Sequence(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let behind = &parts[at + 1..];
                    self.write_before(part, last && behind.is_empty(), (behind, 1, Some(1)))?;
                }
                return Ok(());
            }
            Node::Choice(branches) => return self.choice(branches, last),
            Node::Repeat(part, min, max) => self.repeat(part, *min, *max)?,
        }
        if last {
            self.push(Step::End)?;
        }
        Ok(())
    }

    fn choice(&mut self, branches: &'t [Node], last: bool) -> Result<()> {
        let Some((end, others)) = branches.split_last() else {
            return self.push(Step::Never).map(|_| ());
        };
        let mut exits = Vec::new();
        for branch in others {
            let split = self.push(Step::Never)?;
            self.write(branch, last)?;
            if !last {
                exits.push(self.push(Step::Never)?);
            }
            let next = self.here();
            self.set(split, Step::Split(next));
        }
        self.write(end, last)?;
        let behind = self.here();
        exits
            .into_iter()
            .for_each(|exit| self.set(exit, Step::Jump(behind)));
        Ok(())
    }

    fn repeat(&mut self, part: &'t Node, min: u64, max: Option<u64>) -> Result<()> {
        let is_apart = !matches!(part, Node::Rule(_) | Node::Class(_)) && max.unwrap_or(min) > 1;
        let rule = is_apart.then(|| {
            let rule = self.program.rules.len();
            self.program
                .rules
                .push((0, part.is_nullable(&self.nullable)));
            self.parts.push((rule, part));
            rule as u32
        });
        // Once, and then so often.
        let once = |writer: &mut Self, min: u64, max: Option<u64>| match rule {
            Some(rule) => writer.push(Step::Call(rule)).map(|_| ()),
            None => writer.write_before(part, false, (std::slice::from_ref(part), min, max)),
        };
        let Some(max) = max else {
            for left in (2..=min).rev() {
                self.note(|| part.clone().repeat(left, None));
                once(self, left - 1, None)?;
            }
            let split = if min == 0 {
                Some(self.push(Step::Never)?)
            } else {
                None
            };
            let again = self.here();
            if min > 0 {
                self.note(|| part.clone().repeat(1, None));
            }
            once(self, 0, None)?;
            self.note(|| part.clone().repeat(0, None));
            self.push(Step::Split(again))?;
            let behind = self.here();
            split
                .into_iter()
                .for_each(|split| self.set(split, Step::Split(behind)));
            return Ok(());
        };
        let mut exits = Vec::new();
        for done in 0..max {
            self.note(|| {
                part.clone()
                    .repeat(min.saturating_sub(done), Some(max - done))
            });
            if done >= min {
                exits.push(self.push(Step::Never)?);
            }
            once(self, min.saturating_sub(done + 1), Some(max - done - 1))?;
        }
        let behind = self.here();
        exits
            .into_iter()
            .for_each(|exit| self.set(exit, Step::Split(behind)));
        Ok(())
    }

    fn class(&mut self, chars: &'t Chars) -> u32 {
        let classes = &mut self.program.classes;
        *self.known.entry(chars).or_insert_with(|| {
            classes.push(Class {
                chars: chars.clone(),
                heads: Bytes::NONE,
            });
            let class = classes.len() - 1;
            let heads = (0..=u8::MAX).filter(|byte| classes[class].after(0, *byte).is_some());
            classes[class].heads = heads.map(Bytes::byte).collect();
            class as u32
        })
    }
}

/// A set of characters, by the bytes of UTF-8. Where in a character is a number: 0 outside of one;
/// else how many bytes are left, and the bits that are known, or [`ANY`] if all characters that can
/// follow from here are in the set.
pub struct Class {
    chars: Chars,
    pub heads: Bytes,
}

const LEFT: u32 = 24;
const ANY: u32 = 1 << 23;

impl Class {
    /// Where `byte` leads to; `None` if no character of the set goes on so.
    pub fn after(&self, within: u32, byte: u8) -> Option<u32> {
        let (bits, left, least) = match (within >> LEFT, byte) {
            (0, ..=0x7F) => (u32::from(byte), 0, 0),
            (0, 0xC2..=0xDF) => (u32::from(byte & 0x1F), 1, 0),
            (0, 0xE0..=0xEF) => (u32::from(byte & 0x0F), 2, 0x800),
            (0, 0xF0..=0xF4) => (u32::from(byte & 0x07), 3, 0x10000),
            (left @ 1.., 0x80..=0xBF) => {
                if within & ANY != 0 {
                    return Some(if left == 1 {
                        0
                    } else {
                        (left - 1) << LEFT | ANY
                    });
                }
                let known = within & (ANY - 1);
                // Only characters of three bytes have their highest four bits in the first one.
                let least = if left == 3 {
                    0x10000
                } else {
                    u32::from(left == 2 && known < 0x10) * 0x800
                };
                (known << 6 | u32::from(byte & 0x3F), left - 1, least)
            }
            _ => return None,
        };
        let (low, high) = (bits << (6 * left), ((bits + 1) << (6 * left)) - 1);
        let ranges = self.chars.ranges();
        let at = ranges.partition_point(|range| range.1 < low.max(least));
        // What is no character is in no set, though ranges go over it.
        let surrogates = 0xD800..=0xDFFF;
        let (from, to) = (
            low.max(least),
            if high == 0xDFFF {
                0xD7FF
            } else {
                high.min(char::MAX.into())
            },
        );
        let range = ranges
            .get(at)
            .filter(|range| range.0 <= to && from <= to && !surrogates.contains(&from))?;
        let whole = (from, to) == (low, high) && range.0 <= low && high <= range.1;
        Some(match left {
            0 => 0,
            _ if whole => left << LEFT | ANY,
            _ => left << LEFT | bits,
        })
    }

    /// Ends a character: with one that shows, if there is one.
    pub fn finish(&self, mut within: u32, text: &mut Vec<u8>) {
        loop {
            let next = self.next(within);
            let mut bytes = (b' '..=u8::MAX)
                .chain(0..b' ')
                .filter(|byte| next.contains(*byte));
            let Some((byte, then)) = bytes.find_map(|byte| Some((byte, self.after(within, byte)?)))
            else {
                return;
            };
            text.push(byte);
            within = then;
            if within == 0 {
                return;
            }
        }
    }

    /// The bytes that may follow.
    pub fn next(&self, within: u32) -> Bytes {
        match within {
            0 => self.heads,
            _ if within & ANY != 0 => Bytes::range(0x80, 0xBF),
            _ => (0x80..=0xBF)
                .filter(|byte| self.after(within, *byte).is_some())
                .map(Bytes::byte)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_bytes_are_classes_by_characters() {
        let odd = Chars::of_codes([
            (0x7F, 0x80),
            (0x7FF, 0x800),
            (0x300, 0x3E7),
            (0xD7FF, 0xE000),
            (0xFFFF, 0x10000),
        ]);
        let sets = [
            Chars::all(),
            odd.clone(),
            odd.negated(),
            Chars::of([('"', '"'), ('é', '世')]).negated(),
        ];
        for chars in sets {
            let mut tree = Tree {
                names: Vec::new(),
                rules: Vec::new(),
                root: 0,
            };
            tree.add("root", Node::Class(chars.clone()));
            let program = Program::of(&tree).unwrap();
            let class = &program.classes[0];
            let run = |bytes: &[u8]| {
                let mut within = 0;
                bytes.iter().all(|byte| {
                    class
                        .after(within, *byte)
                        .map(|next| within = next)
                        .is_some()
                }) && within == 0
            };
            for c in
                ('\0'..=char::MAX).filter(|c| u32::from(*c) < 0x11000 || u32::from(*c) % 61 == 0)
            {
                assert_eq!(
                    run(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    chars.has(c),
                    "{c:?}"
                );
            }
            // Long ways to write a character, what is none, and bytes alone.
            for wrong in [
                &b"\xC0\x80"[..],
                b"\xC1\xBF",
                b"\xE0\x80\x80",
                b"\xE0\x9F\xBF",
                b"\xF0\x8F\xBF\xBF",
                b"\xED\xA0\x80",
            ] {
                assert!(!run(wrong) && !run(&wrong[..1]), "{wrong:?}");
            }
            assert!(
                !run(b"\xF4\x90\x80\x80")
                    && !run(b"\xF5\x80\x80\x80")
                    && !run(b"\x80")
                    && !run(b"\xFF")
            );
            for head in 0xC2..=0xF4 {
                for within in [class.after(0, head)].into_iter().flatten() {
                    assert!(
                        class.next(within).words() != [0; 4],
                        "{head:x}: what goes on can go on"
                    );
                }
            }
        }
    }
}
