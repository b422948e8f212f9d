//! Calls as models write them beside the template's way.

use super::table::{Rule, Way};
use crate::builder::FormatBuilder;
use crate::calls::members::unlisted_name;
use crate::coverage;
use crate::glue::{announced_name, behind_json, heads, is_strong};
use crate::sites::{Call, End, keys, unannounced};
use chatparse_base::brackets::is_marker;
use chatparse_learn::analysis::turn::{CallForm, Glue, Members, Tail, TurnFormat};
use chatparse_peg::{ExprId, SchemaRef};

sites! {
    "call" {
        /// What opens a call.
        CALL_OPEN: (&FormatBuilder, &TurnFormat, &Glue) = {
            members_before_name,
            call_without_word,
            call_marker_left_out,
        }
        /// A call whose name the template writes twice: the text between the names, and the call
        /// from the second one on.
        NAMES: (&FormatBuilder, &Glue, ExprId) = {
            names_differ,
            members_before_second_name,
        }
        /// The same, from its opening on.
        NAME_ALONE: (&FormatBuilder, &Glue, ExprId) = {
            first_name_left_out,
        }
        /// A form of a call.
        CALL_FORM: (&Call, &CallForm) = {
            id_left_out,
        }
        /// An id between quotes.
        QUOTED_ID: (&FormatBuilder) = {
            id_in_single_quotes,
        }
        /// An id that calls begin with, between quotes.
        ID: (&FormatBuilder) = {
            id_as_number,
        }
        /// After such an id: the template's text there.
        AFTER_ID: (&Call, &Glue) = {
            members_after_id,
        }
        /// An id with the name in it.
        NAMED_ID: (&FormatBuilder, &str, &str) = {
            id_with_other_signs,
        }
        /// An id that is the last member of a call.
        LAST_ID: (&FormatBuilder) = {
            last_id_left_out,
        }
        /// Before an id that is a member of a call.
        BEFORE_ID: (&FormatBuilder, &str) = {
            members_before_id,
        }
        /// Such an id: what is after it.
        FIRST_ID: (ExprId) = {
            first_id_left_out,
        }
    }
    "name" {
        /// The name of a call.
        NAME: (&FormatBuilder, &str) = {
            name_again,
        }
        /// The tag that opens a call.
        CALL_TAG: (&Call, &str) = {
            empty_call_tag,
        }
        /// What is after a name, where nothing that all forms share is.
        NO_GLUE: (&Call, &[Tail]) = {
            argument_ends_name,
        }
        /// What is after a name and before the arguments of all forms; the quote that it begins
        /// with.
        NAME_CLOSE: (&Call, Option<char>) = {
            section_ends_name,
            single_quote_ends_name,
        }
        /// Looks ahead to what may be after a name.
        AFTER_NAME: (&Call, Option<&Members>) = {
            object_after_name,
            section_ends_later,
        }
    }
    "arguments" {
        /// The rest of a call after its name.
        ARGUMENTS: (&Call, &Tail, &Glue) = {
            arguments_left_out,
        }
        /// The text before arguments.
        BEFORE_ARGUMENTS: (&Call, &Glue) = {
            members_before_arguments,
        }
        /// Arguments one by one, after the text before all.
        MEMBERS: (&Call, &Glue) = {
            arguments_as_object,
        }
        /// Between arguments, and after the last.
        BETWEEN_ARGUMENTS: (&Call, &Members) = {
            argument_closed_again,
            tag_around_arguments,
        }
        /// After arguments that are one JSON object, in another.
        AFTER_ARGUMENTS: (&Call) = {
            members_after_arguments,
        }
    }
    "call-end" {
        /// The end of a call without arguments.
        NO_ARGUMENTS: (&Call) = {
            section_ends_call,
        }
        /// The end of a call: what it is, and the template's text for it.
        CALL_CLOSE: (&Call, &End, ExprId) = {
            call_in_object,
            brace_left_out,
            wrapper_ends_call,
            opening_ends_call,
            section_ends_arguments,
            opening_before_end,
            output_ends_call,
        }
        /// After the end of a call.
        CALL_CLOSED: (&FormatBuilder, &End) = {
            object_around_call,
        }
        /// The end of a call's wrapper.
        WRAPPER_CLOSE: (&Call) = {
            wrapper_end_left_out,
        }
        /// After the end of a call's wrapper.
        WRAPPER_CLOSED: (&FormatBuilder, &Glue) = {
            wrapper_closed_again,
        }
    }
}

/// A call that is a JSON object with more members before its name.
pub fn members_before_name(p: &FormatBuilder, turn: &TurnFormat, open: &Glue) -> Way {
    let names_first = turn.calls_begin_with_names();
    Some(p.atomic(members_in_object(p, open, &keys(turn, open)).filter(|_| names_first)?))
}

