//! A table of all known fields of a request. Errors, notes and the tables of docs/requests.md come
//! from here.

use std::sync::LazyLock;

use serde_json::Value;

use super::fields::Fields;
use chatparse_base::Result;

/// The use of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The prompt, the grammar or the parser depends on it.
    Read,
    /// The host may read it: how to sample, what to answer.
    Host,
    /// Nobody needs it: for caches, billing, and the client's own use.
    Unseen,
    /// Its wish is not fulfilled: a note says so.
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
    /// Fields with their kinds, and why; `*` is any other field. By default other fields are noted.
    pub fields: Vec<(&'static str, Kind, &'static str)>,
}

/// Chat completions. A line has the names of objects, and after `=` their fields: fields that are
/// read, the host's with a dot, fields that nobody needs with a hyphen; `!` if no other field
/// exists. A line with `?` or `!` has a field that is noted or refused, and why.
const CHAT_TEXT: &str = include_str!("chat_fields.txt");

/// The fields that all APIs have. The row `all` applies to each nested object.
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
        let mut table = Table(rows);
        let all = table
            .named("all")
            .map_or_else(Vec::new, |row| row.fields.clone());
        for row in &mut table.0 {
            if !["request", "all"].contains(&row.name) {
                row.fields.extend(&all);
            }
        }
        table
    }

    fn named(&self, name: &str) -> Option<&Row> {
        self.0.iter().find(|row| row.name == name)
    }

    /// The row whose name is `first.last`.
    fn joined(&self, first: &str, last: &str) -> Option<&Row> {
        self.0.iter().find(|row| {
            let rest = row.name.strip_prefix(first).unwrap_or_default();
            rest.strip_prefix('.') == Some(last)
        })
    }

    /// Whether no model sees a field of this name, whatever object has it.
    pub fn is_unseen(&self, name: &str) -> bool {
        let field = self.named("all").and_then(|row| row.field(name));
        field.is_some_and(|(kind, _)| kind == Kind::Unseen)
    }

    /// The row for an object at a field of a row.
    pub fn row(&self, parent: &str, field: &str, object: &Fields) -> Option<&Row> {
        let kind = object.map.get("type").and_then(Value::as_str);
        let mut kind = kind.unwrap_or_default();
        while let Some((undated, number)) = kind.rsplit_once('_')
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            kind = undated;
        }
        self.joined(field, kind)
            .or_else(|| self.named(kind))
            .or_else(|| self.joined(parent, field))
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

    /// Checks the object at a field of an object, or the objects of the array there.
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
                for (index, item) in items.iter().enumerate() {
                    if item.is_object() {
                        self.check(row, name, &object.item(name, index, item)?, notes)?;
                    }
                }
                Ok(())
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
    /// The use of a field, and why; `None` if it is not known.
    pub fn field(&self, name: &str) -> Option<(Kind, &'static str)> {
        let (_, kind, why) = self.fields.iter().find(|(known, ..)| *known == name)?;
        Some((*kind, *why))
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
            let says_nothing = match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => known.is_some() && fields.is_empty(),
                value => value.is_null() || *value == false,
            };
            let (kind, why) = match known {
                Some(known) => known,
                None => self.of_others(name, object, more)?,
            };
            match kind {
                _ if says_nothing => {}
                Kind::Refused => return Err(object.refuse(name, why)),
                Kind::Noted => notes.push(format!("{}: {why}", object.path(name))),
                _ => {}
            }
        }
        Ok(())
    }

    /// The use of a field that is not in the row; an error if its name is nearly that of one.
    fn of_others(
        &self,
        name: &str,
        object: &Fields,
        more: &[&[&'static str]],
    ) -> Result<(Kind, &'static str)> {
        let options = more.iter().copied().flatten().copied();
        let mut known = self.fields.iter().map(|(known, ..)| *known).chain(options);
        if let Some(meant) = known.find(|known| is_near(name, known)) {
            let why = format!("there is no such field; did you mean {meant}?");
            return Err(object.refuse(name, &why));
        }
        let kind = if self.name == "request" {
            Kind::Host
        } else {
            Kind::Noted
        };
        Ok(self
            .field("*")
            .unwrap_or((kind, "is not known here, and no model sees it")))
    }
}

/// Whether the unknown name `given` most likely means `known`: it differs in case, in `-` and `_`,
/// in the order of two neighbours, or, unless `known` is short, in one letter.
fn is_near(given: &str, known: &str) -> bool {
    const LONG: usize = 6;
    let [given, known] = [given, known].map(letters);
    if given.len().abs_diff(known.len()) > 1 {
        return false;
    }
    let start = given.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let (given, known_rest) = (&given[start..], &known[start..]);
    let ends = given.iter().rev().zip(known_rest.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    match given.len().max(known_rest.len()) - end {
        0 => true,
        1 => known.len() >= LONG,
        2 => {
            given.len() == known_rest.len()
                && given[0] == known_rest[1]
                && given[1] == known_rest[0]
        }
        _ => false,
    }
}

/// A name in lower case, without `-` and `_`.
fn letters(name: &str) -> Vec<u8> {
    name.replace(['-', '_'], "")
        .to_ascii_lowercase()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn a_typo_is_near_and_another_word_is_not() {
        for given in ["temprature", "Temper-ature", "temperatuer", "temperatures"] {
            assert!(is_near(given, "temperature"), "{given}");
        }
        assert!(is_near("tpye", "type"));
        for (given, known) in [
            ("stops", "stop"),
            ("temper", "temperature"),
            ("tool", "tools"),
        ] {
            assert!(!is_near(given, known), "{given}");
        }
    }
}
