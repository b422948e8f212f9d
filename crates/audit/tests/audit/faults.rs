//! The faults. Some are in what a server says, whatever its API; others are in how it is sent.

use chatparse::DeltaKind::{Content, Reasoning, ToolArguments, ToolName};
use chatparse::api::Api;
use serde_json::{Value, json};

use crate::answers::{Case, Choice, LIMIT, Random, set_choice};

pub struct Fault {
    pub name: &'static str,
    /// The kind that is to be named.
    pub kind: &'static str,
    pub stage: Stage,
    /// Changes the case; whether it can have the fault.
    pub seed: fn(&mut Case, &mut Random) -> bool,
}

#[derive(Clone, Copy)]
pub enum Stage {
    /// Before the answer is written.
    Said,
    Sent,
}

const fn said(
    name: &'static str,
    kind: &'static str,
    seed: fn(&mut Case, &mut Random) -> bool,
) -> Fault {
    Fault {
        name,
        kind,
        stage: Stage::Said,
        seed,
    }
}

const fn sent(
    name: &'static str,
    kind: &'static str,
    seed: fn(&mut Case, &mut Random) -> bool,
) -> Fault {
    Fault {
        name,
        kind,
        stage: Stage::Sent,
        seed,
    }
}

pub const FAULTS: &[Fault] = &[
    said("calls are content", "lost-call", |case, _| {
        let behind = case.output[case.front_of_calls()..].to_owned();
        let content = case.text(Content, 0) + &behind;
        let has_calls = case.calls() > 0 && !case.is_cut();
        case.drop_calls();
        case.replace(Content, 0, &content);
        has_calls
    }),
    said("a marker in content", "shown-markup", |case, random| {
        marked(case, random, Content)
    }),
    said("a marker in reasoning", "shown-markup", |case, random| {
        marked(case, random, Reasoning)
    }),
    said("a marker in arguments", "shown-markup", |case, random| {
        let Some(mark) = marker(case, random) else {
            return false;
        };
        let mark = serde_json::to_string(&mark).unwrap();
        in_arguments(case, random, &mark[1..mark.len() - 1])
    }),
    said(
        "a thought with its tags in content",
        "shown-reasoning",
        |case, _| {
            let Some(thinking) = case.params.thinking.clone() else {
                return false;
            };
            let Some(end) = thinking.ends.first() else {
                return false;
            };
            let thought = case.text(Reasoning, 0);
            let content = format!("{}{thought}{end}{}", thinking.start, case.text(Content, 0));
            case.replace(Reasoning, 0, "");
            case.replace(Content, 0, &content);
            !thought.is_empty() && end.trim() != case.params.end_of_turn()
        },
    ),
    said("reasoning is content, too", "shown-reasoning", |case, _| {
        let thought = case.text(Reasoning, 0);
        let content = format!("{thought}\n\n{}", case.text(Content, 0));
        case.replace(Content, 0, &content);
        thought.len() > 20
    }),
    said(
        "half a character in content",
        "broken-character",
        |case, random| inserted(case, random, Content, "\u{fffd}"),
    ),
    said(
        "half a character in arguments",
        "broken-character",
        |case, random| in_arguments(case, random, "\u{fffd}"),
    ),
    said(
        "a text at which the client stops",
        "shown-stop",
        |case, random| {
            let (name, stop) = if case.api == Api::Messages {
                ("stop_sequences", json!(["w0rd"]))
            } else {
                ("stop", json!("w0rd"))
            };
            case.request[name] = stop;
            case.api != Api::Responses && inserted(case, random, Content, "w0rd")
        },
    ),
    said("an empty answer", "empty", |case, _| {
        case.deltas.clear();
        !case.is_cut()
    }),
    said("arguments without their end", "not-json", |case, random| {
        let Some((call, arguments)) = some_arguments(case, random) else {
            return false;
        };
        case.replace(
            ToolArguments,
            call,
            arguments[..arguments.len() - 1].trim_end(),
        );
        case.api != Api::Messages
    }),
    said("arguments as a list", "not-object", |case, random| {
        let Some((call, arguments)) = some_arguments(case, random) else {
            return false;
        };
        case.replace(ToolArguments, call, &format!("[{arguments}]"));
        case.api != Api::Messages
    }),
    said("a value of another type", "not-schema", |case, random| {
        let Some((call, arguments)) = some_arguments(case, random) else {
            return false;
        };
        let mut value: Value = serde_json::from_str(&arguments).unwrap();
        let Some((_, first)) = value
            .as_object_mut()
            .and_then(|members| members.iter_mut().next())
        else {
            return false;
        };
        *first = json!({"no": 1});
        case.replace(ToolArguments, call, &value.to_string());
        true
    }),
    said(
        "a required argument is missing",
        "not-schema",
        |case, random| {
            let Some((call, arguments)) = some_arguments(case, random) else {
                return false;
            };
            case.replace(ToolArguments, call, "{}");
            arguments.len() > 2
        },
    ),
    said(
        "a name that is not offered",
        "unknown-tool",
        |case, random| {
            let calls = case.calls();
            let call = random.below(calls.max(1));
            case.replace(ToolName, call, "get_all_of_it");
            // The name is said in one piece.
            case.deltas.dedup_by(|next, first| {
                let is_same =
                    (next.0, next.1) == (ToolName, call) && first.0 == ToolName && first.1 == call;
                if is_same {
                    first.2.push_str(&next.2);
                }
                is_same
            });
            calls > 0
        },
    ),
    said("calls though none are allowed", "tool-choice", |case, _| {
        asked(case, Choice::None) && case.calls() > 0
    }),
    said(
        "no call though one is required",
        "tool-choice",
        |case, _| asked(case, Choice::Required) && case.calls() == 0,
    ),
    said(
        "another call than the named one",
        "tool-choice",
        |case, _| {
            let others = (0..case.calls()).any(|call| case.text(ToolName, call) != "get");
            asked(case, Choice::Named) && others
        },
    ),
    said(
        "two calls though one is allowed",
        "parallel-calls",
        |case, _| {
            let (api, has_tools) = (case.api, case.request.get("tools").is_some());
            if has_tools {
                set_choice(api, &mut case.request, Choice::Auto, false);
            }
            case.calls() > 1
        },
    ),
    said("an answer that is no JSON", "response-format", |case, _| {
        let content = format!("Here it is:\n{}", case.text(Content, 0));
        case.replace(Content, 0, &content);
        has_schema(case)
    }),
    said(
        "an answer that does not fit its schema",
        "response-format",
        |case, _| {
            let content = case.text(Content, 0).replace("\"answer\"", "\"result\"");
            case.replace(Content, 0, &content);
            has_schema(case)
        },
    ),
    said(
        "content that the model did not write",
        "output-content",
        |case, random| {
            case.with_output = true;
            inserted(case, random, Content, "w0rd")
        },
    ),
    said("reasoning is dropped", "output-reasoning", |case, _| {
        case.with_output = true;
        let has_reasoning = !case.text(Reasoning, 0).trim().is_empty();
        case.replace(Reasoning, 0, "");
        has_reasoning
    }),
    said("calls are dropped", "output-calls", |case, _| {
        case.with_output = true;
        let has_calls = case.calls() > 0;
        case.drop_calls();
        has_calls
    }),
    said(
        "a value that the model did not write",
        "output-calls",
        |case, random| {
            case.with_output = true;
            in_arguments(case, random, "w0rd ")
        },
    ),
    sent("an input that is a text", "not-object", |case, _| {
        case.with_body = true;
        let blocks = case.body["content"].as_array_mut().into_iter().flatten();
        let input = blocks
            .filter(|block| block["type"] == "tool_use")
            .last()
            .map(|block| &mut block["input"]);
        case.api == Api::Messages
            && input
                .map(|input| *input = input.to_string().into())
                .is_some()
    }),
    sent("an error in place of the answer", "error", |case, _| {
        case.events = vec![(
            "error".into(),
            json!({"type": "error", "error": {"message": "overloaded"}}),
        )];
        true
    }),
    sent(
        "an error behind half of the answer",
        "error",
        |case, random| {
            case.events
                .truncate(1 + random.below(case.events.len() - 1));
            case.events.push((
                "error".into(),
                json!({"type": "error", "error": {"message": "overloaded"}}),
            ));
            true
        },
    ),
    sent("one choice of two", "choices", |case, _| {
        case.request["n"] = 2.into();
        case.api == Api::ChatCompletions
    }),
    sent("no choices", "choices", |case, _| {
        case.with_body = false;
        for (_, data) in case.events.iter_mut().filter(|(_, data)| data.is_object()) {
            data["choices"] = json!([]);
        }
        case.api == Api::ChatCompletions
    }),
    sent("a delta is lost", "lost-text", |case, random| {
        case.with_body = true;
        let Some(at) = delta(case, random, |text| text.contains(char::is_alphanumeric)) else {
            return false;
        };
        *case.at(&at) = "".into();
        true
    }),
    sent("a delta is sent twice", "sent-twice", |case, random| {
        case.with_body = true;
        let Some(at) = delta(case, random, |text| text.contains(char::is_alphanumeric)) else {
            return false;
        };
        let text = case.at(&at).as_str().unwrap().repeat(2);
        *case.at(&at) = text.into();
        true
    }),
    sent(
        "two deltas have changed places",
        "other-text",
        |case, random| {
            case.with_body = true;
            let field = *random.one(&[Content, Reasoning]);
            let places = deltas(case, field);
            let Some(first) = (1..places.len()).find(|next| {
                let [one, other] =
                    [&places[next - 1], &places[*next]].map(|at| case.at(at).to_string());
                one.trim_matches('"').to_owned() + other.trim_matches('"')
                    != other.trim_matches('"').to_owned() + one.trim_matches('"')
            }) else {
                return false;
            };
            let [one, other] = [&places[first - 1], &places[first]].map(|at| case.at(at).clone());
            *case.at(&places[first - 1]) = other;
            *case.at(&places[first]) = one;
            true
        },
    ),
    sent(
        "snapshots in place of deltas",
        "snapshots",
        |case, random| {
            let field = *random.one(&[Content, Reasoning, ToolArguments]);
            let mut sum = String::new();
            let mut places = deltas(case, field);
            if field == ToolArguments {
                let last = places.last().map(|at| case.owner(at));
                places.retain(|at| Some(case.owner(at)) == last);
            }
            for at in &places {
                sum.push_str(case.at(at).as_str().unwrap());
                *case.at(at) = sum.as_str().into();
            }
            places.len() > 2 && sum.len() >= 12
        },
    ),
    sent(
        "the last delta has all of the text",
        "sent-twice",
        |case, random| {
            let field = *random.one(&[Content, Reasoning]);
            let places = deltas(case, field);
            let Some((last, before)) = places.split_last() else {
                return false;
            };
            let sum: String = before
                .iter()
                .map(|at| case.at(at).as_str().unwrap().to_owned())
                .collect();
            let is_long = before.len() > 2 && sum.len() >= 12;
            *case.at(last) = sum.into();
            // Of Responses, the events behind say what all of it was.
            is_long && case.api != Api::Responses && !std::mem::take(&mut case.with_body)
        },
    ),
    sent("stop though there are calls", "wrong-finish", |case, _| {
        let named = case.request["tool_choice"].is_object() && case.api == Api::ChatCompletions;
        case.calls() > 0 && !case.is_cut() && !named && finishes(case, "stop", "end_turn")
    }),
    sent("calls though there are none", "wrong-finish", |case, _| {
        case.calls() == 0 && !case.is_cut() && finishes(case, "tool_calls", "tool_use")
    }),
    sent("length though nothing is cut", "wrong-finish", |case, _| {
        if case.api == Api::Responses {
            let last = case.events.len() - 1;
            case.events[last].0 = "response.incomplete".into();
            case.events[last].1["type"] = "response.incomplete".into();
            case.events[last].1["response"]["status"] = "incomplete".into();
            case.body["status"] = "incomplete".into();
            return !case.is_cut();
        }
        !case.is_cut() && finishes(case, "length", "max_tokens")
    }),
    sent("a finish that no API has", "wrong-finish", |case, _| {
        if case.api == Api::Responses {
            let last = case.events.len() - 1;
            case.events[last].1["response"]["status"] = "eos".into();
            case.with_body = false;
            return true;
        }
        finishes(case, "eos", "eos")
    }),
    sent("no finish", "no-finish", |case, _| {
        if case.api == Api::ChatCompletions {
            return finishes(case, "", "") && {
                *case.at(&finish(case)) = Value::Null;
                true
            };
        }
        let last = finish(case).0;
        case.events.remove(last);
        true
    }),
    sent("two finishes", "two-finishes", |case, _| {
        let at = finish(case).0;
        let again = case.events[at].clone();
        case.events.insert(at + 1, again);
        case.api != Api::Responses
    }),
    sent("a call without an id", "no-id", |case, _| {
        in_text(case, |case, text| {
            Some(text.replace(&first_id(case)?, "\"\""))
        })
    }),
    sent("two calls of one id", "repeated-id", |case, _| {
        in_text(case, |case, text| {
            Some(text.replace(&ids(case).get(1)?.clone(), &first_id(case)?))
        })
    }),
    sent(
        "another id of a call in the middle",
        "changed-id",
        |case, random| match case.api {
            Api::ChatCompletions => head_again(case, random, |_| json!({"id": "call_other"})),
            Api::Responses => {
                let Some(at) = delta(case, random, |_| true) else {
                    return false;
                };
                case.events[at.0].1["item_id"] = "item_other".into();
                true
            }
            _ => {
                case.with_body = true;
                let Some(id) = first_id(case) else {
                    return false;
                };
                case.body =
                    serde_json::from_str(&case.body.to_string().replace(&id, "\"call_other\""))
                        .unwrap();
                true
            }
        },
    ),
    sent(
        "another id of the answer in the middle",
        "changed-id",
        |case, _| {
            match case.api {
                Api::ChatCompletions => case.events[1].1["id"] = "answer-2".into(),
                Api::Responses => {
                    case.events.last_mut().unwrap().1["response"]["id"] = "answer-2".into()
                }
                _ => return false,
            }
            case.events[1].1.is_object()
        },
    ),
    sent(
        "another name of a call in the middle",
        "changed-name",
        |case, random| match case.api {
            Api::ChatCompletions => {
                head_again(case, random, |_| json!({"function": {"name": "other"}}))
            }
            Api::Responses => {
                let done = case.events.iter_mut().find(|(name, data)| {
                    name == "response.output_item.done" && data["item"]["name"].is_string()
                });
                done.map(|(_, data)| data["item"]["name"] = "other".into())
                    .is_some()
            }
            _ => false,
        },
    ),
    sent(
        "a name that is said again",
        "repeated-head",
        |case, random| head_again(case, random, |name| json!({"function": {"name": name}})),
    ),
    sent("an index that jumps", "index", |case, _| match case.api {
        Api::ChatCompletions => {
            let last = case.calls().wrapping_sub(1);
            let calls = case.events.iter_mut().filter_map(|(_, data)| {
                data.pointer_mut("/choices/0/delta/tool_calls")?
                    .as_array_mut()
            });
            calls
                .flatten()
                .filter(|call| call["index"] == last)
                .for_each(|call| call["index"] = json!(last + 1));
            case.calls() > 0
        }
        _ => {
            let name = if case.api == Api::Messages {
                "index"
            } else {
                "output_index"
            };
            let last = case
                .events
                .iter()
                .filter_map(|(_, data)| data[name].as_u64())
                .max();
            let of_last = case
                .events
                .iter_mut()
                .filter(|(_, data)| data[name].as_u64() == last && last.is_some());
            of_last.for_each(|(_, data)| data[name] = json!(last.unwrap() + 1));
            last.is_some()
        }
    }),
    sent("an index is missing", "index", |case, random| {
        let Some(at) = delta_of(case, random, ToolArguments, |_| true) else {
            return false;
        };
        let calls = case.events[at.0]
            .1
            .pointer_mut("/choices/0/delta/tool_calls/0")
            .and_then(Value::as_object_mut);
        calls.is_some_and(|call| call.remove("index").is_some())
    }),
    sent("a delta behind the end", "after-end", |case, random| {
        let Some((at, _)) = delta(case, random, |_| true) else {
            return false;
        };
        let again = case.events[at].clone();
        let end = finish(case).0;
        case.events.insert(end + 1, again);
        true
    }),
    sent("no role", "role", |case, _| {
        let place = if case.api == Api::Messages {
            "/message"
        } else {
            "/choices/0/delta"
        };
        let said = case.events[0]
            .1
            .pointer_mut(place)
            .and_then(Value::as_object_mut);
        said.is_some_and(|said| said.remove("role").is_some())
    }),
    sent(
        "a role again, or another",
        "role",
        |case, random| match case.api {
            Api::ChatCompletions => {
                let Some((at, _)) = delta(case, random, |_| true) else {
                    return false;
                };
                case.events[at].1["choices"][0]["delta"]["role"] = "assistant".into();
                true
            }
            Api::Responses => {
                let added = case
                    .events
                    .iter_mut()
                    .find(|(_, data)| data["item"]["role"].is_string());
                added
                    .map(|(_, data)| data["item"]["role"] = "user".into())
                    .is_some()
            }
            _ => {
                case.events[0].1["message"]["role"] = "user".into();
                true
            }
        },
    ),
    sent("an item that does not begin", "order", |case, _| {
        if case.api == Api::ChatCompletions {
            let heads = case
                .events
                .iter_mut()
                .filter_map(|(_, data)| data.pointer_mut("/choices/0/delta/tool_calls/0"));
            let head = heads.filter(|call| call["id"].is_string()).last();
            return head.is_some_and(|call| {
                let has_text = call["function"]["arguments"].as_str().is_some_and(|text| !text.is_empty());
                *call = json!({"index": call["index"], "function": {"arguments": call["function"]["arguments"]}});
                has_text
            });
        }
        removed(case, &["content_block_start", "response.output_item.added"])
    }),
    sent("an item that does not end", "order", |case, _| {
        removed(case, &["content_block_stop", "response.output_item.done"])
    }),
    sent("a part that does not begin", "order", |case, _| {
        case.text(Content, 0).len() + case.text(Reasoning, 0).len() > 0
            && removed(case, &["response.content_part.added"])
    }),
    sent("the stream does not begin", "order", |case, _| {
        !case.deltas.is_empty() && removed(case, &["response.created"])
    }),
    sent("a number that is left out", "sequence", |case, random| {
        let from = 1 + random.below(case.events.len() - 1);
        for (_, data) in &mut case.events[from..] {
            if let Some(number) = data["sequence_number"].as_u64() {
                data["sequence_number"] = json!(number + 1);
            }
        }
        case.api == Api::Responses
    }),
    sent("no end of the stream", "no-end", |case, _| {
        case.raw |= case.api == Api::ChatCompletions;
        case.events.pop();
        case.api != Api::Responses
    }),
    sent("an event by another name", "event-name", |case, random| {
        case.raw = true;
        let at = random.below(case.events.len());
        case.events[at].0 = "delta".into();
        case.api != Api::ChatCompletions
    }),
    sent("a total that is no sum", "usage", |case, _| {
        counted(case, &["total_tokens"], |total| total + 7)
    }),
    sent("no tokens for a text", "usage", |case, _| {
        counted(case, &["total_tokens"], |_| 20);
        !case.deltas.is_empty() && counted(case, &["completion_tokens", "output_tokens"], |_| 0)
    }),
    sent("more reasoning than output", "usage", |case, _| {
        counted(case, &["reasoning_tokens"], |_| LIMIT + 1)
    }),
    sent("usage is not there", "usage", |case, _| {
        let has =
            |(_, data): &(String, Value)| data["usage"].is_object() && data["choices"].is_array();
        let before = case.events.len();
        case.events.retain(|event| !has(event));
        before > case.events.len()
    }),
];

