//! Values as the analysis learnt them: each kind with its opening and its end.

use super::super::builder::FormatBuilder;
use super::super::glue::{self as text, glue};
use super::super::tag::Tag;
use super::members::{Member, members, name_quotes, no_json, perhaps_quoted, shown, sign};
use crate::analysis::turn::{Container, Encoding, Glue, Nested, Slot, ValueKind};
use chatparse_grammar::schema::{self, Types};
use chatparse_message::Tool;
use chatparse_peg::{ExprId, Literals, Notation, SchemaRef};

/// The values of one tool's arguments.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub p: &'a FormatBuilder,
    pub tool: &'a Tool,
    pub nested: &'a Nested,
    /// Values are Python literals, as in `f(x=None)`: a schema's JSON does not hold for them.
    pub python: bool,
    /// What may follow an argument whose text is in quotes.
    pub after: Option<ExprId>,
    /// What ends the call, and a value whose own end is missing.
    pub enclosing: Option<&'a str>,
    /// What ends the value that this one is in, and this one if its own end is missing.
    pub within: Option<ExprId>,
}

/// Levels of arrays and objects that follow their schemas; deeper levels may have any value.
const SCHEMA_LEVELS: usize = 4;
/// The rules of arrays and objects with any content.
const ANY: [&str; 2] = ["any-array", "any-object"];

const KINDS: [(Types, ValueKind); 6] = [
    (Types::NUMBER, ValueKind::Integer),
    (Types::NUMBER, ValueKind::Number),
    (Types::BOOLEAN, ValueKind::Boolean),
    (Types::NULL, ValueKind::Null),
    (Types::ARRAY, ValueKind::Array),
    (Types::OBJECT, ValueKind::Object),
];

const QUOTE: &str = "\"";

/// The glue behind a name without the quote that opens every value. Such a template prints all types alike, so models write
/// Python values there.
pub(super) fn unquoted(opens: &Glue) -> Option<Glue> {
    opens.strip_suffix(&Glue::from(QUOTE)).filter(|opens| opens.head().ends_with('='))
}

/// What is behind an attribute that a value's opening begins with, as in ` type="number">`.
fn behind_attribute(open: &Glue) -> Option<Glue> {
    let (name, rest) = open.head().strip_prefix(' ')?.split_once("=\"")?;
    let behind = rest.find('"').filter(|_| name.chars().all(char::is_alphanumeric))?;
    Some(open.without_start(open.head().len() - rest.len() + behind + 1))
}

/// Whether texts are written between two marks that are the same.
pub(super) fn is_between_quotes(slot: &Slot) -> bool {
    text::is_strong(&slot.close) && slot.open.strip_suffix(&slot.close).is_some()
}

/// How these values spell literals.
fn literals(slots: &[(ValueKind, Slot)]) -> Literals {
    let python = |nested| {
        let kinds = slots.iter().filter(|(kind, _)| matches!(kind, ValueKind::Array | ValueKind::Object) == nested);
        kinds.into_iter().any(|(_, slot)| slot.encoding == Encoding::Python)
    };
    match (python(true), python(false)) {
        (true, _) => Literals::Python,
        (_, true) => Literals::Words,
        _ if slots.iter().any(|(_, slot)| slot.encoding == Encoding::Lowercase) => Literals::Lowercase,
        _ => Literals::Json,
    }
}

