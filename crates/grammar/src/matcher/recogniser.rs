//! Checks whether a grammar allows a text.

use crate::matcher::{Matcher, Source};
use crate::rules::Grammar;
use crate::text::Tree;
use crate::text::gbnf;
use chatparse_base::{Result, stack};
use smol_str::SmolStr;

/// A grammar that texts can be checked against. Reads GBNF like llama.cpp and rejects what it
/// rejects.
#[derive(Debug)]
pub struct Recogniser {
    pub(crate) tree: Tree,
    matcher: Matcher,
}

impl Recogniser {
    /// Reads a grammar. Errors name the line.
    pub fn new(grammar: &str) -> Result<Recogniser> {
        // The tree nests as deep as the grammar's groups do.
        stack::deep(|| {
            let tree = gbnf::tree(grammar)?;
            let matcher = Matcher::of(&tree, Source::new(&Grammar::written(grammar), None))?;
            Ok(Recogniser { tree, matcher })
        })
    }

    /// Whether the grammar allows this text. A text that takes too many steps to check counts as
    /// not allowed.
    pub fn accepts(&self, text: &str) -> bool {
        let mut matcher = self.matcher.clone();
        matcher
            .feed(text.as_bytes())
            .is_ok_and(|taken| taken == text.len())
            && matcher.may_end()
    }

    /// Whether this text is the beginning of one that the grammar allows. One that takes too many
    /// steps to check counts as none.
    pub fn prefix(&self, text: &str) -> bool {
        self.matcher.can(text.as_bytes())
    }

    /// The length in bytes of the longest beginning of the text that also begins a text that the
    /// grammar allows.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`] if the text takes too many steps to check.
    pub fn reach(&self, text: &str) -> Result<usize> {
        let taken = self.matcher.clone().feed(text.as_bytes())?;
        Ok((0..=taken)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0))
    }

    /// A rule that is nothing but the empty text, or can repeat it: an engine may go round such a
    /// rule for ever.
    pub fn vain(&self) -> Option<&str> {
        self.tree.vain().map(SmolStr::as_str)
    }

    /// The grammar as a machine that is fed bytes.
    pub fn matcher(&self) -> Matcher {
        self.matcher.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(grammar: &str, yes: &[&str], no: &[&str]) {
        let recogniser = Recogniser::new(grammar).unwrap();
        for text in yes {
            assert!(recogniser.accepts(text), "{grammar}: {text:?}");
            assert!(recogniser.prefix(text), "{grammar}: {text:?}");
        }
        for text in no {
            assert!(!recogniser.accepts(text), "{grammar}: {text:?}");
        }
    }

    #[test]
    fn texts() {
        verdicts(
            "root ::= \"a\"* b{2,3}\nb ::= [x-z\\]] # a class",
            &["xx", "aaz]x"],
            &["", "a", "ax", "axxxx"],
        );
        verdicts(
            "root ::= ( \"a\" |\n  .\n  \"b\" )? \"\\x41\" |",
            &["", "A", "aA", "bbA", "\u{e9}bA"],
            &["a", "bA"],
        );
        verdicts(
            "root ::= \"(\" root \")\" root |",
            &["", "()", "(())()"],
            &["(", "())"],
        );
        verdicts(
            "root ::= e e \"x\" e\ne ::= \"y\"?",
            &["x", "yyx", "yxy"],
            &["yyy", "xyy"],
        );
        verdicts(
            "root ::= a | b\na ::= [a-z] a | [a-z]\nb ::= \"ab\" b | \"c\"",
            &["abc", "c", "abab"],
            &["", "A"],
        );
        let recogniser = Recogniser::new("root ::= \"abc\"").unwrap();
        assert!(recogniser.prefix("ab") && !recogniser.accepts("ab") && !recogniser.prefix("b"));
    }

    #[test]
    fn refusals_as_in_llama_cpp() {
        for (grammar, part) in [
            ("root ::= a", "\"a\" is used but not defined"),
            ("a ::= \"x\"", "no rule \"root\""),
            ("root ::= root \"x\" |", "begins with itself"),
            ("root ::= e root\ne ::= \"x\" |", "begins with itself"),
            ("root ::= (\"x\" |)*", "begins with itself"),
            ("root ::= \"x\"{2001}", "more than 2000 repetitions"),
            ("root ::= (\"x\"? \"y\"?){1000}", "unrolls to more"),
            ("root ::= *", "nothing to repeat"),
            ("root ::= \"x", "ends inside"),
            ("root ::= \"\\d\"", "no escape \\d"),
            ("root ::= (\"x\"", "expected \")\""),
            ("root ::= \"x\"\nb = c", "line 2"),
            ("root ::= \"x\"{3,2}", "above the upper"),
        ] {
            let error = Recogniser::new(grammar).unwrap_err().to_string();
            assert!(error.contains(part), "{grammar}: {error}");
        }
        assert!(Recogniser::new("root ::= \"x\"{0,5000}").is_ok());
    }

    #[test]
    fn what_llama_cpp_takes_though_it_goes_in_circles() {
        verdicts(
            "root ::= (\"a\"? \"b\"?)+",
            &["", "a", "ba", "abba"],
            &["c", "ac"],
        );
        verdicts("root ::= e root\ne ::= \"x\"?", &[], &["", "x"]);
        verdicts(
            "root ::= e root | \"y\"\ne ::= \"x\"?",
            &["y", "xxy"],
            &["", "x", "yx"],
        );
        verdicts(
            "root ::= \"<\" (e e)* \">\"\ne ::= f\nf ::= \"x\"{0,2} \"y\"?",
            &["<>", "<xxyxy>"],
            &["<", "<yz>"],
        );
    }

    #[test]
    fn long_texts_take_linear_time() {
        let grammar = "root ::= s0\ns0 ::= | [^<] s0 | \"<\" s1\ns1 ::= | [^<e] s0 | \"<\" s1";
        let recogniser = Recogniser::new(grammar).unwrap();
        assert!(recogniser.accepts(&"text <b ".repeat(4_000)));
        assert!(!recogniser.accepts(&"text <e ".repeat(4_000)));
    }
}
