//! The tokenizer of a `tokenizer.json`, and whether it goes with a template: for `lint
//! --tokenizer`.

use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use chatparse::conversation::{Finding, SpecialToken, Tokenizer};
use chatparse::{ChatTemplate, Error, ErrorKind, Request, Result};
use serde_json::{Value, json};

use crate::failure::Failure;

struct Vocabulary {
    /// It finds no special tokens.
    plain: tokenizers::Tokenizer,
    special: Vec<SpecialToken>,
    byte_level: bool,
}

/// Reads a `tokenizer.json`.
pub fn read(file: &Path) -> std::result::Result<Arc<dyn Tokenizer>, Failure> {
    let vocabulary = || Vocabulary::of(serde_json::from_str(&fs::read_to_string(file)?)?);
    let read =
        vocabulary().map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    Ok(Arc::new(read))
}

/// What stands between a template and a tokenizer, as JSON.
pub fn check(template: &ChatTemplate, tokenizer: &Arc<dyn Tokenizer>) -> Result<Vec<Value>> {
    let parameters = json!({"type": "object", "properties": {"place": {"type": "string"}}});
    let tool = json!({"type": "function", "function": {"name": "look", "parameters": parameters}});
    let request = Request::from_json(&json!({"messages": [], "tools": [tool]}))?;
    let found = template
        .conversation(Arc::clone(tokenizer), request)?
        .check()?;
    Ok(found.iter().map(Finding::to_json).collect())
}

impl Vocabulary {
    fn of(mut described: Value) -> tokenizers::Result<Self> {
        for part in ["post_processor", "truncation", "padding"] {
            described[part] = Value::Null;
        }
        for part in ["normalizer", "pre_tokenizer"] {
            described[part] = without_prefix(described[part].take());
        }
        let added = described["added_tokens"].take();
        described["added_tokens"] = json!([]);
        let bare = tokenizers::Tokenizer::from_str(&described.to_string())?;
        let (mut special, mut texts) = (Vec::new(), Vec::new());
        for token in added.as_array().into_iter().flatten() {
            let (text, id) = (
                token["content"].as_str().unwrap_or_default(),
                token["id"].as_u64().unwrap_or_default(),
            );
            let is = |name: &str| token[name].as_bool().unwrap_or(false);
            // What plain text gives by itself is no marker, unless the tokenizer says so.
            let is_made =
                || Ok::<_, tokenizers::Error>(bare.encode(text, false)?.get_ids() == [id as u32]);
            if !is("special") && (text.trim().is_empty() || is_made()?) {
                texts.push(token.clone());
                continue;
            }
            let mut marker = SpecialToken::new(id as u32, text);
            (marker.strips_left, marker.strips_right) = (is("lstrip"), is("rstrip"));
            special.push(marker);
        }
        let plain = if texts.is_empty() {
            bare
        } else {
            described["added_tokens"] = texts.into();
            tokenizers::Tokenizer::from_str(&described.to_string())?
        };
        let byte_level = described["decoder"].to_string().contains("\"ByteLevel\"");
        Ok(Vocabulary {
            plain,
            special,
            byte_level,
        })
    }
}

impl Tokenizer for Vocabulary {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoded = self
            .plain
            .encode(text, false)
            .map_err(|error| invalid(&error.to_string()))?;
        Ok(encoded.get_ids().to_vec())
    }

    fn special_tokens(&self) -> Vec<SpecialToken> {
        self.special.clone()
    }

    fn token_bytes(&self, id: u32) -> Result<Vec<u8>> {
        let token = self
            .plain
            .id_to_token(id)
            .ok_or_else(|| invalid(&format!("there is no token {id}")))?;
        if self.byte_level {
            return Ok(token.chars().flat_map(bytes_of).collect());
        }
        let byte = token
            .strip_prefix("<0x")
            .and_then(|rest| u8::from_str_radix(rest.strip_suffix('>')?, 16).ok());
        Ok(byte.map_or_else(
            || token.replace('\u{2581}', " ").into_bytes(),
            |byte| vec![byte],
        ))
    }
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("tokenizer: {why}"))
}

/// A normalizer or pre-tokenizer that puts no space in front of a text.
fn without_prefix(mut part: Value) -> Value {
    if part["type"] == "Prepend" {
        return Value::Null;
    }
    for (name, value) in [
        ("add_prefix_space", json!(false)),
        ("prepend_scheme", json!("never")),
    ] {
        if part.get(name).is_some() {
            part[name] = value;
        }
    }
    for name in ["normalizers", "pretokenizers"] {
        if let Some(Value::Array(parts)) = part.get_mut(name) {
            let changed = std::mem::take(parts).into_iter().map(without_prefix);
            *parts = changed.filter(|part| !part.is_null()).collect();
        }
    }
    part
}

/// The bytes that a letter of a byte-level vocabulary stands for.
fn bytes_of(letter: char) -> Vec<u8> {
    let is_shown = |byte: &u8| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let hidden = || (0..=u8::MAX).filter(|byte| !is_shown(byte));
    let byte = match u32::from(letter).checked_sub(0x100) {
        Some(number) => hidden().nth(number as usize),
        None => u8::try_from(letter).ok().filter(is_shown),
    };
    byte.map_or_else(|| letter.to_string().into_bytes(), |byte| vec![byte])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token for each byte, one for two line breaks, and markers.
    fn described(end: &str) -> Value {
        let letters = (0..0x144).filter_map(char::from_u32);
        let letters = letters.filter(|letter| {
            !letter.is_control() && !letter.is_whitespace() && *letter != '\u{AD}'
        });
        let mut vocabulary: serde_json::Map<String, Value> = letters
            .zip(0..)
            .map(|(letter, id)| (letter.to_string(), json!(id)))
            .collect();
        assert_eq!(vocabulary.len(), 256);
        let line = char::from_u32(0x10A).unwrap();
        vocabulary.insert(format!("{line}{line}"), json!(256));
        let added = |id: u32, text: &str, special: bool| json!({"id": id, "content": text, "special": special, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false});
        json!({
            "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
            "added_tokens": [added(257, "<|im_start|>", true), added(258, end, true), added(259, "<think>", false)],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false},
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": [format!("{line} {line}")]},
        })
    }

    #[test]
    fn bytes_come_back() {
        let read = Vocabulary::of(described("<|im_end|>")).unwrap();
        let text = "Hva er \n\n\u{1F327} <|im_end|>?";
        let ids = read.encode(text).unwrap();
        assert!(ids.contains(&256) && !ids.contains(&258));
        let bytes: Vec<u8> = ids
            .iter()
            .flat_map(|id| read.token_bytes(*id).unwrap())
            .collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
        assert_eq!(read.special.len(), 3);
        assert!(read.token_bytes(1000).is_err());
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        let template = ChatTemplate::builtin("chatml").unwrap();
        let found = |end: &str| {
            let tokenizer: Arc<dyn Tokenizer> = Arc::new(Vocabulary::of(described(end)).unwrap());
            check(&template, &tokenizer).unwrap()
        };
        // A prompt ends with a line break, and an output may begin with one.
        let seam = found("<|im_end|>");
        assert_eq!(
            (
                seam.len(),
                &seam[0]["kind"],
                &seam[0]["messages"][1]["content"]
            ),
            (1, &json!("seam"), &json!("\nYes"))
        );
        let other = found("<|end|>");
        assert_eq!(
            (
                &other[0]["kind"],
                other[0]["words"].as_str().unwrap().contains("<|im_end|>")
            ),
            (&json!("end"), true)
        );
    }
}
