//! Values as the analysis learnt them: each kind with its opening and its end.

use super::members::{Member, is_between_quotes, members, shown, sign};
use crate::builder::FormatBuilder;
use crate::glue::{self as text, glue};
use crate::rules::texts::TEXT as TEXT_END;
use crate::rules::values::{
    CONTAINER, CONTAINER_CLOSE, KEY, NAME_OF_ARGUMENT, QUOTED, SLOT_OPEN, VALUE, VALUE_CLOSE,
    VALUE_FIRST, VALUE_LAST, VALUE_TEXT,
};
use crate::sites::{QUOTE, Value, Values, tag};
use crate::tag::Tag;
use chatparse_grammar::schema::{self, Types};
use chatparse_learn::analysis::turn::{Container, Encoding, Glue, Slot, ValueKind, slots_of};
use chatparse_peg::{ExprId, Literals, Notation};

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

/// The glue after a name without the quote that opens every value. Such a template prints all types
/// alike, so models write Python values there.
pub fn unquoted(opens: &Glue) -> Option<Glue> {
    opens
        .strip_suffix(&Glue::from(QUOTE))
        .filter(|opens| opens.head().ends_with('='))
}

/// How these values spell literals.
fn literals(slots: &[(ValueKind, Slot)]) -> Literals {
    let (mut nested, mut plain, mut lowercase) = (false, false, false);
    for (kind, slot) in slots {
        let python = slot.encoding == Encoding::Python;
        match kind {
            ValueKind::Array | ValueKind::Object => nested |= python,
            _ => plain |= python,
        }
        lowercase |= slot.encoding == Encoding::Lowercase;
    }
    match (nested, plain) {
        (true, _) => Literals::Python,
        (_, true) => Literals::Words,
        _ if lowercase => Literals::Lowercase,
        _ => Literals::Json,
    }
}

impl<'a> Value<'a> {
    /// What follows an argument, where the value is one itself.
    pub fn after(&self) -> Option<ExprId> {
        self.values.after.filter(|_| self.depth == 0)
    }

    pub fn glue(&self, text: &Glue) -> ExprId {
        self.values.glue(text, self.member.name)
    }

    /// What opens a slot after the part that all have.
    pub fn rest_of(&self, slot: &Slot) -> Glue {
        slot.open.strip_prefix(&self.opens).unwrap_or_default()
    }

    pub fn rest(&self, slot: &Slot) -> ExprId {
        let rest = self.rest_of(slot);
        self.p
            .or(self.glue(&rest), SLOT_OPEN, |way| way(self, &rest))
    }

    pub fn close(&self, slot: &Slot) -> ExprId {
        let p = self.p;
        p.arg_close(p.or(self.glue(&slot.close), VALUE_CLOSE, |way| way(self, slot)))
    }

    /// Where nothing closes a value, what follows shows that it is whole.
    pub fn followed(&self, slot: &Slot) -> Option<ExprId> {
        let p = self.p;
        let after = self.after().filter(|_| slot.close.is_blank())?;
        Some(p.and(if self.is_python() {
            self.values.after_literal()
        } else {
            p.after_space(after)
        }))
    }

    /// Whether a raw text may be the value.
    pub fn is_raw(&self) -> bool {
        self.texts.iter().any(|text| text.is_raw())
    }

    /// Whether a raw text may begin as this slot does.
    fn is_raw_too(&self, slot: &Slot) -> bool {
        self.texts
            .iter()
            .any(|text| text.open == slot.open && text.is_raw())
    }

