//! What is known of each field of a request. Errors, notes and the tables of docs/requests.md come
//! from here.

use std::sync::LazyLock;

use serde_json::Value;

use super::fields::Fields;
use chatparse_base::Result;

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The prompt, the grammar or the parser depends on it.
    Read,
    /// The host may read it: how to sample, what to answer.
    Host,
    /// Nobody needs it: for caches, billing, and the client's own use.
    Unseen,
    /// What it asks for is not done: a note says so.
    Noted,
    /// An error says what to do instead.
    Refused,
}

/// The objects of an API, with their fields: the body first.
pub struct Table(pub Vec<Row>);

/// An object.
pub struct Row {
    /// Its type; or the name of the row that has it, and the field there; or that field and the
    /// type, without its date.
    pub name: &'static str,
    /// Fields with their kinds, and why; `*` stands for all others. By default these are noted.
    pub fields: Vec<(&'static str, Kind, &'static str)>,
}

/// Chat completions. A line has the names of objects, and behind `=` their fields: those that are
/// read, those of the host with a dot, those that nobody needs with a hyphen; `!` if there are no
/// others. A line with `?` or `!` has a field that is noted or refused, and why.
const CHAT_TEXT: &str = include_str!("chat_fields.txt");

/// What all APIs have. The row `all` is of each nested object.
pub const COMMON_TEXT: &str = include_str!("common_fields.txt");

/// The table of chat completions.
pub static CHAT: LazyLock<Table> = LazyLock::new(|| Table::new(&[CHAT_TEXT, COMMON_TEXT]));

impl Table {
    /// The table that these texts say.
    pub fn new(texts: &[&'static str]) -> Table {
        let mut rows: Vec<Row> = Vec::new();
        for line in texts.iter().flat_map(|text| text.lines()) {
            let Some((names, rest)) = line.find(['=', '?', '!']).map(|at| line.split_at(at)) else {
                continue;
            };
            let fields: Vec<_> = match (rest.strip_prefix('='), rest[1..].split_once(' ')) {
                (Some(fields), _) => fields.split_whitespace().map(field_of).collect(),
                (None, Some((name, why))) if rest.starts_with('?') => {
                    vec![(name, Kind::Noted, why)]
                }
                (None, Some((name, why))) => vec![(name, Kind::Refused, why)],
                (None, None) => Vec::new(),
            };
            for name in names.split_whitespace() {
                match rows.iter_mut().find(|row| row.name == name) {
                    Some(row) => row.fields.extend(&fields),
                    None => rows.push(Row {
                        name,
                        fields: fields.clone(),
                    }),
                }
            }
        }
        let all = rows
            .iter()
            .find(|row| row.name == "all")
            .map_or_else(Vec::new, |row| row.fields.clone());
        rows.iter_mut()
            .filter(|row| !["request", "all"].contains(&row.name))
            .for_each(|row| row.fields.extend(&all));
        Table(rows)
    }

    /// Whether no model sees a field of this name, whatever object has it.
    pub fn is_unseen(&self, name: &str) -> bool {
        let all = self.0.iter().find(|row| row.name == "all");
        all.and_then(|row| row.field(name))
            .is_some_and(|(kind, _)| kind == Kind::Unseen)
    }

    /// The row for an object at a field of a row.
    pub fn row(&self, parent: &str, field: &str, object: &Fields) -> Option<&Row> {
        let joined = |first: &str, last: &str| {
            self.0.iter().find(|row| {
                row.name
                    .strip_prefix(first)
                    .and_then(|rest| rest.strip_prefix('.'))
                    == Some(last)
            })
        };
        let mut kind = object
            .map
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        while let Some((undated, number)) = kind.rsplit_once('_')
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            kind = undated;
        }
        joined(field, kind)
            .or_else(|| self.0.iter().find(|row| row.name == kind))
            .or_else(|| joined(parent, field))
    }

    /// Checks an object at a field of a row, and all in it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidArgument`] that names a field that is a typo, or not supported.
    pub fn check(
        &self,
        parent: &str,
        field: &str,
        object: &Fields,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let Some(row) = self.row(parent, field, object) else {
            return Ok(());
        };
        row.check(object, &[], notes)?;
        for (name, ..) in row.fields.iter().filter(|(_, kind, _)| *kind == Kind::Read) {
            self.check_at(row.name, name, object, notes)?;
        }
        Ok(())
    }

