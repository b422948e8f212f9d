//! What is known of a template: what it accepts, who reads its model, what was learnt of how it writes, and what showed it.

pub use crate::reader::Reader;
pub use chatparse_jinja::Caps;
pub use chatparse_learn::analysis::turn::TurnFormat;
pub use chatparse_learn::analysis::{Analysis, Evidence, Source};
pub use chatparse_learn::format::Family;
