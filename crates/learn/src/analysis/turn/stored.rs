//! Lists of a stored turn: no longer than any template shows, and kinds of values that are written
//! alike as one item.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use chatparse_base::limits::STORED_PARTS;

/// Reads a list of parts.
pub fn parts<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let parts = Vec::deserialize(from)?;
    if parts.len() <= STORED_PARTS {
        Ok(parts)
    } else {
        Err(D::Error::custom(format!("more than {STORED_PARTS} parts")))
    }
}

pub(super) mod slots {
    use serde::{Deserializer, Serializer};

    use super::super::{Slot, ValueKind};
    use super::{STORED_PARTS, parts};

    pub fn serialize<S: Serializer>(slots: &[(ValueKind, Slot)], to: S) -> Result<S::Ok, S::Error> {
        let alike = slots.chunk_by(|(_, one), (_, next)| one == next);
        to.collect_seq(alike.map(|alike| {
            (
                alike.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
                &alike[0].1,
            )
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(ValueKind, Slot)>, D::Error> {
        let rows: Vec<(Vec<ValueKind>, Slot)> = parts(from)?;
        Ok(rows
            .into_iter()
            .flat_map(|(kinds, slot)| kinds.into_iter().map(move |kind| (kind, slot.clone())))
            .take(STORED_PARTS)
            .collect())
    }
}