/// What opens an object, with more members before its first one.
fn members_in_object(p: &FormatBuilder, open: &Glue, keys: &str) -> Way {
    let text = open.literal().filter(|_| p.mends)?;
    let brace = text
        .rfind('{')
        .filter(|brace| text[brace + 1..].trim_start().starts_with('"'))?
        + 1;
    let (before, key) = (open.up_to(brace), open.without_start(brace).trim_start());
    let front = p.members_in_front(keys, false);
    Some(p.sequence([
        p.glue(&before),
        p.space(),
        p.tool_open(p.empty()),
        front,
        p.glue(&key),
    ]))
}

/// A call whose name the template writes twice, with more members before the second one.
fn members_before_second_name(p: &FormatBuilder, between: &Glue, call: ExprId) -> Way {
    let second = members_in_object(p, between, between.head())?;
    Some(p.sequence([p.atomic(p.sequence([announced_name(p), second])), call]))
}

/// A special token without the word that the template writes after it.
fn call_without_word(p: &FormatBuilder, _: &TurnFormat, open: &Glue) -> Way {
    Some(p.glue(&crate::glue::without_word(open)?))
}

/// The marker of each call is missing, where another marker is after what calls begin with.
fn call_marker_left_out(p: &FormatBuilder, turn: &TurnFormat, open: &Glue) -> Way {
    turn.marker_in_calls(open).map(|_| p.empty())
}

/// Two names that differ: the second one counts.
fn names_differ(p: &FormatBuilder, between: &Glue, call: ExprId) -> Way {
    Some(p.sequence([
        p.atomic(p.sequence([announced_name(p), p.glue(between)])),
        call,
    ]))
}

/// The first name is missing, or the name is written once.
fn first_name_left_out(p: &FormatBuilder, between: &Glue, call: ExprId) -> Way {
    let opens = [between.clone(), unannounced(between)]
        .into_iter()
        .filter(is_strong)
        .map(|open| p.glue(&open));
    Some(p.sequence([p.choice(opens), call]))
}

/// A call without its id and the marker before that.
fn id_left_out(call: &Call, form: &CallForm) -> Way {
    let form = form.without_id()?;
    let (head, tail) = form.at_name();
    Some(call.group(head, &[tail]))
}

/// An id between Python's quotes.
fn id_in_single_quotes(p: &FormatBuilder) -> Way {
    p.mends.then(|| p.single_quoted_id())
}

/// A number without the quotes of an id.
fn id_as_number(p: &FormatBuilder) -> Way {
    Some(p.tool_id(p.json_number()))
}

/// More members of a call after its id.
fn members_after_id(call: &Call, behind: &Glue) -> Way {
    let rest = behind.strip_prefix(&"\"".into())?;
    after_comma(call, &rest, |keys| call.p.members_in_front(keys, true))
}

/// Other signs around the name in an id, and no number.
fn id_with_other_signs(p: &FormatBuilder, before: &str, name: &str) -> Way {
    let word = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let sign = || p.optional(p.signs("_:."));
    let number = p.many(p.one_of(&[('0', '9')]));
    Some(p.tool_id(p.sequence([p.literal(word), sign(), p.tool_name(name), sign(), number])))
}

/// More members of a call before its id.
fn members_before_id(p: &FormatBuilder, key: &str) -> Way {
    p.mends.then(|| p.optional(p.members_in_front(key, false)))
}

/// A colon and the name once more, or a dot, where no offered name has one.
fn name_again(p: &FormatBuilder, name: &str) -> Way {
    let signs = [(':', ':'), ('.', '.')];
    let sign = p.one_of(&signs[..if p.plain_names { 2 } else { 1 }]);
    Some(p.optional(p.sequence([sign, p.literal(name)])))
}

/// A tag that closes itself is a call without arguments.
fn empty_call_tag(call: &Call, rest: &str) -> Way {
    let p = call.p;
    Some(p.atomic(p.tool_close(p.marker(rest))))
}

/// An argument of the schema without its opening: its name ends the tool's.
fn argument_ends_name(call: &Call, tails: &[Tail]) -> Way {
    let p = call.p;
    let members = tails
        .iter()
        .find_map(|tail| tail.pieces.first()?.members())?;
    let close = members.name_close()?;
    let open = Some(call.open).filter(|open| !open.is_blank() && !heads(open).is_empty());
    let name = p.late(|| {
        let listed = unlisted_name(
            p,
            &call.tool.name,
            &SchemaRef::from(p.parameters(call.tool)),
        );
        let known = !call.is_any() && listed != FormatBuilder::ANY;
        let open = open.map_or_else(|| p.empty(), |open| p.optional(p.glue(open)));
        known.then(|| p.sequence([p.space(), open, p.listed_name(&listed), p.marker(close)]))
    });
    name.map(|name| p.and(name))
}

