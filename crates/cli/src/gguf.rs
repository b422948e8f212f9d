//! The metadata of a model in GGUF: its templates, special tokens and end tokens.

use std::io::{self, ErrorKind, Read, Write};

use serde_json::{Map, Value, json};

const STRING: u32 = 8;
const ARRAY: u32 = 9;
/// Sizes of the other types, by their number.
const SIZES: [u64; 13] = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
/// The types of tokens that no text gives: control tokens, and what a maker added.
const SPECIAL: [u64; 2] = [3, 4];

/// Reads the metadata after the first four bytes, `GGUF`, as the fields of a
/// `tokenizer_config.json`, and `ends`, the texts of all tokens that end an output.
pub fn config(input: &mut dyn Read) -> io::Result<Value> {
    let mut last = "GGUF".to_owned();
    fields(input, &mut last).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => invalid(format!("the file is cut off, after {last:?}")),
        _ => error,
    })
}

/// The same; `last` is the key that was read last.
fn fields(input: &mut dyn Read, last: &mut String) -> io::Result<Value> {
    let version = number(input, 4)?;
    if !(2..=3).contains(&version) {
        return Err(invalid(format!("GGUF of version {version}, not 2 or 3")));
    }
    let (_tensors, count) = (number(input, 8)?, number(input, 8)?);
    let (mut tokens, mut types, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let mut templates = Vec::new();
    for _ in 0..count {
        *last = string(input)?;
        let kind = number(input, 4)? as u32;
        let key = last.strip_prefix("tokenizer.").unwrap_or_default();
        match (key, kind) {
            ("ggml.tokens", ARRAY) => tokens = array(input, string)?,
            ("ggml.token_type", ARRAY) => types = array(input, |input| number(input, 4))?,
            (_, STRING) if key == "chat_template" || key.starts_with("chat_template.") => {
                let name = key.strip_prefix("chat_template.").unwrap_or("default");
                templates.push(json!({"name": name, "template": string(input)?}));
            }
            (_, 4 | 5) => {
                let id = number(input, 4)?;
                if let Some(name) = key
                    .strip_prefix("ggml.")
                    .and_then(|key| key.strip_suffix("_token_id"))
                {
                    ids.push((name.to_owned(), id));
                }
            }
            _ => skip(input, kind)?,
        }
    }
    if templates.is_empty() {
        return Err(invalid("there is no tokenizer.chat_template in it".into()));
    }
    let mut fields = json!({"chat_template": templates});
    add_tokens(&mut fields, &tokens, &types, &ids);
    Ok(fields)
}

/// Adds the tokens that begin and end texts, and the special ones.
fn add_tokens(fields: &mut Value, tokens: &[String], types: &[u64], ids: &[(String, u64)]) {
    let mut ends = Vec::new();
    for (name, id) in ids {
        let Some(text) = usize::try_from(*id).ok().and_then(|id| tokens.get(id)) else {
            continue;
        };
        let text = Value::from(&**text);
        match &**name {
            "bos" | "eos" => fields[format!("{name}_token")] = text,
            "eot" | "eom" => ends.push(text),
            _ => {}
        }
    }
    fields["ends"] = ends.into();
    let mut special = Map::new();
    for (id, (token, kind)) in tokens.iter().zip(types).enumerate() {
        if SPECIAL.contains(kind) {
            special.insert(id.to_string(), json!({"content": token}));
        }
    }
    fields["added_tokens_decoder"] = special.into();
}

fn invalid(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// A little-endian number of this many bytes.
fn number(input: &mut dyn Read, size: usize) -> io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes[..size])?;
    Ok(u64::from_le_bytes(bytes))
}

