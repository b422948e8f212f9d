//! The drafts of JSON Schema: which one a schema is in, and which keywords each has.

use serde_json::{Map, Value};

use self::Draft::{Four, Seven, Six, Three, Y2019, Y2020};

/// The members of a schema.
pub type Fields = Map<String, Value>;

/// The drafts, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    Three,
    Four,
    Six,
    Seven,
    Y2019,
    Y2020,
}

impl Draft {
    /// The draft of documents without `$schema`.
    pub const NEWEST: Draft = Y2020;

    /// The draft that the `$schema` of a document names: `None` without `$schema`, `Some(None)` for
    /// an unknown draft, whose keywords have no known meaning.
    pub fn named(fields: &Fields) -> Option<Option<Draft>> {
        let uri = fields.get("$schema")?.as_str()?;
        let name = uri
            .trim_start_matches("http://")
            .trim_start_matches("https://")
            .trim_end_matches(['#', '/']);
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
    pub fn lone_ref(self) -> bool {
        self <= Seven
    }

    pub fn id(self) -> &'static str {
        if self <= Four { "id" } else { "$id" }
    }

    pub fn knows(self, keyword: &str) -> bool {
        let (first, last) = match keyword {
            "extends" | "disallow" | "divisibleBy" => (Three, Three),
            "allOf" | "anyOf" | "oneOf" | "not" | "multipleOf" | "minProperties"
            | "maxProperties" => (Four, Y2020),
            "const" | "contains" | "propertyNames" => (Six, Y2020),
            "if" | "then" | "else" => (Seven, Y2020),
            "contentEncoding" | "contentMediaType" => (Seven, Seven),
            "$recursiveRef" | "$recursiveAnchor" => (Y2019, Y2019),
            "dependentRequired" | "dependentSchemas" | "minContains" | "maxContains" => {
                (Y2019, Y2020)
            }
            "unevaluatedItems" | "unevaluatedProperties" | "$anchor" => (Y2019, Y2020),
            "prefixItems" | "$dynamicRef" | "$dynamicAnchor" => (Y2020, Y2020),
            // Also `dependencies`, `definitions` and arrays as `items`: newer drafts use other
            // keywords, but these still mean the same.
            _ => (Three, Y2020),
        };
        (first..=last).contains(&self)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn drafts_have_many_spellings() {
        for (uri, draft) in [
            (
                json!("http://json-schema.org/draft-07/schema#"),
                Some(Some(Seven)),
            ),
            (
                json!("https://json-schema.org/draft-04/schema"),
                Some(Some(Four)),
            ),
            (
                json!("https://json-schema.org/draft/2019-09/schema#"),
                Some(Some(Y2019)),
            ),
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
