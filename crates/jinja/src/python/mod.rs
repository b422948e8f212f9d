//! Python's texts and numbers.

pub mod chars;
pub mod numbers;
pub mod pyrepr;
pub mod pystr;
pub mod spec;
pub mod strftime;