/// An event, and the place in its data.
type At = (usize, String);

impl Case {
    fn at(&mut self, at: &At) -> &mut Value {
        self.events[at.0].1.pointer_mut(&at.1).unwrap()
    }

    /// The call or the item of a delta.
    fn owner(&self, at: &At) -> Value {
        let data = &self.events[at.0].1;
        let call =
            at.1.strip_suffix("/function/arguments")
                .and_then(|call| data.pointer(call))
                .map(|call| &call["index"]);
        call.unwrap_or_else(|| data.get("index").unwrap_or(&data["output_index"]))
            .clone()
    }
}

/// The deltas of a field that have text.
fn deltas(case: &Case, field: chatparse::DeltaKind) -> Vec<At> {
    let places = |(at, (_, data)): (usize, &(String, Value))| {
        let kind = data["type"].as_str().unwrap_or_default();
        let names: Vec<String> = match (case.api, field) {
            (Api::ChatCompletions, Content) => vec!["/choices/0/delta/content".into()],
            (Api::ChatCompletions, Reasoning) => vec!["/choices/0/delta/reasoning_content".into()],
            (Api::ChatCompletions, _) => (0..4)
                .map(|call| format!("/choices/0/delta/tool_calls/{call}/function/arguments"))
                .collect(),
            (Api::Messages, Content) => vec!["/delta/text".into()],
            (Api::Messages, Reasoning) => vec!["/delta/thinking".into()],
            (Api::Messages, _) => vec!["/delta/partial_json".into()],
            (_, Content) if kind == "response.output_text.delta" => vec!["/delta".into()],
            (_, Reasoning) if kind == "response.reasoning_text.delta" => vec!["/delta".into()],
            (_, ToolArguments) if kind == "response.function_call_arguments.delta" => {
                vec!["/delta".into()]
            }
            _ => Vec::new(),
        };
        let has_text = |name: &String| {
            data.pointer(name)
                .and_then(Value::as_str)
                .is_some_and(|text| !text.is_empty())
        };
        names
            .into_iter()
            .filter(has_text)
            .map(|name| (at, name))
            .collect::<Vec<_>>()
    };
    case.events.iter().enumerate().flat_map(places).collect()
}

