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
