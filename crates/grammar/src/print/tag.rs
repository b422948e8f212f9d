//! Prints structural tags: JSON that describes the texts around constrained parts.

use serde_json::Value;

use super::portable;
use crate::text::{Node, Tree};
use chatparse_base::number;

/// The text of a tag with this format.
pub fn of(format: Value) -> String {
    number::write(&json!({"type": "structural_tag", "format": format}))
}

/// A grammar as a part of a format.
pub fn grammar(tree: &Tree) -> Value {
    json!({"type": "grammar", "grammar": portable::print(tree)})
}

/// Free text without the words, and then the grammar or nothing. The grammar is written once: any
/// call may follow another.
pub fn behind_words(mut tree: Tree, words: &[String]) -> Value {
    if words.is_empty() {
        return json!({"type": "any_text"});
    }
    tree.root = tree.add("root", Node::Rule(tree.root).optional());
    json!({"type": "sequence", "elements": [{"type": "any_text", "excludes": words}, grammar(&tree)]})
}
