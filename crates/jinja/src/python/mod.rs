//! Values as Python has them, and their operations: texts, numbers, lists, maps, how they print, how they are formatted.

pub(crate) mod chars;
pub(crate) mod from_json;
pub(crate) mod grown;
pub(crate) mod memo;
pub(crate) mod namespace;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod ops;
pub(crate) mod printf;
pub(crate) mod pydict;
pub(crate) mod pyobject;
pub(crate) mod pyrepr;
pub(crate) mod pystr;
pub(crate) mod scalar;
pub(crate) mod spec;
pub(crate) mod strftime;
pub(crate) mod strings;
