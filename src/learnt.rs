//! What was learnt of how a template writes, and what showed it, as the library holds it: for the
//! command line. Others have [`ChatTemplate::report`](crate::ChatTemplate::report).

pub use chatparse_learn::analysis::turn::TurnFormat;
pub use chatparse_learn::analysis::{Comparison, Evidence, Layout};
