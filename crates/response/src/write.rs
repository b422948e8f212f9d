//! A turn as a response template.

use serde_json::Value;

use super::calls::calls;
use super::pattern::{any, text};
use super::view::{Limit, Turn, distinct, texts};
use super::{Anchor, Engine, Field, ResponseTemplate};
use chatparse_base::Result;
use chatparse_learn::analysis::turn::{
    CallPiece, Glue,
    SlotKind::{Call, Content, Prompt, Reasoning},
    TurnFormat,
};

/// A turn as a response template, and what that cannot say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExportedTemplate {
    pub template: ResponseTemplate,
    /// What the turn has and the template cannot say.
    pub limits: Vec<Limit>,
}

impl ExportedTemplate {
    /// `response_template`, and `limits`: objects with `field` and `message`.
    pub fn to_json(&self) -> Value {
        json!({"response_template": self.template.to_json(), "limits": self.limits})
    }
}

/// Writes a turn as a response template for an engine: `on` with thinking, `off` without it, where
/// `ends` end the model's output.
///
/// # Errors
/// [`chatparse_base::ErrorKind::InvalidArgument`] if the calls of the turn cannot be read by any
/// response template.
pub fn write(
    on: &TurnFormat,
    off: &TurnFormat,
    ends: &[String],
    engine: Engine,
) -> Result<ExportedTemplate> {
    let (start, end_of_thought) = on.reasoning.as_ref().map_or(("", ""), |reasoning| {
        (reasoning.start.trim(), reasoning.close.core())
    });
    let mut turn = Turn {
        turn: on.clone(),
        ends: Vec::new(),
        limits: Vec::new(),
        engine,
    };
    // Other parts may end in the same way.
    for edge in turn
        .turn
        .edges
        .iter_mut()
        .filter(|edge| matches!(edge.from, Prompt | Reasoning))
    {
        if let Some(at) = last_of(edge.glue.head(), end_of_thought) {
            edge.glue = edge.glue.without_start(at + end_of_thought.len());
        }
    }
    turn.ends = turn.ends_of_turn(ends);
    let opening = turn.opening(on, off, start, end_of_thought);
    let reasoning = turn.reasoning();
    let calls = calls(&mut turn)?;
    let (mut content, mut markers) = turn.content(
        reasoning.as_ref(),
        calls.as_ref().map(|calls| &*calls.announced),
    );
    // The prompt, or the model at once, may end reasoning that nothing began.
    let at_once = on
        .edges
        .iter()
        .filter(|edge| edge.from == Prompt)
        .map(|edge| edge.glue.head());
    if [&*on.opening, &off.opening]
        .into_iter()
        .chain(at_once.filter(|_| !on.opening.contains(start)))
        .any(|text| text.contains(end_of_thought) && !text.contains(start) || start.is_empty())
    {
        markers.push(end_of_thought.to_owned());
    }
    markers.retain(|marker| !marker.is_empty());
    let mut thinking = "reasoning_content";
    if engine.serves() {
        thinking = "thinking";
        // Where the pieces of a text are joined anyhow, a marker in front of it is an end of
        // nothing.
        markers.extend_from_slice(&turn.ends);
        let closes = distinct(std::mem::take(&mut markers));
        if content.open.is_none() && !closes.is_empty() {
            content.close = Some(texts(closes));
        }
        (content.repeats, content.join) = (false, None);
    }
    // A field that is always empty is no part of the message.
    let markers = (!markers.is_empty()).then(|| Field {
        open: Some(texts(markers)),
        close: Some(Anchor::Pattern(r"(?=.)|\Z".into())),
        ..Field::default()
    });
    let fields = [
        (thinking, reasoning),
        ("tool_calls", calls.map(|calls| calls.field)),
        ("content", Some(content)),
        ("markers", markers),
    ];
    let fields = fields.into_iter();
    let defaults = [("role".to_owned(), Value::from("assistant"))];
    Ok(ExportedTemplate {
        template: ResponseTemplate {
            start: opening,
            defaults: defaults.into_iter().collect(),
            fields: fields
                .filter_map(|(name, field)| Some((name.to_owned(), field?)))
                .collect(),
        },
        limits: turn.limits,
    })
}

/// Where a text last has a marker, which may be empty: then nowhere.
fn last_of(text: &str, marker: &str) -> Option<usize> {
    text.rfind(marker).filter(|_| !marker.is_empty())
}

