//! Values as Python has them, and their operations: texts, numbers, lists, maps, how they print,
//! how they are formatted.

pub mod chars;
pub mod from_json;
pub mod grown;
pub mod memo;
pub mod namespace;
pub mod numbers;
pub mod objects;
pub mod ops;
pub mod printf;
pub mod pydict;
pub mod pyobject;
pub mod pyrepr;
pub mod pystr;
pub mod scalar;
pub mod spec;
pub mod strftime;
pub mod strings;