/// One of the deltas of any field.
fn delta(case: &Case, random: &mut Random, is_fit: fn(&str) -> bool) -> Option<At> {
    let field = *random.one(&[Content, Reasoning, ToolArguments]);
    delta_of(case, random, field, is_fit)
}

fn delta_of(
    case: &Case,
    random: &mut Random,
    field: chatparse::DeltaKind,
    is_fit: fn(&str) -> bool,
) -> Option<At> {
    let mut places = deltas(case, field);
    places.retain(|(at, name)| {
        case.events[*at]
            .1
            .pointer(name)
            .and_then(Value::as_str)
            .is_some_and(is_fit)
    });
    (!places.is_empty()).then(|| random.one(&places).clone())
}

/// Where the finish is said.
fn finish(case: &Case) -> At {
    let place = |data: &Value| {
        let places = [
            "/choices/0/finish_reason",
            "/delta/stop_reason",
            "/response/usage",
        ];
        places
            .into_iter()
            .find(|place| data.pointer(place).is_some_and(|value| !value.is_null()))
    };
    let mut found = case
        .events
        .iter()
        .enumerate()
        .filter_map(|(at, (_, data))| Some((at, place(data)?.to_owned())));
    found.next().expect("each answer has one")
}

/// Sets the finish; whether the API has one of its own.
fn finishes(case: &mut Case, chat: &str, messages: &str) -> bool {
    let at = finish(case);
    case.with_body = false;
    match case.api {
        Api::ChatCompletions => *case.at(&at) = chat.into(),
        Api::Messages => *case.at(&at) = messages.into(),
        _ => return false,
    }
    true
}

