//! The other orders in which a call that is a JSON object may have its members.
//!
//! A template that prints a call as a whole has its keys in the order of the request's, and models
//! vary it. The members from the name to the arguments stay together, because a tool's arguments
//! are read by its schema; the others, constants and the id, may be anywhere around them.

use chatparse_learn::analysis::turn::{CallForm, CallPiece, Glue, TurnFormat};

/// How many members may be elsewhere: each more would multiply the orders.
const MOST_OTHERS: usize = 2;

/// What opens calls in each other order than the learnt one, and the turn with calls in that order.
/// `open`: what opens calls; `wrapper_close`: what closes the wrapper around them.
pub fn others(turn: &TurnFormat, open: &Glue, wrapper_close: &Glue) -> Vec<(Glue, TurnFormat)> {
    let forms = turn
        .calls
        .iter()
        .map(|form| Members::of(form, open, wrapper_close));
    let mut forms = forms.collect::<Option<Vec<Members>>>().unwrap_or_default();
    let most = forms.iter().map(|members| members.all.len()).max();
    let most = most
        .filter(|most| *most <= MOST_OTHERS + 1)
        .unwrap_or_default();
    forms.retain(|form| form.all.len() == most);
    let mut others = Vec::new();
    for order in orders(most).iter().skip(1) {
        let calls = forms.iter().map(|form| {
            let (opens, mut call) = form.written(order)?;
            call.close = call.close.and(wrapper_close);
            Some((opens, call))
        });
        others.extend(alike(turn, calls));
    }
    others
}

/// The turn with calls of these other forms, and what opens all of them; `None` if that differs.
pub fn alike(
    turn: &TurnFormat,
    forms: impl Iterator<Item = Option<(Glue, CallForm)>>,
) -> Option<(Glue, TurnFormat)> {
    let (opens, calls): (Vec<Glue>, _) = forms.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let first = opens.first()?;
    opens.iter().all(|open| open == first).then_some(())?;
    let turn = TurnFormat {
        calls,
        ..turn.clone()
    };
    Some((first.clone(), turn))
}

/// All orders of so many things, the order as they are first.
fn orders(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |all, _| {
        all.into_iter()
            .flat_map(|order| {
                let rest: Vec<usize> = (0..count).filter(|item| !order.contains(item)).collect();
                rest.into_iter()
                    .map(move |item| [&*order, &[item]].concat())
            })
            .collect()
    })
}

/// A piece that is this text.
fn glue_of(text: &str) -> CallPiece {
    CallPiece::Glue(text.into())
}

/// A call as a JSON object.
#[derive(Default)]
struct Members {
    /// Its members. Those from the name to the arguments are one.
    all: Vec<Vec<CallPiece>>,
    /// The text before the first member, between two, and after the last.
    around: [String; 3],
}

impl Members {
    /// `None` if the call is anything else, or has arguments one by one.
    fn of(form: &CallForm, open: &Glue, wrapper_close: &Glue) -> Option<Members> {
        let close = form.close.strip_suffix(wrapper_close)?;
        let (first, last) = (CallPiece::Glue(open.clone()), CallPiece::Glue(close));
        let (mut members, mut member) = (Members::default(), Vec::new());
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        for piece in [&first].into_iter().chain(&form.pieces).chain([&last]) {
            let CallPiece::Glue(glue) = piece else {
                (depth > 0 && piece.members().is_none()).then_some(())?;
                member.push(piece.clone());
                continue;
            };
            let mut text = String::new();
            for c in glue.literal()?.chars() {
                let (was_escaped, was_quoted) = (std::mem::take(&mut escaped), quoted);
                escaped = quoted && c == '\\' && !was_escaped;
                quoted ^= c == '"' && !was_escaped;
                let outer = !was_quoted && depth == 1;
                match c {
                    '{' | '[' if !was_quoted => depth += 1,
                    '}' | ']' if !was_quoted => depth = depth.checked_sub(1)?,
                    _ => {}
                }
                match c {
                    '{' if depth == 1 && !was_quoted => {
                        members.around[2].is_empty().then_some(())?;
                        members.around[0].push(c);
                    }
                    ',' | '}' if outer => {
                        let white_space = text.split_off(text.trim_end().len());
                        member.extend((!text.is_empty()).then(|| glue_of(&text)));
                        text.clear();
                        members.all.push(std::mem::take(&mut member));
                        let last = usize::from(c == '}');
                        members.around[1 + last] = format!("{white_space}{c}");
                    }
                    _ if outer && text.is_empty() && member.is_empty() && c.is_whitespace() => {
                        members.around[usize::from(!members.all.is_empty())].push(c);
                    }
                    // Nothing is before the object or after it.
                    _ if depth == 0 => c.is_whitespace().then_some(())?,
                    _ => text.push(c),
                }
            }
            member.extend((!text.is_empty()).then(|| glue_of(&text)));
        }
        members.joined().filter(|_| depth == 0 && member.is_empty())
    }

    /// The same with the members from the name to the arguments as one.
    fn joined(mut self) -> Option<Members> {
        let at =
            |is: fn(&CallPiece) -> bool| self.all.iter().position(|member| member.iter().any(is));
        let name = at(CallPiece::is_name)?;
        let last = at(CallPiece::holds_arguments)
            .map_or(Some(name), |last| (last >= name).then_some(last))?;
        let comma = glue_of(&self.around[1]);
        let core: Vec<_> = self.all.drain(name..=last).collect();
        self.all.insert(name, core.join(&comma));
        Some(self)
    }

    /// What opens the call in this order, and the rest.
    fn written(&self, order: &[usize]) -> Option<(Glue, CallForm)> {
        let [before, between, behind] = self.around.each_ref().map(|text| glue_of(text));
        let inner = order
            .iter()
            .map(|index| &*self.all[*index])
            .collect::<Vec<_>>()
            .join(&between);
        let mut pieces: Vec<CallPiece> = Vec::new();
        for piece in [before].into_iter().chain(inner).chain([behind]) {
            match (pieces.last_mut(), piece) {
                (Some(CallPiece::Glue(last)), CallPiece::Glue(more)) => *last = last.and(&more),
                (_, piece) => pieces.push(piece),
            }
        }
        let (Some(CallPiece::Glue(close)), CallPiece::Glue(open)) =
            (pieces.pop(), pieces.remove(0))
        else {
            return None;
        };
        Some((open, CallForm { pieces, close }))
    }
}