    /// Checks the object at a field of an object, or those of the array there.
    ///
    /// # Errors
    /// As [`Table::check`].
    pub fn check_at(
        &self,
        row: &str,
        name: &str,
        object: &Fields,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        match object.get(name) {
            Some(Value::Object(_)) => self.check(row, name, &object.required_object(name)?, notes),
            Some(Value::Array(items)) => {
                let objects = items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| item.is_object());
                objects.into_iter().try_for_each(|(at, item)| {
                    self.check(row, name, &object.item(name, at, item)?, notes)
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks the fields of a body; `more`: others that are known. Those that nobody knows are for
    /// samplers.
    ///
    /// # Errors
    /// As [`Table::check`].
    pub fn check_body(
        &self,
        body: &Fields,
        more: &[&[&'static str]],
        notes: &mut Vec<String>,
    ) -> Result<()> {
        self.0[0].check(body, more, notes)
    }
}

fn field_of(word: &'static str) -> (&'static str, Kind, &'static str) {
    match word.split_at(1) {
        (".", name) => (name, Kind::Host, ""),
        ("-", name) => (name, Kind::Unseen, ""),
        ("*", _) => ("*", Kind::Read, ""),
        ("!", _) => (
            "*",
            Kind::Refused,
            "there is no such field, and what it says would be lost",
        ),
        _ => (word, Kind::Read, ""),
    }
}

impl Row {
    /// What becomes of a field, and why; `None` if it is not known.
    pub fn field(&self, name: &str) -> Option<(Kind, &'static str)> {
        self.fields
            .iter()
            .find(|(known, ..)| *known == name)
            .map(|(_, kind, why)| (*kind, *why))
    }

    fn check(
        &self,
        object: &Fields,
        more: &[&[&'static str]],
        notes: &mut Vec<String>,
    ) -> Result<()> {
        for (name, value) in object.map {
            let known = self.field(name);
            if known.is_none() && name == "type"
                || more.iter().any(|names| names.contains(&&**name))
            {
                continue;
            }
            if let (None, Some(meant)) = (
                known,
                meant(name, self.fields.iter().map(|(name, ..)| *name), more),
            ) {
                return Err(object.refuse(
                    name,
                    &format!("there is no such field; did you mean {meant}?"),
                ));
            }
            let of_others = if self.name == "request" {
                Kind::Host
            } else {
                Kind::Noted
            };
            let others = || {
                self.field("*")
                    .unwrap_or((of_others, "is not known here, and no model sees it"))
            };
            let says_nothing = match value {
                Value::Array(items) => items.is_empty(),
                value => {
                    value.is_null() || *value == false || known.is_some() && *value == json!({})
                }
            };
            match known.unwrap_or_else(others) {
                (Kind::Refused, why) if !says_nothing => return Err(object.refuse(name, why)),
                (Kind::Noted, why) if !says_nothing => {
                    notes.push(format!("{}: {why}", object.path(name)))
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The field that the unknown name `name` most likely means: it differs in case, in `-` and `_`, in
/// the order of two neighbours, or, unless the field is short, in one letter.
fn meant(
    name: &str,
    known: impl Iterator<Item = &'static str>,
    more: &[&[&'static str]],
) -> Option<&'static str> {
    const LONG: usize = 6;
    let is_near = |option: &&str| {
        let (given, known): (Vec<u8>, Vec<u8>) =
            (letters(name).collect(), letters(option).collect());
        let most = given.len().max(known.len());
        if given.len().abs_diff(known.len()) > 1 {
            return false;
        }
        let start = given.iter().zip(&known).take_while(|(a, b)| a == b).count();
        let end = given[start..]
            .iter()
            .rev()
            .zip(known[start..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        match most - start - end {
            0 => true,
            1 => known.len() >= LONG,
            2 => {
                given.len() == known.len()
                    && given[start] == known[start + 1]
                    && given[start + 1] == known[start]
            }
            _ => false,
        }
    };
    known
        .chain(more.iter().copied().flatten().copied())
        .find(is_near)
}

/// In lower case, without `-` and `_`.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes()
        .filter(|c| !matches!(c, b'-' | b'_'))
        .map(|c| c.to_ascii_lowercase())
}
