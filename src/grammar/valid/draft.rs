//! The drafts of JSON Schema: which draft a schema is in, its keywords, and which of them contain schemas.

use serde_json::{Map, Value};

use self::Draft::{Four, Seven, Six, Three, Y2019, Y2020};

pub(super) type Fields = Map<String, Value>;

/// The drafts, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Three,
    Four,
    Six,
    Seven,
    Y2019,
    Y2020,
}

impl Draft {
    /// The draft of documents without `$schema`.
    pub(super) const NEWEST: Draft = Y2020;

    /// The draft that the `$schema` of a document names: `None` without `$schema`, `Some(None)` for an unknown draft, whose
    /// keywords have no known meaning.
    pub(super) fn named(fields: &Fields) -> Option<Option<Draft>> {
        let uri = fields.get("$schema")?.as_str()?;
        let name = uri.trim_start_matches("http://").trim_start_matches("https://").trim_end_matches(['#', '/']);
        Some(match name.strip_prefix("json-schema.org/") {
            Some("draft-03/schema") => Some(Three),
            Some("draft-04/schema") => Some(Four),
            Some("draft-06/schema") => Some(Six),
            Some("draft-07/schema") => Some(Seven),
            Some("draft/2019-09/schema") => Some(Y2019),
            Some("draft/2020-12/schema" | "schema") => Some(Y2020),
            _ => None,
        })
    }

    /// Whether keywords beside a `$ref` are ignored.
    pub(super) fn lone_ref(self) -> bool {
        self <= Seven
    }

    fn id(self) -> &'static str {
        if self <= Four { "id" } else { "$id" }
    }

    fn knows(self, keyword: &str) -> bool {
        let (first, last) = match keyword {
            "extends" | "disallow" | "divisibleBy" => (Three, Three),
            "allOf" | "anyOf" | "oneOf" | "not" | "multipleOf" | "minProperties" | "maxProperties" => (Four, Y2020),
            "const" | "contains" | "propertyNames" => (Six, Y2020),
            "if" | "then" | "else" => (Seven, Y2020),
            "contentEncoding" | "contentMediaType" => (Seven, Seven),
            "$recursiveRef" | "$recursiveAnchor" => (Y2019, Y2019),
            "dependentRequired" | "dependentSchemas" | "minContains" | "maxContains" => (Y2019, Y2020),
            "unevaluatedItems" | "unevaluatedProperties" | "$anchor" => (Y2019, Y2020),
            "prefixItems" | "$dynamicRef" | "$dynamicAnchor" => (Y2020, Y2020),
            // Also `dependencies`, `definitions` and arrays as `items`: newer drafts use other keywords, but these still
            // mean the same.
            _ => (Three, Y2020),
        };
        (first..=last).contains(&self)
    }
}

/// The keywords of one schema.
#[derive(Clone, Copy)]
pub(super) struct Keywords<'a> {
    pub(super) fields: &'a Fields,
    pub(super) draft: Draft,
}

impl<'a> Keywords<'a> {
    /// The value of a keyword, if the draft has it.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.fields.get(keyword).filter(|_| self.draft.knows(keyword))
    }

    pub(super) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    pub(super) fn map(&self, keyword: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.get(keyword).and_then(Value::as_object).into_iter().flatten()
    }

    pub(super) fn list(&self, keyword: &str) -> &'a [Value] {
        self.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The schemas of the first items, and the schema of the remaining ones.
    pub(super) fn items(&self) -> (&'a [Value], Option<&'a Value>) {
        // Earlier, `items` was the array of schemas, and `additionalItems` the schema of the remaining items.
        match (self.get("prefixItems"), self.get("items")) {
            (None, Some(Value::Array(first))) => (first, self.get("additionalItems")),
            (_, rest) => (self.list("prefixItems"), rest),
        }
    }

    /// The identifier of the schema: a URI, which may be empty, and a name within it.
    pub(super) fn id(&self) -> Option<(&'a str, Option<&'a str>)> {
        let id = self.text(self.draft.id())?;
        if self.draft.lone_ref() && self.fields.contains_key("$ref") {
            return None;
        }
        let (uri, name) = id.split_once('#').unwrap_or((id, ""));
        Some((uri, Some(name).filter(|name| !name.is_empty() && !name.starts_with('/'))))
    }

    /// Calls `each` with every direct subschema.
    pub(super) fn each_inside(&self, mut each: impl FnMut(&'a Value)) {
        for keyword in ONE {
            self.get(keyword).filter(|inside| inside.is_object()).into_iter().for_each(&mut each);
        }
        for keyword in LISTS {
            self.list(keyword).iter().for_each(&mut each);
        }
        for keyword in MAPS {
            self.map(keyword).for_each(|(_, inside)| each(inside));
        }
    }
}

/// Keywords with a schema as value.
const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "extends",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with a list that contains schemas.
const LISTS: &[&str] = &["allOf", "anyOf", "disallow", "extends", "items", "oneOf", "prefixItems", "type"];
/// Keywords with a map from names to schemas.
const MAPS: &[&str] = &["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn drafts_have_many_spellings() {
        for (uri, draft) in [
            (json!("http://json-schema.org/draft-07/schema#"), Some(Some(Seven))),
            (json!("https://json-schema.org/draft-04/schema"), Some(Some(Four))),
            (json!("https://json-schema.org/draft/2019-09/schema#"), Some(Some(Y2019))),
            (json!("http://json-schema.org/schema#"), Some(Some(Y2020))),
            (json!("https://example.com/schema"), Some(None)),
            (json!("http://json-schema.org/draft-05/schema#"), Some(None)),
            (json!(7), None),
        ] {
            let schema = json!({"$schema": uri});
            assert_eq!(Draft::named(schema.as_object().unwrap()), draft, "{uri}");
        }
    }
}