/// Changes the texts of events and body.
fn in_text(case: &mut Case, change: fn(&Case, &str) -> Option<String>) -> bool {
    let changed = |text: String| Some(serde_json::from_str(&change(case, &text)?).unwrap());
    let Some(body) = changed(case.body.to_string()) else {
        return false;
    };
    let events = case
        .events
        .iter()
        .map(|(name, data)| (name.clone(), changed(data.to_string()).unwrap()))
        .collect();
    (case.body, case.events) = (body, events);
    true
}

/// The ids of the calls, as JSON.
fn ids(case: &Case) -> Vec<String> {
    let body = &case.body;
    let calls = [
        &body["choices"][0]["message"]["tool_calls"],
        &body["output"],
        &body["content"],
    ];
    let calls = calls.into_iter().filter_map(Value::as_array).flatten();
    let calls = calls.filter(|call| call["type"] != "reasoning" && call["type"] != "message");
    calls
        .filter_map(|call| Some(call.get("call_id").or(call.get("id"))?.to_string()))
        .collect()
}

fn first_id(case: &Case) -> Option<String> {
    ids(case).into_iter().next()
}

/// Says a head of a call again where its arguments go on.
fn head_again(case: &mut Case, random: &mut Random, head: fn(&str) -> Value) -> bool {
    let Some((at, place)) = delta_of(case, random, ToolArguments, |_| true) else {
        return false;
    };
    let Some(call) = place.strip_suffix("/function/arguments") else {
        return false;
    };
    let call = case.events[at].1.pointer(call).unwrap();
    let name = case.text(ToolName, call["index"].as_u64().unwrap() as usize);
    let is_later = call.get("id").is_none();
    let call = case.events[at]
        .1
        .pointer_mut(place.strip_suffix("/function/arguments").unwrap())
        .unwrap();
    for (field, value) in head(&name).as_object().unwrap() {
        match value.as_object() {
            Some(inner) => call[field].as_object_mut().unwrap().extend(inner.clone()),
            None => call[field] = value.clone(),
        }
    }
    is_later
}

