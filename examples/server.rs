//! A server of OpenAI's chat completions, Responses, and Anthropic's Messages, streamed or not, on
//! the standard library alone. A script stands for the model; the rest is as in a real server: see
//! docs/server.md.
//!
//!     cargo run --example server -- model.jinja      # without an argument: a built-in template,
//!     whose name may be the argument, too curl localhost:8080/v1/chat/completions -d '{"messages":
//!     [{"role": "user", "content": "Type: Hi"}]}'
//!
//! The model writes what the user's last message says after "Type: ": a step for each time that it
//! is asked, with `///` between them. A third argument is the file to which the server appends each
//! body as a line of JSON, with the prompt, the notes and the output, or the error.
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use chatparse::api::{Answer, AnswerOptions, Api, Event, Finish, Reason, Usage, http_status};
use chatparse::{ChatTemplate, EndedBy, Message, Params, Request, Stream};
use serde_json::{Value, json};

/// The host's own options, which no client can override.
const OPTIONS: &str = r#"{"hosted_tools": "keep", "now": NOW}"#;

/// Stands for a model: the tokens that it writes, of at most four bytes. A real one samples under
/// `params.grammar()`.
fn write(request: &Request) -> Vec<Vec<u8>> {
    let script = |message: &Message| {
        let parts = message.parts.iter().map(|part| part.text.as_str());
        let text: String = [message.content.as_str()]
            .into_iter()
            .chain(parts)
            .collect();
        // Some clients break special tokens with a joiner.
        let text = text.replace('\u{200d}', "");
        text.split_once("Type: ")
            .filter(|_| message.role == "user")
            .map(|(_, script)| script.to_owned())
    };
    let asked = request
        .messages
        .iter()
        .rposition(|message| script(message).is_some());
    let steps = asked.map(|at| {
        request.messages[at..]
            .iter()
            .filter(|message| message.role == "assistant")
            .count()
    });
    let script = asked
        .and_then(|at| script(&request.messages[at]))
        .unwrap_or_else(|| "Hello.".to_owned());
    let step = script
        .split("///")
        .nth(steps.unwrap_or(0))
        .unwrap_or("Done.");
    step.as_bytes().chunks(4).map(<[u8]>::to_vec).collect()
}

/// What a client asks of a server that neither the prompt nor the grammar has.
struct Asked {
    api: Api,
    body: Value,
    choices: u64,
    limit: usize,
    logprobs: bool,
}

impl Asked {
    fn new(api: Api, body: Value) -> Asked {
        let number = |name: &str| body[name].as_u64();
        let limit = number("max_tokens")
            .or(number("max_completion_tokens"))
            .or(number("max_output_tokens"));
        let choices = if api == Api::ChatCompletions {
            number("n").unwrap_or(1)
        } else {
            1
        };
        let logprobs = body["logprobs"] == true || body["top_logprobs"].is_u64();
        Asked {
            api,
            body,
            choices,
            limit: limit.map_or(usize::MAX, |limit| limit as usize),
            logprobs,
        }
    }
}

/// Sends an event; an error says that the client is gone.
type Send<'a> = &'a mut dyn FnMut(&Event) -> std::io::Result<()>;