impl Turn {
    /// The end of the prompt in front of all that may belong to the message.
    fn opening(
        &mut self,
        on: &TurnFormat,
        off: &TurnFormat,
        start: &str,
        end_of_thought: &str,
    ) -> Anchor {
        let both = [&on.opening, &off.opening].map(|opening| Glue::from(opening.as_str()));
        let given = if off.opening.is_empty() { 1 } else { 2 };
        let shared = Glue::common_start(&both[..given]);
        // Also a part of the marker that both begin with belongs to the reasoning.
        let opening = last_of(&on.opening, start)
            .and_then(|at| shared.head().get(..at))
            .unwrap_or(shared.head());
        let ends = last_of(opening, end_of_thought);
        let opening = opening[..ends.unwrap_or(opening.len())].trim();
        // The prompt may begin the first call or text of a turn, as glue does further on.
        let named = on
            .calls
            .iter()
            .all(|form| form.pieces.first().is_some_and(CallPiece::is_name));
        let bare = self.turn.glues([Prompt], Call).any(Glue::is_blank);
        let again = self
            .turn
            .glues([Content, Call], Call)
            .find_map(Glue::literal);
        let again = again
            .map(str::trim)
            .filter(|again| named && bare && !again.is_empty());
        let found = again
            .and_then(|again| Some((opening.strip_suffix(again)?.trim_end(), again.to_owned())));
        let Some((before, again)) =
            found.filter(|(before, _)| !before.is_empty() || self.engine.looks())
        else {
            return if opening.is_empty() {
                Anchor::Pattern(self.engine.end().into())
            } else {
                Anchor::Texts(vec![opening.to_owned()])
            };
        };
        for edge in self
            .turn
            .edges
            .iter_mut()
            .filter(|edge| edge.from == Prompt)
        {
            edge.glue = Glue::from(&*again).and(&edge.glue);
        }
        if before.is_empty() {
            Anchor::Pattern(format!(r"(?={}\s*\Z)", text(&again)))
        } else {
            Anchor::Texts(vec![before.to_owned()])
        }
    }

    fn reasoning(&mut self) -> Option<Field> {
        let reasoning = self.turn.reasoning.as_ref()?;
        let close = reasoning
            .close
            .literal()
            .map(str::trim)
            .filter(|close| !close.is_empty());
        let Some(close) = close else {
            self.limit("reasoning_content", "no text ends the reasoning");
            return None;
        };
        let opens = distinct(
            [reasoning.open.head(), &reasoning.start]
                .map(|open| open.trim().to_owned())
                .into(),
        );
        let open = match opens.is_empty() {
            true if !self.engine.looks() => {
                for field in ["reasoning_content", "content"] {
                    self.limit(field, "nothing begins the reasoning, so it is content");
                }
                return None;
            }
            // Nothing begins it, so its end does.
            true => Anchor::Pattern(format!(r"(?=[\s\S]*?{})", text(close))),
            false => texts(opens),
        };
        Some(Field {
            open: Some(open),
            close: Some(texts(vec![close.to_owned()])),
            ..Field::default()
        })
    }

    /// The content, and markers in front of some of it. `calls`: what begins a call.
    fn content(&mut self, reasoning: Option<&Field>, calls: Option<&str>) -> (Field, Vec<String>) {
        let all = self.turn.glues([Prompt, Reasoning, Call], Content);
        let mut opens: Vec<String> = all.map(|glue| glue.core().to_owned()).collect();
        let always = !opens.is_empty() && opens.iter().all(|open| !open.is_empty());
        if let Some(Anchor::Texts(thoughts)) = reasoning.and_then(|field| field.open.as_ref()) {
            opens.retain(|open| !thoughts.contains(open));
        }
        let opens = distinct(opens);
        let mut field = Field {
            close: (!self.ends.is_empty()).then(|| texts(self.ends.clone())),
            repeats: true,
            join: Some(String::new()),
            ..Field::default()
        };
        let call = calls.filter(|_| self.turn.glues([Content], Call).next().is_some());
        // A call that content runs into ends it only for who looks ahead.
        if !always || opens.is_empty() || call.is_some() && !self.engine.looks() {
            return (field, opens);
        }
        if let Some(call) = call {
            let mut ends = self.with_ends(Vec::new());
            ends.push(self.ahead(call));
            field.close = Some(Anchor::Pattern(any(&ends)));
        }
        field.open = Some(texts(opens));
        (field, Vec::new())
    }
}
