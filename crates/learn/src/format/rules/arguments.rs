//! Arguments that are written one by one, as models write them beside the template's way.

use super::super::builder::FormatBuilder;
use super::super::glue::glue;
use super::super::sites::{Arguments, Tags, tag};
use super::table::{Rule, Way};
use chatparse_peg::ExprId;

sites! {
    /// An argument that the schema lists, or what is in its place.
    ARGUMENT("argument"): (&Arguments) = {
        argument_opened_again,
    }
    /// What opens an argument.
    ARGUMENT_OPEN("argument"): (&Arguments) = {
        argument_open_left_out,
        call_opens_argument,
    }
    /// What ends the name of an argument.
    NAME_OF_ARGUMENT_CLOSE("argument"): (&Tags) = {
        name_end_left_out,
    }
    /// After the name of an argument.
    NAME_OF_ARGUMENT_CLOSED("argument"): (&Tags) = {
        name_closed_again,
    }
    /// What opens a value: the template's text for it.
    VALUE_OPEN("argument"): (&Tags, ExprId) = {
        name_closed_as_value,
        value_open_left_out,
    }
    /// A raw text after what may end it.
    TEXT("value"): (&Arguments, &[String], ExprId) = {
        text_goes_on,
    }
    /// A raw text where a literal of Python may be.
    TEXT_BEGIN("value"): (&FormatBuilder, &[String], ExprId) = {
        text_begins_as_end,
    }
}

/// The opening twice. Not a part of each argument: they begin with fixed texts.
fn argument_opened_again(all: &Arguments) -> Way {
    let p = all.p;
    let tag = tag(&all.members.next).filter(|_| all.members.in_front_of_each())?;
    let again = p.and(p.sequence([p.space(), p.marker(tag)]));
    Some(p.sequence([p.space(), p.marker(tag), again]))
}

/// No opening, where a marker after the name makes it certain.
fn argument_open_left_out(all: &Arguments) -> Way {
    all.call_open.map(|_| all.p.empty())
}

/// The opening of a call in place of an argument's.
fn call_opens_argument(all: &Arguments) -> Way {
    let open = all.call_open.filter(|open| !open.is_blank())?;
    Some(glue(all.p, open, Some(all.tool), ""))
}

/// No tag after the name: the value's opening ends it.
fn name_end_left_out(tags: &Tags) -> Way {
    let (p, _) = (tags.p, tags.name_close?);
    Some(p.and(p.sequence([p.space(), p.marker(tags.value_open?)])))
}

/// The tag after the name, again.
fn name_closed_again(tags: &Tags) -> Way {
    let (p, tag) = (tags.p, tags.name_close?);
    Some(p.shared(&format!("again {tag}"), || p.many(p.sequence([p.space(), p.marker(tag)]))))
}

/// The end of a value after the name, before the value's opening.
fn name_closed_as_value(tags: &Tags, open: ExprId) -> Way {
    let (p, _) = (tags.p, tags.value_open?);
    Some(p.sequence([p.space(), p.marker(tags.value_close?), open]))
}

/// No opening of the value.
fn value_open_left_out(tags: &Tags, _: ExprId) -> Way {
    let (p, _) = (tags.p, tags.value_open?);
    let no_name = tags.next.map_or_else(|| p.empty(), |next| p.not(p.marker(next)));
    Some(p.sequence([p.space(), no_name]))
}

/// A raw text goes on after what ends it, where nothing follows that may be after an argument.
fn text_goes_on(all: &Arguments, ends: &[String], close: ExprId) -> Way {
    let p = all.p;
    let end = p.and(p.any_of(ends));
    let inner = p.sequence([end, p.not(p.sequence([close, all.after()])), p.any()]);
    Some(p.many(p.sequence([inner, p.until_marker(ends)])))
}

/// A raw text begins with the first sign of what ends it.
fn text_begins_as_end(p: &FormatBuilder, ends: &[String], text: ExprId) -> Way {
    Some(p.sequence([p.not(p.any_of(ends)), p.not(p.quote()), p.any(), text]))
}
