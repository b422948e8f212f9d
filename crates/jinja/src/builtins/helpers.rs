//! Jinja's helpers. Few templates use them, but some check for them to tell Jinja2 from other engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use minijinja::value::{Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind, State};

use crate::budget::{charge, charge_container, check_text};
use crate::builtins::args::Args;
use crate::python::pyobject::List;
use crate::python::pystr;

/// `cycler(...)`: returns its items in turn, repeatedly.
#[derive(Debug)]
struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

/// Makes a cycler. Lists are not accepted, because a cycler could be put into its own list.
pub(crate) fn cycler(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let items = Args::new(args)?.positional().to_vec();
    if items.is_empty() || items.iter().any(|item| item.as_object().is_some()) {
        return Err(Error::new(ErrorKind::InvalidOperation, "a cycler needs texts or numbers"));
    }
    charge_container(items.len())?;
    Ok(Value::from_object(Cycler { items, at: AtomicUsize::new(0) }))
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let at = self.at.load(Ordering::Relaxed);
        match key.as_str()? {
            "current" => self.items.get(at).cloned(),
            "pos" => Some(Value::from(at)),
            "items" => List::tuple(self.items.clone()).ok(),
            _ => None,
        }
    }

    fn call_method(self: &Arc<Self>, _: &mut State, name: &str, _: &[Value]) -> Result<Value, Error> {
        let at = self.at.load(Ordering::Relaxed);
        let (next, result) = match name {
            "next" => ((at + 1) % self.items.len(), self.items[at].clone()),
            "reset" => (0, Value::from(())),
            _ => return Err(Error::from(ErrorKind::UnknownMethod)),
        };
        self.at.store(next, Ordering::Relaxed);
        Ok(result)
    }
}

/// `joiner(sep)`: returns an empty text on the first call, then its separator.
#[derive(Debug)]
struct Joiner {
    separator: String,
    used: AtomicBool,
}

/// Makes a joiner.
pub(crate) fn joiner(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let separator = Args::new(args)?.text(0, "sep")?.unwrap_or(", ".into()).into_owned();
    charge_container(0)?;
    charge(separator.len())?;
    Ok(Value::from_object(Joiner { separator, used: AtomicBool::new(false) }))
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State, _: &[Value]) -> Result<Value, Error> {
        charge(self.separator.len())?;
        Ok(Value::from(if self.used.swap(true, Ordering::Relaxed) { &self.separator } else { "" }))
    }
}

/// The words of filler text.
const WORDS: &str =
    "alba bene caelum deinde eo fluvius gratia herba ita luna mare nox ora pax quies ripa semper terra umbra ventus";

/// `lipsum(n, html, min, max)`: paragraphs of filler text, always the same.
pub(crate) fn lipsum(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let args = Args::new(args)?;
    let count = |index, name, usual: usize| {
        let given = args.integer(index, name)?;
        Ok::<_, Error>(given.map_or(usual, |count| usize::try_from(count).unwrap_or(0)))
    };
    let (paragraphs, least, most) = (count(0, "n", 5)?, count(2, "min", 20)?, count(3, "max", 100)?);
    let html = args.get(1, "html");
    let html = html.is_undefined() || html.is_true();
    let words: Vec<&str> = WORDS.split(' ').collect();
    // Words have at most seven letters.
    let bytes = paragraphs.saturating_mul(most.max(least).saturating_mul(8).saturating_add(10));
    check_text(bytes)?;
    charge(bytes)?;
    let length = usize::midpoint(least, most.max(least));
    let paragraph = |number: usize| {
        let all: Vec<&str> = (0..length).map(|at| words[(at * 7 + number * 3) % words.len()]).collect();
        let mut text = pystr::capitalize(&all.join(" ")) + ".";
        if html {
            text = format!("<p>{text}</p>");
        }
        text
    };
    Ok(Value::from((0..paragraphs).map(paragraph).collect::<Vec<_>>().join(if html { "\n" } else { "\n\n" })))
}
