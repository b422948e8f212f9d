//! Prints structural tags: JSON that describes the texts around constrained parts.

use super::portable;
use chatparse_base::number;
use chatparse_grammar::text::{Node, Tree};

/// Prints a tag with one grammar. With `words`, free text without them comes first, and then the
/// grammar or nothing. The grammar is written once: any call may follow another.
pub fn print(mut tree: Tree, words: Option<&[String]>) -> String {
    if words.is_some() {
        tree.root = tree.add("root", Node::Rule(tree.root).optional());
    }
    let grammar = json!({"type": "grammar", "grammar": portable::print(&tree)});
    let format = match words {
        None => grammar,
        Some([]) => json!({"type": "any_text"}),
        Some(words) => {
            json!({"type": "sequence", "elements": [{"type": "any_text", "excludes": words}, grammar]})
        }
    };
    number::write(&json!({"type": "structural_tag", "format": format}))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use chatparse_grammar::text::gbnf::tree as read;

    #[test]
    fn free_text_has_none_of_the_words() {
        let format = |words: Option<&[String]>| {
            let text = print(read("root ::= \"<c>\" [0-9]").unwrap(), words);
            serde_json::from_str::<Value>(&text).unwrap()["format"].clone()
        };
        assert_eq!(format(None)["grammar"], "root ::= \"<c>\" [0-9]\n");
        assert_eq!(format(Some(&[])), json!({"type": "any_text"}));
        let elements = format(Some(&["<c>".to_owned()]))["elements"].clone();
        assert_eq!(
            elements[0],
            json!({"type": "any_text", "excludes": ["<c>"]})
        );
        assert_eq!(
            elements[1]["grammar"],
            "root ::= root-2?\nroot-2 ::= \"<c>\" [0-9]\n"
        );
    }
}