/// Answers one request: all its choices, as events and as one body, for clients that do not stream.
fn answer(
    params: &Params,
    request: &Request,
    asked: &Asked,
    send: Send,
) -> Result<Value, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let tokens = params.prompt.len() as u64 / 4; // A real server counts tokens.
    let mut usage = Usage::new(tokens, 0);
    let mut bodies = Vec::new();
    // A real server lets all choices be written at once; their events may mix.
    for choice in 0..asked.choices {
        let mut options = AnswerOptions::default();
        options.created = now.as_secs();
        options.seed = now.as_nanos() as u64; // Ids depend on it: other answers need another, choices of one need the same.
        options.choice = choice;
        options.request = asked.body.clone();
        options.omit_request = true;
        let mut answer = Answer::new(asked.api, options);
        answer.begin(tokens)?.iter().try_for_each(&mut *send)?;
        let mut stream = Stream::new(&params.parser);
        let (mut reason, mut written, mut at) = (Reason::Stop, 0, 0);
        for token in write(request) {
            if written == asked.limit {
                reason = Reason::Length;
                break;
            }
            written += 1;
            if asked.logprobs {
                let text = String::from_utf8_lossy(&token);
                answer.token(
                    at..at + token.len(),
                    json!({"token": text, "bytes": token, "logprob": 0.0, "top_logprobs": []}),
                );
            }
            at += token.len();
            // An error here ends the loop, and with it what the model writes: the client is gone.
            answer
                .deltas(stream.feed(&token))?
                .iter()
                .try_for_each(&mut *send)?;
            if answer.stopped().is_some() {
                break;
            }
        }
        let ended = stream.finish(EndedBy::limit_if(reason == Reason::Length));
        answer
            .deltas(stream.deltas())?
            .iter()
            .try_for_each(&mut *send)?;
        usage.output += written as u64;
        // The last choice has the usage of all, and ends the stream.
        let is_last = choice + 1 == asked.choices;
        let finish = Finish::new(reason, is_last.then_some(usage));
        let last = answer.finish(&ended, &finish)?;
        last.iter()
            .filter(|event| is_last || event.data != "[DONE]")
            .try_for_each(&mut *send)?;
        bodies.push(answer.body(&ended, &finish));
    }
    let mut body = bodies.pop().ok_or("no choices")?;
    if !bodies.is_empty() {
        let last = body["choices"].take();
        let choices = bodies.iter().map(|body| &body["choices"]).chain([&last]);
        body["choices"] = choices
            .flat_map(|choices| choices.as_array().cloned().unwrap_or_default())
            .collect();
    }
    Ok(body)
}

/// Reads a request from the connection, and writes the response.
fn serve(
    template: &ChatTemplate,
    connection: &TcpStream,
    log: Option<&File>,
) -> Result<(), Box<dyn Error>> {
    let mut input = BufReader::new(connection);
    let mut first = String::new();
    input.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
    }
    let mut text = String::new();
    input.take(length).read_to_string(&mut text)?;

    let route = first.split([' ', '?']).nth(1).unwrap_or_default();
    let api = match route {
        "/v1/chat/completions" => Api::ChatCompletions,
        "/v1/responses" => Api::Responses,
        "/v1/messages" => Api::Messages,
        _ => {
            return respond(
                connection,
                404,
                &Api::ChatCompletions.error_body(404, "no such route"),
            );
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let options = OPTIONS.replace("NOW", &now.to_string());
    let read = api
        .chat_body(&text)
        .and_then(|body| template.request(&body, &options));
    let asked = Asked::new(api, serde_json::from_str(&text).unwrap_or_default());
    let record = |read: Value| {
        let line = json!({"route": route, "body": asked.body, "read": read});
        log.map_or(Ok(()), |mut log| {
            log.write_all(format!("{line}\n").as_bytes())
        })
    };
    let (request, params) = match read.and_then(|request| Ok((template.params(&request)?, request)))
    {
        Ok((params, request)) => (request, params),
        Err(error) => {
            let status = http_status(&error);
            record(json!({"status": status, "error": error.message()}))?;
            return respond(connection, status, &api.error_body(status, error.message()));
        }
    };
    let output = String::from_utf8(write(&request).concat())?;
    let media = params.media.len();
    record(
        json!({"prompt": params.prompt, "media": media, "notes": params.notes, "output": output}),
    )?;
    if asked.body["stream"] != true {
        let body = answer(&params, &request, &asked, &mut |_| Ok(()))?;
        return respond(connection, 200, &body);
    }
    let mut output = connection;
    output.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    answer(&params, &request, &asked, &mut |event| {
        output.write_all(event.sse().as_bytes())
    })?;
    Ok(())
}

fn respond(mut connection: &TcpStream, status: u16, body: &Value) -> Result<(), Box<dyn Error>> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    Ok(connection.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "json-call".to_owned());
    let template = match ChatTemplate::builtin(&name) {
        Some(template) => template,
        None => ChatTemplate::new(&std::fs::read_to_string(name)?, "", "")?,
    };
    // Learns the format now, not with the first request.
    let proof = template.proof();
    eprintln!(
        "{} of {} messages are read back",
        proof.read_back, proof.cases
    );

    let port = std::env::args().nth(2).unwrap_or_else(|| "8080".to_owned());
    let log = std::env::args()
        .nth(3)
        .map(|path| OpenOptions::new().create(true).append(true).open(path))
        .transpose()?;
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    println!("{}", listener.local_addr()?.port());
    std::thread::scope(|threads| {
        for connection in listener.incoming().flatten() {
            let (template, log) = (&template, log.as_ref());
            threads.spawn(move || {
                if let Err(error) = serve(template, &connection, log) {
                    eprintln!("{error}");
                }
            });
        }
    });
    Ok(())
}

