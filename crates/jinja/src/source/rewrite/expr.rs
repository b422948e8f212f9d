//! Rewrites a Jinja expression: operators and literals that the engine evaluates unlike Python
//! become our filters and tests.
//!
//! `a ~ b` becomes `(a)|op.cat(b)`, and likewise `+`, `*`, slices, lists, tuples and maps; `a < b`
//! becomes `((a) is lt(b))`, and likewise `in`.
//! The rest is copied, white space and line breaks included. The grammar is Jinja's, with the
//! engine's precedence.

mod operand;

use std::ops::Range;

use super::token::{self, Token};
use chatparse_base::limits::{EXPRESSION_BRACKETS, EXPRESSION_HEIGHT};

/// The reason why an expression was not rewritten.
#[derive(Debug, PartialEq)]
pub enum Stop {
    /// It is not an expression; the engine reports it better.
    Syntax,
    /// It is nested too deeply.
    Depth,
}

/// The result of rewriting a part of a tag.
pub type Rewrite<T = ()> = Result<T, Stop>;

/// The height of an expression's tree.
type Height = Rewrite<usize>;

/// One more than the higher of two trees.
fn above(left: usize, right: usize) -> Height {
    let height = left.max(right) + 1;
    if height > EXPRESSION_HEIGHT {
        Err(Stop::Depth)
    } else {
        Ok(height)
    }
}

/// For a comparison operator: whether it is the `not` of `not in`, and the test that replaces it,
/// if any.
fn comparing(token: Token) -> Option<(bool, &'static str)> {
    Some(match token {
        Token::Sign("==" | "!=") => (false, ""),
        Token::Sign("<") => (false, "lt"),
        Token::Sign("<=") => (false, "le"),
        Token::Sign(">") => (false, "gt"),
        Token::Sign(">=") => (false, "ge"),
        Token::Name("in") => (false, "in"),
        Token::Name("not") => (true, "in"),
        _ => return None,
    })
}

/// Whether an operand, as it is written, is a short text, a number, a boolean or none.
fn is_short(operand: &str) -> bool {
    const SHORT: usize = 64;
    let operand = operand.trim();
    let operand = operand.strip_prefix('-').unwrap_or(operand);
    let (token, _, end) = token::next(operand, 0, "%}", true);
    let constant = matches!(
        token,
        Token::Literal | Token::Name("true" | "false" | "none" | "True" | "False" | "None")
    );
    constant && end == operand.len() && end <= SHORT
}

/// A prefix that makes a filter's name unknown to the engine.
pub const UNKNOWN: &str = "unknown.";

/// Reads the inside of a tag and appends its rewritten form to the output.
pub struct Rewriter<'s> {
    source: &'s str,
    pos: usize,
    end: &'static str,
    /// The number of open brackets: inside of them, `}}` closes two maps, not the tag.
    open: usize,
    depth: usize,
    /// Tokens that were copied without being parsed.
    unread: usize,
    /// The length of the longest name.
    pub longest_name: usize,
    pub out: String,
    /// The place of the last sum or concatenation in the output.
    pub joined: Range<usize>,
    /// The next token and its place, as returned by [`token::next`].
    ahead: (Token<'s>, usize, usize),
}

impl<'s> Rewriter<'s> {
    /// Starts at `pos` of `source`, in a tag that ends with `end` (`}}` or `%}`), and writes to the
    /// end of `out`.
    pub fn new(source: &'s str, pos: usize, end: &'static str, out: String) -> Self {
        let ahead = token::next(source, pos, end, false);
        Rewriter {
            source,
            pos,
            end,
            open: 0,
            depth: 0,
            unread: 0,
            longest_name: 0,
            out,
            joined: 0..0,
            ahead,
        }
    }

    /// The position of the next token's search.
    pub fn pos(&self) -> usize {
        self.pos
    }