fn removed(case: &mut Case, names: &[&str]) -> bool {
    let at = case
        .events
        .iter()
        .position(|(name, _)| names.contains(&name.as_str()));
    at.map(|at| case.events.remove(at)).is_some()
}

/// Changes numbers of tokens in events and body.
fn counted(case: &mut Case, names: &[&str], change: fn(u64) -> u64) -> bool {
    fn walk(value: &mut Value, names: &[&str], change: fn(u64) -> u64) -> bool {
        let mut is_changed = false;
        for (name, value) in value.as_object_mut().into_iter().flatten() {
            match value.as_u64() {
                Some(number) if names.contains(&name.as_str()) => {
                    *value = change(number).into();
                    is_changed = true;
                }
                _ => is_changed |= walk(value, names, change),
            }
        }
        is_changed
    }
    walk(&mut case.body, names, change);
    let events = case
        .events
        .iter_mut()
        .map(|(_, data)| walk(data, names, change));
    events.fold(false, |one, other| one | other)
}

/// A marker of the template that is not one of reasoning.
fn marker(case: &Case, random: &mut Random) -> Option<String> {
    let thinking = case
        .params
        .thinking
        .iter()
        .flat_map(|thinking| thinking.ends.iter().chain([&thinking.start]));
    let thoughts: Vec<&str> = thinking.map(|mark| mark.trim()).collect();
    let end = case.params.end_of_turn().to_owned();
    let mut marks: Vec<&str> = case
        .params
        .preserved_tokens
        .iter()
        .chain([&end])
        .map(|mark| mark.trim())
        .collect();
    marks.retain(|mark| {
        mark.len() > 3 && mark.contains(['<', '[']) && mark.contains(char::is_alphanumeric)
    });
    marks.retain(|mark| !thoughts.contains(mark));
    (!marks.is_empty()).then(|| (*random.one(&marks)).to_owned())
}