    /// The slots that a raw text may be in which the schema does not allow there; each mark once.
    pub fn fallbacks(&self) -> Vec<&'a Slot> {
        let mut slots: Vec<&Slot> = self.fallback.into_iter().collect();
        if self.is_raw() || self.fallback.is_some() {
            slots.extend(self.plain.iter().filter(|slot| !self.is_raw_too(slot)));
        }
        slots
    }

    /// The slot of texts between two marks that are the same.
    pub fn between_quotes(&self) -> Option<&'a Slot> {
        self.texts
            .iter()
            .copied()
            .chain(self.fallback)
            .find(|slot| is_between_quotes(slot))
    }

    /// Whether the value is an argument of a call of Python.
    pub fn is_python(&self) -> bool {
        self.values.python && self.depth == 0
    }

    /// Whether the template prints a raw text bare where calls are Python: there it is a literal.
    pub fn is_printed_bare(&self) -> bool {
        let bare = self.is_python() && self.opens.head() == "=" && self.bare_close.is_none();
        let mut slots = self.texts.iter().copied().chain(self.fallbacks());
        bare && slots.any(|slot| slot.is_raw())
    }

    /// A literal of Python that is no text, and what follows it.
    pub fn literal(&self) -> ExprId {
        let p = self.p;
        p.sequence([
            p.not(p.quote()),
            p.arg_printed(),
            p.arg_close(p.empty()),
            p.and(self.values.after_literal()),
        ])
    }

    /// A text as a literal of Python.
    pub fn printed_text(&self) -> ExprId {
        let p = self.p;
        let text = self.values.quoted(p.empty());
        p.sequence([
            p.and(p.quote()),
            self.member
                .written(p, text, "quoted", Notation::Quoted(Literals::Python)),
        ])
    }

    /// The value in all forms that its types allow, with what the rules read besides.
    fn ways(&self) -> Vec<ExprId> {
        let p = self.p;
        let mut ways = p.ways(VALUE_FIRST, |way| way(self));
        if self.is_printed_bare() && self.types.has(Types::STRING) {
            ways.push(self.printed_text());
        }
        for (kind, slot) in &self.nested {
            // A text may have tags of its own.
            let nested = p.exactly(!self.texts.is_empty(), || self.nested(*kind, slot));
            ways.extend(nested.into_iter().flatten());
        }
        ways.extend(p.ways(VALUE, |way| way(self)));
        ways.extend(self.plain.iter().map(|slot| self.plain(slot)));
        ways.extend(p.ways(VALUE_TEXT, |way| way(self)));
        for slot in &self.texts {
            let text = match slot.encoding {
                Encoding::Quoted => {
                    let notation = Notation::Quoted(if self.values.python {
                        Literals::Python
                    } else {
                        self.literals
                    });
                    let text =
                        self.member
                            .written(p, self.values.quoted(p.empty()), "text", notation);
                    p.sequence([text, self.close(slot)])
                }
                _ => (self.raw)(slot),
            };
            ways.push(p.sequence([self.rest(slot), text]));
        }
        ways.extend(p.ways(VALUE_LAST, |way| way(self)));
        ways
    }

    /// An array or object in the template's notation, and what the rules read for it.
    fn nested(&self, kind: ValueKind, slot: &Slot) -> Option<Vec<ExprId>> {
        let p = self.p;
        let (both, alone) = (self.nested.len() > 1, self.plain.is_empty());
        let (begin, all) = self.values.container(kind, slot, self.member, self.depth)?;
        let all = self.member.written(p, all, "parts", Notation::Parts);
        // Of two notations that begin alike, that of arrays has more before its items. An object is
        // not shown before it begins where something else may be.
        let begins = match kind {
            ValueKind::Array if both => p.and(self.glue(&begin)),
            ValueKind::Object if !alone => p.and(p.choice([self.glue(&begin), self.close(slot)])),
            _ => p.empty(),
        };
        let written = p.sequence([self.rest(slot), begins, all, self.close(slot)]);
        let others = p.ways(CONTAINER, |way| way(self, kind, &begin, slot));
        Some([written].into_iter().chain(others).collect())
    }

    /// A value that is one piece of JSON or Python.
    fn plain(&self, slot: &Slot) -> ExprId {
        let p = self.p;
        let value = if self.values.python {
            self.member
                .written(p, p.arg_printed(), "schema", Notation::Printed)
        } else {
            self.member.python(
                p,
                self.literals,
                tag(&slot.close).map_or("", |_| slot.close.head().trim_end()),
            )
        };
        if self.is_raw_too(slot) {
            let signed = [
                self.rest(slot),
                sign(p, self.types),
                value,
                self.close(slot),
            ];
            return p.atomic(p.sequence(signed.into_iter().chain(self.followed(slot))));
        }
        let spaced = p.sequence([p.stray_space(), value, p.stray_space(), self.close(slot)]);
        let begins = p.atomic(p.sequence([self.rest(slot), p.stray_space(), p.and(p.any())]));
        // A word that may still be text is not shown before it ends.
        let alone = !self.is_raw() && self.fallback.is_none() && self.bare_close.is_none();
        p.sequence([
            begins,
            p.markup_ends(),
            if alone { spaced } else { shown(p, spaced) },
        ])
    }
}

