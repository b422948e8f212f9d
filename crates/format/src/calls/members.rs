//! Members of an object that are written one by one: a call's arguments, and objects inside them.

use std::collections::HashMap;

use crate::builder::FormatBuilder;
use crate::glue::is_strong;
use crate::tag::Tag;
use chatparse_learn::analysis::turn::{Slot, ValueKind, slots_of};
use serde_json::Value;

use chatparse_grammar::schema::{self, Types};
use chatparse_peg::{ExprId, Literals, Notation, SchemaRef};

/// One property of an object schema.
pub struct Member<'a> {
    pub name: &'a str,
    pub schema: SchemaRef,
    pub required: bool,
    /// It may be null, which the template leaves out: it is not required, although its schema says
    /// so.
    pub left_out: bool,
    /// Prefix of the rules for its value.
    pub rule: String,
}

impl Member<'_> {
    /// An argument of any name and type.
    pub fn any() -> Member<'static> {
        let schema = SchemaRef::from(Value::Bool(true));
        Member {
            name: FormatBuilder::ANY,
            schema,
            required: false,
            left_out: false,
            rule: "unknown-arg".to_owned(),
        }
    }

    /// The types that its value may have.
    pub fn types(&self) -> Types {
        match schema::types(self.schema.get(), &self.schema.document) {
            // A schema that allows nothing is refused where it is read.
            Types::NONE => Types::ALL,
            types => types,
        }
    }

    /// `child`, all of it; where this is `said`, the report of a grammar has it.
    pub fn perhaps(
        &self,
        p: &FormatBuilder,
        said: bool,
        notation: Notation,
        child: ExprId,
    ) -> ExprId {
        if said {
            p.argument(child, &*self.rule, self.schema.clone(), notation)
        } else {
            child
        }
    }

    /// Its value as JSON or a Python literal. Strings of its schema are written beside it.
    /// `closer`: the tag after it, or nothing.
    pub fn python(&self, p: &FormatBuilder, literals: Literals, closer: &str) -> ExprId {
        p.arg_json(self.written(p, p.python(closer), "schema", Notation::Others(literals)))
    }

    /// `child`, whose values have this notation in grammars.
    pub fn written(
        &self,
        p: &FormatBuilder,
        child: ExprId,
        part: &str,
        notation: Notation,
    ) -> ExprId {
        match notation {
            Notation::Text if schema::allows_any_string(self.schema.get()) => child,
            _ => p.argument(
                child,
                format!("{}-{part}", self.rule),
                self.schema.clone(),
                notation,
            ),
        }
    }
}

/// The properties of an object schema, in order, with those of the schemas that it combines. The
/// names of their rules begin with `prefix`. `refers`: also those of the schemas that it refers to,
/// which cost as much as what they have at each place.
pub fn members<'a>(
    p: &FormatBuilder,
    object: &'a SchemaRef,
    prefix: &str,
    refers: bool,
) -> Vec<Member<'a>> {
    let (mut members, mut known): (Vec<Member>, HashMap<&str, usize>) = Default::default();
    for (place, must) in schema::places(object, refers) {
        let fields = object
            .document
            .pointer(&place.pointer)
            .unwrap_or(&Value::Null);
        for (name, _, required) in schema::members(fields) {
            let (schema, required) = (place.within(&["properties", name]), must && required);
            let at = *known.entry(name).or_insert(members.len());
            match members.get_mut(at) {
                None => members.push(Member {
                    name,
                    schema,
                    required,
                    left_out: false,
                    rule: format!("{prefix}{name}"),
                }),
                Some(member) => {
                    member.required |= required;
                    // One of several that it may be.
                    if !must && member.schema.get() != schema.get() {
                        member.schema = Member::any().schema;
                    }
                }
            }
        }
    }
    for member in members
        .iter_mut()
        .filter(|member| p.leaves_out_null && member.required)
    {
        let types = member.types();
        member.left_out = types != Types::ALL && types.has(Types::NULL);
        member.required = !member.left_out;
    }
    members
}

/// Stands for any name that an object schema does not list. `prefix` makes the name of its rule
/// unique.
pub fn unlisted_name(p: &FormatBuilder, prefix: &str, object: &SchemaRef) -> String {
    let names: Vec<&str> = members(p, object, "", true)
        .iter()
        .map(|member| member.name)
        .collect();
    p.any_name_but(&format!("listed-{prefix}"), &names)
}

/// Whether texts are written between two marks that are the same.
pub fn is_between_quotes(slot: &Slot) -> bool {
    is_strong(&slot.close) && slot.open.strip_suffix(&slot.close).is_some()
}

/// The quotes and marks that models put around names.
pub fn name_quotes(slots: &[(ValueKind, Slot)]) -> impl Iterator<Item = &str> {
    let texts = slots_of(slots, ValueKind::Text);
    let marks = texts.filter(|slot| is_between_quotes(slot));
    ["\"", "'"]
        .into_iter()
        .chain(marks.map(|slot| slot.close.head()))
}

/// Text, unless [`shown`] matches here: a list or an object that was visible cannot be read again
/// as text.
pub fn no_json(p: &FormatBuilder, text: ExprId) -> ExprId {
    p.sequence([p.not(p.after_space(bracket(p))), text])
}

/// JSON where text is allowed as well. A list or an object is visible while it is read; a word or a
/// number only once it is complete, because a text may begin with it.
pub fn shown(p: &FormatBuilder, json: ExprId) -> ExprId {
    p.choice([p.sequence([p.and(bracket(p)), json]), p.atomic(json)])
}

/// A list or an object that breaks after what was visible of it: `text`, as it is.
pub fn broken(p: &FormatBuilder, text: ExprId) -> ExprId {
    p.sequence([
        p.space(),
        p.and(bracket(p)),
        p.tag(Tag::BrokenJson, p.empty()),
        text,
    ])
}

/// The beginning of a list or an object, up to the first sign of a value in it: `[North]` is a
/// text.
fn bracket(p: &FormatBuilder) -> ExprId {
    p.shared("bracket", || {
        let words = ["true", "false", "null", "True", "False", "None"].map(|word| p.literal(word));
        let sign = p.one_of(&[
            ('"', '"'),
            ('\'', '\''),
            ('-', '-'),
            ('/', '9'),
            ('[', '['),
            ('{', '{'),
        ]);
        let value = p.choice([sign].into_iter().chain(words));
        let member = p.spaced([p.python_string(), p.literal(":"), value]);
        let list = p.spaced([p.literal("["), p.choice([value, p.literal("]")])]);
        p.choice([
            list,
            p.spaced([p.literal("{"), p.choice([member, p.signs("/}")])]),
        ])
    })
}

/// Looks ahead to the first characters of a value of these types, as JSON or Python. Strings are
/// left out.
pub fn sign(p: &FormatBuilder, types: Types) -> ExprId {
    let signs = [
        (Types::OBJECT, "{"),
        (Types::ARRAY, "["),
        (Types::NUMBER, "-"),
        (Types::BOOLEAN, "tfTF"),
        (Types::NULL, "nN"),
    ];
    let mut ranges = Vec::new();
    for (_, signs) in signs.into_iter().filter(|(kind, _)| types.has(*kind)) {
        ranges.extend(signs.chars().map(|sign| (sign, sign)));
    }
    ranges.extend(types.has(Types::NUMBER).then_some(('0', '9')));
    p.and(p.one_of(&ranges))
}
