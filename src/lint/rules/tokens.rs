//! Special tokens, against those of the vocabulary.

use std::collections::BTreeSet;

use super::*;
use crate::lint::marker::is_near;

/// Special tokens that the vocabulary does not have.
pub fn unknown_tokens(facts: &Facts, all: &mut Vec<Finding>) {
    if facts.special.is_empty() {
        return;
    }
    let mut told = BTreeSet::new();
    for text in &facts.parts.texts {
        for marker in markers(&text.text) {
            let token = &text.text[marker.bytes.clone()];
            let barred = ["<|", "<｜"].iter().any(|open| token.starts_with(open))
                || ["|>", "｜>"].iter().any(|close| token.ends_with(close));
            if !barred
                || token.contains(['=', ' '])
                || facts.special.iter().any(|known| known == token)
                || !told.insert(token.to_owned())
            {
                continue;
            }
            let near = facts.special.iter().find(|known| is_near(known, token));
            let message = format!("The template writes {token}, and the vocabulary does not have it.");
            let known =
                near.map_or_else(|| format!("{} special tokens, none like it", facts.special.len()), Clone::clone);
            let shown = [("template", around(&text.text, marker.bytes.start)), ("vocabulary", known)];
            all.push(facts.finding(Rule::UnknownToken, token, message, shown));
        }
    }
}