fn marked(case: &mut Case, random: &mut Random, field: chatparse::DeltaKind) -> bool {
    marker(case, random).is_some_and(|mark| inserted(case, random, field, &mark))
}

/// Puts a text into a field somewhere.
fn inserted(case: &mut Case, random: &mut Random, field: chatparse::DeltaKind, what: &str) -> bool {
    let mut text = case.text(field, 0);
    let at = (0..=random.below(text.len() + 1))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    text.insert_str(at, what);
    case.replace(field, 0, &text);
    text.len() > what.len() && !case.is_cut()
}

fn some_arguments(case: &Case, random: &mut Random) -> Option<(usize, String)> {
    let calls = case.calls();
    let call = (calls > 0 && !case.is_cut()).then(|| random.below(calls))?;
    let arguments = case.text(ToolArguments, call);
    serde_json::from_str::<Value>(&arguments)
        .is_ok()
        .then_some((call, arguments))
}

/// Puts a text where the first value begins that is a text.
fn in_arguments(case: &mut Case, random: &mut Random, what: &str) -> bool {
    let Some((call, arguments)) = some_arguments(case, random) else {
        return false;
    };
    let Some(at) = arguments
        .find(": \"")
        .map(|at| at + 3)
        .or(arguments.find(":\"").map(|at| at + 2))
    else {
        return false;
    };
    let (front, behind) = arguments.split_at(at);
    case.replace(ToolArguments, call, &format!("{front}{what}{behind}"));
    true
}

/// Asks for another choice of tools.
fn asked(case: &mut Case, choice: Choice) -> bool {
    let has_tools = case.request.get("tools").is_some();
    if has_tools {
        set_choice(case.api, &mut case.request, choice, true);
    }
    has_tools && !case.is_cut()
}

fn has_schema(case: &Case) -> bool {
    ["response_format", "text", "output_config"]
        .iter()
        .any(|name| case.request.get(name).is_some())
        && !case.is_cut()
}