/// A name before this glue, and the same between quotes, or between what the template puts
/// around texts.
pub fn perhaps_quoted(
    p: &FormatBuilder,
    name: ExprId,
    close: &Glue,
    slots: &[(ValueKind, Slot)],
) -> ExprId {
    if !close.head().starts_with([':', '=']) {
        return name;
    }
    p.or(name, NAME_OF_ARGUMENT, |way| way(p, name, slots))
}

/// The slots for the types of a schema, texts left out: those in the template's own notation, and
/// those for one piece of JSON or Python, each mark once.
fn typed_slots<'s>(
    slots: &'s [(ValueKind, Slot)],
    before: &Glue,
    types: Types,
) -> (Vec<(ValueKind, &'s Slot)>, Vec<&'s Slot>) {
    let (mut nested, mut plain): (Vec<_>, Vec<&Slot>) = Default::default();
    for (_, kind) in KINDS.into_iter().filter(|(kind, _)| types.has(*kind)) {
        let slot = slots_of(slots, kind)
            .next()
            .or(slots_of(slots, ValueKind::Integer).next())
            .or(slots_of(slots, ValueKind::Text).next_back());
        let Some(slot) = slot.filter(|slot| slot.before == *before) else {
            continue;
        };
        let mut known = plain.iter();
        if slot.encoding == Encoding::Nested {
            nested.push((kind, slot));
        } else if !known.any(|known| (&known.open, &known.close) == (&slot.open, &slot.close)) {
            plain.push(slot);
        }
    }
    (nested, plain)
}

/// The glue that opens all slots, up to where a value may begin, and the end of a value without the
/// quotes that the template puts around all. `texts`: the slots for texts.
fn shared_opening(all: &[&Slot], texts: &[&Slot]) -> (Glue, Option<Glue>) {
    let mut opens = Glue::common_start(all.iter().map(|slot| &slot.open));
    // The marks around a text are part of the value.
    let marked = texts.iter().filter(|slot| text::is_strong(&slot.close));
    let mut fronts = marked.filter_map(|slot| opens.strip_suffix(&slot.close));
    if let Some(front) = fronts.find(|front| !front.is_blank()) {
        opens = front;
    }
    // An attribute that tells the type is part of the value as well.
    let attribute = opens.head().strip_suffix("=\"");
    let attribute = attribute.and_then(|before| before.rfind(' '));
    if let Some(at) = attribute.filter(|at| *at > 0) {
        opens = opens.up_to(at);
    }
    let Some(unquoted) = unquoted(&opens) else {
        return (opens, None);
    };
    let close = all.first().map(|slot| &slot.close);
    (
        unquoted,
        close.and_then(|close| close.strip_prefix(&QUOTE.into())),
    )
}

impl Values<'_> {
    /// Glue with the call's name and an argument's.
    fn glue(&self, text: &Glue, name: &str) -> ExprId {
        glue(self.p, text, Some(self.tool), name)
    }

    /// The glue before a value and the value, in all forms that its types allow; only forms with
    /// `before` before the name. `raw`: a raw text and its end.
    pub fn of(
        &self,
        slots: &[(ValueKind, Slot)],
        before: &Glue,
        member: &Member,
        depth: usize,
        raw: &dyn Fn(&Slot) -> ExprId,
    ) -> Option<(Glue, ExprId)> {
        let types = member.types();
        // The slots for the schema's types.
        let mut texts: Vec<&Slot> = slots_of(slots, ValueKind::Text).collect();
        texts.retain(|slot| slot.before == *before);
        let raw_text = texts.iter().find(|slot| slot.is_raw()).copied();
        if !types.has(Types::STRING) {
            texts.clear();
        }
        let (mut nested, plain) = typed_slots(slots, before, types);
        let fallback = raw_text.filter(|_| texts.is_empty() && nested.is_empty());
        let null = slots_of(slots, ValueKind::Null)
            .next()
            .or(plain.first().copied());
        let mut used = plain.clone();
        used.extend(texts.iter().chain(&fallback).copied());
        used.extend(nested.iter().map(|(_, slot)| *slot));
        // The slots for other types, which a text may be in.
        let mut mistyped: Vec<&Slot> = Vec::new();
        let mut said = texts.iter().chain(&fallback);
        if said.any(|slot| slot.is_raw()) {
            for (_, slot) in slots {
                let mut known = used.iter().chain(&mistyped);
                if slot.before == *before
                    && slot.encoding != Encoding::Nested
                    && known.all(|known| known.open != slot.open)
                {
                    mistyped.push(slot);
                }
            }
        }
        let (opens, bare_close) = shared_opening(&[&*used, &mistyped].concat(), &texts);
        // Where text is allowed as well, elements are text, unless the schema allows everything.
        if types != Types::ALL && !texts.is_empty() {
            nested.clear();
        }
        let value = Value {
            p: self.p,
            values: *self,
            member,
            depth,
            raw,
            types,
            literals: literals(slots),
            texts,
            plain,
            nested,
            null: null.filter(|_| types.has(Types::NULL)),
            fallback,
            mistyped,
            used,
            opens,
            bare_close,
        };
        let ways = value.ways();
        (!ways.is_empty()).then(|| (value.opens, self.p.choice(ways)))
    }

    /// White space and what may follow a literal that is an argument of Python.
    pub fn after_literal(&self) -> ExprId {
        let p = self.p;
        let ends = [p.signs(",)"), p.end()];
        p.after_space(p.choice(ends.into_iter().chain(self.after)))
    }

    /// A text in quotes, and its end. Templates and models print texts between quotes unescaped,
    /// whatever they contain, but a quoted string has no line breaks. So after a line break, or a
    /// quote that ends no Python literal, it is read unescaped: a backslash is a backslash, and a
    /// quote closes the text only before what may follow an argument.
    pub fn quoted(&self, end: ExprId) -> ExprId {
        let p = self.p;
        if p.raw_lines {
            return p.sequence([p.arg_json(p.python_string()), p.arg_close(end)]);
        }
        if self.after.is_none() {
            let text = if self.python {
                p.printed_string(Tag::ArgText)
            } else {
                p.python_string()
            };
            return p.sequence([p.arg_json(text), p.arg_close(end)]);
        }
        let double = if self.python {
            self.printed('"', end)
        } else {
            let text = [p.literal(QUOTE), p.string_body(b'"'), p.literal(QUOTE)];
            p.sequence([p.arg_json(p.sequence(text)), p.arg_close(end)])
        };
        p.choice([double, self.printed('\'', end)])
    }

    /// A line of text between these quotes, or text that is printed unescaped, and its end.
    fn printed(&self, quote: char, end: ExprId) -> ExprId {
        let p = self.p;
        let sign = p.literal(&*quote.to_string());
        let close = p.arg_close(p.sequence([sign, end]));
        let mut line = p.string_line(quote as u8);
        let mut usual = close;
        if self.python {
            line = p.python_body(line);
            usual = p.sequence([p.and(p.sequence([sign, self.after_literal()])), close]);
        }
        let line = p.arg_json(p.sequence([sign, line]));
        p.sequence([line, p.or(usual, QUOTED, |way| way(self, quote, close))])
    }

    /// An array or object in the template's notation, and the glue up to its first item.
    pub fn container(
        &self,
        kind: ValueKind,
        slot: &Slot,
        member: &Member,
        depth: usize,
    ) -> Option<(Glue, ExprId)> {
        let p = self.p;
        let (container, name) = match kind {
            ValueKind::Array => (self.nested.array.as_ref()?, ANY[0]),
            _ => (self.nested.object.as_ref()?, ANY[1]),
        };
        let begin = container.open.and(&container.each);
        let nest = Nest {
            p,
            values: *self,
            kind,
            container,
            slot,
            member,
            depth: depth + 1,
        };
        let places = schema::places(&member.schema, false);
        let described = places.iter().any(|(schema, _)| {
            let schema = schema.get();
            schema.get("items").is_some() || schema.get("properties").is_some()
        });
        if described && depth < SCHEMA_LEVELS {
            return Some((begin, nest.expr()));
        }
        if !p.is_defined(name) {
            // Defined first, so that the expressions inside can refer to it.
            p.rule(name, p.empty());
            let any = Nest {
                member: &Member::any(),
                depth: SCHEMA_LEVELS,
                ..nest
            };
            p.rule(name, p.exactly(true, || any.expr()));
        }
        Some((begin, p.reference(name)))
    }
}

