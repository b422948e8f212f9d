//! Cases: each turns any bytes into one input of one way in, and checks what must hold of it.

pub mod bodies;
pub mod choices;
pub mod feed;
mod known;
pub mod operands;
pub mod parser;
pub mod request;
pub mod response;
pub mod schema;
#[path = "../../support/shown.rs"]
mod shown;
pub mod template;
