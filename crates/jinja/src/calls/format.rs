//! `%` and `str.format`.

use minijinja::formatting::FormatStyle;

use super::args::{Call, path};
use crate::fault::{Made, fail};
use crate::python::spec;
use crate::text::{Buf, TEMPLATE, Text};
use crate::value::{Form, Value, escaped};

/// `text % values`.
pub fn printf(text: &Text, values: &Value) -> Made<Value> {
    let is_tuple = matches!(values, Value::List(list) if list.form != Form::List);
    let mut needs_all = is_tuple || !matches!(values, Value::List(_) | Value::Dict(_));
    let mut given = match values {
        Value::List(list) if is_tuple => list.items().clone(),
        value => vec![value.clone()],
    }
    .into_iter();
    let (mut out, mut start) = (Buf::default(), 0);
    while let Some(at) = text[start..].find('%').map(|at| start + at) {
        out.push_part(text, start..at);
        let rest = &text[at + 1..];
        let (name, rest) = match rest.strip_prefix('(') {
            Some(rest) => rest
                .split_once(')')
                .map(|(name, rest)| (Some(name), rest))
                .ok_or("a name has no end")?,
            None => (None, rest),
        };
        let len = rest
            .find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'h' | 'l' | 'L') || c == '%')
            .ok_or("format: the text ends behind %")?;
        let (flags, kind) = (
            rest[..len].trim_end_matches(['h', 'l', 'L']),
            rest[len..].chars().next().unwrap_or('s'),
        );
        // Sizes may be values, too.
        let mut flags = flags.to_owned();
        while flags.contains('*') {
            let size = given
                .next()
                .and_then(|size| size.int())
                .ok_or("format: * needs an integer")?;
            flags = flags.replacen('*', &size.to_string(), 1);
        }
        let flags = &*flags;
        start = text.len() - rest.len() + len + 1;
        if kind == '%' {
            out.push("%");
            continue;
        }
        let value = match (name, values) {
            (Some(name), Value::Dict(dict)) => {
                needs_all = false;
                dict.get(name)
            }
            (Some(_), _) => fail!("format: names need a map"),
            (None, _) => given.next(),
        };
        let value = value.ok_or("format: there are not enough values")?;
        // The value, laid out.
        match kind {
            's' if flags.is_empty() => value.print(&mut out),
            'r' if flags.is_empty() => value.repr(&mut out),
            's' | 'r' | 'a' => {
                let mut text = value.text();
                if kind != 's' {
                    let mut made = Buf::default();
                    value.repr(&mut made);
                    text = made.text();
                }
                if kind == 'a' && !text.is_ascii() {
                    let mut made = Buf::default();
                    escaped(&mut made, &text, |c, code| {
                        if !c.is_ascii() {
                            crate::python::pyrepr::escape(code, c);
                        }
                    });
                    text = made.text();
                }
                laid(
                    &mut out,
                    spec::text(FormatStyle::Printf, flags, &text),
                    &text,
                )?;
            }
            'c' => {
                let c = match &value {
                    Value::Text(text) if text.chars().count() == 1 => text.clone(),
                    value => match value.int().and_then(|code| char::from_u32(code as u32)) {
                        Some(c) => Text::of(&c.to_string(), value.whole()),
                        None => fail!("%c needs a character or its number"),
                    },
                };
                laid(&mut out, spec::text(FormatStyle::Printf, flags, &c), &c)?;
            }
            kind => {
                let kind = if matches!(kind, 'i' | 'u') { 'd' } else { kind };
                let number = match (kind, &value) {
                    ('d', Value::Float(number, _)) => Value::Int(*number as i128, TEMPLATE),
                    _ => value.clone(),
                };
                let made = spec::number(FormatStyle::Printf, flags, Some(kind), &number);
                out.push_from(&made?, value.whole(), 0);
            }
        }
    }
    if given.next().is_some() && needs_all {
        fail!("format: there are more values than places for them");
    }
    out.push_part(text, start..text.len());
    Ok(Value::Text(out.text()))
}

/// Writes a text that was padded or cut as the text that it is.
fn laid(out: &mut Buf, made: Made<String>, text: &Text) -> Made<()> {
    let made = made?;
    // Only its beginning may be there.
    let inner = made.trim_matches(' ');
    let common = chatparse_base::find::shared(inner, text.trim_matches(' '));
    match made.find(inner).filter(|_| common == inner.len()) {
        Some(at) => {
            let start = text.find(text.trim_matches(' ')).unwrap_or_default();
            out.push(&made[..at]);
            out.push_part(text, start..start + common);
            out.push(&made[at + common..]);
        }
        None => out.push_from(&made, text.whole(), 0),
    }
    Ok(())
}

