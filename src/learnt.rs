//! What is known of a template: what it accepts, who reads its model, what was learnt of how it writes, and what showed it.

pub use crate::analysis::turn::TurnFormat;
pub use crate::analysis::{Analysis, Evidence, Source};
pub use crate::format::Family;
pub use crate::reader::Reader;
pub use crate::template::Caps;
