//! Grammars that are read: as a tree, what follows for all rules, and which texts they allow.

pub(crate) mod circles;
pub(crate) mod dead;
pub(crate) mod fixpoint;
pub(crate) mod gbnf;
pub(crate) mod repetition;
pub(crate) mod sample;
pub(crate) mod tree;
