//! Operands: values with attributes, subscripts and calls; literals; arguments.

use super::{Height, Rewrite, Rewriter, Stop, above, is_short};
use crate::builtins::methods;
use crate::source::rewrite::token::Token;

impl Rewriter<'_> {
    /// A value with attributes, subscripts and calls.
    pub fn postfix(&mut self) -> Height {
        let start = self.out.len();
        // The engine loops over the argument of `loop`, and compares the arguments of
        // `loop.changed`.
        let mut reader = match self.peek() {
            Token::Name("loop") => "each",
            _ => "",
        };
        let mut height = self.primary()?;
        loop {
            height = match self.peek() {
                Token::Sign(".") => {
                    reader = match self.attribute(start)? {
                        "changed" => "read",
                        _ => "",
                    };
                    above(height, 0)?
                }
                Token::Sign("[") => above(height, self.subscript(start)?)?,
                Token::Sign("(") => above(height, self.arguments(reader)?)?,
                _ => return Ok(height),
            }
        }
    }

    /// `.name`. A method that is not called is looked up by a filter, because it takes precedence
    /// over a map's key. Returns the name.
    fn attribute(&mut self, start: usize) -> Rewrite<&str> {
        let dot = self.out.len();
        self.copy();
        match self.copy() {
            Token::Name(name) if methods::is_accessible(name) && !self.next_is("(") => {
                self.out.truncate(dot);
                self.wrap(start, "((", &format!(")|op.attr(\"{name}\"))"));
                Ok(name)
            }
            Token::Name(name) => Ok(name),
            Token::Literal => Ok(""),
            _ => Err(Stop::Syntax),
        }
    }

    fn subscript(&mut self, start: usize) -> Height {
        let bracket = self.out.len();
        self.copy();
        let inside = self.out.len();
        let mut bounds = [const { 0..0 }; 3];
        let (mut index, mut height) = (0, 0);
        loop {
            match self.peek() {
                Token::Sign("]") => break,
                Token::Sign(":") if index < 2 => {
                    self.skip();
                    index += 1;
                }
                _ if bounds[index].is_empty() => {
                    let from = self.out.len();
                    height = height.max(self.expression()?);
                    bounds[index] = from..self.out.len();
                }
                _ => return Err(Stop::Syntax),
            }
        }
        if index == 0 && bounds[0].is_empty() {
            // `a[]`: an empty subscript.
            self.skip();
            self.out.truncate(bracket);
            self.wrap(start, "((", ")|op.absent)");
            return Ok(height);
        }
        let constant = &self.out[bounds[0].clone()];
        if index == 0 && !constant.trim_start().starts_with('-') && is_short(constant) {
            self.copy();
            return Ok(height);
        }
        self.skip();
        let filter = if index == 0 {
            height = above(height, 0)?;
            format!(")|op.item({}))", &self.out[inside..])
        } else {
            let [from, to, step] = bounds.map(|bound| match bound.is_empty() {
                true => "none",
                false => &self.out[bound],
            });
            format!(")|op.slice({from}, {to}, {step}))")
        };
        self.out.truncate(bracket);
        self.wrap(start, "((", &filter);
        Ok(height)
    }

    fn primary(&mut self) -> Height {
        match self.peek() {
            Token::Name(_) => {
                self.copy();
                Ok(1)
            }
            // Adjacent strings are concatenated.
            Token::Literal => {
                while self.copy_if(Token::Literal) {}
                Ok(1)
            }
            Token::Sign("(") => self.parenthesis(),
            Token::Sign("[") => self.collection("]", "list", false),
            Token::Sign("{") => self.collection("}", "dict", true),
            _ => Err(Stop::Syntax),
        }
    }

    /// An expression in parentheses, or a tuple.
    fn parenthesis(&mut self) -> Height {
        let start = self.out.len();
        self.copy();
        let mut tuple = self.next_is(")");
        let mut height = 0;
        while !self.next_is(")") {
            height = height.max(self.expression()?);
            if !self.next_is(",") {
                break;
            }
            self.copy();
            tuple = true;
        }
        self.expect(")")?;
        if tuple {
            self.wrap(start, "(", "|op.tuple)");
        }
        above(above(height, 0)?, 0)
    }

    /// A list or a map, written as a tuple that a filter converts.
    fn collection(&mut self, close: &str, filter: &str, map: bool) -> Height {
        self.skip();
        self.out.push_str("((");
        let mut height = 0;
        while !self.next_is(close) {
            height = height.max(self.expression()?);
            self.out.push(',');
            if map {
                if !self.next_is(":") {
                    return Err(Stop::Syntax);
                }
                self.skip();
                height = height.max(self.expression()?);
                self.out.push(',');
            }
            if !self.next_is(",") {
                break;
            }
            self.skip();
        }
        if !self.next_is(close) {
            return Err(Stop::Syntax);
        }
        self.skip();
        self.out.extend([")|op.", filter, ")"]);
        above(above(height, 0)?, 0)
    }

    /// Arguments in parentheses. `reader`: the filter that counts each, or empty.
    pub fn arguments(&mut self, reader: &str) -> Height {
        self.expect("(")?;
        let mut height = 0;
        while !self.next_is(")") {
            if !self.copy_if(Token::Sign("**")) {
                self.copy_if(Token::Sign("*"));
            }
            let start = self.out.len();
            height = height.max(self.expression()?);
            if self.copy_if(Token::Sign("=")) {
                height = height.max(self.expression()?);
            } else if !reader.is_empty() {
                self.wrap(start, "(", &format!(")|op.{reader}"));
                height = above(height, 0)?;
            }
            if !self.copy_if(Token::Sign(",")) {
                break;
            }
        }
        self.expect(")")?;
        above(height, 0)
    }

    /// The parameters of a call block in parentheses, if it has any.
    pub fn parameters(&mut self) -> Rewrite {
        if self.copy_if(Token::Sign("(")) {
            self.assignments(|token| token == Token::Sign(")"))?;
            self.copy();
        }
        Ok(())
    }

    /// Names, some with values after `=`, up to a token that ends them.
    pub fn assignments(&mut self, is_end: fn(Token) -> bool) -> Rewrite {
        while !is_end(self.peek()) {
            if self.copy_if(Token::Sign("=")) {
                self.expression()?;
            } else {
                self.copy_unread()?;
            }
        }
        Ok(())
    }
}