#[test]
fn answers_each_api() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        let ask = |path: &str, body: &str| {
            let mut connection = TcpStream::connect(address).unwrap();
            write!(
                connection,
                "POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            let mut got = String::new();
            connection.read_to_string(&mut got).unwrap();
            got
        };
        let said = |text: &str| format!(r#""messages": [{{"role": "user", "content": "{text}"}}]"#);
        let tools = r#""tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]"#;
        let call = r#"Type: <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"#;
        let typed = said("Type: One. STOP Two.");
        [
            ask(
                "/v1/chat/completions",
                &format!("{{{}, {tools}}}", said(call)),
            ),
            ask(
                "/v1/messages",
                &format!(r#"{{{}, "max_tokens": 9, "stream": true}}"#, said("Hi")),
            ),
            ask(
                "/v1/responses?beta=true",
                r#"{"input": "Type: 12345678", "max_output_tokens": 1, "tools": [{"type": "web_search"}]}"#,
            ),
            ask(
                "/v1/chat/completions",
                &format!(r#"{{{typed}, "n": 2, "stop": "STOP", "logprobs": true}}"#),
            ),
            ask(
                "/v1/chat/completions",
                &format!(r#"{{{typed}, "n": 2, "stop": "STOP", "stream": true}}"#),
            ),
            ask("/v1/chat/completions", "{}"),
            ask("/v1/models", "{}"),
        ]
    });
    let template = ChatTemplate::builtin("json-call").unwrap();
    for connection in listener.incoming().take(7) {
        serve(&template, &connection.unwrap(), None).unwrap();
    }
    let [call, events, cut, choices, mixed, error, missing] = client.join().unwrap();
    assert!(
        call.starts_with("HTTP/1.1 200") && call.contains(r#""name":"weather""#),
        "{call}"
    );
    assert!(
        events.contains("event: message_stop") && events.contains(r#""text":"Hell""#),
        "{events}"
    );
    assert!(
        cut.contains(r#""status":"incomplete""#) && cut.contains(r#""text":"1234""#),
        "{cut}"
    );
    assert_eq!(
        choices.matches(r#""content":"One. ""#).count(),
        2,
        "{choices}"
    );
    assert!(
        choices.contains(r#""token":"One.""#) && choices.contains(r#""completion_tokens":6"#),
        "{choices}"
    );
    assert_eq!(
        (
            mixed.matches("[DONE]").count(),
            mixed.matches(r#""finish_reason":"stop""#).count()
        ),
        (1, 2),
        "{mixed}"
    );
    assert!(
        error.starts_with("HTTP/1.1 400") && error.contains("messages"),
        "{error}"
    );
    assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
}