impl Values<'_> {
    /// The glue in front of a value and the value, in all forms that its types allow; only forms with `before` in front of
    /// the name, if that is set. `raw`: a raw text and its end.
    pub fn of(
        &self,
        slots: &[(ValueKind, Slot)],
        before: &Glue,
        member: &Member,
        depth: usize,
        raw: &dyn Fn(&Slot) -> ExprId,
    ) -> Option<(Glue, ExprId)> {
        let p = self.p;
        let types = member.types();
        let literals = literals(slots);
        let of = |kind| slots.iter().filter(move |(known, _)| *known == kind).map(|(_, slot)| slot);
        let texts = of(ValueKind::Text).filter(|slot| types.has(Types::STRING) && slot.before == *before);
        let texts: Vec<&Slot> = texts.collect();
        let mut nested = Vec::new();
        let mut others: Vec<&Slot> = Vec::new();
        for (_, kind) in KINDS.into_iter().filter(|(kind, _)| types.has(*kind)) {
            let slot = of(kind).next().or(of(ValueKind::Integer).next()).or(of(ValueKind::Text).next_back());
            let Some(slot) = slot.filter(|slot| slot.before == *before) else { continue };
            let same = |known: &&Slot| (&known.open, &known.close) == (&slot.open, &slot.close);
            match slot.encoding {
                Encoding::Nested => nested.push((kind, slot)),
                _ if others.iter().any(same) => {}
                _ => others.push(slot),
            }
        }
        // A value that does not match the schema is text, if raw text is allowed here.
        let spare = of(ValueKind::Text).find(|slot| slot.before == *before && slot.encoding == Encoding::Raw);
        let spare = spare.filter(|_| texts.is_empty() && nested.is_empty());
        let used = others.iter().chain(&texts).chain(&spare).copied().chain(nested.iter().map(|(_, slot)| *slot));
        let used: Vec<&Slot> = used.collect();
        // What is announced as another type is text as well.
        let mut foreign: Vec<&Slot> = Vec::new();
        if texts.iter().chain(&spare).any(|slot| slot.encoding == Encoding::Raw) {
            let slots = slots.iter().map(|(_, slot)| slot).filter(|slot| slot.before == *before);
            for slot in slots.filter(|slot| slot.encoding != Encoding::Nested) {
                if used.iter().chain(&foreign).all(|other| other.open != slot.open) {
                    foreign.push(slot);
                }
            }
        }
        let all = || used.iter().chain(&foreign);
        let opens = Glue::common_start(all().map(|slot| &slot.open));
        // What a text begins and ends with is part of the value.
        let marked = texts.iter().filter(|slot| text::is_strong(&slot.close));
        let mut quotes = marked.filter_map(|slot| opens.strip_suffix(&slot.close)).filter(|opens| !opens.is_blank());
        let opens = quotes.next().unwrap_or(opens);
        // An attribute that tells the type is part of the value as well.
        let attribute = opens.head().strip_suffix("=\"").and_then(|before| before.rfind(' ')).filter(|at| *at > 0);
        let opens = attribute.map_or_else(|| opens.clone(), |at| opens.up_to(at));
        let unquoted = unquoted(&opens);
        let close = all().next().and_then(|slot| slot.close.strip_prefix(&Glue::from(QUOTE)));
        let bare_close = close.filter(|_| unquoted.is_some());
        let opens = unquoted.unwrap_or(opens);
        let glue_of = |text: &Glue| glue(p, text, Some(self.tool), member.name);
        let rest_of = |slot: &Slot| slot.open.strip_prefix(&opens).unwrap_or_default();
        let rest = |slot: &Slot| glue_of(&rest_of(slot));
        let close = |slot: &Slot| {
            let enclosing = self.enclosing.filter(|_| depth == 0 && !slot.close.is_blank());
            let enclosing = enclosing.map(|end| p.tolerated(p.and(p.sequence([p.space(), p.marker(end)]))));
            let within = self.within.filter(|_| text::is_strong(&slot.close));
            let within = within.map(|end| p.tolerated(p.and(p.sequence([p.space(), end]))));
            p.arg_close(p.choice([glue_of(&slot.close)].into_iter().chain(enclosing).chain(within)))
        };
        // Where nothing closes a value, what follows shows that it is whole.
        let followed = |slot: &Slot| {
            let after = self.after.filter(|_| depth == 0 && slot.close.is_blank());
            after.map(|after| p.and(p.sequence([p.space(), after])))
        };
        let mut ways: Vec<ExprId> = Vec::new();
        // Where text is allowed as well, what looks like elements is text, unless the schema allows everything.
        if types != Types::ALL && !texts.is_empty() {
            nested.clear();
        }
        let (both, alone) = (nested.len() > 1, others.is_empty());
        for (kind, slot) in nested {
            let Some((begin, all)) = self.container(kind, slot, member, depth) else { continue };
            let all = member.written(p, all, "parts", Notation::Parts);
            // Of two notations that begin alike, that of arrays has more in front of its items. An object is not shown before
            // it begins where something else may stand.
            let begins = match kind {
                ValueKind::Array if both => p.and(glue_of(&begin)),
                ValueKind::Object if !alone => p.and(p.choice([glue_of(&begin), close(slot)])),
                _ => p.empty(),
            };
            ways.push(p.sequence([rest(slot), begins, all, close(slot)]));
            let json = if kind == ValueKind::Array { "[" } else { "{" };
            if !begin.head().starts_with(json) {
                let json = p.sequence([
                    rest(slot),
                    p.and(p.literal(json)),
                    member.python(p, literals),
                    p.space(),
                    close(slot),
                ]);
                // What may still be text is not shown before it ends.
                ways.push(p.tolerated(p.atomic(json)));
            }
        }
        if let Some(slot) = of(ValueKind::Null).next().or(others.first().copied()).filter(|_| types.has(Types::NULL)) {
            let bare = texts.iter().all(|text| text.encoding == Encoding::Quoted || text.open != slot.open);
            let after = followed(slot);
            let empty = !types.has(Types::STRING) && (after.is_some() || !slot.close.is_blank());
            let close = p.sequence([close(slot)].into_iter().chain(after));
            ways.push(p.tolerated(p.sequence([rest(slot), p.null(empty, bare, close)])));
        }
        let mut spares: Vec<&Slot> = spare.into_iter().collect();
        for slot in others {
            let as_text = |text: &&Slot| text.open == slot.open && text.encoding == Encoding::Raw;
            let value = match self.python {
                true => member.written(p, p.arg_printed(), "schema", Notation::Printed),
                false => member.python(p, literals),
            };
            let json = [value, close(slot)];
            if texts.iter().any(as_text) {
                let way = p.sequence([rest(slot), sign(p, types)].into_iter().chain(json).chain(followed(slot)));
                ways.push(p.atomic(way));
                continue;
            }
            let spaced = [p.tolerated(p.space()), json[0], p.tolerated(p.space()), json[1]];
            let begins = p.atomic(p.sequence([rest(slot), p.tolerated(p.space()), p.and(p.any())]));
            let raw = texts.iter().any(|text| text.encoding == Encoding::Raw);
            // A word that may still be text is not shown before it ends.
            let alone = !raw && spares.is_empty() && bare_close.is_none();
            ways.push(p.sequence([begins, if alone { p.sequence(spaced) } else { shown(p, p.sequence(spaced)) }]));
            if raw || spare.is_some() {
                spares.push(slot);
            }
        }
        // What a template prints bare is a literal where calls are Python.
        if let Some(after) = self.after.filter(|_| self.python && opens.head() == "=" && bare_close.is_none()) {
            let quote = p.and(p.one_of(&[('"', '"'), ('\'', '\'')]));
            let text = self.quoted(p.empty());
            let text = member.written(p, text, "quoted", Notation::Quoted(Literals::Python));
            let text = p.sequence([quote, text]);
            let followed = [p.arg_close(p.empty()), p.and(p.sequence([p.space(), after]))];
            let other = p.atomic(p.sequence([p.arg_printed()].into_iter().chain(followed)));
            let raw = texts.iter().chain(&spares).any(|slot| slot.encoding == Encoding::Raw);
            // What else stands for a text is one.
            let other = Some(p.tolerated(other)).filter(|_| !types.has(Types::STRING));
            let text = if types.has(Types::STRING) { text } else { p.tolerated(text) };
            ways.splice(0..0, [Some(text), other].into_iter().flatten().filter(|_| raw));
        }
        // A text in quotes ends where an argument does, whatever else the value may be.
        let in_quotes = texts.iter().find(|slot| slot.encoding == Encoding::Quoted);
        if let Some(slot) = in_quotes.filter(|_| self.python && self.after.is_some() && !alone) {
            let quote = p.and(p.one_of(&[('"', '"'), ('\'', '\'')]));
            ways.insert(0, p.tolerated(p.sequence([rest(slot), quote, self.quoted(glue_of(&slot.close))])));
        }
        // A text printed between quotes is a literal of Python if its first backslash is in front of a quote.
        if let (true, Some(after), Some(close), Some(slot)) = (self.python, self.after, &bare_close, texts.first()) {
            let start = p.arg_json(p.sequence([p.literal(QUOTE), p.until_marker([QUOTE, "\\"])]));
            let rest = p.arg_json(p.sequence([p.python_body(p.string_body(b'"')), p.literal(QUOTE)]));
            let followed = p.and(p.sequence([p.space(), after]));
            let escaped = p.sequence([p.and(p.literal("\\\"")), rest, p.arg_close(glue_of(close)), followed]);
            ways.push(p.tolerated(p.sequence([start, p.choice([p.atomic(escaped), raw(slot)])])));
        }
        ways.extend(texts.iter().map(|slot| match slot.encoding {
            Encoding::Quoted => {
                let notation = Notation::Quoted(if self.python { Literals::Python } else { literals });
                let text = member.written(p, self.quoted(p.empty()), "text", notation);
                p.sequence([rest(slot), text, close(slot)])
            }
            _ => p.sequence([rest(slot), raw(slot)]),
        }));
        // Where nothing but a text may stand, and the line ends with it, a text without its quotes is the rest of the line.
        let quotes = [('"', '"'), ('\'', '\'')];
        let lines =
            texts.iter().filter(|slot| slot.encoding == Encoding::Quoted && slot.close.head().starts_with('\n'));
        let bare = lines.filter(|_| alone && depth == 0).map(|slot| {
            let line = [rest(slot), p.not(p.one_of(&quotes)), p.arg_text(p.until_marker(["\n"])), close(slot)];
            p.tolerated(p.sequence(line))
        });
        ways.extend(bare);
        spares.dedup_by(|next, first| (&next.open, &next.close) == (&first.open, &first.close));
        ways.extend(spares.into_iter().map(|slot| p.tolerated(p.sequence([rest(slot), no_json(p, raw(slot))]))));
        let others = foreign.iter().filter(|slot| !rest_of(slot).is_blank());
        ways.extend(others.map(|slot| p.tolerated(p.sequence([rest(slot), raw(slot)]))));
        // Without the attribute that tells the type, or with another word in it.
        let mut attributes = used.iter().map(|slot| behind_attribute(&rest_of(slot)));
        if let Some(Some(behind)) = attributes.next().filter(|first| attributes.all(|other| other == *first)) {
            let slot = used[0];
            let text = raw(&Slot { encoding: Encoding::Raw, ..slot.clone() });
            let json = p.sequence([sign(p, types), member.python(p, literals), p.space(), close(slot)]);
            let attribute = p.optional(text::attribute(p));
            ways.push(p.tolerated(p.sequence([attribute, glue_of(&behind), p.choice([p.atomic(json), text])])));
        }
        // A text between quotes of JSON in place of the template's.
        let marked = texts.iter().chain(&spare).find(|slot| is_between_quotes(slot));
        if let Some(marked) = marked {
            let quote = p.and(p.one_of(&[('"', '"'), ('\'', '\'')]));
            ways.push(p.tolerated(p.sequence([p.space(), quote, p.arg_json(p.python_string())])));
            // A text without the template's quotes, or without the first of them.
            let bare = foreign.iter().find(|slot| rest_of(slot).is_blank());
            match (bare, self.after.filter(|_| depth == 0)) {
                (Some(slot), None) if depth > 0 => ways.push(no_json(p, p.sequence([p.not(quote), raw(slot)]))),
                (Some(_), Some(after)) => {
                    let mark = marked.close.head();
                    let ends = p.and(p.sequence([p.space(), after]));
                    ways.push(p.tolerated(p.null(false, true, p.sequence([p.arg_close(p.empty()), ends]))));
                    let close = p.sequence([p.optional(p.literal(mark)), ends]);
                    let run = p.until_marker([mark, ",", "}"]);
                    let more = p.more_text(close, run);
                    let text = [p.not(quote), p.not(p.literal(mark)), p.arg_text(p.sequence([run, more]))];
                    ways.push(no_json(p, p.sequence(text.into_iter().chain([p.arg_close(close)]))));
                }
                _ => {}
            }
        }
        ways.extend(bare_close.map(|close| {
            let value = if self.python { p.arg_printed() } else { p.arg_json(p.python()) };
            let python = [p.not(p.literal(QUOTE)), value, p.arg_close(glue_of(&close))];
            p.tolerated(p.sequence(python))
        }));
        (!ways.is_empty()).then(|| (opens, p.choice(ways)))
    }

    /// A text in quotes, and its end. Templates and models print texts between quotes unescaped, whatever they contain, but a
    /// quoted string has no line breaks. So behind a line break, or a quote that ends no Python literal, it is read unescaped: a
    /// backslash is a backslash, and a quote closes the text only in front of what may follow an argument.
    fn quoted(&self, end: ExprId) -> ExprId {
        let p = self.p;
        if p.raw_lines {
            return p.sequence([p.arg_json(p.python_string()), p.arg_close(end)]);
        }
        let Some(after) = self.after else {
            let text = if self.python { p.printed_string(Tag::ArgText) } else { p.python_string() };
            return p.sequence([p.arg_json(text), p.arg_close(end)]);
        };
        let printed = |quote: char| {
            let sign = p.literal(&*quote.to_string());
            let close = p.arg_close(p.sequence([sign, end]));
            let inner = p.sequence([p.not(p.sequence([sign, p.space(), after])), sign]);
            let printed = p.arg_text(p.many(p.choice([inner, p.until_marker([&*quote.to_string()])])));
            let line = p.string_line(quote as u8);
            let line = p.arg_json(p.sequence([sign, if self.python { p.python_body(line) } else { line }]));
            let ends = p.choice([p.one_of(&[(',', ','), (')', ')')]), p.end(), after]);
            let closes = if self.python { p.and(p.sequence([sign, p.space(), ends])) } else { p.empty() };
            let usual = p.sequence([closes, close]);
            p.sequence([line, p.choice([usual, p.tolerated(p.sequence([printed, close]))])])
        };
        let double = match self.python {
            true => printed('"'),
            false => {
                let double = p.arg_json(p.sequence([p.literal(QUOTE), p.string_body(b'"'), p.literal(QUOTE)]));
                p.sequence([double, p.arg_close(end)])
            }
        };
        p.choice([double, printed('\'')])
    }

    /// An array or object in the template's notation, and what its first item has in front of it.
    fn container(&self, kind: ValueKind, slot: &Slot, member: &Member, depth: usize) -> Option<(Glue, ExprId)> {
        let (container, name) = match kind {
            ValueKind::Array => (self.nested.array.as_ref()?, ANY[0]),
            _ => (self.nested.object.as_ref()?, ANY[1]),
        };
        let places = schema::places(&member.schema, false);
        let has = |schema: &SchemaRef| ["items", "properties"].iter().any(|key| schema.get().get(key).is_some());
        let described = places.iter().any(|(schema, _)| has(schema));
        if described && depth < SCHEMA_LEVELS {
            return Some((container.open.and(&container.each), self.expr(kind, container, slot, member, depth + 1)));
        }
        if !self.p.is_defined(name) {
            // Defined first, so that the expressions inside can refer to it.
            self.p.rule(name, self.p.empty());
            self.p.rule(name, self.expr(kind, container, slot, &Member::any(), SCHEMA_LEVELS));
        }
        Some((container.open.and(&container.each), self.p.reference(name)))
    }

    fn expr(&self, kind: ValueKind, container: &Container, slot: &Slot, member: &Member, depth: usize) -> ExprId {
        let p = self.p;
        let between = |text: &Glue| glue(p, text, Some(self.tool), member.name);
        // Containers with any content are the same wherever they are.
        let inner = [&self.nested.array, &self.nested.object].into_iter().flatten().flat_map(|all| &all.slots);
        let inner = inner.filter(|(of, _)| *of == kind && depth == SCHEMA_LEVELS).map(|(_, slot)| slot);
        let ends = inner.chain([slot]).map(|slot| container.close.and(&slot.close)).filter(|end| !end.is_blank());
        let name = if depth == SCHEMA_LEVELS { FormatBuilder::ANY } else { member.name };
        let end = p.choice(ends.map(|end| glue(p, &end, Some(self.tool), name)).collect::<Vec<_>>());
        let values = Values { within: Some(end).filter(|_| depth < SCHEMA_LEVELS), ..*self };
        let (known, any) = match kind {
            ValueKind::Array => {
                let places = schema::places(&member.schema, false).into_iter();
                let mut items = places.map(|(schema, _)| schema.within(&["items"]));
                let items = items.find(|schema| !schema.get().is_null());
                let item = Member { rule: format!("{}-item", member.rule), ..Member::any() };
                let item = Member { name: member.name, schema: items.unwrap_or_else(|| item.schema.clone()), ..item };
                let (opens, value) = values.value(container, &item, depth);
                (Vec::new(), p.sequence([between(&container.each), between(&opens), value]))
            }
            _ => {
                let prefix = format!("{}-", member.rule);
                let known = members(p, &member.schema, &prefix, false).into_iter().map(|inner| {
                    let (opens, value) = values.value(container, &inner, depth);
                    let name = perhaps_quoted(p, p.arg_name(inner.name), &opens, &container.slots);
                    let name = [name, glue(p, &opens, Some(self.tool), inner.name)];
                    let name = [between(&container.each)].into_iter().chain(name);
                    let all = [p.atomic(p.sequence(name.collect::<Vec<_>>())), p.markup_ends(), value];
                    (inner.perhaps_left_out(p, p.sequence(all)), inner.required)
                });
                let known: Vec<(ExprId, bool)> = known.collect();
                let any = Member { rule: format!("{}-any", member.rule), ..Member::any() };
                let (opens, value) = values.value(container, &any, depth);
                let ends = text::heads(&opens);
                let ends = p.spelled(ends);
                let signs = p.spelled(text::heads(&container.close)).into_iter().chain(ends.iter().cloned());
                let signs: Option<Vec<char>> = signs.map(|sign| sign.parse().ok()).collect();
                let name = match signs {
                    _ if ends.is_empty() => p.other_name(),
                    None => p.until_marker(ends.iter().cloned()),
                    // In a grammar, too, no name begins like the end of the object.
                    Some(signs) => {
                        let signs: Vec<(char, char)> = signs.iter().map(|&sign| (sign, sign)).collect();
                        p.optional(p.sequence([p.none_of(&signs), p.until_marker(ends.iter().cloned())]))
                    }
                };
                // The end of the object may look like a name.
                let closes = [p.not(end), text::no_closer(p, &container.each, &container.close.and(&slot.close))];
                let opens = glue(p, &opens, Some(self.tool), FormatBuilder::ANY);
                let quoted = name_quotes(&container.slots).filter(|_| ends.iter().any(|end| end.starts_with(':')));
                let quoted = quoted.map(|quote| {
                    let (sign, text) = (p.literal(quote), p.key(p.until_marker([quote, "\n"])));
                    p.tolerated(p.atomic(p.sequence([sign, text, sign, p.and(opens)])))
                });
                let name = p.choice(quoted.chain([p.key(name)]).collect::<Vec<_>>());
                let member = [between(&container.each), name, opens, p.markup_ends(), value];
                let any = p.sequence(closes.into_iter().chain(member).collect::<Vec<_>>());
                // Of an object whose properties are known, a grammar has no others.
                (known.clone(), if known.is_empty() { any } else { p.tolerated(any) })
            }
        };
        let may_be_empty = !known.iter().any(|(_, required)| *required);
        let separated = !container.next.is_blank();
        if !separated && container.close.is_blank() && !container.each.is_blank() {
            let spaced = |item| p.sequence([p.blank(), item]);
            let (required, optional): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, required)| *required);
            let [required, optional] = [required, optional].map(|all| all.into_iter().map(|(item, _)| spaced(item)));
            let items = p.unordered(required, optional.chain([spaced(any)]));
            let ends = p.choice([end].into_iter().chain(self.within.map(|end| p.tolerated(end))));
            let all = p.sequence([between(&container.open), items, p.space(), p.and(ends)]);
            return if kind == ValueKind::Array { p.array(all) } else { p.object(all) };
        }
        let next = between(&container.next);
        let next = if separated { p.separator(next) } else { next };
        let items = p.listed(known, Some(any), p.sequence([p.blank(), next, p.blank()]));
        let close = between(&container.close);
        let filled = p.sequence([items, p.blank(), close]);
        let empty = if may_be_empty { close } else { p.tolerated(close) };
        // Without an end, the object is empty only if nothing else matches.
        let ways = if container.close.is_blank() { [filled, empty] } else { [empty, filled] };
        let all = p.sequence([p.blank(), p.choice(ways)]);
        p.sequence([between(&container.open), if kind == ValueKind::Array { p.array(all) } else { p.object(all) }])
    }

    fn value(&self, container: &Container, member: &Member, depth: usize) -> (Glue, ExprId) {
        let p = self.p;
        let raw = |slot: &Slot| {
            let mut ends = text::heads(&slot.close);
            if ends.is_empty() {
                let behind = [&container.next, &container.close].into_iter();
                ends = behind.flat_map(|behind| text::heads(&slot.close.and(behind))).collect();
            }
            let close = p.arg_close(glue(p, &slot.close, Some(self.tool), member.name));
            p.sequence([member.written(p, p.arg_text(p.until_marker(ends)), "text", Notation::Text), close])
        };
        let none = || (Glue::default(), p.choice([]));
        self.of(&container.slots, &Glue::default(), member, depth, &raw).unwrap_or_else(none)
    }
}