/// A string with its length before it. No more is allocated than the file has.
fn string(input: &mut dyn Read) -> io::Result<String> {
    let (size, mut bytes) = (number(input, 8)?, Vec::new());
    pass(input, size, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The elements of an array, after its own type. An end of the file ends it.
fn array<T>(
    input: &mut dyn Read,
    element: impl Fn(&mut dyn Read) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    let (_kind, count) = (number(input, 4)?, number(input, 8)?);
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(element(input)?);
    }
    Ok(all)
}

fn skip(input: &mut dyn Read, kind: u32) -> io::Result<()> {
    let (element, count) = match kind {
        ARRAY => (number(input, 4)? as u32, number(input, 8)?),
        _ => (kind, 1),
    };
    if element == STRING {
        for _ in 0..count {
            let size = number(input, 8)?;
            pass(input, size, &mut io::sink())?;
        }
        return Ok(());
    }
    match SIZES.get(element as usize) {
        Some(size @ 1..) => pass(input, size.saturating_mul(count), &mut io::sink()),
        _ => Err(invalid(format!(
            "a value of type {element}, which this reader does not know"
        ))),
    }
}

fn pass(input: &mut dyn Read, size: u64, out: &mut dyn Write) -> io::Result<()> {
    match io::copy(&mut input.take(size), out)? {
        passed if passed == size => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    fn pair(key: &str, kind: u32, value: Vec<u8>) -> Vec<u8> {
        [text(key), kind.to_le_bytes().to_vec(), value].concat()
    }

    fn list(kind: u32, elements: &[Vec<u8>]) -> Vec<u8> {
        let count = (elements.len() as u64).to_le_bytes();
        [&kind.to_le_bytes()[..], &count, &elements.concat()].concat()
    }

    fn file(pairs: &[Vec<u8>]) -> Vec<u8> {
        let head = [
            &3u32.to_le_bytes()[..],
            &0u64.to_le_bytes(),
            &(pairs.len() as u64).to_le_bytes(),
        ];
        [head.concat(), pairs.concat()].concat()
    }

    #[test]
    fn metadata_is_a_config() {
        let tokens = ["<s>", "a", "<|end|>", "<|eot|>"].map(text);
        let types = [3u32, 1, 3, 4].map(|kind| kind.to_le_bytes().to_vec());
        let whole = file(&[
            pair("general.name", STRING, text("A model")),
            pair("model.scale", 6, vec![0; 4]),
            pair("tokenizer.ggml.tokens", ARRAY, list(STRING, &tokens)),
            pair(
                "tokenizer.ggml.scores",
                ARRAY,
                list(6, &[vec![0; 4], vec![0; 4]]),
            ),
            pair("tokenizer.ggml.token_type", ARRAY, list(5, &types)),
            pair(
                "tokenizer.ggml.eos_token_id",
                4,
                2u32.to_le_bytes().to_vec(),
            ),
            pair(
                "tokenizer.ggml.eot_token_id",
                4,
                3u32.to_le_bytes().to_vec(),
            ),
            pair("tokenizer.chat_template", STRING, text("{{ messages }}")),
        ]);
        let special = json!({"0": {"content": "<s>"}, "2": {"content": "<|end|>"}, "3": {"content": "<|eot|>"}});
        let expected = json!({"chat_template": [{"name": "default", "template": "{{ messages }}"}], "eos_token": "<|end|>", "ends": ["<|eot|>"], "added_tokens_decoder": special});
        assert_eq!(config(&mut &*whole).unwrap(), expected);
        for end in 0..whole.len() {
            let error = config(&mut &whole[..end]).unwrap_err().to_string();
            assert!(error.starts_with("the file is cut off, after "), "{end}");
        }
        let error = config(&mut &whole[..whole.len() - 1]).unwrap_err();
        assert!(error.to_string().ends_with("\"tokenizer.chat_template\""));
    }

    #[test]
    fn lengths_that_are_not_true_are_errors() {
        let long = [&u64::MAX.to_le_bytes()[..], b"short"].concat();
        let many = [&STRING.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
        for value in [
            pair("tokenizer.chat_template", STRING, long.clone()),
            pair("x", STRING, long),
        ] {
            assert!(config(&mut &*file(&[value])).is_err());
        }
        for key in ["tokenizer.ggml.tokens", "x"] {
            assert!(config(&mut &*file(&[pair(key, ARRAY, many.clone())])).is_err());
        }
        let nested = list(ARRAY, &[vec![]]);
        assert!(config(&mut &*file(&[pair("x", ARRAY, nested)])).is_err());
    }
}
