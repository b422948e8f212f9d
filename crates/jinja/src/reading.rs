//! Counts the texts and items that filters, functions, methods, comparisons and sorting read,
//! before they read them.

use minijinja::value::{Kwargs, Value};

use crate::budget::{COMPARED, ITEM, SEARCHED, charge_text, scan, spent, work};
use crate::fault::Result;
use crate::python::pyobject::{as_dict, as_list, as_text};

/// How a filter, a function or a method reads the texts that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// It passes them on.
    Nothing,
    /// It compares or copies them.
    Bytes,
    /// It searches the first text for the other texts.
    Search,
    /// It looks at each character.
    Characters,
    /// It changes each character.
    Letters,
}

/// Counts the texts among the arguments of a filter, a function or a method, the value itself
/// first, before the code that reads them runs. The code itself counts the items of lists and maps.
pub fn touch<'v>(args: impl Iterator<Item = &'v Value>, reads: Reads) -> Result<()> {
    for (index, arg) in args.enumerate() {
        let units = |text: &str| match reads {
            Reads::Nothing => 0,
            Reads::Bytes => text.len() / COMPARED,
            Reads::Search if index == 0 => text.len() / SEARCHED,
            // A text that is searched for is prepared byte by byte.
            Reads::Search | Reads::Characters => text.len(),
            Reads::Letters => text.len().saturating_mul(4),
        };
        if let Some(text) = as_text(arg) {
            work(units(text))?;
        } else if arg.is_kwargs() {
            let named = Kwargs::try_from(arg.clone())?;
            let texts = named
                .args()
                .filter_map(|name| named.peek::<Value>(name).ok());
            texts
                .filter_map(|value| as_text(&value).map(units))
                .try_for_each(work)?;
        }
    }
    Ok(())
}

/// Counts a value that is read with all that is in it, as often as it is in it.
pub fn read(value: &Value) -> Result<()> {
    if let Some(text) = as_text(value) {
        return scan(text.len());
    }
    if let Some(list) = as_list(value) {
        return list.look(|items| {
            work(items.len().saturating_mul(ITEM))?;
            items.iter().try_for_each(read)
        });
    }
    if let Some(dict) = as_dict(value) {
        return dict.look(|pairs| {
            work(pairs.len().saturating_mul(2 * ITEM))?;
            pairs
                .iter()
                .try_for_each(|(key, item)| read(key).and_then(|()| read(item)))
        });
    }
    Ok(())
}

/// Counts the comparison of two values.
pub fn compare(left: &Value, right: &Value) -> Result<()> {
    work(ITEM / 2)?;
    match (as_text(left), as_text(right)) {
        (Some(left), Some(right)) => scan(left.len().min(right.len())),
        (None, None) if left.as_object().is_some() && right.as_object().is_some() => {
            read(left).and_then(|()| read(right))
        }
        _ => Ok(()),
    }
}

/// Counts the sorting of values, which are compared by these keys.
pub fn sort<'k>(mut keys: impl Iterator<Item = &'k Value>) -> Result<()> {
    let (before, mut number) = (spent(), 0_usize);
    keys.try_for_each(|key| {
        number += 1;
        work(ITEM)?;
        read(key)
    })?;
    let once = spent().saturating_sub(before);
    let rounds = usize::BITS - number.leading_zeros();
    work(usize::try_from(once.saturating_mul(u64::from(rounds))).unwrap_or(usize::MAX))
}

/// Counts a value that was just built. Lists and maps count when they are made.
pub fn charge_value(value: &Value) -> Result<()> {
    as_text(value).map_or(Ok(()), |text| charge_text(text.len()))
}
