//! A server of OpenAI's chat completions, Responses, and Anthropic's Messages, streamed or not, on the standard library alone. A fake stands for
//! the model; the rest is as in a real server: see docs/server.md. It answers one connection at a time.
//!
//!     cargo run --example server -- model.jinja      # without a file: a built-in template
//!     curl localhost:8080/v1/chat/completions -d '{"stream": true, "messages": [{"role": "user", "content": "Hi"}]}'
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use chatparse::api::{Answer, AnswerOptions, Api, Event, Finish, Reason, Usage, http_status};
use chatparse::grammar::Grammar;
use chatparse::{ChatTemplate, Request, Stream};
use serde_json::Value;

/// Stands for a model. A real one reads the prompt, samples under the grammar, and stops at the texts in `stops`.
fn write(prompt: &str, _grammar: &Grammar, _stops: &[String]) -> Vec<&'static str> {
    if prompt.contains("weather") && !prompt.contains("7 degrees") {
        return vec!["<tool_call>\n{\"name\": \"wea", "ther\", \"arguments\": {\"city\": \"Os", "lo\"}}\n</tool_call>"];
    }
    vec!["Hello", " from", " a fake."]
}

/// Answers one request. Each event goes to `send` at once; the result is the whole body, for clients that do not stream.
fn answer(template: &ChatTemplate, api: Api, body: &Value, send: &mut dyn FnMut(&Event)) -> chatparse::Result<Value> {
    // What the client sent, in the form of chat completions, and the options that are ours to set.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
    let request = Request::from_json_with(&api.request(body)?, &serde_json::json!({"now": now.as_secs()}))?;
    let params = template.params(&request)?;
    let mut stops = params.additional_stops.clone();
    stops.extend(Some(params.end_of_turn().to_owned()).filter(|stop| !stop.is_empty()));

    let mut options = AnswerOptions::default();
    options.created = now.as_secs();
    options.seed = now.as_nanos() as u64; // Ids depend on it: it must differ between answers.
    options.request = body.clone();
    let mut answer = Answer::new(api, options);

    let tokens = params.prompt.len() as u64 / 4; // A real server counts tokens.
    answer.begin(tokens)?.iter().for_each(&mut *send);
    let mut stream = Stream::new(&params.parser);
    let mut written = 0;
    for piece in write(&params.prompt, params.grammar(), &stops) {
        written += 1;
        answer.deltas(stream.feed(piece.as_bytes()))?.iter().for_each(&mut *send);
    }
    let ended = stream.finish(false); // true: a limit has cut the output off; the reason is Reason::Length then.
    answer.deltas(stream.deltas())?.iter().for_each(&mut *send);
    let finish = Finish::new(Reason::Stop, Some(Usage::new(tokens, written)));
    answer.finish(&ended, &finish)?.iter().for_each(&mut *send);
    Ok(answer.body(&ended, &finish))
}

/// Reads a request from the connection, and writes the response.
fn serve(template: &ChatTemplate, connection: TcpStream) -> Result<(), Box<dyn Error>> {
    let mut input = BufReader::new(&connection);
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
    let mut text = Vec::new();
    input.take(length).read_to_end(&mut text)?;

    let api = match first.split(' ').nth(1) {
        Some("/v1/responses") => Api::Responses,
        Some("/v1/messages") => Api::Messages,
        _ => Api::ChatCompletions,
    };
    let body: Value = serde_json::from_slice(&text).unwrap_or_default();
    let mut output = &connection;
    if body["stream"] == true {
        // A real server holds the head back until `params` has succeeded, to answer an error with its own status.
        output.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
        let mut send = |event: &Event| output.write_all(event.sse().as_bytes()).unwrap_or(());
        answer(template, api, &body, &mut send)?;
        return Ok(());
    }
    let (status, body) = match answer(template, api, &body, &mut |_| {}) {
        Ok(body) => (200, body),
        Err(error) => (http_status(&error), api.error_body(http_status(&error), error.message())),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    Ok(output.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let template = match std::env::args().nth(1) {
        Some(file) => ChatTemplate::new(&std::fs::read_to_string(file)?, "", "")?,
        None => ChatTemplate::builtin("json-call").expect("it is built in"),
    };
    // Learns the format now, not with the first request.
    let proof = template.proof();
    println!("{} of {} messages are read back", proof.read_back, proof.cases);

    let listener = TcpListener::bind("127.0.0.1:8080")?;
    println!("http://{}", listener.local_addr()?);
    for connection in listener.incoming() {
        if let Err(error) = serve(&template, connection?) {
            eprintln!("{error}");
        }
    }
    Ok(())
}

#[test]
fn answers_each_api() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        let tools =
            r#""tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]"#;
        let ask = |path: &str, body: &str| {
            let mut connection = TcpStream::connect(address).unwrap();
            write!(connection, "POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            let mut got = String::new();
            connection.read_to_string(&mut got).unwrap();
            got
        };
        let said = r#""messages": [{"role": "user", "content": "Hi"}]"#;
        [
            ask("/v1/chat/completions", &format!("{{{said}, {tools}}}")),
            ask("/v1/messages", &format!(r#"{{{said}, "max_tokens": 9, "stream": true}}"#)),
            ask("/v1/responses", r#"{"input": "Hi"}"#),
            ask("/v1/chat/completions", "{}"),
        ]
    });
    let template = ChatTemplate::builtin("json-call").unwrap();
    listener.incoming().take(4).for_each(|connection| serve(&template, connection.unwrap()).unwrap());
    let [call, events, text, error] = client.join().unwrap();
    assert!(call.starts_with("HTTP/1.1 200") && call.contains(r#""name":"weather""#), "{call}");
    assert!(events.contains("event: message_stop") && events.contains(r#""text":" from""#), "{events}");
    assert!(text.contains("Hello from a fake."), "{text}");
    assert!(error.starts_with("HTTP/1.1 400") && error.contains("messages"), "{error}");
}