/// `text.format(...)`.
pub fn str_format(text: &Text, call: &Call) -> Made<Value> {
    let (mut out, mut start, mut counted, mut numbered) = (Buf::default(), 0, 0, false);
    while let Some(at) = text[start..].find(['{', '}']).map(|at| start + at) {
        out.push_part(text, start..at);
        let brace = &text[at..at + 1];
        if text[at + 1..].starts_with(brace) {
            out.push(brace);
            start = at + 2;
            continue;
        }
        if brace == "}" {
            fail!("format: a }} has no {{");
        }
        let (mut open, mut len) = (0, 0);
        for byte in text[at..].bytes() {
            open += i32::from(byte == b'{') - i32::from(byte == b'}');
            if open == 0 {
                break;
            }
            len += 1;
        }
        if open != 0 {
            fail!("format: a {{ has no }}");
        }
        let inside = &text[at + 1..at + len];
        start = at + len + 1;
        let (name, layout) = inside.split_once(':').unwrap_or((inside, ""));
        let (name, conversion) = match name.split_once('!') {
            Some((name, conversion)) => (name, conversion),
            None => (name, "s"),
        };
        let mut field = |name: &str| -> Made<Value> {
            let (first, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
            let mut value = match first.parse::<usize>() {
                Ok(index) => {
                    numbered = true;
                    call.get(index, "")
                }
                Err(_) if first.is_empty() => {
                    counted += 1;
                    call.get(counted - 1, "")
                }
                Err(_) => call.get(usize::MAX, first),
            };
            if numbered && counted > 0 {
                fail!("format: fields with and without numbers");
            }
            if value.is_undefined() {
                fail!("format: there is no value {first:?}");
            }
            for key in rest.split(['.', '[']).skip(1) {
                value = path(&value, &key.trim_end_matches(']').into());
            }
            Ok(value)
        };
        let value = field(name)?;
        let (mut whole, mut more) = (String::new(), layout);
        while let Some((before, behind)) = more.split_once('{') {
            let (name, behind) = behind.split_once('}').ok_or("format: a { has no }")?;
            whole = whole + before + &field(name)?.text();
            more = behind;
        }
        whole += more;
        let layout = &*whole;
        if layout.is_empty() {
            match conversion {
                "r" => value.repr(&mut out),
                _ => value.print(&mut out),
            }
            continue;
        }
        let kind = layout
            .chars()
            .next_back()
            .filter(|c| c.is_ascii_alphabetic() || *c == '%');
        let sized = &layout[..layout.len() - kind.map_or(0, char::len_utf8)];
        match &value {
            Value::Text(text) if matches!(kind, None | Some('s')) => {
                let rest = sized
                    .split_once(['<', '>', '^', '='])
                    .map_or(sized, |(_, rest)| rest);
                if rest.contains(['+', ' ', '#', ',', '_']) {
                    fail!("format: a text has neither sign nor digits");
                }
                // Zeros follow a text.
                let sized = match sized.strip_prefix('0') {
                    Some(width) => format!("0<{width}"),
                    None => sized.to_owned(),
                };
                laid(
                    &mut out,
                    spec::text(FormatStyle::StrFormat, &sized, text),
                    text,
                )?;
            }
            Value::Bool(..) | Value::Int(..) | Value::Float(..) => {
                let is_whole = value.int().is_some()
                    && matches!(kind, None | Some('b' | 'o' | 'x' | 'X' | 'd' | 'n'));
                if is_whole && sized.contains('.') {
                    fail!("format: an integer has no digits behind the point");
                }
                let made = match (kind, value.int()) {
                    (Some('c'), Some(code)) => {
                        let c = char::from_u32(code as u32).ok_or("format: no character")?;
                        spec::text(FormatStyle::StrFormat, sized, &c.to_string())
                    }
                    _ => spec::number(FormatStyle::StrFormat, sized, kind, &value),
                };
                out.push_from(&made?, value.whole(), 0);
            }
            value => fail!("format: {} cannot be formatted", value.kind()),
        }
    }
    out.push_part(text, start..text.len());
    Ok(Value::Text(out.text()))
}