/// Looks ahead to the end of all calls.
fn before_section_end(call: &Call) -> Way {
    Some(call.p.ahead(call.section_ends()?))
}

/// The end of all calls ends a name without arguments.
fn section_ends_name(call: &Call, quote: Option<char>) -> Way {
    let (p, end) = (
        call.p,
        before_section_end(call).filter(|_| quote.is_none())?,
    );
    let members = call.turn.members().next();
    Some(p.sequence([p.space(), call.extra_ends(members), end]))
}

/// A single quote of Python ends a name in place of JSON's.
fn single_quote_ends_name(call: &Call, quote: Option<char>) -> Way {
    (call.p.mends && quote == Some('"')).then(|| call.p.literal("'"))
}

/// The brace of an object in place of arguments one by one.
fn object_after_name(call: &Call, members: Option<&Members>) -> Way {
    members.map(|_| call.p.literal("{"))
}

/// The end of all calls, which ends a call that has no end of its own.
fn section_ends_later(call: &Call, _: Option<&Members>) -> Way {
    call.section_ends()
}

/// No arguments, where they are the only member besides the name.
fn arguments_left_out(call: &Call, tail: &Tail, close: &Glue) -> Way {
    let p = call.p;
    let end = tail
        .may_lack_arguments()
        .then(|| p.tool_close(behind_json(p, close, Some(call.tool))))?;
    Some(p.atomic(p.after_space(end)))
}

/// More members of a call before its arguments.
fn members_before_arguments(call: &Call, first: &Glue) -> Way {
    after_comma(call, first, |keys| call.p.other_members(keys, false))
}

/// More members after the comma that this text begins with.
fn after_comma(call: &Call, text: &Glue, members: impl FnOnce(&str) -> ExprId) -> Way {
    let (p, head) = (call.p, text.head());
    let rest = head.trim_start().strip_prefix(',').filter(|_| p.mends)?;
    let rest = text.without_start(head.len() - rest.trim_start().len());
    let members = members(&keys(call.turn, call.open));
    Some(p.after_space(p.sequence([p.spaced([p.literal(","), members]), call.glue(&rest)])))
}

/// All arguments as one JSON object. `before`: the text before all arguments.
fn arguments_as_object(call: &Call, before: &Glue) -> Way {
    let p = call.p;
    if before.head().trim_end().ends_with(['{', '(']) {
        return None;
    }
    let object = if call.is_any() {
        p.any_json_args()
    } else {
        p.json_args(call.tool)
    };
    Some(p.sequence([p.space(), p.and(p.literal("{")), object, p.space()]))
}

/// The end of an argument without its beginning.
fn argument_closed_again(call: &Call, members: &Members) -> Way {
    let end = Glue::common_start(members.slots.iter().map(|(_, slot)| &slot.close));
    let end = end.core();
    let mut others = [&call.turn.calls[0].close, call.wrapper_close].into_iter();
    let closes = others.any(|other| other.core().starts_with(end));
    (is_marker(end) && !closes).then(|| call.p.many(call.p.marker(end)))
}

/// A tag around all arguments that the template does not have.
fn tag_around_arguments(call: &Call, members: &Members) -> Way {
    let tags = ["arguments", "parameters"]
        .into_iter()
        .flat_map(|name| [format!("<{name}>"), format!("</{name}>")]);
    members
        .next
        .core()
        .starts_with('<')
        .then(|| call.p.many(call.p.any_of(tags)))
}

/// More members of a call after its arguments.
fn members_after_arguments(call: &Call) -> Way {
    Some(call.p.members_behind(&keys(call.turn, call.open)))
}

/// The end of all calls ends a call without arguments.
fn section_ends_call(call: &Call) -> Way {
    before_section_end(call)
}

/// The call is a member of another object, with more members.
fn call_in_object(call: &Call, end: &End, close: ExprId) -> Way {
    let p = call.p;
    if !end.is_brace || end.close.core() == "}" {
        return None;
    }
    let behind = p.members_behind(&keys(call.turn, call.open));
    Some(p.sequence([p.space(), p.literal("}"), p.space(), behind, close]))
}

/// The marker that ends the call without the brace before it.
fn brace_left_out(call: &Call, end: &End, _: ExprId) -> Way {
    let (p, rest) = (call.p, end.close.without_start(end.first_mark().start));
    let applies = !end.is_json && end.ends_arguments() && is_marker(rest.core());
    applies.then(|| p.after_space(call.glue(&rest)))
}