    pub fn peek(&self) -> Token<'s> {
        self.ahead.0
    }

    /// Copies the next token and the white space before it.
    pub fn copy(&mut self) -> Token<'s> {
        self.pass(self.ahead.2)
    }

    /// Skips the next token, and keeps the white space before it.
    pub fn skip(&mut self) {
        self.pass(self.ahead.1);
    }

    /// Advances to the token after the next one, and copies the source up to `copied`.
    fn pass(&mut self, copied: usize) -> Token<'s> {
        let (token, _, end) = self.ahead;
        token.count_brackets(&mut self.open);
        if let Token::Name(name) = token {
            self.longest_name = self.longest_name.max(name.len());
        }
        self.out.push_str(&self.source[self.pos..copied]);
        self.pos = end;
        // The tag's end is the last token.
        if !matches!(token, Token::End(_)) {
            self.ahead = token::next(self.source, end, self.end, self.open > 0);
        }
        token
    }

    fn next_is(&self, sign: &str) -> bool {
        self.peek() == Token::Sign(sign)
    }

    pub fn copy_if(&mut self, token: Token) -> bool {
        let there = self.peek() == token;
        if there {
            self.copy();
        }
        there
    }

    pub fn expect(&mut self, sign: &str) -> Rewrite {
        if self.copy_if(Token::Sign(sign)) {
            Ok(())
        } else {
            Err(Stop::Syntax)
        }
    }

    /// Copies a token without parsing it. Such tokens count too, because the engine parses them.
    pub fn copy_unread(&mut self) -> Rewrite<Token<'s>> {
        self.unread += 1;
        match self.peek() {
            Token::None => Err(Stop::Syntax),
            _ if self.unread > EXPRESSION_HEIGHT => Err(Stop::Depth),
            _ => Ok(self.copy()),
        }
    }

    /// Copies everything up to the tag's end.
    pub fn copy_to_end(&mut self) -> Rewrite {
        while !matches!(self.peek(), Token::End(_)) {
            self.copy_unread()?;
        }
        Ok(())
    }

    /// Puts texts around the output from `start` on.
    pub fn wrap(&mut self, start: usize, before: &str, after: &str) {
        self.out.insert_str(start, before);
        self.out.push_str(after);
    }

    /// An expression, with ternaries.
    pub fn expression(&mut self) -> Height {
        self.depth += 1;
        if self.depth > EXPRESSION_BRACKETS {
            return Err(Stop::Depth);
        }
        let mut height = self.condition()?;
        while self.copy_if(Token::Name("if")) {
            height = above(height, self.condition()?)?;
            if self.copy_if(Token::Name("else")) {
                height = above(height, self.expression()?)?;
            }
        }
        self.depth -= 1;
        Ok(height)
    }

    /// An expression without ternaries, as loops have it.
    pub fn condition(&mut self) -> Height {
        let mut height = 0;
        loop {
            let mut negations = 0;
            while self.copy_if(Token::Name("not")) {
                negations = above(negations, 0)?;
            }
            height = above(height, self.comparison()? + negations)?;
            if !self.copy_if(Token::Name("and")) && !self.copy_if(Token::Name("or")) {
                return Ok(height);
            }
        }
    }

    fn comparison(&mut self) -> Height {
        let start = self.out.len();
        let mut height = self.sum()?;
        let mut first = true;
        while let Some((negated, test)) = comparing(self.peek()) {
            let left = start..self.out.len();
            self.copy();
            if negated && self.copy() != Token::Name("in") {
                return Err(Stop::Syntax);
            }
            let right = self.out.len();
            height = above(height, above(self.sum()?, 0)?)?;
            // The engine does chained comparisons.
            let chained = comparing(self.peek()).is_some();
            if test.is_empty() || chained || !first {
                self.count(right);
                if first && chained {
                    self.count_in(left);
                }
            } else {
                self.compare(left, right, negated, test);
            }
            first = false;
        }
        Ok(height)
    }

    /// Lets the operand that was written from `start` on count, because the engine compares it.
    /// Short constants do not.
    fn count(&mut self, start: usize) {
        if !is_short(&self.out[start..]) {
            self.wrap(start, "(", ")|op.read");
        }
    }

    fn count_in(&mut self, operand: Range<usize>) {
        let behind = self.out.split_off(operand.end);
        self.count(operand.start);
        self.out.push_str(&behind);
    }

    /// Replaces a comparison by a test, because the engine's differs from Python's.
    fn compare(&mut self, left: Range<usize>, right: usize, negated: bool, test: &str) {
        let other = self.out.split_off(right);
        // The sign between the operands goes.
        self.out.truncate(left.end);
        let not = if negated { ") is not " } else { ") is " };
        self.wrap(left.start, "((", not);
        self.out.extend([test, "(", &other, "))"]);
    }

    fn sum(&mut self) -> Height {
        let start = self.out.len();
        let mut height = self.concatenation()?;
        loop {
            height = self.terms(start, height, "+", ")|op.add(", Self::concatenation)?;
            if !self.copy_if(Token::Sign("-")) {
                return Ok(height);
            }
            height = above(height, self.concatenation()?)?;
        }
    }

    fn concatenation(&mut self) -> Height {
        let start = self.out.len();
        let height = self.product()?;
        self.terms(start, height, "~", ")|op.cat(", Self::product)
    }

    /// The terms after the one that `start` begins: all are arguments of one filter, so that long
    /// sums are not nested.
    fn terms(
        &mut self,
        start: usize,
        first: usize,
        sign: &str,
        filter: &str,
        term: fn(&mut Self) -> Height,
    ) -> Height {
        let (mut height, mut many) = (first, false);
        while self.next_is(sign) {
            self.skip();
            if many {
                self.out.push_str(", ");
            } else {
                self.wrap(start, "(", filter);
                height = above(height, 0)?;
            }
            height = height.max(above(term(self)?, 0)?);
            many = true;
        }
        if many {
            self.out.push(')');
            self.joined = start..self.out.len();
        }
        Ok(height)
    }

    fn product(&mut self) -> Height {
        let start = self.out.len();
        let mut height = self.power()?;
        loop {
            let filter = match self.peek() {
                Token::Sign("*") => ")|op.mul(",
                Token::Sign("%") => ")|op.mod(",
                Token::Sign("/" | "//") => {
                    self.copy();
                    height = above(height, self.power()?)?;
                    continue;
                }
                _ => return Ok(height),
            };
            self.skip();
            self.wrap(start, "(", filter);
            height = above(height, self.power()?)?;
            self.out.push(')');
        }
    }

    fn power(&mut self) -> Height {
        let mut height = self.unary()?;
        while self.copy_if(Token::Sign("**")) {
            height = above(height, self.unary()?)?;
        }
        Ok(height)
    }

    /// An operand with filters and tests.
    fn unary(&mut self) -> Height {
        let height = self.operand()?;
        self.filters(height)
    }

    /// The filters and tests of an operand.
    fn filters(&mut self, mut height: usize) -> Height {
        loop {
            if self.copy_if(Token::Sign("|")) {
                height = above(height, self.filter()?)?;
            } else if self.copy_if(Token::Name("is")) {
                self.copy_if(Token::Name("not"));
                self.filter_name()?;
                let arguments = match self.peek() {
                    Token::Sign("(") => self.arguments("")?,
                    Token::Name("and" | "or" | "else" | "is" | "if" | "in" | "not") => 0,
                    Token::Name(_) | Token::Literal | Token::Sign("-" | "[" | "{") => {
                        self.operand()?
                    }
                    _ => 0,
                };
                height = above(above(height, arguments)?, 0)?;
            } else {
                return Ok(height);
            }
        }
    }

    /// A filter's name and arguments.
    fn filter(&mut self) -> Height {
        self.filter_name()?;
        if self.next_is("(") {
            self.arguments("")
        } else {
            Ok(0)
        }
    }

    /// Filters separated by `|`, as in a filter block.
    pub fn filter_chain(&mut self) -> Height {
        let height = self.filter()?;
        self.filters(height)
    }

    /// The name of a filter or test. One with a dot is unknown, as only the pass's own have dots.
    fn filter_name(&mut self) -> Rewrite {
        let (before, mut parts) = (self.out.len(), 0);
        loop {
            let Token::Name(_) = self.copy() else {
                return Err(Stop::Syntax);
            };
            parts += 1;
            if !self.copy_if(Token::Sign(".")) {
                break;
            }
        }
        if parts > 1 {
            let start = self.out.len() - self.out[before..].trim_start().len();
            self.out.insert_str(start, UNKNOWN);
        }
        Ok(())
    }

    /// A value with its signs.
    fn operand(&mut self) -> Height {
        let (mut signs, mut minus) = (0, false);
        while let Token::Sign(sign @ ("-" | "+")) = self.peek() {
            self.skip();
            minus ^= sign == "-";
            signs = above(signs, 0)?;
        }
        // After the white space, because a sign at the start of a tag has another meaning.
        let start = self.out.len();
        let literal = self.peek() == Token::Literal;
        let height = self.postfix()?;
        match (signs, minus) {
            (0, _) => {}
            (1, true) if literal => self.out.insert(start, '-'),
            _ => self.wrap(start, "(", &format!(")|op.sign({minus})")),
        }
        above(height + signs, 0)
    }
}
