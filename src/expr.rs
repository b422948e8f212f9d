//! Formats of a host's own, which no template shows: what an output looks like, put together from
//! expressions.
//!
//! A [`Builder`] makes the expressions, and its [`Builder::finish`] the [`Arena`] that
//! [`Parser::new`](crate::Parser::new) compiles. A region with a [`Tag`] becomes a part of the
//! message; one with a label of the host's is a node of the [`Tree`] that
//! [`Parser::tree`](crate::Parser::tree) makes of a text. The same expressions give the grammar,
//! [`Parser::grammar`](crate::Parser::grammar).
//!
//! An [`ExprId`] is for the builder that made it. With another's, functions panic or take another
//! expression.
//!
//! ```
//! use chatparse::expr::{Builder, Tag};
//! use chatparse::{EndedBy, Parser, Stream};
//! let p = Builder::new();
//! let thought = p.sequence([p.literal("(("), p.tag(Tag::Reasoning, p.until("))")), p.literal("))")]);
//! let answer = p.tag(Tag::Content, p.rest());
//! let parser = Parser::new(p.finish(p.sequence([p.optional(thought), answer])), "")?;
//! let mut stream = Stream::new(&parser);
//! stream.feed(b"((It rains.))Take a coat.");
//! let message = stream.finish(EndedBy::Model).message;
//! assert_eq!((&*message.reasoning_content, &*message.content), ("It rains.", "Take a coat."));
//! # Ok::<(), chatparse::Error>(())
//! ```

pub use chatparse_format::{Tag, described_calls};
pub use chatparse_peg::{
    Arena, Builder, CharSet, ExprId, Literals, Node, Notation, Outcome, Parts, Region, SchemaRef,
    TagId, Tree,
};
