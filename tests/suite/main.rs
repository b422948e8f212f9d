//! What the library does, subject by subject. Programs of their own test what costs more or needs a
//! process to itself.

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/turns.rs"]
mod turns;

mod agreement;
mod analysis;
mod budget;
mod built;
mod cases;
mod demand;
mod dialects;
mod faithful;
mod families;
mod families_stay;
mod hostile;
mod jinja;
mod layouts;
mod learn_only;
mod limits;
mod lint;
mod marked;
mod matcher;
mod next;
mod next_loops;
mod origin;
mod parse;
mod parser;
mod peg;
mod plain;
mod proof;
mod recovery;
mod request;
mod response_template;
mod roles;
mod rules;
mod schema;
mod small_stacks;
mod sources;
mod standard_requests;
mod stream;
mod template;
mod valid;
mod valid_suite;
mod variables;
