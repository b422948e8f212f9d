//! Which fields of a request are known: slips of the pen, and fields that change what a model sees.

use super::REASONING;
use super::fields::Fields;
use chatparse_base::Result;

/// Fields that change what a model sees, in a way that is not known here.
const SEEN_BY_MODELS: &[(&str, &str)] = &[
    ("documents", "only plain requests show them; others have chat_template_kwargs"),
    ("functions", "is not read; use tools"),
    ("function_call", "is not read; use tool_choice"),
    ("reasoning", "is not read; use reasoning_effort or enable_thinking"),
    ("web_search_options", "nothing can search here; the host may offer a tool for it"),
    ("chat_template", "the template is the host's"),
    ("system", "is not read; the first of messages has the role system"),
    ("safe_prompt", "is not read; the host may send what it says as a system message"),
    ("enable_search", "nothing can search here; the host may offer a tool for it"),
    ("mcp_servers", "nothing can reach other servers here; send their tools, with the server as their namespace"),
];

/// Checks that no field of a body is a typo of one of `known`, or changes what the model sees in a way that is not
/// known here.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] that names the field.
pub fn known_fields(body: &Fields, known: &[&[&'static str]]) -> Result<()> {
    no_slips(body, known)?;
    let is_known = |name: &str| known.iter().any(|names| names.contains(&name));
    match SEEN_BY_MODELS.iter().find(|(name, _)| !is_known(name) && body.get(name).is_some()) {
        Some((name, why)) => Err(body.refuse(name, why)),
        None => Ok(()),
    }
}

/// Checks that no field is a typo of one of `known`.
///
/// # Errors
/// [`crate::ErrorKind::InvalidArgument`] that names both.
pub(super) fn no_slips(fields: &Fields, known: &[&[&'static str]]) -> Result<()> {
    let slip = |name: &String| Some((name.clone(), meant(name, known)?));
    match fields.map.keys().find_map(slip) {
        Some((name, meant)) => Err(fields.refuse(&name, &format!("there is no such field; did you mean {meant}?"))),
        None => Ok(()),
    }
}

/// The field that the unknown name `name` most likely means: it differs in case, in `-` and `_`, in the order of two
/// neighbours, or, unless the field is short, in one letter.
fn meant(name: &str, known: &[&[&'static str]]) -> Option<&'static str> {
    const LONG: usize = 6;
    let is_named = |names: &[&str]| names.contains(&name);
    if known.iter().any(|names| is_named(names))
        || is_named(&REASONING)
        || SEEN_BY_MODELS.iter().any(|(seen, _)| *seen == name)
    {
        return None;
    }
    let is_near = |option: &&str| {
        let (given, known): (Vec<u8>, Vec<u8>) = (letters(name).collect(), letters(option).collect());
        let most = given.len().max(known.len());
        if given.len().abs_diff(known.len()) > 1 {
            return false;
        }
        let start = given.iter().zip(&known).take_while(|(a, b)| a == b).count();
        let end = given[start..].iter().rev().zip(known[start..].iter().rev()).take_while(|(a, b)| a == b).count();
        match most - start - end {
            0 => true,
            1 => known.len() >= LONG,
            2 => given.len() == known.len() && given[start] == known[start + 1] && given[start + 1] == known[start],
            _ => false,
        }
    };
    known.iter().copied().flatten().copied().find(is_near)
}

/// In lower case, without `-` and `_`.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|c| !matches!(c, b'-' | b'_')).map(|c| c.to_ascii_lowercase())
}