/// The end of an object whose member the call is.
fn object_around_call(p: &FormatBuilder, end: &End) -> Way {
    (end.is_brace && end.close.core() == "}").then(|| p.optional(p.atomic(p.outer_end())))
}

/// What closes the wrapper closes the call.
fn wrapper_ends_call(call: &Call, _: &End, _: ExprId) -> Way {
    let p = call.p;
    let end = heads(call.wrapper_close).pop()?;
    Some(p.ahead(p.marker(end)))
}

/// The next call's opening closes the call.
fn opening_ends_call(call: &Call, _: &End, _: ExprId) -> Way {
    let p = call.p;
    let open = Some(call.open).filter(|open| is_strong(open) && open.is_literal())?;
    Some(p.ahead(p.marker(open.core())))
}

/// The end of all calls closes the call.
fn section_ends_arguments(call: &Call, _: &End, _: ExprId) -> Way {
    before_section_end(call)
}

/// What opens reasoning, before the marker that ends the call.
fn opening_before_end(call: &Call, end: &End, _: ExprId) -> Way {
    let (p, braces) = (call.p, end.braces());
    let start = call
        .turn
        .reasoning
        .as_ref()
        .map(|thought| &*thought.start)
        .filter(|start| is_marker(start))?;
    let rest = end
        .close
        .strip_prefix(&braces)
        .filter(|rest| end.is_json && is_strong(rest))?;
    Some(p.sequence([
        behind_json(p, &braces, Some(call.tool)),
        p.marker(start),
        call.glue(&rest),
    ]))
}

/// The end of the output closes the last call.
fn output_ends_call(call: &Call, end: &End, _: ExprId) -> Way {
    let p = call.p;
    let braces = end.is_json && end.ends_arguments();
    let closed = braces.then(|| behind_json(p, &end.braces(), Some(call.tool)));
    let closed = p.choice(closed.into_iter().chain([p.empty()]));
    (end.ends_members || end.is_json).then(|| p.spaced([closed, p.end()]))
}

/// No end of the wrapper, before a call in the same wrapper or the end of the output.
fn wrapper_end_left_out(call: &Call) -> Way {
    let p = call.p;
    let inner = call.inner.map(|inner| p.and(p.glue(inner)));
    Some(p.after_space(p.choice([Some(p.end()), inner])))
}

/// The marker that closes the wrapper, once more.
fn wrapper_closed_again(p: &FormatBuilder, close: &Glue) -> Way {
    let close = close.core();
    is_marker(close).then(|| p.many(p.marker(close)))
}

/// No id, which is the first member of a call: what is after it.
fn first_id_left_out(after: ExprId) -> Way {
    Some(after)
}

/// No id, which is the last member of a call.
fn last_id_left_out(p: &FormatBuilder) -> Way {
    Some(p.empty())
}

/// The special token that is before each tag of calls whose arguments are tags.
pub fn tag_prefix(turn: &TurnFormat) -> Option<&str> {
    let open = turn.before_calls().min_by_key(|glue| glue.head().len())?;
    let text = open.head().trim_start();
    let (at, _) = text
        .match_indices('<')
        .find(|(at, _)| text[at + 1..].starts_with(char::is_alphabetic))?;
    let members = turn.members().next()?;
    let end = &members.slots.first()?.1.close;
    let tags = [
        open,
        &members.first,
        end,
        &members.next,
        end,
        &turn.calls[0].close,
    ]
    .map(Glue::head)
    .concat();
    (!tags
        .replace(&text[..=at], "")
        .replace(&text[..at], "")
        .contains('<'))
    .then_some(&text[..at])
}

/// The first tag after the name of a call, where a token is before each.
pub fn first_tags(p: &FormatBuilder, turn: &TurnFormat) -> Option<ExprId> {
    let members = turn.members().next().filter(|_| !p.prefix.is_empty())?;
    let (word, (_, slot)) = (coverage::any_word(p), members.slots.first()?);
    let argument = p.sequence([p.glue(&members.next), word, p.glue(&slot.open)]);
    Some(p.choice([argument, p.glue(&turn.calls[0].close)]))
}

/// Looks ahead: what is after the name of a call, which goes on with `rest`, is no tag of another
/// format.
pub fn no_other_tag(p: &FormatBuilder, turn: &TurnFormat, rest: &str) -> Option<ExprId> {
    let tags = first_tags(p, turn)?;
    Some(p.not(p.sequence([
        p.marker(rest),
        p.space(),
        p.and(p.literal("<")),
        p.not(tags),
    ])))
}