/// An array or object in the template's notation.
struct Nest<'a> {
    p: &'a FormatBuilder,
    values: Values<'a>,
    kind: ValueKind,
    container: &'a Container,
    slot: &'a Slot,
    /// The array or object itself.
    member: &'a Member<'a>,
    /// How many containers its items or members are in.
    depth: usize,
}

impl Nest<'_> {
    fn glue(&self, text: &Glue) -> ExprId {
        self.values.glue(text, self.member.name)
    }

    fn expr(&self) -> ExprId {
        let (p, container) = (self.p, self.container);
        let end = self.end();
        let inner = Nest {
            values: Values {
                within: Some(end).filter(|_| !self.is_any()),
                next: self.next(),
                ..self.values
            },
            ..*self
        };
        let (tag, known, any) = match self.kind {
            ValueKind::Array => (Tag::Array, Vec::new(), inner.item()),
            _ => {
                let (known, any) = (inner.known_members(), inner.any_member(end));
                // Of an object whose properties are known, a grammar has no others.
                let any = p.only_read(!known.is_empty(), any);
                (Tag::Object, known, any)
            }
        };
        let may_be_empty = !known.iter().any(|(_, required)| *required);
        let open = self.glue(&container.open);
        let separated = !container.next.is_blank();
        // Items with their own openings, up to the end of the container around them.
        if !separated && container.close.is_blank() && !container.each.is_blank() {
            let spaced = |item| p.sequence([p.blank(), item]);
            let items = p.in_any_order(known, Some(spaced(any)), spaced);
            let ends = p.or(end, CONTAINER_CLOSE, |way| way(&self.values));
            return p.tag(tag, p.sequence([open, items, p.space(), p.and(ends)]));
        }
        let mut next = self.glue(&container.next);
        if separated {
            next = p.separator(next);
        }
        let items = p.listed(known, Some(any), p.sequence([p.blank(), next, p.blank()]));
        let close = self.glue(&container.close);
        let filled = p.sequence([items, p.blank(), close]);
        let empty = p.only_read(!may_be_empty, close);
        // Without an end, the object is empty only if nothing else matches.
        let ways = if container.close.is_blank() {
            [filled, empty]
        } else {
            [empty, filled]
        };
        p.sequence([open, p.tag(tag, p.sequence([p.blank(), p.choice(ways)]))])
    }

    /// Whether it has any content. Such containers are the same wherever they are.
    fn is_any(&self) -> bool {
        self.depth == SCHEMA_LEVELS
    }

    /// The end of the container and of its slot; of one with any content, in any slot.
    fn end(&self) -> ExprId {
        let (mut slots, mut name) = (Vec::new(), self.member.name);
        if self.is_any() {
            let nested = self.values.nested;
            let all = [&nested.array, &nested.object].into_iter().flatten();
            slots.extend(all.flat_map(|all| slots_of(&all.slots, self.kind)));
            name = FormatBuilder::ANY;
        }
        slots.push(self.slot);
        let ends = slots
            .iter()
            .map(|slot| self.container.close.and(&slot.close));
        let ends = ends.filter(|end| !end.is_blank());
        self.p.choice(ends.map(|end| self.values.glue(&end, name)))
    }

    /// The next item or member, where a token before each tag makes it certain.
    fn next(&self) -> Option<ExprId> {
        let p = self.p;
        if p.prefix.is_empty() {
            return None;
        }
        let known = members(p, &self.member.schema, "", false);
        let mut names: Vec<ExprId> = known.iter().map(|one| p.literal(one.name)).collect();
        names.extend((self.kind == ValueKind::Array).then(|| p.empty()));
        Some(p.sequence([self.glue(&self.container.each), p.choice(names)]))
    }

    /// An item of an array.
    fn item(&self) -> ExprId {
        let places = schema::places(&self.member.schema, false).into_iter();
        let mut items = places.map(|(schema, _)| schema.within(&["items"]));
        let any = Member::any();
        let item = Member {
            name: self.member.name,
            rule: format!("{}-item", self.member.rule),
            schema: items
                .find(|schema| !schema.get().is_null())
                .unwrap_or(any.schema),
            ..any
        };
        let (opens, value) = self.value(&item);
        let each = self.glue(&self.container.each);
        self.p.sequence([each, self.glue(&opens), value])
    }

    /// The members that the schema of an object lists, and whether each is required.
    fn known_members(&self) -> Vec<(ExprId, bool)> {
        let (p, mut known) = (self.p, Vec::new());
        let prefix = format!("{}-", self.member.rule);
        for inner in members(p, &self.member.schema, &prefix, false) {
            let (opens, value) = self.value(&inner);
            let name = p.arg_name(inner.name);
            let name = perhaps_quoted(p, name, &opens, &self.container.slots);
            let opens = self.values.glue(&opens, inner.name);
            let name = p.sequence([self.glue(&self.container.each), name, opens]);
            let all = p.sequence([p.atomic(name), p.markup_ends(), value]);
            let all = inner.perhaps(p, inner.left_out, Notation::PerhapsLeftOut, all);
            known.push((all, inner.required));
        }
        known
    }

    /// A member of an object with any name. `end`: the end of the object.
    fn any_member(&self, end: ExprId) -> ExprId {
        let (p, container) = (self.p, self.container);
        let any = Member {
            rule: format!("{}-any", self.member.rule),
            ..Member::any()
        };
        let (opens, value) = self.value(&any);
        let ends = p.spelled(text::heads(&opens));
        let closes = p.spelled(text::heads(&container.close));
        let signs = closes.iter().chain(&ends).map(|sign| sign.parse().ok());
        let name = match signs.collect::<Option<Vec<char>>>() {
            _ if ends.is_empty() => p.other_name(),
            None => p.until_marker(&ends),
            // In a grammar, too, no name begins like the end of the object.
            Some(signs) => p.optional(p.sequence([p.no_sign(signs), p.until_marker(&ends)])),
        };
        // The end of the object may look like a name.
        let close = container.close.and(&self.slot.close);
        let no_end = [p.not(end), text::no_closer(p, &container.each, &close)];
        let opens = self.values.glue(&opens, FormatBuilder::ANY);
        let name = p.rather(p.key(name), KEY, |way| {
            way(&self.values, container, &ends, opens)
        });
        let each = self.glue(&container.each);
        p.sequence(
            no_end
                .into_iter()
                .chain([each, name, opens, p.markup_ends(), value]),
        )
    }

    /// An item or a member's value, and the glue before it.
    fn value(&self, member: &Member) -> (Glue, ExprId) {
        let (values, none) = (&self.values, Glue::default());
        let value = values.of(&self.container.slots, &none, member, self.depth, &|slot| {
            self.raw(member, slot)
        });
        value.unwrap_or_else(|| (none, self.p.never()))
    }

    /// A raw text in the container, and its end.
    fn raw(&self, member: &Member, slot: &Slot) -> ExprId {
        let (values, p) = (&self.values, self.p);
        let mut ends = text::heads(&slot.close);
        if ends.is_empty() {
            for after in [&self.container.next, &self.container.close] {
                ends.extend(text::heads(&slot.close.and(after)));
            }
        }
        // Without the first of the template's quotes, the second one ends the text.
        let mut slots = self.container.slots.iter().map(|(_, slot)| slot);
        let quoted = slots.find(|quoted| is_between_quotes(quoted) && slot.close.is_blank());
        let mark = quoted.map(|quoted| quoted.close.head());
        ends.extend(mark.map(str::to_owned));
        let mark = mark.map(|mark| p.optional(p.literal(mark)));
        let close = p.sequence([mark, Some(values.glue(&slot.close, member.name))]);
        let named = slot.close.with_names(&values.tool.name, member.name);
        let end = values
            .within
            .filter(|_| !FormatBuilder::is_any(member.name));
        let text = p.arg_text(p.until_marker(ends));
        let text = p.rather(text, TEXT_END, |way| {
            way(p, p.first_tag(&named)?, p.choice([end, values.next]))
        });
        p.sequence([
            member.written(p, text, "text", Notation::Text),
            p.arg_close(close),
        ])
    }
}
